"""Pairs made of several: Gaussian mixtures, a choice that is shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from renyi._pair import Pair
from renyi._validation import real_of
from renyi.pairs._distribution import DominatingPair, require_pair, within

__all__ = ["GaussianMixturePair", "MixedPair"]


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
        sigma = within(self.sigma, "sigma", 0.0, 1e300, above=True)
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


@dataclass(frozen=True, slots=True)
class MixedPair(DominatingPair):
    """Shows which of several pairs was drawn, and an outcome of it: delta is the weighted sum.

    Parameters
    ----------
    weights : sequence of float
        In [0, 1], of sum at most 1. With what is missing to 1 nothing is revealed.
    pairs : sequence of DominatingPair
        As many, at least one.

    Examples
    --------
    >>> from renyi.pairs import LaplacePair, delta_bounds
    >>> pair = MixedPair((0.5, 0.25), (LaplacePair(1.0), LaplacePair(0.5)))
    >>> lower, upper = delta_bounds([(pair, 1)], 0.5)
    >>> round(lower, 6), round(upper, 6)  # (1 - e^-0.25) / 2 + (1 - e^-0.75) / 4
    (0.242508, 0.242508)
    """

    weights: Sequence[float]
    pairs: Sequence[DominatingPair]

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
