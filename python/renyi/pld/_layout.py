"""The lattices of all parts: their first step, and its refinement until both sides agree."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from renyi.pld import _moments, _plan
from renyi.pld._cells import Atoms
from renyi.pld._distribution import Part
from renyi.pld._lattice import Lattice, LatticePair, discretise

__all__ = ["Goal", "Layout", "common_step", "first_layout", "refined"]

_COARSE = 2048
_HOPELESS = 2**15  # nodes after which convergence is judged
_LONG = 100  # uses after which a few frequencies may do, whatever the window
_WIDE_TAIL = 1e-305
_WIDEST_STEP = 100.0  # e^step must not overflow


@dataclass(frozen=True, slots=True)
class Goal:
    """What is wanted: delta at epsilon, to a relative width, with so many nodes at most."""

    epsilon: float
    rtol: float
    max_points: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Lattices of all parts at one step."""

    parts: list[Part]
    ranges: list[tuple[float, float]]
    anchors: list[float]
    step: float
    quantum: float | None  # steps must divide it, so that two atoms stay on nodes
    exact: bool
    pairs: list[LatticePair]
    final: bool = False  # a smaller step would not bring both sides together

    @property
    def counts(self) -> list[int]:
        return [count for _, count in self.parts]

    def with_step(self, step: float, ranges: list[tuple[float, float]]) -> Layout:
        if self.quantum:
            step = self.quantum / math.ceil(self.quantum / step - 1e-9)
        pairs = _discretised(self.parts, ranges, step, self.anchors)
        return replace(self, ranges=ranges, step=step, pairs=pairs)

    def coarsened(self, step: float) -> Layout:
        """Return lattices of this step or a larger one."""
        if not self.quantum:
            return self.with_step(step, self.ranges)
        parts = math.floor(self.quantum / step)
        if parts == 0:
            return replace(self, quantum=None).with_step(step, self.ranges)
        return self.with_step(self.quantum / parts, self.ranges)

    def cropped(self, ranges: list[tuple[float, float]]) -> Layout:
        """Return the same lattices on shorter ranges, if they are much shorter."""
        old = sum(high - low for low, high in self.ranges)
        new = sum(high - low for low, high in ranges)
        return self.with_step(self.step, ranges) if new < 0.6 * old else self


def first_layout(parts: list[Part], max_points: int) -> Layout:
    ranges, anchors, atoms = [], [], []
    for distribution, _ in parts:
        low, high = distribution.loss_range(_WIDE_TAIL)
        found = distribution.atoms()
        if len(found):
            low, high = min(low, float(found.loss.min())), max(high, float(found.loss.max()))
        if low > high:  # nothing finite
            low = high = 0.0
        heavy = found.where(np.argsort(-found.mass, kind="stable"))
        anchors.append(float(heavy.loss[0]) if len(heavy) else 0.0)
        ranges.append((low, high))
        atoms.append(heavy)
    exact = all(p.loss_range(_WIDE_TAIL)[0] == math.inf for p, _ in parts)
    widest = max(high - low for low, high in ranges)
    step = common_step(atoms) if exact and widest > 0.0 else None
    if exact and widest == 0.0:
        step = max(abs(anchors[0]), 1.0)
    if step is not None:
        empty = Layout(parts, ranges, anchors, step, None, True, [])
        return empty.with_step(step, ranges)
    paired = [abs(float(a.loss[0] - a.loss[1])) for a in atoms if len(a) > 1]
    step = min(widest / min(_COARSE, max_points // 2), _WIDEST_STEP)
    quantum = paired[0] if paired and paired[0] >= step else None
    if widest > step * (max_points - 8):
        raise ValueError(
            f"parts must be of losses within {_WIDEST_STEP * (max_points - 8):g} for so many "
            f"max_points, got a range of {widest:g}"
        )
    return Layout(parts, ranges, anchors, step, quantum, False, []).with_step(step, ranges)


def common_step(atoms: list[Atoms]) -> float | None:
    """Return the step of a lattice that holds all atoms of every part, if there is one.

    Euclid's algorithm on the differences of each part's losses, stopped at their rounding errors.
    """
    gaps = [np.abs(part.loss[1:] - part.loss[0]) for part in atoms if len(part) > 1]
    errors = [part.loss_error[1:] + part.loss_error[0] for part in atoms if len(part) > 1]
    if not gaps:
        return None
    differences, error = np.concatenate(gaps), np.concatenate(errors)
    widest = float(differences.max())
    tolerance = 1e-9 * widest
    differences, error = differences[differences > tolerance], error[differences > tolerance]
    if not differences.size:
        return None
    step = float(differences.min())
    while True:
        if widest > 2.0**16 * step:
            return None
        rest = np.abs(differences - np.rint(differences / step) * step)
        if float(rest.max()) <= tolerance:
            break
        step = float(rest[rest > tolerance].min())
    # The estimate from the widest difference over its multiple, then a strict check.
    step = widest / round(widest / step)
    rest = np.abs(differences - np.rint(differences / step) * step)
    return step if np.all(rest <= 4.0 * error + 2.0**-50 * differences) else None


def _discretised(
    parts: list[Part], ranges: list[tuple[float, float]], step: float, anchors: list[float]
) -> list[LatticePair]:
    """Discretise every part on its range with one step, nodes at the parts' anchors."""
    pairs = []
    for (distribution, _), (low, high), anchor in zip(parts, ranges, anchors, strict=True):
        first = math.floor((low - anchor) / step - 1e-9)
        last = max(math.ceil((high - anchor) / step + 1e-9), first + 1)
        pairs.append(discretise(distribution, Lattice(step, anchor, first, last)))
    return pairs


def refined(layout: Layout, goal: Goal) -> tuple[_plan.Choice, Layout]:
    """Reduce the step until both sides' log moment functions agree, or the cap is reached."""
    epsilon, rtol, max_points = goal.epsilon, goal.rtol, goal.max_points
    choice: _plan.Choice | None = None
    previous: tuple[float, float] | None = None
    while True:
        upper = _moments.laws(layout.pairs, layout.counts)
        lower = _moments.laws(layout.pairs, layout.counts, upper=False)
        if choice is None or max(law.logs.size for law in upper) < 2**16:
            choice = _plan.choose(upper, epsilon, rtol)
            if layout.exact:
                return choice, layout
        upper = _moments.with_bulk(upper, choice.limit)
        cut = _moments.truncated(upper, choice.log_tail)
        cut_low = [
            _moments.Law(low.logs[:n], low.losses[:n], low.count)
            for low, n in (
                (low, int(np.searchsorted(low.losses, up.losses[-1], "right")))
                for low, up in zip(lower, cut, strict=True)
            )
        ]
        cut_low = _moments.with_bulk(cut_low, choice.limit)
        slope = _plan.saddle(cut, epsilon, choice.slope)
        k_upper, k_lower = _moments.moments(cut, slope), _moments.moments(cut_low, slope)
        gap = k_upper.value - k_lower.value
        # The lower side's delta: what it allows to cut off may be cut off.
        log_delta = _plan.log_delta(cut, slope, epsilon) - max(gap, 0.0)
        choice = replace(choice, slope=slope, log_delta=log_delta)
        ranges = _trimmed(layout, choice, rtol)
        if gap <= 0.7 * rtol:
            return choice, layout.cropped(ranges)
        nodes = max(pair.lattice.size for pair in layout.pairs)
        order = 2.0
        if previous is not None and gap < previous[1] < 1.0:
            order = math.log(previous[1] / gap) / math.log(previous[0] / layout.step)
        elif previous is not None and nodes >= _HOPELESS and gap > 0.7 * previous[1]:
            # The pair itself is known no better.
            return choice, replace(layout.cropped(ranges), final=True)
        order = min(max(order, 0.8), 2.2)
        shrink = min(max((0.5 * rtol / gap) ** (1.0 / order), 1.0 / 64.0), 0.8)
        previous = (layout.step, gap)
        finest = max(high - low for low, high in ranges) / (max_points - 4)
        if (
            order < 1.4
            and nodes >= _HOPELESS
            and _steps_to_go(gap, rtol, order) > max_points / nodes
        ):
            # Point masses off the nodes hold the lower side back; no lattice will do.
            return choice, replace(layout.cropped(ranges), final=True)
        if gap < 1.0 and not (choice.limit == -math.inf and sum(layout.counts) >= _LONG):
            finest = max(finest, 2.0 * _half_width(math.sqrt(k_upper.variance), rtol) / max_points)
        step = max(layout.step * shrink, finest)
        if step > 0.95 * layout.step:
            return choice, layout.cropped(ranges)
        layout = layout.with_step(step, ranges)


def _steps_to_go(gap: float, rtol: float, order: float) -> float:
    """Return how much finer a step the width asked for needs at this order of convergence."""
    return math.exp(math.log(gap / rtol) / order)


def _half_width(spread: float, rtol: float) -> float:
    return spread * (math.sqrt(-2.0 * math.log(1e-6 * rtol)) + 1.0)


def _trimmed(layout: Layout, choice: _plan.Choice, rtol: float) -> list[tuple[float, float]]:
    """Cut losses that contribute less than about rtol/1000 to delta."""
    ranges, slope = [], choice.slope
    for pair, (low, high), (_, count) in zip(
        layout.pairs, layout.ranges, layout.parts, strict=True
    ):
        lattice, masses = pair.lattice, pair.upper
        losses = lattice.offset + lattice.step * np.arange(lattice.first, lattice.last + 1)
        limit = math.log(1e-3 * rtol / count)
        with np.errstate(divide="ignore", under="ignore"):
            above = np.log(np.cumsum(masses[::-1])[::-1])
            last = max(int(np.count_nonzero(above > limit + choice.log_delta)) - 1, 0)
            tops = np.log(masses[: last + 1]) + slope * losses[: last + 1]
            top = float(tops.max())
            total = top + math.log(float(np.exp(tops - top).sum()))
            below = np.log(np.cumsum(masses[: last + 1])) + slope * losses[: last + 1] - total
        first = int(np.searchsorted(below > limit, True))
        ranges.append(
            (
                max(low, float(losses[max(first - 1, 0)])),
                min(high, float(losses[min(last + 1, losses.size - 1)])),
            )
        )
    return ranges
