"""Sensitivities of matrix mechanisms against every pattern of steps with every sign."""

import math

import numpy as np
import pytest
from matrix_reference import patterns, sensitivity

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

SCHEMES = [
    SinglePass(),
    FixedEpochs(3),
    FixedEpochs(4),
    MinSeparation(1, 3),
    MinSeparation(2),
    MinSeparation(3, 2),
    MinSeparation(4),
    MinSeparation(20),
]


def strategies(steps):
    rng = np.random.default_rng(steps)
    falling = np.sort(rng.uniform(0.01, 1.0, steps - 1))[::-1]
    return [
        SquareRoot(steps),
        BandedToeplitz(steps, [1.0, *falling]),
        BandedToeplitz(steps, [1.0, *falling[:2]]),
        BandedToeplitz(steps, [1.0, -0.4, 0.7]),
        BandedToeplitz(steps, [1.0, *rng.normal(size=steps - 1)]),
        BLT(steps, [0.9, 0.5], [0.2, 0.3]),
        BLT(steps, [0.9, 0.5], [0.6, -0.3]),
        Dense.optimal(steps),
        Dense.optimal(steps, bands=3),
        Dense(np.tril(rng.normal(size=(steps, steps)), -1) + np.eye(steps)),
        Dense(np.tril(rng.uniform(size=(steps, steps)), -1) + np.eye(steps)),
        Tree(steps),
        Tree(steps, restart=3),
        Tree(steps, False, restart=4),
    ]


@pytest.mark.parametrize("participation", SCHEMES, ids=repr)
@pytest.mark.parametrize("steps", [5, 8, 12])
def test_never_below_every_pattern_and_reached_where_it_says_so(steps, participation):
    exact = 0
    for strategy in strategies(steps):
        found = strategy.sensitivity(participation)
        true = sensitivity(strategy.matrix(), participation)
        assert found >= true * (1.0 - 1e-15), strategy
        if found.exact:
            exact += 1
            assert found <= true * (1.0 + 1e-12), strategy
    assert exact >= 4


def test_it_is_rounded_up_and_not_by_much():
    """Rationals: 1, 1/2, 1/4 squared sum to 21/16, twice of it."""
    found = BandedToeplitz(100, [1.0, 0.5, 0.25]).sensitivity(MinSeparation(3, 2))
    assert found.exact
    assert float(found) ** 2 >= 21.0 / 8.0
    assert found <= math.sqrt(21.0 / 8.0) * (1.0 + 1e-14)


def test_separation_is_the_difference_of_steps():
    """Steps 0 and 2 are 2 apart: other libraries would say that 1 step is between them."""
    chosen = list(patterns(MinSeparation(2), 3))
    assert (0, 2) in chosen
    assert (0, 1) not in chosen
    root = SquareRoot(3)
    assert root.sensitivity(MinSeparation(2)) > root.sensitivity(MinSeparation(3))


@pytest.mark.parametrize(
    ("strategy", "participation", "expected"),
    [
        (SquareRoot(8), MinSeparation(2, 2), 2.23379600),
        (SquareRoot(8), MinSeparation(3), 2.72563112),
        (SquareRoot(1000), MinSeparation(100, 10), 9.15404300),
        (BandedToeplitz(1000, SquareRoot(100).first_column()), MinSeparation(100, 10), 5.03125443),
        (BandedToeplitz(950, SquareRoot(100).first_column()), MinSeparation(100, 10), 5.00920076),
        (Tree(8), MinSeparation(2, 2), math.sqrt(12.0)),
        (Tree(8), MinSeparation(4, 2), math.sqrt(10.0)),
        (Tree(16), MinSeparation(8, 2), math.sqrt(12.0)),
        (Dense(np.tri(11)), MinSeparation(1, 4), math.sqrt(142.0)),
        (BandedToeplitz(6, [1.0, 0.5, 0.8]), MinSeparation(1, 2), 2.727636),
    ],
    ids=repr,
)
def test_known_numbers(strategy, participation, expected):
    assert float(strategy.sensitivity(participation)) == pytest.approx(expected, rel=3e-7)


def test_known_numbers_of_any_matrix():
    """Rows 1000, 2100, 0110, 001-6: the sensitivity of a user's own matrix with both signs."""
    own = np.array([[1, 0, 0, 0], [2, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 6.0]])
    own[3, 2], own[3, 3] = -1.0, 6.0  # a sign on the other entry of the row moves nothing
    strategy = Dense(own)
    assert strategy.sensitivity() == pytest.approx(math.sqrt(36.0), rel=1e-12)
    assert strategy.sensitivity(MinSeparation(2)) == pytest.approx(math.sqrt(41.0), rel=1e-12)
    assert strategy.sensitivity(MinSeparation(2, 1)) == pytest.approx(6.0, rel=1e-12)


def test_coefficients_that_rise_are_bounded_by_those_that_do_not():
    """The closed form on 1, 0.5, 0.8 itself would be too small for some separations."""
    strategy = BandedToeplitz(6, [1.0, 0.5, 0.8])
    found = strategy.sensitivity(MinSeparation(1, 2))
    assert not found.exact
    assert sensitivity(strategy.matrix(), MinSeparation(1, 2)) == pytest.approx(2.362202, rel=1e-6)
    assert found > 2.362202


def test_steps_count_and_not_only_bands():
    """With as many steps as coefficients the sensitivity would be 1.591 instead of 5.031."""
    c = SquareRoot(100).first_column()
    short = BandedToeplitz(100, c).sensitivity(MinSeparation(100, 10))
    assert short == pytest.approx(1.591, abs=1e-3)
    assert BandedToeplitz(1000, c).sensitivity(MinSeparation(100, 10)) > 3.0 * short


def test_columns_of_the_optimum_have_norm_one():
    """Cholesky's factor of X itself has rows of norm 1, and columns of up to 2.27."""
    strategy = Dense.optimal(64, bands=16)
    assert np.allclose(np.linalg.norm(strategy.matrix(), axis=0), 1.0, atol=1e-6)
    assert strategy.sensitivity(MinSeparation(16, 4)) == pytest.approx(2.0, rel=1e-6)


def test_cyclic_samples_see_one_column_at_a_time():
    strategy = BandedToeplitz(100, [1.0, 0.5])
    assert strategy.sensitivity(CyclicPoisson(0.1, 2)) == strategy.column_norm


def test_normalised_columns_need_their_separation():
    strategy = BandedToeplitz(10, [1.0, 0.5, 0.2], normalised=True)
    for scheme in (SinglePass(), MinSeparation(3), FixedEpochs(4)):
        true = sensitivity(strategy.matrix(), scheme)
        assert true * (1 - 1e-15) <= strategy.sensitivity(scheme) <= true * (1 + 1e-12)
    with pytest.raises(ValueError, match="in steps at least 3 apart"):
        strategy.sensitivity(MinSeparation(2))


def test_windows_of_few_among_many_participations():
    """At most 3 of the 10 times that there is room for."""
    for count in (1, 2, 3, 7):
        scheme, c = MinSeparation(2, count), SquareRoot(12)
        assert c.sensitivity(scheme) == pytest.approx(sensitivity(c.matrix(), scheme), rel=1e-12)


def test_weights_that_cancel():
    """Coefficients of buffers whose weights nearly add up to nothing are known less well."""
    strategy = BLT(12, [0.9, 0.9 + 1e-15], [1e6, -1e6])
    for scheme in SCHEMES:
        assert strategy.sensitivity(scheme) >= sensitivity(strategy.matrix(), scheme)
    assert strategy.sensitivity().exact
    assert not strategy.sensitivity(MinSeparation(2)).exact


@pytest.mark.parametrize("size", [5e-324, 1e-308, 1e-200, 1e-160, 1e160, 1e200, 1e300])
def test_squares_of_entries_that_doubles_do_not_hold(size):
    """A sensitivity is as many times as large as the entries are."""
    for entries, participation in [
        ([[1.0]], SinglePass()),
        ([[1.0], [1.0, 1.0]], FixedEpochs(1)),
        ([[1.0], [-1.0, 1.0]], MinSeparation(1)),
        ([[1.0], [1.0, 1.0], [0.0, 1.0, 1.0]], MinSeparation(2)),
    ]:
        rows = [[size * entry for entry in row] for row in entries]
        found, one = (
            Dense(rows).sensitivity(participation),
            Dense(entries).sensitivity(participation),
        )
        assert found >= size * one * (1 - 1e-14)
        assert found <= size * one * (1 + 1e-14) + 1e-323
    toeplitz = BandedToeplitz(3, [1.0, size])
    assert 1.0 <= toeplitz.sensitivity() / math.hypot(1.0, size) <= 1.0 + 1e-14
    twice = toeplitz.sensitivity(FixedEpochs(1))
    assert 1.0 <= twice / math.hypot(1.0, 1.0 + size, 1.0 + size) <= 1.0 + 1e-14
    assert BLT(3, [0.0], [size]).sensitivity() >= math.hypot(1.0, size)
    norms = np.linalg.norm(BandedToeplitz(3, [1.0, size], normalised=True).matrix(), axis=0)
    assert norms == pytest.approx(1.0, rel=1e-14)
