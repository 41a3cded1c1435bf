"""Training with correlated noise: plans, the samplers that go with them, and what is refused."""

import numpy as np
import pytest
from each import refused

from renyi import (
    Composed,
    Gaussian,
    MatrixMechanism,
    PLDAccountant,
    RDPAccountant,
    TruncatedPoissonSampled,
    UnsupportedMechanismError,
)
from renyi.matrix import (
    BLT,
    BandedInverse,
    BandedToeplitz,
    CyclicPoisson,
    FixedEpochs,
    MinSeparation,
    SquareRoot,
    Tree,
)
from renyi.noise import SecureGenerator
from renyi.samplers import FixedOrderSampler, MinSeparationSampler, PoissonSampler
from renyi.sgd import DPSGD, SGD, ClipGroups, QuantileClipNorm, Schedule, TrainingPlan

DATA = np.random.default_rng(1).normal([2.0, -1.0], 0.1, (600, 2))


def plan_of(strategy, **settings):
    usual = {"noise_multiplier": 4.0, "steps": strategy.steps, "max_grad_norm": 3.0}
    usual |= {"sampling": "fixed_order", "adjacency": "zero_out", "strategy": strategy}
    return TrainingPlan(600, 30, **{**usual, **settings})


def train(plan, *, generator=None):
    w, sampler = np.zeros(2), plan.sampler()
    optimizer = DPSGD(w, plan, SGD(0.3), sampler=sampler, generator=generator)
    for batch in sampler:
        optimizer.step(w - DATA[batch])
    return w, optimizer


@pytest.mark.parametrize(
    "strategy",
    [BandedToeplitz.optimal(60, 20), BLT(60, [0.9, 0.35], [0.36, 0.14]), Tree(60), SquareRoot(60)],
    ids=lambda s: type(s).__name__,
)
def test_a_run_in_fixed_order(strategy):
    plan = plan_of(strategy)
    w, optimizer = train(plan, generator=SecureGenerator(insecure_reproducible=2))
    assert np.abs(w - [2.0, -1.0]).max() < 0.3
    assert plan.mechanism == MatrixMechanism(strategy, 4.0, FixedEpochs(20))
    expected = PLDAccountant(adjacency="zero_out").compose(plan.mechanism).get_epsilon(1e-5)
    assert optimizer.get_epsilon(1e-5) == plan.get_epsilon(1e-5) == expected


def test_the_noise_is_that_of_the_stream():
    strategy = BLT.optimal(20, 2)
    plan = plan_of(strategy)
    released = []
    w, sampler = np.zeros(2), plan.sampler()
    source = SecureGenerator(insecure_reproducible=3)
    optimizer = DPSGD(w, plan, SGD(0.0), sampler=sampler, generator=source)
    for batch in sampler:
        released.append(optimizer.step(np.zeros((len(batch), 2))).copy())
    alone = strategy.noise(2, SecureGenerator(insecure_reproducible=3), scale=12.0)
    assert np.allclose(np.array(released) * 30, np.array(list(alone)), rtol=1e-6, atol=1e-6)


def test_independent_noise_in_fixed_order_is_one_band():
    plan = TrainingPlan(
        600, 30, noise_multiplier=4.0, epochs=3, sampling="fixed_order", adjacency="zero_out"
    )
    run = MatrixMechanism(BandedToeplitz(60, [1.0]), 4.0, FixedEpochs(20))
    assert plan.mechanism == run
    assert plan.steps_per_release == plan.steps == 60


def test_cyclic_samples():
    strategy = BandedToeplitz.optimal(50, 5)
    plan = plan_of(strategy, sampling="cyclic_poisson", cycle_length=10, adjacency="add_remove")
    run = MatrixMechanism(strategy, 4.0, CyclicPoisson(0.5, 10))
    assert plan.releases == 5
    found, optimizer = train(plan)
    assert np.isfinite(found).all()
    for kind in (PLDAccountant, RDPAccountant):
        assert kind().compose(plan.mechanism).get_epsilon(1e-5) == pytest.approx(
            kind().compose(run).get_epsilon(1e-5), rel=1e-12
        )
    assert optimizer.get_epsilon(1e-5) == plan.get_epsilon(1e-5)


def test_cyclic_samples_that_are_cut():
    strategy = BandedToeplitz.optimal(50, 5)
    cut = {"sampling": "cyclic_poisson", "cycle_length": 10, "batch_limit": 33}
    plan = plan_of(strategy, **cut)
    run = MatrixMechanism(strategy, 4.0, CyclicPoisson(0.5, 10, 33, 60))
    alone = PLDAccountant(adjacency="zero_out").compose(run).get_epsilon(1e-5)
    found, optimizer = train(plan)
    assert np.isfinite(found).all()
    assert optimizer.get_epsilon(1e-5) == pytest.approx(alone, rel=1e-5)
    parts = TruncatedPoissonSampled(Gaussian(run.effective_noise_multiplier), 0.5, 33, 60)
    assert run.released == Composed((parts, 5))
    batches = list(plan.sampler())
    assert max(map(len, batches)) <= 33
    assert all((batch % 10 == turn % 10).all() for turn, batch in enumerate(batches))
    assert MatrixMechanism.from_json(run.to_json()) == run
    with pytest.raises(ValueError, match="adjacency must be 'replace_one' or 'zero_out'"):
        plan_of(strategy, **cut, adjacency="add_remove")
    with pytest.raises(UnsupportedMechanismError, match="'replace_one' or 'zero_out' only"):
        PLDAccountant().compose(run)
    with pytest.raises(UnsupportedMechanismError, match="'replace_one' or 'zero_out' only"):
        PLDAccountant().compose(plan.sampler().mechanism(Gaussian(1.0)))
    with pytest.raises(ValueError, match="batch_limit and group_size must be given together"):
        CyclicPoisson(0.5, 10, 33)
    # A larger group may lose more: by quadrature 5.007e-7 of two records, 5.698e-8 of one.
    with pytest.raises(ValueError, match="cycle_length must be a divisor of the population, 600"):
        plan_of(strategy, **{**cut, "cycle_length": 11})
    with pytest.raises(ValueError, match="cycle_length must be a divisor of the population, 3"):
        PoissonSampler(3, 0.5, cycle_length=2, batch_limit=1)
    state = plan.sampler().state_dict() | {"drawn": 1, "groups": np.zeros(600, np.int64)}
    with pytest.raises(ValueError, match="the records modulo cycle_length"):
        plan.sampler().load_state_dict(state)


@pytest.mark.parametrize("spoilt", ["last", "used"])
def test_records_that_rest_are_not_drawn_by_a_state(spoilt):
    sampler = MinSeparationSampler(12, 2, 5, participations=1, steps=8)
    batches = iter(sampler)
    next(batches)
    state = sampler.state_dict()
    state[spoilt] = np.zeros(12, np.int64)
    with pytest.raises(ValueError, match="state must hold last and used"):
        MinSeparationSampler(12, 2, 5, participations=1, steps=8).load_state_dict(state)


@pytest.mark.parametrize("most", [None, 3])
def test_steps_of_a_record_are_apart(most):
    scheme = MinSeparation(8, most)
    strategy = BLT.optimal(40, 2, participation=scheme)
    settings = {"sampling": "min_separation", "separation": 8, "participations": most}
    plan = plan_of(strategy, **settings)
    assert plan.mechanism == MatrixMechanism(strategy, 4.0, scheme)
    independent = TrainingPlan(
        600, 30, noise_multiplier=4.0, steps=40, adjacency="zero_out", **settings
    )
    assert independent.mechanism == MatrixMechanism(BandedToeplitz(40, [1.0]), 4.0, scheme)
    sampler, last, used = plan.sampler(), np.full(600, -8), np.zeros(600, int)
    w = np.zeros(2)
    optimizer = DPSGD(w, plan, SGD(0.1), sampler=sampler)
    for step, batch in enumerate(sampler):
        assert len(batch) == 30
        assert len(set(batch.tolist())) == 30
        assert (step - last[batch] >= 8).all()
        last[batch], used[batch] = step, used[batch] + 1
        optimizer.step(w - DATA[batch])
    assert used.max() <= (most or 5)
    assert used.min() < used.max()
    assert optimizer.get_epsilon(1e-5) == plan.get_epsilon(1e-5)
    with pytest.raises(ValueError, match="separation must be such that"):
        plan_of(SquareRoot(40), sampling="min_separation", separation=21)
    with pytest.raises(ValueError, match="participations must be given with"):
        plan_of(strategy, participations=2)


def test_calibration_finds_the_noise_of_z():
    strategy = BandedToeplitz.optimal(60, 20)
    settings = {"population": 600, "batch_size": 30, "steps": 60}
    settings |= {"sampling": "fixed_order", "adjacency": "zero_out"}
    correlated = TrainingPlan.calibrated(1.0, 1e-5, strategy=strategy, **settings)
    independent = TrainingPlan.calibrated(1.0, 1e-5, **settings)
    assert correlated.get_epsilon(1e-5) <= 1.0
    ratio = correlated.noise_multiplier / independent.noise_multiplier
    assert ratio == pytest.approx(strategy.column_norm, rel=2e-4)


@pytest.mark.parametrize("sampling", ["fixed_order", "balls_in_bins"])
@pytest.mark.parametrize("strategy", [BandedInverse.root(40, 4), BLT(40, [0.9], [0.3])], ids=repr)
def test_a_state_goes_on_where_it_was(sampling, strategy):
    plan = plan_of(strategy, sampling=sampling)

    def started(seed):
        w, source = np.zeros(2), SecureGenerator(insecure_reproducible=seed)
        sampler = plan.sampler(generator=source)
        return w, sampler, DPSGD(w, plan, SGD(0.3), sampler=sampler, generator=source)

    def trained(w, sampler, optimizer, steps):
        while optimizer.steps < steps:
            optimizer.step(w - DATA[sampler.sample()])
        return w

    expected = trained(*started(1), 40)
    for stop in (7, 25):
        first, second = started(1), started(9)
        trained(*first, stop)
        state = first[2].state_dict(secrets=True)
        public = {name: entry for name, entry in state.items() if name != "secrets"}
        with pytest.raises(ValueError, match="secrets"):
            second[2].load_state_dict(public)
        second[2].load_state_dict(state)
        assert np.array_equal(trained(*second, 40), expected)
        assert second[2].get_epsilon(1e-5) == plan.get_epsilon(1e-5)


def test_secrets_of_another_form_are_refused():
    plan = plan_of(SquareRoot(9))
    sampler = plan.sampler()
    optimizer = DPSGD(np.zeros(2), plan, SGD(0.3), sampler=sampler)
    optimizer.step(DATA[sampler.sample()])
    state = optimizer.state_dict(secrets=True)
    secrets = state["secrets"]
    for wrong in (1, "a", [], {}, {**secrets, "correlated": 1}, {**secrets, "correlated": [1]}):
        other = DPSGD(np.zeros(2), plan, SGD(0.3), sampler=plan.sampler())
        with pytest.raises(ValueError, match="state must"):
            other.load_state_dict({**state, "secrets": wrong}, branch=True)
        assert other.steps == 0


@pytest.mark.parametrize("sampling", ["fixed_order", "min_separation", "balls_in_bins"])
def test_the_participation_is_enforced(sampling):
    """No sampler is not enough, and there is no step past the last."""
    apart = {"separation": 10} if sampling == "min_separation" else {}
    plan = plan_of(BandedInverse.root(20, 3), sampling=sampling, **apart)
    with pytest.raises((TypeError, ValueError), match="sampler must be"):
        DPSGD(np.zeros(2), plan, SGD(0.3))
    w, optimizer = train(plan)
    sampler = optimizer._ledger._sampler
    sampler.steps = 40
    batch = sampler.sample()
    with pytest.raises(RuntimeError, match=r"run must end after the 20 steps|more than"):
        optimizer.step(w - DATA[batch])
    assert optimizer.steps == 20


def test_batches_left_out_keep_the_separation():
    """A record's steps stay 20 apart: the noise of what was left out is drawn all the same."""
    strategy = BandedToeplitz.optimal(40, 20)
    plan = plan_of(strategy)
    w, sampler = np.zeros(2), plan.sampler()
    optimizer = DPSGD(w, plan, SGD(0.0), sampler=sampler)
    for batch in sampler:
        if sampler.drawn in (3, 4):
            optimizer.discard()
            continue
        optimizer.step(w - DATA[batch])
    streams = optimizer.state_dict(secrets=True)["correlated"]
    assert [stream["step"] for stream in streams] == [40]
    assert optimizer.steps == 38
    assert optimizer.get_epsilon(1e-5) == plan.get_epsilon(1e-5)


def test_several_arrays_and_groups():
    strategy = BLT.optimal(20, 2)
    groups = ClipGroups([0, 1], [1.0, 2.0], noise=[1.0, 3.0])
    plan = plan_of(strategy, max_grad_norm=5.0**0.5)
    weights, sampler = [np.zeros(2), np.zeros(3)], plan.sampler()
    optimizer = DPSGD(weights, plan, SGD(0.1), sampler=sampler, clipping=groups)
    for batch in sampler:
        rows = len(batch)
        optimizer.step([np.ones((rows, 2)), np.ones((rows, 3))])
    assert optimizer.steps == 20


CYCLIC, CHANGING = {"cycle_length": 10}, Schedule([1, 10], [1.0, 2.0])
REFUSED = {
    ValueError: [
        ({"sampling": "shuffled"}, "sampling must be one of .*'min_separation'"),
        ({"sampling": "poisson", "adjacency": "add_remove"}, "sampling must be one of .*'min_"),
        ({"steps": 30}, "strategy must be of 30 steps"),
        ({"adjacency": "add_remove"}, "adjacency must be 'replace_one' or 'zero_out'"),
        ({"noise_schedule": CHANGING}, "noise_schedule must be None"),
        ({"clip_schedule": CHANGING}, "clip_schedule must be None"),
        ({"sampling": "cyclic_poisson", **CYCLIC}, "steps of a record share rows"),
        ({"grid_spacing": 2.0**-10, "dimension": 2}, "grid_spacing must be None"),
    ]
}
test_what_does_not_go_with_a_strategy = refused(
    REFUSED, lambda settings: plan_of(BLT.optimal(20, 2), **settings)
)


def test_what_an_optimiser_needs():
    plan = plan_of(BLT.optimal(20, 2))
    with pytest.raises(TypeError, match="sampler must be given"):
        DPSGD(np.zeros(2), plan, SGD(0.1))
    with pytest.raises(TypeError, match=r"strategy must be one of renyi\.matrix"):
        TrainingPlan(9, 3, noise_multiplier=1.0, steps=2, strategy=3)
    norm = QuantileClipNorm(3.0, expected_batch_size=30.0, count_noise=20.0)
    with pytest.raises(ValueError, match="clip_norm must be None"):
        DPSGD(np.zeros(2), plan, SGD(0.1), clip_norm=norm, sampler=plan.sampler())


def test_the_same_batches_every_epoch():
    sampler = FixedOrderSampler(10, 3, steps=7)
    batches = [batch.tolist() for batch in sampler]
    assert batches[:3] == batches[3:6]
    assert sorted(batches[0] + batches[1] + batches[2]) == list(range(10))
    assert batches[6] == batches[0]
    again = FixedOrderSampler(10, 3, steps=7)
    again.load_state_dict(sampler.state_dict(secrets=True))
    assert again.sample().tolist() == batches[1]
    with pytest.raises(ValueError, match="batches must be an integer"):
        FixedOrderSampler(3, 4)
