"""CONTRIBUTING.md describes the folders and modules that there are."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WORDS = set(re.findall(r"`([^`\n]+)`", PAGE))
NAMES = {word.rpartition("/")[2] for word in WORDS}


def test_every_folder_of_the_core_is_described() -> None:
    assert {path.name for path in (ROOT / "src" / "renyi").iterdir()} <= NAMES


def test_every_public_module_is_described() -> None:
    found = {
        path.stem
        for path in (ROOT / "python" / "renyi").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert {name for name in found if not name.startswith("_")} <= NAMES


def test_paths_and_scripts_exist() -> None:
    roots = (ROOT, ROOT / "src" / "renyi", ROOT / "python" / "renyi")
    paths = [word for word in WORDS if "/" in word and " " not in word]
    paths += re.findall(r"python (bench/\w+\.py)", PAGE)
    assert not [path for path in paths if not any((root / path).exists() for root in roots)]
