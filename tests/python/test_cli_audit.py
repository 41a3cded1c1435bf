"""``renyi audit``: scores in, a lower bound out."""

import io
import json

import numpy as np
import pytest

from renyi.audit import draw_canaries, epsilon_lower_bound, one_run_epsilon_lower_bound
from renyi.cli import main


@pytest.fixture
def scores():
    rng = np.random.default_rng(1)
    present = draw_canaries(4000, rng)
    return rng.normal(2.0 * present, 1.0), present


@pytest.fixture
def file(tmp_path, scores):
    path = tmp_path / "scores.csv"
    np.savetxt(path, np.column_stack(scores), delimiter=",", header="score,present")
    return path


def run(capsys, *arguments):
    code = main(["audit", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_many_runs(capsys, file, scores):
    code, out, err = run(capsys, file, "--delta", "0.1,0.01")
    assert (code, err) == (0, "")
    values, present = scores
    for line, delta in zip(out.splitlines()[1:3], (0.1, 0.01), strict=True):
        bound = epsilon_lower_bound(values[present], values[~present], delta)
        assert bound * (1 - 1e-3) <= float(line.split()[-1]) <= bound
    assert "confidence  0.95" in out


@pytest.mark.parametrize(
    "header", ["score,present", '"Score", "member"', "\ufeffscore,present", ""]
)
def test_a_line_of_names_may_be_there_or_not(capsys, file, scores, tmp_path, header):
    named = tmp_path / "named.csv"
    lines = file.read_text().splitlines()[1:]
    named.write_text("\n".join(["", "# of the attack", header, *lines]) + "\n", encoding="utf-8")
    assert run(capsys, named, "--delta", "0.1") == run(capsys, file, "--delta", "0.1")


def test_columns_in_the_other_order_are_refused(capsys, tmp_path):
    file = tmp_path / "swapped.csv"
    file.write_text("present,score\n" + "1,0\n0,1\n" * 9)
    code, _, err = run(capsys, file, "--delta", "0.1")
    assert (code, err.count("\n")) == (2, 1)
    assert "the score must come first" in err


def test_one_run_of_full_doubles(capsys, file, scores, tmp_path):
    options = ["--delta", "1e-5", "--one-run", "--confidence", "0.9", "--json"]
    code, out, _ = run(capsys, file, *options)
    document = json.loads(out)
    bound = one_run_epsilon_lower_bound(*scores, 1e-5, confidence=0.9)
    assert code == 0
    assert document["results"] == [{"delta": 1e-5, "epsilon_lower_bound": bound}]
    assert document["assumptions"]["runs"] == "one, with canaries"
    np.save(tmp_path / "scores.npy", np.column_stack(scores))
    assert run(capsys, tmp_path / "scores.npy", *options)[1] == out


@pytest.mark.parametrize(
    "text", ["", "# only\n", "1,2\n", "1\n", "a,1\n", "1,1\n2,0\n", "nan,1\n" * 9]
)
def test_files_that_hold_no_scores_are_refused(capsys, monkeypatch, text):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    code, _, err = run(capsys, "-", "--delta", "0.1")
    assert code == 2
    assert "FILE must" in err
    assert err.count("\n") == 1
    assert run(capsys, "missing.csv", "--delta", "0.1")[0] == 2
