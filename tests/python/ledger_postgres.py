"""Processes that charge one ledger on PostgreSQL: ``race`` to the end, or ``charge`` until killed.

``python ledger_postgres.py race|charge PLACE SCHEMA NUMBER``
"""

import os
import sys

from renyi import BudgetExceededError, Gaussian
from renyi.ledger import PostgresLedger

NOISE = Gaussian(400.0)

what, place, schema, number = sys.argv[1:]
ledger, done = PostgresLedger(place, schema=schema, timeout=300.0), 0
try:
    while True:
        ledger.charge("data", NOISE, note=number)
        done += 1
        if what == "charge":
            os.write(1, b".")
except BudgetExceededError:
    print(done)
