"""What the scripts of this folder share: options, the machine, timing in turns, tables."""

from __future__ import annotations

import argparse
import datetime
import gc
import itertools
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from peers import quiet

import renyi

RESULTS = Path(__file__).parent / "results"


def options_of(doc: str | None, **defaults: Any) -> argparse.Namespace:
    """Read the command line: an option by each keyword, of the type of its default.

    False is a switch, None a text, a tuple one or more of its members (of all, by default).
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in defaults.items():
        settings: dict[str, Any] = {"default": default, "type": type(default)}
        if default is False:
            settings = {"action": "store_true"}
        elif default is None:
            settings = {}
        elif isinstance(default, tuple):
            settings = {"default": default, "choices": default, "nargs": "+"}
        parser.add_argument("--" + name.replace("_", "-"), **settings)
    return parser.parse_args()


def pinned() -> None:
    """Keep this process on one core; before the peers are loaded, so that torch sees one."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def cpu() -> str:
    """The model of the processor, where the system tells."""
    if (cpuinfo := Path("/proc/cpuinfo")).exists():
        names = [x for x in cpuinfo.read_text().splitlines() if x.startswith("model name")]
        if names:
            return names[0].partition(":")[2].strip()
    return platform.processor() or platform.machine()


def facts(more: Mapping[str, str] | None = None) -> str:
    """A list of the command, the machine and the build, and of what else is to be said.

    Every table in bench/results begins with it.
    """
    given = {
        "Command": f"`python {' '.join([Path(sys.argv[0]).as_posix(), *sys.argv[1:]])}`",
        "Date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC",
        "CPU": f"{cpu()}, {os.cpu_count()} cores",
        "Load average": f"{os.getloadavg()[0]:.2f}",
        "System": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "Python, NumPy": f"{platform.python_version()}, {np.__version__}",
        "Build": "; ".join(f"{key} {value}" for key, value in renyi.build_info().items()),
        **(more or {}),
    }
    return "\n".join(f"* {name}: {value}" for name, value in given.items()) + "\n"


def publish(parts: Iterable[str], name: str | None) -> None:
    """Print the parts of a table as they come, and write all into results under a name."""
    printed = []
    for part in parts:
        print(part, flush=True)
        printed.append(part)
    if name is not None:
        (RESULTS / f"{name}.md").write_text("\n".join(printed), encoding="utf-8")


def table(head: str, rows: Iterable[Sequence[str]]) -> str:
    titles = head.split("|")
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def duration(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)):
        if seconds * factor >= 1 or unit == "ns":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError


def relative(value: float, exact: float) -> str:
    return f"{value / exact - 1:+.1e}" if math.isfinite(value) else "not finite"


Clock = Callable[[], float]


def least(
    call: Callable[[], Any], rounds: int = 1, clock: Clock = time.process_time
) -> tuple[Any, float]:
    """Return what a call returns and the least time of several rounds, in seconds."""
    best, found = math.inf, None
    for _ in range(rounds):
        start = clock()
        found = call()
        best = min(best, clock() - start)
    return found, best


def least_of_each(
    calls: Mapping[str, Callable[[], Any]], rounds: int, clock: Clock = time.process_time
) -> dict[str, float]:
    """Return the least time of each call; they take turns, in every other round backwards."""
    seconds = dict.fromkeys(calls, math.inf)
    for turn in range(rounds):
        for name in list(calls) if turn % 2 else reversed(calls):
            seconds[name] = min(seconds[name], least(calls[name], clock=clock)[1])
    return seconds


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

    def times(self, other: Timing) -> str:
        """Time of ``other`` over this one: median over the rounds, 10th and 90th percentile."""
        if other is self:
            return ""
        rounds = np.divide(other.seconds, self.seconds)
        low, middle, high = (_plain(x) for x in np.quantile(rounds, (0.1, 0.5, 0.9)).tolist())
        return f"{middle} ({low} to {high})"


def compared(head: str, timings: Sequence[Timing], *cells: Callable[[Timing], str]) -> str:
    """A table of timings: name, median, time over that of the first, and what else is asked for."""
    return table(
        head,
        [
            [t.name, duration(t.median), timings[0].times(t), *(cell(t) for cell in cells)]
            for t in timings
        ],
    )


def _plain(value: float) -> str:
    """Three digits, without an exponent."""
    digits = max(0, 2 - math.floor(math.log10(value)))
    return f"{float(f'{value:.3g}'):,.{digits}f}"


def interleave(
    contenders: Sequence[Contender],
    *,
    rounds: int,
    block: float = 0.02,
    clock: Clock = time.perf_counter,
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
                result, taken = least(partial(contender.call, 0), clock=clock)  # also the warm-up
                results.append(result)
                slow = taken > 50 * block
                calls.append(1 if slow else _calls_in(block, contender, number, clock))
            for turn in range(rounds):
                for k in everyone if turn % 2 == 0 else reversed(everyone):
                    taken = _seconds(contenders[k], calls[k], number, clock)
                    seconds[k][turn] = taken / (calls[k] * contenders[k].items)
    finally:
        if collecting:
            gc.enable()
    return [
        Timing(contender.name, tuple(taken), result)
        for contender, taken, result in zip(contenders, seconds, results, strict=True)
    ]


def _seconds(contender: Contender, calls: int, number: Iterator[int], clock: Clock) -> float:
    arguments, call = list(itertools.islice(number, calls)), contender.call
    start = clock()
    for k in arguments:
        call(k)
    return clock() - start


def _calls_in(block: float, contender: Contender, number: Iterator[int], clock: Clock) -> int:
    calls = 1
    while (taken := _seconds(contender, calls, number, clock)) < block / 4 and calls < 1 << 20:
        calls *= 2
    return max(1, round(calls * block / taken))
