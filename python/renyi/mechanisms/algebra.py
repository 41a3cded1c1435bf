"""The base of all mechanisms, and composition.

A mechanism is an immutable value that says what was released. Its class holds the known facts about
the privacy loss, once: a dominating pair for each adjacency and direction, the Rényi curve, and
facts such as symmetry. Accountants read these facts; a mechanism made of others asks its parts.
"""

from __future__ import annotations

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from operator import attrgetter
from string import Formatter
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from renyi import _strict_json
from renyi._adjacency import ADJACENCIES, DIRECTIONS, Adjacency, DirectionName, adjacency_of, one_of
from renyi._engine import Pair, RenyiCurve
from renyi._validation import (
    NON_NEGATIVE,
    count_of,
    float_above,
    set_fields,
    set_numbers,
    shortest,
)
from renyi.mechanisms.steps import (
    REPLACE,
    CountedSteps,
    SampledStep,
    distance,
    gaussian_pair,
    mu_of,
    pure_curve,
)

MOST_PRODUCTS = 10_000  # the most releases on one sample

AnyMechanism = TypeVar("AnyMechanism", bound="Mechanism")


class UnsupportedMechanismError(TypeError):
    """An accountant cannot account for a mechanism.

    Attributes:
        mechanism: The mechanism that was refused.
        reason: The reason, as a clause.
    """

    def __init__(self, mechanism: Mechanism, reason: str) -> None:
        super().__init__(mechanism, reason)
        self.mechanism = mechanism
        self.reason = reason

    def __str__(self) -> str:
        return (
            "mechanism must be one that this accountant can bound, "
            f"got {self.mechanism!r}: {self.reason}"
        )


class AllocatedEpoch(NamedTuple):
    """One epoch of random allocation with Gaussian noise, on a Poisson sample of a rate."""

    noise: float
    steps: float
    rate: float

    def pair_by_law(self, direction: DirectionName) -> Pair:
        """Return the pair by the law of the likelihood ratio, used where its own curve is wide."""
        pair = gaussian_pair(1.0 / self.noise).allocated(self.steps)
        pair = pair if self.rate == 1.0 else pair.sampled(self.rate)
        return pair if direction == "remove" else pair.reversed()


class LossCurve(Protocol):
    """A privacy curve by certified brackets; a proof of ``enough`` as upper end may suffice."""

    def delta_bounds(self, epsilon: float, enough: float = 0.0, /) -> tuple[float, float]:
        """Return ends of delta at an epsilon in [0, inf]."""

    def epsilon_bounds(self, delta: float, enough: float = 0.0, /) -> tuple[float, float]:
        """Return ends of the least epsilon at a delta in [0, 1), perhaps below 0."""


class Mechanism:
    """Base of all mechanisms: immutable values with ``m * k``, ``m + n`` and a JSON form."""

    __slots__ = ()
    __array_ufunc__: ClassVar[None] = None  # NumPy then leaves ``np.int64(3) * m`` to __rmul__

    adjacencies: ClassVar[tuple[Adjacency, ...]] = ADJACENCIES
    """The neighbouring relations that the mechanism holds for, if its parts do, too."""

    assumption: ClassVar[str] = ""
    """The assumption about the release: a topic, a colon and a sentence, with fields in braces."""

    states_sampling: ClassVar[bool] = False
    """Whether the stated guarantee or distribution already contains all sampling."""

    summary: ClassVar[str] = ""
    """A line for `describe`, with fields in braces; ends in "of" or "each" where `parts` follow."""

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} must be a class of its own, with its __init__")

    def _headline(self) -> str:
        names = [name for _, name, _, _ in Formatter().parse(self.summary) if name]
        return self.summary.format(**{name: printed(getattr(self, name)) for name in names})

    @property
    def parts(self) -> tuple[tuple[Mechanism, int], ...]:
        """The mechanisms that this one runs, with their counts."""
        return ()

    def __mul__(self, count: int) -> Composed:
        return Composed((self, count))

    __rmul__ = __mul__

    def __add__(self, other: Mechanism) -> Composed:
        if not isinstance(other, Mechanism):
            return NotImplemented
        return Composed((self, 1), (other, 1))

    def __radd__(self, other: object) -> Mechanism:
        """``sum`` starts with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _repr_html_(self) -> str:
        """Return the tree of `describe` for notebooks."""
        return f"<pre>{html.escape(self.describe())}</pre>"

    def describe(self) -> str:
        """Return the tree of the mechanism as text, for people.

        >>> from renyi.mechanisms import Gaussian, PoissonSampled
        >>> print((PoissonSampled(Gaussian(1.1), 0.01) * 10_000).describe())
        10000 x
          Poisson sample, rate 0.01, of
            Gaussian noise, multiplier 1.1
        """
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield self._headline()
        for mechanism, _ in self.parts:
            yield from (f"  {line}" for line in mechanism._lines())

    def to_dict(self) -> dict[str, Any]:
        """Return a mapping for strict JSON: the type's name, then the fields; "inf" for infinity.

        Raises:
            TypeError: If a `PrivacyLoss` holds functions, or an object of the user's own class.

        >>> from renyi.mechanisms import Gaussian
        >>> Gaussian(1.1).to_dict()
        {'type': 'Gaussian', 'noise_multiplier': 1.1}
        """
        from renyi.mechanisms.json_form import encode

        return encode(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the mechanism that `to_dict` described.

        Raises:
            TypeError, ValueError: If the type is unknown or not of this class, a field is missing
                or unknown, or a value is not permitted.

        >>> Mechanism.from_dict({"type": "Laplace", "noise_multiplier": 2.0})
        Laplace(noise_multiplier=2.0)
        """
        from renyi.mechanisms.json_form import decode

        return _of_class(cls, decode(data), "data")

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict` and the version of the format as strict JSON.

        >>> from renyi.mechanisms import Gaussian
        >>> Gaussian(1.1).to_json()
        '{"version": 1, "type": "Gaussian", "noise_multiplier": 1.1}'
        """
        return _strict_json.dumps(self.to_dict(), indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the mechanism that `to_json` wrote, equal in every digit.

        Raises:
            TypeError, ValueError: If the text is not strict JSON or of another version, and as
                `from_dict`.

        >>> from renyi.mechanisms import Gaussian
        >>> Mechanism.from_json((Gaussian(0.1) * 3).to_json())
        Composed((Gaussian(noise_multiplier=0.1), 3))
        """
        from renyi.mechanisms.json_form import decode

        return _of_class(cls, decode(_strict_json.loads(text)), "text")

    # Facts about the privacy loss, which classes override.

    def dominating_pair(
        self, adjacency: Adjacency = "add_remove", direction: DirectionName = "remove"
    ) -> Pair:
        """Return a pair (P, Q) that dominates one use in one direction, compiled.

        "remove" compares the outputs with the record to those without it. If records are replaced,
        both directions have one pair.

        Raises:
            UnsupportedMechanismError: If no pair is known, or the mechanism does not hold for the
                adjacency.

        >>> from renyi.mechanisms import Laplace
        >>> Laplace(2.0).dominating_pair().support
        (-0.5, 0.5)
        """
        self.check_adjacency(adjacency_of(adjacency))
        return pair_of(self, adjacency, one_of(direction, "direction", DIRECTIONS))

    def renyi_curve(self, adjacency: Adjacency = "add_remove") -> RenyiCurve:
        """Return K(alpha) = (alpha - 1) times the Rényi divergence of order alpha, compiled.

        The curve is the larger of both directions.

        Raises:
            UnsupportedMechanismError: If no valid curve is known, or the mechanism does not hold
                for the adjacency.

        >>> from renyi.mechanisms import Gaussian
        >>> round(Gaussian(1.0).renyi_curve().log_moment(2.0)[1], 12)
        1.0
        """
        self.check_adjacency(adjacency_of(adjacency))
        return curve_of(self, adjacency)

    def check_adjacency(self, adjacency: Adjacency) -> None:
        """Raise `UnsupportedMechanismError` unless the mechanism holds for an adjacency."""
        if adjacency not in self.adjacencies:
            words = " or ".join(map(repr, self.adjacencies))
            raise UnsupportedMechanismError(
                self, f"it holds for adjacency {words} only, this accountant has {adjacency!r}"
            )
        for part, _ in self.parts:
            part.check_adjacency(adjacency)

    def check_pair(self, adjacency: Adjacency) -> None:
        """Raise `UnsupportedMechanismError` unless `dominating_pair` knows a pair."""
        self.dominating_pair(adjacency)

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        """Return the dominating pair; `pair_of` caches it."""
        raise UnsupportedMechanismError(self, "its privacy loss is not known")

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        """Return the Rényi curve; `curve_of` caches it.

        The default is the curve of the pairs, or that of the largest loss if the former is
        infinite.
        """
        curve = curve_of_pairs(self, adjacency)
        if curve.is_unbounded:
            losses = [self.largest_loss(adjacency, side) for side in DIRECTIONS]
            finite = [loss for loss in losses if loss is not None]
            if len(finite) == len(losses):
                return pure_curve(max(finite))
        return curve

    def largest_loss(self, adjacency: Adjacency, direction: DirectionName) -> Fraction | None:
        """Return the largest privacy loss; None: infinite, or it has no closed form.

        If the loss involves logarithms, the result may exceed it by a relative 1e-45.
        """
        return None

    @property
    def releases(self) -> tuple[tuple[Mechanism, int], ...]:
        """The independent mechanisms, with counts, whose composition accountants use for this."""
        return ((self, 1),)

    @property
    def gaussian_steps(self) -> CountedSteps | None:
        """The Gaussian and sampled Gaussian steps that this consists of, if it does; else None."""
        return None

    @property
    def sampled_group(self) -> SampledStep | None:
        """The step with several records, if this is one within the engine's domain; else None."""
        return None

    @property
    def allocated_epoch(self) -> AllocatedEpoch | None:
        """The epoch of random allocation, if this is one within the engine's domain; else None."""
        return None

    @property
    def symmetric(self) -> bool:
        """Whether a dominating pair is known that an involution swaps.

        Then the two directions of a Poisson sample compare as in Mironov, Talwar, Zhang 2019,
        Theorem 5, and the expansion of Zhu and Wang is the divergence itself. Compositions keep
        the property.
        """
        return False

    @property
    def has_swapped_pairs(self) -> bool:
        """Whether every pair of neighbours has an involution that swaps its distributions."""
        return self.symmetric

    @property
    def dominates_removal(self) -> bool:
        """Whether the pair for replacing a record also dominates its removal."""
        return False

    @property
    def may_lack_record(self) -> bool:
        """Whether a record may be replaced by one without any effect."""
        if self.parts:
            return all(part.may_lack_record for part, _ in self.parts)
        return self.dominates_removal

    @property
    def holds_in_both_orders(self) -> bool:
        """Whether a pair for replacing a record dominates both orders of the two neighbours.

        It does, except for a user's own losses that differ between the directions.
        """
        return all(part.holds_in_both_orders for part, _ in self.parts)

    @property
    def has_custom_add_pair(self) -> bool:
        """Whether direction "add" has its own pair, not the reverse of the pair of "remove"."""
        return any(part.has_custom_add_pair for part, _ in self.parts)

    @property
    def has_allocation(self) -> bool:
        """Whether epochs of random allocation take part."""
        return any(part.has_allocation for part, _ in self.parts)

    def same_in_both_directions(self, adjacency: Adjacency) -> bool:
        """Whether one use is known to have equal privacy curves in both directions."""
        if adjacency == REPLACE:
            return self.holds_in_both_orders
        if self.has_allocation:
            return False  # not known: the pairs of an epoch take long to compute
        one, other = (pair_of(self, adjacency, side) for side in DIRECTIONS)
        return one is other or (one.symmetric and other.symmetric and not self.has_custom_add_pair)

    def attained_pair(
        self, adjacency: Adjacency, direction: DirectionName
    ) -> tuple[Pair, float] | None:
        """Return the pair of some actual neighbours, and the relative error of its masses.

        None: actual neighbours attain the lower side of the dominating pair.
        """
        return None

    def single_use(self, adjacency: Adjacency, direction: DirectionName) -> LossCurve | None:
        """Return the curve of one use by itself, if one is known without a pair."""
        return None

    @property
    def alternatives(self) -> tuple[Mechanism, ...]:
        """Other mechanisms that each bound this one: accountants take the least."""
        return ()

    @property
    def without_limit(self) -> tuple[Mechanism, float] | None:
        """A mechanism close to this one, and their total variation distance.

        The distance holds for either neighbour and after any earlier releases. None: none is known.
        """
        return None

    def without_failure(self) -> tuple[Mechanism, float]:
        """Return the mechanism without failures, and the probability of a failure, rounded up.

        A failure reveals everything. Both hold for every adjacency that the mechanism holds for.
        """
        return self, 0.0

    def for_group(self, size: int) -> Mechanism | None:
        """Return the mechanism for groups of ``size`` records; None: not known."""
        return None

    def check_groups(self, adjacency: Adjacency) -> None:
        """Raise `UnsupportedMechanismError` unless its pair holds along a chain of neighbours."""
        for part, _ in self.parts:
            part.check_groups(adjacency)


class OfLargestLoss(Mechanism):
    """Base of the mechanisms whose ``epsilon``, in [0, inf], is their largest privacy loss."""

    __slots__ = ()
    symmetric = True
    epsilon: float

    def __post_init__(self) -> None:
        set_numbers(self, epsilon=NON_NEGATIVE)

    def largest_loss(self, adjacency: Adjacency, direction: DirectionName) -> Fraction | None:
        """Return ``epsilon``."""
        return Fraction(self.epsilon) if self.epsilon < math.inf else None


def _of_released(name: str) -> Any:
    """Return a property that reads the attribute of `Equivalent.released`."""
    return property(attrgetter(f"released.{name}"), doc=f"``{name}`` of `released`.")


class Equivalent(Mechanism, ABC):
    """Base of the mechanisms that are accounted as another mechanism, `released`."""

    __slots__ = ()

    @property
    @abstractmethod
    def released(self) -> Mechanism:
        """The mechanism that accountants use for this one."""

    @property
    def parts(self) -> tuple[tuple[Mechanism, int], ...]:
        """The mechanism that accountants use for this one."""
        return ((self.released, 1),)

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        return pair_of(self.released, adjacency, direction)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        return curve_of(self.released, adjacency)

    def largest_loss(self, adjacency: Adjacency, direction: DirectionName) -> Fraction | None:
        """Return the largest loss of `released`."""
        return self.released.largest_loss(adjacency, direction)

    releases = _of_released("releases")
    gaussian_steps = _of_released("gaussian_steps")
    allocated_epoch = _of_released("allocated_epoch")
    symmetric = _of_released("symmetric")
    dominates_removal = _of_released("dominates_removal")
    has_allocation = _of_released("has_allocation")


class Composed(Mechanism):
    """Several mechanisms on the same data, each used ``count`` times, possibly adaptively.

    Args:
        *parts: The mechanisms, with their counts if not 1. Nested compositions are flattened, equal
            mechanisms are merged and unused ones dropped; the order is kept, but equality ignores
            it. Without parts, nothing was released.

    >>> from renyi.mechanisms import Gaussian
    >>> Composed(Gaussian(1.0), (Gaussian(2.0), 10))
    Composed((Gaussian(noise_multiplier=1.0), 1), (Gaussian(noise_multiplier=2.0), 10))
    """

    __slots__ = ("_parts",)
    _parts: tuple[tuple[Mechanism, int], ...]

    def __init__(self, *parts: Mechanism | tuple[Mechanism, int]) -> None:
        merged: dict[Mechanism, int] = {}
        for part in parts:
            mechanism, count = _part_of(part)
            inner = mechanism.parts if isinstance(mechanism, Composed) else ((mechanism, 1),)
            for item, times in inner:
                if times * count:
                    merged[item] = merged.get(item, 0) + times * count
        set_fields(self, _parts=tuple(merged.items()))

    @property
    def parts(self) -> tuple[tuple[Mechanism, int], ...]:
        """The distinct mechanisms with their counts."""
        return self._parts

    def _headline(self) -> str:
        return "Composition of" if self._parts else "Nothing released"

    def _lines(self) -> Iterator[str]:
        if not self._parts:
            yield self._headline()
        for mechanism, count in self._parts:
            yield f"{count} x"
            yield from (f"  {line}" for line in mechanism._lines())

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        steps = self.gaussian_steps
        if steps is not None and all(step.rate == 1.0 for step, _ in steps):
            return gaussian_pair(distance(adjacency) * mu_of(steps))
        uses = sum(count for _, count in self._parts)
        if uses > MOST_PRODUCTS:
            raise UnsupportedMechanismError(
                self, f"releases on one sample are at most {MOST_PRODUCTS} together"
            )
        parts = [(pair_of(part, adjacency, direction), count) for part, count in self._parts]
        return parts[0][0] if uses == 1 else Pair.product(parts)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        return RenyiCurve.composed(
            [(curve_of(part, adjacency), float(count)) for part, count in self._parts]
        )

    def largest_loss(self, adjacency: Adjacency, direction: DirectionName) -> Fraction | None:
        """Return the sum of the losses of the parts."""
        return sum_of_losses(self._parts, adjacency, direction)

    @property
    def releases(self) -> tuple[tuple[Mechanism, int], ...]:
        """The releases of the parts."""
        return tuple(
            (release, times * count)
            for part, count in self._parts
            for release, times in part.releases
        )

    @property
    def gaussian_steps(self) -> CountedSteps | None:
        """The steps of all parts."""
        found: list[tuple[SampledStep, int]] = []
        for part, count in self._parts:
            steps = part.gaussian_steps
            if steps is None:
                return None
            found += [(step, times * count) for step, times in steps]
        return tuple(found)

    @property
    def symmetric(self) -> bool:
        """Whether the pairs of all parts have an involution that swaps them."""
        return all(part.symmetric for part, _ in self._parts)

    @property
    def has_swapped_pairs(self) -> bool:
        """Whether every pair of neighbours has an involution that swaps its distributions.

        This is known for a single release only: the neighbours of a later release may depend on
        earlier ones.
        """
        if [count for _, count in self._parts] == [1]:
            return self._parts[0][0].has_swapped_pairs
        return self.symmetric

    @property
    def dominates_removal(self) -> bool:
        """Whether the pairs of all parts dominate removal."""
        return all(part.dominates_removal for part, _ in self._parts)

    def without_failure(self) -> tuple[Mechanism, float]:
        """Return the composition of the parts without failures, and the chance of a failure."""
        log_safe, parts = 0.0, []
        for part, count in self._parts:
            pure, failing = part.without_failure()
            parts.append((pure, count))
            if failing == 1.0:
                log_safe = -math.inf
            elif failing:
                log_safe += float_above(count) * math.log1p(-failing)
        if all(pure is part for (pure, _), (part, _) in zip(parts, self._parts, strict=True)):
            return self, 0.0
        failing = min(-math.expm1(log_safe) * (1.0 + len(parts) * 2.0**-50), 1.0)
        return Composed(*parts), failing

    def for_group(self, size: int) -> Mechanism | None:
        """Return the composition of the parts' mechanisms for groups."""
        parts = [(part.for_group(size), count) for part, count in self._parts]
        known = [(part, count) for part, count in parts if part is not None]
        return Composed(*known) if len(known) == len(parts) else None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Composed is immutable: cannot assign {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Composed is immutable: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Composed):
            return NotImplemented
        return dict(self._parts) == dict(other._parts)

    def __hash__(self) -> int:
        return hash(frozenset(self._parts))

    def __repr__(self) -> str:
        return f"Composed({', '.join(f'({m!r}, {count})' for m, count in self._parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Composed, self._parts


@lru_cache(maxsize=256)
def pair_of(mechanism: Mechanism, adjacency: Adjacency, direction: DirectionName) -> Pair:
    """Return the dominating pair, cached. The adjacency is not checked."""
    return mechanism._pair(adjacency, direction)


@lru_cache(maxsize=256)
def curve_of(mechanism: Mechanism, adjacency: Adjacency) -> RenyiCurve:
    """Return the Rényi curve, cached. The adjacency is not checked."""
    return mechanism._curve(adjacency)


def curve_of_pairs(mechanism: Mechanism, adjacency: Adjacency) -> RenyiCurve:
    """Return the larger of the moments of the dominating pairs in both directions.

    Raises:
        UnsupportedMechanismError: If no pair is known, or only the spans of a pair are known and
            they have no end.
    """
    sides = DIRECTIONS[:1] if mechanism.same_in_both_directions(adjacency) else DIRECTIONS
    curves = [pair_of(mechanism, adjacency, side).moment() for side in sides]
    known = [curve for curve in curves if curve is not None]
    if len(known) < len(curves):
        raise UnsupportedMechanismError(
            mechanism,
            "its losses have no bound, and no form of its Rényi divergences is known; "
            "PLDAccountant takes it",
        )
    return known[0] if len(known) == 1 else known[0].larger(known[1])


def sum_of_losses(
    parts: Iterable[tuple[Mechanism, int]], adjacency: Adjacency, direction: DirectionName
) -> Fraction | None:
    """Return the largest loss of a composition; None: it has no closed form.

    Parameters are doubles, hence rational numbers, and so are most losses and their sums.
    """
    total = Fraction(0)
    for mechanism, count in parts:
        loss = mechanism.largest_loss(adjacency, direction)
        if loss is None:
            return None
        total += count * loss
    return total


def mechanism_of(value: Any) -> Mechanism:
    """Return a mechanism."""
    if not isinstance(value, Mechanism):
        raise TypeError(f"mechanism must be a Mechanism, got {value!r}")
    return value


def _part_of(part: Any) -> tuple[Mechanism, int]:
    mechanism, count = part if isinstance(part, tuple) and len(part) == 2 else (part, 1)
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"parts must be mechanisms or (mechanism, count) pairs, got {part!r}")
    return mechanism, count_of(count)


def printed(value: object) -> str:
    """Return a field as it is printed."""
    return shortest(value) if isinstance(value, float) else str(value)


def _of_class(cls: type[AnyMechanism], mechanism: Mechanism, name: str) -> AnyMechanism:
    if not isinstance(mechanism, cls):
        raise ValueError(f"{name} must be of a {cls.__name__}, got {mechanism!r}")
    return mechanism
