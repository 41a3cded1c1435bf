"""Pairs of distributions (P, Q) that are not given by a mechanism, and pairs made of pairs.

The privacy loss is L = log dP/dQ(x) for x ~ P, and delta(epsilon) = E_P[(1 - e^(epsilon - L))_+].
A pair is of one direction: for a mechanism under add/remove adjacency build both.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency, DirectionName
from renyi._engine import Pair
from renyi._validation import PROBABILITY, Range, number_in, real_of, set_fields, set_numbers

Array = npt.NDArray[np.float64]
LogDensity = Callable[[Array], Array]

_LARGEST = 5e3  # the largest loss of generalised Gaussian noise


class DominatingPair(ABC):
    """An immutable pair (P, Q), given by its privacy loss; pairs of equal arguments are equal."""

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
"""A pair, or the pair of a mechanism, and its number of uses."""


def compiled_pair(pair: DominatingPair | Pair) -> Pair:
    """Return the pair of the engine."""
    return pair if isinstance(pair, Pair) else pair.compiled


def require_pair(value: object, name: str) -> None:
    """Raise `TypeError` unless a value is a pair."""
    if not isinstance(value, DominatingPair):
        raise TypeError(f"{name} must be a DominatingPair, got {value!r}")


@runtime_checkable
class _HasPair(Protocol):
    """A mechanism of `renyi.mechanisms`, which this package cannot import."""

    def dominating_pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair: ...


@dataclass(frozen=True, slots=True)
class MechanismPair(DominatingPair):
    """The pair of a mechanism for one kind of neighbours and one direction.

    Args:
        mechanism: A mechanism whose pair is known.
        adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours.
        direction ({"remove", "add"}): "remove" compares the outputs with the record to those
            without it.

    Raises:
        TypeError: If it is not a mechanism, or has no known pair (`UnsupportedMechanismError`).

    >>> from renyi.mechanisms import Laplace
    >>> MechanismPair(Laplace(2.0)).support, MechanismPair(Laplace(2.0), "replace_one").support
    ((-0.5, 0.5), (-1.0, 1.0))
    """

    mechanism: _HasPair
    adjacency: Adjacency = "add_remove"
    direction: DirectionName = "remove"

    def __post_init__(self) -> None:
        value: object = self.mechanism
        if isinstance(value, type) or not isinstance(value, _HasPair):
            raise TypeError(f"mechanism must be a Mechanism, got {value!r}")
        self.compiled  # noqa: B018 - refuses what has no pair

    def _build(self) -> Pair:
        return self.mechanism.dominating_pair(self.adjacency, self.direction)


@dataclass(frozen=True, slots=True)
class ReversedPair(DominatingPair):
    """The pair (Q, P): the loss changes its sign.

    >>> ReversedPair(GumbelPair(2.0)).support[0]
    -0.5
    """

    base: DominatingPair

    def __post_init__(self) -> None:
        require_pair(self.base, "base")

    def _build(self) -> Pair:
        return self.base.compiled.reversed()


@dataclass(frozen=True, slots=True)
class PoissonSampledPair(DominatingPair):
    """The record takes part with probability ``sample_rate``: ((1-q) Q + q P, Q).

    The loss of the base pair is transformed monotonically, l -> log1p(q expm1(l)).

    Args:
        base: The pair (P, Q) of the mechanism on the sample, P with the record.
        sample_rate: q in [0, 1].

    This is the direction "remove"; "add" is its ``ReversedPair``.

    >>> PoissonSampledPair(GumbelPair(2.0), 0.1).support[1] == math.log1p(0.1 * math.expm1(0.5))
    True
    """

    base: DominatingPair
    sample_rate: float

    def __post_init__(self) -> None:
        require_pair(self.base, "base")
        set_numbers(self, sample_rate=PROBABILITY)

    def _build(self) -> Pair:
        return self.base.compiled.sampled(self.sample_rate)


@dataclass(frozen=True, slots=True)
class MixedPair(DominatingPair):
    """Shows which of several pairs was drawn, and an outcome of it: delta is the weighted sum.

    Args:
        weights: In [0, 1], of sum at most 1. With the remaining probability nothing is revealed.
        pairs: As many as weights, at least one.

    >>> from renyi.mechanisms import Laplace
    >>> from renyi.pairs import Composition
    >>> pair = MixedPair((0.5, 0.25), [MechanismPair(Laplace(b)) for b in (1.0, 0.5)])
    >>> lower, upper = Composition([(pair, 1)]).delta_bounds(0.5)
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
        set_fields(self, weights=weights, pairs=pairs)

    def _build(self) -> Pair:
        return Pair.mixed(self.weights, [pair.compiled for pair in self.pairs])


@dataclass(frozen=True, slots=True)
class DiscretePair(DominatingPair):
    """A pair of distributions on finitely many outcomes.

    Args:
        p, q: Probabilities of the same outcomes, each of sum 1 within 1e-9. Zeros are allowed.

    >>> DiscretePair((0.75, 0.25), (0.25, 0.75)).infinite_mass
    0.0
    """

    p: Sequence[float]
    q: Sequence[float]

    def __post_init__(self) -> None:
        p, q = _probabilities(self.p, "p"), _probabilities(self.q, "q")
        if len(p) != len(q):
            raise ValueError(f"q must be as long as p, {len(p)} numbers, got {len(q)}")
        set_fields(self, p=p, q=q)

    def _build(self) -> Pair:
        return Pair.discrete(np.array(self.p), np.array(self.q))


@dataclass(frozen=True)
class DensityPair(DominatingPair):
    """A pair of densities on an interval, given by their logarithms.

    Args:
        log_p, log_q: Vectorised; finite inside the interval. Equal callables compare equal.
        start, end: The interval, finite; the P-mass outside counts as infinite loss.
        breaks: Points inside where a density or its slope jumps.
        tolerance: Stated relative error of the integrals, in [1e-15, 1e-3].

    Raises:
        TypeError, ValueError: If the values are of another type, the interval is empty, a density
            is not finite inside, has an integral above 1, or if the integrals at orders 8 and 12
            differ by more than ``tolerance``.

    The interval is divided into 4,096 panels, broken at the turning points of the loss found among
    the panels' ends. Two assumptions cannot be proved from values: the densities are smooth between
    the breaks on the scale of a panel, and the loss has no further turning point. Under these, the
    bounds are certified for the densities as computed and ``tolerance``.

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
        set_fields(self, start=ends[0], end=ends[1], breaks=tuple(inner))
        self.compiled  # noqa: B018 - refuses densities that are not

    def _build(self) -> Pair:
        return Pair.tabulated(
            self.log_p, self.log_q, self.start, self.end, self.breaks, self.tolerance
        )


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


class _Noise(DominatingPair):
    """A pair of noise given by numbers, each with a range, in the order of the engine."""

    __slots__ = ()
    _ranges: ClassVar[dict[str, Range]]
    _engine: ClassVar[Callable[..., Pair]]

    def __post_init__(self) -> None:
        set_numbers(self, **self._ranges)

    def _build(self) -> Pair:
        return self._engine(*(getattr(self, name) for name in self._ranges))


@dataclass(frozen=True, slots=True)
class StudentTPair(_Noise):
    """Noise of density proportional to (1 + (x/scale)^2/n)^(-(n+1)/2) over a query moved by 1.

    Args:
        degrees: Degrees of freedom n, in [1.5, 1e4].
        scale: Scale over the shift, in [0.01, 1e6].

    The loss is at most (n + 1) asinh(1/(2 scale n^(1/2))), reached at two extremal outputs, and
    returns to 0 beyond them: one use is pure differential privacy. The standard deviation is
    scale (n/(n-2))^(1/2) for n > 2.

    >>> largest = 4.0 * math.asinh(0.25 / math.sqrt(3.0))
    >>> 0.0 <= StudentTPair(3.0, 2.0).support[1] - largest < 1e-14
    True
    """

    _ranges: ClassVar = {"degrees": Range(1.5, 1e4), "scale": Range(0.01, 1e6)}
    _engine = staticmethod(Pair.student)

    degrees: float
    scale: float


@dataclass(frozen=True, slots=True)
class GeneralisedGaussianPair(_Noise):
    """Noise of density proportional to e^(-(|x|/scale)^shape) over a query moved by 1.

    Args:
        shape: In [1.01, 10]. At 2 it is Gaussian noise of standard deviation scale/sqrt(2); at 1 it
            would be Laplace noise.
        scale: Scale over the shift, in [0.01, 1e6], and so large that losses above 5,000 have a
            probability below 1e-320.

    The log of the density is concave, so that the loss increases with the output; it has no bound.
    The standard deviation is scale (Gamma(3/shape)/Gamma(1/shape))^(1/2).

    >>> from renyi.mechanisms import Gaussian
    >>> from renyi.pairs import Composition
    >>> noise = GeneralisedGaussianPair(2.0, math.sqrt(2.0))  # of standard deviation 1
    >>> lower, upper = Composition([(noise, 1)]).delta_bounds(1.0)
    >>> exact = Composition([(Gaussian(1.0).dominating_pair(), 1)]).delta_bounds(1.0)
    >>> bool(lower <= exact[1] and exact[0] <= upper < lower * (1.0 + 1e-10))
    True
    """

    _ranges: ClassVar = {"shape": Range(1.01, 10.0), "scale": Range(0.01, 1e6)}
    _engine = staticmethod(Pair.generalised_gaussian)

    shape: float
    scale: float

    def __post_init__(self) -> None:
        _Noise.__post_init__(self)
        # The density has fallen to e^-737 at far; the number of panels grows with the losses.
        far = math.pow(737.0, 1.0 / self.shape)
        if not math.pow(far + 1.0 / self.scale, self.shape) - 737.0 <= _LARGEST:
            raise ValueError(
                f"scale must be larger for shape {self.shape:g}: the loss would exceed "
                f"{_LARGEST:g} with a probability above 1e-320, got {self.scale!r}"
            )


@dataclass(frozen=True, slots=True)
class LogisticPair(_Noise):
    """Logistic noise of a given scale over a query moved by 1.

    Args:
        scale: b of the distribution function 1/(1 + e^(-x/b)), over the shift, in [0.002, 1e12].
            The standard deviation is pi b/3^(1/2).

    Raises:
        TypeError, ValueError: If ``scale`` is not a number in [0.002, 1e12].

    With t = 1/b the loss at x is t - 2 log w, w = (1 + e^(t - x/b))/(1 + e^(-x/b)). Q's
    distribution function at x is (e^t - w)/(e^t - 1): under Q, w is uniform on [1, e^t]. So the
    loss has the density e^((t - l)/2)/(2 (e^t - 1)) under Q on [-t, t], that of the worst mechanism
    of bounded range 1/b (`renyi.mechanisms.Exponential`). The pair is its own reverse.

    >>> LogisticPair(2.0).support
    (-0.5, 0.5)
    """

    _ranges: ClassVar = {"scale": Range(2e-3, 1e12)}

    scale: float

    def _build(self) -> Pair:
        return Pair.bounded_range(1.0 / self.scale)


@dataclass(frozen=True, slots=True)
class GumbelPair(_Noise):
    """Gumbel noise of a given scale over a query that a record moves up by 1, never down.

    Args:
        scale: b over the shift, in [0.1, 1e9].

    P is around 1, Q around 0. The loss is at most 1/b; that of the `ReversedPair` has an
    exponential tail. The mechanism `renyi.mechanisms.Gumbel` covers queries moved either way.

    >>> GumbelPair(2.0).support[1]
    0.5
    """

    _ranges: ClassVar = {"scale": Range(0.1, 1e9)}
    _engine = staticmethod(Pair.gumbel)

    scale: float
