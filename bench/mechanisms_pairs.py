"""Privacy curves of mechanisms by their pairs: certified brackets beside dp_accounting's grid."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from peers import load
from speed import duration, table, times
from timing import Contender, Timing, interleave

from renyi import (
    DiscreteGaussian,
    FixedSizeSampled,
    Gaussian,
    GaussianMixture,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    RandomizedResponse,
    TruncatedPoissonSampled,
)
from renyi._adjacency import Adjacency
from renyi.mechanisms import Mechanism

DELTA = 1e-6
Make = Callable[[float], Any]  # from a factor next to 1, so that no cache can answer


class Case(NamedTuple):
    """Uses of a mechanism, and their distribution on the grid of dp_accounting, if it has one."""

    title: str
    mechanism: Callable[[float], Mechanism]
    count: int
    adjacency: Adjacency = "add_remove"
    grid: Callable[[Any, Any, float], Any] | None = None  # (its pld, its relations, the factor)


SHARES = [0.9, 0.09, 0.01]

CASES = (
    Case(
        "Laplace, b = 1, Poisson samples of rate 0.001",
        lambda f: PoissonSampled(Laplace(f), 1e-3),
        10_000,
        grid=lambda pld, _, f: pld.from_laplace_mechanism(f, sampling_prob=1e-3),
    ),
    Case(
        "randomized response, 2 choices, the true one with 0.55",
        lambda f: RandomizedResponse(0.55 * f),
        1000,
        "replace_one",
        lambda pld, relation, f: pld.from_randomized_response(
            2.0 - 1.1 * f, 2, neighboring_relation=relation.REPLACE_ONE
        ),
    ),
    Case(
        "discrete Gaussian, sigma = 20",
        lambda f: DiscreteGaussian(20.0 * f),
        1000,
        grid=lambda pld, _, f: pld.from_discrete_gaussian_mechanism(20.0 * f),
    ),
    Case(
        "Gaussian mixture, sigma = 3, moved by 0, 1 or 2",
        lambda f: GaussianMixture(3.0 * f, [0.0, 1.0, 2.0], SHARES),
        1000,
        grid=lambda pld, _, f: pld.from_mixture_gaussian_mechanism(
            3.0 * f, [0.0, 1.0, 2.0], SHARES
        ),
    ),
    Case(
        "Laplace, b = 2, samples of 100 of 10,000",
        lambda f: FixedSizeSampled(Laplace(2.0 * f), 100, 10_000),
        1000,
        "replace_one",
    ),
    Case(
        "Gaussian, sigma = 1, samples of 100 of 10,000",
        lambda f: FixedSizeSampled(Gaussian(f), 100, 10_000),
        1000,
        "replace_one",
    ),
    Case(
        "Gaussian, sigma = 2, and Laplace, b = 2, on one Poisson sample of rate 0.01",
        lambda f: PoissonSampled(Gaussian(2.0 * f) + Laplace(2.0), 0.01),
        1000,
    ),
    Case(
        "Gaussian, sigma = 1, Poisson samples of rate 0.01 of 10,000, at most 120 kept",
        lambda f: TruncatedPoissonSampled(Gaussian(f), 0.01, 120, 10_000),
        1000,
        grid=lambda pld, _, f: pld.from_truncated_subsampled_gaussian_mechanism(
            10_000, 0.01, 120, f
        ),
    ),
    Case(
        "Gaussian, sigma = 2, samples of 100 of 10,000 with replacement",
        lambda f: FixedSizeSampled(Gaussian(2.0 * f), 100, 10_000, replacement=True),
        1000,
        "replace_one",
    ),
)


def loaded() -> tuple[str, Any, Any] | None:
    """The version of dp_accounting, the module of its grid, and its neighbouring relations."""
    names = ("dp_accounting.pld.privacy_loss_distribution", "dp_accounting.privacy_accountant")
    if (found := load("dp-accounting", *names)) is None:
        return None
    version, (pld, accountants) = found
    return version, pld, accountants.NeighboringRelation


def row(case: Case, peer: tuple[str, Any, Any] | None, rounds: int) -> list[str]:
    def ours(k: int) -> tuple[float, float]:
        accountant = PLDAccountant(adjacency=case.adjacency)
        accountant.compose(case.mechanism(1.0 + 1e-10 * k), case.count)
        return accountant.get_epsilon_bounds(DELTA)

    def theirs(k: int, grid: Callable[[Any, Any, float], Any], pld: Any, relation: Any) -> float:
        one = grid(pld, relation, 1.0 + 1e-10 * k)
        return float(one.self_compose(case.count).get_epsilon_for_delta(DELTA))

    contenders = [Contender("renyi", ours)]
    if peer is not None and case.grid is not None:
        _, pld, relation = peer
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
    return [duration(theirs.median), times(ours, theirs), f"{epsilon:.7g}", where]


def sections(rounds: int) -> Iterable[str]:
    peer = loaded()
    yield "## Mechanisms of any kind: certified brackets\n"
    yield (
        f"Epsilon at delta = {DELTA:g} of the pairs of distributions that dominate each mechanism, "
        "certified from both sides, on one core; width is that of the bracket, relative. Fresh "
        "accountant, compose, one query; every repetition has other parameters (parts in 1e10). "
        "dp_accounting composes on its default grid, from above only; its answer is set against "
        "the nearer end of the bracket. Where two ends are far apart no fixed neighbours reach "
        "the pair: see `renyi.PLDAccountant`.\n"
    )
    head = (
        "mechanism|neighbours|uses|renyi|from below|from above|width|"
        "dp_accounting|time / renyi|its epsilon|beside the bracket"
    )
    yield table(head, [row(case, peer, rounds) for case in CASES])
