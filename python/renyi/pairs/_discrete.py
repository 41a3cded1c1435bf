"""Losses of finitely many values: discrete pairs, randomized response, noise on integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from renyi._pair import Pair
from renyi._validation import count_of, epsilon_of, integer_of, probability_of, real_of
from renyi.pairs._distribution import DominatingPair

__all__ = [
    "ApproxDPPair",
    "DiscreteGaussianPair",
    "DiscreteLaplacePair",
    "DiscretePair",
    "RandomizedResponsePair",
]

LARGEST_SHIFT = 2**20
LARGEST_SIGMA = 1e4
WIDEST = 1000.0  # shift over sigma


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
        epsilon = epsilon_of(self.epsilon)
        if epsilon > 500.0:
            raise ValueError(f"epsilon must be a number in [0, 500], got {self.epsilon!r}")
        object.__setattr__(self, "epsilon", epsilon)
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
