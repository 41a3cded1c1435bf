"""What was composed, and its privacy curves.

Gaussian and Poisson-sampled Gaussian steps are inverted from their transforms (`renyi._curve`);
everything else, samples where a record is replaced too, goes through lattices (`renyi._pair`). Both
certify brackets, and every answer is an end of one.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Literal

import numpy as np

from renyi._adjacency import Adjacency
from renyi._curve import AllocationQuestions, SampledGaussianCurve
from renyi._pair import LossComposition
from renyi.accountants._allocated import MOST_STEPS, epoch_by_law
from renyi.accountants._brackets import Array
from renyi.accountants._compiled_pairs import compiled_pair, is_mirrored
from renyi.accountants._direction import DirectionCurve
from renyi.accountants._samples import step_pair
from renyi.accountants._steps import SampledStep, allocated_epoch, epochs_of, settled
from renyi.mechanisms import Mechanism

__all__ = ["PrivacyCurves"]

PairName = Literal["remove", "add", "replace_one"]

ALLOCATED_RTOL = 1e-3
"""Of delta, where epochs of random allocation take part: both of their pairs are atoms, which are
about so far apart."""

LATTICE_POINTS = 2**20  # at most; bounds the memory and the time of a query


class PrivacyCurves:
    """A multiset of steps and losses under one adjacency, and its curves.

    ``remove`` is the direction everywhere. Additions come one at a time; the lock keeps queries
    from reading in the middle of one.
    """

    def __init__(self, adjacency: Adjacency, lock: AbstractContextManager[Any]) -> None:
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

    def direction(self, remove: bool, rtol: float) -> DirectionCurve:
        """Return the curve of one direction; ``rtol`` is the width that lattices aim at."""
        replaces = self._adjacency == "replace_one"
        with self._lock:
            sampled = self._curve.questions(self._pair(remove)) if self._only_steps else None
        if sampled is not None and not replaces:
            return DirectionCurve(sampled, None)
        if not replaces and (epoch := self._single_epoch()) is not None:
            law = cache(lambda: self._by_law(epoch, remove, rtol))
            return DirectionCurve(
                AllocationQuestions(*epoch, remove), law if epoch[1] <= MOST_STEPS else None
            )
        if self.has_epochs():
            rtol = max(rtol, ALLOCATED_RTOL)
        return DirectionCurve(sampled, cache(lambda: self._composition(remove, rtol)))

    def has_epochs(self) -> bool:
        """Return whether epochs of random allocation take part."""
        return any(epochs_of(part) for part, _ in self.contents()[1])

    def _single_epoch(self) -> tuple[float, float, float] | None:
        """Return noise, steps and sampling rate of one epoch of random allocation, if it is all."""
        steps, losses = self.contents()
        if steps or len(losses) != 1 or losses[0][1] != 1:
            return None
        return allocated_epoch(losses[0][0])

    def epsilons_after(
        self, others: PrivacyCurves, counts: Array, delta: float, remove: bool
    ) -> Array:
        """Return brackets of epsilon after each number of uses of what others hold.

        NaN where there is no shorter way than composing them.
        """
        if not (self._only_steps and others._only_steps and 0.0 < delta < 1.0):
            return np.full((2, counts.size), math.nan)
        out: Array = np.empty((2, counts.size))
        self._curve.epsilon_after_into(others._curve, counts, delta, self._pair(remove), out)
        return out

    def _pair(self, remove: bool) -> PairName:
        if self._adjacency == "replace_one":
            return "replace_one"
        return "remove" if remove else "add"

    def _by_law(
        self, epoch: tuple[float, float, float], remove: bool, rtol: float
    ) -> LossComposition:
        return LossComposition([(epoch_by_law(*epoch, remove), 1)], rtol, LATTICE_POINTS)

    def _composition(self, remove: bool, rtol: float) -> LossComposition:
        steps, losses = self.contents()
        parts = [(step_pair(step, self._adjacency, remove), count) for step, count in steps]
        parts += [(compiled_pair(part, self._adjacency, remove), count) for part, count in losses]
        return LossComposition(parts, rtol, LATTICE_POINTS)
