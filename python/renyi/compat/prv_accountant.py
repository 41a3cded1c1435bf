"""The accountants of prv_accountant: (lower, estimate, upper), certified at both ends.

Mechanisms have the names and arguments of that package and are ours, so that any mechanism may
stand beside them.

Examples
--------
>>> step = PoissonSubsampledGaussianMechanism(sampling_probability=0.01, noise_multiplier=1.0)
>>> accountant = PRVAccountant(step, eps_error=0.1, delta_error=1e-9, max_self_compositions=1000)
>>> lower, estimate, upper = accountant.compute_epsilon(delta=1e-5, num_self_compositions=1000)
>>> round(lower, 6), round(upper, 6)
(1.828237, 1.828237)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from renyi.accountants import PLDAccountant
from renyi.calibration import calibrate_noise_multiplier
from renyi.compat._rounding import at_most
from renyi.mechanisms import ApproxDP, Gaussian, Laplace, Mechanism, PoissonSampled, PureDP

__all__ = [
    "ApproximateDPMechanism",
    "DPSGDAccountant",
    "GaussianMechanism",
    "LaplaceMechanism",
    "PRVAccountant",
    "PoissonSubsampledGaussianMechanism",
    "PureDPMechanism",
    "find_noise_multiplier",
]

Triple = tuple[float, float, float]


def GaussianMechanism(noise_multiplier: float, l2_sensitivity: float = 1.0) -> Mechanism:
    """Return Gaussian noise on a query of this sensitivity.

    Examples
    --------
    >>> GaussianMechanism(2.0, l2_sensitivity=4.0)
    Gaussian(noise_multiplier=0.5)
    """
    return Gaussian(at_most(Fraction(noise_multiplier) / Fraction(l2_sensitivity)))


def LaplaceMechanism(mu: float) -> Mechanism:
    """Return Laplace noise of scale 1/mu on a query of sensitivity 1.

    Examples
    --------
    >>> LaplaceMechanism(2.0)
    Laplace(noise_multiplier=0.5)
    """
    return Laplace(at_most(1 / Fraction(mu)))


def PoissonSubsampledGaussianMechanism(
    sampling_probability: float, noise_multiplier: float
) -> Mechanism:
    """Return Gaussian noise on a Poisson sample.

    Examples
    --------
    >>> PoissonSubsampledGaussianMechanism(0.01, 1.0)
    PoissonSampled(mechanism=Gaussian(noise_multiplier=1.0), sample_rate=0.01)
    """
    return PoissonSampled(Gaussian(noise_multiplier), sampling_probability)


def PureDPMechanism(eps: float) -> Mechanism:
    """Return any mechanism of a privacy loss of at most eps.

    Examples
    --------
    >>> PureDPMechanism(1.0)
    PureDP(epsilon=1.0)
    """
    return PureDP(eps)


def ApproximateDPMechanism(eps: float, delta: float) -> Mechanism:
    """Return any (eps, delta)-private mechanism.

    Examples
    --------
    >>> ApproximateDPMechanism(1.0, 1e-6)
    ApproxDP(epsilon=1.0, delta=1e-06)
    """
    return ApproxDP(eps, delta)


class PRVAccountant:
    """Composes mechanisms and brackets the exact privacy curve.

    Parameters
    ----------
    prvs : Mechanism or sequence of Mechanism
        What is composed.
    eps_error, delta_error, eps_max : float, optional
        Of the grid of prv_accountant; there is none here, and they change nothing.
    max_self_compositions : int or sequence of int, optional
        The most that may be asked for, of each mechanism.

    Raises
    ------
    TypeError, ValueError
        If these are no mechanisms, or the numbers not as many.
    """

    def __init__(
        self,
        prvs: Mechanism | Sequence[Mechanism],
        eps_error: float | None = None,
        delta_error: float | None = None,
        max_self_compositions: int | Sequence[int] | None = None,
        eps_max: float | None = None,
    ) -> None:
        self._mechanisms = [prvs] if isinstance(prvs, Mechanism) else list(prvs)
        for mechanism in self._mechanisms:
            PLDAccountant().compose(mechanism)  # raises
        self._most = (
            None
            if max_self_compositions is None
            else self._as_many(max_self_compositions, "max_self_compositions")
        )

    def compute_epsilon(
        self, delta: float, num_self_compositions: int | Sequence[int] | None = None
    ) -> Triple:
        """Return a lower bound of epsilon, the middle of the bracket, and an upper bound.

        Raises
        ------
        TypeError, ValueError
            If ``delta`` is not in [0, 1], or the counts are not permitted.
        """
        return _triple(*self._composed(num_self_compositions).get_epsilon_bounds(delta))

    def compute_delta(
        self, epsilon: float, num_self_compositions: int | Sequence[int] | None = None
    ) -> Triple:
        """Return a lower bound of delta, the middle of the bracket, and an upper bound.

        Raises
        ------
        TypeError, ValueError
            If ``epsilon`` is negative, or the counts are not permitted.
        """
        return _triple(*self._composed(num_self_compositions).get_delta_bounds(epsilon))

    def _composed(self, counts: int | Sequence[int] | None) -> PLDAccountant:
        uses = self._as_many(1 if counts is None else counts, "num_self_compositions")
        if self._most is not None and any(a > b for a, b in zip(uses, self._most, strict=True)):
            raise ValueError(
                f"num_self_compositions must be at most {self._most}, max_self_compositions, "
                f"got {uses}"
            )
        accountant = PLDAccountant()
        for mechanism, count in zip(self._mechanisms, uses, strict=True):
            accountant.compose(mechanism, count)
        return accountant

    def _as_many(self, counts: int | Sequence[int], name: str) -> list[int]:
        several = isinstance(counts, Sequence)
        given = list(counts) if isinstance(counts, Sequence) else [counts] * len(self._mechanisms)
        if several and len(given) != len(self._mechanisms):
            raise ValueError(
                f"{name} must be as many as mechanisms, {len(self._mechanisms)}, got {len(given)}"
            )
        return given


class DPSGDAccountant(PRVAccountant):
    """Brackets the exact privacy curve of DP-SGD.

    Parameters
    ----------
    noise_multiplier, sampling_probability : float
        Of each step.
    max_steps : int
        The most that may be asked for.
    eps_error, delta_error
        As for `PRVAccountant`.

    Raises
    ------
    TypeError, ValueError
        If a number is not permitted.

    Examples
    --------
    >>> accountant = DPSGDAccountant(1.0, sampling_probability=0.01, max_steps=1000)
    >>> lower, estimate, upper = accountant.compute_epsilon(delta=1e-5, num_steps=1000)
    >>> lower <= estimate <= upper <= lower * (1 + 1e-9)
    True
    """

    def __init__(
        self,
        noise_multiplier: float,
        sampling_probability: float,
        max_steps: int,
        eps_error: float = 0.1,
        delta_error: float = 1e-9,
    ) -> None:
        step = PoissonSubsampledGaussianMechanism(sampling_probability, noise_multiplier)
        super().__init__(step, eps_error, delta_error, max_steps)

    def compute_epsilon(self, delta: float, num_steps: int) -> Triple:  # type: ignore[override]
        """Return a lower bound of epsilon, the middle of the bracket, and an upper bound."""
        return super().compute_epsilon(delta, num_steps)


def find_noise_multiplier(
    sampling_probability: float,
    num_steps: int,
    target_epsilon: float,
    target_delta: float,
    eps_error: float = 0.1,
    mu_max: float = 100.0,
) -> float:
    """Return the smallest noise multiplier for a target; the last two arguments are not needed.

    Raises
    ------
    TypeError, ValueError
        As `renyi.calibrate_noise_multiplier`.

    Examples
    --------
    >>> round(find_noise_multiplier(0.01, 1000, 1.0, 1e-5), 4)
    1.4146
    """
    return calibrate_noise_multiplier(
        target_epsilon=target_epsilon,
        target_delta=target_delta,
        sample_rate=sampling_probability,
        steps=num_steps,
    )


def _triple(lower: float, upper: float) -> Triple:
    middle = upper if upper == lower else lower + 0.5 * (upper - lower)
    return lower, middle, upper
