"""Privacy-loss distributions of pairs (P, Q), compiled once, and what is done with pairs.

The privacy loss is L = log dP/dQ(x) for x ~ P, and delta(epsilon) = E_P[(1 - e^(epsilon - L))_+].
One direction at a time: for a mechanism under add/remove adjacency build both.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from renyi._engine import Pair
from renyi._validation import Range, number_in, probability_of, real_of

Array = npt.NDArray[np.float64]
LogDensity = Callable[[Array], Array]


class DominatingPair(ABC):
    """An immutable pair (P, Q), seen through its privacy loss; equal where its arguments are."""

    __slots__ = ()

    @abstractmethod
    def _build(self) -> Pair:
        """Return the compiled pair."""

    @property
    def compiled(self) -> Pair:
        """The pair of the engine, cached."""
        return _compiled(self)

    @property
    def infinite_mass(self) -> float:
        """P-mass where Q vanishes, rounded up."""
        return self.compiled.infinite_mass

    @property
    def null_mass(self) -> float:
        """Q-mass where P vanishes, rounded up."""
        return self.compiled.null_mass

    @property
    def support(self) -> tuple[float, float]:
        """An interval of all finite losses, except those that `infinite_mass` counts."""
        return self.compiled.support

    @property
    def symmetric(self) -> bool:
        """Whether the pair is known to be its own reverse: (P, Q) and (Q, P) have one profile."""
        return self.compiled.symmetric

    def atoms(self) -> tuple[Array, Array, Array]:
        """Return the point masses of the loss: losses, masses under P, masses under Q."""
        return self.compiled.atoms()


@lru_cache(maxsize=512)
def _compiled(distribution: DominatingPair) -> Pair:
    return distribution._build()


Part = tuple[DominatingPair | Pair, int]
"""A pair, or that of a mechanism, and how often it is used."""


@dataclass(frozen=True, slots=True)
class ReversedPair(DominatingPair):
    """The pair (Q, P): the loss changes its sign.

    Examples
    --------
    >>> from renyi.pairs import LaplacePair
    >>> ReversedPair(LaplacePair(1.0)).support
    (-1.0, 1.0)
    """

    base: DominatingPair

    def __post_init__(self) -> None:
        require_pair(self.base, "base")

    def _build(self) -> Pair:
        return self.base.compiled.reversed()


def require_pair(value: object, name: str) -> None:
    """Refuse what is not a pair."""
    if not isinstance(value, DominatingPair):
        raise TypeError(f"{name} must be a DominatingPair, got {value!r}")


@dataclass(frozen=True, slots=True)
class PoissonSampledPair(DominatingPair):
    """The record takes part with probability ``sample_rate``: ((1-q) Q + q P, Q).

    The loss of the base pair is transformed monotonically, l -> log1p(q expm1(l)).

    Parameters
    ----------
    base : DominatingPair
        The pair (P, Q) of the mechanism on the sample, P with the record.
    sample_rate : float
        q in [0, 1].

    Notes
    -----
    This is the direction "remove"; "add" is its ``ReversedPair``, see ``poisson_sampled_pair``.
    """

    base: DominatingPair
    sample_rate: float

    def __post_init__(self) -> None:
        require_pair(self.base, "base")
        object.__setattr__(self, "sample_rate", probability_of(self.sample_rate, "sample_rate"))

    def _build(self) -> Pair:
        return self.base.compiled.sampled(self.sample_rate)


def poisson_sampled_pair(
    base: DominatingPair, sample_rate: float, direction: str = "remove"
) -> DominatingPair:
    """Return the pair of a Poisson-sampled mechanism in one direction.

    Parameters
    ----------
    base : DominatingPair
        (P, Q) of the mechanism itself, P with the record and Q without.
    sample_rate : float
        In [0, 1].
    direction : {"remove", "add"}
        ((1-q) Q + q P, Q) or (Q, (1-q) Q + q P).

    Raises
    ------
    TypeError, ValueError
        On another type, rate or direction.

    Examples
    --------
    >>> from renyi.pairs import GaussianPair, delta_bounds
    >>> lower, upper = delta_bounds([(poisson_sampled_pair(GaussianPair(1.0), 0.1), 1)], 0.5)
    >>> bool(lower <= 0.00203253692034 + 1e-15 and upper >= 0.00203253692034 - 1e-15)
    True
    """
    if direction not in ("remove", "add"):
        raise ValueError(f"direction must be 'remove' or 'add', got {direction!r}")
    sampled = PoissonSampledPair(base, sample_rate)
    return sampled if direction == "remove" else ReversedPair(sampled)


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
        return Pair.mixed(self.weights, [pair.compiled for pair in self.pairs])


@dataclass(frozen=True)
class DensityPair(DominatingPair):
    """A pair of densities on an interval, given by their logarithms.

    Parameters
    ----------
    log_p, log_q : callable
        Vectorised; finite inside the interval. Equal callables compare equal.
    start, end : float
        The interval, finite; what P has outside is counted at infinite loss.
    breaks : sequence of float
        Points inside where a density or its slope jumps.
    tolerance : float
        Stated relative error of the integrals, in [1e-15, 1e-3].

    Raises
    ------
    TypeError, ValueError
        If the values are of another type, the interval is empty, a density is not finite inside,
        has an integral above 1, or if the integrals at orders 8 and 12 differ by more than
        ``tolerance``.

    Notes
    -----
    The interval is divided into 4,096 panels, broken at the turning points of the loss found among
    the panels' ends. Assumed, and not provable from values: the densities are smooth between the
    breaks on the scale of a panel, and the loss has no further turning point. Bounds are then
    certified given the densities as computed and ``tolerance``.

    Examples
    --------
    >>> import numpy as np
    >>> def log_p(x): return -0.5 * (x - 1.0) ** 2 - 0.5 * np.log(2.0 * np.pi)
    >>> def log_q(x): return -0.5 * x**2 - 0.5 * np.log(2.0 * np.pi)
    >>> pair = DensityPair(log_p, log_q, -12.0, 13.0)
    >>> abs(pair.support[1] - 12.5) < 1e-9
    True
    """

    log_p: LogDensity
    log_q: LogDensity
    start: float
    end: float
    breaks: tuple[float, ...] = ()
    tolerance: float = 1e-12

    def __post_init__(self) -> None:
        for name in ("log_p", "log_q"):
            if not callable(getattr(self, name)):
                raise TypeError(f"{name} must be callable, got {getattr(self, name)!r}")
        ends = [real_of(getattr(self, n), n, "a finite number") for n in ("start", "end")]
        if not (math.isfinite(ends[0]) and math.isfinite(ends[1]) and ends[0] < ends[1]):
            raise ValueError(f"end must be a finite number above start, got {ends[1]!r}")
        number_in(self.tolerance, "tolerance", Range(1e-15, 1e-3))
        inner = sorted(real_of(b, "breaks", "numbers inside the interval") for b in self.breaks)
        if inner and not ends[0] < inner[0] <= inner[-1] < ends[1]:
            raise ValueError(f"breaks must be numbers inside the interval, got {self.breaks!r}")
        fixed = {"start": ends[0], "end": ends[1], "breaks": tuple(inner)}
        for name, value in fixed.items():
            object.__setattr__(self, name, value)
        self.compiled  # noqa: B018 - refuses densities that are not

    def _build(self) -> Pair:
        return Pair.tabulated(
            self.log_p, self.log_q, self.start, self.end, self.breaks, self.tolerance
        )
