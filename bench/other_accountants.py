"""Random scripts as people write them, with the accountants of dp_accounting and Opacus, and ours.

    python bench/other_accountants.py --scripts 200

writes bench/results/other_accountants.md. Each script is the same code twice: only the accountant
that it is given differs. An answer of theirs is below the truth where it is below the lower end of
our certificate, of the curve or of the Renyi conversion with their orders and formula.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import dp_accounting
import numpy as np
from dp_accounting import dp_event
from guarded import answers
from harness import facts, options_of, publish, table
from peers import quiet
from tqdm import tqdm

from renyi.compat.dp_accounting import PLDAccountant, RenyiAccountant, from_dp_event

with quiet():
    from opacus.accountants import create_accountant

    import renyi.compat.opacus as plug

import renyi

LIMIT = 300  # seconds a script


@dataclass
class Case:
    """A script for either side, what is composed, and the kind of accounting."""

    peer: str
    run: Callable[[bool], float]
    mechanism: renyi.mechanisms.Mechanism
    delta: float


def steps(rng: np.random.Generator) -> list[tuple[float, float, int]]:
    """Some segments of a training run: noise multiplier, sampling rate, steps."""
    return [
        (
            float(np.round(10 ** rng.uniform(-0.25, 0.6), 3)),
            float(f"{10 ** rng.uniform(-4, -1):.2g}"),
            int(10 ** rng.uniform(1, 4)),
        )
        for _ in range(rng.integers(1, 4))
    ]


def events(rng: np.random.Generator, exact: bool) -> Any:
    """A run, and perhaps releases beside it."""
    found = [
        dp_event.SelfComposedDpEvent(
            dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(sigma)), count
        )
        for sigma, q, count in steps(rng)
    ]
    if rng.random() < 0.4:
        found.append(dp_event.GaussianDpEvent(float(rng.uniform(5, 20))))
    if rng.random() < 0.3:
        found.append(
            dp_event.SelfComposedDpEvent(
                dp_event.LaplaceDpEvent(float(rng.uniform(10, 50))), int(rng.integers(1, 20))
            )
        )
    if not exact and rng.random() < 0.3:
        found.append(dp_event.ZCDpEvent(float(10 ** rng.uniform(-4, -2))))
    return dp_event.ComposedDpEvent(found)


def of_dp_accounting(rng: np.random.Generator, exact: bool) -> Case:
    event, delta = events(rng, exact), 10.0 ** -int(rng.integers(4, 9))
    theirs = dp_accounting.pld.PLDAccountant if exact else dp_accounting.rdp.RdpAccountant
    ours = PLDAccountant if exact else RenyiAccountant

    def run(use_ours: bool) -> float:
        return float((ours if use_ours else theirs)().compose(event).get_epsilon(delta))

    name = "dp_accounting, PLD" if exact else "dp_accounting, Rényi"
    return Case(name, run, from_dp_event(event), delta)


def of_opacus(rng: np.random.Generator, exact: bool) -> Case:
    history, delta = steps(rng), 10.0 ** -int(rng.integers(4, 8))
    names = ("prv", "renyi-pld") if exact else ("rdp", "renyi-rdp")

    def run(use_ours: bool) -> float:
        accountant = create_accountant(names[use_ours])
        accountant.history = list(history)
        return float(accountant.get_epsilon(delta=delta))

    return Case(f"Opacus, {names[0]}", run, plug.from_history(history), delta)


def cases(count: int, seed: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    makers = [
        (of_dp_accounting, False),
        (of_dp_accounting, True),
        (of_opacus, False),
        (of_opacus, True),
    ]
    return [maker(rng, exact) for i in range(count) for maker, exact in [makers[i % 4]]]


def timed(run: Callable[[], float]) -> tuple[float, float]:
    """The answer, NaN for an error or none within the limit, and processor seconds."""

    def ask(_: None) -> tuple[float, float]:
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run(), time.process_time() - start

    (answer,) = answers(ask, [None], LIMIT)
    return answer.value or (math.nan, LIMIT if answer.reason == "time" else math.nan)


def truth(case: Case) -> float:
    """The lower end of what an accountant of this kind can say at least."""
    exact = case.peer in ("dp_accounting, PLD", "Opacus, prv")
    kind = renyi.PLDAccountant if exact else renyi.RDPAccountant
    return kind().compose(case.mechanism).get_epsilon_bounds(case.delta)[0]


def row(name: str, results: list[tuple[float, float, float, float, float]]) -> list[str]:
    theirs, ours, least, their_time, our_time = np.array(results).T
    answered = np.isfinite(theirs)
    excess = 100 * (theirs[answered] / ours[answered] - 1)
    below = int((theirs[answered] < least[answered] * (1 - 1e-12)).sum())
    ratio = their_time / our_time
    numbers = [
        len(theirs), int((~answered).sum()), below, int((~(ours >= least)).sum()),
        f"{np.median(excess):.3g} %", f"{np.quantile(excess, 0.9):.3g} %", f"{excess.max():.3g} %",
        f"{1e3 * np.median(their_time):.3g}", f"{1e3 * np.median(our_time):.3g}",
        f"{1e3 * our_time.max():.3g}", f"{np.median(ratio):.3g}",
    ]  # fmt: skip
    return [name, *map(str, numbers)]


def main() -> None:
    options = options_of(__doc__, scripts=200, seed=1)
    results: dict[str, list[tuple[float, float, float, float, float]]] = {}
    for case in tqdm(cases(options.scripts, options.seed), disable=None, file=sys.stderr):
        ours, our_time = timed(lambda case=case: case.run(True))
        theirs, their_time = timed(lambda case=case: case.run(False))
        found = (theirs, ours, truth(case), their_time, our_time)
        results.setdefault(case.peer, []).append(found)
    head = (
        "theirs|scripts|no answer|below the truth|ours below|theirs above ours, median|90 %|most|"
        "theirs, ms|ours, ms|ours, most|time, theirs / ours"
    )
    more = {
        "Peers": f"dp_accounting {version('dp-accounting')}, Opacus {version('opacus')}",
        "Method": f"processor time, one run each; no answer: an error, or none in {LIMIT} s",
    }
    title = "# Random scripts with other libraries' accountants, and with ours\n"
    rows = [row(name, found) for name, found in sorted(results.items())]
    whole = options.scripts >= 200
    publish([title, facts(more), table(head, rows)], "other_accountants" if whole else None)


if __name__ == "__main__":
    main()
