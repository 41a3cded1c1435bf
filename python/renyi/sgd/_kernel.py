"""Calls of the clipping kernel, and what goes in and out of it."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from renyi._sgd import clip_into
from renyi._validation import one_of
from renyi.sgd._rows import Array, Rows, output_of
from renyi.sgd._rule import Rule

__all__ = ["NONFINITE", "Nonfinite", "Norms", "norms_for", "refuse_nonfinite", "run_rule"]

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
    """Raise where the caller wants to hear of rows that are not finite."""
    if one_of(nonfinite, "nonfinite", NONFINITE) == "zero":
        return
    rule = Rule("flat", (1.0,), (0,) * len(rows.arrays), 0.0, 1.0)
    norms = norms_for(rows, rule, False, None, [])
    run_rule(rows, rule, [], False, norms, threads)
    bad = np.flatnonzero(np.isnan(norms))
    if bad.size:
        raise ValueError(f"{name} must be finite, got {bad.size} rows that are not, first {bad[0]}")
