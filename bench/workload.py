"""Random training runs as people make them, and random questions as nobody would ask them.

    python bench/workload.py                          # writes bench/results/workload.md
    python bench/workload.py --runs 100 --peers 0     # to the screen, as with any option
    python bench/workload.py --stress 20000           # exceptions and warnings, to the screen
    python bench/workload.py --little 5000            # brackets where there is little noise: 720
                                                      # settings and random ones, to the screen

One core, a fresh accountant for every question; a child process answers, and a question is given
up after --patience seconds.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal

import numpy as np
from guarded import Answer, answers
from harness import duration, facts, options_of, pinned, publish, table
from peers import CurvePeer, installed_curves, named
from questions import Question, anything, bracket, little, plain, settings, stressed, training
from tqdm import tqdm

from renyi._engine import SampledGaussianCurve

LEVELS = (0.5, 0.9, 0.99, 1.0)
NAMED = 5  # of the slowest, and of the widest
HEAD = "question|median time|90 %|99 %|longest|median width|90 %|99 %|widest|no answer"


def quantiles(values: Sequence[float]) -> list[float]:
    return [float(np.quantile(values, level, method="higher")) for level in LEVELS]


def durations(found: Sequence[Answer]) -> list[str]:
    times = [answer.seconds for answer in found if not math.isnan(answer.seconds)]
    return [duration(seconds) for seconds in quantiles(times)]


def widths(values: Sequence[float]) -> list[str]:
    return [f"{value:.1e}" for value in quantiles(values)]


def reasons(found: Sequence[Answer]) -> str:
    counts = Counter(answer.reason for answer in found if answer.reason)
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common()) or "none"


def worst(
    title: str, questions: Sequence[Question], sizes: Sequence[float], told: Callable[[float], str]
) -> str:
    """The questions with the largest sizes by name."""
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])[:NAMED]
    return "\n".join([f"{title}:\n", *(f"* {told(sizes[i])}: {questions[i]}" for i in order), ""])


def slowest(title: str, questions: Sequence[Question], found: Sequence[Answer]) -> str:
    times = [1e-9 if math.isnan(answer.seconds) else answer.seconds for answer in found]
    return worst(title, questions, times, duration)


def upper(answer: Answer) -> float | None:
    """The upper end of a bracket, or the plain number."""
    return answer.value[1] if isinstance(answer.value, tuple) else answer.value


def width_above(low: float, answer: Answer) -> float:
    """Relative to the upper end; 1 without an answer."""
    high = upper(answer)
    if high is None:
        return 1.0
    return max(0.0, high - low) / high if high > 0 else 0.0


def described(
    name: str, questions: Sequence[Question], found: Sequence[Answer], lows: Sequence[float]
) -> tuple[list[str], list[str]]:
    """A row of times and widths, and the slowest and the widest."""
    width = [width_above(low, answer) for low, answer in zip(lows, found, strict=True)]
    lines = [
        slowest(f"Slowest, {name}", questions, found),
        worst(f"Widest, {name}", questions, width, "{:.1e}".format),
    ]
    return [name, *durations(found), *widths(width), reasons(found)], lines


def lows_of(found: Sequence[Answer]) -> list[float]:
    return [answer.value[0] if answer.value else 0.0 for answer in found]


def ours(
    questions: Sequence[Question], patience: float, asked: dict[str, list[Answer]]
) -> Iterator[str]:
    yield f"## Epsilon of {len(questions):,} random runs\n"
    yield (
        "0.05 to 1000 epochs, q 1e-6 to 0.5, sigma 0.1 to 8, delta 1e-12 to 1e-5, all log-uniform; "
        "round(epochs / q) steps, at least 1. Quickest of three where that takes less than a "
        "second. Width: of the certified bracket, relative to its upper end; plain: how far it is "
        "above the lower end. A question without an answer has the width 1.\n"
    )
    for name, ask in (("plain", plain), ("bracket", bracket)):
        turn = answers(ask, questions, patience, repeats=3)
        asked[name] = list(tqdm(turn, name, len(questions), disable=None))
    lows = lows_of(asked["bracket"])
    told = [described(name, questions, found, lows) for name, found in asked.items()]
    below = sum(
        answer.value is not None and answer.value < low
        for answer, low in zip(asked["plain"], lows, strict=True)
    )
    yield table(HEAD, [row for row, _ in told])
    yield f"Plain answers below the bracket: {below}.\n"
    yield from (line for _, lines in told for line in lines)


def little_noise(options: argparse.Namespace) -> Iterator[str]:
    yield "# Little noise\n"
    yield facts({"Patience": f"{options.patience:g} s for a question"})
    told = []
    for direction in ("remove", "add", "replace"):
        sets = {"settings": settings(), "random": little(options.seed, options.little)}
        for title, made in sets.items():
            questions, name = (
                [q._replace(direction=direction) for q in made],
                f"{title}, {direction}",
            )
            turn = answers(bracket, questions, options.patience)
            found = list(tqdm(turn, name, len(questions), disable=None))
            told.append(described(name, questions, found, lows_of(found)))
    yield table(HEAD, [row for row, _ in told])
    yield from (line for _, lines in told for line in lines)


def routes(questions: Sequence[Question]) -> Iterator[str]:
    yield "## What answered them\n"
    yield "Each direction by itself, of several routes the last (curve/privacy_curve.hpp).\n"
    found: dict[Literal["remove", "add"], Counter[str]] = {"remove": Counter(), "add": Counter()}
    for question in questions:
        q, sigma, steps = question.run
        curve = SampledGaussianCurve()
        curve.add(q, sigma, float(steps))
        for pair, counts in found.items():
            asked = curve.questions(pair)
            asked.answer("epsilon", np.array([question.at]), np.empty((2, 1)))
            counts[asked.route] += 1
    names = sorted({name for counts in found.values() for name in counts})
    shares = (
        [pair, *(f"{100 * counts[name] / len(questions):.1f} %" for name in names)]
        for pair, counts in found.items()
    )
    yield table("direction|" + "|".join(names), list(shares))


def theirs(peer: CurvePeer, question: Question) -> float:
    return peer.epsilon([question.run], question.at)


def beside(
    questions: Sequence[Question], patience: float, asked: dict[str, list[Answer]]
) -> Iterator[str]:
    """The first questions once more, put to others."""
    peers, _ = installed_curves()
    yield f"## The first {len(questions):,} of them, beside other libraries\n"
    yield (
        "dp_accounting: grid 1e-4; the others: eps_error 0.01, delta_error delta / 1000, their "
        "upper bound. Error: distance from the certified bracket, relative to its nearer end. "
        "Under-reported: below the bracket.\n"
    )
    brackets = [answer.value for answer in asked["bracket"][: len(questions)]]
    rows = []
    found = {f"renyi, {name}": given[: len(questions)] for name, given in asked.items()}
    for peer in peers:
        turn = answers(partial(theirs, peer), questions, patience, repeats=3)
        name = f"{peer.name} {peer.version}"
        found[name] = list(tqdm(turn, name, len(questions), disable=None))
    for name, given in found.items():
        errors, below = [], 0
        for answer, ends in zip(given, brackets, strict=True):
            value = upper(answer)
            if ends is None:
                continue
            if value is None or not math.isfinite(value):
                errors.append(math.inf)
            elif value < ends[0]:
                below += 1
                errors.append(1 - value / ends[0])
            else:
                errors.append(max(0.0, value / ends[1] - 1) if ends[1] else float(value > 0))
        rows.append([name, *durations(given), *widths(errors), str(below), reasons(given)])
    head = "library|median time|90 %|99 %|longest|median error|90 %|99 %|largest|under-reported"
    yield table(head + "|no answer", rows)


def stress(questions: Sequence[Question], patience: float) -> Iterator[str]:
    yield f"# {len(questions):,} random questions\n"
    yield facts({"Patience": f"{patience:g} s for a question"})
    turn = answers(stressed, questions, patience, loud=True)
    found = list(tqdm(turn, "stress", len(questions), disable=None))
    for kind in ("epsilon", "delta"):
        part = [a for a, q in zip(found, questions, strict=True) if q.kind == kind]
        yield f"{kind}: {len(part):,} questions; no answer: {reasons(part)}\n"
        yield table("median time|90 %|99 %|longest", [durations(part)])
    yield slowest("Slowest", questions, found)
    for reason in sorted({answer.reason for answer in found} - {"", "time"}):
        named = [q for a, q in zip(found, questions, strict=True) if a.reason == reason]
        yield "\n".join([f"{reason}, {len(named):,}:\n", *(f"* {q}" for q in named[:NAMED]), ""])


def workload(options: argparse.Namespace) -> Iterator[str]:
    peers, missing = installed_curves()
    yield "# Random training runs\n"
    method = f"one core; at most {options.patience:g} s for a question"
    yield facts(named(peers, missing) | {"Method": method})
    questions, asked = training(options.seed, options.runs), dict[str, list[Answer]]()
    yield from ours(questions, options.patience, asked)
    yield from routes(questions)
    if options.peers:
        yield from beside(questions[: options.peers], options.patience, asked)


def main() -> None:
    options = options_of(__doc__, seed=1, runs=1000, peers=100, patience=20.0, stress=0, little=0)
    pinned()
    if options.stress:
        publish(stress(anything(options.seed, options.stress), options.patience), None)
    elif options.little:
        publish(little_noise(options), None)
    else:
        publish(workload(options), "workload" if len(sys.argv) == 1 else None)


if __name__ == "__main__":
    main()
