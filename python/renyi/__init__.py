"""Differential privacy accounting: exact, certified, fast.

Everything here is loaded on first use, so that ``import renyi`` is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from renyi._build import version as __version__
from renyi._build_info import build_info, check_floating_point, get_include

if TYPE_CHECKING:
    import renyi.audit as audit
    import renyi.classic as classic
    import renyi.closed_form as closed_form
    import renyi.comparison as comparison
    import renyi.divergences as divergences
    import renyi.iteration as iteration
    import renyi.ledger as ledger
    import renyi.papers as papers
    import renyi.pld as pld
    import renyi.plot as plot
    import renyi.reference as reference
    import renyi.report as report
    import renyi.sgd as sgd
    import renyi.special as special
    import renyi.subsampling as subsampling
    import renyi.tradeoff as tradeoff
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

_SUBMODULES = frozenset(
    {
        "audit",
        "classic",
        "closed_form",
        "comparison",
        "divergences",
        "iteration",
        "ledger",
        "pld",
        "papers",
        "plot",
        "reference",
        "report",
        "sgd",
        "special",
        "subsampling",
        "tradeoff",
    }
)
_HOME = {
    "PLDAccountant": "renyi.accountants",
    "RDPAccountant": "renyi.accountants",
    "UnsupportedMechanismError": "renyi.accountants",
    "calibrate": "renyi.calibration",
    "calibrate_noise_multiplier": "renyi.calibration",
    "calibrate_sample_rate": "renyi.calibration",
    "calibrate_steps": "renyi.calibration",
    "BudgetExceededError": "renyi.filters",
    "GDPFilter": "renyi.filters",
    "PrivacyFilter": "renyi.filters",
    "PrivacyOdometer": "renyi.filters",
    "RenyiFilter": "renyi.filters",
    "ZCDPFilter": "renyi.filters",
    "Ledger": "renyi.ledger",
    "LedgerError": "renyi.ledger",
    "ApproxDP": "renyi.mechanisms",
    "Composed": "renyi.mechanisms",
    "DiscreteGaussian": "renyi.mechanisms",
    "DiscreteLaplace": "renyi.mechanisms",
    "Exponential": "renyi.mechanisms",
    "FixedAllocation": "renyi.mechanisms",
    "FixedSizeSampled": "renyi.mechanisms",
    "Gaussian": "renyi.mechanisms",
    "GaussianMixture": "renyi.mechanisms",
    "Gumbel": "renyi.mechanisms",
    "Laplace": "renyi.mechanisms",
    "Mechanism": "renyi.mechanisms",
    "MultivariateDiscreteGaussian": "renyi.mechanisms",
    "PoissonSampled": "renyi.mechanisms",
    "PrivacyLoss": "renyi.mechanisms",
    "PureDP": "renyi.mechanisms",
    "RDPCurve": "renyi.mechanisms",
    "RandomAllocation": "renyi.mechanisms",
    "RandomizedResponse": "renyi.mechanisms",
    "RepeatAndSelect": "renyi.mechanisms",
    "ShuffledBatches": "renyi.mechanisms",
    "Skellam": "renyi.mechanisms",
    "Staircase": "renyi.mechanisms",
    "TreeAggregation": "renyi.mechanisms",
    "TruncatedPoissonSampled": "renyi.mechanisms",
    "ZCDP": "renyi.mechanisms",
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
    "audit",
    "build_info",
    "calibrate",
    "calibrate_noise_multiplier",
    "calibrate_sample_rate",
    "calibrate_steps",
    "classic",
    "closed_form",
    "comparison",
    "divergences",
    "get_include",
    "iteration",
    "ledger",
    "papers",
    "pld",
    "plot",
    "reference",
    "report",
    "sgd",
    "special",
    "subsampling",
    "tradeoff",
]


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
