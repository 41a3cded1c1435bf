"""Clipped rows rounded to a grid and summed there, in integers: in any order, in any parts."""

from __future__ import annotations

import math

import numpy as np

from renyi.sgd._kernel import Norms, run_rule
from renyi.sgd._rows import Array, Rows, in_single
from renyi.sgd._rule import Rule
from renyi.sgd.grid import Grid

__all__ = ["check_spacing", "sum_rule_on_grid"]

_DOUBLE = np.finfo(np.float64)


def check_spacing(spacing: float, bound: float, name: str) -> None:
    """Refuse a grid so fine that the sum of 2^31 rows clipped at a bound might not fit 64 bits."""
    least = bound * 2.0**-32
    if spacing < least:
        raise ValueError(
            f"{name} must be at least 2^-32 of the clipping norm, {least!r}, got {spacing!r}"
        )


def sum_rule_on_grid(
    rows: Rows, rule: Rule, grid: Grid, sums: list[Array], norms: Norms, threads: int
) -> Norms:
    """Add the clipped rows to sums in spacings; fill the norms and return the factors.

    The factor of a row depends on that row only, so the sums do not depend on the batch around it.
    """
    factors = run_rule(rows, rule, [], False, norms, threads)
    # They are rounded down, without sums to single precision; but to the nearest number where that
    # is not a normal one, and those of the tiniest rows are beyond every number.
    factors = np.where(factors <= _DOUBLE.smallest_normal, np.nextafter(factors, 0.0), factors)
    factors = np.minimum(factors, _DOUBLE.max)
    columns = factors.reshape(rows.count, len(rule.bounds))
    for array, total, column in zip(rows.arrays, sums, rule.groups, strict=True):
        exact = in_single(array) if array.dtype.itemsize == 2 else array
        grid.sum(
            exact.reshape(rows.count, math.prod(array.shape[1:])),
            columns[:, column],
            out=total.reshape(-1),
            threads=threads,
            nonfinite="raise",  # such rows have the factor 0
        )
    return factors
