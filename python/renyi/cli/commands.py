"""The commands that take numbers: what each takes, and examples that can be run as they stand."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from renyi.cli import calibrate, compare, curve, guarantee

RUN = "--noise-multiplier 1.1 --sample-rate 0.004 --steps 15000"
RATE = "(--sample-rate Q | --batch-size B --dataset-size N)"
LENGTH = "(--steps T | --epochs E)"
TARGET = "--epsilon EPS --delta DELTA"
SIGMA = "--noise-multiplier SIGMA"

SWEEP_NOTE = (
    "Every number may be a list (0.8,1,1.2) or a range start:stop:step (1000:5000:1000, stop\n"
    "included); all combinations are printed as a table."
)


@dataclass(frozen=True)
class Command:
    """A command that takes numbers."""

    name: str
    run: Callable[[argparse.Namespace], int]
    short: str
    description: str
    usage: tuple[str, ...]
    examples: str
    numbers: tuple[str, ...]
    accounting: bool = True
    adjacency: bool = False
    figure: bool = False
    methods: bool = False
    limit: bool = False


SAMPLING = ("sample_rate", "batch_size", "dataset_size")

COMMANDS = (
    Command(
        "epsilon",
        guarantee.epsilon,
        "the guarantee of a training run, ready to publish",
        "Epsilon of a run at a given delta, with a sentence to publish and what it assumes.",
        (f"{SIGMA} --delta DELTA", RATE, LENGTH),
        f"  renyi epsilon {RUN} --delta 1e-5\n"
        "  renyi epsilon --noise-multiplier 0.8,1,1.2 --batch-size 256 --dataset-size 60000 \\\n"
        "                --epochs 10:50:10 --delta 1e-5",
        ("noise_multiplier", *SAMPLING, "steps", "epochs", "delta"),
        adjacency=True,
        limit=True,
    ),
    Command(
        "delta",
        guarantee.delta,
        "delta of a training run at a given epsilon",
        "Delta of a run at a given epsilon, with a sentence to publish and what it assumes.",
        (f"{SIGMA} --epsilon EPS", RATE, LENGTH),
        f"  renyi delta {RUN} --epsilon 2",
        ("noise_multiplier", *SAMPLING, "steps", "epochs", "epsilon"),
        adjacency=True,
    ),
    Command(
        "curve",
        curve.curve,
        "delta for many epsilon, or the trade-off of test errors, as table or figure",
        "The whole guarantee of a run: delta against epsilon, or with --tradeoff the least type\n"
        "II error (beta, missed records) of any test for one record's presence against its type\n"
        "I error (alpha, false alarms). As a table; as a figure with --plot or --show, which\n"
        "need matplotlib (python -m pip install matplotlib).",
        (SIGMA, RATE, LENGTH),
        f"  renyi curve {RUN}\n"
        f"  renyi curve {RUN} \\\n"
        "              --compare rdp,gdp --plot curve.png\n"
        f"  renyi curve {RUN} --tradeoff",
        ("noise_multiplier", *SAMPLING, "steps", "epochs", "epsilon", "alpha"),
        accounting=False,
        adjacency=True,
        figure=True,
    ),
    Command(
        "compare",
        compare.compare,
        "classical composition, moments and the exact curve side by side",
        "Epsilon at a given delta, delta at a given epsilon, or with --target the noise that is\n"
        "enough for both, by every method: no sampling at\n"
        "all, the subsampling theorem with advanced or optimal composition, moments bounded by a\n"
        "constant, the moments accountant, Renyi-DP, the exact curve. As a table; with --plot or\n"
        "--show as a figure over the steps, which needs matplotlib. The noise multiplier is\n"
        "relative to the sensitivity of each method's own adjacency.",
        (f"({SIGMA} (--delta DELTA | --epsilon EPS) | --target EPS --delta DELTA)", RATE, LENGTH),
        "  renyi compare --noise-multiplier 4 --sample-rate 0.01 --steps 1000 --delta 1e-5\n"
        "  renyi compare --noise-multiplier 4 --sample-rate 0.01 --steps 10000 --delta 1e-5 \\\n"
        "                --plot comparison.png\n"
        "  renyi compare --target 1 --delta 1e-5 --sample-rate 0.01 --steps 1000",
        ("noise_multiplier", *SAMPLING, "steps", "epochs", "epsilon", "delta", "target"),
        accounting=False,
        methods=True,
    ),
    Command(
        "noise",
        calibrate.noise,
        "smallest noise multiplier for a target guarantee",
        "Smallest noise multiplier with which a run meets (epsilon, delta). It is printed rounded\n"
        "up, and the guarantee of the printed number is computed afresh.",
        (TARGET, RATE, LENGTH),
        "  renyi noise --epsilon 2 --delta 1e-5 --sample-rate 0.004 --steps 15000\n"
        "  renyi noise --epsilon 1,2,4,8 --delta 1e-5 \\\n"
        "              --batch-size 256 --dataset-size 60000 --epochs 20",
        ("target_epsilon", "delta", *SAMPLING, "steps", "epochs"),
    ),
    Command(
        "steps",
        calibrate.steps,
        "largest number of steps for a target guarantee",
        "Largest number of steps that stays within (epsilon, delta).",
        (f"{TARGET} {SIGMA}", RATE),
        "  renyi steps --epsilon 2 --delta 1e-5 --noise-multiplier 1.1 --sample-rate 0.004",
        ("target_epsilon", "delta", "noise_multiplier", *SAMPLING),
    ),
    Command(
        "rate",
        calibrate.rate,
        "largest sampling rate for a target guarantee",
        "Largest Poisson sampling rate with which a run meets (epsilon, delta). It is printed\n"
        "rounded down, and the guarantee of the printed number is computed afresh. With\n"
        "--dataset-size the expected batch size is printed too.",
        (f"{TARGET} {SIGMA}", "--steps T [--dataset-size N]"),
        "  renyi rate --epsilon 2 --delta 1e-5 --noise-multiplier 1.1 --steps 15000 \\\n"
        "             --dataset-size 60000",
        ("target_epsilon", "delta", "noise_multiplier", "steps", "dataset_size"),
    ),
    Command(
        "rdp",
        guarantee.rdp,
        "Renyi-DP of a training run at given orders",
        "Renyi-DP of a run at given orders: a certified upper bound, printed rounded up.",
        (f"{SIGMA} --orders A", RATE, LENGTH),
        f"  renyi rdp {RUN} --orders 2,4,8,16",
        ("noise_multiplier", *SAMPLING, "steps", "epochs", "rdp_orders"),
        accounting=False,
    ),
)
