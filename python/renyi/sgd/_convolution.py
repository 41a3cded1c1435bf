"""Convolutions as products: the patches of the input that each weight meets."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from renyi._validation import integer_of
from renyi.sgd._aligned import Aligned
from renyi.sgd._rows import Array

__all__ = ["Patches"]


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
