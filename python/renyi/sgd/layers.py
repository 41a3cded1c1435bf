"""What the layers of a model leave behind in one pass forth and back, for clipping without rows.

Arrays are NumPy's, or on the CPU with ``__array__`` or ``__dlpack__``; the first axis counts the
samples. Output gradients are those of each sample's own loss with respect to what left the layer:
of the sum of the losses, not of their mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from renyi.sgd._rows import outline

__all__ = [
    "BiasLayer",
    "ConvLayer",
    "EmbeddingLayer",
    "LinearLayer",
    "LoRALayer",
    "NormLayer",
]


def _shown(layer: Any) -> str:
    """Arrays by their shapes: their numbers are records."""
    arrays = ("activations", "normalised", "tokens", "output_gradients", "a", "b")
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

    __repr__ = _shown


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

    __repr__ = _shown


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

    __repr__ = _shown


class NormLayer(NamedTuple):
    """Gain and bias after a normalisation of any kind, y = z * gain + bias, each (features,).

    Attributes
    ----------
    normalised : array
        The z: (B, ..., features) of a layer norm or an RMS norm, (B, features, ...) with ``axis=1``
        of a group norm.
    output_gradients : array
        Of the same shape.
    bias : bool
        Whether there is one: an RMS norm has none.
    axis : {-1, 1}
        Of the features.
    """

    normalised: Any
    output_gradients: Any
    bias: bool = True
    axis: int = -1

    __repr__ = _shown


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

    __repr__ = _shown


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

    __repr__ = _shown
