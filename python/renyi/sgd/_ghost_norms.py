"""Norms of A^T G from inner products, and bounds of what rounding took from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi.sgd._rows import Array

__all__ = ["LayerNorms", "layer_norms", "norm_above"]

_UNIT = 2.0**-53
_ELEMENTS = 1 << 20  # of temporary arrays, about

Norms = npt.NDArray[np.float64]


class LayerNorms(NamedTuple):
    """Of each sample's gradient, NaN where a number is not finite."""

    nearest: Norms
    above: Norms  # at least the norm, exactly
    reach: Norms  # what underflow can add, in units of the smallest number


def norm_above(parts: Norms, slack: float) -> Norms:
    """Euclidean norm along the first axis without overflow, times 1 + slack."""
    with np.errstate(all="ignore"):
        most = parts.max(axis=0, initial=0.0)
        unit = np.where((most > 0.0) & np.isfinite(most), most, 1.0)
        norm: Norms = unit * np.sqrt(np.sum((parts / unit) ** 2, axis=0)) * (1.0 + slack)
        return norm


def layer_norms(activations: Array, gradients: Array, bias: bool) -> LayerNorms:
    """Norms for (B, T, inputs) and (B, T, outputs), a few samples at a time."""
    count, times = activations.shape[:2]
    step = max(1, _ELEMENTS // max(1, times * max(times, activations.shape[2], gradients.shape[2])))
    result = LayerNorms(np.zeros(count), np.zeros(count), np.zeros(count))
    for first in range(0, count, step):
        part = slice(first, first + step)
        found = _norms_of(activations[part], gradients[part], bias)
        for whole, values in zip(result, found, strict=True):
            whole[part] = values
    return result


def _scaled(values: Array) -> tuple[Norms, npt.NDArray[Any], Norms]:
    """Return samples times the power of two that brings their largest into [1/2, 1).

    Squares of squares of single precision neither overflow nor vanish: they stay as they are.
    """
    flat = values.reshape(len(values), -1)
    wide = values.astype(np.float64)
    most = np.maximum(flat.max(axis=1, initial=0.0), -flat.min(axis=1, initial=0.0))
    most = most.astype(np.float64)
    finite = np.isfinite(most)
    if not finite.all():
        wide[~finite] = 0.0
    if values.dtype != np.float64:
        return wide, np.zeros(len(wide), np.intc), most
    _, exponent = np.frexp(np.where(finite & (most > 0.0), most, 1.0))
    return np.ldexp(wide, -exponent[:, np.newaxis, np.newaxis]), exponent, most


def _norms_of(activations: Array, gradients: Array, bias: bool) -> LayerNorms:
    r"""Norms, and bounds of them.

    An inner product of n numbers, in any order of summation, fused or not, is within
    n u / (1 - n u) <= 2 n u of the sum of magnitudes, which is at most the product of the two
    norms. With P = \sum_t |a_t| |g_t| the squared norm is so within 2 (inputs + outputs + T^2) u
    P^2, a few roundings of P and of the factors aside; likewise the bias, with 1 for |a_t|. What
    underflows is below 2^-900 of the largest products.
    """
    with np.errstate(all="ignore"):
        a, a_exponent, a_most = _scaled(activations)
        g, g_exponent, g_most = _scaled(gradients)
        times, inputs, outputs = a.shape[1], a.shape[2], g.shape[2]
        a_squares, g_squares = (np.einsum("btk,btk->bt", x, x) for x in (a, g))
        a_norms, g_norms = np.sqrt(a_squares), np.sqrt(g_squares)
        roundings = 2.0 * (inputs + outputs + times * times + 16)
        products = (a_squares * g_squares)[:, 0] if times == 1 else _gram(a, g)
        weights = _bounded(products, (a_norms * g_norms).sum(axis=1), roundings)
        parts = [np.ldexp(part, a_exponent + g_exponent) for part in weights]
        if bias:
            totals = g_squares[:, 0] if times == 1 else (g.sum(axis=1) ** 2).sum(axis=1)
            biases = _bounded(totals, g_norms.sum(axis=1), roundings)
            parts = [
                norm_above(np.stack([part, np.ldexp(other, g_exponent)]), slack)
                for part, other, slack in zip(parts, biases, (0.0, 2.0**-48), strict=True)
            ]
        reach = times * np.sqrt(inputs * outputs) * (a_most + g_most + 2.0)
        finite = np.isfinite(a_most) & np.isfinite(g_most)
        nearest, above = (np.where(finite, part, np.nan) for part in parts)
        return LayerNorms(nearest, above, np.where(finite, reach, 0.0))


def _bounded(squares: Norms, reach: Norms, roundings: float) -> tuple[Norms, Norms]:
    """Square roots, and upper bounds of the true ones."""
    above = np.maximum(squares, 0.0) + roundings * _UNIT * (reach * reach) * 1.0001
    above = np.where(reach > 0.0, above + 2.0**-900, 0.0)
    return np.sqrt(np.maximum(squares, 0.0)), np.sqrt(above) * (1.0 + 4.0 * _UNIT)


def _gram(a: Norms, g: Norms) -> Norms:
    """Sum of the products of inner products; strips of rows where T is large."""
    times = a.shape[1]
    strip = max(1, min(times, _ELEMENTS // max(1, times)))
    total = np.zeros(len(a))
    a_columns, g_columns = a.transpose(0, 2, 1), g.transpose(0, 2, 1)
    for first in range(0, times, strip):
        rows = slice(first, first + strip)
        total += np.sum((a[:, rows] @ a_columns) * (g[:, rows] @ g_columns), axis=(1, 2))
    return total
