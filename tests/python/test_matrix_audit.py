"""What an attack proves of correlated noise, beside what is reported: a record at its worst."""

import numpy as np
import pytest

from renyi import MatrixMechanism, PLDAccountant
from renyi.audit import epsilon_lower_bound, mu_lower_bound
from renyi.matrix import BLT, BandedToeplitz, FixedEpochs, SinglePass, SquareRoot, Tree

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
    bound = epsilon_lower_bound(present, absent, DELTA, threshold=reported, confidence=0.999)
    assert 0.4 * reported < bound <= reported
    mu = mu_lower_bound(present, absent, threshold=0.0, confidence=0.999)
    assert 0.9 / 1.5 < mu <= 1.0 / 1.5


def test_an_attack_on_a_tree_stays_below():
    """Its noise is that of several nodes a step; this attack looks at the whole sum only."""
    tree, noise = Tree(STEPS), 3.0
    run = MatrixMechanism(tree, noise)
    reported = PLDAccountant(adjacency="zero_out").compose(run).get_epsilon(DELTA)
    totals = []
    for there in (1.0, 0.0):
        stream, total = tree.noise(RUNS, scale=noise), np.zeros(RUNS)
        for step in range(STEPS):
            total += stream.add(np.full(RUNS, there if step == 0 else 0.0))
        totals.append(total)
    bound = epsilon_lower_bound(*totals, DELTA, threshold=reported, confidence=0.999)
    assert 0.0 < bound <= reported
