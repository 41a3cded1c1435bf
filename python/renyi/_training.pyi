from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

# The generator, its noise and its samples.

SMALLEST_SCALE: float
LARGEST_SCALE: float
LARGEST_POPULATION: int
NOISE_RANGE: dict[np.dtype[Any], tuple[float, float]]

class ChaCha20:
    capsule: Any
    def __init__(self, key: bytes | None = None) -> None: ...
    def rekey(self) -> None: ...
    def derived_key(self) -> bytes: ...
    def state(self) -> tuple[bytes, int, bytes]: ...
    def restore(self, key: bytes, nonce: int, buffer: bytes) -> None: ...
    def words(self, groups: int) -> npt.NDArray[np.uint32]: ...
    def add_noise(
        self,
        gaussian: bool,
        numbers: npt.NDArray[Any],
        scale: float,
        threads: int,
        resolution: int = ...,
    ) -> tuple[int, int]: ...
    def add_integers(
        self, gaussian: bool, out: npt.NDArray[np.int64], scale: float, threads: int
    ) -> None: ...
    def poisson_sample(self, population: int, rate: float) -> npt.NDArray[np.int64]: ...
    def choose(self, population: int, size: int) -> npt.NDArray[np.int64]: ...
    def choose_repeated(self, population: int, size: int) -> npt.NDArray[np.int64]: ...
    def choose_repeated_into(self, population: int, out: npt.NDArray[Any]) -> npt.NDArray[Any]: ...
    def permutation(self, size: int) -> npt.NDArray[np.int64]: ...

def order_by_group(
    groups: npt.NDArray[Any], count: int, order: npt.NDArray[Any]
) -> npt.NDArray[np.int64]: ...
def noise_spacing(scale: float) -> float: ...
def sum_on_grid(
    rows: npt.NDArray[Any],
    factors: _Array,
    inverse_spacing: float,
    out: npt.NDArray[np.int64],
    threads: int,
) -> bool: ...

# Clipping.

LEAST_BOUND: float
LARGEST_BOUND: float
MOST_ROWS: int

def sum_spacing(bound: float) -> float: ...
def clip_into(
    arrays: list[npt.NDArray[Any]],
    sums: list[npt.NDArray[Any]],
    adds_to_sums: bool,
    rule: str,
    bounds: list[float],
    groups: list[int],
    stability: float,
    norms: _Array,
    factors: _Array,
    threads: int,
) -> None: ...
def weigh_into(
    arrays: list[npt.NDArray[Any]],
    sums: list[npt.NDArray[Any]],
    adds_to_sums: bool,
    weights: _Array,
    spacing: float,
    threads: int,
) -> None: ...
def lookup_squares(
    tokens: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    gradients: npt.NDArray[Any],
    squares: _Array,
    threads: int,
) -> None: ...
def add_lookups(
    tokens: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    gradients: npt.NDArray[Any],
    weights: _Array,
    spacing: float,
    sum: _Array,
    threads: int,
) -> None: ...
def fingerprint(array: npt.NDArray[Any], seed: int) -> int: ...

# Correlated noise.

MOST_BUFFERS: int

def solve_toeplitz(c: _Array, x: _Array) -> None: ...
def solve_buffered(weights: _Array, decays: _Array, x: _Array) -> None: ...
def toeplitz_error(c: _Array, a: _Array, w: _Array, work: _Array, gradient: _Array) -> float: ...
def best_selection(rows: _Array, separation: int, most: int) -> _Array: ...
def buffered_loss(
    p: _Array,
    steps: float,
    separation: float,
    participations: int,
    mean: bool,
    gradient: _Array,
) -> float: ...
def buffered_nodes(p: _Array) -> tuple[_Array, _Array]: ...
def add_banded_noise(
    source: ChaCha20,
    scale: float,
    taps: _Array,
    newest: int,
    inverse: bool,
    buffers: npt.NDArray[Any],
    numbers: npt.NDArray[Any],
    threads: int,
    taken: npt.NDArray[np.int64],
) -> None: ...
def add_buffered_noise(
    source: ChaCha20,
    scale: float,
    weights: _Array,
    decays: _Array,
    buffers: _Array,
    numbers: npt.NDArray[Any],
    threads: int,
    taken: npt.NDArray[np.int64],
) -> None: ...
def add_tree_noise(
    source: ChaCha20,
    scale: float,
    own: _Array,
    siblings: list[bool],
    closing: _Array,
    closing_siblings: list[bool],
    last: bool,
    nodes: npt.NDArray[Any],
    pending: npt.NDArray[Any],
    numbers: npt.NDArray[Any],
    threads: int,
    taken: npt.NDArray[np.int64],
) -> None: ...
