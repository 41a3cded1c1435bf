"""The noise of runs that an accountant of the caller's own describes."""

from __future__ import annotations

from collections.abc import Callable

from renyi.accountants import PLDAccountant, RDPAccountant
from renyi.calibration._accounting import tolerance_of
from renyi.calibration._search import search
from renyi.calibration._targets import target_of
from renyi.calibration._unknowns import NoiseMultiplier

__all__ = ["noise_for"]


def noise_for(
    epsilon: float,
    delta: float,
    rate: float,
    releases: int,
    account: Callable[[float], PLDAccountant | RDPAccountant],
    tolerance: float,
) -> float:
    """Return the smallest noise for which the accountant of a run confirms (epsilon, delta).

    The rate and the number of releases only guide the search, to noises with a similar Rényi
    divergence of order 2; what decides is the accountant.
    """
    target = target_of(epsilon, delta, None, None, None)
    return search(NoiseMultiplier(rate, releases, tolerance_of(tolerance)), target, account, None)
