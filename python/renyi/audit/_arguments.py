"""What audits take: scores and levels of confidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._validation import Range, number_in

__all__ = ["Scores", "failing_of", "scores_of"]

Scores = npt.NDArray[np.float64]


def scores_of(values: Any, name: str) -> Scores:
    """Return at least four scores."""
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or scores.size < 4 or np.isnan(scores).any():
        raise ValueError(
            f"{name} must be a one-dimensional array of at least 4 numbers, got {values!r}"
        )
    return scores


def failing_of(confidence: Any) -> float:
    """Return the probability, rounded down, with which a bound may be wrong."""
    number = number_in(confidence, "confidence", Range(0.0, 1.0, "()"))
    return (1.0 - number) * (1.0 - 2.0**-52)  # two roundings
