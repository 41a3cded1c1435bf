"""The file of a ledger: connections, transactions, the schema, clear errors."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from renyi._states import freed_by_fork

Found = TypeVar("Found")

APPLICATION = 0x52E6E79  # tells a ledger from other SQLite files

SCHEMA = 3
SCRIPT = """
    CREATE TABLE datasets (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        filter TEXT NOT NULL,
        seal TEXT NOT NULL
    ) STRICT;
    CREATE TABLE entries (
        dataset INTEGER NOT NULL REFERENCES datasets (id),
        number INTEGER NOT NULL,
        body TEXT NOT NULL,
        repeats INTEGER NOT NULL,
        hash TEXT NOT NULL,
        PRIMARY KEY (dataset, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER entries_stay BEFORE DELETE ON entries
    BEGIN SELECT RAISE (ABORT, 'the history is only added to'); END;
    CREATE TRIGGER entries_only_repeat BEFORE UPDATE ON entries
    WHEN NEW.dataset <> OLD.dataset OR NEW.number <> OLD.number OR NEW.body <> OLD.body
        OR NEW.repeats <> OLD.repeats + 1
    BEGIN SELECT RAISE (ABORT, 'the history is only added to'); END;
    CREATE INDEX entries_of_runs ON entries (dataset, json_extract(body, '$.run'), number)
    WHERE json_extract(body, '$.run') IS NOT NULL;
    CREATE TABLE reservations (
        dataset INTEGER NOT NULL REFERENCES datasets (id),
        number INTEGER NOT NULL,
        held TEXT NOT NULL,
        seal TEXT NOT NULL,
        PRIMARY KEY (dataset, number)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX entries_of_reservations ON entries (dataset, json_extract(body, '$.reservation'))
    WHERE json_extract(body, '$.reservation') IS NOT NULL;
"""

REASONS = {
    "SQLITE_FULL": "the disk is full; nothing was recorded",
    "SQLITE_CANTOPEN": "it cannot be opened, or its folder not be written to",
    "SQLITE_READONLY_ROLLBACK": "a process was killed while it wrote: open it once for writing",
    "SQLITE_READONLY": "it cannot be written to; nothing was recorded",
    "SQLITE_NOTADB": "it is not a ledger",
    "SQLITE_CORRUPT": "it is damaged: restore it from a copy or from what was exported",
    "SQLITE_BUSY": "others have kept it busy for too long; nothing was recorded",
    "SQLITE_IOERR": "reading or writing it failed; what was to be recorded may not be",
    "SQLITE_CONSTRAINT": "its history is only added to",
}


class LedgerError(RuntimeError):
    """A ledger cannot be read or written; what was asked for has not been recorded."""


class Store:
    """A connection of each process to one file, for one thread at a time.

    The connection is closed before a fork, in parent and child: SQLite keeps the locks of a process
    by file, and would take the locks of the parent for those of the child.
    """

    def __init__(
        self, path: str | os.PathLike[str], timeout: float, wal: bool, read_only: bool
    ) -> None:
        self.path = Path(os.path.realpath(path))  # independent of the current folder
        self.timeout, self.wal, self.read_only = timeout, wal, read_only
        self._file: tuple[int, int] | None = None
        self._process = os.getpid()
        self._lock = freed_by_fork(threading.RLock())
        self._connections: list[sqlite3.Connection] = []  # at most one
        with _FORKING:
            _OPEN[id(self._connections)] = self._lock, self._connections
        weakref.finalize(self, _forget, self._lock, self._connections)

    def changing(
        self, action: Callable[[sqlite3.Connection], Found], *, create: bool = False
    ) -> Found:
        """Run an action as the only writer; then all is on the disk, or after an error nothing."""
        if self.read_only:
            raise LedgerError(
                f"ledger must be opened without read_only to be written, got {str(self.path)!r}"
            )
        return self._transaction("IMMEDIATE", create, action)

    def reading(self, action: Callable[[sqlite3.Connection], Found]) -> Found:
        """Run an action on the file as it is now."""
        return self._transaction("DEFERRED", False, action)

    def backup(self, target: str | os.PathLike[str]) -> None:
        """Write all that is recorded to a new file, which is removed after an error."""
        new = Path(os.path.realpath(target))

        def write(connection: sqlite3.Connection) -> None:
            mode = stat.S_IMODE(os.stat(self.path).st_mode) | stat.S_IWUSR
            try:
                os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
            except FileExistsError:
                raise ValueError(f"target must be a new file, got {str(new)!r}") from None
            except OSError as error:
                raise LedgerError(f"target {str(new)!r} cannot be written: {error}") from error
            try:
                with closing(sqlite3.connect(new, isolation_level=None)) as copy:
                    connection.backup(copy)
                    copy.execute("PRAGMA journal_mode = DELETE")  # the file alone is complete
            except BaseException:
                new.unlink()
                raise

        self.reading(write)

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        with self._lock:
            _close(self._connections)

    def _transaction(
        self, kind: str, create: bool, action: Callable[[sqlite3.Connection], Found]
    ) -> Found:
        """Run an action in a transaction.

        This is no context manager: a signal at the beginning of its __exit__ would leave the
        transaction open and the lock held as long as somebody keeps the traceback.
        """
        with self._lock, self._reporting_errors():
            connection = self._connected(create)
            try:
                connection.execute(f"BEGIN {kind}")
                self._check_file()
                found = action(connection)
                self._check_file()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return found

    def _connected(self, create: bool) -> sqlite3.Connection:
        if self._connections and self._process != os.getpid():
            raise LedgerError(
                f"ledger must not be open when a process forks without Python knowing, got "
                f"{str(self.path)!r}: open it afterwards"
            )
        if self._connections and self._connections[0].in_transaction:
            # An interruption left the transaction open, or this is a signal handler within it,
            # which then fails as a whole.
            _close(self._connections)
        if not self._connections:
            self._process = os.getpid()
            self._connections.append(self._opened(create))
        return self._connections[0]

    def _opened(self, create: bool) -> sqlite3.Connection:
        if not create and not self.path.exists():
            raise LedgerError(f"ledger must exist, got {str(self.path)!r}: create() makes it")
        mode = "ro" if self.read_only else "rwc" if create else "rw"
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            timeout=self.timeout,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        try:
            found = self._identity()
            if self._file is None:
                self._file = found
            self._check_file()
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _identity(self) -> tuple[int, int]:
        """Return the file that the path leads to, which must have one name."""
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise LedgerError(
                f"ledger must stay where it is while it is open, got {str(self.path)!r}, which was "
                f"moved or removed ({error})"
            ) from error
        if found.st_nlink != 1:
            raise LedgerError(
                f"ledger must have one name, got {str(self.path)!r}, a hard link of a file with "
                f"{found.st_nlink} names: a charge by another does not see the journal"
            )
        return found.st_dev, found.st_ino

    def _check_file(self) -> None:
        if self._identity() != self._file:
            raise LedgerError(
                f"ledger must stay where it is while it is open, got {str(self.path)!r}, which was "
                "replaced by another file"
            )

    def _prepare(self, connection: sqlite3.Connection) -> None:
        version = _pragma(connection, "user_version")
        application = _pragma(connection, "application_id")
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        found = application or version or tables or self.read_only
        if application != APPLICATION and found:
            raise LedgerError(f"ledger must be one of renyi, got {str(self.path)!r}, another file")
        if version != SCHEMA and (version or self.read_only):
            raise LedgerError(
                f"ledger must have the schema {SCHEMA}, got {version} in {str(self.path)!r}: it "
                "was written by another version of renyi, which is needed to read it"
            )
        if not self.read_only and os.access(self.path, os.W_OK):
            self._set_journal(connection)
        if not version:
            self._make_tables(connection)
        connection.execute("PRAGMA foreign_keys = ON")

    def _set_journal(self, connection: sqlite3.Connection) -> None:
        """Choose the journal, and have each commit written through to the disk, with its folder."""
        wanted = "wal" if self.wal else "delete"
        found = connection.execute("PRAGMA journal_mode").fetchone()[0]
        if found != wanted:
            try:
                found = connection.execute(f"PRAGMA journal_mode = {wanted}").fetchone()[0]
            except sqlite3.OperationalError as error:
                if not getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                    raise  # others have it open: their journal remains, which is as safe
        if self.wal and found == "delete":
            raise LedgerError(
                f"ledger must be on a disk of this machine, got {str(self.path)!r}, where SQLite "
                "has no write-ahead log"
            )
        connection.execute("PRAGMA synchronous = EXTRA")

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            if not _pragma(connection, "user_version"):  # another process may have been faster
                for statement in _statements(SCRIPT):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {SCHEMA}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _reporting_errors(self) -> Iterator[None]:
        """Turn errors of SQLite into `LedgerError`."""
        try:
            yield
        except MemoryError as error:  # SQLite raises it for some damaged files
            raise LedgerError(
                f"ledger {str(self.path)!r}: it is damaged, or memory is full; nothing was recorded"
            ) from error
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            known = [words for code, words in REASONS.items() if name.startswith(code)]
            reason = known[0] if known else "SQLite refuses"
            raise LedgerError(f"ledger {str(self.path)!r}: {reason} ({error})") from error


_FORKING = freed_by_fork(threading.RLock())
_OPEN: dict[int, tuple[Any, list[sqlite3.Connection]]] = {}
"""All connections that may be open; a store that is gone is removed once they are closed."""
_HELD: list[Any] = []  # the locks held while a thread forks


def _close(connections: list[sqlite3.Connection]) -> None:
    while connections:
        connections[-1].close()
        connections.pop()


def _forget(lock: Any, connections: list[sqlite3.Connection]) -> None:
    """Close unused connections; a forking thread has closed its connections already."""
    if lock.acquire(blocking=False):
        try:
            _close(connections)
        finally:
            lock.release()
    _OPEN.pop(id(connections), None)


def _before_fork() -> None:
    """Wait for transactions to end, then close; nothing is opened or closed until the fork."""
    _FORKING.acquire()
    _HELD.append(_FORKING)
    for lock, connections in list(_OPEN.values()):
        lock.acquire()
        _HELD.append(lock)
        _close(connections)


def _after_fork() -> None:
    """Free the locks of the parent; those of the child are free anyway."""
    while _HELD:
        _HELD.pop().release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_HELD.clear)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; those of a trigger end in END."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
