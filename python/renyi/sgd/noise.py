"""Noise: Gaussian and Laplace, as floating-point numbers.

All of it comes from ChaCha20. For every k, a floating-point number of unit scale is, except with
probability 2^-k, within ``(c + 2^(k - 62)) R`` of an ideal variable, with c = 2^-20 for float32 and
2^-49 for float64, R being the radius of its Gaussian pair or its own size. The largest values are
9.42 standard deviations and 44.36 Laplace scales. As with every noise of floating-point numbers,
which of them can be reached depends on what it is added to (Mironov 2012, CCS): where each bit
counts, add noise to integers, see `add_discrete_laplace_noise` and `Grid`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from renyi.sgd._arrays import fresh, in_memory_order, noisy_array, single_scale
from renyi.sgd._generator import generator_of
from renyi.sgd._threads import threads_of

__all__ = [
    "add_gaussian_noise",
    "add_laplace_noise",
    "gaussian_noise",
    "laplace_noise",
]

Array = TypeVar("Array", bound=npt.NDArray[Any])
Shape = int | tuple[int, ...]


def gaussian_noise(
    shape: Shape,
    scale: float,
    *,
    dtype: npt.DTypeLike = np.float64,
    generator: Any = None,
    out: npt.NDArray[Any] | None = None,
    threads: int | None = None,
) -> npt.NDArray[Any]:
    """Independent Gaussian numbers of standard deviation ``scale``.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the result.
    scale : float
        Standard deviation, in [0, inf). For float32 it is rounded up.
    dtype : dtype
        float32 or float64.
    generator : SecureGenerator or numpy.random.Generator, optional
        By default the process's own `SecureGenerator`. A NumPy generator is used to make a key,
        with an `InsecureGeneratorWarning`.
    out : ndarray, optional
        Where to put them: of this shape and dtype.
    threads : int, optional
        By default one for each processor. The result does not depend on it.

    Returns
    -------
    ndarray

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Notes
    -----
    Box, Muller 1958 (doi 10.1214/aoms/1177706645) with 95 random bits a pair (float32) or 127.

    Examples
    --------
    >>> noise = gaussian_noise((100, 100), 2.0, dtype=np.float32)
    >>> bool(1.9 < noise.std() < 2.1)
    True
    """
    return _noise(True, shape, scale, dtype, generator, out, threads)


def laplace_noise(
    shape: Shape,
    scale: float,
    *,
    dtype: npt.DTypeLike = np.float64,
    generator: Any = None,
    out: npt.NDArray[Any] | None = None,
    threads: int | None = None,
) -> npt.NDArray[Any]:
    """Independent Laplace numbers of density e^(-|x|/scale) / (2 scale).

    Arguments and errors are those of `gaussian_noise`.

    Examples
    --------
    >>> noise = laplace_noise(10_000, 3.0)
    >>> bool(2.8 < abs(noise).mean() < 3.2)
    True
    """
    return _noise(False, shape, scale, dtype, generator, out, threads)


def add_gaussian_noise(
    array: Array, scale: float, *, generator: Any = None, threads: int | None = None
) -> Array:
    """Add `gaussian_noise` to a float32 or float64 array in place, and return it.

    Numbers are assigned in the order of the memory. An array without gaps costs no further memory.

    Examples
    --------
    >>> total = np.zeros(10_000, dtype=np.float32)
    >>> add_gaussian_noise(total, 5.0) is total
    True
    >>> bool(4.8 < total.std() < 5.2)
    True
    """
    return _add(True, array, scale, generator, threads)


def add_laplace_noise(
    array: Array, scale: float, *, generator: Any = None, threads: int | None = None
) -> Array:
    """Add `laplace_noise` to a float32 or float64 array in place, and return it.

    Examples
    --------
    >>> total = add_laplace_noise(np.zeros(10_000), 5.0)
    >>> bool(4.8 < abs(total).mean() < 5.2)
    True
    """
    return _add(False, array, scale, generator, threads)


def _noise(
    gaussian: bool,
    shape: Shape,
    scale: float,
    dtype: npt.DTypeLike,
    generator: Any,
    out: npt.NDArray[Any] | None,
    threads: int | None,
) -> npt.NDArray[Any]:
    result = fresh(shape, dtype, out)
    number = single_scale(scale, result.dtype)
    source, count = generator_of(generator), threads_of(threads)
    flat = in_memory_order(result)
    if flat is None:
        flat = np.empty(result.size, result.dtype)
        source._core.noise(gaussian, False, flat, number, count)
        result[...] = flat.reshape(result.shape)
    else:
        source._core.noise(gaussian, False, flat, number, count)
    return result


def _add(gaussian: bool, array: Array, scale: float, generator: Any, threads: int | None) -> Array:
    noisy_array(array, "array", (np.float32, np.float64))
    number = single_scale(scale, array.dtype)
    source, count = generator_of(generator), threads_of(threads)
    flat = in_memory_order(array)
    if flat is None:
        noise = np.empty(array.size, array.dtype)
        source._core.noise(gaussian, False, noise, number, count)
        np.add(array, noise.reshape(array.shape), out=array)
    else:
        source._core.noise(gaussian, True, flat, number, count)
    return array
