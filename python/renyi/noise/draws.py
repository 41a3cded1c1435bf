"""Noise: ideal and then rounded to a lattice, or on the integers."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from renyi._arrays import float_dtype, in_memory_order, noise_scale, noisy_array, threads_of, zeros
from renyi._training import noise_spacing
from renyi._validation import Range, number_in
from renyi.noise.generator import generator_of

# Noise: Gaussian and Laplace, ideal and then rounded to a lattice.
#
# What `add_gaussian_noise` and `add_laplace_noise` leave in an array is, in each entry, the
# multiple of a spacing that is nearest to the entry plus an ideal variable, in real arithmetic:
# random bits are drawn until the rounding is decided (Ziv 1991, doi 10.1145/114697.116813). The
# spacing is the power of two between 2^-10 and 2^-9 of the scale, whatever the entries. So the
# result is post-processing of the ideal mechanism, whose guarantee is its own, without an error
# term; floating point noise has none (Mironov 2012, CCS; Haney and others 2022, arXiv 2207.10635;
# Jin and others 2022, arXiv 2112.05307). All bits come from ChaCha20, and no tail is cut off.
#
# The guarantee is about the array that noise is added to. The caller has to bound how far a record
# moves that array, rounding included (`clip_and_sum` sums exactly). Noise drawn alone, by
# `gaussian_noise` and `laplace_noise`, is on the lattice. Added with rounding to numbers that are
# not on it, such noise protects no better than other floating-point noise. Time is not protected:
# one entry in some hundreds takes more bits, which reveals a little about its distance from the
# middle between two multiples.


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
        Standard deviation: 0, or in [2^-115, 2^115] for float32, in [2^-1010, 2^1010] for float64.
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

    Notes
    -----
    Box, Muller 1958 (doi 10.1214/aoms/1177706645), of pairs of uniform numbers with as many bits as
    their rounding takes. To protect a number, add noise to it by `add_gaussian_noise`.

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
    """Add Gaussian noise of standard deviation ``scale`` to an array in place, and return it.

    Every entry becomes the multiple of `noise_lattice(scale)` that is nearest to entry plus ideal
    noise. Infinities and NaN stay. Multiples beyond 2^24 (float32) or 2^53 spacings are rounded to
    the array's numbers. With scale 0 nothing changes.

    Parameters
    ----------
    array : ndarray
        Of float32 or float64. Noise is assigned in the order of the memory. An array without gaps
        costs no further memory.
    scale, generator, threads
        As for `gaussian_noise`.

    Examples
    --------
    >>> total = np.full(10_000, 0.1, dtype=np.float32)
    >>> add_gaussian_noise(total, 5.0) is total
    True
    >>> bool(4.8 < total.std() < 5.2), bool((total % noise_lattice(5.0) == 0).all())
    (True, True)
    """
    return _add(True, array, scale, generator, threads)


def add_laplace_noise(
    array: Array, scale: float, *, generator: Any = None, threads: int | None = None
) -> Array:
    """Add Laplace noise to an array in place, and return it: as `add_gaussian_noise`.

    Examples
    --------
    >>> total = add_laplace_noise(np.zeros(10_000), 5.0)
    >>> bool(4.8 < abs(total).mean() < 5.2)
    True
    """
    return _add(False, array, scale, generator, threads)


def noise_lattice(scale: float) -> float:
    """Return the spacing that noise of a scale is rounded to, a power of two.

    Examples
    --------
    >>> noise_lattice(1.0) == noise_lattice(1.9) == 2.0**-9
    True
    """
    return noise_spacing(noise_scale(scale, np.dtype(np.float64))) if scale else 0.0


def _noise(
    gaussian: bool,
    shape: Shape,
    scale: float,
    dtype: npt.DTypeLike,
    generator: Any,
    out: npt.NDArray[Any] | None,
    threads: int | None,
) -> npt.NDArray[Any]:
    noise_scale(scale, float_dtype(dtype))  # these raise before ``out`` is cleared
    source, count = generator_of(generator), threads_of(threads)
    return _add(gaussian, zeros(shape, dtype, out), scale, source, count)


def _add(gaussian: bool, array: Array, scale: float, generator: Any, threads: int | None) -> Array:
    noisy_array(array, "array", (np.float32, np.float64))
    number = noise_scale(scale, array.dtype)
    source, count = generator_of(generator), threads_of(threads)
    flat = in_memory_order(array)
    if flat is not None:
        source.core.add_noise(gaussian, flat, number, count)
        return array
    flat = array.flatten()
    source.core.add_noise(gaussian, flat, number, count)
    array[...] = flat.reshape(array.shape)
    return array


# Noise on integers, the discrete Gaussian and the discrete Laplace, sampled exactly from ChaCha20.
#
# Nothing is rounded: a scale is the rational number that the float represents, so the guarantee of
# the mechanism holds for every bit of a released number. The time that drawing takes is not
# protected: it grows a little with the magnitude of the noise (for one number of the discrete
# Laplace law their correlation is about 0.10), as draws are rejected and large ones take more
# steps.


Integers = npt.NDArray[np.int64]


def discrete_gaussian_noise(
    shape: Shape, sigma: float, *, generator: object = None, threads: int | None = None
) -> Integers:
    """Independent integers of mass proportional to e^(-y^2 / (2 sigma^2)), sampled exactly.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the result.
    sigma : float
        In [2^-20, 2^40]; close to the standard deviation where it is not small.
    generator, threads
        As for `gaussian_noise`.

    Returns
    -------
    ndarray of int64

    References
    ----------
    Canonne, Kamath, Steinke 2020, arXiv 2004.00010, Algorithm 3.

    Examples
    --------
    >>> noise = discrete_gaussian_noise(10_000, 20.0)
    >>> bool(19.0 < noise.std() < 21.0)
    True
    """
    out = np.zeros(shape, np.int64)
    return add_discrete_gaussian_noise(out, sigma, generator=generator, threads=threads)


def add_discrete_gaussian_noise(
    array: Integers, sigma: float, *, generator: object = None, threads: int | None = None
) -> Integers:
    """Add `discrete_gaussian_noise` to an int64 array in place, and return it.

    To an accountant, of one integer, it is ``renyi.DiscreteGaussian(sigma, sensitivity)``. Sums
    wrap around at 2^63, as NumPy's do.

    Examples
    --------
    >>> counts = np.array([10, 20, 30])
    >>> add_discrete_gaussian_noise(counts, 2.0).dtype
    dtype('int64')
    """
    number = _scale_of(sigma, "sigma")
    return _add_integers(True, array, number, generator, threads)


def discrete_laplace_noise(
    shape: Shape, scale: float, *, generator: object = None, threads: int | None = None
) -> Integers:
    """Independent integers of mass proportional to e^(-|y| / scale), sampled exactly.

    Parameters
    ----------
    scale : float
        In [2^-20, 2^40].
    shape, generator, threads
        As for `discrete_gaussian_noise`.

    Returns
    -------
    ndarray of int64

    References
    ----------
    Canonne, Kamath, Steinke 2020, arXiv 2004.00010, Algorithm 2.

    Examples
    --------
    >>> noise = discrete_laplace_noise(10_000, 20.0)
    >>> bool(19.0 < abs(noise).mean() < 21.0)
    True
    """
    out = np.zeros(shape, np.int64)
    return add_discrete_laplace_noise(out, scale, generator=generator, threads=threads)


def add_discrete_laplace_noise(
    array: Integers, scale: float, *, generator: object = None, threads: int | None = None
) -> Integers:
    """Add `discrete_laplace_noise` to an int64 array in place, and return it.

    If a record changes entries by ``sensitivity`` in total, an accountant is told
    ``renyi.DiscreteLaplace(scale, sensitivity)`` where it changes a single entry, and in any case
    ``renyi.PureDP(sensitivity / scale)``. Sums wrap around at 2^63, as NumPy's do.

    Examples
    --------
    A histogram, of which each record is in one cell:

    >>> cells = np.array([3, 141, 59])
    >>> noisy = add_discrete_laplace_noise(cells.copy(), 2.0)
    >>> from renyi import DiscreteLaplace, PLDAccountant
    >>> round(PLDAccountant().compose(DiscreteLaplace(2.0)).get_epsilon(0.0), 6)
    0.5
    """
    number = _scale_of(scale, "scale")
    return _add_integers(False, array, number, generator, threads)


def _scale_of(value: object, name: str) -> float:
    return number_in(value, name, Range(2.0**-20, 2.0**40))


def _add_integers(
    gaussian: bool, array: Integers, scale: float, generator: object, threads: int | None
) -> Integers:
    noisy_array(array, "array", (np.int64,))
    source, count = generator_of(generator), threads_of(threads)
    flat = in_memory_order(array)
    if flat is None:
        noise = np.zeros(array.size, np.int64)
        source.core.add_integers(gaussian, noise, scale, count)
        array += noise.reshape(array.shape)
    else:
        source.core.add_integers(gaussian, flat, scale, count)
    return array
