"""Choosing bands and strategies for a guarantee, in Python and on the command line."""

import json

import pytest

from renyi import MatrixMechanism, PLDAccountant
from renyi.cli import main
from renyi.matrix import (
    BandedToeplitz,
    CyclicPoisson,
    FixedEpochs,
    SquareRoot,
    choose_bands,
    compare_strategies,
    plot_bands,
    priced,
)

SETTING = {"population": 1280, "batch_size": 10, "steps": 256}
SIZES = ["--batch-size", "10", "--dataset-size", "1280", "--steps", "256"]


def epsilon_of(row, delta):
    run = MatrixMechanism(row.strategy, row.noise_multiplier, row.participation)
    return PLDAccountant(adjacency="zero_out").compose(run).get_epsilon(delta)


def test_every_row_meets_the_target_and_not_by_much():
    rows = choose_bands(2.0, 1e-5, **SETTING)
    rows += compare_strategies(2.0, 1e-5, **SETTING)
    for row in rows:
        assert 2.0 * (1 - 1e-4) < epsilon_of(row, 1e-5) <= 2.0, row.name


def test_bands_up_to_an_epoch():
    rows = choose_bands(2.0, 1e-5, **SETTING)
    assert [row.strategy.bands for row in rows] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert rows[-1].participation.sample_rate == 1.0
    best = min(rows, key=lambda row: row.error)
    assert best.error == min(row.error for row in rows)


def test_few_steps_without_sampling_win_where_epsilon_is_large():
    """The larger epsilon, the less sampling hides, and the more bands are best."""
    counts = [
        min(choose_bands(epsilon, 1e-5, **SETTING), key=lambda row: row.error).strategy.bands
        for epsilon in (0.1, 1, 10)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_a_row_by_itself():
    row = priced("", SquareRoot(100), FixedEpochs(50), 1.0, 1e-6)
    expected = SquareRoot(100).loss("mean", FixedEpochs(50))
    single = priced("", BandedToeplitz(1, [1.0]), FixedEpochs(1), 1.0, 1e-6)
    assert row.error == pytest.approx(expected * single.error, rel=1e-5)


def test_a_figure():
    axes = plot_bands(choose_bands(2.0, 1e-5, bands=[1, 4], **SETTING))
    assert axes.get_xscale() == "log"
    assert len(axes.lines) == 2
    axes.figure.canvas.draw()
    ticks = [tick.get_text() for axis in (axes.xaxis, axes.yaxis) for tick in axis.get_ticklabels()]
    assert len(ticks) > 4
    assert all(float(tick) > 0.0 for tick in ticks if tick)  # 12, not 1.2 x 10^1


def test_words_for_cycles():
    assert str(CyclicPoisson(0.5, 1)) == "by chance 0.5 in every step"
    assert str(CyclicPoisson(0.5, 32)) == "by chance 0.5 in one step of every 32"


def test_bad_arguments():
    with pytest.raises(ValueError, match="bands must be integers in"):
        choose_bands(1.0, 1e-5, bands=[200], **SETTING)
    with pytest.raises(ValueError, match="batch_size must be an integer in"):
        choose_bands(1.0, 1e-5, population=5, batch_size=6, steps=3)


@pytest.mark.parametrize("strategy", ["banded", "blt", "tree", "root"])
def test_the_command_prints_what_a_strategy_takes(capsys, strategy):
    words = ["noise", "--strategy", strategy, "--epsilon", "2", "--delta", "1e-5", *SIZES]
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("noise multiplier ")
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["results"][0]
    assert found["error"] > 0.0
    assert found["epsilon"] == 2.0


def test_the_command_takes_bands_in_fixed_order(capsys):
    words = ["noise", "--strategy", "banded", "--bands", "8", "--fixed-order", "--json"]
    assert main([*words, "--epsilon", "2", "--delta", "1e-5", *SIZES]) == 0
    found = json.loads(capsys.readouterr().out)["results"][0]
    row = priced("", BandedToeplitz.optimal(256, 8), FixedEpochs(128), 2.0, 1e-5)
    assert found["noise_multiplier"] == row.noise_multiplier


def test_the_command_compares(capsys, tmp_path):
    words = ["compare", "--strategies", "--target", "2", "--delta", "1e-5", *SIZES]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 6
    assert "4 buffers, fixed order" in "\n".join(lines)
    file = tmp_path / "bands.svg"
    plt = pytest.importorskip("matplotlib")
    with plt.rc_context({"svg.fonttype": "none"}):
        assert main([*words, "--plot", str(file)]) == 0
    drawn = file.read_text()
    for line in lines[1:-2]:  # the figure shows the strategies of the table, and their errors
        name, _, error = line.rsplit(maxsplit=2)
        assert f">{name.strip()}</text>" in drawn
        assert f">{error}</text>" in drawn


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--epsilon", "1,2", *SIZES], "one setting, got several"),
        (["--epsilon", "1", "--sample-rate", "0.1", "--steps", "9"], "--dataset-size are required"),
        (["--epsilon", "1", "--bands", "999", *SIZES], "bands must be integers in"),
    ],
)
def test_the_command_refuses(capsys, words, message):
    assert main(["noise", "--strategy", "banded", "--delta", "1e-5", *words]) == 2
    assert message in capsys.readouterr().err
