"""To compute with, not to account with: the theory behind the accountants, each theorem by itself.

* `classic`: the (epsilon, delta) calculus, its tails, compositions, samples and moments;
* `closed_form` and `papers`: published bounds of the sampled Gaussian mechanism;
* `comparison`: these and the exact curve side by side;
* `divergences`: Rényi divergences of the standard families;
* `iteration`: noisy passes of which only the last iterate is released;
* `subsampling`: bounds for samples of any mechanism, each by itself.

What is here is documented and tested like the rest, but stands outside the promise of a stable
interface: a theorem may be stated better. Modules are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from renyi.theory import (
        classic,
        closed_form,
        comparison,
        divergences,
        iteration,
        papers,
        subsampling,
    )

__all__ = [
    "classic",
    "closed_form",
    "comparison",
    "divergences",
    "iteration",
    "papers",
    "subsampling",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"renyi.theory.{name}")
    raise AttributeError(f"module 'renyi.theory' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
