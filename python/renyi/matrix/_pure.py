"""Correlated noise as two functions, for training loops that carry their state themselves."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from importlib import import_module
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from renyi._training import fingerprint
from renyi._validation import one_of
from renyi.matrix._kernels import Held, Kernel, check_finite, kernel_of_strategy
from renyi.matrix._strategy import Strategy

Library = Literal["numpy", "jax", "torch"]


class NoiseState(NamedTuple):
    """Steps so far, and the buffers of each array: NumPy arrays, whatever the library.

    ``mark`` is the same in all buffers, so that buffers of different steps are not mixed. The
    buffers are as secret as those of a `NoiseStream`.
    """

    step: int
    buffers: tuple[dict[str, npt.NDArray[Any]], ...]
    mark: int

    @classmethod
    def of(cls, step: int, buffers: tuple[dict[str, npt.NDArray[Any]], ...]) -> NoiseState:
        """Return the buffers after ``step`` steps, with their mark."""
        return cls(step, buffers, _mark_of(step, buffers))


def _mark_of(step: int, buffers: Any) -> int:
    mark = int(step)
    for held in buffers:
        for name in sorted(held):
            mark = fingerprint(np.ascontiguousarray(held[name]), mark)
    return mark


class NoiseFunctions(NamedTuple):
    """The two functions that `noise_functions` returns."""

    init: Callable[[Any], NoiseState]
    next: Callable[[NoiseState, Any], tuple[Any, NoiseState]]


def noise_functions(
    strategy: Strategy,
    scale: float,
    *,
    library: Library = "numpy",
    generator: Any = None,
    threads: int | None = None,
) -> NoiseFunctions:
    """Return ``init(sums) -> state`` and ``next(state, sums) -> (released, state)``.

    The functions change none of their arguments: a state may be kept, saved and continued. Noise
    comes from the generator, not from the state: two continuations of one state are two releases of
    the strategy, and each has its cost. A state whose step or buffers were changed is refused. All
    else is as for `NoiseStream`.

    Args:
        scale: Standard deviation of z.
        library ({"numpy", "jax", "torch"}): Library of the sums, an array or a list of arrays of
            float32 or float64 on the CPU. With JAX the functions are to be called outside of
            ``jit``.
        generator, threads: As for `NoiseStream`.

    Raises:
        ImportError: If the library is not installed.

    >>> from renyi.matrix import SquareRoot
    >>> init, next = noise_functions(SquareRoot(10), 2.0)
    >>> sums = [np.zeros(3), np.zeros((2, 2))]
    >>> state = init(sums)
    >>> released, state = next(state, sums)
    >>> state.step, [array.shape for array in released]
    (1, [(3,), (2, 2)])
    """
    from renyi._arrays import float_dtype, noise_scale, threads_of
    from renyi.noise.generator import generator_of

    one_of(library, "library", get_args(Library))
    module, maker = _MAKERS[library]
    make = getattr(import_module(module), maker)
    source, count = generator_of(generator), threads_of(threads)
    kernels: dict[tuple[int, np.dtype[Any]], Kernel] = {}

    def kernel(array: npt.NDArray[Any]) -> Kernel:
        key = (array.size, float_dtype(array.dtype))
        noise_scale(scale, key[1])
        if key not in kernels:
            kernels[key] = kernel_of_strategy(strategy, *key)
        return kernels[key]

    def init(sums: Any) -> NoiseState:
        arrays = _arrays(sums)
        kinds = [kernel_of_strategy(strategy, a.size, float_dtype(a.dtype)) for a in arrays]
        return NoiseState.of(0, tuple(kind.held.arrays for kind in kinds))

    def step(state: NoiseState, sums: Any) -> tuple[Any, NoiseState]:
        arrays = _arrays(sums)
        if state.step >= strategy.steps:
            raise RuntimeError(
                f"the noise must end after the {strategy.steps} steps of the strategy: more are "
                "not covered by its guarantee"
            )
        if len(arrays) != len(state.buffers):
            raise ValueError(f"sums must be {len(state.buffers)} arrays, got {len(arrays)}")
        if state.mark != _mark_of(state.step, state.buffers):
            raise ValueError("state must be one that was returned, got buffers of another step")
        workers = []
        for array, buffers in zip(arrays, state.buffers, strict=True):
            worker = copy(kernel(array))  # with its own buffers, as threads may share the kernel
            if {name: (a.shape, a.dtype) for name, a in buffers.items()} != worker.shapes():
                raise ValueError("sums must have the shapes and dtypes that init was given")
            check_finite(array, "sums")
            worker.held = Held.of(state.step, buffers)
            workers.append(worker)
        for worker, array in zip(workers, arrays, strict=True):
            worker.add(array.reshape(-1), scale, source.core, count)
        released = [make(array) for array in arrays]
        several = isinstance(sums, list | tuple)
        following = NoiseState.of(state.step + 1, tuple(w.held.arrays for w in workers))
        return released if several else released[0], following

    return NoiseFunctions(init, step)


def _arrays(sums: Any) -> list[npt.NDArray[Any]]:
    """Return copies that may be written to."""
    given = sums if isinstance(sums, list | tuple) else [sums]
    return [np.array(np.asarray(array), order="C") for array in given]


_MAKERS = {
    "numpy": ("numpy", "asarray"),
    "jax": ("jax.numpy", "asarray"),
    "torch": ("torch", "from_numpy"),
}
"""The module of each library, and what makes its arrays of NumPy's."""
