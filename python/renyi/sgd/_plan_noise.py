"""The noise of a plan: what it is relative to, and what it is to an accountant."""

from __future__ import annotations

import math
from typing import Any

from renyi._validation import integer_of, real_of
from renyi.mechanisms import Gaussian, Mechanism, MultivariateDiscreteGaussian
from renyi.sgd._grid_sum import check_spacing
from renyi.sgd.grid import Grid, spacing_of

__all__ = ["grid_of", "noise_mechanism", "noise_multiplier_of", "row_norm"]


def noise_multiplier_of(value: Any, discrete: bool) -> float:
    """Return a noise multiplier; on a grid there is always noise."""
    allowed = f"a number in {'(' if discrete else '['}0, inf)"
    number = real_of(value, "noise_multiplier", allowed)
    if not 0.0 <= number < math.inf or (discrete and number == 0.0):
        raise ValueError(f"noise_multiplier must be {allowed}, got {value!r}")
    return number


def grid_of(spacing: Any, dimension: Any, bound: float) -> tuple[float | None, int | None]:
    """Return the spacing and the number of entries of a grid, or None for both."""
    if spacing is None and dimension is None:
        return None, None
    if spacing is None or dimension is None:
        raise TypeError(
            "grid_spacing and dimension must be given together, "
            f"got grid_spacing={spacing!r}, dimension={dimension!r}"
        )
    number = spacing_of(spacing, "grid_spacing")
    check_spacing(number, bound, "grid_spacing")
    entries = integer_of(dimension, "dimension", 1)
    if entries > 2**53:
        raise ValueError(f"dimension must be an integer in [1, 2^53], got {dimension!r}")
    _refuse_coarse(number, entries, bound)
    return number, entries


def _refuse_coarse(spacing: float, dimension: int, bound: float) -> None:
    """Refuse a grid on which rounding may lengthen a row by more than what it is clipped at."""
    most = math.ldexp(0.5, math.frexp(2.0 * bound / math.sqrt(dimension))[1])
    if spacing > most:
        raise ValueError(
            f"grid_spacing must be at most {most!r} for rows of {dimension} entries clipped at "
            f"{bound!r}, got {spacing!r}: rounding would outweigh them"
        )


def row_norm(bound: float, spacing: float | None, dimension: int | None) -> float:
    """Return the norm that a clipped row has at most when it is added."""
    if spacing is None or dimension is None:
        return bound
    return Grid(spacing).sensitivity(bound, dimension)


def noise_mechanism(noise_multiplier: float, discrete: bool) -> Mechanism:
    """Return what a sum with its noise is to an accountant."""
    kind = MultivariateDiscreteGaussian if discrete else Gaussian
    return kind(noise_multiplier)
