"""What is searched for: a noise multiplier, a sampling rate, a number of steps or any other.

The level of sampled steps is log mu of the Gaussian mechanism with the same Rényi divergence of
order 2,
    mu^2 = T log(1 + q^2 (e^(1/sigma^2) - 1)),
exact for q = 1 and the central limit of Dong, Roth, Su 2022 (arXiv 1905.02383) for many steps of
small q. What a run reveals is nearly a straight line over it, which is all that a search needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["NoiseMultiplier", "Number", "SampleRate", "Steps", "Unknown"]


@dataclass(frozen=True)
class NoiseMultiplier:
    """The smallest noise that will do."""

    rate: float
    steps: int
    tolerance: float

    strictest = 1e8
    loosest = 1e-2
    margin = 0.5
    words = "a noise multiplier of at most 1e+08"

    def at(self, level: float) -> float:
        """Return the value of a level, within limits."""
        spread = _log_expm1(2.0 * level - math.log(self.steps)) - 2.0 * math.log(self.rate)
        return _clipped(math.exp(_within(-0.5 * _log_log1p(spread))), self.loosest, self.strictest)

    def level(self, noise: float) -> float:
        return _level(noise, self.rate, self.steps)

    def tick(self, noise: float) -> float:
        """Return the relative width of a tolerance."""
        return self.tolerance

    def further(self, noise: float, ticks: float) -> float:
        """Return the value so many tolerances looser."""
        factor = math.exp(_within(ticks * math.log1p(-self.tolerance)))
        return _clipped(noise * factor, self.loosest, self.strictest)


@dataclass(frozen=True)
class SampleRate:
    """The largest sampling rate that will do."""

    noise: float
    steps: int
    tolerance: float

    strictest = 1e-12
    loosest = 1.0
    margin = 0.5
    words = "a sample rate of at least 1e-12"

    def at(self, level: float) -> float:
        """Return the value of a level, within limits."""
        one_step = _log_expm1(2.0 * level - math.log(self.steps))
        log_rate = 0.5 * (one_step - _log_expm1(-2.0 * math.log(self.noise)))
        return _clipped(math.exp(_within(log_rate)), self.strictest, self.loosest)

    def level(self, rate: float) -> float:
        return _level(self.noise, rate, self.steps)

    def tick(self, rate: float) -> float:
        """Return the relative width of a tolerance."""
        return self.tolerance

    def further(self, rate: float, ticks: float) -> float:
        """Return the value so many tolerances looser."""
        factor = math.exp(_within(ticks * math.log1p(self.tolerance)))
        return _clipped(rate * factor, self.strictest, self.loosest)


@dataclass(frozen=True)
class Steps:
    """The largest number of steps that will do."""

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
        """Return the value so many steps further."""
        return min(max(int(steps) + int(ticks), self.strictest), self.loosest)


@dataclass(frozen=True)
class Number:
    """Any number that a mechanism depends on.

    Its level goes from the excess over the target at the one end to that at the other, evenly in
    the logarithm of values where all are positive.
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
        """Return the value so many tolerances, or integers, looser."""
        low, high = sorted((self.strictest, self.loosest))
        looser = ticks if self.loosest == high else -ticks
        if self.integer:
            return int(_clipped(value + int(looser), low, high))
        if low > 0.0:
            factor = math.exp(_within(looser * math.log1p(self.tolerance)))
            return _clipped(value * factor, low, high)
        return _clipped(value + looser * self.tolerance * (high - low), low, high)

    def beside(self, first: float, last: float, share: float) -> float:
        """Return the value that is a share of the way from one to another."""
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
    spread = _log_expm1(-2.0 * math.log(noise)) + 2.0 * math.log(rate)
    return 0.5 * (math.log(steps) + _log_log1p(spread))


def _log_expm1(u: float) -> float:
    """Return log(exp(exp(u)) - 1)."""
    x = math.exp(min(u, 700.0))
    if x > 40.0:
        return x
    return math.log(math.expm1(x)) if u > -40.0 else u


def _log_log1p(v: float) -> float:
    """Return log(log(1 + exp(v))), the inverse."""
    if v > 40.0:
        return math.log(v)
    return math.log(math.log1p(math.exp(v))) if v > -40.0 else v


def _within(exponent: float) -> float:
    return min(max(exponent, -100.0), 100.0)


def _clipped(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
