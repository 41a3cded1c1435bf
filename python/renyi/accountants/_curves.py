"""The privacy curves of what was composed, one direction at a time.

Gaussian and Poisson-sampled Gaussian steps are inverted from their transforms (`renyi._curve`);
everything else, samples where a record is replaced too, goes through lattices (`renyi.pld`). Both
certify brackets, and every answer is an end of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Literal

import numpy as np
import numpy.typing as npt

from renyi import pld
from renyi._curve import SampledGaussianCurve
from renyi.accountants._base import Adjacency
from renyi.accountants._losses import is_mirrored, loss_of
from renyi.accountants._pairs import replace_one_loss_of, step_loss
from renyi.accountants._steps import SampledStep, settled
from renyi.mechanisms import Mechanism

__all__ = ["Array", "Bracket", "PrivacyCurves"]

Array = npt.NDArray[np.float64]
Bracket = tuple[float, float]
PairName = Literal["remove", "add", "replace_one"]
Lattice = Callable[[], pld.Composition]

LOSSES_RTOL = 1e-5  # of a single number that only lattices can give
LARGEST_NOISE = 1e6  # of a sampled Gaussian on a lattice
LATTICE_POINTS = 2**20  # at most; bounds the memory and the time of a query


class PrivacyCurves:
    """A multiset of steps and losses under one adjacency, and its curves.

    ``remove`` is the direction everywhere. Additions come one at a time; the lock keeps queries
    from reading in the middle of one.
    """

    def __init__(self, adjacency: Adjacency, lock: Lock) -> None:
        self._adjacency = adjacency
        self._lock = lock
        self._curve = SampledGaussianCurve()
        self._steps: dict[SampledStep, int] = {}
        self._losses: dict[Mechanism, int] = {}
        self._only_steps = True  # the compiled curve holds everything

    def add_step(self, step: SampledStep, count: int) -> None:
        """Add ``count`` uses of a step."""
        key = settled(step)
        if key is None:
            return
        self._steps[key] = self._steps.get(key, 0) + count
        if key.noise == 0.0:
            self._only_steps = False
        else:  # replaced records are two units apart: samples have pairs of their own for that
            halved = self._adjacency == "replace_one" and key.rate == 1.0
            self._curve.add(key.rate, 0.5 * key.noise if halved else key.noise, float(count))

    def add_loss(self, mechanism: Mechanism, count: int) -> None:
        """Add ``count`` uses of a mechanism that is not made of Gaussian steps."""
        self._losses[mechanism] = self._losses.get(mechanism, 0) + count
        self._only_steps = False

    def contents(self) -> tuple[list[tuple[SampledStep, int]], list[tuple[Mechanism, int]]]:
        """Return the steps and the losses with their counts."""
        with self._lock:
            return list(self._steps.items()), list(self._losses.items())

    def is_mirrored(self) -> bool:
        """Return whether the curves of both directions are known to be the same."""
        steps, losses = self.contents()
        # The pairs of steps are symmetric but for samples of a record that is there or not.
        return (
            self._adjacency == "replace_one" or all(step.rate == 1.0 for step, _ in steps)
        ) and all(is_mirrored(part, self._adjacency) for part, _ in losses)

    def is_enough(self, epsilon: float, delta: float, remove: bool) -> bool:
        """Return whether (epsilon, delta) certainly holds, as far as a quick bound can tell."""
        return (
            self._only_steps
            and epsilon > 0.0
            and self._curve.rough_delta(epsilon, self._pair(remove)) <= delta
        )

    def epsilons(self, deltas: Array, remove: bool, known: Array) -> Array:
        """Return epsilon rounded up, perhaps negative, at every delta.

        Where ``known`` is certainly enough, any smaller number may be returned.
        """
        if deltas.size == 1 and self.is_enough(float(known[0]), float(deltas[0]), remove):
            return np.zeros(1)
        if self._only_steps:
            result: Array = self._step_epsilons(deltas, remove)[1]
            return result
        lattice = self._lattice(remove, LOSSES_RTOL)
        return np.array([self._epsilon_bracket(float(delta), lattice)[1] for delta in deltas])

    def deltas(self, epsilons: Array, remove: bool, known: Array | None = None) -> Array:
        """Return delta rounded up at every epsilon; ``known`` as for `epsilons`."""
        if (
            known is not None
            and epsilons.size == 1
            and self.is_enough(float(epsilons[0]), float(known[0]), remove)
        ):
            return np.zeros(1)
        if self._only_steps:
            result: Array = self._step_deltas(epsilons, remove)[1]
            return result
        lattice = self._lattice(remove, LOSSES_RTOL)
        return np.array([self._delta_bracket(float(epsilon), lattice)[1] for epsilon in epsilons])

    def epsilons_after(
        self, others: PrivacyCurves, counts: Array, delta: float, remove: bool
    ) -> Array:
        """Return epsilon after each number of uses of what others hold; NaN: not this way."""
        if not (self._only_steps and others._only_steps and 0.0 < delta < 1.0):
            return np.full(counts.shape, math.nan)
        out: Array = np.empty((2, counts.size))
        self._curve.epsilon_after_into(others._curve, counts, delta, self._pair(remove), out)
        upper: Array = out[1]
        return upper

    def epsilon_bracket(self, delta: float, remove: bool, rtol: float) -> Bracket:
        """Return certified bounds of epsilon."""
        if self._only_steps:
            low, high = self._step_epsilons(np.array([delta]), remove)[:, 0]
            return float(low), float(high)
        return self._epsilon_bracket(delta, self._lattice(remove, rtol))

    def delta_bracket(self, epsilon: float, remove: bool, rtol: float) -> Bracket:
        """Return certified bounds of delta."""
        if self._only_steps:
            low, high = self._step_deltas(np.array([epsilon]), remove)[:, 0]
            return float(low), float(high)
        return self._delta_bracket(epsilon, self._lattice(remove, rtol))

    def _step_epsilons(self, deltas: Array, remove: bool) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        if not self._steps:
            return np.zeros((2, deltas.size))
        if all(0.0 < delta < 1.0 for delta in deltas.tolist()):
            result = _answer(self._curve.epsilon_into, deltas, self._pair(remove))
        else:
            result = np.zeros((2, deltas.size))
            inside = (deltas > 0.0) & (deltas < 1.0)
            result[:, inside] = _answer(
                self._curve.epsilon_into, deltas[inside], self._pair(remove)
            )
            result[:, deltas == 0.0] = math.inf if remove else self._largest_loss()
        if self._adjacency == "replace_one":
            self._narrow_by_lattice(result, deltas, self._epsilon_bracket)
        return result

    def _step_deltas(self, epsilons: Array, remove: bool) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        result = np.zeros((2, epsilons.size))
        finite = epsilons < math.inf
        result[:, finite] = _answer(self._curve.delta_into, epsilons[finite], self._pair(remove))
        if self._adjacency == "replace_one":
            self._narrow_by_lattice(result, epsilons, self._delta_bracket)
        return result

    def _narrow_by_lattice(
        self, brackets: Array, values: Array, bracket: Callable[[float, Lattice], Bracket]
    ) -> None:
        """Intersect wide brackets with those of lattices."""
        lattice = self._lattice(True, LOSSES_RTOL)
        for i in np.flatnonzero(~(brackets[1] - brackets[0] <= LOSSES_RTOL * np.abs(brackets[1]))):
            if brackets[0, i] < brackets[1, i]:
                low, high = bracket(float(values[i]), lattice)
                brackets[:, i] = max(brackets[0, i], low), min(brackets[1, i], high)

    def _pair(self, remove: bool) -> PairName:
        if self._adjacency == "replace_one":
            return "replace_one"
        return "remove" if remove else "add"

    def _epsilon_bracket(self, delta: float, lattice: Lattice) -> Bracket:
        if delta == 1.0:
            return 0.0, 0.0
        low, high = lattice().epsilon_bounds(delta)
        low = -math.inf if self._reduces_noise() else low
        # Next to no loss at all: delta at 0 may tell that none is needed.
        if low <= 0.0 < min(high, delta):
            high = 0.0 if self._delta_bracket(0.0, lattice)[1] <= delta else high
        return low, high

    def _delta_bracket(self, epsilon: float, lattice: Lattice) -> Bracket:
        low, high = lattice().delta_bounds(epsilon)
        return max(0.0 if self._reduces_noise() else low, 0.0), min(high, 1.0)

    def _largest_loss(self) -> float:
        """Return the sum of the largest losses where a record is added, rounded up."""
        steps, _ = self.contents()
        if any(step.rate == 1.0 for step, _ in steps):
            return math.inf
        total = -math.fsum(count * math.log1p(-step.rate) for step, count in steps)
        return math.nextafter(total * (1.0 + 2.0**-50), math.inf)

    def _reduces_noise(self) -> bool:
        """Whether lattices account for less noise than there is, and bound from above only."""
        return any(LARGEST_NOISE < step.noise < math.inf for step, _ in self.contents()[0])

    def _lattice(self, remove: bool, rtol: float) -> Lattice:
        """Return a function that returns the composition for the lattices, made once."""
        return cache(lambda: self._composition(remove, rtol))

    def _composition(self, remove: bool, rtol: float) -> pld.Composition:
        steps, losses = self.contents()
        parts = [(self._loss_of(step, remove), count) for step, count in steps]
        parts += [(loss_of(part, self._adjacency, remove), count) for part, count in losses]
        return pld.Composition(parts, rtol=rtol, max_points=LATTICE_POINTS)

    def _loss_of(self, step: SampledStep, remove: bool) -> pld.PrivacyLossDistribution:
        noise = min(step.noise, LARGEST_NOISE)
        if self._adjacency == "replace_one":
            return replace_one_loss_of(step.rate, noise)
        return step_loss(step.rate, noise, remove)


def _answer(
    query: Callable[[Array, PairName, Array], None], values: Array, pair: PairName
) -> Array:
    """Return the brackets of the values, asked for in ascending order: neighbours share work."""
    order = np.argsort(values, kind="stable") if values.size > 1 else slice(None)
    out: Array = np.empty((2, values.size))
    query(values[order], pair, out)
    result: Array = np.empty(out.shape)
    result[:, order] = out
    return result
