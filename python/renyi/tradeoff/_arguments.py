"""Checked arguments and plain results."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["SLACK", "Floats", "plain", "within"]

Floats = npt.NDArray[np.float64]

SLACK = 2.0**-49  # 16 units: more than the roundings of any formula here


def within(values: npt.ArrayLike, name: str, low: float, high: float) -> Floats:
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be a number in [{low:g}, {high:g}], got {values!r}")
    array = array.astype(np.float64)
    wrong = ~((array >= low) & (array <= high))
    if wrong.any():
        first = float(array[wrong].flat[0])
        raise ValueError(f"{name} must be a number in [{low:g}, {high:g}], got {first!r}")
    return array


def plain(values: Any) -> Any:
    """Return a float for a zero-dimensional result."""
    array = np.asarray(values)
    return float(array) if array.ndim == 0 else array
