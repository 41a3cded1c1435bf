"""Samples of the data: by coins, cut to a limit, of fixed size.

Sampling is a node of its own: the mechanism inside runs on the sample. Each scheme has its own
pair; none is accounted as another scheme.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from renyi._adjacency import Adjacency, DirectionName
from renyi._engine import Pair, RenyiCurve
from renyi._rounding import exact_exp_above, exact_log_above
from renyi._validation import (
    PROBABILITY,
    integer_of,
    set_fields,
    set_integers,
    set_numbers,
    uses_of,
)
from renyi.mechanisms._noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    laplace_pair,
)
from renyi.mechanisms._shuffled import Shuffled
from renyi.mechanisms.algebra import (
    AllocatedEpoch,
    Mechanism,
    UnsupportedMechanismError,
    curve_of,
    curve_of_pairs,
    mechanism_of,
    pair_of,
)
from renyi.mechanisms.steps import (
    LARGEST_GROUP,
    LARGEST_LOSS,
    LARGEST_MU,
    MOST_SURE,
    NOTHING,
    REPLACE,
    REVEALED,
    SMALLEST_RATE,
    CountedSteps,
    SampledStep,
    distance,
    gaussian_pair,
    mu_of,
    one_release,
    product_of_rates,
    step_pair,
    within_domain,
)

GROUP_NOISES = (Gaussian, Laplace, DiscreteGaussian, DiscreteLaplace)  # of log-concave density
MOST_OUTCOMES, MOST_TERMS = 2**21, 2**27  # for noise on integers; terms are outcomes times records
LARGEST_DRAWN_MU = 1e6  # for a record that is drawn each time
LARGEST_SAMPLED_LOSS = 10_000  # of the mechanism on a sample: e^loss has as many digits
SMALLEST_EPOCH_RATE = 1e-6  # the least rate of an epoch of random allocation on a sample

SECRET = "and nobody learns which are drawn"
NOT_REMOVAL = (
    "a Poisson sample may hold one of the two records and not the other, and what is known of the "
    "mechanism inside holds for replacing a record, not for removing it"
)


class Sampling(Mechanism):
    """Base of the mechanisms that choose which records take part."""

    __slots__ = ()

    size_matters: ClassVar[bool] = True
    """Whether the sampling is defined for data of a known size only."""

    mechanism: Mechanism

    @property
    def parts(self) -> tuple[tuple[Mechanism, int], ...]:
        """The mechanism that is run on the sample."""
        return ((self.mechanism, 1),)


def gaussian_of(value: Any) -> Gaussian:
    """Return the mechanism inside of a sampling whose bound is for Gaussian noise only."""
    if not isinstance(value, Gaussian):
        raise TypeError(
            f"mechanism must be a Gaussian, the only one for which a bound is known, got {value!r}"
        )
    return value


def of_random_size(value: Any) -> Mechanism:
    """Return the mechanism inside of a sampling whose samples have random and secret sizes."""
    for inner in samplings(mechanism_of(value)):
        if inner.size_matters:
            raise ValueError(
                "mechanism must not fix the size of its data, which is random in a sample of this "
                f"kind, got {inner!r}"
            )
    return value  # type: ignore[no-any-return]


def samplings(mechanism: Mechanism) -> Iterator[Sampling | Shuffled]:
    """Yield the samplings that a mechanism starts with, not those inside them, and shuffles."""
    if isinstance(mechanism, Sampling | Shuffled):
        yield mechanism
        return
    for part, _ in mechanism.parts:
        yield from samplings(part)


@dataclass(frozen=True, slots=True)
class PoissonSampled(Sampling):
    """Runs a mechanism on a Poisson sample: every record enters with probability ``sample_rate``.

    Several releases on one sample are ``PoissonSampled(a + b, q)``; two separate ``PoissonSampled``
    draw two samples. A sample of a sample is one of the product of the rates. Shuffled and
    fixed-size batches are not Poisson samples: `ShuffledBatches`, `FixedSizeSampled`.

    Args:
        mechanism: The mechanism run on the sample. Sampling for which the size of the data is
            public (`FixedSizeSampled`, `TruncatedPoissonSampled`, `ShuffledBatches`) cannot be
            inside: the size of a Poisson sample is random and secret.
        sample_rate: In [0, 1].

    If records are replaced, the pair of `PLDAccountant` is exact for Gaussian noise. For other
    noise it is above both orders of the two records, like the pair of `FixedSizeSampled`.

    Source: Mironov, Talwar, Zhang 2019, arXiv 1908.10530, Definition 3; Zhu, Wang 2019, ICML.

    >>> PoissonSampled(Gaussian(1.1), 0.004)
    PoissonSampled(mechanism=Gaussian(noise_multiplier=1.1), sample_rate=0.004)
    """

    summary = "Poisson sample, rate {sample_rate}, of"
    assumption = (
        "Poisson: each record enters each sample independently with probability {sample_rate}, "
        f"{SECRET}; shuffled or fixed-size batches are not covered"
    )

    size_matters: ClassVar[bool] = False

    mechanism: Mechanism
    sample_rate: float

    def __post_init__(self) -> None:
        set_numbers(self, sample_rate=PROBABILITY)
        if type(self.mechanism) is not Gaussian:
            of_random_size(self.mechanism)

    def collapsed(self) -> tuple[Mechanism, float]:
        """Return the mechanism inside nested samples, and their joint rate, rounded up."""
        base, rate = self.mechanism, self.sample_rate
        while isinstance(base, PoissonSampled):
            rate = product_of_rates(rate, base.sample_rate)
            base = base.mechanism
        return base, rate

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        base, rate = self.collapsed()
        if rate == 0.0:
            return NOTHING
        if rate == 1.0:
            return pair_of(base, adjacency, direction)
        steps = self.gaussian_steps
        if steps is not None and len(steps) == 1 and steps[0][1] == 1:
            return step_pair(steps[0][0], adjacency, direction)
        if adjacency != REPLACE:
            pair = pair_of(base, adjacency, direction)
            if direction == "remove":
                return pair.sampled(rate)
            return pair.reversed().sampled(rate).reversed()
        if not base.dominates_removal:
            raise UnsupportedMechanismError(self, NOT_REMOVAL)
        removal = pair_of(base, "add_remove", "remove")
        return Pair.spliced(pair_of(base, adjacency, direction), rate, removal.sampled(rate))

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        base, rate = self.collapsed()
        if adjacency != REPLACE or rate in (0.0, 1.0):
            return _poisson_curve(base, rate, adjacency)
        if not base.dominates_removal:
            raise UnsupportedMechanismError(self, NOT_REMOVAL)
        return known_curve_of_pairs(self, adjacency) or _both_orders(base, rate)

    def largest_loss(self, adjacency: Adjacency, direction: DirectionName) -> Fraction | None:
        """Return log(1 + q (e^loss - 1)), or -log(1 + q (e^-loss - 1)) of the other direction.

        The loss of the mechanism inside is that of the same direction: outcomes are mixed with
        those without the record.
        """
        loss = None if adjacency == REPLACE else self.mechanism.largest_loss(adjacency, direction)
        if loss is None or loss > LARGEST_SAMPLED_LOSS:
            return None
        rate = Fraction(self.sample_rate)
        if rate == 1 or loss == 0:
            return loss
        grown = exact_exp_above(loss)
        if direction == "remove":
            return exact_log_above(1 + rate * (grown - 1))
        return exact_log_above(1 / (1 - rate + rate / grown))

    @property
    def gaussian_steps(self) -> CountedSteps | None:
        """One step at the product of the rates, if one release uses the sample."""
        if type(self.mechanism) is Gaussian:
            return ((SampledStep(self.sample_rate, self.mechanism.noise_multiplier), 1),)
        steps = self.mechanism.gaussian_steps
        if steps is None or self.sample_rate == 1.0:
            return steps
        release = one_release(steps)
        if release is None:
            return None
        return ((SampledStep(product_of_rates(self.sample_rate, release.rate), release.noise), 1),)

    def for_group(self, size: int) -> Mechanism | None:
        """Return the sample of all records of a group, if `GroupSampled` takes the noise."""
        steps = self.gaussian_steps
        base, rate = self.collapsed()
        if isinstance(base, GROUP_NOISES) and steps is None:
            return base.for_group(size) if rate == 1.0 else GroupSampled(base, rate, size)
        if steps is None or len(steps) != 1 or steps[0][1] != 1:
            return None
        step = steps[0][0]
        if step.rate == 1.0:
            return Gaussian(step.noise).for_group(size)
        return GroupSampled(Gaussian(step.noise), step.rate, size)

    @property
    def allocated_epoch(self) -> AllocatedEpoch | None:
        """The epoch of the mechanism inside, on a sample."""
        base, rate = self.collapsed()
        epoch = base.allocated_epoch if rate >= SMALLEST_EPOCH_RATE else None
        return None if epoch is None else epoch._replace(rate=rate)

    @property
    def dominates_removal(self) -> bool:
        """Whether the pair of the mechanism inside dominates removal."""
        return self.mechanism.dominates_removal

    def without_failure(self) -> tuple[Mechanism, float]:
        """Return the sample of the mechanism without failures, and the chance of a failure.

        A failure of probability delta has probability q delta on a sample of rate q: the outcomes
        with and without the record share 1 - q of their mass.
        """
        base, rate = self.collapsed()
        pure, failing = base.without_failure()
        if pure is base:
            return self, 0.0
        safe = pure if rate == 1.0 else PoissonSampled(pure, rate)
        return safe, min(rate * failing * (1.0 + 2.0**-50), failing)


@dataclass(frozen=True, slots=True)
class GroupSampled(Sampling):
    """Runs additive noise on a Poisson sample of data in which each person has several records.

    Every record enters by its own coin and moves the query by the sensitivity that the noise is
    stated for. Neighbours differ by all records of one person: the query moves by all drawn
    records.

    Args:
        mechanism: The noise, stated for one record, that is added on the sample.
        sample_rate: The rate of every record, in [0, 1].
        records: The most records of one person, in [1, 1000]. Which records a person has must not
            depend on those of others.
        instead: The most records that come in their place, in [0, 1000 / records], if a person's
            data change: some records are removed and others are added. For adjacency "add_remove"
            only.

    The pair is the binomial mixture of noise moved by k records against noise that is not moved, in
    both directions. If records are replaced, or others come instead, the second is the mixture of
    noise moved by -k. The pair dominates: given the number of drawn records, no event is more
    likely than the most powerful test allows, and for noise of log-concave density the events {x >
    c} attain that for every number at once. No such theorem is known for samples of fixed size and
    random allocation: there ``group_size`` uses a chain of neighbours.

    Source: Charles and others 2024, arXiv 2407.07737; Schuchardt and others 2024, arXiv 2403.04867.

    >>> print((GroupSampled(Gaussian(2.0), 0.01, 4) * 1000).describe())
    1000 x
      Poisson sample, rate 0.01, of up to 4 records a person, of
        Gaussian noise, multiplier 2
    """

    summary = "Poisson sample, rate {sample_rate}, of up to {records} records a person, of"
    assumption = (
        "Poisson of several records: each of up to {records} records of a person enters each "
        f"sample independently with probability {{sample_rate}}, {SECRET}; neighbours differ by "
        "all records of one person"
    )
    size_matters: ClassVar[bool] = False

    mechanism: Gaussian | Laplace | DiscreteGaussian | DiscreteLaplace
    sample_rate: float
    records: int
    instead: int = 0

    def __post_init__(self) -> None:
        given: Mechanism = self.mechanism
        if not isinstance(given, GROUP_NOISES):
            names = ", ".join(kind.__name__ for kind in GROUP_NOISES)
            raise TypeError(f"mechanism must be one of {names}, got {given!r}")
        records = uses_of(self.records, "records", 1, LARGEST_GROUP)
        instead = uses_of(self.instead, "instead", 0, LARGEST_GROUP // records)
        set_numbers(self, sample_rate=PROBABILITY)
        set_fields(self, records=records, instead=instead)

    def _headline(self) -> str:
        line = Sampling._headline(self)
        return f"{line[:-4]}, or up to {self.instead} instead, of" if self.instead else line

    def check_adjacency(self, adjacency: Adjacency) -> None:
        """Raise `UnsupportedMechanismError` unless it holds for an adjacency."""
        Sampling.check_adjacency(self, adjacency)
        if self.instead and adjacency != "add_remove":
            raise UnsupportedMechanismError(
                self, "records that come instead are for adjacency 'add_remove'"
            )

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        noise = self.mechanism
        if self.sample_rate == 1.0:
            moved = noise.for_group(self.records + self.instead)
            return pair_of(moved, adjacency, direction)
        if not isinstance(noise, Gaussian):
            return self._pair_of_other_noise(noise, adjacency, direction)
        step = within_domain(SampledStep(self.sample_rate, noise.noise_multiplier, self.records))
        return NOTHING if step is None else step_pair(step, adjacency, direction, self.instead)

    def _pair_of_other_noise(
        self,
        noise: Laplace | DiscreteGaussian | DiscreteLaplace,
        adjacency: Adjacency,
        direction: DirectionName,
    ) -> Pair:
        rate, records = self.sample_rate, self.records
        others = records if adjacency == REPLACE else self.instead
        if isinstance(noise, Laplace):
            scale, shift = noise.noise_multiplier, 1
        else:
            scale = noise.sigma if isinstance(noise, DiscreteGaussian) else noise.scale
            shift = noise.sensitivity
        if rate == 0.0 or scale == math.inf:
            return NOTHING
        if rate < SMALLEST_RATE:
            more = replace(self, sample_rate=SMALLEST_RATE)
            return Pair.bracketed(pair_of(more, adjacency, direction), NOTHING)
        is_sure = max(records, others) * -math.log1p(-rate) > MOST_SURE
        if is_sure or (records + others) * shift > LARGEST_LOSS * scale:
            return Pair.bracketed(REVEALED, NOTHING)
        if isinstance(noise, Laplace):
            pair = Pair.laplace_group(rate, scale, records, others)
        else:
            reach = 80.0 * scale if isinstance(noise, DiscreteGaussian) else 0.0
            outcomes = (records + others) * shift + reach
            if outcomes > MOST_OUTCOMES or outcomes * (records + others) > MOST_TERMS:
                raise UnsupportedMechanismError(
                    self, "its outcomes are kept one by one, and are too many"
                )
            kind = Pair.discrete_laplace_group
            if isinstance(noise, DiscreteGaussian):
                kind = Pair.discrete_gaussian_group
            pair = kind(rate, scale, shift, records, others)
        return pair if direction == "remove" else pair.reversed()

    @property
    def sampled_group(self) -> SampledStep | None:
        """The step, if the chance that no record is drawn is within the range of doubles."""
        rate = self.sample_rate
        if type(self.mechanism) is not Gaussian or self.instead or rate == 1.0:
            return None
        if self.records * -math.log1p(-rate) > MOST_SURE:
            return None
        return SampledStep(rate, self.mechanism.noise_multiplier, self.records)

    def for_group(self, size: int) -> Mechanism | None:
        """Return the mechanism for the records of ``size`` people, if these are not too many."""
        records, instead = self.records * size, self.instead * size
        if records * max(instead, 1) > LARGEST_GROUP:
            return None
        return GroupSampled(self.mechanism, self.sample_rate, records, instead)


@dataclass(frozen=True, slots=True)
class TruncatedPoissonSampled(Sampling):
    """Runs Gaussian noise on a Poisson sample, cut to a uniform subset if it exceeds a limit.

    Whether a sampled record survives the cut depends on the others. If the batch is full, a record
    that is added takes the place of another.

    Args:
        mechanism: The noise added on the batch.
        sample_rate: The rate of the Poisson sample, in [0, 1].
        batch_limit: The largest batch, at least 1. A limit of ``population`` or more cuts nothing.
        population: Number of records, at least 1; if one data set has a record more, that of the
            larger data set.

    The upper ends of `PLDAccountant` hold for outputs that show which other records were drawn. The
    noise hides these records, but no theorem says by how much this lowers the privacy loss.

    Source: Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang 2024, arXiv 2411.04205.

    >>> print(TruncatedPoissonSampled(Gaussian(1.0), 0.01, 120, 10_000).describe())
    Poisson sample of 10000, rate 0.01, at most 120 kept, of
      Gaussian noise, multiplier 1
    """

    summary = "Poisson sample of {population}, rate {sample_rate}, at most {batch_limit} kept, of"
    assumption = (
        "truncated Poisson: each of {population} records enters each sample independently with "
        f"probability {{sample_rate}}, {SECRET}; of a sample larger than {{batch_limit}} a uniform "
        "subset of that size is kept"
    )

    mechanism: Gaussian
    sample_rate: float
    batch_limit: int
    population: int

    def __post_init__(self) -> None:
        gaussian_of(self.mechanism)
        set_numbers(self, sample_rate=PROBABILITY)
        set_integers(self, batch_limit=1, population=1)

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        base, rate = self.mechanism, self.sample_rate
        if rate == 0.0:
            return NOTHING
        if adjacency == "add_remove":
            removal, replacement = (
                pair_of(base, kind, "remove") for kind in ("add_remove", "replace_one")
            )
            pair = Pair.truncated_poisson_removal(
                removal, replacement, rate, self.batch_limit, self.population
            )
            return pair if direction == "remove" else pair.reversed()

        def pair_at(some_rate: float) -> Pair:
            return pair_of(PoissonSampled(base, some_rate), adjacency, "remove")

        pair = Pair.truncated_poisson(pair_at, rate, self.batch_limit, self.population)
        return pair if direction == "remove" or adjacency == REPLACE else pair.reversed()

    @property
    def overflow(self) -> float:
        """The probability that a batch is cut, rounded up.

        With N ~ Bin(n, q), P[N > B] <= exp(-n KL((B+1)/n || q)), Chernoff's bound.
        """
        limit, records, rate = self.batch_limit, self.population, self.sample_rate
        if limit >= records or rate == 0.0:
            return 0.0
        share = (limit + 1) / records
        if not share > rate or rate == 1.0:
            return 1.0
        rest = (records - limit - 1) / records
        taken = share * math.log(share / rate)
        left = rest * math.log(rest / (1.0 - rate)) if rest > 0.0 else 0.0
        # Both terms have an error of a few u, relative to their parts.
        exponent = records * (taken + left) - records * 2.0**-48 * (abs(taken) + abs(left))
        return min(math.exp(-exponent), 1.0)

    @property
    def without_limit(self) -> tuple[Mechanism, float]:
        """The Poisson sample that is not cut, and the probability of a cut."""
        return PoissonSampled(self.mechanism, self.sample_rate), self.overflow

    def check_groups(self, adjacency: Adjacency) -> None:
        """Raise `UnsupportedMechanismError` if records are removed."""
        if adjacency == "add_remove":
            raise UnsupportedMechanismError(
                self,
                "it holds for one record removed from a population of that size, and on the way to "
                "a group the population changes",
            )


@dataclass(frozen=True, slots=True)
class FixedSizeSampled(Sampling):
    """Runs a mechanism on a uniform sample of fixed size.

    It holds for "replace_one" adjacency: the number of records is public.

    Args:
        mechanism: The mechanism run on the sample. It may sample again: by `PoissonSampled` and, if
            this sample is without replacement, `ShuffledBatches` and a `FixedSizeSampled` whose
            population is ``sample_size``.
        sample_size: Number of draws, at least 1; without replacement at most ``population``.
        population: Number of records, at least 1.
        replacement: Whether a record may be drawn several times; then ``sample_size`` is not
            limited.

    `PLDAccountant` bounds it by one pair above both orders of the two records. Without replacement
    a single use of noise on a sum attains this pair if all other records equal one of the two. For
    compositions the bracket reaches from the curve of those neighbours to that of the pair: no
    theorem is known by which one order dominates compositions, adaptive ones among them.

    Source: Wang, Balle, Kasiviswanathan 2019, arXiv 1808.00087; with replacement Balle, Barthe,
    Gaboardi 2018, arXiv 1807.01647.

    >>> from renyi.mechanisms import Gaussian
    >>> FixedSizeSampled(Gaussian(1.0), 100, 5000).sample_rate
    0.02
    """

    adjacencies = ("replace_one",)
    assumption = (
        "fixed size: each sample is a uniform subset of {sample_size} of {population} records, "
        f"without replacement, {SECRET}"
    )
    assumption_with_replacement: ClassVar[str] = (
        "with replacement: each sample is {sample_size} uniform, independent draws from "
        f"{{population}} records, {SECRET}"
    )

    mechanism: Mechanism
    sample_size: int
    population: int
    replacement: bool = False

    def __post_init__(self) -> None:
        mechanism_of(self.mechanism)
        if not isinstance(self.replacement, bool | np.bool_):
            raise TypeError(f"replacement must be True or False, got {self.replacement!r}")
        size = integer_of(self.sample_size, "sample_size", 1)
        population = integer_of(self.population, "population", 1)
        if size > population and not self.replacement:
            raise ValueError(
                f"sample_size must be an integer in [1, {population}], the population, unless "
                f"drawn with replacement, got {self.sample_size!r}"
            )
        set_fields(
            self, sample_size=size, population=population, replacement=bool(self.replacement)
        )
        for inner in samplings(self.mechanism):
            self._check(inner)

    @property
    def sample_rate(self) -> float:
        """The probability that a record is in the sample."""
        if not self.replacement:
            return self.sample_size / self.population
        if self.population == 1:
            return 1.0
        return -math.expm1(self.sample_size * math.log1p(-1.0 / self.population))

    def _check(self, inner: Sampling | Shuffled) -> None:
        if not inner.size_matters:
            return
        if "add_remove" in inner.adjacencies:
            raise ValueError(
                "mechanism must hold where one record is replaced, as a sample of fixed size does, "
                f"got {inner!r}"
            )
        if self.replacement:
            raise ValueError(
                "mechanism must not need distinct records, which a sample with replacement has "
                f"not, got {inner!r}"
            )
        if isinstance(inner, FixedSizeSampled | Shuffled) and inner.population != self.sample_size:
            raise ValueError(
                f"mechanism must have the population {self.sample_size}, the sample_size, "
                f"got {inner!r}"
            )

    def _headline(self) -> str:
        how = "with" if self.replacement else "without"
        return f"Sample of {self.sample_size} of {self.population} {how} replacement, of"

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        base, size, population = self.mechanism, self.sample_size, self.population
        if self.replacement:
            return self._pair_of_draws(adjacency)
        pair = pair_of(base, adjacency, direction)
        if not base.holds_in_both_orders:
            raise UnsupportedMechanismError(
                self, "two samples may come in either order, and the pair inside has only one"
            )
        if size == population:
            return pair
        rate = min(math.nextafter(size / population, 1.0), 1.0)
        below = self._pair_attained(pair, math.nextafter(size / population, 0.0))
        return Pair.spliced(pair, rate, below)

    def _pair_attained(self, pair: Pair, rate: float) -> Pair:
        """Return the pair of two fixed neighbours on a sample of this rate.

        All other records equal one of the two: a sample without the replaced record reveals as
        little as one with it. For Poisson samples of a sample, that record has no effect.
        """
        base = self.mechanism
        if not base.dominates_removal:
            return NOTHING
        sampled_again = next(samplings(base), None) is not None
        return (pair_of(base, "zero_out", "remove") if sampled_again else pair).sampled(rate)

    def _pair_of_draws(self, adjacency: Adjacency) -> Pair:
        base, draws, population = self.mechanism, self.sample_size, self.population
        steps = base.gaussian_steps
        if steps is not None and all(step.rate == 1.0 for step, _ in steps):
            mu = distance(adjacency) * mu_of(steps)

            def group(k: int) -> Pair:
                # The rarest group has all draws: an infinite loss would leave no Rényi curve.
                far = LARGEST_MU < k * mu <= LARGEST_DRAWN_MU
                return Pair.gaussian(k * mu) if far else gaussian_pair(k * mu)
        elif isinstance(base, Laplace):

            def group(k: int) -> Pair:
                return laplace_pair(base.noise_multiplier / (distance(adjacency) * k))
        else:
            raise UnsupportedMechanismError(
                self,
                "a record may be drawn several times, and only for Gaussian and Laplace noise is "
                "it known what replacing it as often does",
            )
        if population == 1:
            return group(draws)
        return Pair.sampled_with_replacement(group, draws, population)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        innermost = self
        while isinstance(innermost.mechanism, FixedSizeSampled) and not innermost.replacement:
            innermost = innermost.mechanism  # a sample of a sample
        if innermost.replacement:
            return curve_of_pairs(self, adjacency)
        base, known = innermost.mechanism, None
        if not base.has_swapped_pairs:
            known = known_curve_of_pairs(self, adjacency)
        rate = innermost.sample_size / self.population
        return known or fixed_size_curve(base, math.nextafter(rate, 1.0) if rate < 1.0 else 1.0)


def known_curve_of_pairs(mechanism: Mechanism, adjacency: Adjacency) -> RenyiCurve | None:
    """Return the curve of the pairs of a sample, never above the bounds from the inner curve."""
    try:
        curve = curve_of_pairs(mechanism, adjacency)
    except UnsupportedMechanismError:
        return None
    return None if curve.is_unbounded else curve


def _poisson_curve(base: Mechanism, rate: float, adjacency: Adjacency) -> RenyiCurve:
    """Return the curve of ((1-q) Q + q P, Q) and its reverse, (P, Q) the pairs of a mechanism.

    If an involution swaps P and Q, the first of the two curves is the larger one.
    """
    if rate == 0.0:
        return RenyiCurve.linear(0.0)
    if rate == 1.0:
        return curve_of(base, adjacency)
    rate = max(rate, SMALLEST_RATE)
    steps = base.gaussian_steps
    release = None if steps is None else one_release(steps)
    if release is not None and release.rate == 1.0:
        step = within_domain(SampledStep(rate, release.noise / distance(adjacency)))
        if step is None:
            return RenyiCurve.linear(0.0)
        if step.noise == 0.0:
            return RenyiCurve.unbounded()
        return RenyiCurve.sampled_gaussian(step.rate, step.noise)
    if base.has_swapped_pairs:
        known = _curve_of_sampled_pair(base, rate, adjacency)
        if known is not None and not base.parts:
            return known
        bound = curve_of(base, adjacency).poisson_bound(rate, "tight")
        return bound if known is None else known.smaller(bound)
    curve, known = curve_of(base, adjacency), None
    if adjacency != REPLACE:
        known = known_curve_of_pairs(PoissonSampled(base, rate), adjacency)
    return known or curve.poisson_bound(rate, "tight").smaller(curve.mixture_bound(rate))


def _curve_of_sampled_pair(base: Mechanism, rate: float, adjacency: Adjacency) -> RenyiCurve | None:
    """Return the curve of ((1-q) Q + q P, Q); None if it is not known or unbounded."""
    try:
        curve = pair_of(base, adjacency, "remove").sampled(rate).moment()
    except UnsupportedMechanismError:
        return None
    return None if curve is None or curve.is_unbounded else curve


def fixed_size_curve(base: Mechanism, rate: float) -> RenyiCurve:
    """Return the curve of a sample without replacement, see `renyi.theory.subsampling`."""
    if rate in (0.0, 1.0):
        return _poisson_curve(base, rate, REPLACE)
    alone = curve_of(base, REPLACE)
    if not base.has_swapped_pairs:
        return alone.fixed_size_bound(rate, False).smaller(alone.mixture_bound(rate))
    several = _both_orders(base, rate)
    return several if base.symmetric else several.smaller(alone.fixed_size_bound(rate, False))


def _both_orders(base: Mechanism, rate: float) -> RenyiCurve:
    """Return the curve for a replaced record, in a sample that holds each record at a rate.

    Both directions of a Poisson sample together have at most twice the excess of the larger one.
    Without one pair for all neighbours, the profile is at most the sum of two: that of the two
    records, and that of one record and the one that a sample has in its place.
    """
    poisson = _poisson_curve(base, rate, REPLACE)
    twice = poisson.mixture_bound(2.0 if base.symmetric else 4.0)
    return twice.smaller(curve_of(base, REPLACE).mixture_bound(rate))
