"""The written comparison shows what the commands and functions give."""

import itertools
import re
import runpy
import shlex
from pathlib import Path

import pytest

from renyi.cli import main
from renyi.theory.comparison import compare
from renyi.theory.moments import log_moment_constant

FOLDER = Path(__file__).parents[2] / "docs"
TEXT = (FOLDER / "comparison.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n\$ renyi (.*?)\n(.*?)```", TEXT, re.DOTALL)
TABLES = [
    [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    for table in re.findall(r"(?:^\|.*\|$\n?)+", TEXT, re.MULTILINE)
]


LONG = [
    pytest.param(*one, id=one[0].split(" ")[1], marks=[pytest.mark.slow] * ("--target" in one[0]))
    for one in CONSOLE
]


@pytest.mark.parametrize(("command", "output"), LONG)
def test_commands(capsys, command, output):
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out.startswith(output)


@pytest.mark.slow
def test_the_numbers_of_the_answer():
    script = FOLDER.parent / "examples" / "comparison_numbers.py"
    text, facts = " ".join(TEXT.split()), list(runpy.run_path(str(script))["facts"]())
    assert len(facts) == 15
    assert [fact for fact in facts if fact not in text] == []


def test_who_wins_among_routes_1_and_2():
    for sigma, q in itertools.product((0.6, 1.0, 4.0, 10.0), (0.001, 0.01, 0.1)):
        for epochs in (1, 10, 100):
            rows = compare(
                q, sigma, round(epochs / q), delta=1e-5, methods=["advanced", "full_batch"]
            )
            first = rows[0].epsilon < rows[1].epsilon
            if sigma <= 1.0 or q == 0.1:
                assert not first
            elif q == 0.001 or sigma == 10.0:
                assert first


def test_the_table_of_delta():
    table = TABLES[1]
    assert table[0][:4] == ["q", "k", "σ", "ε"]
    methods = [name.strip("`") for name in table[0][4:]]
    for row in table[2:]:
        q, k, sigma, epsilon = map(float, row[:4])
        found = compare(q, sigma, round(k / q), epsilon=epsilon, methods=methods)
        for one, cell in zip(found, row[4:], strict=True):
            assert one.delta <= float(cell) <= one.delta * 1.11


def test_the_table_of_constants():
    table = TABLES[2]
    for row in table[2:]:
        for c2, cell in zip(table[0][1:], row[1:], strict=True):
            found = log_moment_constant(float(row[0]), float(c2))
            assert found <= float(cell) <= found * 1.01


def test_everything_is_there():
    assert len(CONSOLE) == 3
    assert len(TABLES) == 3
    assert (FOLDER / re.findall(r"!\[.*?\]\((.*?)\)", TEXT)[0]).stat().st_size < 100_000
