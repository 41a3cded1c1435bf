"""Mechanisms that run on a random part of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from renyi._pair import Pair
from renyi._validation import count_of, probability_of
from renyi.pld._discrete import Discrete
from renyi.pld._distribution import PrivacyLossDistribution, Reversed, require_pair
from renyi.pld._noise import Gaussian

__all__ = [
    "NOTHING",
    "REVEALED",
    "PoissonSampled",
    "Spliced",
    "poisson_sampled",
    "sampled_gaussian",
    "sampled_with_replacement",
    "truncated_poisson_sampled",
]

NOTHING = Discrete((1.0,), (1.0,))
"""The pair that nothing distinguishes."""

REVEALED = Discrete((1.0, 0.0), (0.0, 1.0))
"""The pair that every output distinguishes."""


@dataclass(frozen=True, slots=True)
class PoissonSampled(PrivacyLossDistribution):
    """The record takes part with probability ``sample_rate``: ((1-q) Q + q P, Q).

    The loss of the base pair is transformed monotonically, l -> log1p(q expm1(l)), so masses and
    moments on cells follow from those of the base on transformed edges, without a new integral.

    Parameters
    ----------
    base : PrivacyLossDistribution
        The pair (P, Q) of the mechanism on the sample, P with the record.
    sample_rate : float
        q in [0, 1].

    Notes
    -----
    This is the direction "remove"; "add" is its ``Reversed``, see ``poisson_sampled``.
    """

    base: PrivacyLossDistribution
    sample_rate: float

    def __post_init__(self) -> None:
        require_pair(self.base, "base")
        object.__setattr__(self, "sample_rate", probability_of(self.sample_rate, "sample_rate"))

    def _build(self) -> Pair:
        return self.base._pair.sampled(self.sample_rate)


@dataclass(frozen=True, slots=True)
class Spliced(PrivacyLossDistribution):
    """Replacing one record of a sample which holds any given record with probability g.

    Parameters
    ----------
    base : PrivacyLossDistribution
        A pair that dominates the mechanism on the sample under replacement of a record, whichever
        of the two data sets comes first, and also its removal if the size of the sample varies.
        Only losses above 0 matter.
    sample_rate : float
        g in (0, 1].

    Raises
    ------
    TypeError, ValueError
        On another type or rate, or where the base differs from its reverse such that no pair has
        this profile.

    Examples
    --------
    >>> from renyi.pld import Laplace, delta_bounds
    >>> lower, upper = delta_bounds([(Spliced(Laplace(1.0), 0.1), 1)], 0.05)
    >>> round(lower, 9), round(upper, 9)
    (0.02540139, 0.02540139)
    """

    base: PrivacyLossDistribution
    sample_rate: float
    _middle: tuple[float, float] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_pair(self.base, "base")
        rate = probability_of(self.sample_rate, "sample_rate")
        if rate == 0.0:
            raise ValueError(f"sample_rate must be a number in (0, 1], got {self.sample_rate!r}")
        object.__setattr__(self, "sample_rate", rate)
        object.__setattr__(self, "_middle", self._rest())

    def _build(self) -> Pair:
        return Pair.spliced(self.base._pair, self.sample_rate)


def poisson_sampled(
    base: PrivacyLossDistribution, sample_rate: float, direction: str = "remove"
) -> PrivacyLossDistribution:
    """Return the pair of a Poisson-sampled mechanism in one direction.

    Parameters
    ----------
    base : PrivacyLossDistribution
        (P, Q) of the mechanism itself, P with the record and Q without.
    sample_rate : float
        In [0, 1].
    direction : {"remove", "add"}
        ((1-q) Q + q P, Q) or (Q, (1-q) Q + q P).

    Raises
    ------
    TypeError, ValueError
        On another type, rate or direction.

    Examples
    --------
    >>> from renyi.pld import Gaussian, delta_bounds
    >>> lower, upper = delta_bounds([(poisson_sampled(Gaussian(1.0), 0.1), 1)], 0.5)
    >>> bool(lower <= 0.00203253692034 + 1e-15 and upper >= 0.00203253692034 - 1e-15)
    True
    """
    if direction not in ("remove", "add"):
        raise ValueError(f"direction must be 'remove' or 'add', got {direction!r}")
    sampled = PoissonSampled(base, sample_rate)
    return sampled if direction == "remove" else Reversed(sampled)


def sampled_gaussian(
    sample_rate: float, sigma: float, direction: str = "remove"
) -> PrivacyLossDistribution:
    """Return the Poisson-sampled Gaussian in one direction, see ``poisson_sampled``."""
    return poisson_sampled(Gaussian(1.0 / positive_of(sigma, "sigma")), sample_rate, direction)


def truncated_poisson_sampled(
    base: PrivacyLossDistribution, sample_rate: float, batch_limit: int, population: int
) -> PrivacyLossDistribution:
    """Return the pair of a Poisson sample cut to a uniform subset where it exceeds a limit.

    Parameters
    ----------
    base : PrivacyLossDistribution
        (P, Q) of the mechanism on the batch, P with the record and Q with one in its place that
        contributes nothing.
    sample_rate : float
        q in [0, 1].
    batch_limit : int
        B >= 1.
    population : int
        Number n of records, in [1, 1e12]; the record that contributes nothing is one of them.

    Returns
    -------
    PrivacyLossDistribution
        Direction "remove"; its ``Reversed`` is "add".

    Notes
    -----
    Let T be the other records of the batch. Its law does not depend on the record's contribution,
    so that showing it is a mixture of the pairs given T. Given T the record takes part with
    probability p(T), and the pair is ((1-p) Q + p P, Q).

    * |T| < B-1: the batch was not cut, and p(T) = q by independence.
    * |T| = B: the batch is full without the record, p(T) = 0.
    * |T| = B-1: either the record was not sampled and exactly T were, or it was and survived: with
      R ~ Bin(n-1, q) others sampled, surely if R = B-1, with probability B/(R+1) if R >= B. By
      symmetry among the others, p(T) = q c / (q c + (1-q) P[R = B-1]) with
      c = P[R = B-1] + sum over j >= B of P[R = j] B/(j+1).

    The weights are P[R <= B-2] and q c + (1-q) P[R = B-1]. Data whose records show themselves in
    the output reveal T, hence the pair is the least one.

    Examples
    --------
    >>> from renyi.pld import Gaussian, delta_bounds, sampled_gaussian
    >>> cut = truncated_poisson_sampled(Gaussian(1.0), 0.01, 120, 10_000)
    >>> whole = sampled_gaussian(0.01, 1.0)
    >>> bool(delta_bounds([(cut, 1)], 0.1)[1] > delta_bounds([(whole, 1)], 0.1)[1])
    True
    """
    q = probability_of(sample_rate, "sample_rate")
    limit = _at_least_one(batch_limit, "batch_limit")
    others = _at_least_one(population, "population") - 1
    if limit > others or q == 0.0:
        return PoissonSampled(base, q) if q else NOTHING
    if q == 1.0:  # always cut
        return Mixed((math.nextafter(limit / population, 1.0),), (base,))
    low, high = likely_range(others, q)
    masses = binomial_masses(others, q, low, high)
    counts = np.arange(low, high + 1)
    below = _total(masses[counts <= limit - 2])
    from_limit = _total(masses[counts >= limit - 1])
    if below > 0.5:
        below = 1.0 - from_limit
    exactly = _total(masses[counts == limit - 1])
    over = counts >= limit
    survived = exactly + _total(masses[over] * (limit / (counts[over] + 1.0)))
    taken, missed = q * survived, (1.0 - q) * exactly
    rate, full = taken / (taken + missed) if taken else 1.0, taken + missed
    return Bracketed(
        _by_room(base, q, below, full, rate, up=True),
        _by_room(base, q, below, full, rate, up=False),
    )


def _by_room(
    base: PrivacyLossDistribution, q: float, below: float, full: float, rate: float, up: bool
) -> PrivacyLossDistribution:
    """Return the mixture, rounded; the pair at ``rate`` >= q dominates that at q."""
    factor, least = (_UP, 2.0 * NEGLIGIBLE) if up else (_DOWN, 0.0)
    last = min(full * factor + least, 1.0)
    first = min(below * factor + least, 1.0 - last)
    rate = min(max(rate * (factor * factor), q), 1.0)
    return Mixed((first, last), (PoissonSampled(base, q), PoissonSampled(base, rate)))


def sampled_with_replacement(
    group: Callable[[int], PrivacyLossDistribution], draws: int, population: int
) -> PrivacyLossDistribution:
    """Return the pair of replacing one record of a sample drawn with replacement.

    Parameters
    ----------
    group : callable
        Of k: the pair of the mechanism when k records of the sample are replaced, of equal profile
        both ways, and dominated by that of k + 1.
    draws, population : int
        m and n, at least 1, at most 1e12.

    Notes
    -----
    The record appears K ~ Bin(m, 1/n) times. Given K = k > 0 the samples differ in k records, from
    each other and from one without the record, whose k draws are some of the others. So the
    argument of `Spliced` holds with g = P[K > 0] and the mixture over K given K > 0 as base (Balle,
    Barthe, Gaboardi 2018, arXiv 1807.01647, Theorem 10). Rare numbers of appearances are counted as
    the largest of their group, and for lower bounds as the smallest.

    Examples
    --------
    >>> from renyi.pld import Gaussian, delta_bounds
    >>> pair = sampled_with_replacement(lambda k: Gaussian(2.0 * k), 100, 10_000)
    >>> lower, upper = delta_bounds([(pair, 1)], 0.5)
    >>> bool(0.0 < lower <= upper < lower * (1 + 1e-9))
    True
    """
    draws, population = _at_least_one(draws, "draws"), _at_least_one(population, "population")
    if population == 1:
        return group(draws)
    q = 1.0 / population
    low, high = likely_range(draws, q)
    masses = binomial_masses(draws, q, low, high)
    counts, masses = np.arange(low, high + 1)[masses > 0.0], masses[masses > 0.0]
    counts, masses = counts[counts > 0], masses[counts > 0]
    rate = -math.expm1(draws * math.log1p(-q))
    edges = _group_edges(masses)
    weights = np.array([_total(masses[a:b]) / rate for a, b in edges])
    # Rounded toward more appearances; the likeliest group gets what the others leave.
    likely, place = int(np.argmax(weights)), np.arange(weights.size)
    above = weights * np.where(place > likely, _UP * _UP, _DOWN * _DOWN)
    above[likely] = 0.0
    above[likely] = 1.0 - math.fsum(above)
    largest = [
        group(int(counts[b - 1])) if weight > _SEEN else REVEALED
        for (_, b), weight in zip(edges, weights, strict=True)
    ]
    smallest = [group(int(counts[a])) for a, _ in edges]
    missing = 4.0 * NEGLIGIBLE / rate
    return Bracketed(
        Spliced(Mixed((*above.tolist(), missing), (*largest, REVEALED)), min(rate * _UP, 1.0)),
        Spliced(Mixed((weights * _DOWN * _DOWN).tolist(), smallest), rate * _DOWN),
    )


def _group_edges(masses: Array) -> list[tuple[int, int]]:
    """Divide numbers of appearances into few groups, one each for the likely ones if possible."""
    ends, finer = {0, masses.size}, 0
    for least, groups in ((_LIKELY, _SINGLES), (_SEEN, _RARE)):
        likely = np.flatnonzero(masses > least * masses.max())
        first, last = max(int(likely[0]), finer), int(likely[-1]) + 1
        steps = np.linspace(first, last, min(last - first, groups) + 1)
        ends |= set(np.rint(steps).astype(int).tolist())
        finer = last
    return list(itertools.pairwise(sorted(ends)))


def _total(masses: Array) -> float:
    return min(float(np.sum(masses)), 1.0)


def _at_least_one(value: object, name: str) -> int:
    allowed = "an integer in [1, 10^12]"
    number = count_of(value, name)
    if not 1 <= number <= 10**12:
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return number
