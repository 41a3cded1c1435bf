"""One run of private training: the settings, and all that follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, InitVar, dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from renyi import matrix, mechanisms
from renyi._adjacency import ADJACENCIES, LARGEST_COUNT, Adjacency, adjacency_of, one_of
from renyi._validation import (
    FINITE_NON_NEGATIVE,
    FINITE_POSITIVE,
    integer_of,
    number_in,
    set_fields,
    uses_of,
)
from renyi.accountants import PLDAccountant, RDPAccountant
from renyi.calibration.runs import AccountantName, noise_for
from renyi.mechanisms.participation import Participation
from renyi.samplers import basic
from renyi.samplers.epochs import (
    BallsInBinsSampler,
    FixedOrderSampler,
    MinSeparationSampler,
    ShuffledSampler,
)
from renyi.sgd.grid import Grid, check_spacing, spacing_of
from renyi.sgd.rules import bound_of
from renyi.sgd.updates import Schedule, checked_schedule

Sampling = Literal[
    "poisson",
    "truncated_poisson",
    "cyclic_poisson",
    "balls_in_bins",
    "fixed_size",
    "shuffled",
    "fixed_order",
    "min_separation",
]
Unit = Literal["record", "user"]
IN_EPOCHS: tuple[Sampling, ...] = ("balls_in_bins", "shuffled", "fixed_order")
"""Schemes in which every record is in one batch of each epoch."""
_KNOWN: tuple[Sampling, ...] = ("fixed_order", "min_separation")
"""Schemes whose batches may be known, which are accounted as a whole run."""
_ACCOUNTANTS: dict[AccountantName, type[PLDAccountant] | type[RDPAccountant]] = {
    "pld": PLDAccountant,
    "rdp": RDPAccountant,
}
_REPLACED: tuple[Adjacency, ...] = ("replace_one", "zero_out")
_SCHEMES: dict[Sampling, tuple[type[Any], tuple[Adjacency, ...]]] = {
    "poisson": (basic.PoissonSampler, ADJACENCIES),
    "truncated_poisson": (basic.PoissonSampler, ADJACENCIES),
    "cyclic_poisson": (basic.PoissonSampler, ADJACENCIES),
    "balls_in_bins": (BallsInBinsSampler, ADJACENCIES),
    "fixed_size": (basic.FixedSizeSampler, ("replace_one",)),
    "shuffled": (ShuffledSampler, _REPLACED),
    "fixed_order": (FixedOrderSampler, _REPLACED),
    "min_separation": (MinSeparationSampler, _REPLACED),
}
"""The sampler of each scheme, and the neighbouring relations that it has a guarantee for."""
SAMPLERS = tuple(sampler for sampler, _ in _SCHEMES.values())


def _only_with(
    scheme: Sampling, value: Any, name: str, sampling: Sampling, also: Sampling | None = None
) -> int | None:
    """Return an integer that one scheme needs, another one takes, and all others refuse."""
    if (value is None) == (sampling == scheme) and (value is None or sampling != also):
        raise ValueError(
            f"{name} must be given with sampling {scheme!r} only, got {value!r} with {sampling!r}"
        )
    return None if value is None else integer_of(value, name, 1)


def _adjacency_for(value: Any, sampling: Sampling, discrete: bool, *, cut: bool) -> Adjacency:
    """Return a neighbouring relation for which the scheme, with its noise, has a guarantee."""
    adjacency = adjacency_of(value)
    known = _REPLACED if cut else _SCHEMES[sampling][1]
    if adjacency not in known:
        allowed = " or ".join(map(repr, known))
        raise ValueError(f"adjacency must be {allowed} with sampling {sampling!r}, got {value!r}")
    if discrete and (cut or sampling in ("truncated_poisson", "balls_in_bins", *_KNOWN)):
        raise ValueError(f"grid_spacing must be None with sampling {sampling!r}, got a grid")
    if discrete and sampling.endswith("poisson") and adjacency == "replace_one":
        raise ValueError(
            f"adjacency must be 'add_remove' or 'zero_out' with sampling {sampling!r} on a grid, "
            "got 'replace_one': that goes with sampling 'fixed_size' or 'shuffled'"
        )
    return adjacency


def accountant_named(name: Any, discrete: bool) -> type[PLDAccountant] | type[RDPAccountant]:
    """Return an accountant class by its name; by default the tightest that takes the noise."""
    if name is None:
        return RDPAccountant if discrete else PLDAccountant
    return _ACCOUNTANTS[one_of(name, "accountant", _ACCOUNTANTS)]


def _steps_of(steps: Any, epochs: Any, population: int, size: int, sampling: str) -> int:
    if (steps is None) == (epochs is None):
        raise TypeError(
            f"exactly one of steps and epochs must be given, got steps={steps!r}, epochs={epochs!r}"
        )
    if steps is not None:
        return uses_of(steps, "steps", 1)
    if sampling in IN_EPOCHS:
        found = integer_of(epochs, "epochs", 1) * -(-population // size)
    else:
        number = number_in(epochs, "epochs", FINITE_POSITIVE)
        found = math.ceil(Fraction(number) * population / size)
    if found > LARGEST_COUNT:
        raise ValueError(f"epochs must make at most 10^9 steps, got {epochs!r}")
    return found


def _grid_of(spacing: Any, dimension: Any, bound: float) -> tuple[float | None, int | None]:
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
    most = math.ldexp(0.5, math.frexp(2.0 * bound / math.sqrt(entries))[1])
    if number > most:  # rounding may lengthen a row by more than the clipping norm
        raise ValueError(
            f"grid_spacing must be at most {most!r} for rows of {entries} entries clipped at "
            f"{bound!r}, got {number!r}: rounding would outweigh them"
        )
    return number, entries


def _check_strategy(plan: TrainingPlan) -> None:
    """Refuse a strategy of correlated noise unless the steps of a record are known to be apart."""
    strategy = plan.strategy
    if strategy is None:
        return
    kind: Any = type(strategy)
    if not issubclass(kind, matrix.Strategy) or getattr(matrix, kind.__name__, None) is not kind:
        raise TypeError(
            f"strategy must be one of renyi.matrix, of no class of its own, got {strategy!r}"
        )
    if plan.sampling not in (schemes := ("cyclic_poisson", "balls_in_bins", *_KNOWN)):
        raise ValueError(
            f"sampling must be one of {schemes} with a strategy, for the steps of a record have to "
            f"be apart, got {plan.sampling!r}"
        )
    if strategy.steps != plan.steps:
        raise ValueError(
            f"strategy must be of {plan.steps} steps, those of the plan, got {strategy!r}"
        )
    for name in ("noise_schedule", "clip_schedule", "grid"):
        if getattr(plan, name) is not None:
            raise ValueError(f"{name} must be None with a strategy, got {getattr(plan, name)!r}")
    _correlated_release(plan, 1.0)  # raises where no bound is known


def participation_in(plan: TrainingPlan) -> Participation:
    """Return the steps of a plan in which a record can take part."""
    if plan.cycle_length is not None:
        limit, group = plan.batch_limit, plan.population // plan.cycle_length
        size = None if limit is None else group
        return matrix.CyclicPoisson(plan.sample_rate, plan.cycle_length, limit, size)
    if plan.separation is not None:
        return matrix.MinSeparation(plan.separation, plan.participations)
    if plan.sampling == "balls_in_bins":
        return matrix.BallsInBins(plan.batches_per_epoch)
    return matrix.FixedEpochs(plan.batches_per_epoch)


ROUNDING_NOISE = 300.0  # over that of bins that are known, of the release of rounding errors


def _correlated_release(plan: TrainingPlan, noise_multiplier: float) -> mechanisms.Mechanism:
    """Return the mechanism of the whole run, or of one cycle of samples.

    Where bins are random, rounding errors are accounted as a release of their own: larger noise
    does not cover them where bins share nothing.
    """
    assert plan.strategy is not None
    run = mechanisms.MatrixMechanism(plan.strategy, noise_multiplier, participation_in(plan))
    if plan.sampling == "balls_in_bins":
        return run + mechanisms.Gaussian(ROUNDING_NOISE * run.effective_noise_multiplier)
    if plan.cycle_length is None:
        return run
    return plan.sampler().mechanism(mechanisms.Gaussian(run.effective_noise_multiplier))


def _check_users(plan: TrainingPlan) -> None:
    """Refuse users with several records where no pair is known, and records of no user."""
    most = plan.records_per_user
    if most is None:
        return
    if plan.unit != "user":
        raise ValueError(f"records_per_user must be None with unit 'record', got {most!r}")
    if plan.sampling != "poisson" or plan.grid is not None:
        raise ValueError(
            "records_per_user must be None but with sampling 'poisson' without a grid, "
            f"got {most!r}: no pair is known"
        )


class StepSettings(NamedTuple):
    """The clipping norm and the noise of one step."""

    max_grad_norm: float
    noise_multiplier: float
    noise_scale: float


def _check_schedules(plan: TrainingPlan) -> None:
    """Refuse schedules whose cost is not known, and clipping norms out of range."""
    noise, clip = plan.noise_schedule, plan.clip_schedule
    if noise is not None and plan.sampling in (*IN_EPOCHS, "cyclic_poisson", "min_separation"):
        raise ValueError(
            f"noise_schedule must be None with sampling {plan.sampling!r}, whose releases are of "
            f"several steps, got {noise!r}"
        )
    if (noise is not None or clip is not None) and plan.grid is not None:
        raise ValueError("noise_schedule and clip_schedule must be None on a grid, got one")
    if clip is not None:
        for value in clip.values:
            bound_of(plan.max_grad_norm * value, "max_grad_norm times clip_schedule")


@dataclass(frozen=True)
class TrainingPlan:
    """Size of the data, sampling, clipping, noise and length of a run of DP-SGD.

    Calibration, training and reporting take the sampling rate, the number of steps and the
    mechanism from here, so they cannot disagree. All of it is public, the population too.

    Args:
        population: Number of records, in [1, 2^53].
        batch_size: Size of a logical batch, in [1, population]: the expected size with "poisson"
            and "cyclic_poisson", before the cut where there is a limit, the exact one with
            "fixed_size", the largest with "shuffled", "fixed_order" and "min_separation", the
            largest expected one with "balls_in_bins".
        noise_multiplier: Standard deviation of the noise of the sum over ``max_grad_norm``, in [0,
            inf). On a grid it is sigma of the discrete noise over the largest norm of a rounded
            row, in (0, inf). With a strategy it is the multiplier of the independent noise z, see
            `renyi.MatrixMechanism`.
        steps: Number of logical batches, in [1, 10^9].
        epochs: Passes over the data, instead of ``steps``, which follow from them, rounded up to
            whole batches. With "shuffled", "balls_in_bins" and "fixed_order" an integer.
        sampling: How batches are drawn: "poisson", "truncated_poisson" and "cyclic_poisson" by
            `PoissonSampler`, "balls_in_bins" by `BallsInBinsSampler`, "fixed_size" by
            `FixedSizeSampler` without replacement, "shuffled" by `ShuffledSampler`, "fixed_order"
            by `FixedOrderSampler`, "min_separation" by `MinSeparationSampler`. No scheme is
            accounted as another.
        batch_limit: The largest batch, at least 1; needed with "truncated_poisson". With
            "add_remove" ``population`` then is that of the larger of both neighbours.
            "cyclic_poisson" takes a limit, too; then its groups are equal parts, and its
            ``adjacency`` is not "add_remove".
        cycle_length: Only with "cyclic_poisson", which needs it: the number of groups, which are
            sampled in turn, at most ``population / batch_size``.
        separation: Only with "min_separation", which needs it: the least distance between steps of
            a record, at most ``population / batch_size``.
        participations: With "min_separation": the largest number of batches that a record is in; by
            default any number.
        max_grad_norm: The bound on the norm of a clipped row, in [2^-96, 2^96].
        accumulation: Number of parts of a logical batch, at least 1. Noise is added once to a
            logical batch, so neither the sampling rate nor the number of steps depends on it.
        adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours:
            "fixed_size" takes only "replace_one"; "shuffled", "fixed_order" and "min_separation" do
            not take "add_remove", and "poisson" on a grid does not take "replace_one".
        grid_spacing: Spacing of a `Grid`, at least 2^-32 of ``max_grad_norm`` and at most ``2
            max_grad_norm / sqrt(dimension)``: every clipped row is rounded to it, sums are
            integers, the noise is `MultivariateDiscreteGaussian`. A spacing far below that costs
            next to no accuracy.
        dimension: With a grid: the number of entries of all parameters, at least 1.
        noise_schedule: Positive factors of ``noise_multiplier`` by step; `calibrated` finds the
            multiplier. Each step is recorded with its own noise. Not on a grid, and only with
            "poisson", "truncated_poisson" and "fixed_size".
        clip_schedule: Positive factors of ``max_grad_norm`` by step. The noise is relative to the
            norm of its step, so the cost does not change. Not on a grid.
        unit ({"record", "user"}): The unit by which neighbours differ. With "user" and without
            ``records_per_user`` all sizes are numbers of users, whose contributions are clipped as
            one: see `renyi.samplers.UserRows`.
        records_per_user: With "user": the most records of a user, in [1, 1000]. All sizes are then
            numbers of records, which are sampled and clipped one by one: see
            `renyi.samplers.bound_contributions`. It needs "poisson" without a grid.
        strategy: The strategy of correlated noise, with as many steps as the run. It needs
            "fixed_order", "min_separation", "balls_in_bins", whose bins are then kept for all
            epochs, or "cyclic_poisson" and at most ``cycle_length`` bands, and excludes schedules
            and a grid. `DPSGD` then needs the sampler of the plan and ends with its steps.

    Raises:
        ValueError: If not exactly one of ``steps`` and ``epochs`` is given.

    >>> plan = TrainingPlan(60_000, 600, noise_multiplier=1.1, epochs=10, accumulation=4)
    >>> plan.sample_rate, plan.steps, plan.micro_batch_size
    (0.01, 1000, 150)
    >>> round(plan.get_epsilon(1e-5), 4)
    1.5154
    >>> plan = TrainingPlan.calibrated(1.0, 1e-5, population=60_000, batch_size=600, epochs=10)
    >>> round(plan.noise_multiplier, 4), plan.get_epsilon(1e-5) <= 1.0
    (1.4147, True)
    """

    population: int
    batch_size: int
    _: KW_ONLY
    noise_multiplier: float
    steps: int = None  # type: ignore[assignment]  # it follows from epochs
    epochs: InitVar[float | None] = None
    sampling: Sampling = "poisson"
    batch_limit: int | None = None
    cycle_length: int | None = None
    separation: int | None = None
    participations: int | None = None
    max_grad_norm: float = 1.0
    accumulation: int = 1
    adjacency: Adjacency = "add_remove"
    grid_spacing: float | None = None
    dimension: int | None = None
    noise_schedule: Schedule | None = None
    clip_schedule: Schedule | None = None
    strategy: matrix.Strategy | None = None
    unit: Unit = "record"
    records_per_user: int | None = None

    def __post_init__(self, epochs: float | None) -> None:
        size = integer_of(self.batch_size, "batch_size", 1)
        records = integer_of(self.population, "population", 1)
        if size > records:
            raise ValueError(
                f"batch_size must be an integer in [1, {records}], the population, got {size!r}"
            )
        scheme = one_of(self.sampling, "sampling", _SCHEMES)
        bound = bound_of(self.max_grad_norm)
        spacing, entries = _grid_of(self.grid_spacing, self.dimension, bound)
        limit = _only_with(
            "truncated_poisson", self.batch_limit, "batch_limit", scheme, also="cyclic_poisson"
        )
        cycle = _only_with("cyclic_poisson", self.cycle_length, "cycle_length", scheme)
        if cycle is not None and cycle * size > records:
            raise ValueError(
                f"cycle_length must be such that groups of the population, {records}, hold a "
                f"batch, {size}, got {cycle!r}"
            )
        apart = _only_with("min_separation", self.separation, "separation", scheme)
        if self.participations is not None and apart is None:
            raise ValueError(
                "participations must be given with sampling 'min_separation' only, "
                f"got {self.participations!r} with {scheme!r}"
            )
        noise_range = FINITE_NON_NEGATIVE if spacing is None else FINITE_POSITIVE
        most, cut = self.records_per_user, cycle is not None and limit is not None
        set_fields(
            self,
            population=records,
            batch_size=size,
            noise_multiplier=number_in(self.noise_multiplier, "noise_multiplier", noise_range),
            steps=_steps_of(self.steps, epochs, records, size, scheme),
            batch_limit=None if limit is None else min(limit, records),
            cycle_length=cycle,
            separation=apart,
            max_grad_norm=bound,
            accumulation=integer_of(self.accumulation, "accumulation", 1),
            adjacency=_adjacency_for(self.adjacency, scheme, spacing is not None, cut=cut),
            grid_spacing=spacing,
            dimension=entries,
            unit=one_of(self.unit, "unit", ("record", "user")),
            records_per_user=None if most is None else uses_of(most, "records_per_user", 1, 1000),
        )
        for name in ("noise_schedule", "clip_schedule"):
            schedule = checked_schedule(getattr(self, name), name, positive=True)
            set_fields(self, **{name: schedule})
        _check_schedules(self)
        _check_strategy(self)
        _check_users(self)
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

        Args:
            target_epsilon, target_delta: In (0, inf) and (0, 1).
            accountant ({"pld", "rdp"}): `renyi.PLDAccountant` (exact; seconds for "fixed_size"), or
                `renyi.RDPAccountant`, the only one that takes the noise on a grid. By default the
                first that does.
            tolerance: Relative tolerance, in [1e-12, 0.1]: noise smaller by this factor misses the
                target.
            **settings: Arguments of the plan, all but ``noise_multiplier``.

        Raises:
            ValueError: If no noise multiplier up to 1e8 meets the target.
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
        """The grid that clipped rows are rounded to."""
        return None if self.grid_spacing is None else Grid(self.grid_spacing)

    @property
    def sample_rate(self) -> float:
        """The probability that a record is in a batch.

        With "cyclic_poisson" it is that in the turn of the record's group, with "truncated_poisson"
        that before the cut.

        Raises:
            ValueError: With "shuffled", "balls_in_bins", "fixed_order" and "min_separation", which
                no rate describes.
        """
        if self.in_epochs or self.sampling == "min_separation":
            raise ValueError(
                f"sampling must not be {self.sampling!r} for there to be a sample_rate, got "
                f"{self.sampling!r}"
            )
        return self.batch_size * (self.cycle_length or 1) / self.population

    @property
    def _rate_and_uses(self) -> tuple[float, int]:
        """A sampling rate and a number of Poisson samples of about the same cost."""
        if self.sampling == "balls_in_bins":
            return 1.0 / self.batches_per_epoch, self.steps
        whole = self.in_epochs or self.sampling == "min_separation"
        return 1.0 if whole else self.sample_rate, self.releases

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
        """Batches that `step_mechanism` covers: 1, or those of an epoch, a cycle or the run."""
        if self.sampling in _KNOWN or (self.in_epochs and self.strategy is not None):
            return self.steps
        return self.batches_per_epoch if self.in_epochs else self.cycle_length or 1

    @property
    def releases(self) -> int:
        """The number of uses of `step_mechanism`: steps, epochs or cycles begun, or one."""
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
        if self.sampling in ("fixed_size", "min_separation"):
            return self.batch_size
        return self.batch_limit or self.population

    @property
    def micro_batch_size(self) -> int:
        """Records to a part of a batch of ``batch_size``, rounded up."""
        return -(-self.batch_size // self.accumulation)

    @property
    def noise_scale(self) -> float:
        """The standard deviation (sigma on a grid) of the noise of the first sum, rounded up."""
        return self.at(1).noise_scale

    def at(self, step: int) -> StepSettings:
        """Return the settings of a step, counted from 1."""
        noise, bound = self.noise_multiplier, self.max_grad_norm
        if self.noise_schedule is not None:
            noise *= self.noise_schedule.at(step)
        if self.clip_schedule is not None:
            bound *= self.clip_schedule.at(step)
        grid, entries = self.grid, self.dimension
        norm = bound if grid is None or entries is None else grid.sensitivity(bound, entries)
        scale = math.nextafter(noise * norm, math.inf) if noise else noise
        return StepSettings(bound, noise, scale)

    @property
    def step_mechanism(self) -> mechanisms.Mechanism:
        """The mechanism of the first step, epoch or cycle, for an accountant."""
        return self.release(1)

    @property
    def mechanism(self) -> mechanisms.Mechanism:
        """The mechanism of the whole run, for an accountant."""
        parts = self.releases_after(0, self.releases)
        if len(parts) == 1 and parts[0][1] == 1:
            return parts[0][0]
        return mechanisms.Composed(*parts)

    def release(self, step: int) -> mechanisms.Mechanism:
        """Return the mechanism of a step, or of the epoch, cycle or run that it is part of."""
        noise = self.at(step).noise_multiplier
        if self.strategy is not None:
            return _correlated_release(self, noise)
        if self.sampling in _KNOWN:
            return self.sampler().mechanism(mechanisms.Gaussian(noise), self.steps)
        base = mechanisms.Gaussian if self.grid is None else mechanisms.MultivariateDiscreteGaussian
        record = self.sampler().mechanism(base(noise))
        if self.records_per_user is None:
            return record
        return mechanisms.GroupSampled(
            mechanisms.Gaussian(noise), self.sample_rate, self.records_per_user
        )

    def releases_after(self, done: int, count: int) -> list[tuple[mechanisms.Mechanism, int]]:
        """Return the mechanisms of ``count`` releases after so many steps, and how often each."""
        if self.noise_schedule is None:
            return [(self.step_mechanism, count)]
        starts = self.noise_schedule.starts
        pieces = self.noise_schedule.counts(done, count)
        return [(self.release(starts[piece]), times) for piece, times in pieces]

    def get_epsilon(self, delta: float, *, accountant: AccountantName | None = None) -> float:
        """Return an epsilon such that the whole run is (epsilon, delta)-DP.

        Args:
            delta: In [0, 1].
            accountant ({"pld", "rdp"}): As for `calibrated`.
        """
        kind = accountant_named(accountant, self.grid is not None)
        return kind(adjacency=self.adjacency).compose(self.mechanism).get_epsilon(delta)

    def sampler(self, *, generator: Any = None) -> basic.BatchSampler:
        """Return a sampler that draws the batches of this run, ``steps`` of them."""
        kind, _ = _SCHEMES[self.sampling]
        drawn: dict[str, Any] = {"generator": generator}
        if self.in_epochs:
            settings: list[Any] = [self.batches_per_epoch]
            if self.sampling == "balls_in_bins":
                drawn["kept"] = self.strategy is not None
            elif self.sampling == "fixed_order":
                drawn.clear()
        elif self.sampling == "fixed_size":
            settings = [self.batch_size]
        elif self.sampling == "min_separation":
            settings = [self.batch_size, self.separation]
            drawn["participations"] = self.participations
        else:
            settings = [self.sample_rate]
            drawn |= {"batch_limit": self.batch_limit, "cycle_length": self.cycle_length}
        sampler: basic.BatchSampler = kind(self.population, *settings, **drawn)
        sampler.steps = self.steps
        return sampler

    def micro_batches(self, batch: basic.Indices) -> Iterator[basic.Indices]:
        """Cut a batch of indices into ``accumulation`` parts, of which some may be empty."""
        yield from np.array_split(batch, self.accumulation)


class UserSampling(NamedTuple):
    """Plans for one budget and equal work, and the noise of their mean gradients.

    Attributes:
        by_record, by_user: Records are drawn and clipped one by one; users are drawn, and each is
            clipped as one.
        record_noise, user_noise: Standard deviations of the noise of a coordinate of the mean
            gradient over the clipping norm, which is that of a record or that of the mean gradient
            of a user.
    """

    by_record: TrainingPlan
    by_user: TrainingPlan
    record_noise: float
    user_noise: float

    @property
    def recommended(self) -> Unit:
        """The unit to draw: that with less noise at equal clipping norms.

        Mean gradients of users are shorter than those of records, up to the root of the number of
        records where these differ at random: with a clipping norm smaller by a factor, users are
        better up to a ``user_noise`` larger by this factor.
        """
        return "record" if self.record_noise <= self.user_noise else "user"


def compare_user_sampling(
    users: int,
    records_per_user: int,
    batch_size: int,
    *,
    target_epsilon: float,
    target_delta: float,
    records_drawn: int | None = None,
    **settings: Any,
) -> UserSampling:
    """Return both ways to train with users as the unit, calibrated to one budget.

    Args:
        users: Number of users.
        records_per_user: The most records of a user, in [1, 1000].
        batch_size: Average number of record gradients that a step computes, equal for both ways.
        target_epsilon, target_delta: The target for all records of a user together.
        records_drawn: Number of records that a drawn user contributes; by default all. It divides
            ``batch_size``.
        **settings: Of `TrainingPlan`: ``steps`` or, for passes over the records, ``epochs`` where
            users contribute all; ``max_grad_norm``, ``adjacency``, ``accountant``.

    Raises:
        ValueError: If no noise meets the target.

    Source: Charles and others 2024, arXiv 2407.07737, for both ways and their comparison.

    >>> both = compare_user_sampling(
    ...     10_000, 2, 400, target_epsilon=1.0, target_delta=1e-6, steps=100, accountant="rdp"
    ... )
    >>> round(both.record_noise * 400, 2), round(both.user_noise * 400, 2), both.recommended
    (2.17, 2.83, 'record')
    """
    people = integer_of(users, "users", 1)
    most = integer_of(records_per_user, "records_per_user", 1)
    size = integer_of(batch_size, "batch_size", 1)
    drawn = most if records_drawn is None else integer_of(records_drawn, "records_drawn", 1)
    if drawn > most or size % drawn:
        raise ValueError(
            f"records_drawn must be at most records_per_user, {most}, and divide batch_size, "
            f"{size}, got {drawn}"
        )
    target, settings = (target_epsilon, target_delta), {**settings, "unit": "user"}
    by_user = TrainingPlan.calibrated(
        *target, population=people, batch_size=size // drawn, **settings
    )
    settings |= {"population": people * most, "batch_size": size, "records_per_user": most}
    by_record = TrainingPlan.calibrated(*target, **settings)
    return UserSampling(
        by_record,
        by_user,
        by_record.noise_multiplier / size,
        by_user.noise_multiplier * drawn / size,
    )
