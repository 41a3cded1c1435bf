"""A ledger on a real server of PostgreSQL, which these tests start and kill.

They need its programs (Debian: ``apt-get install postgresql``) and a driver,
``python -m pip install "psycopg[binary]"``; without them they are skipped.
``RENYI_LEDGER_KILLS=200`` kills more often, ``RENYI_LEDGER_CLIENTS=64`` has more race.
"""

from __future__ import annotations

import glob
import json
import os
import pickle
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from renyi import BudgetExceededError, Gaussian, GDPFilter, Ledger
from renyi.ledger import LedgerError, PostgresLedger

pytest.importorskip("psycopg", exc_type=ImportError)
NOISE = Gaussian(400.0)
KILLS = int(os.environ.get("RENYI_LEDGER_KILLS", "20"))
PROGRAM = Path(__file__).with_name("ledger_postgres.py")


def programs():
    """Return the folder of the server's programs."""
    known = shutil.which("pg_ctl")
    folders = [os.path.dirname(known)] if known else []
    folders += sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    for folder in folders:
        if all(os.path.exists(f"{folder}/{name}") for name in ("initdb", "postgres")):
            return Path(folder)
    return pytest.skip("no server of PostgreSQL is installed")


def free_port():
    """Return a port that no client is given, so that none connects to itself while it is closed."""
    for port in random.sample(range(20_000, 30_000), 100):
        with socket.socket() as free:
            if free.connect_ex(("127.0.0.1", port)):
                return port
    raise AssertionError("no port is free")


class Started:
    """A server of its own on a port of this machine; not as root, which it refuses."""

    def __init__(self, folder):
        self.bin, self.folder = programs(), folder / "data"
        self.user = {"user": "postgres", "group": "postgres"} if os.getuid() == 0 else {}
        folder.chmod(0o777)
        self.port = free_port()
        self.run("initdb", "-D", self.folder, "-U", "owner", "-A", "trust", "--no-sync")
        self.start()

    def run(self, name, *arguments):
        command = [str(self.bin / name), *map(str, arguments)]
        subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL, **self.user)

    def start(self):
        command = [self.bin / "postgres", "-D", self.folder, "-p", self.port, "-k", self.folder]
        command += ["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=120"]
        import psycopg

        for _ in range(300):
            self.process = subprocess.Popen(
                [str(part) for part in command], cwd="/", stderr=subprocess.DEVNULL, **self.user
            )
            while self.process.poll() is None:  # it ends while the memory of a killed one is in use
                try:
                    psycopg.connect(self.place).close()
                    return
                except psycopg.OperationalError:
                    time.sleep(0.1)
            time.sleep(0.2)
        raise AssertionError("the server does not start")

    @property
    def place(self):
        return f"host=127.0.0.1 port={self.port} user=owner dbname=postgres"

    def kill(self):
        """End it at once, without a checkpoint: it recovers from its log when it starts again."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    for above in folder.parents:  # the server's user has to get there
        if above.stat().st_uid == os.getuid() and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o111)
    made = Started(folder)
    yield made
    made.process.send_signal(signal.SIGINT)  # with all that it has started
    made.process.wait()


@pytest.fixture
def ledger(server, request):
    name = f"t{abs(hash(request.node.name)) % 10**9}"
    with PostgresLedger(server.place, schema=name) as made:
        yield made


def test_the_calls_of_a_ledger(ledger, tmp_path):
    with pytest.raises(LedgerError, match="ledger must exist"):
        ledger.status("data")
    ledger.create("data", epsilon=1.0, delta=1e-6)
    ledger.create("more", rho=0.5, note="another")
    assert ledger.datasets == ("data", "more")
    for step in range(3):
        ledger.charge("more", Gaussian(20.0), run="model", step=step)
    with pytest.raises(ValueError, match="step must be 3"):
        ledger.charge("more", Gaussian(20.0), run="model", step=1)
    run = ledger.reserve("data", Gaussian(20.0), 5)
    assert ledger.status("data").reservations[0].count == 5
    ledger.settle("data", run, 2)
    with pytest.raises(ValueError, match=r"reservation must be an open one \(none\)"):
        ledger.settle("data", run, 2)
    ledger.charge("data", Gaussian(20.0), note="ages")
    ledger.charge("data", Gaussian(20.0), note="ages")
    with pytest.raises(BudgetExceededError):
        ledger.charge("data", Gaussian(1.0))
    with pytest.raises(ValueError, match="dataset must be a new name"):
        ledger.create("data", rho=1.0)
    status = ledger.status("data")
    assert (status.charges, status.entries, status.budget) == (
        2,
        4,
        {"epsilon": 1.0, "delta": 1e-6},
    )
    assert ledger.verify([status.head]) == []
    with pickle.loads(pickle.dumps(ledger)) as again:
        assert again.status("data") == status
    ledger.rebuild("data")
    assert ledger.status("data") == status
    with pytest.raises(LedgerError, match="pg_dump"):
        ledger.backup(tmp_path / "copy")
    assert "owner" not in repr(ledger)

    with Ledger(tmp_path / "copy.db") as copy:  # from one kind to the other
        copy.import_lines(ledger.export_lines())
        assert copy.status("data") == status
        assert copy.history("more") == ledger.history("more")


def test_the_history_is_only_added_to(ledger, server):
    import psycopg

    ledger.create("data", rho=0.5)
    ledger.charge("data", NOISE)
    schema = ledger._store.schema
    with psycopg.connect(server.place, autocommit=True) as other:
        for change in ("DELETE FROM", "UPDATE"):
            values = "" if change == "DELETE FROM" else "SET body = '{}'"
            with pytest.raises(psycopg.errors.RaiseException, match="only added to"):
                other.execute(f"{change} {schema}.entries {values}")
        other.execute(f"UPDATE {schema}.datasets SET filter = replace(filter, 'x', 'y')")
    with pytest.raises(LedgerError, match="ledger is damaged"):
        ledger.charge("data", NOISE)
    assert len(ledger.verify()) == 1


def children(server, schema, what, count):
    command = [sys.executable, str(PROGRAM), what, server.place, schema]
    return [
        subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE) for number in range(count)
    ]


def test_many_clients_never_overspend(ledger, server):
    clients = int(os.environ.get("RENYI_LEDGER_CLIENTS", "8"))
    ledger.create("data", epsilon=0.15, delta=1e-6, accountant="gdp")
    fits = GDPFilter(0.15, 1e-6).count_that_fits(NOISE, 10**6)
    start = time.perf_counter()
    racing = children(server, ledger._store.schema, "race", clients)
    done = [int(child.communicate()[0]) for child in racing]
    seconds = time.perf_counter() - start
    recorded = sum(entry.repeats for entry in ledger.history("data")[1:])
    print(json.dumps({"clients": clients, "charges": sum(done), "seconds": round(seconds, 1)}))
    assert fits == sum(done) == recorded
    assert ledger.verify() == []


def test_killed_clients_and_servers_lose_nothing(ledger, server):
    """Every acknowledged charge is there, and at most one more of each client."""
    ledger.create("data", epsilon=1e4, delta=1e-6, accountant="gdp")
    moments, acknowledged = random.Random(1), {}
    for number in range(KILLS):
        child = subprocess.Popen(
            [
                sys.executable,
                str(PROGRAM),
                "charge",
                server.place,
                ledger._store.schema,
                str(number),
            ],
            stdout=subprocess.PIPE,
        )
        assert child.stdout.read(1) == b"."
        time.sleep(moments.random() * 0.05)
        if number % 5 == 4:
            server.kill()
            server.start()
        child.kill()
        acknowledged[str(number)] = 1 + len(child.communicate()[0])
    ledger.close()
    recorded = dict.fromkeys(acknowledged, 0)
    for entry in ledger.history("data")[1:]:
        recorded[entry.note] += entry.repeats
    print(json.dumps({"kills": KILLS, "acknowledged": sum(acknowledged.values())}))
    assert all(recorded[note] - count in (0, 1) for note, count in acknowledged.items())
    assert ledger.verify() == []


def test_a_server_that_goes_away(ledger, server):
    ledger.create("data", rho=0.5)
    server.kill()
    with pytest.raises(LedgerError, match="the server is gone; what was to be recorded may not be"):
        ledger.charge("data", NOISE)
    server.start()
    ledger.charge("data", NOISE)
    assert ledger.status("data").charges == 1


def test_forks_have_connections_of_their_own(ledger):
    ledger.create("data", rho=0.5)
    for _ in range(3):
        if (child := os.fork()) == 0:
            ledger.charge("data", NOISE)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        ledger.charge("data", NOISE)
    assert ledger.status("data").charges == 6


def test_arguments():
    with pytest.raises(ValueError, match="driver must be"):
        PostgresLedger("", driver="odbc")
    with pytest.raises(ValueError, match="schema must be a name in lower case, got 'a; DROP'"):
        PostgresLedger("", schema="a; DROP")
