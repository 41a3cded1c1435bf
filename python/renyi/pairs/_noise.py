"""Additive noise over a query moved by 1: what P and Q look like, and their losses."""

from __future__ import annotations

import math
from dataclasses import dataclass

from renyi._pair import Pair
from renyi.pairs._distribution import DominatingPair, within

__all__ = [
    "BoundedRangePair",
    "GaussianPair",
    "GeneralisedGaussianPair",
    "GumbelPair",
    "LaplacePair",
    "StudentTPair",
    "logistic_pair",
]

_LARGEST = 5e3  # loss of generalised Gaussian noise


@dataclass(frozen=True, slots=True)
class GaussianPair(DominatingPair):
    """(N(mu, 1), N(0, 1)): Gaussian noise of multiplier 1/mu, or a composition of such.

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation, in (0, 1e6].

    Notes
    -----
    The loss is N(mu^2/2, mu^2). k-fold composition is Gaussian with mu sqrt(k); compositions merge
    all their Gaussian parts by it. The pair is its own reverse.

    Examples
    --------
    >>> GaussianPair(0.5)
    GaussianPair(mu=0.5)
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", within(self.mu, "mu", 0.0, 1e6, above=True))

    def _build(self) -> Pair:
        return Pair.gaussian(self.mu)


@dataclass(frozen=True, slots=True)
class LaplacePair(DominatingPair):
    """Laplace noise of a given scale over a query of L1 sensitivity 1.

    Parameters
    ----------
    scale : float
        b over the sensitivity, in [2e-3, 1e12]. The loss lies in [-1/b, 1/b].

    Notes
    -----
    The loss has the atoms 1/2 at 1/b and e^(-1/b)/2 at -1/b, and between them the density
    e^((l - 1/b)/2) / 4. The pair is its own reverse.

    Examples
    --------
    >>> LaplacePair(2.0).support
    (-0.5, 0.5)
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", within(self.scale, "scale", 2e-3, 1e12))

    def _build(self) -> Pair:
        return Pair.laplace(self.scale)


@dataclass(frozen=True, slots=True)
class BoundedRangePair(DominatingPair):
    """The pair that dominates every mechanism whose loss lies in some interval of length epsilon.

    The exponential mechanism is one: its loss between two neighbours takes values in
    [t - epsilon, t], t known to nobody.

    Parameters
    ----------
    epsilon : float
        Length of the interval, in [1e-12, 500].

    Notes
    -----
    Among the losses in [t - epsilon, t] the two-point pair on the ends has the largest profile,
    (E - e^t)(1 - e^(e-t))/(E - 1) with E = e^epsilon (Dong, Durfee, Rogers 2020, arXiv 1909.13830).
    Its maximum over t, at t = (epsilon + e)/2, is delta(e) = (E^(1/2) - e^(e/2))^2 / (E - 1) for
    |e| <= epsilon, the profile of the density E^(1/2) e^(l/2) / (2 (E - 1)) on [-epsilon, epsilon].
    One pair dominates all, so that adaptive compositions are covered. It is its own reverse.

    Examples
    --------
    >>> from renyi.pairs import delta_bounds
    >>> lower, upper = delta_bounds([(BoundedRangePair(1.0), 1)], 0.0)
    >>> round(lower, 9), round(upper, 9)  # tanh(1/4)
    (0.244918662, 0.244918662)
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", within(self.epsilon, "epsilon", 1e-12, 500.0))

    def _build(self) -> Pair:
        return Pair.bounded_range(self.epsilon)


@dataclass(frozen=True, slots=True)
class GumbelPair(DominatingPair):
    """Gumbel noise of a given scale over a query moved by 1: P around 1, Q around 0.

    Parameters
    ----------
    scale : float
        b over the shift, in [0.1, 1e9].

    Notes
    -----
    The loss is at most 1/b; the loss of the other direction, ``Reversed``, has an exponential tail.

    Examples
    --------
    >>> GumbelPair(2.0).support[1]
    0.5
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", within(self.scale, "scale", 0.1, 1e9))

    def _build(self) -> Pair:
        return Pair.gumbel(self.scale)


@dataclass(frozen=True, slots=True)
class StudentTPair(DominatingPair):
    """Noise of density proportional to (1 + (x/scale)^2/n)^(-(n+1)/2) over a query moved by 1.

    Parameters
    ----------
    degrees : float
        Degrees of freedom n, in [1.5, 1e4].
    scale : float
        Over the shift, in [0.01, 1e6].

    Raises
    ------
    TypeError, ValueError
        On other types or values.

    Notes
    -----
    The loss is (n + 1) asinh(1/(2 scale n^(1/2))) at most, between the output's two extremes, and
    goes back to 0 beyond them: one use is pure differential privacy. The standard deviation is
    scale (n/(n-2))^(1/2) for n > 2.

    Examples
    --------
    >>> largest = 4.0 * math.asinh(0.25 / math.sqrt(3.0))
    >>> 0.0 <= StudentTPair(3.0, 2.0).support[1] - largest < 1e-14
    True
    """

    degrees: float
    scale: float

    def __post_init__(self) -> None:
        for name, low, high in (("degrees", 1.5, 1e4), ("scale", 0.01, 1e6)):
            object.__setattr__(self, name, within(getattr(self, name), name, low, high))

    def _build(self) -> Pair:
        return Pair.student(self.degrees, self.scale)


@dataclass(frozen=True, slots=True)
class GeneralisedGaussianPair(DominatingPair):
    """Noise of density proportional to e^(-(|x|/scale)^shape) over a query moved by 1.

    Parameters
    ----------
    shape : float
        In [1.01, 10]. At 2 it is Gaussian noise of standard deviation scale/sqrt(2); at 1 it would
        be `LaplacePair` noise.
    scale : float
        Over the shift, in [0.01, 1e6], and so large that losses above 5,000 have a probability
        below 1e-320.

    Raises
    ------
    TypeError, ValueError
        On other types or values.

    Notes
    -----
    The log of the density is concave, so that the loss increases with the output; it has no bound.
    The standard deviation is scale (Gamma(3/shape)/Gamma(1/shape))^(1/2).

    Examples
    --------
    >>> from renyi.pairs import GaussianPair, delta_bounds
    >>> noise = GeneralisedGaussianPair(2.0, math.sqrt(2.0))  # of standard deviation 1
    >>> lower, upper = delta_bounds([(noise, 1)], 1.0)
    >>> exact = delta_bounds([(GaussianPair(1.0), 1)], 1.0)
    >>> bool(lower <= exact[1] and exact[0] <= upper < lower * (1.0 + 1e-10))
    True
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        for name, low, high in (("shape", 1.01, 10.0), ("scale", 0.01, 1e6)):
            object.__setattr__(self, name, within(getattr(self, name), name, low, high))
        # Where the density has fallen to e^-737; panels are as many as the losses are large.
        far = math.pow(737.0, 1.0 / self.shape)
        if not math.pow(far + 1.0 / self.scale, self.shape) - 737.0 <= _LARGEST:
            raise ValueError(
                f"scale must be larger for shape {self.shape:g}: the loss would exceed "
                f"{_LARGEST:g} with a probability above 1e-320, got {self.scale!r}"
            )

    def _build(self) -> Pair:
        return Pair.generalised_gaussian(self.shape, self.scale)


def logistic_pair(scale: float) -> BoundedRangePair:
    """Return the pair of logistic noise of a given scale over a query moved by 1.

    Parameters
    ----------
    scale : float
        b of the distribution function 1/(1 + e^(-x/b)), over the shift, in [0.002, 1e12]. The
        standard deviation is pi b/3^(1/2).

    Raises
    ------
    TypeError, ValueError
        If it is not a number in [0.002, 1e12].

    Notes
    -----
    With t = 1/b the loss at x is t - 2 log w, w = (1 + e^(t - x/b))/(1 + e^(-x/b)). Q's
    distribution function at x is (e^t - w)/(e^t - 1): under Q, w is uniform on [1, e^t]. So the
    loss has the density e^((t - l)/2)/(2 (e^t - 1)) under Q on [-t, t], that of `BoundedRangePair`:
    logistic noise costs what the worst mechanism of bounded range 1/b costs.

    Examples
    --------
    >>> logistic_pair(2.0)
    BoundedRangePair(epsilon=0.5)
    """
    return BoundedRangePair(1.0 / within(scale, "scale", 2e-3, 1e12))
