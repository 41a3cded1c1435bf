"""Gradients of single samples by the definition of each layer, place by place."""

import itertools
import math

import numpy as np

from renyi.sgd import BiasLayer, ConvLayer, EmbeddingLayer, LinearLayer, LoRALayer, NormLayer


def in_full(layers):
    """Return one array (B, ...) in double precision for each array of parameters."""
    return [rows for layer in layers for rows in _WAYS[type(layer)](layer)]


def _doubles(*arrays):
    return [np.array(array, dtype=np.float64) for array in arrays]


def _timed(*arrays):
    return [a[:, np.newaxis] if a.ndim == 2 else a for a in _doubles(*arrays)]


def _linear(layer):
    a, g = _timed(layer.activations, layer.output_gradients)
    rows = np.zeros((len(a), a.shape[2], g.shape[2]))
    for b, t in itertools.product(*map(range, a.shape[:2])):
        rows[b] += np.outer(a[b, t], g[b, t])
    return [rows, g.sum(axis=1)] if layer.bias else [rows]


def _conv(layer):
    x, g = _doubles(layer.activations, layer.output_gradients)
    places = x.ndim - 2
    kernel, stride, padding, dilation = (
        tuple(n) if isinstance(n, tuple) else (n,) * places for n in layer[2:6]
    )
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    inputs, outputs = x.shape[1] // layer.groups, g.shape[1] // layer.groups
    rows = np.zeros((len(x), g.shape[1], inputs, *kernel))
    for o, offset in itertools.product(range(g.shape[1]), itertools.product(*map(range, kernel))):
        first = o // outputs * inputs
        for place in itertools.product(*map(range, g.shape[2:])):
            at = [p * s + k * d for p, s, k, d in zip(place, stride, offset, dilation, strict=True)]
            seen = x[(slice(None), slice(first, first + inputs), *at)]
            rows[(slice(None), o, slice(None), *offset)] += seen * g[(slice(None), [o], *place)]
    bias = g.sum(axis=tuple(range(2, g.ndim)))
    return [rows, bias] if layer.bias else [rows]


def _embedding(layer):
    tokens, (g,) = np.asarray(layer.tokens), _doubles(layer.output_gradients)
    rows = np.zeros((len(g), layer.rows, g.shape[-1]))
    for at in np.ndindex(tokens.shape):
        rows[at[0], tokens[at]] += g[at]
    return [rows]


def _norm(layer):
    x, g = _doubles(layer.activations, layer.output_gradients)
    if layer.kind == "group":
        z = x.reshape(len(x), layer.groups, math.prod(x.shape[1:]) // layer.groups)
        z = z - z.mean(axis=-1, keepdims=True)
        z = (z / np.sqrt((z * z).mean(axis=-1, keepdims=True) + layer.epsilon)).reshape(x.shape)
        z, g = np.moveaxis(z, 1, -1), np.moveaxis(g, 1, -1)
    else:
        z = x - x.mean(axis=-1, keepdims=True) if layer.kind == "layer" else x
        if layer.kind != "none":
            z = z / np.sqrt((z * z).mean(axis=-1, keepdims=True) + layer.epsilon)
    middle = tuple(range(1, g.ndim - 1))
    return [(z * g).sum(axis=middle), g.sum(axis=middle)][: 1 + layer.bias]


def _bias(layer):
    (g,) = _doubles(layer.output_gradients)
    g = np.moveaxis(g, layer.axis, -1)
    return [g.sum(axis=tuple(range(1, g.ndim - 1)))]


def _lora(layer):
    x, g = _timed(layer.activations, layer.output_gradients)
    a, b = _doubles(layer.a, layer.b)
    first = np.einsum("bti,bto,ro->bir", x, g, b)
    second = np.einsum("bti,ir,bto->bro", x, a, g)
    return [layer.scale * first, layer.scale * second]


_WAYS = {
    LinearLayer: _linear,
    ConvLayer: _conv,
    EmbeddingLayer: _embedding,
    NormLayer: _norm,
    BiasLayer: _bias,
    LoRALayer: _lora,
}
