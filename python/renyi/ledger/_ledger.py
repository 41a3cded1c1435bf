"""The ledger: data sets with budgets, charged before anything is released."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any, Self, TypeVar

from renyi._adjacency import Adjacency
from renyi._validation import integer_of, uses_of
from renyi.filters import Reservation
from renyi.ledger import _rows
from renyi.ledger._records import (
    Budget,
    Entry,
    Status,
    accountant_of,
    body_of,
    entry_of,
    hash_of,
    limits_of,
    name_of,
    new_budget,
    settings_of,
    text_of,
)
from renyi.ledger._store import Store
from renyi.mechanisms import Mechanism

Found = TypeVar("Found")

MOST_NAMED = 10  # the most open reservations that an error names


class Ledger:
    """Budgets of data sets and their spendings, in one file.

    Args:
        path: An SQLite file on a disk of this machine. `create` makes it, with its first data set.
        timeout: Seconds to wait for other writers.
        wal: Whether to keep a write-ahead log beside the file, which permits more charges a second.
            The file is then complete only with its log, or after all processes have closed it.
        read_only: For readers without permission to write: changes raise an error.

    Threads and processes may charge at once, each through its own ledger or, among threads and
    after a fork, through one. A charge is one transaction: it reads the state of the filter, lets
    the filter decide, appends to the history, and returns once all of this is on the disk. A killed
    process leaves a charge behind wholly or not at all.

    The file is the one that the path led to at first, symbolic links resolved. If it is moved,
    removed or replaced while it is in use, or has a second name, nothing more is read or charged:
    `LedgerError`. Copy it with `backup`, never with ``cp``.

    Budgets hold for fully adaptive composition: see `PrivacyFilter` ("renyi"), `GDPFilter` ("gdp")
    and `ZCDPFilter` ("zcdp"). Mechanisms may run at the same time (Haney and others 2023, arXiv
    2309.05901).

    Equal charges of a data set that follow each other within an hour are one line of its history.
    The hash of this line is the hash of as many lines.

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
        """Return the number of uses, up to a limit, that `charge` would take now."""
        budget = self._store.reading(lambda connection: _rows.stored(connection, dataset))[1]
        return budget.count_that_fits(mechanism, most)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names, in the order of their creation."""
        return tuple(self._store.reading(_rows.names))

    def status(self, dataset: str) -> Status:
        """Return the status of a data set.

        Raises:
            LedgerError: If the file cannot be read.
            ValueError: If there is no such data set.
        """

        def read(connection: sqlite3.Connection) -> Status:
            identity, budget = _rows.stored(connection, dataset, None)
            charges, entries = connection.execute(
                "SELECT sum(CASE WHEN json_extract(body, '$.type') = 'charge' THEN repeats ELSE 0 "
                "END), count(*) FROM entries WHERE dataset = ?",
                (identity,),
            ).fetchone()
            head = _rows.head_of(connection, identity)
            return Status(
                dataset,
                accountant_of(budget),
                limits_of(budget),
                budget.adjacency,
                budget.remaining,
                int(charges),
                entries,
                budget.reservations,
                "" if head is None else head.hash,
            )

        return self._store.reading(read)

    def history(self, dataset: str) -> list[Entry]:
        """Return all entries of a data set, in order."""

        def read(connection: sqlite3.Connection) -> list[Entry]:
            identity = _rows.identity_of(connection, dataset)
            with _rows.reporting_damage(dataset):
                return [entry_of(dataset, *row) for row in _rows.rows_of(connection, identity)]

        return self._store.reading(read)

    def verify(self, heads: Iterable[str] = ()) -> list[str]:
        """Return the problems: damage, broken hashes, states that do not follow from the history.

        Args:
            heads: Earlier values of `Status.head`, each of which must be in a history.
        """
        wanted = set(heads)
        return self._store.reading(lambda connection: list(_rows.problems_of(connection, wanted)))

    def export_lines(self) -> Iterator[str]:
        """Return the histories of all data sets as lines of JSON, for `import_lines`."""
        return iter(self._store.reading(lambda connection: list(_rows.exported(connection))))

    def backup(self, target: str | os.PathLike[str]) -> None:
        """Write all that is recorded to a new file, while others may charge.

        The copy is for safekeeping only: charging both files would spend two budgets.

        Raises:
            LedgerError: If a file cannot be read or written.
            ValueError: If the target exists.
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
        made = partial(type(self), timeout=store.timeout, wal=store.wal, read_only=store.read_only)
        return made, (store.path,)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {str(self._store.path)!r}>"

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
        """Add a data set with a budget, which never changes.

        Args:
            dataset: A new name.
            epsilon, delta, rho: The budget: either the first two or the last.
            accountant ({"renyi", "gdp", "zcdp"}): By default "renyi", or "zcdp" for rho.
            adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours.
            note: A note for the history.

        Raises:
            LedgerError: If the file cannot be written.
            TypeError, ValueError: If the name is taken or empty, or the budget is not as above.
        """
        budget = new_budget(epsilon, delta, rho, accountant, adjacency)
        fields = {"dataset": name_of(dataset, "dataset"), "note": text_of(note, "note")}

        def add(connection: sqlite3.Connection) -> None:
            identity = _rows.add_dataset(connection, dataset)
            _rows.append(
                connection, identity, body_of("create", budget=settings_of(budget), **fields)
            )
            _rows.replace_budget(connection, identity, budget)

        self._store.changing(add, create=True)

    def charge(
        self,
        dataset: str,
        mechanism: Mechanism,
        count: int = 1,
        note: str = "",
        *,
        run: str | None = None,
        step: int | None = None,
        certificate: str | None = None,
    ) -> None:
        """Record uses of a mechanism, before they are run, or refuse all of them.

        Args:
            dataset, note: The data set to charge, and a note for the history.
            mechanism, count: The mechanism that will be released, and the number of uses.
            run, step: The name of a run, and the number of uses charged to the data set in this
                name before. Any other step is refused, so that a run cannot continue twice from one
                saved state. A charge of no uses counts as one: the run continues within earlier
                charges, such as one for an epoch.
            certificate: The SHA-256 of a proof of the cost, as `renyi check` prints it, for the
                history.

        Raises:
            BudgetExceededError: If the uses would exceed the budget; the error says what is left
                and how many fit.
            LedgerError: If the file cannot be read or written. Nothing is recorded then, nor after
                the other errors.
            UnsupportedMechanismError, TypeError, ValueError: If the filter cannot account for the
                mechanism, or an argument is not as above.

        >>> import tempfile
        >>> from renyi import Gaussian
        >>> folder = tempfile.TemporaryDirectory()
        >>> with Ledger(f"{folder.name}/privacy.db") as ledger:
        ...     ledger.create("scans", rho=0.5)
        ...     for step in range(3):
        ...         ledger.charge("scans", Gaussian(20.0), run="model 7", step=step)
        ...     try:
        ...         ledger.charge("scans", Gaussian(20.0), run="model 7", step=1)
        ...     except ValueError as error:
        ...         print(str(error).partition(":")[0])
        step must be 3, for so many steps of the run 'model 7' were charged, got 1
        >>> folder.cleanup()
        """
        fields = _use(mechanism, count, note, certificate)
        if (run is None) != (step is None):
            raise ValueError(f"run and step must be given together, got {run!r} and {step!r}")
        if run is not None:
            fields |= {"run": name_of(run, "run"), "step": uses_of(step, "step")}
        self._price(dataset, mechanism, count)

        def spend(connection: sqlite3.Connection, identity: int, budget: Budget) -> None:
            if run is not None and step != (before := _rows.steps_of(connection, identity, run)):
                raise ValueError(
                    f"step must be {before}, for so many steps of the run {run!r} were charged, "
                    f"got {step!r}: the state is an old one, or another process went on from it; "
                    "to go on from it anyway, give the run a new name, which charges anew"
                )
            budget.spend(mechanism, count)
            _rows.append(connection, identity, body_of("charge", **fields))

        self._change(dataset, spend)

    def reserve(
        self,
        dataset: str,
        mechanism: Mechanism,
        count: int,
        note: str = "",
        *,
        certificate: str | None = None,
    ) -> Reservation:
        """Set uses of a mechanism aside for a long run; they count as spent until `settle`.

        ``certificate`` is as in `charge`.

        Raises:
            BudgetExceededError, LedgerError, UnsupportedMechanismError, TypeError, ValueError: As
                `charge`.
        """
        fields = _use(mechanism, count, note, certificate)
        self._price(dataset, mechanism, count)

        def reserve(connection: sqlite3.Connection, identity: int, budget: Budget) -> Reservation:
            made = budget.reserve(mechanism, count)
            _rows.append(
                connection, identity, body_of("reserve", reservation=made.number, **fields)
            )
            return made

        return self._change(dataset, reserve)

    def settle(
        self, dataset: str, reservation: int | Reservation, used: int, note: str = ""
    ) -> None:
        """Record the actual number of uses, and give back the others as far as this is sound.

        Raises:
            LedgerError: As `charge`.
            TypeError, ValueError: If there is no such reservation, or it holds fewer uses.
        """
        number = reservation.number if isinstance(reservation, Reservation) else reservation
        number = integer_of(number, "reservation", 1)
        fields = {
            "reservation": number,
            "count": uses_of(used, "used"),
            "note": text_of(note, "note"),
        }

        def settle(connection: sqlite3.Connection, identity: int, budget: Budget) -> None:
            budget.settle(number, used)
            _rows.append(connection, identity, body_of("settle", **fields))

        self._change(dataset, settle, number)

    def import_lines(self, lines: Iterable[str]) -> None:
        """Add data sets with their histories, all of them or none.

        Raises:
            LedgerError: If the file cannot be written.
            TypeError, ValueError: If the lines are not what `export_lines` returned, their hashes
                are broken, a history exceeds its budget, or a name is taken.
        """
        found = _rows.replayed(lines)  # before others have to wait

        def add(connection: sqlite3.Connection) -> None:
            for dataset, rows, budget in found:
                identity = _rows.add_dataset(connection, dataset)
                for row in rows:
                    _rows.insert(connection, identity, row)
                _rows.replace_budget(connection, identity, budget)

        self._store.changing(add, create=True)

    def rebuild(self, dataset: str) -> None:
        """Compute the spent budget anew from the history, if `verify` says that they differ.

        Raises:
            LedgerError: As `charge`.
            ValueError: If there is no such data set, or its history is broken or exceeds its
                budget.
        """

        def rebuild(connection: sqlite3.Connection) -> None:
            identity = _rows.identity_of(connection, dataset)
            with _rows.reporting_damage(dataset):
                rows = _rows.rows_of(connection, identity)
            connection.execute("DELETE FROM reservations WHERE dataset = ?", (identity,))
            _rows.replace_budget(connection, identity, _rows.budget_after(rows, dataset))

        self._store.changing(rebuild)

    def _price(self, dataset: str, mechanism: Mechanism, count: int) -> None:
        """Compute and cache the slow part of a charge before others have to wait."""
        budget = self._store.reading(lambda connection: _rows.stored(connection, dataset))[1]
        budget.fits(mechanism, count)

    def _change(
        self,
        dataset: str,
        action: Callable[[sqlite3.Connection, int, Budget], Found],
        settled: int | None = None,
    ) -> Found:
        """Run an action on the filter of a data set, and store it unless there is an error."""

        def change(connection: sqlite3.Connection) -> Found:
            identity = _rows.identity_of(connection, dataset)
            loaded = () if settled is None else _open(connection, identity, settled)
            budget = _rows.stored(connection, dataset, loaded)[1]
            found = action(connection, identity, budget)
            _rows.replace_budget(connection, identity, budget, loaded)
            return found

        return self._store.changing(change)


def _open(connection: sqlite3.Connection, identity: int, number: int) -> Collection[int]:
    """Return the number of one open reservation in a tuple, or raise `ValueError`."""
    if number > _rows.MOST_ROWS or _rows.reserving_hash(connection, identity, number) is None:
        known = _rows.open_reservations(connection, identity, MOST_NAMED + 1)
        shown = [*map(str, known[:MOST_NAMED]), *(["..."] if len(known) > MOST_NAMED else [])]
        raise ValueError(
            f"reservation must be an open one ({', '.join(shown) or 'none'}), got {number}"
        )
    return (number,)


def _use(mechanism: Any, count: Any, note: Any, certificate: Any) -> dict[str, Any]:
    """Return the fields of an entry for uses of a mechanism; functions raise TypeError."""
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"mechanism must be a renyi mechanism, got {mechanism!r}")
    words = {"note": text_of(note, "note")}
    if certificate is not None:
        words["certificate"] = hash_of(certificate, "certificate")
    return {"mechanism": mechanism.to_dict(), "count": uses_of(count), **words}
