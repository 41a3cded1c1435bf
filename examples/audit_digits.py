"""A private training on handwritten digits, audited by canaries in the same run.

``python -m examples.audit_digits --epsilon 3 --plot power.png``

Each canary is an image with one bright pixel of its own, and in the training set or not by the toss
of a coin. What the weights of that pixel have learnt is its score: one run of a logistic regression
says how much privacy it certainly lost. ``--noise-share 0.2`` trains with a fifth of the noise that
is reported, as by a mistake in a program, which the audit should find.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from examples._classifiers import LogisticRegression
from examples._data import digits
from examples._program import TRAINING, figure_for, planned, program

from renyi import Gaussian, PLDAccountant, PoissonSampled
from renyi._progress import LOGGED, progress
from renyi._rounding import round_down, round_up
from renyi._validation import FINITE_POSITIVE, decimal_of, integer_of, number_in
from renyi.audit import OneRun, draw_canaries, plot_power
from renyi.sgd import DPSGD, SGD, TrainingPlan, ghost_clip_and_sum

__all__ = ["Audited", "main", "train"]

CLASSES = 10
BRIGHT = 100.0  # so that clipping always shortens the gradient of a canary
TRUTHS = (1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2)  # of the noise that is reported, in the figure


class Audited(NamedTuple):
    """How well the classifier does, and what the canaries tell."""

    accuracy: float
    audit: OneRun


def train(
    plan: TrainingPlan, canaries: int, learning_rate: float, seed: int, generator: Any = None
) -> Audited:
    """Train on the images and on the canaries that the coins chose, and score all canaries.

    Args:
        plan: Of a population of all training images and all canaries.
        canaries: How many.
        learning_rate: Of plain stochastic gradient descent.
        seed: Of the split of the data; never of coins or noise.
        generator (SecureGenerator): Of coins, batches and noise.
    """
    data = digits(seed)
    real, pixels = data.train.shape
    images = np.zeros((real + canaries, pixels + canaries), np.float32)
    images[:real, :pixels] = data.train
    own = np.arange(canaries)
    images[real + own, pixels + own] = BRIGHT
    labels = np.concatenate([data.train_labels, own % CLASSES])
    inside = draw_canaries(canaries, generator)
    there = np.append(np.ones(real, np.bool_), inside)
    model = LogisticRegression(pixels + canaries, CLASSES, seed)
    sampler = plan.sampler(generator=generator)
    optimizer = DPSGD(
        model.parameters, plan, SGD(learning_rate), sampler=sampler, generator=generator
    )
    for batch in progress(sampler, "step", total=plan.steps, title="training", logged=LOGGED):
        (layer,) = model.layers(images[batch], labels[batch])
        errors = layer.output_gradients * there[batch, np.newaxis]  # rows of 0 are not there
        kept = layer._replace(output_gradients=errors)
        optimizer.step(ghost_clip_and_sum([kept], plan.max_grad_norm))
    weights, bias = model.parameters
    tests = data.test @ weights[:pixels] + bias
    learnt = weights[pixels:]
    scores: npt.NDArray[Any] = learnt[own, own % CLASSES] - learnt.mean(axis=1)
    accuracy = float(np.mean(tests.argmax(axis=1) == data.test_labels))
    return Audited(accuracy, OneRun(scores, inside))


@program(
    "audit_digits",
    "Train a classifier of handwritten digits privately, and audit the same run.",
    {
        **TRAINING,
        "--epsilon": (3.0, "target"),
        "--learning-rate": (0.5, "of gradient descent"),
        "--canaries": (1000, "each in the run by the toss of a coin"),
        "--noise-share": (1.0, "of the noise reported that is drawn"),
        "--plot": (None, "draw what the audit would have found (.png, .svg)"),
    },
)
def main(options: argparse.Namespace) -> int:
    """Run the program and return its exit code: 1 if what is reported is refuted.

    >>> main(["--canaries", "0"])
    2
    """
    figure = figure_for(options.plot)
    canaries = integer_of(options.canaries, "canaries", 4)
    share = number_in(options.noise_share, "--noise-share", FINITE_POSITIVE)
    plan = planned(options, len(digits(options.seed).train) + canaries)
    real = replace(plan, noise_multiplier=plan.noise_multiplier * share)
    found = train(real, canaries, options.learning_rate, options.seed)
    refuted = _report(plan, found, options)
    if figure is not None:
        truths = [_claim(plan, plan.noise_multiplier * share) for share in TRUTHS]
        claim = _claim(plan, plan.noise_multiplier)
        plot_power(found.audit, claim, truths, options.delta, ax=figure.add_subplot())
        figure.savefig(options.plot, dpi=150)
    return int(refuted)


def _claim(plan: TrainingPlan, noise: float) -> PLDAccountant:
    return PLDAccountant().compose(PoissonSampled(Gaussian(noise), plan.sample_rate), plan.steps)


def _report(plan: TrainingPlan, found: Audited, options: argparse.Namespace) -> bool:
    """Print what was trained, and what the audit says of it in a sentence."""
    reported = plan.get_epsilon(options.delta)
    claim, noise = _claim(plan, plan.noise_multiplier), plan.noise_multiplier
    refuted = found.audit.refutes(claim)

    def mechanism(sigma: float) -> Any:
        return PoissonSampled(Gaussian(sigma), plan.sample_rate) * plan.steps

    most = found.audit.parameter_bound(mechanism, (0.5 * noise, 8.0 * noise))
    bound = 0.0 if most is None else _claim(plan, most).get_epsilon_bounds(options.delta)[0]
    verdict = "is refuted" if refuted else "is not refuted"
    print(
        f"{plan.population:,} records, {options.canaries:,} of them canaries; sampling rate "
        f"{plan.sample_rate:.4f}, {plan.steps} steps, noise multiplier {noise:.4f}: accuracy "
        f"{found.accuracy:.1%} of held-out images\n"
        f"With 95 % confidence this run, if it is DP-SGD with whatever noise, has an epsilon above "
        f"{round_down(bound)} at delta {decimal_of(options.delta)}; the reported "
        f"{round_up(reported)} {verdict} (p-value {round_up(found.audit.p_value(claim))})."
    )
    return refuted


if __name__ == "__main__":
    sys.exit(main())
