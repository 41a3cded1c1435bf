r"""Clipping for linear layers without a gradient for each sample.

Sample i of a layer has the gradient :math:`A_i^T G_i` of its weights, with the activations A_i
(T, inputs) that entered the layer and the gradients G_i (T, outputs) of the sample's own loss with
respect to what left it; T = 1 without a time axis. Its norm needs inner products of rows only,

.. math:: \lVert A_i^T G_i \rVert^2 = \sum_{s,t} (A_i A_i^T)_{st} (G_i G_i^T)_{st}

(Goodfellow 2015; Li, Tramèr, Liang, Hashimoto 2022), and the clipped sum is one matrix product.

Norms are rounded up, by a bound of the rounding of any order of summation, and so the factors
down: every clipped gradient has a norm of at most `max_grad_norm` in real arithmetic, the rounding
of its product with the factor included; for sums in double precision it stays below that by as much
as the matrix product and the lattice can add, see `_sum_budget`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._sgd import sum_spacing
from renyi.accountants._base import Adjacency, adjacency_of
from renyi.sgd._arrays import float_dtype
from renyi.sgd._clipped_sum import ClippedSum, PrivateDiagnostics
from renyi.sgd._ghost_norms import LayerNorms, joint_norm, layer_norms
from renyi.sgd._rows import Array, outline, rows_of
from renyi.sgd._rule import bound_of, refuse_too_many, sensitivity_of

__all__ = ["LinearLayer", "ghost_clip_and_sum", "ghost_norms"]

_UNIT = 2.0**-53


class LinearLayer(NamedTuple):
    """What a linear layer y = x W + b leaves behind in one pass forth and back.

    Attributes
    ----------
    activations : ndarray
        (B, inputs) or (B, T, inputs).
    output_gradients : ndarray
        (B, outputs) or (B, T, outputs), of each sample's own loss: not divided by the batch size.
    bias : bool
        Whether there is a b.
    """

    activations: Any
    output_gradients: Any
    bias: bool = True

    def __repr__(self) -> str:
        a, g = map(outline, self[:2])
        return f"<LinearLayer: activations {a}, output gradients {g}, bias {self.bias!r}>"


def ghost_norms(layers: Sequence[LinearLayer]) -> npt.NDArray[np.float64]:
    """Return the joint norm of each sample's gradients of all layers. It is private.

    Parameters
    ----------
    layers : sequence of LinearLayer
        With the same number of samples. A plain (activations, output_gradients) will do.

    Returns
    -------
    ndarray of float64
        Shape (B,); NaN for a sample with a number that is not finite.

    Raises
    ------
    TypeError, ValueError
        If arrays are not of floating-point numbers, or shapes do not agree.

    Examples
    --------
    >>> ghost_norms([LinearLayer(np.array([[3.0, 4.0]]), np.array([[2.0]]), bias=False)])
    array([10.])
    """
    return _joint(_checked(layers)).nearest


def ghost_clip_and_sum(
    layers: Sequence[LinearLayer],
    max_grad_norm: float,
    *,
    adjacency: Adjacency = "add_remove",
    dtype: npt.DTypeLike = np.float64,
) -> ClippedSum:
    """Clip each sample's gradients of all layers at their joint norm, and return the sum.

    Parameters
    ----------
    layers : sequence of LinearLayer
        With the same number of samples, at most 65,536, or so few that their square times the
        length of the time axis is at most 2^32.
    max_grad_norm : float
        The bound, in [2^-96, 2^96]. For float64 a part of 1/16,000 of it is left for rounding.
    adjacency : {"add_remove", "replace_one", "zero_out"}
        Neighbours that `ClippedSum.sensitivity` is for.
    dtype : dtype
        Of the sum and of the matrix products: float64, or float32 as for `clip_and_sum`.

    Returns
    -------
    ClippedSum
        Its sum lists the weights (inputs, outputs) and, where there is one, the bias (outputs,) of
        each layer. A sample with a number that is not finite contributes zero.

    Raises
    ------
    TypeError, ValueError
        If arrays or numbers are not as above.

    Examples
    --------
    >>> layer = LinearLayer(np.array([[3.0, 4.0]]), np.array([[2.0]]), bias=False)
    >>> ghost_clip_and_sum([layer], 1.0).sum[0].round(3)
    array([[0.6],
           [0.8]])
    """
    checked = _checked(layers)
    bound = bound_of(max_grad_norm)
    kind = float_dtype(dtype)
    norms = _joint(checked)
    exact = kind == np.float64
    clipped_at = _sum_budget(checked, bound) if exact else bound
    most_spread = 64.0 * bound if exact else math.inf
    factors = _representable(checked, _factors(norms, clipped_at, most_spread, kind), kind)
    sums: list[Array] = []
    for layer in checked:
        sums += _weighted(layer, factors, kind)
    if exact:
        sums = [_on_lattice(array, bound) for array in sums]
    private = PrivateDiagnostics(norms.nearest, factors)
    sensitivity = sensitivity_of(bound, adjacency_of(adjacency), kind)
    return ClippedSum(sums, sensitivity, (bound,), "flat", adjacency, private)


def _checked(layers: Any) -> list[LinearLayer]:
    if isinstance(layers, LinearLayer):
        raise ValueError("layers must be a list of LinearLayer, got one: put it in a list")
    if not isinstance(layers, list | tuple) or not layers:
        found = "an empty one" if isinstance(layers, list | tuple) else type(layers).__name__
        raise ValueError(f"layers must be a list of at least one LinearLayer, got {found}")
    checked: list[LinearLayer] = []
    for k, given in enumerate(layers):
        name = f"layers[{k}]"
        layer = _layer_of(given, name)
        a, g = rows_of([layer.activations, layer.output_gradients], name).arrays
        if a.ndim not in (2, 3) or a.shape[:-1] != g.shape[:-1]:
            raise ValueError(
                f"{name} must be of (B, inputs) and (B, outputs) or (B, T, inputs) and "
                f"(B, T, outputs), got {a.shape} and {g.shape}"
            )
        if a.ndim == 2:
            a, g = a[:, np.newaxis], g[:, np.newaxis]
        checked.append(LinearLayer(a, g, bool(layer.bias)))
        if len(a) != len(checked[0].activations):
            raise ValueError(
                f"{name} must have as many samples as layers[0], "
                f"{len(checked[0].activations)}, got {len(a)}"
            )
    return checked


def _layer_of(given: Any, name: str) -> LinearLayer:
    if not isinstance(given, list | tuple) or len(given) not in (2, 3):
        raise TypeError(
            f"{name} must be a LinearLayer or (activations, output_gradients), got {outline(given)}"
        )
    return LinearLayer(*given)


def _joint(layers: list[LinearLayer]) -> LayerNorms:
    """Norms over all layers."""
    parts = [layer_norms(*layer) for layer in layers]
    nearest, above, spread = (joint_norm(values) for values in list(zip(*parts, strict=True))[:3])
    reach = np.sum([part.reach for part in parts], axis=0)
    slack = 1.0 + len(parts) * 2.0**-50
    return LayerNorms(nearest, above * slack, spread * slack, reach)


def _sum_budget(layers: list[LinearLayer], bound: float) -> float:
    r"""Return the norm to clip at, such that sums in double precision move by ``bound`` at most.

    With w the factors, P_i = \sum_t |a_t| |g_t| and w_i P_i <= 64 C, the product over n = B T rows,
    in any order of summation, fused or not, is within n u / (1 - n u) \sum_i w_i P_i < 2^-14.99 C
    of the exact sum, as B n <= 2^32; over several layers by Minkowski's inequality. Rounding its D
    entries to the lattice of `clip_and_sum` moves it by g/2 sqrt(D) at most. Neighbours differ in
    both, and the parts of a batch in which they do not differ are the same: 2^-13.99 C + g sqrt(D).
    """
    shapes = [layer.activations.shape for layer in layers]
    refuse_too_many(shapes[0][0], "layers")
    if any(samples * samples * times > 2**32 for samples, times, _ in shapes):
        raise ValueError(
            "layers must have fewer samples and times, samples^2 times <= 2^32: sum smaller parts"
        )
    entries = sum(
        (layer.activations.shape[2] + layer.bias) * layer.output_gradients.shape[2]
        for layer in layers
    )
    return bound * (1.0 - 1.02 * 2.0**-14) - sum_spacing(bound) * math.sqrt(entries) * (
        1.0 + 2.0**-50
    )


def _on_lattice(array: Array, bound: float) -> Array:
    """Round a sum to the multiples that sums clipped at a bound consist of, in place."""
    spacing = sum_spacing(bound)
    array /= spacing
    np.rint(array, out=array)
    array *= spacing
    return array


def _factors(
    norms: LayerNorms, bound: float, most_spread: float, kind: np.dtype[Any]
) -> npt.NDArray[np.float64]:
    """Return factors w with w N (1 + 4 v) + 2 h reach <= C, rounded down to the dtype.

    And w P at most ``most_spread``.

    v is the unit of the dtype and h its smallest subnormal: w G is rounded, A perhaps as well, and
    their product, each at most by v relatively or h.
    """
    v, h = (2.0**-24, 2.0**-149) if kind == np.float32 else (_UNIT, 2.0**-1074)
    with np.errstate(all="ignore"):
        budget = np.maximum(bound - 2.0 * h * norms.reach, 0.0) * (1.0 - 8.0 * _UNIT)
        needed = norms.above * (1.0 + 5.0 * v)
        needed = np.maximum(needed, norms.spread * (bound / most_spread * (1.0 + 5.0 * v)))
        factors = np.where(needed <= budget, 1.0, budget / needed * (1.0 - 8.0 * _UNIT))
        factors[~np.isfinite(norms.nearest)] = 0.0
        single = factors.astype(kind)
        down = np.where(single > factors, np.nextafter(single, kind.type(0)), single)
    return np.where(down < np.finfo(kind).tiny, 0.0, down).astype(np.float64)


def _representable(layers: list[LinearLayer], factors: Any, kind: np.dtype[Any]) -> Any:
    """Factor 0 where a number of a sample is beyond those of the dtype."""
    for activations, gradients, _ in layers:
        for array, weights in ((activations, 1.0), (gradients, factors)):
            if array.dtype.itemsize > kind.itemsize:
                most = np.abs(array).max(axis=(1, 2), initial=0.0)
                factors = np.where(most * weights > np.finfo(kind).max, 0.0, factors)
    return factors


def _weighted(layer: LinearLayer, factors: Any, kind: np.dtype[Any]) -> list[Array]:
    """A^T diag(w) G, and the sum of w G where there is a bias."""
    used = (factors > 0.0)[:, np.newaxis, np.newaxis]
    weights = factors.astype(kind)[:, np.newaxis, np.newaxis]
    a, g = layer.activations, layer.output_gradients
    if not used.all():
        a, g = np.where(used, a, 0), np.where(used, g, 0)
    weighted = (weights * g).astype(kind, copy=False).reshape(-1, g.shape[-1])
    product = a.astype(kind, copy=False).reshape(-1, a.shape[-1]).T @ weighted
    return [product, weighted.sum(axis=0, dtype=kind)] if layer.bias else [product]
