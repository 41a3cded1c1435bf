"""Timing of the engine beside other accounting libraries, in one run and in alternating order."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from peers import Peer, Training, quiet

from renyi import Gaussian, PoissonSampled, RDPAccountant, special
from renyi._adjacency import Conversion

DELTA = 1e-5


class Contender(NamedTuple):
    """Something to time: ``call(k)`` is the k-th repetition and handles ``items`` items."""

    name: str
    call: Callable[[int], Any]
    items: int = 1


@dataclass(frozen=True)
class Timing:
    """Seconds per item in every round, and what repetition 0 returned."""

    name: str
    seconds: tuple[float, ...]
    result: Any

    @property
    def median(self) -> float:
        """Median over the rounds, in seconds per item."""
        return float(np.median(self.seconds))

    def ratio(self, other: Timing) -> tuple[float, float, float]:
        """Time of ``other`` over ours in each round: 10th percentile, median, 90th percentile."""
        rounds = np.divide(other.seconds, self.seconds)
        low, middle, high = np.quantile(rounds, (0.1, 0.5, 0.9))
        return float(low), float(middle), float(high)


def interleave(
    contenders: Sequence[Contender],
    *,
    rounds: int,
    block: float = 0.02,
) -> list[Timing]:
    """Time the contenders in turns, so that a busy machine or a changing clock meets all of them.

    The order is turned back to front in every other round. A block repeats the call for about
    ``block`` seconds. Repetitions are numbered through, so inputs derived from k are always new.
    """
    number, everyone, collecting = itertools.count(1), range(len(contenders)), gc.isenabled()
    results, calls, seconds = list[Any](), list[int](), [[0.0] * rounds for _ in contenders]
    gc.collect()
    gc.disable()  # as timeit does
    try:
        with quiet():
            for contender in contenders:
                start = time.perf_counter()
                results.append(contender.call(0))  # also the warm-up
                slow = time.perf_counter() - start > 50 * block
                calls.append(1 if slow else _calls_in(block, contender, number))
            for turn in range(rounds):
                for k in everyone if turn % 2 == 0 else reversed(everyone):
                    taken = _seconds(contenders[k], calls[k], number)
                    seconds[k][turn] = taken / (calls[k] * contenders[k].items)
    finally:
        if collecting:
            gc.enable()
    return [
        Timing(contender.name, tuple(taken), result)
        for contender, taken, result in zip(contenders, seconds, results, strict=True)
    ]


def _seconds(contender: Contender, calls: int, number: Iterator[int]) -> float:
    arguments, call = list(itertools.islice(number, calls)), contender.call
    start = time.perf_counter()
    for k in arguments:
        call(k)
    return time.perf_counter() - start


def _calls_in(block: float, contender: Contender, number: Iterator[int]) -> int:
    calls = 1
    while (taken := _seconds(contender, calls, number)) < block / 4 and calls < 1 << 20:
        calls *= 2
    return max(1, round(calls * block / taken))


def epsilon_contenders(run: Training, peers: Sequence[Peer]) -> list[Contender]:
    """List fresh accountants: ours, then each peer and ours with the same orders and formula."""

    def ours(
        k: int, orders: Sequence[float] | None = None, conversion: Conversion = "optimal"
    ) -> float:
        q, sigma, steps = run.nudged(k)
        accountant = RDPAccountant(orders=orders, conversion=conversion)
        return float(
            accountant.compose(PoissonSampled(Gaussian(sigma), q), steps).get_epsilon(DELTA)
        )

    def theirs(k: int, peer: Peer) -> float:
        return peer.epsilon(run.nudged(k), DELTA)

    contenders = [Contender("renyi", ours)]
    for peer in peers:
        same = partial(ours, orders=peer.orders, conversion="balle")
        contenders.append(Contender(peer.name, partial(theirs, peer=peer)))
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
