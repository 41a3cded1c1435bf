"""Differential privacy accounting of the sampled Gaussian mechanism: exact, certified, fast.

Everything here is loaded on first use, so that ``import renyi`` is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from renyi._build import version as __version__
from renyi._build_info import build_info, check_floating_point, get_include

if TYPE_CHECKING:
    import renyi.closed_form as closed_form
    import renyi.pld as pld
    import renyi.plot as plot
    import renyi.reference as reference
    import renyi.special as special
    import renyi.tradeoff as tradeoff
    from renyi.accountants import PLDAccountant, RDPAccountant
    from renyi.calibration import (
        calibrate_noise_multiplier,
        calibrate_sample_rate,
        calibrate_steps,
    )
    from renyi.mechanisms import Composed, Gaussian, PoissonSampled, PrivacyLoss

__all__ = [
    "Composed",
    "Gaussian",
    "PLDAccountant",
    "PoissonSampled",
    "PrivacyLoss",
    "RDPAccountant",
    "__version__",
    "build_info",
    "calibrate_noise_multiplier",
    "calibrate_sample_rate",
    "calibrate_steps",
    "closed_form",
    "get_include",
    "pld",
    "plot",
    "reference",
    "special",
    "tradeoff",
]

_HOME = {
    "Composed": "renyi.mechanisms",
    "Gaussian": "renyi.mechanisms",
    "PoissonSampled": "renyi.mechanisms",
    "PrivacyLoss": "renyi.mechanisms",
    "PLDAccountant": "renyi.accountants",
    "RDPAccountant": "renyi.accountants",
    "calibrate_noise_multiplier": "renyi.calibration",
    "calibrate_sample_rate": "renyi.calibration",
    "calibrate_steps": "renyi.calibration",
}
_SUBMODULES = frozenset({"closed_form", "pld", "plot", "reference", "special", "tradeoff"})


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"renyi.{name}")
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'renyi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


check_floating_point()
del check_floating_point
