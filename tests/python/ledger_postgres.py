"""Processes that charge one ledger on PostgreSQL: ``race`` to the end, or ``charge`` until killed.

``python ledger_postgres.py race|charge PLACE SCHEMA NUMBER``
"""

import os
import sys
import time

from renyi import BudgetExceededError, Gaussian
from renyi.ledger import LedgerError, PostgresLedger

NOISE = Gaussian(400.0)

what, place, schema, number = sys.argv[1:]
ledger, done, failed = PostgresLedger(place, schema=schema, timeout=300.0), 0, 0
while True:
    try:
        ledger.charge("data", NOISE, note=number)
        done += 1
    except BudgetExceededError:
        print(done)
        break
    except LedgerError:  # the server is gone: what was to be recorded may be, and is not counted
        failed += 1
        if what == "charge" or failed > 1000:
            raise
        time.sleep(0.1)
    if what == "charge":
        os.write(1, b".")
