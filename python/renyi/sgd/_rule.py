"""Which rows share a norm, what bounds it, and what one record can then change in the sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from renyi._adjacency import Adjacency
from renyi._sgd import LARGEST_BOUND, LEAST_BOUND, MOST_ROWS
from renyi._validation import one_of, real_of
from renyi.sgd._rows import outline
from renyi.sgd.groups import ClipGroups

__all__ = [
    "MOST_ROUNDING",
    "Clipping",
    "Rule",
    "bound_of",
    "refuse_rounding",
    "refuse_too_many",
    "rule_of",
    "sensitivity_of",
]

MOST_ROUNDING = 2.0**-11  # of the bound, in all matrix products of a sum

_Name = Literal["flat", "per_layer", "automatic"]
Clipping = _Name | ClipGroups
_ALLOWED: tuple[_Name, ...] = get_args(_Name)


@dataclass(frozen=True)
class Rule:
    """What the kernel is told, and the largest norm of a row that comes out of it."""

    kernel: str
    bounds: tuple[float, ...]  # of each norm
    groups: tuple[int, ...]  # the norm each array belongs to
    stability: float
    total: float  # bound of the joint norm
    by_group: bool = False  # whether rows have several norms


def bound_of(value: Any, name: str = "max_grad_norm") -> float:
    """Return a norm that rows can be clipped at: a number in [2^-96, 2^96]."""
    allowed = "a number in [2^-96, 2^96]"
    if getattr(value, "ndim", 0) > 0:  # records, perhaps: their numbers are not for messages
        raise TypeError(f"{name} must be {allowed}, got {outline(value)}")
    number = real_of(value, name, allowed)
    if not LEAST_BOUND <= number <= LARGEST_BOUND:
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return number


def rule_of(clipping: Any, max_grad_norm: Any, stability: Any, arrays: int) -> Rule:
    """Return the rule of a clipping by its name, or of groups."""
    if not isinstance(clipping, ClipGroups):
        one_of(clipping, "clipping", _ALLOWED)
    gamma = real_of(stability, "stability", "a number in [0, 2^96]")
    if not 0.0 <= gamma <= LARGEST_BOUND:
        raise ValueError(f"stability must be a number in [0, 2^96], got {stability!r}")
    if isinstance(clipping, ClipGroups):
        return _in_groups(clipping, bound_of(max_grad_norm), gamma, arrays)
    if clipping != "per_layer":
        bound = bound_of(max_grad_norm)
        kernel = "flat" if clipping == "flat" else "normalise"
        return Rule(kernel, (bound,), (0,) * arrays, gamma, bound)
    return _per_layer(max_grad_norm, gamma, arrays)


def _in_groups(given: ClipGroups, total: float, gamma: float, arrays: int) -> Rule:
    if len(given.of) != arrays:
        raise ValueError(f"clipping must have a group for each of {arrays} arrays, got {given!r}")
    bounds = tuple(bound_of(part, "max_grad_norm per group") for part in given.bounds(total))
    return Rule("flat", bounds, given.of, gamma, total, True)


def _per_layer(max_grad_norm: Any, gamma: float, arrays: int) -> Rule:
    groups = tuple(range(arrays))
    if isinstance(max_grad_norm, Sequence | np.ndarray) and np.ndim(max_grad_norm) > 0:
        if len(max_grad_norm) != arrays:
            raise ValueError(
                f"max_grad_norm must be a number or one for each of {arrays} arrays, "
                f"got {len(max_grad_norm)}"
            )
        bounds = tuple(bound_of(c, f"max_grad_norm[{k}]") for k, c in enumerate(max_grad_norm))
        return Rule("flat", bounds, groups, gamma, _norm_above(bounds), True)
    total = bound_of(max_grad_norm)
    share = bound_of(total / math.sqrt(arrays) * (1.0 - 2.0**-51), "max_grad_norm per array")
    return Rule("flat", (share,) * arrays, groups, gamma, total, True)


def _norm_above(bounds: Sequence[float]) -> float:
    """Return a number that is at least the Euclidean norm, exactly."""
    square = sum(Fraction(bound) ** 2 for bound in bounds)
    norm = math.hypot(*bounds)
    while Fraction(norm) ** 2 < square:
        norm = math.nextafter(norm, math.inf)
    return norm


def sensitivity_of(total: float, adjacency: Adjacency, dtype: Any = np.float64) -> float:
    """Return how far one record moves the sum: replacing one moves it twice as far.

    Sums in double precision, or of integers, are exact (clip_factor.hpp). In single precision every
    addition rounds, by what depends on all rows: nothing that is independent of them bounds it.
    """
    if dtype == np.float32:
        return math.inf
    return 2.0 * total if adjacency == "replace_one" else total


def refuse_too_many(rows: int, name: str = "grads") -> None:
    """Refuse more rows than can be summed exactly in double precision."""
    if rows > MOST_ROWS:  # how many there are is private
        raise ValueError(f"{name} must have at most {MOST_ROWS} rows to a sum, got more")


def refuse_rounding(rounding: float, name: str) -> None:
    """Refuse sums whose parts can have been rounded by more than clipping leaves for that."""
    if not rounding <= MOST_ROUNDING:
        raise ValueError(
            f"{name} must have fewer samples, or come in smaller parts: what its matrix products "
            "may have rounded is more than is left for that"
        )
