"""Clip and sum beside NumPy and PyTorch, and beside one reading of the same array.

    python bench/clipping_speed.py            # everything, writes bench/results/clipping_speed.md
    python bench/clipping_speed.py --quick    # arrays of a quarter, fewer rounds, screen only

Each number of threads has a process of its own, since NumPy's library takes it from the
environment. Contenders take turns, and the best of all rounds counts: these are limits of the
memory, and what disturbs them only makes them slower; the share of the reading speed is given as a
median over the rounds too. PyTorch does what Opacus does with per-sample gradients; it is named as
absent where it is not installed.

A row cannot be added before its norm is known, so it is read twice, the second time from a cache
at best: what that alone costs on a machine is measured too, by NumPy's fastest reading.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from harness import facts, options_of, publish, table

from renyi.sgd import clip_and_sum, per_sample_norms

SHAPES = (
    (25_600, 10_000, "C"),
    (2_560, 100_000, "C"),
    (256, 1_000_000, "C"),
    (16, 16_000_000, "C"),
    (25_600, 10_000, "F"),
)
BOUND = 1.0
READS = ("one read (bits or)", "one read (largest integer)", "one read (squares summed)")
TWICE = "read twice"
CACHED = 1 << 20  # bytes that are read twice before the next ones, or one row
OURS = "renyi"


# ------------------------------------------------------------------------- one number of threads


def contenders(array: Any, threads: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names and calls."""
    pool = ThreadPoolExecutor(threads)
    flat = array.ravel(order="K")
    parts = [
        flat[len(flat) * i // threads : len(flat) * (i + 1) // threads] for i in range(threads)
    ]

    def reading(reduce: Callable[[Any], Any]) -> Callable[[], Any]:
        return lambda: list(pool.map(reduce, parts))

    def twice(part: Any) -> None:
        words = part.view(np.uint64)
        step = max(CACHED, array.shape[1] * array.itemsize) // words.itemsize
        for first in range(0, len(words), step):
            np.bitwise_or.reduce(words[first : first + step])
            np.bitwise_or.reduce(words[first : first + step])

    yield READS[0], reading(lambda part: np.bitwise_or.reduce(part.view(np.uint64)))
    yield READS[1], reading(lambda part: part.view(np.int32).max())
    yield READS[2], lambda: per_sample_norms(array, threads=threads)
    yield TWICE, reading(twice)
    out = np.full(array.shape[1], 0, array.dtype)  # its pages are there
    yield OURS, lambda: clip_and_sum(array, BOUND, out=out, threads=threads).sum

    def naive() -> Any:
        norms = np.linalg.norm(array, axis=1)
        return (array * np.minimum(1.0, BOUND / norms)[:, np.newaxis]).sum(axis=0)

    def product() -> Any:
        norms = np.sqrt(np.einsum("ij,ij->i", array, array))
        return np.minimum(1.0, BOUND / norms) @ array

    yield "NumPy, naive", naive
    yield "NumPy, einsum and matrix product", product
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(threads)
    tensor = torch.from_numpy(array)

    def opacus() -> Any:
        norms = torch.stack([tensor.reshape(len(tensor), -1).norm(2, dim=-1)], dim=1).norm(2, dim=1)
        factors = (BOUND / (norms + 1e-6)).clamp(max=1.0)
        return torch.einsum("i,i...", factors, tensor).numpy()

    yield "PyTorch, as Opacus does", opacus


def extra_memory(call: Callable[[], Any]) -> float | None:
    """Return the bytes that a call needed at most beyond what there was (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        before = _status("VmRSS")
        call()
        return _status("VmHWM") - before
    except OSError:
        return None


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return float(line.split()[1]) * 1024
    raise OSError(field)


def measure(threads: int, rounds: int, shrink: int) -> None:
    """Print times in seconds and bytes of memory, a line of JSON for each shape."""
    rng = np.random.default_rng(0)
    size = SHAPES[0][0] * SHAPES[0][1] // shrink
    buffer = np.empty(size, np.float32)
    for first in range(0, size, 10**7):
        part = buffer[first : first + 10**7]
        part[...] = rng.standard_normal(len(part), dtype=np.float32)
    for full, columns, order in SHAPES:
        rows = max(1, full // shrink)
        array = buffer[: rows * columns].reshape((rows, columns), order=order)
        seconds: dict[str, list[float]] = {}
        results: dict[str, Any] = {}
        calls = list(contenders(array, threads))
        memory = {name: extra_memory(call) for name, call in calls}
        for turn in range(rounds):
            for name, call in calls[turn % len(calls) :] + calls[: turn % len(calls)]:
                begin = time.perf_counter()
                results[name] = call()
                seconds.setdefault(name, []).append(time.perf_counter() - begin)
        for name, result in results.items():
            if name in (*READS, TWICE):
                continue
            if not np.allclose(result, results[OURS], rtol=1e-3, atol=1e-3):
                raise AssertionError(f"{name} differs")
        label = f"{rows:,} x {columns:,}" + (", Fortran order" if order == "F" else "")
        line = {"shape": label, "threads": threads, "seconds": seconds, "memory": memory}
        print(json.dumps(line), flush=True)


# ------------------------------------------------------------------------------------ the tables


def speed(lines: list[dict[str, Any]]) -> str:
    """Rows of times: share of the fastest reading, times as long as renyi."""
    names = [n for n in lines[0]["seconds"] if n not in (*READS, TWICE, OURS)]
    head = "rows x columns|threads|one read|read twice|renyi|share|median|norms"
    cells = []
    for line in lines:
        seconds = line["seconds"]
        best = {name: min(times) for name, times in seconds.items()}
        read, ours = min(best[READS[0]], best[READS[1]]), best[OURS]
        rounds = zip(seconds[READS[0]], seconds[READS[1]], seconds[OURS], strict=True)
        median = statistics.median(min(a, b) / c for a, b, c in rounds)
        row = [line["shape"], str(line["threads"]), _ms(read), _ms(best[TWICE]), _ms(ours)]
        row += [f"{read / ours:.0%}", f"{median:.0%}", f"{read / best[READS[2]]:.0%}"]
        row += [f"{_ms(best[name])} ({best[name] / ours:.1f} x)" for name in names]
        cells.append(row)
    return table("|".join([head, *names]), cells)


def memory(lines: list[dict[str, Any]]) -> str:
    """Rows of megabytes that a call needed beyond its arguments."""
    names = [n for n in lines[0]["memory"] if n not in (*READS, TWICE)]
    cells = []
    for line in lines:
        found = [line["memory"][name] for name in names]
        found = ["?" if bytes is None else f"{bytes / 1e6:.1f} MB" for bytes in found]
        cells.append([line["shape"], str(line["threads"]), *found])
    return table("|".join(["rows x columns", "threads", *names]), cells)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"


def child_lines(
    script: str, threads: int, arguments: Sequence[str], more: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return what a script prints, line by line of JSON, in a process with so many threads."""
    limits = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(limits, str(threads)) | (more or {})
    command = [sys.executable, script, "--child", str(threads), *arguments]
    child = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    return [json.loads(line) for line in child.stdout.decode().splitlines()]


def main() -> None:
    """Measure in processes of their own, and put the numbers side by side."""
    options = options_of(__doc__, quick=False, child=0)
    rounds, shrink = (3, 4) if options.quick else (9, 1)
    if options.child:
        measure(options.child, rounds, shrink)
        return
    arguments = ["--quick"] if options.quick else []
    lines = [line for n in (1, 2) for line in child_lines(__file__, n, arguments)]
    torch = any("Torch" in name for name in lines[0]["seconds"])
    method = (
        f"float32, best of {rounds} rounds. One read: the fastest of NumPy's reductions of the "
        "same array on as many threads. Read twice: the same, every row (or 1 MiB of rows) once "
        "more before the next. Share: one read / renyi, of the best rounds and the median of all. "
        "Norms: the same for `per_sample_norms`. In brackets: times as long as renyi"
        + ("" if torch else "; PyTorch is not installed")
    )
    parts = ["# Speed of clipping and summing\n", facts({"Method": method}), speed(lines)]
    parts.append("Memory that a call takes beyond its arguments and `out`, at its peak:\n")
    publish([*parts, memory(lines)], None if options.quick else "clipping_speed")


if __name__ == "__main__":
    main()
