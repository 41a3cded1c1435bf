"""Correlated noise beside jax_privacy and NumPy: time and loss of optimisation, speed of streams.

    python bench/matrix.py --peer PYTHON   # everything, writes bench/results/matrix.md
    python bench/matrix.py --quick         # little of each, to the screen only

PYTHON is an interpreter that has jax_privacy, which runs in a process of its own, case by case in
turns with renyi; its imports and the start of its process are not timed, compilation is. Losses of
both are computed here, from the coefficients, so that they are the same thing.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from harness import duration, facts, least, options_of, pinned, publish, table

from renyi import noise
from renyi.matrix import (
    BLT,
    BallsInBins,
    BandedToeplitz,
    CyclicPoisson,
    Dense,
    FixedEpochs,
    MinSeparation,
    SinglePass,
    Tree,
    priced,
)

# Kind, steps, bands or buffers, loss, separation.
CASES = [
    ("toeplitz", 1000, 10, "mean", None),
    ("toeplitz", 1000, 100, "mean", None),
    ("toeplitz", 2048, 16, "max", None),
    ("toeplitz", 10_000, 64, "mean", None),
    ("blt", 1000, 2, "max", None),
    ("blt", 1000, 3, "max", None),
    ("blt", 1000, 4, "mean", None),
    ("blt", 1000, 2, "mean", 100),
    ("dense", 64, None, "mean", None),
    ("dense", 128, None, "mean", None),
]
ALONE = [
    ("toeplitz", 1_000_000, 16, "mean", None),
    ("toeplitz", 1_000_000, 64, "mean", None),
    ("blt", 1_000_000, 4, "mean", None),
    ("blt", 1_000_000, 4, "mean", 10_000),
    ("dense", 1000, None, "mean", None),
]

PEER = """
import json, sys, time
import jax, jax.numpy as jnp, numpy as np
from jax_privacy.matrix_factorization import buffered_toeplitz as bt, dense, toeplitz
kind, n, size, loss, apart = json.loads(sys.argv[1])
reduce = jnp.mean if loss == "mean" else jnp.max
jnp.ones(3).sum().block_until_ready()
begun = time.perf_counter()
if kind == "toeplitz":
    found = np.asarray(toeplitz.optimize_banded_toeplitz(n, size, reduction_fn=reduce))
elif kind == "dense":
    found = np.asarray(dense.optimize(n, reduction_fn=reduce))
else:
    apart, most = (apart, -(-n // apart)) if apart else (n, 1)
    fn = bt.LossFn.build_min_sep(n, error=loss, min_sep=apart, max_participations=most)
    with jax.enable_x64():
        blt = bt.optimize_loss(fn, num_buffers=size)
        blt = blt[0] if isinstance(blt, tuple) else blt
    found = np.stack([np.asarray(blt.buf_decay), np.asarray(blt.output_scale)])
seconds = time.perf_counter() - begun
print(json.dumps([seconds, found.tolist()]))
"""


def scheme(apart: int | None) -> Any:
    return SinglePass() if apart is None else MinSeparation(apart)


def strategy(kind: str, steps: int, size: Any, loss: Any, apart: int | None) -> Any:
    if kind == "toeplitz":
        return BandedToeplitz.optimal(steps, size, loss=loss)
    if kind == "dense":
        return Dense.optimal(steps)
    return BLT.optimal(steps, size, loss=loss, participation=scheme(apart))


def of_peer(kind: str, steps: int, found: Any) -> Any:
    if kind == "toeplitz":
        return BandedToeplitz(steps, np.array(found) / found[0])
    return Dense(np.tril(found)) if kind == "dense" else BLT(steps, *found)


def words(kind: str, steps: int, size: Any, loss: str, apart: int | None) -> str:
    what = {"toeplitz": f"{size} bands", "blt": f"{size} buffers", "dense": "any matrix"}[kind]
    return f"{what}, n = {steps:,}, {loss}" + (f", {apart} apart" if apart else "")


def optimisation(peer: str | None, quick: bool) -> Iterable[str]:
    yield "## Optimisation\n"
    yield "Time of the clock; loss relative to that of jax_privacy less 1.\n"
    rows = []
    for case in CASES[:2] if quick else [*CASES, *ALONE]:
        own, seconds = least(partial(strategy, *case), clock=time.perf_counter)
        loss = own.loss(case[3], scheme(case[4]))
        row = [words(*case), duration(seconds), f"{loss:.6f}", "", "", ""]
        if peer is not None and case in CASES:
            told = subprocess.run(
                [peer, "-c", PEER, json.dumps(case)], capture_output=True, text=True, check=False
            )
            if told.returncode:
                row[3:] = ["fails", "", ""]
                print(told.stderr[-600:], file=sys.stderr)
            else:
                other, found = json.loads(told.stdout.splitlines()[-1])
                theirs = of_peer(case[0], case[1], found).loss(case[3], scheme(case[4]))
                row[3:] = [duration(other), f"{other / seconds:.0f}", f"{loss / theirs - 1:+.1e}"]
        rows.append(row)
    yield table("case|renyi|its loss|jax_privacy|times as long|loss beside it", rows)


def calibration() -> Iterable[str]:
    """Yield the time of the noise for a guarantee, by the way that records take part."""
    yield "## Noise for ε = 8 and δ = 1e-6\n"
    yield "2048 steps, 128 batches to an epoch, and the best bands; processor time of one call.\n"
    best = BandedToeplitz.optimal(2048, 128)
    few = BandedToeplitz.optimal(2048, 32)
    ways = [
        ("fixed order", best, FixedEpochs(128)),
        ("cyclic samples, 32 bands", few, CyclicPoisson(32 / 128, 32)),
        ("random bins", best, BallsInBins(128)),
    ]
    rows = []
    for name, chosen, participation in ways:
        found, seconds = least(partial(priced, name, chosen, participation, 8.0, 1e-6))
        rows.append([name, duration(seconds), f"{found.error:.5g}"])
    yield table("records|time|error of prefix sums", rows)


def numpy_bands(c: Any, size: int, dtype: Any) -> Callable[[], object]:
    """The same recurrence with NumPy's generator: bands in a ring, one axpy each."""
    rng, ring, step = np.random.default_rng(), np.ones((len(c) - 1, size), dtype), [0]

    def call() -> object:
        noise = rng.standard_normal(size, dtype=dtype)
        for lag in range(1, len(c)):
            noise -= dtype(c[lag]) * ring[(step[0] - lag) % len(ring)]
        ring[step[0] % len(ring)] = noise
        step[0] += 1
        return noise

    return call


def numpy_buffers(strategy: BLT, size: int, dtype: Any) -> Callable[[], object]:
    rng, buffers = np.random.default_rng(), np.zeros((len(strategy.decays), size))
    omega, theta = np.array(strategy.weights), np.array(strategy.decays)[:, None]

    def call() -> object:
        nonlocal buffers
        noise = rng.standard_normal(size, dtype=dtype) - omega @ buffers
        buffers = theta * buffers + noise
        return noise

    return call


def streaming(size: int, rounds: int) -> Iterable[str]:
    yield "## Streams\n"
    yield (
        f"{size:,} parameters, one thread, processor time of the fastest of {rounds} steps. The "
        "memory column is the least time to read every buffer once and write what changes, at the "
        "speed with which NumPy adds two such arrays.\n"
    )
    rows = []
    for dtype in (np.float32, np.float64):
        array = np.zeros(size, dtype)
        a, b, c = (np.ones(16 * size, dtype) for _ in range(3))
        copying = least(partial(np.add, a, b, out=c), 5)[1] / (3 * a.nbytes)
        _, alone = least(partial(noise.add_gaussian_noise, array, 1.0, threads=1), rounds)
        rows.append([f"independent, {np.dtype(dtype)}", f"{alone / size * 1e9:.2f}", "", "", ""])
        cases: list[tuple[str, Any, Any]] = [
            (f"{bands} bands", BandedToeplitz.optimal(4096, bands), bands - 1)
            for bands in (8, 64, 512)
        ]
        cases += [(f"{m} buffers", BLT.optimal(4096, m), m) for m in (2, 4, 6)]
        cases.append(("tree", Tree(4096), None))
        for name, chosen, count in cases:
            stream = chosen.noise(size, dtype=dtype, threads=1)
            next(stream)
            state = stream.state_dict(secrets=True)
            for kept in state["secrets"]["buffers"].values():
                kept[...] = 1.0  # pages that nothing was written to are not in memory
            stream.restore(state)
            del state
            _, seconds = least(partial(stream.add, array), rounds)
            memory, ratio = "", ""
            if count is not None:
                moved = stream.nbytes * (2 if isinstance(chosen, BLT) else 1) + 3 * array.nbytes
                memory = f"{moved * copying / size * 1e9:.2f}"
                other = (
                    numpy_buffers(chosen, size, dtype)
                    if isinstance(chosen, BLT)
                    else numpy_bands(chosen.coefficients, size, dtype)
                )
                ratio = f"{least(other, max(rounds // 4, 3))[1] / seconds:.1f}"
            rows.append(
                [
                    f"{name}, {np.dtype(dtype)}",
                    f"{seconds / size * 1e9:.2f}",
                    memory,
                    ratio,
                    f"{stream.nbytes / size:.0f}",
                ]
            )
    yield table(
        "noise|ns a parameter and step|memory alone|NumPy, times as long|bytes a parameter", rows
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield f"Peak memory of the whole run: {peak / 1024:.0f} MiB.\n"


def main() -> None:
    options = options_of(__doc__, peer=None, quick=False)
    pinned()
    BLT.optimal(10, 1, participation=FixedEpochs(5))  # loads what is loaded once
    head = facts({"Peers": "jax_privacy 2.0.0" if options.peer else "none"})
    size = 1 << (14 if options.quick else 18)
    parts = [
        "# Correlated noise\n",
        head,
        *optimisation(options.peer, options.quick),
        *calibration(),
        *streaming(size, 3 if options.quick else 12),
    ]
    publish(parts, None if options.quick else "matrix")


if __name__ == "__main__":
    main()
