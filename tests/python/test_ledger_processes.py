"""Processes that are killed while they charge, and processes that race for one budget.

``RENYI_LEDGER_KILLS=1000 python -m pytest tests/python/test_ledger_processes.py`` kills a thousand.
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from renyi import BudgetExceededError, Gaussian, Ledger

PROGRAM = Path(__file__).with_name("ledger_processes.py")
KILLS = os.environ.get("RENYI_LEDGER_KILLS", "20")


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

    threads = [threading.Thread(target=charge) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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
