"""The public names: those of the page of 1.0, no more and no fewer, and nothing else in `dir`."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

from each import each

import renyi

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^##+ `(renyi[\w.]*)`$(.*?)(?=^##)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(\w+)` \|(?: ((?:`_\w+`(?:, )?)*) \|)?", re.MULTILINE)


def listed(text: str) -> set[str]:
    names = set()
    for name, bounds in ROW.findall(text):
        names |= {name, *(name + side for side in re.findall(r"`(_\w+)`", bounds))}
    return names


LISTED = {module: listed(text) for module, text in SECTION.findall(PAGE)}
MODULES = sorted(set(LISTED) - {"renyi", "renyi.theory"})


@each("module", MODULES)
def test_the_page_lists_what_a_module_exports(module: str) -> None:
    assert LISTED[module] == set(importlib.import_module(module).__all__)


@each("module", ["renyi", "renyi.theory", *MODULES])
def test_dir_is_what_is_exported(module: str) -> None:
    loaded = importlib.import_module(module)
    optional = {"reference"} if module == "renyi" else set()
    assert dir(loaded) == sorted({*loaded.__all__, *optional})
    assert all(getattr(loaded, name) is not None for name in loaded.__all__)


def test_every_name_of_the_package_is_on_the_page() -> None:
    named = LISTED["renyi"] | {module.split(".")[1] for module in LISTED if module != "renyi"}
    for module in MODULES:
        named |= LISTED[module]
    assert set(renyi.__all__) <= named
    assert {f"renyi.theory.{name}" for name in renyi.theory.__all__} <= set(MODULES)


def test_one_name_has_one_meaning() -> None:
    """The reference computes what the engine does, by other means: there the names are the same."""
    homes: dict[str, tuple[str, object]] = {}
    for module in MODULES:
        if module != "renyi.reference":
            for name in LISTED[module]:
                value = getattr(importlib.import_module(module), name)
                assert homes.setdefault(name, (module, value))[1] is value, (name, module)
    assert all(getattr(renyi, name) is homes[name][1] for name in set(renyi.__all__) & set(homes))


def test_no_name_hides_a_module() -> None:
    for module in MODULES:
        loaded = importlib.import_module(module)
        inside = {found.name for found in pkgutil.iter_modules(getattr(loaded, "__path__", []))}
        assert not inside & set(loaded.__all__)


def test_modules_are_attributes_of_the_package() -> None:
    """Each in a process that has loaded no other, forked from one that has loaded the package."""
    code = """
import os, sys, numpy, renyi
for name in sys.argv[1:]:
    if os.fork() == 0:
        os._exit(getattr(renyi, name.split(".")[1]).__name__ != name)
    assert os.wait()[1] == 0, name
"""
    modules = sorted(module for module in LISTED if module.count(".") == 1)
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, *modules], check=True)
