"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest

import renyi

MODULES = [
    module.name
    for module in pkgutil.walk_packages(renyi.__path__, "renyi.")
    if not module.name.endswith("__main__")
]


def loaded(name):
    """Return a module; plugs for libraries that are not installed are skipped."""
    if name.startswith("renyi.compat."):
        return pytest.importorskip(name)
    return importlib.import_module(name)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(loaded(name)).failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    modules = [importlib.import_module(name) for name in MODULES if ".compat." not in name]
    assert sum(bool(test.examples) for m in modules for test in finder.find(m)) > 200
