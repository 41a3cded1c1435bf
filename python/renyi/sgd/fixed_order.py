"""Epochs in one order: every record in the same batch of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from renyi._validation import count_of, integer_of
from renyi.matrix import BandedToeplitz, FixedEpochs
from renyi.mechanisms import Gaussian, MatrixMechanism, Mechanism
from renyi.sgd.samplers import BatchSampler, Indices

__all__ = ["FixedOrderSampler"]


class FixedOrderSampler(BatchSampler):
    """The records as they come, cut into equal batches, and the same ones in every epoch.

    Nothing is random, so that nothing is hidden: this is for correlated noise, and for streams.
    Steps of a record are ``batches`` apart. The sizes of batches differ by at most one.

    Parameters
    ----------
    population : int
        Number of records, at least 1.
    batches : int
        Batches to an epoch, in [1, population].
    steps : int, optional
        Number of batches to iterate over; without end by default.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> [batch.tolist() for batch in FixedOrderSampler(5, 2, steps=3)]
    [[0, 1], [2, 3, 4], [0, 1]]
    """

    def __init__(self, population: int, batches: int, *, steps: int | None = None) -> None:
        super().__init__(population, steps, None)
        self.batches = integer_of(batches, "batches", 1)
        if self.batches > self.population:
            raise ValueError(
                f"batches must be an integer in [1, {self.population}], the population, "
                f"got {batches!r}"
            )

    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return the `MatrixMechanism` of ``steps`` releases with independent Gaussian noise."""
        if not isinstance(base, Gaussian):
            raise TypeError(f"base must be a Gaussian for batches in fixed order, got {base!r}")
        length = max(count_of(steps, "steps"), 1)
        independent = BandedToeplitz(length, [1.0])
        return MatrixMechanism(independent, base.noise_multiplier, FixedEpochs(self.batches))

    def _draw(self) -> Indices:
        batch = (self._drawn - 1) % self.batches
        first, last = (k * self.population // self.batches for k in (batch, batch + 1))
        return np.arange(first, last)

    def _settings(self) -> dict[str, Any]:
        return {"kind": "fixed order", "population": self.population, "batches": self.batches}
