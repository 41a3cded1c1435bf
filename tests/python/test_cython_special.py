"""The C-level functions: their signatures are frozen, and another Cython module can call them."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from renyi import Gaussian, PLDAccountant, PoissonSampled, cython_special, special

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
compilers = pytest.mark.skipif(
    None in (shutil.which("c++"), shutil.which("cc")), reason="needs a compiler"
)


@compilers
def test_another_module_can_cimport(tmp_path):
    built(tmp_path, CONSUMER, "--cplus")
    found = printed(tmp_path, "import consumer; print(*consumer.results())").split()
    real, complex_value, gaussian, epsilon = found
    assert float(real) == special.log_a(0.01, 1.0, 2.0)
    assert complex(complex_value) == special.log_a(0.01, 1.0, 2.0 + 1.0j)
    assert float(gaussian) == 0.375
    assert float(epsilon) == EPSILON


@compilers
@pytest.mark.parametrize("options", [(), ("--cplus",)], ids=["C", "C++"])
def test_the_text_of_the_page_compiles(tmp_path, options):
    page = Path(__file__).parents[2] / "docs" / "embedding.md"
    (text,) = re.findall(r"```cython\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    built(tmp_path, text, *options)
    found = printed(tmp_path, "import consumer; print(repr(consumer.spent(1.0, 1000.0)))")
    assert float(found) == EPSILON
