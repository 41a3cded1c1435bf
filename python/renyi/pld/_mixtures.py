"""Pairs made of several: Gaussian mixtures, a choice that is shown, releases together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from renyi._pair import Pair
from renyi._validation import count_of, probability_of, real_of
from renyi.pld._distribution import Part, PrivacyLossDistribution, require_pair, within

__all__ = ["Bracketed", "GaussianMixture", "Mixed", "Product", "ReplaceOneSampledGaussian"]


@dataclass(frozen=True, slots=True)
class GaussianMixture(PrivacyLossDistribution):
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
    >>> GaussianMixture((0.81, 0.18, 0.01), (0.0, 1.0, 2.0), 2.0).sigma
    2.0
    """

    weights: Sequence[float]
    means: Sequence[float]
    sigma: float = 1.0

    def __post_init__(self) -> None:
        weights = tuple(_numbers(self.weights, "weights"))
        means = tuple(_numbers(self.means, "means"))
        sigma = positive_of(self.sigma, "sigma", 1e300)
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
        return Pair.gaussian_mixture(self.weights, [m / self.sigma for m in self.means])


@dataclass(frozen=True, slots=True)
class ReplaceOneSampledGaussian(PrivacyLossDistribution):
    """((1-q) N(0) + q N(-1), (1-q) N(0) + q N(1)) of deviation sigma: replacing one record.

    Parameters
    ----------
    sample_rate : float
        q in (0, 1].
    sigma : float
        Noise over the sensitivity of one record's contribution.

    Notes
    -----
    The loss at x takes the value e where x = sigma^2 (asinh(-a sinh(e/2)) - e/2),
    a = e^(1/(2 sigma^2)) (1-q)/q. The pair is its own reverse.

    Examples
    --------
    >>> ReplaceOneSampledGaussian(0.01, 1.0).sample_rate
    0.01
    """

    sample_rate: float
    sigma: float

    def __post_init__(self) -> None:
        rate = probability_of(self.sample_rate, "sample_rate")
        if rate == 0.0:
            raise ValueError(f"sample_rate must be a number in (0, 1], got {self.sample_rate!r}")
        object.__setattr__(self, "sample_rate", rate)
        sigma = positive_of(self.sigma, "sigma", 1e300)
        if sigma < 0.1:  # e^(m x) would overflow
            raise ValueError(f"sigma must be a number in [0.1, 1e300], got {self.sigma!r}")
        object.__setattr__(self, "sigma", sigma)

    def _build(self) -> Pair:
        return Pair.replaced_gaussian(self.sample_rate, self.sigma)


@dataclass(frozen=True, slots=True)
class Bracketed(PrivacyLossDistribution):
    """A pair of which only one that dominates it and one that it dominates are known.

    Upper bounds are those of ``upper``, lower bounds those of ``lower``.

    Parameters
    ----------
    upper, lower : PrivacyLossDistribution
        delta(epsilon) of ``lower`` is nowhere above that of ``upper``; not checked.

    Examples
    --------
    >>> from renyi.pld import Laplace, delta_bounds
    >>> lower, upper = delta_bounds([(Bracketed(Laplace(1.0), Laplace(1.5)), 1)], 0.5)
    >>> round(lower, 4), round(upper, 4)
    (0.08, 0.2212)
    """

    upper: PrivacyLossDistribution
    lower: PrivacyLossDistribution

    def __post_init__(self) -> None:
        require_pair(self.upper, "upper")
        require_pair(self.lower, "lower")

    def _build(self) -> Pair:
        return Pair.bracketed(self.upper._pair, self.lower._pair)


@dataclass(frozen=True, slots=True)
class Mixed(PrivacyLossDistribution):
    """Shows which of several pairs was drawn, and an outcome of it: delta is the weighted sum.

    Parameters
    ----------
    weights : sequence of float
        In [0, 1], of sum at most 1. With what is missing to 1 nothing is revealed.
    pairs : sequence of PrivacyLossDistribution
        As many, at least one.

    Examples
    --------
    >>> from renyi.pld import Laplace, delta_bounds
    >>> lower, upper = delta_bounds([(Mixed((0.5, 0.25), (Laplace(1.0), Laplace(0.5))), 1)], 0.5)
    >>> round(lower, 6), round(upper, 6)  # (1 - e^-0.25) / 2 + (1 - e^-0.75) / 4
    (0.242508, 0.242508)
    """

    weights: Sequence[float]
    pairs: Sequence[PrivacyLossDistribution]

    def __post_init__(self) -> None:
        allowed = "numbers in [0, 1] of sum at most 1"
        try:
            weights = tuple(real_of(w, "weights", allowed) for w in self.weights)
            pairs = tuple(self.pairs)
        except TypeError:
            raise TypeError(
                f"weights and pairs must be sequences, got {self.weights!r} and {self.pairs!r}"
            ) from None
        if any(w < 0.0 for w in weights) or math.fsum(weights) > 1.0:
            raise ValueError(f"weights must be {allowed}, got {self.weights!r}")
        if len(pairs) != len(weights) or not pairs:
            raise ValueError(
                f"pairs must be as many as weights and at least one, got {len(pairs)} "
                f"for {len(weights)} weights"
            )
        for pair in pairs:
            require_pair(pair, "pairs")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "pairs", pairs)

    def _build(self) -> Pair:
        return Pair.mixed(self.weights, [pair._pair for pair in self.pairs])


@dataclass(frozen=True)
class Product(PrivacyLossDistribution):
    """The pair of independent releases on the same data, as one.

    Parameters
    ----------
    parts : sequence of (PrivacyLossDistribution, int)
        Pairs and how often each is used, at least one use and at most 10,000 together.
    points : int
        At least about half as many losses per part, and at most twice as many of the product; in
        [64, 16384].

    Notes
    -----
    Upper bounds are those of a pair that dominates, lower bounds those of one that is dominated.
    Compositions that are not sampled together are composed directly by `Composition`, exactly.

    Examples
    --------
    >>> from renyi.pld import Laplace, PoissonSampled, delta_bounds
    >>> both = PoissonSampled(Product(((Laplace(2.0), 2), (Laplace(1.0), 1))), 0.01)
    >>> lower, upper = delta_bounds([(both, 1)], 0.01)
    >>> bool(lower < upper < lower * 1.0001)
    True
    """

    parts: Sequence[Part]
    points: int = 4096

    def __post_init__(self) -> None:
        allowed = "a sequence of (PrivacyLossDistribution, count) pairs"
        try:
            parts = tuple((pair, count_of(count)) for pair, count in self.parts)
        except (TypeError, ValueError):
            raise TypeError(f"parts must be {allowed}, got {self.parts!r}") from None
        for pair, _ in parts:
            require_pair(pair, "parts")
        parts = tuple((pair, count) for pair, count in parts if count)
        uses = sum(count for _, count in parts)
        if not 1 <= uses <= 10_000:
            raise ValueError(f"parts must be of 1 to 10000 uses together, got {uses}")
        points = count_of(self.points, "points")
        if not 64 <= points <= 16384:
            raise ValueError(f"points must be an integer in [64, 16384], got {self.points!r}")
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "points", points)

    def _build(self) -> Pair:
        return Pair.product([(pair._pair, count) for pair, count in self.parts], self.points)


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
