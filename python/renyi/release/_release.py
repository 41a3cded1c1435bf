"""A release: the value, its cost, and the distance that noise may have moved it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from renyi import _strict_json
from renyi._adjacency import Adjacency, adjacency_of, one_of
from renyi._rounding import above
from renyi._strict_json import read_number, written
from renyi._validation import BETWEEN, Range, number_in, shortest, visible
from renyi.mechanisms import Mechanism
from renyi.release._draws import DISCRETE, GAUSSIAN, LAPLACE, tail_point

SCALE = Range(0.0, 2.0**1000, "(]")
FINITE = Range(-(2.0**1000), 2.0**1000)
EXTENDED = Range(-math.inf, math.inf)
SHOWN = 12  # the most cells of a histogram on a line

# The attributes that are None in a release of each query.
NOISE = {"noise", "scale", "spacing", "bounds", "ends", "labels"}
CHOICES = {"quantile": NOISE, "exponential": NOISE, "noisy_max": NOISE}
SUMS = {"sum": {"labels", "ends"}, "mean": {"labels"}}
COUNTS = {"count": {"labels", "bounds", "ends"}, "histogram": {"bounds", "ends"}}
LACKING = {**CHOICES, **SUMS, **COUNTS}
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Release:
    """A released statistic. All of it may be published.

    Attributes:
        query: "count", "sum", "mean", "histogram", "quantile", "exponential" or "noisy_max".
        value (int, float, str or tuple): The released value; for a histogram a number for each
            cell.
            Numbers may be below 0: rounding them up to 0 adds a bias.
        mechanism: The charged mechanism, from which the noise was drawn.
        adjacency ({"add_remove", "replace_one"}): Which data sets are neighbours.
        note: The note of the caller.
        labels (tuple or None): For a histogram, the category of each cell, or its two edges.
        noise ({"discrete_laplace", "laplace", "gaussian"} or None): The law of the noise, None
            if a candidate was chosen.
        scale, spacing: Scale of the noise in units of the value, and the spacing of the lattice
            that values are rounded to.
        bounds: The bounds that records were clipped to.
        ends: For a mean, if the number of records is not public: the noisy sums of the distances of
            records to the lower and to the upper bound, from which the mean is computed. Their sum
            over upper - lower is a noisy number of records.
    """

    query: str
    value: Any
    mechanism: Mechanism
    adjacency: Adjacency
    note: str = ""
    labels: tuple[Any, ...] | None = None
    noise: str | None = None
    scale: float | None = None
    spacing: float | None = None
    bounds: tuple[float, float] | None = None
    ends: tuple[float, float] | None = None

    @property
    def standard_deviation(self) -> float | None:
        """Standard deviation of the noise in each number, None if a candidate was chosen.

        For a mean from two noisy sums it is an estimate, and infinite if hardly any records are
        seen. The error of clipping is not included.
        """
        if self.noise is None:
            return None
        assert self.scale is not None
        assert self.spacing is not None
        if self.noise == DISCRETE:
            ratio = math.exp(-1.0 / self.scale)
            return math.sqrt(2.0 * ratio) / -math.expm1(-1.0 / self.scale)
        ideal = self.scale * (1.0 if self.noise == GAUSSIAN else math.sqrt(2.0))
        step = max(self.spacing, 1.0) if self._whole else self.spacing
        one = math.hypot(ideal, step / math.sqrt(12.0))
        if self.ends is None:
            return one
        near, far = self.ends
        total = near + far
        if total <= self._width:
            return math.inf
        return one * (self._width / total) * (math.hypot(near, far) / total)

    @property
    def _whole(self) -> bool:
        return self.query in COUNTS

    @property
    def _width(self) -> float:
        assert self.bounds is not None
        return self.bounds[1] - self.bounds[0]

    def interval(self, confidence: float = 0.95) -> Any:
        """Return an interval that holds the statistic without noise, for each number of the value.

        Args:
            confidence: The least probability that it does, in (0, 1): for each cell of a histogram
                by itself.

        Returns:
            tuple of float, or tuple of such.

        Raises:
            TypeError, ValueError: If ``confidence`` is not such a number, or a candidate was
                chosen, for which there is no such interval.

        The interval follows from the exact tails of the noise, rounding included. For a mean from
        two noisy sums it is Fieller's: it keeps the means p for which near (1 - p) - far p is
        within the tails of its noise.
        """
        outside = 1.0 - number_in(confidence, "confidence", BETWEEN)
        if self.noise is None or self.scale is None or self.spacing is None:
            raise ValueError(f"interval must be of numbers with noise, got that of {self.query!r}")
        if self.ends is not None:
            return self._mean_interval(max(outside, 2.0**-53))
        reach = tail_point(self.noise, self.scale, max(outside, 2.0**-53))
        if self.noise != DISCRETE:
            reach = above(reach + 0.5 * self.spacing)
        if not self._whole:
            return math.nextafter(self.value - reach, -math.inf), above(self.value + reach)
        # Rounded once more, noise passes a whole number only if it is beyond half a step from it.
        steps = int(reach) if self.noise == DISCRETE else math.ceil(reach - 0.5)
        if isinstance(self.value, tuple):
            return tuple((value - steps, value + steps) for value in self.value)
        return self.value - steps, self.value + steps

    def _mean_interval(self, outside: float) -> Interval:
        assert self.bounds is not None
        assert self.ends is not None
        low, high = self.bounds
        near, far = self.ends
        left = _crossing(lambda p: near * (1.0 - p) - far * p - self._reach(p, outside))
        right = 1.0 - _crossing(lambda p: far * (1.0 - p) - near * p - self._reach(p, outside))
        if left > right:  # hardly any records: no mean is refuted
            return low, high
        return max(low, low + left * self._width), min(high, low + right * self._width)

    def _reach(self, p: float, outside: float) -> float:
        """Return the quantile of |(1-p) X - p Y|, X and Y the noise of the two sums."""
        assert self.noise is not None
        assert self.scale is not None
        assert self.spacing is not None
        rounding = 0.5 * self.spacing
        if self.noise == LAPLACE:
            return above(_laplace_mixture(1.0 - p, p, outside) * self.scale + rounding)
        return above(tail_point(GAUSSIAN, self.scale, outside) * math.hypot(1.0 - p, p) + rounding)

    def to_dict(self) -> dict[str, Any]:
        """Return a form that JSON can hold."""
        data = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return {**data, "mechanism": self.mechanism.to_dict()}

    def to_json(self, indent: int | None = None) -> str:
        """Return all attributes as strict JSON, for `from_json`.

        Raises:
            TypeError: If a candidate or a category is neither a string nor a number nor a boolean.
        """
        return _strict_json.dumps({"type": "Release", **self.to_dict()}, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Release:
        """Return the release that `to_json` wrote.

        Raises:
            TypeError, ValueError: If the text is not strict JSON, of another version or another
                form.
        """
        data = _strict_json.read(text, "Release", [field.name for field in fields(cls)])
        return cls._checked(data)

    @classmethod
    def _checked(cls, data: Mapping[str, Any]) -> Release:
        found = {name: _restored(value) for name, value in data.items()}
        found["mechanism"] = Mechanism.from_dict(data["mechanism"])
        found["adjacency"] = adjacency_of(data["adjacency"])
        _check_form(**found)
        return cls(**found)

    def __str__(self) -> str:
        value, deviation = str(self.value), self.standard_deviation
        if isinstance(self.value, tuple):
            value = f"{len(self.value)} cells"
            if self.labels is not None and len(self.value) <= SHOWN:
                cells = zip(map(_named, self.labels), self.value, strict=True)
                value = ", ".join(f"{name}: {count}" for name, count in cells)
        spread = "" if deviation is None else f", noise of standard deviation {deviation:.4g}"
        return visible(f"{self.note or self.query}: {value}{spread}")


def _check_form(query: Any, value: Any, note: Any, labels: Any, **found: Any) -> None:
    """Raise an error unless the attributes form a release of this query."""
    lacking = LACKING[one_of(query, "query", LACKING)]
    if not isinstance(note, str):
        raise TypeError(f"note must be a string, got {note!r}")
    for name, part in {"labels": labels, **found}.items():
        if name in lacking and part is not None:
            raise ValueError(f"{name} must be None of {query!r}, got {part!r}")
    if query in CHOICES:
        if not isinstance(value, str | int | float):
            raise TypeError(f"value must be a string, a number or a boolean, got {value!r}")
        return
    one_of(found["noise"], "noise", (DISCRETE, LAPLACE, GAUSSIAN))
    number_in(found["scale"], "scale", SCALE)
    number_in(found["spacing"], "spacing", SCALE if found["noise"] != DISCRETE else Range(0.0, 0.0))
    if query in SUMS:
        number_in(value, "value", FINITE)
        low, high = _pair(found["bounds"], "bounds")
        if not low < high:
            raise ValueError(f"bounds must be ascending, got {found['bounds']!r}")
        if found["ends"] is not None:
            _pair(found["ends"], "ends")
        return
    cells = value if query == "histogram" else (value,)
    if not isinstance(cells, tuple) or any(type(cell) is not int for cell in cells):
        raise TypeError(f"value must be of integers, got {value!r}")
    if query == "histogram" and (not isinstance(labels, tuple) or len(labels) != len(cells)):
        raise ValueError(f"labels must be as many as the {len(cells)} cells, got {labels!r}")
    for label in labels or ():
        if not isinstance(label, str | int | float):
            _pair(label, "labels", EXTENDED)


def _pair(value: Any, name: str, range_: Range = FINITE) -> Interval:
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"{name} must be two numbers, got {value!r}")
    return number_in(value[0], name, range_), number_in(value[1], name, range_)


def _named(label: Any) -> str:
    """Return the name of a cell; the last of several intervals is closed, which is not shown."""
    if not isinstance(label, tuple):
        return str(label)
    return f"[{shortest(label[0])}, {shortest(label[1])})"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return written(value) if isinstance(value, float) else value


def _restored(value: Any) -> Any:
    if isinstance(value, list):  # pairs are edges of cells, which may be infinite
        return tuple(tuple(map(read_number, v)) if isinstance(v, list) else v for v in value)
    return value


def _crossing(excess: Any) -> float:
    """Return, from below, the end of the part of [0, 1] where a function is above 0; 0 if none."""
    if excess(0.0) <= 0.0:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return low


def _laplace_mixture(first: float, second: float, outside: float) -> float:
    """Return x with P(|a X + b Y| > x) = ``outside``; X and Y are Laplace of scale 1.

    P(|a X + b Y| > t) = (a^2 e^(-t/a) - b^2 e^(-t/b)) / (a^2 - b^2), a > b > 0.
    """
    large, small = max(first, second), min(first, second)
    # Weights are kept from 0 and apart; larger weights have larger tails (Anderson's inequality).
    small = max(small, 1e-3 * large)
    large = max(large, 1.001 * small)

    def tail(t: float) -> float:
        a, b = large * large, small * small
        return (a * math.exp(-t / large) - b * math.exp(-t / small)) / (a - b)

    low, high = 0.0, large * (4.0 - 2.0 * math.log(outside))
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if tail(middle) > outside else (low, middle)
    return high
