"""Differential privacy accounting: exact, certified, fast.

Everything here is loaded on first use, so that ``import renyi`` is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from renyi._build import version as __version__
from renyi._build_info import build_info, check_floating_point, get_include, get_library

if TYPE_CHECKING:
    from renyi import (
        accountants as accountants,
    )
    from renyi import (
        audit as audit,
    )
    from renyi import (
        calibration as calibration,
    )
    from renyi import (
        check as check,
    )
    from renyi import (
        filters as filters,
    )
    from renyi import (
        ledger as ledger,
    )
    from renyi import (
        matrix as matrix,
    )
    from renyi import (
        mechanisms as mechanisms,
    )
    from renyi import (
        noise as noise,
    )
    from renyi import (
        pairs as pairs,
    )
    from renyi import (
        plot as plot,
    )
    from renyi import (
        reference as reference,
    )
    from renyi import (
        release as release,
    )
    from renyi import (
        report as report,
    )
    from renyi import (
        samplers as samplers,
    )
    from renyi import (
        sgd as sgd,
    )
    from renyi import (
        special as special,
    )
    from renyi import (
        theory as theory,
    )
    from renyi import (
        tradeoff as tradeoff,
    )
    from renyi.accountants import (
        PLDAccountant,
        RDPAccountant,
        UnsupportedMechanismError,
    )
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
        DiscreteGaussian,
        DiscreteLaplace,
        Exponential,
        FixedAllocation,
        FixedSizeSampled,
        Gaussian,
        GaussianMixture,
        Gumbel,
        Laplace,
        MatrixMechanism,
        Mechanism,
        MultivariateDiscreteGaussian,
        PoissonSampled,
        PrivacyLoss,
        PureDP,
        RandomAllocation,
        RandomizedResponse,
        RDPCurve,
        RepeatAndSelect,
        ShuffledBatches,
        Skellam,
        Staircase,
        TreeAggregation,
        TruncatedPoissonSampled,
    )

_MODULES = frozenset(
    {
        "accountants",
        "audit",
        "calibration",
        "check",
        "filters",
        "ledger",
        "matrix",
        "mechanisms",
        "noise",
        "pairs",
        "plot",
        "reference",
        "release",
        "report",
        "samplers",
        "sgd",
        "special",
        "theory",
        "tradeoff",
    }
)
_HOME = {
    name: module
    for module, names in {
        "renyi.accountants": (
            "PLDAccountant",
            "RDPAccountant",
            "UnsupportedMechanismError",
        ),
        "renyi.calibration": (
            "calibrate",
            "calibrate_noise_multiplier",
            "calibrate_sample_rate",
            "calibrate_steps",
        ),
        "renyi.filters": (
            "BudgetExceededError",
            "GDPFilter",
            "PrivacyFilter",
            "PrivacyOdometer",
            "RenyiFilter",
            "ZCDPFilter",
        ),
        "renyi.ledger": (
            "Ledger",
            "LedgerError",
        ),
        "renyi.mechanisms": (
            "ApproxDP",
            "Composed",
            "DiscreteGaussian",
            "DiscreteLaplace",
            "Exponential",
            "FixedAllocation",
            "FixedSizeSampled",
            "Gaussian",
            "GaussianMixture",
            "Gumbel",
            "Laplace",
            "MatrixMechanism",
            "Mechanism",
            "MultivariateDiscreteGaussian",
            "PoissonSampled",
            "PrivacyLoss",
            "PureDP",
            "RDPCurve",
            "RandomAllocation",
            "RandomizedResponse",
            "RepeatAndSelect",
            "ShuffledBatches",
            "Skellam",
            "Staircase",
            "TreeAggregation",
            "TruncatedPoissonSampled",
            "ZCDP",
        ),
    }.items()
    for name in names
}

__all__ = [
    "ZCDP",
    "ApproxDP",
    "BudgetExceededError",
    "Composed",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "FixedAllocation",
    "FixedSizeSampled",
    "GDPFilter",
    "Gaussian",
    "GaussianMixture",
    "Gumbel",
    "Laplace",
    "Ledger",
    "LedgerError",
    "MatrixMechanism",
    "Mechanism",
    "MultivariateDiscreteGaussian",
    "PLDAccountant",
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
    "ShuffledBatches",
    "Skellam",
    "Staircase",
    "TreeAggregation",
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

    if name in _MODULES:
        return import_module(f"renyi.{name}")
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'renyi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})  # renyi.reference needs mpmath: no star takes it


check_floating_point()
del check_floating_point
