"""The tables of a ledger: reading, writing, verification, and exchange as lines of JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby
from typing import Any

from renyi import _strict_json
from renyi._strict_json import check_names
from renyi._validation import integer_of, uses_of
from renyi.filters import BudgetExceededError
from renyi.ledger._records import (
    MOST_REPEATS,
    NOTHING,
    Budget,
    Row,
    budget_from,
    canonical,
    created_from,
    follows,
    hash_of,
    link,
    name_of,
    repeated,
    seal_of,
    sealed,
    steps_after,
    text_of,
)
from renyi.ledger._store import LedgerError
from renyi.mechanisms import Mechanism

MOST_ROWS = 2**63 - 1  # the largest integer of the database


def names(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the data sets with their identities, in the order of their creation."""
    return dict(connection.execute("SELECT name, id FROM datasets ORDER BY id"))


def identity_of(connection: sqlite3.Connection, dataset: str) -> int:
    """Return the identity of a data set."""
    row = connection.execute("SELECT id FROM datasets WHERE name = ?", (dataset,)).fetchone()
    if row is None:
        known = ", ".join(map(repr, names(connection))) or "none"
        raise ValueError(f"dataset must be one of the ledger ({known}), got {dataset!r}")
    return int(row[0])


def add_dataset(connection: sqlite3.Connection, dataset: str) -> int:
    """Add a data set without a history, and return its identity."""
    if dataset in names(connection):
        raise ValueError(f"dataset must be a new name, got {dataset!r}")
    row = (dataset, "", "")
    added = connection.execute(
        "INSERT INTO datasets (name, filter, seal) VALUES (?, ?, ?) RETURNING id", row
    )
    return int(added.fetchone()[0])


def replace_budget(
    connection: sqlite3.Connection, identity: int, budget: Budget, loaded: Collection[int] = ()
) -> None:
    """Store the state of a filter after the last entry of its history.

    Reservations have their own rows, so that a charge neither reads nor writes them.
    ``loaded`` are the reservations that the filter was loaded with.
    """
    data = _strict_json.loads(budget.to_json())
    reserved = {item["number"]: canonical(item) for item in data["reserved"]}
    for number in loaded:
        if number not in reserved:
            connection.execute(
                "DELETE FROM reservations WHERE dataset = ? AND number = ?", (identity, number)
            )
    for number, held in reserved.items():
        if number not in loaded:
            seal = sealed(reserving_hash(connection, identity, number) or "", held)
            values = (identity, number, held, seal)
            connection.execute("INSERT INTO reservations VALUES (?, ?, ?, ?)", values)
    head, state = head_of(connection, identity), canonical({**data, "reserved": []})
    if head is None:  # the entry was added just before
        raise LedgerError(
            "ledger must keep what is added to it, got a damaged one: nothing was recorded"
        )
    row = (state, seal_of(head, state), identity)
    connection.execute("UPDATE datasets SET filter = ?, seal = ? WHERE id = ?", row)


def open_reservations(
    connection: sqlite3.Connection, identity: int, most: int = MOST_ROWS
) -> tuple[int, ...]:
    """Return the numbers of open reservations, at most ``most``."""
    found = connection.execute(
        "SELECT number FROM reservations WHERE dataset = ? ORDER BY number LIMIT ?",
        (identity, most),
    ).fetchall()
    return tuple(number for (number,) in found)


def reserving_hash(connection: sqlite3.Connection, identity: int, number: int) -> str | None:
    """Return the hash of the entry that made a reservation, if none has settled it."""
    found = connection.execute(
        "SELECT json_extract(body, '$.type'), hash FROM entries INDEXED BY entries_of_reservations "
        "WHERE dataset = ? AND json_extract(body, '$.reservation') = ? "
        "AND json_extract(body, '$.reservation') IS NOT NULL",
        (identity, number),
    ).fetchall()
    return found[0][1] if [type_ for type_, _ in found] == ["reserve"] else None


def held_of(connection: sqlite3.Connection, identity: int, number: int) -> dict[str, Any]:
    """Return the contents of a reservation, for the state of a filter.

    Raises:
        ValueError: If the contents do not match the entry that made the reservation.
    """
    row = connection.execute(
        "SELECT held, seal FROM reservations WHERE dataset = ? AND number = ?", (identity, number)
    ).fetchone()
    hash_ = reserving_hash(connection, identity, number)
    if row is None or hash_ is None or row[1] != sealed(hash_, row[0]):
        raise ValueError(f"reservation {number} does not belong to its entry of the history")
    held: dict[str, Any] = json.loads(row[0])
    return held


def head_of(connection: sqlite3.Connection, identity: int) -> Row | None:
    """Return the last entry of a history."""
    return next(iter(rows_of(connection, identity, "ORDER BY number DESC LIMIT 1")), None)


def rows_of(
    connection: sqlite3.Connection, identity: int, which: str = "ORDER BY number"
) -> list[Row]:
    """Return a history, or some rows of it."""
    statement = f"SELECT number, body, repeats, hash FROM entries WHERE dataset = ? {which}"
    found = connection.execute(statement, (identity,)).fetchall()  # an open cursor keeps a lock
    return [Row(*row) for row in found]


def steps_of(connection: sqlite3.Connection, identity: int, run: str) -> int:
    """Return the number of charged steps of a run, from its last entry."""
    row = connection.execute(
        "SELECT body, repeats FROM entries INDEXED BY entries_of_runs WHERE dataset = ? "
        "AND json_extract(body, '$.run') = ? AND json_extract(body, '$.run') IS NOT NULL "
        "ORDER BY number DESC LIMIT 1",
        (identity, run),
    ).fetchone()
    return 0 if row is None else steps_after(json.loads(row[0]), row[1])


def append(connection: sqlite3.Connection, identity: int, body: str) -> None:
    """Add an entry, or repeat the last entry if it is equal."""
    head = head_of(connection, identity)
    if head is not None and follows(head.body, head.repeats, body):
        connection.execute(
            "UPDATE entries SET repeats = repeats + 1, hash = ? WHERE dataset = ? AND number = ?",
            (repeated(head.hash), identity, head.number),
        )
        return
    number, before = (0, NOTHING) if head is None else (head.number, head.hash)
    insert(connection, identity, Row(number + 1, body, 1, link(before, body)))


def insert(connection: sqlite3.Connection, identity: int, row: Row) -> None:
    """Add an entry unchanged."""
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", (identity, *row))


FIELDS = {
    "create": {"dataset", "budget"},
    "charge": {"mechanism", "count"},
    "reserve": {"mechanism", "count", "reservation"},
    "settle": {"count", "reservation"},
}
RUN = {"run", "step"}
UNREADABLE = (ArithmeticError, LookupError, TypeError, ValueError)


class BrokenHistoryError(ValueError):
    """A history does not match its hashes, or exceeds its budget."""


def stored(
    connection: sqlite3.Connection, dataset: str, numbers: Collection[int] | None = ()
) -> tuple[int, Budget]:
    """Return the identity and the filter of a data set, with some of its reservations or all.

    The budget is that of the first entry. The spent budget is stored under a seal with the last
    entry, so that a charge need not read the whole history.

    Raises:
        LedgerError: If the stored filter does not belong to the history.
        ValueError: If there is no such data set.
    """
    identity = identity_of(connection, dataset)
    with reporting_damage(dataset):
        found = connection.execute("SELECT filter, seal FROM datasets WHERE id = ?", (identity,))
        state, seal = found.fetchone()
        first, head = rows_of(connection, identity, "AND number = 1"), head_of(connection, identity)
        if head is None or not first or seal != seal_of(head, state):
            raise ValueError("it does not belong to the last entry of the history")
        wanted = open_reservations(connection, identity) if numbers is None else numbers
        if wanted:
            held = [held_of(connection, identity, number) for number in wanted]
            state = canonical({**_strict_json.loads(state), "reserved": held})
        return identity, budget_from(state, _created(first[0].body, dataset))


@contextmanager
def reporting_damage(dataset: str) -> Iterator[None]:
    """Raise `LedgerError` with advice if the file holds what this package does not write."""
    try:
        yield
    except (*UNREADABLE, AttributeError, RecursionError) as error:
        raise LedgerError(
            f"ledger is damaged: the state of {dataset!r}: {error}; Ledger.verify tells whether "
            "its history is whole, and Ledger.rebuild computes the state from that"
        ) from error


def problems_of(connection: sqlite3.Connection, heads: Collection[str]) -> Iterator[str]:
    """Yield the problems of a ledger, a line each."""
    for (found,) in connection.execute("PRAGMA integrity_check"):
        if found != "ok":
            yield f"damaged file: {found}"
    missing = set(heads)
    for dataset, identity in names(connection).items():
        try:
            with reporting_damage(dataset):
                rows = rows_of(connection, identity)
        except LedgerError as error:
            yield f"{dataset}: {error}"
            continue
        try:
            missing -= _checked_hashes(rows, missing)
            budget = budget_after(rows, dataset)
            if stored(connection, dataset, None)[1] != budget:
                yield f"{dataset}: what is kept as spent does not follow from the history"
        except (LedgerError, ValueError) as error:
            yield f"{dataset}: {error}"
    for head in sorted(missing):
        yield f"no history leads through {head}: something was cut off or replaced"


def budget_after(rows: Sequence[Row], dataset: str) -> Budget:
    """Return the filter of a data set after all spendings of its history.

    Raises:
        BrokenHistoryError: If the hashes are broken, an entry is not as this package writes it, or
            the filter refuses an entry.
    """
    _checked_hashes(rows, ())
    budget, steps = _created(rows[0].body, dataset), dict[str, int]()
    if rows[0].repeats != 1:
        raise BrokenHistoryError("entry 1 must not be repeated")
    for row in rows[1:]:
        try:
            _replay(budget, row, steps)
        except BudgetExceededError as error:
            raise BrokenHistoryError(f"entry {row.number} exceeds the budget: {error}") from error
        except BrokenHistoryError:
            raise
        except (*UNREADABLE, RuntimeError) as error:  # RecursionError among them
            raise BrokenHistoryError(f"entry {row.number}: {error}") from error
    return budget


def _created(body: str, dataset: str) -> Budget:
    """Return the budget that the first entry of a history gives."""
    fields = _fields_of(body)
    if fields["type"] != "create":
        raise BrokenHistoryError(f"entry 1 must create the data set, got {fields['type']!r}")
    if fields["dataset"] != dataset:
        raise BrokenHistoryError(f"entry 1 must create {dataset!r}, got {fields['dataset']!r}")
    return created_from(fields["budget"])


def _fields_of(body: str) -> dict[str, Any]:
    """Return the fields of an entry, each of which is known."""
    fields = json.loads(body)
    if not isinstance(fields, dict) or canonical(fields) != body:
        raise BrokenHistoryError("it is not written as entries are")
    if fields.get("type") not in FIELDS:
        raise BrokenHistoryError(f"type must be one of {', '.join(FIELDS)}")
    own = FIELDS[fields["type"]]
    more = RUN if fields["type"] == "charge" and RUN & fields.keys() else set()
    if "mechanism" in own and "certificate" in fields:
        more = {*more, "certificate"}
        hash_of(fields["certificate"], "certificate")
    check_names("entry", fields, {"type", "time", "note", *own, *more})
    text_of(fields["note"], "note")
    datetime.fromisoformat(fields["time"])
    return fields


def _replay(budget: Budget, row: Row, steps: dict[str, int]) -> None:
    """Apply an entry to the budget, as when the entry was made."""
    fields = _fields_of(row.body)
    if fields["type"] == "create" or (row.repeats > 1 and fields["type"] != "charge"):
        raise BrokenHistoryError(f"entry {row.number} must not be {fields['type']!r} again")
    if fields["type"] == "settle":
        budget.settle(fields["reservation"], fields["count"])
        return
    mechanism, count = Mechanism.from_dict(fields["mechanism"]), uses_of(fields["count"])
    if fields["type"] == "charge":
        _check_step(fields, row, steps)
        for _ in range(row.repeats):
            budget.spend(mechanism, count)
    elif budget.reserve(mechanism, count).number != fields["reservation"]:
        raise BrokenHistoryError(f"reservation {fields['reservation']} is out of order")


def _check_step(fields: Mapping[str, Any], row: Row, steps: dict[str, int]) -> None:
    """Check the step of a charge against its run, and update ``steps``."""
    if "run" in fields:
        run, step = name_of(fields["run"], "run"), uses_of(fields["step"], "step")
        if step != steps.get(run, 0):
            raise BrokenHistoryError(f"entry {row.number} is out of the order of its run")
        steps[run] = steps_after(fields, row.repeats)


def _checked_hashes(rows: Sequence[Row], wanted: Collection[str]) -> set[str]:
    """Return the wanted hashes that occur in the history, or raise if it is broken."""
    if not rows:
        raise BrokenHistoryError("it has no history")
    passed, before = set(), NOTHING
    for number, row in enumerate(rows, 1):
        if row.number != number:
            raise BrokenHistoryError(f"entry {number} is missing")
        if not 1 <= row.repeats <= MOST_REPEATS:
            raise BrokenHistoryError(f"entry {number} must have from 1 to 10^7 repeats")
        before = link(before, row.body)
        for more in range(row.repeats):
            before = repeated(before) if more else before
            if before in wanted:
                passed.add(before)
        if before != row.hash:
            raise BrokenHistoryError(f"entry {number} is not what its hash says")
    return passed


LINE_FIELDS = ("dataset", "number", "entry", "repeats", "hash")


def exported(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield the entries of all data sets, one after the other."""
    for dataset, identity in names(connection).items():
        with reporting_damage(dataset):
            for row in rows_of(connection, identity):
                entry = json.loads(row.body)
                values = (dataset, row.number, entry, row.repeats, row.hash)
                yield _strict_json.dumps(dict(zip(LINE_FIELDS, values, strict=True)))


def replayed(lines: Iterable[str]) -> list[tuple[str, list[Row], Budget]]:
    """Return data sets whose histories are whole and within their budgets.

    Raises:
        TypeError, ValueError: If a history is broken or exceeds its budget.
    """
    read = (_read(line) for line in lines if line.strip())
    found = []
    for dataset, group in groupby(read, key=lambda item: item[0]):
        rows = [row for _, row in group]
        found.append((dataset, rows, budget_after(rows, dataset)))
    return found


def _read(line: str) -> tuple[str, Row]:
    data = _strict_json.check_version(_strict_json.loads(line))
    check_names("line", data, LINE_FIELDS)
    if not isinstance(data["entry"], dict):
        raise ValueError(f"line must hold its entry, got {line!r}")
    number, repeats = (integer_of(data[name], name, 1) for name in ("number", "repeats"))
    if not isinstance(data["hash"], str):
        raise TypeError(f"hash must be a string, got {data['hash']!r}")
    return name_of(data["dataset"], "dataset"), Row(
        number, canonical(data["entry"]), repeats, data["hash"]
    )
