"""Correlated noise in the accountants, chosen for a guarantee, and attacked."""

import json
import math
from functools import cache, partial

import numpy as np
import pytest
from each import refused, slow

from renyi import (
    Gaussian,
    MatrixMechanism,
    Mechanism,
    PLDAccountant,
    PoissonSampled,
    RDPAccountant,
    UnsupportedMechanismError,
    calibrate,
    special,
)
from renyi.audit import ManyRuns
from renyi.cli import main
from renyi.matrix import (
    BLT,
    BandedToeplitz,
    CyclicPoisson,
    Dense,
    FixedEpochs,
    MinSeparation,
    SinglePass,
    SquareRoot,
    Tree,
    choose_bands,
    choose_strategy,
    plot_bands,
    priced,
)

ACCOUNTANTS = [PLDAccountant, RDPAccountant]


def root_bands(steps, bands):
    return BandedToeplitz(steps, SquareRoot(bands).first_column())


@pytest.mark.parametrize(
    ("bands", "expected"), [(1, 1.404858), (10, 5.485858), (50, 12.757275), (200, 19.423656)]
)
def test_cyclic_samples(bands, expected):
    strategy = root_bands(2000, bands)
    run = MatrixMechanism(strategy, strategy.column_norm, CyclicPoisson(bands / 200, bands))
    assert PLDAccountant().compose(run).get_epsilon(1e-6) == pytest.approx(expected, abs=6e-7)


@pytest.mark.parametrize(
    ("bands", "expected"), [(16, 53.166), *slow((1, 54.006), (4, 51.103), (64, 62.727))]
)
def test_noise_for_a_target(bands, expected):
    strategy = BandedToeplitz.optimal(2048, bands)
    scheme = CyclicPoisson(bands / 128, bands)
    noise = calibrate(
        lambda z: MatrixMechanism(strategy, z, scheme),
        (0.1, 100.0),
        target_epsilon=1.0,
        target_delta=1e-6,
    )
    error = noise * math.sqrt(strategy.errors().mean())
    assert error == pytest.approx(expected, abs=2e-3)


def test_independent_noise_on_samples_is_dp_sgd():
    one_band = MatrixMechanism(BandedToeplitz(100, [1.0]), 1.1, CyclicPoisson(0.02, 1))
    steps = PoissonSampled(Gaussian(1.1), 0.02) * 100
    for kind in ACCOUNTANTS:
        found, known = kind().compose(one_band), kind().compose(steps)
        assert found.get_epsilon(1e-6) == pytest.approx(known.get_epsilon(1e-6), rel=1e-12)
        assert found.get_epsilon(1e-6) >= known.get_epsilon(1e-6)


def test_samples_of_everything_are_no_samples():
    strategy = root_bands(60, 20)
    sampled = MatrixMechanism(strategy, 3.0, CyclicPoisson(1.0, 20))
    whole = MatrixMechanism(strategy, 3.0, MinSeparation(20))
    for kind in ACCOUNTANTS:
        one = kind(adjacency="zero_out").compose(sampled).get_epsilon(1e-6)
        assert one == pytest.approx(
            kind(adjacency="zero_out").compose(whole).get_epsilon(1e-6), rel=1e-9
        )


@pytest.mark.parametrize("scheme", [SinglePass(), FixedEpochs(20), MinSeparation(30, 2)], ids=repr)
@pytest.mark.parametrize(
    "strategy", [SquareRoot(100), BLT(100, [0.9], [0.3]), Tree(100), Dense.optimal(20)], ids=repr
)
def test_a_run_is_one_gaussian(strategy, scheme):
    run = MatrixMechanism(strategy, 7.0, scheme)
    for adjacency, distance in (("zero_out", 1.0), ("replace_one", 2.0)):
        mu = distance * strategy.sensitivity(scheme) / 7.0
        exact = float(special.gaussian_epsilon(mu, 1e-6))
        found = PLDAccountant(adjacency=adjacency).compose(run).get_epsilon(1e-6)
        assert exact <= found <= exact * (1 + 1e-12)
        assert RDPAccountant(adjacency=adjacency).compose(run).get_epsilon(1e-6) >= exact


@pytest.mark.parametrize("kind", ACCOUNTANTS)
def test_adding_a_record_might_move_others(kind):
    run = MatrixMechanism(SquareRoot(10), 2.0)
    assert kind(adjacency="zero_out").supports(run)
    with pytest.raises(UnsupportedMechanismError, match="'replace_one' or 'zero_out' only"):
        kind().compose(run)
    with pytest.raises(UnsupportedMechanismError, match="'replace_one' or 'zero_out' only"):
        kind().compose(PoissonSampled(run, 0.1))
    assert kind().supports(MatrixMechanism(BandedToeplitz(9, [1.0]), 2.0, CyclicPoisson(0.1, 3)))


@pytest.mark.parametrize(
    "strategy", [SquareRoot(50), BLT(50, [0.9], [0.3]), Tree(50), root_bands(50, 11)], ids=repr
)
def test_samples_without_the_separation_are_refused(strategy):
    with pytest.raises(ValueError, match="steps of a record share rows"):
        MatrixMechanism(strategy, 2.0, CyclicPoisson(0.1, 10))


def test_json_and_words():
    scheme = MinSeparation(10, 3)
    run = MatrixMechanism(BLT.optimal(100, 2, participation=scheme), 2.5, scheme)
    assert Mechanism.from_json(run.to_json()) == run
    assert "BLT, 100 steps" in run.describe()
    assert "at least 10 apart, at most 3 times" in run.describe()
    for separation, words in ((1, "every step"), (32, "one step of every 32")):
        assert str(CyclicPoisson(0.5, separation)) == f"by chance 0.5 in {words}"


@pytest.mark.parametrize("noise", [0.0, math.inf, 5e-324, 1e300])
def test_extreme_noise(noise):
    run = MatrixMechanism(SquareRoot(10), noise)
    assert run.effective_noise_multiplier <= noise
    epsilon = PLDAccountant(adjacency="zero_out").compose(run).get_epsilon(1e-6)
    assert epsilon == (math.inf if noise < 1e-300 else pytest.approx(0.0, abs=1e-9))


@pytest.mark.parametrize("size", [1e-308, 1e-200, 1e200, 1e300])
def test_noise_and_entries_of_any_size_hide_as_much(size):
    run = MatrixMechanism(Dense([[size], [size, size]]), size * math.sqrt(2.0))
    for accountant in (PLDAccountant, RDPAccountant):
        small = accountant(adjacency="zero_out").compose(run)
        plain = accountant(adjacency="zero_out").compose(Gaussian(1.0))
        assert small.get_epsilon(1e-5) == pytest.approx(plain.get_epsilon(1e-5), rel=1e-12)
    assert MatrixMechanism(Dense([[1e-10]]), 1e308).effective_noise_multiplier < math.inf


# --- the choice of a strategy


SETTING = {"population": 1280, "batch_size": 10, "steps": 256}
SIZES = ["--batch-size", "10", "--dataset-size", "1280", "--steps", "256"]
FOUR_STEPS = {"population": 20, "batch_size": 10, "steps": 4}


# Each several times below.
bands_of = cache(partial(choose_bands, target_delta=1e-5, **SETTING))
strategies_of = cache(choose_strategy)


def test_bands_up_to_an_epoch():
    rows = bands_of(2.0)
    assert [row.strategy.bands for row in rows] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert rows[-1].participation.sample_rate == 1.0


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


REFUSED = {
    TypeError: [
        (lambda: MatrixMechanism(3, 1.0), r"strategy must be a renyi\.matrix\.Strategy"),
        (lambda: MatrixMechanism(SquareRoot(3), 1.0, 4), "participation must be SinglePass"),
    ],
    ValueError: [
        (lambda: MatrixMechanism(SquareRoot(3), -1.0), "noise_multiplier must be a number"),
        (lambda: choose_bands(1.0, 1e-5, bands=[200], **SETTING), "bands must be integers in"),
        (
            lambda: choose_bands(1.0, 1e-5, population=5, batch_size=6, steps=3),
            "batch_size must be an integer in",
        ),
    ],
}
test_bad_arguments = refused(REFUSED)


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


def test_the_first_of_all_is_never_worse_than_one_of_them():
    rows = strategies_of(2.0, 1e-5, **FOUR_STEPS)
    assert [row.error for row in rows] == sorted(row.error for row in rows)
    assert rows[0].error <= min(row.error for row in choose_bands(2.0, 1e-5, **FOUR_STEPS))
    names = {row.name for row in rows}
    assert {"independent, sampled", "independent, fixed order", "tree, fixed order"} <= names
    for row in rows:
        run = MatrixMechanism(row.strategy, row.noise_multiplier, row.participation)
        found = PLDAccountant(adjacency="zero_out").compose(run).get_epsilon(1e-5)
        assert 2.0 * (1.0 - 1e-4) < found <= 2.0


def test_the_command_compares(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("renyi.matrix.choose_strategy", strategies_of)
    sizes = ["--batch-size", "10", "--dataset-size", "20", "--steps", "4"]
    words = ["compare", "--strategies", "--target", "2", "--delta", "1e-5", *sizes]
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


# --- attacks


RUNS, STEPS, DELTA = 40_000, 24, 1e-2


def scores(strategy, participation, noise, present):
    """The log-likelihood ratio of many runs, each an entry of the streamed arrays."""
    c = strategy.matrix()
    period = getattr(participation, "period", STEPS)
    there = np.zeros(STEPS)
    there[::period] = 1.0
    moved = c @ there
    direction = c.T @ moved
    stream, found = strategy.noise(RUNS, scale=noise), np.zeros(RUNS)
    for step in range(STEPS):
        found += direction[step] * stream.add(np.full(RUNS, there[step] * present))
    return (found - 0.5 * moved @ moved) / noise**2


@pytest.mark.parametrize(
    "strategy",
    [SquareRoot(STEPS), BandedToeplitz.optimal(STEPS, 6), BLT(STEPS, [0.9, 0.35], [0.36, 0.14])],
    ids=lambda s: type(s).__name__,
)
@pytest.mark.parametrize("participation", [SinglePass(), FixedEpochs(6)], ids=repr)
def test_an_attack_comes_near_and_not_beyond(strategy, participation):
    noise = 1.5 * strategy.sensitivity(participation)
    run = MatrixMechanism(strategy, noise, participation)
    reported = PLDAccountant(adjacency="zero_out").compose(run).get_epsilon(DELTA)
    present, absent = (scores(strategy, participation, noise, there) for there in (1.0, 0.0))
    bound = ManyRuns(present, absent, threshold=reported).epsilon_lower_bound(
        DELTA, confidence=0.999
    )
    assert 0.4 * reported < bound <= reported
    mu = ManyRuns(present, absent, threshold=0.0).mu_lower_bound(confidence=0.999)
    assert 0.9 / 1.5 < mu <= 1.0 / 1.5
