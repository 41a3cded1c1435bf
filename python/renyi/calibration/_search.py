"""The search: secants over the level of a run, then the edge between values that meet and miss.

The level rises with the privacy loss of a run, nearly in a straight line. Only the edge gives the
guarantee: it queries the accountant in full on both sides of the result, and starts from wherever
the secants end.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from renyi._progress import Line
from renyi.calibration._targets import Target

MOST_SECANTS = 40
BLIND_STEP = math.log(2.0)  # used if an answer shows only the side of the target
STEEPEST = 64.0  # slopes are 1 to 30; steeper slopes, or equally flat ones, are noise
PATIENCE = 2.0  # seconds that a search may take in silence
FIRST_CLOSE = 1e-4  # how close, in levels of a guide, the first value is
NEAR = 0.02  # a guide is used if it comes this near to the target, in levels


class Scale(Protocol):
    """Levels of values, which rise with the privacy loss of a run."""

    def level(self, value: float) -> float:
        """Return the level of a value."""

    def at(self, level: float) -> float:
        """Return the value of a level, within limits."""


def search(
    unknown: Unknown,
    target: Target,
    excess: Callable[[float], float],
    meets: Callable[[float], bool],
    scale: Scale | None = None,
    start: float | None = None,
) -> float:
    """Return the loosest value that meets the target, to one tolerance.

    Args:
        unknown: The number that is searched for.
        target: The target to meet.
        excess: Returns roughly the excess of a run with a given value over the target.
        meets: Returns whether the accountant of a run with a given value confirms the target.
        scale: The scale on which the excess is nearly a straight line of slope 1; by default that
            of ``unknown``.
        start: The level to begin at; by default that of Gaussian noise that just meets the target.

    Raises:
        ValueError: If not even the strictest value meets the target.
    """
    count = itertools.count(1)
    with Line(PATIENCE) as line:

        def tried(value: float) -> float:
            line.show(f"searching: {next(count)} runs")
            return excess(value)

        def met(value: float) -> bool:
            line.show(f"searching: {next(count)} runs")
            return meets(value)

        if start is None:
            start = math.log(target.mu) if target.mu > 0.0 else -math.inf
        root = secants(scale or unknown, start, tried, lambda value: 0.1 * unknown.tick(value))
        return _edge(unknown, target, met, unknown.further(root, -unknown.margin))


def secants(
    scale: Scale,
    start: float,
    excess: Callable[[float], float],
    close: Callable[[float], float],
    slope: float = 1.0,
    last_step: float = math.inf,
) -> float:
    """Return roughly the value at which the excess is 0: secants over the level, in a bracket.

    The error of a secant's point is about the product of the last two errors. If the product is
    below ``close``, the point is returned untried.
    """
    value = scale.at(start)
    low, high = -math.inf, math.inf
    before: tuple[float, float] | None = None
    for _ in range(MOST_SECANTS):
        here, off = scale.level(value), excess(value)
        if off == 0.0:
            break
        low, high = (here, high) if off < 0.0 else (low, here)
        if math.isfinite(off):
            if before is not None and before[0] != here:
                slope = _slope(off - before[1], here - before[0])
            before = here, off
            aim = here - off / slope
        else:
            aim = here - math.copysign(BLIND_STEP, off)
        if not low < aim < high:
            aim = 0.5 * (low + high)
        if not math.isfinite(aim):
            break
        following, step = scale.at(aim), aim - here
        done = following == value or abs(step * last_step) < close(value)
        value, last_step = following, step
        if done:
            break
    return value


def _slope(rise: float, run: float) -> float:
    """Return a slope, or 1 if it is none that a secant can use."""
    slope = rise / run if run else math.nan
    return min(slope, STEEPEST) if slope > 1.0 / STEEPEST else 1.0


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


class GuidedScale:
    """The level of a run by a fast account, which is near the level by the accountant.

    If few steps matter, the central limit is far off. The epsilon by Rényi-DP, which takes a
    fraction of a millisecond, is then a better scale: the exact epsilon is mostly some 5 to 30 %
    below it. The epsilon of epochs of random allocation is near the exact epsilon of Poisson
    samples.

    Args:
        unknown: The number that is searched for, by its own level.
        level: Returns the level of a value by the fast account.
    """

    def __init__(self, unknown: Unknown, level: Callable[[float], float]) -> None:
        self._unknown, self._level = unknown, level
        self._known: list[tuple[float, float]] = []  # the last two values with their levels

    def start(self, level: float) -> float | None:
        """Return the level of a value within limits, near ``level``; None: the guide is far off."""
        found = self.level(self.at(level))
        return found if abs(found - level) < NEAR else None

    def level(self, value: float) -> float:
        """Return the level of a value."""
        if not self._known or self._known[-1][0] != value:
            self._known = [*self._known[-1:], (value, self._level(value))]
        return self._known[-1][1]

    def at(self, level: float) -> float:
        """Return the value of a level, within limits: roughly at first, then closely."""
        start, slope, last_step, close = level, 1.0, math.inf, FIRST_CLOSE
        if self._known and math.isfinite(self._known[-1][1]):
            value, known = self._known[-1]
            here, (other, before) = self._unknown.level(value), self._known[0]
            if other != value:
                slope = _slope(known - before, here - self._unknown.level(other))
            last_step = (level - known) / slope
            # The next value need not be closer than the secants from there come to the root.
            close = max(0.1 * self._unknown.tick(value), 0.003 * abs(last_step))
            start = here + last_step
        return secants(
            self._unknown,
            start,
            lambda value: self.level(value) - level,
            lambda _: close,
            slope,
            last_step,
        )


# The unknowns: a noise multiplier, a sampling rate, a number of steps or any other number.
#
# The level of sampled steps is log mu of the Gaussian mechanism with the same Rényi divergence of
# order 2,
#     mu^2 = T log(1 + q^2 (e^(1/sigma^2) - 1)),
# exact for q = 1 and the central limit of Dong, Roth, Su 2022 (arXiv 1905.02383) for many steps of
# small q. The excess of a run is nearly a straight line over it, which is all that a search needs.


class _Relative:
    """A positive unknown with a relative tolerance."""

    strictest: ClassVar[float]
    loosest: ClassVar[float]
    margin = 0.5
    tolerance: float

    def tick(self, value: float) -> float:
        """Return the relative width of a tolerance."""
        return self.tolerance

    def further(self, value: float, ticks: float) -> float:
        """Return the value ``ticks`` tolerances looser."""
        low, high = sorted((self.strictest, self.loosest))
        change = self.tolerance if self.loosest == high else -self.tolerance
        return _clipped(value * math.exp(_within(ticks * math.log1p(change))), low, high)


@dataclass(frozen=True)
class NoiseMultiplier(_Relative):
    """The smallest noise multiplier that meets the target."""

    rate: float
    steps: int
    tolerance: float

    strictest = 1e8
    loosest = 1e-2
    words = "a noise multiplier of at most 1e+08"

    def at(self, level: float) -> float:
        """Return the value of a level, within limits."""
        spread = _log_expm1(2.0 * level - math.log(self.steps)) - 2.0 * math.log(self.rate)
        noise = math.exp(min(max(-0.5 * _log_log1p(spread), -100.0), 100.0))
        return min(max(noise, self.loosest), self.strictest)

    def level(self, noise: float) -> float:
        return _level(noise, self.rate, self.steps)


@dataclass(frozen=True)
class SampleRate(_Relative):
    """The largest sampling rate that meets the target."""

    noise: float
    steps: int
    tolerance: float

    strictest = 1e-12
    loosest = 1.0
    words = "a sample rate of at least 1e-12"

    def at(self, level: float) -> float:
        """Return the value of a level, within limits."""
        one_step = _log_expm1(2.0 * level - math.log(self.steps))
        log_rate = 0.5 * (one_step - _log_expm1(-2.0 * math.log(self.noise)))
        return _clipped(math.exp(_within(log_rate)), self.strictest, self.loosest)

    def level(self, rate: float) -> float:
        return _level(self.noise, rate, self.steps)


@dataclass(frozen=True)
class Steps:
    """The largest number of steps that meets the target."""

    noise: float
    rate: float
    loosest: int

    strictest = 0
    margin = 0.0
    words = "no steps"

    def at(self, level: float) -> int:
        """Return the value of a level, within limits."""
        one_step = 2.0 * _level(self.noise, self.rate, 1)
        count = math.exp(_within(2.0 * level - one_step))
        return int(_clipped(count, 1, self.loosest))

    def level(self, steps: float) -> float:
        return _level(self.noise, self.rate, steps)

    def tick(self, steps: float) -> float:
        """Return the relative width of a step."""
        return 1.0 / steps

    def further(self, steps: float, ticks: float) -> int:
        """Return the value ``ticks`` steps further."""
        return min(max(int(steps) + int(ticks), self.strictest), self.loosest)


@dataclass(frozen=True)
class Number:
    """Any number that a mechanism depends on.

    The level goes from the excess over the target at one end to that at the other: linearly in the
    logarithm of values if all are positive, else in the values.
    """

    strictest: float
    loosest: float
    least_excess: float
    most_excess: float
    integer: bool
    tolerance: float

    @property
    def margin(self) -> float:
        return 0.0 if self.integer else 0.5

    @property
    def words(self) -> str:
        low, high = sorted((self.strictest, self.loosest))
        return f"a value in [{low:g}, {high:g}]"

    def at(self, level: float) -> float:
        """Return the value of a level, within limits."""
        rise = self.most_excess - self.least_excess
        share = (level - self.least_excess) / rise if rise > 0.0 else 0.5
        return self.beside(self.strictest, self.loosest, _clipped(share, 0.0, 1.0))

    def level(self, value: float) -> float:
        first, last = self._place(self.strictest), self._place(self.loosest)
        share = (self._place(value) - first) / (last - first)
        return self.least_excess + share * (self.most_excess - self.least_excess)

    def tick(self, value: float) -> float:
        """Return the width of a tolerance in levels."""
        wide = abs(self.level(self.further(value, 1)) - self.level(value))
        return max(wide, abs(self.level(self.further(value, -1)) - self.level(value)))

    def further(self, value: float, ticks: float) -> float:
        """Return the value ``ticks`` tolerances, or integers, looser."""
        low, high = sorted((self.strictest, self.loosest))
        looser = ticks if self.loosest == high else -ticks
        if self.integer:
            return int(_clipped(value + int(looser), low, high))
        if low > 0.0:
            factor = math.exp(_within(looser * math.log1p(self.tolerance)))
            return _clipped(value * factor, low, high)
        return _clipped(value + looser * self.tolerance * (high - low), low, high)

    def beside(self, first: float, last: float, share: float) -> float:
        """Return the value at a share of the way from ``first`` to ``last``."""
        if share in (0.0, 1.0):
            return last if share else first
        place = (1.0 - share) * self._place(first) + share * self._place(last)
        value = math.exp(place) if self._is_positive else place
        low, high = sorted((first, last))
        return _clipped(round(value) if self.integer else value, low, high)

    @property
    def _is_positive(self) -> bool:
        return min(self.strictest, self.loosest) > 0.0

    def _place(self, value: float) -> float:
        return math.log(value) if self._is_positive else value


Unknown = NoiseMultiplier | SampleRate | Steps | Number


def _level(noise: float, rate: float, steps: float) -> float:
    log_excess = _log_expm1(-2.0 * math.log(noise)) + 2.0 * math.log(rate)
    return 0.5 * (math.log(steps) + _log_log1p(log_excess))


def _log_expm1(u: float) -> float:
    """Return log(exp(exp(u)) - 1)."""
    if u < -40.0:
        return u
    x = math.exp(min(u, 700.0))
    return x if x > 40.0 else math.log(math.expm1(x))


def _log_log1p(v: float) -> float:
    """Return log(log(1 + exp(v))), the inverse."""
    if v < -40.0:
        return v
    return math.log(v) if v > 40.0 else math.log(math.log1p(math.exp(v)))


def _within(exponent: float) -> float:
    return min(max(exponent, -100.0), 100.0)


def _clipped(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
