"""``renyi ledger``: budgets of data sets, charged and shown from a shell."""

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
    from renyi.filters import Reservation
    from renyi.ledger import Entry, Ledger, Status

Action = Callable[["Ledger", argparse.Namespace], object]


def run(options: argparse.Namespace) -> int:
    """Run one action on a ledger; return 3 where it would exceed a budget."""
    from renyi.filters import BudgetExceededError
    from renyi.ledger import LedgerError

    action, read_only = options.action, getattr(options, "read_only", False)
    try:
        with opened_ledger(options.path, read_only=read_only) as ledger:
            if action in QUESTIONS:
                return QUESTIONS[action](ledger, options)
            CHANGES[action](ledger, options)
            return 0 if action == "backup" else _show_status(ledger, options)
    except BudgetExceededError as error:
        print(f"{options.parser.prog}: refused: {visible(str(error))}", file=sys.stderr)
        return EXCEEDED
    except LedgerError as error:
        kinds = {kind.__name__ for kind in type(error.__cause__).__mro__}  # of any driver
        unwritable = action in CHANGES and kinds & {"OperationalError", "OSError"}
        raise (OutputError if unwritable else UsageError)(str(error)) from None


def _create(ledger: Ledger, options: argparse.Namespace) -> None:
    numbers = {name: getattr(options, name) for name in ("epsilon", "delta", "rho")}
    ledger.create(
        options.dataset,
        **{name: None if value is None else float(value) for name, value in numbers.items()},
        accountant=options.accountant,
        adjacency=options.adjacency,
        note=options.note,
    )


def _use(ledger: Ledger, options: argparse.Namespace) -> None:
    """Charge uses of a mechanism, or reserve them."""
    mechanism = read_mechanism(options.mechanism, "MECHANISM")
    uses = options.dataset, mechanism, options.count, options.note
    proof = _hash_of_certificate(options.proof)
    if options.action == "charge":
        ledger.charge(*uses, certificate=proof)
        return
    made = ledger.reserve(*uses, certificate=proof)
    if not options.json:
        print(f"reservation {made.number}\n")


def _hash_of_certificate(name: str | None) -> str | None:
    from renyi.check import digest

    if name is None:
        return None
    try:
        return digest(json.loads(read_text(name, "--certificate")))
    except ValueError as error:
        raise UsageError(f"--certificate must be a file of JSON, got {name!r}: {error}") from None


def _show_status(ledger: Ledger, options: argparse.Namespace) -> int:
    try:
        _print_status(ledger, options)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        recorded = "; the ledger has recorded it" if options.action in CHANGES else ""
        raise OutputError(f"{error.strerror or error}{recorded}") from None
    return 0


def _print_status(ledger: Ledger, options: argparse.Namespace) -> None:
    names = ledger.datasets if options.dataset is None else (options.dataset,)
    found = [ledger.status(name) for name in names]
    if options.json:
        own = [{"reservations": list(map(_data, status.reservations))} for status in found]
        data = [{**asdict(status), **held} for status, held in zip(found, own, strict=True)]
        output.print_json({"datasets": data})
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
        output.print_json({"entries": list(map(_data, entries))})
        return 0
    output.print_table(HISTORY, [{**_data(entry), "what": _what(entry)} for entry in entries])
    return 0


def _verify(ledger: Ledger, options: argparse.Namespace) -> int:
    problems = ledger.verify(options.head or ())
    if options.json:
        output.print_json({"problems": problems})
    elif problems:
        print("\n".join(map(visible, problems)))
    else:
        entries = sum(ledger.status(name).entries for name in ledger.datasets)
        print(f"{entries} entries, every hash and every balance as it should be")
    return 1 if problems else 0


def _export(ledger: Ledger, options: argparse.Namespace) -> int:
    for line in ledger.export_lines():
        print(line)
    return 0


def _check(ledger: Ledger, options: argparse.Namespace) -> int:
    if options.mechanism is None and options.count is not None:
        raise UsageError("--count needs a MECHANISM, of which it says how many uses")
    status, count = ledger.status(options.dataset), options.count or 1
    facts: dict[str, Any] = {"dataset": options.dataset, "remaining": status.remaining}
    least = float(options.min_remaining)
    good = status.remaining >= least
    said = f"{_share(status.remaining)} of the budget ({_budget(status)}) is left"
    if options.mechanism is not None:
        mechanism = read_mechanism(options.mechanism, "MECHANISM")
        facts["fits"] = ledger.count_that_fits(options.dataset, mechanism, count)
        good = good and facts["fits"] == count
        said += f"; {facts['fits']} of {count} uses would fit"
    if options.json:
        output.print_json({**facts, "ok": good})
    else:
        print(said)
    return 0 if good else EXCEEDED


def _share(share: float) -> str:
    return f"{round_down(100.0 * share, 4)} %"


def _budget(status: Status) -> str:
    return ", ".join(f"{name} {plain(value)}" for name, value in status.budget.items())


def _data(one: Entry | Reservation) -> dict[str, Any]:
    """Return the fields of an entry or a reservation, as JSON can hold them."""
    return {**asdict(one), "mechanism": None if one.mechanism is None else one.mechanism.to_dict()}


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
CHANGES: dict[str, Action] = {
    "create": _create,
    "charge": _use,
    "reserve": _use,
    "settle": lambda ledger, given: ledger.settle(
        given.dataset, given.reservation, given.used, given.note
    ),
    "rebuild": lambda ledger, given: ledger.rebuild(given.dataset),
    "backup": lambda ledger, given: ledger.backup(given.target),
    "import": lambda ledger, given: ledger.import_lines(read_text(given.file, "FILE").splitlines()),
}
"""The actions that exit with 4 if the file cannot be written; all but backups show what is left."""

QUESTIONS: dict[str, Callable[[Ledger, argparse.Namespace], int]] = {
    "status": _show_status,
    "history": _show_history,
    "verify": _verify,
    "export": _export,
    "check": _check,
}
