"""A ledger for many machines: the same tables and filters in a database of PostgreSQL."""

from __future__ import annotations

import os
import re
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, NoReturn, TypeVar, cast

from renyi._adjacency import one_of
from renyi._states import freed_by_fork
from renyi.ledger._ledger import Ledger
from renyi.ledger._store import SCHEMA, LedgerError, Store

Found = TypeVar("Found")

DRIVERS = ("psycopg", "psycopg2")
NAME = re.compile(r"[a-z_][a-z0-9_]{0,40}")
RETRIES = 20
PATIENCE = 10  # seconds for a connection, if neither the place nor PGCONNECT_TIMEOUT sets them
ROLLED_BACK = ("40001", "40P01")  # serialisation failure, deadlock

SCRIPT = f"""
    CREATE SCHEMA IF NOT EXISTS %(schema)s;
    CREATE TABLE IF NOT EXISTS %(schema)s.version (version INTEGER PRIMARY KEY);
    INSERT INTO %(schema)s.version VALUES ({SCHEMA}) ON CONFLICT DO NOTHING;
    CREATE TABLE IF NOT EXISTS %(schema)s.datasets (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        filter TEXT NOT NULL,
        seal TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS %(schema)s.entries (
        dataset BIGINT NOT NULL REFERENCES %(schema)s.datasets (id),
        number BIGINT NOT NULL,
        body TEXT NOT NULL,
        repeats BIGINT NOT NULL,
        hash TEXT NOT NULL,
        PRIMARY KEY (dataset, number)
    );
    CREATE TABLE IF NOT EXISTS %(schema)s.reservations (
        dataset BIGINT NOT NULL REFERENCES %(schema)s.datasets (id),
        number BIGINT NOT NULL,
        held TEXT NOT NULL,
        seal TEXT NOT NULL,
        PRIMARY KEY (dataset, number)
    );
    CREATE INDEX IF NOT EXISTS entries_of_runs ON %(schema)s.entries
        (dataset, (body::jsonb ->> 'run'), number) WHERE (body::jsonb ->> 'run') IS NOT NULL;
    CREATE INDEX IF NOT EXISTS entries_of_reservations ON %(schema)s.entries
        (dataset, ((body::jsonb ->> 'reservation')::bigint))
        WHERE (body::jsonb ->> 'reservation')::bigint IS NOT NULL;
    CREATE OR REPLACE FUNCTION %(schema)s.only_added_to() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' THEN
            IF NEW.dataset = OLD.dataset AND NEW.number = OLD.number AND NEW.body = OLD.body
                AND NEW.repeats = OLD.repeats + 1 THEN RETURN NEW; END IF;
        END IF;
        RAISE EXCEPTION 'the history is only added to';
    END $$;
    CREATE OR REPLACE TRIGGER entries_stay BEFORE UPDATE OR DELETE ON %(schema)s.entries
        FOR EACH ROW EXECUTE FUNCTION %(schema)s.only_added_to();
"""


class Connection:
    """A connection that translates the statements of a ledger, which are written for SQLite."""

    def __init__(self, made: Any) -> None:
        self.made = made

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> Any:
        """Run a statement and return its cursor."""
        if statement == "PRAGMA integrity_check":
            return [("ok",)]  # the server checks its pages
        text = re.sub(r"INDEXED BY \w+ ", "", statement).replace("?", "%s")
        text = text.replace(
            "json_extract(body, '$.reservation')", "(body::jsonb ->> 'reservation')::bigint"
        )
        text = re.sub(r"json_extract\(body, '\$\.(\w+)'\)", r"(body::jsonb ->> '\1')", text)
        cursor = self.made.cursor()
        cursor.execute(text, values)
        return cursor


class Server:
    """A connection of each process to one database, for one thread at a time.

    Writers queue for an advisory lock, which the server frees at the end of a session, however it
    ends. In addition, transactions are serialisable, and are on the disk before they return.
    """

    read_only = wal = False

    def __init__(self, place: str, driver: str, schema: Any, timeout: float) -> None:
        one_of(driver, "driver", DRIVERS)
        if not isinstance(schema, str) or not NAME.fullmatch(schema):
            raise ValueError(f"schema must be a name in lower case, got {schema!r}")
        try:
            self._module = import_module(driver)
        except ImportError as error:
            raise ImportError(f"a ledger on PostgreSQL by {driver} needs it installed") from error
        self.place, self.driver, self.schema, self.timeout = place, driver, schema, timeout
        self.path = f"schema {schema} of a PostgreSQL database"  # no password in messages
        self._lock = freed_by_fork(threading.RLock())
        self._open: tuple[int, Connection] | None = None  # with the process that opened it

    def changing(self, action: Callable[[Any], Found], *, create: bool = False) -> Found:
        """Run an action as the only writer; then all is on the disk, or after an error nothing."""
        with self._lock, self._reporting_errors():
            connection = self._connected(create)
            # The lock comes before the transaction, whose first statement fixes its snapshot.
            key = zlib.crc32(self.schema.encode())
            connection.execute("SELECT pg_advisory_lock(?)", (key,))
            try:
                return self._transaction(connection, action)
            finally:
                self._unlock(connection, key)

    def reading(self, action: Callable[[Any], Found]) -> Found:
        """Run an action on the tables as they are now."""
        with self._lock, self._reporting_errors():
            return self._transaction(self._connected(False), action)

    def backup(self, target: object) -> NoReturn:
        """Raise `LedgerError`: the server has its own means of backup."""
        raise LedgerError("ledger on PostgreSQL is copied by pg_dump, or by export_lines")

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        with self._lock:
            found, self._open = self._open, None
            if found is not None and found[0] == os.getpid():
                found[1].made.close()

    def __del__(self) -> None:
        """Close the connection of a ledger that is no longer referenced."""
        if hasattr(self, "_open"):
            self.close()

    def _transaction(self, connection: Connection, action: Callable[[Any], Found]) -> Found:
        for attempt in range(RETRIES):
            connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
            try:
                found = action(connection)
                connection.execute("COMMIT")
                return found
            except self._module.Error as error:
                self._roll_back(connection)
                if _state(error) not in ROLLED_BACK or attempt + 1 == RETRIES:
                    raise
            except BaseException:
                self._roll_back(connection)
                raise
        raise AssertionError("a transaction ends")

    def _unlock(self, connection: Connection, key: int) -> None:
        """Free the lock; a lost session has none, and its commits stay."""
        try:
            if self._open is not None:
                connection.execute("SELECT pg_advisory_unlock(?)", (key,))
        except self._module.Error:
            self.close()

    def _roll_back(self, connection: Connection) -> None:
        try:
            connection.execute("ROLLBACK")
        except self._module.Error:
            self.close()

    def _connected(self, create: bool) -> Connection:
        if self._open is not None and self._open[0] == os.getpid():
            if not self._open[1].made.closed:
                return self._open[1]
            self._open = None
        made = self._connect()
        made.autocommit = True
        connection = Connection(made)
        milliseconds = f"{round(1000.0 * self.timeout)}"
        connection.execute("SELECT set_config('lock_timeout', ?, false)", (milliseconds,))
        connection.execute("SET synchronous_commit = on")
        if create:
            with made.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_lock(0)")
                cursor.execute(SCRIPT.replace("%(schema)s", self.schema))
                cursor.execute("SELECT pg_advisory_unlock(0)")
        connection.execute(f"SET search_path = {self.schema}")
        self._open = os.getpid(), connection
        self._check_version(connection)
        return connection

    def _connect(self) -> Any:
        is_told = "connect_timeout" in self.place or "PGCONNECT_TIMEOUT" in os.environ
        patience = {} if is_told else {"connect_timeout": PATIENCE}
        try:
            return self._module.connect(self.place, **patience)
        except self._module.Error as error:
            said = "the server must be reachable by its address; nothing was recorded"
            raise self._told(said, error) from error

    def _check_version(self, connection: Connection) -> None:
        found = connection.execute("SELECT to_regclass('version') IS NULL").fetchone()[0]
        if found:
            self.close()
            raise LedgerError(f"ledger must exist, got {self.path}, without one")
        versions = [row[0] for row in connection.execute("SELECT version FROM version")]
        if versions != [SCHEMA]:
            self.close()
            raise LedgerError(f"ledger must have the schema {SCHEMA}, got {versions}")

    @contextmanager
    def _reporting_errors(self) -> Iterator[None]:
        """Turn errors of the driver into `LedgerError`."""
        try:
            yield
        except self._module.Error as error:
            self.close()
            lost = _state(error) in (None, "57P01", "57P02", "08006", "08003")
            said = (
                "the server is gone; what was to be recorded may not be"
                if lost
                else "the server refuses; nothing was recorded"
            )
            raise self._told(said, error) from error

    def _told(self, said: str, error: Exception) -> LedgerError:
        why = str(error).replace(self.place, "...")  # the place may hold a password
        return LedgerError(f"ledger, {self.path}: {said} ({why.strip()})")


def _state(error: Any) -> str | None:
    """Return the SQLSTATE of an error of psycopg or psycopg2."""
    found: str | None = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    return found


class PostgresLedger(Ledger):
    """A `Ledger` in a database of PostgreSQL, for processes on many machines.

    Its methods, budgets, hashes and errors are those of `Ledger`, and each kind imports the exports
    of the other. `backup` is refused: the server has its own means.

    Args:
        place: The address for the driver, such as ``"host=db dbname=privacy"``.
        driver ({"psycopg", "psycopg2"}): The package that connects to the server, which must be
            installed.
        schema: The schema whose tables hold the ledger; `create` makes them.
        timeout: Seconds to wait for other writers.

    Raises:
        ImportError: If the driver is not installed.
        ValueError: If there is no such driver, or the schema is no plain name.

    Writers take turns by an advisory lock of the session. Each charge is a serialisable transaction
    with ``synchronous_commit = on``: a charge that returned is on the disk of the server. If the
    server is lost during a charge, `LedgerError` says that the charge may be recorded or not;
    `history` shows which, or a ``run`` with its ``step``.
    """

    def __init__(
        self,
        place: str,
        *,
        driver: str = "psycopg",
        schema: str = "renyi_ledger",
        timeout: float = 60.0,
    ) -> None:
        self._store = cast(Store, Server(place, driver, schema, timeout))

    def __reduce__(self) -> tuple[Any, ...]:
        store = cast(Any, self._store)
        options = {"driver": store.driver, "schema": store.schema, "timeout": store.timeout}
        return partial(type(self), **options), (store.place,)
