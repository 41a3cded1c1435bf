"""``renyi report``: a privacy statement for a run, for described mechanisms or for a ledger."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from renyi.cli.account import read_mechanism
from renyi.cli.guarantee import runs
from renyi.cli.settings import require, step_of
from renyi.cli.values import UsageError

if TYPE_CHECKING:
    from renyi.report import Report

RUN_ONLY = ("noise_multiplier", "sample_rate", "batch_size", "steps", "epochs")


def report(options: argparse.Namespace) -> int:
    """Write a report to the files asked for, or as Markdown to the screen."""
    made = _of_ledger(options) if options.ledger is not None else _of_run(options)
    if options.html is None and options.markdown is None:
        print(made.to_markdown(), end="")
    for name, text in ((options.html, made.to_html), (options.markdown, made.to_markdown)):
        if name is not None:
            try:
                Path(name).write_text(text(), encoding="utf-8")
            except OSError as error:
                raise UsageError(f"{name}: {error.strerror or error}") from None
            print(f"{made.headline}: {name}")
    return 0


def _of_ledger(options: argparse.Namespace) -> Report:
    from renyi.ledger import Ledger, LedgerError
    from renyi.report import report_of_dataset

    _refuse(options, "--ledger", ("mechanism", *RUN_ONLY))
    if options.dataset is None:
        raise UsageError("--ledger needs --dataset NAME")
    delta = None if options.delta is None else _single(options, "delta")
    try:
        with Ledger(options.ledger) as ledger:
            return report_of_dataset(
                ledger, options.dataset, delta=delta, records=_records(options)
            )
    except LedgerError as error:
        raise UsageError(str(error)) from None


def _of_run(options: argparse.Namespace) -> Report:
    from renyi.report import report as made_of

    require(options, "delta")
    if options.mechanism is not None:
        _refuse(options, "--mechanism", RUN_ONLY)
        mechanism, count = read_mechanism(options.mechanism, "--mechanism"), options.count
    else:
        require(options, "noise_multiplier")
        _single(options, "noise_multiplier")
        run = runs(options)
        if len(run) != 1:
            raise UsageError(f"a report must be of one run, got {len(run)}")
        mechanism, count = step_of(run[0]), run[0]["steps"]
    return made_of(
        mechanism,
        count,
        delta=_single(options, "delta"),
        adjacency=options.adjacency,
        records=_records(options),
        shuffled=options.shuffled,
        title=options.title,
    )


def _refuse(options: argparse.Namespace, flag: str, names: tuple[str, ...]) -> None:
    given = [name for name in names if getattr(options, name) is not None]
    if given:
        raise UsageError(f"{flag} excludes --{given[0].replace('_', '-')}")


def _records(options: argparse.Namespace) -> int | None:
    return None if options.dataset_size is None else int(_single(options, "dataset_size"))


def _single(options: argparse.Namespace, name: str) -> float:
    values = getattr(options, name)
    if len(values) != 1:
        raise UsageError(f"--{name.replace('_', '-')} must be one number, got {len(values)}")
    return float(values[0])
