"""What the README and the page on training show is what happens."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from renyi.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = [
    block.partition("\n")
    for block in re.findall(r"```console\n\$ renyi (.*?)```", README, re.DOTALL)
]


@pytest.mark.parametrize(("command", "output"), [(first, rest) for first, _, rest in CONSOLE])
def test_commands(capsys, command, output):
    assert main(shlex.split(command)) == 0
    assert _rounded(capsys.readouterr().out) == _rounded(output)


def _rounded(text: str) -> str:
    """Cut full doubles to ten digits: their last bits are nobody's promise."""
    return re.sub(r"\d+\.\d{12,}", lambda match: f"{float(match[0]):.10g}", text)


def test_there_are_commands():
    assert len(CONSOLE) >= 2


@pytest.mark.parametrize("file", ["README.md", "docs/training.md"])
def test_python(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    example = doctest.DocTestParser().get_doctest(code, {}, file, file, 0)
    assert len(example.examples) >= 6
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0
