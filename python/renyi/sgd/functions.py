"""Clipped sums of the gradients of a function of parameters and one example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np

from renyi._adjacency import Adjacency
from renyi._validation import integer_of, one_of
from renyi.sgd.accumulation import ClipAccumulator
from renyi.sgd.grid import Grid
from renyi.sgd.rules import Clipping, Nonfinite
from renyi.sgd.sums import ClippedSum

__all__ = ["ClippedGrad", "clipped_grad"]

Library = Literal["numpy", "jax", "torch"]
PerExample = Callable[[Any, list[Any], int], Any]

_CHUNK_BYTES = 64 << 20


def clipped_grad(
    function: Callable[..., Any],
    max_grad_norm: Any,
    *,
    library: Library = "numpy",
    chunk: int | None = None,
    clipping: Clipping = "flat",
    stability: float = 0.01,
    adjacency: Adjacency = "add_remove",
    grid: Grid | None = None,
    threads: int | None = None,
    nonfinite: Nonfinite = "zero",
) -> ClippedGrad:
    """Return a function of parameters and a batch: the sum of the clipped gradients.

    Parameters
    ----------
    function : callable
        Of the parameters, an array or a list of arrays, and then of one example, an entry of each
        array of the batch. With "jax" and "torch" the loss, a number; with "numpy" its gradient,
        like the parameters.
    max_grad_norm : float or sequence of float
        As for `clip_and_sum`; that of the plan.
    library : {"numpy", "jax", "torch"}
        Whose arrays the function takes, on the CPU. It is imported only if it is named, and has
        gradients of all examples at once by its own ``vmap``; "numpy" takes one after the other.
    chunk : int, optional
        Examples at once, which bounds the memory; the sum does not depend on it. By default as many
        as have gradients of 64 MiB. JAX compiles for this number, once.
    clipping, stability, adjacency, grid, threads, nonfinite
        As for `ClipAccumulator`; ``adjacency`` is that of the plan.

    Returns
    -------
    ClippedGrad
        To be called with parameters and the arrays of a batch. What it returns is for `DPSGD.step`.

    Raises
    ------
    ImportError
        If the library is not installed.
    TypeError, ValueError
        If an argument is not as above.

    Notes
    -----
    Where a library takes several examples at once, what else is in the chunk may change the last
    bits of a gradient, for products of matrices round as their shapes will have it. The guarantee
    is for gradients that depend on one record: to the last bit they do with ``chunk=1``, and with
    "numpy".

    Examples
    --------
    >>> def gradient(w, x, y):  # of (w x - y)^2 / 2
    ...     return (w @ x - y) * x
    >>> clipped = clipped_grad(gradient, 1.0)
    >>> x, y = np.array([[3.0, 4.0], [0.0, 0.5]]), np.array([-1.0, -1.0])
    >>> clipped(np.zeros(2), x, y).sum.round(6)
    array([0.6, 1.3])
    """
    one_of(library, "library", get_args(Library))
    size = None if chunk is None else integer_of(chunk, "chunk", 1)
    settings: dict[str, Any] = {
        "clipping": clipping,
        "stability": stability,
        "adjacency": adjacency,
        "grid": grid,
        "threads": threads,
        "nonfinite": nonfinite,
    }
    ClipAccumulator((1,), 1.0, **{**settings, "clipping": "flat"})  # raises where these are bad
    return ClippedGrad(_PER_EXAMPLE[library](function), max_grad_norm, size, settings)


class ClippedGrad:
    """What `clipped_grad` returns."""

    def __init__(
        self, per_example: PerExample, max_grad_norm: Any, chunk: int | None, settings: Any
    ) -> None:
        self._per_example = per_example
        self._max_grad_norm = max_grad_norm
        self._chunk = chunk
        self._settings = settings

    def __call__(self, parameters: Any, *batch: Any, max_grad_norm: Any = None) -> ClippedSum:
        """Return the sum of the clipped gradients of the examples of a batch.

        Parameters
        ----------
        parameters : array or list of arrays
            Those of `DPSGD`, or of the library.
        *batch : arrays
            With an entry for each example along the first axis: ``x[batch], y[batch]``. There may
            be none.
        max_grad_norm : float or sequence of float, optional
            Instead of the one given before, where it moves: ``optimizer.max_grad_norm``.
        """
        single = not isinstance(parameters, list | tuple)
        arrays = [parameters] if single else list(parameters)
        shapes = [tuple(array.shape) for array in arrays]
        bound = self._max_grad_norm if max_grad_norm is None else max_grad_norm
        parts = ClipAccumulator(shapes[0] if single else shapes, bound, **self._settings)
        chunk = self._chunk or max(1, _CHUNK_BYTES // max(8 * sum(map(np.prod, shapes)), 65536))
        count = _examples(batch)
        given = parameters if single else arrays
        for first in range(0, count, chunk):
            some = [array[first : first + chunk] for array in batch]
            found = self._per_example(given, some, chunk)
            size = min(chunk, count - first)
            parts.add(found[:size] if single else [array[:size] for array in found])
        return parts.take()


def _examples(batch: Sequence[Any]) -> int:
    if not batch:
        raise TypeError("batch must be at least one array of examples, got none")
    if any(len(array) != len(batch[0]) for array in batch):  # how many there are is private
        raise ValueError("batch must have an entry for each example in every array, got others")
    return len(batch[0])


def _by_numpy(gradient: Callable[..., Any]) -> PerExample:
    def per_example(parameters: Any, batch: list[Any], chunk: int) -> Any:
        rows = [gradient(parameters, *example) for example in zip(*batch, strict=True)]
        if isinstance(parameters, list):
            return [np.stack(arrays) for arrays in zip(*rows, strict=True)]
        return np.stack(rows)

    return per_example


def _by_jax(loss: Callable[..., Any]) -> PerExample:
    jax = import_module("jax")

    def one(parameters: Any, example: Any) -> Any:
        return jax.grad(loss)(parameters, *example)

    compiled = jax.jit(jax.vmap(one, in_axes=(None, 0)))

    def per_example(parameters: Any, batch: list[Any], chunk: int) -> Any:
        return compiled(parameters, tuple(_filled(np.asarray(array), chunk) for array in batch))

    return per_example


def _filled(array: Any, count: int) -> Any:
    """Repeat the first example up to so many, whose gradients are not used: one shape, one code."""
    missing = count - len(array)
    return np.concatenate([array, np.repeat(array[:1], missing, axis=0)]) if missing else array


def _by_torch(loss: Callable[..., Any]) -> PerExample:
    torch = import_module("torch")

    def per_example(parameters: Any, batch: list[Any], chunk: int) -> Any:
        several = isinstance(parameters, list)
        tensors = [
            torch.as_tensor(array).detach() for array in (parameters if several else [parameters])
        ]
        examples = [torch.as_tensor(array) for array in batch]
        axes = (None, *(0,) * len(examples))
        gradient = torch.func.vmap(torch.func.grad(loss), in_dims=axes)
        return gradient(tensors if several else tensors[0], *examples)

    return per_example


_PER_EXAMPLE: dict[str, Callable[[Callable[..., Any]], PerExample]] = {
    "numpy": _by_numpy,
    "jax": _by_jax,
    "torch": _by_torch,
}
