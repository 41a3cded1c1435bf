"""DPSGD on a convex set: every iterate lies in it, and the accounting is that of the steps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from renyi.noise import SecureGenerator
from renyi.sgd import DPSGD, SGD, Ball, Box, TrainingPlan

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


@pytest.mark.parametrize(
    ("domain", "error", "message"),
    [
        (1.0, TypeError, "domain must be a Ball or a Box, got 1.0"),
        (Ball(1.0, [0.0, 0.0]), ValueError, "as many dimensions as the parameters, 3, got <Ball"),
    ],
)
def test_a_domain_must_fit(domain, error, message):
    with pytest.raises(error, match=message):
        DPSGD(np.zeros(3), PLAN, SGD(0.1), domain=domain)
