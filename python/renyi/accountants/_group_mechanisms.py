"""What a group of records reveals to a mechanism, where that is a mechanism too.

m records move a query m times as far as one, and noise is so much smaller beside that.
"""

from __future__ import annotations

import math
from functools import singledispatch

from renyi.accountants._support import UnsupportedMechanismError
from renyi.mechanisms import (
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Gumbel,
    Laplace,
    Mechanism,
    MultivariateDiscreteGaussian,
    TruncatedPoissonSampled,
)

__all__ = ["check_groups", "group_of"]


def check_groups(mechanism: Mechanism, adjacency: str) -> None:
    """Raise `UnsupportedMechanismError` unless one pair holds all along a chain of neighbours."""
    if adjacency == "add_remove" and isinstance(mechanism, TruncatedPoissonSampled):
        raise UnsupportedMechanismError(
            mechanism,
            "it holds for one record removed from a population of that size, and on the way to a "
            "group the population changes",
        )
    for inner in mechanism._inner():
        check_groups(inner, adjacency)


@singledispatch
def group_of(mechanism: Mechanism, size: int) -> Mechanism | None:
    """Return what is released about a group of ``size`` records taken as one; None: not known."""
    return None


@group_of.register(Gaussian)
@group_of.register(Laplace)
@group_of.register(Gumbel)
@group_of.register(MultivariateDiscreteGaussian)
def _of_scaled_noise(
    mechanism: Gaussian | Laplace | Gumbel | MultivariateDiscreteGaussian, size: int
) -> Mechanism:
    noise = mechanism.noise_multiplier / size
    if noise not in (0.0, math.inf):
        noise = math.nextafter(noise, 0.0)
    return type(mechanism)(noise)


@group_of.register
def _discrete_gaussian_group(mechanism: DiscreteGaussian, size: int) -> Mechanism:
    return DiscreteGaussian(mechanism.sigma, mechanism.sensitivity * size)


@group_of.register
def _discrete_laplace_group(mechanism: DiscreteLaplace, size: int) -> Mechanism:
    return DiscreteLaplace(mechanism.scale, mechanism.sensitivity * size)


@group_of.register
def _composed_group(mechanism: Composed, size: int) -> Mechanism | None:
    parts = [(group_of(part, size), count) for part, count in mechanism.parts]
    known = [(part, count) for part, count in parts if part is not None]
    return Composed(*known) if len(known) == len(parts) else None
