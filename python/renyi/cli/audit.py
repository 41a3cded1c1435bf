"""renyi audit: the bounds that scores in a file prove, beside the reported guarantee."""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from renyi._adjacency import ADJACENCIES
from renyi._rounding import round_down, round_up
from renyi.cli import guarantee, output, runs
from renyi.cli.files import read_mechanism, read_text
from renyi.cli.options import UsageError
from renyi.cli.output import Column

if TYPE_CHECKING:
    from renyi import PLDAccountant
    from renyi.audit import Audit

Table = dict[str, list[Any]]

NAMES = dict.fromkeys(("included", "present", "member", "in", "there"), "included")
NAMES |= {"score": "score", "scores": "score", "id": "id"}
LESS_NOISE = (1.0, 0.9, 0.8, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.3, 0.2, 0.1)
MORE_USES = (1, 2, 3, 4, 6, 8, 12, 16, 32)
REPEATS = 100  # number of audits drawn for each truth in a figure
RANGE = 5.0  # factor of noise multipliers above and below the reported one


def audit(options: argparse.Namespace) -> int:
    """Print lower bounds of epsilon from scores in a file, and a test of the reported guarantee."""
    runs.require(options, "delta")
    if options.one_run and options.sequential:
        raise UsageError("--one-run excludes --sequential: one run has no later ones")
    if options.sides != "both" and not options.one_run:
        raise UsageError("--sides needs --one-run")
    options.adjacency = ADJACENCIES[0]
    claim = _claim(options)
    output.check_figure(options, 1)
    if claim is None and (options.plot or options.show):
        raise UsageError("a figure needs what was reported: a run or --mechanism")
    made, counted = _audit(options)
    with output.waiting("lower bound"):
        records = [_record(options, made, claim, float(delta)) for delta in options.delta]
    if claim is not None and (options.plot or options.show):
        _draw(options, made, claim)
    p_values = [row["p_value"] for row in records if row.get("p_value") is not None]
    refuted = any(p <= 1.0 - float(options.confidence) for p in p_values)
    if not guarantee.emit_data(options, records, {"scores": counted}):
        _print(options, records, counted, refuted)
    return int(refuted)


RUN = ("noise_multiplier", "sample_rate", "batch_size", "dataset_size", "steps", "epochs")


def _claim(options: argparse.Namespace) -> PLDAccountant | None:
    """Return the reported guarantee of the run, if the run was described."""
    from renyi import PLDAccountant

    of_run = any(getattr(options, name) is not None for name in RUN)
    if sum((of_run, options.mechanism is not None, options.reported is not None)) > 1:
        raise UsageError("one of a run, --mechanism and --reported says what was reported")
    if options.mechanism is not None:
        return PLDAccountant().compose(read_mechanism(options.mechanism, "--mechanism"))
    if not of_run:
        return None
    options.steps_of_run = runs.one_run(options, "what was reported must be")
    return runs.curve_accountant(options, options.steps_of_run)


def _audit(options: argparse.Namespace) -> tuple[Audit, str]:
    """Return the audit of the scores in the files, and the number of scores in words."""
    import numpy as np

    from renyi.audit import ManyRuns, OneRun, SequentialRuns

    values, included = _read(options)
    scores, there = np.array(values, dtype=np.float64), np.array(included, dtype=np.bool_)
    counts = f"{int(there.sum())} scores with, {int((~there).sum())} without"
    try:
        if options.one_run:
            one = OneRun(scores, there, sides=options.sides)
            return one, f"one run, with canaries: {counts}"
        kind = SequentialRuns if options.sequential else ManyRuns
        looks = ", which may stop at any time, first look at 16" if options.sequential else ""
        many: Audit = kind(scores[there], scores[~there])
        return many, f"many runs, independent{looks}: {counts}"
    except ValueError as error:
        raise UsageError(f"FILE must hold scores of both kinds: {error}") from None


def _record(
    options: argparse.Namespace, made: Audit, claim: PLDAccountant | None, delta: float
) -> dict[str, Any]:
    from renyi import Gaussian, PoissonSampled

    confidence = float(options.confidence)
    record: dict[str, Any] = {
        "delta": delta,
        "confidence": confidence,
        "epsilon_lower_bound": made.epsilon_lower_bound(delta, confidence=confidence),
    }
    if claim is not None:
        record |= {"epsilon_reported": claim.get_epsilon(delta), "p_value": made.p_value(claim)}
    elif options.reported is not None:
        reported = runs.single(options, "reported")
        record |= {"epsilon_reported": reported, "p_value": made.p_value((reported, delta))}
    if options.noise_multiplier is not None:
        run, noise = options.steps_of_run, runs.single(options, "noise_multiplier")
        rate, steps = run["sample_rate"], run["steps"]
        most = made.parameter_bound(
            lambda sigma: PoissonSampled(Gaussian(sigma), rate) * steps,
            (noise / RANGE, noise * RANGE),
            confidence=confidence,
        )
        record |= {"noise_multiplier_upper_bound": most, "epsilon_of_that_noise": 0.0}
        if most is not None:
            limit = runs.curve_accountant(options, {**run, "noise_multiplier": most})
            record["epsilon_of_that_noise"] = limit.get_epsilon_bounds(delta)[0]
    return record


def _draw(options: argparse.Namespace, made: Audit, claim: PLDAccountant) -> None:
    """Draw the power of such audits for less noise or more uses of the mechanism."""
    from renyi import PLDAccountant
    from renyi.audit import plot_power

    if options.noise_multiplier is not None:
        run, noise = options.steps_of_run, runs.single(options, "noise_multiplier")
        truths = [
            runs.curve_accountant(options, {**run, "noise_multiplier": noise * share})
            for share in LESS_NOISE
        ]
    else:
        one = read_mechanism(options.mechanism, "--mechanism")
        truths = [PLDAccountant().compose(one, count) for count in MORE_USES]
    with output.sheet(options) as axes:
        plot_power(
            made,
            claim,
            truths,
            float(options.delta[0]),
            confidence=float(options.confidence),
            repeats=REPEATS,
            ax=axes,
        )


def _print(
    options: argparse.Namespace, records: Sequence[dict[str, Any]], counted: str, refuted: bool
) -> None:
    def down(value: float) -> str:
        return round_down(value, options.digits) if value else "0"

    def up(value: float | None) -> str:
        return "-" if value is None else round_up(value, options.digits)

    shown = {
        "delta": ("delta", output.plain),
        "epsilon_lower_bound": ("epsilon >", down),
        "epsilon_reported": ("reported", up),
        "p_value": ("p-value", up),
        "noise_multiplier_upper_bound": ("noise multiplier <", up),
        "epsilon_of_that_noise": ("so epsilon >", down),
    }
    columns = [Column(key, *shown[key]) for key in records[0] if key in shown]
    output.print_table(columns, records)
    print()
    facts = {
        "scores": counted,
        "confidence": f"{float(options.confidence):g} of each bound, rounded to the safe side",
    }
    if "p_value" in records[0]:
        facts["reported"] = "refuted" if refuted else "not refuted"
    output.print_facts("", facts)
    output.figure_written(options)


def _read(options: argparse.Namespace) -> tuple[list[float], list[bool]]:
    """Return scores, and whether the run or canary of each was included."""
    default = ("score", "included") if options.canaries is None else ("id", "score")
    scored = _table(options.file, default, "FILE")
    if options.canaries is None:
        if "id" in scored:
            _by_identifier(scored, "included", "FILE")
        return _column(scored, "score", "FILE"), _column(scored, "included", "FILE")
    told = _table(options.canaries, ("id", "included"), "--canaries")
    included = _by_identifier(told, "included", "--canaries")
    scores = _by_identifier(scored, "score", "FILE")
    if odd := included.keys() ^ scores.keys():
        raise UsageError(f"FILE and --canaries must have the same ids, got {min(odd)!r} in one")
    return list(scores.values()), [included[name] for name in scores]


def _by_identifier(table: Table, column: str, what: str) -> dict[str, Any]:
    names = [str(name).strip() for name in table.get("id", ())]
    if not names:
        raise UsageError(f"{what} must have a column id")
    found = dict(zip(names, _column(table, column, what), strict=True))
    if len(found) < len(names):
        ((twice, _),) = Counter(names).most_common(1)
        raise UsageError(f"{what} must have each id once, got {twice!r} again")
    return found


def _column(table: Table, name: str, what: str) -> list[Any]:
    if name not in table:
        raise UsageError(f"{what} must have a column {name}, got {', '.join(table)}")
    try:
        return [_score(cell) if name == "score" else _truth(cell) for cell in table[name]]
    except (TypeError, ValueError):
        kind = "numbers" if name == "score" else "0 or 1"
        raise UsageError(f"{what} must have {kind} in column {name}") from None


def _score(cell: Any) -> float:
    if isinstance(cell, bool):
        raise TypeError
    return float(cell)


def _truth(cell: Any) -> bool:
    text = str(cell).strip().lower()
    return text == "true" if text in ("true", "false") else bool((0.0, 1.0).index(float(text)))


def _table(name: str, default: tuple[str, str], what: str) -> Table:
    """Return the columns of a file by their names; ``default`` where it has no names."""
    text = "" if name.endswith(".npy") else read_text(name, what).replace("\ufeff", "")
    try:
        if name.endswith(".npy"):
            return dict(zip(default, _array(name), strict=True))
        if text.lstrip()[:1] in ("{", "["):
            return _of_json(text)
        lines = [line for line in text.splitlines() if line.strip() and line.lstrip()[0] != "#"]
        rows = list(csv.reader(io.StringIO("\n".join(lines)), skipinitialspace=True))
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        raise UsageError(f"{what} must be CSV, JSON or NPY, got {name!r}: {error}") from None
    names = list(default)
    if rows and not any(_is_number(cell) for cell in rows[0]):
        names = [_known(cell) for cell in rows.pop(0)]
    if not rows:
        raise UsageError(f"{what} must have a line for each score, got none in {name!r}")
    if any(len(row) != len(names) for row in rows) or len(set(names)) < len(names):
        raise UsageError(
            f"{what} must have lines of {len(names)} columns each, {', '.join(names)}, got {name!r}"
        )
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _array(name: str) -> list[list[Any]]:
    import numpy as np

    with Path(name).open("rb") as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"an array must have two columns, got the shape {array.shape}")
    return [
        [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in column]
        for column in array.T.tolist()  # an identifier is "0" in text, too
    ]


def _of_json(text: str) -> Table:
    """Return the columns of an object of lists, a list of objects, or a line for each object."""
    try:
        document = json.loads(text, object_pairs_hook=_named)
    except json.JSONDecodeError:
        lines = [line for line in text.splitlines() if line.strip()]
        document = [json.loads(line, object_pairs_hook=_named) for line in lines]
    if isinstance(document, dict) and not any(isinstance(v, list) for v in document.values()):
        document = [document]
    if isinstance(document, list):
        if not document or not all(isinstance(row, dict) for row in document):
            raise ValueError("a list must hold objects")
        if any(row.keys() != document[0].keys() for row in document):
            raise ValueError("all objects must have the same names")
        document = {key: [row[key] for row in document] for key in document[0]}
    table: Table = document
    if not all(isinstance(column, list) for column in table.values()):
        raise ValueError("an object must hold lists")
    if len({len(column) for column in table.values()}) != 1:
        raise ValueError("lists must have the same length")
    if any(isinstance(cell, str) for cell in table.get("score", ())):
        raise ValueError("scores must be numbers")
    return table


def _named(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object by the names known here, each once."""
    named = {_known(key): value for key, value in pairs}
    if len(named) < len(pairs):
        raise ValueError(f"names must differ, got {', '.join(key for key, _ in pairs)}")
    return named


def _known(name: str) -> str:
    plain = name.strip().strip('"').lower()
    return NAMES.get(plain, plain)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text
    return True
