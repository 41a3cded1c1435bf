"""Accuracy against privacy of projected noisy SGD, on tumours described by three measurements.

``python -m examples.pnsgd --noise 0.5,1,2,4 --delta 1e-3 --plot pnsgd.png``

Every record is visited once and only the last iterate is released, so later steps hide earlier
records (`renyi.theory.iteration`): beside the guarantee of the pass stands what it would be if all
iterates were seen. Many passes are run for every noise to show how accuracy varies; the guarantee
is that of one of them alone. The noise is cryptographic and different in every run.
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
from renyi.sgd import PNSGD, Ball, LogisticLoss
from renyi.sgd.projected import PNSGDRun
from renyi.theory.iteration import DecayingNoise
from renyi.theory.online import online_epsilon

__all__ = ["Point", "main", "simulate"]

Array = npt.NDArray[np.float64]

# Mean radius, texture and concave points, brought near [-1, 1] by round numbers that are public.
COLUMNS, CENTRES, WIDTHS = (0, 1, 7), (14.0, 19.0, 0.05), (8.0, 10.0, 0.08)


class Tumours(NamedTuple):
    """Rows of norm at most 1 and labels -1 (benign) or 1, to learn from and to be judged by."""

    train: Array
    train_labels: Array
    test: Array
    test_labels: Array


class Point(NamedTuple):
    """What one scale of noise does."""

    scale: float
    epsilon: float
    epsilon_of_first: float  # of the record of the first step; equal in a shuffled pass
    epsilon_if_all_seen: float
    accuracies: Array


def tumours(seed: int) -> Tumours:
    """Return 569 tumours, every fifth held out: three measurements each and a constant."""
    loaded = bundled("load_breast_cancer")
    rows = (loaded.data[:, COLUMNS] - CENTRES) / WIDTHS
    rows = np.column_stack([rows, np.ones(len(rows))])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True) * (1.0 + 1e-15), 1.0)
    labels = np.where(loaded.target == 1, -1.0, 1.0)
    order = np.random.default_rng(seed).permutation(len(labels))
    held_out, used = order[: len(order) // 5], order[len(order) // 5 :]
    return Tumours(rows[used], labels[used], rows[held_out], labels[held_out])


def simulate(
    learner: PNSGD, data: Tumours, scales: Sequence[float], order: Any, delta: float, runs: int
) -> list[Point]:
    """Run passes for every scale, and say on stderr how far they are.

    Args:
        learner: The descent.
        data: The guarantee is about the training part.
        scales: Of the noise; for an online pass that of the first step, from where it decays.
        order ({"shuffled", "online"}): As for `renyi.sgd.PNSGD.run`.
        delta: At which epsilon is given.
        runs: Passes a scale.
    """
    points = []
    for scale in progress(scales, "scale", logged=LOGGED):
        noise: Any = scale
        if order == "online":
            decaying = DecayingNoise(learner.descent, c1=100.0, c2=10.0)
            noise = decaying.scaled(scale / decaying.scale(1))
        accuracies = np.empty(runs)
        for k in range(runs):
            run = learner.run(data.train, data.train_labels, noise, order=order)
            accuracies[k] = np.mean((data.test @ run.weights > 0.0) == (data.test_labels > 0.0))
        points.append(_point(run, scale, delta, accuracies))
    return points


def _point(run: PNSGDRun, scale: float, delta: float, accuracies: Array) -> Point:
    smallest = float(np.min(run.scales))
    return Point(
        scale,
        run.get_epsilon(delta),
        run.get_epsilon(delta, record=0),
        online_epsilon(run.descent, delta, smallest, 1),
        accuracies,
    )


@program(
    "pnsgd",
    "Accuracy and guarantee of one pass of projected noisy SGD.",
    {
        "--noise": ("0.5,1,2,3,4", "scales, relative to gradients, with commas"),
        "--delta": (1e-3, "at which epsilon is given"),
        "--order": ("shuffled", "of the records", ["shuffled", "online"]),
        "--step-size": (0.1, "of the descent"),
        "--radius": (1.0, "of the ball of weights"),
        "--regularisation": (0.01, "strong convexity of the loss"),
        "--runs": (50, "passes for every scale"),
        "--seed": (0, "of the split; never of the noise"),
        "--plot": (None, "save accuracy over epsilon (.png, .svg, .pdf)"),
    },
)
def main(options: argparse.Namespace) -> None:
    """Run the program and return its exit code.

    >>> main(["--noise", "-1"])
    2
    """
    figure = figure_for(options.plot)
    scales = numbers_of(options.noise, "--noise", float, 1e-3, 1e3, "numbers in [0.001, 1000]")
    if options.runs < 1:
        raise ValueError(f"--runs must be at least 1, got {options.runs}")
    loss = LogisticLoss(1.0, options.regularisation)
    ball = Ball.around_zero(options.radius, len(COLUMNS) + 1)
    learner = PNSGD(ball, loss, step_size=options.step_size)
    data = tumours(options.seed)
    points = simulate(learner, data, scales, options.order, options.delta, options.runs)
    _report(learner, data, points, options)
    if figure is not None:
        _draw(figure, points, options.delta)
        figure.savefig(options.plot, dpi=150)


def _report(
    learner: PNSGD, data: Tumours, points: list[Point], options: argparse.Namespace
) -> None:
    descent = learner.descent
    most = max(np.mean(data.test_labels == label) for label in (-1.0, 1.0))
    print(
        f"{len(data.train)} tumours, one {options.order} pass; L = {descent.lipschitz:.4f}, "
        f"M = {descent.contraction:.6f}, diameter {descent.diameter:g}; one label for all would be "
        f"right {most:.1%} of the time"
    )
    print(
        f"noise   epsilon at delta = {decimal_of(options.delta)}   the first record's   "
        "if all iterates were seen   accuracy (10 % to 90 % of passes)"
    )
    for p in points:
        low, middle, high = np.quantile(p.accuracies, [0.1, 0.5, 0.9])
        print(
            f"{p.scale:5g}   {round_up(p.epsilon):>24}   {round_up(p.epsilon_of_first):>18}   "
            f"{round_up(p.epsilon_if_all_seen):>25}   {middle:.1%} ({low:.1%} to {high:.1%})"
        )


def _draw(figure: Any, points: list[Point], delta: float) -> None:
    axes = figure.add_subplot()
    spread = np.array([np.quantile(p.accuracies, [0.1, 0.5, 0.9]) for p in points])
    around = np.abs(spread[:, [0, 2]] - spread[:, [1]]).T
    for name, marker, label in (
        ("epsilon", "o", "last iterate released"),
        ("epsilon_if_all_seen", "s", "if all iterates were seen"),
    ):
        at = [getattr(p, name) for p in points]
        axes.errorbar(at, spread[:, 1], around, fmt=f"{marker}-", capsize=3, label=label)
    said = f"ε at δ = {decimal_of(delta)}, one record replaced"
    axes.set(xlabel=said, ylabel="accuracy, held-out tumours")
    axes.legend(loc="lower right")


if __name__ == "__main__":
    sys.exit(main())
