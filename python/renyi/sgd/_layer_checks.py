"""From layers as they were given to what there is to do, or the error that says what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, get_args

import numpy as np

from renyi._validation import integer_of, one_of, real_of
from renyi.sgd._convolution import Patches
from renyi.sgd._layer_work import (
    ConvWork,
    EmbeddingWork,
    LinearWork,
    LoRAWork,
    ScaleWork,
    Work,
)
from renyi.sgd._normalisation import normalisation
from renyi.sgd._rows import Array, outline, refuse_masked, rows_of
from renyi.sgd.layers import (
    BiasLayer,
    ConvLayer,
    EmbeddingLayer,
    LinearLayer,
    LoRALayer,
    NormKind,
    NormLayer,
)

__all__ = ["Layer", "works_of"]

Layer = LinearLayer | ConvLayer | EmbeddingLayer | NormLayer | BiasLayer | LoRALayer


def works_of(layers: Any) -> list[Work]:
    """Return the layers of a list, checked, with the same number of records."""
    if isinstance(layers, Layer):
        kind = type(layers).__name__
        raise ValueError(f"layers must be a list of layers, got one {kind}: put it in a list")
    if not isinstance(layers, list | tuple) or not layers:
        found = "an empty one" if isinstance(layers, list | tuple) else type(layers).__name__
        raise ValueError(f"layers must be a list of at least one layer, got {found}")
    works: list[Work] = []
    for k, given in enumerate(layers):
        name = f"layers[{k}]"
        work = _work_of(given, name)
        works.append(work)
        if work.count != works[0].count:
            raise ValueError(
                f"{name} must have as many samples as layers[0], {works[0].count}, got {work.count}"
            )
    return works


def _work_of(given: Any, name: str) -> Work:
    make = _MAKERS.get(type(given))
    if make is not None:
        return make(given, name)
    if not isinstance(given, list | tuple) or len(given) not in (2, 3):
        raise TypeError(
            f"{name} must be a LinearLayer, (activations, output_gradients) or another layer, got "
            f"{outline(given)}"
        )
    return _linear(LinearLayer(*given), name)


def _pair(first: Any, second: Any, name: str, what: tuple[str, str]) -> tuple[Array, Array]:
    """Return two arrays (B, T, ...), of which both or neither was given the axis of times."""
    a, g = rows_of([first, second], name).arrays
    if a.ndim not in (2, 3) or a.shape[:-1] != g.shape[:-1]:
        raise ValueError(
            f"{name} must be of (B, {what[0]}) and (B, {what[1]}) or (B, T, {what[0]}) and "
            f"(B, T, {what[1]}), got {a.shape} and {g.shape}"
        )
    return (a[:, np.newaxis], g[:, np.newaxis]) if a.ndim == 2 else (a, g)


def _linear(layer: LinearLayer, name: str) -> Work:
    a, g = _pair(layer.activations, layer.output_gradients, name, ("inputs", "outputs"))
    return LinearWork(a, g, bool(layer.bias))


def _conv(layer: ConvLayer, name: str) -> Work:
    images, g = rows_of([layer.activations, layer.output_gradients], name).arrays
    if images.ndim not in (3, 4) or g.ndim != images.ndim:
        raise ValueError(
            f"{name} must be of (B, channels, length) or (B, channels, height, width) both, got "
            f"{images.shape} and {g.shape}"
        )
    patches = Patches.of(layer, images.shape[2:], name)
    if g.shape[2:] != patches.outputs:
        raise ValueError(
            f"{name} must have output gradients of (B, outputs, "
            f"{', '.join(map(str, patches.outputs))}) with these settings, got {g.shape}"
        )
    groups = integer_of(layer.groups, f"{name}.groups", 1)
    if images.shape[1] % groups or g.shape[1] % groups:
        raise ValueError(f"{name}.groups must divide the channels, got {groups}")
    g = g.reshape(*g.shape[:2], patches.places)
    return ConvWork(images, g, patches, groups, bool(layer.bias))


def _embedding(layer: EmbeddingLayer, name: str) -> Work:
    rows = integer_of(layer.rows, f"{name}.rows", 1)
    (g,) = rows_of([layer.output_gradients], name).arrays
    refuse_masked(layer.tokens, f"{name}.tokens")
    tokens = np.asarray(layer.tokens)
    if tokens.dtype.kind not in "iu":
        raise TypeError(f"{name}.tokens must be an array of integers, got one of {tokens.dtype}")
    if tokens.ndim not in (1, 2) or tokens.shape != g.shape[:-1]:
        raise ValueError(
            f"{name} must be of tokens (B,) or (B, T) and gradients with one more axis, outputs, "
            f"got {tokens.shape} and {g.shape}"
        )
    if tokens.size and not (tokens.min() >= 0 and tokens.max() < rows):
        raise ValueError(f"{name}.tokens must be in [0, {rows}), the rows of the table")
    if tokens.ndim == 1:
        tokens, g = tokens[:, np.newaxis], g[:, np.newaxis]
    return EmbeddingWork(tokens, g, rows)


def _lora(layer: LoRALayer, name: str) -> Work:
    x, g = _pair(layer.activations, layer.output_gradients, name, ("inputs", "outputs"))
    a, b = (rows_of([m], f"{name}.{k}").arrays[0] for m, k in ((layer.a, "a"), (layer.b, "b")))
    inputs, outputs = x.shape[2], g.shape[2]
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(
            f"{name} must have a of (inputs, rank) and b of (rank, outputs), got {a.shape} and "
            f"{b.shape}"
        )
    if (a.shape[0], b.shape[1]) != (inputs, outputs):
        raise ValueError(
            f"{name} must have a of ({inputs}, rank) and b of (rank, {outputs}), got {a.shape} and "
            f"{b.shape}"
        )
    scale = real_of(layer.scale, f"{name}.scale", "a finite number")
    if not math.isfinite(scale):
        raise ValueError(f"{name}.scale must be a finite number, got {scale!r}")
    return LoRAWork(x, g, a, b, scale)


def _norm(layer: NormLayer, name: str) -> Work:
    x, g = rows_of([layer.activations, layer.output_gradients], name).arrays
    if x.shape != g.shape:
        raise ValueError(f"{name} must be of arrays of one shape, got {x.shape} and {g.shape}")
    one_of(layer.kind, f"{name}.kind", get_args(NormKind))
    axis, (x, g) = _along(1 if layer.kind == "group" else -1, [x, g], name)
    epsilon = real_of(layer.epsilon, f"{name}.epsilon", "a number >= 0")
    if not 0.0 <= epsilon < math.inf:
        raise ValueError(f"{name}.epsilon must be a number >= 0, got {layer.epsilon!r}")
    groups = integer_of(layer.groups, f"{name}.groups", 1)
    if x.shape[axis] % groups:
        raise ValueError(f"{name}.groups must divide the features, got {groups}")
    return ScaleWork(x, g, axis, bool(layer.bias), normalisation(layer.kind, epsilon, groups))


def _bias(layer: BiasLayer, name: str) -> Work:
    one_of(layer.axis, f"{name}.axis", (-1, 1))
    axis, (g,) = _along(layer.axis, rows_of([layer.output_gradients], name).arrays, name)
    return ScaleWork(None, g, axis, True, None)


def _along(axis: int, arrays: list[Array], name: str) -> tuple[int, list[Array]]:
    """Return arrays (B, T, features) or (B, features, T), and which axis the features are."""
    shape = arrays[0].shape
    if len(shape) < 2:
        raise ValueError(f"{name} must have an axis of features, got {shape}")
    last = axis == -1
    rest = math.prod(shape[1:-1] if last else shape[2:])
    whole = (shape[0], rest, shape[-1]) if last else (shape[0], shape[1], rest)
    return (2 if last else 1), [array.reshape(whole) for array in arrays]


_MAKERS: dict[type, Callable[[Any, str], Work]] = {
    LinearLayer: _linear,
    ConvLayer: _conv,
    EmbeddingLayer: _embedding,
    LoRALayer: _lora,
    NormLayer: _norm,
    BiasLayer: _bias,
}
