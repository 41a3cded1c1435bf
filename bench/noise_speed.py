"""Speed of noise beside NumPy: one run, alternating order, best of many rounds.

    python bench/noise_speed.py            # writes bench/results/noise_speed.md
    python bench/noise_speed.py --quick    # fewer rounds, to the screen only

Times are processor times, but for several threads those of the clock. NumPy's generators are not
cryptographic.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable
from itertools import chain

import numpy as np
from harness import facts, least, least_of_each, options_of, publish, table

from renyi import noise
from renyi.samplers import FixedSizeSampler, PoissonSampler, ShuffledSampler
from renyi.sgd import Grid

COUNT = 1 << 20
Call = Callable[[], object]


def continuous(rounds: int) -> Iterable[str]:
    single, double = np.empty(COUNT, np.float32), np.empty(COUNT)
    pcg, sfc = np.random.Generator(np.random.PCG64()), np.random.Generator(np.random.SFC64())
    groups: list[tuple[str, dict[str, Call]]] = [
        (
            "Gaussian, float32",
            {
                "NumPy PCG64": lambda: pcg.standard_normal(dtype=np.float32, out=single),
                "NumPy SFC64": lambda: sfc.standard_normal(dtype=np.float32, out=single),
                "renyi, added in place": lambda: noise.add_gaussian_noise(single, 1.5, threads=1),
            },
        ),
        (
            "Gaussian, float64",
            {
                "NumPy PCG64": lambda: pcg.standard_normal(out=double),
                "NumPy SFC64": lambda: sfc.standard_normal(out=double),
                "renyi, added in place": lambda: noise.add_gaussian_noise(double, 1.5, threads=1),
            },
        ),
        ("Laplace, float32", {"renyi": lambda: noise.add_laplace_noise(single, 1.5, threads=1)}),
        (
            "Laplace, float64",
            {
                "NumPy PCG64": lambda: pcg.laplace(size=COUNT),
                "renyi": lambda: noise.add_laplace_noise(double, 1.5, threads=1),
            },
        ),
    ]
    yield "## Floating-point noise, one core\n"
    yield f"{COUNT:,} numbers a call; processor time.\n"
    rows = []
    for law, calls in groups:
        seconds = least_of_each(calls, rounds)
        peer = min((s for name, s in seconds.items() if "NumPy" in name), default=math.nan)
        size = 4 if "32" in law else 8
        for name, s in seconds.items():
            ratio = "" if math.isnan(peer) else f"{peer / s:.2f}"
            speeds = f"{1e9 * s / COUNT:.2f}", f"{size * COUNT / s / 1e9:.2f}"
            rows.append([law, name, *speeds, ratio])
    yield table("law|generator|ns a number|GB/s written|times the fastest NumPy", rows)


def threads(rounds: int) -> Iterable[str]:
    count = 1 << 24
    out = np.zeros(count, np.float32)
    yield "## Threads\n"
    yield f"{count:,} float32 Gaussians added in place; the clock.\n"
    available = len(os.sched_getaffinity(0))
    calls: dict[str, Call] = {
        str(n): lambda n=n: noise.add_gaussian_noise(out, 1.0, threads=n)  # type: ignore[misc]
        for n in sorted({1, 2, available})
    }
    found = least_of_each(calls, max(3, rounds // 4), time.perf_counter)
    yield table("threads|ns a number", [[n, f"{1e9 * s / count:.2f}"] for n, s in found.items()])


def discrete(rounds: int) -> Iterable[str]:
    numbers = np.zeros(count := 1 << 15, np.int64)
    yield "## Discrete Gaussian, exact, one core\n"
    calls: dict[str, Call] = {
        f"{sigma:g}": lambda sigma=sigma: noise.add_discrete_gaussian_noise(  # type: ignore[misc]
            numbers, sigma, threads=1
        )
        for sigma in (0.5, 1.0, 10.0, 1000.0, 2.0**30)
    }
    found = least_of_each(calls, rounds)
    yield table("sigma|ns a number", [[n, f"{1e9 * s / count:.1f}"] for n, s in found.items()])
    rows, grid = np.ones((256, 1 << 14), np.float32), Grid(2.0**-20)
    _, s = least(lambda: grid.sum(rows, threads=1), rounds)
    yield f"\nRounding rows to the grid and summing: {rows.nbytes / s / 1e9:.2f} GB/s read.\n"


def samplers(rounds: int) -> Iterable[str]:
    yield "## Samplers\n"
    made = [
        PoissonSampler(60_000, 256 / 60_000),
        PoissonSampler(10**6, 1e-3),
        PoissonSampler(10**9, 1e-6),
        PoissonSampler(10**6, 0.5),
        FixedSizeSampler(60_000, 256),
        FixedSizeSampler(10**9, 1000),
        FixedSizeSampler(10**6, 1000, replacement=True),
        ShuffledSampler(10**6, 1),
    ]
    calls: dict[str, Call] = {repr(sampler): sampler.sample for sampler in made}
    rows = []
    for sampler, (name, s) in zip(made, least_of_each(calls, rounds).items(), strict=True):
        members = max(1, len(sampler.sample()))
        rows.append([name, f"{1e6 * s:.1f}", f"{1e9 * s / members:.1f}"])
    yield table("sampler|us a batch|ns a member", rows)


def main() -> None:
    quick = options_of(__doc__, quick=False).quick
    rounds = 5 if quick else 40
    sections = (continuous, threads, discrete, samplers)
    parts = (part for section in sections for part in section(rounds))
    head = ["# Speed of noise\n", facts({"Method": f"best of {rounds} rounds"})]
    publish(chain(head, parts), None if quick else "noise_speed")


if __name__ == "__main__":
    main()
