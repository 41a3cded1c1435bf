"""What a user meets first: lists, options, locales, terminals, files and figures."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command_line import refused, run
from each import slow

import renyi
from renyi import (
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    RDPAccountant,
    calibrate_noise_multiplier,
)
from renyi._progress import progress
from renyi.filters import PrivacyFilter
from renyi.report import dataset_report, privacy_report
from renyi.sgd import PNSGD, Ball
from renyi.tradeoff import central_limit

RUN = ["--noise-multiplier", "1", "--sample-rate", "0.1", "--steps", "10", "--delta", "1e-5"]
SIZES = ["--batch-size", "10", "--dataset-size", "1000", "--steps", "10"]


NOISY = ["--noise-multiplier", "1", "--sample-rate", "0.1"]
SHUFFLED = ["--sampling", "shuffled"]
TO_TYPE = "--adjacency must be replace_one or zero_out with --sampling shuffled"
TARGET = ["--epsilon", "1", "--delta", "1e-5"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["epsilon", "--noise-multiplier", "1,1"], "--noise-multiplier must hold a number once"),
        (["epsilon", "--delta", "1e-5,0.00001"], "--delta must hold a number once, got 1e-5 twice"),
        (["epsilon", "--steps", "1:5:1,3"], "--steps must hold a number once, got 3 twice"),
        (["rdp", "--orders", "2,2.0"], "--orders must hold a number once"),
        (["epsilon", "--noise-multiplier", "1:1.0000000000000001:1e-17"], "must hold a number"),
        (["compare", "--methods", "rdp,exact,rdp"], "--methods must hold a name once"),
        (["curve", "--compare", "rdp,rdp"], "--compare must hold a name once"),
        (["epsilon", *RUN, "--steps", "20"], "--steps is given twice; a list is written 1,2"),
        (["epsilon", *RUN, "--digits=3", "--digits", "4"], "--digits is given twice\n"),
        (["ledger", "status", "x.db", "--json", "--json"], "--json is given twice"),
        (["shuffle", "--delta", "1e-5", "--delta", "1e-6"], "--delta is given twice\n"),
        (["account", "x.json", "--delta"], "--delta needs a value (a number >= 0 and < 1)"),
        (["report", *NOISY], "--delta is required (a number >= 0 and < 1)"),
        (["audit", "x.csv"], "--delta is required (a number strictly between 0 and 1)"),
        (["ledger", "create", "x.db", "y", "--epsilon"], "--epsilon needs a value (a number > 0)"),
        (["shuffle", "--choices"], "--choices needs a value (a whole number from 2 to 1000000000)"),
        (["audti"], "unknown command 'audti'; did you mean audit?"),
        (["xyz"], "unknown command 'xyz'; choose from epsilon, "),
        (["ledger", "chrage"], "unknown action 'chrage'; did you mean charge?"),
        (["epsilon", *NOISY[:2], "--delta", "1e-5", *SIZES, *SHUFFLED], TO_TYPE),
        (["delta", *NOISY[:2], "--epsilon", "1", *SIZES, *SHUFFLED], TO_TYPE),
        (["noise", *TARGET, *SIZES, *SHUFFLED], TO_TYPE),
        (["steps", *NOISY[:2], *TARGET, *SIZES[:4], *SHUFFLED], TO_TYPE),
        (["curve", *NOISY[:2], *SIZES, *SHUFFLED], TO_TYPE),
        (
            ["epsilon", *NOISY, "--steps", "1e15", "--delta", "1e-5"],
            "--steps must be a whole number from 1 to 1e9, got '1e15'",
        ),
        (
            ["epsilon", *NOISY, "--steps", "1:1000:0", "--delta", "1e-5"],
            "the step of a range must be a number > 0, got '1:1000:0'",
        ),
        (["verify", "--seed", "1"], "from 1 to 1000000"),
    ],
)
def test_what_is_refused_in_one_line(capsys, arguments, words):
    assert words in refused(capsys, *arguments)


def test_programs_tell_how_far_they_are_without_a_terminal(monkeypatch, capsys):
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


def test_programs_need_no_progress_bar_of_a_library():
    code = """
import contextlib, importlib, sys
sys.modules["tqdm"] = None
for program in sys.argv[1:]:
    with contextlib.suppress(SystemExit):
        importlib.import_module(f"examples.{program}").main(["--help"])
"""
    command = [sys.executable, "-c", code, *PROGRAMS]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"usage: python -m examples.{program}" in done.stdout for program in PROGRAMS)


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


@pytest.mark.parametrize(
    "name",
    ["C", *(pytest.param(name, marks=pytest.mark.slow) for name in ENVIRONMENTS if name != "C")],
)
def test_no_locale_stands_in_the_way(name, tmp_path):
    environment = {**os.environ, **ENVIRONMENTS[name]}
    language, _, encoding = environment.get("LC_ALL", "").partition(".")
    if encoding and shutil.which("localedef"):
        file = str(tmp_path / f"{language}.{encoding}")
        made = ["localedef", "-i", language, "-f", encoding, file]
        if subprocess.run(made, capture_output=True).returncode in (0, 1):  # 1: with warnings
            environment["LOCPATH"] = str(tmp_path)
    searches = {"noise", "steps", "rate", "compare", "verify"}  # the same words, and longer
    commands = [c for c in COMMANDS if name != "C" or c[0] not in searches]
    done = subprocess.run(
        [sys.executable, "-c", SHELL, json.dumps(commands)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode("ascii" if name.startswith(("C", "A")) else "utf-8")
    assert not re.findall(r"\d,\d(?!\d\d)", text.replace("1,2", ""))  # no decimal comma
    assert "epsilon = " in text


@pytest.mark.parametrize(
    "command", [COMMANDS[2], *slow((COMMANDS[0],), (COMMANDS[8],))], ids=" ".join
)
def test_a_reader_may_stop_at_once(command, tmp_path):
    line = " ".join([sys.executable, "-m", "renyi", *command]) + " | true"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# --- what stood in the way of users, each once


RENYI = [sys.executable, "-m", "renyi"]


def test_a_noise_multiplier_is_called_one(capsys):
    target = ["--epsilon", "1,2", "--delta", "1e-5", "--steps", "100"]
    assert "noise multiplier by Renyi-DP" in run(capsys, "noise", *target, *NOISY[2:])[1]
    assert "sampling rate by Renyi-DP" in run(capsys, "rate", *target, *NOISY[:2])[1]
    one = ["--epsilon", "2", "--delta", "1e-5", *NOISY]
    assert "\nsteps by Renyi-DP = " in run(capsys, "steps", *one)[1]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_what_cannot_be_written_has_a_code_and_a_line(redirection):
    line = " ".join([*RENYI, "info", redirection])
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert done.returncode == 4
    assert done.stderr.startswith("renyi info: error: cannot write: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_columns_are_heeded(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = run(capsys, "epsilon", *NOISY, "--steps", 10, "--delta", "1e-5")[1].partition("\n")[2]
    assert max(map(len, text.splitlines())) <= min(columns, 88)


def test_the_size_of_the_data_beside_a_sampling_rate(capsys):
    given = ["epsilon", *NOISY, "--steps", 10, "--dataset-size", 1000]
    assert "1 / data set size" in run(capsys, *given, "--delta", 0.01)[1]
    assert "1 / data set size" not in run(capsys, *given, "--delta", 1e-5)[1]
    assert (
        "--sample-rate excludes --batch-size"
        in run(capsys, *given, "--batch-size", 3, "--delta", 1e-5)[2]
    )


def test_account_publishes(capsys, tmp_path):
    path = f"{tmp_path}/run.json"
    with open(path, "w") as file:
        file.write((Laplace(2.0) * 3).to_json())
    _, out, _ = run(capsys, "account", path, "--epsilon", "1")
    assert "differential privacy under the addition or removal of one record" in " ".join(
        out.split()
    )
    assert all(words in out for words in ("\nAssumes\n", "\nComputed\n", " <= delta <= "))
    found = json.loads(run(capsys, "account", path, "--epsilon", "1", "--json")[1])["results"]
    exact = PLDAccountant().compose(Laplace(2.0), 3)
    assert (found[0]["delta_lower"], found[0]["delta_upper"]) == exact.get_delta_bounds(1.0)
    assert "excludes --delta" in run(capsys, "account", path, "--epsilon", 1, "--delta", 0.1)[2]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_and_help(capsys, shell):
    assert "from 1 to 1e9" in run(capsys, "epsilon", "--help")[1]
    code, script, _ = run(capsys, "completion", shell)
    assert code == 0
    assert "noise-multiplier" in script
    if shell == "bash" and shutil.which("bash"):
        asked = "COMP_WORDS=(renyi epsilon --noi); COMP_CWORD=2; _renyi; echo ${COMPREPLY[@]}"
        done = subprocess.run(
            ["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True
        )
        assert done.stdout == "--noise-multiplier\n"


def test_sums_and_whole_floats():
    parts = [Gaussian(2.0), Laplace(1.0), Gaussian(2.0) * 2]
    assert sum(parts) == Gaussian(2.0) * 3 + Laplace(1.0)
    assert Gaussian(2.0) * 3.0 == Gaussian(2.0) * np.float32(3.0) == Gaussian(2.0) * 3
    assert PLDAccountant().compose(Gaussian(2.0), 1e3) == PLDAccountant().compose(
        Gaussian(2.0), 1000
    )
    for wrong in (1.5, np.nan, np.inf, "3", True):
        with pytest.raises((TypeError, ValueError)):
            PLDAccountant().compose(Gaussian(2.0), wrong)
    with pytest.raises(TypeError):
        sum(parts, 1)


def test_epochs_in_calibration():
    target = {"target_epsilon": 1.0, "target_delta": 1e-5}
    for rate, epochs in ((0.01, 3), (0.3, 3), (1 / 3, 1.5), (0.004, 0.1)):
        steps = -int(-Fraction(repr(float(epochs))) // Fraction(repr(rate)))
        by_epochs = calibrate_noise_multiplier(**target, sample_rate=rate, epochs=epochs)
        assert by_epochs == calibrate_noise_multiplier(**target, sample_rate=rate, steps=steps)
    for given in ({}, {"steps": 10, "epochs": 1.0}):
        with pytest.raises(TypeError, match="one of steps and epochs must be given"):
            calibrate_noise_multiplier(**target, sample_rate=0.1, **given)
    with pytest.raises(ValueError, match="epochs must be"):
        calibrate_noise_multiplier(**target, sample_rate=0.1, epochs=0.0)


def test_notebooks_show_what_is_there():
    both = Gaussian(2.0) * 3 + Laplace(1.0)
    assert both._repr_html_() == f"<pre>{both.describe()}</pre>"
    for accountant in (PLDAccountant, RDPAccountant):
        shown = accountant().compose(both)._repr_html_()
        assert all(word in shown for word in (accountant.__name__, "add_remove", "Laplace noise"))
        assert "nothing composed" in accountant()._repr_html_()


@pytest.mark.parametrize("count", [3, 7])
def test_a_legend_leaves_two_thirds_of_the_figure(count):
    figure = pytest.importorskip("matplotlib.figure").Figure(
        figsize=(6.4, 4.8), layout="constrained"
    )
    pytest.importorskip("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    accounts = [PLDAccountant().compose(Gaussian(1.0 + k)) for k in range(count)]
    labels = [f"σ = {1.0 + k:g}, q = 256/60000, steps = 4,688: exact" for k in range(count)]
    axes = renyi.plot.plot_privacy_curve(accounts, labels=labels, ax=figure.add_subplot())
    figure.draw_without_rendering()
    legend = axes.get_legend().get_window_extent()
    assert legend.width * legend.height <= figure.bbox.width * figure.bbox.height / 3
    assert axes.get_window_extent().height >= figure.bbox.height / 2


def test_what_is_not_required_is_asked_for_by_name():
    code = (
        "import sys; sys.modules['mpmath'] = sys.modules['tqdm'] = None\n"
        "sys.modules['matplotlib'] = None\n"
        "from renyi import *\n"
        "from renyi.cli import main\n"
        "assert main(['noise', '--epsilon', '1', '--delta', '1e-5', '--sample-rate', '0.1', "
        "'--steps', '9']) == 0\n"
        "assert main(['verify', '--random', '1']) == 2\n"
        "try:\n    import renyi.reference\n"
        "except ImportError as error:\n    assert 'pip install mpmath' in str(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "python -m pip install mpmath" in done.stderr


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("mechanism", lambda x: PLDAccountant().get_epsilon_after(1e-5, x, [2])),
        ("orders", lambda x: RDPAccountant().get_rdp(x)),
        ("strategy", lambda x: renyi.matrix.NoiseStream(x, 3)),
        ("domain", lambda x: PNSGD(x, x, step_size=0.1)),
        ("loss", lambda x: PNSGD(Ball(1.0, [0.0]), x, step_size=0.1)),
        ("ledger", lambda x: dataset_report(x, "census")),
        ("disclosure", lambda x: privacy_report(Gaussian(1.0), delta=1e-5, disclosure=x)),
        ("pair", lambda x: renyi.reference.rdp(x, 2)),
    ],
)
def test_an_object_of_the_wrong_kind_is_named(name, use):
    with pytest.raises(TypeError, match=rf"^{name} must be .*, got 'x'$"):
        use("x")


def test_arguments_next_to_the_ends_of_doubles():
    accountant = RDPAccountant().compose(Gaussian(1.0))
    assert accountant.get_beta(np.zeros((2, 0))).shape == (2, 0)
    with pytest.raises(ValueError, match=r"^orders must be a number in \[1, 1e6\]"):
        accountant.get_rdp(10**400)
    rare = RDPAccountant().compose(PoissonSampled(Gaussian(2.0), 1e-99))  # q^2 chi^2/2
    assert rare.get_rdp(1.0) == pytest.approx(0.5e-198 * math.expm1(0.25), rel=1e-9)
    assert central_limit(1e-300, 1.0, 2**40).gamma == 1.0
    assert not PrivacyFilter(5e-324, 1e-5).fits(Gaussian(1.0))
