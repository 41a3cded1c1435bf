"""Noise on integers, the discrete Gaussian and the discrete Laplace, sampled exactly from ChaCha20.

Nothing is rounded on the way: a scale is the rational number the float is. What is known of a
released number is what the mechanism says, down to its last bit. The time that drawing takes is not
protected: it grows a little with the magnitude of the noise (for one number of the discrete Laplace
law their correlation is about 0.10), as draws are rejected and large ones take more steps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from renyi._validation import Range, number_in
from renyi.sgd._arrays import in_memory_order, noisy_array
from renyi.sgd._generator import generator_of
from renyi.sgd._threads import threads_of

__all__ = [
    "add_discrete_gaussian_noise",
    "add_discrete_laplace_noise",
    "discrete_gaussian_noise",
    "discrete_laplace_noise",
]

Integers = npt.NDArray[np.int64]
Shape = int | tuple[int, ...]


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

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

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
    return _add(True, array, number, generator, threads)


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

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

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
    return _add(False, array, number, generator, threads)


def _scale_of(value: object, name: str) -> float:
    return number_in(value, name, Range(2.0**-20, 2.0**40))


def _add(
    gaussian: bool, array: Integers, scale: float, generator: object, threads: int | None
) -> Integers:
    noisy_array(array, "array", (np.int64,))
    source, count = generator_of(generator), threads_of(threads)
    flat = in_memory_order(array)
    if flat is None:
        noise = np.zeros(array.size, np.int64)
        source._core.add_integers(gaussian, noise, scale, count)
        array += noise.reshape(array.shape)
    else:
        source._core.add_integers(gaussian, flat, scale, count)
    return array
