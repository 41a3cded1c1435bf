"""The file of a ledger: connections, transactions, the schema and its versions, clear errors."""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from renyi._locks import reentrant_lock_freed_by_fork

__all__ = ["LedgerError", "Store"]

APPLICATION = 0x52E6E79  # tells a ledger from other SQLite files

SCRIPTS = (
    """
    CREATE TABLE datasets (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        filter TEXT NOT NULL
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
    """,
    """
    CREATE INDEX entries_of_runs ON entries (dataset, json_extract(body, '$.run'), number)
    WHERE json_extract(body, '$.run') IS NOT NULL;
    """,
)
"""The n-th leads from schema n to n + 1; an empty file has schema 0."""

REASONS = {
    "SQLITE_FULL": "the disk is full; nothing was recorded",
    "SQLITE_CANTOPEN": "it cannot be opened, or its folder not be written to",
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
    """A connection of each process to the file, for one thread at a time.

    It is closed before a fork, in parent and child: SQLite keeps the locks of a process by the file
    and would take those of the parent for the child's.
    """

    def __init__(self, path: str | os.PathLike[str], timeout: float) -> None:
        self.path = Path(path)
        self.timeout = timeout
        self._lock = reentrant_lock_freed_by_fork()
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()
        _STORES.add(self)

    @contextmanager
    def changing(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        """Give the file to one writer; at the end all is on the disk, or after an error nothing."""
        with self._transaction("IMMEDIATE", create) as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the file as it is now."""
        with self._transaction("DEFERRED", False) as connection:
            yield connection

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self, kind: str, create: bool) -> Iterator[sqlite3.Connection]:
        with self._lock, self._telling():
            connection = self._connected(create)
            connection.execute(f"BEGIN {kind}")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _connected(self, create: bool) -> sqlite3.Connection:
        if self._connection is not None and self._process != os.getpid():
            raise LedgerError(
                f"ledger must not be open when a process forks without Python knowing, got "
                f"{str(self.path)!r}: open it afterwards"
            )
        if self._connection is None:
            if not create and not self.path.exists():
                raise LedgerError(f"ledger must exist, got {str(self.path)!r}")
            self._connection, self._process = self._opened(), os.getpid()
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self.timeout, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        version = _pragma(connection, "user_version")
        application = _pragma(connection, "application_id")
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if application != APPLICATION and (application or version or tables):
            raise LedgerError(f"ledger must be one of renyi, got {str(self.path)!r}, another file")
        if version > len(SCRIPTS):
            raise LedgerError(
                f"ledger must have a schema of at most {len(SCRIPTS)}, got {version} in "
                f"{str(self.path)!r}: it was written by a newer renyi, which is needed to read it"
            )
        if version < len(SCRIPTS):
            self._migrate(connection)
        connection.execute("PRAGMA synchronous = FULL")  # in WAL mode: at every commit
        connection.execute("PRAGMA foreign_keys = ON")

    def _migrate(self, connection: sqlite3.Connection) -> None:
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise LedgerError(
                f"ledger must be on a disk of this machine, got {str(self.path)!r}, where SQLite "
                "has no write-ahead log"
            )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        try:  # another process may have been faster
            for script in SCRIPTS[_pragma(connection, "user_version") :]:
                for statement in _statements(script):
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {len(SCRIPTS)}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Say in words what SQLite says in codes."""
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            known = [words for code, words in REASONS.items() if name.startswith(code)]
            reason = known[0] if known else "SQLite refuses"
            raise LedgerError(f"ledger {str(self.path)!r}: {reason} ({error})") from error


_STORES: weakref.WeakSet[Store] = weakref.WeakSet()
_HELD: list[Store] = []  # while a thread forks


def _before_fork() -> None:
    """Wait for transactions to end, and close; in one order, so that threads may fork at once."""
    stores = sorted(_STORES, key=id)
    for store in stores:
        store._lock.acquire()
        store.close()
    _HELD[:] = stores


def _after_fork() -> None:
    """Let the threads of the parent go on; the locks of the child are free anyway."""
    while _HELD:
        _HELD.pop()._lock.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork)


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
