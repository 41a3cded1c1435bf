"""What can be asked of a ledger."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, Self

from renyi.ledger._budgets import accountant_of, limits_of
from renyi.ledger._lines import exported
from renyi.ledger._records import Entry, Status, entry_of
from renyi.ledger._rows import head_of, identity_of, names, rows_of
from renyi.ledger._store import Store
from renyi.ledger._verification import damage_told, problems_of, stored
from renyi.mechanisms import Mechanism

__all__ = ["Readable"]


class Readable:
    """A ledger that is only looked at."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout: float = 60.0,
        wal: bool = False,
        read_only: bool = False,
    ) -> None:
        self._store = Store(path, timeout, wal, read_only)

    def count_that_fits(self, dataset: str, mechanism: Mechanism, most: int) -> int:
        """Return how many uses `charge` would take now, at most so many."""
        budget = self._store.reading(lambda connection: stored(connection, dataset))[1]
        return budget.count_that_fits(mechanism, most)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names, in the order of their creation."""
        return tuple(self._store.reading(names))

    def status(self, dataset: str) -> Status:
        """Return where a data set stands.

        Raises
        ------
        LedgerError
            If the file cannot be read.
        ValueError
            If there is no such data set.
        """

        def read(connection: sqlite3.Connection) -> Status:
            identity, budget = stored(connection, dataset, None)
            charges, entries = connection.execute(
                "SELECT sum(iif(json_extract(body, '$.type') = 'charge', repeats, 0)), count(*) "
                "FROM entries WHERE dataset = ?",
                (identity,),
            ).fetchone()
            head = head_of(connection, identity)
            return Status(
                dataset,
                accountant_of(budget),
                limits_of(budget),
                budget.adjacency,
                budget.remaining,
                charges,
                entries,
                budget.reservations,
                "" if head is None else head.hash,
            )

        return self._store.reading(read)

    def history(self, dataset: str) -> list[Entry]:
        """Return all that was recorded of a data set, in its order."""

        def read(connection: sqlite3.Connection) -> list[Entry]:
            identity = identity_of(connection, dataset)
            with damage_told(dataset):
                return [entry_of(dataset, *row) for row in rows_of(connection, identity)]

        return self._store.reading(read)

    def verify(self, heads: Iterable[str] = ()) -> list[str]:
        """Return what is wrong: damage, broken hashes, states that do not follow from the history.

        Parameters
        ----------
        heads : iterable of str
            `Status.head` of earlier times, each of which must be in a history.
        """
        wanted = set(heads)
        return self._store.reading(lambda connection: list(problems_of(connection, wanted)))

    def export_lines(self) -> Iterator[str]:
        """Return the histories of all data sets as lines of JSON, for `import_lines`."""
        return iter(self._store.reading(lambda connection: list(exported(connection))))

    def backup(self, target: str | os.PathLike[str]) -> None:
        """Write all that is recorded now to a new file, while others may charge.

        It is for safekeeping: whoever charges both files has two budgets.

        Raises
        ------
        LedgerError
            If a file cannot be read or written.
        ValueError
            If there is a file of that name.
        """
        self._store.backup(target)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        store = self._store
        options = {"timeout": store.timeout, "wal": store.wal, "read_only": store.read_only}
        return _opened, (type(self), store.path, options)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {str(self._store.path)!r}>"


def _opened(kind: type[Readable], path: str, options: dict[str, Any]) -> Readable:
    return kind(path, **options)
