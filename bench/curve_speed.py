"""Speed of the exact privacy curve beside libraries that compose privacy-loss distributions.

    python bench/curve_speed.py             # everything, writes bench/results/curve_speed.md
    python bench/curve_speed.py --quick     # fewer rounds, to the screen only

dp_accounting, prv_accountant and Opacus are timed if they are installed and otherwise named as
absent. One core, all contenders in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from harness import Contender, compared, duration, interleave, relative, table
from peers import CurvePeer, Training, installed_curves
from speed import mechanism, program

import renyi
from renyi import PLDAccountant

DELTA = 1e-5
RUN = Training(0.01, 1.0, 10_000)
EXACT = 6.18771238997154  # epsilon of RUN at DELTA: root of renyi.reference.delta
TARGET = 2.0
DISTINCT = tuple(Training(0.01, 0.8 + 0.001 * i, 1) for i in range(1000))
FEW = 10  # queries or steps given to libraries that need seconds for each


def composed(steps: Sequence[Training]) -> Any:
    accountant = PLDAccountant()
    for run in steps:
        accountant.compose(mechanism(run), run.steps)
    return accountant


def epsilon(peers: Sequence[CurvePeer], rounds: int) -> Iterable[str]:
    yield "## Epsilon of a training run\n"
    yield (
        f"q = {RUN.sample_rate:g}, sigma = {RUN.noise_multiplier:g}, {RUN.steps:,} steps, delta = "
        "1e-5. Fresh accountant, compose, one query; every repetition has another noise multiplier "
        "(parts in 1e10). Bracket: certified lower and upper bound, the upper one is shown. "
        "dp_accounting: grid 1e-4; the others: eps_error 0.01, delta_error 1e-8, their upper "
        "bound.\n"
    )
    contenders = [
        Contender("renyi", lambda k: float(composed([RUN.nudged(k)]).get_epsilon(DELTA))),
        Contender(
            "renyi, bracket",
            lambda k: float(composed([RUN.nudged(k)]).get_epsilon_bounds(DELTA)[1]),
        ),
    ]
    for peer in peers:
        call = partial(lambda k, p: p.epsilon([RUN.nudged(k)], DELTA), p=peer)
        contenders.append(Contender(peer.name, call))
    timings = interleave(contenders, rounds=rounds)
    yield compared(
        "engine|median|time / renyi|time / bracket|epsilon|relative error",
        timings,
        lambda t: timings[1].times(t) if t not in timings[:2] else "",
        lambda t: f"{t.result:.10g}",
        lambda t: relative(t.result, EXACT),
    )


def calibration(peers: Sequence[CurvePeer], rounds: int) -> Iterable[str]:
    yield "## Noise for a target\n"
    yield (
        f"Smallest noise multiplier for ({TARGET:g}, 1e-5), q = {RUN.sample_rate:g}, "
        f"{RUN.steps:,} steps; default tolerances (Opacus 0.01 in epsilon, dp_accounting 1e-6 in "
        "the noise).\n"
    )

    def ours(k: int) -> float:
        return float(
            renyi.calibrate_noise_multiplier(
                target_epsilon=TARGET * (1 + 1e-10 * k),
                target_delta=DELTA,
                sample_rate=RUN.sample_rate,
                steps=RUN.steps,
                accountant="pld",
            )
        )

    contenders = [Contender("renyi", ours)]
    for peer in peers:
        if (noise := peer.noise_multiplier) is not None:
            call = partial(lambda k, f: f(TARGET * (1 + 1e-10 * k), DELTA, RUN), f=noise)
            contenders.append(Contender(peer.name, call))
    timings = interleave(contenders, rounds=min(rounds, 5))
    yield compared(
        "engine|median|time / renyi|noise multiplier", timings, lambda t: f"{t.result:.8f}"
    )


def many(peers: Sequence[CurvePeer], rounds: int) -> Iterable[str]:
    yield "## Many queries of one composition\n"
    yield (
        "1,000 values of delta from 1e-3 to 1e-12, and epsilon after each of 1,000 checkpoints "
        f"along 10,000 steps. A peer gets {FEW} of the deltas, one call each.\n"
    )
    deltas = np.logspace(-3, -12, 1000)
    counts = np.arange(10, 10_001, 10)
    contenders = [
        Contender(
            "renyi, 1,000 deltas",
            lambda k: float(np.sum(composed([RUN.nudged(k)]).get_epsilon(deltas))),
            1000,
        ),
        Contender(
            "renyi, 1,000 checkpoints",
            lambda k: float(
                np.sum(PLDAccountant().get_epsilon_after(DELTA, mechanism(RUN.nudged(k)), counts))
            ),
            1000,
        ),
    ]
    for peer in peers:

        def theirs(k: int, peer: CurvePeer = peer) -> float:
            chosen = deltas[: 600 : 600 // FEW]  # above 1e-9: they have nothing to say below
            return sum(peer.epsilon([RUN.nudged(k)], float(delta)) for delta in chosen)

        contenders.append(Contender(f"{peer.name}, {FEW} deltas", theirs, FEW))
    timings = interleave(contenders, rounds=min(rounds, 3))
    yield compared("engine|one value|time / renyi", timings)


def live(peers: Sequence[CurvePeer], rounds: int) -> Iterable[str]:
    yield "## Distinct steps, a query after each\n"
    yield (
        "q = 0.01, sigma = 0.8, 0.801, ..., 1.799; one step is composed and epsilon at 1e-5 is "
        f"asked for, again and again. Peers: the first {FEW} steps, their whole history at every "
        "query.\n"
    )

    def ours(k: int) -> float:
        accountant, value = PLDAccountant(), 0.0
        for run in DISTINCT:
            accountant.compose(mechanism(run.nudged(k)))
            value = accountant.get_epsilon(DELTA)
        return float(value)

    contenders = [Contender("renyi, 1,000 steps", ours, 1000)]
    for peer in peers:

        def theirs(k: int, peer: CurvePeer = peer) -> float:
            value = 0.0
            for n in range(1, FEW + 1):
                value = peer.epsilon([run.nudged(k) for run in DISTINCT[:n]], DELTA)
            return value

        contenders.append(Contender(f"{peer.name}, {FEW} steps", theirs, FEW))
    timings = interleave(contenders, rounds=1)
    yield table(
        "engine|one step and query|last epsilon",
        [[t.name, duration(t.median), f"{t.result:.8g}"] for t in timings],
    )


SECTIONS: dict[str, Callable[[Sequence[CurvePeer], int], Iterable[str]]] = {
    "epsilon": epsilon,
    "calibration": calibration,
    "many": many,
    "live": live,
}


if __name__ == "__main__":
    title = "Speed of the exact privacy curve"
    program(__doc__, "curve_speed", title, SECTIONS, installed_curves, (2, 7))
