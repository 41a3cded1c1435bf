"""What the layers of a model leave behind in one pass forth and back, for clipping without rows.

Arrays are NumPy's, or on the CPU with ``__array__`` or ``__dlpack__``; the first axis counts the
samples. Output gradients are those of each sample's own loss with respect to what left the layer:
of the sum of the losses, not of their mean.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from renyi.sgd._rows import outline

__all__ = [
    "BiasLayer",
    "ConvLayer",
    "EmbeddingLayer",
    "LinearLayer",
    "LoRALayer",
    "NormKind",
    "NormLayer",
]

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
