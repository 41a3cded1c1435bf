"""Where exp(G), the integrand of log A, lives: its peaks and their surroundings, in doubles.

G(u) = alpha L(u) - u^2/2 as in ``ball_log_a``. Guesses only: nothing proven depends on them.
"""

from __future__ import annotations

import math


def _softplus(t: float) -> float:
    return t + math.log1p(math.exp(-t)) if t > 0 else math.log1p(math.exp(t))


def _logistic(t: float) -> float:
    if t > 0:
        return 1 / (1 + math.exp(-t))
    return math.exp(t) / (1 + math.exp(t))


class Landscape:
    """Peaks and live stretches of G; 0 < q < 1."""

    def __init__(self, q: float, sigma: float, alpha: float) -> None:
        self.sigma, self.alpha = sigma, alpha
        self.rate = alpha / sigma
        self.u0 = 1 / (2 * sigma) + sigma * (math.log1p(-q) - math.log(q))
        self.const = alpha * math.log1p(-q)
        self.valley = None  # between two peaks
        self.peaks = self._peaks()

    def _logit(self, u: float) -> float:
        return (u - self.u0) / self.sigma

    def _slope(self, u: float) -> float:
        return self.rate * _logistic(self._logit(u)) - u

    def _root(self, low: float, high: float, sign: float = 1.0) -> float:
        """Where sign * G' changes from positive to not positive between low and high."""
        for _ in range(200):
            middle = (low + high) / 2
            if high - low < 1e-7 or middle in (low, high):
                break
            if sign * self._slope(middle) > 0:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    def _peaks(self) -> list[float]:
        quarter = 4 * self.sigma**2 / self.alpha
        if self.alpha < 0 or quarter >= 1:
            return [self._root(min(0.0, self.rate), max(0.0, self.rate))]
        # G' falls, rises between the two points with p(1-p) = sigma^2/alpha, and falls again
        small = quarter / (2 * (1 + math.sqrt(1 - quarter)))
        logit = math.log(small) - math.log1p(-small)
        first = self.u0 + self.sigma * logit
        second = self.u0 - self.sigma * logit
        peaks = []
        if first > 0 and self._slope(first) < 0:
            peaks.append(self._root(0.0, first))
        if second < self.rate and self._slope(second) > 0:
            peaks.append(self._root(max(second, 0.0), self.rate))
        if len(peaks) == 2:
            self.valley = self._root(first, second, sign=-1.0)
        return peaks or [self._root(0.0, self.rate)]

    def height(self, u: float) -> float:
        """G(u), to double precision of its largest part."""
        return self.const + self.alpha * _softplus(self._logit(u)) - u * u / 2

    def size(self, u: float) -> float:
        """Sum of the magnitudes of the parts of G(u)."""
        return abs(self.const) + abs(self.alpha) * _softplus(self._logit(u)) + u * u / 2

    def drop(self, c: float, d: float) -> float:
        """G(c + d) - G(c) without the cancellation of the exponents."""
        t = self._logit(c)
        if t < 0:
            return self.alpha * (_softplus(t + d / self.sigma) - _softplus(t)) - d * (c + d / 2)
        rest = d * self.rate * _logistic(-t) + d * (self.rate * _logistic(t) - c)
        return rest - d * d / 2 + self.alpha * (_softplus(-t - d / self.sigma) - _softplus(-t))

    def _edge(self, c: float, depth: float, limit: float) -> float | None:
        """Where G has fallen by ``depth`` on the way from peak c to ``limit``; None: nowhere."""
        sign = 1.0 if limit > c else -1.0
        low, high = 0.0, math.sqrt(2 * depth)
        while self.drop(c, sign * high) > -depth:
            if high > abs(limit - c):
                break
            low, high = high, 2 * high
        if high > abs(limit - c):
            high = abs(limit - c)
            if self.drop(c, sign * high) > -depth:
                return None
        while high - low > 0.02 * high and high - low > 1e-9 * abs(c):
            middle = (low + high) / 2
            if self.drop(c, sign * middle) > -depth:
                low = middle
            else:
                high = middle
        return c + sign * high

    def live(self, depth: float) -> list[tuple[float, float, float]]:
        """(start, peak, end) of the stretches within ``depth`` of the largest peak."""
        top = max(map(self.height, self.peaks))
        stretches: list[tuple[float, float, float]] = []
        open_start = None
        for index, c in enumerate(self.peaks):
            room = depth - (top - self.height(c))
            if room <= 0:
                continue
            left = self.valley if index == 1 and self.valley is not None else -math.inf
            right = self.valley if index == 0 and self.valley is not None else math.inf
            start = self._edge(c, room, left)
            end = self._edge(c, room, right)
            start = open_start if start is None and open_start is not None else start
            if start is None:
                start = left
            if end is None:
                end = right
            stretches.append((start, c, end))
        return stretches
