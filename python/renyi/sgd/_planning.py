"""Arguments of a plan, the steps that follow from them, what its noise is relative to."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from renyi._validation import LARGEST_COUNT, adjacency_of, integer_of, one_of, real_of, uses_of
from renyi.accountants import Adjacency, PLDAccountant, RDPAccountant
from renyi.matrix import (
    BLT,
    BandedToeplitz,
    CyclicPoisson,
    Dense,
    FixedEpochs,
    Participation,
    SquareRoot,
    Strategy,
    Tree,
)
from renyi.mechanisms import Gaussian, MatrixMechanism, Mechanism, MultivariateDiscreteGaussian
from renyi.sgd.grid import Grid, check_spacing, spacing_of

if TYPE_CHECKING:
    from renyi.sgd.plan import TrainingPlan

__all__ = [
    "IN_EPOCHS",
    "AccountantName",
    "Sampling",
    "accountant_named",
    "adjacency_for",
    "batch_limit_of",
    "check_strategy",
    "correlated_release",
    "cycle_length_of",
    "grid_of",
    "noise_mechanism",
    "noise_multiplier_of",
    "participation_in",
    "row_norm",
    "sampling_of",
    "sizes_of",
    "steps_of",
    "strategy_of",
]


# Arguments of a plan: checks, and the number of steps that follows from them.


Sampling = Literal[
    "poisson",
    "truncated_poisson",
    "cyclic_poisson",
    "balls_in_bins",
    "fixed_size",
    "shuffled",
    "fixed_order",
]
IN_EPOCHS: tuple[Sampling, ...] = ("balls_in_bins", "shuffled", "fixed_order")
"""Of which every record is in one batch of each epoch."""


AccountantName = Literal["pld", "rdp"]


_HOLDS_FOR: dict[Sampling, tuple[Adjacency, ...]] = {
    "poisson": ("add_remove", "replace_one", "zero_out"),
    "truncated_poisson": ("add_remove", "replace_one", "zero_out"),
    "cyclic_poisson": ("add_remove", "replace_one", "zero_out"),
    "balls_in_bins": ("add_remove", "replace_one", "zero_out"),
    "fixed_size": ("replace_one",),
    "shuffled": ("replace_one", "zero_out"),
    "fixed_order": ("replace_one", "zero_out"),
}


_ACCOUNTANTS: dict[AccountantName, type[PLDAccountant] | type[RDPAccountant]] = {
    "pld": PLDAccountant,
    "rdp": RDPAccountant,
}


def sizes_of(population: Any, batch_size: Any) -> tuple[int, int]:
    """Return the number of records and that of a batch."""
    size = integer_of(batch_size, "batch_size", 1)
    records = integer_of(population, "population", 1)
    if size > records:
        raise ValueError(
            f"batch_size must be an integer in [1, {records}], the population, got {batch_size!r}"
        )
    return records, size


def sampling_of(value: Any) -> Sampling:
    """Return a known sampling scheme."""
    return one_of(value, "sampling", _HOLDS_FOR)


def batch_limit_of(value: Any, sampling: Sampling, records: int) -> int | None:
    """Return the largest batch of truncated samples, which others do not have."""
    if (value is None) != (sampling != "truncated_poisson"):
        raise ValueError(
            f"batch_limit must be given with sampling 'truncated_poisson' only, got {value!r} with "
            f"{sampling!r}"
        )
    return None if value is None else min(integer_of(value, "batch_limit", 1), records)


def cycle_length_of(value: Any, sampling: Sampling, records: int, size: int) -> int | None:
    """Return the number of groups of cyclic samples, which others do not have."""
    if (value is None) != (sampling != "cyclic_poisson"):
        raise ValueError(
            f"cycle_length must be given with sampling 'cyclic_poisson' only, got {value!r} with "
            f"{sampling!r}"
        )
    if value is None:
        return None
    length = integer_of(value, "cycle_length", 1)
    if length * size > records:
        raise ValueError(
            f"cycle_length must be such that groups of the population, {records}, hold a batch, "
            f"{size}, got {value!r}"
        )
    return length


def adjacency_for(value: Any, sampling: Sampling, discrete: bool) -> Adjacency:
    """Return a neighbouring relation that a sampling scheme holds for, with the noise of a grid."""
    known = adjacency_of(value)
    if known not in _HOLDS_FOR[sampling]:
        allowed = " or ".join(map(repr, _HOLDS_FOR[sampling]))
        raise ValueError(f"adjacency must be {allowed} with sampling {sampling!r}, got {value!r}")
    if discrete and sampling in ("truncated_poisson", "balls_in_bins", "fixed_order"):
        raise ValueError(f"grid_spacing must be None with sampling {sampling!r}, got a grid")
    if discrete and sampling.endswith("poisson") and known == "replace_one":
        raise ValueError(
            f"adjacency must be 'add_remove' or 'zero_out' with sampling {sampling!r} on a grid, "
            "got 'replace_one': that goes with sampling 'fixed_size' or 'shuffled'"
        )
    return known


def accountant_named(name: Any, discrete: bool) -> type[PLDAccountant] | type[RDPAccountant]:
    """Return a kind of accountant by its name, or without one the best that takes the noise."""
    if name is None:
        return RDPAccountant if discrete else PLDAccountant
    return _ACCOUNTANTS[one_of(name, "accountant", _ACCOUNTANTS)]


def steps_of(steps: Any, epochs: Any, population: int, size: int, sampling: str) -> int:
    """Return the number of steps, which is given or follows from the epochs."""
    if (steps is None) == (epochs is None):
        raise TypeError(
            f"exactly one of steps and epochs must be given, got steps={steps!r}, epochs={epochs!r}"
        )
    if steps is not None:
        return uses_of(steps, "steps", 1)
    if sampling in IN_EPOCHS:
        found = integer_of(epochs, "epochs", 1) * -(-population // size)
    else:
        number = real_of(epochs, "epochs", "a number in (0, inf)")
        if not 0.0 < number < math.inf:
            raise ValueError(f"epochs must be a number in (0, inf), got {epochs!r}")
        found = math.ceil(Fraction(number) * population / size)
    if found > LARGEST_COUNT:
        raise ValueError(f"epochs must make at most 10^9 steps, got {epochs!r}")
    return found


# The noise of a plan: what it is relative to, and what it is to an accountant.


def noise_multiplier_of(value: Any, discrete: bool) -> float:
    """Return a noise multiplier; on a grid there is always noise."""
    allowed = f"a number in {'(' if discrete else '['}0, inf)"
    number = real_of(value, "noise_multiplier", allowed)
    if not 0.0 <= number < math.inf or (discrete and number == 0.0):
        raise ValueError(f"noise_multiplier must be {allowed}, got {value!r}")
    return number


def grid_of(spacing: Any, dimension: Any, bound: float) -> tuple[float | None, int | None]:
    """Return the spacing and the number of entries of a grid, or None for both."""
    if spacing is None and dimension is None:
        return None, None
    if spacing is None or dimension is None:
        raise TypeError(
            "grid_spacing and dimension must be given together, "
            f"got grid_spacing={spacing!r}, dimension={dimension!r}"
        )
    number = spacing_of(spacing, "grid_spacing")
    check_spacing(number, bound, "grid_spacing")
    entries = integer_of(dimension, "dimension", 1)
    if entries > 2**53:
        raise ValueError(f"dimension must be an integer in [1, 2^53], got {dimension!r}")
    _refuse_coarse(number, entries, bound)
    return number, entries


def _refuse_coarse(spacing: float, dimension: int, bound: float) -> None:
    """Refuse a grid on which rounding may lengthen a row by more than what it is clipped at."""
    most = math.ldexp(0.5, math.frexp(2.0 * bound / math.sqrt(dimension))[1])
    if spacing > most:
        raise ValueError(
            f"grid_spacing must be at most {most!r} for rows of {dimension} entries clipped at "
            f"{bound!r}, got {spacing!r}: rounding would outweigh them"
        )


def row_norm(bound: float, spacing: float | None, dimension: int | None) -> float:
    """Return the norm that a clipped row has at most when it is added."""
    if spacing is None or dimension is None:
        return bound
    return Grid(spacing).sensitivity(bound, dimension)


def noise_mechanism(noise_multiplier: float, discrete: bool) -> Mechanism:
    """Return what a sum with its noise is to an accountant."""
    kind = MultivariateDiscreteGaussian if discrete else Gaussian
    return kind(noise_multiplier)


# Correlated noise: which sampling it goes with, and what the run then is.


_STRATEGIES = (BandedToeplitz, SquareRoot, BLT, Tree, Dense)


def strategy_of(value: Any) -> Strategy | None:
    """Return a strategy or None."""
    if value is not None and type(value) not in _STRATEGIES:
        raise TypeError(
            f"strategy must be one of renyi.matrix, of no class of its own, got {value!r}"
        )
    known: Strategy | None = value
    return known


def check_strategy(plan: TrainingPlan) -> None:
    """Refuse a strategy where the steps of a record are not known to be apart."""
    if plan.strategy is None:
        return
    if plan.sampling not in ("fixed_order", "cyclic_poisson"):
        raise ValueError(
            "sampling must be 'fixed_order' or 'cyclic_poisson' with a strategy, for the steps of "
            f"a record have to be apart, got {plan.sampling!r}"
        )
    if plan.strategy.steps != plan.steps:
        raise ValueError(
            f"strategy must be of {plan.steps} steps, those of the plan, got {plan.strategy!r}"
        )
    for name in ("noise_schedule", "clip_schedule", "grid"):
        if getattr(plan, name) is not None:
            raise ValueError(f"{name} must be None with a strategy, got {getattr(plan, name)!r}")
    correlated_release(plan, 1.0)  # raises where no bound is known


def participation_in(plan: TrainingPlan) -> Participation:
    """Return in which steps of a plan a record can be."""
    if plan.cycle_length is not None:
        return CyclicPoisson(plan.sample_rate, plan.cycle_length)
    return FixedEpochs(plan.batches_per_epoch)


def correlated_release(plan: TrainingPlan, noise_multiplier: float) -> Mechanism:
    """Return what an accountant is told: of the whole run, or of one cycle of samples."""
    assert plan.strategy is not None
    run = MatrixMechanism(plan.strategy, noise_multiplier, participation_in(plan))
    if plan.cycle_length is None:
        return run
    return plan.sampler().mechanism(Gaussian(run.effective_noise_multiplier))
