"""A sweep over a hundred million settings on a cluster, with a progress bar.

``python -m examples.sweep --points 1e8 --workers 2``

Rényi divergences of the sampled Gaussian mechanism on a grid of sampling rates, noise multipliers
and orders. The functions of `renyi.special` are NumPy ufuncs, so that Dask arrays work as they are:
each chunk is computed where it lies, and only the sums come back. On a real cluster the same
program runs with the address of its scheduler; workers need the package installed and nothing
else::

    python -m examples.sweep --points 1e9 --scheduler tcp://scheduler:8786
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import time
import warnings
from importlib import import_module
from typing import Any

import numpy as np
from examples._program import cluster, program

from renyi import special
from renyi._progress import LOGGED
from renyi._validation import integer_of

__all__ = ["main", "sweep"]

CHUNK = 100  # points along each axis, a million in all: some tenths of a second


def sweep(points: int) -> tuple[Any, int]:
    """Return the mean divergence over a grid as a Dask array without dimensions, and its points.

    Args:
        points: About how many, at least 1: the grid is a cube.

    >>> mean, points = sweep(1000)
    >>> points, bool(mean.compute() > 0)
    (1000, True)
    """
    array = import_module("dask.array")
    side = round(integer_of(points, "points", 1) ** (1 / 3))

    def axis(low: float, high: float, position: int) -> Any:
        values = array.from_array(np.geomspace(low, high, side), chunks=CHUNK)
        return values[tuple(slice(None) if i == position else None for i in range(3))]

    q, sigma, alpha = axis(1e-4, 0.1, 0), axis(0.8, 8.0, 1), axis(1.1, 64.0, 2)
    with warnings.catch_warnings():  # of more chunks than each axis has, which is the purpose
        warnings.simplefilter("ignore", array.PerformanceWarning)
        return special.rdp_sampled_gaussian_upper(q, sigma, alpha).mean(), side**3


@program(
    "sweep",
    "Renyi divergences of millions of settings on a cluster, with Dask.",
    {
        "--points": (1e8, "about how many settings"),
        "--workers": (2, "processes of a cluster on this machine"),
        "--scheduler": (None, "address of a running cluster instead, such as tcp://scheduler:8786"),
    },
)
def main(options: argparse.Namespace) -> None:
    """Run the program and return its exit code."""
    mean, points = sweep(math.ceil(options.points))
    with cluster(options.workers, options.scheduler) as client:
        distributed = import_module("distributed")
        start = time.perf_counter()
        future = client.compute(mean)
        if sys.stderr.isatty():
            distributed.progress(future, notebook=False)
        while not future.done():
            with contextlib.suppress(TimeoutError):
                distributed.wait(future, timeout=LOGGED)
                break
            taken = time.perf_counter() - start
            print(f"{points:,} settings, {taken:.0f} s so far", file=sys.stderr, flush=True)
        value = float(future.result())
        seconds = time.perf_counter() - start
    print(f"{points:,} settings in {seconds:.1f} s: mean divergence {value:.6g}")


if __name__ == "__main__":
    sys.exit(main())
