"""Amplification by iteration beside NumPy and SciPy: delta of ten million online records.

    python bench/iteration.py             # everything, writes bench/results/iteration.md
    python bench/iteration.py --quick     # a million records, to the screen only

Both evaluate the same formulas for the same scales, on one core, in turns, timed by the processor
time of the process, so that the load of the machine matters little. Needs SciPy.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import scipy
from harness import Contender, compared, facts, interleave, options_of, pinned, publish
from scipy.special import lambertw, ndtr

from renyi.theory.iteration import DecayingNoise, NoisyDescent
from renyi.theory.online import online_deltas, online_worst

EPSILON, C1, C2, POWER = 1.0, 100.0, 100.0, 1.5
DESCENTS = {
    "Laplace": NoisyDescent(0.01, 10.0, 1.0, noise="laplace"),
    "Gaussian": NoisyDescent(0.01, 10.0, 1.0),
}

Array = np.ndarray[Any, np.dtype[np.float64]]


def laplace_deltas(epsilon: float, n: int) -> Array:
    """v_j, A_j, log B_j and the products after j, in whole arrays."""
    descent = DESCENTS["Laplace"]
    j = np.arange(1.0, n + 1.0)
    scales = 0.5 * descent.state_shift / np.log(j**POWER / C1 + C2)
    start = -np.expm1(np.minimum(0.5 * (epsilon - descent.record_shift / scales), 0.0))
    log_b = np.log1p(-np.exp(0.5 * (epsilon - descent.state_shift / scales)))
    return _products(start, log_b)


def gaussian_deltas(epsilon: float, n: int) -> Array:
    """sigma_j and the rest likewise; 1 - B directly, for B near 1."""
    descent = DESCENTS["Gaussian"]
    j = np.arange(1.0, n + 1.0)
    w = lambertw(j ** (2 * POWER) / (2 * np.pi * C1**2) + C2).real
    scales = 0.5 * descent.state_shift / np.sqrt(w)

    def complement(r: Array) -> Array:
        return ndtr(epsilon / r - 0.5 * r) + np.exp(epsilon) * ndtr(-epsilon / r - 0.5 * r)

    start = 1.0 - complement(descent.record_shift / scales)
    return _products(start, np.log1p(-complement(descent.state_shift / scales)))


def _products(start: Array, log_b: Array) -> Array:
    sums = np.cumsum(log_b)
    return start * np.exp(sums[-1] - sums)


THEIRS: dict[str, Callable[[float, int], Array]] = {
    "Laplace": laplace_deltas,
    "Gaussian": gaussian_deltas,
}


def section(kind: str, n: int, rounds: int) -> Iterable[str]:
    yield f"## {kind} noise\n"
    descent = DESCENTS[kind]
    noise = DecayingNoise(descent, C1, C2, POWER)
    theirs = THEIRS[kind]
    yield f"All delta_i, i = 1 ... {n:,}; the result shown is delta_100.\n"
    yield beside(
        lambda epsilon: float(online_deltas(descent, epsilon, noise, n)[99]),
        lambda epsilon: float(theirs(epsilon, n)[99]),
        n,
        rounds,
    )
    worst = online_worst(descent, EPSILON, noise, n)
    yield f"The worst record, that of step {worst.step:,}; the result shown is its delta.\n"
    yield beside(
        lambda epsilon: online_worst(descent, epsilon, noise, n).delta,
        lambda epsilon: float(theirs(epsilon, n).max()),
        n,
        rounds,
    )
    ours = online_deltas(descent, EPSILON, noise, n)
    gap = float(np.max(np.abs(ours / theirs(EPSILON, n) - 1.0)))
    yield f"Largest relative difference of any delta_i: {gap:.1e}.\n"
    peaks = [
        peak(partial(online_worst, descent, EPSILON, noise, n)),
        peak(partial(theirs, EPSILON, n)),
    ]
    yield (
        f"Memory at the peak of one call, worst record: renyi {peaks[0]:,} bytes of Python and "
        f"NumPy and 15 kB of stack, whatever n; NumPy {peaks[1]:,} bytes.\n"
    )


def beside(
    ours: Callable[[float], float], theirs: Callable[[float], float], n: int, rounds: int
) -> str:
    """One table; every call has another epsilon."""
    contenders = [
        Contender(name, lambda k, call=call: call(EPSILON * (1 + 1e-10 * k)))
        for name, call in (("renyi", ours), ("NumPy, SciPy", theirs))
    ]
    return compared(
        "engine|median|time / renyi|a record|result",
        interleave(contenders, rounds=rounds, clock=time.process_time),
        lambda t: f"{t.median / n * 1e9:.1f} ns",
        lambda t: f"{t.result:.12g}",
    )


def peak(call: Callable[[], object]) -> int:
    tracemalloc.start()
    call()
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size


def main() -> None:
    quick = options_of(__doc__, quick=False).quick
    pinned()
    rounds, n = (3, 10**6) if quick else (5, 10**7)
    method = (
        f"this process pinned to one core; processor time, median of {rounds} rounds; in every "
        "round both engines, in alternating order; ratios are of the same round, with the band "
        "from the 10th to the 90th percentile in brackets"
    )
    parts = [
        "# Amplification by iteration\n",
        facts({"SciPy": scipy.__version__, "Method": method}),
    ]
    parts.append(
        f"Online pass over {n:,} records at epsilon = {EPSILON:g} with the decaying noise of "
        f"Sordello, Bu and Dong 2021, C1 = C2 = {C1:g}, a = {POWER:g}, L = 10, eta = 0.01, "
        "M D = 1. Every repetition has another epsilon (parts in 1e10). renyi's numbers are upper "
        "bounds.\n"
    )
    found = (part for kind in DESCENTS for part in section(kind, n, rounds))
    publish(chain(parts, found), None if quick else "iteration")


if __name__ == "__main__":
    main()
