"""On what a table was made: every table in bench/results begins with it."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

import renyi


def cpu() -> str:
    """The model of the processor, where the system tells."""
    if (cpuinfo := Path("/proc/cpuinfo")).exists():
        names = [x for x in cpuinfo.read_text().splitlines() if x.startswith("model name")]
        if names:
            return names[0].partition(":")[2].strip()
    return platform.processor() or platform.machine()


def facts(more: Mapping[str, str]) -> str:
    """A list of the command, the machine and the build, and of what else is to be said."""
    given = {
        "Command": f"`python {' '.join([Path(sys.argv[0]).as_posix(), *sys.argv[1:]])}`",
        "Date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC",
        "CPU": f"{cpu()}, {os.cpu_count()} cores",
        "Load average": f"{os.getloadavg()[0]:.2f}",
        "System": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "Python, NumPy": f"{platform.python_version()}, {np.__version__}",
        "Build": "; ".join(f"{key} {value}" for key, value in renyi.build_info().items()),
        **more,
    }
    return "\n".join(f"* {name}: {value}" for name, value in given.items()) + "\n"


def publish(parts: Iterable[str], output: Path | None) -> None:
    """Print the parts of a table as they come, and write all of them if there is a file."""
    printed = []
    for part in parts:
        print(part, flush=True)
        printed.append(part)
    if output is not None:
        output.parent.mkdir(exist_ok=True)
        output.write_text("\n".join(printed), encoding="utf-8")
