"""Private fine-tuning of a language model: low-rank adapters beside frozen weights, one epoch.

``python -m examples.adapters --epsilon 3 --delta 1e-5``

A small transformer learns to predict the next character of Python's language reference, which is
public. Then its weights are frozen, and adapters learn from docstrings of the standard library, one
record each, as if those were secret: what is said of one of them is bounded by the guarantee. The
noise is cryptographic and different in every run; first weights, the split and the order of the
public text follow from ``--seed``.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from examples._program import TRAINING, planned, program
from examples._text import Tokens, docstrings, reference
from examples._transformer import Array, Transformer

from renyi._progress import LOGGED, progress
from renyi._rounding import round_up
from renyi._validation import decimal_of
from renyi.sgd import DPSGD, Adam, TrainingPlan, ghost_clip_and_sum

__all__ = ["Run", "main", "pretrain", "split", "train"]

LENGTH = 64  # characters that are predicted of each record
PUBLIC_BATCH = 32


class Run(NamedTuple):
    """What the adapters learned, and how fast."""

    optimizer: DPSGD
    bits: float  # for each character of held-out records
    records_per_second: float  # of processor time


def pretrain(model: Transformer, text: Tokens, steps: int, seed: int) -> None:
    """Learn all weights from pieces of a public text, by Adam."""
    rng = np.random.default_rng(seed)
    rule, moments = Adam(3e-3), {k: np.zeros((2, *w.shape)) for k, w in model.weights.items()}
    for step in progress(range(1, steps + 1), "step", title="public text", logged=LOGGED):
        first = rng.integers(0, len(text) - LENGTH, (PUBLIC_BATCH, 1))
        tokens = text[first + np.arange(LENGTH + 1)]
        for name, gradient in _gradients(model, tokens).items():
            rule.update(model.weights[name], gradient, list(moments[name]), step)


def _gradients(model: Transformer, tokens: Tokens) -> dict[str, npt.NDArray[Any]]:
    """Return those of the mean loss by all weights."""
    passed = model.passed(tokens)
    _, first = passed.pop("places")
    passed.pop("norm")
    found = {
        name: a.reshape(-1, a.shape[-1]).T @ g.reshape(-1, g.shape[-1])
        for name, (a, g) in passed.items()
    }
    found["places"] = first.sum(axis=0)
    found["characters"] = np.zeros_like(model.weights["characters"])
    np.add.at(found["characters"], tokens[:, :-1], first)
    return {name: gradient / len(tokens) for name, gradient in found.items()}


def split(records: Tokens, seed: int) -> tuple[Tokens, Tokens]:
    """Return records to learn from, which the guarantee is about, and every fifth held out."""
    order = np.random.default_rng(seed).permutation(len(records))
    return records[order[len(order) // 5 :]], records[order[: len(order) // 5]]


def train(
    model: Transformer,
    adapted: list[Array],
    records: Tokens,
    held_out: Tokens,
    plan: TrainingPlan,
    learning_rate: float,
) -> Run:
    """Train the adapters privately; they are changed in place."""
    sampler = plan.sampler()
    optimizer = DPSGD(adapted, plan, Adam(learning_rate), sampler=sampler)
    seen, start = 0, time.process_time()
    for batch in progress(sampler, "step", total=plan.steps, title="private", logged=LOGGED):
        optimizer.step(ghost_clip_and_sum(model.layers(records[batch]), plan.max_grad_norm))
        seen += len(batch)
    speed = seen / (time.process_time() - start)
    return Run(optimizer, float(model.losses(held_out).mean()), speed)


@program(
    "adapters",
    "Adapt a small language model to private text with a given guarantee.",
    {
        **TRAINING,
        "--epsilon": (3.0, "target"),
        "--epochs": (1.0, "passes over the private records"),
        "--batch-size": (128, "expected size of a Poisson batch"),
        "--learning-rate": (1e-2, "of Adam"),
        "--rank": (8, "of the adapters"),
        "--width": (64, "of the transformer"),
        "--public-steps": (300, "on public text, before"),
    },
)
def main(options: argparse.Namespace) -> None:
    """Run the program and return its exit code.

    >>> main(["--epochs", "-1"])
    2
    """
    records, held_out = split(docstrings(LENGTH + 1), options.seed)
    plan = planned(options, len(records))
    model = Transformer(options.seed, width=options.width, length=LENGTH)
    pretrain(model, reference(), options.public_steps, options.seed)
    adapted = model.adapt(options.rank, options.seed)
    before = float(model.losses(held_out).mean())
    run = train(model, adapted, records, held_out, plan, options.learning_rate)
    _report(model, adapted, before, run, options.delta)


def _report(
    model: Transformer, adapted: list[Array], before: float, run: Run, delta: float
) -> None:
    plan = run.optimizer.plan
    frozen = sum(matrix.size for matrix in model.weights.values())
    trained = sum(array.size for array in adapted)
    print(
        f"{plan.population} records, sampling rate {plan.sample_rate:.4f}, {plan.steps} steps, "
        f"noise multiplier {plan.noise_multiplier:.4f}, clipping norm {plan.max_grad_norm:g}"
    )
    print(f"{trained:,} numbers trained beside {frozen:,} frozen ones")
    print(
        f"held-out records: {before:.3f} bits a character before, {run.bits:.3f} after, "
        f"({round_up(run.optimizer.get_epsilon(delta))}, {decimal_of(delta)})-DP, "
        f"{run.records_per_second:,.0f} records per second of processor time"
    )


if __name__ == "__main__":
    sys.exit(main())
