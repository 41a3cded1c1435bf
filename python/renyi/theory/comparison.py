"""The ways to account for DP-SGD side by side: methods, the noise they need, ways to draw batches.

Figures need matplotlib, the extra ``[plot]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from renyi._adjacency import Adjacency
from renyi._search import least_argument
from renyi._validation import (
    BETWEEN,
    FINITE_POSITIVE,
    RATE,
    check_one_missing,
    delta_of,
    epsilon_of,
    integer_of,
    number_in,
    uses_of,
)
from renyi.accountants import PLDAccountant, RDPAccountant
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
from renyi.plot import plain_ticks
from renyi.theory.indistinguishability import Guarantee
from renyi.theory.routes import advanced_route, full_batch_route, moment_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["METHODS", "compare", "compare_samplings", "plot_comparison"]
__dir__ = __all__.copy

_LEAST, _MOST, _TOLERANCE = 0.05, 1e6, 1e-4  # range and accuracy of noise multipliers
_DEVIATIONS = 10  # by which the limit of truncated samples exceeds the batch size
_RTOL = 1e-4  # relative accuracy of lattices
_EITHER = "poisson or fixed_size", "add_remove (poisson) or replace_one (fixed_size)"
_POISSON = "poisson", "add_remove"


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one method for one run; ``found`` names the number that was computed.

    It holds for ``adjacency`` and ``sampling``, and the noise multiplier is the standard deviation
    of the noise over the sensitivity of that adjacency.
    """

    method: str
    label: str
    noise_multiplier: float
    epsilon: float
    delta: float
    sampling: str
    adjacency: str
    found: Literal["noise_multiplier", "epsilon", "delta"]


@dataclass(frozen=True)
class SamplingRow:
    """A certified bracket of epsilon of a run for one way to draw its batches."""

    sampling: str
    label: str
    adjacency: Adjacency
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Run:
    """A run of DP-SGD."""

    noise: float
    rate: float
    steps: int

    @property
    def epochs(self) -> int:
        """Steps times rate, rounded up unless it is an integer up to the rounding of the rate."""
        return max(math.ceil(self.steps * self.rate * (1.0 - 2.0**-50)), 1)


@dataclass(frozen=True, slots=True)
class Method:
    """A method with its sampling and adjacency, and its guarantee for a run."""

    label: str
    sampling: str
    adjacency: str
    guarantee: Callable[..., Any]


def _accounted(
    account: RDPAccountant | PLDAccountant,
    run: Run,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
) -> Guarantee:
    account.compose(PoissonSampled(Gaussian(run.noise), run.rate), run.steps)
    if epsilon is not None:
        return Guarantee(epsilon, account.get_delta(epsilon))
    return Guarantee(account.get_epsilon(delta_of(delta)), delta_of(delta))


METHODS: dict[str, Method] = {
    "full_batch": Method(
        "every epoch one step with all data",
        "none",
        "any",
        lambda run, **given: full_batch_route(run.noise, run.epochs, **given),
    ),
    "advanced": Method(
        "subsampling, advanced composition",
        *_EITHER,
        lambda run, **given: advanced_route(run.rate, run.noise, run.steps, **given),
    ),
    "optimal": Method(
        "subsampling, optimal composition",
        *_EITHER,
        lambda run, **given: advanced_route(
            run.rate, run.noise, run.steps, step="exact", composition="optimal", **given
        ),
    ),
    "moment_bound": Method(
        "moments, bounded by C(c1, c2)",
        *_POISSON,
        lambda run, **given: moment_bound(run.rate, run.noise, run.steps, **given),
    ),
    "moments": Method(
        "moments, best real order",
        *_POISSON,
        lambda run, **given: _accounted(RDPAccountant(conversion="mironov"), run, **given),
    ),
    "rdp": Method(
        "Rényi-DP, optimal conversion",
        *_POISSON,
        lambda run, **given: _accounted(RDPAccountant(), run, **given),
    ),
    "exact": Method(
        "exact curve", *_POISSON, lambda run, **given: _accounted(PLDAccountant(), run, **given)
    ),
}
"""The methods by name, in the order of the tables."""


def compare(
    sample_rate: float,
    noise_multiplier: float | None,
    steps: int,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    methods: Iterable[str] | None = None,
) -> tuple[Row, ...]:
    """Account for one run of DP-SGD by several methods.

    Args:
        sample_rate: The probability with which a record enters a step, in (0, 1].
        noise_multiplier: Standard deviation of the noise over the sensitivity of one record, in (0,
            inf). None: every method gives the noise for which it proves both epsilon and delta.
        steps: From 1 to 10^9.
        epsilon: In [0, inf]; every method gives its delta. In (0, inf) without a noise multiplier.
        delta: In [0, 1]; every method gives its epsilon. Either epsilon or delta has to be given,
            or both without a noise multiplier, then delta in (0, 1).
        methods: Names from `METHODS`; by default all:

            "full_batch"
                as many steps with all of the data as there are epochs, rounded up, by the Legendre
                transform: another algorithm, without sampling
            "advanced"
                tail bound of a step, subsampling theorem, advanced composition, the best epsilon of
                a step
            "optimal"
                the same with the exact curve of a step and the optimal composition
            "moment_bound"
                moments bounded by the constant C(c1, c2), the best c2
            "moments"
                exact moments, the best real order: the moments accountant
            "rdp"
                the same moments by the optimal conversion
            "exact"
                the exact privacy curve

    Returns:
        Rows in the order of ``methods``, each with ``method``, ``label``, ``noise_multiplier``,
        ``epsilon``, ``delta``, ``sampling`` and ``adjacency``. Computed numbers are rounded up, and
        1 or infinity where a method gives nothing. The adjacencies of the rows differ. A noise
        multiplier that was searched for proves the target, and one smaller by a relative 1e-4 did
        not, unless it is 0.05, the smallest that is tried; it is infinity if none up to 10^6
        suffices.

    Source: "Great but Manageable Expectations" asks for this comparison: of "advanced",
    "full_batch" and "moment_bound", delta_1 to delta_3 there, and by the noise they permit.

    >>> for row in compare(0.01, 4.0, 1000, epsilon=1.0, methods=("full_batch", "exact")):
    ...     print(f"{row.label}, {row.sampling}: {row.delta:.2g}")
    every epoch one step with all data, none: 0.69
    exact curve, poisson: 1e-34
    >>> target = {"epsilon": 1.0, "delta": 1e-5}
    >>> for row in compare(0.01, None, 1000, **target, methods=("moments", "exact")):
    ...     print(f"{row.method:9}{row.noise_multiplier:.3f}")
    moments  1.769
    exact    1.415
    """
    rate = number_in(sample_rate, "sample_rate", RATE)
    count = uses_of(steps, "steps", 1)
    found: Literal["noise_multiplier", "epsilon", "delta"]
    if noise_multiplier is None:
        target = number_in(epsilon, "epsilon", FINITE_POSITIVE)
        chance = number_in(delta, "delta", BETWEEN)
        found = "noise_multiplier"

        def answer(method: Method) -> tuple[float, float, float]:
            def met(noise: float) -> bool:
                spent = method.guarantee(Run(noise, rate, count), delta=chance).epsilon
                return bool(spent <= target)

            return least_argument(met, _LEAST, _MOST, _TOLERANCE), target, chance
    else:
        run = Run(number_in(noise_multiplier, "noise_multiplier", FINITE_POSITIVE), rate, count)
        check_one_missing(epsilon=epsilon, delta=delta)
        found = "epsilon" if epsilon is None else "delta"
        given = {"delta": delta_of(delta)} if epsilon is None else {"epsilon": epsilon_of(epsilon)}

        def answer(method: Method) -> tuple[float, float, float]:
            guarantee = method.guarantee(run, **given)
            return run.noise, float(guarantee.epsilon), float(guarantee.delta)

    return tuple(
        Row(name, method.label, *answer(method), method.sampling, method.adjacency, found)
        for name, method in ((name, METHODS[name]) for name in _names_of(methods))
    )


def _names_of(methods: Iterable[str] | None) -> tuple[str, ...]:
    if methods is None:
        return tuple(METHODS)
    allowed = f"methods must be a sequence of names among {', '.join(map(repr, METHODS))}"
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        raise TypeError(f"{allowed}, got {methods!r}")
    names = tuple(methods)
    for name in names:
        if name not in tuple(METHODS):
            raise ValueError(f"{allowed}, got {name!r}")
    return names


def compare_samplings(
    population: int, batch_size: int, *, noise_multiplier: float, epochs: int, delta: float
) -> tuple[SamplingRow, ...]:
    """Return epsilon of the same training run under every way to draw its batches.

    Args:
        population: Number of records.
        batch_size: Size of a batch, at most ``population``.
        noise_multiplier: Multiplier of the noise of each batch, in (0, inf).
        epochs: Passes over the data, at least 1.
        delta: In (0, 1).

    Returns:
        Rows with ``sampling``, ``label``, ``adjacency`` and the ends ``lower`` and ``upper`` of
        epsilon. In "fixed_size" one record is replaced, which halves the relative noise; in
        "shuffled" one record contributes nothing instead; in the others one record is added or
        removed. "truncated_poisson" has batches of up to 10 standard deviations more than
        ``batch_size``.

    >>> rows = compare_samplings(60_000, 600, noise_multiplier=1.0, epochs=1, delta=1e-5)
    >>> [(row.sampling, round(row.upper, 3)) for row in rows[:3]]
    [('poisson', 0.718), ('truncated_poisson', 0.718), ('balls_in_bins', 0.621)]
    """
    records = integer_of(population, "population", 1)
    size, passes = integer_of(batch_size, "batch_size", 1), integer_of(epochs, "epochs", 1)
    if size > records:
        raise ValueError(f"batch_size must be an integer in [1, {records}], got {batch_size!r}")
    noise = number_in(noise_multiplier, "noise_multiplier", FINITE_POSITIVE)
    base, batches, rate = Gaussian(noise), -(-records // size), size / records
    steps = -(-passes * records // size)
    limit = min(size + math.ceil(_DEVIATIONS * math.sqrt(size)), records)
    truncated = TruncatedPoissonSampled(base, rate, limit, records)
    runs: tuple[tuple[str, str, Mechanism, int, Adjacency], ...] = (
        ("poisson", "Poisson", PoissonSampled(base, rate), steps, "add_remove"),
        ("truncated_poisson", "truncated Poisson", truncated, steps, "add_remove"),
        ("balls_in_bins", "balls in bins", RandomAllocation(base, batches), passes, "add_remove"),
        (
            "balls_in_bins_once",
            "balls in bins, drawn once",
            FixedAllocation(base, batches, passes),
            1,
            "add_remove",
        ),
        ("shuffled", "shuffled", ShuffledBatches(base, batches), passes, "zero_out"),
        ("fixed_size", "fixed size", FixedSizeSampled(base, size, records), steps, "replace_one"),
    )
    rows = []
    for name, label, mechanism, count, adjacency in runs:
        account = PLDAccountant(adjacency=adjacency).compose(mechanism, count)
        ends = account.get_epsilon_bounds(delta, rtol=_RTOL)
        rows.append(SamplingRow(name, label, adjacency, *ends))
    return tuple(rows)


def plot_comparison(
    places: Sequence[int],
    rows: Sequence[Sequence[Row]] | Sequence[Sequence[SamplingRow]],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the compared numbers against the number of steps or epochs, on logarithmic axes.

    Args:
        places: Increasing numbers of steps, or of epochs for `compare_samplings`.
        rows: The results of `compare`, all of one kind, or of `compare_samplings` for each place.
        ax: The axes to draw on; by default those of a new figure.

    Returns:
        The axes, with a line for each method, which ends where the method gives nothing; or with a
        line for each way to draw batches, filled between the ends of a wide bracket.

    Raises:
        ImportError: Without matplotlib.

    >>> steps = [10, 100, 1000]
    >>> rows = [compare(0.01, 2.0, count, delta=1e-5) for count in steps]
    >>> axes = plot_comparison(steps, rows)  # doctest: +SKIP
    """
    if len(places) != len(rows) or not rows:
        raise ValueError(f"rows must be a tuple for each of {len(places)} places, got {len(rows)}")
    if isinstance(rows[0][0], SamplingRow):
        return _plot_samplings(places, rows, ax)  # type: ignore[arg-type]
    return _plot_methods(places, rows, ax)  # type: ignore[arg-type]


def _plot_methods(steps: Sequence[int], rows: Sequence[Sequence[Row]], ax: Axes | None) -> Axes:
    from renyi.plot import Kind, Line, draw_privacy_curves

    wanted = rows[0][0].found
    lines = []
    for k, row in enumerate(rows[0]):
        found = np.array([getattr(part[k], wanted) for part in rows])
        useful = np.isfinite(found) & ((found < 1.0) | (wanted != "delta"))
        if not useful.any() and wanted != "noise_multiplier":
            continue
        y = np.where(useful, found, np.nan)
        run = list(METHODS)[::-1].index(row.method)
        kind: Kind = "exact" if row.method == "exact" else "renyi"
        lines.append(Line(np.array(steps), y, row.label, kind, run))
    axes = draw_privacy_curves(lines, ax)
    axes.autoscale(axis="y")
    axes.set_xscale("log")
    axes.set_xlim(steps[0], steps[-1])
    axes.set_xlabel("steps")
    labels = {"epsilon": "privacy parameter ε (nats)", "noise_multiplier": "noise multiplier σ"}
    if wanted in labels:
        axes.set_ylabel(labels[wanted])
    plain_ticks(axes.xaxis, axes.yaxis)
    return axes


def _plot_samplings(
    epochs: Sequence[int], rows: Sequence[Sequence[SamplingRow]], ax: Axes | None
) -> Axes:
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


def steps_grid(last: int, points: int = 25) -> list[int]:
    """Return about ``points`` whole numbers from 1 to ``last``, evenly spaced in the logarithm.

    >>> steps_grid(1000, 4)
    [1, 10, 100, 1000]
    """
    grid = np.geomspace(1.0, uses_of(last, "last", 1), integer_of(points, "points", 1))
    return sorted({*np.round(grid).astype(int).tolist(), last})
