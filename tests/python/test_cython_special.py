"""The C-level functions: their signatures are frozen, and another Cython module can call them."""

import os
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


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_another_module_can_cimport(tmp_path):
    source = tmp_path / "consumer.pyx"
    source.write_text(CONSUMER)
    subprocess.run(
        [sys.executable, "-m", "cython", "--cplus", "-3", source.name], cwd=tmp_path, check=True
    )
    target = tmp_path / ("consumer" + sysconfig.get_config_var("EXT_SUFFIX"))
    include = sysconfig.get_path("include")
    subprocess.run(
        ["c++", "-std=c++20", "-shared", "-fPIC", f"-I{include}", "consumer.cpp", "-o", target],
        cwd=tmp_path,
        check=True,
    )
    code = "import consumer; print(*consumer.results())"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    real, complex_value, gaussian, epsilon = result.stdout.split()
    assert float(real) == special.log_a(0.01, 1.0, 2.0)
    assert complex(complex_value) == special.log_a(0.01, 1.0, 2.0 + 1.0j)
    assert float(gaussian) == 0.375
    run = PLDAccountant().compose(PoissonSampled(Gaussian(1.0), 0.01), 1000)
    assert float(epsilon) == run.get_epsilon(1e-5)
    assert Path(target).is_file()
