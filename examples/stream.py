"""A long stream of records in one noisy pass: accuracy against its length, with the guarantee.

``python -m examples.stream --lengths 1000,10000,100000,1000000 --plot stream.png``

Two streams: regression with a truth that is known, and the bundled diabetes records drawn again and
again with new measurement errors. Every record is visited once, in secret random order, with the
noise that the target asks for; only the last iterate is released (`renyi.theory.iteration`). The
guarantee is about one record of the stream: a patient whose measurements occur in many of them has
the guarantee of a group.

The step size is a constant over the length, so that noise averages out. With steps that small
the domain hides little of what happened before, and the guarantee is that of the record's own step:
with large steps it would be better and the last iterate little but noise. The last iterate is
random, so that errors are means over several simulated passes; one pass is what would be released.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from examples._data import bundled
from examples._program import figure_for, numbers_of, program

from renyi._progress import LOGGED, progress
from renyi._rounding import round_up
from renyi._validation import decimal_of
from renyi.plot import plain_ticks
from renyi.sgd import PNSGD, Ball, RidgeLoss
from renyi.theory.iteration import shuffled_pass

__all__ = ["Point", "diabetes", "main", "simulate", "synthetic"]

Array = npt.NDArray[np.float64]

TRUTH = np.array([0.5, -0.3, 0.2, 0.1])


class Stream(NamedTuple):
    """Rows of norm at most 1, labels in [-1, 1], and the best weights that are known."""

    features: Array
    labels: Array
    best: Array


class Point(NamedTuple):
    """What a pass over so many records gives; errors are mean squares, of the labels."""

    n: int
    scale: float
    epsilon: float
    error: float
    spread: float  # standard deviation of the error of a pass
    error_of_best: float
    error_of_zero: float


def synthetic(n: int, generator: np.random.Generator) -> Stream:
    """Return records with a known truth: rows of random signs, a linear label and an error."""
    features = generator.choice([-0.5, 0.5], (n, len(TRUTH)))
    labels = np.clip(features @ TRUTH + generator.normal(0.0, 0.1, n), -1.0, 1.0)
    return Stream(features, labels, TRUTH)


def diabetes(n: int, generator: np.random.Generator) -> Stream:
    """Return the bundled records drawn with replacement, each with new errors of measurement."""
    loaded = bundled("load_diabetes")
    every = np.clip(loaded.data[:, (2, 3, 8)] / 0.1, -0.57, 0.57)  # by round numbers: public
    target = np.clip((loaded.target - 150.0) / 200.0, -1.0, 1.0)
    best = np.linalg.lstsq(every, target, rcond=None)[0]
    drawn = generator.integers(0, len(target), n)
    errors = generator.normal(0.0, 0.05, (n, every.shape[1]))
    features = np.clip(every[drawn] + errors, -0.57, 0.57)  # so that rows are shorter than 1
    return Stream(features, target[drawn], best)


STREAMS = {"synthetic": synthetic, "diabetes": diabetes}


def simulate(name: str, lengths: Sequence[int], options: argparse.Namespace) -> list[Point]:
    """Run passes of every length, and judge them by 20,000 further records."""
    passes, delta = options.passes, options.delta
    if passes < 1:
        raise ValueError(f"--passes must be at least 1, got {passes}")
    points = []
    for n in progress(lengths, "length", logged=LOGGED):
        generator = np.random.default_rng(options.seed)
        judge = STREAMS[name](20_000, generator)
        stream = STREAMS[name](n, generator)
        dimension = stream.features.shape[1]
        loss = RidgeLoss(1.0, 1.0, regularisation=0.01)
        learner = PNSGD(
            Ball.around_zero(1.0, dimension), loss, step_size=min(0.05, options.pace / n)
        )
        scale = shuffled_pass(learner.descent, n, epsilon=options.epsilon, delta=delta)
        runs = [learner.run(stream.features, stream.labels, scale) for _ in range(passes)]
        *errors, best, zero = (
            float(np.mean((judge.features @ w - judge.labels) ** 2))
            for w in (*(run.weights for run in runs), judge.best, np.zeros(dimension))
        )
        guarantee = runs[0].get_epsilon(delta)
        error, spread = float(np.mean(errors)), float(np.std(errors))
        points.append(Point(n, scale, guarantee, error, spread, best, zero))
    return points


@program(
    "stream",
    "Accuracy of one noisy pass against its length, at one guarantee.",
    {
        "--lengths": ("1000,10000,100000,1000000", "numbers of records, with commas"),
        "--epsilon": (1.0, "of the guarantee"),
        "--delta": (1e-5, "of the guarantee"),
        "--pace": (10.0, "step size times length; steps are at most 0.05"),
        "--passes": (4, "simulated passes of every length"),
        "--seed": (0, "of the streams; never of the noise"),
        "--plot": (None, "save error over length (.png, .svg, .pdf)"),
    },
)
def main(options: argparse.Namespace) -> None:
    """Run the program and return its exit code.

    >>> main(["--lengths", "0"])
    2
    """
    figure = figure_for(options.plot)
    lengths = numbers_of(options.lengths, "--lengths", int, 1, 1e8, "integers in [1, 1e8]")
    found = {name: simulate(name, lengths, options) for name in STREAMS}
    for name, points in found.items():
        print(
            f"{name}: one shuffled pass, epsilon = {decimal_of(options.epsilon)}, "
            f"delta = {decimal_of(options.delta)}"
        )
        print("       n    noise   epsilon   mean square    spread   of the best   of zero")
        for p in points:
            print(
                f"{p.n:8d} {p.scale:8.4f}  {round_up(p.epsilon):>8}   {p.error:11.5f}  "
                f"{p.spread:8.5f}   {p.error_of_best:11.5f}   {p.error_of_zero:7.5f}"
            )
    if figure is not None:
        _draw(figure, found)
        figure.savefig(options.plot, dpi=150)


def _draw(figure: Any, found: dict[str, list[Point]]) -> None:
    for k, (name, points) in enumerate(found.items()):
        axes = figure.add_subplot(1, len(found), k + 1)
        n = [p.n for p in points]
        axes.errorbar(
            n, [p.error for p in points], [p.spread for p in points], fmt="o-", label="last iterate"
        )
        axes.set(xscale="log", yscale="log")
        axes.loglog(n, [p.error_of_best for p in points], "--", label="best weights")
        axes.loglog(n, [p.error_of_zero for p in points], ":", label="no learning")
        axes.set(
            xlabel="records",
            ylabel="mean square error",
            title=f"{name}, ε = {round_up(points[0].epsilon)}",
        )
        axes.legend(loc="best", fontsize="small")
        plain_ticks(axes.xaxis, axes.yaxis)


if __name__ == "__main__":
    sys.exit(main())
