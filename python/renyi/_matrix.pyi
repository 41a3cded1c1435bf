from typing import Any

import numpy as np
import numpy.typing as npt

MOST_BUFFERS: int

Vector = npt.NDArray[np.float64]

def solve_toeplitz(c: Vector, x: Vector) -> None: ...
def solve_buffered(weights: Vector, decays: Vector, x: Vector) -> None: ...
def toeplitz_error(c: Vector, a: Vector, w: Vector, work: Vector, gradient: Vector) -> float: ...
def best_selection(rows: Vector, separation: int, most: int) -> Vector: ...
def buffered_loss(
    p: Vector,
    steps: float,
    separation: float,
    participations: int,
    mean: bool,
    gradient: Vector,
) -> float: ...
def buffered_nodes(p: Vector) -> tuple[Vector, Vector]: ...
def add_banded_noise(
    source: Any,
    scale: float,
    taps: Vector,
    newest: int,
    buffers: npt.NDArray[Any],
    numbers: npt.NDArray[Any],
    threads: int,
    taken: npt.NDArray[np.int64],
) -> None: ...
def add_buffered_noise(
    source: Any,
    scale: float,
    weights: Vector,
    decays: Vector,
    buffers: Vector,
    numbers: npt.NDArray[Any],
    threads: int,
    taken: npt.NDArray[np.int64],
) -> None: ...
def add_tree_noise(
    source: Any,
    scale: float,
    own: Vector,
    siblings: list[bool],
    closing: Vector,
    closing_siblings: list[bool],
    last: bool,
    nodes: npt.NDArray[Any],
    pending: npt.NDArray[Any],
    numbers: npt.NDArray[Any],
    threads: int,
    taken: npt.NDArray[np.int64],
) -> None: ...
