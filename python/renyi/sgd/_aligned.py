"""Copies of some records in which each lies in memory as any other would.

What a library's product of a record's matrices is, to the last bit, may depend on where they begin
relative to a line of the cache, and on their strides. Here neither depends on the batch: so a
record's gradient does not, and neighbouring batches have the same rows but for one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["aligned_copy", "aligned_empty"]

_LINE = 64  # bytes

Array = npt.NDArray[Any]


def aligned_empty(count: int, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """Return (count, *shape) in which each record is contiguous and begins on a line."""
    kind = np.dtype(dtype)
    per_line = _LINE // kind.itemsize
    pitch = -(-math.prod(shape) // per_line) * per_line
    memory = np.empty(count * pitch * kind.itemsize + _LINE, np.uint8)
    first = -memory.ctypes.data % _LINE
    flat = memory[first : first + count * pitch * kind.itemsize].view(kind)
    return flat.reshape(count, pitch)[:, : math.prod(shape)].reshape(count, *shape)


def aligned_copy(records: Array, dtype: npt.DTypeLike) -> Array:
    """Return a copy of records."""
    copy = aligned_empty(len(records), records.shape[1:], dtype)
    np.copyto(copy, records, casting="same_kind")
    return copy
