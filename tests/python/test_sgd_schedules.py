"""Schedules of noise, norm and learning rate, and groups of arrays: what they cost."""

import math
import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from each import refused
from interruptions import interrupts

from renyi import BudgetExceededError, PLDAccountant
from renyi.mechanisms import Gaussian, PoissonSampled
from renyi.noise import SecureGenerator
from renyi.sgd import (
    DPSGD,
    SGD,
    Adam,
    ClipAccumulator,
    ClipGroups,
    Grid,
    QuantileClipNorm,
    Schedule,
    TrainingPlan,
    clip_and_sum,
    per_sample_norms,
)

FALLING = Schedule((1, 4, 6), (2.0, 1.0, 0.5))
STEPS = [PoissonSampled(Gaussian(noise), 0.04) for noise in (3.0, 1.5, 0.75)]


def plan(**settings):
    given = {"steps": 8, "noise_multiplier": 1.5, "noise_schedule": FALLING}
    return TrainingPlan(100, 4, **{**given, **settings})


def made(planned=None, size=2, **settings):
    return DPSGD(np.zeros(size), planned or plan(), SGD(0.1), **settings)


def rows(count=1, size=2):
    return np.ones((count, size))


def reference(*counts):
    accountant = PLDAccountant()
    for step, count in zip(STEPS, counts, strict=True):
        accountant.compose(step, count)
    return accountant


# --- the numbers themselves


@pytest.mark.parametrize(("pieces", "found"), [(1, 1), (7, 7), (100, 20)])
def test_shapes(pieces, found):
    shapes = {
        "linear": lambda t: 4.0 - 3.0 * t,
        "exponential": lambda t: 4.0 * 0.25**t,
        "cosine": lambda t: 1.0 + 1.5 * (1.0 + math.cos(math.pi * t)),
    }
    for name, value in shapes.items():
        schedule = getattr(Schedule, name)(4.0, 1.0, steps=20, pieces=pieces)
        assert len(schedule.starts) == found
        wanted = [value(k / max(found - 1, 1)) for k in range(found)]
        assert np.allclose(schedule.values, wanted, rtol=1e-14)
        lengths = [count for _, count in schedule.counts(0, 20)]
        assert sum(lengths) == 20
        assert max(lengths) - min(lengths) <= 1


def test_counts_are_those_of_the_steps_one_by_one():
    for done in range(9):
        for steps in range(12):
            pieces = [FALLING.piece(done + 1 + k) for k in range(steps)]
            wanted = [(k, pieces.count(k)) for k in range(3) if k in pieces]
            assert list(FALLING.counts(done, steps)) == wanted


def test_a_warmup_rises_first():
    schedule = Schedule.cosine(1.0, 0.0, steps=30, warmup=10)
    values = [schedule.at(step) for step in range(1, 31)]
    assert values[0] == 0.0
    assert values[9] == values[10] == 1.0
    assert all(a < b for a, b in pairwise(values[:10]))
    assert all(a > b for a, b in pairwise(values[10:]))


# --- noise


def test_a_plan_costs_its_steps_each_with_its_noise():
    assert plan().get_epsilon(1e-5) == reference(3, 2, 3).get_epsilon(1e-5)
    assert plan(steps=4).get_epsilon(1e-5) == reference(3, 1, 0).get_epsilon(1e-5)
    assert plan(steps=20).get_epsilon(1e-5) == reference(3, 2, 15).get_epsilon(1e-5)


def test_every_step_is_recorded_with_the_noise_it_has():
    size, planned = 20_000, plan(max_grad_norm=0.5)
    optimizer = made(planned, size)
    for step in range(1, 9):
        noisy = 4.0 * optimizer.step(np.zeros((0, size)))
        wanted = 0.5 * 1.5 * FALLING.at(step)
        assert abs(noisy.std() / wanted - 1.0) < 5 / math.sqrt(2 * size)
        counts = [max(0, min(step, 3)), max(0, min(step - 3, 2)), max(0, step - 5)]
        found = reference(*counts).get_epsilon(1e-5)
        assert optimizer.get_epsilon(1e-5) == found
    assert optimizer.get_epsilon(1e-5) == planned.get_epsilon(1e-5)


def test_a_state_brings_what_was_recorded(monkeypatch):
    optimizer = made()
    with monkeypatch.context() as patch:
        patch.setattr(optimizer._trained, "update", interrupts)
        with pytest.raises(KeyboardInterrupt):
            optimizer.step(rows())
    for _ in range(4):
        optimizer.step(rows())
    state = pickle.loads(pickle.dumps(optimizer.state_dict(secrets=True)))
    other = made(TrainingPlan(**state["plan"]))
    for recorded in ([0, 1, 4], [4, 1], [4, 0, 1], [5, 1, 0]):
        with pytest.raises(ValueError, match="state must hold recorded releases of at least"):
            other.load_state_dict({**state, "recorded": recorded})
    other.load_state_dict(state)
    other.step(rows())
    assert other.get_epsilon(1e-5) == reference(4, 2, 0).get_epsilon(1e-5)
    with pytest.raises(ValueError, match="state must hold the plan with noise_schedule"):
        made(plan(noise_schedule=None)).load_state_dict(state)


@pytest.mark.parametrize("stops_after", range(8))
def test_a_budget_stops_before_the_step_that_exceeds_it(stops_after):
    counts = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (3, 1, 0), (3, 2, 0), (3, 2, 1)]
    spent = reference(*[*counts, (3, 2, 2)][stops_after]).get_epsilon(1e-5)
    optimizer = made(budget=(spent * (1 + 1e-9) + 1e-12, 1e-5))
    for _ in range(stops_after):
        optimizer.step(rows())
    with pytest.raises(BudgetExceededError):
        optimizer.step(rows())
    assert optimizer.steps == stops_after


def test_a_budget_knows_that_an_interrupted_step_comes_again(monkeypatch):
    """The plan's own steps fit; one more of the noisiest kind does too, of the others none."""
    spent = reference(4, 2, 2).get_epsilon(1e-5)
    optimizer = made(budget=(spent * (1 + 1e-9), 1e-5))
    with monkeypatch.context() as patch:
        patch.setattr(optimizer._trained, "update", interrupts)
        with pytest.raises(KeyboardInterrupt):
            optimizer.step(rows())
    for _ in range(7):
        optimizer.step(rows())
    with pytest.raises(BudgetExceededError):
        optimizer.step(rows())
    assert optimizer.get_epsilon(1e-5) == reference(4, 2, 2).get_epsilon(1e-5)


def test_calibration_finds_the_number_that_the_schedule_is_of():
    settings = {"steps": 8, "noise_schedule": FALLING}
    found = TrainingPlan.calibrated(2.0, 1e-5, population=100, batch_size=4, **settings)
    assert found.get_epsilon(1e-5) <= 2.0
    less = plan(noise_multiplier=found.noise_multiplier * 0.9998)
    assert less.get_epsilon(1e-5) > 2.0


def test_the_count_of_a_moving_norm_is_within_the_noise_of_each_step():
    planned = plan()
    with pytest.raises(ValueError, match="noise_multiplier must be less than that of count_noise"):
        made(planned, clip_norm=norm(1.4))  # 3.0 at first
    moving = norm(1.6)
    optimizer = made(planned, 50_000, clip_norm=moving)
    for step in range(1, 9):
        bound = moving.value
        noise = 4.0 * optimizer.step(np.zeros((0, 50_000))).std() / bound
        joint = (noise**-2 + 3.2**-2) ** -0.5
        assert abs(joint / (1.5 * FALLING.at(step)) - 1) < 0.05


# --- clipping norm


def test_the_noise_follows_the_clipping_norm_and_the_cost_is_the_same():
    size = 20_000
    planned = plan(noise_schedule=None, clip_schedule=FALLING, max_grad_norm=0.5)
    assert planned.mechanism == plan(noise_schedule=None).mechanism
    noisy = made(planned, size)
    quiet = made(plan(noise_multiplier=0.0, clip_schedule=FALLING, max_grad_norm=0.5), size)
    for step in range(1, 9):
        bound = 0.5 * FALLING.at(step)
        assert noisy.max_grad_norm == quiet.max_grad_norm == bound
        deviation = 4.0 * noisy.step(np.zeros((0, size))).std()
        assert abs(deviation / (1.5 * bound) - 1.0) < 5 / math.sqrt(2 * size)
        released = 4.0 * quiet.accumulate(np.zeros((0, size))).step(np.full((1, size), 9.0))
        assert bound * (1 - 1e-4) < np.linalg.norm(released) <= bound


# --- learning rates and weight decay


@pytest.mark.parametrize("rule", [SGD, Adam])
def test_rates_follow_their_schedule_and_are_saved(rule):
    w, v = np.ones(3), np.ones(3)
    own = [[np.zeros(3) for _ in range(rule(0.1).slots)] for _ in range(2)]
    scheduled = rule(FALLING)
    for step in range(1, 9):
        gradient = np.array([1.0, -0.5, step])
        scheduled.update(w, gradient, own[0], step)
        rule(FALLING.at(step)).update(v, gradient, own[1], step)
    assert np.array_equal(w, v)
    optimizer = DPSGD(np.zeros(2), plan(), scheduled)
    optimizer.step(rows())
    other = DPSGD(np.zeros(2), plan(), rule(0.5))
    other.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict(secrets=True))))
    assert other.rule == scheduled
    with pytest.raises(ValueError, match="learning_rate must be a number"):
        rule(-0.1)


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_adamw_is_that_of_pytorch(decay):
    torch = pytest.importorskip("torch")
    gradients = np.random.default_rng(1).normal(size=(20, 5))
    w, slots = np.arange(5.0), [np.zeros(5), np.zeros(5)]
    rule = Adam(0.05, beta1=0.8, beta2=0.95, stability=1e-6, weight_decay=decay)
    other = torch.nn.Parameter(torch.arange(5.0, dtype=torch.float64))
    theirs = torch.optim.AdamW([other], lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=decay)
    for step, gradient in enumerate(gradients, 1):
        rule.update(w, gradient, slots, step)
        other.grad = torch.from_numpy(gradient)
        theirs.step()
    assert np.allclose(w, other.detach().numpy(), rtol=1e-12, atol=1e-14)


def test_weight_decay_of_sgd_is_apart_from_its_momentum():
    w, velocity, expected = np.array([2.0, -1.0]), [np.zeros(2)], np.array([2.0, -1.0])
    remembered = np.zeros(2)
    for step in range(1, 6):
        gradient = np.array([0.1, 0.2 * step])
        remembered = 0.9 * remembered + gradient
        expected = expected - 0.5 * (remembered + 0.01 * expected)
        SGD(0.5, 0.9, 0.01).update(w, gradient, velocity, step)
    assert np.allclose(w, expected, rtol=1e-14)
    with pytest.raises(ValueError, match="weight_decay must be a number"):
        SGD(0.1, weight_decay=-1.0)


def test_a_schedule_goes_with_groups():
    planned = plan(clip_schedule=FALLING)
    groups = ClipGroups((0, 1), noise=(1.0, 2.0))
    generator = SecureGenerator(insecure_reproducible=1)
    both = [np.zeros(2), np.zeros(3)]
    optimizer = DPSGD(both, planned, SGD(0.1), clipping=groups, generator=generator)
    for _ in range(8):
        optimizer.step([np.ones((2, 2)), np.ones((2, 3))])
    assert optimizer.get_epsilon(1e-5) == planned.get_epsilon(1e-5)


# --- groups


RNG = np.random.default_rng(4)
SHAPES = [(3,), (2, 2), (5,)]
GROUPS = ClipGroups((0, 1, 0), shares=(3.0, 4.0))


def grads(count=7, scale=3.0):
    return [scale * RNG.normal(size=(count, *shape)) for shape in SHAPES]


def proportions(count):
    return tuple(np.exp2(RNG.uniform(-20, 20, count)).tolist())


def test_norms_of_groups_make_that_of_all_and_no_more():
    for _ in range(300):
        count = int(RNG.integers(1, 9))
        total = float(np.exp2(RNG.uniform(-70, 70)))
        groups = ClipGroups(tuple(range(count)), shares=proportions(count))
        square = sum(Fraction(bound) ** 2 for bound in groups.bounds(total))
        assert square <= Fraction(total) ** 2
        assert square >= Fraction(total) ** 2 * (1 - Fraction(1, 2**46))


def test_noise_of_groups_costs_what_one_multiplier_does():
    for _ in range(300):
        count = int(RNG.integers(1, 9))
        noise = proportions(count) if RNG.random() < 0.8 else None
        groups = ClipGroups(tuple(range(count)), shares=proportions(count), noise=noise)
        bounds, factors = groups.bounds(1.0), groups.noise_factors()
        cost = sum((Fraction(c) / Fraction(f)) ** 2 for c, f in zip(bounds, factors, strict=True))
        assert 1 - Fraction(1, 2**44) <= cost <= 1
        if noise is not None:
            ratios = np.array(factors) / noise
            assert np.allclose(ratios, ratios[0], rtol=1e-14)


def test_every_group_is_clipped_by_its_norm():
    rows = grads()
    clipped = clip_and_sum(rows, 2.0, clipping=GROUPS)
    assert clipped.sensitivity == 2.0
    for members, bound in (((0, 2), 1.2), ((1,), 1.6)):
        group = [rows[k] for k in members]
        wanted = clip_and_sum(group, bound).sum
        for k, array in zip(members, wanted, strict=True):
            assert np.allclose(clipped.sum[k], array, rtol=0, atol=1e-7)
    norms = np.stack([per_sample_norms([rows[0], rows[2]]), per_sample_norms(rows[1])], axis=1)
    assert np.array_equal(clipped.private.norms, norms)
    parts = ClipAccumulator(SHAPES, 2.0, clipping=GROUPS)
    parts.add([a[:3] for a in rows]).add(clip_and_sum([a[3:] for a in rows], 2.0, clipping=GROUPS))
    total = parts.take()
    assert all(np.array_equal(a, b) for a, b in zip(total.sum, clipped.sum, strict=True))
    assert parts.take().private.norms.shape == (0, 2)


def test_one_row_is_never_longer_than_its_share():
    for _ in range(200):
        rows = [np.exp2(RNG.uniform(-5, 5)) * row for row in grads(1)]
        clipped = clip_and_sum(rows, 1.0, clipping=GROUPS)
        squares = [sum(Fraction(float(x)) ** 2 for x in array.ravel()) for array in clipped.sum]
        first, second = (Fraction(bound) ** 2 for bound in GROUPS.bounds(1.0))
        assert squares[0] + squares[2] <= first
        assert squares[1] <= second


def test_the_noise_of_each_group_and_one_guarantee():
    size = 100_000
    plan = TrainingPlan(100, 4, steps=9, noise_multiplier=1.5, max_grad_norm=2.0)
    groups = ClipGroups((0, 1), shares=(3.0, 4.0), noise=(1.0, 5.0))
    weights = [np.zeros(size), np.zeros(size)]
    optimizer = DPSGD(weights, plan, SGD(0.1), clipping=groups)
    noisy = optimizer.step([np.zeros((0, size))] * 2)
    deviations = [4.0 * array.std() for array in noisy]
    assert abs(deviations[1] / deviations[0] / 5.0 - 1) < 0.03
    found = sum((c / s) ** 2 for c, s in zip((1.2, 1.6), deviations, strict=True)) ** -0.5
    assert abs(found / 1.5 - 1) < 5 / math.sqrt(2 * size)
    assert optimizer.accountant.mechanisms == ((plan.step_mechanism, 1),)


def test_one_group_is_flat_and_a_group_each_is_per_layer():
    rows = grads()
    for groups, name in ((ClipGroups((0, 0, 0)), "flat"), (ClipGroups((0, 1, 2)), "per_layer")):
        one = clip_and_sum(rows, 1.0, clipping=groups)
        two = clip_and_sum(rows, 1.0, clipping=name)
        assert all(np.allclose(a, b, atol=1e-7) for a, b in zip(one.sum, two.sum, strict=True))


def test_states_hold_the_groups():
    optimizer = grouped()
    optimizer.step(grads())
    state = pickle.loads(pickle.dumps(optimizer.state_dict(secrets=True)))
    for other in ("flat", ClipGroups((0, 1, 1), shares=(3.0, 4.0)), ClipGroups((0, 1, 0))):
        with pytest.raises(ValueError, match="state must hold the clipping"):
            grouped(other).load_state_dict(state)
    grouped().load_state_dict(state)


def test_groups_on_a_grid_share_the_norm_alone():
    settings = {"steps": 9, "noise_multiplier": 1.5, "grid_spacing": 2.0**-20, "dimension": 12}
    plan = TrainingPlan(100, 4, **settings)
    weights = [np.zeros(s) for s in SHAPES]
    DPSGD(weights, plan, SGD(0.1), clipping=GROUPS).step(grads())
    noisy = ClipGroups((0, 1, 0), noise=(1.0, 2.0))
    with pytest.raises(ValueError, match="same noise on a grid"):
        DPSGD(weights, plan, SGD(0.1), clipping=noisy)
    on_grid = ClipAccumulator(SHAPES, 1.0, clipping=GROUPS, grid=Grid(2.0**-20)).add(grads(1))
    squares = [Fraction(int(x), 2**20) ** 2 for a in on_grid.take().sum for x in a.ravel()]
    assert sum(squares) <= Fraction(Grid(2.0**-20).sensitivity(1.0, 12)) ** 2


def test_adam_without_the_noise_in_its_second_moment():
    """Noise of a known size, mean 0.3 a step: the corrected root is that of the mean alone."""
    rng = np.random.default_rng(1)
    w, slots = np.zeros(20_000), [np.zeros(20_000), np.zeros(20_000)]
    rule = Adam(0.1, beta1=0.0, beta2=0.999, stability=1e-3, noise_std=2.0)
    for step in range(1, 2001):
        gradient = 0.3 + 2.0 * rng.normal(size=w.size)
        before = w.copy()
        rule.update(w, gradient, slots, step)
    corrected = slots[1] / (1.0 - 0.999**2000) - 4.0
    assert corrected.mean() == pytest.approx(0.09, abs=0.01)
    expected = 0.1 * gradient / np.sqrt(np.maximum(corrected, 1e-6))
    np.testing.assert_allclose(before - w, expected, rtol=1e-6)
    plain, same = np.zeros(3), np.zeros(3)
    moments = [[np.zeros(3), np.zeros(3)] for _ in range(2)]
    Adam(0.1, stability=1e-30, noise_std=0.0).update(
        plain, np.array([1.0, -2.0, 3.0]), moments[0], 1
    )
    Adam(0.1, stability=1e-30).update(same, np.array([1.0, -2.0, 3.0]), moments[1], 1)
    np.testing.assert_allclose(plain, same, rtol=1e-12)
    with pytest.raises(ValueError, match="noise_std must be"):
        Adam(0.1, noise_std=-1.0)


# --- what is refused


def scheduled(**settings):
    return lambda: plan(**settings)


def grouped(clipping=GROUPS, **settings):
    plain = TrainingPlan(100, 4, steps=9, noise_multiplier=1.5)
    return DPSGD([np.zeros(s) for s in SHAPES], plain, SGD(0.1), clipping=clipping, **settings)


def norm(noise=9.0):
    return QuantileClipNorm(1.0, expected_batch_size=4.0, count_noise=noise)


SHUFFLED = {"sampling": "shuffled", "adjacency": "zero_out"}
CYCLIC = {"sampling": "cyclic_poisson", "cycle_length": 2}
TWO = [np.ones((2, 3)), np.ones((2, 1))]


REFUSED = {
    ValueError: [
        (lambda: Schedule((2,), (1.0,)), "starts must be increasing and begin with 1"),
        (lambda: Schedule((1, 1), (1.0, 2.0)), "starts must be increasing"),
        (lambda: Schedule((), ()), "starts must be increasing"),
        (lambda: Schedule((1,), (1.0, 2.0)), "values must be one for each of 1"),
        (lambda: Schedule((1,), (-1.0,)), "values must be a number"),
        (lambda: Schedule((1,), (math.inf,)), "values must be a number"),
        (scheduled(noise_schedule=Schedule((1, 2), (1.0, 0.0))), "of positive numbers"),
        (scheduled(clip_schedule=Schedule((1,), (2.0**97,))), "max_grad_norm times"),
        (scheduled(**SHUFFLED), "noise_schedule must be None with sampling 'shuffled'"),
        (scheduled(**CYCLIC), "noise_schedule must be None with sampling 'cyclic_poisson'"),
        (scheduled(grid_spacing=2.0**-10, dimension=2), "must be None on a grid"),
        (
            lambda: made(plan(clip_schedule=FALLING), clip_norm=norm()),
            "clip_norm must be None with a clip_schedule",
        ),
        (lambda: ClipGroups(()), "of must hold each number"),
        (lambda: ClipGroups((0, 2)), "of must hold each number"),
        (lambda: ClipGroups((0, 10**18)), "of must hold each number"),  # without a set of them
        (
            lambda: Schedule.exponential(-math.inf, 1.0, steps=3),
            r"first and last must be a number in \(0, inf\)",
        ),
        (lambda: ClipGroups((0, 1), (1.0,)), "shares must be one number for each of 2 groups"),
        (lambda: ClipGroups((0, 1), (1.0, 0.0)), r"shares must be numbers in \[2\^-20, 2\^20\]"),
        (lambda: ClipGroups((0, 1), None, (1.0, 2.0**21)), r"noise must be numbers in"),
        (
            lambda: clip_and_sum(TWO, 1.0, clipping=GROUPS),
            "clipping must have a group for each of 2 arrays",
        ),
        (lambda: grouped(clip_norm=norm()), "clipping must be 'flat' for a clip_norm"),
        (
            lambda: clip_and_sum(grads(), 1.0, clipping=GROUPS) + clip_and_sum(grads(), 1.0),
            "max_grad_norm must be the same in sums",
        ),
    ],
    TypeError: [
        (scheduled(noise_schedule=2.0), "noise_schedule must be a Schedule"),
        (lambda: ClipGroups(2), "of must be a sequence of integers, got 2"),
        (lambda: Schedule.linear("1", 2.0, steps=3), "first and last must be a number in"),
        (lambda: Schedule.cosine(1.0, "2", steps=3), "first and last must be a number in"),
    ],
}
test_what_does_not_go_together_is_refused = refused(REFUSED)
