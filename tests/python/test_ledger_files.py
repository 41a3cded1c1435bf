"""The file of a ledger: moved, copied, interrupted, forked; charges by processes, in any order."""

import json
import os
import pickle
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path

import mpmath
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from interruptions import at_line, each_place, in_threads

from renyi import BudgetExceededError, Gaussian, Ledger, LedgerError, PrivacyFilter, reference

NOISE = Gaussian(400.0)
CHARGE = (
    "import sys, time\n"
    "from renyi import BudgetExceededError, Gaussian, Ledger\n"
    "ledger = Ledger(sys.argv[1])\n"
    "ledger.charge('data', Gaussian(400.0))\n"
    "print('charged', flush=True)\n"
)


@pytest.fixture
def path(tmp_path):
    with Ledger(tmp_path / "privacy.db") as ledger:
        ledger.create("data", rho=0.5)
    return tmp_path / "privacy.db"


def charging(path, more):
    """Start a process that charges once, says so, and goes on."""
    command = [sys.executable, "-c", CHARGE + more, str(path)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "charged\n"
    return child


class TestWhereItIs:
    def test_the_file_alone_is_complete_after_a_kill(self, path, tmp_path):
        for number in range(3):
            child = charging(
                path,
                "for _ in range(4): ledger.charge('data', Gaussian(400.0))\n"
                "print('all', flush=True)\ntime.sleep(99)\n",
            )
            assert child.stdout.readline() == "all\n"
            child.kill()
            child.communicate()
            (tmp_path / str(number)).mkdir()
            moved = tmp_path / str(number) / "privacy.db"
            path.rename(moved)  # and no journal with it
            with Ledger(moved) as ledger:
                assert ledger.status("data").charges == 5 * (number + 1)
                assert ledger.verify() == []
            path = moved

    def test_a_copy_of_a_file_in_use_has_what_was_charged(self, path, tmp_path):
        with Ledger(path) as ledger:
            for number in range(15):
                ledger.charge("data", NOISE)
                shutil.copyfile(path, tmp_path / "copy.db")  # between charges
                with Ledger(tmp_path / "copy.db") as copy:
                    assert copy.status("data").charges == number + 1

    def test_a_second_name_is_refused(self, path, tmp_path):
        child = charging(path, "input()\nledger.charge('data', Gaussian(400.0))\n")
        os.link(path, tmp_path / "other.db")
        with pytest.raises(LedgerError, match="ledger must have one name"):
            Ledger(tmp_path / "other.db").charge("data", NOISE)
        child.communicate("\n")
        assert child.returncode == 1
        (tmp_path / "other.db").unlink()
        with Ledger(path) as ledger:
            assert ledger.status("data").charges == 1
            ledger.charge("data", NOISE)

    @pytest.mark.parametrize("anew", [True, False])
    def test_a_file_that_was_removed_is_not_charged(self, path, tmp_path, anew):
        child = charging(path, "input()\nledger.charge('data', Gaussian(400.0))\n")
        with Ledger(path) as ledger:
            ledger.charge("data", NOISE)
            path.unlink()
            if anew:
                with Ledger(path) as other:
                    other.create("data", rho=0.5)
            for use in ledger.charge, ledger.count_that_fits:
                with pytest.raises(LedgerError, match="must stay where it is"):
                    use("data", NOISE, 1)
        child.communicate("\n")
        assert child.returncode == 1

    def test_a_file_that_is_replaced_during_a_charge(self, path, tmp_path):
        with Ledger(path) as ledger, Ledger(tmp_path / "other.db") as other:
            other.create("data", rho=0.5)
            with pytest.raises(LedgerError, match="replaced"):
                ledger._store.changing(lambda _: os.replace(tmp_path / "other.db", path))
            with pytest.raises(LedgerError, match="moved or removed"):
                other.status("data")

    def test_it_stays_with_the_folder_it_was_opened_in(self, path, tmp_path, monkeypatch):
        (tmp_path / "else").mkdir()
        monkeypatch.chdir(tmp_path)
        with Ledger("privacy.db") as ledger:
            monkeypatch.chdir(tmp_path / "else")
            with Ledger("privacy.db") as other:
                other.create("data", rho=0.5)
            ledger.charge("data", NOISE)
            assert (ledger.status("data").charges, other.status("data").charges) == (1, 0)
            assert pickle.loads(pickle.dumps(ledger)).status("data").charges == 1

    def test_symbolic_links_lead_to_one_budget(self, path, tmp_path):
        (tmp_path / "link.db").symlink_to(path)
        with Ledger(tmp_path / "link.db") as link, Ledger(path) as ledger:
            link.charge("data", NOISE)
            ledger.charge("data", NOISE)
            assert link.status("data") == ledger.status("data")
            assert repr(link) == repr(ledger)


class TestJournals:
    def test_a_log_by_choice_and_back(self, path):
        def mode():
            connection = sqlite3.connect(path)
            found = connection.execute("PRAGMA journal_mode").fetchone()[0]
            connection.close()
            return found

        with Ledger(path, wal=True) as ledger:
            ledger.charge("data", NOISE)
            assert mode() == "wal"
            with Ledger(path, timeout=0.1) as other:  # in use: it stays as it is
                other.charge("data", NOISE)
                assert mode() == "wal"
        with Ledger(path) as ledger:
            assert ledger.status("data").charges == 2
            ledger.charge("data", NOISE)
            assert mode() == "delete"
            assert not path.with_name("privacy.db-wal").exists()
            assert ledger.verify() == []

    def test_every_commit_is_written_through(self, path):
        for wal in False, True:
            with Ledger(path, wal=wal) as ledger:
                found = ledger._store.reading(
                    lambda connection: connection.execute("PRAGMA synchronous").fetchone()
                )
                assert found == (3,)

    @pytest.mark.parametrize("wal", [False, True])
    def test_a_backup_is_complete_while_others_charge(self, path, tmp_path, wal):
        with Ledger(path, wal=wal) as ledger:
            done = threading.Event()

            def charge():
                while not done.is_set():
                    ledger.charge("data", NOISE)

            thread = threading.Thread(target=charge)
            thread.start()
            charges = []
            for number in range(5):
                least = ledger.status("data").charges
                ledger.backup(tmp_path / f"{number}.db")
                charges.append(least)
            done.set()
            thread.join()
            for number, least in enumerate(charges):
                with Ledger(tmp_path / f"{number}.db", read_only=True) as copy:
                    assert copy.status("data").charges >= least
                    assert copy.verify() == []
                assert not (tmp_path / f"{number}.db-wal").exists()
            with pytest.raises(ValueError, match="target must be a new file"):
                ledger.backup(tmp_path / "0.db")
            with pytest.raises(LedgerError, match="cannot be written"):
                ledger.backup(tmp_path / "no" / "0.db")

    def test_an_auditor_only_looks(self, path):
        with Ledger(path) as ledger:
            ledger.charge("data", NOISE)
            head = ledger.status("data").head
            run = ledger.reserve("data", NOISE, 1)
        path.chmod(0o444)
        before = path.read_bytes(), path.stat().st_mtime_ns
        with Ledger(path, read_only=True) as auditor:
            assert auditor.verify([head]) == []
            assert auditor.status("data").charges == 1
            lines = list(auditor.export_lines())
            for write in (
                lambda: auditor.charge("data", NOISE),
                lambda: auditor.reserve("data", NOISE, 1),
                lambda: auditor.settle("data", run, 1),
                lambda: auditor.create("more", rho=1.0),
                lambda: auditor.import_lines(line.replace('"data"', '"more"') for line in lines),
                lambda: auditor.rebuild("data"),
            ):
                with pytest.raises((LedgerError, ValueError), match=r"without read_only|entry 1"):
                    write()
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before
        assert sorted(other.name for other in path.parent.iterdir()) == ["privacy.db"]


def charge_and_wait(ledger, timer):
    timer.start()
    ledger.charge("data", NOISE)
    time.sleep(60)  # until the signal


def elsewhere(ask, *arguments):
    """Return what another thread is told."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ask, *arguments).result()


def is_free(lock):
    taken = lock.acquire(blocking=False)
    if taken:
        lock.release()
    return taken


def changed_by_a_handler(ledger):
    def change(connection):
        ledger.charge("data", NOISE)
        connection.execute("UPDATE datasets SET filter = ''")

    ledger._store.changing(change)


class TestInterruptions:
    @pytest.fixture(autouse=True)
    def interruptible(self):
        """A shell's background jobs are started with SIGINT ignored."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        signal.signal(signal.SIGINT, before)

    def test_a_signal_while_a_charge_waits_leaves_no_lock(self, path):
        """The signal is handled when the wait is over, and the transaction has begun."""
        busy = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        with Ledger(path) as ledger, Ledger(path, timeout=0.2) as other:
            for _ in range(10):
                busy.execute("BEGIN IMMEDIATE")
                timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
                release = threading.Timer(0.2, busy.execute, ("ROLLBACK",))
                release.start()
                with pytest.raises(KeyboardInterrupt):  # on a busy machine before the charge, too
                    charge_and_wait(ledger, timer)
                release.join()
                other.charge("data", NOISE)
            assert ledger.verify() == []
        busy.close()

    def test_an_interruption_at_any_line_leaves_no_lock(self, path):
        with Ledger(path) as ledger, Ledger(path, timeout=0.2) as other:
            charged = 0
            for interrupted in each_place(least=120, within="renyi/ledger"):
                interrupted(partial(ledger.charge, "data", NOISE))
                other.charge("data", NOISE)
                charged += 1
            assert charged + 1 <= other.status("data").charges <= 2 * charged
            assert other.verify() == []

    @pytest.mark.parametrize("within", ["renyi/ledger", "contextlib"])
    def test_an_interruption_at_any_call_leaves_no_lock(self, path, within):
        """A signal may be taken where a function begins, an __exit__ in Python, too.

        Whoever keeps the traceback keeps all frames: nothing is freed by their end.
        """
        with Ledger(path) as ledger, Ledger(path, timeout=0.2) as other:
            run = ledger.reserve("data", NOISE, 2)
            ledger.charge("data", NOISE)
            for use in (
                lambda: ledger.charge("data", NOISE),
                lambda: ledger.settle("data", run, 9),  # refused
                lambda: ledger.status("data"),
                lambda: ledger.history("data"),
            ):
                number, kept = 0, [None]

                def kept_traceback():
                    try:
                        use()  # noqa: B023
                    except KeyboardInterrupt as error:
                        kept[:] = [error]  # noqa: B023
                        raise
                    except ValueError:
                        pass

                while kept:
                    number += 1
                    kept.clear()
                    at_line(kept_traceback, number, event="call", within=within)
                    assert elsewhere(is_free, ledger._store._lock), number
                    assert not any(one.in_transaction for one in ledger._store._connections)
                    if not number % 20:
                        other.charge("data", NOISE)
                assert number > 5
            assert ledger.verify() == []

    def test_a_signal_handler_that_charges_does_not_mix_with_a_charge(self, path):
        with Ledger(path) as ledger:
            with pytest.raises(LedgerError):
                changed_by_a_handler(ledger)
            assert ledger.status("data").charges == 1
            assert ledger.verify() == []

    def test_forks_beside_short_lived_ledgers(self, tmp_path):
        program = (
            "import os, sys, threading, time\n"
            "from renyi import Gaussian, Ledger\n"
            "path, done, bad = sys.argv[1], threading.Event(), 0\n"
            "with Ledger(path) as ledger: ledger.create('data', rho=0.5)\n"
            "def work():\n"
            "    while not done.is_set():\n"
            "        Ledger(path).charge('data', Gaussian(4000.0))\n"
            "threads = [threading.Thread(target=work) for _ in range(3)]\n"
            "[thread.start() for thread in threads]\n"
            "for turn in range(5):\n"
            "    time.sleep(0.003 * (turn % 5))\n"
            "    child = os.fork()\n"
            "    if child == 0:\n"
            "        try:\n"
            "            Ledger(path, timeout=20.0).charge('data', Gaussian(4000.0))\n"
            "        except BaseException:\n"
            "            os._exit(1)\n"
            "        os._exit(0)\n"
            "    bad += os.waitpid(child, 0)[1] != 0\n"
            "done.set()\n"
            "[thread.join() for thread in threads]\n"
            "with Ledger(path) as ledger: print(bad, ledger.verify())\n"
        )
        command = [sys.executable, "-c", program, str(tmp_path / "privacy.db")]
        found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        assert found.stdout == "0 []\n"


def test_a_file_that_loses_what_is_added_to_it(tmp_path):
    """As damaged trees of SQLite do; a trigger does here."""
    ledger = Ledger(tmp_path / "privacy.db")
    ledger.create("scans", epsilon=1.0, delta=1e-6)
    ledger.close()
    with sqlite3.connect(tmp_path / "privacy.db") as connection:
        connection.execute("DROP TRIGGER entries_stay")
        connection.execute(
            "CREATE TRIGGER lose AFTER INSERT ON entries BEGIN DELETE FROM entries; END"
        )
    connection.close()
    with pytest.raises(LedgerError, match="got a damaged one"):
        ledger.charge("scans", Gaussian(20.0))


def test_what_sqlite_calls_lack_of_memory(tmp_path, monkeypatch):
    """So it says of some damaged schemas."""

    def refuse(*arguments):
        raise MemoryError

    ledger = Ledger(tmp_path / "privacy.db")
    ledger.create("scans", epsilon=1.0, delta=1e-6)
    ledger.close()
    monkeypatch.setattr("renyi.ledger._store._pragma", refuse)
    with pytest.raises(LedgerError, match="damaged, or memory is full; nothing was recorded"):
        ledger.charge("scans", Gaussian(20.0))


# --- processes


PROGRAM = Path(__file__).with_name("ledger_processes.py")
KILLS = os.environ.get("RENYI_LEDGER_KILLS", "10")


def run(*arguments):
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_what_was_acknowledged_is_there_after_every_kill(tmp_path):
    found = run("kill", tmp_path / "killed.db", KILLS, 1)
    assert found["wrong"] == found["problems"] == []
    assert found["acknowledged"] >= 0.7 * int(KILLS)
    assert 0 <= found["recorded"] - found["acknowledged"] <= int(KILLS)


def test_sixteen_processes_use_up_one_budget_and_no_more(tmp_path):
    found = run("race", tmp_path / "raced.db", 16)
    assert found["acknowledged"] == found["recorded"] == found["fits"]
    assert found["problems"] == []


def test_threads_share_a_ledger(tmp_path):
    ledger, done = Ledger(tmp_path / "threads.db"), []
    ledger.create("data", rho=0.0501)

    def charge():
        try:
            while True:
                ledger.charge("data", Gaussian(10.0))
                done.append(1)
        except BudgetExceededError:
            pass

    in_threads([charge] * 8)
    assert len(done) == ledger.status("data").charges == 10
    assert ledger.verify() == []
    ledger.close()


def test_a_fork_closes_the_file_and_both_sides_open_it_again(tmp_path):
    program = (
        "import os, sys\n"
        "from renyi import Gaussian, Ledger\n"
        "ledger = Ledger(sys.argv[1])\n"
        "ledger.create('data', rho=1.0)\n"
        "ledger.charge('data', Gaussian(20.0), note='before')\n"
        "child = os.fork()\n"
        "assert ledger._store._connections == []\n"
        "for _ in range(20):\n"
        "    ledger.charge('data', Gaussian(90.0), note='child' if child == 0 else 'parent')\n"
        "if child == 0:\n"
        "    os._exit(0)\n"
        "ledger.close()\n"
        "os.waitpid(child, 0)\n"
    )
    path = tmp_path / "forked.db"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    with Ledger(path) as ledger:
        assert ledger.status("data").charges == 41
        assert ledger.verify() == []


# --- any order, beside multi-precision arithmetic


NOISES = st.sampled_from([3.0, 5.0, 8.0, 13.0, 40.0])
COUNTS = st.integers(1, 60)
EPSILON, DELTA, RHO = 1.0, 1e-6, 0.1
FILTER = json.loads(PrivacyFilter(EPSILON, DELTA).to_json())
TIGHT = 1e-13
MU = reference.gaussian_mu(EPSILON, DELTA)


def concentrated(uses):
    """Sum of 1/(2 sigma^2), as exact fractions."""
    return sum((Fraction(count) / (2 * Fraction(noise) ** 2) for noise, count in uses), Fraction(0))


def largest_share(kind, uses):
    """What uses take of a budget, by the definition of its filter."""
    rho = concentrated(uses)
    total = mpmath.mpf(rho.numerator) / rho.denominator
    if kind == "zcdp":
        return total / RHO
    if kind == "gdp":
        return 2 * total / MU**2
    orders = zip(FILTER["orders"], FILTER["budgets"], strict=True)
    return min(order * total / budget for order, budget in orders)


def basic_epsilon(calls):
    """Sum of the epsilons of calls, each by its exact curve at its share of delta."""
    total, delta = mpmath.mpf(0), FILTER["basic"]["delta"]
    for n, (noise, count) in enumerate(calls, 1):
        mu = float(mpmath.sqrt(count) / noise)
        total += reference.gaussian_epsilon(mu, 3 * mpmath.mpf(delta) / 4**n)
    return total


class Interleavings(RuleBasedStateMachine):
    @initialize(kind=st.sampled_from(["zcdp", "gdp", "renyi"]))
    def begin(self, kind):
        self.folder = tempfile.TemporaryDirectory()
        self.kind, self.ledger = kind, Ledger(Path(self.folder.name) / "privacy.db")
        if kind == "zcdp":
            self.ledger.create("data", rho=RHO)
        else:
            self.ledger.create("data", epsilon=EPSILON, delta=DELTA, accountant=kind)
        self.charged, self.running, self.calls, self.released = [], {}, [], []

    def would_fit(self, noise, count):
        """Decide by the reference, from what the history says."""
        uses = [*self.charged, *self.running.values(), (noise, count)]
        share = largest_share(self.kind, uses)
        if share <= 1 - TIGHT:
            return True
        calls = [*self.calls, (noise, count)]
        if self.kind == "renyi" and len(calls) <= 16 and basic_epsilon(calls) <= EPSILON:
            return True
        return None if share <= 1 else False  # used up to the last digit: sums are rounded up

    @rule(noise=NOISES, count=COUNTS, how=st.sampled_from(["charge", "reserve"]))
    def use(self, noise, count, how):
        expected, uses = self.would_fit(noise, count), (noise, count)
        try:
            run = getattr(self.ledger, how)("data", Gaussian(noise), count)
        except BudgetExceededError:
            assert expected is not True
            return
        assert expected is not False
        self.calls.append(uses)
        if how == "charge":
            self.charged.append(uses)
            self.released.append(uses)
        else:
            self.running[run.number] = uses
            self.released.append((noise, count // 2))  # half of it has been run

    @precondition(lambda self: self.running)
    @rule(used=st.floats(0.5, 1.0))
    def settle(self, used):
        number, (noise, count) = next(iter(self.running.items()))
        times = max(count // 2, int(used * count))
        self.ledger.settle("data", number, times)
        del self.running[number]
        self.charged.append((noise, times))
        self.released += [(noise, times - count // 2)]

    @rule()
    def reopen(self):
        path = self.ledger._store.path
        self.ledger.close()
        self.ledger = Ledger(path)

    @invariant()
    def spent_covers_what_was_released_and_stays_within_the_budget(self):
        spent = 1.0 - self.ledger.status("data").remaining
        released = largest_share(self.kind, self.released)
        assert spent <= 1.0
        assert min(released, 1) <= spent * (1 + 1e-12)
        if released > 1:
            assert basic_epsilon(self.calls) <= EPSILON

    def teardown(self):
        if hasattr(self, "ledger"):
            assert self.ledger.verify() == []
            self.ledger.close()
            self.folder.cleanup()


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=5, stateful_step_count=20)
