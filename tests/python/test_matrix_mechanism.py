"""Correlated noise in the accountants: one Gaussian, or sampled ones."""

import math

import numpy as np
import pytest

from renyi import (
    Gaussian,
    MatrixMechanism,
    Mechanism,
    PLDAccountant,
    PoissonSampled,
    RDPAccountant,
    TreeAggregation,
    UnsupportedMechanismError,
    calibrate,
    special,
)
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
    ("bands", "expected"), [(1, 54.006), (4, 51.103), (16, 53.166), (64, 62.727)]
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


def test_outputs_one_by_one_would_be_too_cheap():
    """The noise of a step is about that of z, and takes back what was added before."""
    root = SquareRoot(1000)
    of_one_step = float(np.linalg.norm(np.diff(root.first_column(), prepend=0.0)))
    run = MatrixMechanism(root, 5.0)
    assert run.effective_noise_multiplier < 0.6 * 5.0 * of_one_step


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


def test_the_tree_is_one_of_them():
    for steps in (1, 7, 8, 1000):
        shorthand, run = TreeAggregation(3.0, steps), MatrixMechanism(Tree(steps), 3.0)
        assert shorthand.effective_noise_multiplier == run.effective_noise_multiplier
    thrice = MatrixMechanism(Tree(8), 3.0, MinSeparation(2, 2))
    assert thrice.effective_noise_multiplier == pytest.approx(3.0 / math.sqrt(12.0), rel=1e-14)


def test_json_and_words():
    scheme = MinSeparation(10, 3)
    run = MatrixMechanism(BLT.optimal(100, 2, participation=scheme), 2.5, scheme)
    assert Mechanism.from_json(run.to_json()) == run
    assert "BLT, 100 steps" in run.describe()
    assert "at least 10 apart, at most 3 times" in run.describe()


@pytest.mark.parametrize("noise", [0.0, math.inf, 5e-324, 1e300])
def test_extreme_noise(noise):
    run = MatrixMechanism(SquareRoot(10), noise)
    assert run.effective_noise_multiplier <= noise
    epsilon = PLDAccountant(adjacency="zero_out").compose(run).get_epsilon(1e-6)
    assert epsilon == (math.inf if noise < 1e-300 else pytest.approx(0.0, abs=1e-9))


def test_bad_arguments():
    with pytest.raises(TypeError, match=r"strategy must be a renyi\.matrix\.Strategy"):
        MatrixMechanism(3, 1.0)
    with pytest.raises(TypeError, match="participation must be SinglePass"):
        MatrixMechanism(SquareRoot(3), 1.0, 4)
    with pytest.raises(ValueError, match="noise_multiplier must be a number"):
        MatrixMechanism(SquareRoot(3), -1.0)


@pytest.mark.parametrize("size", [1e-308, 1e-200, 1e200, 1e300])
def test_noise_and_entries_of_any_size_hide_as_much(size):
    run = MatrixMechanism(Dense([[size], [size, size]]), size * math.sqrt(2.0))
    for accountant in (PLDAccountant, RDPAccountant):
        small = accountant(adjacency="zero_out").compose(run)
        plain = accountant(adjacency="zero_out").compose(Gaussian(1.0))
        assert small.get_epsilon(1e-5) == pytest.approx(plain.get_epsilon(1e-5), rel=1e-12)
    assert MatrixMechanism(Dense([[1e-10]]), 1e308).effective_noise_multiplier < math.inf
