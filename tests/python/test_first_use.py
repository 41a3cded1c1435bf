"""What a user meets first: lists, options, the locale and the terminal of the command line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from renyi._progress import progress
from renyi.cli import main

RUN = ["--noise-multiplier", "1", "--sample-rate", "0.1", "--steps", "10", "--delta", "1e-5"]
SIZES = ["--batch-size", "10", "--dataset-size", "1000", "--steps", "10"]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["epsilon", "--noise-multiplier", "1,1"], "--noise-multiplier must hold a number once"),
        (["epsilon", "--delta", "1e-5,0.00001"], "--delta must hold a number once, got 1e-05"),
        (["epsilon", "--steps", "1:5:1,3"], "--steps must hold a number once, got 3.0 twice"),
        (["rdp", "--orders", "2,2.0"], "--orders must hold a number once"),
        (["epsilon", "--noise-multiplier", "1:1.0000000000000001:1e-17"], "must hold a number"),
        (["compare", "--methods", "rdp,exact,rdp"], "--methods must hold a name once"),
        (["curve", "--compare", "rdp,rdp"], "--compare must hold a name once"),
        (["epsilon", *RUN, "--steps", "20"], "--steps is given twice; a list is written 1,2"),
        (["epsilon", *RUN, "--digits=3", "--digits", "4"], "--digits is given twice\n"),
        (["ledger", "status", "x.db", "--json", "--json"], "--json is given twice"),
    ],
)
def test_nothing_is_given_twice(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert words in refused(capsys, *arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["audti"], "unknown command 'audti'; did you mean audit?"),
        (["xyz"], "unknown command 'xyz'; choose from epsilon, "),
        (["ledger", "chrage"], "unknown action 'chrage'; did you mean charge?"),
    ],
)
def test_every_command_is_suggested(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert words in refused(capsys, *arguments)


@pytest.mark.parametrize("command", ["epsilon", "delta", "noise", "steps", "curve"])
def test_shuffled_batches_name_the_option_to_type(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    numbers = {
        "epsilon": ["--noise-multiplier", "1", "--delta", "1e-5", *SIZES],
        "delta": ["--noise-multiplier", "1", "--epsilon", "1", *SIZES],
        "noise": ["--epsilon", "1", "--delta", "1e-5", *SIZES],
        "steps": ["--noise-multiplier", "1", "--epsilon", "1", "--delta", "1e-5", *SIZES[:4]],
        "curve": ["--noise-multiplier", "1", *SIZES],
    }[command]
    message = refused(capsys, command, *numbers, "--sampling", "shuffled")
    assert "--adjacency must be replace_one or zero_out with --sampling shuffled" in message


def test_programs_tell_how_far_they_are_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr("renyi._progress.time.monotonic", lambda: float(next(clock)))
    assert list(progress(range(5), "step", title="training", logged=10.0)) == [0, 1, 2, 3, 4]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    assert all(line.startswith("training: ") and " of 5 steps, " in line for line in lines)
    assert "\x1b" not in "".join(lines)
    list(progress(range(5), "step"))  # commands stay silent
    assert capsys.readouterr().err == ""


ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = re.findall(r"python -m examples\.(\w+)", (ROOT / "README.md").read_text())


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_need_no_progress_bar_of_a_library(program: str) -> None:
    code = (
        "import sys; sys.modules['tqdm'] = None; "
        f"from examples.{program} import main; main(['--help'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: python -m examples.{program}")


COMMANDS = [
    ["epsilon", *RUN],
    ["delta", *RUN[:6], "--epsilon", "1"],
    ["curve", *RUN[:6], "--compare", "rdp,gdp"],
    ["compare", *RUN],
    ["noise", "--epsilon", "1", "--delta", "1e-5", *RUN[2:6]],
    ["steps", "--epsilon", "3", "--delta", "1e-5", *RUN[:4]],
    ["rate", "--epsilon", "1", "--delta", "1e-5", *RUN[:2], "--steps", "10"],
    ["rdp", *RUN[:6], "--orders", "2,3"],
    ["report", *RUN],
    ["report", *RUN, "--html", "report.html"],
    ["ledger", "create", "l.db", "census", "--rho", "1", "--note", "ünï → ε"],
    ["ledger", "status", "l.db"],
    ["ledger", "history", "l.db", "census"],
    ["verify", "--random", "2"],
    ["info"],
    ["completion", "bash"],
]
ENVIRONMENTS = {
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "ASCII, narrow": {"PYTHONIOENCODING": "ascii", "COLUMNS": "1"},
    "German": {"LC_ALL": "de_DE.UTF-8", "COLUMNS": "0"},
    "Turkish": {"LC_ALL": "tr_TR.UTF-8"},
}
SHELL = """
import io, json, locale, re, sys
from renyi.cli import main
try:
    locale.setlocale(locale.LC_ALL, "")
except locale.Error:
    pass
codes = [main(command) for command in json.loads(sys.argv[1])]
assert set(codes) == {0}, codes
"""


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_locale_stands_in_the_way(name: str, tmp_path: Path) -> None:
    environment = {**os.environ, **ENVIRONMENTS[name]}
    language, _, encoding = environment.get("LC_ALL", "").partition(".")
    if encoding and shutil.which("localedef"):
        made = [
            "localedef",
            "-i",
            language,
            "-f",
            encoding,
            str(tmp_path / f"{language}.{encoding}"),
        ]
        if subprocess.run(made, capture_output=True).returncode in (0, 1):  # 1: with warnings
            environment["LOCPATH"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", SHELL, json.dumps(COMMANDS)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode("ascii" if name.startswith(("C", "A")) else "utf-8")
    assert not re.findall(r"\d,\d(?!\d\d)", text.replace("1,2", ""))  # no decimal comma
    assert "epsilon = " in text


@pytest.mark.parametrize("command", [c for c in COMMANDS if c[0] != "ledger"], ids=" ".join)
def test_a_reader_may_stop_at_once(command: list[str], tmp_path: Path) -> None:
    line = " ".join([sys.executable, "-m", "renyi", *command]) + " | true"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
