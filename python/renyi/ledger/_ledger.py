"""The ledger: data sets with budgets, charged before anything is released."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from renyi._adjacency import Adjacency
from renyi._validation import uses_of
from renyi.filters import Reservation
from renyi.ledger._budgets import Budget, accountant_of, limits_of, new_budget
from renyi.ledger._lines import exported, imported
from renyi.ledger._records import Entry, Status, body_of, entry_of
from renyi.ledger._rows import add_dataset, append, head_of, names, replace_budget, rows_of, stored
from renyi.ledger._store import Store
from renyi.ledger._verification import problems_of
from renyi.mechanisms import Mechanism

__all__ = ["Ledger"]


class Ledger:
    """Budgets of data sets and what was spent of them, in one file.

    Parameters
    ----------
    path : str or path-like
        An SQLite file on a disk of this machine. `create` makes it, with its first data set.
    timeout : float
        Seconds to wait for others that are writing.

    Notes
    -----
    Threads and processes may charge at once, each through a ledger of its own or, among threads and
    after a fork, through one. A charge is one transaction: read the state of the filter, let it
    decide, append to the history, and only then return, with the write-ahead log on the disk. A
    process that is killed leaves a charge behind wholly or not at all.

    Budgets hold for fully adaptive composition: see `PrivacyFilter` ("renyi"), `GDPFilter` ("gdp")
    and `ZCDPFilter` ("zcdp"). Mechanisms may run at the same time (Haney and others 2023, arXiv
    2309.05901).

    Equal charges of a data set that follow each other within an hour are one line of its history.
    Its hash is that of as many lines.

    Examples
    --------
    >>> import tempfile
    >>> from renyi import Gaussian, PoissonSampled
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/privacy.db")
    >>> ledger.create("scans", epsilon=2.0, delta=1e-6)
    >>> run = ledger.reserve("scans", PoissonSampled(Gaussian(1.1), 0.004), 5000)
    >>> ledger.settle("scans", run, 1200)  # it ended early
    >>> [(entry.type, entry.count) for entry in ledger.history("scans")]
    [('create', None), ('reserve', 5000), ('settle', 1200)]
    >>> ledger.close()
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 60.0) -> None:
        self._store = Store(path, timeout)

    def create(
        self,
        dataset: str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        accountant: str | None = None,
        adjacency: Adjacency = "add_remove",
        note: str = "",
    ) -> None:
        """Add a data set with a budget, which stays as it is.

        Parameters
        ----------
        dataset : str
            A new name.
        epsilon, delta, rho : float, optional
            The budget: either the first two or the last.
        accountant : {"renyi", "gdp", "zcdp"}, optional
            By default "renyi", or "zcdp" for rho.
        adjacency : {"add_remove", "replace_one", "zero_out"}
            Which data sets are neighbours.
        note : str
            For the history.

        Raises
        ------
        LedgerError
            If the file cannot be written.
        TypeError, ValueError
            If the name is taken or empty, or the budget is not as above.
        """
        budget = new_budget(epsilon, delta, rho, accountant, adjacency)
        fields = {"dataset": _text(dataset, "dataset"), "note": _text(note, "note")}
        if not dataset:
            raise ValueError("dataset must be a name, got an empty one")
        with self._store.changing(create=True) as connection:
            identity = add_dataset(connection, dataset, budget)
            append(connection, identity, body_of("create", budget=budget.to_json(), **fields))

    def charge(self, dataset: str, mechanism: Mechanism, count: int = 1, note: str = "") -> None:
        """Record uses of a mechanism, before they are run, or refuse all of them.

        Raises
        ------
        BudgetExceededError
            If they would exceed the budget; it says what is left and what would fit.
        LedgerError
            If the file cannot be read or written. Nothing is recorded then, nor after the others.
        UnsupportedMechanismError, TypeError, ValueError
            If the filter cannot account for the mechanism, or an argument is not as above.
        """
        fields = _use(mechanism, count, note)
        with self._changing(dataset) as (connection, identity, budget):
            budget.spend(mechanism, count)
            append(connection, identity, body_of("charge", **fields))

    def reserve(
        self, dataset: str, mechanism: Mechanism, count: int, note: str = ""
    ) -> Reservation:
        """Set uses of a mechanism aside for a long run; they count as spent until `settle`.

        Raises
        ------
        BudgetExceededError, LedgerError, UnsupportedMechanismError, TypeError, ValueError
            As `charge`.
        """
        fields = _use(mechanism, count, note)
        with self._changing(dataset) as (connection, identity, budget):
            made = budget.reserve(mechanism, count)
            append(connection, identity, body_of("reserve", reservation=made.number, **fields))
        return made

    def settle(
        self, dataset: str, reservation: int | Reservation, used: int, note: str = ""
    ) -> None:
        """Record how many uses there were, and give back the others as far as that is sound.

        Raises
        ------
        LedgerError
            As `charge`.
        TypeError, ValueError
            If there is no such reservation, or it has fewer uses.
        """
        number = reservation.number if isinstance(reservation, Reservation) else reservation
        fields = {
            "reservation": number,
            "count": uses_of(used, "used"),
            "note": _text(note, "note"),
        }
        with self._changing(dataset) as (connection, identity, budget):
            budget.settle(number, used)
            append(connection, identity, body_of("settle", **fields))

    def count_that_fits(self, dataset: str, mechanism: Mechanism, most: int) -> int:
        """Return how many uses `charge` would take now, at most so many."""
        with self._store.reading() as connection:
            budget = stored(connection, dataset)[1]
        return budget.count_that_fits(mechanism, most)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names, in the order of their creation."""
        with self._store.reading() as connection:
            return tuple(names(connection))

    def status(self, dataset: str) -> Status:
        """Return where a data set stands.

        Raises
        ------
        LedgerError
            If the file cannot be read.
        ValueError
            If there is no such data set.
        """
        with self._store.reading() as connection:
            identity, budget = stored(connection, dataset)
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

    def history(self, dataset: str) -> list[Entry]:
        """Return all that was recorded of a data set, in its order."""
        with self._store.reading() as connection:
            identity, _ = stored(connection, dataset)
            rows = rows_of(connection, identity)
        return [entry_of(dataset, *row) for row in rows]

    def verify(self, heads: Iterable[str] = ()) -> list[str]:
        """Return what is wrong: damage, broken hashes, states that do not follow from the history.

        Parameters
        ----------
        heads : iterable of str
            `Status.head` of earlier times, each of which must be in a history.
        """
        with self._store.reading() as connection:
            return list(problems_of(connection, set(heads)))

    def export_lines(self) -> Iterator[str]:
        """Return the histories of all data sets as lines of JSON, for `import_lines`."""
        with self._store.reading() as connection:
            lines = list(exported(connection))
        return iter(lines)

    def import_lines(self, lines: Iterable[str]) -> None:
        """Add data sets with their histories, all of them or none.

        Raises
        ------
        LedgerError
            If the file cannot be written.
        TypeError, ValueError
            If the lines are not what `export_lines` returned, their hashes are broken, a history
            exceeds its budget, or a name is taken.
        """
        with self._store.changing(create=True) as connection:
            imported(connection, lines)

    @contextmanager
    def _changing(self, dataset: str) -> Iterator[tuple[sqlite3.Connection, int, Budget]]:
        """Give the filter of a data set, and store it unless there is an error."""
        with self._store.changing() as connection:
            identity, budget = stored(connection, dataset)
            yield connection, identity, budget
            replace_budget(connection, identity, budget)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self._store.path, self._store.timeout)

    def __repr__(self) -> str:
        return f"<Ledger: {str(self._store.path)!r}>"


def _opened(path: str, timeout: float) -> Ledger:
    return Ledger(path, timeout=timeout)


def _use(mechanism: Any, count: Any, note: Any) -> dict[str, Any]:
    """Return what an entry says of uses of a mechanism; functions cannot be written: TypeError."""
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"mechanism must be a renyi mechanism, got {mechanism!r}")
    words = {"note": _text(note, "note")}
    return {"mechanism": mechanism.to_dict(), "count": uses_of(count), **words}


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r}")
    return value
