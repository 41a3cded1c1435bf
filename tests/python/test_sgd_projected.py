"""Projected noisy SGD: projections, losses, the law of its result, its guarantee."""

import math

import numpy as np
import pytest
from each import refused
from numpy.testing import assert_allclose, assert_array_equal
from test_iteration_recursion import CELLS, ETA, Grid

from renyi.noise import SecureGenerator
from renyi.sgd import DPSGD, PNSGD, SGD, Ball, Box, LogisticLoss, RidgeLoss, TrainingPlan
from renyi.theory.iteration import DecayingNoise, shuffled_pass
from renyi.theory.online import online_delta, online_epsilon, online_worst

LOSSES = [RidgeLoss(1.5, 2.0, 0.3), LogisticLoss(1.5, 0.3)]
DOMAINS = [Ball(2.0, [0.5, -1.0, 0.0]), Box([-1.0, -2.0, 0.0], [1.0, 0.5, 3.0])]


def records_for(loss, rng, count):
    x = rng.normal(size=(count, 3))
    x *= (loss.feature_bound / np.maximum(np.linalg.norm(x, axis=1), 1e-9))[:, None]
    x[::2] *= rng.uniform(0, 1, (len(x[::2]), 1))
    y = rng.choice([-1.0, 1.0], count)
    return x * (1 - 1e-15), y * getattr(loss, "label_bound", 1.0)


@pytest.mark.parametrize("domain", DOMAINS)
def test_projections_are_the_nearest_points(domain):
    rng = np.random.default_rng(1)
    inside = np.array([domain.project(w) for w in rng.normal(0, 5, (300, 3))])
    for w in rng.normal(0, 5, (100, 3)):
        projected = domain.project(w)
        np.testing.assert_allclose(domain.project(projected), projected, rtol=1e-15, atol=1e-15)
        nearest = np.linalg.norm(inside - w, axis=1).min()
        assert np.linalg.norm(projected - w) <= nearest + 1e-12
        assert np.linalg.norm(projected) <= domain.largest_norm
    distances = np.linalg.norm(inside[:, None] - inside, axis=2)
    assert 0.9 * domain.diameter < distances.max() <= domain.diameter


def test_interval_is_a_box():
    interval = Box(-1.0, 3.0)
    assert interval.dimension == 1
    assert 4.0 <= interval.diameter < 4.0 + 1e-10
    assert interval.project(np.array([7.0])).tolist() == [3.0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("domain", DOMAINS)
def test_constants_of_losses_hold_and_are_nearly_reached(loss, domain):
    rng = np.random.default_rng(2)
    x, y = records_for(loss, rng, 400)
    x, y = loss.checked(x, y)
    points = [domain.project(w) for w in rng.normal(0, 5, (30, 3))]
    bound, largest = loss.lipschitz(domain), 0.0
    for w in points:
        gradients = np.array([loss.gradient(w, a, b) for a, b in zip(x, y, strict=True)])
        gaps = np.linalg.norm(gradients[:, None] - gradients, axis=2)
        largest = max(largest, gaps.max())
    assert bound < largest <= 2 * bound
    ratios = []
    for _ in range(1000):
        v, w = (points[i] for i in rng.integers(len(points), size=2))
        k = rng.integers(len(x))
        apart = v - w
        if apart @ apart > 1e-12:
            change = loss.gradient(v, x[k], y[k]) - loss.gradient(w, x[k], y[k])
            ratios.append(change @ apart / (apart @ apart))
            assert np.linalg.norm(change) <= loss.smoothness * np.linalg.norm(apart) * (1 + 1e-12)
    assert loss.strong_convexity * (1 - 1e-9) <= min(ratios)
    assert max(ratios) <= loss.smoothness


@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_without_noise_contracts_as_claimed(loss):
    rng = np.random.default_rng(3)
    eta = 0.9 * 2 / (loss.smoothness + loss.strong_convexity)
    learner = PNSGD(DOMAINS[0], loss, step_size=eta)
    x, y = records_for(loss, rng, 50)
    for _ in range(500):
        v, w = (DOMAINS[0].project(z) for z in rng.normal(0, 3, (2, 3)))
        k = rng.integers(len(x))
        moved = [z - eta * loss.gradient(z, x[k], y[k]) for z in (v, w)]
        apart = np.linalg.norm(moved[0] - moved[1])
        assert apart <= learner.descent.contraction * np.linalg.norm(v - w) + 1e-12


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_last_iterate_has_the_computed_law(noise):
    # (w x - y)^2/2 with x = 1: the gradient w - y of the chain on the grid
    learner = PNSGD(Box(-1.0, 1.0), RidgeLoss(1.0, 1.0, 0.0), step_size=ETA, noise=noise)
    records = np.array([1.0, -0.4, 0.7])
    scales = np.array([2.0, 1.0, 0.7])
    generator = SecureGenerator(insecure_reproducible=4)
    found = [
        learner.run(
            np.ones((3, 1)), records, noise=scales, order="online", generator=generator
        ).weights[0]
        for _ in range(2000)
    ]
    grid = Grid(noise, 1.0, 1.0)
    expected = np.cumsum(grid.law_of_last(records, scales))[:-1]
    observed = np.searchsorted(np.sort(found), grid.edges) / len(found)
    # Kolmogorov: above 2.2/sqrt(N) with probability 1e-4; and half a cell for the grid
    assert np.abs(observed - expected).max() < 2.2 / math.sqrt(len(found)) + 1.0 / CELLS


def test_shuffled_records_come_in_every_order():
    # steps that forget all but the last record: the result is near it
    learner = PNSGD(Box(-1.0, 1.0), RidgeLoss(1.0, 1.0, 0.0), step_size=1.0)
    generator = SecureGenerator(insecure_reproducible=5)
    labels = np.array([-0.5, 0.0, 0.5])
    last = [
        learner.run(np.ones((3, 1)), labels, noise=1e-3, generator=generator).weights[0]
        for _ in range(900)
    ]
    counts = np.histogram(last, bins=[-0.75, -0.25, 0.25, 0.75])[0]
    assert counts.sum() == 900
    assert (np.abs(counts - 300) < 75).all()


def test_the_guarantee_is_that_of_the_theorem():
    loss = LogisticLoss(1.0, 0.05)
    learner = PNSGD(Ball.around_zero(1.0, 2), loss, step_size=0.5)
    rng = np.random.default_rng(7)
    x, y = rng.uniform(-0.7, 0.7, (200, 2)), rng.choice([-1.0, 1.0], 200)
    run = learner.run(x, y, noise=4.0)
    descent = learner.descent
    delta = shuffled_pass(descent, 200, epsilon=1, scale=4)
    assert run.get_delta(1.0) == run.get_delta(1.0, record=3) == delta
    assert run.get_epsilon(1e-4) == shuffled_pass(descent, 200, delta=1e-4, scale=4.0)
    scales = DecayingNoise(descent, c1=10.0, c2=5.0)
    run = learner.run(x, y, noise=scales, order="online")
    assert run.get_delta(1.0) == online_worst(descent, 1.0, scales, 200).delta
    assert run.get_delta(1.0, record=9) == online_delta(descent, 1.0, scales, 200, 10)
    assert run.get_delta(1.0, record=9) < run.get_delta(1.0)
    assert run.get_epsilon(0.01) == online_epsilon(descent, 0.01, scales, 200)
    assert np.linalg.norm(run.weights) <= 1.0 + 1e-12


def test_runs_differ_and_can_be_repeated_for_tests_only():
    learner = PNSGD(Box(-1.0, 1.0), RidgeLoss(1.0, 1.0, 0.1), step_size=0.1)
    x, y = np.ones((5, 1)), np.zeros(5)
    assert learner.run(x, y, 1.0).weights != learner.run(x, y, 1.0).weights
    again = [
        learner.run(x, y, 1.0, generator=SecureGenerator(insecure_reproducible=8)).weights
        for _ in range(2)
    ]
    assert again[0] == again[1]


def test_batches_are_steps_with_the_mean_gradient():
    loss = RidgeLoss(1.0, 1.0, 0.1)
    x = np.linspace(-1.0, 1.0, 12)[:, None]
    y = 0.5 * x[:, 0]
    learner = PNSGD(Box(-1.0, 1.0), loss, step_size=0.2, batch_size=3)
    w = np.zeros(1)
    for k in range(4):
        part = slice(3 * k, 3 * k + 3)
        each = [loss.gradient(w, a, b) for a, b in zip(x[part], y[part], strict=True)]
        w = np.clip(w - 0.2 * np.mean(each, axis=0), -1.0, 1.0)
    still = learner.run(x, y, [1e-12] * 4, order="online")
    assert still.weights == pytest.approx(w, rel=1e-9)
    noise = [1.0, 2.0, 3.0, 4.0]
    run = learner.run(x, y, noise, order="online")
    single = PNSGD(Box(-1.0, 1.0), loss, step_size=0.2)
    assert run.n == 4
    assert run.descent.record_shift == pytest.approx(single.descent.record_shift / 3)
    deltas = [run.get_delta(1.0, record) for record in range(12)]
    assert deltas == [online_delta(run.descent, 1.0, noise, 4, 1 + k // 3) for k in range(12)]
    shuffled = learner.run(x, y, 2.0)
    assert shuffled.get_delta(1.0) == shuffled_pass(learner.descent, 4, epsilon=1.0, scale=2.0)
    with pytest.raises(ValueError, match="features must have a multiple of 3 rows, got 11"):
        learner.run(x[1:], y[1:], 2.0)
    with pytest.raises(ValueError, match=r"record must be an integer in \[0, 11\]"):
        run.get_delta(1.0, 12)


# --- DPSGD on a convex set


PLAN = TrainingPlan(100, 10, noise_multiplier=1.0, steps=30)


def trained(parameters, domain, steps=20, rate=0.5):
    generator = SecureGenerator(insecure_reproducible=3)
    optimizer = DPSGD(parameters, PLAN, SGD(rate), domain=domain, generator=generator)
    rng = np.random.default_rng(5)
    single = isinstance(parameters, np.ndarray)
    for _ in range(steps):
        given = [parameters] if single else parameters
        grads = [rng.normal(1.0, 1.0, (10, *p.shape)).astype(p.dtype) for p in given]
        yield optimizer, optimizer.step(grads[0] if single else grads)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_iterates_are_the_nearest_points(dtype):
    weights, bias = np.zeros((2, 3), dtype), np.full(1, 0.25, dtype)
    ball = Ball(0.5, np.arange(7) / 10.0)
    before = np.concatenate([weights.ravel(), bias])
    moved = 0
    for _, gradients in trained([weights, bias], ball):
        after = np.concatenate([weights.ravel(), bias])
        free = before - 0.5 * np.concatenate([g.ravel() for g in gradients])
        assert_allclose(after, ball.project(free), atol=1e-6)
        moved += not np.allclose(after, free)
        assert np.linalg.norm(after - ball.centre) <= 0.5 * (1 + 1e-6)
        before = after
    assert moved


def test_nothing_else_changes():
    free, bound = np.zeros(3), np.zeros(3)
    runs = zip(trained(free, None), trained(bound, Box([-9.0] * 3, [9.0] * 3)), strict=True)
    for (one, first), (other, second) in runs:
        assert_array_equal(first, second)
        assert_array_equal(free, bound)
        assert one.get_epsilon(1e-5) == other.get_epsilon(1e-5)


def test_resumes_on_the_domain():
    w, again = np.zeros(1), np.zeros(1)
    optimizer, _ = list(trained(w, Box(-0.1, 0.1)))[-1]
    generator = SecureGenerator(insecure_reproducible=4)
    other = DPSGD(again, PLAN, SGD(0.5), domain=Box(-0.1, 0.1), generator=generator)
    other.load_state_dict(optimizer.state_dict(secrets=True))
    assert_array_equal(w, again)
    other.step(np.full((10, 1), 100.0))
    assert abs(again[0]) <= 0.1


def test_far_points():
    for scale in (1e-300, 1.0, 1e160, 1e307):
        far = Ball(2.0, [0.0, 0.0]).project(scale * np.array([3.0, -4.0]))
        assert_allclose(far, min(2.0, 5.0 * scale) * np.array([0.6, -0.8]), rtol=1e-14)


BALL, LOSS, RIDGE = Ball.around_zero(1.0, 2), LogisticLoss(1.0, 0.05), RidgeLoss(1.0, 0.5, 0.0)
LEARNER, X, Y = PNSGD(BALL, LOSS, step_size=0.5), np.full((4, 2), 0.5), np.ones(4)


def ran(x=X, y=Y, noise=1.0, **settings):
    return lambda: LEARNER.run(x, y, noise, **settings)


def trained_on(domain):
    return lambda: DPSGD(np.zeros(3), PLAN, SGD(0.1), domain=domain)


REFUSED = {
    ValueError: [
        (lambda: PNSGD(BALL, LOSS, step_size=6.0), "step_size must be at most 2"),
        (
            lambda: PNSGD(BALL, LOSS, step_size=0.5, noise="laplace"),
            "noise must be 'gaussian' in 2 dimensions",
        ),
        (ran(2 * X), r"features must have rows of norm <= 1.0"),
        (ran(X * math.nan), r"features must have rows of norm <= 1.0"),
        (ran(2 * X), r"the feature bound, got others$"),
        (ran(X[:, :1]), "features must have 2 columns"),
        (ran(y=0 * Y), "labels must be -1 or 1"),
        (ran(y=Y[:3]), "labels must be 4 numbers"),
        (lambda: PNSGD(BALL, RIDGE, step_size=0.5).run(X, Y, 1.0), "labels must be in"),
        (lambda: RIDGE.checked(X, Y), r"the label bound, got others$"),
        (ran(noise=0.0), "must be a number in"),
        (ran(noise=[1.0] * 3, order="online"), "noise must be"),
        (ran(order="random"), "order must be"),
        (ran(start=[0.0]), "start must be 2 finite numbers"),
        (lambda: ran()().get_delta(1.0, record=4), "record must be an integer in"),
        (lambda: Box(1.0, 1.0), "lower must be below upper"),
        (lambda: Ball(0.0, [0.0]), "radius must be"),
        (lambda: Box([0.0], [1.0, 2.0]), "upper must be of the length of lower"),
        (trained_on(Ball(1.0, [0.0, 0.0])), "as many dimensions as the parameters, 3, got <Ball"),
    ],
    TypeError: [
        (ran(noise=[1.0] * 4), r"noise must be one number for a shuffled pass, got list$"),
        (trained_on(1.0), "domain must be a Ball or a Box, got 1.0"),
    ],
}
test_conditions_are_checked = refused(REFUSED)
