"""``renyi audit``: files it reads, what it prints and draws, and what it refuses."""

import io
import json

import command_line
import numpy as np
import pytest

from renyi import Gaussian, PLDAccountant, PoissonSampled
from renyi.audit import ManyRuns, OneRun, SequentialRuns, draw_canaries


@pytest.fixture
def scores():
    rng = np.random.default_rng(1)
    present = draw_canaries(1000, rng)
    return rng.normal(2.0 * present, 1.0), present


@pytest.fixture
def scored(tmp_path, scores):
    path = tmp_path / "scores.csv"
    np.savetxt(path, np.column_stack(scores), delimiter=",", header="score,present", fmt="%.17g")
    return path


def audit(capsys, *arguments):
    return command_line.run(capsys, "audit", *arguments)


def refused(capsys, *arguments):
    return command_line.refused(capsys, "audit", *arguments)


def test_many_runs(capsys, scored, scores):
    code, out, err = audit(capsys, scored, "--delta", "0.1,0.01")
    assert (code, err) == (0, "")
    values, present = scores
    made = ManyRuns(values[present], values[~present])
    for line, delta in zip(out.splitlines()[1:3], (0.1, 0.01), strict=True):
        bound = made.epsilon_lower_bound(delta)
        assert bound * (1 - 1e-3) <= float(line.split()[-1]) <= bound
    assert "confidence  0.95" in out


@pytest.mark.parametrize(
    "header", ["score,present", '"Score", "member"', "\ufeffscore,present", ""]
)
def test_a_line_of_names_may_be_there_or_not(capsys, scored, tmp_path, header):
    named = tmp_path / "named.csv"
    lines = scored.read_text().splitlines()[1:]
    named.write_text("\n".join(["", "# of the attack", header, *lines]) + "\n", encoding="utf-8")
    assert audit(capsys, named, "--delta", "0.1") == audit(capsys, scored, "--delta", "0.1")


def test_every_format_holds_the_same(capsys, monkeypatch, scored, scores, tmp_path):
    options = ["--delta", "1e-5", "--one-run", "--confidence", "0.9", "--json"]
    code, out, _ = audit(capsys, scored, *options)
    made = OneRun(*scores)
    assert code == 0
    assert json.loads(out)["results"] == [
        {
            "delta": 1e-5,
            "confidence": 0.9,
            "epsilon_lower_bound": made.epsilon_lower_bound(1e-5, confidence=0.9),
        }
    ]
    np.save(tmp_path / "scores.npy", np.column_stack(scores))
    pairs = list(zip(scores[0].tolist(), scores[1].tolist(), strict=True))
    rows = [{"id": k, "included": there, "score": score} for k, (score, there) in enumerate(pairs)]
    texts = {
        "rows.json": json.dumps(rows),
        "lists.json": json.dumps({"score": scores[0].tolist(), "included": scores[1].tolist()}),
        "lines.jsonl": "\n".join(map(json.dumps, rows)),
        "swapped.csv": "id,included,score\n"
        + "\n".join(f"c{k},{int(there)},{score!r}" for k, (score, there) in enumerate(pairs)),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for name in ("scores.npy", *texts):
        assert audit(capsys, tmp_path / name, *options)[1] == out
    monkeypatch.setattr("sys.stdin", io.StringIO(texts["lines.jsonl"]))
    assert audit(capsys, "-", *options)[1] == out


def test_canaries_are_joined_by_identifier(capsys, scored, scores, tmp_path):
    values, present = scores
    names = [f"c{k:04}" for k in np.random.default_rng(2).permutation(len(values))]
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    rows = [f"{name},{value!r}" for name, value in zip(names, values.tolist(), strict=True)]
    told = sorted(f"{name},{int(there)}" for name, there in zip(names, present, strict=True))
    options = ["--delta", "1e-5", "--one-run"]
    one.write_text("\n".join(rows))
    for head in ("", "id,included\n"):
        other.write_text(head + "\n".join(told))
        joined = audit(capsys, one, "--canaries", other, *options)
        assert joined == audit(capsys, scored, *options)
    for lines, message in ((told[1:], "same ids"), ([*told, told[0]], "each id once")):
        other.write_text("\n".join(lines))
        assert message in refused(capsys, one, "--canaries", other, *options)


def test_identifiers_in_arrays_are_those_in_text(capsys, scores, tmp_path):
    ids, (one, told, text) = np.arange(1000), (tmp_path / n for n in ("1.npy", "2.npy", "2.csv"))
    np.save(one, np.column_stack([ids, scores[0]]))
    np.save(told, np.column_stack([ids, scores[1]]))
    text.write_text("\n".join(f"{k},{int(there)}" for k, there in enumerate(scores[1])))
    options = [one, "--one-run", "--delta", "0.1", "--canaries"]
    assert audit(capsys, *options, told) == audit(capsys, *options, text)
    assert audit(capsys, *options, text)[0] == 0


@pytest.mark.parametrize("text", ["", "hello\n", "score,included\n"])
def test_files_without_scores_are_refused(capsys, tmp_path, text):
    file = tmp_path / "scores.csv"
    file.write_text(text)
    assert "FILE must have a line for each score" in refused(capsys, file, "--delta", "0.1")


@pytest.mark.parametrize("kind", ["empty", "archive", "damaged", "flat"])
def test_arrays_that_are_none_are_refused(capsys, tmp_path, kind):
    file = tmp_path / "scores.npy"
    with file.open("wb") as out:
        if kind == "archive":
            np.savez(out, scores=np.ones(4))
        elif kind == "flat":
            np.save(out, np.ones(4))
        else:
            out.write(b"PK\x03\x04" * (kind == "damaged"))
    assert "FILE must" in refused(capsys, file, "--delta", "0.1")


RUN = ["--noise-multiplier", "1", "--sample-rate", "1", "--steps", "1"]


def test_what_was_reported_is_tested(capsys, scored, scores, tmp_path):
    """The scores are of a noise multiplier of 1/2."""
    values, present = scores
    many = ManyRuns(values[present], values[~present])
    claim = PLDAccountant().compose(Gaussian(1.0))
    code, out, _ = audit(capsys, scored, "--delta", "0.01", *RUN, "--json")
    (row,) = json.loads(out)["results"]
    assert code == 1
    assert row["p_value"] == many.p_value(claim)
    assert row["epsilon_reported"] == claim.get_epsilon(0.01)
    noise = row["noise_multiplier_upper_bound"]
    assert 0.5 < noise < 1.0
    truth = PLDAccountant().compose(Gaussian(noise)).get_epsilon(0.01)
    assert truth * (1.0 - 1e-9) < row["epsilon_of_that_noise"] <= truth
    file = tmp_path / "run.json"
    file.write_text(Gaussian(0.5).to_json())
    code, out, _ = audit(capsys, scored, "--delta", "0.01", "--mechanism", file)
    assert code == 0
    assert "reported    not refuted" in out
    code, out, _ = audit(capsys, scored, "--delta", "0.01", "--reported", "0.1", "--sequential")
    assert code == 1
    assert "reported    refuted" in out
    assert "may stop at any time, first look at 16:" in " ".join(out.split())  # of any width
    bound = SequentialRuns(values[present], values[~present]).epsilon_lower_bound(0.01)
    assert bound * 0.999 < float(out.splitlines()[1].split()[1]) <= bound


def test_a_sampled_run(capsys, scored):
    run = ["--noise-multiplier", "2", "--batch-size", "10", "--dataset-size", "100", "--epochs"]
    code, out, _ = audit(capsys, scored, "--one-run", "--delta", "1e-5", *run, "1", "--json")
    (row,) = json.loads(out)["results"]
    claim = PLDAccountant().compose(PoissonSampled(Gaussian(2.0), 0.1), 10)
    assert row["epsilon_reported"] == claim.get_epsilon(1e-5)
    assert code == int(row["p_value"] <= 0.05)


def test_the_figure_of_power(capsys, scored, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("renyi.cli.audit.REPEATS", 3)
    figure = tmp_path / "power.png"
    _, out, _ = audit(capsys, scored, "--one-run", "--delta", "1e-5", *RUN, "--plot", figure)
    assert f"figure written to {figure}" in out
    assert figure.stat().st_size > 5000
    err = refused(capsys, scored, "--delta", "1e-5", "--plot", figure)
    assert "a figure needs what was reported" in err


V = [0, 1] * 4


@pytest.mark.parametrize(
    "text",
    [
        *("", "# only\n", "1,2\n", "1\n", "a,1\n", "1,1\n2,0\n", "nan,1\n" * 9),
        *("score,score\n1,1\n", "id,score\n1,1\n" * 9, "{}", "[1]", '[{"score": 1}]', "{"),
        '{"score": ["1", "2"], "included": [0, 1]}',
        '{"score": [1, 2], "included": [0]}',
        "id,included,score\n" + "a,1,1\n" * 9,
        *("[" * 100_000, '{"score": [1, 2], "included": 1}'),
        *(f'{{"score": {V}, "included": {V}, "{k}": {V}}}' for k in ("scores", "in")),
    ],
)
def test_files_that_hold_no_scores_are_refused(capsys, monkeypatch, text):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert "FILE must" in refused(capsys, "-", "--delta", "0.1")
    assert audit(capsys, "missing.csv", "--delta", "0.1")[0] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--one-run", "--sequential"], "excludes"),
        (["--sides", "in"], "--sides needs --one-run"),
        (["--reported", "1", *RUN], "one of a run"),
        ([*RUN[:-1], "1,2"], "one run, got 2"),
        (["--noise-multiplier", "1"], "--sample-rate is required"),
        (["--reported", "1", "--steps", "3"], "one of a run"),
        (["--steps", "3"], "--noise-multiplier is required"),
    ],
)
def test_options_that_contradict_each_other(capsys, scored, options, message):
    assert message in refused(capsys, scored, "--delta", "0.1", *options)
