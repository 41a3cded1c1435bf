"""``renyi epsilon``, ``delta``, ``curve`` and ``rdp``: the guarantee of a run."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from renyi._adjacency import CONVERSIONS
from renyi._rounding import round_down, round_up
from renyi.cli import output, runs
from renyi.cli.options import MAX_VALUES, POISSON, UsageError
from renyi.cli.output import Column, plain, within_limit

if TYPE_CHECKING:
    from renyi.plot import Kind, Line
    from renyi.tradeoff import GaussianLimit

INPUT_KEYS = ("noise_multiplier", "dataset_size", "batch_size", "sample_rate", "epochs", "steps")


def epsilon(options: argparse.Namespace) -> int:
    """Epsilon at a given delta."""
    runs.require(options, "noise_multiplier", "delta")
    records = _guarantees(options, "delta")
    if options.certificate is not None:  # written before printing, whose reader may go away
        _write_certificate(options, records)
    _print_all(options, records, given="delta", wanted="epsilon")
    return within_limit(options, [runs.headline(record, "epsilon") for record in records])


def _write_certificate(options: argparse.Namespace, records: Sequence[dict[str, Any]]) -> None:
    if len(records) != 1:
        raise UsageError(f"--certificate needs one run and one delta, got {len(records)} of them")
    accountant_of = runs.renyi_accountant if options.accountant == "rdp" else runs.curve_accountant
    try:
        made = accountant_of(options, records[0]).certificate(delta=records[0]["delta"])
    except ImportError as error:
        raise UsageError(f"--certificate: {error}") from None
    output.write_certificate(options.certificate, made)


def delta(options: argparse.Namespace) -> int:
    """Delta at a given epsilon."""
    runs.require(options, "noise_multiplier", "epsilon")
    _print_all(options, _guarantees(options, "epsilon"), given="epsilon", wanted="delta")
    return 0


def rdp(options: argparse.Namespace) -> int:
    """Renyi-DP at given orders: steps times the certified upper end of one step."""
    runs.require(options, "noise_multiplier", "rdp_orders")
    from renyi import special

    records = []
    for inputs in output.progress(runs.every(options)):
        q, sigma, steps = inputs["sample_rate"], inputs["noise_multiplier"], inputs["steps"]
        for order in map(float, options.rdp_orders):
            lower = float(special.rdp_sampled_gaussian_lower(q, sigma, order))
            upper = float(special.rdp_sampled_gaussian_upper(q, sigma, order))
            # The product rounds to nearest; one step outward keeps it a bound. One step is exact.
            records.append(
                {
                    **inputs,
                    "order": order,
                    "rdp": upper if steps == 1 else math.nextafter(upper * steps, math.inf),
                    "rdp_lower": lower if steps == 1 else math.nextafter(lower * steps, 0.0),
                }
            )
    facts = {"sampling": POISSON, "adjacency": options.adjacency}
    if emit_data(options, records, facts):
        return 0
    columns = [input_column(key) for key in varying(records, INPUT_KEYS)]
    columns += [
        Column("order", "order", plain),
        Column("rdp", "rdp", lambda value: round_up(value, options.digits)),
    ]
    print_fixed(records, INPUT_KEYS)
    output.print_table(columns, records)
    output.print_facts("Assumes", runs.assumptions_in_words(options, *records))
    return 0


def _guarantees(options: argparse.Namespace, given: str) -> list[dict[str, Any]]:
    runs.check_method(options)
    cells = [
        (run, float(value)) for run in runs.every(options) for value in getattr(options, given)
    ]
    with output.waiting("certified bounds") if len(cells) == 1 else nullcontext():
        return [
            {**run, given: value, **runs.price(options, run, given, value)}
            for run, value in output.progress(cells)
        ]


def _print_all(
    options: argparse.Namespace, records: list[dict[str, Any]], *, given: str, wanted: str
) -> None:
    if emit_data(options, records, data_facts(options)):
        return
    if len(records) == 1:
        _print_one(options, records[0], given, wanted)
        return
    given_keys = (*INPUT_KEYS, given)
    columns = [input_column(key) for key in varying(records, given_keys)]
    columns.append(Column(wanted, wanted, lambda value: round_up(value, options.digits)))
    if options.accountant == "rdp":
        columns.append(
            Column("order", "best order", lambda order: "-" if order is None else f"{order:.4g}")
        )
    elif options.adjacency != "replace_one":
        beside = f"{wanted}_rdp"
        for record in records:
            record["saved"] = runs.saving(record[wanted], record[beside]) or "-"
        columns.append(Column(beside, "by Renyi-DP", lambda value: round_up(value, options.digits)))
        columns.append(Column("saved", "smaller by", str))
    print_sweep(options, records, columns, given_keys)


def emit_data(
    options: argparse.Namespace, records: Sequence[dict[str, Any]], facts: dict[str, Any]
) -> bool:
    """Print the machine-readable form on request."""
    if options.json:
        from renyi import __version__

        document = {
            "command": options.command,
            "renyi": __version__,
            "assumptions": facts,
            "results": list(records),
        }
        output.print_json(document)
    elif options.csv:
        constant = {
            key: value if isinstance(value, str) else " ".join(map(plain, value))
            for key, value in facts.items()
        }
        output.print_csv([{**record, **constant} for record in records])
    return bool(options.json or options.csv)


def data_facts(options: argparse.Namespace) -> dict[str, Any]:
    """Return assumptions and method under names that programs can test."""
    facts: dict[str, Any] = {
        "sampling": options.sampling.replace("-", "_"),
        "adjacency": options.adjacency,
        "accounting": options.accountant,
    }
    if options.accountant == "rdp":
        facts["conversion"] = options.conversion
        orders = options.orders
        facts["orders"] = "all real orders" if orders is None else list(map(float, orders))
    return facts


def print_sweep(
    options: argparse.Namespace,
    records: Sequence[dict[str, Any]],
    columns: Sequence[Column],
    inputs: Sequence[str],
    beside: bool = True,
) -> None:
    """Print the table of a sweep; shared inputs are above it, assumptions below.

    ``beside``: the exact curve has a column of Renyi-DP for comparison.
    """
    print_fixed(records, inputs)
    output.print_table(columns, records)
    output.print_facts("Assumes", runs.assumptions_in_words(options, *records))
    output.print_facts("Computed", runs.method_in_words(options, {}, beside))


def input_column(key: str) -> Column:
    """Return the column of an input."""
    return Column(key, key.replace("_", " "), plain)


def _print_one(
    options: argparse.Namespace, record: dict[str, Any], given: str, wanted: str
) -> None:
    value = runs.headline(record, wanted)
    number = round_up(value, options.digits)
    texts = {wanted: number, given: plain(record[given])}
    print(f"{wanted} = {number} at {given} = {texts[given]}{_beside(options, record, wanted)}\n")
    if f"{wanted}_of_one_run" in record:
        alone = round_up(record[f"{wanted}_of_one_run"], options.digits)
        output.print_paragraph(
            f"One run alone has {wanted} = {alone}; the rest is the cost of tuning, if after each "
            f"run one stops with probability 1/{plain(options.tuning_runs)} and keeps the number "
            "of runs secret."
        )
        print()
    if math.isfinite(value):
        output.print_paragraph(runs.statement(options, record, texts["epsilon"], texts["delta"]))
    else:
        print("No finite guarantee.")
    output.print_facts("Assumes", runs.assumptions_in_words(options, record))
    output.print_facts(
        "Computed",
        {
            **runs.method_in_words(options, record),
            "certified": runs.bracket_in_words(options, record, wanted),
            "rounding": f"{wanted} is printed rounded up",
        },
    )
    print_notes(runs.remarks(options, record))


def _beside(options: argparse.Namespace, record: dict[str, Any], wanted: str) -> str:
    """Return the kind of the number, and the number that Renyi-DP gives instead."""
    if options.accountant == "rdp":
        return ""
    other = record[f"{wanted}_rdp"]
    kind = runs.curve_in_words(options)
    if other is None:
        return f" ({kind})"
    text = round_up(other, options.digits)
    less = runs.saving(runs.headline(record, wanted), other)
    beside = f"Renyi-DP: {text}" if less is None else f"{less} below the {text} of Renyi-DP"
    return f" ({kind}; {beside})"


def print_notes(notes: Sequence[str]) -> None:
    """Print remarks, each as its own paragraph."""
    for note in notes:
        print()
        output.print_paragraph(f"Note: {note}.")


def varying(records: Sequence[dict[str, Any]], keys: Sequence[str]) -> list[str]:
    """Return the keys whose value differs between records."""
    return [key for key in _shown(records, keys) if len({record[key] for record in records}) > 1]


def _shown(records: Sequence[dict[str, Any]], keys: Sequence[str]) -> list[str]:
    """Return the keys of the records, without a sampling rate that follows from others."""
    hidden = {"sample_rate"} if "batch_size" in records[0] else set()
    return [key for key in keys if key in records[0] and key not in hidden]


def print_fixed(records: Sequence[dict[str, Any]], keys: Sequence[str]) -> None:
    """Print the inputs that all records share."""
    moving = varying(records, keys)
    fixed = [key for key in _shown(records, keys) if key not in moving]
    if fixed:
        print(", ".join(f"{key.replace('_', ' ')} {plain(records[0][key])}" for key in fixed))
        print()


# The whole curve.

Run = dict[str, Any]

ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
ROWS = 12  # about the number of rows of a table
CHUNK = 8  # points between two movements of the progress bar
DRAWN_RTOL = 1e-4  # relative accuracy of numbers that only lattices give


def curve(options: argparse.Namespace) -> int:
    """Delta against epsilon, or type II error against type I error."""
    runs.require(options, "noise_multiplier")
    _check_curve(options)
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
        **data_facts(options),
        "curve": "tradeoff" if options.tradeoff else "privacy",
    }
    if not (emit_data(options, records, facts) or output.figure_written(options)):
        _print_table(options, every, records, x, y)
    return 0


def _check_curve(options: argparse.Namespace) -> None:
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
    columns = [input_column(key) for key in varying(every, INPUT_KEYS)]
    columns.append(Column(x, x, plain))
    headings = {y: y, f"{y}_rdp": "by Renyi-DP", f"{y}_gdp": "by Gaussian DP"}
    columns += [
        Column(key, heading, lambda value: show(value, options.digits))
        for key, heading in headings.items()
        if key in records[0]
    ]
    print_sweep(options, records, columns, INPUT_KEYS, beside="rdp" in options.compare)
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
    print_notes(notes)


SYMBOLS = {"noise_multiplier": "σ", "sample_rate": "q", "steps": "steps"}


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
    keys = [key for key in SYMBOLS if len({other[key] for other in every}) > 1]
    return ", ".join(f"{SYMBOLS[key]} = {_number(run, key)}" for key in keys)


def _title(options: argparse.Namespace, every: Sequence[Run]) -> str:
    keys = [key for key in SYMBOLS if len({other[key] for other in every}) == 1]
    what = ", ".join(f"{SYMBOLS[key]} = {_number(every[0], key)}" for key in keys)
    adjacency = options.adjacency.replace("_", "/" if options.adjacency == "add_remove" else " ")
    kind = "Gaussian" if all(run["sample_rate"] == 1.0 for run in every) else "sampled Gaussian"
    return f"{kind} mechanism, {adjacency}\n{what}" if what else f"{kind} mechanism, {adjacency}"


def _number(run: Run, key: str) -> str:
    if key == "sample_rate":
        return runs.rate_in_words(run)
    return output.grouped(run[key]) if key == "steps" else plain(run[key])
