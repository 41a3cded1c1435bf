"""Mechanisms and samples of them beside autodp and dp_accounting: speed, and how tight.

    python bench/mechanisms.py             # everything, writes bench/results/mechanisms.md
    python bench/mechanisms.py --quick     # fewer rounds, to the screen only

Peers are timed if they are installed and otherwise named as absent. One core, all in turns.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from facts import publish
from mechanisms_pairs import sections
from peers import load, quiet
from speed import duration, machine, table, times
from timing import Contender, interleave

from renyi import Gaussian, Laplace, PLDAccountant, PoissonSampled, RDPAccountant
from renyi.mechanisms import RDPCurve

OUTPUT = Path(__file__).parent / "results" / "mechanisms.md"
RATE, COUNT, DELTA = 1e-3, 10_000, 1e-8
CASES = (
    (Gaussian, "Gaussian", 5.0),
    (Gaussian, "Gaussian", 1.0),
    (Laplace, "Laplace", 2.0),
    (Laplace, "Laplace", 0.5),
)


class Library(NamedTuple):
    name: str
    version: str
    epsilon: dict[str, Callable[[str, float], float]]  # route: (mechanism, noise) -> epsilon


def autodp() -> Library | None:
    if (loaded := load("autodp", "autodp.rdp_acct", "autodp.rdp_bank")) is None:
        return None
    version, (accounting, bank) = loaded

    def rdp(kind: str, noise: float) -> Callable[[float], float]:
        if kind == "Gaussian":
            return lambda order: float(bank.RDP_gaussian({"sigma": noise}, order))
        return lambda order: float(bank.RDP_laplace({"b": noise}, order))

    def composed(kind: str, noise: float, method: str) -> float:
        accountant = accounting.anaRDPacct()
        getattr(accountant, method)(rdp(kind, noise), RATE, coeff=COUNT)
        return float(accountant.get_eps(DELTA))

    tight, general = (
        "compose_poisson_subsampled_mechanisms",
        "compose_poisson_subsampled_mechanisms1",
    )
    routes = {
        "autodp, tight": partial(composed, method=tight),
        "autodp, general": partial(composed, method=general),
    }
    return Library("autodp", version, routes)


def dp_accounting() -> Library | None:
    names = ("dp_accounting", "dp_accounting.rdp", "dp_accounting.pld")
    if (loaded := load("dp-accounting", *names)) is None:
        return None
    version, (events, by_rdp, by_pld) = loaded

    def epsilon(kind: str, noise: float, blank: Callable[[], Any]) -> float:
        event = events.GaussianDpEvent if kind == "Gaussian" else events.LaplaceDpEvent
        accountant = blank()
        accountant.compose(events.PoissonSampledDpEvent(RATE, event(noise)), COUNT)
        return float(accountant.get_epsilon(DELTA))

    routes = {
        "dp_accounting, Renyi": partial(epsilon, blank=by_rdp.RdpAccountant),
        "dp_accounting, curve": partial(epsilon, blank=by_pld.PLDAccountant),
    }
    return Library("dp_accounting", version, routes)


def section(case: tuple[Any, str, float], peers: Sequence[Library], rounds: int) -> Iterable[str]:
    make, kind, noise = case
    yield f"### {kind}, noise multiplier {noise:g}\n"

    def nudged(k: int) -> float:
        return noise * (1 + 1e-10 * k)

    def ours(k: int, blank: Callable[[], Any]) -> float:
        step = PoissonSampled(make(nudged(k)), RATE)
        return float(blank().compose(step, COUNT).get_epsilon(DELTA))

    def general(k: int) -> float:
        divergences = RDPAccountant().compose(make(nudged(k)))
        table_of_it = RDPCurve(None, lambda order: float(divergences.get_rdp([order])[0]))
        return float(
            RDPAccountant().compose(PoissonSampled(table_of_it, RATE), COUNT).get_epsilon(DELTA)
        )

    contenders = [
        Contender("renyi, Renyi", partial(ours, blank=RDPAccountant)),
        Contender("renyi, curve", partial(ours, blank=PLDAccountant)),
        Contender("renyi, general from a table", general),
    ]
    for peer in peers:
        for route, epsilon in peer.epsilon.items():
            if (kind, route) != ("Laplace", "dp_accounting, Renyi"):  # which it refuses
                call = partial(lambda k, f: f(kind, nudged(k)), f=epsilon)
                contenders.append(Contender(route, call))
    timings = interleave(contenders, rounds=rounds)
    low, high = (
        PLDAccountant().compose(PoissonSampled(make(noise), RATE), COUNT).get_epsilon_bounds(DELTA)
    )
    yield table(
        "engine|median|time / renyi, Renyi|time / renyi, curve|epsilon|above exact",
        [
            [
                t.name,
                duration(t.median),
                times(timings[0], t),
                times(timings[1], t),
                f"{t.result:.7g}",
                f"{t.result / low - 1:+.2%}",
            ]
            for t in timings
        ],
    )
    yield f"Exact epsilon: between {low:.9g} and {high:.9g}.\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="2 rounds, to the screen only")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with quiet():
        found = {"autodp": autodp(), "dp_accounting": dp_accounting()}
    peers = [peer for peer in found.values() if peer is not None]
    missing = [name for name, peer in found.items() if peer is None]
    rounds = 2 if options.quick else 7
    parts = ["# Mechanisms\n", machine(peers, missing, rounds)]
    parts.append(
        "## Poisson samples, by three routes\n\n"
        f"Epsilon at delta = {DELTA:g} of {COUNT:,} uses at sampling rate {RATE:g}. Fresh "
        "accountant, compose, one query; every repetition has another noise multiplier (parts in "
        "1e10). `curve` is the exact privacy curve, `Renyi` the best bound from Renyi divergences, "
        "`general` the bound with the factor 3. autodp's general bound is another one.\n"
    )
    found = (part for case in CASES for part in section(case, peers, rounds))
    publish(chain(parts, found, sections(rounds)), None if options.quick else OUTPUT)


if __name__ == "__main__":
    sys.exit(main())
