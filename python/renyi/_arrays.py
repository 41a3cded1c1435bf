"""Arrays for sums and noise, arrays with a row for each sample, their memory and threads."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from sys import modules
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._training import NOISE_RANGE
from renyi._validation import check_array, integer_of, real_of

# Arrays that noise is written to: checks, and their memory as one contiguous line.


def float_dtype(value: npt.DTypeLike) -> np.dtype[Any]:
    """Return float32 or float64."""
    try:
        kind = np.dtype(value)
    except (TypeError, ValueError):
        raise TypeError(f"dtype must be float32 or float64, got {value!r}") from None
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"dtype must be float32 or float64, got {kind}")
    return kind


def noisy_array(array: Any, name: str, dtypes: tuple[Any, ...]) -> None:
    """Raise unless noise can be added to the array in place, element by element."""
    if not isinstance(array, np.ndarray) or array.dtype not in dtypes:
        names = " or ".join(np.dtype(dtype).name for dtype in dtypes)
        found = f"one of {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise TypeError(f"{name} must be an array of {names}, got {found}")
    check_writeable(array, name)


def check_writeable(array: npt.NDArray[Any], name: str) -> None:
    """Raise `ValueError` unless each element of the array can be written by itself."""
    if not array.flags.writeable:
        raise ValueError(f"{name} must be writeable, got a read-only array")
    repeats = (s == 0 < n - 1 for s, n in zip(array.strides, array.shape, strict=True))
    if array.size and any(repeats):
        raise ValueError(f"{name} must have an element for every index, got a broadcast view")


def in_memory_order(array: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Return an array without gaps as one contiguous line of its memory; None for other arrays."""
    line = array.ravel(order="K")
    same = line.size == 0 or np.may_share_memory(line, array)
    return line if same and line.flags.c_contiguous and line.flags.aligned else None


def zeros(shape: Any, dtype: npt.DTypeLike, out: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    """Return ``out``, checked, or a new array: all zeros."""
    kind = float_dtype(dtype)
    if out is None:
        return np.zeros(shape, kind)
    output_of(out, "out", tuple(shape) if isinstance(shape, tuple | list) else (shape,), kind)
    out[...] = 0
    return out


def noise_scale(scale: float, dtype: np.dtype[Any]) -> float:
    """Return a scale of noise: 0, or a scale whose lattice numbers of ``dtype`` can hold."""
    least, most = NOISE_RANGE[dtype]
    allowed = f"0 or a number in [{least:.3g}, {most:.3g}]"
    number = real_of(scale, "scale", allowed)
    if number != 0.0 and not least <= number <= most:
        raise ValueError(f"scale must be {allowed}, got {scale!r}")
    return abs(number)


# Arrays with a row for each sample, and the sums over their rows: checks, no copies.


Array = npt.NDArray[Any]
Arrays = Array | list[Array]
_TAKEN = "an array of NumPy, or one on the CPU with __array__ or __dlpack__"
_LIST = "one array, or a list with one array (B, ...) for each parameter"
_REMEDY = "stack per-sample gradients to one array"


# NumPy has no bfloat16: this type stands for its bits, from any library.
BFLOAT16 = np.dtype([("bfloat16", np.uint16)], align=True)
_PLAIN = frozenset(map(np.dtype, (np.float16, np.float32, np.float64)))  # native
_KINDS = (*_PLAIN, BFLOAT16)


@dataclass(frozen=True)
class Rows:
    """Arrays whose first axis counts the samples; ``single`` if they were not given as a list."""

    arrays: list[Array]
    single: bool

    @property
    def count(self) -> int:
        """The number of samples."""
        return int(self.arrays[0].shape[0])

    @property
    def nbytes(self) -> int:
        """The size of all samples in bytes."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of a row in each array."""
        return [array.shape[1:] for array in self.arrays]

    def like_given(self, arrays: list[Array]) -> Arrays:
        """Return one array where one was given, else the list."""
        return arrays[0] if self.single else arrays


def rows_of(
    grads: Any, name: str = "grads", *, scalars: bool = False, bfloat16: bool = False
) -> Rows:
    """Return an array, or a list or tuple of them, as views.

    Arrays are NumPy's, or objects on the CPU that show their memory by ``__array__`` or
    ``__dlpack__``, as those of JAX and PyTorch do; they may be read-only. Several one-dimensional
    arrays are refused, since they look like one gradient for each sample, unless the caller knows
    that the parameters are ``scalars``. Arrays of bfloat16 become `BFLOAT16` if the caller takes
    ``bfloat16``, else float32.
    """
    single = not isinstance(grads, list | tuple)
    given = [grads] if single else list(grads)
    if not given:
        raise ValueError(f"{name} must be an array or a list of at least one, got an empty list")
    if not single:
        _refuse_elements(given, name)
    arrays = [_array_of(value, name if single else f"{name}[{k}]") for k, value in enumerate(given)]
    if not bfloat16:
        arrays = [in_single(array) if array.dtype == BFLOAT16 else array for array in arrays]
    if len(arrays) > 1 and not scalars and all(array.ndim == 1 for array in arrays):
        raise ValueError(
            f"{name} must be {_LIST}, got a list of {len(arrays)} one-dimensional arrays: {_REMEDY}"
        )
    for k, array in enumerate(arrays):
        if array.shape[0] != arrays[0].shape[0]:
            raise ValueError(
                f"{name}[{k}] must have as many rows as {name}[0], {arrays[0].shape[0]}, "
                f"got {array.shape[0]}"
            )
    return Rows(arrays, single)


def without_padding(grads: Any, mask: Any, name: str) -> Arrays:
    """Return the rows where a mask is True: views if they come first, else copies."""
    rows = rows_of(grads, name, scalars=True, bfloat16=True)
    given = np.asarray(mask)
    if given.dtype != np.bool_ or given.shape != (rows.count,):
        raise ValueError(
            f"mask must be {rows.count} of True and False, a row each, got {outline(given)}"
        )
    count = int(np.count_nonzero(given))
    some = slice(count) if given[:count].all() else given
    return rows.like_given([array[some] for array in rows.arrays])


def outline(value: Any) -> str:
    """Return a description of an array of records for messages, without its numbers."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    return type(value).__name__ if dtype is None else f"{shape} {dtype}"


def _refuse_elements(given: list[Any], name: str) -> None:
    """Raise `TypeError` if a list holds other objects than arrays, such as lists of numbers."""
    for k, value in enumerate(given):
        if not any(hasattr(value, sign) for sign in ("dtype", "__array__", "__dlpack__")):
            raise TypeError(
                f"{name}[{k}] must be {_TAKEN}, got {type(value).__name__}: {name} is {_LIST}, "
                f"so {_REMEDY}"
            )


def in_single(array: Array) -> Array:
    """Return numbers in float32, which holds those of float16 and `BFLOAT16` exactly."""
    if array.dtype != BFLOAT16:
        return array.astype(np.float32)
    wide = array.view(np.uint16).astype(np.uint32) << np.uint32(16)
    return wide.view(np.float32)


def _viewed(value: Any, name: str) -> Array:
    check_array(value, name)
    if str(getattr(value, "dtype", None)) == "torch.bfloat16":  # PyTorch makes no NumPy array of it
        return np.asarray(value.detach().view(modules["torch"].int16)).view(BFLOAT16)
    if hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError) as error:
        raise TypeError(f"{name} must be {_TAKEN}, got {type(value).__name__}: {error}") from error


def _array_of(value: Any, name: str) -> Array:
    if type(value) is np.ndarray and value.dtype in _PLAIN and value.ndim:
        return value  # the usual case; the checks below take some microseconds
    array = _viewed(value, name)
    if array.dtype.name == "bfloat16":  # of the package ml_dtypes, which JAX uses
        array = array.view(BFLOAT16)
    if array.dtype not in _KINDS or not array.dtype.isnative:
        raise TypeError(
            f"{name} must be an array of float16, bfloat16, float32 or float64, "
            f"got one of {array.dtype}"
        )
    if array.ndim == 0:
        raise ValueError(f"{name} must have a row for each sample, got an array of no dimension")
    return array


def sum_dtype(dtype: npt.DTypeLike | None, out: Any) -> np.dtype[Any]:
    """Return float32 or float64: by default the dtype of the output, or float64 without one."""
    if dtype is None:
        first = out[0] if isinstance(out, list | tuple) and out else out
        return float_dtype(getattr(first, "dtype", np.float64))
    return float_dtype(dtype)


def output_of(out: Any, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return an array that a result of this shape and dtype may be written to."""
    noisy_array(out, name, (dtype,))
    if out.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, got {out.shape}")
    found: Array = out
    return found


def sums_for(rows: Rows, dtype: np.dtype[Any], out: Any) -> list[Array]:
    """Return arrays for the sums: new ones, or the given arrays, checked."""
    if out is None:
        return [np.empty(shape, dtype) for shape in rows.shapes]
    given: Sequence[Any] = [out] if rows.single else out
    if not rows.single and (not isinstance(out, list | tuple) or len(out) != len(rows.arrays)):
        raise ValueError(
            f"out must be a list of {len(rows.arrays)} arrays, got {type(out).__name__}"
        )
    sums: list[Array] = []
    for k, (array, shape) in enumerate(zip(given, rows.shapes, strict=True)):
        name = "out" if rows.single else f"out[{k}]"
        checked = output_of(array, name, shape, dtype)
        if any(np.may_share_memory(checked, other) for other in [*rows.arrays, *sums]):
            raise ValueError(f"{name} must not overlap the gradients or another output")
        sums.append(checked)
    return sums


def contiguous(sums: list[Array]) -> list[Array]:
    """Return the arrays that a kernel can write to, with new ones in place of the others."""
    return [
        array
        if array.flags.c_contiguous and array.flags.aligned
        else np.empty(array.shape, array.dtype)
        for array in sums
    ]


def copy_back(targets: list[Array], sums: list[Array]) -> None:
    """Copy the sums of replacement arrays to the arrays they stand for."""
    for target, array in zip(targets, sums, strict=True):
        if target is not array:
            array[...] = target


# Memory for records in which every record has the same alignment and strides.
#
# The last bits of a library's product of a record's matrices may depend on where the matrices begin
# relative to a cache line, and on their strides. Here neither depends on the batch. A record's
# gradient therefore does not, and neighbouring batches have the same rows except one.


_LINE = 64  # bytes


class Aligned:
    """Arrays that are used again: new memory costs as much time as the work on it."""

    def __init__(self) -> None:
        self._memory: dict[str, npt.NDArray[np.uint8]] = {}

    def empty(self, use: str, count: int, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an array (count, *shape); each record is contiguous and begins on a cache line.

        The array is valid until the next array of the same use.
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


_WORTH_THREADS = 8 << 20


def threads_of(value: Any, bytes_read: int | None = None) -> int:
    """Return the number of threads: an integer >= 1, or by default all processors.

    By default one thread reads little data: others would start too late.
    """
    if value is not None:
        return min(integer_of(value, "threads", 1), 1 << 16)
    if bytes_read is not None and bytes_read < _WORTH_THREADS:
        return 1
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
