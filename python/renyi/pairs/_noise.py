"""Pairs of noise on a query moved by 1 or by whole numbers, and of finitely many outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from renyi._engine import Pair
from renyi._validation import Range, count_of, integer_of, number_in, probability_of, real_of
from renyi.pairs._base import DominatingPair, poisson_sampled_pair

LARGEST_SHIFT = 2**20
LARGEST_SIGMA = 1e4
WIDEST = 1000.0  # shift over sigma
_LARGEST = 5e3  # loss of generalised Gaussian noise


class _Noise(DominatingPair):
    """A pair of noise by its numbers, each of a range, in the order of the engine."""

    __slots__ = ()
    _ranges: ClassVar[tuple[tuple[str, Range], ...]]
    _engine: ClassVar[Callable[..., Pair]]

    def __post_init__(self) -> None:
        for name, allowed in self._ranges:
            object.__setattr__(self, name, number_in(getattr(self, name), name, allowed))

    def _build(self) -> Pair:
        return self._engine(*(getattr(self, name) for name, _ in self._ranges))


@dataclass(frozen=True, slots=True)
class GaussianPair(_Noise):
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

    _ranges = (("mu", Range(0.0, 1e6, "(]")),)
    _engine = staticmethod(Pair.gaussian)

    mu: float


@dataclass(frozen=True, slots=True)
class LaplacePair(_Noise):
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

    _ranges = (("scale", Range(2e-3, 1e12)),)
    _engine = staticmethod(Pair.laplace)

    scale: float


@dataclass(frozen=True, slots=True)
class BoundedRangePair(_Noise):
    """The pair that dominates every mechanism whose loss lies in some interval of length epsilon.

    The exponential mechanism is one: its loss between two neighbours takes values in
    [t - epsilon, t], for an unknown t.

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

    _ranges = (("epsilon", Range(1e-12, 500.0)),)
    _engine = staticmethod(Pair.bounded_range)

    epsilon: float


@dataclass(frozen=True, slots=True)
class GumbelPair(_Noise):
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

    _ranges = (("scale", Range(0.1, 1e9)),)
    _engine = staticmethod(Pair.gumbel)

    scale: float


@dataclass(frozen=True, slots=True)
class StudentTPair(_Noise):
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

    _ranges = (
        ("degrees", Range(1.5, 1e4)),
        ("scale", Range(0.01, 1e6)),
    )
    _engine = staticmethod(Pair.student)

    degrees: float
    scale: float


@dataclass(frozen=True, slots=True)
class GeneralisedGaussianPair(_Noise):
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

    _ranges = (
        ("shape", Range(1.01, 10.0)),
        ("scale", Range(0.01, 1e6)),
    )
    _engine = staticmethod(Pair.generalised_gaussian)

    shape: float
    scale: float

    def __post_init__(self) -> None:
        _Noise.__post_init__(self)
        # Where the density has fallen to e^-737; panels are as many as the losses are large.
        far = math.pow(737.0, 1.0 / self.shape)
        if not math.pow(far + 1.0 / self.scale, self.shape) - 737.0 <= _LARGEST:
            raise ValueError(
                f"scale must be larger for shape {self.shape:g}: the loss would exceed "
                f"{_LARGEST:g} with a probability above 1e-320, got {self.scale!r}"
            )


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
    return BoundedRangePair(1.0 / number_in(scale, "scale", Range(2e-3, 1e12)))


def sampled_gaussian_pair(
    sample_rate: float, sigma: float, direction: str = "remove"
) -> DominatingPair:
    """Return the Poisson-sampled Gaussian in one direction, see ``poisson_sampled_pair``."""
    mu = 1.0 / number_in(sigma, "sigma", Range(0.0, 1e6, "(]"))
    return poisson_sampled_pair(GaussianPair(mu), sample_rate, direction)


@dataclass(frozen=True, slots=True)
class GaussianMixturePair(DominatingPair):
    """(sum_j w_j N(m_j, sigma^2), N(0, sigma^2)): a group, or a user, sampled in part.

    Parameters
    ----------
    weights : sequence of float
        Positive, of sum 1.
    means : sequence of float
        Of any signs; with both signs the loss falls and then rises.
    sigma : float
        Standard deviation, default 1.

    Notes
    -----
    The Poisson-sampled Gaussian is the case of weights (1-q, q) and means (0, 1).

    Examples
    --------
    >>> GaussianMixturePair((0.81, 0.18, 0.01), (0.0, 1.0, 2.0), 2.0).sigma
    2.0
    """

    weights: Sequence[float]
    means: Sequence[float]
    sigma: float = 1.0

    def __post_init__(self) -> None:
        weights = tuple(_numbers(self.weights, "weights"))
        means = tuple(_numbers(self.means, "means"))
        sigma = number_in(self.sigma, "sigma", Range(0.0, 1e300, "(]"))
        if len(weights) != len(means) or not weights:
            raise ValueError(
                f"means must be as many as weights and at least one, got {len(means)} "
                f"for {len(weights)} weights"
            )
        if min(weights) <= 0.0 or abs(math.fsum(weights) - 1.0) > 1e-12:
            raise ValueError(f"weights must be positive numbers of sum 1, got {self.weights!r}")
        if not any(means) or max(map(abs, means)) > 1e6 * sigma:
            raise ValueError(f"means must be within 1e6 sigma and not all 0, got {self.means!r}")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "sigma", sigma)

    def _build(self) -> Pair:
        return Pair.gaussian_mixture(self.weights, self.means, self.sigma)


def _numbers(values: object, name: str) -> list[float]:
    allowed = "a sequence of finite numbers"
    try:
        items = list(values)  # type: ignore[call-overload]
    except TypeError:
        raise TypeError(f"{name} must be {allowed}, got {values!r}") from None
    numbers = [real_of(item, name, allowed) for item in items]
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"{name} must be {allowed}, got {values!r}")
    return numbers


@dataclass(frozen=True, slots=True)
class DiscretePair(DominatingPair):
    """A pair of distributions on finitely many outcomes.

    Parameters
    ----------
    p, q : sequence of float
        Probabilities of the same outcomes, each of sum 1 within 1e-9. Zeros are allowed.

    Examples
    --------
    >>> DiscretePair((0.75, 0.25), (0.25, 0.75)).infinite_mass
    0.0
    """

    p: Sequence[float]
    q: Sequence[float]

    def __post_init__(self) -> None:
        p, q = _probabilities(self.p, "p"), _probabilities(self.q, "q")
        if len(p) != len(q):
            raise ValueError(f"q must be as long as p, {len(p)} numbers, got {len(q)}")
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "q", q)

    def _build(self) -> Pair:
        return Pair.discrete(np.array(self.p), np.array(self.q))


@dataclass(frozen=True, slots=True)
class RandomizedResponsePair(DominatingPair):
    """One of ``choices`` answers: the true one with probability ``p``, each other equally likely.

    Parameters
    ----------
    p : float
        Probability of the true answer, in [0, 1]; at 1/choices the answer is uniform. With
        probability r of a uniform answer and the truth otherwise, p = 1 - r + r/choices.
    choices : int
        Number of answers, at least 1; a single one is always given.

    Examples
    --------
    >>> RandomizedResponsePair(0.75).atoms()[0].round(4).tolist()
    [-1.0986, 1.0986]
    """

    p: float
    choices: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability_of(self.p, "p"))
        object.__setattr__(self, "choices", integer_of(self.choices, "choices", 1))

    def _build(self) -> Pair:
        return Pair.randomized_response(self.p, self.choices)


@dataclass(frozen=True, slots=True)
class ApproxDPPair(DominatingPair):
    """The pair that dominates every (epsilon, delta)-private mechanism.

    P has delta where Q vanishes, Q the same where P vanishes; the rest is randomized response of
    loss epsilon (Kairouz, Oh, Viswanath 2015, arXiv 1311.0776).

    Parameters
    ----------
    epsilon : float
        In [0, 500].
    delta : float
        In [0, 1].

    Examples
    --------
    >>> ApproxDPPair(1.0, 1e-5).infinite_mass
    1e-05
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", number_in(self.epsilon, "epsilon", Range(0.0, 500.0)))
        object.__setattr__(self, "delta", probability_of(self.delta, "delta"))

    def _build(self) -> Pair:
        return Pair.approximate_privacy(self.epsilon, self.delta)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianPair(DominatingPair):
    """Discrete Gaussian noise, of mass ∝ e^(-x^2 / (2 sigma^2)) on the integers.

    Parameters
    ----------
    sigma : float
        In [shift/1000, 1e4]: up to 78 sigma + shift losses are kept one by one.
    shift : int
        How far the two means lie apart, in [1, 2^20].

    Notes
    -----
    The loss at x is shift (2 x - shift) / (2 sigma^2). What lies beyond 38.7 sigma of both means
    has less than 2^-1060 of either mass and is counted at infinite loss. The pair is its own
    reverse.

    References
    ----------
    Canonne, Kamath, Steinke 2020, arXiv 2004.00010.

    Examples
    --------
    >>> from renyi.pairs import epsilon_bounds
    >>> lower, upper = epsilon_bounds([(DiscreteGaussianPair(3.0), 1)], 1e-5)
    >>> bool(lower <= upper < lower + 1e-9)
    True
    """

    sigma: float
    shift: int = 1

    def __post_init__(self) -> None:
        shift = _shift_of(self.shift)
        allowed = f"a number in [{shift / WIDEST:g}, {LARGEST_SIGMA:g}] for a shift of {shift}"
        sigma = real_of(self.sigma, "sigma", allowed)
        if not shift / WIDEST <= sigma <= LARGEST_SIGMA:
            raise ValueError(f"sigma must be {allowed}, got {self.sigma!r}")
        object.__setattr__(self, "sigma", sigma)
        object.__setattr__(self, "shift", shift)

    def _build(self) -> Pair:
        return Pair.discrete_gaussian(self.sigma, self.shift)


@dataclass(frozen=True, slots=True)
class DiscreteLaplacePair(DominatingPair):
    """Discrete Laplace noise, of mass ∝ e^(-|x| / scale) on the integers: the geometric mechanism.

    Parameters
    ----------
    scale : float
        In [shift/500, 1e12].
    shift : int
        How far the two centres lie apart, in [1, 2^20].

    Notes
    -----
    With r = e^(-1/scale) the loss is ±shift/scale with P-masses 1/(1+r) and r^shift/(1+r), and
    (2 j - shift)/scale with mass r^(shift-j) (1-r)/(1+r) for 0 < j < shift. The pair is its own
    reverse.

    Examples
    --------
    >>> DiscreteLaplacePair(2.0, 2).atoms()[0].tolist()
    [-1.0, 0.0, 1.0]
    """

    scale: float
    shift: int = 1

    def __post_init__(self) -> None:
        shift = _shift_of(self.shift)
        allowed = f"a number in [{shift / 500.0:g}, 1e12] for a shift of {shift}"
        scale = real_of(self.scale, "scale", allowed)
        if not shift / 500.0 <= scale <= 1e12:
            raise ValueError(f"scale must be {allowed}, got {self.scale!r}")
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "shift", shift)

    def _build(self) -> Pair:
        return Pair.discrete_laplace(self.scale, self.shift)


def _probabilities(values: npt.ArrayLike, name: str) -> tuple[float, ...]:
    allowed = "a 1-d array of numbers >= 0 of sum 1"
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be {allowed}, got {values!r}") from None
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be {allowed}, got {values!r}")
    array = array.astype(np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} must be {allowed}, got an array of shape {array.shape}")
    if not np.all(array >= 0.0) or abs(math.fsum(array.tolist()) - 1.0) > 1e-9:
        raise ValueError(f"{name} must be {allowed}, got {values!r}")
    return tuple(array.tolist())


def _shift_of(value: object) -> int:
    allowed = f"an integer in [1, {LARGEST_SHIFT}]"
    shift = count_of(value, "shift")
    if not 1 <= shift <= LARGEST_SHIFT:
        raise ValueError(f"shift must be {allowed}, got {value!r}")
    return shift
