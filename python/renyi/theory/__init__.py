"""The theory behind the accountants, theorem by theorem: for computations, not for accounting.

* `indistinguishability`: two distributions told apart by sets, by tails of the loss;
* `f_divergences`: of finite distributions, densities, mixtures and kernels;
* `divergences`: Rényi divergences of the standard families;
* `noise`: Gaussian and Laplace noise for one release;
* `composition`: basic, advanced and optimal composition;
* `subsampling`: privacy on a random sample, each bound by itself;
* `moments`: moments of the loss and their constants;
* `routes`: three routes to the privacy of DP-SGD;
* `sampled_gaussian`: published bounds of the sampled Gaussian mechanism;
* `comparison`: these and the exact curve side by side;
* `correct_rounding`: the doubles nearest to moments of the sampled Gaussian mechanism;
* `iteration`, `online`, `last_iterate`: noisy passes of which only the last iterate is released.

For the guarantee of a run use the accountants: these bounds are older and larger, and `comparison`
says by how much. Every function says under which adjacency and sampling its number holds. A bad
argument raises a TypeError or a ValueError that names it; other errors are listed. This package is
documented and tested like the rest, but its interface is not promised to be stable. Modules are
loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from renyi.theory import (
        comparison,
        composition,
        correct_rounding,
        divergences,
        f_divergences,
        indistinguishability,
        iteration,
        last_iterate,
        moments,
        noise,
        online,
        routes,
        sampled_gaussian,
        subsampling,
    )

__all__ = [
    "comparison",
    "composition",
    "correct_rounding",
    "divergences",
    "f_divergences",
    "indistinguishability",
    "iteration",
    "last_iterate",
    "moments",
    "noise",
    "online",
    "routes",
    "sampled_gaussian",
    "subsampling",
]
__dir__ = __all__.copy


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"renyi.theory.{name}")
    raise AttributeError(f"module 'renyi.theory' has no attribute {name!r}")
