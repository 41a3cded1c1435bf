"""One run of private training: what is chosen, and all that follows from it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from renyi._validation import integer_of
from renyi.accountants import Adjacency
from renyi.calibration.runs import noise_for
from renyi.matrix import Strategy
from renyi.mechanisms import Composed, Gaussian, Mechanism
from renyi.samplers.basic import (
    BatchSampler,
    FixedSizeSampler,
    Indices,
    PoissonSampler,
    ShuffledSampler,
)
from renyi.samplers.epochs import BallsInBinsSampler, FixedOrderSampler
from renyi.samplers.schemes import CyclicPoissonSampler, TruncatedPoissonSampler
from renyi.sgd._planning import (
    IN_EPOCHS,
    AccountantName,
    Sampling,
    accountant_named,
    adjacency_for,
    batch_limit_of,
    check_strategy,
    correlated_release,
    cycle_length_of,
    grid_of,
    noise_mechanism,
    noise_multiplier_of,
    row_norm,
    sampling_of,
    sizes_of,
    steps_of,
    strategy_of,
)
from renyi.sgd.grid import Grid
from renyi.sgd.rules import bound_of
from renyi.sgd.updates import Schedule, checked_schedule

__all__ = [
    "SAMPLERS",
    "Sampling",
    "StepSettings",
    "TrainingPlan",
    "check_schedules",
    "sampler_for",
    "scheduled",
]


# What of a plan may change in the course of its run.


class StepSettings(NamedTuple):
    """What holds at one step."""

    max_grad_norm: float
    noise_multiplier: float
    noise_scale: float


def scheduled(value: float, schedule: Schedule | None, step: int) -> float:
    """Return a number times that of a schedule."""
    return value if schedule is None else value * schedule.at(step)


def check_schedules(plan: TrainingPlan) -> None:
    """Refuse schedules where it is not known what they cost, and norms that are none."""
    noise, clip = plan.noise_schedule, plan.clip_schedule
    if noise is not None and plan.sampling in (*IN_EPOCHS, "cyclic_poisson"):
        raise ValueError(
            f"noise_schedule must be None with sampling {plan.sampling!r}, whose releases are of "
            f"several steps, got {noise!r}"
        )
    if (noise is not None or clip is not None) and plan.grid is not None:
        raise ValueError("noise_schedule and clip_schedule must be None on a grid, got one")
    if clip is not None:
        for value in clip.values:
            bound_of(plan.max_grad_norm * value, "max_grad_norm times clip_schedule")


# The sampler of a plan, by the name of its scheme.


SAMPLERS = (
    PoissonSampler,
    TruncatedPoissonSampler,
    CyclicPoissonSampler,
    BallsInBinsSampler,
    FixedOrderSampler,
    FixedSizeSampler,
    ShuffledSampler,
)


def sampler_for(plan: TrainingPlan, generator: Any) -> BatchSampler:
    """Return a sampler of the batches of a plan."""
    records, drawn = plan.population, {"generator": generator}
    if plan.sampling == "shuffled":
        return ShuffledSampler(records, plan.batches_per_epoch, **drawn)
    if plan.sampling == "balls_in_bins":
        return BallsInBinsSampler(records, plan.batches_per_epoch, **drawn)
    if plan.sampling == "fixed_order":
        return FixedOrderSampler(records, plan.batches_per_epoch)
    if plan.sampling == "fixed_size":
        return FixedSizeSampler(records, plan.batch_size, **drawn)
    if plan.batch_limit is not None:
        return TruncatedPoissonSampler(records, plan.sample_rate, plan.batch_limit, **drawn)
    if plan.cycle_length is not None:
        return CyclicPoissonSampler(records, plan.sample_rate, plan.cycle_length, **drawn)
    return PoissonSampler(records, plan.sample_rate, **drawn)


# One run of private training: what is chosen, and all that follows from it.


@dataclass(frozen=True, init=False)
class TrainingPlan:
    """Size of the data, sampling, clipping, noise and length of a run of DP-SGD.

    Calibration, training and reporting take the sampling rate, the number of steps and the
    mechanism from here, so they cannot disagree. All of it is public, the population too.

    Parameters
    ----------
    population : int
        Number of records, in [1, 2^53].
    batch_size : int
        Of a logical batch, in [1, population]: the expected size with "poisson" and
        "cyclic_poisson", that before it is cut with "truncated_poisson", the exact one with
        "fixed_size", the largest with "shuffled" and "fixed_order", the largest expected one with
        "balls_in_bins".
    noise_multiplier : float
        Standard deviation of the noise of the sum over ``max_grad_norm``, in [0, inf). On a grid
        sigma of the discrete noise over the norm that a row may have there, in (0, inf). With a
        strategy that of the independent noise z behind it, see `renyi.MatrixMechanism`.
    steps : int, optional
        Number of logical batches, in [1, 10^9].
    epochs : float, optional
        Instead of ``steps``: passes over the data, rounded up to whole batches. With "shuffled" and
        "balls_in_bins" and "fixed_order" an integer.
    sampling : str
        How batches are drawn: "poisson" by `PoissonSampler`, "truncated_poisson" by
        `TruncatedPoissonSampler`, "cyclic_poisson" by `CyclicPoissonSampler`, "balls_in_bins" by
        `BallsInBinsSampler`, "fixed_size" by `FixedSizeSampler` without replacement, "shuffled" by
        `ShuffledSampler`, "fixed_order" by `FixedOrderSampler`. No scheme is accounted as another.
    batch_limit : int, optional
        With "truncated_poisson", and only then: the largest batch, at least 1. With "add_remove"
        ``population`` then is that of the larger of both neighbours.
    cycle_length : int, optional
        With "cyclic_poisson", and only then: the number of groups that have their turn one after
        the other, at most ``population / batch_size``.
    max_grad_norm : float
        The bound on the norm of a clipped row, in [2^-96, 2^96].
    accumulation : int
        Parts a logical batch is computed in, at least 1. Noise is added once to a logical batch:
        neither the sampling rate nor the number of steps depends on it.
    adjacency : {"add_remove", "replace_one", "zero_out"}
        Which data sets are neighbours: with "fixed_size" only "replace_one", with "shuffled" and
        "fixed_order" not "add_remove", with "poisson" on a grid not "replace_one".
    grid_spacing : float, optional
        Of a `Grid`, at least 2^-32 of ``max_grad_norm`` and at most ``2 max_grad_norm /
        sqrt(dimension)``: every clipped row is rounded to it, sums are integers, the noise is
        `MultivariateDiscreteGaussian`. Far below that it costs next to no accuracy.
    dimension : int, optional
        With a grid: the number of entries of all parameters, at least 1.
    noise_schedule : Schedule, optional
        What ``noise_multiplier`` is multiplied with at each step, positive: `calibrated` finds the
        number that the schedule is of. Each step is recorded with its own noise. Not on a grid, nor
        with "shuffled", "fixed_order" or "cyclic_poisson".
    clip_schedule : Schedule, optional
        What ``max_grad_norm`` is multiplied with at each step, positive. The noise is relative to
        the norm of its step, and costs the same. Not on a grid.
    strategy : renyi.matrix.Strategy, optional
        Of correlated noise, for as many steps as the run, with "fixed_order", or with
        "cyclic_poisson" and at most ``cycle_length`` bands. `DPSGD` then needs the sampler of the
        plan, and ends with its steps. Without schedules and grid.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or not exactly one of ``steps`` and ``epochs`` is given.

    Examples
    --------
    >>> plan = TrainingPlan(60_000, 600, noise_multiplier=1.1, epochs=10, accumulation=4)
    >>> plan.sample_rate, plan.steps, plan.micro_batch_size
    (0.01, 1000, 150)
    >>> round(plan.get_epsilon(1e-5), 4)
    1.5154
    >>> plan = TrainingPlan.calibrated(1.0, 1e-5, population=60_000, batch_size=600, epochs=10)
    >>> round(plan.noise_multiplier, 4), plan.get_epsilon(1e-5) <= 1.0
    (1.4147, True)
    >>> safe = TrainingPlan(
    ...     60_000, 600, noise_multiplier=1.1, epochs=10, grid_spacing=2.0**-20, dimension=7850
    ... )
    >>> round(safe.get_epsilon(1e-5), 4), round(safe.noise_scale, 4)
    (1.7247, 1.1)
    """

    population: int
    batch_size: int
    noise_multiplier: float
    steps: int
    sampling: Sampling
    batch_limit: int | None
    cycle_length: int | None
    max_grad_norm: float
    accumulation: int
    adjacency: Adjacency
    grid_spacing: float | None
    dimension: int | None
    noise_schedule: Schedule | None
    clip_schedule: Schedule | None
    strategy: Strategy | None

    def __init__(
        self,
        population: int,
        batch_size: int,
        *,
        noise_multiplier: float,
        steps: int | None = None,
        epochs: float | None = None,
        sampling: Sampling = "poisson",
        batch_limit: int | None = None,
        cycle_length: int | None = None,
        max_grad_norm: float = 1.0,
        accumulation: int = 1,
        adjacency: Adjacency = "add_remove",
        grid_spacing: float | None = None,
        dimension: int | None = None,
        noise_schedule: Schedule | None = None,
        clip_schedule: Schedule | None = None,
        strategy: Strategy | None = None,
    ) -> None:
        records, size = sizes_of(population, batch_size)
        scheme = sampling_of(sampling)
        bound = bound_of(max_grad_norm)
        spacing, entries = grid_of(grid_spacing, dimension, bound)
        values = {
            "population": records,
            "batch_size": size,
            "noise_multiplier": noise_multiplier_of(noise_multiplier, spacing is not None),
            "sampling": scheme,
            "batch_limit": batch_limit_of(batch_limit, scheme, records),
            "cycle_length": cycle_length_of(cycle_length, scheme, records, size),
            "max_grad_norm": bound,
            "accumulation": integer_of(accumulation, "accumulation", 1),
            "adjacency": adjacency_for(adjacency, scheme, spacing is not None),
            "grid_spacing": spacing,
            "dimension": entries,
            "noise_schedule": checked_schedule(noise_schedule, "noise_schedule", positive=True),
            "clip_schedule": checked_schedule(clip_schedule, "clip_schedule", positive=True),
            "strategy": strategy_of(strategy),
        }
        values["steps"] = steps_of(steps, epochs, records, size, scheme)
        for name, value in values.items():
            object.__setattr__(self, name, value)
        check_schedules(self)
        check_strategy(self)
        self.sampler()  # refuses what samplers do not take

    @classmethod
    def calibrated(
        cls,
        target_epsilon: float,
        target_delta: float,
        *,
        accountant: AccountantName | None = None,
        tolerance: float = 1e-4,
        **settings: Any,
    ) -> TrainingPlan:
        """Return the plan with the smallest noise multiplier for which the run meets a target.

        Parameters
        ----------
        target_epsilon, target_delta : float
            In (0, inf) and (0, 1).
        accountant : {"pld", "rdp"}, optional
            `renyi.PLDAccountant` (exact; seconds for "fixed_size"), or `renyi.RDPAccountant`, the
            only one that takes the noise on a grid. By default the first that does.
        tolerance : float
            Relative, in [1e-12, 0.1]: with a noise smaller by that the target is missed.
        **settings
            Of the plan, all but ``noise_multiplier``.

        Raises
        ------
        TypeError, ValueError
            If an argument is not permitted, or no noise multiplier up to 1e8 meets the target.
        """
        if "noise_multiplier" in settings:
            raise TypeError("noise_multiplier must be left out: it is what calibration finds")

        def plan(noise: float) -> TrainingPlan:
            return cls(noise_multiplier=noise, **settings)

        first = plan(1.0)
        make = accountant_named(accountant, first.grid is not None)
        noise = noise_for(
            target_epsilon,
            target_delta,
            *first._rate_and_uses,
            lambda z: make(adjacency=first.adjacency).compose(plan(z).mechanism),
            tolerance,
        )
        return plan(noise)

    @property
    def grid(self) -> Grid | None:
        """What clipped rows are rounded to."""
        return None if self.grid_spacing is None else Grid(self.grid_spacing)

    @property
    def sample_rate(self) -> float:
        """The probability that a record is in a batch.

        With "cyclic_poisson" when it has its turn, with "truncated_poisson" before the cut.

        Raises
        ------
        ValueError
            With "shuffled", "balls_in_bins" and "fixed_order": a record is in one batch of each
            epoch, and no rate describes that.
        """
        if self.in_epochs:
            raise ValueError(
                f"sampling must not be {self.sampling!r} for there to be a sample_rate, got "
                f"{self.sampling!r}"
            )
        return self.batch_size * (self.cycle_length or 1) / self.population

    @property
    def _rate_and_uses(self) -> tuple[float, int]:
        """Poisson samples that reveal about as much."""
        if self.sampling == "balls_in_bins":
            return 1.0 / self.batches_per_epoch, self.steps
        return 1.0 if self.in_epochs else self.sample_rate, self.releases

    @property
    def in_epochs(self) -> bool:
        """Whether a record is in one batch of each epoch."""
        return self.sampling in IN_EPOCHS

    @property
    def batches_per_epoch(self) -> int:
        """Batches that hold every record once, rounded up."""
        return -(-self.population // self.batch_size)

    @property
    def steps_per_release(self) -> int:
        """Batches that `step_mechanism` stands for: 1, those of an epoch, a cycle or the run."""
        if self.sampling == "fixed_order":
            return self.steps
        return self.batches_per_epoch if self.in_epochs else self.cycle_length or 1

    @property
    def releases(self) -> int:
        """How often the run uses `step_mechanism`: its steps, epochs or cycles begun, or once."""
        return -(-self.steps // self.steps_per_release)

    @property
    def expected_batch_size(self) -> float:
        """The public number that noisy sums are divided by."""
        if self.in_epochs:
            return self.population / self.batches_per_epoch
        return float(self.batch_size)

    @property
    def largest_batch(self) -> int:
        """The most records that a batch can hold."""
        if self.in_epochs and self.sampling != "balls_in_bins":
            return math.ceil(self.expected_batch_size)
        if self.sampling == "fixed_size":
            return self.batch_size
        return self.batch_limit or self.population

    @property
    def micro_batch_size(self) -> int:
        """Records to a part of a batch of ``batch_size``, rounded up."""
        return -(-self.batch_size // self.accumulation)

    @property
    def noise_scale(self) -> float:
        """The standard deviation of the noise of the first sum, on a grid its sigma; rounded up."""
        return self.at(1).noise_scale

    def at(self, step: int) -> StepSettings:
        """Return what holds at a step, counted from 1."""
        noise = scheduled(self.noise_multiplier, self.noise_schedule, step)
        bound = scheduled(self.max_grad_norm, self.clip_schedule, step)
        norm = row_norm(bound, self.grid_spacing, self.dimension)
        scale = math.nextafter(noise * norm, math.inf) if noise else noise
        return StepSettings(bound, noise, scale)

    @property
    def step_mechanism(self) -> Mechanism:
        """What an accountant is told of the first step, of an epoch or of a cycle."""
        return self.release(1)

    @property
    def mechanism(self) -> Mechanism:
        """What an accountant is told of the whole run."""
        parts = self.releases_after(0, self.releases)
        if len(parts) == 1 and parts[0][1] == 1:
            return parts[0][0]
        return Composed(*parts)

    def release(self, step: int) -> Mechanism:
        """Return what an accountant is told of a step, or of the epoch, cycle or run it is in."""
        noise = self.at(step).noise_multiplier
        if self.strategy is not None:
            return correlated_release(self, noise)
        if self.sampling == "fixed_order":
            return self.sampler().mechanism(Gaussian(noise), self.steps)
        base = noise_mechanism(noise, self.grid_spacing is not None)
        return self.sampler().mechanism(base)

    def releases_after(self, done: int, count: int) -> list[tuple[Mechanism, int]]:
        """Return the mechanisms of ``count`` releases after so many steps, and how often each."""
        if self.noise_schedule is None:
            return [(self.step_mechanism, count)]
        starts = self.noise_schedule.starts
        pieces = self.noise_schedule.counts(done, count)
        return [(self.release(starts[piece]), times) for piece, times in pieces]

    def get_epsilon(self, delta: float, *, accountant: AccountantName | None = None) -> float:
        """Return an epsilon such that the whole run is (epsilon, delta)-DP.

        Parameters
        ----------
        delta : float
            In [0, 1].
        accountant : {"pld", "rdp"}, optional
            As for `calibrated`.
        """
        kind = accountant_named(accountant, self.grid is not None)
        return kind(adjacency=self.adjacency).compose(self.mechanism).get_epsilon(delta)

    def sampler(self, *, generator: Any = None) -> BatchSampler:
        """Return a sampler that draws the batches of this run, ``steps`` of them."""
        sampler = sampler_for(self, generator)
        sampler.steps = self.steps
        return sampler

    def micro_batches(self, batch: Indices) -> Iterator[Indices]:
        """Cut a batch of indices into ``accumulation`` parts, of which some may be empty."""
        yield from np.array_split(batch, self.accumulation)
