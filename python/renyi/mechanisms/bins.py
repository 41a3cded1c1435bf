"""Random bins: mechanisms that bound a run of correlated noise, and how they are chosen.

Let G be the Gram matrix of the moves of a record in its b possible bins, and X Gaussian with
covariance G / sigma^2. The ratio of likelihoods with and without the record is the mean of
exp(X_j - Var X_j / 2) (2410.06266, Lemma 3.2, for C >= 0). Expectations of convex functions of the
ratio rise with every entry of G (Kahane 1985). With all diagonal entries set to d and all others to
rho, the ratio is that of a Gaussian release of noise sigma / sqrt(rho) and an allocation to b bins
of noise sigma / sqrt(d - rho). If the bin is published modulo a stride, at least b // stride bins
remain, so far apart, and more bins cost less (Jensen's inequality). Adjacent bins share more than
others: with the entries of each block of bins raised to one number and the entries between blocks
to a smaller one, the ratio is that of a release, and of an allocation to blocks of a release and an
allocation to bins. For a lower bound the entries are lowered the same way, and nothing is
published.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from renyi.mechanisms._epochs import RandomAllocation
from renyi.mechanisms._noise import Gaussian
from renyi.mechanisms.algebra import Composed, Mechanism
from renyi.mechanisms.participation import BallsInBins, Overlaps, StrategyMatrix, numbers_to_try

Array = npt.NDArray[np.float64]

Levels = list[tuple[int, float]]  # (number of parts, shared entry of G), blocks before their bins


@lru_cache(maxsize=16)
def overlaps_of(strategy: StrategyMatrix, batches: int) -> Overlaps:
    """Return the overlaps of a strategy, cached: a calibration tries many noises with one."""
    return strategy.overlaps(batches)


def bounds_of_bins(noise: float, overlaps: Overlaps, scheme: BallsInBins) -> tuple[Mechanism, ...]:
    """Return mechanisms that each dominate a run whose records are in random bins.

    These are the best of all strides at each order, the two most promising with blocks, and the
    Gaussian for known bins: it costs next to no time, and lattices may fail with little noise.
    """
    own, noise = overlaps.own_most, noise / overlaps.unit
    plain, nested = _levels_to_try(noise, overlaps, scheme)
    moments = np.array([_approximate_moment(noise, own, levels) for _, levels in plain])
    best = sorted({*moments.argmin(axis=0).tolist(), len(plain) - 1}) if plain else []
    chosen = [*(plain[k] for k in best), *nested[:2]]
    return tuple(_allocated(noise, own, levels) for _, levels in chosen)


def likely_bins(noise: float, strategy: StrategyMatrix, scheme: BallsInBins) -> list[BallsInBins]:
    """Return the scheme with every stride, and with six promising ones of blocks."""
    overlaps = overlaps_of(strategy, scheme.batches)
    plain, nested = _levels_to_try(noise / overlaps.unit, overlaps, scheme)
    return [parts for parts, _ in [*plain, *nested[:6]]]


def likely_noise(
    strategy: StrategyMatrix, scheme: BallsInBins, epsilon: float, delta: float, most: float
) -> float:
    """Return roughly the noise for (epsilon, delta), at most ``most``: it proves nothing."""
    overlaps = overlaps_of(strategy, scheme.batches)
    every = [_levels_above(overlaps, *parts) for parts in _parts_to_try(scheme)]
    low, high = 0.1 * most, most
    for _ in range(10):
        noise = math.sqrt(low * high)
        moments = np.array(
            [_approximate_moment(noise / overlaps.unit, overlaps.own_most, one) for one in every]
        )
        enough = ((moments - math.log(delta)) / (ORDERS - 1.0)).min() <= epsilon
        low, high = (low, noise) if enough else (noise, high)
    return high


LIKELY = 14.0  # -log of the delta, about a millionth, for which bounds are chosen


def _levels_to_try(
    noise: float, overlaps: Overlaps, scheme: BallsInBins
) -> tuple[list[tuple[BallsInBins, Levels]], list[tuple[BallsInBins, Levels]]]:
    """Return each publication with its bounds: strides, then blocks, most promising first."""

    def promised(row: tuple[BallsInBins, Levels]) -> float:
        moment = _approximate_moment(noise, overlaps.own_most, row[1])
        return float(((moment + LIKELY) / (ORDERS - 1.0)).min())

    every = [
        (BallsInBins(scheme.batches, stride, size), _levels_above(overlaps, size, stride))
        for size, stride in _parts_to_try(scheme)
    ]
    nested = [row for row in every if row[0].block > 1]
    return [row for row in every if row[0].block == 1], sorted(nested, key=promised)


def _parts_to_try(scheme: BallsInBins) -> list[tuple[int, int]]:
    """Return sizes of blocks with strides: those of the scheme, or else powers of 2."""
    bins = scheme.batches
    if scheme.stride is not None:
        return [(scheme.block, scheme.stride)]
    nested = [
        (size, stride)
        for size in numbers_to_try(bins)[1:-1]
        if bins % size == 0
        for stride in numbers_to_try(bins // size)[:-1]
    ]
    return [*((1, stride) for stride in numbers_to_try(bins)), *nested]


def _levels_above(overlaps: Overlaps, size: int, stride: int) -> Levels:
    """Return upper bounds if the number of the block modulo the stride is published."""
    most = overlaps.shared_most
    bins = len(most) + 1
    blocks = bins // size // stride
    apart = stride * size
    shared = max(
        (max(most[lag - size : lag + size - 1]) for lag in range(apart, bins, apart)), default=0.0
    )
    if size == 1:
        return [(blocks, shared)]
    return [(blocks, shared), (size, max(shared, *most[: size - 1]))]


def bound_of_bins_below(noise: float, overlaps: Overlaps, batches: int) -> Mechanism:
    """Return a mechanism that a run whose records are in random bins dominates, if they align.

    It has the block size with the largest moment at the order that likely matters.
    """
    up = noise / overlaps.unit * (1.0 + 2.0**-40)  # exceeds all that is rounded down on the way
    own, least = overlaps.own_least, overlaps.shared_least
    shared = min((own, *least))
    every: list[Levels] = [[(batches, shared)]]
    for size in numbers_to_try(batches)[1:-1]:
        if batches % size == 0:
            every.append([(batches // size, shared), (size, min((own, *least[: size - 1])))])
    moments = np.array([_approximate_moment(up, own, levels) for levels in every])
    order = int(((moments[0] + LIKELY) / (ORDERS - 1.0)).argmin())
    return _allocated(up, own, every[int(moments[:, order].argmax())])


def _allocated(noise: float, own: float, levels: Levels) -> Mechanism:
    """Return the release of the shared part, and the allocation of the rest; noise rounded down."""
    if not levels:
        return Gaussian(_over_root(noise, own))
    (count, shared), *deeper = levels
    if count == 1:
        return _allocated(noise, own, deeper)
    shared = min(shared, own)
    parts: list[Mechanism] = []
    if shared > 0.0:
        parts.append(Gaussian(_over_root(noise, shared)))
    if own > shared:
        rest = [(n, _difference(more, shared)) for n, more in deeper]
        inner = _allocated(noise, _difference(own, shared), rest)
        parts.append(RandomAllocation(inner, count))
    return parts[0] if len(parts) == 1 else Composed(*parts)


def _difference(more: float, less: float) -> float:
    """Return more - less, rounded up, or 0 where that is negative."""
    return math.nextafter(more - less, math.inf) if more > less else 0.0


def _over_root(noise: float, square: float) -> float:
    return over(noise, math.nextafter(math.sqrt(square), math.inf))


ORDERS = 1.0 + np.geomspace(0.1, 1000.0, 40)


def _approximate_moment(noise: float, own: float, levels: Levels) -> Array:
    """Return roughly log E_Q R^order at `ORDERS`, to choose between bounds; it proves nothing."""
    if not 0.0 < noise < math.inf:
        return np.zeros(ORDERS.size)
    return _moment(ORDERS, own / noise**2, [(n, more / noise**2) for n, more in levels])


def _moment(orders: Array, own: float, levels: Levels) -> Array:
    pairs = 0.5 * orders * (orders - 1.0)
    if not levels:
        return pairs * own
    (count, shared), *deeper = levels
    if count == 1:
        return _moment(orders, own, deeper)
    rest, more = max(own - shared, 0.0), [(n, max(s - shared, 0.0)) for n, s in deeper]
    second = float(_moment(np.array([2.0]), rest, more)[0])
    rare = np.log1p(2.0 * pairs * math.expm1(min(second, 500.0)) / count)
    often = _moment(orders, rest, more) - (orders - 1.0) * math.log(count)
    return pairs * min(shared, own) + np.logaddexp(rare, often)


def over(noise: float, sensitivity: float) -> float:
    """Return noise / sensitivity, rounded down."""
    ratio = noise / sensitivity
    return math.nextafter(ratio, 0.0) if ratio > 0.0 and noise < math.inf else ratio
