"""Private recognition of handwritten digits: logistic regression and a two-layer network.

``python -m examples.digits --epsilon 1 --delta 1e-5 --plot digits.png``

The plan finds the noise for the target, the sampler draws Poisson batches, the optimiser clips,
records and adds noise. The noise is cryptographic and different in every run; only the split of the
data and the first weights follow from ``--seed``.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any, NamedTuple

from examples._classifiers import CLASSIFIERS, Classifier
from examples._data import Split, digits
from examples._program import TRAINING, figure_for, planned, program

from renyi._progress import LOGGED, progress
from renyi._rounding import round_up
from renyi._validation import decimal_of
from renyi.accountants import PLDAccountant
from renyi.sgd import DPSGD, SGD, TrainingPlan

__all__ = ["Run", "main", "train"]

CLASSES = 10
POINTS = 40  # of the lines in a figure


class Run(NamedTuple):
    """A classifier after training, and how it came to be."""

    classifier: Classifier
    optimizer: DPSGD
    images_per_second: float
    steps: list[int]
    accuracies: list[float]
    epsilons: list[float]


def train(
    classifier: Classifier, data: Split, plan: TrainingPlan, learning_rate: float, delta: float
) -> Run:
    """Train privately, and say on stderr how far it is.

    Args:
        classifier: Its parameters are changed in place.
        data: The guarantee is about the training part.
        plan: Sampling, clipping, noise and steps.
        learning_rate: Of plain stochastic gradient descent.
        delta: At which the epsilon so far is watched.
    """
    sampler = plan.sampler()
    optimizer = DPSGD(classifier.parameters, plan, SGD(learning_rate), sampler=sampler)
    run = Run(classifier, optimizer, 0.0, [], [], [])
    images, seconds = 0, 0.0
    every = max(1, plan.steps // POINTS)

    def reached() -> str:
        if not run.accuracies:
            return ""
        return f"accuracy {run.accuracies[-1]:.3f}, epsilon {round_up(run.epsilons[-1])}"

    for batch in progress(sampler, "step", total=plan.steps, note=reached, logged=LOGGED):
        start = time.process_time()
        clipped = classifier.clipped_sum(
            data.train[batch], data.train_labels[batch], plan.max_grad_norm
        )
        optimizer.step(clipped)
        seconds += time.process_time() - start
        images += len(batch)
        if optimizer.steps % every == 0 or optimizer.steps == plan.steps:
            run.steps.append(optimizer.steps)
            run.accuracies.append(classifier.accuracy(data.test, data.test_labels))
            run.epsilons.append(optimizer.get_epsilon(delta))
    return run._replace(images_per_second=images / seconds)


@program(
    "digits",
    "Train classifiers of handwritten digits with a given privacy guarantee.",
    {
        "--model": ("both", "what to train", [*CLASSIFIERS, "both"]),
        **TRAINING,
        "--plot": (None, "save accuracy and epsilon over steps (.png, .svg)"),
    },
)
def main(options: argparse.Namespace) -> None:
    """Run the program and return its exit code.

    >>> main(["--epochs", "-1"])
    2
    """
    figure = figure_for(options.plot)
    runs = _runs(options)
    for run in runs:
        _report(run, options.delta)
    if len(runs) > 1:
        both = PLDAccountant().compose(runs[0].optimizer.plan.mechanism, len(runs))
        epsilon = round_up(both.get_epsilon(options.delta))
        print(f"whoever gets both: ({epsilon}, {decimal_of(options.delta)})-DP")
    if figure is not None:
        _draw(figure, runs, options.delta)
        figure.savefig(options.plot, dpi=150)


def _runs(options: argparse.Namespace) -> list[Run]:
    data = digits(options.seed)
    plan = planned(options, len(data.train))
    print(
        f"{plan.population} images, sampling rate {plan.sample_rate:.4f}, {plan.steps} steps, "
        f"noise multiplier {plan.noise_multiplier:.4f}, clipping norm {plan.max_grad_norm:g}"
    )
    names = list(CLASSIFIERS) if options.model == "both" else [options.model]
    classifiers = [CLASSIFIERS[k](data.train.shape[1], CLASSES, options.seed) for k in names]
    return [train(c, data, plan, options.learning_rate, options.delta) for c in classifiers]


def _report(run: Run, delta: float) -> None:
    print(
        f"{run.classifier.name}: accuracy {run.accuracies[-1]:.1%} of held-out images, "
        f"({round_up(run.epsilons[-1])}, {decimal_of(delta)})-DP, "
        f"{run.images_per_second:,.0f} images/s"
    )


def _draw(figure: Any, runs: list[Run], delta: float) -> None:
    left = figure.add_subplot()
    right = left.twinx()
    for run, colour in zip(runs, ("#0072B2", "#D55E00"), strict=False):
        left.plot(run.steps, run.accuracies, color=colour, label=run.classifier.name)
    right.plot(runs[0].steps, runs[0].epsilons, color="black", linestyle=":", label="ε of each")
    left.set(xlabel="steps", ylabel="accuracy, held-out images", ylim=(0.0, 1.0))
    right.set(ylabel=f"ε at δ = {decimal_of(delta)}", ylim=(0.0, None))
    left.legend(handles=[*left.get_lines(), *right.get_lines()], loc="lower right")


if __name__ == "__main__":
    sys.exit(main())
