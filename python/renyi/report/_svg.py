"""Figures of lines as SVG: black on white, told apart by their dashes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from renyi._rounding import round_up
from renyi._validation import decimal_of

__all__ = ["Figure", "Line"]

WIDTH, HEIGHT = 400.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 12.0, 34.0, 46.0
LEAST = 1e-30  # on logarithmic axes
DASHES = ("", "8 4", "2 4", "10 3 2 3")


@dataclass(frozen=True)
class Line:
    """Points under one name; what an axis cannot show is left out."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Figure:
    """Lines with the names of the axes, and what the figure shows in a sentence."""

    title: str
    x_name: str
    y_name: str
    lines: Sequence[Line]
    log_y: bool = False
    rounded: Callable[[float], str] = round_up
    mark: tuple[float, float, str] | None = None

    def to_svg(self) -> str:
        """Return the figure as an element of HTML."""
        plotted = [_finite(line, self.log_y) for line in self.lines]
        xs = [x for points in plotted for x, _ in points] or [0.0, 1.0]
        ys = [y for points in plotted for _, y in points] or [0.1, 1.0]
        across = _Axis(0.0 if min(xs) >= 0.0 else min(xs), max(xs), LEFT, WIDTH - RIGHT, False)
        low = min(ys) if self.log_y else min(0.0, *ys)
        up = _Axis(low, max(ys), HEIGHT - BOTTOM, TOP, self.log_y)
        parts = [*self._axes(across, up)]
        for number, (line, points) in enumerate(zip(self.lines, plotted, strict=True)):
            parts += _drawn(line.name, number, [(across.at(x), up.at(y)) for x, y in points])
        parts += self._marked(across, up)
        body = "\n".join(parts)
        return (
            f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(self.title)}" '
            f'font-family="sans-serif" font-size="12">\n'
            f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>'
        )

    def _axes(self, across: _Axis, up: _Axis) -> Iterator[str]:
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        for value in across.ticks():
            x = across.at(value)
            yield f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="#ddd" stroke-width="0.7"/>'
            yield _text(x, bottom + 17, _number(value), "middle")
        for value in up.ticks():
            y = up.at(value)
            yield f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#ddd" stroke-width="0.7"/>'
            yield _text(LEFT - 7, y + 4, _number(value), "end")
        yield f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#000"/>'
        yield _text(0.5 * (LEFT + right), HEIGHT - 14, self.x_name, "middle")
        middle = 0.5 * (TOP + bottom)
        turned = f'transform="rotate(-90 16 {middle:g})"'
        yield _text(16.0, middle, self.y_name, "middle", turned)

    def _marked(self, across: _Axis, up: _Axis) -> Iterator[str]:
        if self.mark is not None:
            x, y, words = self.mark
            place, height = across.at(x), up.at(y)
            left = place < 0.6 * WIDTH
            end = place + (20 if left else -20)
            yield f'<path d="M{place:.1f} {height:.1f}H{end:.1f}" stroke="#000"/>'
            yield f'<circle cx="{place:.1f}" cy="{height:.1f}" r="4.5" fill="#fff" stroke="#000"/>'
            halo = 'paint-order="stroke" stroke="#fff" stroke-width="4"'
            aside = (end + 5, "start") if left else (end - 5, "end")
            yield _text(aside[0], height + 4, words, aside[1], halo)


class _Axis:
    """From values to places."""

    def __init__(self, low: float, high: float, start: float, end: float, log: bool) -> None:
        self._log = log
        if log:
            low, high = 1.0 * math.floor(math.log10(low)), 1.0 * math.ceil(math.log10(high))
        self._low, self._high = low, high if high > low else low + 1.0
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        scaled = math.log10(value) if self._log else value
        share = (scaled - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> list[float]:
        if self._log:
            decades = max(1, math.ceil((self._high - self._low) / 7))
            return [10.0**n for n in range(int(self._low), int(self._high) + 1, decades)]
        size = 10.0 ** math.floor(math.log10(self._high - self._low))
        steps = (size * factor for factor in (0.1, 0.2, 0.25, 0.5, 1.0, 2.0))
        step = next(s for s in steps if (self._high - self._low) / s <= 7.0)
        first = math.ceil(self._low / step - 1e-9)
        return [n * step for n in range(first, math.floor(self._high / step + 1e-9) + 1)]


def _finite(line: Line, log_y: bool) -> list[tuple[float, float]]:
    points = zip(map(float, line.x), map(float, line.y), strict=True)
    return [(x, y) for x, y in points if math.isfinite(x * y) and (y >= LEAST or not log_y)]


def _drawn(name: str, number: int, points: Iterable[tuple[float, float]]) -> Iterator[str]:
    dash = DASHES[number % len(DASHES)]
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    style = f'fill="none" stroke="#000" stroke-width="1.6" stroke-dasharray="{dash}"'
    yield f'<polyline points="{places}" {style}/>'
    x = LEFT + 4 + 165 * number
    yield f'<path d="M{x:g} 18h30" {style}/>'
    yield _text(x + 36, 22.0, name, "start")


def _text(x: float, y: float, words: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def _number(value: float) -> str:
    return decimal_of(float(f"{value:.6g}"))
