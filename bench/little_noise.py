"""Little noise, where outputs nearly tell who was seen: width and time of brackets of epsilon.

    python bench/little_noise.py                       # 720 settings and 5,000 random ones
    python bench/little_noise.py --random 500 --direction remove
    python bench/little_noise.py --truth 200           # containment of values in multi-precision
    python bench/little_noise.py --truth 200 --direction replace

To the screen. Width: relative to the upper end. Questions are put to a child process, one core.
Truths are those of the direction remove, or of replaced records, with the number of seen records as
a condition (tests/reference/large_losses.py), where that takes few nodes.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from guarded import Answer, answers
from peers import Training
from questions import Question, log_uniform
from speed import duration, table
from tqdm import tqdm

from renyi import Gaussian, PLDAccountant, PoissonSampled

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "reference"))
from large_losses import LargeLosses, Unreachable

Direction = Literal["remove", "add", "replace"]
NARROW, LEVELS, NAMED = 1e-8, (0.5, 0.9, 0.99, 1.0), 10
PATIENT, QUICK = 20.0, 0.03  # seconds
WORK = 6e5  # for a truth, some seconds


def grid() -> list[Question]:
    rates, steps = (1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5), (2, 10, 100, 1000, 10_000)
    noises = (0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0)
    runs = itertools.product(rates, noises, steps, (1e-6, 1e-2))
    return [Question(Training(q, sigma, k), delta) for q, sigma, k, delta in runs]


def drawn(seed: int, count: int) -> list[Question]:
    """Of five one asks for a tiny delta, and one has up to 1e9 steps."""
    rng, found = random.Random(seed), []
    for _ in range(count):
        most = 1e9 if rng.random() < 0.2 else 1e6
        run = Training(
            log_uniform(rng, 1e-6, 1.0),
            log_uniform(rng, 1e-2, 0.5),
            round(log_uniform(rng, 1, most)),
        )
        tiny = rng.random() < 0.2
        found.append(Question(run, log_uniform(rng, *((1e-300, 1e-12) if tiny else (1e-12, 0.9)))))
    return found


def ends(direction: Direction, question: Question) -> tuple[float, float]:
    if direction == "replace":
        q, sigma, steps = question.run
        replaced = PLDAccountant(adjacency="replace_one")
        replaced.compose(PoissonSampled(Gaussian(sigma), q), steps)
        low, high = replaced.get_epsilon_bounds(question.at)
    else:
        low, high = question.accountant().get_epsilon_bounds(question.at, direction=direction)
    return float(low), float(high)


def width(answer: Answer) -> float:
    """1 without an answer."""
    if answer.value is None or not answer.value[1] < np.inf:
        return 1.0
    low, high = answer.value
    return (high - low) / high if high > 0 else 0.0


def report(
    title: str, direction: Direction, questions: Sequence[Question], repeats: int
) -> Iterator[str]:
    turn = answers(partial(ends, direction), questions, PATIENT, repeats)
    found = list(tqdm(turn, title, len(questions), disable=None))
    widths = np.array([width(answer) for answer in found])
    times = np.array([answer.seconds for answer in found])
    rows = [
        [f"wider than {limit:.0e}", f"{np.sum(widths > limit):,}"]
        for limit in (NARROW, 1e-4, 1e-2, 0.5)
    ]
    rows += [[f"longer than {duration(QUICK)}", f"{np.sum(times > QUICK):,}"]]
    for level in LEVELS:
        long, wide = np.quantile(times, level), np.quantile(widths, level)
        rows.append([f"{100 * level:g} %", f"{duration(long)}, {wide:.1e}"])
    missing = Counter(answer.reason for answer in found if answer.reason)
    answered = dict(missing) or "all answered"
    yield f"## {title}, {direction}: {len(questions):,} questions, {answered}\n"
    yield table("what|how many", rows)
    for name, sizes, told in (("Widest", widths, "{:.1e}".format), ("Slowest", times, duration)):
        order = np.argsort(-sizes, kind="stable")[:NAMED]
        yield "\n".join([f"{name}:\n", *(f"* {told(sizes[i])}: {questions[i]}" for i in order), ""])


def contained(direction: Direction, questions: Sequence[Question], number: int) -> Iterator[str]:
    """Both ends of brackets that are positive, against the truth."""
    counts: Counter[str] = Counter()
    bar = tqdm(total=number, desc="truths")
    for question in questions:
        if sum(counts.values()) - counts["out of reach"] >= number:
            break
        q, sigma, steps = question.run
        low, high = ends(direction, question)
        if not 0 < low <= high < np.inf or steps == 1:
            continue
        try:
            replaced = direction == "replace"
            truth = LargeLosses(q, sigma, steps, low, np.log(question.at), WORK, replaced)
        except Unreachable:
            counts["out of reach"] += 1
            continue
        (above, rest), (below, other) = truth.delta(low), truth.delta(high)
        error = question.at * 1e-15
        is_in = above + rest + error >= question.at and below - other - error <= question.at
        counts["inside" if is_in else "OUTSIDE"] += 1
        if not is_in:
            yield f"* outside: {question}, {low!r} to {high!r}\n"
        bar.update()
        if bar.n % 50 == 0:
            yield f"{dict(counts)}\n"
    yield f"## Truths: {dict(counts)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", type=int, default=5000, help="random settings")
    parser.add_argument("--direction", choices=get_args(Direction), help="one of them")
    parser.add_argument("--repeats", type=int, default=1, help="the quickest of so many")
    parser.add_argument("--truth", type=int, help="so many values in multi-precision instead")
    options = parser.parse_args()
    if options.truth:
        questions = grid() + drawn(options.seed, options.random)
        random.Random(options.seed).shuffle(questions)
        for part in contained(options.direction or "remove", questions, options.truth):
            print(part, flush=True)
        return
    sets = {"Settings": grid(), "Random": drawn(options.seed, options.random)}
    for direction in [options.direction] if options.direction else get_args(Direction):
        for title, questions in sets.items():
            for part in report(title, direction, questions, options.repeats):
                print(part, flush=True)


if __name__ == "__main__":
    sys.exit(main())
