"""What is installed: its build, and programs that embed the engine."""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import renyi
from renyi import Gaussian, PLDAccountant, PoissonSampled, cython_special, special
from renyi._training import ChaCha20
from renyi.sgd import clip_and_sum

# fesetround arguments of "round upward" differ by processor.
FE_UPWARD = {"x86_64": 0x800, "AMD64": 0x800, "aarch64": 0x400000, "arm64": 0x400000}


def run(code):
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def test_release_build_with_the_flags_of_the_error_analysis():
    info = renyi.build_info()
    flags = info["flags"].split()
    assert info["build_type"] == "Release"
    assert info["assertions"] is False
    assert "-O3" in flags
    assert "-ffp-contract=off" in flags
    assert "-fno-math-errno" in flags
    assert "-fno-trapping-math" in flags
    assert not {"-Ofast", "-ffast-math", "-funsafe-math-optimizations"} & set(flags)
    assert not [f for f in flags if "native" in f or "/" in f]  # builds are reproducible


def test_floating_point_environment_is_sound():
    assert all(renyi.build_info()["floating_point"].values())


def test_build_info_is_complete_and_serialisable():
    info = renyi.build_info()
    assert info["compiler"].split()[-1][0].isdigit()
    assert info["baseline_isa"].startswith(("x86-64", "aarch64", "generic"))  # with -march: more
    assert info["active_isa"] in {"baseline", "x86-64-v3", "x86-64-v4"}
    assert json.loads(json.dumps(info)) == info


def test_version_is_one():
    assert renyi.__version__ == importlib.metadata.version("renyi")
    assert renyi.build_info()["version"] == renyi.__version__


def test_headers_and_library_are_installed():
    include = Path(renyi.get_include())
    assert (include / "renyi" / "loss" / "sampled_gaussian.hpp").is_file()
    assert (include / "renyi" / "fp" / "certified.hpp").is_file()
    assert list((include.parent / "lib").glob("*renyi_core*"))


@pytest.mark.skipif(
    platform.machine() not in FE_UPWARD or ctypes.util.find_library("m") is None,
    reason="needs fesetround of a known processor",
)
def test_import_warns_of_a_changed_rounding_mode():
    run(
        f"""
import ctypes, ctypes.util, warnings
libm = ctypes.CDLL(ctypes.util.find_library("m"))
assert libm.fesetround({FE_UPWARD[platform.machine()]}) == 0
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import renyi
libm.fesetround(0)
assert [w.category for w in caught] == [RuntimeWarning], caught
assert "rounding mode" in str(caught[0].message)
"""
    )


def test_import_is_lazy():
    code = """
import sys
import numpy
before = set(sys.modules)
import renyi
print(*sorted(set(sys.modules) - before))
for name in ("PrivacyFilter", "Ledger"):
    getattr(renyi, name)
assert "renyi.calibration" not in sys.modules
for name in renyi.__all__:
    if name != "reference":
        getattr(renyi, name)
assert "renyi.calibration" in sys.modules
heavy = {"mpmath", "tqdm", "argparse", "matplotlib", "renyi.reference"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    allowed = {"renyi", "renyi._build", "renyi._build_info", "__future__", "cython_runtime"}
    allowed |= {"importlib._abc", "importlib.util"}  # by the finder of an editable install
    loaded = set(run(code).split())
    assert {name for name in loaded if not name.startswith("_cython_")} <= allowed


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = renyi.nonsense


# --- programs that embed the engine


CONSUMERS = Path(__file__).parents[1] / "consumers"
COMPILERS = [("g++", "gcc"), ("clang++", "clang")]


def command_output(*command, **settings):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def has_fma() -> bool:
    cpu = Path("/proc/cpuinfo")
    return cpu.exists() and " fma " in cpu.read_text()


@pytest.fixture(scope="module", params=[c for c in COMPILERS if shutil.which(c[0])])
def compilers(request):
    return request.param


@pytest.fixture(scope="module")
def programs(compilers, tmp_path_factory):
    flags = "-O3 -mfma -mavx2" if has_fma() else ""
    folder = tmp_path_factory.mktemp("consumers")
    command_output(
        sys.executable, "-c", "import cmake; raise SystemExit(cmake.cmake())",
        *("-S", CONSUMERS, "-B", folder, "-G", "Ninja"),
        *(f"-Drenyi_ROOT={renyi.get_include()}/..", "-DCMAKE_BUILD_TYPE=Release"),
        *(f"-DCMAKE_CXX_COMPILER={compilers[0]}", f"-DCMAKE_C_COMPILER={compilers[1]}"),
        *(f"-DCMAKE_CXX_FLAGS={flags}", f"-DCMAKE_C_FLAGS={flags}"),
    )  # fmt: skip
    command_output("cmake", "--build", folder)
    return folder


def test_cpp(programs):
    rows = [
        tuple(map(float.fromhex, line.split()))
        for line in command_output(programs / "from_cpp").splitlines()
    ]
    q, sigma, alpha, value, lower, upper = np.array(rows).T
    assert len(rows) == 180
    assert (value == special.log_a(q, sigma, alpha)).all()
    assert (lower == special.log_a_lower(q, sigma, alpha)).all()
    assert (upper == special.log_a_upper(q, sigma, alpha)).all()


def test_c(programs):
    lines = [line.split() for line in command_output(programs / "from_c").splitlines()]
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
    found = list(map(float.fromhex, command_output(sys.executable, CONSUMERS / script).split()))
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
    symbols = command_output("nm", "-D", "--defined-only", renyi.get_library()).split("\n")
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


# --- the C-level functions


THREE = b"double (double, double, double)"
FOUR = b"double (double, double, double, double)"
SIGNATURES = {
    "log_a": THREE,
    "log_a_lower": THREE,
    "log_a_upper": THREE,
    "log_a_complex": b"__pyx_t_double_complex (double, double, __pyx_t_double_complex)",
    "rdp_sampled_gaussian": THREE,
    "rdp_sampled_gaussian_lower": THREE,
    "rdp_sampled_gaussian_upper": THREE,
    "rdp_sampled_gaussian_bound": THREE,
    "rdp_gaussian": b"double (double, double)",
    "epsilon_lower": FOUR,
    "epsilon_upper": FOUR,
    "delta_lower": FOUR,
    "delta_upper": FOUR,
}

CONSUMER = """
from renyi.cython_special cimport epsilon_upper, log_a, log_a_complex, rdp_gaussian

def results():
    cdef double value, epsilon
    with nogil:
        value = log_a(0.01, 1.0, 2.0)
        epsilon = epsilon_upper(0.01, 1.0, 1000.0, 1e-5)
    return value, log_a_complex(0.01, 1.0, 2.0 + 1.0j), rdp_gaussian(2.0, 3.0), epsilon
"""


def signature(capsule):
    text = str(capsule)  # <capsule object "double (double, double)" at 0x...>
    return text.split('"')[1].encode()


def test_signatures_do_not_change():
    found = {name: signature(c) for name, c in cython_special.__pyx_capi__.items()}
    for name, expected in SIGNATURES.items():  # additions are welcome
        assert found[name].split(b" noexcept")[0] == expected


def built(folder, text, *options):
    """Compile a module of Cython and return what its code prints."""
    (folder / "consumer.pyx").write_text(text)
    subprocess.run(
        [sys.executable, "-m", "cython", "-3", *options, "consumer.pyx"], cwd=folder, check=True
    )
    (source,) = (path for path in folder.glob("consumer.c*"))
    target = folder / ("consumer" + sysconfig.get_config_var("EXT_SUFFIX"))
    compiler = ["c++", "-std=c++20"] if source.suffix == ".cpp" else ["cc"]
    include = sysconfig.get_path("include")
    subprocess.run(
        [*compiler, "-shared", "-fPIC", f"-I{include}", source.name, "-o", target],
        cwd=folder,
        check=True,
    )
    assert target.is_file()


def printed(folder, code):
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


EPSILON = PLDAccountant().compose(PoissonSampled(Gaussian(1.0), 0.01), 1000).get_epsilon(1e-5)
consumer_compilers = pytest.mark.skipif(
    None in (shutil.which("c++"), shutil.which("cc")), reason="needs a compiler"
)


@consumer_compilers
def test_another_module_can_cimport(tmp_path):
    built(tmp_path, CONSUMER, "--cplus")
    found = printed(tmp_path, "import consumer; print(*consumer.results())").split()
    real, complex_value, gaussian, epsilon = found
    assert float(real) == special.log_a(0.01, 1.0, 2.0)
    assert complex(complex_value) == special.log_a(0.01, 1.0, 2.0 + 1.0j)
    assert float(gaussian) == 0.375
    assert float(epsilon) == EPSILON


@consumer_compilers
def test_the_text_of_the_page_compiles(tmp_path):
    """In C; the other module is C++."""
    page = Path(__file__).parents[2] / "docs" / "embedding.md"
    (text,) = re.findall(r"```cython\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    built(tmp_path, text)
    found = printed(tmp_path, "import consumer; print(repr(consumer.spent(1.0, 1000.0)))")
    assert float(found) == EPSILON
