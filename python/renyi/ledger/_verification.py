"""Whether a history is whole, and the state of a filter what follows from it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from renyi.filters import BudgetExceededError
from renyi.ledger._budgets import Budget, budget_from
from renyi.ledger._records import NOTHING, link, repeated, steps_after
from renyi.ledger._rows import Row, names, rows_of, stored
from renyi.ledger._store import LedgerError
from renyi.mechanisms import Mechanism

__all__ = ["BrokenHistoryError", "budget_after", "problems_of"]

TOLERANCE = 1e-9  # another version of the engine may round otherwise


class BrokenHistoryError(ValueError):
    """A history is not what its hashes say, or more than its budget."""


def problems_of(connection: sqlite3.Connection, heads: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with a ledger, a line each."""
    for (found,) in connection.execute("PRAGMA integrity_check"):
        if found != "ok":
            yield f"damaged file: {found}"
    missing = set(heads)
    for dataset, identity in names(connection).items():
        try:
            rows = rows_of(connection, identity)
            missing -= _checked_hashes(rows, missing)
            budget = budget_after(rows)
            kept = stored(connection, dataset)[1]
            if budget != kept and not _close(budget, kept):
                yield f"{dataset}: what is kept as spent does not follow from the history"
        except (LedgerError, KeyError, TypeError, ValueError) as error:
            yield f"{dataset}: {error}"
    for head in sorted(missing):
        yield f"no history leads through {head}: something was cut off or replaced"


def budget_after(rows: Sequence[Row]) -> Budget:
    """Return the filter of a data set with all that its history says was spent.

    Raises
    ------
    BrokenHistoryError
        If the hashes are broken or the filter refuses an entry.
    """
    _checked_hashes(rows, ())
    first = json.loads(rows[0].body)
    if first["type"] != "create":
        raise BrokenHistoryError(f"entry 1 must create the data set, got {first['type']!r}")
    budget = budget_from(first["budget"])
    steps: dict[str, int] = {}
    for row in rows[1:]:
        fields = json.loads(row.body)
        if "run" in fields:
            if fields["step"] != steps.get(fields["run"], 0):
                raise BrokenHistoryError(f"entry {row.number} is out of the order of its run")
            steps[fields["run"]] = steps_after(fields, row.repeats)
        try:
            for _ in range(row.repeats):
                _replay(budget, fields)
        except BudgetExceededError as error:
            raise BrokenHistoryError(f"entry {row.number} exceeds the budget: {error}") from error
    return budget


def _replay(budget: Budget, fields: dict[str, Any]) -> None:
    if fields["type"] == "settle":
        budget.settle(fields["reservation"], fields["count"])
        return
    mechanism = Mechanism.from_dict(fields["mechanism"])
    if fields["type"] == "charge":
        budget.spend(mechanism, fields["count"])
    elif budget.reserve(mechanism, fields["count"]).number != fields["reservation"]:
        raise BrokenHistoryError(f"reservation {fields['reservation']} is out of order")


def _checked_hashes(rows: Sequence[Row], wanted: Collection[str]) -> set[str]:
    """Return which of the wanted hashes the history leads through, or raise if it is broken."""
    if not rows:
        raise BrokenHistoryError("it has no history")
    passed, before = set(), NOTHING
    for number, row in enumerate(rows, 1):
        if row.number != number:
            raise BrokenHistoryError(f"entry {number} is missing")
        before = link(before, row.body)
        for more in range(row.repeats):
            before = repeated(before) if more else before
            if before in wanted:
                passed.add(before)
        if row.repeats < 1 or before != row.hash:
            raise BrokenHistoryError(f"entry {number} is not what its hash says")
    return passed


def _close(one: Budget, other: Budget) -> bool:
    return (
        type(one) is type(other)
        and one.reservations == other.reservations
        and abs(one.remaining - other.remaining) <= TOLERANCE
    )
