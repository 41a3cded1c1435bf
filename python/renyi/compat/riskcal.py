"""The functions of riskcal, by the exact curve; it need not be installed.

This module combines its modules ``analysis``, ``calibration.dpsgd`` and ``accountants``.
Distributions of losses are those of `renyi.compat.dp_accounting.privacy_loss_distribution`, or of
dp_accounting with pessimistic estimates (see ``from_privacy_loss_distribution`` there). Trade-off
functions and Bayes risks are rounded down, advantages and noise up.

>>> round(get_advantage_for_dpsgd(noise_multiplier=1.0, sample_rate=0.01, num_steps=1000), 4)
0.161
"""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi import tradeoff
from renyi._strict_json import check_names
from renyi._validation import float_above
from renyi.accountants import PLDAccountant, RDPAccountant
from renyi.calibration import calibrate_noise_multiplier
from renyi.mechanisms import ZCDP, Gaussian, PoissonSampled, RDPCurve

__all__ = [
    "CTDAccountant",
    "find_noise_multiplier_for_advantage",
    "find_noise_multiplier_for_err_rates",
    "get_advantage_for_dpsgd",
    "get_advantage_from_adp",
    "get_advantage_from_gdp",
    "get_advantage_from_pld",
    "get_advantage_from_zcdp",
    "get_bayes_risk_from_gdp",
    "get_bayes_risk_from_pld",
    "get_beta_for_dpsgd",
    "get_beta_from_adp",
    "get_beta_from_gdp",
    "get_beta_from_pld",
    "get_beta_from_rdp",
    "get_beta_from_zcdp",
    "get_epsilon_from_err_rates",
]


class CTDAccountant:
    """Records steps of DP-SGD in their order, and computes their guarantee.

    >>> accountant = CTDAccountant()
    >>> for _ in range(1000):
    ...     accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    >>> round(accountant.get_epsilon(delta=1e-5), 4), len(accountant)
    (1.8282, 1000)
    """

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record a step."""
        steps = 1
        if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
            steps += self.history.pop()[2]
        self.history.append((noise_multiplier, sample_rate, steps))

    def __len__(self) -> int:
        """Return the number of steps."""
        return sum(steps for _, _, steps in self.history)

    @property
    def accountant(self) -> PLDAccountant:
        """An accountant of the history, which answers more questions."""
        found = PLDAccountant()
        for noise, rate, steps in self.history:
            found.compose(PoissonSampled(Gaussian(noise), rate), steps)
        return found

    def get_epsilon(self, *, delta: float, **grid: Any) -> float:
        """Return epsilon, rounded up."""
        return self.accountant.get_epsilon(delta)

    def get_beta(self, *, alpha: npt.ArrayLike, **grid: Any) -> Any:
        """Return the least false negative rates of a test, rounded down."""
        return self.accountant.get_beta(alpha)

    def get_advantage(self, **grid: Any) -> float:
        """Return the largest advantage of a test, rounded up."""
        return self.accountant.get_advantage()

    @classmethod
    def mechanism(cls) -> str:
        """Return its name."""
        return "ctd"

    def state_dict(self) -> dict[str, Any]:
        """Return the history."""
        return {"history": list(self.history), "mechanism": self.mechanism()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a history.

        Raises:
            TypeError, ValueError: If it is not a history from `state_dict`.
        """
        if state_dict.get("mechanism") != self.mechanism():
            raise ValueError(f"state_dict must be of 'ctd', got {state_dict.get('mechanism')!r}")
        check_names("state_dict", state_dict, ("history", "mechanism"))
        made = type(self)()
        made.history = [(noise, rate, steps) for noise, rate, steps in state_dict["history"]]
        _ = made.accountant  # raises
        self.history = made.history


def get_advantage_from_pld(pld: Any) -> float:
    """Return the largest advantage of a test, rounded up."""
    return _of_losses(pld).get_advantage()


def get_beta_from_pld(pld: Any, alpha: npt.ArrayLike) -> Any:
    """Return the least false negative rates at false positive rates, rounded down."""
    return _of_losses(pld).get_beta(alpha)


def get_bayes_risk_from_pld(pld: Any, prior: npt.ArrayLike) -> Any:
    """Return the least probabilities of error of a test, rounded down."""
    return _risks(_of_losses(pld), prior)


def get_advantage_from_gdp(mu: float) -> float:
    """Return the largest advantage under Gaussian privacy, rounded up."""
    return _gaussian(mu).get_advantage()


def get_beta_from_gdp(mu: float, alpha: npt.ArrayLike) -> Any:
    """Return the trade-off function of Gaussian privacy, rounded down."""
    return _gaussian(mu).get_beta(alpha)


def get_bayes_risk_from_gdp(mu: float, prior: npt.ArrayLike) -> Any:
    """Return the least probabilities of error under Gaussian privacy, rounded down."""
    return _risks(_gaussian(mu), prior)


def get_advantage_from_adp(epsilon: float, delta: float) -> float:
    """Return the largest advantage under (epsilon, delta)-privacy, rounded up.

    >>> round(get_advantage_from_adp(1.0, 1e-5), 5)
    0.46212
    """
    # 1 - alpha - beta of the trade-off function is largest at alpha = beta.
    found = delta + (1.0 - delta) * math.tanh(0.5 * epsilon)
    return min(1.0, found * (1.0 + 2.0**-49))


def get_beta_from_adp(epsilon: float, delta: float, alpha: npt.ArrayLike) -> Any:
    """Return the trade-off function of (epsilon, delta)-privacy, rounded down."""
    return tradeoff.beta_from_epsilon_delta(alpha, epsilon, delta)


def get_advantage_from_zcdp(rho: float) -> float:
    """Return the largest advantage under zero-concentrated privacy, rounded up."""
    return RDPAccountant().compose(ZCDP(rho)).get_advantage()


def get_beta_from_zcdp(rho: float, alpha: npt.ArrayLike) -> Any:
    """Return the trade-off function of zero-concentrated privacy, rounded down."""
    return RDPAccountant().compose(ZCDP(rho)).get_beta(alpha)


def get_beta_from_rdp(epsilon: float, alpha: npt.ArrayLike, order: float) -> Any:
    """Return the trade-off function of a Rényi divergence, rounded down."""
    return RDPAccountant(orders=[order]).compose(RDPCurve([order], [epsilon])).get_beta(alpha)


def get_epsilon_from_err_rates(delta: float, alpha: float, beta: float) -> float:
    """Return the epsilon that error rates of a test prove at a delta, rounded up."""
    if min(alpha, beta) <= 0.0:
        return math.inf if 1.0 - delta - max(alpha, beta) > 0.0 else 0.0
    left = 1 - Fraction(delta) - Fraction(alpha) - Fraction(beta)  # exact, for they may cancel
    odds = max(left / Fraction(beta), left / Fraction(alpha))
    return math.log1p(float_above(odds)) * (1.0 + 2.0**-48) if odds > 0 else 0.0


def get_advantage_for_dpsgd(noise_multiplier: float, sample_rate: float, num_steps: int) -> float:
    """Return the largest advantage after DP-SGD, rounded up."""
    return _run(noise_multiplier, sample_rate, num_steps).get_advantage()


def get_beta_for_dpsgd(
    noise_multiplier: float, sample_rate: float, num_steps: int, alpha: npt.ArrayLike
) -> Any:
    """Return the trade-off function of DP-SGD, rounded down."""
    return _run(noise_multiplier, sample_rate, num_steps).get_beta(alpha)


def find_noise_multiplier_for_advantage(
    advantage: float, sample_rate: float, num_steps: int, **grid: Any
) -> float:
    """Return the least noise multiplier of DP-SGD for an advantage."""
    return calibrate_noise_multiplier(
        target_advantage=advantage, sample_rate=sample_rate, steps=num_steps
    )


def find_noise_multiplier_for_err_rates(
    alpha: float, beta: float, sample_rate: float, num_steps: int, **grid: Any
) -> float:
    """Return the least noise multiplier of DP-SGD for error rates of a test."""
    return calibrate_noise_multiplier(
        target_alpha=alpha, target_beta=beta, sample_rate=sample_rate, steps=num_steps
    )


def _of_losses(pld: Any) -> PLDAccountant:
    front = import_module("renyi.compat.dp_accounting.privacy_loss_distribution")
    found: PLDAccountant = front.from_privacy_loss_distribution(pld).accountant
    return found


def _run(noise: float, rate: float, steps: int) -> PLDAccountant:
    return PLDAccountant().compose(PoissonSampled(Gaussian(noise), rate), steps)


def _gaussian(mu: float) -> PLDAccountant:
    # Less noise by an ulp is more than 1 / mu was rounded.
    return PLDAccountant().compose(Gaussian(math.nextafter(1.0 / mu, 0.0) if mu else math.inf))


def _risks(accountant: PLDAccountant, prior: npt.ArrayLike) -> Any:
    priors = np.asarray(prior, dtype=np.float64)
    found = [accountant.get_bayes_risk(float(one)) for one in priors.reshape(-1)]
    return np.reshape(found, priors.shape) if priors.shape else found[0]
