"""Nanoseconds a call: the engine from C++, C, Cython, numba and Python.

    python bench/embedding.py

writes bench/results/embedding.md. Needs CMake and a C++ compiler; numba where it is installed.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness import facts, publish, table
from harness import least as least_time

import renyi
from renyi import Gaussian, PLDAccountant, PoissonSampled, special

ROUNDS = 7

CMAKE = """
cmake_minimum_required(VERSION 3.26)
project(calls LANGUAGES C CXX)
find_package(renyi REQUIRED)
add_executable(from_cpp from_cpp.cpp)
target_link_libraries(from_cpp PRIVATE renyi::renyi)
add_executable(from_c from_c.c)
target_link_libraries(from_c PRIVATE renyi::c)
"""

# Each prints the least time a call of several rounds; sigma changes from call to call.
LOOP = """
static double now(void) {{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}}
static double least(int n, int which) {{
    double best = 1e300, sum = 0.0;
    for (int round = 0; round < {rounds}; ++round) {{
        const double start = now();
        for (int i = 0; i < n; ++i) {{
            const double sigma = 1.0 + 1e-9 * i;
            sum += which ? {epsilon} : {log_a};
        }}
        const double each = (now() - start) / n;
        best = each < best ? each : best;
    }}
    return sum == 0.0 ? 0.0 : best;
}}
int main(void) {{
    printf("%.17g %.17g\\n", least(20000, 0), least(200, 1));
    return 0;
}}
"""
C_CALLS = {"log_a": "renyi_log_a(0.01, sigma, 8.5)",
           "epsilon": "renyi_epsilon_upper(0.01, sigma, 1000.0, 1e-5)"}  # fmt: skip
SOURCES = {
    "from_cpp.cpp": '#include <cstdio>\n#include <ctime>\n#include <renyi.h>\n'
    '#include "renyi/loss/sampled_gaussian.hpp"\n'
    + LOOP.format(rounds=ROUNDS, **{**C_CALLS, "log_a": "renyi::log_a(0.01, sigma, 8.5).value"}),
    "from_c.c": "#define _POSIX_C_SOURCE 199309L\n#include <renyi.h>\n#include <stdio.h>\n"
    "#include <time.h>\n" + LOOP.format(rounds=ROUNDS, **C_CALLS),
    "CMakeLists.txt": CMAKE,
}  # fmt: skip

CYTHON = """
from renyi.cython_special cimport epsilon_upper, log_a

def log_as(int n):
    cdef double sum = 0.0
    cdef int i
    with nogil:
        for i in range(n):
            sum += log_a(0.01, 1.0 + 1e-9 * i, 8.5)
    return sum

def epsilons(int n):
    cdef double sum = 0.0
    cdef int i
    with nogil:
        for i in range(n):
            sum += epsilon_upper(0.01, 1.0 + 1e-9 * i, 1000.0, 1e-5)
    return sum
"""

Pair = tuple[float, float]


def least(loop: Callable[[int], object], n: int) -> float:
    """Nanoseconds of processor time an iteration, the least of several rounds."""
    loop(2)
    return 1e9 * least_time(lambda: loop(n), ROUNDS)[1] / n


def compiled(folder: Path) -> dict[str, Pair]:
    """Of C++ and C, as a consumer builds them."""
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    root = f"-Drenyi_ROOT={renyi.get_include()}/.."
    for command in (
        ["cmake", "-S", folder, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Release", root],
        ["cmake", "--build", folder / "build"],
    ):
        subprocess.run(command, check=True, capture_output=True)
    found = {}
    ways = {"from_cpp": "C++ loop, static library", "from_c": "C API, shared library"}
    for name, words in ways.items():
        run = subprocess.run([folder / "build" / name], check=True, capture_output=True, text=True)
        log_a, epsilon = map(float, run.stdout.split())
        found[words] = (log_a, epsilon)
    return found


def cython(folder: Path) -> Pair:
    (folder / "calls.pyx").write_text(CYTHON)
    target = folder / ("calls" + sysconfig.get_config_var("EXT_SUFFIX"))
    include = sysconfig.get_path("include")
    build = ["c++", "-O2", "-shared", "-fPIC", f"-I{include}", "calls.cpp", "-o", target]
    transpile = [sys.executable, "-m", "cython", "--cplus", "-3", "calls.pyx"]
    for command in (transpile, build):
        subprocess.run(command, check=True, cwd=folder, capture_output=True)
    sys.path.insert(0, os.fspath(folder))
    import calls

    return least(calls.log_as, 20_000), least(calls.epsilons, 200)


def library() -> ctypes.CDLL:
    found = ctypes.CDLL(renyi.get_library())
    for name, count in (("renyi_log_a", 3), ("renyi_epsilon_upper", 4)):
        function = getattr(found, name)
        function.argtypes, function.restype = [ctypes.c_double] * count, ctypes.c_double
    return found


def numba() -> Pair | None:
    try:
        from numba import njit
    except ImportError:
        return None
    log_a, epsilon = library().renyi_log_a, library().renyi_epsilon_upper

    @njit
    def log_as(n):
        total = 0.0
        for i in range(n):
            total += log_a(0.01, 1.0 + 1e-9 * i, 8.5)
        return total

    @njit
    def epsilons(n):
        total = 0.0
        for i in range(n):
            total += epsilon(0.01, 1.0 + 1e-9 * i, 1000.0, 1e-5)
        return total

    return least(log_as, 20_000), least(epsilons, 200)


def python() -> dict[str, Pair]:
    c = library()

    def by_ctypes(n: int) -> None:
        for i in range(n):
            c.renyi_log_a(0.01, 1.0 + 1e-9 * i, 8.5)

    def by_ctypes_epsilon(n: int) -> None:
        for i in range(n):
            c.renyi_epsilon_upper(0.01, 1.0 + 1e-9 * i, 1000.0, 1e-5)

    def scalar(n: int) -> None:
        for i in range(n):
            special.log_a(0.01, 1.0 + 1e-9 * i, 8.5)

    def accountant(n: int) -> None:
        for i in range(n):
            step = PoissonSampled(Gaussian(1.0 + 1e-9 * i), 0.01)
            PLDAccountant().compose(step, 1000).get_epsilon(1e-5)

    return {
        "Python, ctypes": (least(by_ctypes, 20_000), least(by_ctypes_epsilon, 200)),
        "Python, ufunc of a scalar; accountant": (least(scalar, 20_000), least(accountant, 200)),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        found: dict[str, Pair | None] = {
            **compiled(Path(name)),
            "Cython, nogil": cython(Path(name)),
        }
    found["numba"] = numba()
    found.update(python())
    rows = [
        [way, *((f"{pair[0]:,.0f}", f"{pair[1] / 1000:,.0f}") if pair else ("–", "–"))]
        for way, pair in found.items()
    ]
    method = f"processor time, the least of {ROUNDS} rounds; sigma changes from call to call"
    what = (
        "log A at q = 0.01, alpha = 8.5; an upper end of epsilon, 1,000 steps at delta = 1e-5, of "
        "both directions.\n"
    )
    parts = ["# What a call costs from elsewhere\n", facts({"Method": method}), what]
    publish([*parts, table("from|log A, ns a call|epsilon, µs a call", rows)], "embedding")


if __name__ == "__main__":
    main()
