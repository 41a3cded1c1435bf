"""Histories as lines of JSON, which another ledger takes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby

from renyi import _strict_json
from renyi._strict_json import check_names
from renyi._validation import integer_of
from renyi.ledger._records import canonical, name_of
from renyi.ledger._rows import Row, add_dataset, insert, names, rows_of
from renyi.ledger._verification import budget_after

__all__ = ["exported", "imported"]

FIELDS = ("dataset", "number", "entry", "repeats", "hash")


def exported(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield the entries of all data sets, one after the other."""
    for dataset, identity in names(connection).items():
        for row in rows_of(connection, identity):
            entry = json.loads(row.body)
            values = (dataset, row.number, entry, row.repeats, row.hash)
            yield _strict_json.dumps(dict(zip(FIELDS, values, strict=True)))


def imported(connection: sqlite3.Connection, lines: Iterable[str]) -> None:
    """Add data sets whose histories are whole and within their budgets."""
    read = (_read(line) for line in lines if line.strip())
    for dataset, group in groupby(read, key=lambda item: item[0]):
        rows = [row for _, row in group]
        identity = add_dataset(connection, dataset, budget_after(rows))
        for row in rows:
            insert(connection, identity, row)


def _read(line: str) -> tuple[str, Row]:
    data = _strict_json.check_version(_strict_json.loads(line))
    check_names("line", data, FIELDS)
    if not isinstance(data["entry"], dict):
        raise ValueError(f"line must hold its entry, got {line!r}")
    number, repeats = (integer_of(data[name], name, 1) for name in ("number", "repeats"))
    return name_of(data["dataset"], "dataset"), Row(
        number, canonical(data["entry"]), repeats, str(data["hash"])
    )
