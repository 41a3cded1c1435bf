"""The generation of noise for each kind of strategy, with bounds of rounding errors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._training import add_banded_noise, add_buffered_noise, add_tree_noise
from renyi.matrix._blt import BLT
from renyi.matrix._dense import Dense
from renyi.matrix._inverse import BandedInverse
from renyi.matrix._strategy import Strategy
from renyi.matrix._toeplitz import BandedToeplitz, SquareRoot, ToeplitzStrategy
from renyi.matrix._tree import Tree

Buffer = npt.NDArray[Any]

_UNIT = 2.0**-53  # unit roundoff of double precision, in which everything is computed
_LONGEST_ROW = 100_000  # steps after which the size of the noise of a step hardly changes


class Held(NamedTuple):
    """The state of a stream: a step changes all of it in one call, or none of it.

    Attributes:
        taken: Array of one number, the steps so far.
        arrays: Buffers by name.
    """

    taken: npt.NDArray[np.int64]
    arrays: dict[str, Buffer]

    @classmethod
    def of(cls, step: int, arrays: Mapping[str, Any]) -> Held:
        """Return copies of buffers after ``step`` steps."""
        return cls(np.array([step], np.int64), {k: np.array(a) for k, a in arrays.items()})


class Kernel(ABC):
    """Buffers, one step on them, and two norms.

    Attributes:
        held: Steps so far and buffers; another state may replace it.
        row_norm: About the largest norm of a row of C^-1.
    """

    held: Held
    row_norm: float

    @property
    def step(self) -> int:
        """Steps so far."""
        return int(self.held.taken[0])

    def shapes(self) -> dict[str, Any]:
        """Return shape and type of each buffer."""
        return {name: (a.shape, a.dtype) for name, a in self.held.arrays.items()}

    @abstractmethod
    def add(self, numbers: Buffer, scale: float, core: Any, threads: int) -> None:
        """Add the noise of the next step to flat finite numbers in place, and count it."""

    @abstractmethod
    def error(self, sums: float, kept: float) -> float:
        """Return a bound of the error of a step's sum, times the diagonal of C.

        ``sums`` bounds the norms of the sums, and ``kept`` those of the realised noise.
        """


class Bands(Kernel):
    """The noise of the last ``bands - 1`` steps."""

    _of_z = False  # whether the buffers hold z

    def __init__(self, strategy: Strategy, size: int, dtype: np.dtype[Any]) -> None:
        self._strategy = strategy
        slots = min(strategy.bands, strategy.steps) - 1
        self.held = Held.of(0, {"noise": np.zeros((slots, size), dtype)})
        self._stored = float(np.finfo(dtype).eps) / 2.0
        self._plain = np.zeros(0)
        self._norms = np.ones(1)  # norms of the last columns, if columns are normalised
        if isinstance(strategy, ToeplitzStrategy):
            self._plain = strategy.first_column()
            if isinstance(strategy, BandedToeplitz) and strategy.normalised:
                self._norms = strategy.column_norms()
            self._sizes, self._diagonal = float(np.abs(self._plain[1:]).sum()), 1.0
            self.row_norm = self._norms[0] * _inverse_norm(strategy)
            self._sizes *= self._norms[0]  # norms of later columns are at least 1
        else:
            matrix = strategy.matrix()
            diagonal = np.diag(matrix)
            self._sizes = float((np.abs(matrix).sum(axis=1) / diagonal - 1.0).max())
            self._diagonal = float(diagonal.max())
            self.row_norm = float(np.linalg.norm(np.linalg.inv(matrix), axis=1).max())

    def _norm(self, step: int) -> float:
        """Return the norm of a column; columns before the last ones have the norm of the first."""
        place = step - (self._strategy.steps - len(self._norms))
        return float(self._norms[max(place, 0)])

    def _row(self, step: int) -> tuple[npt.NDArray[np.float64], float]:
        """Return C[step, step - lag] / C[step, step] for lags from 1 on, and 1 / C[step, step]."""
        past = min(step, len(self.held.arrays["noise"]))
        if isinstance(self._strategy, Dense):
            row = np.array(self._strategy.rows[step])
            return row[:-1][::-1][:past] / row[-1], 1.0 / row[-1]
        taps = self._plain[1 : past + 1]
        if len(self._norms) > 1:
            own = self._norm(step)
            taps = taps * [own / self._norm(step - lag) for lag in range(1, past + 1)]
            return taps, own
        return taps, 1.0

    def add(self, numbers: Buffer, scale: float, core: Any, threads: int) -> None:
        """Add the noise of a step."""
        taken, step, kept = self.held.taken, self.step, self.held.arrays["noise"]
        slots = len(kept)
        by_lag, inverse = self._row(step)
        taps = np.zeros(slots)
        if slots:
            taps[(step - 1 - np.arange(len(by_lag))) % slots] = by_lag
        own = math.nextafter(scale * inverse, math.inf) if inverse != 1.0 else scale
        newest = step % slots if slots else -1
        add_banded_noise(core, own, taps, newest, self._of_z, kept, numbers, threads, taken)

    def error(self, sums: float, kept: float) -> float:
        """Return the bound of `Kernel.error`.

        Products and sums round 2 slots times, each by 2^-53 of the sum of sizes; stored numbers and
        released numbers are rounded once more.
        """
        slots = len(self.held.arrays["noise"])
        if not slots:
            return 0.0
        roundings = (2.0 * slots + 2.0) * _UNIT + 2.0 * self._stored
        return self._diagonal * roundings * (sums + self._sizes * kept)


class InverseBands(Bands):
    """The z of the last steps, as they were realised."""

    _of_z = True

    def __init__(self, strategy: BandedInverse, size: int, dtype: np.dtype[Any]) -> None:
        self._past = np.array(strategy.coefficients[1:])
        self.held = Held.of(0, {"noise": np.zeros((len(self._past), size), dtype)})
        self._stored = float(np.finfo(dtype).eps) / 2.0
        self._sum = float(strategy.first_column().sum()) * (1.0 + strategy.steps * 2.0**-52)
        self.row_norm = math.hypot(1.0, *strategy.coefficients[1:])

    def _row(self, step: int) -> tuple[npt.NDArray[np.float64], float]:
        return -self._past[:step], 1.0

    def error(self, sums: float, kept: float) -> float:
        """Return the bound of `Kernel.error`.

        The z are C r, of norms up to ``kept`` times the sum of a column of C. An error of a z
        enters later ones through C, and then a sum with coefficients of sum 1 at most.
        """
        slots = len(self._past)
        if not slots:
            return 0.0
        roundings = (2.0 * slots + 2.0) * _UNIT + 2.0 * self._stored
        return roundings * (1.0 + self._sum) * (sums + self._sum * kept)


class Buffers(Kernel):
    """The decaying sums of a `BLT`."""

    def __init__(self, strategy: BLT, size: int, dtype: np.dtype[Any]) -> None:
        self._weights, self._decays = np.array(strategy.weights), np.array(strategy.decays)
        self.held = Held.of(0, {"sums": np.zeros((len(self._decays), size))})
        self._stored = float(np.finfo(dtype).eps) / 2.0
        self._length = np.minimum(1.0 / (1.0 - self._decays), strategy.steps)
        self.row_norm = _inverse_norm(strategy)

    def add(self, numbers: Buffer, scale: float, core: Any, threads: int) -> None:
        """Add the noise of a step."""
        add_buffered_noise(
            core,
            scale,
            self._weights,
            self._decays,
            self.held.arrays["sums"],
            numbers,
            threads,
            self.held.taken,
        )

    def error(self, sums: float, kept: float) -> float:
        """Return the bound of `Kernel.error`.

        A buffer is at most ``kept`` / (1 - decay); it is rounded three times a step, and these
        errors decay like the buffer.
        """
        sizes = np.abs(self._weights) * self._length
        roundings = (2.0 * len(self._weights) + 2.0) * _UNIT + 2.0 * self._stored
        drift = 3.0 * _UNIT * float((sizes * self._length).sum())
        return roundings * (sums + float(sizes.sum()) * kept) + drift * kept


class Nodes(Kernel):
    """The noise of the open nodes, one for each height, and the correction of a completion."""

    def __init__(self, strategy: Tree, size: int, dtype: np.dtype[Any]) -> None:
        self._tree = strategy
        follow = int(strategy.steps > strategy.period)
        completion = np.zeros((follow, size), dtype)
        nodes = np.zeros((strategy.heights, size), dtype)
        self.held = Held.of(0, {"nodes": nodes, "completion": completion})
        self._stored = float(np.finfo(dtype).eps) / 2.0
        # A step's noise is the difference of two prefixes.
        self.row_norm = 2.0 * math.sqrt(strategy.heights * (1 + strategy.steps // strategy.period))

    def add(self, numbers: Buffer, scale: float, core: Any, threads: int) -> None:
        """Add the noise of a step, and complete the tree after its last."""
        done, pending = self.step % self._tree.period, self.held.arrays["completion"]
        own, siblings = self._tree.chain(done)
        last = len(pending) > 0 and done + 1 == self._tree.period
        closing: list[float] = []
        beside: list[bool] = []
        if last and self._tree.period & done:  # not a power of 2: nodes are open
            closing, beside, _ = self._tree.completion()
        add_tree_noise(
            core,
            scale,
            np.array(own),
            siblings,
            np.array(closing),
            beside,
            last,
            self.held.arrays["nodes"],
            pending,
            numbers,
            threads,
            self.held.taken,
        )

    def error(self, sums: float, kept: float) -> float:
        """Return the bound of `Kernel.error`: a node sums the noise of all steps of a tree."""
        heights, steps = len(self.held.arrays["nodes"]), min(self._tree.period, self._tree.steps)
        roundings = (2.0 * heights + 2.0) * _UNIT + 2.0 * self._stored
        # Each of the nodes that end with a step is released with the same sum.
        return math.sqrt(heights) * heights * roundings * (sums + steps * kept)


def check_finite(array: Buffer, name: str) -> None:
    """Refuse sums that later steps cannot continue from, or that might overflow."""
    most = float(np.finfo(array.dtype).max) / 2.0
    if array.size and not float(np.abs(array).max()) <= most:  # nor where it is NaN
        raise ValueError(f"{name} must have finite entries of at most {most!r}, got others")


def kernel_of_strategy(strategy: Strategy, size: int, dtype: np.dtype[Any]) -> Kernel:
    """Return the kernel of a strategy for arrays of ``size`` numbers."""
    if not isinstance(strategy, Strategy):
        raise TypeError(f"strategy must be a Strategy, got {strategy!r}")
    if isinstance(strategy, BLT):
        return Buffers(strategy, size, dtype)
    if isinstance(strategy, Tree):
        return Nodes(strategy, size, dtype)
    if isinstance(strategy, BandedInverse):
        return InverseBands(strategy, size, dtype)
    return Bands(strategy, size, dtype)


def _inverse_norm(strategy: ToeplitzStrategy) -> float:
    """Return the norm of the last row of C^-1, or that after very many steps and a margin."""
    impulse = np.zeros(min(strategy.steps, _LONGEST_ROW))
    impulse[0] = 1.0
    short = strategy
    if isinstance(strategy, SquareRoot):
        short = SquareRoot(len(impulse))
    margin = 1.0 if len(impulse) == strategy.steps else 2.0
    return margin * float(np.linalg.norm(short._solve(impulse)))
