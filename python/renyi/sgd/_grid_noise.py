"""Discrete Gaussian noise on sums in spacings of a grid, which become numbers after it only."""

from __future__ import annotations

from typing import Any

from renyi._noise import LARGEST_SCALE, SMALLEST_SCALE
from renyi.sgd._rows import Array
from renyi.sgd.grid import Grid
from renyi.sgd.integer_noise import add_discrete_gaussian_noise

__all__ = ["add_noise_on_grid", "sigma_of"]


def sigma_of(grid: Grid, scale: float) -> float:
    """Return the scale of the noise in spacings, exactly."""
    sigma = grid.units(scale)
    if not SMALLEST_SCALE <= sigma <= LARGEST_SCALE:
        raise ValueError(
            "noise_multiplier must be such that sigma is in [2^-20, 2^40] spacings of the grid, "
            f"got one with {sigma!r}"
        )
    return sigma


def add_noise_on_grid(
    sums: Array, grid: Grid, scale: float, *, generator: Any, threads: int | None
) -> Array:
    """Add noise to sums in spacings, in place, and return them as lengths."""
    sigma = sigma_of(grid, scale)
    add_discrete_gaussian_noise(sums, sigma, generator=generator, threads=threads)
    return grid.values(sums)
