"""The command line as a user meets it: numbers, sentences, tables, errors."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from command_line import refused, run
from each import slow

from renyi import (
    Gaussian,
    PLDAccountant,
    PoissonSampled,
    RDPAccountant,
    __version__,
    calibrate_noise_multiplier,
    special,
)
from renyi.cli.options import POSITIVE, numbers

RUN = ["--noise-multiplier", "1.1", "--sample-rate", "0.004", "--steps", "15000"]


def results(capsys, *arguments):
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)["results"]


def accountant(sigma, q, steps, **options):
    return RDPAccountant(**options).compose(PoissonSampled(Gaussian(sigma), q), steps)


def exact_accountant(sigma, q, steps, adjacency="add_remove"):
    return PLDAccountant(adjacency=adjacency).compose(PoissonSampled(Gaussian(sigma), q), steps)


def first_number(text):
    return Decimal(text.split("=")[1].split()[0].rstrip(",").replace(",", ""))


SCRIPT = str(Path(sys.executable).with_name("renyi"))  # beside the interpreter, on PATH or not


@pytest.mark.parametrize("start", [[SCRIPT], [sys.executable, "-m", "renyi"]])
def test_the_installed_command(start):
    done = subprocess.run(
        [*start, "epsilon", *RUN, "--delta", "1e-5"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("epsilon = ")
    assert done.stderr == ""
    done = subprocess.run(
        [*start, "epsilon", *RUN, "--delta", "7"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


# Machine-readable output is the Python API's numbers, digit for digit.


@pytest.mark.parametrize("command", ["report", *slow("epsilon")])
def test_a_certificate_outlives_the_reader_of_the_rest(tmp_path, command):
    file, (reader, writer) = tmp_path / "run.json", os.pipe()
    os.close(reader)
    run = ["--noise-multiplier", "4", "--sample-rate", "1", "--steps", "3", "--delta", "1e-5"]
    run += ["--certificate", str(file)]
    done = subprocess.run(
        [sys.executable, "-u", "-m", "renyi", command, *run],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(file.read_text(encoding="utf-8"))


def test_no_sampling_is_the_gaussian_mechanism(capsys):
    plain = ["--noise-multiplier", 4, "--sample-rate", 1, "--steps", 3, "--delta", "1e-6"]
    (result,) = results(capsys, "epsilon", *plain)
    assert result["epsilon"] == PLDAccountant().compose(Gaussian(4.0), 3).get_epsilon(1e-6)
    assert result["epsilon_rdp"] == RDPAccountant().compose(Gaussian(4.0), 3).get_epsilon(1e-6)
    assert result["direction"] == "both"
    _, out, _ = run(capsys, "epsilon", *plain)
    assert "without sampling" in out
    assert "Poisson" not in out


def test_rdp(capsys):
    rows = results(capsys, "rdp", *RUN, "--orders", "1,2.5,8")
    assert [row["order"] for row in rows] == [1.0, 2.5, 8.0]
    for row in rows:
        one = special.rdp_sampled_gaussian(0.004, 1.1, row["order"])
        assert row["rdp_lower"] < 15000 * one < row["rdp"]
        assert row["rdp"] == pytest.approx(15000 * one, rel=1e-11)


# Batches and epochs.


def test_batch_size_and_epochs(capsys):
    (result,) = results(
        capsys,
        *["epsilon", "--noise-multiplier", 1, "--batch-size", 256, "--dataset-size", 60000],
        *["--epochs", 15, "--delta", "1e-5"],
    )
    assert result["sample_rate"] == 256 / 60000
    assert result["steps"] == 3516  # 15 * 60000 / 256 = 3515.625
    assert result["epsilon"] == exact_accountant(1.0, 256 / 60000, 3516).get_epsilon(1e-5)


@pytest.mark.parametrize(
    ("epochs", "rate", "steps"),
    # Doubles give 2.1 / 0.7 = 3.0000000000000004, which would be one step too many.
    [("0.3", "0.1", 3), ("2.1", "0.7", 3), ("60", "0.004", 15000), ("1", "0.3", 4)],
)
def test_epochs_become_steps_exactly(capsys, epochs, rate, steps):
    (result,) = results(
        capsys,
        *["epsilon", "--noise-multiplier", 2, "--sample-rate", rate, "--epochs", epochs],
        *["--delta", "1e-5"],
    )
    assert result["steps"] == steps


# Calibration: what is printed holds.


METHODS = pytest.mark.parametrize(
    ("method", "accountant"), [("pld", exact_accountant), ("rdp", accountant)]
)


@METHODS
def test_noise(capsys, method, accountant):
    arguments = ["noise", "--epsilon", 2, "--delta", "1e-5", *RUN[2:], "--accountant", method]
    (result,) = results(capsys, *arguments)
    target = {"target_epsilon": 2.0, "target_delta": 1e-5, "sample_rate": 0.004, "steps": 15000}
    sigma = calibrate_noise_multiplier(**target, accountant=method)
    if method == "pld":
        beside = calibrate_noise_multiplier(**target, accountant="rdp")
        assert result["noise_multiplier_rdp"] == beside > sigma
    assert result["noise_multiplier"] == sigma
    assert result["epsilon"] <= 2.0
    assert accountant(0.999 * sigma, 0.004, 15000).get_epsilon(1e-5) > 2.0
    for digits in (2, 3, 6):
        _, out, _ = run(capsys, *arguments, "--digits", digits)
        printed = first_number(out)
        assert len(printed.as_tuple().digits) == digits
        assert 0.999999 * sigma <= printed <= Decimal(sigma) + Decimal(10) ** (1 - digits)
        assert accountant(float(printed), 0.004, 15000).get_epsilon(1e-5) <= 2.0


@METHODS
def test_steps(capsys, method, accountant):
    arguments = ["steps", "--epsilon", 2, "--delta", "1e-5", *RUN[:4], "--accountant", method]
    (result,) = results(capsys, *arguments)
    steps = result["steps"]
    assert accountant(1.1, 0.004, steps).get_epsilon(1e-5) <= 2.0
    assert accountant(1.1, 0.004, steps + 1).get_epsilon(1e-5) > 2.0
    _, out, _ = run(capsys, *arguments)
    assert first_number(out) == steps


def test_steps_in_epochs(capsys):
    (result,) = results(
        capsys,
        *["steps", "--epsilon", 2, "--delta", "1e-5", "--noise-multiplier", 1],
        *["--batch-size", 256, "--dataset-size", 60000],
    )
    assert result["epochs"] == pytest.approx(result["steps"] * 256 / 60000)
    run = ["--noise-multiplier", 1, "--sample-rate", 0.01, "--dataset-size", 60000]
    (result,) = results(capsys, "steps", "--epsilon", 2, "--delta", "1e-5", *run)
    assert result["epochs"] == pytest.approx(result["steps"] * 0.01)


@METHODS
def test_rate(capsys, method, accountant):
    arguments = [
        *["rate", "--epsilon", 2, "--delta", "1e-5", *RUN[:2], *RUN[4:], "--accountant", method]
    ]
    (result,) = results(capsys, *arguments, "--dataset-size", 60000)
    rate = result["sample_rate"]
    assert accountant(1.1, rate, 15000).get_epsilon(1e-5) <= 2.0
    assert accountant(1.1, rate * 1.001, 15000).get_epsilon(1e-5) > 2.0
    assert result["expected_batch_size"] == int(Fraction(rate) * 60000)
    _, out, _ = run(capsys, *arguments)
    assert float(first_number(out)) <= rate
    assert accountant(1.1, float(first_number(out)), 15000).get_epsilon(1e-5) <= 2.0


def test_a_target_that_one_step_exceeds(capsys):
    loud = ["--noise-multiplier", 0.5, "--sample-rate", 1]
    assert "--epsilon" in refused(capsys, "steps", "--epsilon", 0.1, "--delta", "1e-5", *loud)


def test_limits_of_the_search_are_said(capsys):
    _, out, _ = run(
        capsys, "noise", "--epsilon", 1e6, "--delta", 1e-5, "--sample-rate", 0.1, "--steps", 1
    )
    assert out.startswith("noise multiplier = 0.01000,")
    assert "Note: noise multipliers below 0.01 are not considered" in out
    for method in ("pld", "rdp"):
        _, out, _ = run(
            capsys,
            *["steps", "--epsilon", 9, "--delta", 1e-5, "--sample-rate", 1e-9],
            *["--noise-multiplier", 1000, "--accountant", method],
        )
        assert "Note: numbers of steps above 1e9 are not considered" in out


# Sweeps.


def test_a_sweep_is_an_aligned_table(capsys):
    code, out, err = run(
        capsys,
        *["epsilon", "--noise-multiplier", "0.8,1.0,1.2", "--sample-rate", 0.01],
        *["--steps", "1000:3000:1000", "--delta", "1e-5"],
    )
    assert (code, err) == (0, "")
    table = out.split("\n\n")[1].splitlines()
    heading = "noise multiplier  steps  epsilon  by Renyi-DP  smaller by"
    assert table[0].split() == heading.split()
    assert len(table) == 1 + 9
    assert len({len(line) for line in table}) == 1
    for line in table[1:]:
        sigma, steps, *printed, saved, _ = line.split()
        runs = (float(sigma), 0.01, int(steps))
        values = [make(*runs).get_epsilon(1e-5) for make in (exact_accountant, accountant)]
        for text, value in zip(printed, values, strict=True):
            assert Decimal(value) <= Decimal(text) <= Decimal(value * 1.001)
        assert 0.0 <= 100.0 * (1.0 - values[0] / values[1]) - float(saved) < 0.1001
    assert "shuffled or fixed-size batches are not covered" in " ".join(out.split())


def test_csv(capsys):
    code, out, _ = run(
        capsys, "epsilon", *RUN[:4], "--steps", "100,200", "--delta", "1e-5", "--csv"
    )
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["steps"] for row in rows] == ["100", "200"]
    for row in rows:
        exact = exact_accountant(1.1, 0.004, int(row["steps"]))
        assert float(row["epsilon"]) == exact.get_epsilon(1e-5)
        assert (row["sampling"], row["adjacency"]) == ("poisson", "add_remove")
        assert row["accounting"] == "pld"


def test_calibration_sweeps(capsys):
    rows = results(capsys, "noise", "--epsilon", "1,2,4", "--delta", "1e-6,1e-5", *RUN[2:])
    assert len(rows) == 6
    assert all(0.99 * row["target_epsilon"] < row["epsilon"] for row in rows)
    assert all(row["epsilon"] <= row["target_epsilon"] for row in rows)
    code, out, _ = run(capsys, "noise", "--epsilon", "1,2,4", "--delta", "1e-5", *RUN[2:])
    assert code == 0
    assert out.count("\n  ") >= 4


def test_ranges_are_exact_and_closed():
    assert numbers("0.8:1.2:0.1", POSITIVE) == [Fraction(k, 10) for k in (8, 9, 10, 11, 12)]
    assert numbers("1:10:4,20", POSITIVE) == [1, 5, 9, 20]
    assert numbers("3", POSITIVE) == [3]


# Errors: one line, the option, the permitted range, exit code 2.

E = ["epsilon", *RUN, "--delta", "1e-5"]
C = ["curve", *RUN]
REPLACED = ["--adjacency", "replace_one"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["epsilon", *RUN, "--delta", "2"], ["--delta", "between 0 and 1", "'2'"]),
        (["epsilon", *RUN, "--delta", "-1e-5"], ["--delta", "between 0 and 1", "'-1e-5'"]),
        (["epsilon", *RUN, "--delta", "nan"], ["--delta", "between 0 and 1"]),
        (["epsilon", *RUN, "--delta", "1e-400"], ["--delta", "between 0 and 1"]),
        (["epsilon", *RUN, "--delta", "1e-99999999999"], ["--delta", "between 0 and 1"]),
        (["epsilon", *RUN, "--delta", ""], ["--delta", "between 0 and 1"]),
        (["epsilon", *RUN], ["--delta", "required", "between 0 and 1"]),
        ([*E, "--noise-multiplier", "0"], ["--noise-multiplier", "> 0"]),
        ([*E, "--noise-multiplier", "inf"], ["--noise-multiplier", "> 0"]),
        ([*E, "--sample-rate", "1.5"], ["--sample-rate", "<= 1"]),
        ([*E, "--steps", "0"], ["--steps", "whole number from 1"]),
        ([*E, "--steps", "1.5"], ["--steps", "whole number"]),
        ([*E, "--steps", "9:1:1"], ["--steps", "range"]),
        ([*E, "--steps", "1:9"], ["--steps", "start:stop:step"]),
        ([*E, "--steps", "1:1e9:1"], ["--steps", "1,000,000"]),
        ([*E[:5], "--steps", "1:2000:1", "--delta", "0.1:0.9:0.001"], ["1,000,000"]),
        ([*E, "--orders", "1"], ["--orders", "> 1"]),
        ([*E, "--digits", "0"], ["--digits", "from 1 to 17"]),
        ([*E, "--conversion", "best"], ["--conversion", "optimal", "mironov"]),
        ([*E, "--conversion", "balle"], ["--conversion", "--accountant rdp"]),
        ([*E, "--orders", "2,3"], ["--orders", "--accountant rdp"]),
        (["noise", *RUN[2:], "--delta", "1e-5", "--epsilon", "1", "--orders", "2"], ["--orders"]),
        ([*E, "--accountant", "moments"], ["--accountant", "pld", "rdp"]),
        ([*E, "--adjacency", "both"], ["--adjacency", "add_remove", "replace_one"]),
        ([*E, "--accountant", "rdp", *REPLACED], ["--adjacency replace_one", "--accountant pld"]),
        ([*E, "--epochs", "3"], ["--steps", "--epochs"]),
        ([*E, "--batch-size", "3"], ["--sample-rate", "--batch-size"]),
        ([*E, "--json", "--csv"], ["--csv", "--json"]),
        ([*E, "--sigma", "3"], ["--sigma", "--noise-multiplier"]),
        ([*E, "--setps", "3"], ["--setps", "--steps"]),
        ([*E, "extra"], ["extra"]),
        (["epsilon", *RUN[:2], *RUN[4:], "--delta", "1e-5"], ["--sample-rate", "--batch-size"]),
        (["epsilon", *RUN[:4], "--delta", "1e-5"], ["--steps", "--epochs"]),
        (
            ["epsilon", *RUN[:2], "--batch-size", "9", "--delta", "1e-5"],
            ["--batch-size", "--dataset-size"],
        ),
        (
            ["epsilon", *RUN[:2], "--batch-size", "9", "--dataset-size", "8", "--delta", "1e-5"],
            ["--batch-size", "at most", "8", "9"],
        ),
        (["delta", *RUN, "--epsilon", "-1"], ["--epsilon", ">= 0"]),
        (["delta", *RUN], ["--epsilon", "required"]),
        (["noise", *RUN[2:], "--delta", "1e-5"], ["--epsilon", "required"]),
        (["noise", *RUN[2:], "--delta", "1e-5", "--epsilon", "0"], ["--epsilon"]),
        (["steps", *RUN[:4], "--epsilon", "2"], ["--delta", "required"]),
        (["rate", *RUN[:2], "--delta", "1e-5", "--epsilon", "2"], ["--steps", "required"]),
        (["rdp", *RUN], ["--orders", "required"]),
        (["rdp", *RUN, "--orders", "0.5"], ["--orders", ">= 1"]),
        (["rdp", *RUN, "--orders", "1e7"], ["--orders", "1e6"]),
        (["verify", "--order", "2"], ["--sample-rate", "required"]),
        (["verify", "--random", "2", "--order", "2"], ["--random", "--order"]),
        (["curve", *RUN[2:]], ["--noise-multiplier", "required"]),
        ([*C, "--alpha", "0.1"], ["--alpha", "--tradeoff"]),
        ([*C, "--tradeoff", "--alpha", "1"], ["--alpha", "between 0 and 1"]),
        ([*C, "--tradeoff", "--epsilon", "1"], ["--tradeoff", "--epsilon"]),
        ([*C, "--points", "1"], ["--points", "from 2"]),
        ([*C, "--points", "5", "--epsilon", "1"], ["--points", "--epsilon"]),
        ([*C, "--compare", "pld"], ["--compare", "rdp, gdp", "'pld'"]),
        ([*C, "--compare", "rdp", "--adjacency", "replace_one"], ["--compare", "--adjacency"]),
        ([*C, "--tradeoff", *REPLACED], ["--tradeoff", " ".join(REPLACED), "--sample-rate 1"]),
        (
            ["curve", "--noise-multiplier", "1:99:1", *RUN[2:], "--points", "99999"],
            ["--points", "1,000,000"],
        ),
        ([*C, "--plot", "curve.gif"], ["--plot", ".png, .svg or .pdf", "'curve.gif'"]),
        ([*C, "--accountant", "rdp"], ["--accountant"]),
        ([*C, "--delta", "1e-5"], ["--delta"]),
        (["epsilom"], ["epsilom", "epsilon"]),
        (["info", "--csv"], ["--csv"]),
    ],
)
def test_bad_input(capsys, arguments, words):
    err = refused(capsys, *arguments)
    assert err.startswith("renyi")
    assert [word for word in words if word not in err] == []


# Remarks.


def test_a_delta_that_promises_nothing(capsys):
    _, out, _ = run(
        capsys,
        *["epsilon", "--noise-multiplier", 1, "--batch-size", 50, "--dataset-size", 1000],
        *["--epochs", 10, "--delta", "0.01"],
    )
    assert "Note: delta 0.01 is not below 1 / data set size" in out


def test_an_order_at_the_end_of_the_list(capsys):
    _, out, _ = run(
        capsys, "epsilon", *RUN, "--delta", "1e-5", "--accountant", "rdp", "--orders", "2,3,4"
    )
    assert "the best order is the largest of --orders" in " ".join(out.split())


# Help, version, info.

COMMANDS = ["epsilon", "delta", "curve", "noise", "steps", "rate", "rdp", "verify", "info"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_that_runs(capsys, command):
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 100
    example = out.split("example:\n")[1].replace("\\\n", "").strip().splitlines()[0].split()
    assert example[:2] == ["renyi", command]
    code, out, err = run(capsys, *example[1:])
    assert (code, err) == (0, "")
    assert out


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"renyi {__version__}\n", "")


def test_info(capsys):
    from renyi import build_info

    code, out, _ = run(capsys, "info", "--json")
    assert code == 0
    assert json.loads(out) == build_info()
    _, out, _ = run(capsys, "info")
    assert __version__ in out
