"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib

import pytest

MODULES = [
    "accountants",
    "accountants.pld",
    "accountants.rdp",
    "calibration",
    "closed_form",
    "mechanisms",
    "pld._bounds",
    "pld._discrete",
    "pld._distribution",
    "pld._gaussian",
    "reference",
    "special",
    "tradeoff",
    "verify",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"renyi.{name}")
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
