"""Scalar functions of the engine for ``cimport``; Python code wants `renyi.special`.

``from renyi.cython_special cimport log_a`` reads the signature in ``cython_special.pxd`` and, when
the module with that line is imported, finds the function in ``__pyx_capi__``.
"""

from renyi._engine import __pyx_capi__

__all__ = ["__pyx_capi__"]
