"""Long compositions by their low frequencies alone.

The tilted law of many uses has a transform that is nothing but a peak at zero: of a million
frequencies a few dozen count. Their values are sums over one use's nodes; all others are bounded
together, once and for all; and what delta needs of a frequency is a geometric series. No array of
the window's length is made.

Bound of the rest. |z(f)| of one part, with weights w and centre c, is at most

    |z(g)| + |z_c'(g)| |f - g| + s (f - g)^2 / 2,    s = sum of w (i - c)^2,

z_c the transform about the centre, whose modulus is the same (Taylor's theorem); far from zero the
same without the middle term and with sum of w |i - c| for the derivative. Evaluated on grids that
leave no gap between the first frequency left out and pi.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from renyi.pld._cells import ROUNDING, Array
from renyi.pld._composed_loss import Window, weights_sum
from renyi.pld._composition import Complex, Spectrum, TiltedPart, power_of, product

__all__ = ["LowFrequencies", "low_frequencies"]

Integers = npt.NDArray[np.int64]

_NEGLECTED = 60.0  # -log of the transform, relative to its peak, that is aimed at beyond the cut
_ENOUGH = 45.0
_MOST = 4096  # frequencies
_WORK = 2**24  # frequencies times nodes
_LONGEST = 2**19  # nodes of one use
_STEP = 1.1  # of the fine grid, geometric
_TURN = 2.0 * math.pi


@dataclass(frozen=True, slots=True)
class LowFrequencies:
    """The transform of a tilted law at the frequencies 2 pi j / size, j = 0, 1, ...

    Attributes
    ----------
    size : int
        Of the window, a power of two.
    base : int
        The node at which all parts are at their first one.
    values, errors : arrays
        Of the transform, its phase counted from ``base``.
    rest : float
        Bound on the modulus at every other frequency.
    """

    size: int
    base: int
    values: Complex
    errors: Array
    rest: float

    def sum_from(
        self, start: int, length: int, distance: float, step: float, theta: float
    ) -> tuple[float, float]:
        """Return the weighted sum of masses, see `TailSums`, and its error.

        With r = e^(-theta + i f) the sum of the weights times e^(i f k) over all k >= 0 is
        ((1 - e^-d) + r (e^-d - e^-h)) / ((1 - r)(1 - r e^-h)); what k >= length gives goes off.
        """
        j = np.arange(self.values.size)
        frequency: Array = np.asarray(_TURN / self.size * j, dtype=np.float64)
        lower = _one_minus_exp(-theta, frequency) * _one_minus_exp(-theta - step, frequency)
        ratio, far = np.exp(-theta + 1j * frequency), distance + step * length
        turned = _phases(j * (length % self.size), self.size) * math.exp(-theta * length)
        sums, sizes = np.zeros_like(ratio), np.zeros_like(frequency)
        for factor, d in ((1.0, distance), (-turned, far)):
            lead, follow = -math.expm1(-d), math.exp(-d) - math.exp(-step)
            if d <= step:
                follow = math.exp(-d) * -math.expm1(d - step)
            sums += factor * (lead + ratio * follow)
            sizes += np.abs(factor) * (lead + abs(follow))
        sums, sizes = sums / lower, 48.0 * ROUNDING * sizes / np.abs(lower)
        phases = _phases(j * ((start - self.base) % self.size), self.size)
        terms = (self.values * phases * sums).real
        counted = np.where(j == 0, 1.0, 2.0) / self.size
        modulus = np.abs(self.values)
        error = self.errors * (np.abs(sums) + sizes) + modulus * (
            sizes + 32.0 * ROUNDING * np.abs(sums)
        )
        whole = float(np.dot(counted, error)) + self.rest * weights_sum(theta, step, distance)
        return float(np.dot(counted, terms)), whole * (1.0 + 1e-9)


def low_frequencies(parts: list[TiltedPart], window: Window, base: int) -> LowFrequencies | None:
    """Return the transform of a composition where few frequencies make it up, None elsewhere."""
    nodes = sum(part.weights.size for part in parts)
    if any(part.bulk for part in parts) or nodes > _LONGEST:
        return None
    moments = [_Moments.of(part) for part in parts]
    variance = math.fsum(m.count * m.second / m.total for m in moments)
    if variance <= 0.0:
        return None
    cut = math.sqrt(2.0 * _NEGLECTED / variance)
    for _ in range(3):
        count = math.ceil(cut * window.size / _TURN)
        if count > min(_MOST, window.size // 4, _WORK // nodes):
            return None
        rest = _largest_beyond(moments, (count + 1) * _TURN / window.size)
        if rest <= math.fsum(m.count * math.log(m.total) for m in moments) - _ENOUGH:
            break
        cut *= 1.4
    else:
        return None
    kept: Spectrum | None = None
    for part in parts:
        power = power_of(_transform(part.weights, count, window.size), part.count)
        kept = power if kept is None else product(kept, power)
    assert kept is not None
    return LowFrequencies(window.size, base, kept.value, kept.error, math.exp(rest))


@dataclass(frozen=True, slots=True)
class _Moments:
    """Weights of one part about their centre, and sums that bound the slope of the transform."""

    weights: Array
    places: Array
    count: int
    total: float
    first: float
    second: float

    @classmethod
    def of(cls, part: TiltedPart) -> _Moments:
        weights, room = part.weights, 1.0 + 1e-9
        index = np.arange(weights.size, dtype=np.float64)
        total = float(weights.sum())
        places = index - round(float(np.dot(weights, index)) / total)
        first = float(np.dot(weights, np.abs(places))) * room
        second = float(np.dot(weights, places * places)) * room
        return cls(weights, places, part.count, total * room, first, second)


def _largest_beyond(moments: list[_Moments], start: float) -> float:
    """Bound the log of the product of |z|^count at all frequencies from ``start`` to pi."""
    longest = max(m.weights.size for m in moments)
    size = 2 ** math.ceil(math.log2(8.0 * longest))
    width = _TURN / size
    uses = sum(m.count for m in moments)
    spread = math.sqrt(math.fsum(m.count * m.second / m.total for m in moments) / uses)
    far = max(8.0 * width, 1.5 / spread, start * _STEP)
    edges = start * (far / start) ** np.linspace(
        0.0, 1.0, math.ceil(math.log(far / start) / math.log(_STEP)) + 1
    )
    fine = np.zeros(edges.size - 1)
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges) * (1.0 + 1e-9)
    first = min(math.floor(far * (1.0 - 1e-9) / width), size // 2)
    coarse = np.zeros(max(size // 2 - first, 0))
    for m in moments:
        value, slope = _moduli(m.weights, middle), _moduli(m.weights * m.places, middle)
        bound = value + (slope + 1e-9 * m.first) * half + (0.5 * m.second) * half * half
        bound += 1e-9 * m.total
        fine += m.count * np.log(np.minimum(bound, m.total))
        at = np.abs(np.fft.rfft(m.weights, size))[first:]
        if coarse.size:
            bound = np.maximum(at[1:], at[:-1]) + (0.5 * width) * m.first + 1e-9 * m.total
            coarse += m.count * np.log(np.minimum(bound, m.total))
    return max(float(fine.max()), float(coarse.max()) if coarse.size else -math.inf) + 1e-9 * uses


def _transform(weights: Array, count: int, size: int) -> Spectrum:
    """Return sum of w_i e^(-i f_j i) for j <= count, the phases exact."""
    j = np.arange(count + 1)
    length = _block(weights.size)
    rows = _rows(weights, length)
    inner = _phases(-np.outer(np.arange(length), j), size)
    outer = _phases(-np.outer(length * np.arange(rows.shape[0]), j), size)
    value = _folded(rows, inner, outer)
    error = (sum(rows.shape) + 64.0) * ROUNDING * float(weights.sum())
    return Spectrum(value, np.abs(value) + error, np.full(value.size, error))


def _moduli(weights: Array, frequencies: Array) -> Array:
    """Return the moduli of the transform at any frequencies, to 1e-9 of the sum of the weights."""
    length = _block(weights.size)
    rows = _rows(weights, length)
    inner = np.exp(-1j * np.outer(np.arange(length), frequencies))
    outer = np.exp(-1j * np.outer(length * np.arange(rows.shape[0]), frequencies))
    return np.asarray(np.abs(_folded(rows, inner, outer)))


def _folded(rows: Array, inner: Complex, outer: Complex) -> Complex:
    # Not by BLAS, whose threads take longer to start than so little work takes.
    return np.asarray(np.einsum("aj,aj->j", np.einsum("ab,bj->aj", rows, inner), outer))


def _block(count: int) -> int:
    return 1 << ((count - 1).bit_length() + 1) // 2


def _rows(weights: Array, length: int) -> Array:
    """Return the weights as rows: index = length * row + column, so that phases are products."""
    return np.pad(weights, (0, -weights.size % length)).reshape(-1, length)


def _phases(turns: Integers, size: int) -> Complex:
    """Return e^(2 pi i turns / size), ``size`` a power of two."""
    turns = turns % size
    angle = (_TURN / size) * np.where(turns > size // 2, turns - size, turns)
    return np.asarray(np.cos(angle) + 1j * np.sin(angle))


def _one_minus_exp(x: float, y: Array) -> Complex:
    """Return 1 - e^(x + i y), x < 0, from terms of one sign."""
    scale, half = math.exp(x), np.sin(0.5 * y)
    return np.asarray(-math.expm1(x) + 2.0 * scale * half * half - 1j * scale * np.sin(y))
