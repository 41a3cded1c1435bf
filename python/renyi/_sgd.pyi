from typing import Any

import numpy as np
import numpy.typing as npt

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
    norms: npt.NDArray[np.float64],
    factors: npt.NDArray[np.float64],
    threads: int,
) -> None: ...
def weigh_into(
    arrays: list[npt.NDArray[Any]],
    sums: list[npt.NDArray[Any]],
    weights: npt.NDArray[np.float64],
    threads: int,
) -> None: ...
def fingerprint(array: npt.NDArray[Any], seed: int) -> int: ...
