"""Points of the privacy profile of a mechanism, for bounds that need both views of it."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from renyi._adjacency import Adjacency
from renyi.accountants._support import UnsupportedMechanismError
from renyi.accountants.pld import PLDAccountant
from renyi.mechanisms import Mechanism

__all__ = ["profile_of"]

ANCHORS = 16  # where epsilon is asked, which takes a search; between them delta is
FALL = 0.02  # of log(delta), from point to point: a chord loses about FALL^2/8 of delta
LEAST = 1e-250


@lru_cache(maxsize=64)
def profile_of(
    mechanism: Mechanism, adjacency: Adjacency, least: float
) -> tuple[tuple[float, float], ...]:
    """Return (epsilon, delta) down to a least delta, in the worse direction; () if unknown."""
    try:
        accountant = PLDAccountant(adjacency=adjacency).compose(mechanism)
    except UnsupportedMechanismError:
        return ()
    at_zero, end = accountant.get_delta(0.0), max(least, LEAST)
    if at_zero <= end:
        return ((0.0, at_zero),)
    falls = np.linspace(0.0, math.log(at_zero / end), ANCHORS)
    epsilons = np.asarray(accountant.get_epsilon(at_zero * np.exp(-falls[1:])))
    epsilons = np.array([0.0, *epsilons[np.isfinite(epsilons)]])
    if epsilons.size < 2:
        return ((0.0, at_zero),)
    fine = np.linspace(0.0, epsilons.size - 1.0, math.ceil(falls[epsilons.size - 1] / FALL) + 1)
    asked = np.unique(np.interp(fine, np.arange(epsilons.size), epsilons))
    return tuple(zip(asked.tolist(), np.asarray(accountant.get_delta(asked)).tolist(), strict=True))
