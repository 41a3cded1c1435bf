"""Histories as lines of JSON, which another ledger takes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby

from renyi import _strict_json
from renyi._strict_json import check_names
from renyi._validation import integer_of
from renyi.ledger._budgets import Budget
from renyi.ledger._records import Row, canonical, name_of
from renyi.ledger._rows import names, rows_of
from renyi.ledger._verification import budget_after, damage_told

__all__ = ["exported", "replayed"]

FIELDS = ("dataset", "number", "entry", "repeats", "hash")


def exported(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield the entries of all data sets, one after the other."""
    for dataset, identity in names(connection).items():
        with damage_told(dataset):
            for row in rows_of(connection, identity):
                entry = json.loads(row.body)
                values = (dataset, row.number, entry, row.repeats, row.hash)
                yield _strict_json.dumps(dict(zip(FIELDS, values, strict=True)))


def replayed(lines: Iterable[str]) -> list[tuple[str, list[Row], Budget]]:
    """Return data sets whose histories are whole and within their budgets.

    Raises
    ------
    TypeError, ValueError
        If one is not.
    """
    read = (_read(line) for line in lines if line.strip())
    found = []
    for dataset, group in groupby(read, key=lambda item: item[0]):
        rows = [row for _, row in group]
        found.append((dataset, rows, budget_after(rows, dataset)))
    return found


def _read(line: str) -> tuple[str, Row]:
    data = _strict_json.check_version(_strict_json.loads(line))
    check_names("line", data, FIELDS)
    if not isinstance(data["entry"], dict):
        raise ValueError(f"line must hold its entry, got {line!r}")
    number, repeats = (integer_of(data[name], name, 1) for name in ("number", "repeats"))
    if not isinstance(data["hash"], str):
        raise TypeError(f"hash must be a string, got {data['hash']!r}")
    return name_of(data["dataset"], "dataset"), Row(
        number, canonical(data["entry"]), repeats, data["hash"]
    )
