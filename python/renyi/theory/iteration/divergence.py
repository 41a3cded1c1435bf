"""The hockey-stick divergence E_g of noise at two places, and how much a step contracts E_g.

``E_g(P, Q) = sup_S P(S) - g Q(S)`` with ``g = exp(epsilon)``: a mechanism is (epsilon, delta)-DP
exactly if it is at most delta for all neighbours, in both orders.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._iteration import step_divergence
from renyi._validation import Range, epsilon_of, number_in, numbers_of, real_of
from renyi.theory.iteration._arguments import LARGEST, SMALLEST, positive_of
from renyi.theory.iteration.setting import Noise, NoisyDescent

__all__ = [
    "contraction_coefficient",
    "kernel_contraction",
    "noise_divergence",
    "record_divergence",
]


def noise_divergence(noise: Noise, epsilon: float, distance: float, scale: float = 1.0) -> float:
    """Return E_g of two laws of noise at a distance, ``g = exp(epsilon)``.

    With ``r = distance / scale``, for the normal law ``Q(epsilon/r - r/2) - g Q(epsilon/r + r/2)``,
    Q being its upper tail, and for Laplace's ``max(0, 1 - exp((epsilon - r)/2))``.

    Parameters
    ----------
    noise : {"gaussian", "laplace"}
        The law; normal noise may have any dimension, with the distance in L2.
    epsilon : float
        In [0, inf].
    distance : float
        0 or in [1e-75, 1e75].
    scale : float
        Standard deviation, or b of the density ``exp(-|x|/b)/(2b)``; in [1e-75, 1e75].

    Returns
    -------
    float
        In [0, 1], rounded up: relatively by less than 1e-14 where it is a normal number, and the
        smallest normal number where it would be below that.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    References
    ----------
    Balle, Wang 2018, arXiv 1805.06530, Theorem 8; Sordello, Bu, Dong 2021, arXiv 2106.11767.

    Examples
    --------
    >>> round(noise_divergence("gaussian", 1.0, 1.0), 6)
    0.126937
    >>> noise_divergence("laplace", 1.0, 1.0)
    0.0
    """
    if noise not in ("gaussian", "laplace"):
        raise ValueError(f"noise must be 'gaussian' or 'laplace', got {noise!r}")
    allowed = "0 or a number in [1e-75, 1e75]"
    shift = real_of(distance, "distance", allowed)
    if shift != 0.0 and not SMALLEST <= shift <= LARGEST:
        raise ValueError(f"distance must be {allowed}, got {distance!r}")
    width = positive_of(scale, "scale")
    return step_divergence(noise, epsilon_of(epsilon), shift, width)[0]


def record_divergence(descent: NoisyDescent, epsilon: float, scale: float) -> float:
    """Return A: E_g of one step with two different records, from the same point.

    Parameters
    ----------
    descent : NoisyDescent
        The pass.
    epsilon : float
        In [0, inf].
    scale : float
        Of the noise Z of the step, in [1e-75, 1e75].

    Returns
    -------
    float
        `noise_divergence` at distance 2L.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> descent = NoisyDescent(step_size=0.1, lipschitz=1.0, diameter=1.0)
    >>> round(record_divergence(descent, 1.0, 4.0), 6)
    0.00683
    """
    width = positive_of(scale, "scale")
    return step_divergence(descent.noise, epsilon_of(epsilon), descent.record_shift, width)[0]


def contraction_coefficient(descent: NoisyDescent, epsilon: float, scale: float) -> float:
    """Return B: a step multiplies E_g of any two laws of the iterate by at most this.

    The largest E_g of a step from two points of K (Asoodeh, Diaz, Calmon 2020, Theorem 2).

    Parameters
    ----------
    descent, epsilon, scale
        As for `record_divergence`.

    Returns
    -------
    float
        `noise_divergence` at distance ``contraction * diameter / step_size``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> descent = NoisyDescent(step_size=0.1, lipschitz=1.0, diameter=1.0)
    >>> round(contraction_coefficient(descent, 1.0, 4.0), 6)
    0.66786
    """
    width = positive_of(scale, "scale")
    return step_divergence(descent.noise, epsilon_of(epsilon), descent.state_shift, width)[0]


def kernel_contraction(kernel: npt.ArrayLike, epsilon: float) -> float:
    """Return the contraction coefficient of E_g of a Markov kernel on a finite set.

    ``max E_g(kernel[i], kernel[j])`` over pairs of rows: for ``epsilon = 0`` Dobrushin's.

    Parameters
    ----------
    kernel : array_like
        Square or not; rows of non-negative numbers that add up to 1 (to 1e-9).
    epsilon : float
        In [0, 700].

    Returns
    -------
    float
        In [0, 1], rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    References
    ----------
    Asoodeh, Diaz, Calmon 2020, arXiv 2001.06546, Theorem 2.

    Examples
    --------
    >>> import math
    >>> round(kernel_contraction([[0.75, 0.25], [0.25, 0.75]], math.log(2.0)), 6)
    0.25
    """
    rows = _kernel_of(kernel)
    exponent = number_in(epsilon, "epsilon", Range(0.0, 700.0))
    g = math.exp(exponent) * (1.0 - 2.0**-51)
    largest = max(float(np.maximum(row - g * rows, 0.0).sum(axis=1).max()) for row in rows)
    return min(largest * (1.0 + 2.0**-50 * len(rows[0])), 1.0)


def _kernel_of(kernel: Any) -> npt.NDArray[np.float64]:
    allowed = "rows of numbers in [0, 1] that add up to 1"
    flat, shape = numbers_of(kernel, "kernel", 0.0, 1.0, allowed)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"kernel must be {allowed}, got an array of shape {shape}")
    rows = flat.reshape(shape)
    off = float(np.abs(rows.sum(axis=1) - 1.0).max())
    if off > 1e-9:
        raise ValueError(f"kernel must be {allowed}, got a row whose sum is off by {off:.3g}")
    return rows
