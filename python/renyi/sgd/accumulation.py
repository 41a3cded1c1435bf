"""Clipped sums of batches in parts, and of the gradients of a function of one example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency, adjacency_of, one_of
from renyi._arrays import Array, Rows, float_dtype, rows_of, threads_of
from renyi._validation import integer_of
from renyi.sgd.grid import Grid, check_spacing, sum_rule_on_grid
from renyi.sgd.rules import (
    NONFINITE,
    Clipping,
    Nonfinite,
    norms_for,
    refuse_nonfinite,
    refuse_rounding,
    refuse_too_many,
    rule_of,
    run_rule,
    sensitivity_of,
)
from renyi.sgd.sums import (
    ClippedSum,
    PrivateDiagnostics,
    Shape,
    check_shapes,
    joined,
    refuse_means,
    shapes_of,
)


class ClipAccumulator:
    """The clipped sum of a batch that comes in parts.

    Add the parts, then `take` the sum: it is returned once, and parts added later belong to the
    next batch. A record must be in one part only. An empty batch has the sum zero. Without a grid a
    batch has at most 2^24 rows. The sum does not depend on how a batch is cut in parts.

    Args:
        shapes: Shape of a row, which is that of the parameters; a list where the gradients are
            lists.
        max_grad_norm: As for `clip_and_sum`.
        clipping, stability, adjacency, threads, nonfinite: As for `clip_and_sum`. With
            ``nonfinite="raise"`` a part is added as a whole or not at all.
        dtype: The dtype of the sum: float64, or float32 as for `clip_and_sum`. Not with a grid.
        grid: The `Grid` that every clipped row is rounded to. The sum then consists of integers, in
            spacings. The spacing is at least 2^-32 of the clipping norm.

    >>> parts = ClipAccumulator((2,), max_grad_norm=1.0)
    >>> parts.add(np.array([[3.0, 4.0]])).add(np.array([[0.0, 0.5], [0.0, 0.0]]))
    ClipAccumulator(parts=2)
    >>> parts.take().sum.round(6)
    array([0.6, 1.3])
    """

    def __init__(
        self,
        shapes: Shape | Sequence[Shape],
        max_grad_norm: Any,
        *,
        clipping: Clipping = "flat",
        stability: float = 0.01,
        adjacency: Adjacency = "add_remove",
        dtype: npt.DTypeLike | None = None,
        grid: Grid | None = None,
        threads: int | None = None,
        nonfinite: Nonfinite = "zero",
    ) -> None:
        self._shapes, self._single = shapes_of(shapes)
        self._dtype = _sum_dtype(dtype, grid)
        self._grid = grid
        self._clipping: Clipping = clipping
        self._stability = stability
        self._adjacency = adjacency_of(adjacency)
        threads_of(threads)  # raises if it is no number of threads
        self._threads = threads
        self._nonfinite = one_of(nonfinite, "nonfinite", NONFINITE)
        self._names_before: frozenset[int] = frozenset()  # of the sums in the last batch
        self._start()
        self.max_grad_norm = max_grad_norm

    @property
    def max_grad_norm(self) -> tuple[float, ...]:
        """The bound, or the bounds of the arrays; another may be set between batches."""
        return self._rule.bounds

    @max_grad_norm.setter
    def max_grad_norm(self, value: Any) -> None:
        if self.parts:
            raise RuntimeError(
                f"max_grad_norm must be set between batches, got {value!r} within one: take first"
            )
        rule = rule_of(self._clipping, value, self._stability, len(self._shapes))
        if self._grid is not None:
            check_spacing(self._grid.spacing, rule.total, "grid.spacing")
        self._rule = rule

    @property
    def parts(self) -> int:
        """Parts added since the last sum was taken."""
        return len(self._diagnostics)

    @property
    def batch_size(self) -> int:
        """Rows added since the last sum was taken: private, as the parts are."""
        return sum(part.batch_size for part in self._diagnostics)

    def _start(self) -> None:
        self._torn = True  # while a part is added or taken
        self._sums: list[Array] = [np.zeros(shape, self._dtype) for shape in self._shapes]
        self._diagnostics: list[PrivateDiagnostics] = []
        self._rounding = 0.0
        self._names: frozenset[int] = frozenset()  # of the sums that were added
        self._torn = False

    def add(self, grads: Any) -> ClipAccumulator:
        """Clip the rows and add them; return the accumulator.

        Args:
            grads (array, list of arrays or ClippedSum): Rows, or the sum of rows that were clipped
                in the same way elsewhere.

        Raises:
            TypeError, ValueError: If shapes or dtypes differ from those of this sum, or a
                `ClippedSum` was clipped in another way or has been added before, to this batch or
                the last one.
            RuntimeError: After an interruption while a part was added, such as a time-out, until
                `discard`: the sum may hold some of the part.
        """
        part = self.checked(grads)
        try:
            return self.add_checked(part)
        except BaseException:  # also after the end: the caller of an error would add the part again
            self.spoil()
            raise

    def checked(self, grads: Any, name: str = "grads") -> Rows | ClippedSum:
        """Return a checked part for `add_checked`; errors are those of `add`."""
        self.refuse_torn()
        if isinstance(grads, ClippedSum):
            self._check_sum(grads, name)
            self._check_count(grads.private.batch_size, name)
            return grads.unchanged(name)
        refuse_means(grads, self._shapes, name)
        rows = rows_of(grads, name, scalars=True, bfloat16=True)
        check_shapes(rows, self._shapes, self._single, name)
        self._check_count(rows.count, name)
        refuse_nonfinite(rows, self._nonfinite, threads_of(self._threads, rows.nbytes), name)
        return rows

    def _check_count(self, rows: int, name: str) -> None:
        if self._grid is None:
            refuse_too_many(self.batch_size + rows, name)

    def _check_sum(self, clipped: ClippedSum, name: str) -> None:
        if self._grid not in (None, clipped.grid):
            raise ValueError(
                f"{name} must be rows, or sums of ClipAccumulator(shapes, max_grad_norm, "
                f"grid={self._grid!r}), got a sum with grid={clipped.grid!r}"
            )
        check_shapes(clipped, self._shapes, self._single, name)
        clipped.parts_disjoint_from(self._names | self._names_before, name)
        clipped.check_like(self._rule.bounds, self._clipping, self._adjacency, self._grid)
        refuse_rounding(self._rounding + clipped.rounding, name)
        for array in clipped.arrays:
            if array.dtype != self._dtype:
                raise TypeError(
                    f"{name} must be sums of {self._dtype}, got one of {array.dtype}: "
                    f"clip with dtype={self._dtype.name!r}"
                )

    def add_checked(self, part: Rows | ClippedSum) -> ClipAccumulator:
        """Add what `checked` returned."""
        self._torn = True
        if isinstance(part, ClippedSum):
            for total, array in zip(self._sums, part.arrays, strict=True):
                np.add(total, array, out=total, casting="same_kind")
            private = part.private
            self._rounding += part.rounding
            self._names |= part.parts_disjoint_from(())
        else:
            norms = norms_for(part, self._rule, self._rule.by_group, None, [])
            count = threads_of(self._threads, part.nbytes)
            if self._grid is None:
                factors = run_rule(part, self._rule, self._sums, self.parts > 0, norms, count)
            else:
                factors = sum_rule_on_grid(part, self._rule, self._grid, self._sums, norms, count)
            private = PrivateDiagnostics(norms, factors)
        self._diagnostics.append(private)
        self._torn = False
        return self

    def discard(self) -> None:
        """Drop what was added since the last sum was taken."""
        self._start()

    def spoil(self) -> None:
        """Refuse everything until `discard`."""
        self._torn = True

    def refuse_torn(self) -> None:
        """Raise `RuntimeError` if adding a part was interrupted."""
        if self._torn:
            raise RuntimeError(
                "discard must be called first: adding a part was interrupted, and the sum may hold "
                "some of it"
            )

    def take(self) -> ClippedSum:
        """Return the sum of what was added since the last time, and begin anew.

        Raises:
            RuntimeError: After an interruption, as `add`.
        """
        self.refuse_torn()
        try:
            result = self._taken()
            self._names_before = self._names
            self._start()
            return result
        except BaseException:  # a second call must not return an empty sum
            self.spoil()
            raise

    def _taken(self) -> ClippedSum:
        result = ClippedSum(
            self._sums[0] if self._single else self._sums,
            self._sensitivity(),
            self._rule.bounds,
            self._clipping,
            self._adjacency,
            joined(self._diagnostics or [self._of_no_rows()]),
            self._grid,
            self._rounding,
        )
        return replace(result, _parts=result.parts_disjoint_from(()) | self._names)

    def _of_no_rows(self) -> PrivateDiagnostics:
        shape = (0, len(self._rule.bounds)) if self._rule.by_group else (0,)
        return PrivateDiagnostics(np.empty(shape), np.empty(shape))

    def _sensitivity(self) -> float:
        if self._grid is None:
            return sensitivity_of(self._rule.total, self._adjacency, self._dtype)
        dimension = sum(array.size for array in self._sums)
        length = self._grid.sensitivity(self._rule.total, max(dimension, 1), self._adjacency)
        return self._grid.units(length)

    def __repr__(self) -> str:
        return f"ClipAccumulator(parts={self.parts})"


def _sum_dtype(dtype: npt.DTypeLike | None, grid: Any) -> np.dtype[Any]:
    if grid is None:
        return float_dtype(np.float64 if dtype is None else dtype)
    if not isinstance(grid, Grid):
        raise TypeError(f"grid must be a Grid, got {grid!r}")
    if dtype is not None:
        raise ValueError(f"dtype must be left out with a grid, whose sums are int64, got {dtype!r}")
    return np.dtype(np.int64)


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
) -> Callable[..., ClippedSum]:
    """Return a function of parameters and a batch: the sum of the clipped gradients.

    Args:
        function (callable): It takes the parameters, an array or a list of arrays, and then one
            example, an entry of each array of the batch. With "jax" and "torch" it returns the
            loss, a number; with "numpy" the gradient of the loss, shaped like the parameters.
        max_grad_norm (float or sequence of float): As for `clip_and_sum`, and equal to that of the
            plan.
        library ({"numpy", "jax", "torch"}): The library whose arrays the function takes, on the
            CPU. It is imported only if it is named, and computes the gradients of all examples at
            once by its own ``vmap``; "numpy" takes one example after the other.
        chunk: Number of examples at once, which bounds the memory; the sum does not depend on it.
            By default their gradients take 64 MiB. JAX compiles for this number, once.
        clipping, stability, adjacency, grid, threads, nonfinite: As for `ClipAccumulator`;
            ``adjacency`` is that of the plan.

    Returns:
        A function of the parameters, those of `DPSGD` or of the library, and of the arrays of a
        batch, with an entry for each example along the first axis: ``x[batch], y[batch]``. A batch
        may be empty. The keyword ``max_grad_norm=optimizer.max_grad_norm`` replaces the norm where
        it moves. The function returns a `ClippedSum`, for `DPSGD.step`.

    Raises:
        ImportError: If the library is not installed.

    Where a library takes several examples at once, the other examples of the chunk may change the
    last bits of a gradient, as the rounding of matrix products depends on their shapes. The
    guarantee is for gradients that depend on one record only: with ``chunk=1`` and with "numpy"
    they do so to the last bit.

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
    per_example, usual = _PER_EXAMPLE[library](function), max_grad_norm

    def clipped(parameters: Any, *batch: Any, max_grad_norm: Any = None) -> ClippedSum:
        single = not isinstance(parameters, list | tuple)
        arrays = [parameters] if single else list(parameters)
        shapes = [tuple(array.shape) for array in arrays]
        bound = usual if max_grad_norm is None else max_grad_norm
        parts = ClipAccumulator(shapes[0] if single else shapes, bound, **settings)
        step = size or max(1, _CHUNK_BYTES // max(8 * sum(map(np.prod, shapes)), 65536))
        count = _examples(batch)
        given = parameters if single else arrays
        for first in range(0, count, step):
            found = per_example(given, [array[first : first + step] for array in batch], step)
            used = min(step, count - first)
            parts.add(found[:used] if single else [array[:used] for array in found])
        return parts.take()

    return clipped


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
    """Pad with copies of the first example, to compile one shape; their gradients are not used."""
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
