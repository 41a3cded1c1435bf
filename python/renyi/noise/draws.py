"""Noise added to arrays: ideal noise rounded to a lattice, or integers."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from renyi._arrays import in_memory_order, noise_scale, noisy_array, threads_of
from renyi._training import noise_spacing
from renyi._validation import Range, number_in
from renyi.noise.generator import generator_of

# Noise: Gaussian and Laplace, ideal and then rounded to a lattice.
#
# `add_gaussian_noise` and `add_laplace_noise` replace each entry of an array by the
# multiple of a spacing that is nearest to the entry plus an ideal variable, in real arithmetic:
# random bits are drawn until the rounding is decided (Ziv 1991, doi 10.1145/114697.116813). The
# spacing is the power of two between 2^-10 and 2^-9 of the scale, whatever the entries. So the
# result is post-processing of the ideal mechanism, whose guarantee is its own, without an error
# term; floating point noise has none (Mironov 2012, CCS; Haney and others 2022, arXiv 2207.10635;
# Jin and others 2022, arXiv 2112.05307). All bits come from ChaCha20, and no tail is cut off.
#
# The guarantee is about the array that noise is added to. The caller has to bound how far a record
# moves that array, rounding included (`clip_and_sum` sums exactly). Noise alone, in an array of
# zeros, is on the lattice. Added with rounding to numbers that are not on it, such noise protects
# no better than other floating-point noise. Time is not protected: one entry in some hundreds takes
# more bits, which reveals a little about its distance from the middle between two multiples.


Array = TypeVar("Array", bound=npt.NDArray[Any])
Integers = npt.NDArray[np.int64]


def add_gaussian_noise(
    array: Array, scale: float, *, generator: Any = None, threads: int | None = None
) -> Array:
    """Add Gaussian noise of standard deviation ``scale`` to an array in place, and return it.

    Every entry becomes the multiple of `noise_lattice(scale)` that is nearest to entry plus ideal
    noise. Infinities and NaN stay. Multiples beyond 2^24 (float32) or 2^53 spacings are rounded to
    the array's numbers. With scale 0 nothing changes.

    Args:
        array: An array of float32 or float64. Noise is assigned in the order of the memory. A
            contiguous array takes no further memory. Zeros become noise alone; such noise does not
            protect numbers that it is added to later.
        scale: Standard deviation: 0, or in [2^-115, 2^115] for float32, in [2^-1010, 2^1010] for
            float64.
        generator (SecureGenerator or numpy.random.Generator): By default the process's own
            `SecureGenerator`. A NumPy generator is used to make a key, with an
            `InsecureGeneratorWarning`.
        threads: By default one for each processor. The result does not depend on it.

    Source: Box, Muller 1958 (doi 10.1214/aoms/1177706645), from pairs of uniform numbers with as
    many bits as their rounding needs.

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
    """Add Laplace noise of density e^(-|x|/scale) / (2 scale): as `add_gaussian_noise`.

    >>> total = add_laplace_noise(np.zeros(10_000), 5.0)
    >>> bool(4.8 < abs(total).mean() < 5.2)
    True
    """
    return _add(False, array, scale, generator, threads)


def noise_lattice(scale: float) -> float:
    """Return the spacing that noise of a scale is rounded to, a power of two.

    >>> noise_lattice(1.0) == noise_lattice(1.9) == 2.0**-9
    True
    """
    return noise_spacing(noise_scale(scale, np.dtype(np.float64))) if scale else 0.0


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


def add_discrete_gaussian_noise(
    array: Integers, sigma: float, *, generator: object = None, threads: int | None = None
) -> Integers:
    """Add integers of mass proportional to e^(-y^2 / (2 sigma^2)), sampled exactly, in place.

    For an accountant, one integer is ``renyi.DiscreteGaussian(sigma, sensitivity)``. Sums wrap
    around at 2^63, as NumPy's do.

    Args:
        array: The array that they are added to; it is returned.
        sigma: In [2^-20, 2^40]; close to the standard deviation where it is not small.
        generator, threads: As for `add_gaussian_noise`.

    Source: Canonne, Kamath, Steinke 2020, arXiv 2004.00010, Algorithm 3.

    >>> noisy = add_discrete_gaussian_noise(np.full(10_000, 7), 20.0)
    >>> noisy.dtype, bool(19.0 < noisy.std() < 21.0)
    (dtype('int64'), True)
    """
    return _add_integers(True, array, number_in(sigma, "sigma", _SCALES), generator, threads)


def add_discrete_laplace_noise(
    array: Integers, scale: float, *, generator: object = None, threads: int | None = None
) -> Integers:
    """Add integers of mass proportional to e^(-|y| / scale), sampled exactly, in place.

    If a record changes entries by ``sensitivity`` in total, the mechanism is
    ``renyi.DiscreteLaplace(scale, sensitivity)`` where it changes a single entry, and in any case
    ``renyi.PureDP(sensitivity / scale)``.

    Args:
        scale: In [2^-20, 2^40].
        array, generator, threads: As for `add_discrete_gaussian_noise`.

    Source: Canonne, Kamath, Steinke 2020, arXiv 2004.00010, Algorithm 2.

    A histogram where each record is in one cell:

    >>> cells = np.array([3, 141, 59])
    >>> noisy = add_discrete_laplace_noise(cells.copy(), 2.0)
    >>> from renyi import DiscreteLaplace, PLDAccountant
    >>> round(PLDAccountant().compose(DiscreteLaplace(2.0)).get_epsilon(0.0), 6)
    0.5
    """
    return _add_integers(False, array, number_in(scale, "scale", _SCALES), generator, threads)


_SCALES = Range(2.0**-20, 2.0**40)


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
