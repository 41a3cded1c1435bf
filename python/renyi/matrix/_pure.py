"""Correlated noise as two functions, for training loops that carry their state themselves."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from renyi._validation import one_of
from renyi.matrix._kernels import Kernel, kernel_of_strategy
from renyi.matrix._strategy import Strategy

__all__ = ["NoiseFunctions", "NoiseState", "noise_functions"]

Library = Literal["numpy", "jax", "torch"]


class NoiseState(NamedTuple):
    """Steps so far, and the buffers of each array: NumPy arrays, whatever the library."""

    step: int
    buffers: tuple[dict[str, npt.NDArray[Any]], ...]


class NoiseFunctions(NamedTuple):
    """What `noise_functions` returns."""

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

    They change nothing they are given: a state may be kept, saved, and gone on from. Noise comes
    from the generator, not from the state: who goes on twice from one state releases two steps,
    and pays for both. Otherwise as `NoiseStream`.

    Parameters
    ----------
    strategy : Strategy
        Which matrix.
    scale : float
        Standard deviation of z.
    library : {"numpy", "jax", "torch"}
        Of the sums, an array or a list of arrays of float32 or float64 on the CPU. With JAX the
        functions are to be called outside of ``jit``.
    generator, threads
        As for `NoiseStream`.

    Raises
    ------
    ImportError
        If the library is not installed.

    Examples
    --------
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
    make = _makers[library]()
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
        fresh = [kernel_of_strategy(strategy, a.size, float_dtype(a.dtype)).arrays for a in arrays]
        return NoiseState(0, tuple(fresh))

    def step(state: NoiseState, sums: Any) -> tuple[Any, NoiseState]:
        arrays = _arrays(sums)
        if state.step >= strategy.steps:
            raise RuntimeError(
                f"the noise must end after the {strategy.steps} steps of the strategy: more are "
                "not covered by its guarantee"
            )
        if len(arrays) != len(state.buffers):
            raise ValueError(f"sums must be {len(state.buffers)} arrays, got {len(arrays)}")
        moved = []
        for array, held in zip(arrays, state.buffers, strict=True):
            worker = kernel(array)
            wanted = {name: (a.shape, a.dtype) for name, a in worker.arrays.items()}
            if {name: (a.shape, a.dtype) for name, a in held.items()} != wanted:
                raise ValueError("sums must have the shapes and dtypes that init was given")
            worker.arrays = {name: np.array(a) for name, a in held.items()}
            worker.add(int(state.step), array.reshape(-1), scale, source._core, count)
            moved.append(worker.arrays)
        released = [make(array) for array in arrays]
        several = isinstance(sums, list | tuple)
        return released if several else released[0], NoiseState(state.step + 1, tuple(moved))

    return NoiseFunctions(init, step)


def _arrays(sums: Any) -> list[npt.NDArray[Any]]:
    """Return copies that may be written to."""
    given = sums if isinstance(sums, list | tuple) else [sums]
    return [np.array(np.asarray(array), order="C") for array in given]


def _of_numpy() -> Callable[[Any], Any]:
    return np.asarray


def _of_jax() -> Callable[[Any], Any]:
    found: Callable[[Any], Any] = import_module("jax.numpy").asarray
    return found


def _of_torch() -> Callable[[Any], Any]:
    found: Callable[[Any], Any] = import_module("torch").from_numpy
    return found


_makers = {"numpy": _of_numpy, "jax": _of_jax, "torch": _of_torch}
