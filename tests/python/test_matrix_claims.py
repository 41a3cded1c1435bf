"""What the page on correlated noise claims, at random and at the edges."""

import numpy as np
import pytest
from each import slow
from matrix_reference import patterns

from renyi import MatrixMechanism, PLDAccountant, RDPAccountant
from renyi.matrix import (
    BLT,
    BallsInBins,
    BandedInverse,
    BandedToeplitz,
    Dense,
    FixedEpochs,
    MinSeparation,
    SinglePass,
    SquareRoot,
    Tree,
    choose_bands,
    choose_strategy,
    priced,
)
from renyi.sgd import DPSGD, SGD, TrainingPlan


def some_strategy(draw, steps):
    """A strategy of any kind, with entries of both signs in some."""
    bands = int(draw.integers(1, steps + 1))
    c = np.tril(draw.normal(size=(steps, steps)) * (draw.random((steps, steps)) < 0.6), -1)
    makers = (
        lambda: SquareRoot(steps),
        lambda: BandedToeplitz(steps, [1.0, *draw.normal(size=bands - 1)]),
        lambda: BandedToeplitz(steps, [1.0, *np.sort(draw.random(bands - 1))[::-1]]),
        lambda: BLT(steps, draw.random(2), draw.normal(size=2)),
        lambda: BandedInverse(steps, [1.0, *(-draw.dirichlet(np.ones(bands)))[: bands - 1]]),
        lambda: Tree(steps, bool(draw.integers(2)), int(draw.integers(1, steps + 1))),
        lambda: Dense(c + np.diag(draw.uniform(0.1, 2.0, steps))),
        lambda: Dense(np.abs(c) + np.diag(10.0 ** draw.uniform(-3, 3, steps))),
    )
    return makers[draw.integers(len(makers))]()


def least_sensitivity(c, participation):
    """The largest norm of sums of columns that one record can be in: of all signs up to four."""
    best = 0.0
    for chosen in patterns(participation, c.shape[1]):
        own = c[:, chosen]
        signs = np.ones((1, 1))
        for _ in range(len(chosen) - 1):
            both = [np.pad(signs, ((0, 0), (0, 1)), constant_values=s) for s in (1.0, -1.0)]
            signs = np.concatenate(both[: 2 if len(signs) < 8 else 1])
        best = max(best, float(np.linalg.norm(own @ signs.T, axis=0).max()))
    return best


@pytest.mark.parametrize("count", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_no_sensitivity_is_below_brute_force(count):
    draw = np.random.default_rng(11)
    for _ in range(count):
        steps = int(draw.integers(1, 13))
        strategy, apart = some_strategy(draw, steps), int(draw.integers(1, steps + 1))
        most = int(draw.integers(1, 4 if apart < 3 else 13))
        schemes = (SinglePass(), FixedEpochs(apart), MinSeparation(apart, most))
        scheme = schemes[draw.integers(3)]
        found = strategy.sensitivity(scheme)
        least = least_sensitivity(strategy.matrix(), scheme)
        assert found >= least * (1.0 - 1e-14), (strategy, scheme)
        if isinstance(strategy, Tree):
            assert found.exact
            assert found <= least * (1.0 + 1e-12), (strategy, scheme)


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_bands_are_never_worse_than_either(epsilon):
    """Than independent noise on samples, and than the same bands in fixed order."""
    rows = choose_bands(epsilon, 1e-6, population=1600, batch_size=100, steps=64)
    best = min(row.error for row in rows)
    whole = BandedToeplitz.optimal(64, 16)
    assert best <= rows[0].error
    assert best <= priced("", whole, FixedEpochs(16), epsilon, 1e-6).error * (1.0 + 1e-9)


def test_the_first_of_all_is_never_worse_than_one_of_them():
    setting = {"population": 200, "batch_size": 100, "steps": 8}
    rows = choose_strategy(2.0, 1e-6, **setting)
    assert [row.error for row in rows] == sorted(row.error for row in rows)
    assert rows[0].error <= min(row.error for row in choose_bands(2.0, 1e-6, **setting))
    names = {row.name for row in rows}
    assert {"independent, sampled", "independent, fixed order", "tree, fixed order"} <= names
    for row in rows:
        run = MatrixMechanism(row.strategy, row.noise_multiplier, row.participation)
        found = PLDAccountant(adjacency="zero_out").compose(run).get_epsilon(1e-6)
        assert 2.0 * (1.0 - 1e-4) < found <= 2.0


@pytest.mark.parametrize("sampling", ["fixed_order", "min_separation", "balls_in_bins"])
def test_participation_is_enforced(sampling):
    """Neither another sampler, nor rows that were not drawn, nor a step past the last."""
    apart = {"separation": 5} if sampling == "min_separation" else {}
    strategy = BandedInverse.root(10, 3)
    settings = {"noise_multiplier": 2.0, "steps": 10, "adjacency": "zero_out", **apart}
    plan = TrainingPlan(50, 10, sampling=sampling, strategy=strategy, **settings)
    w = np.zeros(2)
    with pytest.raises((TypeError, ValueError), match="sampler must be"):
        DPSGD(w, plan, SGD(0.1))
    other = TrainingPlan(50, 10, sampling="poisson", **{**settings, "separation": None}).sampler()
    with pytest.raises(ValueError, match="sampler must be one like that of the plan"):
        DPSGD(w, plan, SGD(0.1), sampler=other)
    sampler = plan.sampler()
    optimizer = DPSGD(w, plan, SGD(0.1), sampler=sampler)
    with pytest.raises(RuntimeError, match="a batch must be drawn from the sampler"):
        optimizer.step(np.zeros((10, 2)))
    first = sampler.sample()
    with pytest.raises(ValueError, match="got more"):
        optimizer.step(np.zeros((len(first) + 1, 2)))
    optimizer.step(np.zeros((len(first), 2)))
    for _ in range(9):
        optimizer.step(np.zeros((len(sampler.sample()), 2)))
    sampler.steps = 20
    rows = np.zeros((len(sampler.sample()), 2))
    with pytest.raises(RuntimeError, match=r"end|more than"):
        optimizer.step(rows)


@pytest.mark.parametrize("strategy", [BandedInverse.root(12, 4), BLT(12, [0.9], [0.3])], ids=repr)
def test_a_run_in_random_bins_goes_on_where_it_was(strategy):
    plan = TrainingPlan(
        60, 20, sampling="balls_in_bins", strategy=strategy, noise_multiplier=2.0, steps=12
    )
    ends = []
    for stop in (0, 5):
        w, sampler = np.zeros(2), plan.sampler()
        optimizer = DPSGD(w, plan, SGD(0.1), sampler=sampler)
        batches = []
        for _ in range(stop):
            batches.append(sampler.sample())
            optimizer.step(np.ones((len(batches[-1]), 2)))
        if stop:
            state = optimizer.state_dict(secrets=True)
            w, sampler = np.zeros(2), plan.sampler()
            optimizer = DPSGD(w, plan, SGD(0.1), sampler=sampler)
            with pytest.raises(ValueError, match="secrets"):
                optimizer.load_state_dict({k: v for k, v in state.items() if k != "secrets"})
            optimizer.load_state_dict(state)
        for batch in sampler:
            batches.append(batch)
            optimizer.step(np.ones((len(batch), 2)))
        assert len(batches) == 12
        assert all(np.array_equal(batches[k], batches[k % 3]) for k in range(12))
        ends.append(optimizer.get_epsilon(1e-6))
    assert ends[0] == ends[1] == plan.get_epsilon(1e-6)


EDGES = [
    (Dense([[1.0]]), 1),
    (Dense([[1.0], [0.0, 1.0], [0.0, 0.0, 1e-300]]), 3),
    (BandedInverse(4, [1.0, -1.0]), 2),
    (Tree(2), 1),
]


@pytest.mark.parametrize("noise", [1e-3, *slow(0.0, 1e6)])
@pytest.mark.parametrize(("strategy", "batches"), EDGES)
def test_random_bins_at_the_edges(strategy, batches, noise):
    """Of one step, one batch, one epoch: below bins that are known, above the lower end."""
    run = MatrixMechanism(strategy, noise, BallsInBins(batches))
    known = MatrixMechanism(strategy, noise, FixedEpochs(batches))
    for adjacency in ("add_remove", "replace_one"):
        found = PLDAccountant(adjacency=adjacency).compose(run)
        order = "zero_out" if adjacency == "add_remove" else adjacency
        most = PLDAccountant(adjacency=order).compose(known)
        for delta in (1e-300, 1e-6):
            low, high = found.get_epsilon_bounds(delta)
            assert low <= high <= most.get_epsilon(delta) * (1.0 + 1e-9)
        assert RDPAccountant(adjacency=adjacency).compose(run).get_epsilon(1e-6) >= low
    assert MatrixMechanism.from_json(run.to_json()) == run
