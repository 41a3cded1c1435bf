"""Shapes of rows and of their sums: what is taken, and what was meant where it is refused."""

from __future__ import annotations

from typing import Any

from renyi._validation import integer_of
from renyi.sgd._clipped_sum import ClippedSum
from renyi.sgd._rows import Rows

__all__ = ["Shape", "check_shapes", "refuse_means", "shapes_of"]

Shape = tuple[int, ...]


def shapes_of(shapes: Any) -> tuple[list[Shape], bool]:
    """Return the shapes of rows as a list, and whether it is one that was not given as a list."""
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
    """Raise `ValueError` unless a part has these shapes, and is a list where that is wanted."""
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
    """Shapes as one writes them, the number of rows as B."""
    return ", ".join(map(str, shapes)).replace("'", "")
