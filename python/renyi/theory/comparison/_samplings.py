"""One run under every way to draw its batches, side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from renyi._figure import plain_ticks
from renyi._validation import integer_of, real_of
from renyi.accountants import Adjacency, PLDAccountant
from renyi.mechanisms import (
    FixedAllocation,
    FixedSizeSampled,
    Gaussian,
    Mechanism,
    PoissonSampled,
    RandomAllocation,
    ShuffledBatches,
    TruncatedPoissonSampled,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["SamplingRow", "compare_samplings", "plot_samplings"]

DEVIATIONS = 10  # by which the limit of truncated samples exceeds the batch size
RTOL = 1e-4  # of what lattices answer
LABELS = {
    "poisson": "Poisson",
    "truncated_poisson": "truncated Poisson",
    "balls_in_bins": "balls in bins",
    "balls_in_bins_once": "balls in bins, drawn once",
    "shuffled": "shuffled",
    "fixed_size": "fixed size",
}


@dataclass(frozen=True)
class SamplingRow:
    """What a run costs under one way to draw its batches.

    Attributes
    ----------
    sampling : str
        Its name.
    label : str
        The same for people.
    adjacency : str
        Which data sets are neighbours.
    lower, upper : float
        Ends of a certified bracket of epsilon.
    """

    sampling: str
    label: str
    adjacency: Adjacency
    lower: float
    upper: float


def compare_samplings(
    population: int,
    batch_size: int,
    *,
    noise_multiplier: float,
    epochs: int,
    delta: float,
) -> tuple[SamplingRow, ...]:
    """Return epsilon of the same training run under every way to draw its batches.

    Parameters
    ----------
    population : int
        Number of records.
    batch_size : int
        Of a batch, at most ``population``.
    noise_multiplier : float
        Of the noise added to each batch, in (0, inf).
    epochs : int
        Passes over the data, at least 1.
    delta : float
        In (0, 1).

    Returns
    -------
    tuple of SamplingRow
        For "fixed_size" where one record is replaced, which hides it behind half the noise; for
        "shuffled" where one contributes nothing instead; for the others where one is there or not.
        "truncated_poisson" has batches of up to 10 standard deviations more than ``batch_size``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> rows = compare_samplings(60_000, 600, noise_multiplier=1.0, epochs=1, delta=1e-5)
    >>> [(row.sampling, round(row.upper, 3)) for row in rows[:3]]
    [('poisson', 0.718), ('truncated_poisson', 0.718), ('balls_in_bins', 0.621)]
    """
    records = integer_of(population, "population", 1)
    size, passes = integer_of(batch_size, "batch_size", 1), integer_of(epochs, "epochs", 1)
    if size > records:
        raise ValueError(f"batch_size must be an integer in [1, {records}], got {batch_size!r}")
    noise = real_of(noise_multiplier, "noise_multiplier", "a number in (0, inf)")
    base, batches, rate = Gaussian(noise), -(-records // size), size / records
    steps = math.ceil(passes * records / size)
    limit = min(size + math.ceil(DEVIATIONS * math.sqrt(size)), records)
    runs: dict[str, tuple[Mechanism, int, Adjacency]] = {
        "poisson": (PoissonSampled(base, rate), steps, "add_remove"),
        "truncated_poisson": (
            TruncatedPoissonSampled(base, rate, limit, records),
            steps,
            "add_remove",
        ),
        "balls_in_bins": (RandomAllocation(base, batches), passes, "add_remove"),
        "balls_in_bins_once": (FixedAllocation(base, batches, passes), 1, "add_remove"),
        "shuffled": (ShuffledBatches(base, batches), passes, "zero_out"),
        "fixed_size": (FixedSizeSampled(base, size, records), steps, "replace_one"),
    }
    return tuple(
        SamplingRow(name, LABELS[name], adjacency, *_bounds(part, count, adjacency, delta))
        for name, (part, count, adjacency) in runs.items()
    )


def _bounds(
    mechanism: Mechanism, count: int, adjacency: Adjacency, delta: float
) -> tuple[float, float]:
    accountant = PLDAccountant(adjacency=adjacency).compose(mechanism, count)
    return accountant.get_epsilon_bounds(delta, rtol=RTOL)


def plot_samplings(
    epochs: Sequence[int], rows: Sequence[Sequence[SamplingRow]], *, ax: Axes | None = None
) -> Axes:
    """Draw epsilon against the number of epochs, on logarithmic axes.

    Parameters
    ----------
    epochs : sequence of int
        Rising.
    rows : sequence of sequence of SamplingRow
        What `compare_samplings` returned for each.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        With a line for each way to draw batches; between the ends of a wide bracket it is filled.

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        If the lengths differ.
    """
    if len(epochs) != len(rows) or not rows:
        raise ValueError(f"rows must be a tuple for each of {len(epochs)} epochs, got {len(rows)}")
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(layout="constrained").add_subplot()
    styles = ("-", "--", "-", "-.", "-", ":")
    for i, (columns, style) in enumerate(zip(zip(*rows, strict=True), styles, strict=True)):
        lower, upper = [row.lower for row in columns], [row.upper for row in columns]
        name = f"{columns[0].label} ({columns[0].adjacency.replace('_', ' ')})"
        if any(high > 1.05 * low for low, high in zip(lower, upper, strict=True)):
            name = f"{name}, a bracket"
            ax.fill_between(epochs, lower, upper, color=f"C{i}", alpha=0.2, linewidth=0)
        ax.plot(epochs, upper, style, color=f"C{i}", label=name)
    ax.set(xscale="log", yscale="log", xlabel="epochs", ylabel="ε")
    ax.legend(fontsize="small")
    plain_ticks(ax.xaxis, ax.yaxis)
    return ax
