"""Correlated noise, one step after the other: as an object, and as two functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from renyi._adjacency import one_of
from renyi._states import Run, entries_of, secrets_of, with_secrets
from renyi._training import fingerprint
from renyi._validation import count_of
from renyi.matrix._kernels import Held, Kernel, check_finite, kernel_of_strategy
from renyi.matrix._strategy import Strategy

if TYPE_CHECKING:
    from renyi.matrix._strategy import Strategy

Array = TypeVar("Array", bound=npt.NDArray[Any])


class NoiseStream:
    """The noise C^-1 z of a strategy, with z from the cryptographic generator.

    `add` turns the sum of a step into what may be released: the multiple of a spacing nearest to
    sum plus noise, rounded as by `renyi.noise.add_gaussian_noise`. The stream keeps the realised
    noise of the steps, rounding included, so that a release is a function of the ideal C g + z and
    of earlier releases. This has two conditions. The rounding of kept numbers moves with the data
    by `rounding_error` at most, which is to be added to the sensitivity. And noise must continue
    from one step to the next: there is no step past the last one, and a stream is resumed from
    `state_dict` only.

    Iterating yields the noise alone, for all steps that remain.

    Args:
        shape: Shape of the sums.
        generator (SecureGenerator or numpy.random.Generator): As for
            `renyi.noise.add_gaussian_noise`.
        scale: Standard deviation of z.
        dtype: float32 or float64 for sums and buffers; buffers of a `BLT` are always float64.
        threads: By default one for each processor. The result does not depend on it.

    >>> from renyi.matrix import SquareRoot
    >>> stream = SquareRoot(3).noise(1000, scale=10.0)
    >>> total = sum(stream)
    >>> bool(11.0 < total.std() < 13.0), stream.step  # 10 times 1.1792; independent noise: 17.3
    (True, 3)
    """

    def __init__(
        self,
        strategy: Strategy,
        shape: int | tuple[int, ...],
        generator: Any = None,
        *,
        scale: float = 1.0,
        dtype: npt.DTypeLike = np.float64,
        threads: int | None = None,
    ) -> None:
        from renyi._arrays import float_dtype, noise_scale, threads_of, zeros
        from renyi.noise.generator import generator_of

        self.strategy = strategy
        self._dtype = float_dtype(dtype)
        self._scale = noise_scale(scale, self._dtype)
        self._shape = zeros(shape, self._dtype, None).shape
        self.generator = generator_of(generator)
        self._threads = threads_of(threads)
        self._kernel: Kernel = kernel_of_strategy(strategy, math.prod(self._shape), self._dtype)
        self._run: Run | None = None  # the run of the steps; None with a reproducible generator
        self._loading: Run | None = None  # one for all loads: an interrupted load may be repeated

    @property
    def step(self) -> int:
        """Number of steps so far; it cannot be set, as noise continues from step to step."""
        return self._kernel.step

    @property
    def scale(self) -> float:
        """The standard deviation of z."""
        return self._scale

    @property
    def nbytes(self) -> int:
        """Memory of the buffers."""
        return sum(array.nbytes for array in self._kernel.held.arrays.values())

    def add(self, array: Array) -> Array:
        """Add the noise of the next step to an array in place, and return it.

        Raises:
            TypeError, ValueError: If the array has another shape or dtype, is not C-contiguous and
                writeable, or has an entry that is not finite or beyond half the largest number.
            RuntimeError: Past the last step: the guarantee is that of the steps of the strategy.
        """
        if not isinstance(array, np.ndarray) or array.dtype != self._dtype:
            raise TypeError(f"array must be an array of {self._dtype}, got {array!r}")
        if array.shape != self._shape or not (array.flags.c_contiguous and array.flags.writeable):
            raise ValueError(
                f"array must be C-contiguous, writeable and of shape {self._shape}, got "
                f"shape {array.shape}"
            )
        check_finite(array, "array")
        if self.step >= self.strategy.steps:
            raise RuntimeError(
                f"the noise must end after the {self.strategy.steps} steps of the strategy: more "
                "are not covered by its guarantee"
            )
        if self._run is None and self.generator.secure:
            self._run = self._new_run()
        if self._run is not None:
            self._run.check()
            self._run.begin(self.step + 1)
        self._kernel.add(array.reshape(-1), self._scale, self.generator.core, self._threads)
        return array

    def __iter__(self) -> NoiseStream:
        return self

    def __next__(self) -> npt.NDArray[Any]:
        if self.step >= self.strategy.steps:
            raise StopIteration
        return self.add(np.zeros(self._shape, self._dtype))

    def largest_norm(self, sums: float) -> float:
        """Return a norm that a release exceeds with probability below 1e-30.

        ``sums`` bounds the norm of the array that noise is added to. The norm of d Gaussian numbers
        is above sqrt(d) + 12 with probability below e^-72.
        """
        entries = math.prod(self._shape)
        return sums + self._kernel.row_norm * self._scale * (math.sqrt(entries) + 13.0)

    def rounding_error(self, sums: float) -> float:
        """Return a bound of the rounding error that adds to the sensitivity of a release.

        The bound is in the units of z. It holds for two runs with the same released arrays, none
        with a norm beyond `largest_norm`, whose sums have norms of at most ``sums``: the guarantee
        is that of Gaussian noise ``scale`` on a sensitivity larger by this bound.
        """
        kept = self.largest_norm(sums) + sums  # the norm of r = released - sum
        error = self._kernel.error(sums, kept)
        return 2.0 * math.sqrt(self.strategy.steps) * error

    def state_dict(self, *, secrets: bool = False) -> dict[str, Any]:
        """Return the state, for `load_state_dict`.

        Args:
            secrets: Whether the state has an entry "secrets", which must not be published: the
                noise of earlier steps, which together with the releases reveals their sums, and the
                next draws of a reproducible generator. Without the entry a state cannot be loaded
                once a step has been taken. The entry may be stored separately and put back before
                the state is loaded.
        """
        state = {
            "strategy": self.strategy.to_dict(),
            "shape": list(self._shape),
            "dtype": str(self._dtype),
            "scale": self._scale,
            "step": self.step,
            "generator": self.generator.state_dict(),
        }
        return {**state, "secrets": self._secrets()} if secrets else state

    def _secrets(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "run": "" if self._run is None else self._run.name,
            "buffers": Held.of(0, self._kernel.held.arrays).arrays,
            "generator": self.generator.state_dict(secrets=True)["secrets"],
        }

    def checked(self, state: Mapping[str, Any]) -> Held:
        """Return the step and the buffers of a state, or raise if it is not that of this stream."""
        own = self.state_dict()
        if missing := [name for name in own if name not in state]:
            raise ValueError(f"state must have {', '.join(own)}, got none of {', '.join(missing)}")
        for name in ("strategy", "shape", "dtype", "scale"):
            if state[name] != own[name]:
                raise ValueError(
                    f"state must be that of a stream with {name} {own[name]!r}, got {state[name]!r}"
                )
        step = count_of(state["step"], "step")
        if step > self.strategy.steps:
            raise ValueError(f"state must be of at most {self.strategy.steps} steps, got {step}")
        if step == 0:
            fresh = self._kernel.held.arrays.items()
            return Held.of(0, {name: np.zeros_like(array) for name, array in fresh})
        of_buffers, held = secrets_of(state, "the noise of steps before", "step", "buffers")
        if of_buffers != step:
            raise ValueError(
                f"state must hold the secrets of {step} steps, got those of {of_buffers}"
            )
        if not isinstance(held, Mapping):
            raise ValueError(f"state must hold buffers by name, got {type(held).__name__}")
        found, wanted = Held.of(step, held), self._kernel.shapes()
        if {name: (a.shape, a.dtype) for name, a in found.arrays.items()} != wanted:
            raise ValueError(f"state must hold buffers {wanted}, got others")
        return found

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue with the buffers of a state, and with this stream's own generator."""
        self._kernel.held, self._run = self.checked(state), None

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict`; a secure generator takes a new key.

        The stream that saved the state must not be used any more: no guarantee covers two
        continuations of one state.

        Raises:
            ValueError: If the state does not belong to such a stream, is older than the last
                release in this process, or lacks the secrets it needs. Nothing is changed then.
        """
        step = int(self.checked(state).taken[0])
        secrets = state.get("secrets")
        run = None
        if step and self.generator.secure:
            name = str(entries_of(secrets, "run")[0])
            run = self._loading = self._loading or self._new_run()
            run.check_load(name, step)
        self.generator.load_state_dict(with_secrets(state["generator"], secrets, "generator"))
        if run is not None:
            run.take_over(name, step, branch=False)
        self.restore(state)
        self._run = run

    def _new_run(self) -> Run:
        return Run("NoiseStream", "make a stream of its own, whose release is one more")

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "NoiseStream must not be copied or pickled, for both would go on from the same noise: "
            "make another, or load its state_dict"
        )

    def __repr__(self) -> str:
        return f"<NoiseStream: {self.step} of {self.strategy.steps} steps, {self._shape}>"


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
