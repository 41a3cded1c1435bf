"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib

import pytest

MODULES = [
    "accountants",
    "accountants._base",
    "accountants._risk",
    "accountants.pld",
    "accountants.rdp",
    "calibration",
    "closed_form",
    "filters",
    "mechanisms",
    "mechanisms._algebra",
    "mechanisms._answers",
    "mechanisms._batches",
    "mechanisms._gaussian",
    "mechanisms._guarantees",
    "mechanisms._noise",
    "mechanisms._poisson",
    "mechanisms._privacy_loss",
    "mechanisms._rdp_curve",
    "mechanisms._selection",
    "pld._bounds",
    "pld._discrete",
    "pld._distribution",
    "pld._exponential",
    "pld._gaussian",
    "pld._gumbel",
    "pld._integers",
    "pld._mixed",
    "pld._mixture",
    "pld._product",
    "pld._sampled",
    "pld._sampling",
    "pld._spliced",
    "reference",
    "sgd._generator",
    "sgd.grid",
    "sgd.noise",
    "sgd.optimizer",
    "sgd.plan",
    "sgd.samplers",
    "sgd.updates",
    "special",
    "subsampling",
    "tradeoff",
    "verify._curves",
    "verify._routes",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"renyi.{name}")
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
