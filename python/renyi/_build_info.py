"""The build of this installation, and a check of the floating point of the process."""

import sys
import warnings

from renyi import _build

_FAULTS = {
    "gradual_underflow": "subnormals are flushed to zero (some library was built with -ffast-math)",
    "rounds_to_nearest": "the rounding mode is not to nearest",
    "no_contraction": "a*b + c is fused",
    "no_excess_precision": "doubles are evaluated in a wider format",
}


def check_floating_point() -> None:
    """Warn when this thread's arithmetic breaks the assumptions of the error bounds."""
    faults = [_FAULTS[name] for name, sound in _build.floating_point().items() if not sound]
    if faults:
        warnings.warn(
            "renyi: the error bounds do not hold in this process: " + "; ".join(faults),
            RuntimeWarning,
            stacklevel=2,
        )


def build_info() -> dict[str, object]:
    """Return the compiler, flags and platform of this installation.

    Returns:
        ``version``, ``compiler``, ``flags``, ``build_type``, ``assertions``, ``system``,
        ``baseline_isa`` (the target of the whole build), ``active_isa`` (the instructions of the
        multiversioned loops on this machine), ``floating_point`` (the probe of the calling thread,
        all true if the error bounds hold), ``python`` and ``numpy`` (versions in use).

    >>> import renyi
    >>> renyi.build_info()["build_type"]
    'Release'
    """
    import platform

    import numpy as np

    return {
        "version": _build.version,
        **_build.compiled(),
        "floating_point": _build.floating_point(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def get_include() -> str:
    """Return the directory of the headers.

    ``renyi.h`` is the C interface; C++ has ``renyi/loss/sampled_gaussian.hpp`` and others.

    CMake finds the headers, the libraries and the flags by ``find_package(renyi)`` with
    ``-Drenyi_ROOT=<this directory>/..``: see docs/embedding.md. Cython modules need no headers:
    ``from renyi.cython_special cimport log_a``.

    >>> import os, renyi
    >>> os.path.isfile(os.path.join(renyi.get_include(), "renyi.h"))
    True
    """
    return _installed("include")


def get_library() -> str:
    """Return the path of the shared library with the C interface, which ``renyi.h`` describes.

    >>> import ctypes, renyi
    >>> library = ctypes.CDLL(renyi.get_library())
    >>> library.renyi_version.restype = ctypes.c_char_p
    >>> library.renyi_version().decode() == renyi.__version__
    True
    """
    return _installed("lib", "librenyi.dylib" if sys.platform == "darwin" else "librenyi.so")


def _installed(*path: str) -> str:
    from importlib.resources import files

    return str(files("renyi").joinpath(*path))
