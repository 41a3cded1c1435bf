"""Buffered linear Toeplitz matrices: their noise takes a few buffers for any number of steps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._search import minimise
from renyi._training import MOST_BUFFERS, buffered_loss, buffered_nodes, solve_buffered
from renyi._validation import integer_of, real_of, set_fields, uses_of
from renyi.matrix._strategy import (
    PREFIX_SUMS,
    Loss,
    Sensitivity,
    Workload,
    loss_of,
    mean_form,
    of_toeplitz,
    workload_of,
)
from renyi.matrix._toeplitz import ToeplitzStrategy, query_weights
from renyi.mechanisms.participation import (
    ONCE,
    Overlaps,
    Participation,
    SinglePass,
    most_participations,
    participation_of,
    separation_of,
)

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, init=False)
class BLT(ToeplitzStrategy):
    """A buffered linear Toeplitz matrix: c_0 = 1, c_t = sum_i weights_i decays_i^(t-1).

    Its noise takes a buffer for each decay, for any number of steps.

    Args:
        steps: In [1, 10^9].
        decays: Each in [0, 1), at least one.
        weights: One finite number for each decay. If they are positive and their sum is at most 1,
            the coefficients decrease and the sensitivity is exact.

    Source: McMahan, Xu, Zhang 2024, arXiv 2408.08868; Dvijotham, McMahan, Pillutla, Steinke,
    Thakurta 2024, arXiv 2404.16706.

    >>> round(BLT.optimal(1000, 2, loss="max").loss("max"), 6)
    3.321262
    """

    steps: int
    decays: tuple[float, ...]
    weights: tuple[float, ...]
    _optimal_for: Participation | None = field(init=False, repr=False, compare=False, hash=False)
    streams = "buffers"

    def __init__(self, steps: int, decays: Iterable[float], weights: Iterable[float]) -> None:
        length = uses_of(steps, "steps", 1)
        theta = tuple(real_of(number, "decays", "numbers in [0, 1)") for number in decays)
        omega = tuple(real_of(number, "weights", "finite numbers") for number in weights)
        if not theta or not all(0.0 <= number < 1.0 for number in theta):
            raise ValueError(f"decays must be numbers in [0, 1), at least one, got {decays!r}")
        if len(omega) != len(theta) or not all(map(math.isfinite, omega)):
            raise ValueError(
                f"weights must be {len(theta)} finite numbers, as many as decays, got {weights!r}"
            )
        set_fields(self, steps=length, decays=theta, weights=omega, _optimal_for=None)

    @classmethod
    def optimal(
        cls,
        steps: int,
        buffers: int,
        *,
        loss: Loss = "mean",
        participation: Participation = ONCE,
        workload: Workload = PREFIX_SUMS,
    ) -> BLT:
        """Return the matrix of least loss.

        Args:
            steps: In [1, 10^9].
            buffers: In [1, 8]; 2 to 4 come close to the best of all Toeplitz matrices.
            loss ({"mean", "max"}): The loss, as for `Strategy.loss`.
            participation: The participation that the sensitivity is for; by default a single pass.
                A run of several epochs with coefficients for a single pass needs more noise, and
                warns.
            workload: The queries. With learning rates only the mean loss, of at most 8192 steps.
        """
        count = integer_of(buffers, "buffers", 1)
        if count > MOST_BUFFERS:
            raise ValueError(f"buffers must be an integer in [1, {MOST_BUFFERS}], got {buffers!r}")
        length = uses_of(steps, "steps", 1)
        fitted = cls(length, *fit_blt(length, count, loss, participation, workload))
        set_fields(fitted, _optimal_for=participation)
        return fitted

    def first_column(self) -> Vector:
        """Return the first column of C."""
        return self._column(self.weights)

    def _column(self, weights: Iterable[float]) -> Vector:
        c = np.zeros(self.steps)
        c[0] = 1.0
        power = np.empty(self.steps - 1)
        for decay, weight in zip(self.decays, weights, strict=True):
            power[:1] = weight
            power[1:] = decay
            c[1:] += np.cumprod(power)
        return c

    def _relative(self) -> float:
        # A power takes up to n products, and their sum m - 1 additions. Of positive weights.
        return (self.steps + 2.0 * len(self.decays)) * 2.0**-53

    def _overlaps(self, batches: int) -> Overlaps:
        if min(self.weights) < 0.0:
            raise ValueError(
                "strategy must have no negative weights where records are in random bins, got "
                f"{self.weights!r}"
            )
        return ToeplitzStrategy._overlaps(self, batches)

    def _sensitivity(self, participation: Participation) -> Sensitivity:
        relative = self._relative()
        column = self.first_column()
        if min(self.weights) >= 0.0:
            if math.fsum(self.weights) <= 1.0:  # in real arithmetic the coefficients decrease
                column = np.minimum.accumulate(column)
            return of_toeplitz(column, self.steps, participation, relative)
        # Where weights of both signs cancel, the error is relative to the sum of sizes.
        sizes = np.abs(column) + 2.0 * relative * self._column(map(abs, self.weights))
        found = of_toeplitz(sizes, self.steps, participation)
        return Sensitivity(found, isinstance(participation, SinglePass))

    def _solve(self, vector: Vector) -> Vector:
        solved = np.array(vector)
        solve_buffered(np.array(self.weights), np.array(self.decays), solved)
        return solved


_LARGEST = 30.0  # the largest parameter: beyond it nodes are equal in double precision


def fit_blt(
    steps: int, buffers: int, loss: Any, participation: Any, workload: Any
) -> tuple[Vector, Vector]:
    """Return decays and weights. A step of the search costs no more for more steps of training."""
    queries = workload_of(workload)
    scheme, mean = participation_of(participation), loss_of(loss) == "mean"
    most, separation = most_participations(scheme, steps), separation_of(scheme, steps)

    def logarithm(p: Vector) -> tuple[float, Vector]:
        gradient = np.empty_like(p)
        if np.abs(p).max() > _LARGEST:
            return math.inf, gradient
        return buffered_loss(p, steps, separation, most, mean, gradient), gradient

    found = [
        minimise(logarithm, start, title="buffers", steps=2000)
        for start in _starts(steps, separation, buffers)
    ]
    best = min(found, key=lambda pair: pair[1])[0]
    if queries != PREFIX_SUMS:
        best = _fit_others(best, steps, loss, scheme, queries)
    return buffered_nodes(best)


_APART = 1e-5  # distance of the two values that a slope is taken from


def _fit_others(
    start: Vector, steps: int, loss: Any, scheme: Participation, workload: Any
) -> Vector:
    """Return the parameters for other queries, by slopes from differences."""
    rated = workload.rates is not None
    form = mean_form(workload, steps, loss) if rated else np.empty(0)
    queries = np.eye(1, steps)[0] if rated else workload.kernel(steps)
    weights = query_weights(steps, loss_of(loss))

    def value(p: Vector) -> float:
        if np.abs(p).max() > _LARGEST:
            return math.inf
        strategy = BLT(steps, *buffered_nodes(p))
        b = strategy._solve(queries)
        error = float(b @ form @ b) if rated else float(weights @ b**2)
        return math.log(error) + 2.0 * math.log(strategy.sensitivity(scheme))

    def logarithm(p: Vector) -> tuple[float, Vector]:
        shifts = _APART * np.eye(len(p))
        return value(p), np.array([value(p + h) - value(p - h) for h in shifts]) / (2.0 * _APART)

    return minimise(logarithm, start, title="buffers", tolerance=1e-10)[0]


def _starts(steps: int, separation: int, buffers: int) -> list[Vector]:
    """Return nodes whose distances from 1 are geometric, from a few steps' worth to one half."""
    lowest = {min(scale / length, 0.25) for scale in (1.0, 3.0) for length in (steps, separation)}
    starts = []
    for low in sorted(lowest):
        ratio = (2.0 * low) ** (0.5 / buffers)
        starts.append(np.full(2 * buffers, math.log(ratio / (1.0 - ratio))))
    return starts
