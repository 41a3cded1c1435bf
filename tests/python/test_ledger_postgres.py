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
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from renyi import BudgetExceededError, Gaussian, GDPFilter, Ledger
from renyi.cli import main
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
        self.port, self.log = free_port(), open(folder / "log", "w")  # noqa: SIM115
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
                [str(part) for part in command], cwd="/", stderr=self.log, **self.user
            )
            while self.process.poll() is None:  # it ends while the memory of a killed one is in use
                try:
                    psycopg.connect(self.place).close()
                    return
                except psycopg.OperationalError:
                    time.sleep(0.1)
            time.sleep(0.2)
        raise AssertionError((self.folder.parent / "log").read_text()[-2000:])

    @property
    def place(self):
        return f"host=127.0.0.1 port={self.port} user=owner dbname=postgres"

    def kill(self):
        """Kill it by SIGKILL, which frees nothing: its memory is in use until the last child ends.

        The children end when they notice. They are listed while the server stands still, since
        nothing tells whose they were afterwards, and one that stays is killed too.
        """
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)
        children = self.children()
        self.process.kill()
        self.process.wait()
        for _ in range(100):
            if not (children := [child for child in children if alive(child)]):
                return
            time.sleep(0.1)
        for child in children:
            os.kill(child, signal.SIGKILL)

    def children(self):
        listed = subprocess.check_output(["ps", "-A", "-o", "pid=,ppid="], text=True)
        pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
        return [child for child, parent in pairs if parent == self.process.pid]


def alive(process):
    """Tell whether a process runs; one that has ended and that nobody waited for does not."""
    found = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True
    )
    return found.stdout.strip()[:1] not in ("", "Z")


@pytest.fixture(scope="module")
def server():
    with tempfile.TemporaryDirectory() as folder:  # other runs of pytest close what is in its own
        made = Started(Path(folder))
        yield made
        made.process.send_signal(signal.SIGINT)  # with all that it has started
        made.process.wait()
        made.log.close()


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


def children(server, schema, what, numbers):
    command = [sys.executable, str(PROGRAM), what, server.place, schema]
    return [subprocess.Popen([*command, str(each)], stdout=subprocess.PIPE) for each in numbers]


@pytest.mark.parametrize("kills", [0, 3])
def test_many_clients_never_overspend(ledger, server, kills):
    """The budget is used up exactly, also where the server is killed in between."""
    clients = int(os.environ.get("RENYI_LEDGER_CLIENTS", "8"))
    ledger.create("data", epsilon=0.15, delta=1e-6, accountant="gdp")
    fits = GDPFilter(0.15, 1e-6).count_that_fits(NOISE, 10**6)
    start = time.perf_counter()
    racing = children(server, ledger._store.schema, "race", range(clients))
    for kill in range(kills):
        while spent(ledger) < (kill + 1) * fits / (kills + 1):
            time.sleep(0.01)
        server.kill()
        server.start()
        ledger.close()
    done = sum(int(child.communicate()[0]) for child in racing)
    seconds = round(time.perf_counter() - start, 1)
    print(json.dumps({"clients": clients, "kills": kills, "charges": done, "seconds": seconds}))
    assert spent(ledger) == fits
    assert 0 <= fits - done <= clients * kills
    assert ledger.verify() == []


def spent(ledger):
    return sum(entry.repeats for entry in ledger.history("data")[1:])


def test_killed_clients_and_servers_lose_nothing(ledger, server):
    """Every acknowledged charge is there, and at most one more of each client."""
    ledger.create("data", epsilon=1e4, delta=1e-6, accountant="gdp")
    moments, acknowledged = random.Random(1), Counter()
    for number in range(KILLS):
        (child,) = children(server, ledger._store.schema, "charge", (number,))
        assert child.stdout.read(1) == b"."
        time.sleep(moments.random() * 0.2)
        if number % 5 == 4:
            server.kill()
            server.start()
        child.kill()
        acknowledged[str(number)] = 1 + len(child.communicate()[0])
    ledger.close()
    recorded = Counter()
    for entry in ledger.history("data")[1:]:
        recorded[entry.note] += entry.repeats
    more = {note: recorded[note] - count for note, count in acknowledged.items()}
    print(
        json.dumps({"clients": KILLS, "servers": KILLS // 5, "acknowledged": acknowledged.total()})
    )
    print(
        json.dumps({"recorded": recorded.total(), "lost": sum(each < 0 for each in more.values())})
    )
    assert set(more.values()) <= {0, 1}
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


def test_a_server_that_does_not_answer(monkeypatch):
    monkeypatch.setattr("renyi.ledger._postgres.PATIENCE", 2)  # the least that drivers take
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql://ann:secret@127.0.0.1:{silent.getsockname()[1]}/privacy"
        begun = time.monotonic()
        with pytest.raises(LedgerError, match=r"must be reachable .* nothing was recorded"):
            PostgresLedger(address).charge("data", NOISE)
        assert time.monotonic() - begun < 30.0
    with pytest.raises(LedgerError, match="must be reachable") as refused:
        PostgresLedger("postgresql://ann:secret@[db/privacy").charge("data", NOISE)
    assert "secret" not in str(refused.value)


def test_arguments():
    with pytest.raises(ValueError, match="driver must be"):
        PostgresLedger("", driver="odbc")
    with pytest.raises(ValueError, match="schema must be a name in lower case, got 'a; DROP'"):
        PostgresLedger("", schema="a; DROP")


def test_from_a_shell(server, tmp_path, capsys):
    address = f"postgresql://owner@127.0.0.1:{server.port}/postgres"
    noise = tmp_path / "noise.json"
    noise.write_text(Gaussian(20.0).to_json(), encoding="utf-8")
    assert main(["ledger", "status", address]) == 2
    assert "ledger must exist" in capsys.readouterr().err
    assert main(["ledger", "status", "postgresql://owner:secret@[::1]x/postgres"]) == 2
    assert "secret" not in capsys.readouterr().err
    assert main(["ledger", "create", address, "ages", "--epsilon", "1", "--delta", "1e-6"]) == 0
    assert main(["ledger", "charge", address, "ages", str(noise), "--count", "3"]) == 0
    assert main(["ledger", "verify", address, "--read-only"]) == 0
    assert "2 entries" in capsys.readouterr().out
    assert main(["report", "--ledger", address, "--dataset", "ages"]) == 0
    assert main(["ledger", "charge", address, "ages", str(noise), "--count", "99"]) == 3
    server.kill()
    assert main(["ledger", "charge", address, "ages", str(noise)]) == 4
    assert "must be reachable by its address; nothing was recorded" in capsys.readouterr().err
    server.start()


def test_without_a_driver(monkeypatch, capsys):
    for driver in ("psycopg", "psycopg2"):
        monkeypatch.setitem(sys.modules, driver, None)
    assert main(["ledger", "status", "postgresql://db/privacy"]) == 2
    assert 'needs it installed: python -m pip install "psycopg[binary]"' in capsys.readouterr().err
