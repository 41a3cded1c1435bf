"""One pass over digits in fixed order: independent against correlated noise at the same epsilon.

``python -m examples.correlated --epsilon 1 3 8``

Batches are not sampled, as on a stream, so that nothing hides which step a record is in: all
privacy comes from the noise. Correlated noise takes back in later steps what it added before, and
after many steps far less of it is left in the model. The noise is cryptographic and different in
every run; the order of the records and the first weights follow from ``--seed``.
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

import numpy as np
from examples._classifiers import LogisticRegression
from examples._data import Split, digits
from examples._program import program

from renyi._progress import LOGGED, progress
from renyi._rounding import round_up
from renyi._validation import decimal_of
from renyi.matrix import BLT, BandedToeplitz, FixedEpochs, Strategy, Tree
from renyi.sgd import DPSGD, SGD, TrainingPlan

__all__ = ["Result", "compare", "main", "strategies"]

CLASSES = 10


class Result(NamedTuple):
    """Accuracy of a way to add noise at an epsilon: mean of several runs, and their deviation."""

    name: str
    epsilon: float
    noise_multiplier: float
    accuracy: float
    deviation: float


def strategies(steps: int, period: int, buffers: int) -> dict[str, Strategy]:
    """Return the strategies that are compared."""
    return {
        "independent": BandedToeplitz(steps, [1.0]),
        "tree": Tree(steps),
        f"{buffers} buffers": BLT.optimal(steps, buffers, participation=FixedEpochs(period)),
    }


def compare(data: Split, epsilon: float, options: argparse.Namespace) -> list[Result]:
    """Return the accuracy of each strategy, with the best of the learning rates for each.

    The choice of the learning rate is not private: it is the same favour to all.
    """
    period = -(-len(data.train) // options.batch_size)
    results = []
    for name, strategy in strategies(options.epochs * period, period, options.buffers).items():
        plan = TrainingPlan.calibrated(
            epsilon,
            options.delta,
            population=len(data.train),
            batch_size=options.batch_size,
            epochs=options.epochs,
            sampling="fixed_order",
            adjacency="zero_out",
            max_grad_norm=options.max_grad_norm,
            strategy=strategy,
        )
        rates = progress(options.learning_rate, "learning rate", title=name, logged=LOGGED)
        found = [[_accuracy(data, plan, rate) for _ in range(options.repeats)] for rate in rates]
        best = max(found, key=lambda runs: float(np.mean(runs)))
        reported = plan.get_epsilon(options.delta)
        mean, spread = float(np.mean(best)), float(np.std(best))
        results.append(Result(name, reported, plan.noise_multiplier, mean, spread))
    return results


def _accuracy(data: Split, plan: TrainingPlan, learning_rate: float) -> float:
    """Train once, and return the accuracy on held-out images."""
    model = LogisticRegression(data.train.shape[1], CLASSES, 0)
    sampler = plan.sampler()
    optimizer = DPSGD(model.parameters, plan, SGD(learning_rate), sampler=sampler)
    for batch in sampler:
        images, labels = data.train[batch], data.train_labels[batch]
        optimizer.step(model.clipped_sum(images, labels, plan.max_grad_norm, plan.adjacency))
    return model.accuracy(data.test, data.test_labels)


@program(
    "correlated",
    "One pass over digits in fixed order, with independent and correlated noise.",
    {
        "--epsilon": ([1.0, 3.0, 8.0], "targets"),
        "--delta": (1e-5, "target"),
        "--epochs": (1, "passes, all in the same order"),
        "--batch-size": (8, "records to a step"),
        "--buffers": (3, "of the buffered linear Toeplitz matrix"),
        "--learning-rate": ([0.1, 0.2, 0.4, 0.8], "to choose of"),
        "--max-grad-norm": (0.5, "clipping norm"),
        "--repeats": (10, "runs of each"),
        "--seed": (0, "of order and split; never of the noise"),
    },
)
def main(options: argparse.Namespace) -> None:
    """Run the program and return its exit code.

    >>> main(["--epochs", "0"])
    2
    """
    data = digits(options.seed)
    for epsilon in options.epsilon:
        for row in compare(data, epsilon, options):
            print(
                f"epsilon {round_up(row.epsilon)}, delta {decimal_of(options.delta)}: "
                f"{row.name:<12} "
                f"noise of z {row.noise_multiplier:7.3f}, "
                f"accuracy {row.accuracy:.1%} +- {row.deviation:.1%}"
            )


if __name__ == "__main__":
    sys.exit(main())
