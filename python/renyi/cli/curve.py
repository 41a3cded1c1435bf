"""renyi curve: the whole privacy curve or trade-off function, as a table or a figure."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from renyi._adjacency import CONVERSIONS
from renyi._rounding import round_down, round_up
from renyi.cli import guarantee, output, runs
from renyi.cli.options import MAX_VALUES, UsageError
from renyi.cli.output import Column

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from renyi.plot import Kind, Line
    from renyi.tradeoff import GaussianLimit

    Array = npt.NDArray[np.float64]

Run = dict[str, Any]

ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
ROWS = 12  # about the number of rows of a table
CHUNK = 8  # points between two movements of the progress bar
DRAWN_RTOL = 1e-4  # relative accuracy of numbers that only lattices give


def curve(options: argparse.Namespace) -> int:
    """Delta against epsilon, or type II error against type I error."""
    runs.require(options, "noise_multiplier")
    _check(options)
    options.accountant, options.orders, options.conversion = "pld", None, CONVERSIONS[0]
    every = runs.every(options)
    if options.points is not None and len(every) * options.points > MAX_VALUES:
        raise UsageError(
            f"--points must give at most {MAX_VALUES:,} rows in all, got {options.points} for each "
            f"of {len(every)} runs"
        )
    if options.tradeoff and not _is_fast(options, every):
        raise UsageError(
            "--tradeoff with --adjacency replace_one needs --sample-rate 1: with sampling it takes "
            "many minutes"
        )
    output.check_figure(options, len(every))
    x, y = ("alpha", "beta") if options.tradeoff else ("epsilon", "delta")
    with output.waiting("range of epsilon"):
        grids = [_alphas(options)] * len(every) if options.tradeoff else _epsilons(options, every)
    size = max(map(len, grids)) if options.tradeoff else CHUNK  # errors share one interpolant
    chunks = [
        (i, grid[start : start + size])
        for i, grid in enumerate(grids)
        for start in range(0, len(grid), size)
    ]
    curves = [_curves(options, run) for run in every]
    rows: list[list[Run]] = [[] for _ in every]
    with output.waiting("curve") if len(chunks) == 1 else nullcontext():
        for i, part in output.progress(chunks, unit="part"):
            values = {key: function(part) for key, function in curves[i].items()}
            for k, place in enumerate(part):
                numbers = {key: float(column[k]) for key, column in values.items()}
                rows[i].append({**every[i], x: place, **numbers})
    if options.plot or options.show:
        draw_curves(options, rows)
    records = [record for part in rows for record in part]
    facts = {
        **guarantee.data_facts(options),
        "curve": "tradeoff" if options.tradeoff else "privacy",
    }
    if not (guarantee.emit_data(options, records, facts) or output.figure_written(options)):
        _print_table(options, every, records, x, y)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    if options.tradeoff and options.epsilon is not None:
        raise UsageError("--tradeoff excludes --epsilon: it takes --alpha, the type I errors")
    if not options.tradeoff and options.alpha is not None:
        raise UsageError("--alpha needs --tradeoff: the privacy curve takes --epsilon")
    if options.points is not None:
        for flag, values in (("--epsilon", options.epsilon), ("--alpha", options.alpha)):
            if values is not None:
                raise UsageError(f"--points excludes {flag}: the list says how many")
    if options.compare and options.adjacency == "replace_one":
        raise UsageError("--compare has no --adjacency replace_one")


def _alphas(options: argparse.Namespace) -> list[float]:
    if options.alpha is not None:
        return sorted(map(float, options.alpha))
    if options.points is not None:
        return [k / (options.points - 1) for k in range(options.points)]
    if options.plot or options.show:
        from renyi.plot import POINTS, alpha_grid

        return [float(alpha) for alpha in alpha_grid(POINTS)]
    return list(ALPHAS)


def _epsilons(options: argparse.Namespace, every: Sequence[Run]) -> list[list[float]]:
    """Return the epsilons of each run, up to where its delta is negligible."""
    from renyi.plot import POINTS

    if options.epsilon is not None:
        return [sorted(map(float, options.epsilon))] * len(every)
    ends = [_end(options, run) for run in every]
    points = options.points
    if points is None and not (options.plot or options.show):
        step = _round_step(max(ends) / ROWS)
        return [
            [float(f"{k * step:.12g}") for k in range(math.ceil(end / step) + 1)] for end in ends
        ]
    if points is None:
        points = POINTS if _is_fast(options, every) else POINTS // 5
    tops = [float(round_up(end, 2)) for end in ends]
    return [[float(f"{top * k / (points - 1):.12g}") for k in range(points)] for top in tops]


def _round_step(least: float) -> float:
    """Return 1, 2 or 5 times a power of ten, the smallest that is not below ``least``."""
    power = math.floor(math.log10(least))
    return next(float(f"{d}e{power}") for d in (1, 2, 5, 10) if float(f"{d}e{power}") >= least)


def _is_fast(options: argparse.Namespace, every: Sequence[Run]) -> bool:
    """Return whether inversion suffices; replaced records in sampled batches need lattices."""
    return options.adjacency != "replace_one" or all(run["sample_rate"] == 1.0 for run in every)


def _end(options: argparse.Namespace, run: Run) -> float:
    """Return the epsilon at which the delta of a curve is negligible."""
    from renyi.plot import SMALLEST_DELTA, largest_epsilon

    account = runs.curve_accountant(options, run)
    if _is_fast(options, [run]):
        return largest_epsilon(account)
    return account.get_epsilon_bounds(SMALLEST_DELTA, rtol=1e-2)[1]


def _curves(
    options: argparse.Namespace, run: Run
) -> dict[str, Callable[[list[float]], Sequence[float]]]:
    """Return the columns of one run: its exact curve, and the curves it is compared with."""
    import numpy as np

    from renyi import special

    name = "beta" if options.tradeoff else "delta"
    exact, renyi = runs.curve_accountant(options, run), runs.renyi_accountant(options, run)

    def of(account: Any) -> Callable[[list[float]], Any]:
        return lambda at: getattr(account, f"get_{name}")(np.array(at))

    columns = {name: of(exact)}
    if not options.tradeoff and not _is_fast(options, [run]):
        columns[name] = lambda at: [exact.get_delta_bounds(x, rtol=DRAWN_RTOL)[1] for x in at]
    if "rdp" in options.compare:
        columns[f"{name}_rdp"] = of(renyi)
    if "gdp" in options.compare:
        mu = limit_of(options, run).mu
        law = special.gaussian_tradeoff if options.tradeoff else special.gaussian_delta
        columns[f"{name}_gdp"] = lambda at: law(mu, np.array(at))
    return columns


def limit_of(options: argparse.Namespace, run: Run) -> GaussianLimit:
    """Return the Gaussian limit of a run, which is exact without sampling."""
    return runs.curve_accountant(options, run).get_gdp_mu()


def _print_table(
    options: argparse.Namespace, every: Sequence[Run], records: list[Run], x: str, y: str
) -> None:
    show = round_down if options.tradeoff else round_up
    columns = [
        guarantee.input_column(key) for key in guarantee.varying(every, guarantee.INPUT_KEYS)
    ]
    columns.append(Column(x, x, output.plain))
    headings = {y: y, f"{y}_rdp": "by Renyi-DP", f"{y}_gdp": "by Gaussian DP"}
    columns += [
        Column(key, heading, lambda value: show(value, options.digits))
        for key, heading in headings.items()
        if key in records[0]
    ]
    guarantee.print_sweep(
        options, records, columns, guarantee.INPUT_KEYS, beside="rdp" in options.compare
    )
    notes = []
    if options.tradeoff:
        notes.append(
            "any test for one record's presence that raises a false alarm with probability at "
            "most alpha misses the record with probability at least beta (rounded down)"
        )
    if "gdp" in options.compare:
        limits = [limit_of(options, run) for run in every]
        if any(limit.gamma for limit in limits):
            mu = ", ".join(round_up(limit.mu, 4) for limit in limits[:5])
            gamma = max(limit.gamma for limit in limits)
            notes.append(
                f"Gaussian DP (mu = {mu}{', ...' if len(limits) > 5 else ''}) is a limit for many "
                "steps and no bound: its trade-off function is off by up to "
                f"{round_up(gamma, 2)}"
            )
    guarantee.print_notes(notes)


INPUTS = {"noise_multiplier": "σ", "sample_rate": "q", "steps": "steps"}


def draw_curves(options: argparse.Namespace, rows: Sequence[Sequence[Run]]) -> None:
    """Write the figure of the rows of each run, and open it on request."""
    from renyi.plot import draw_privacy_curves, draw_tradeoffs

    every = [part[0] for part in rows]
    lines = [line for i, part in enumerate(rows) for line in _lines(options, every, i, part)]
    with output.sheet(options) as axes:
        (draw_tradeoffs if options.tradeoff else draw_privacy_curves)(lines, axes)
        axes.set_title(_title(options, every), fontsize="medium")


def _lines(
    options: argparse.Namespace, every: Sequence[Run], i: int, rows: Sequence[Run]
) -> Iterator[Line]:
    """Yield a line for each column of numbers of run ``i``."""
    import numpy as np

    from renyi.plot import NAMES, Line

    x, y = ("alpha", "beta") if options.tradeoff else ("epsilon", "delta")
    at = np.array([row[x] for row in rows])
    name = _differs(every, every[i])
    kinds: tuple[tuple[str, Kind], ...] = (
        (y, "exact"),
        (f"{y}_rdp", "renyi"),
        (f"{y}_gdp", "gaussian"),
    )
    for key, kind in kinds:
        if key not in rows[0]:
            continue
        label = NAMES[kind]
        if kind == "gaussian":
            limit = limit_of(options, every[i])
            label += f", μ = {round_up(limit.mu, 3)}{' (limit, no bound)' if limit.gamma else ''}"
        if name:
            label = f"{name}: {label}" if options.compare else name
        yield Line(at, np.array([row[key] for row in rows]), label, kind, i)


def _differs(every: Sequence[Run], run: Run) -> str:
    """Name a run by what sets it apart from the others."""
    keys = [key for key in INPUTS if len({other[key] for other in every}) > 1]
    return ", ".join(f"{INPUTS[key]} = {_number(run, key)}" for key in keys)


def _title(options: argparse.Namespace, every: Sequence[Run]) -> str:
    keys = [key for key in INPUTS if len({other[key] for other in every}) == 1]
    what = ", ".join(f"{INPUTS[key]} = {_number(every[0], key)}" for key in keys)
    adjacency = options.adjacency.replace("_", "/" if options.adjacency == "add_remove" else " ")
    kind = "Gaussian" if all(run["sample_rate"] == 1.0 for run in every) else "sampled Gaussian"
    return f"{kind} mechanism, {adjacency}\n{what}" if what else f"{kind} mechanism, {adjacency}"


def _number(run: Run, key: str) -> str:
    if key == "sample_rate":
        return runs.rate_in_words(run)
    return output.grouped(run[key]) if key == "steps" else output.plain(run[key])
