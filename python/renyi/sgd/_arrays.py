"""Arrays that noise is written to: checks, and their memory as one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._noise import NOISE_RANGE
from renyi._validation import real_of

__all__ = [
    "check_writeable",
    "float_dtype",
    "in_memory_order",
    "noise_scale",
    "noisy_array",
    "zeros",
]


def float_dtype(value: npt.DTypeLike) -> np.dtype[Any]:
    """Return float32 or float64."""
    kind = np.dtype(value)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"dtype must be float32 or float64, got {kind}")
    return kind


def noisy_array(array: Any, name: str, dtypes: tuple[Any, ...]) -> None:
    """Refuse what noise cannot be added to in place, element by element."""
    if not isinstance(array, np.ndarray) or array.dtype not in dtypes:
        names = " or ".join(np.dtype(dtype).name for dtype in dtypes)
        found = f"one of {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise TypeError(f"{name} must be an array of {names}, got {found}")
    check_writeable(array, name)


def check_writeable(array: npt.NDArray[Any], name: str) -> None:
    """Refuse an array whose elements cannot be written one by one."""
    if not array.flags.writeable:
        raise ValueError(f"{name} must be writeable, got a read-only array")
    repeats = (s == 0 < n - 1 for s, n in zip(array.strides, array.shape, strict=True))
    if array.size and any(repeats):
        raise ValueError(f"{name} must have an element for every index, got a broadcast view")


def in_memory_order(array: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Return an array without gaps as one contiguous line of the same memory, others as None."""
    line = array.ravel(order="K")
    same = line.size == 0 or np.may_share_memory(line, array)
    return line if same and line.flags.c_contiguous and line.flags.aligned else None


def zeros(shape: Any, dtype: npt.DTypeLike, out: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    """Return ``out``, checked, or a new array: all zeros."""
    kind = float_dtype(dtype)
    if out is None:
        return np.zeros(shape, kind)
    noisy_array(out, "out", (kind,))
    wanted = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if out.shape != wanted:
        raise ValueError(f"out must have the shape {wanted}, got {out.shape}")
    out[...] = 0
    return out


def noise_scale(scale: float, dtype: np.dtype[Any]) -> float:
    """Return a scale of noise: 0, or such that numbers of ``dtype`` hold the lattice it gives."""
    least, most = NOISE_RANGE[dtype]
    allowed = f"0 or a number in [{least:.3g}, {most:.3g}]"
    number = real_of(scale, "scale", allowed)
    if number != 0.0 and not least <= number <= most:
        raise ValueError(f"scale must be {allowed}, got {scale!r}")
    return abs(number)
