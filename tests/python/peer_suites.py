"""Run a suite that dp_accounting ships, with our accountants in place of its own.

    python peer_suites.py dp_accounting.rdp.rdp_privacy_accountant_test

prints as JSON how many tests ran, and the last line of each failure by the name of its test.
"""

from __future__ import annotations

import importlib
import json
import sys
import unittest

import dp_accounting
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant

from renyi.compat.dp_accounting import PLDAccountant, RenyiAccountant


def put_ours_in_place() -> None:
    for module in (dp_accounting.rdp, rdp_privacy_accountant):
        module.RdpAccountant = RenyiAccountant
    for module in (dp_accounting.pld, pld_privacy_accountant):
        module.PLDAccountant = PLDAccountant


def outcome(name: str) -> dict[str, object]:
    """Return the number of tests run and what failed."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(name))
    result = unittest.TestResult()
    suite.run(result)
    failed = {
        test.id().partition(" ")[0].rpartition(".")[2]: trace.strip().splitlines()[-1]
        for test, trace in result.failures + result.errors
    }
    return {"run": result.testsRun, "failed": failed}


if __name__ == "__main__":
    put_ours_in_place()
    print(json.dumps(outcome(sys.argv[1])))
