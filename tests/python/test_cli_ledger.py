"""``renyi account`` and ``renyi ledger``."""

import io
import json
import os
import sqlite3
import subprocess
import sys

import command_line
import pytest

from renyi import (
    ZCDP,
    BudgetExceededError,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    Ledger,
    PLDAccountant,
    RDPAccountant,
    UnsupportedMechanismError,
)
from renyi.cli import main

RUN = Laplace(2.0) * 3 + Gaussian(4.0)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(RUN.to_json(), encoding="utf-8")
    return path


def run(capsys, *arguments):
    return command_line.run(capsys, "account", *arguments)


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
    assert words in command_line.refused(capsys, "account", path, "--delta", "1e-5")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_output_says_what_was_recorded(tmp_path, unbuffered):
    create = ["ledger", "create", str(tmp_path / "a.db"), "ages", "--rho", "1"]
    for arguments, said in ((create, "; the ledger has recorded it\n"), (["--version"], "\n")):
        with open("/dev/full", "w") as full:
            ended = subprocess.run(
                [sys.executable, "-m", "renyi", *arguments],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            )
        assert ended.returncode == 4
        assert ended.stderr.endswith(f"error: cannot write: No space left on device{said}")
        assert ended.stderr.count("\n") == 1
    with Ledger(tmp_path / "a.db") as ledger:
        assert ledger.datasets == ("ages",)


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


# --- ledger


SAMPLED = ["--noise-multiplier", "1.1", "--sample-rate", "0.004", "--steps", "15000"]


@pytest.fixture
def shell(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ages.json").write_text(Gaussian(20.0).to_json())

    def run(line):
        code = main(["ledger", *line.split()])
        return code, *capsys.readouterr()

    assert run("create privacy.db census --epsilon 1 --delta 1e-6 --note new")[0] == 0
    return run


def test_a_budget_is_spent_and_told(shell):
    assert shell("charge privacy.db census ages.json --count 3 --note ages")[0] == 0
    code, out, _ = shell("status privacy.db")
    assert code == 0
    assert "epsilon 1, delta 1e-6     84.13 %        1     0" in out
    assert "3 x Gaussian(noise_multiplier=20.0)  ages" in shell("history privacy.db census")[1]
    assert json.loads(shell("history privacy.db census --json")[1])["entries"][1]["count"] == 3
    assert shell("verify privacy.db")[:2] == (
        0,
        "2 entries, every hash and every balance as it should be\n",
    )


def test_what_cannot_be_written_has_the_code_of_other_outputs(shell):
    for line in (
        "create no/folder/privacy.db census --rho 1",
        "backup privacy.db no/folder/privacy.db",
    ):
        code, out, err = shell(line)
        assert (code, out, err.count("\n")) == (4, "", 1)
        assert "cannot" in err
    assert shell("status no/folder/privacy.db")[0] == 2


def test_a_backup_is_looked_at_read_only(shell):
    shell("charge privacy.db census ages.json")
    assert shell("backup privacy.db safe.db") == (0, "", "")
    assert shell("backup privacy.db safe.db")[0] == 2
    assert shell("verify safe.db --read-only")[0] == 0
    assert shell("status safe.db --read-only")[1] == shell("status privacy.db")[1]
    assert shell("rebuild privacy.db census")[0] == 0
    assert "of the budget (epsilon 1, delta 1e-6) is left" in shell("check safe.db census")[1]


def test_damage_is_told_by_verify(shell):
    with sqlite3.connect("privacy.db") as connection:
        connection.execute("UPDATE datasets SET seal = 'other'")
    connection.close()
    code, out, err = shell("verify privacy.db")
    assert (code, out.count("\n"), err) == (1, 1, "")
    assert "does not belong to the last entry" in out


def test_what_others_wrote_does_nothing_to_a_terminal(shell):
    note = "\x1b]0;title\x07\u202e\nhead\r"
    with Ledger("privacy.db") as ledger:
        ledger.charge("census", Gaussian(90.0), note=note, run="model 7", step=0)
    code, out, _ = shell("history privacy.db census")
    assert (code, out.count("\n")) == (0, 3)
    assert out.replace("\n", "").isprintable()
    assert r"\x1b]0;title\x07\u202e\nhead\r" in out
    assert "run model 7 after 0 steps: 1 x Gaussian(noise_multiplier=90.0)" in out
    found = json.loads(shell("history privacy.db census --json")[1])["entries"][1]
    assert (found["note"], found["run"], found["step"]) == (note, "model 7", 0)


def test_a_refusal_has_its_own_code(shell):
    code, out, err = shell("charge privacy.db census ages.json --count 50")
    assert (code, out) == (3, "")
    assert err.startswith(
        "renyi ledger charge: refused: mechanism must fit in the budget, epsilon 1 at delta 1e-6"
    )
    assert "18 would fit" in err or "19 would fit" in err
    assert shell("check privacy.db census ages.json --count 50")[0] == 3
    assert shell("check privacy.db census ages.json --count 5")[0] == 0
    assert shell("check privacy.db census --min-remaining 1")[0] == 0
    shell("charge privacy.db census ages.json")
    code, out, _ = shell("check privacy.db census --min-remaining 0.99 --json")
    assert (code, json.loads(out)["ok"]) == (3, False)


def test_an_open_reservation_is_told_until_it_is_settled(shell):
    assert shell("reserve privacy.db census ages.json --count 9")[1].startswith("reservation 1\n")
    status = shell("status privacy.db census")[1]
    assert "reservation 1 of 9 x Gaussian(noise_multiplier=20.0) counts as spent" in status
    data = json.loads(shell("status privacy.db --json")[1])["datasets"][0]
    assert data["reservations"][0]["mechanism"] == Gaussian(20.0).to_dict()
    assert shell("settle privacy.db census 1 2")[0] == 0
    assert "counts as spent" not in shell("status privacy.db census")[1]
    assert shell("settle privacy.db census 1 2")[0] == 2


def test_lines_go_from_one_ledger_to_another(shell, tmp_path):
    shell("charge privacy.db census ages.json")
    head = json.loads(shell("status privacy.db --json")[1])["datasets"][0]["head"]
    (tmp_path / "lines.jsonl").write_text(shell("export privacy.db")[1])
    assert shell("import other.db lines.jsonl")[0] == 0
    assert shell(f"verify other.db --head {head}")[0] == 0
    assert shell(f"verify other.db --head {head[::-1]}")[0] == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("status none.db", "none.db'"),
        ("status privacy.db none", "dataset must be one of the ledger ('census'), got 'none'"),
        ("charge privacy.db census none.json", "MECHANISM must be a readable text file"),
        ("charge privacy.db census ages.json --count 0", "--count must be a whole number"),
        ("create privacy.db census --rho 1", "dataset must be a new name"),
        ("create privacy.db more --epsilon 1", "budget must be epsilon and delta, or rho"),
        ("spend privacy.db", "spend"),
    ],
)
def test_bad_input_is_one_line(shell, line, words):
    code, out, err = shell(line)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


@pytest.mark.parametrize(("limit", "code"), [("3", 0), ("2", 3)])
def test_epsilon_has_a_limit(capsys, limit, code):
    assert main(["epsilon", *SAMPLED, "--delta", "1e-5", "--max-epsilon", limit]) == code
    out, err = capsys.readouterr()
    assert out.startswith("epsilon = 2.296")
    assert err == ("" if code == 0 else "renyi epsilon: 2.296 is above --max-epsilon 2\n")


def test_a_pure_budget(capsys, tmp_path):
    file = str(tmp_path / "privacy.db")
    create = ["ledger", "create", file, "census", "--epsilon", "1", "--delta", "0"]
    assert main(create) == 0
    with Ledger(file) as ledger:
        ledger.charge("census", Laplace(2.0), 2)
        with pytest.raises(BudgetExceededError):
            ledger.charge("census", Laplace(1000.0))
        with pytest.raises(UnsupportedMechanismError, match="delta 0"):
            ledger.charge("census", Gaussian(100.0))
        assert ledger.verify() == []
    capsys.readouterr()
    assert main(["ledger", "status", file]) == 0
    assert "0 %" in capsys.readouterr().out
