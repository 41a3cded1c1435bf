"""The rule of clipping, the sensitivity of its sum, and the calls of the kernel."""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from threading import Thread, current_thread
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency, one_of
from renyi._arrays import Array, Rows, outline, output_of
from renyi._states import freed_by_fork
from renyi._training import LARGEST_BOUND, LEAST_BOUND, MOST_ROWS, clip_into
from renyi._validation import Range, integer_of, number_in, real_of, set_fields


class OneAtATime:
    """A context that refuses a second thread instead of letting it wait.

    A thread may be interrupted between any two lines of this class. It then leaves its own entry
    behind: the same thread may enter again, and the entry of a thread that has ended is removed.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._users: dict[str, Thread] = {}
        self._guard = freed_by_fork(threading.Lock())

    def __enter__(self) -> None:
        thread = current_thread()
        user = self._users.setdefault("user", thread)  # atomic, unlike a test followed by a write
        if user is thread:
            return
        if user.is_alive():
            raise RuntimeError(f"{self._what} must be used by one thread at a time, got a second")
        with self._guard:  # else two threads might both replace a third
            if self._users.get("user") is user:
                self._users.pop("user")
        self.__enter__()

    def __exit__(self, *error: object) -> None:
        self._users.pop("user", None)


@dataclass(frozen=True)
class ClipGroups:
    r"""Arrays in groups, each group with its share of the norm, and of the noise.

    This is between "flat", which is one group, and "per_layer", where every array is a group. The
    groups share the norm C of all: :math:`\sum_g C_g^2 = C^2`. Noise of standard deviations
    :math:`\sigma_g` costs as much as that of one multiplier z with :math:`z^{-2} = \sum_g (C_g /
    \sigma_g)^2`: divided by :math:`\sigma_g`, all of it is one Gaussian mechanism.

    Args:
        of: The group of each array: numbers from 0 on, without gaps.
        shares: Numbers in [2^-20, 2^20] to which the norms of the groups are proportional; by
            default all equal.
        noise: Numbers in [2^-20, 2^20] to which the deviations of their noise are proportional; by
            default all equal. If they equal the shares, all groups have the same noise relative to
            their norm. Not on a grid.

    Source: McMahan, Andrew, Erlingsson, Chien, Mironov, Papernot, Kairouz 2018, arXiv 1812.06210.

    >>> groups = ClipGroups((0, 0, 1), shares=(3.0, 4.0))  # two arrays, and one
    >>> [round(bound, 9) for bound in groups.bounds(1.0)]
    [0.6, 0.8]
    """

    of: tuple[int, ...]
    shares: tuple[float, ...] | None = None
    noise: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not np.iterable(self.of):
            raise TypeError(f"of must be a sequence of integers, got {self.of!r}")
        of = tuple(integer_of(group, "of", 0) for group in self.of)
        if not of or len(set(of)) != max(of) + 1:
            raise ValueError(f"of must hold each number from 0 to its largest, got {self.of!r}")
        set_fields(self, of=of)
        for name in ("shares", "noise"):
            given = getattr(self, name)
            if given is not None:
                set_fields(self, **{name: _proportions(given, name, max(of) + 1)})

    def _relative(self) -> list[float]:
        """Return norms of the groups with a sum of squares of at most 1, exactly.

        Relative errors: of hypot below 2^-51, of the quotient 2^-53, and 1 - 2^-50 is more.
        """
        shares = self.shares or (1.0,) * (max(self.of) + 1)
        norm = math.hypot(*shares)
        return [share / norm * (1.0 - 2.0**-50) for share in shares]

    def bounds(self, total: float) -> tuple[float, ...]:
        """Return the norms of the groups; their squares add up to that of ``total`` at most."""
        return tuple(part * total * (1.0 - 2.0**-52) for part in self._relative())

    def noise_factors(self) -> list[float]:
        """Return the factor of the standard deviation of the noise of each group.

        With these factors f the sum of (C_g / (C f_g))^2 is at most 1: two quotients, hypot and a
        product lose less than 2^-50 relatively, and the factors are larger by this.
        """
        if self.noise is None:
            return [1.0] * (max(self.of) + 1)
        ratios = [part / noise for part, noise in zip(self._relative(), self.noise, strict=True)]
        norm = math.hypot(*ratios)
        return [noise * norm * (1.0 + 2.0**-50) for noise in self.noise]


def _proportions(values: Any, name: str, count: int) -> tuple[float, ...]:
    allowed = "numbers in [2^-20, 2^20]"
    if not isinstance(values, Sequence) or len(values) != count:
        raise ValueError(f"{name} must be one number for each of {count} groups, got {values!r}")
    numbers = tuple(real_of(value, name, allowed) for value in values)
    if not all(2.0**-20 <= number <= 2.0**20 for number in numbers):
        raise ValueError(f"{name} must be {allowed}, got {values!r}")
    return numbers


_BOUNDS = Range(LEAST_BOUND, LARGEST_BOUND)
MOST_ROUNDING = 2.0**-11  # of the bound, in all matrix products of a sum
_Name = Literal["flat", "per_layer", "automatic"]
Clipping = _Name | ClipGroups
_ALLOWED: tuple[_Name, ...] = get_args(_Name)


@dataclass(frozen=True)
class Rule:
    """Arguments of the clipping kernel, and the largest norm of a clipped row."""

    kernel: str
    bounds: tuple[float, ...]  # the bound of each norm
    groups: tuple[int, ...]  # the norm each array belongs to
    stability: float
    total: float  # bound of the joint norm
    by_group: bool = False  # whether rows have several norms


def bound_of(value: Any, name: str = "max_grad_norm") -> float:
    """Return a norm that rows can be clipped at: a number in [2^-96, 2^96]."""
    if getattr(value, "ndim", 0) > 0:  # perhaps records, whose numbers messages must not show
        raise TypeError(f"{name} must be {_BOUNDS.allowed}, got {outline(value)}")
    return number_in(value, name, _BOUNDS)


def rule_of(clipping: Any, max_grad_norm: Any, stability: Any, arrays: int) -> Rule:
    """Return the rule of a clipping by its name, or of groups."""
    if not isinstance(clipping, ClipGroups):
        one_of(clipping, "clipping", _ALLOWED)
    gamma = number_in(stability, "stability", Range(0.0, 2.0**96))
    if isinstance(clipping, ClipGroups):
        if len(clipping.of) != arrays:
            raise ValueError(
                f"clipping must have a group for each of {arrays} arrays, got {clipping!r}"
            )
        total = bound_of(max_grad_norm)
        bounds = tuple(bound_of(part, "max_grad_norm per group") for part in clipping.bounds(total))
        return Rule("flat", bounds, clipping.of, gamma, total, True)
    if clipping != "per_layer":
        bound = bound_of(max_grad_norm)
        kernel = "flat" if clipping == "flat" else "normalise"
        return Rule(kernel, (bound,), (0,) * arrays, gamma, bound)
    return _per_layer(max_grad_norm, gamma, arrays)


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
    """Return the sensitivity of the sum: replacing a record moves it twice as far.

    Sums in double precision, or of integers, are exact (clipping.hpp). In single precision every
    addition rounds, and the rounding depends on all rows: no bound is independent of them.
    """
    if dtype == np.float32:
        return math.inf
    return 2.0 * total if adjacency == "replace_one" else total


def refuse_too_many(rows: int, name: str = "grads") -> None:
    """Refuse more rows than can be summed exactly in double precision."""
    if rows > MOST_ROWS:  # how many there are is private
        raise ValueError(f"{name} must have at most {MOST_ROWS} rows to a sum, got more")


def refuse_rounding(rounding: float, name: str) -> None:
    """Refuse sums whose rounding may exceed the part of the bound that is kept for it."""
    if not rounding <= MOST_ROUNDING:
        raise ValueError(
            f"{name} must have fewer samples, or come in smaller parts: what its matrix products "
            "may have rounded is more than is left for that"
        )


Norms = npt.NDArray[np.float64]
Nonfinite = Literal["zero", "raise"]
NONFINITE: tuple[Nonfinite, ...] = get_args(Nonfinite)


def norms_for(
    rows: Rows, rule: Rule, per_layer: bool, out: Any, sums: list[Array], name: str = "norms_out"
) -> Norms:
    """Return an array for the norms."""
    shape = (rows.count, len(rule.bounds)) if per_layer else (rows.count,)
    if out is None:
        return np.empty(shape)
    norms = output_of(out, name, shape, np.dtype(np.float64))
    if any(np.may_share_memory(norms, other) for other in [*rows.arrays, *sums]):
        raise ValueError(f"{name} must not overlap the gradients or another output")
    return norms


def run_rule(
    rows: Rows, rule: Rule, sums: list[Array], adds: bool, norms: Norms, threads: int
) -> Norms:
    """Sum the clipped rows, or add them to the sums; fill the norms and return the factors."""
    shape = (rows.count, len(rule.bounds))
    found, factors = np.empty(shape), np.empty(shape)
    clip_into(
        rows.arrays,
        sums,
        adds,
        rule.kernel,
        list(rule.bounds),
        list(rule.groups),
        rule.stability,
        found,
        factors,
        threads,
    )
    norms[...] = found.reshape(norms.shape)
    return factors.reshape(norms.shape)


def refuse_nonfinite(rows: Rows, nonfinite: Nonfinite, threads: int, name: str = "grads") -> None:
    """Raise for rows that are not finite, if the caller asked for an error."""
    if one_of(nonfinite, "nonfinite", NONFINITE) == "zero":
        return
    rule = Rule("flat", (1.0,), (0,) * len(rows.arrays), 0.0, 1.0)
    norms = norms_for(rows, rule, False, None, [])
    run_rule(rows, rule, [], False, norms, threads)
    bad = np.flatnonzero(np.isnan(norms))
    if bad.size:
        raise ValueError(f"{name} must be finite, got {bad.size} rows that are not, first {bad[0]}")
