"""What the README, the pages, the notebooks and CONTRIBUTING.md show is what there is."""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import json
import re
import shlex
from pathlib import Path

import pytest

from renyi import Gaussian
from renyi.cli import main
from renyi.cli.commands import build_parser

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = [
    block.partition("\n")
    for block in re.findall(
        r"```console\n\$ (?:python -m pip install \. && )?renyi (.*?)```", README, re.DOTALL
    )
]


@pytest.mark.parametrize(("command", "output"), [(first, rest) for first, _, rest in CONSOLE])
def test_commands(capsys, monkeypatch, command, output):
    monkeypatch.setenv("COLUMNS", "88")
    assert main(shlex.split(command)) == 0
    assert _rounded(capsys.readouterr().out) == _rounded(output)


def _rounded(text: str) -> str:
    """Cut full doubles to ten digits: their last bits are nobody's promise."""
    return re.sub(r"\d+\.\d{12,}", lambda match: f"{float(match[0]):.10g}", text)


def test_there_are_commands():
    assert len(CONSOLE) >= 2


def test_the_table_names_every_command():
    listed = re.findall(r"^\| `renyi (\w+)` \|", README, re.MULTILINE)
    (chosen,) = (a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert sorted(listed) == sorted(chosen.choices)


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# With other libraries, by their own tests.
ELSEWHERE = {"arrays.md", "embedding.md", "migration.md"}
WITH_PYTHON = [
    page
    for page in PAGES
    if page.name not in ELSEWHERE and "```python\n" in page.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_python(page):
    if "matplotlib" in page.read_text(encoding="utf-8"):
        pytest.importorskip("matplotlib")
    text = page.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    example = doctest.DocTestParser().get_doctest(code, {}, page.stem, str(page), 0)
    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


def test_there_is_python():
    assert len(WITH_PYTHON) >= 12


def test_the_shell_of_a_ledger(capsys, tmp_path, monkeypatch):
    page = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ renyi (.*)$", page, re.MULTILINE)
    assert len(commands) == 10
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ages.json").write_text(Gaussian(20.0).to_json())
    assert [main(shlex.split(command)) for command in commands] == [0] * 10
    assert "census" in capsys.readouterr().out


# --- notebooks


DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_stored(path: Path) -> None:
    pytest.importorskip("sklearn")
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    scope: dict[str, object] = {}
    for cell in code:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), path.name, "exec"), scope)
        stored = "".join(line for output in cell["outputs"] for line in output["text"])
        assert printed.getvalue() == stored


def test_the_gallery_shows_every_figure_and_notebook() -> None:
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\]\(([\w./]+\.(?:png|ipynb))\)", text))
    kept = {str(p.relative_to(DOCS)) for p in (*DOCS.glob("*.png"), *NOTEBOOKS)}
    assert len(NOTEBOOKS) >= 2
    assert shown == kept


# --- CONTRIBUTING.md


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WORDS = set(re.findall(r"`([^`\n]+)`", CONTRIBUTING))
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
    paths += re.findall(r"python (bench/\w+\.py)", CONTRIBUTING)
    assert not [path for path in paths if not any((root / path).exists() for root in roots)]
