"""Matrices whose inverse has bands: noise of a step from that of few steps before it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from renyi._training import solve_toeplitz
from renyi._validation import integer_of, real_of, uses_of
from renyi.matrix._strategy import PREFIX_SUMS, Loss, Workload, loss_of, workload_of
from renyi.matrix._toeplitz import ToeplitzStrategy, root_coefficients
from renyi.mechanisms.participation import ONCE, Participation, participation_of

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, init=False)
class BandedInverse(ToeplitzStrategy):
    """A Toeplitz matrix of entries that are not negative, by the bands of its inverse.

    The noise of a step is z_t + sum_k coefficients_k z_(t-k), which takes ``bands - 1`` arrays. The
    matrix itself has no zero below its diagonal: it goes with every participation but samples.

    Parameters
    ----------
    steps : int
        In [1, 10^9].
    coefficients : sequence of float
        The first column of the inverse: 1, then numbers in [-1, 0] of sum at least -1, at most
        ``steps`` in all.

    References
    ----------
    Kalinin, McKenna, Upadhyay, Lampert 2025, arXiv 2505.12128 (banded inverse square root);
    arXiv 2601.22334 (two bands: `geometric`).

    Examples
    --------
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
        object.__setattr__(self, "steps", length)
        object.__setattr__(self, "coefficients", d)

    @classmethod
    def root(cls, steps: int, bands: int) -> BandedInverse:
        """Return the inverse of the square root of the prefix sums, cut to bands: BISR.

        Parameters
        ----------
        steps, bands : int
            Bands of the inverse, in [1, steps].
        """
        length, count = uses_of(steps, "steps", 1), integer_of(bands, "bands", 1)
        if count > length:
            raise ValueError(f"bands must be an integer in [1, {length}], got {bands!r}")
        root = root_coefficients(count)
        return cls(length, [1.0, *(-root[:-1] * 0.5 / np.arange(1, count)).tolist()])

    @classmethod
    def geometric(
        cls,
        steps: int,
        *,
        loss: Loss = "mean",
        participation: Participation = ONCE,
        workload: Workload = PREFIX_SUMS,
    ) -> BandedInverse:
        """Return C with powers of one number and an inverse of two bands, of about the least loss.

        Every step takes back a part of z of the step before (DP-lambda-CGD). ``loss`` and
        ``workload`` are as of `Strategy.loss`, and ``participation`` what the sensitivity is of.
        """
        length = uses_of(steps, "steps", 1)
        kind, scheme, queries = (
            loss_of(loss),
            participation_of(participation),
            workload_of(workload),
        )

        def cost(exponent: float) -> float:
            return two(exponent).loss(kind, scheme, queries)

        def two(exponent: float) -> BandedInverse:
            return cls(length, [1.0, math.expm1(-exponent)][: min(length, 2)])

        candidates = np.geomspace(0.5 / length, 8.0, 40).tolist()
        best = min(range(40), key=lambda k: cost(candidates[k]))
        nearer = np.geomspace(candidates[max(best - 1, 0)], candidates[min(best + 1, 39)], 15)
        return two(min(nearer.tolist(), key=cost))

    @property
    def inverse_bands(self) -> int:
        """Diagonals of the inverse that are not zero."""
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
