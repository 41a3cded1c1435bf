"""The search: secants along a level of runs, then the edge between what meets and what misses.

Only the edge carries the promise: it asks the accountant in full on both sides of the result, and
walks from wherever the secants have led.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from renyi._progress import Line
from renyi.accountants import Accountant, DirectionName
from renyi.calibration._scales import Scale
from renyi.calibration._targets import Target
from renyi.calibration._unknowns import Unknown

__all__ = ["search"]

_MOST_SECANTS = 40
_BLIND_STEP = math.log(2.0)  # where an answer says only on which side it is
_STEEPEST = 8.0  # slopes are near 1; steeper or flatter ones are noise
_SHORT = 2.0  # seconds that a search may take in silence


def search(
    unknown: Unknown,
    target: Target,
    account: Callable[[float], Accountant[Any]],
    direction: DirectionName | None,
    scale: Scale | None = None,
    start: float | None = None,
) -> float:
    """Return the loosest value that meets the target, to one tolerance.

    Parameters
    ----------
    unknown : Unknown
        What is searched for.
    target : Target
        What has to be met.
    account : callable
        The accountant of a run with a given value.
    direction : {"remove", "add"}, optional
        The one that tends to be worse, which the secants go by; None: both.
    scale : Scale
        On which what a run reveals is about a straight line of slope 1; by default the unknown's.
    start : float
        The level to begin at; by default that of Gaussian noise that just meets the target.

    Raises
    ------
    ValueError
        If not even the strictest value meets the target.
    """
    looks = itertools.count(1)

    def excess(value: float) -> float:
        line.show(f"searching: {next(looks)} runs")
        return target.excess(account(value), direction)

    def meets(value: float) -> bool:
        line.show(f"searching: {next(looks)} runs")
        return target.is_met(account(value))

    with Line(_SHORT) as line:
        if start is None:
            start = math.log(target.mu) if target.mu > 0.0 else -math.inf
        root = _root(unknown, scale or unknown, start, excess)
        return _edge(unknown, target, meets, unknown.further(root, -unknown.margin))


def _root(unknown: Unknown, scale: Scale, start: float, excess: Callable[[float], float]) -> float:
    """Return about where the excess is 0, by secants over the level."""
    value = scale.at(start)
    low, high, slope, last_step = -math.inf, math.inf, 1.0, math.inf
    seen: tuple[float, float] | None = None
    for _ in range(_MOST_SECANTS):
        here, off = scale.level(value), excess(value)
        if off == 0.0:
            break
        low, high = (here, high) if off < 0.0 else (low, here)
        if math.isfinite(off):
            if seen is not None and seen[0] != here:
                slope = (off - seen[1]) / (here - seen[0])
                slope = min(slope, _STEEPEST) if slope > 1.0 / _STEEPEST else 1.0
            seen = here, off
            aim = here - off / slope
        else:
            aim = here - math.copysign(_BLIND_STEP, off)
        if not low < aim < high:
            aim = 0.5 * (low + high)
        if not math.isfinite(aim):
            break
        following, step = scale.at(aim), aim - here
        done = following == value or abs(step * last_step) < 0.1 * unknown.tick(value)
        value, last_step = following, step
        if done:  # the error of a secant's point is about the product of the last two errors
            break
    return value


def _edge(unknown: Unknown, target: Target, meets: Callable[[float], bool], start: float) -> float:
    """Return a value that meets the target while the value one tolerance looser does not."""

    def value(ticks: int) -> float:
        return unknown.further(start, ticks)

    enough, short, stride = 0, 0, 1
    while not meets(value(enough)):
        if value(enough) == unknown.strictest:
            raise ValueError(
                f"{target.name} must be reachable with {unknown.words}, got {target.limit!r}"
            )
        enough, short, stride = enough - stride, enough, stride * 4
    stride = 1
    while short <= enough:
        if value(enough) == unknown.loosest:
            return value(enough)
        if meets(value(enough + stride)):
            enough, stride = enough + stride, stride * 4
        else:
            short = enough + stride
    while short - enough > 1:
        middle = (enough + short) // 2
        enough, short = (middle, short) if meets(value(middle)) else (enough, middle)
    return value(enough)
