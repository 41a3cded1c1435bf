"""Budgets of data sets and their spendings, in one file that several processes charge.

The filter of the data set checks a charge, and the charge is on the disk before anything is
released. A charge that would exceed the budget is refused. The history only grows, and each entry
carries a hash of all entries before it.

>>> import tempfile
>>> from renyi import Gaussian
>>> folder = tempfile.TemporaryDirectory()
>>> with Ledger(f"{folder.name}/privacy.db") as ledger:
...     ledger.create("census", epsilon=1.0, delta=1e-6)
...     ledger.charge("census", Gaussian(20.0), 3, note="ages")
...     round(ledger.status("census").remaining, 3), ledger.verify()
(0.841, [])
>>> folder.cleanup()
"""

from renyi.ledger._ledger import Ledger
from renyi.ledger._postgres import PostgresLedger
from renyi.ledger._records import Entry as Entry
from renyi.ledger._records import Status as Status
from renyi.ledger._store import LedgerError

__all__ = ["Ledger", "LedgerError", "PostgresLedger"]
__dir__ = __all__.copy
