"""``renyi noise``, ``renyi steps`` and ``renyi rate``: calibration to a target guarantee.

Printed numbers are checked: the accountant computes the guarantee of the rounded number, which is
printed with it.
"""

import argparse
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from renyi._adjacency import LARGEST_COUNT
from renyi._rounding import round_double, round_down, round_up
from renyi.cli import compare, guarantee, output, runs
from renyi.cli.options import IN_EPOCHS, POISSON, UsageError
from renyi.cli.output import Column, grouped, plain

Inputs = dict[str, Any]
Solver = Callable[[Inputs, Inputs], float | int]

NOUNS = {"noise_multiplier": "noise multiplier", "steps": "steps", "sample_rate": "sampling rate"}

INPUTS = ("target_epsilon", "delta", *guarantee.INPUT_KEYS)


def noise(options: argparse.Namespace) -> int:
    """Smallest noise multiplier."""
    from renyi import calibrate_noise_multiplier

    compare.check_strategy(options)
    if options.strategy is not None:
        return compare.noise_of_strategy(options)
    runs.require(options, "target_epsilon", "delta")

    def solve(cell: Inputs, method: Inputs) -> float:
        if options.sampling != POISSON:
            return _noise_of_plan(options, cell, method)
        run = {name: cell[name] for name in ("sample_rate", "steps")}
        return calibrate_noise_multiplier(**run, tolerance=_tolerance(options), **method)

    cells = runs.every(options, **_targets(options))
    return _calibrate(options, cells, "noise_multiplier", solve, round_up)


def steps(options: argparse.Namespace) -> int:
    """Largest number of steps."""
    from renyi import calibrate_steps

    runs.require(options, "target_epsilon", "delta", "noise_multiplier")

    def solve(cell: Inputs, method: Inputs) -> int:
        if options.sampling != POISSON:
            return runs.most_steps(options, cell, method["accountant"])
        run = {name: cell[name] for name in ("noise_multiplier", "sample_rate")}
        return int(calibrate_steps(**run, **method))

    every = runs.combinations({**_targets(options), "noise_multiplier": options.noise_multiplier})
    cells = [{**cell, **sampling} for cell in every for _, sampling in runs.samplings(options)]
    return _calibrate(options, cells, "steps", solve)


def rate(options: argparse.Namespace) -> int:
    """Largest sampling rate."""
    from renyi import calibrate_sample_rate

    runs.require(options, "target_epsilon", "delta", "noise_multiplier", "steps")
    given = {**_targets(options), "noise_multiplier": options.noise_multiplier}
    given["steps"] = options.steps
    if options.dataset_size is not None:
        given["dataset_size"] = options.dataset_size

    def solve(cell: Inputs, method: Inputs) -> float:
        run = {name: cell[name] for name in ("noise_multiplier", "steps")}
        return calibrate_sample_rate(**run, tolerance=_tolerance(options), **method)

    return _calibrate(options, runs.combinations(given), "sample_rate", solve, round_down)


def _calibrate(
    options: argparse.Namespace,
    cells: list[Inputs],
    wanted: str,
    solve: Solver,
    rounded: Callable[[float, int], str] | None = None,
) -> int:
    """Solve every cell, check the number that will be printed, and print."""
    runs.check_method(options)
    if options.json or options.csv:
        rounded = None
    records = [_solved(options, cell, wanted, solve, rounded) for cell in output.progress(cells)]
    texts = [record.pop("text") for record in records]
    if guarantee.emit_data(options, records, guarantee.data_facts(options)):
        return 0
    if len(records) == 1:
        _print_one(options, records[0], wanted, texts[0])
        return 0
    shown = [{**record, "text": text} for record, text in zip(records, texts, strict=True)]
    given = [key for key in INPUTS if key in cells[0] or key == "target_epsilon"]
    columns = [guarantee.input_column(key) for key in guarantee.varying(shown, given)]
    columns.append(Column("text", wanted.replace("_", " "), str))
    if "expected_batch_size" in shown[0]:
        columns.append(Column("expected_batch_size", "batch size", plain))
    for record in shown:
        record["spent"] = _spent(record, options.digits)
        record["beside"] = _beside(options, record, wanted)
    columns.append(Column("spent", "epsilon spent", str))
    if _has_beside(options):
        columns.append(Column("beside", f"{NOUNS[wanted]} by Renyi-DP", str))
    guarantee.print_sweep(options, shown, columns, given)
    guarantee.print_notes(
        sorted({note for record in records for note in _limits(options, wanted, record)})
    )
    return 0


def _solved(
    options: argparse.Namespace,
    cell: Inputs,
    wanted: str,
    solve: Solver,
    rounded: Callable[[float, int], str] | None,
) -> Inputs:
    """Return the record of one target: the printed answer and its guarantee."""
    target, run = cell["epsilon"], {key: value for key, value in cell.items() if key != "epsilon"}
    goal = {"target_epsilon": target, "target_delta": cell["delta"]}
    by_renyi = {**goal, "accountant": "rdp", **runs.renyi_options(options)}
    exactly = {**goal, "accountant": "pld", "adjacency": options.adjacency}
    run[wanted] = solve(cell, by_renyi if options.accountant == "rdp" else exactly)
    text = plain(run[wanted])
    if rounded is not None:
        text = round_double(run[wanted], options.digits, rounded)
        run[wanted] = float(text)
    if wanted == "steps" and run["steps"] == 0:
        raise UsageError(
            f"--epsilon {plain(target)} is out of reach: a single step with noise multiplier "
            f"{plain(run['noise_multiplier'])} and sampling rate {plain(run['sample_rate'])} "
            "spends more"
        )
    record = {"target_epsilon": target, **run}
    record.update(runs.price(options, run, "delta", run["delta"]))
    if record["epsilon"] > target:
        raise RuntimeError(f"{wanted} {text} spends {record['epsilon']}, more than {target}")
    record.update(_sizes(options, wanted, record))
    if _has_beside(options):
        try:
            record[f"{wanted}_rdp"] = solve(cell, by_renyi)
        except ValueError:  # Renyi-DP cannot prove the target
            record[f"{wanted}_rdp"] = None
    return {**record, "text": text}


def _print_one(options: argparse.Namespace, record: Inputs, wanted: str, text: str) -> None:
    target = f"epsilon <= {plain(record['target_epsilon'])} at delta = {plain(record['delta'])}"
    spent = _spent(record, options.digits)
    if wanted == "noise_multiplier":
        print(f"noise multiplier = {text}, the smallest with {target} (rounded up)")
    elif wanted == "steps":
        print(f"steps = {grouped(record['steps'])}, the most with {target}")
        if "epochs" in record:
            epochs = round_down(record["epochs"], options.digits)
            print(f"      = {epochs} epochs (rounded down)")
    else:
        print(f"sampling rate = {text}, the largest with {target} (rounded down)")
        if "expected_batch_size" in record:
            size, records = record["expected_batch_size"], record["dataset_size"]
            share = f"{grouped(size)} of {grouped(records)} records"
            print(f"expected batch size = {share} (rounded down)")
    print(f"epsilon spent = {spent}")
    if f"{wanted}_rdp" in record:
        print(f"{NOUNS[wanted]} by Renyi-DP = {_beside(options, record, wanted)}")
    print()
    hidden = "dataset_size" if wanted == "sample_rate" else None
    run = {key: value for key, value in record.items() if key != hidden}
    output.print_paragraph(runs.statement(options, run, spent, plain(record["delta"])))
    output.print_facts("Assumes", runs.assumptions_in_words(options, run))
    certified = {"certified": runs.bracket_in_words(options, record, "epsilon")}
    output.print_facts("Computed", {**runs.method_in_words(options, record), **certified})
    guarantee.print_notes([*_limits(options, wanted, record), *runs.remarks(options, record)])


def _has_beside(options: argparse.Namespace) -> bool:
    """Return whether Renyi-DP is computed, too, for comparison."""
    poisson = options.sampling == POISSON and options.adjacency != "replace_one"
    return bool(options.accountant == "pld" and poisson)


def _beside(options: argparse.Namespace, record: Inputs, wanted: str) -> str:
    """Return the answer of Renyi-DP, rounded to the safe side; a dash where it has none."""
    value = record.get(f"{wanted}_rdp")
    if value is None:
        return "-"
    if wanted == "steps":
        return grouped(value)
    rounded = round_up if wanted == "noise_multiplier" else round_down
    return round_double(value, options.digits, rounded)


def _limits(options: argparse.Namespace, wanted: str, record: Inputs) -> list[str]:
    """Return a remark if the search ended before the target was reached."""
    if wanted == "noise_multiplier" and record[wanted] <= 0.01:
        return ["noise multipliers below 0.01 are not considered; the target permits less noise"]
    if wanted == "steps" and record[wanted] == LARGEST_COUNT:
        return ["numbers of steps above 1e9 are not considered; the target permits more"]
    return []


def _noise_of_plan(options: argparse.Namespace, cell: Inputs, method: Inputs) -> float:
    from renyi.sgd import TrainingPlan

    how = {key: method[key] for key in ("target_epsilon", "target_delta", "accountant")}
    tolerance, settings = max(_tolerance(options), 1e-5), runs.plan_settings(options, cell)
    plan = TrainingPlan.calibrated(**how, tolerance=tolerance, steps=cell["steps"], **settings)
    return plan.noise_multiplier


def _tolerance(options: argparse.Namespace) -> float:
    """Return the relative tolerance of the search, well below the printed digits."""
    return float(min(1e-6, max(1e-12, 10.0 ** -(options.digits + 2))))


def _spent(record: Inputs, digits: int) -> str:
    """Return the guarantee, rounded up, but not above the target, which it meets."""
    text, target = round_up(record["epsilon"], digits), record["target_epsilon"]
    return text if Decimal(text) <= Decimal(target) else plain(target)


def _sizes(options: argparse.Namespace, wanted: str, record: Mapping[str, Any]) -> Inputs:
    """Return the answer in batches and epochs, where the data set size is known."""
    size = record.get("dataset_size")
    if size is None or wanted == "noise_multiplier":
        return {}
    if wanted == "sample_rate":
        exact = Fraction(Decimal(record["sample_rate"]))
        return {"expected_batch_size": math.floor(exact * size)}
    if options.sampling in IN_EPOCHS:
        return {"epochs": record["steps"] / runs.batches_of_epoch(options, record)}
    return {"epochs": record["steps"] * record["sample_rate"]}


def _targets(options: argparse.Namespace) -> dict[str, list[Any]]:
    return {"epsilon": options.target_epsilon, "delta": options.delta}
