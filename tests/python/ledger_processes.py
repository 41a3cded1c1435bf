"""Processes that charge one ledger, to be run as a program: some are killed, or many race.

``python ledger_processes.py kill PATH TIMES SEED`` kills a charging process TIMES times;
``python ledger_processes.py race PATH PROCESSES`` lets processes use up a budget. Both print JSON.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter

from renyi import BudgetExceededError, Gaussian, GDPFilter, Ledger

NOISE = Gaussian(400.0)


def charge_until_killed(path, note, acknowledge):
    """Charge, set aside and settle in turn; a byte for each charge that was recorded."""
    with Ledger(path) as ledger:
        for turn in range(10**9):
            ledger.charge("data", NOISE, note=note)
            os.write(acknowledge, b".")
            if turn % 3 == 2:
                ledger.settle("data", ledger.reserve("data", NOISE, 5, note), turn % 5, note)


def kill(path, times, seed):
    """Return how many charges were acknowledged and recorded, and what is wrong."""
    moments, ledger = random.Random(seed), Ledger(path)
    ledger.create("data", epsilon=1e4, delta=1e-6, accountant="gdp")
    ledger.close()
    acknowledged = Counter()
    for run in range(times):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            charge_until_killed(path, str(run), writer)
        os.close(writer)
        if moments.random() < 0.8:
            acknowledged[str(run)] += len(os.read(reader, 1))
        time.sleep(moments.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while found := os.read(reader, 4096):
            acknowledged[str(run)] += len(found)
        os.close(reader)
    recorded = Counter()
    for entry in ledger.history("data"):
        if entry.type == "charge":
            recorded[entry.note] += entry.repeats
    wrong = [
        run for run in map(str, range(times)) if recorded[run] - acknowledged[run] not in (0, 1)
    ]
    return {
        "acknowledged": acknowledged.total(),
        "recorded": recorded.total(),
        "open": len(ledger.status("data").reservations),
        "wrong": wrong,
        "problems": ledger.verify(),
    }


def race(path, processes):
    """Return how many charges fit, were acknowledged and recorded, and came in a second."""
    ledger = Ledger(path, timeout=300.0)
    ledger.create("data", epsilon=0.15, delta=1e-6, accountant="gdp")
    fits = GDPFilter(0.15, 1e-6).count_that_fits(NOISE, 10**6)
    start, pipes = time.perf_counter(), []
    for number in range(processes):
        reader, writer = os.pipe()
        if os.fork() == 0:
            done = 0
            try:
                while True:
                    ledger.charge("data", NOISE, note=f"process {number}")
                    done += 1
            except BudgetExceededError:
                os.write(writer, str(done).encode())
            finally:
                os._exit(0)
        os.close(writer)
        pipes.append(reader)
    done = [int(os.read(reader, 99)) for reader in pipes]
    seconds = time.perf_counter() - start
    while processes:
        os.wait()
        processes -= 1
    recorded = sum(entry.repeats for entry in ledger.history("data")[1:])
    rate, problems = round(sum(done) / seconds, 1), ledger.verify()
    counts = {"fits": fits, "acknowledged": sum(done), "recorded": recorded}
    return {**counts, "least": min(done), "per_second": rate, "problems": problems}


if __name__ == "__main__":
    what, place, *numbers = sys.argv[1:]
    print(json.dumps({"kill": kill, "race": race}[what](place, *map(int, numbers))))
