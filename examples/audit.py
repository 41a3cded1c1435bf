"""An attack on DP-SGD at its worst: what can be proven about epsilon by running it many times.

``python -m examples.audit --noise-multiplier 1 --sample-rate 0.25 --steps 10 --runs 20000``

All records have the gradient zero, but one, whose gradient is as long as clipping lets it be and
always has the same direction. Of each run the attacker sees every noisy mean, and scores it by the
likelihood ratio of the run with that record over the run without. No attack does better on such
data, so the lower bound comes near the reported epsilon, from below if that is right.

``--plot audit.png`` draws the errors of the attack beside what the guarantee allows. One run of
real training is audited by ``examples.audit_digits``.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from examples._program import figure_for, program

from renyi._progress import LOGGED, progress
from renyi._rounding import round_down, round_up
from renyi._validation import decimal_of, integer_of
from renyi.accountants import PLDAccountant
from renyi.audit import ManyRuns, plot_attack
from renyi.sgd import DPSGD, SGD, QuantileClipNorm, TrainingPlan

__all__ = ["Audit", "audit", "main", "scores"]

Scores = npt.NDArray[np.float64]


class Audit(NamedTuple):
    """A reported epsilon, the bound that runs have put below it, and their scores."""

    reported: float
    lower_bound: float
    present: Scores
    absent: Scores


def audit(
    plan: TrainingPlan,
    delta: float,
    runs: int,
    *,
    count_noise: float | None = None,
    confidence: float = 0.95,
    generator: Any = None,
) -> Audit:
    """Train with and without a record, ``runs`` times each, and compare.

    Args:
        plan: With Poisson batches; few records make it quick.
        delta: At which epsilon is asked for.
        runs: At least 4. The bound comes near where ``delta * runs`` is far above 1.
        count_noise: Lets the clipping norm move, by a count with noise of this standard deviation;
            the attack looks at the sums alone then.
        confidence: Of the lower bound.
        generator (SecureGenerator): Of batches and noise.
    """
    count = integer_of(runs, "runs", 4)
    reported = plan.get_epsilon(delta)
    present, absent = (
        scores(plan, there, count, count_noise, generator) for there in (True, False)
    )
    runs_of_both = ManyRuns(present, absent, threshold=reported)
    bound = runs_of_both.epsilon_lower_bound(delta, confidence=confidence)
    return Audit(reported, bound, present, absent)


def scores(
    plan: TrainingPlan,
    present: bool,
    runs: int,
    count_noise: float | None = None,
    generator: Any = None,
) -> Scores:
    """Return the log-likelihood ratio of each of many runs with, or without, record 0."""
    result = np.empty(runs)
    title = "with" if present else "without"
    for k in progress(range(runs), "run", title=title, logged=LOGGED):
        result[k] = _score(plan, present, count_noise, generator)
    return result


def _score(plan: TrainingPlan, present: bool, count_noise: float | None, generator: Any) -> float:
    sampler, weight = plan.sampler(generator=generator), np.zeros(1)
    size = plan.expected_batch_size
    norm = None
    if count_noise is not None:
        norm = QuantileClipNorm(
            plan.max_grad_norm, expected_batch_size=size, count_noise=count_noise
        )
    # Not bound to the sampler, whose data set has the record in both worlds.
    optimizer = DPSGD(weight, plan, SGD(0.0), clip_norm=norm, generator=generator)
    score = 0.0
    for batch in sampler:
        bound = optimizer.max_grad_norm
        assert isinstance(bound, float)
        if not present:
            batch = batch[batch != 0]
        grads = np.where(batch == 0, 1e9, 0.0)[:, np.newaxis]
        noisy = float(optimizer.step(grads)[0]) * size / bound
        score += _log_ratio(noisy, plan.sample_rate, plan.noise_multiplier)
    return score


def _log_ratio(x: float, rate: float, sigma: float) -> float:
    """Log density of (1 - q) N(0, σ²) + q N(1, σ²) over that of N(0, σ²)."""
    exponent = (2.0 * x - 1.0) / (2.0 * sigma * sigma)
    kept = math.log1p(-rate) if rate < 1.0 else -math.inf
    return float(np.logaddexp(kept, math.log(rate) + exponent))


@program(
    "audit",
    "Attack DP-SGD with the worst record, and bound epsilon from below.",
    {
        "--noise-multiplier": (1.0, "of the run"),
        "--sample-rate": (0.25, "of the run; taken as one over an integer"),
        "--steps": (10, "of the run"),
        "--delta": (0.1, "at which epsilon is compared"),
        "--runs": (20_000, "with the record, and as many without"),
        "--confidence": (0.95, "of the lower bound"),
        "--plot": (None, "draw the errors of the attack, as .png or .svg"),
    },
)
def main(options: argparse.Namespace) -> int:
    """Run the program and return its exit code: 1 if the reported epsilon is refuted.

    >>> main(["--runs", "0"])
    2
    """
    if not 0.0 < options.sample_rate <= 1.0:
        raise ValueError(f"sample_rate must be a number in (0, 1], got {options.sample_rate}")
    figure = figure_for(options.plot)
    plan = _plan(options)
    found = audit(plan, options.delta, options.runs, confidence=options.confidence)
    print(
        f"{plan.steps} steps at sampling rate {plan.sample_rate:g}, noise multiplier "
        f"{plan.noise_multiplier:g}, delta {decimal_of(options.delta)}\n"
        f"reported    epsilon = {round_up(found.reported)}\n"
        f"measured    epsilon > {round_down(found.lower_bound)} with confidence "
        f"{options.confidence:g}, "
        f"{2 * options.runs:,} runs ({found.lower_bound / found.reported:.0%} of the reported)"
    )
    if figure is not None:
        accountant = PLDAccountant().compose(plan.mechanism)
        plot_attack(found.present, found.absent, accountant, ax=figure.add_subplot())
        figure.savefig(options.plot, dpi=150)
    return int(found.lower_bound > found.reported)


def _plan(options: argparse.Namespace) -> TrainingPlan:
    """Return a plan of batches of one record."""
    records = round(1.0 / options.sample_rate)
    return TrainingPlan(records, 1, noise_multiplier=options.noise_multiplier, steps=options.steps)


if __name__ == "__main__":
    sys.exit(main())
