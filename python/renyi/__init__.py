"""Differential privacy accounting: exact, certified, fast.

Everything here is loaded on first use, so that ``import renyi`` is cheap. Every function raises
`TypeError` for an argument of the wrong kind and `ValueError` for an argument outside the range
that its docstring states, and then has changed nothing; docstrings list all other errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from renyi._build import version as __version__
from renyi._build_info import build_info, check_floating_point, get_include, get_library

if TYPE_CHECKING:
    from renyi import (
        accountants,
        audit,
        calibration,
        check,
        filters,
        ledger,
        matrix,
        mechanisms,
        noise,
        pairs,
        plot,
        release,
        report,
        samplers,
        sgd,
        special,
        theory,
        tradeoff,
    )
    from renyi import reference as reference
    from renyi.accountants import PLDAccountant, RDPAccountant, UnsupportedMechanismError
    from renyi.calibration import (
        calibrate,
        calibrate_noise_multiplier,
        calibrate_sample_rate,
        calibrate_steps,
    )
    from renyi.filters import (
        BudgetExceededError,
        GDPFilter,
        PrivacyFilter,
        PrivacyOdometer,
        RenyiFilter,
        ZCDPFilter,
    )
    from renyi.ledger import Ledger, LedgerError
    from renyi.mechanisms import (
        ZCDP,
        ApproxDP,
        Composed,
        CorrelatedGaussian,
        DiscreteGaussian,
        DiscreteLaplace,
        Exponential,
        FixedAllocation,
        FixedSizeSampled,
        Gaussian,
        GaussianMixture,
        GroupSampled,
        Gumbel,
        Laplace,
        MatrixMechanism,
        Mechanism,
        MultivariateDiscreteGaussian,
        Parallel,
        PermuteAndFlip,
        PoissonSampled,
        PrivacyLoss,
        PureDP,
        RandomAllocation,
        RandomizedResponse,
        RDPCurve,
        RepeatAndSelect,
        Shuffled,
        ShuffledBatches,
        Skellam,
        Staircase,
        TruncatedPoissonSampled,
    )

_CLASSES = ("mechanisms", "accountants", "filters", "ledger")  # their modules, lowest first
_FUNCTIONS = ("calibration",)
__all__ = [
    "ZCDP",
    "ApproxDP",
    "BudgetExceededError",
    "Composed",
    "CorrelatedGaussian",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "FixedAllocation",
    "FixedSizeSampled",
    "GDPFilter",
    "Gaussian",
    "GaussianMixture",
    "GroupSampled",
    "Gumbel",
    "Laplace",
    "Ledger",
    "LedgerError",
    "MatrixMechanism",
    "Mechanism",
    "MultivariateDiscreteGaussian",
    "PLDAccountant",
    "Parallel",
    "PermuteAndFlip",
    "PoissonSampled",
    "PrivacyFilter",
    "PrivacyLoss",
    "PrivacyOdometer",
    "PureDP",
    "RDPAccountant",
    "RDPCurve",
    "RandomAllocation",
    "RandomizedResponse",
    "RenyiFilter",
    "RepeatAndSelect",
    "Shuffled",
    "ShuffledBatches",
    "Skellam",
    "Staircase",
    "TruncatedPoissonSampled",
    "UnsupportedMechanismError",
    "ZCDPFilter",
    "__version__",
    "accountants",
    "audit",
    "build_info",
    "calibrate",
    "calibrate_noise_multiplier",
    "calibrate_sample_rate",
    "calibrate_steps",
    "calibration",
    "check",
    "filters",
    "get_include",
    "get_library",
    "ledger",
    "matrix",
    "mechanisms",
    "noise",
    "pairs",
    "plot",
    "release",
    "report",
    "samplers",
    "sgd",
    "special",
    "theory",
    "tradeoff",
]


def __getattr__(name: str) -> object:
    from importlib import import_module
    from importlib.util import find_spec

    if name in __dir__():
        if find_spec(f"renyi.{name}") is not None:
            return import_module(f"renyi.{name}")
        for home in _FUNCTIONS if name.islower() else _CLASSES:
            module = import_module(f"renyi.{home}")
            if name in module.__all__:
                globals()[name] = value = getattr(module, name)
                return value
    raise AttributeError(f"module 'renyi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "reference"])  # renyi.reference needs mpmath: * leaves it out


check_floating_point()
del check_floating_point
