"""The exact curve on the command line: ``--accountant pld`` and ``renyi curve``."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from decimal import Decimal

import numpy as np
import pytest
from command_line import refused, run

from renyi import (
    Gaussian,
    PLDAccountant,
    PoissonSampled,
    RDPAccountant,
    __version__,
    special,
)
from renyi.cli.runs import headline, saving

RUN = ["--noise-multiplier", "1.1", "--sample-rate", "0.004", "--steps", "15000"]
STEP = PoissonSampled(Gaussian(1.1), 0.004)


def document(capsys, *arguments):
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def rows_of(capsys, *arguments):
    return document(capsys, *arguments)["results"]


# The exact number, Renyi-DP beside it.


COMPUTED = {
    "pld": ["exact privacy curve", "8.2 % below the", "one record removed", "<= epsilon <="],
    "rdp": ["optimal conversion", "best order"],
}
PUBLISHED = [
    *("15,000 steps", "sampling rate 0.004", "noise multiplier 1.1", f"renyi {__version__}"),
    *("under the addition or removal of one record", "Poisson: each record"),
    "shuffled or fixed-size batches are not covered",
]


@pytest.mark.parametrize(
    ("given", "wanted", "value"), [("delta", "epsilon", 1e-5), ("epsilon", "delta", 2.0)]
)
@pytest.mark.parametrize("kind", [PLDAccountant, RDPAccountant])
def test_the_numbers_are_those_of_the_python_interface(capsys, kind, given, wanted, value):
    exact, name = kind is PLDAccountant, "pld" if kind is PLDAccountant else "rdp"
    run_of = [wanted, *RUN, f"--{given}", value, "--accountant", name]
    found, account = document(capsys, *run_of), kind().compose(STEP, 15000)
    orders = {} if exact else {"conversion": "optimal", "orders": "all real orders"}
    scheme = {"sampling": "poisson", "adjacency": "add_remove", "accounting": name}
    assert found["assumptions"] == scheme | orders
    assert (found["command"], found["renyi"]) == (wanted, __version__)
    (result,) = found["results"]
    number = getattr(account, f"get_{wanted}")
    lower, upper = getattr(account, f"get_{wanted}_bounds")(value)
    beside, order = getattr(RDPAccountant().compose(STEP, 15000), f"get_{wanted}_and_order")(value)
    assert lower <= upper <= number(value)
    assert result == {
        "noise_multiplier": 1.1,
        "sample_rate": 0.004,
        "steps": 15000,
        given: value,
        wanted: number(value),
        f"{wanted}_lower": lower,
        f"{wanted}_upper": upper,
        **({"direction": "remove", f"{wanted}_rdp": beside} if exact else {}),
        "order": order,
    }
    if exact:
        assert number(value, direction="remove") > number(value, direction="add")
    code, out, _ = run(capsys, *run_of)
    assert code == 0
    printed = Decimal(out.split("=")[1].split()[0])
    assert Decimal(number(value)) <= printed <= Decimal(number(value) * 1.001)
    if wanted == "delta":
        return
    assert out.startswith(f"epsilon = {printed} at delta = 1e-5")
    text, said = " ".join(out.split()), f"satisfies ({printed}, 1e-5)-differential privacy"
    assert [words for words in (said, *PUBLISHED, *COMPUTED[name]) if words not in text] == []
    if exact:
        shown = Decimal(out.split("below the ")[1].split()[0])
        assert Decimal(beside) <= shown <= Decimal(beside * 1.001)


def test_replacing_a_record(capsys):
    arguments = ["--noise-multiplier", 4, "--sample-rate", 1, "--steps", 3, "--delta", 1e-6]
    (result,) = rows_of(capsys, "epsilon", *arguments, "--adjacency", "replace_one")
    # One record moves the mean by two: the same as half the noise.
    assert result["epsilon"] == pytest.approx(
        special.gaussian_epsilon(2.0 * math.sqrt(3.0) / 4.0, 1e-6), rel=1e-10
    )
    assert result["epsilon_lower"] <= result["epsilon_upper"] == result["epsilon"]
    assert (result["direction"], result["epsilon_rdp"]) == (None, None)
    _, out, _ = run(capsys, "epsilon", *arguments, "--adjacency", "replace_one")
    assert "under the replacement of one record" in " ".join(out.split())
    assert "(exact curve)" in out.splitlines()[0]
    assert "Renyi" not in out


def test_the_headline_is_certified():
    record = {"epsilon": 1.0, "epsilon_lower": 0.99, "epsilon_upper": 1.01}
    assert headline(record, "epsilon") == 1.01
    assert headline({**record, "epsilon": 1.02}, "epsilon") == 1.02


@pytest.mark.parametrize(
    ("number", "other", "text"),
    [
        (2.0, 2.5, "20.0 %"),
        (2.0, 2.0 + 1e-9, None),
        (2.0, 1.0, None),
        (0.0, 1.0, None),
        (1.0, math.inf, None),
        (1.0, None, None),
        (1e-8, 3.99e-8, "factor 3.9"),
        (1e-300, 1e-10, "factor 1.0e290"),
    ],
)
def test_what_is_saved(number, other, text):
    # 1e-10 / 1e-300 lies a little below or above 1e290, as its decimals say.
    assert saving(number, other) in ({text, "factor 9.9e289"} if other == 1e-10 else {text})


# The curve.


def test_the_privacy_curve(capsys):
    rows = rows_of(capsys, "curve", *RUN, "--epsilon", "0:3:0.5", "--compare", "rdp,gdp")
    assert [row["epsilon"] for row in rows] == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    exact = PLDAccountant().compose(STEP, 15000)
    renyi = RDPAccountant().compose(STEP, 15000)
    mu = exact.get_gdp_mu().mu
    for row in rows:
        lower, upper = exact.get_delta_bounds(row["epsilon"])
        assert lower <= row["delta"] <= upper * (1.0 + 1e-9)
        assert row["delta_rdp"] == renyi.get_delta(row["epsilon"]) > row["delta"]
        assert row["delta_gdp"] == special.gaussian_delta(mu, row["epsilon"])


def test_the_table_of_the_privacy_curve(capsys):
    code, out, err = run(capsys, "curve", *RUN)
    assert (code, err) == (0, "")
    table = [line.split() for line in out.split("\n\n")[1].splitlines()]
    assert table[0] == ["epsilon", "delta"]
    values = [(float(epsilon), Decimal(delta)) for epsilon, delta in table[1:]]
    assert 8 <= len(values) <= 14
    assert values[0][0] == 0.0
    assert values[-1][1] < Decimal("1e-10") < values[-2][1]
    exact = PLDAccountant().compose(STEP, 15000)
    for epsilon, delta in values:
        assert Decimal(exact.get_delta_bounds(epsilon)[0]) <= delta
        assert delta <= Decimal(exact.get_delta(epsilon) * 1.001)


def test_the_tradeoff(capsys):
    found = document(
        capsys, "curve", *RUN, "--tradeoff", "--alpha", "0.01,0.1,0.5", "--compare", "rdp"
    )
    assert found["assumptions"]["curve"] == "tradeoff"
    exact = PLDAccountant().compose(STEP, 15000)
    deltas = exact.get_delta(np.linspace(0.0, 4.0, 400))
    for row in found["results"]:
        assert row["beta"] == pytest.approx(exact.get_beta(row["alpha"]), rel=1e-9)
        # No pair (epsilon, delta) promises more than the trade-off function.
        promised = 1.0 - deltas - np.exp(np.linspace(0.0, 4.0, 400)) * row["alpha"]
        assert row["beta_rdp"] < row["beta"]
        assert promised.max() <= row["beta"] + 1e-6
    _, out, _ = run(capsys, "curve", *RUN, "--tradeoff", "--points", 3)
    assert "raises a false alarm" in out
    table = [line.split() for line in out.split("\n\n")[1].splitlines()[1:]]
    assert [row[0] for row in table] == ["0", "0.5", "1"]
    assert Decimal(table[1][1]) <= Decimal(exact.get_beta(0.5))


def test_several_runs_in_one_table(capsys):
    arguments = ["curve", "--noise-multiplier", "1,2", *RUN[2:], "--csv"]
    _, out, _ = run(capsys, *arguments)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["noise_multiplier"] for row in rows} == {"1.0", "2.0"}
    for sigma in ("1.0", "2.0"):
        deltas = [float(row["delta"]) for row in rows if row["noise_multiplier"] == sigma]
        assert deltas == sorted(deltas, reverse=True)
        assert deltas[-1] < 1e-10 < deltas[-2]


def test_a_curve_of_replacing_a_record(capsys):
    arguments = ["curve", "--noise-multiplier", 4, "--sample-rate", 1, "--steps", 1]
    arguments += ["--adjacency", "replace_one"]
    for row in rows_of(capsys, *arguments, "--epsilon", "0,1,2"):
        assert row["delta"] == pytest.approx(special.gaussian_delta(0.5, row["epsilon"]), rel=1e-9)
    for row in rows_of(capsys, *arguments, "--tradeoff", "--alpha", "0.05"):
        assert row["beta"] == pytest.approx(special.gaussian_tradeoff(0.5, 0.05), rel=1e-9)


def test_sampled_steps_of_replaced_records(capsys):
    arguments = ["--noise-multiplier", 2, "--sample-rate", 0.2, "--steps", 2]
    arguments += ["--adjacency", "replace_one"]
    first, last = rows_of(capsys, "curve", *arguments, "--epsilon", "0,1")
    assert 0.0 < last["delta"] < first["delta"] < 1.0
    account = PLDAccountant(adjacency="replace_one").compose(PoissonSampled(Gaussian(2.0), 0.2), 2)
    lower, upper = account.get_delta_bounds(1.0)
    assert lower <= last["delta"] <= upper * 1.0002


def test_the_limit_is_said_to_be_no_bound(capsys):
    _, out, _ = run(capsys, "curve", *RUN, "--compare", "gdp", "--points", 3)
    assert "no bound" in out
    gaussian = ["--noise-multiplier", 2, "--sample-rate", 1, "--steps", 4]
    _, out, _ = run(capsys, "curve", *gaussian, "--compare", "gdp", "--points", 3)
    assert "no bound" not in out  # without sampling it is exact


C = ["curve", *RUN]


def test_a_figure_without_matplotlib(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    err = refused(capsys, *C, "--plot", tmp_path / "curve.png")
    assert "--plot needs matplotlib" in err
    assert "python -m pip install matplotlib" in err
    assert run(capsys, *C, "--points", 2)[0] == 0  # tables need none


@pytest.mark.parametrize(("kind", "tradeoff"), [("png", []), ("svg", ["--tradeoff"])])
def test_a_figure(capsys, tmp_path, tradeoff, kind):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"curve.{kind}"
    code, out, err = run(capsys, *C, *tradeoff, "--compare", "rdp,gdp", "--plot", path)
    assert (code, out, err) == (0, f"figure written to {path}\n", "")
    start = path.read_bytes()[:8]
    assert start == b"\x89PNG\r\n\x1a\n" if kind == "png" else start.startswith(b"<?xml")
    assert path.stat().st_size > 10_000


def test_a_figure_and_its_numbers(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "curve.png"
    assert len(rows_of(capsys, *C, "--points", 3, "--plot", path)) == 3
    assert path.exists()


def test_a_figure_that_cannot_be_written(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "nowhere" / "curve.png"
    code, out, err = run(capsys, *C, "--points", 2, "--plot", path)
    assert (code, out) == (4, "")
    assert "--plot" in err
    assert "No such file" in err


def test_too_many_runs_for_a_figure(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    arguments = ["curve", "--noise-multiplier", "1:9:1", *RUN[2:], "--plot", tmp_path / "x.png"]
    assert "at most 7 runs, got 9" in refused(capsys, *arguments)


def test_a_window_needs_a_display(capsys, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "agg")
    matplotlib.use("agg")
    assert "--show needs a display" in refused(capsys, *C, "--show")


def test_a_window(capsys, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    monkeypatch.setattr(matplotlib, "get_backend", lambda: "qtagg")
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf().axes[0].get_title()))
    code, out, err = run(capsys, *C, "--show", "--points", 5)
    plt.close("all")
    assert (code, out, err) == (0, "", "")
    assert shown == ["sampled Gaussian mechanism, add/remove\nσ = 1.1, q = 0.004, steps = 15,000"]
