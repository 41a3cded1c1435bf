"""What is installed is the build whose errors were analysed, and it checks its process."""

import ctypes.util
import importlib.metadata
import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import renyi

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
"""
    allowed = {"renyi", "renyi._build", "renyi._build_info", "__future__", "cython_runtime"}
    allowed |= {"importlib._abc", "importlib.util"}  # by the finder of an editable install
    loaded = set(run(code).split())
    assert {name for name in loaded if not name.startswith("_cython_")} <= allowed


def test_fast_path_does_not_load_the_reference():
    run(
        """
import sys
import renyi
for name in renyi.__all__:
    if name != "reference":
        getattr(renyi, name)
heavy = {"mpmath", "tqdm", "argparse", "matplotlib", "renyi.reference"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    )


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = renyi.nonsense


def test_dir_lists_the_public_names():
    assert set(dir(renyi)) == {*renyi.__all__, "reference"}  # which needs mpmath
