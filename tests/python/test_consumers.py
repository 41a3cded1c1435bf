"""Programs that embed the engine, built from what is installed: C++, C, cffi, numba and SciPy.

The bits are those of Python whatever the compiler and its instruction set.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import renyi
from renyi import Gaussian, PLDAccountant, PoissonSampled, special
from renyi._training import ChaCha20
from renyi.sgd import clip_and_sum

CONSUMERS = Path(__file__).parents[1] / "consumers"
COMPILERS = [("g++", "gcc"), ("clang++", "clang")]
INSTRUCTIONS = ["", "-O3 -mfma -mavx2"]


def run(*command, **settings):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def has_fma() -> bool:
    cpu = Path("/proc/cpuinfo")
    return cpu.exists() and " fma " in cpu.read_text()


@pytest.fixture(scope="module", params=[c for c in COMPILERS if shutil.which(c[0])])
def compilers(request):
    return request.param


@pytest.fixture(scope="module", params=INSTRUCTIONS, ids=["plain", "fma"])
def programs(request, compilers, tmp_path_factory):
    if request.param and not has_fma():
        pytest.skip("the processor has no fused multiply-add")
    folder = tmp_path_factory.mktemp("consumers")
    run(
        sys.executable, "-c", "import cmake; raise SystemExit(cmake.cmake())",
        *("-S", CONSUMERS, "-B", folder, "-G", "Ninja"),
        *(f"-Drenyi_ROOT={renyi.get_include()}/..", "-DCMAKE_BUILD_TYPE=Release"),
        *(f"-DCMAKE_CXX_COMPILER={compilers[0]}", f"-DCMAKE_C_COMPILER={compilers[1]}"),
        *(f"-DCMAKE_CXX_FLAGS={request.param}", f"-DCMAKE_C_FLAGS={request.param}"),
    )  # fmt: skip
    run("cmake", "--build", folder)
    return folder


def test_cpp(programs):
    rows = [
        tuple(map(float.fromhex, line.split())) for line in run(programs / "from_cpp").splitlines()
    ]
    q, sigma, alpha, value, lower, upper = np.array(rows).T
    assert len(rows) == 180
    assert (value == special.log_a(q, sigma, alpha)).all()
    assert (lower == special.log_a_lower(q, sigma, alpha)).all()
    assert (upper == special.log_a_upper(q, sigma, alpha)).all()


def test_c(programs):
    lines = [line.split() for line in run(programs / "from_c").splitlines()]
    assert lines.pop(0) == ["version", renyi.__version__]
    found = {name: tuple(map(float.fromhex, values)) for name, *values in lines}
    point = (0.01, 1.0, 2.5)
    assert found["log_a"] == tuple(
        f(*point) for f in (special.log_a, special.log_a_lower, special.log_a_upper)
    )
    assert found["rdp"][1] < found["rdp"][0] < found["rdp"][2]
    run_ = PLDAccountant().compose(PoissonSampled(Gaussian(1.0), 0.01), 1000)
    assert found["one"] == (run_.get_epsilon(1e-5), run_.get_delta(1.5))
    run_.compose(Gaussian(8.0), 3)
    lower, upper = run_.get_epsilon_bounds([1e-5, 1e-7])
    assert found["epsilon"] == (lower[0], upper[0], lower[1], upper[1])
    lower, upper = run_.get_delta_bounds([0.0, 1.5])
    assert found["delta"] == (lower[0], upper[0], lower[1], upper[1])
    clipped = clip_and_sum(np.array([[3, 4], [0.3, 0.4]], np.float32), 1.0, dtype=np.float32)
    assert found["clip"] == (*clipped.sum.tolist(), 5.0, pytest.approx(0.5))
    numbers = np.arange(4, dtype=np.float32)
    ChaCha20(bytes([1, 2, 3]).ljust(32, b"\0")).add_noise(True, numbers, 2.0, 1)
    assert found["noise"] == tuple(numbers.tolist())


@pytest.mark.parametrize(("script", "modules"), [
    ("from_cffi.py", ["cffi"]), ("from_numba.py", ["numba"]), ("from_scipy.py", ["numba", "scipy"]),
])  # fmt: skip
def test_scripts(script, modules):
    for name in modules:
        pytest.importorskip(name)
    found = list(map(float.fromhex, run(sys.executable, CONSUMERS / script).split()))
    step = PoissonSampled(Gaussian(1.0), 0.01)
    if script == "from_cffi.py":
        exact = PLDAccountant().compose(step, 1000).compose(Gaussian(8.0), 3)
        assert tuple(found) == exact.get_epsilon_bounds(1e-5)
    elif script == "from_numba.py":
        steps = (PoissonSampled(Gaussian(sigma), 0.01) for sigma in (0.8, 1.0, 2.0))
        assert found == [PLDAccountant().compose(s, 1000).get_epsilon(1e-5) for s in steps]
    else:
        rates = np.linspace(0.01, 0.02, 2001)
        mean = np.trapezoid(special.log_a(rates, 1.0, 8.0), rates)
        assert found == [pytest.approx(mean, rel=1e-5)]


def test_only_the_c_interface_is_visible():
    if shutil.which("nm") is None:
        pytest.skip("needs nm")
    symbols = run("nm", "-D", "--defined-only", renyi.get_library()).split("\n")
    names = {line.split()[-1] for line in symbols if line}
    assert {name for name in names if not name.startswith("_")} >= {"renyi_log_a", "renyi_epsilon"}
    assert not [name for name in names if "5renyi" in name]


def test_only_public_headers_are_installed():
    include = Path(renyi.get_include())
    found = {str(path.relative_to(include)) for path in include.rglob("*") if path.is_file()}
    assert found == {
        "renyi.h",
        "renyi/fp/certified.hpp",
        "renyi/fp/environment.hpp",
        "renyi/loss/gaussian.hpp",
        "renyi/loss/sampled_gaussian.hpp",
    }
