"""The buffered linear Toeplitz matrix of least loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._matrix import buffered_loss, buffered_nodes
from renyi.matrix._minimise import minimise
from renyi.matrix._strategy import loss_of
from renyi.matrix._workloads import PrefixSums
from renyi.mechanisms.participation import most_participations, participation_of, separation_of

__all__ = ["fit_blt"]

Vector = npt.NDArray[np.float64]

_LARGEST = 30.0  # of a parameter: beyond, the nodes are equal in double precision


def fit_blt(
    steps: int, buffers: int, loss: Any, participation: Any, workload: Any
) -> tuple[Vector, Vector]:
    """Return decays and weights. A step of the search costs no more for more steps of training."""
    if not isinstance(workload, PrefixSums):
        raise ValueError(f"workload must be PrefixSums() for BLT to be optimised, got {workload!r}")
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
    return buffered_nodes(min(found, key=lambda pair: pair[1])[0])


def _starts(steps: int, separation: int, buffers: int) -> list[Vector]:
    """Return nodes whose distances from 1 are geometric, from a few steps' worth to one half."""
    lowest = {min(scale / length, 0.25) for scale in (1.0, 3.0) for length in (steps, separation)}
    starts = []
    for low in sorted(lowest):
        ratio = (2.0 * low) ** (0.5 / buffers)
        starts.append(np.full(2 * buffers, math.log(ratio / (1.0 - ratio))))
    return starts
