"""renyi account and report: guarantees and reports of mechanisms in a file."""

from __future__ import annotations

import argparse
import math
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from renyi._rounding import round_up
from renyi.cli import guarantee, output, runs
from renyi.cli.options import ACCOUNTANTS, POISSON, UsageError
from renyi.cli.output import Column

if TYPE_CHECKING:
    from renyi.ledger import Ledger
    from renyi.mechanisms import Mechanism
    from renyi.report import Report


def account(options: argparse.Namespace) -> int:
    """Epsilon or delta of the mechanisms in a file, by every accountant that can bound them."""
    from renyi.mechanisms.assumptions import assumptions_of

    given, wanted = runs.given_and_wanted(options, "computed")
    mechanism = read_mechanism(options.file)
    cells = [(float(value), name) for value in getattr(options, given) for name in ACCOUNTANTS]
    with output.waiting("certified bounds"):
        records = [_price(mechanism, options.adjacency, given, *cell) for cell in cells]
    if guarantee.emit_data(options, records, {"adjacency": options.adjacency}):
        return 0
    print(mechanism.describe() + "\n")
    columns = [
        Column("accountant", "accountant", _words, left=True),
        Column(given, given, output.plain),
        Column(
            wanted, wanted, lambda value: "-" if value is None else round_up(value, options.digits)
        ),
    ]
    output.print_table(columns, records)
    reasons = {_words(record["accountant"]): record["refused"] for record in records}
    refused = {name: reason for name, reason in reasons.items() if reason}
    if refused:
        output.print_facts("Not accounted", refused)
    known = [record for record in records if record["refused"] is None]
    if not known:
        return 1
    if len(cells) == len(ACCOUNTANTS):
        _print_statement(options, min(known, key=lambda record: float(record[wanted])), wanted)
    output.print_facts("Assumes", assumptions_of(mechanism, options.adjacency))
    computed = {}
    for record in known[: len(ACCOUNTANTS)]:
        low, high, at = (
            output.plain(record[key]) for key in (f"{wanted}_lower", f"{wanted}_upper", given)
        )
        computed[_words(record["accountant"])] = f"{low} <= {wanted} <= {high} at {given} = {at}"
    output.print_facts("Computed", computed)
    return 0


def _print_statement(options: argparse.Namespace, record: dict[str, Any], wanted: str) -> None:
    """Print a sentence to publish, with the smaller one of the bounds."""
    if not math.isfinite(record[wanted]):
        if record.get("delta") == 0.0:
            output.print_paragraph("No epsilon holds at delta 0: a loss has no bound.")
        return
    texts = {name: output.plain(record[name]) for name in ("epsilon", "delta")}
    texts[wanted] = round_up(record[wanted], options.digits)
    source = _words(record["accountant"])
    print()
    output.print_paragraph(
        runs.composition_statement(options.adjacency, texts["epsilon"], texts["delta"], source)
    )


def read_text(name: str, what: str) -> str:
    """Return the text of a file, or of the standard input."""
    try:
        return standard_input(what).read() if name == "-" else Path(name).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{what} must be a readable text file or -, got {name!r}: {error}"
        ) from None


def standard_input(what: str) -> TextIO:
    """Return the standard input, or refuse it where the shell closed it."""
    if sys.stdin is None:
        raise UsageError(f"{what} must be a file where the standard input is closed, got '-'")
    return sys.stdin


def read_mechanism(name: str, what: str = "FILE") -> Mechanism:
    """Return the mechanism that a file describes."""
    from renyi.mechanisms import Mechanism

    text = read_text(name, what)
    try:
        return Mechanism.from_json(text)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what} must hold what Mechanism.to_json writes: {error}") from None


def _price(
    mechanism: Mechanism, adjacency: Any, given: str, value: float, name: str
) -> dict[str, Any]:
    from renyi.accountants import PLDAccountant, RDPAccountant, UnsupportedMechanismError

    wanted = "epsilon" if given == "delta" else "delta"
    record: dict[str, Any] = {"accountant": name, given: value, wanted: None, "refused": None}
    record |= {f"{wanted}_lower": None, f"{wanted}_upper": None}
    kind = PLDAccountant if name == "pld" else RDPAccountant
    try:
        account = kind(adjacency=adjacency).compose(mechanism)
    except UnsupportedMechanismError as error:
        return {**record, "refused": error.reason}
    except ValueError as error:
        raise UsageError(f"FILE must hold what can be accounted for: {error}") from None
    number = getattr(account, f"get_{wanted}")(value)
    lower, upper = map(float, getattr(account, f"get_{wanted}_bounds")(value))
    return {**record, wanted: number, f"{wanted}_lower": lower, f"{wanted}_upper": upper}


def _words(accountant: str) -> str:
    return "exact curve" if accountant == "pld" else "Renyi-DP"


RUN_ONLY = ("noise_multiplier", "sample_rate", "batch_size", "steps", "epochs", "batch_limit")


def report(options: argparse.Namespace) -> int:
    """Write a report to the given files, or as Markdown to the screen."""
    if options.format is not None and (options.html or options.markdown):
        raise UsageError("--format excludes --html and --markdown: it is of what is printed")
    if options.html is not None and options.html == options.markdown:
        raise UsageError(f"--html and --markdown must be two files, got {options.html} for both")
    try:
        with output.waiting("privacy statement"):
            made = _of_ledger(options) if options.ledger is not None else _of_run(options)
    except ImportError as error:
        raise UsageError(f"--certificate: {error}") from None
    texts = {options.html: made.to_html, options.markdown: made.to_markdown}
    files = {name: text for name, text in texts.items() if name is not None}
    for name, text in files.items():  # write all before printing, whose reader may go away
        output.write_text(name, text())
    if made.certificate is not None:
        output.write_certificate(options.certificate, made.certificate)
    if not files:
        print(getattr(made, f"to_{options.format or 'markdown'}")().rstrip("\n"))
    for name in files:
        print(f"{made.headline}: {name}")
    return 0


def opened_ledger(place: str, *, read_only: bool = False) -> Ledger:
    """Return the ledger in a file, or at an address of PostgreSQL; reading never writes."""
    from renyi.ledger import Ledger, PostgresLedger

    if not place.startswith(("postgresql://", "postgres://")):
        return Ledger(place, read_only=read_only)
    alone = find_spec("psycopg") is None and find_spec("psycopg2") is not None
    try:
        return PostgresLedger(place, driver="psycopg2" if alone else "psycopg")
    except ImportError as error:
        raise UsageError(f'{error}: python -m pip install "psycopg[binary]"') from None


def _of_ledger(options: argparse.Namespace) -> Report:
    from renyi.ledger import LedgerError
    from renyi.report import dataset_report

    _refuse(options, "--ledger", ("mechanism", "count", *RUN_ONLY))
    if options.dataset is None:
        raise UsageError("--ledger needs --dataset NAME")
    delta = None if options.delta is None else runs.single(options, "delta")
    facts = _facts(options)
    try:
        with opened_ledger(options.ledger) as ledger:
            return dataset_report(
                ledger, options.dataset, delta=delta, title=options.title, **facts
            )
    except LedgerError as error:
        raise UsageError(str(error)) from None


def _of_run(options: argparse.Namespace) -> Report:
    from renyi.report import privacy_report

    runs.require(options, "delta")
    if options.mechanism is not None:
        _refuse(options, "--mechanism", RUN_ONLY)
        mechanism, count = read_mechanism(options.mechanism, "--mechanism"), options.count or 1
    else:
        if options.count is not None:
            raise UsageError("--count needs --mechanism: the uses of a run are its --steps")
        mechanism, count = runs.uses_of(options, runs.one_run(options, "a report must be of"))
    return privacy_report(
        mechanism,
        count,
        delta=runs.single(options, "delta"),
        adjacency=options.adjacency,
        title=options.title or "Privacy statement",
        dataset=options.dataset,
        **_facts(options),
    )


def _facts(options: argparse.Namespace) -> dict[str, Any]:
    """Return the facts that both kinds of reports share."""
    from renyi.report import Disclosure

    told = None
    if options.disclosure is not None:
        try:
            told = Disclosure.from_json(read_text(options.disclosure, "--disclosure"))
        except (TypeError, ValueError) as error:
            raise UsageError(f"--disclosure: {error}") from None
    size = None if options.dataset_size is None else int(runs.single(options, "dataset_size"))
    facts = {"date": options.date, "author": options.author, "queries": options.query or ()}
    return {
        **facts,
        "disclosure": told,
        "records": size,
        "certified": options.certificate is not None,
    }


def _refuse(options: argparse.Namespace, flag: str, names: tuple[str, ...]) -> None:
    given = [name for name in names if getattr(options, name) is not None]
    given += ["sampling"] if options.sampling != POISSON else []
    if given:
        raise UsageError(f"{flag} excludes --{given[0].replace('_', '-')}")
