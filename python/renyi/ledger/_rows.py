"""What is read from and written to the tables of a ledger, within a transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from typing import Any

from renyi import _strict_json
from renyi.ledger._budgets import Budget
from renyi.ledger._records import (
    NOTHING,
    Row,
    canonical,
    follows,
    link,
    repeated,
    seal_of,
    sealed,
    steps_after,
)
from renyi.ledger._store import LedgerError

__all__ = [
    "Row",
    "add_dataset",
    "append",
    "first_of",
    "head_of",
    "held_of",
    "identity_of",
    "insert",
    "kept",
    "names",
    "open_reservations",
    "replace_all",
    "replace_budget",
    "reserving_hash",
    "rows_of",
    "steps_of",
]


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


def kept(connection: sqlite3.Connection, identity: int) -> tuple[str, str]:
    """Return the state of a filter as it is stored, and its seal."""
    found = connection.execute("SELECT filter, seal FROM datasets WHERE id = ?", (identity,))
    state, seal = found.fetchone()
    return state, seal


def add_dataset(connection: sqlite3.Connection, dataset: str) -> int:
    """Add a data set without a history, and return its identity."""
    if dataset in names(connection):
        raise ValueError(f"dataset must be a new name, got {dataset!r}")
    row = (dataset, "")
    return (
        connection.execute("INSERT INTO datasets (name, filter) VALUES (?, ?)", row).lastrowid or 0
    )


def replace_budget(
    connection: sqlite3.Connection, identity: int, budget: Budget, loaded: Collection[int] = ()
) -> None:
    """Store the state of a filter after the last entry of its history.

    Its reservations have rows of their own, so that a charge reads and writes none of them: what
    they hold is spent until they are settled. ``loaded`` are those which it had at first.
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
    if head is None:  # it was added a moment ago
        raise LedgerError(
            "ledger must keep what is added to it, got a damaged one: nothing was recorded"
        )
    row = (state, seal_of(head, state), identity)
    connection.execute("UPDATE datasets SET filter = ?, seal = ? WHERE id = ?", row)


def replace_all(connection: sqlite3.Connection, identity: int, budget: Budget) -> None:
    """Store a filter with all its reservations, in place of what was stored."""
    connection.execute("DELETE FROM reservations WHERE dataset = ?", (identity,))
    replace_budget(connection, identity, budget)


def open_reservations(
    connection: sqlite3.Connection, identity: int, most: int = -1
) -> tuple[int, ...]:
    """Return the numbers of what is set aside, at most so many."""
    found = connection.execute(
        "SELECT number FROM reservations WHERE dataset = ? ORDER BY number LIMIT ?",
        (identity, most),
    )
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
    """Return what a reservation holds, for the state of a filter.

    Raises
    ------
    ValueError
        If that is not what the entry which made it led to.
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
    row = connection.execute(
        "SELECT number, body, repeats, hash FROM entries WHERE dataset = ? "
        "ORDER BY number DESC LIMIT 1",
        (identity,),
    ).fetchone()
    return None if row is None else Row(*row)


def first_of(connection: sqlite3.Connection, identity: int) -> str | None:
    """Return the text of the first entry of a history."""
    row = connection.execute(
        "SELECT body FROM entries WHERE dataset = ? AND number = 1", (identity,)
    ).fetchone()
    return None if row is None else row[0]


def rows_of(connection: sqlite3.Connection, identity: int) -> list[Row]:
    """Return a history."""
    found = connection.execute(
        "SELECT number, body, repeats, hash FROM entries WHERE dataset = ? ORDER BY number",
        (identity,),
    )
    return [Row(*row) for row in found]


def steps_of(connection: sqlite3.Connection, identity: int, run: str) -> int:
    """Return how many steps of a run were charged; the last entry of it tells."""
    row = connection.execute(
        "SELECT body, repeats FROM entries INDEXED BY entries_of_runs WHERE dataset = ? "
        "AND json_extract(body, '$.run') = ? AND json_extract(body, '$.run') IS NOT NULL "
        "ORDER BY number DESC LIMIT 1",
        (identity, run),
    ).fetchone()
    return 0 if row is None else steps_after(json.loads(row[0]), row[1])


def append(connection: sqlite3.Connection, identity: int, body: str) -> None:
    """Add an entry, or repeat the last one if that says the same."""
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
    """Add an entry as it stands."""
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", (identity, *row))
