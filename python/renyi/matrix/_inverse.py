"""Matrices with a banded inverse: the noise of a step uses the noise of a few earlier steps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from renyi._search import minimise
from renyi._training import solve_toeplitz
from renyi._validation import integer_of, real_of, set_fields, uses_of
from renyi.matrix._strategy import PREFIX_SUMS, Loss, Workload, loss_of, workload_of
from renyi.matrix._toeplitz import ToeplitzStrategy, root_coefficients
from renyi.mechanisms.participation import ONCE, Participation, participation_of

Vector = npt.NDArray[np.float64]

MOST_FITTED = 32  # the most bands: a step of the search takes two losses for each
FARTHEST, NEAR = 30.0, 1e-5  # the largest logit, and the distance for slopes


@dataclass(frozen=True, slots=True, init=False)
class BandedInverse(ToeplitzStrategy):
    """A Toeplitz matrix with nonnegative entries, given by the bands of its inverse.

    The noise of a step is z_t + sum_k coefficients_k z_(t-k), which takes ``bands - 1`` arrays. The
    matrix itself has no zero below its diagonal: it works with every participation but samples.

    Args:
        steps: In [1, 10^9].
        coefficients: The first column of the inverse: 1, then numbers in [-1, 0] of sum at least
            -1, at most ``steps`` in all.

    Source: Kalinin, McKenna, Upadhyay, Lampert 2025, arXiv 2505.12128 (banded inverse square root);
    arXiv 2601.22334 (two bands).

    >>> BandedInverse.root(1000, 4).coefficients
    (1.0, -0.5, -0.125, -0.0625)
    >>> round(BandedInverse.root(1000, 1000).loss("max"), 6)
    3.265003
    """

    steps: int
    coefficients: tuple[float, ...]
    streams = "bands"

    def __init__(self, steps: int, coefficients: Iterable[float]) -> None:
        length = uses_of(steps, "steps", 1)
        allowed = f"1 and then numbers in [-1, 0] of sum at least -1, at most {length} in all"
        d = tuple(real_of(number, "coefficients", allowed) for number in coefficients)
        past = d[1:]
        if (
            not 1 <= len(d) <= length
            or d[0] != 1.0
            or not all(-1.0 <= number <= 0.0 for number in past)
            or math.fsum(past) < -1.0
        ):
            raise ValueError(f"coefficients must be {allowed}, got {coefficients!r}")
        set_fields(self, steps=length, coefficients=d)

    @classmethod
    def root(cls, steps: int, bands: int) -> BandedInverse:
        """Return the inverse of the square root of the prefix sums, cut to bands: BISR.

        Args:
            steps, bands: Bands of the inverse, in [1, steps].
        """
        length, count = uses_of(steps, "steps", 1), integer_of(bands, "bands", 1)
        if count > length:
            raise ValueError(f"bands must be an integer in [1, {length}], got {bands!r}")
        root = root_coefficients(count)
        return cls(length, [1.0, *(-root[:-1] * 0.5 / np.arange(1, count)).tolist()])

    @classmethod
    def optimal(
        cls,
        steps: int,
        bands: int,
        *,
        loss: Loss = "mean",
        participation: Participation = ONCE,
        workload: Workload = PREFIX_SUMS,
    ) -> BandedInverse:
        """Return an inverse with ``bands`` bands and about the least loss, searched from `root`.

        With two bands every step subtracts a part of z of the step before (DP-lambda-CGD).

        Args:
            steps, bands: Bands of the inverse, in [1, min(steps, 32)].
            loss, participation, workload: As for `Strategy.loss`.

        >>> few = BandedInverse.optimal(1000, 4)
        >>> round(few.loss("mean"), 3), round(BandedInverse.root(1000, 4).loss("mean"), 3)
        (3.957, 9.004)
        """
        length, count = uses_of(steps, "steps", 1), integer_of(bands, "bands", 1)
        if count > min(length, MOST_FITTED):
            most = min(length, MOST_FITTED)
            raise ValueError(f"bands must be an integer in [1, {most}], got {bands!r}")
        kind, scheme = loss_of(loss), participation_of(participation)
        queries = workload_of(workload)

        def of(logits: Vector) -> BandedInverse:
            # Later bands are shares of 1, and a part of 1 is left.
            top = max(float(logits.max(initial=0.0)), 0.0)
            shares = np.exp(logits - top)
            shares *= (1.0 - 1e-12) / (shares.sum() + math.exp(-top))
            return cls(length, [1.0, *(-shares).tolist()])

        def cost(logits: Vector) -> float:
            return math.log(of(logits).loss(kind, scheme, queries))

        def slope(logits: Vector) -> tuple[float, Vector]:
            if np.abs(logits).max() > FARTHEST:
                return math.inf, logits
            moves = NEAR * np.eye(logits.size)
            slopes = [cost(logits + move) - cost(logits - move) for move in moves]
            return cost(logits), np.array(slopes) / (2.0 * NEAR)

        start = -np.array(cls.root(length, count).coefficients[1:])
        logits = np.log(start / (1.0 - start.sum()))
        if count > 1:
            logits = minimise(slope, logits, title="inverse bands", steps=100, tolerance=1e-7)[0]
        return of(logits)

    @property
    def inverse_bands(self) -> int:
        """Number of diagonals of the inverse that are not zero."""
        return len(self.coefficients)

    def first_column(self) -> Vector:
        """Return the first column of C."""
        column = np.zeros(self.steps)
        column[0] = 1.0
        solve_toeplitz(np.array(self.coefficients), column)
        return column

    def _relative(self) -> float:
        # An entry is a sum of `bands` products of earlier ones, none of them negative.
        return 2.0 * self.steps * len(self.coefficients) * 2.0**-53

    def _solve(self, vector: Vector) -> Vector:
        found: Vector = np.convolve(vector, self.coefficients)[: self.steps]
        return found
