"""What layers leave behind in one pass forth and back, and what of it each weight meets."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from renyi._arrays import Aligned, Array, outline
from renyi._validation import integer_of

__all__ = [
    "BiasLayer",
    "ConvLayer",
    "EmbeddingLayer",
    "LinearLayer",
    "LoRALayer",
    "NormKind",
    "NormLayer",
    "Patches",
    "normalisation",
]


# What the layers of a model leave behind in one pass forth and back, for clipping without rows.
#
# Arrays are NumPy's, or on the CPU with ``__array__`` or ``__dlpack__``; the first axis counts the
# samples. Output gradients are those of each sample's own loss with respect to what left the layer:
# of the sum of the losses, not of their mean.


NormKind = Literal["layer", "rms", "group", "none"]


def _shown(layer: Any) -> str:
    """Arrays by their shapes: their numbers are records."""
    arrays = ("activations", "tokens", "output_gradients", "a", "b")
    fields = [
        f"{name.replace('_', ' ')} {outline(value) if name in arrays else repr(value)}"
        for name, value in zip(layer._fields, layer, strict=True)
    ]
    return f"<{type(layer).__name__}: {', '.join(fields)}>"


class LinearLayer(NamedTuple):
    """A linear layer y = x W + b, of arrays W (inputs, outputs) and b (outputs,).

    Attributes
    ----------
    activations : array
        The x, (B, inputs) or (B, T, inputs).
    output_gradients : array
        (B, outputs) or (B, T, outputs).
    bias : bool
        Whether there is a b.
    """

    activations: Any
    output_gradients: Any
    bias: bool = True

    def __repr__(self) -> str:
        return _shown(self)


class ConvLayer(NamedTuple):
    """A convolution in one or two dimensions, channels first, beyond whose edges there are zeros.

    Its arrays are those of PyTorch: (outputs, inputs / groups, *kernel_size), and for a bias
    (outputs,).

    Attributes
    ----------
    activations : array
        (B, inputs, length) or (B, inputs, height, width).
    output_gradients : array
        (B, outputs, ...), as many places as the convolution has.
    kernel_size : int or tuple of int
        A number is for all dimensions; so with the next three.
    stride, padding, dilation : int or tuple of int
        As in PyTorch; padding on both sides.
    groups : int
        Of channels that see nothing of the others.
    bias : bool
        Whether there is one.
    """

    activations: Any
    output_gradients: Any
    kernel_size: Any
    stride: Any = 1
    padding: Any = 0
    dilation: Any = 1
    groups: int = 1
    bias: bool = True

    def __repr__(self) -> str:
        return _shown(self)


class EmbeddingLayer(NamedTuple):
    """A table (rows, outputs), of which every token looks up a row.

    Attributes
    ----------
    tokens : array of int
        (B,) or (B, T), in [0, rows).
    output_gradients : array
        (B, outputs) or (B, T, outputs). Zeros where a token, such as padding, is not trained.
    rows : int
        Of the table.
    """

    tokens: Any
    output_gradients: Any
    rows: int

    def __repr__(self) -> str:
        return _shown(self)


class NormLayer(NamedTuple):
    """Gain and bias after a normalisation, each (features,).

    Attributes
    ----------
    activations : array
        Before the normalisation: (B, ..., features), with "group" (B, features, ...).
    output_gradients : array
        Of the same shape.
    kind : {"layer", "rms", "group", "none"}
        Layer norm or RMS norm along the features, group norm along the features of a group and all
        places; with "none" the activations are normalised already, by whatever looks at one sample
        only.
    epsilon : float
        Added to variances, or to mean squares.
    groups : int
        Of a group norm.
    bias : bool
        Whether there is one: an RMS norm has none as a rule.
    """

    activations: Any
    output_gradients: Any
    kind: NormKind = "layer"
    epsilon: float = 1e-5
    groups: int = 1
    bias: bool = True

    def __repr__(self) -> str:
        return _shown(self)


class BiasLayer(NamedTuple):
    """A bias (features,) by itself, added everywhere.

    Attributes
    ----------
    output_gradients : array
        (B, ..., features), or (B, features, ...) with ``axis=1``.
    axis : {-1, 1}
        Of the features.
    """

    output_gradients: Any
    axis: int = -1

    def __repr__(self) -> str:
        return _shown(self)


class LoRALayer(NamedTuple):
    """A low-rank adapter, y = scale x A B beside a frozen layer (Hu et al. 2021).

    Its arrays are A (inputs, rank) and B (rank, outputs).

    Attributes
    ----------
    activations : array
        The x, (B, inputs) or (B, T, inputs).
    output_gradients : array
        (B, outputs) or (B, T, outputs): those of the frozen layer, to which y is added.
    a, b : array
        A and B as they were in the pass.
    scale : float
        The constant in front.
    """

    activations: Any
    output_gradients: Any
    a: Any
    b: Any
    scale: float = 1.0

    def __repr__(self) -> str:
        return _shown(self)


# What the gain of a normalisation multiplies, record by record.


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


# Convolutions as products: the patches of the input that each weight meets.


class Patches(NamedTuple):
    """Where the kernel of a convolution meets inputs, by dimension."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    @classmethod
    def of(cls, layer: Any, inputs: tuple[int, ...], name: str) -> Patches:
        """Return those of a `ConvLayer` for inputs of this size."""
        settings = []
        for field, least in (("kernel_size", 1), ("stride", 1), ("padding", 0), ("dilation", 1)):
            given = getattr(layer, field)
            each = given if isinstance(given, tuple | list) else [given] * len(inputs)
            if len(each) != len(inputs):
                raise ValueError(
                    f"{name}.{field} must be an integer or {len(inputs)} of them, got {given!r}"
                )
            settings.append(tuple(integer_of(n, f"{name}.{field}", least) for n in each))
        outputs = tuple(
            max(0, (n + 2 * p - d * (k - 1) - 1) // s + 1)
            for n, k, s, p, d in zip(inputs, *settings, strict=True)
        )
        return cls(inputs, outputs, *settings)

    @property
    def places(self) -> int:
        """Of the output."""
        return math.prod(self.outputs)

    def gathered(self, images: Array, kind: Any, memory: Aligned) -> Array:
        """Return (B, channels, *kernel, *outputs) of images (B, channels, *inputs)."""
        padded = self._padded(images, kind, memory)
        count, channels = images.shape[:2]
        steps = padded.strides[2:]
        windows = np.lib.stride_tricks.as_strided(
            padded,
            (count, channels, *self.kernel, *self.outputs),
            (
                *padded.strides[:2],
                *(step * d for step, d in zip(steps, self.dilation, strict=True)),
                *(step * s for step, s in zip(steps, self.stride, strict=True)),
            ),
            writeable=False,
        )
        result = memory.empty("patches", count, windows.shape[1:], kind)
        np.copyto(result, windows)
        return result

    def _padded(self, images: Array, kind: Any, memory: Aligned) -> Array:
        if not any(self.padding) and images.dtype == kind:
            return images
        sizes = [n + 2 * p for n, p in zip(self.inputs, self.padding, strict=True)]
        padded = memory.empty("padded", len(images), (images.shape[1], *sizes), kind)
        padded[...] = 0.0
        inner = [slice(p, p + n) for n, p in zip(self.inputs, self.padding, strict=True)]
        padded[(slice(None), slice(None), *inner)] = images
        return padded
