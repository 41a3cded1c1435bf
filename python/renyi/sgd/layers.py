"""Layers of models: the arrays of one forward and backward pass, and gradients from them.

Arrays are NumPy's, or on the CPU with ``__array__`` or ``__dlpack__``; the first axis counts the
samples. Output gradients are the gradients of each sample's own loss with respect to the outputs of
the layer: of the sum of the losses, not of their mean.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from renyi._adjacency import one_of
from renyi._arrays import Aligned, Array, outline, rows_of
from renyi._validation import FINITE_NON_NEGATIVE, array_of, integer_of, number_in, real_of
from renyi.sgd.layer_norms import LookupPiece, Piece, ProductPiece, RowsPiece

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

    Attributes:
        activations (array): The x, (B, inputs) or (B, T, inputs).
        output_gradients (array): (B, outputs) or (B, T, outputs).
        bias: Whether there is a b.
    """

    activations: Any
    output_gradients: Any
    bias: bool = True

    def __repr__(self) -> str:
        return _shown(self)


class ConvLayer(NamedTuple):
    """A convolution in one or two dimensions, channels first, padded with zeros.

    Its arrays are those of PyTorch: (outputs, inputs / groups, *kernel_size), and for a bias
    (outputs,).

    Attributes:
        activations (array): (B, inputs, length) or (B, inputs, height, width).
        output_gradients (array): (B, outputs, ...), an entry for each place of the output.
        kernel_size (int or tuple of int): A number holds for all dimensions, here and for the next
            three.
        stride, padding, dilation (int or tuple of int): As in PyTorch; padding on both sides.
        groups: Number of groups of channels that are convolved separately.
        bias: Whether there is one.
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
    """A table (rows, outputs); every token looks up a row.

    Attributes:
        tokens (array of int): (B,) or (B, T), in [0, rows).
        output_gradients (array): (B, outputs) or (B, T, outputs). They are zero where a token, such
            as padding, is not trained.
        rows: Number of rows of the table.
    """

    tokens: Any
    output_gradients: Any
    rows: int

    def __repr__(self) -> str:
        return _shown(self)


class NormLayer(NamedTuple):
    """Gain and bias after a normalisation, each (features,).

    Attributes:
        activations (array): The inputs of the normalisation: (B, ..., features), with "group" (B,
            features, ...).
        output_gradients (array): The same shape.
        kind ({"layer", "rms", "group", "none"}): Layer norm or RMS norm along the features, group
            norm along the features of a group and all places; with "none" the activations are
            normalised already, each sample by itself.
        epsilon: Added to variances, or to mean squares.
        groups: Number of groups of a group norm.
        bias: Whether there is a bias: an RMS norm usually has none.
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

    Attributes:
        output_gradients (array): (B, ..., features), or (B, features, ...) with ``axis=1``.
        axis ({-1, 1}): The axis of the features.
    """

    output_gradients: Any
    axis: int = -1

    def __repr__(self) -> str:
        return _shown(self)


class LoRALayer(NamedTuple):
    """A low-rank adapter, y = scale x A B beside a frozen layer (Hu et al. 2021).

    Its arrays are A (inputs, rank) and B (rank, outputs).

    Attributes:
        activations (array): The x, (B, inputs) or (B, T, inputs).
        output_gradients (array): (B, outputs) or (B, T, outputs): the gradients of the frozen
            layer, to whose output y is added.
        a, b (array): A and B as they were in the pass.
        scale: The constant in front.
    """

    activations: Any
    output_gradients: Any
    a: Any
    b: Any
    scale: float = 1.0

    def __repr__(self) -> str:
        return _shown(self)


Shape = tuple[int, ...]


@dataclass
class Work:
    """A checked layer. It has a piece for each array of parameters."""

    shapes: list[Shape]
    count: int
    times: int  # rows of a product for each record
    by_products: list[bool]  # arrays whose gradients are never made for one record
    record_bytes: int  # memory of the pieces of one record
    memory: Aligned = field(default_factory=Aligned)  # memory of the pieces, until the next ones

    def pieces(self, part: slice) -> list[Piece]:
        """Return the gradients of some records, one piece for each array of parameters."""
        raise NotImplementedError


def product_is_cheaper(times: int, rows: int, columns: int, kind: np.dtype[Any]) -> bool:
    """Whether inner products cost less than A^T G of each record, in nanoseconds or so.

    Inner products give the norms only: the sum is another product, in double precision. The other
    way computes rows in the precision of the input, their norms and their sum.
    """
    entries = rows * columns
    inner = times * times * (0.05 * (rows + columns) + 2.0) if times > 1 else 0.0
    made = times * entries * (0.05 if kind == np.float32 else 0.1)
    return inner + 0.1 * times * entries < made + 0.5 * entries


def _pair(layer: Any, name: str) -> tuple[Array, Array]:
    """Return activations and gradients (B, T, ...); both may be given without the axis of times."""
    a, g = rows_of([layer.activations, layer.output_gradients], name).arrays
    if a.ndim not in (2, 3) or a.shape[:-1] != g.shape[:-1]:
        raise ValueError(
            f"{name} must be of (B, inputs) and (B, outputs) or (B, T, inputs) and "
            f"(B, T, outputs), got {a.shape} and {g.shape}"
        )
    return (a[:, np.newaxis], g[:, np.newaxis]) if a.ndim == 2 else (a, g)


class LinearWork(Work):
    """Activations (B, T, inputs) and output gradients (B, T, outputs)."""

    def __init__(self, layer: LinearLayer, name: str) -> None:
        self._a, self._g = a, g = _pair(layer, name)
        self._bias = bias = bool(layer.bias)
        (count, times, inputs), outputs = a.shape, g.shape[2]
        self._kind = np.result_type(a, g, np.float32)
        ghost = product_is_cheaper(times, inputs, outputs, self._kind)
        taken = times * (inputs + outputs + ghost * times) + (not ghost) * inputs * outputs
        super().__init__(
            [(inputs, outputs)] + [(outputs,)] * bias,
            count,
            times,
            [ghost] + [False] * bias,
            taken * (8 if ghost else self._kind.itemsize),
        )

    def pieces(self, part: slice) -> list[Piece]:
        """Return the piece of the weights, and that of the bias."""
        a, g = self._a[part], self._g[part]
        if self.by_products[0]:
            first: Piece = ProductPiece(a, g)
        else:
            a, g = self.memory.copy("a", a, self._kind), self.memory.copy("g", g, self._kind)
            first = RowsPiece(self.memory.products("rows", a.transpose(0, 2, 1), g))
        if not self._bias:
            return [first]
        if g.shape[1] == 1:
            return [first, RowsPiece(g[:, 0])]
        return [first, RowsPiece(np.ascontiguousarray(g, self._kind).sum(axis=1))]


class ConvWork(Work):
    """Images (B, inputs, ...) and output gradients (B, outputs, places), by patches of images."""

    _LEAST: ClassVar = {"kernel_size": 1, "stride": 1, "padding": 0, "dilation": 1}

    def __init__(self, layer: ConvLayer, name: str) -> None:
        images, g = rows_of([layer.activations, layer.output_gradients], name).arrays
        if images.ndim not in (3, 4) or g.ndim != images.ndim:
            raise ValueError(
                f"{name} must be of (B, channels, length) or (B, channels, height, width) both, "
                f"got {images.shape} and {g.shape}"
            )
        (count, inputs, *sizes), outputs = images.shape, g.shape[1]
        settings = []
        for setting, least in self._LEAST.items():
            given = getattr(layer, setting)
            each = given if isinstance(given, tuple | list) else [given] * len(sizes)
            if len(each) != len(sizes):
                raise ValueError(
                    f"{name}.{setting} must be an integer or {len(sizes)} of them, got {given!r}"
                )
            settings.append(tuple(integer_of(n, f"{name}.{setting}", least) for n in each))
        self._kernel, self._stride, self._padding, self._dilation = settings
        self._places = tuple(
            max(0, (n + 2 * p - d * (k - 1) - 1) // s + 1)
            for n, k, s, p, d in zip(sizes, *settings, strict=True)
        )
        if g.shape[2:] != self._places:
            raise ValueError(
                f"{name} must have output gradients of (B, outputs, "
                f"{', '.join(map(str, self._places))}) with these settings, got {g.shape}"
            )
        groups = integer_of(layer.groups, f"{name}.groups", 1)
        if inputs % groups or outputs % groups:
            raise ValueError(f"{name}.groups must divide the channels, got {groups}")
        places, bias = math.prod(self._places), bool(layer.bias)
        self._images, self._g = images, g.reshape(count, outputs, places)
        self._groups, self._bias = groups, bias
        self._kind = np.result_type(images, g, np.float32)
        seen = inputs // groups * math.prod(self._kernel)
        ghost = groups == 1 and product_is_cheaper(places, seen, outputs, self._kind)
        taken = places * (groups * seen + outputs + ghost * places) + (not ghost) * outputs * seen
        super().__init__(
            [(outputs, inputs // groups, *self._kernel)] + [(outputs,)] * bias,
            count,
            places,
            [ghost] + [False] * bias,
            taken * (16 if ghost else self._kind.itemsize),
        )

    def pieces(self, part: slice) -> list[Piece]:
        """Return the piece of the weights, and that of the bias."""
        g = self.memory.copy("g", self._g[part], self._kind)
        seen = self._patches(self._images[part])
        groups, (outputs, inputs, *kernel) = self._groups, self.shapes[0]
        g_groups, seen = (
            array.reshape(len(g), groups, each, self.times)
            for array, each in ((g, outputs // groups), (seen, inputs * math.prod(kernel)))
        )
        if self.by_products[0]:
            first: Piece = ProductPiece(*(x[:, 0].transpose(0, 2, 1) for x in (g_groups, seen)))
        else:
            rows = self.memory.products("rows", g_groups, seen.transpose(0, 1, 3, 2))
            first = RowsPiece(rows.reshape(len(g), *self.shapes[0]))
        return [first, RowsPiece(g.sum(axis=2))] if self._bias else [first]

    def _patches(self, images: Array) -> Array:
        """Return (B, channels, *kernel, *places) of images (B, channels, ...)."""
        count, channels, *sizes = images.shape
        if any(self._padding) or images.dtype != self._kind:
            wide = [n + 2 * p for n, p in zip(sizes, self._padding, strict=True)]
            padded = self.memory.empty("padded", count, (channels, *wide), self._kind)
            padded[...] = 0.0
            inner = [slice(p, p + n) for n, p in zip(sizes, self._padding, strict=True)]
            padded[(slice(None), slice(None), *inner)] = images
            images = padded
        steps = images.strides[2:]
        windows = np.lib.stride_tricks.as_strided(
            images,
            (count, channels, *self._kernel, *self._places),
            (
                *images.strides[:2],
                *(step * d for step, d in zip(steps, self._dilation, strict=True)),
                *(step * s for step, s in zip(steps, self._stride, strict=True)),
            ),
            writeable=False,
        )
        result = self.memory.empty("patches", count, windows.shape[1:], self._kind)
        np.copyto(result, windows)
        return result


class EmbeddingWork(Work):
    """Tokens (B, T) and output gradients (B, T, outputs)."""

    def __init__(self, layer: EmbeddingLayer, name: str) -> None:
        rows = integer_of(layer.rows, f"{name}.rows", 1)
        (g,) = rows_of([layer.output_gradients], name).arrays
        tokens = array_of(layer.tokens, f"{name}.tokens", "an array of integers")
        if tokens.dtype.kind not in "iu":
            raise TypeError(
                f"{name}.tokens must be an array of integers, got one of {tokens.dtype}"
            )
        if tokens.ndim not in (1, 2) or tokens.shape != g.shape[:-1]:
            raise ValueError(
                f"{name} must be of tokens (B,) or (B, T) and gradients with one more axis, "
                f"outputs, got {tokens.shape} and {g.shape}"
            )
        if tokens.size and not (tokens.min() >= 0 and tokens.max() < rows):
            raise ValueError(f"{name}.tokens must be in [0, {rows}), the rows of the table")
        if tokens.ndim == 1:
            tokens, g = tokens[:, np.newaxis], g[:, np.newaxis]
        self._tokens, self._g = tokens, g
        self._kind = np.result_type(g, np.float32)
        count, times, outputs = g.shape
        taken = times * (16 + outputs * self._kind.itemsize)
        super().__init__([(rows, outputs)], count, times, [False], taken)

    def pieces(self, part: slice) -> list[Piece]:
        """Return the piece of the table."""
        tokens = np.ascontiguousarray(self._tokens[part], np.int64)
        order = np.argsort(tokens, axis=1, kind="stable").astype(np.int64, copy=False)
        return [LookupPiece(tokens, order, np.ascontiguousarray(self._g[part], self._kind))]


class LoRAWork(Work):
    """Activations (B, T, inputs), output gradients (B, T, outputs), and both factors."""

    def __init__(self, layer: LoRALayer, name: str) -> None:
        self._x, self._g = x, g = _pair(layer, name)
        a, b = (rows_of([m], f"{name}.{k}").arrays[0] for m, k in ((layer.a, "a"), (layer.b, "b")))
        (count, times, inputs), outputs = x.shape, g.shape[2]
        if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
            raise ValueError(
                f"{name} must have a of (inputs, rank) and b of (rank, outputs), got {a.shape} "
                f"and {b.shape}"
            )
        if (a.shape[0], b.shape[1]) != (inputs, outputs):
            raise ValueError(
                f"{name} must have a of ({inputs}, rank) and b of (rank, {outputs}), got "
                f"{a.shape} and {b.shape}"
            )
        self._scale = real_of(layer.scale, f"{name}.scale", "a finite number")
        if not math.isfinite(self._scale):
            raise ValueError(f"{name}.scale must be a finite number, got {self._scale!r}")
        self._kind = np.result_type(x, g, np.float32)
        factors = Aligned()
        self._a = factors.copy("a", a[np.newaxis], self._kind)[0]
        self._b = factors.copy("b", b[np.newaxis], self._kind)[0]
        rank = a.shape[1]
        taken = (times + rank) * (inputs + outputs) + 2 * times * rank
        item = self._kind.itemsize
        super().__init__([a.shape, b.shape], count, times, [False, False], taken * item)

    def pieces(self, part: slice) -> list[Piece]:
        """Return the pieces of A, x^T (scale G B^T), and B, (scale x A)^T G."""
        memory = self.memory
        x = memory.copy("x", self._x[part], self._kind)
        g = memory.copy("g", self._g[part], self._kind)
        inner = memory.products("inner", x, self._a)
        outer = memory.products("outer", g, self._b.T)
        for product in (inner, outer):
            product *= self._scale
        return [
            RowsPiece(memory.products("first", x.transpose(0, 2, 1), outer)),
            RowsPiece(memory.products("second", inner.transpose(0, 2, 1), g)),
        ]


class ScaleWork(Work):
    """A gain, unless there is only a bias, and a bias: along axis 1 or 2 of (B, ., .)."""

    def __init__(self, layer: NormLayer | BiasLayer, name: str) -> None:
        self._x = None
        if isinstance(layer, NormLayer):
            x, g = rows_of([layer.activations, layer.output_gradients], name).arrays
            if x.shape != g.shape:
                raise ValueError(
                    f"{name} must be of arrays of one shape, got {x.shape} and {g.shape}"
                )
            one_of(layer.kind, f"{name}.kind", get_args(NormKind))
            last, self._norm, self._bias = layer.kind != "group", layer.kind, bool(layer.bias)
            self._epsilon = number_in(layer.epsilon, f"{name}.epsilon", FINITE_NON_NEGATIVE)
            self._groups = integer_of(layer.groups, f"{name}.groups", 1)
        else:
            (g,) = rows_of([layer.output_gradients], name).arrays
            x, last, self._bias = None, one_of(layer.axis, f"{name}.axis", (-1, 1)) == -1, True
        if g.ndim < 2:
            raise ValueError(f"{name} must have an axis of features, got {g.shape}")
        rest = math.prod(g.shape[1:-1] if last else g.shape[2:])
        whole = (g.shape[0], rest, g.shape[-1]) if last else (g.shape[0], g.shape[1], rest)
        self._g, self._axis = g.reshape(whole), 2 if last else 1
        features = whole[self._axis]
        if x is not None:
            self._x = x.reshape(whole)
            if features % self._groups:
                raise ValueError(f"{name}.groups must divide the features, got {self._groups}")
        arrays = [self._g] if self._x is None else [self._x, self._g]
        self._kind = np.result_type(*arrays, np.float32)
        taken = 2 * len(arrays) * math.prod(whole[1:]) * self._kind.itemsize
        shapes: list[Shape] = [(features,)] * ((x is not None) + self._bias)
        super().__init__(shapes, len(g), 0, [False] * len(shapes), taken)

    def pieces(self, part: slice) -> list[Piece]:
        """Return the piece of the gain, and that of the bias."""
        g = np.ascontiguousarray(self._g[part], self._kind)
        found: list[Piece] = []
        if self._x is not None:
            z = self._normalised(np.ascontiguousarray(self._x[part], self._kind))
            axes = "bkt" if self._axis == 1 else "btk"
            found.append(RowsPiece(np.einsum(f"{axes},{axes}->bk", z, g)))
        if self._bias:
            found.append(RowsPiece(g.sum(axis=3 - self._axis)))
        return found

    def _normalised(self, x: Array) -> Array:
        """Return what the gain multiplies, from (m, T, features), or "group": (m, features, T)."""
        if self._norm == "none":
            return x
        shape = x.shape
        if self._norm == "group":
            x = x.reshape(len(x), self._groups, -1)
        features = max(1, x.shape[-1])
        if self._norm != "rms":
            x = x - (x.sum(axis=-1, keepdims=True) / features).astype(x.dtype, copy=False)
        squares = np.einsum("...k,...k->...", x, x)[..., np.newaxis] / features
        scaled = x * (1.0 / np.sqrt(squares + self._epsilon)).astype(x.dtype, copy=False)
        return np.asarray(scaled).reshape(shape)


Layer = LinearLayer | ConvLayer | EmbeddingLayer | NormLayer | BiasLayer | LoRALayer
_WORKS: dict[type, Callable[[Any, str], Work]] = {
    LinearLayer: LinearWork,
    ConvLayer: ConvWork,
    EmbeddingLayer: EmbeddingWork,
    LoRALayer: LoRAWork,
    NormLayer: ScaleWork,
    BiasLayer: ScaleWork,
}


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
        if type(given) in _WORKS:
            work = _WORKS[type(given)](given, name)
        elif isinstance(given, list | tuple) and len(given) in (2, 3):
            work = LinearWork(LinearLayer(*given), name)
        else:
            raise TypeError(
                f"{name} must be a LinearLayer, (activations, output_gradients) or another layer, "
                f"got {outline(given)}"
            )
        works.append(work)
        if work.count != works[0].count:
            raise ValueError(
                f"{name} must have as many samples as layers[0], {works[0].count}, got {work.count}"
            )
    return works
