"""The comparison of methods: from Python, on the command line, as a figure."""

import csv
import io
import json
import math
from decimal import Decimal

import command_line
import pytest

from renyi import Gaussian, PLDAccountant, PoissonSampled, RDPAccountant
from renyi.cli.compare import HEADINGS
from renyi.cli.options import METHODS as OPTIONS
from renyi.theory.comparison import METHODS, compare, plot_comparison, steps_grid
from renyi.theory.routes import advanced_route, full_batch_route, moment_bound

SIGMA, RATE, STEPS = 4.0, 0.01, 1000
RUN = ["--noise-multiplier", "4", "--sample-rate", "0.01", "--steps", "1000"]


def run(capsys, *arguments):
    return command_line.run(capsys, "compare", *arguments)


def rows_of(capsys, *arguments):
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


# From Python.


def test_every_method_is_there_and_named_once():
    assert tuple(METHODS) == OPTIONS == tuple(HEADINGS)
    assert [row.method for row in compare(RATE, SIGMA, STEPS, delta=1e-5)] == list(METHODS)


def test_the_numbers_are_those_of_the_parts():
    found = {row.method: row.epsilon for row in compare(RATE, SIGMA, STEPS, delta=1e-5)}
    step = PoissonSampled(Gaussian(SIGMA), RATE)
    assert found == {
        "full_batch": full_batch_route(SIGMA, 10, delta=1e-5).epsilon,
        "advanced": advanced_route(RATE, SIGMA, STEPS, delta=1e-5).epsilon,
        "optimal": advanced_route(
            RATE, SIGMA, STEPS, delta=1e-5, step="exact", composition="optimal"
        ).epsilon,
        "moment_bound": moment_bound(RATE, SIGMA, STEPS, delta=1e-5).epsilon,
        "moments": RDPAccountant(conversion="mironov").compose(step, STEPS).get_epsilon(1e-5),
        "rdp": RDPAccountant().compose(step, STEPS).get_epsilon(1e-5),
        "exact": PLDAccountant().compose(step, STEPS).get_epsilon(1e-5),
    }


@pytest.mark.parametrize(("steps", "sigma"), [(1, 0.8), (300, 3.0), (5000, 0.8)])
def test_methods_of_one_adjacency_stand_in_order(sigma, steps):
    for given in ({"delta": 1e-6}, {"epsilon": 0.1}):
        wanted = "epsilon" if "delta" in given else "delta"
        rows = compare(0.02, sigma, steps, **given)
        found = {row.method: getattr(row, wanted) for row in rows}
        assert all(getattr(row, key) == value for row in rows for key, value in given.items())
        assert found["exact"] <= found["rdp"] <= found["moments"] <= found["moment_bound"]
        # the subsampling theorem holds for Poisson samples too
        assert found["exact"] <= found["optimal"] <= found["advanced"]


def test_every_row_says_what_it_holds_for():
    for row in compare(RATE, SIGMA, STEPS, epsilon=1.0):
        assert (row.sampling == "none") == (row.method == "full_batch")
        if row.method in ("moment_bound", "moments", "rdp", "exact"):
            assert (row.sampling, row.adjacency) == ("poisson", "add_remove")
        if row.method in ("advanced", "optimal"):
            assert "fixed_size" in row.sampling
            assert "replace_one" in row.adjacency


@pytest.mark.parametrize(
    ("rate", "steps", "epochs"), [(0.01, 100, 1), (0.01, 101, 2), (0.1, 3, 1), (0.001, 7000, 7)]
)
def test_epochs_of_the_route_without_sampling(rate, steps, epochs):
    (row,) = compare(rate, 3.0, steps, delta=1e-5, methods=["full_batch"])
    assert row.epsilon == full_batch_route(3.0, epochs, delta=1e-5).epsilon


def test_arguments():
    for given in ({}, {"epsilon": 1.0, "delta": 1e-5}):
        with pytest.raises(ValueError, match="exactly one of epsilon and delta must be given"):
            compare(0.1, 1.0, 10, **given)
    for row in compare(0.1, 4.0, 10, epsilon=math.inf):
        assert row.delta == 0.0
    assert compare(0.1, 1.0, 10, delta=1e-5, methods=()) == ()


# On the command line.


def test_a_table_of_methods(capsys):
    code, out, err = run(capsys, *RUN, "--delta", "1e-5")
    assert (code, err) == (0, "")
    rows = compare(RATE, SIGMA, STEPS, delta=1e-5)
    lines = out.splitlines()
    assert lines[0] == "noise multiplier 4, sample rate 0.01, steps 1000, delta 1e-5"
    for row, line in zip(rows, lines[3:], strict=False):
        assert line.startswith(row.label.replace("é", "e"))
        printed = Decimal(line.removeprefix(row.label.replace("é", "e")).split()[0])
        assert Decimal(row.epsilon) <= printed <= Decimal(row.epsilon * 1.001)
    assert lines[9].split()[-1] == "1"  # the exact curve against itself
    text = " ".join(out.split())
    for phrase in (
        "another algorithm: every epoch is one step with all of the data",
        "replace_one (fixed_size)",
        "(and moments, Renyi-DP, exact) sampling: poisson; adjacency: add_remove",
        "standard deviation = noise multiplier x sensitivity of the adjacency",
        "twice the clipping norm",
    ):
        assert phrase in text


def test_a_table_of_runs(capsys):
    code, out, err = run(
        capsys, "--noise-multiplier", "4", "--sample-rate", "0.01", "--steps", "100,1000",
        "--epsilon", "1", "--methods", "advanced,rdp",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "steps  advanced   Renyi-DP" in out
    assert out.startswith("delta, by method\n")
    cells = [line.split() for line in out.splitlines()[4:6]]
    assert [cell[0] for cell in cells] == ["100", "1000"]
    for steps, _, rdp in cells:
        account = RDPAccountant().compose(PoissonSampled(Gaussian(4.0), 0.01), int(steps))
        assert Decimal(account.get_delta(1.0)) <= Decimal(rdp)
    assert "no sampling" not in out


def test_json_has_a_record_for_every_method(capsys):
    document = rows_of(capsys, *RUN, "--delta", "1e-5")
    assert document["command"] == "compare"
    assert "sensitivity of the adjacency" in document["assumptions"]["noise"]
    found = document["results"]
    assert [row["method"] for row in found] == list(METHODS)
    exact = found[-1]["epsilon"]
    for row, expected in zip(found, compare(RATE, SIGMA, STEPS, delta=1e-5), strict=True):
        assert row["epsilon"] == expected.epsilon
        assert row["times_exact"] == pytest.approx(expected.epsilon / exact)
        assert (row["sampling"], row["adjacency"]) == (expected.sampling, expected.adjacency)
        assert (row["steps"], row["delta"]) == (1000, 1e-5)


def test_csv(capsys):
    code, out, _ = run(capsys, *RUN, "--delta", "1e-5,1e-6", "--methods", "exact,moments", "--csv")
    assert code == 0
    records = list(csv.DictReader(io.StringIO(out)))
    assert [(r["method"], r["delta"]) for r in records] == [
        ("exact", "1e-05"),
        ("moments", "1e-05"),
        ("exact", "1e-06"),
        ("moments", "1e-06"),
    ]


def test_without_the_exact_curve_there_is_no_ratio(capsys):
    (row,) = rows_of(capsys, *RUN, "--delta", "1e-5", "--methods", "rdp")["results"]
    assert row["times_exact"] is None
    assert "  -" in run(capsys, *RUN, "--delta", "1e-5", "--methods", "rdp")[1]


def test_batches_and_epochs(capsys):
    arguments = ["--noise-multiplier", "2", "--batch-size", "100", "--dataset-size", "5000"]
    (row,) = rows_of(capsys, *arguments, "--epochs", "3", "--delta", "1e-5", "--methods", "exact")[
        "results"
    ]
    assert (row["steps"], row["sample_rate"], row["epochs"]) == (150, 0.02, 3.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*RUN], "--delta is required"),
        ([*RUN, "--delta", "1e-5", "--epsilon", "1"], "--epsilon excludes --delta"),
        ([*RUN, "--delta", "1e-5", "--methods", "best"], "--methods must be a list of full_batch"),
        ([*RUN[2:], "--delta", "1e-5"], "--noise-multiplier is required"),
        ([*RUN, "--delta", "1e-5", "--plot", "x.gif"], "ending in .png, .svg or .pdf"),
        ([*RUN, "--delta", "1e-5,1e-6", "--plot", "x.png"], "must have one setting"),
        ([*RUN[:4], "--steps", "1", "--delta", "1e-5", "--plot", "x.png"], "--steps must be above"),
        (
            [*RUN[:4], "--steps", "2e9", "--delta", "1e-5"],
            "--steps must be a whole number from 1 to 1e9",
        ),
    ],
)
def test_bad_input_takes_one_line(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


# As a figure.


@pytest.mark.parametrize(
    ("given", "suffix"), [(["--delta", "1e-5"], "png"), (["--epsilon", "0.1"], "svg")]
)
def test_a_figure_over_the_steps(capsys, tmp_path, given, suffix):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"figure.{suffix}"
    methods = ["--methods", "full_batch,moments,exact"]
    code, out, err = run(
        capsys, *RUN[:4], "--steps", "400:1200:400", *given, *methods, "--plot", path
    )
    assert (code, err) == (0, "")
    assert out == f"figure written to {path}\n"
    assert path.stat().st_size > 5000


def test_one_number_of_steps_becomes_a_range(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "figure.svg"
    document = rows_of(capsys, *RUN, "--delta", "1e-5", "--methods", "rdp", "--plot", path)[
        "results"
    ]
    assert [row["steps"] for row in document] == steps_grid(1000)
    assert path.exists()


def test_lines_end_where_a_method_gives_nothing():
    pytest.importorskip("matplotlib")
    steps = [1, 10, 10_000]
    methods = ("full_batch", "advanced", "rdp")
    rows = [compare(0.01, 4.0, n, epsilon=0.03, methods=methods) for n in steps]
    axes = plot_comparison(steps, rows)
    first, second = axes.get_lines()  # without sampling there is nothing at all
    assert [math.isnan(value) for value in first.get_ydata()] == [False, False, True]
    assert list(second.get_ydata()) == [part[2].delta for part in rows]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert axes.get_xlabel() == "steps"
    assert axes.get_ylabel().startswith("δ")
    with pytest.raises(ValueError, match="rows must be a tuple for each of 2 places"):
        plot_comparison(steps[:2], rows)
    import matplotlib.pyplot as plt

    plt.close(axes.figure)


# The other way round: the noise for a target.


@pytest.mark.parametrize(("rate", "steps"), [(0.01, 200)])
def test_the_noise_that_each_method_needs(rate, steps):
    for row in compare(rate, None, steps, epsilon=1.5, delta=1e-5):
        noise = row.noise_multiplier
        (enough,) = compare(rate, noise, steps, delta=1e-5, methods=[row.method])
        (little,) = compare(rate, noise / 1.0002, steps, delta=1e-5, methods=[row.method])
        assert enough.epsilon <= 1.5 < little.epsilon
        assert (row.sampling, row.adjacency) == (enough.sampling, enough.adjacency)


def test_targets_of_noise():
    for bad in (0.0, math.inf):
        with pytest.raises(ValueError, match="epsilon must be a number in"):
            compare(0.1, None, 10, epsilon=bad, delta=1e-5)
        with pytest.raises(ValueError, match="delta must be"):
            compare(0.1, None, 10, epsilon=1.0, delta=bad)
    (row,) = compare(1.0, None, 10**9, epsilon=1e-9, delta=1e-300, methods=["full_batch"])
    assert row.noise_multiplier == math.inf


def test_targets_on_the_command_line(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    setting = ["--target", "2", "--delta", "1e-5", "--sample-rate", "0.01", "--steps", "300"]
    methods = ["--methods", "moments,exact"]
    found = rows_of(capsys, *setting, *methods)["results"]
    expected = compare(0.01, None, 300, epsilon=2.0, delta=1e-5, methods=("moments", "exact"))
    assert [row["noise_multiplier"] for row in found] == [row.noise_multiplier for row in expected]
    code, out, err = run(capsys, *setting, *methods)
    assert (code, err) == (0, "")
    assert out.startswith("noise multiplier, by method\ntarget 2, delta 1e-5")
    printed = Decimal(out.splitlines()[4].split()[-1])
    assert Decimal(expected[1].noise_multiplier) <= printed
    path = tmp_path / "noise.png"
    assert run(capsys, *setting, *methods, "--plot", path)[0] == 0
    assert path.stat().st_size > 5000
    for wrong, message in (
        (["--noise-multiplier", "1"], "--target excludes --noise-multiplier"),
        (["--epsilon", "1"], "--target excludes --epsilon"),
    ):
        code, out, err = run(capsys, *setting, *wrong)
        assert (code, out) == (2, "")
        assert message in err
