"""Norms of A^T G from inner products, and bounds of what rounding took from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi.sgd._rows import Array
from renyi.sgd.clipping import per_sample_norms

__all__ = ["LayerNorms", "joint_norm", "layer_norms"]

_UNIT = 2.0**-53
_ELEMENTS = 1 << 20  # of temporary arrays, about

Norms = npt.NDArray[np.float64]


class LayerNorms(NamedTuple):
    """Of each sample's gradient, NaN where a number is not finite."""

    nearest: Norms
    above: Norms  # at least the norm, exactly
    spread: Norms  # at least the norm if no two times cancelled, the sum of |a_t| |g_t|
    reach: Norms  # what underflow can add, in units of the smallest number


def joint_norm(parts: Sequence[Norms]) -> Norms:
    """Norm of all parts together, to len(parts) units in the last place; NaN where one is NaN."""
    joint = parts[0]
    with np.errstate(over="ignore"):
        for part in parts[1:]:
            lost = np.isnan(joint) | np.isnan(part)  # hypot forgets it beside infinity
            joint = np.where(lost, np.nan, np.hypot(joint, part))
    return joint


def layer_norms(activations: Array, gradients: Array, bias: bool) -> LayerNorms:
    """Norms for (B, T, inputs) and (B, T, outputs), a few samples at a time."""
    count, times = activations.shape[:2]
    known = _norms_of_outer(activations, gradients, bias) if times == 1 else None
    if known is not None:
        return known
    step = max(1, _ELEMENTS // max(1, times * max(times, activations.shape[2], gradients.shape[2])))
    result = LayerNorms(*(np.zeros(count) for _ in range(4)))
    for first in range(0, count, step):
        part = slice(first, first + step)
        found = _norms_of(activations[part], gradients[part], bias)
        for whole, values in zip(result, found, strict=True):
            whole[part] = values
    return result


def _norms_of_outer(activations: Array, gradients: Array, bias: bool) -> LayerNorms | None:
    """Norms of a g^T by the norms of a and g, unless these are so extreme that products suffer.

    The kernel adds squares of n numbers with far fewer than 200 + n / 64 roundings on any path.
    """
    a, g = per_sample_norms([activations, gradients], per_layer=True).T
    if any(((x > 0.0) & (x < 2.0**-500) | (x > 2.0**500)).any() for x in (a, g)):
        return None
    inputs, outputs = activations.shape[2], gradients.shape[2]
    nearest = g * np.hypot(a, 1.0) if bias else g * a
    above = nearest * (1.0 + (256.0 + (inputs + outputs) / 64.0) * _UNIT)
    return LayerNorms(nearest, above, above, np.sqrt(inputs * outputs) * 1.01 * (a + g + 2.0))


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
        weights = _bounded(_gram(a, g), (a_norms * g_norms).sum(axis=1), roundings)
        wide = (a_norms * g_norms).sum(axis=1) * (1.0 + roundings * _UNIT)
        parts = [np.ldexp(part, a_exponent + g_exponent) for part in (*weights, wide)]
        if bias:
            sums = g_norms.sum(axis=1)
            biases = _bounded((g.sum(axis=1) ** 2).sum(axis=1), sums, roundings)
            others = (*biases, sums * (1.0 + roundings * _UNIT))
            slacks = (1.0, 1.0 + 2.0**-50, 1.0 + 2.0**-50)
            parts = [
                joint_norm([part, np.ldexp(other, g_exponent)]) * slack
                for part, other, slack in zip(parts, others, slacks, strict=True)
            ]
        reach = times * np.sqrt(inputs * outputs) * (a_most + g_most + 2.0)
        finite = np.isfinite(a_most) & np.isfinite(g_most)
        nearest, above, spread = (np.where(finite, part, np.nan) for part in parts)
        return LayerNorms(nearest, above, spread, np.where(finite, reach, 0.0))


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
