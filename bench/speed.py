"""Speed beside other libraries, accuracy beside speed: one run, one core, alternating order.

    python bench/speed.py             # everything, writes bench/results/speed.md
    python bench/speed.py --quick     # fewer rounds, to the screen only

Peers (dp_accounting, opacus) are timed if they are installed and otherwise named as absent.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import cases
import numpy as np
from cases import DELTA
from harness import (
    Contender,
    compared,
    duration,
    facts,
    interleave,
    options_of,
    pinned,
    publish,
    relative,
    table,
)
from peers import Peer, Training, installed, named

import renyi
from renyi import Gaussian, PoissonSampled, RDPAccountant, reference, special
from renyi._adjacency import Conversion

# ------------------------------------------------------------------------------------ the sections


def epsilon(peers: Sequence[Peer], rounds: int) -> Iterable[str]:
    yield "## Epsilon of a training run\n"
    yield (
        "Fresh accountant, compose, one query at delta = 1e-5; every repetition has another noise "
        "multiplier (parts in 1e10), so nothing can come from a cache. A peer uses its default "
        "orders; the row below it is renyi with the same orders and the same conversion formula, "
        "which finds the best of them without evaluating all (the curve has one valley). "
        "Plain `renyi` optimises over all real orders with the optimal conversion. Error: against "
        "the exact value of what that row computes (50-digit arithmetic); below zero means less "
        "privacy loss reported than there is.\n"
    )
    for case in cases.EPSILON:
        timings = interleave(epsilon_contenders(case.run, peers), rounds=rounds)
        ours = {timing.name: timing for timing in timings}
        rows = []
        for timing in timings:
            peer = timing.name.removeprefix("renyi, orders of ")
            exact = getattr(case, peer, case.best)
            same = ours.get(f"renyi, orders of {peer}")
            rows.append(
                [
                    timing.name,
                    duration(timing.median),
                    same.times(timing) if same else "",
                    ours["renyi"].times(timing) if peer == timing.name != "renyi" else "",
                    f"{timing.result:.10g}",
                    relative(timing.result, exact),
                ]
            )
        q, sigma, steps = case.run
        yield f"### {case.title}: q = {q:g}, sigma = {sigma:g}, {steps:,} steps\n"
        head = "engine|median|time / renyi, same orders|time / renyi|epsilon|relative error"
        yield table(head, rows)


def log_a(peers: Sequence[Peer], rounds: int) -> Iterable[str]:
    yield "## log A at many points\n"
    yield (
        f"{cases.LOG_A_POINTS} random points (q, sigma, order): log10 q uniform in [-4, -1], sigma "
        "in [0.6, 4], order up to 64; one call of `renyi.special.log_a`, a loop over the points for"
        " the peers, which take one point at a time. One thread. Errors: largest and median "
        f"relative error of log A at {cases.LOG_A_CHECKED} of the points, against "
        "`renyi.reference` (20 digits).\n"
    )
    for kind in ("fractional", "integer"):
        points = everyday_points(cases.LOG_A_POINTS, integer=kind == "integer")
        timings = interleave(log_a_contenders(points, peers), rounds=rounds)
        checked = points[:, : cases.LOG_A_CHECKED]
        exact = [float(reference.log_a(*map(float, point), digits=20)) for point in checked.T]
        rows = []
        for timing in timings:
            errors = np.abs(np.asarray(timing.result)[: len(exact)] / exact - 1)
            rows.append(
                [
                    timing.name,
                    duration(timing.median),
                    f"{1 / timing.median:,.0f}",
                    timings[0].times(timing),
                    f"{errors.max():.1e}",
                    f"{np.median(errors):.1e}",
                ]
            )
        yield f"### {kind} orders\n"
        yield table(
            "engine|one evaluation|per second|time / renyi|largest error|median error", rows
        )


def live(peers: Sequence[Peer], rounds: int) -> Iterable[str]:
    yield "## Live use: a query after every step\n"
    yield (
        "One step is composed and epsilon is asked for, again and again, on one accountant. "
        f"Identical steps: q = {cases.LIVE_STEP.sample_rate:g}, sigma = "
        f"{cases.LIVE_STEP.noise_multiplier:g}. Distinct steps: sigma = 0.8, 0.801, ..., 1.799. "
        "Peers are timed over the number of steps given and per step. Opacus evaluates its whole "
        "history at every query, so that its time per distinct step grows with their number.\n"
    )
    yield "### identical steps\n"
    contenders = [
        Contender(f"renyi, {n:,} steps", partial(ours_identical, steps=n), n) for n in cases.LIVE
    ]
    few = cases.LIVE_STEPS_OF_PEERS
    for peer in peers:
        call = partial(theirs_live, peer=peer, steps=[cases.LIVE_STEP] * few)
        contenders.append(Contender(f"{peer.name}, {few} steps", call, few))
    timings = interleave(contenders, rounds=rounds)
    exact = {f"renyi, {n:,} steps": value for n, value in cases.LIVE.items()}
    yield compared(
        "engine|one step and query|time / renyi|last epsilon|relative error",
        timings,
        lambda t: f"{t.result:.10g}",
        lambda t: relative(t.result, exact[t.name]) if t.name in exact else "",
    )
    yield "### distinct steps\n"
    n, exact, same = len(cases.DISTINCT), {}, {}
    contenders = [Contender(f"renyi, {n:,} steps", partial(ours_distinct, steps=n), n)]
    exact[contenders[0].name] = cases.DISTINCT_BEST
    for peer in peers:
        few = n if peer.name == "dp_accounting" else cases.DISTINCT_STEPS_OF_OPACUS
        theirs = partial(theirs_live, peer=peer, steps=cases.DISTINCT[:few])
        ours = partial(ours_distinct, steps=few, orders=peer.orders, conversion="balle")
        name, own = f"{peer.name}, {few:,} steps", f"renyi, orders of {peer.name}, {few:,} steps"
        contenders += [Contender(name, theirs, few), Contender(own, ours, few)]
        exact[name] = exact[own] = cases.DISTINCT_LISTED[few]
        same[name] = own
    timings = interleave(contenders, rounds=rounds)
    by_name = {timing.name: timing for timing in timings}
    head = (
        "engine|one step and query|time / renyi, same orders and steps|last epsilon|relative error"
    )
    yield table(head, [
        [
            timing.name,
            duration(timing.median),
            by_name[same[timing.name]].times(timing) if timing.name in same else "",
            f"{timing.result:.10g}",
            relative(timing.result, exact[timing.name]),
        ]
        for timing in timings
    ])  # fmt: skip


def calibration(peers: Sequence[Peer], rounds: int) -> Iterable[str]:
    rate, steps = cases.CALIBRATION_RATE, cases.CALIBRATION_STEPS
    yield "## Noise for a target\n"
    yield (
        f"Smallest noise multiplier for (epsilon, 1e-5), q = {rate:g}, {steps:,} steps. "
        "Tolerance 1e-6 in the noise for dp_accounting (absolute) and renyi (relative); 0.01, the "
        "default, and 1e-6 in epsilon for Opacus. Excess: relative, over the exact smallest noise "
        "of the same problem (all real orders for plain renyi, the peers' orders otherwise).\n"
    )
    for case in cases.CALIBRATION:
        contenders = calibration_contenders(case.target_epsilon, peers)
        timings = interleave(contenders, rounds=rounds)
        yield f"### epsilon = {case.target_epsilon:g}\n"
        yield compared(
            "engine|median|time / renyi|noise multiplier|excess",
            timings,
            lambda t: f"{t.result:.8f}",
            lambda t, c=case: f"{t.result / (c.best if t.name == 'renyi' else c.listed) - 1:+.1e}",
        )


def imports(peers: Sequence[Peer], rounds: int) -> Iterable[str]:
    count = 15 if rounds > 3 else 3
    yield "## Import\n"
    yield (
        f"Fresh processes, {count} of each in turns, files in the page cache; seconds on top of "
        "`import numpy` in the same process.\n"
    )
    query = "PoissonSampled(Gaussian(1.0), 0.01), 1000).get_epsilon(1e-5)"
    statements = {
        "import numpy": "",
        "import renyi": "import renyi",
        "renyi, up to the first epsilon": "from renyi import Gaussian, PoissonSampled, "
        f"RDPAccountant; RDPAccountant().compose({query}",
    }
    modules = {"dp_accounting": "dp_accounting", "opacus": "opacus.accountants"}
    statements |= {f"import {modules[p.name]}": f"import {modules[p.name]}" for p in peers}
    taken: dict[str, list[float]] = {name: [] for name in statements}
    for _ in range(count):
        for name, statement in statements.items():
            taken[name].append(fresh_process(statement, numpy_itself=name == "import numpy"))
    yield table(
        "what|median|smallest|largest",
        [
            [f"`{name}`", *map(duration, (statistics.median(t), min(t), max(t)))]
            for name, t in taken.items()
        ],
    )


# ---------------------------------------------------------------------------------- what is timed


def mechanism(run: Training) -> PoissonSampled:
    return PoissonSampled(Gaussian(run.noise_multiplier), run.sample_rate)


def ours_identical(k: int, steps: int) -> float:
    step, accountant, value = mechanism(cases.LIVE_STEP.nudged(k)), RDPAccountant(), 0.0
    for _ in range(steps):
        accountant.compose(step)
        value = accountant.get_epsilon(DELTA)
    return value


def ours_distinct(
    k: int, steps: int, orders: Sequence[float] | None = None, conversion: Conversion = "optimal"
) -> float:
    accountant, value = RDPAccountant(orders=orders, conversion=conversion), 0.0
    for run in cases.DISTINCT[:steps]:
        accountant.compose(mechanism(run.nudged(k)))
        value = accountant.get_epsilon(DELTA)
    return value


def theirs_live(k: int, peer: Peer, steps: Sequence[Training]) -> float:
    return peer.live([run.nudged(k) for run in steps], DELTA)


def calibration_contenders(target: float, peers: Sequence[Peer]) -> list[Contender]:
    run = Training(cases.CALIBRATION_RATE, 1.0, cases.CALIBRATION_STEPS)

    def ours(k: int, **options: Any) -> float:
        return renyi.calibrate_noise_multiplier(
            target_epsilon=target * (1 + 1e-10 * k),
            target_delta=DELTA,
            sample_rate=run.sample_rate,
            steps=run.steps,
            accountant="rdp",
            **options,
        )

    listed = partial(ours, orders=cases.DP_ACCOUNTING_ORDERS, conversion="balle")
    theirs = [
        Contender(f"{peer.name}{name}", lambda k, f=noise: f(target * (1 + 1e-10 * k), DELTA, run))
        for peer in peers
        for name, noise in peer.noises.items()
    ]
    return [Contender("renyi", ours), Contender("renyi, orders of dp_accounting", listed), *theirs]


def fresh_process(statement: str, *, numpy_itself: bool) -> float:
    code = (
        "from time import perf_counter as t; a = t(); import numpy; b = t()\n"
        f"{statement}\n"
        f"c = t(); print({'b - a' if numpy_itself else 'c - b'})"
    )
    return float(subprocess.check_output([sys.executable, "-c", code], text=True))


def epsilon_contenders(run: Training, peers: Sequence[Peer]) -> list[Contender]:
    """List fresh accountants: ours, then each peer and ours with the same orders and formula."""

    def ours(
        k: int, orders: Sequence[float] | None = None, conversion: Conversion = "optimal"
    ) -> float:
        again = run.nudged(k)
        accountant = RDPAccountant(orders=orders, conversion=conversion)
        return accountant.compose(mechanism(again), again.steps).get_epsilon(DELTA)

    contenders = [Contender("renyi", ours)]
    for peer in peers:
        theirs = partial(lambda k, peer: peer.epsilon(run.nudged(k), DELTA), peer=peer)
        same = partial(ours, orders=peer.orders, conversion="balle")
        contenders.append(Contender(peer.name, theirs))
        contenders.append(Contender(f"renyi, orders of {peer.name}", same))
    return contenders


def everyday_points(count: int, *, integer: bool) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Random rows q, sigma, alpha: q from 1e-4 to 0.1, sigma from 0.6 to 4, alpha up to 64."""
    rng = np.random.default_rng(0)
    q, sigma = 10.0 ** rng.uniform(-4, -1, count), rng.uniform(0.6, 4, count)
    alpha = rng.integers(2, 65, count) if integer else rng.uniform(1.05, 64, count)
    return np.stack([q, sigma, alpha])


def log_a_contenders(points: np.ndarray[Any, Any], peers: Sequence[Peer]) -> list[Contender]:
    """List ways to get log A at many points: one call of our ufunc, and the loop a peer needs."""
    triples = list(zip(*points.tolist(), strict=True))

    def theirs(_: int, peer: Peer) -> list[float]:
        return [peer.log_a(*triple) for triple in triples]

    contenders = [Contender("renyi", lambda _: special.log_a(*points), len(triples))]
    contenders += [Contender(p.name, partial(theirs, peer=p), len(triples)) for p in peers]
    return contenders


# ------------------------------------------------------------------------------------- the program


def machine(peers: Sequence[Any], missing: Sequence[str], rounds: int) -> str:
    return facts(
        named(peers, missing)
        | {
            "Method": f"this process pinned to one core; median of {rounds} rounds (3 for live "
            "use); in every round all engines of a table, in alternating order; ratios are of the "
            "same round, with the band from the 10th to the 90th percentile in brackets; garbage "
            "collection, log lines and warnings off"
        }
    )


def program(
    doc: str | None,
    name: str,
    title: str,
    sections: dict[str, Callable[[Sequence[Any], int], Iterable[str]]],
    find: Callable[[], tuple[Sequence[Any], Sequence[str]]],
    rounds: tuple[int, int],
) -> None:
    """Publish the sections of a comparison; ``rounds`` are those of --quick and of all."""
    options = options_of(doc, quick=False, only=tuple(sections))
    pinned()
    peers, missing = find()
    count = rounds[0] if options.quick else rounds[1]

    def parts() -> Iterable[str]:
        clocks = [time.perf_counter(), time.process_time()]
        for name in options.only:
            if name == "imports":  # which waits for other processes
                yield share_of_core(*clocks)
            yield from sections[name](peers, 3 if name == "live" else count)

    whole = not options.quick and len(options.only) == len(sections)
    publish(
        chain([f"# {title}\n", machine(peers, missing, count)], parts()), name if whole else None
    )


def share_of_core(wall: float, cpu: float) -> str:
    share = (time.process_time() - cpu) / (time.perf_counter() - wall)
    return f"This process had {share:.0%} of its core up to here.\n"


SECTIONS = {
    "epsilon": epsilon,
    "log_a": log_a,
    "live": live,
    "calibration": calibration,
    "imports": imports,
}


if __name__ == "__main__":
    program(__doc__, "speed", "Speed, beside other libraries", SECTIONS, installed, (3, 25))
