"""Layers with their arrays checked: what each has to do for some records, and what that takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from renyi.sgd._aligned import Aligned
from renyi.sgd._convolution import Patches
from renyi.sgd._layer_pieces import LookupPiece, Piece, ProductPiece, RowsPiece
from renyi.sgd._rows import Array

__all__ = ["ConvWork", "EmbeddingWork", "LinearWork", "LoRAWork", "ScaleWork", "Work"]

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
        """Return what is known of some records."""
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
        """Return those of A, x^T (scale G B^T), and B, (scale x A)^T G."""
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
