"""The result of clipping: the sum, its sensitivity, and private diagnostics."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency
from renyi._arrays import Array, Arrays, Rows
from renyi._training import fingerprint
from renyi._validation import integer_of, set_fields
from renyi.sgd.rules import Clipping, refuse_rounding, refuse_too_many

if TYPE_CHECKING:
    from renyi.sgd.grid import Grid

Norms = npt.NDArray[np.float64]


class RowCounts(NamedTuple):
    """Rows of which no norms are kept."""

    all: int = 0
    nonfinite: int = 0
    unclipped: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class PrivateDiagnostics:
    """Numbers about single records, without noise: publishing one of them breaks the guarantee.

    Attributes:
        norms: Norms of the rows before clipping, (B,) or (B, arrays); NaN for a row that is not
            finite.
        factors: Factors of the rows, of the same shape; 0 for a row that is not finite.
        stripped: Further rows that are counted without a norm: those of
            `ClippedSum.without_diagnostics`.
    """

    norms: Norms
    factors: Norms
    stripped: RowCounts = field(default_factory=RowCounts)

    @property
    def batch_size(self) -> int:
        """The number of rows: private, since neighbours differ in it."""
        return len(self.norms) + self.stripped.all

    @property
    def nonfinite_count(self) -> int:
        """Number of rows with NaN or infinity, which contributed zero."""
        bad = np.isnan(self._by_row(self.norms)).any(axis=1)
        return int(bad.sum()) + self.stripped.nonfinite

    @property
    def unclipped_count(self) -> int:
        """Number of finite rows that were not made smaller."""
        whole = (self._by_row(self.factors) >= 1.0).all(axis=1)
        return int(whole.sum()) + self.stripped.unclipped

    @property
    def clipped_count(self) -> int:
        """Number of finite rows that were made smaller."""
        return self.batch_size - self.nonfinite_count - self.unclipped_count

    @property
    def clipped_fraction(self) -> float:
        """Number of clipped rows over all rows; 0 for an empty batch."""
        return self.clipped_count / max(self.batch_size, 1)

    def counts(self) -> PrivateDiagnostics:
        """Return the counts alone, without norms and factors of single rows."""
        counts = RowCounts(self.batch_size, self.nonfinite_count, self.unclipped_count)
        none = np.empty((0, *self.norms.shape[1:]))
        return PrivateDiagnostics(none, none, counts)

    def _by_row(self, values: Norms) -> Norms:
        return values if values.ndim == 2 else values[:, np.newaxis]

    def __repr__(self) -> str:
        return "PrivateDiagnostics(...)"


@dataclass(frozen=True, eq=False)
class ClippedSum:
    """The sum of clipped rows, before noise.

    Sums over disjoint sets of records, clipped in the same way, may be added with ``+`` and `sum`:
    on one machine or on many, noise is added once to the total. The same sum, or a copy of it, is
    refused if it would be added a second time. A sum whose arrays were changed after the clipping
    is refused everywhere, as the contribution of a record is no longer bounded. So is a sum whose
    ``out`` holds the next batch.

    Attributes:
        sum: An array, or a list where the gradients were a list; on a grid integers, in spacings.
            It is not private before noise is added.
        sensitivity: The largest Euclidean distance between the sums of neighbours (``adjacency``),
            in the unit of the sum. It holds for the floating-point numbers: sums in double
            precision and on a grid are exact, or their rounding is within the margin
            (``rounding``). It is infinite in single precision, where the rounding depends on all
            rows.
        max_grad_norm: The bound, or the bounds of the arrays.
        clipping, adjacency: As they were given.
        private: Norms and counts, not for publication. They are sent with the sum unless
            `without_diagnostics` has dropped the norms.
        grid: The grid that each row was rounded to.
        rounding: A bound of the rounding in the matrix products of `ghost_clip_and_sum`, over the
            clipping norm.
    """

    sum: Arrays
    sensitivity: float
    max_grad_norm: tuple[float, ...]
    clipping: Clipping
    adjacency: Adjacency
    private: PrivateDiagnostics = field(repr=False)
    grid: Grid | None = None
    rounding: float = 0.0
    _mark: int | None = field(default=None, repr=False)
    _parts: frozenset[int] | None = field(
        default=None, repr=False
    )  # identifiers of the sums that were added

    def __post_init__(self) -> None:
        if not isinstance(self.private, PrivateDiagnostics):
            raise TypeError(
                f"private must be PrivateDiagnostics, got {type(self.private).__name__}: "
                "without_diagnostics() keeps the counts, which are needed"
            )
        refuse_rounding(self.rounding, "sum")
        if self._mark is None:
            set_fields(self, _mark=self._found_mark())
        if self._parts is None:
            set_fields(self, _parts=frozenset((secrets.randbits(64),)))

    def _found_mark(self) -> int:
        """Return a fingerprint of the arrays and factors."""
        mark = 0
        for array in [*self.arrays, self.private.factors]:
            mark = fingerprint(np.ascontiguousarray(array), mark)
        return mark

    def unchanged(self, name: str = "sum") -> ClippedSum:
        """Return a copy of the unchanged sum, with memory of its own.

        Raises:
            ValueError: If it has been changed since.
        """
        arrays = [array.copy() for array in self.arrays]
        private = replace(self.private, factors=self.private.factors.copy())
        copy = replace(self, sum=arrays[0] if self.single else arrays, private=private)
        if copy._found_mark() != self._mark:
            raise ValueError(
                f"{name} must be as it was clipped, got a sum that was changed since: scale or use "
                "its memory again after the step only"
            )
        return copy

    def without_diagnostics(self) -> ClippedSum:
        """Return the same sum without norms and factors of single rows, small enough to be sent.

        The numbers of rows, of rows that were not finite and of clipped rows are kept, for checks
        of the batch size and for `QuantileClipNorm`: they are private, like the sum before noise.

        >>> from renyi.sgd import clip_and_sum
        >>> sent = clip_and_sum(np.array([[3.0, 4.0], [0.5, 0.0]]), 1.0).without_diagnostics()
        >>> sent.sum.round(6), sent.private.norms, sent.private.batch_size
        (array([1.1, 0.8]), array([], dtype=float64), 2)
        """
        same = self.unchanged()
        return replace(same, private=same.private.counts(), _mark=None)

    @property
    def single(self) -> bool:
        """Whether the gradients were one array, not a list."""
        return not isinstance(self.sum, list)

    @property
    def arrays(self) -> list[Array]:
        """The sums as a list, also of a single array."""
        return self.sum if isinstance(self.sum, list) else [self.sum]

    def check_like(
        self,
        max_grad_norm: tuple[float, ...],
        clipping: Clipping,
        adjacency: Adjacency,
        grid: Grid | None,
    ) -> None:
        """Raise `ValueError` unless rows were clipped as said, so that sums may be added."""
        given = {
            "max_grad_norm": max_grad_norm,
            "clipping": clipping,
            "adjacency": adjacency,
            "grid": grid,
        }
        for name, value in given.items():
            if getattr(self, name) != value:
                raise ValueError(
                    f"{name} must be the same in sums that are added, got "
                    f"{getattr(self, name)!r} and {value!r}"
                )

    def parts_disjoint_from(self, others: Iterable[int], name: str = "sum") -> frozenset[int]:
        """Return the identifiers of the sums that it is made of.

        Raises:
            ValueError: If one of them is among ``others``: its records would be in the total twice.
        """
        parts = self._parts or frozenset()
        if not parts.isdisjoint(others):
            raise ValueError(
                f"{name} must be of records that are in one part only, got a ClippedSum that has "
                "been added before"
            )
        return parts

    def __add__(self, other: ClippedSum) -> ClippedSum:
        if not isinstance(other, ClippedSum):
            return NotImplemented
        parts = self.parts_disjoint_from(other.parts_disjoint_from(())) | other.parts_disjoint_from(
            ()
        )
        self.check_like(other.max_grad_norm, other.clipping, other.adjacency, other.grid)
        if [a.shape for a in self.arrays] != [a.shape for a in other.arrays]:
            raise ValueError("sum must have the same shapes in sums that are added")
        one, two = self.unchanged(), other.unchanged()
        private = joined([one.private, two.private])
        if self.grid is None:
            refuse_too_many(private.batch_size, "sum")
        sums = [a + b for a, b in zip(one.arrays, two.arrays, strict=True)]
        return ClippedSum(
            sums if isinstance(self.sum, list) else sums[0],
            max(self.sensitivity, other.sensitivity),
            self.max_grad_norm,
            self.clipping,
            self.adjacency,
            private,
            self.grid,
            self.rounding + other.rounding,
            _parts=parts,
        )

    def __radd__(self, other: object) -> ClippedSum:
        """Return the sum itself where `sum` begins, with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented


def joined(parts: list[PrivateDiagnostics]) -> PrivateDiagnostics:
    """Return the diagnostics of several batches as one."""
    if len(parts) == 1:
        return parts[0]
    return PrivateDiagnostics(
        np.concatenate([part.norms for part in parts]),
        np.concatenate([part.factors for part in parts]),
        RowCounts(*map(sum, zip(*(part.stripped for part in parts), strict=True))),
    )


Shape = tuple[int, ...]


def shapes_of(shapes: Any) -> tuple[list[Shape], bool]:
    """Return the shapes of rows as a list, and whether one shape was given without a list."""
    single = isinstance(shapes, tuple) and not any(isinstance(n, list | tuple) for n in shapes)
    given = [shapes] if single else shapes
    if not isinstance(given, list | tuple) or not all(isinstance(s, list | tuple) for s in given):
        raise TypeError(
            f"shapes must be a tuple such as (10,), or a list of such tuples, got {shapes!r}"
        )
    if not given:
        raise ValueError("shapes must be a shape or a list of at least one, got an empty list")
    return [tuple(integer_of(n, "shapes", 0) for n in shape) for shape in given], single


def refuse_means(grads: Any, wanted: list[Shape], name: str) -> None:
    """Refuse arrays of the shapes of the parameters themselves, which have no axis of records."""
    given = list(grads) if isinstance(grads, list | tuple) else [grads]
    if [getattr(array, "shape", None) for array in given] == wanted:
        raise ValueError(
            f"{name} must be one gradient for each record, {_shown(_with_rows(wanted))}, got "
            f"{_shown(wanted)}: a mean or a sum cannot be clipped"
        )


def check_shapes(part: Rows | ClippedSum, wanted: list[Shape], single: bool, name: str) -> None:
    """Raise `ValueError` unless a part has these shapes, and is a list where one is wanted."""
    rows = isinstance(part, Rows)
    found = part.shapes if isinstance(part, Rows) else [array.shape for array in part.arrays]
    if (found, part.single) == (wanted, single):
        return
    needed = _with_rows(wanted) if rows else wanted
    got = _with_rows(found) if rows else found
    raise ValueError(
        f"{name} must be {_kind(needed, single, rows)}, got {_kind(got, part.single, rows)}"
        f"{_remedy(found, wanted, rows)}"
    )


def _remedy(found: list[Shape], wanted: list[Shape], rows: bool) -> str:
    if found == wanted:
        return ": parameters and gradients must both be lists, or neither"
    if not rows and [shape[::-1] for shape in found] == wanted:
        return ": weights of ghost sums are (inputs, outputs)"
    return ""


def _kind(shapes: list[Any], single: bool, rows: bool) -> str:
    kind = "array" if rows else "sum"
    one = f"an {kind}" if rows else f"a {kind}"
    return f"{one} {_shown(shapes)}" if single else f"a list of {kind}s [{_shown(shapes)}]"


def _with_rows(shapes: list[Shape]) -> list[Any]:
    return [("B", *shape) for shape in shapes]


def _shown(shapes: list[Any]) -> str:
    """Return shapes as text, with the number of rows as B."""
    return ", ".join(map(str, shapes)).replace("'", "")
