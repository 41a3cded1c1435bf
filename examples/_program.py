"""What the programs have in common: options, errors in one line, figures, a cluster of Dask."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from renyi._validation import integer_of
from renyi.plot import FORMATS
from renyi.sgd import TrainingPlan

__all__ = ["TRAINING", "cluster", "figure_for", "planned", "program"]

Main = Callable[..., int]


def program(
    name: str, description: str, options: dict[str, tuple[Any, ...]]
) -> Callable[[Callable[[argparse.Namespace], int | None]], Main]:
    """Make the program of a name from what it does with its options.

    The program takes a command line, by default that of the process, and returns its exit code: 2
    where something is refused, which is said in one line.

    Args:
        name, description: For its help.
        options: By flag the default, help, and the choices if there are any. A list is of one value
            or more; None is a name of a file.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m examples.{name}",
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    for flag, (default, words, *choices) in options.items():
        settings: dict[str, Any] = {"default": default, "help": words}
        if isinstance(default, list):
            settings |= {"type": type(default[0]), "nargs": "+"}
        elif default is None:
            settings["metavar"] = "FILE" if flag == "--plot" else None
        else:
            settings["type"] = type(default)
        parser.add_argument(flag, choices=choices[0] if choices else None, **settings)

    def wrap(work: Callable[[argparse.Namespace], int | None]) -> Main:
        def main(argv: Sequence[str] | None = None) -> int:
            given = parser.parse_args(argv)
            try:
                return int(work(given) or 0)
            except (ImportError, TypeError, ValueError, OverflowError) as error:
                print(f"{name}: error: {error}", file=sys.stderr)
                return 2

        main.__doc__ = work.__doc__
        return main

    return wrap


TRAINING: dict[str, tuple[Any, ...]] = {
    "--epsilon": (1.0, "target"),
    "--delta": (1e-5, "target"),
    "--epochs": (20.0, "passes over the data"),
    "--batch-size": (256, "expected size of a Poisson batch"),
    "--learning-rate": (2.0, "of gradient descent"),
    "--max-grad-norm": (0.5, "clipping norm"),
    "--seed": (0, "of the split and the first weights; never of the noise"),
}
"""Options of a private training; a program may replace some."""


def planned(options: argparse.Namespace, population: int) -> TrainingPlan:
    """Return the plan that the options of `TRAINING` ask for."""
    return TrainingPlan.calibrated(
        options.epsilon,
        options.delta,
        population=population,
        batch_size=options.batch_size,
        epochs=options.epochs,
        max_grad_norm=options.max_grad_norm,
    )


@contextlib.contextmanager
def cluster(workers: int, scheduler: str | None = None) -> Iterator[Any]:
    """Give a client of a cluster of Dask, of processes on this machine unless it runs elsewhere."""
    try:
        distributed = import_module("distributed")
    except ImportError:
        raise ImportError(
            "this program needs Dask, which is not installed: "
            'python -m pip install "dask[distributed]"'
        ) from None
    if scheduler:
        with distributed.Client(scheduler) as client:
            yield client
        return
    size = integer_of(workers, "workers", 1)
    with (
        distributed.LocalCluster(
            n_workers=size, threads_per_worker=1, dashboard_address=None
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def numbers_of(text: str, flag: str, kind: type, low: float, high: float, said: str) -> list[Any]:
    """Return numbers that are separated by commas."""
    try:
        found = [kind(float(part)) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(low <= number <= high for number in found):
        raise ValueError(f"{flag} must be {said} with commas, got {text!r}")
    return found


def figure_for(file: str | None, size: tuple[float, float] = (7.0, 4.2)) -> Any:
    """Return a matplotlib figure, or None without a file."""
    if file is None:
        return None
    if Path(file).suffix not in FORMATS:
        raise ValueError(f"--plot must be a file name ending in {', '.join(FORMATS)}, got {file!r}")
    if not Path(file).parent.is_dir():
        raise ValueError(f"--plot must be in a directory that exists, got {file!r}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "--plot needs matplotlib, which is not installed: python -m pip install matplotlib"
        ) from None
    return Figure(figsize=size, layout="constrained")
