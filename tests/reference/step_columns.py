"""Compositions as columns of a table: the steps of row i are entries first[i] to first[i+1]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Steps = list[tuple[float, float, int]]  # sampling rate, noise multiplier, count


def columns_of(compositions: Sequence[Steps]) -> dict[str, npt.NDArray[Any]]:
    """Return the columns."""
    steps = [step for composition in compositions for step in composition]
    return {
        "first": np.cumsum([0, *map(len, compositions)]),
        "q": np.array([q for q, _, _ in steps]),
        "sigma": np.array([sigma for _, sigma, _ in steps]),
        "count": np.array([count for _, _, count in steps]),
    }


def compositions_of(table: Mapping[str, npt.NDArray[Any]]) -> list[Steps]:
    """Return the compositions."""
    first, columns = table["first"].tolist(), (table["q"], table["sigma"], table["count"])
    steps = list(zip(*(column.tolist() for column in columns), strict=True))
    return [steps[start:end] for start, end in pairwise(first)]
