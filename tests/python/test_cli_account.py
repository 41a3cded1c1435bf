"""``renyi account``: mechanisms in, epsilon or a reason out."""

import io
import json

import pytest

from renyi import ZCDP, FixedSizeSampled, Gaussian, Laplace, PLDAccountant, RDPAccountant
from renyi.cli import main

RUN = Laplace(2.0) * 3 + Gaussian(4.0)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(RUN.to_json(), encoding="utf-8")
    return path


def run(capsys, *arguments):
    code = main(["account", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_it_shows_the_tree_and_both_accountants(capsys, file):
    code, out, err = run(capsys, file, "--delta", "1e-5,1e-9", "--digits", 6)
    assert (code, err) == (0, "")
    assert out.startswith(RUN.describe())
    rows = [line.split() for line in out.partition("\nAssumes")[0].splitlines()[-4:]]
    assert [row[-2] for row in rows] == ["1e-5", "1e-5", "1e-9", "1e-9"]
    for row, accountant in zip(rows, [PLDAccountant, RDPAccountant] * 2, strict=True):
        epsilon = accountant().compose(RUN).get_epsilon(float(row[-2]))
        assert epsilon <= float(row[-1]) <= epsilon * (1 + 1e-5)


def test_json_has_full_doubles(capsys, file):
    _, out, _ = run(capsys, file, "--delta", "1e-5", "--adjacency", "replace_one", "--json")
    document = json.loads(out)
    assert document["assumptions"] == {"adjacency": "replace_one"}
    exact, renyi = document["results"]
    assert exact["accountant"] == "pld"
    assert renyi["epsilon"] == RDPAccountant(adjacency="replace_one").compose(RUN).get_epsilon(1e-5)


def test_what_cannot_be_accounted_is_said(capsys, tmp_path, monkeypatch):
    path = tmp_path / "zcdp.json"
    path.write_text(ZCDP(0.1).to_json(), encoding="utf-8")
    code, out, _ = run(capsys, path, "--delta", "1e-5")
    assert code == 0
    assert "Not accounted\n  exact curve" in out
    assert "RDPAccountant takes it" in " ".join(out.split())
    monkeypatch.setattr("sys.stdin", io.StringIO(FixedSizeSampled(Gaussian(1.0), 1, 9).to_json()))
    code, out, _ = run(capsys, "-", "--delta", "1e-5")
    assert code == 1
    assert "holds for adjacency 'replace_one' only" in " ".join(out.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "FILE must hold what Mechanism.to_json writes"),
        ('{"version": 1, "type": "Cauchy"}', "'Cauchy'"),
        ('{"version": 1, "type": "Gaussian", "noise_multiplier": -1}', "noise_multiplier"),
    ],
)
def test_bad_files(capsys, tmp_path, text, words):
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    code, out, err = run(capsys, path, "--delta", "1e-5")
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_missing_things(capsys, tmp_path, file):
    assert "FILE must be a readable text file" in run(capsys, tmp_path / "no", "--delta", 0.1)[2]
    assert "--delta" in run(capsys, file)[2]
    assert "FILE" in run(capsys)[2]


def test_pure_guarantees(capsys, tmp_path):
    path = tmp_path / "pure.json"
    path.write_text(Laplace(2.0).to_json(), encoding="utf-8")
    code, out, err = run(capsys, path, "--delta", 0, "--json")
    assert (code, err) == (0, "")
    assert [row["epsilon"] for row in json.loads(out)["results"]] == [0.5, 0.5]
    path.write_text(Gaussian(2.0).to_json(), encoding="utf-8")
    code, out, err = run(capsys, path, "--delta", 0)
    assert (code, err) == (0, "")
    assert "No epsilon holds at delta 0" in out
