"""What the gain of a normalisation multiplies, record by record."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from renyi.sgd._rows import Array
from renyi.sgd.layers import NormKind

__all__ = ["normalisation"]


def normalisation(kind: NormKind, epsilon: float, groups: int) -> Callable[[Array], Array]:
    """Return the function of (m, T, features), or with "group" of (m, features, T)."""
    if kind == "none":
        return lambda x: x
    if kind == "rms":
        return functools.partial(_over_root_mean_square, epsilon=epsilon)
    if kind == "layer":
        return functools.partial(_centred, epsilon=epsilon)
    return functools.partial(_grouped, epsilon=epsilon, groups=groups)


def _over_root_mean_square(x: Array, epsilon: float) -> Array:
    squares = np.einsum("...k,...k->...", x, x)[..., np.newaxis] / max(1, x.shape[-1])
    return np.asarray(x * (1.0 / np.sqrt(squares + epsilon)).astype(x.dtype, copy=False))


def _centred(x: Array, epsilon: float) -> Array:
    means = x.sum(axis=-1, keepdims=True) / max(1, x.shape[-1])
    return _over_root_mean_square(x - means.astype(x.dtype, copy=False), epsilon)


def _grouped(x: Array, epsilon: float, groups: int) -> Array:
    return _centred(x.reshape(len(x), groups, -1), epsilon).reshape(x.shape)
