"""``renyi ledger``: budgets of data sets, charged and looked at from a shell."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from renyi._rounding import round_down
from renyi._validation import visible
from renyi.cli import output
from renyi.cli.files import opened_ledger, read_mechanism, read_text
from renyi.cli.options import OutputError, UsageError
from renyi.cli.output import EXCEEDED, Column, plain

if TYPE_CHECKING:
    from renyi.ledger import Entry, Ledger, Status

Action = Callable[["Ledger", argparse.Namespace], int]


def run(options: argparse.Namespace) -> int:
    """Do one thing with a ledger; 3 where a budget would be exceeded."""
    from renyi.filters import BudgetExceededError
    from renyi.ledger import LedgerError

    read_only = getattr(options, "read_only", False)
    try:
        with opened_ledger(options.path, read_only=read_only) as ledger:
            return ACTIONS[options.action](ledger, options)
    except BudgetExceededError as error:
        print(f"{options.parser.prog}: refused: {visible(str(error))}", file=sys.stderr)
        return EXCEEDED
    except LedgerError as error:
        kinds = {kind.__name__ for kind in type(error.__cause__).__mro__}  # of any driver
        unwritable = options.action in WRITING and kinds & {"OperationalError", "OSError"}
        raise (OutputError if unwritable else UsageError)(str(error)) from None


def _create(ledger: Ledger, options: argparse.Namespace) -> int:
    numbers = {name: getattr(options, name) for name in ("epsilon", "delta", "rho")}
    ledger.create(
        options.dataset,
        **{name: None if value is None else float(value) for name, value in numbers.items()},
        accountant=options.accountant,
        adjacency=options.adjacency,
        note=options.note,
    )
    return _show_status(ledger, options)


def _charge(ledger: Ledger, options: argparse.Namespace) -> int:
    mechanism = read_mechanism(options.mechanism, "MECHANISM")
    proof = _hash_of_certificate(options.proof)
    ledger.charge(options.dataset, mechanism, options.count, options.note, certificate=proof)
    return _show_status(ledger, options)


def _reserve(ledger: Ledger, options: argparse.Namespace) -> int:
    mechanism = read_mechanism(options.mechanism, "MECHANISM")
    proof = _hash_of_certificate(options.proof)
    made = ledger.reserve(
        options.dataset, mechanism, options.count, options.note, certificate=proof
    )
    if not options.json:
        print(f"reservation {made.number}\n")
    return _show_status(ledger, options)


def _hash_of_certificate(name: str | None) -> str | None:
    from renyi.check import digest

    if name is None:
        return None
    try:
        return digest(json.loads(read_text(name, "--certificate")))
    except ValueError as error:
        raise UsageError(f"--certificate must be a file of JSON, got {name!r}: {error}") from None


def _settle(ledger: Ledger, options: argparse.Namespace) -> int:
    ledger.settle(options.dataset, options.reservation, options.used, options.note)
    return _show_status(ledger, options)


def _show_status(ledger: Ledger, options: argparse.Namespace) -> int:
    try:
        _print_status(ledger, options)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        recorded = "; the ledger has recorded it" if options.action in WRITING else ""
        raise OutputError(f"{error.strerror or error}{recorded}") from None
    return 0


def _print_status(ledger: Ledger, options: argparse.Namespace) -> None:
    names = ledger.datasets if options.dataset is None else (options.dataset,)
    found = [ledger.status(name) for name in names]
    if options.json:
        output.print_json({"datasets": [_status_data(status) for status in found]})
        return
    records = [
        {**asdict(status), "budget": _budget(status), "open": len(status.reservations)}
        for status in found
    ]
    output.print_table(STATUS, records)
    for status in found:
        for held in status.reservations:
            line = (
                f"{status.dataset}: reservation {held.number} of {held.count} x "
                f"{held.mechanism!r} counts as spent until it is settled"
            )
            print(f"\n{visible(line)}")
    if options.dataset is not None and found:
        print(f"\nhead {found[0].head}")


def _show_history(ledger: Ledger, options: argparse.Namespace) -> int:
    entries = ledger.history(options.dataset)
    if options.json:
        output.print_json({"entries": [_entry_data(entry) for entry in entries]})
        return 0
    output.print_table(HISTORY, [{**_entry_data(e), "what": _what(e)} for e in entries])
    return 0


def _verify(ledger: Ledger, options: argparse.Namespace) -> int:
    problems = ledger.verify(options.head or ())
    if options.json:
        output.print_json({"problems": problems})
    else:
        entries = sum(ledger.status(name).entries for name in ledger.datasets)
        whole = f"{entries} entries, every hash and every balance as it should be"
        print("\n".join(map(visible, problems)) or whole)
    return 1 if problems else 0


def _rebuild(ledger: Ledger, options: argparse.Namespace) -> int:
    ledger.rebuild(options.dataset)
    return _show_status(ledger, options)


def _backup(ledger: Ledger, options: argparse.Namespace) -> int:
    ledger.backup(options.target)
    return 0


def _export(ledger: Ledger, options: argparse.Namespace) -> int:
    for line in ledger.export_lines():
        print(line)
    return 0


def _import(ledger: Ledger, options: argparse.Namespace) -> int:
    ledger.import_lines(read_text(options.file, "FILE").splitlines())
    return _show_status(ledger, options)


def _check(ledger: Ledger, options: argparse.Namespace) -> int:
    status = ledger.status(options.dataset)
    facts: dict[str, Any] = {"dataset": options.dataset, "remaining": status.remaining}
    least = float(options.min_remaining)
    good = status.remaining >= least
    said = f"{_share(status.remaining)} of the budget ({_budget(status)}) is left"
    if options.mechanism is not None:
        mechanism = read_mechanism(options.mechanism, "MECHANISM")
        facts["fits"] = ledger.count_that_fits(options.dataset, mechanism, options.count)
        good = good and facts["fits"] == options.count
        said += f"; {facts['fits']} of {options.count} uses would fit"
    if options.json:
        output.print_json({**facts, "ok": good})
    else:
        print(said)
    return 0 if good else EXCEEDED


def _share(share: float) -> str:
    return f"{round_down(100.0 * share, 4)} %"


def _budget(status: Status) -> str:
    return ", ".join(f"{name} {plain(value)}" for name, value in status.budget.items())


def _status_data(status: Status) -> dict[str, Any]:
    held = [_with_mechanism(asdict(one), one.mechanism) for one in status.reservations]
    return {**asdict(status), "reservations": held}


def _entry_data(entry: Entry) -> dict[str, Any]:
    return _with_mechanism(asdict(entry), entry.mechanism)


def _with_mechanism(fields: dict[str, Any], mechanism: Any) -> dict[str, Any]:
    return {**fields, "mechanism": None if mechanism is None else mechanism.to_dict()}


def _what(entry: Entry) -> str:
    if entry.type == "create":
        return ""
    count = entry.count if entry.repeats == 1 else f"{entry.repeats} x {entry.count}"
    if entry.type == "settle":
        return f"reservation {entry.reservation}: {count} used"
    held = f"reservation {entry.reservation}: " if entry.type == "reserve" else ""
    run = "" if entry.run is None else f"run {entry.run} after {entry.step} steps: "
    proof = "" if entry.certificate is None else f", certificate {entry.certificate}"
    return f"{held}{run}{count} x {entry.mechanism!r}{proof}"


STATUS = (
    Column("dataset", "data set", str, left=True),
    Column("accountant", "filter", str, left=True),
    Column("adjacency", "adjacency", str, left=True),
    Column("budget", "budget", str, left=True),
    Column("remaining", "left of it", lambda share: _share(share)),
    Column("charges", "charges", output.grouped),
    Column("open", "open", str),
)
HISTORY = (
    Column("number", "", str),
    Column("time", "time", str, left=True),
    Column("type", "entry", str, left=True),
    Column("what", "uses", str, left=True),
    Column("note", "note", str, left=True),
    Column("hash", "hash", lambda text: text[:12], left=True),
)
WRITING = ("create", "charge", "reserve", "settle", "rebuild", "backup", "import")
"""What exits with 4 where the file cannot be written."""

ACTIONS: dict[str, Action] = {
    "create": _create,
    "charge": _charge,
    "reserve": _reserve,
    "settle": _settle,
    "status": _show_status,
    "history": _show_history,
    "verify": _verify,
    "rebuild": _rebuild,
    "backup": _backup,
    "export": _export,
    "import": _import,
    "check": _check,
}
