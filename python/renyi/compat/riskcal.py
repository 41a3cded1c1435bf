"""The conversions of riskcal: what a test for one record's presence can achieve.

An attack's false positive rate is ``alpha``, its false negative rate ``beta``; its advantage is the
most that 1 - alpha - beta can be. Errors of an attacker are rounded down, its success up.

Examples
--------
>>> from renyi import Gaussian, PLDAccountant
>>> accountant = PLDAccountant().compose(Gaussian(2.0), 4)
>>> round(get_beta_from_pld(accountant, 0.1), 6), round(get_advantage_from_pld(accountant), 6)
(0.610856, 0.382925)
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy.typing as npt

from renyi import tradeoff
from renyi.accountants import Accountant, PLDAccountant, RDPAccountant
from renyi.calibration import calibrate_noise_multiplier
from renyi.mechanisms import ZCDP, ApproxDP, Gaussian, PoissonSampled, RDPCurve

__all__ = [
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


def get_beta_from_pld(pld: Accountant[Any], alpha: npt.ArrayLike) -> Any:
    """Return beta of what an accountant of ours composed."""
    return pld.get_beta(alpha)


def get_advantage_from_pld(pld: Accountant[Any]) -> float:
    """Return the advantage against what an accountant of ours composed."""
    return pld.get_advantage()


def get_bayes_risk_from_pld(pld: Accountant[Any], prior: float) -> float:
    """Return the least probability of error where the record is there with this probability."""
    return pld.get_bayes_risk(prior)


def get_beta_from_gdp(mu: npt.ArrayLike, alpha: npt.ArrayLike) -> Any:
    """Return beta of mu-Gaussian differential privacy.

    Examples
    --------
    >>> round(get_beta_from_gdp(1.0, 0.1), 6)
    0.610856
    """
    return tradeoff.beta_from_mu(alpha, mu)


def get_advantage_from_gdp(mu: npt.ArrayLike) -> Any:
    """Return the advantage against mu-Gaussian differential privacy.

    Examples
    --------
    >>> round(get_advantage_from_gdp(1.0), 6)
    0.382925
    """
    return tradeoff.advantage_from_mu(mu)


def get_bayes_risk_from_gdp(mu: float, prior: float) -> float:
    """Return the least probability of error against mu-Gaussian differential privacy.

    Examples
    --------
    >>> round(get_bayes_risk_from_gdp(1.0, 0.5), 6)
    0.308538
    """
    return float(tradeoff.bayes_risk_from_mu(mu, prior))


def get_beta_from_adp(epsilon: float, delta: float, alpha: npt.ArrayLike) -> Any:
    """Return beta of (epsilon, delta)-privacy.

    Examples
    --------
    >>> round(get_beta_from_adp(1.0, 1e-3, 0.1), 6)
    0.727172
    """
    return tradeoff.beta_from_epsilon_delta(alpha, epsilon, delta)


def get_advantage_from_adp(epsilon: float, delta: float) -> float:
    """Return the advantage against (epsilon, delta)-privacy.

    Examples
    --------
    >>> round(get_advantage_from_adp(0.0, 0.001), 6)
    0.001
    """
    return PLDAccountant().compose(ApproxDP(epsilon, delta)).get_advantage()


def get_beta_from_rdp(epsilon: float, alpha: npt.ArrayLike, order: float) -> Any:
    """Return beta where the Rényi divergence of one order is at most epsilon.

    Examples
    --------
    >>> round(get_beta_from_rdp(1.0, 0.1, order=4.0), 4)
    0.6245
    """
    curve = RDPCurve([order], [epsilon])
    return RDPAccountant(orders=[order]).compose(curve).get_beta(alpha)


def get_beta_from_zcdp(rho: float, alpha: npt.ArrayLike) -> Any:
    """Return beta of rho-zero-concentrated privacy, over all real orders.

    Examples
    --------
    >>> round(get_beta_from_zcdp(0.5, 0.1), 4)
    0.5163
    """
    return RDPAccountant().compose(ZCDP(rho)).get_beta(alpha)


def get_advantage_from_zcdp(rho: float) -> float:
    """Return the advantage against rho-zero-concentrated privacy.

    Examples
    --------
    >>> round(get_advantage_from_zcdp(0.5), 3)
    0.479
    """
    return RDPAccountant().compose(ZCDP(rho)).get_advantage()


def get_epsilon_from_err_rates(delta: float, alpha: float, beta: float) -> float:
    """Return the least epsilon of (epsilon, delta)-privacy with which a test may have these errors.

    Raises
    ------
    ValueError
        If a number is not in [0, 1].

    Examples
    --------
    >>> round(get_epsilon_from_err_rates(0.001, 0.001, 0.8), 3)
    5.293
    """
    if not all(0.0 <= value <= 1.0 for value in (delta, alpha, beta)):
        raise ValueError(
            f"delta, alpha and beta must be numbers in [0, 1], got {delta!r}, {alpha!r}, {beta!r}"
        )
    return max(_log_ratio(delta, alpha, beta), _log_ratio(delta, beta, alpha))


def _log_ratio(delta: float, alpha: float, beta: float) -> float:
    """Return ln((1 - delta - alpha)/beta) rounded up, or 0 where it is negative."""
    above = 1 - Fraction(delta) - Fraction(alpha)
    if above <= Fraction(beta):
        return 0.0
    if beta == 0.0:
        return math.inf
    # The quotient is off by half an ulp, 2^-53; so is its logarithm relatively, for math.log too.
    return math.log(float(above / Fraction(beta))) * (1.0 + 2.0**-51) + 2.0**-52


def get_advantage_for_dpsgd(noise_multiplier: float, sample_rate: float, num_steps: int) -> float:
    """Return the advantage against a run of DP-SGD.

    Examples
    --------
    >>> round(get_advantage_for_dpsgd(1.0, 0.01, 1000), 4)
    0.161
    """
    return _dpsgd(noise_multiplier, sample_rate, num_steps).get_advantage()


def get_beta_for_dpsgd(
    noise_multiplier: float, sample_rate: float, num_steps: int, alpha: npt.ArrayLike
) -> Any:
    """Return beta of a run of DP-SGD.

    Examples
    --------
    >>> round(get_beta_for_dpsgd(1.0, 0.01, 1000, 0.1), 4)
    0.8058
    """
    return _dpsgd(noise_multiplier, sample_rate, num_steps).get_beta(alpha)


def find_noise_multiplier_for_advantage(
    advantage: float, sample_rate: float, num_steps: int
) -> float:
    """Return the smallest noise multiplier at which no test has a larger advantage.

    Examples
    --------
    >>> round(find_noise_multiplier_for_advantage(0.1, 0.01, 1000), 4)
    1.4224
    """
    return calibrate_noise_multiplier(
        target_advantage=advantage, sample_rate=sample_rate, steps=num_steps
    )


def find_noise_multiplier_for_err_rates(
    alpha: float, beta: float, sample_rate: float, num_steps: int
) -> float:
    """Return the smallest noise multiplier at which a test of error alpha has error beta.

    Examples
    --------
    >>> round(find_noise_multiplier_for_err_rates(0.1, 0.8, 0.01, 1000), 4)
    0.9696
    """
    return calibrate_noise_multiplier(
        target_alpha=alpha, target_beta=beta, sample_rate=sample_rate, steps=num_steps
    )


def _dpsgd(noise_multiplier: float, sample_rate: float, num_steps: int) -> PLDAccountant:
    step = PoissonSampled(Gaussian(noise_multiplier), sample_rate)
    return PLDAccountant().compose(step, num_steps)
