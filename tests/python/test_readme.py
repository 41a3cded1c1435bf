"""What the README shows is what happens."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from renyi.cli import main

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
CONSOLE = [
    block.partition("\n")
    for block in re.findall(r"```console\n\$ renyi (.*?)```", README, re.DOTALL)
]
PYTHON = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))


@pytest.mark.parametrize(("command", "output"), [(first, rest) for first, _, rest in CONSOLE])
def test_commands(capsys, command, output):
    assert main(shlex.split(command)) == 0
    assert _rounded(capsys.readouterr().out) == _rounded(output)


def _rounded(text: str) -> str:
    """Cut full doubles to ten digits: their last bits are nobody's promise."""
    return re.sub(r"\d+\.\d{12,}", lambda match: f"{float(match[0]):.10g}", text)


def test_there_are_commands():
    assert len(CONSOLE) >= 2


def test_python():
    example = doctest.DocTestParser().get_doctest(PYTHON, {}, "README", "README.md", 0)
    assert len(example.examples) >= 6
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0
