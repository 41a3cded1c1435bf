"""Memory for some records in which each lies as any other would.

What a library's product of a record's matrices is, to the last bit, may depend on where they begin
relative to a line of the cache, and on their strides. Here neither depends on the batch: so a
record's gradient does not, and neighbouring batches have the same rows but for one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Aligned"]

_LINE = 64  # bytes

Array = npt.NDArray[Any]


class Aligned:
    """Arrays that are used again: new memory costs as much as what is done with it."""

    def __init__(self) -> None:
        self._memory: dict[str, npt.NDArray[np.uint8]] = {}

    def empty(self, use: str, count: int, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return (count, *shape) in which each record is contiguous and begins on a line.

        It is valid until the next array of the same use.
        """
        kind = np.dtype(dtype)
        size = math.prod(shape)
        pitch = -(-size * kind.itemsize // _LINE) * _LINE
        memory = self._memory.get(use)
        if memory is None or len(memory) < count * pitch + _LINE:
            memory = self._memory[use] = np.empty(count * pitch + _LINE, np.uint8)
        first = -memory.ctypes.data % _LINE
        lines = memory[first : first + count * pitch].view(kind).reshape(count, -1 if count else 0)
        found: Array = lines[:, :size].reshape(count, *shape)
        return found

    def copy(self, use: str, records: Array, dtype: Any) -> Array:
        """Return a copy of records."""
        copy = self.empty(use, len(records), records.shape[1:], dtype)
        np.copyto(copy, records, casting="same_kind")
        return copy

    def products(self, use: str, left: Array, right: Array) -> Array:
        """Return the product of each record's matrices."""
        shape = (*left.shape[1:-1], right.shape[-1])
        return np.matmul(left, right, out=self.empty(use, len(left), shape, left.dtype))
