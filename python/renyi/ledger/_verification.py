"""Whether a history is whole, and the state of a filter what follows from it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from renyi import _strict_json
from renyi._strict_json import check_names
from renyi._validation import uses_of
from renyi.filters import BudgetExceededError
from renyi.ledger._budgets import Budget, budget_from, created_from
from renyi.ledger._records import (
    MOST_REPEATS,
    NOTHING,
    canonical,
    link,
    name_of,
    repeated,
    seal_of,
    steps_after,
    text_of,
)
from renyi.ledger._rows import (
    Row,
    first_of,
    head_of,
    held_of,
    identity_of,
    kept,
    names,
    open_reservations,
    rows_of,
)
from renyi.ledger._store import LedgerError
from renyi.mechanisms import Mechanism

__all__ = ["BrokenHistoryError", "budget_after", "damage_told", "problems_of", "stored"]

FIELDS = {
    "create": {"dataset", "budget"},
    "charge": {"mechanism", "count"},
    "reserve": {"mechanism", "count", "reservation"},
    "settle": {"count", "reservation"},
}
RUN = {"run", "step"}


class BrokenHistoryError(ValueError):
    """A history is not what its hashes say, or more than its budget."""


def stored(
    connection: sqlite3.Connection, dataset: str, numbers: Collection[int] | None = ()
) -> tuple[int, Budget]:
    """Return the identity and the filter of a data set, with some of its reservations or all.

    Its budget is that of the first entry. What was spent of it was computed before and stored, so
    that a charge need not read the whole history, under a seal with the last entry.

    Raises
    ------
    LedgerError
        If it does not belong to the history as it is.
    ValueError
        If there is no such data set.
    """
    identity = identity_of(connection, dataset)
    with damage_told(dataset):
        state, seal = kept(connection, identity)
        if not seal:  # written by an older version
            return identity, budget_after(rows_of(connection, identity), dataset)
        head, first = head_of(connection, identity), first_of(connection, identity)
        if head is None or first is None or seal != seal_of(head, state):
            raise ValueError("it does not belong to the last entry of the history")
        wanted = open_reservations(connection, identity) if numbers is None else numbers
        if wanted:
            held = [held_of(connection, identity, number) for number in wanted]
            state = canonical({**_strict_json.loads(state), "reserved": held})
        return identity, budget_from(state, _created(first, dataset))


@contextmanager
def damage_told(dataset: str) -> Iterator[None]:
    """Say what to do where a file holds what this package does not write."""
    try:
        yield
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise LedgerError(
            f"ledger is damaged: the state of {dataset!r}: {error}; Ledger.verify tells whether "
            "its history is whole, and Ledger.rebuild computes the state from that"
        ) from error


def problems_of(connection: sqlite3.Connection, heads: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with a ledger, a line each."""
    for (found,) in connection.execute("PRAGMA integrity_check"):
        if found != "ok":
            yield f"damaged file: {found}"
    missing = set(heads)
    for dataset, identity in names(connection).items():
        try:
            with damage_told(dataset):
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
    """Return the filter of a data set with all that its history says was spent.

    Raises
    ------
    BrokenHistoryError
        If the hashes are broken, an entry is not as this package writes it, or the filter refuses
        one.
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
        except (
            ArithmeticError,
            LookupError,
            RecursionError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
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
    check_names("entry", fields, {"type", "time", "note", *own, *more})
    text_of(fields["note"], "note")
    datetime.fromisoformat(fields["time"])
    return fields


def _replay(budget: Budget, row: Row, steps: dict[str, int]) -> None:
    """Spend what an entry says, as it was when it was made."""
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
    """Follow the steps of runs."""
    if "run" in fields:
        run, step = name_of(fields["run"], "run"), uses_of(fields["step"], "step")
        if step != steps.get(run, 0):
            raise BrokenHistoryError(f"entry {row.number} is out of the order of its run")
        steps[run] = steps_after(fields, row.repeats)


def _checked_hashes(rows: Sequence[Row], wanted: Collection[str]) -> set[str]:
    """Return which of the wanted hashes the history leads through, or raise if it is broken."""
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
