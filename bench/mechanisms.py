"""Mechanisms and samples of them beside autodp and dp_accounting: speed, and how tight.

    python bench/mechanisms.py             # everything, writes bench/results/mechanisms.md
    python bench/mechanisms.py --quick     # fewer rounds, to the screen only

Peers are timed if they are installed and otherwise named as absent. One core, all in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from harness import (
    Contender,
    Timing,
    compared,
    duration,
    interleave,
    options_of,
    pinned,
    publish,
    table,
)
from peers import autodp_rdp, found_of, load
from speed import machine

from renyi import (
    DiscreteGaussian,
    FixedSizeSampled,
    Gaussian,
    GaussianMixture,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    RandomizedResponse,
    RDPAccountant,
    TruncatedPoissonSampled,
)
from renyi._adjacency import Adjacency
from renyi.mechanisms import Mechanism, RDPCurve

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
    routes: dict[str, Callable[[str, float], float]]  # (mechanism, noise) -> epsilon


def autodp() -> Library | None:
    if (found := autodp_rdp()) is None:
        return None
    version, accounting, divergences = found

    def composed(kind: str, noise: float, method: str) -> float:
        accountant = accounting.anaRDPacct()
        getattr(accountant, method)(partial(divergences[kind], noise), RATE, coeff=COUNT)
        return float(accountant.get_eps(DELTA))

    method = "compose_poisson_subsampled_mechanisms"
    routes = {
        "autodp, tight": partial(composed, method=method),
        "autodp, general": partial(composed, method=f"{method}1"),
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
        for route, epsilon in peer.routes.items():
            if (kind, route) != ("Laplace", "dp_accounting, Renyi"):  # which it refuses
                call = partial(lambda k, f: f(kind, nudged(k)), f=epsilon)
                contenders.append(Contender(route, call))
    timings = interleave(contenders, rounds=rounds)
    low, high = (
        PLDAccountant().compose(PoissonSampled(make(noise), RATE), COUNT).get_epsilon_bounds(DELTA)
    )
    yield compared(
        "engine|median|time / renyi, Renyi|time / renyi, curve|epsilon|above exact",
        timings,
        lambda t: timings[1].times(t),
        lambda t: f"{t.result:.7g}",
        lambda t: f"{t.result / low - 1:+.2%}",
    )
    yield f"Exact epsilon: between {low:.9g} and {high:.9g}.\n"


TIGHT_DELTA = 1e-6


class Use(NamedTuple):
    """Uses of a mechanism, by a factor next to 1, and its distribution on dp_accounting's grid."""

    title: str
    mechanism: Callable[[float], Mechanism]
    count: int
    adjacency: Adjacency = "add_remove"
    grid: Callable[[Any, Any, float], Any] | None = None  # (its pld, its relations, the factor)


SHARES = [0.9, 0.09, 0.01]

USES = (
    Use(
        "Laplace, b = 1, Poisson samples of rate 0.001",
        lambda f: PoissonSampled(Laplace(f), 1e-3),
        10_000,
        grid=lambda pld, _, f: pld.from_laplace_mechanism(f, sampling_prob=1e-3),
    ),
    Use(
        "randomized response, 2 choices, the true one with 0.55",
        lambda f: RandomizedResponse(0.55 * f),
        1000,
        "replace_one",
        lambda pld, relation, f: pld.from_randomized_response(
            2.0 - 1.1 * f, 2, neighboring_relation=relation.REPLACE_ONE
        ),
    ),
    Use(
        "discrete Gaussian, sigma = 20",
        lambda f: DiscreteGaussian(20.0 * f),
        1000,
        grid=lambda pld, _, f: pld.from_discrete_gaussian_mechanism(20.0 * f),
    ),
    Use(
        "Gaussian mixture, sigma = 3, moved by 0, 1 or 2",
        lambda f: GaussianMixture(3.0 * f, [0.0, 1.0, 2.0], SHARES),
        1000,
        grid=lambda pld, _, f: pld.from_mixture_gaussian_mechanism(
            3.0 * f, [0.0, 1.0, 2.0], SHARES
        ),
    ),
    Use(
        "Laplace, b = 2, samples of 100 of 10,000",
        lambda f: FixedSizeSampled(Laplace(2.0 * f), 100, 10_000),
        1000,
        "replace_one",
    ),
    Use(
        "Gaussian, sigma = 1, samples of 100 of 10,000",
        lambda f: FixedSizeSampled(Gaussian(f), 100, 10_000),
        1000,
        "replace_one",
    ),
    Use(
        "Gaussian, sigma = 2, and Laplace, b = 2, on one Poisson sample of rate 0.01",
        lambda f: PoissonSampled(Gaussian(2.0 * f) + Laplace(2.0), 0.01),
        1000,
    ),
    Use(
        "Gaussian, sigma = 1, Poisson samples of rate 0.01 of 10,000, at most 120 kept",
        lambda f: TruncatedPoissonSampled(Gaussian(f), 0.01, 120, 10_000),
        1000,
        grid=lambda pld, _, f: pld.from_truncated_subsampled_gaussian_mechanism(
            10_000, 0.01, 120, f
        ),
    ),
    Use(
        "Gaussian, sigma = 2, samples of 100 of 10,000 with replacement",
        lambda f: FixedSizeSampled(Gaussian(2.0 * f), 100, 10_000, replacement=True),
        1000,
        "replace_one",
    ),
)


def use_row(case: Use, peer: tuple[Any, Any] | None, rounds: int) -> list[str]:
    def ours(k: int) -> tuple[float, float]:
        accountant = PLDAccountant(adjacency=case.adjacency)
        accountant.compose(case.mechanism(1.0 + 1e-10 * k), case.count)
        return accountant.get_epsilon_bounds(TIGHT_DELTA)

    def theirs(k: int, grid: Callable[[Any, Any, float], Any], pld: Any, relation: Any) -> float:
        one = grid(pld, relation, 1.0 + 1e-10 * k)
        return float(one.self_compose(case.count).get_epsilon_for_delta(TIGHT_DELTA))

    contenders = [Contender("renyi", ours)]
    if peer is not None and case.grid is not None:
        pld, relation = peer
        call = partial(theirs, grid=case.grid, pld=pld, relation=relation)
        contenders.append(Contender("dp_accounting", call))
    timings = interleave(contenders, rounds=rounds)
    low, high = timings[0].result
    width = f"{high / low - 1.0:.1e}" if low > 0.0 else "inf"
    cells = [case.title, case.adjacency, f"{case.count:,}", duration(timings[0].median)]
    cells += [f"{low:.7g}", f"{high:.7g}", width]
    return cells + (_peer_cells(timings, low, high) if len(timings) > 1 else ["none", "", "", ""])


def _peer_cells(timings: list[Timing], low: float, high: float) -> list[str]:
    ours, theirs = timings
    epsilon = theirs.result
    nearer = min(max(epsilon, low), high)
    where = "within" if epsilon == nearer else f"{epsilon / nearer - 1.0:+.2%}"
    return [duration(theirs.median), ours.times(theirs), f"{epsilon:.7g}", where]


def uses(rounds: int) -> Iterable[str]:
    names = ("dp_accounting.pld.privacy_loss_distribution", "dp_accounting.privacy_accountant")
    loaded = load("dp-accounting", *names)
    peer = None if loaded is None else (loaded[1][0], loaded[1][1].NeighboringRelation)
    yield "## Mechanisms of any kind: certified brackets\n"
    yield (
        f"Epsilon at delta = {TIGHT_DELTA:g} of the pairs that dominate each mechanism, certified "
        "from both sides, on one core; width is that of the bracket, relative. Fresh "
        "accountant, compose, one query; every repetition has other parameters (parts in 1e10). "
        "dp_accounting composes on its default grid, from above only; its answer is set against "
        "the nearer end of the bracket. Where two ends are far apart no fixed neighbours reach "
        "the pair: see `renyi.PLDAccountant`.\n"
    )
    head = (
        "mechanism|neighbours|uses|renyi|from below|from above|width|"
        "dp_accounting|time / renyi|its epsilon|beside the bracket"
    )
    yield table(head, [use_row(case, peer, rounds) for case in USES])


def main() -> None:
    quick = options_of(__doc__, quick=False).quick
    pinned()
    (peers, missing), rounds = found_of(autodp, dp_accounting), 2 if quick else 7
    parts = ["# Mechanisms\n", machine(peers, missing, rounds)]
    parts.append(
        "## Poisson samples, by three routes\n\n"
        f"Epsilon at delta = {DELTA:g} of {COUNT:,} uses at sampling rate {RATE:g}. Fresh "
        "accountant, compose, one query; every repetition has another noise multiplier (parts in "
        "1e10). `curve` is the exact privacy curve, `Renyi` the best bound from Renyi divergences, "
        "`general` the bound with the factor 3. autodp's general bound is another one.\n"
    )
    found = (part for case in CASES for part in section(case, peers, rounds))
    publish(chain(parts, found, uses(rounds)), None if quick else "mechanisms")


if __name__ == "__main__":
    main()
