"""Epochs in which every record takes part: in steps drawn at random, or in shuffled batches."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency, DirectionName
from renyi._engine import Pair, RenyiCurve
from renyi._validation import integer_of, set_fields, set_integers
from renyi.mechanisms._noise import Gaussian
from renyi.mechanisms.algebra import (
    AllocatedEpoch,
    Composed,
    Equivalent,
    Mechanism,
    UnsupportedMechanismError,
    curve_of,
    mechanism_of,
    pair_of,
)
from renyi.mechanisms.sampling import Sampling, known_curve_of_pairs, of_random_size
from renyi.mechanisms.steps import NOTHING, REPLACE, CountedSteps, one_release

Array = npt.NDArray[np.float64]

MOST_PICKS = 10_000
MOST_STEPS = 10**6  # the most of an allocation with other than Gaussian noise
SMALLEST_NOISE, LARGEST_NOISE = 0.05, 1e4  # the range in which an allocation has its own curve


@dataclass(frozen=True, slots=True)
class RandomAllocation(Sampling):
    """Runs a mechanism at each of several steps, every record in one of them, drawn uniformly.

    The scheme is also called balls in bins. With ``picks`` above 1, every record is in a uniform
    subset of so many steps: balanced iteration, k of t. Records choose independently; the batches
    are random and secret, their number is public. Every use is an epoch with new choices; if
    records keep their choice, use `FixedAllocation`.

    Args:
        mechanism: The mechanism run on the records of a step, but no sampling for which the size of
            the data is public. Other sampling is allowed: ``RandomAllocation(PoissonSampled(m, q),
            b)`` is b rounds of cyclic Poisson sampling, the group of a record secret.
        steps: At least 1. Up to 1,000,000 steps accountants take every mechanism, beyond that
            Gaussian noise.
        picks: The number of steps that a record takes part in, in [1, steps].

    For "add_remove" and "zero_out" adjacency and one pick the dominating pair is known, and
    Gaussian noise attains it. For other noise `PLDAccountant` follows the pair to a relative width
    of about 0.001 in delta, 0.01 where delta is small. For more picks the upper end is the cost of
    publishing a random split of the steps into as many blocks, and the lower end is what an
    observer of a single statistic sees. If records are replaced no largest pair is known. The
    bracket reaches from removal to the removal of one record and the addition of another, or to the
    publication of all steps of a record.

    Source: Feldman, Shenfeld 2025, arXiv 2502.08202, and Chua et al. 2024, arXiv 2412.16802 (the
    pair that dominates, the split into blocks).

    >>> from renyi.mechanisms import Gaussian
    >>> RandomAllocation(Gaussian(1.0), 100)
    RandomAllocation(mechanism=Gaussian(noise_multiplier=1.0), steps=100, picks=1)
    """

    size_matters: ClassVar[bool] = False
    has_allocation = True
    assumption = (
        "random allocation (balls in bins): in each epoch each record is in {picks} of {steps} "
        "batches, drawn uniformly, independently of the other records and anew for every epoch, "
        "and nobody learns in which"
    )

    mechanism: Mechanism
    steps: int
    picks: int = 1

    def __post_init__(self) -> None:
        of_random_size(self.mechanism)
        steps, picks = integer_of(self.steps, "steps", 1), integer_of(self.picks, "picks", 1)
        if picks > steps:
            raise ValueError(
                f"picks must be an integer in [1, {steps}], the steps, got {self.picks!r}"
            )
        set_fields(self, steps=steps, picks=picks)

    def _headline(self) -> str:
        one = "one" if self.picks == 1 else str(self.picks)
        return f"Random allocation of every record to {one} of {self.steps} steps, each"

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        """Return the pair of the mean of all choices of steps against no record.

        The pair dominates every way to use earlier steps, in both directions. For replaced records
        no largest pair is known: publishing the steps gives the upper pair, the mechanism itself,
        and a record replaced by one that contributes nothing gives the lower pair, a removal.
        """
        base, steps, picks = self.mechanism, self.steps, self.picks
        if picks == steps:
            return pair_of(base * steps, adjacency, direction)
        if adjacency == REPLACE:
            whole = pair_of(base * picks, adjacency, direction)
            below = NOTHING
            if base.may_lack_record:
                below = pair_of(self, "zero_out", "remove")
            return Pair.bracketed(whole, below)
        if picks == 1:
            pair = _pair_of_one_pick(self, adjacency)
            return pair if direction == "remove" else pair.reversed()
        above, removal, addition = _pairs_of_picks(self, adjacency)
        if direction == "remove":
            return Pair.bracketed(above, removal)
        return Pair.bracketed(above.reversed(), addition)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        base, steps, picks = self.mechanism, self.steps, self.picks
        if picks == steps or adjacency == REPLACE:  # as if the steps of a record were published
            return curve_of(base * picks, adjacency)
        if picks > 1:
            blocks = ((RandomAllocation(base, length), count) for length, count in _blocks(self))
            return curve_of(Composed(*blocks), adjacency)
        noise = _noise_within_domain(base)
        if noise is not None:
            return _curve_of_atoms(pair_of(self, adjacency, "remove"), noise, steps)
        if isinstance(base, Gaussian):
            return RenyiCurve.random_allocation(base.noise_multiplier, steps)
        whole, known = curve_of(base, adjacency), known_curve_of_pairs(self, adjacency)
        return whole if known is None else known.smaller(whole)

    def largest_loss(self, adjacency: Adjacency, direction: DirectionName) -> Fraction | None:
        """Return the loss of ``picks`` uses: every choice of steps may attain it."""
        loss = None if adjacency == REPLACE else self.mechanism.largest_loss(adjacency, direction)
        return None if loss is None else self.picks * loss

    @property
    def releases(self) -> tuple[tuple[Mechanism, int], ...]:
        """The releases of the mechanism at every step, if a record takes part in all steps."""
        if self.picks == self.steps:
            return (self.mechanism * self.steps).releases
        return ((self, 1),)

    @property
    def gaussian_steps(self) -> CountedSteps | None:
        """The steps of the mechanism at every step, if a record takes part in all steps."""
        if self.picks == self.steps:
            return (self.mechanism * self.steps).gaussian_steps
        return None

    @property
    def allocated_epoch(self) -> AllocatedEpoch | None:
        """The epoch, if it has one pick of several steps and Gaussian noise."""
        if self.picks > 1 or self.steps == 1:
            return None
        noise = _noise_within_domain(self.mechanism)
        return None if noise is None else AllocatedEpoch(noise, float(self.steps), 1.0)


@dataclass(frozen=True, slots=True)
class FixedAllocation(Sampling, Equivalent):
    """Runs epochs of steps, every record at the same, randomly drawn step of each epoch.

    The scheme is balls in bins, drawn once: each record is put into a group, uniformly and
    independently, and the groups take turns. The release of a record is one step of
    `RandomAllocation` in which the mechanism is used ``epochs`` times. It reveals far more than new
    choices for every epoch. With a Poisson sample of the group as mechanism this is cyclic Poisson
    sampling with secret groups.

    Args:
        mechanism: The mechanism run on the records of a step, as for `RandomAllocation`.
        steps: The number of steps of an epoch, at least 1, which is the number of groups.
        epochs: The number of turns of each group, at least 1.

    Source: Feldman, Shenfeld 2025, arXiv 2502.08202 (the pair of an epoch, for adaptive steps too).

    >>> from renyi.mechanisms import Gaussian
    >>> print(FixedAllocation(Gaussian(1.0), 100, 10).describe())
    10 epochs of 100 steps, every record at one random step of each, the same in all
      Gaussian noise, multiplier 1
    """

    summary = (
        "{epochs} epochs of {steps} steps, every record at one random step of each, the same in all"
    )
    size_matters: ClassVar[bool] = False
    assumption = (
        "fixed allocation (balls in bins, drawn once): each record is in one of {steps} groups, "
        "drawn uniformly and independently of the other records, the same group in all {epochs} "
        "epochs, and nobody learns in which"
    )

    mechanism: Mechanism
    steps: int
    epochs: int

    def __post_init__(self) -> None:
        of_random_size(self.mechanism)
        set_integers(self, steps=1, epochs=1)

    @property
    def released(self) -> RandomAllocation:
        """Fixed allocation over E epochs is one epoch of the E-fold mechanism."""
        return RandomAllocation(self.mechanism * self.epochs, self.steps)


@dataclass(frozen=True, slots=True)
class ShuffledBatches(Sampling):
    """Runs a mechanism on each of the disjoint batches of one epoch over shuffled data.

    A record takes part in one batch, so the epoch costs at most one use of the mechanism, and
    exactly one for an observer who knows the order. The gain from a secret order is not known: the
    upper ends of accountants do not count on it, and the lower ends of `PLDAccountant` are what an
    attack on the order proves for Gaussian noise. An epoch may cost far more than Poisson sampling.
    It holds for "zero_out" and "replace_one" adjacency: adding a record would move others.

    Args:
        mechanism: The mechanism run on a batch.
        batches: Number of batches, at least 1.

    Source: Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang 2024, arXiv 2403.17673 (the attack,
    and that shuffled batches may cost far more than Poisson samples).

    >>> from renyi.mechanisms import Gaussian
    >>> print((ShuffledBatches(Gaussian(1.0), 100) * 5).describe())
    5 x
      Epoch of 100 shuffled batches, each
        Gaussian noise, multiplier 1
    """

    summary = "Epoch of {batches} shuffled batches, each"
    adjacencies = ("replace_one", "zero_out")
    assumption = (
        "shuffled: in each epoch the records are in random order, cut into {batches} batches, each "
        "record in one; the order may be known"
    )

    mechanism: Mechanism
    batches: int

    def __post_init__(self) -> None:
        mechanism_of(self.mechanism)
        set_integers(self, batches=1)

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        return pair_of(self.mechanism, adjacency, direction)  # as if the order were published

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        return curve_of(self.mechanism, adjacency)

    @property
    def releases(self) -> tuple[tuple[Mechanism, int], ...]:
        """The releases of one batch, as every record is in one batch."""
        return self.mechanism.releases

    def attained_pair(self, adjacency: Adjacency, direction: DirectionName) -> tuple[Pair, float]:
        """Return the pair of an attack on the order, or a pair without loss if none is known."""
        return _attack_pair(self, adjacency, direction), CELL_ERROR


def _noise_within_domain(mechanism: Mechanism) -> float | None:
    """Return the noise of a mechanism that is one Gaussian release.

    None: it is not one, or its noise is outside the engine's domain for allocations.
    """
    steps = mechanism.gaussian_steps
    release = None if steps is None else one_release(steps)
    if release is None or release.rate != 1.0:
        return None
    return release.noise if SMALLEST_NOISE <= release.noise <= LARGEST_NOISE else None


def _pair_of_one_pick(mechanism: RandomAllocation, adjacency: Adjacency) -> Pair:
    noise, steps = _noise_within_domain(mechanism.mechanism), mechanism.steps
    # With this much noise almost no mass lies beyond the points; with less the law is narrower.
    least = 0.45 if steps < 100 else 0.3 if steps <= MOST_STEPS else 0.25 + 0.03 * math.log10(steps)
    if noise is not None and noise >= least:
        return Pair.allocation(noise, steps)
    if steps > MOST_STEPS:
        raise UnsupportedMechanismError(
            mechanism,
            f"allocations of other than Gaussian noise of 0.5 have at most {MOST_STEPS} steps",
        )
    return pair_of(mechanism.mechanism, adjacency, "remove").allocated(steps)


def _blocks(mechanism: RandomAllocation) -> list[tuple[int, int]]:
    """Return lengths of blocks of steps and their numbers, with one pick in each.

    Given a random split of the steps into as many blocks as picks, the run is a composition of
    allocations.
    """
    length, longer = divmod(mechanism.steps, mechanism.picks)
    blocks = [(length, mechanism.picks - longer), (length + 1, longer)]
    return [(steps, count) for steps, count in blocks if count]


@lru_cache(maxsize=64)
def _pairs_of_picks(mechanism: RandomAllocation, adjacency: Adjacency) -> tuple[Pair, Pair, Pair]:
    """Return a pair above of direction "remove", and those below of "remove" and of "add"."""
    base, steps, picks = mechanism.mechanism, mechanism.steps, mechanism.picks
    if picks > MOST_PICKS:
        raise UnsupportedMechanismError(
            mechanism, f"a record takes part in at most {MOST_PICKS} steps"
        )
    parts = [
        (pair_of(RandomAllocation(base, length), adjacency, "remove"), count)
        for length, count in _blocks(mechanism)
    ]
    removal, addition = _pairs_below(pair_of(base, adjacency, "remove"), steps, picks)
    return Pair.product(parts), removal, addition


# Rényi divergences of one epoch of random allocation at real orders, from atoms above its law.
#
# The pair of atoms (src/renyi/curve/allocation_curve.hpp) has a curve above that of the epoch up to
# the last atom. Take a convex function of the likelihood ratio r and continue it along tangents
# beyond the first and last atoms r_0, r_n: its expectation under Q is not above that of the atoms.
# The rest, beyond these atoms, is bounded by Cauchy and Schwarz,
#
#     E_Q[r^a; r > r_n] <= (E_Q r^(2a-1) P(r > r_n))^(1/2),
#     E_Q[r^-b; r < r_0] <= (E_Q r^(-2b) Q(r < r_0))^(1/2),
#     E_Q r^(-2b) <= e^(b/s^2 + 2 b^2/(t s^2)),
#
# with the divergences at whole orders for the first (s is the noise, t the number of steps). The
# masses follow from the slopes of the curve: Q(r > r_n) <= q_n + H_n/(r_n - r_(n-1)), H_n the mass
# beyond.

ORDERS = 1.0 + np.geomspace(1e-3, 255.0, 240)
ROUNDING = 2.0**-49  # relative, of each part of a term
SLACK = 1e-12  # relative, of sums of positive terms


@lru_cache(maxsize=64)
def _curve_of_atoms(pair: Pair, noise: float, steps: int) -> RenyiCurve:
    """Return the curve of the larger direction, at most the one known at whole orders."""
    whole = RenyiCurve.random_allocation(noise, steps)
    losses, _, masses = pair.atoms()
    if losses.size < 3:
        return whole
    values = np.array(
        [_moment(losses, masses, pair, whole, noise, steps, a) for a in ORDERS.tolist()]
    )
    known = np.isfinite(values)
    if not known.any():
        return whole
    return RenyiCurve.polygon(ORDERS[known].tolist(), values[known].tolist()).smaller(whole)


def _moment(
    losses: Array,
    masses: Array,
    pair: Pair,
    whole: RenyiCurve,
    noise: float,
    steps: int,
    order: float,
) -> float:
    """Return log E_Q r^order or log E_Q r^(1 - order), whichever is larger, rounded up."""
    beyond, null, b = pair.infinite_mass, pair.null_mass, order - 1.0
    first, second = math.exp(losses[0]), math.exp(losses[1])
    last, before = math.exp(losses[-1]), math.exp(losses[-2])
    # r^a - 1 - a (r - 1), positive everywhere: E r = 1.
    grown = np.expm1(losses)
    with np.errstate(over="ignore"):
        risen, fallen = np.expm1(order * losses), np.expm1((1.0 - order) * losses)
    up = risen - order * grown + ROUNDING * (np.abs(risen) + order * np.abs(grown))
    down = fallen + b * grown + ROUNDING * (np.abs(fallen) + b * np.abs(grown))
    mass_beyond = beyond + last * (masses[-1] + beyond / (last - before))
    log_tail = 0.5 * (whole.log_moment(2.0 * order - 1.0)[1] + math.log(max(mass_beyond, 1e-300)))
    slope = order * last ** (order - 1.0) if order * losses[-1] < 700.0 else math.inf
    # Over the atoms, r sums up to 1 - beyond: the tangent's slope less the order times beyond.
    remove = float(masses @ up) + (slope - order) * beyond + null * (order - 1.0)
    remove += math.exp(log_tail) if log_tail < 700.0 else math.inf
    lost = null * second / (second - first) + masses[0]
    log_tail = b / noise**2 * 0.5 + b * b / (steps * noise**2) + 0.5 * math.log(max(lost, 1e-300))
    # The tangent at the first atom, at r = 0: less 1 - b (r - 1) there.
    at_null = first**-b * (1.0 + b) - 1.0 - b if -b * losses[0] < 700.0 else math.inf
    add = float(masses @ down) + null * at_null + b * beyond
    add += math.exp(log_tail) if log_tail < 700.0 else math.inf
    largest = max(remove, add)
    return math.log1p(largest * (1.0 + SLACK)) * (1.0 + SLACK) if largest < math.inf else math.inf


# A lower bound for an epoch in which a record takes part in k of t steps, drawn at random.
#
# A statistic of all steps reveals no more than the steps (post-processing). The statistic is the
# sum over the steps of log(1 + k/t (r - 1)), where r is the likelihood ratio of a step with the
# record to one without. Each term is rounded at random to one of the two lattice points around it,
# keeping its mean, and the sum is taken modulo the length of the lattice. The order of the steps
# does not matter: with the record, the statistic is the sum of k steps with it and t - k without.
# For a record that takes part by coins of rate k/t the statistic would be sufficient.

MOST_POINTS = 2**14
FARTHEST = 40.0  # larger losses of a step, of either sign, are merged
CUTS = 4000  # the number of cells of losses
PER_DEVIATION = 200.0  # lattice points per standard deviation of the sum
LEAST_PER_STEP = 4.0  # lattice points per standard deviation of one step
REACH, LEAST_REACH = 32.0, 16.0  # standard deviations of the sum that the lattice spans
UNIT = 2.0**-53
NULL_ERROR = 2.0**-45
LEAST = 1e-200  # smaller masses, which may have underflowed, are dropped


def _pairs_below(base: Pair, steps: int, picks: int) -> tuple[Pair, Pair]:
    """Return pairs that an epoch of picks < steps dominates, one for each direction.

    The first is the law with the record against the law without it, the second the reverse.

    Args:
        base: The pair of a step with the record against without; its lower side is used.
    """
    cuts = np.linspace(-FARTHEST, FARTHEST, CUTS)
    rows, (infinite, _), (null, most_null) = base.spans(cuts, lower=True)
    if not rows.size:
        return NOTHING, NOTHING
    if most_null - null <= NULL_ERROR * null:  # else such outcomes are dropped
        rows = np.vstack([rows, [*3 * [-FARTHEST], 0.0, null, NULL_ERROR, 0.0]])
    loss, present, absent, mass_error = rows[:, 1], rows[:, 3], rows[:, 4], rows[:, 5]
    rate = picks / steps
    ratio = np.exp(np.clip(loss, -FARTHEST, FARTHEST))
    score = np.log1p(rate * (ratio - 1.0))
    weight = absent / absent.sum()
    deviation = math.sqrt(weight @ (score - weight @ score) ** 2)
    if not deviation * 1e15 > np.abs(score).max():
        return NOTHING, NOTHING
    whole = deviation * math.sqrt(steps)
    step = min(whole / PER_DEVIATION, deviation / LEAST_PER_STEP)
    step = max(step, LEAST_REACH * whole / MOST_POINTS)
    points = min(2 ** math.ceil(math.log2(REACH * whole / step)), MOST_POINTS)
    place = score / step
    laws = [_rounded(place, masses, points) for masses in (present, absent)]
    p = _convolved(_power(laws[0], picks), _power(laws[1], steps - picks))
    q = _power(laws[1], steps)
    # Sums of positive terms have the error of the masses, and one rounding per term of a
    # convolution.
    kept = (present > 0.0) | (absent > 0.0)
    error = steps * (float(mass_error[kept].max()) + UNIT * (2.0 * points + rows.shape[0] + 8.0))
    if not error < 0.01:
        return NOTHING, NOTHING
    certain = -math.expm1(picks * math.log1p(-infinite)) if infinite < 1.0 else 1.0
    p, q = np.append(p, certain), np.append(q, 0.0)
    held = (p > LEAST) & (q > LEAST) | (p > LEAST) & (q == 0.0) | (q > LEAST) & (p == 0.0)
    p, q = p[held], q[held]
    least, most = 1.0 - 2.0 * error, 1.0 + 2.0 * error
    return Pair.discrete(p * least, q * most), Pair.discrete(q * least, p * most)


def _rounded(place: Array, masses: Array, points: int) -> Array:
    """Return the masses at the lattice points around each place, modulo ``points``."""
    below = np.floor(place)
    share = place - below
    index = below.astype(np.int64)
    here, after = masses * (1.0 - share), masses * share
    found = np.bincount(index % points, here, points).astype(np.float64)
    return np.asarray(found + np.bincount((index + 1) % points, after, points))


def _convolved(a: Array, b: Array) -> Array:
    """Return the law of a sum modulo the length: positive terms, hence relatively precise."""
    whole = np.convolve(a, b)
    found = whole[: a.size].copy()
    found[: whole.size - a.size] += whole[a.size :]
    return found


def _power(law: Array, count: int) -> Array:
    """Return the law of a sum of ``count`` terms."""
    found = np.zeros_like(law)
    found[0] = 1.0
    while count:
        if count % 2:
            found = _convolved(found, law)
        count //= 2
        if count:
            law = _convolved(law, law)
    return found


# A lower bound for shuffled batches: pairs of actual neighbouring data sets.
#
# The record that differs contributes 1 to its batch, all other records contribute -1. Up to the
# mean that both share, the outputs are then the mean over the batches i of
#
# * N(2 e_i) against N(0), if the record is replaced by one that contributes -1 like the others:
#   random allocation with half the noise;
# * N(2 e_i) against N(e_i), if it is replaced by one that contributes nothing. The outputs are
#   post-processed to the cell of the largest (Chua et al. 2024, arXiv 2403.17673 and 2411.04205).

CELLS = 800
CELL_REACH = 9.0  # in standard deviations
CELL_ERROR = 1e-11  # relative, of the masses of cells
MOST_BATCHES = 10**6


@lru_cache(maxsize=64)
def _attack_pair(
    mechanism: ShuffledBatches, adjacency: Adjacency, direction: DirectionName
) -> Pair:
    base, batches = mechanism.mechanism, mechanism.batches
    if not isinstance(base, Gaussian) or batches > MOST_BATCHES:
        return NOTHING
    noise = base.noise_multiplier
    if not 2.0 * SMALLEST_NOISE <= noise < math.inf:
        return NOTHING
    if batches == 1:
        return pair_of(base, adjacency, direction)
    if adjacency == REPLACE:
        return pair_of(RandomAllocation(Gaussian(0.5 * noise), batches), "add_remove", direction)
    pair = _largest_output(noise, batches)
    return pair if direction == "remove" else pair.reversed()


def _largest_output(noise: float, batches: int) -> Pair:
    """Return the pair of the cell of the largest output."""
    cuts = np.linspace(-CELL_REACH * noise, 2.0 + CELL_REACH * noise, CELLS)
    masses = [_cells(cuts, noise, batches, moved) for moved in (2.0, 1.0)]
    kept = (masses[0] > 0.0) & (masses[1] > 0.0)
    return Pair.discrete(masses[0][kept], masses[1][kept])


def _cells(cuts: Array, noise: float, batches: int, moved: float) -> Array:
    """Return the masses between the cuts, and beyond; inaccurate cells count as 0."""
    logs = np.array(
        [
            _log_normal_cdf((c - moved) / noise) + (batches - 1) * _log_normal_cdf(c / noise)
            for c in cuts.tolist()
        ]
    )
    below, above = np.exp(logs), -np.expm1(logs)
    inner = np.where(above[:-1] < 0.5, above[:-1] - above[1:], below[1:] - below[:-1])
    size = np.where(above[:-1] < 0.5, above[:-1], below[1:])
    # Each cdf has an error of 16u of its logarithm and of itself.
    error = 2.0**-49 * (1.0 + np.abs(logs[1:])) * size
    inner = np.where(inner * CELL_ERROR > error, inner, 0.0)
    return np.concatenate([[below[0]], inner, [above[-1]]])


def _log_normal_cdf(z: float) -> float:
    if z > 0.0:
        return math.log1p(-0.5 * math.erfc(z * math.sqrt(0.5)))
    tail = 0.5 * math.erfc(-z * math.sqrt(0.5))
    return math.log(tail) if tail > 0.0 else -math.inf
