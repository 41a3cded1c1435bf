"""The choice of a strategy and of bands: the noise of each for the same guarantee."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from renyi._validation import integer_of
from renyi.matrix._blt import BLT
from renyi.matrix._inverse import BandedInverse
from renyi.matrix._strategy import PREFIX_SUMS, Loss, Strategy, Workload, loss_of, workload_of
from renyi.matrix._toeplitz import BandedToeplitz
from renyi.matrix._tree import Tree
from renyi.mechanisms.bins import likely_bins, likely_noise
from renyi.mechanisms.participation import (
    ONCE,
    BallsInBins,
    CyclicPoisson,
    FixedEpochs,
    Participation,
    numbers_to_try,
)
from renyi.plot import plain_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_INVERSE_BANDS = 16  # the most bands of an inverse that are fitted
_MOST_BANDS = 512  # the most bands without sampling: each is a buffer of the model's size


class Priced(NamedTuple):
    """A strategy with the noise that a guarantee needs.

    Attributes:
        name: The name in tables.
        strategy: The matrix.
        participation: The steps in which a record takes part, with the stride and blocks for the
            accounting of random bins.
        noise_multiplier: Standard deviation of z over the clipping norm.
        error: Standard deviation of the noise of a query over the clipping norm, by the loss: the
            noise multiplier times the root of the mean or largest of `Strategy.errors`.
    """

    name: str
    strategy: Strategy
    participation: Participation
    noise_multiplier: float
    error: float


def priced(
    name: str,
    strategy: Strategy,
    participation: Participation,
    target_epsilon: float,
    target_delta: float,
    *,
    loss: Loss = "mean",
    workload: Workload = PREFIX_SUMS,
) -> Priced:
    """Return a strategy with the noise for (epsilon, delta), under "zero_out" adjacency.

    Raises:
        ValueError: If the strategy is not covered by the participation.

    >>> row = priced("", BandedToeplitz.optimal(2048, 4), CyclicPoisson(4 / 128, 4), 1.0, 1e-6)
    >>> round(row.error, 2)
    51.1
    """
    from renyi.calibration import calibrate_noise_multiplier
    from renyi.mechanisms import MatrixMechanism

    sensitivity = MatrixMechanism(strategy, 1.0, participation).sensitivity  # or no bound is known
    rate, releases = 1.0, 1
    if isinstance(participation, CyclicPoisson):
        rate, releases = participation.sample_rate, -(-strategy.steps // participation.cycle_length)
    effective = calibrate_noise_multiplier(
        target_epsilon=target_epsilon,
        target_delta=target_delta,
        sample_rate=rate,
        steps=releases,
        adjacency="zero_out",
    )
    # Rounded up by more than MatrixMechanism rounds its quotient down.
    noise = effective * sensitivity * (1.0 + 2.0**-50)
    if isinstance(participation, BallsInBins):  # the noise so far is that for known bins
        participation, noise = _noise_in_bins(
            strategy, participation, noise, target_epsilon, target_delta
        )
    errors = strategy.errors(workload_of(workload))
    variance = float(errors.mean() if loss_of(loss) == "mean" else errors.max())
    return Priced(name, strategy, participation, noise, noise * math.sqrt(variance))


LARGEST_GAIN = 16.0  # the largest gain by secret bins that the search covers


def _noise_in_bins(
    strategy: Strategy, scheme: BallsInBins, known: float, epsilon: float, delta: float
) -> tuple[BallsInBins, float]:
    """Return the noise for records in random bins, from that for known ones.

    The function also returns stride and blocks, the best ones at three quarters of that noise.
    """
    from renyi.accountants import PLDAccountant
    from renyi.calibration import calibrate
    from renyi.mechanisms import MatrixMechanism

    def cost(bins: BallsInBins) -> float:
        run = MatrixMechanism(strategy, 0.75 * known, bins)
        return PLDAccountant(adjacency="zero_out").compose(run).get_epsilon(delta, rtol=1e-2)

    costs = [(cost(bins), bins) for bins in likely_bins(0.75 * known, strategy, scheme)]
    least, best = min(costs, key=lambda pair: pair[0])
    ends = known / LARGEST_GAIN, 0.75 * known, 1.01 * known  # lattices may be wide
    noise = calibrate(
        lambda noise: MatrixMechanism(strategy, noise, best),
        ends[:2] if least <= epsilon else ends[1:],
        target_epsilon=epsilon,
        target_delta=delta,
        tolerance=1e-5,
        adjacency="zero_out",
    )
    return best, noise


def choose_bands(
    target_epsilon: float,
    target_delta: float,
    *,
    population: int,
    batch_size: int,
    steps: int,
    bands: Iterable[int] | None = None,
    loss: Loss = "mean",
    workload: Workload = PREFIX_SUMS,
) -> tuple[Priced, ...]:
    """Return banded Toeplitz strategies on cyclic Poisson samples, with the noise of each.

    With b bands records are in b groups, and each takes part with probability b batch_size /
    population when its group has its turn: more bands give less noise for the same sensitivity, but
    less amplification by sampling. One band is DP-SGD; with as many bands as batches to an epoch
    there is no sampling. The best row is ``min(rows, key=lambda row: row.error)``; `plot_bands`
    draws them.

    Args:
        target_epsilon, target_delta: In (0, inf) and (0, 1).
        population, batch_size, steps: Sizes of the training, each at least 1.
        bands: Numbers of bands to try, each at most population / batch_size; by default that number
            and the powers of 2 below it.
        loss, workload: As for `Strategy.loss`.

    >>> rows = choose_bands(1.0, 1e-6, population=128, batch_size=1, steps=2048, bands=[1, 4, 16])
    >>> [round(row.error, 2) for row in rows], min(rows, key=lambda row: row.error).strategy.bands
    ([54.01, 51.1, 53.17], 4)
    """
    records, size = integer_of(population, "population", 1), integer_of(batch_size, "batch_size", 1)
    length = integer_of(steps, "steps", 1)
    most = min(records // size, length)
    if most < 1:
        raise ValueError(f"batch_size must be an integer in [1, {records}], got {batch_size!r}")
    given = numbers_to_try(most) if bands is None else list(bands)
    how: Any = {"loss": loss, "workload": workload}
    rows = []
    for count in given:
        if integer_of(count, "bands", 1) > most:
            raise ValueError(f"bands must be integers in [1, {most}], got {count!r}")
        strategy = BandedToeplitz.optimal(length, count, **how)
        scheme = CyclicPoisson(min(size * count / records, 1.0), count)
        name = f"{count} band{'s' if count > 1 else ''}"
        rows.append(priced(name, strategy, scheme, target_epsilon, target_delta, **how))
    return tuple(rows)


WORTH_A_PRICE = 1.25  # times the least error that is likely in random bins


def choose_strategy(
    target_epsilon: float,
    target_delta: float,
    *,
    population: int,
    batch_size: int,
    steps: int,
    buffers: int = 4,
    loss: Loss = "mean",
    workload: Workload = PREFIX_SUMS,
) -> tuple[Priced, ...]:
    """Return every kind of noise with every way to sample, the least error first.

    With cyclic samples: independent noise, which is DP-SGD, and the best number of bands. In fixed
    order, where the steps of a record are population / batch_size apart: independent noise, bands
    of the same number (at most 512), buffers, the best number of bands of the inverse, and a tree.
    In random bins that are kept, where an epoch fits into the steps: the same kinds, with any
    number of bands, if they are likely to come near the best. Numbers of bands are powers of 2 and
    the number of batches. The choice is the first row.

    Args:
        target_epsilon, target_delta, population, batch_size, steps, loss, workload: As for
            `choose_bands`.
        buffers: Number of buffers of the `BLT`, in [1, 8].

    >>> rows = choose_strategy(1.0, 1e-6, population=60, batch_size=1, steps=30)
    >>> rows[0].name, rows[-1].name
    ('4 bands, sampled', 'independent, fixed order')
    """
    how: Any = {"loss": loss, "workload": workload}
    sizes: Any = {"population": population, "batch_size": batch_size, "steps": steps}
    sampled = choose_bands(target_epsilon, target_delta, **sizes, **how)
    whole = FixedEpochs(-(-population // batch_size))
    most = min(whole.period, steps, _MOST_BANDS)
    numbers = numbers_to_try(most)
    blt = BLT.optimal(steps, buffers, participation=whole, **how)
    bands = [BandedToeplitz.optimal(steps, count, **how) for count in numbers]
    roots = [BandedInverse.root(steps, count) for count in numbers[1:]]
    short = [count for count in numbers[1:] if count <= _MOST_INVERSE_BANDS]
    fitted = [BandedInverse.optimal(steps, count, participation=whole, **how) for count in short]
    inverse = [*fitted, *roots]
    kinds: list[list[Any]] = [bands, [blt], inverse, [Tree(steps)]]

    def name(strategy: Strategy) -> str:
        if isinstance(strategy, BandedInverse):
            return f"inverse of {strategy.inverse_bands} bands"
        if isinstance(strategy, BandedToeplitz):
            return "independent" if strategy.bands == 1 else f"{strategy.bands} bands"
        return "tree" if isinstance(strategy, Tree) else f"{buffers} buffers"

    def price(strategy: Strategy, scheme: Participation, words: str) -> Priced:
        title = f"{name(strategy)}, {words}"
        return priced(title, strategy, scheme, target_epsilon, target_delta, **how)

    def loss_in_order(strategy: Strategy) -> float:
        return strategy.loss(loss, whole, workload)

    fixed = [bands[0], *(min(kind, key=loss_in_order) for kind in kinds)]
    rows = [price(strategy, whole, "fixed order") for strategy in dict.fromkeys(fixed)]
    if whole.period <= steps:
        bins = BallsInBins(whole.period)
        one = rows[0].noise_multiplier / rows[0].strategy.sensitivity(whole)

        def likely(strategy: Strategy) -> float:
            known = one * strategy.sensitivity(whole)
            noise = likely_noise(strategy, bins, target_epsilon, target_delta, 2.0 * known)
            return noise * strategy.loss(loss, ONCE, workload) / strategy.column_norm

        best = [min((likely(strategy), k) for k, strategy in enumerate(kind)) for kind in kinds]
        limit = WORTH_A_PRICE * min(error for error, _ in best)
        rows += [
            price(kind[k], bins, "balls in bins")
            for kind, (error, k) in zip(kinds, best, strict=True)
            if error <= limit
        ]
    few = min(sampled[1:] or sampled, key=lambda row: row.error)
    rows += [
        row._replace(name=f"{name(row.strategy)}, sampled")
        for row in {sampled[0].name: sampled[0], few.name: few}.values()
    ]
    return tuple(sorted(rows, key=lambda row: row.error))


def plot_bands(rows: Iterable[Priced], *, ax: Axes | None = None) -> Axes:
    """Draw the error over the number of bands, on logarithmic axes; needs matplotlib.

    Args:
        rows: The rows from `choose_bands`.
        ax: The axes to draw on; by default those of a new figure.
    """
    from matplotlib.figure import Figure

    found = tuple(rows)
    axes = Figure(figsize=(6.4, 4.0), layout="constrained").add_subplot() if ax is None else ax
    best = min(found, key=lambda row: row.error)
    axes.plot([row.strategy.bands for row in found], [row.error for row in found], marker="o")
    axes.plot([best.strategy.bands], [best.error], marker="*", markersize=14, color="#D55E00")
    axes.set(
        xscale="log", yscale="log", xlabel="bands", ylabel="noise of the queries / clipping norm"
    )
    plain_ticks(axes.xaxis, axes.yaxis)
    return axes
