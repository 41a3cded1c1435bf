"""Layers of models: what one pass forth and back leaves behind, and what each layer makes of it.

Arrays are NumPy's, or on the CPU with ``__array__`` or ``__dlpack__``; the first axis counts the
samples. Output gradients are those of each sample's own loss with respect to what left the layer:
of the sum of the losses, not of their mean.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from renyi._arrays import Aligned, Array, outline, refuse_masked, rows_of
from renyi._validation import integer_of, one_of, real_of
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


class Patches(NamedTuple):
    """The patches of a convolution, by dimension."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    @classmethod
    def of(cls, layer: Any, inputs: tuple[int, ...], name: str) -> Patches:
        """Return the patches of a `ConvLayer` for inputs of this size."""
        settings = []
        for setting, least in (("kernel_size", 1), ("stride", 1), ("padding", 0), ("dilation", 1)):
            given = getattr(layer, setting)
            each = given if isinstance(given, tuple | list) else [given] * len(inputs)
            if len(each) != len(inputs):
                raise ValueError(
                    f"{name}.{setting} must be an integer or {len(inputs)} of them, got {given!r}"
                )
            settings.append(tuple(integer_of(n, f"{name}.{setting}", least) for n in each))
        outputs = tuple(
            max(0, (n + 2 * p - d * (k - 1) - 1) // s + 1)
            for n, k, s, p, d in zip(inputs, *settings, strict=True)
        )
        return cls(inputs, outputs, *settings)

    @property
    def places(self) -> int:
        """The number of places of the output."""
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


Shape = tuple[int, ...]
Normalise = Callable[[Array], Array]


@dataclass
class Work:
    """A layer. Its pieces are those of its arrays of parameters."""

    shapes: list[Shape]
    count: int
    times: int  # rows of a product for each record
    by_products: list[bool]  # arrays whose gradients are never made for one record
    record_bytes: int  # that the pieces of one record take
    memory: Aligned = field(default_factory=Aligned)  # of the pieces: they live until the next ones

    def pieces(self, part: slice) -> list[Piece]:
        """Return the gradients of some records, one piece for each array of parameters."""
        raise NotImplementedError


def product_is_cheaper(times: int, rows: int, columns: int, kind: np.dtype[Any]) -> bool:
    """Whether inner products cost less than A^T G of each record, in nanoseconds or so.

    Inner products are for the norms only: the sum is another product, in double precision. Rows
    come in the precision of the input, are measured and added.
    """
    entries = rows * columns
    inner = times * times * (0.05 * (rows + columns) + 2.0) if times > 1 else 0.0
    made = times * entries * (0.05 if kind == np.float32 else 0.1)
    return inner + 0.1 * times * entries < made + 0.5 * entries


class LinearWork(Work):
    """Activations (B, T, inputs) and output gradients (B, T, outputs)."""

    def __init__(self, a: Array, g: Array, bias: bool) -> None:
        self._a, self._g = a, g
        count, times, inputs = a.shape
        outputs = g.shape[2]
        self._kind = np.result_type(a, g, np.float32)
        self._bias = bias
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
    """Images (B, inputs, ...) and output gradients (B, outputs, places)."""

    def __init__(self, images: Array, g: Array, patches: Patches, groups: int, bias: bool) -> None:
        self._images, self._g, self._patches = images, g, patches
        self._groups, self._bias = groups, bias
        self._kind = np.result_type(images, g, np.float32)
        count, inputs = images.shape[:2]
        outputs, places = g.shape[1], patches.places
        seen = inputs // groups * math.prod(patches.kernel)
        ghost = groups == 1 and product_is_cheaper(places, seen, outputs, self._kind)
        taken = places * (groups * seen + outputs + ghost * places) + (not ghost) * outputs * seen
        super().__init__(
            [(outputs, inputs // groups, *patches.kernel)] + [(outputs,)] * bias,
            count,
            places,
            [ghost] + [False] * bias,
            taken * (16 if ghost else self._kind.itemsize),
        )

    def pieces(self, part: slice) -> list[Piece]:
        """Return the piece of the weights, and that of the bias."""
        g = self.memory.copy("g", self._g[part], self._kind)
        seen = self._patches.gathered(self._images[part], self._kind, self.memory)
        groups, (outputs, inputs, *kernel) = self._groups, self.shapes[0]
        g_groups, seen = (
            array.reshape(len(g), groups, each, self._patches.places)
            for array, each in ((g, outputs // groups), (seen, inputs * math.prod(kernel)))
        )
        if self.by_products[0]:
            first: Piece = ProductPiece(*(x[:, 0].transpose(0, 2, 1) for x in (g_groups, seen)))
        else:
            rows = self.memory.products("rows", g_groups, seen.transpose(0, 1, 3, 2))
            first = RowsPiece(rows.reshape(len(g), *self.shapes[0]))
        return [first, RowsPiece(g.sum(axis=2))] if self._bias else [first]


class EmbeddingWork(Work):
    """Tokens (B, T) and output gradients (B, T, outputs)."""

    def __init__(self, tokens: Array, g: Array, rows: int) -> None:
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

    def __init__(self, x: Array, g: Array, a: Array, b: Array, scale: float) -> None:
        self._x, self._g, self._scale = x, g, scale
        self._kind = np.result_type(x, g, np.float32)
        factors = Aligned()
        self._a = factors.copy("a", a[np.newaxis], self._kind)[0]
        self._b = factors.copy("b", b[np.newaxis], self._kind)[0]
        (inputs, rank), outputs = a.shape, b.shape[1]
        count, times = x.shape[:2]
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
    """A gain and a bias, along an axis, 1 or 2, of arrays of three dimensions.

    What the gain multiplies is found from the input by ``normalise``; without it there is only a
    bias.
    """

    def __init__(
        self, x: Array | None, g: Array, axis: int, bias: bool, normalise: Normalise | None
    ) -> None:
        self._x, self._g, self._axis, self._bias = x, g, axis, bias
        self._normalise = normalise
        arrays = [g] if x is None else [x, g]
        self._kind = np.result_type(*arrays, np.float32)
        taken = 2 * len(arrays) * math.prod(g.shape[1:]) * self._kind.itemsize
        shapes: list[Shape] = [(g.shape[axis],)] * ((x is not None) + bias)
        super().__init__(shapes, len(g), 0, [False] * len(shapes), taken)

    def pieces(self, part: slice) -> list[Piece]:
        """Return the piece of the gain, and that of the bias."""
        g = np.ascontiguousarray(self._g[part], self._kind)
        found: list[Piece] = []
        if self._x is not None and self._normalise is not None:
            z = self._normalise(np.ascontiguousarray(self._x[part], self._kind))
            axes = "bkt" if self._axis == 1 else "btk"
            found.append(RowsPiece(np.einsum(f"{axes},{axes}->bk", z, g)))
        if self._bias:
            found.append(RowsPiece(g.sum(axis=3 - self._axis)))
        return found


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
