"""Epochs of which only the last iterate is seen, against closed forms and exact recursions."""

import math

import numpy as np
import pytest

from renyi import special
from renyi.theory.last_iterate import epochs_mu, last_iterate_mu, shuffled_epochs_delta


def closed_form(c, batches, epochs):
    """mu s/d of Bok, Su, Altschuler 2024 for batches in a fixed order."""
    if c == 1.0:
        return math.sqrt(1 + (epochs - 1) / batches)
    grown = c ** (batches * (epochs - 1))
    first = c ** (2 * batches - 2) * (1 - c * c) / (1 - c**batches) ** 2
    return math.sqrt(1 + first * (1 - grown) / (1 + grown))


@pytest.mark.parametrize("c", [0.3, 0.9, 0.99, 0.9999, 1.0])
def test_batches_in_a_fixed_order(c):
    for batches, epochs in ((20, 5), (10, 50), (3, 200), (40, 2), (7, 1)):
        found = epochs_mu(0.2, c, 2.0, epochs=epochs, batches=batches)
        exact = 0.1 * closed_form(c, batches, epochs)
        assert exact * (1 - 1e-12) <= found.mu <= exact * (1 + 1e-9)
        assert found.composed == pytest.approx(0.1 * math.sqrt(epochs), rel=1e-14)


@pytest.mark.parametrize("c", [0.3, 0.9, 0.99, 1.0])
def test_all_data_in_every_step_is_exact_for_linear_gradients(c):
    for steps in (1, 2, 30, 1000):
        weights = c ** np.arange(steps)
        exact = 0.5 * weights.sum() / math.sqrt((weights**2).sum())  # of N(sum, sum of squares)
        found = epochs_mu(1.0, c, 2.0, epochs=steps).mu
        assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-9)
    if c < 1.0:
        limit = math.sqrt((1 + c) / (1 - c)) / 2
        assert epochs_mu(1.0, c, 2.0, epochs=100_000).mu == pytest.approx(limit, rel=1e-9)


def test_no_other_budget_is_smaller():
    rng = np.random.default_rng(2)
    for _ in range(60):
        steps, c = int(rng.integers(2, 30)), rng.uniform(0.5, 1.0)
        shifts = rng.exponential(size=steps) * (rng.random(steps) < 0.4)
        shifts[0] += 0.1
        best = last_iterate_mu(shifts, c, 1.0)
        diameter = rng.exponential() * 3
        inside = last_iterate_mu(shifts, c, 1.0, diameter=diameter)
        assert inside <= best
        for _ in range(50):
            for start, apart, mu in ((0, 0.0, best), (int(rng.integers(steps)), diameter, inside)):
                square = 0.0
                for k in range(start, steps):
                    reach = c * apart + shifts[k]
                    share = 1.0 if k == steps - 1 else rng.beta(0.5, 0.5)
                    square += (share * reach) ** 2
                    apart = (1 - share) * reach
                assert math.sqrt(square) >= mu * (1 - 1e-12) or mu is inside


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def run_on_a_grid(shifts, slope, half, scale, start):
    """The law of the last iterate of w <- Proj(w - g(w) + shift + noise), clipped gradient g."""
    grid = np.linspace(-half, half, 401)
    law = np.zeros(len(grid))
    law[np.argmin(abs(grid - start))] = 1.0
    from_there = grid - slope * np.clip(grid, -0.5, 0.5)  # Huber's loss: convex, slope < 1
    edges = np.concatenate([[-np.inf], 0.5 * (grid[1:] + grid[:-1]), [np.inf]])
    for shift in shifts:
        z = (edges[None, :] - (from_there[:, None] + shift)) / scale
        below = 0.5 * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))
        law = law @ np.diff(below, axis=1)
    return law


def test_a_clipped_gradient_on_an_interval():
    # iterates are rounded to a grid, which may take them apart by another cell
    half, scale, slope = 1.0, 0.3, 0.4
    cell = 2 * half / 400
    for batches, epochs in ((1, 12), (4, 4)):
        pattern = np.zeros(batches)
        pattern[-1] = 0.1
        shifts = np.tile(pattern, epochs)
        laws = [run_on_a_grid(sign * 0.5 * shifts, slope, half, scale, 0.0) for sign in (-1.0, 1.0)]
        moved = np.where(shifts > 0, 0.1, 0.0) + cell
        mu = last_iterate_mu(moved, 1.0, scale, diameter=2 * half)
        for epsilon in (0.0, 0.3, 1.0):
            exact = max(hockey_stick(*laws, epsilon), hockey_stick(*laws[::-1], epsilon))
            assert 0.0 <= exact <= special.gaussian_delta_upper(mu, epsilon)
            assert exact > 0.0 or epsilon > 0.0


def test_the_domain_ends_the_growth():
    inside = [epochs_mu(0.1, 1.0, 1.0, epochs=n, diameter=1.0).mu for n in (10, 100, 10_000)]
    assert inside[0] == pytest.approx(0.1 * math.sqrt(10), rel=1e-9)
    assert inside[1] == pytest.approx(inside[2], rel=1e-9)
    assert inside[2] == pytest.approx(math.sqrt(4 * 0.1), rel=1e-9)  # (D + d n)^2/n at n = D/d
    paper = math.sqrt(3 * 0.1 + 0.1**2 * math.ceil(1 / 0.1))
    assert inside[2] <= paper * (1 + 1e-9)
    for batches in (10, 20, 40):
        paper = math.sqrt(3 * 0.1 / batches + 0.1**2 * (1 + 10 / batches))
        for epochs in (100, 1000):
            run = epochs_mu(0.1, 1.0, 1.0, epochs=epochs, batches=batches, diameter=1.0)
            assert run.mu <= paper * (1 + 1e-9)


def test_shuffled_epochs_against_the_mean_over_orders_of_linear_runs():
    c, scale, shift, batches, epochs = 0.8, 0.2, 0.3, 5, 3
    weights = c ** np.arange(batches * epochs)[::-1]
    spread = scale * math.sqrt((weights**2).sum())
    for epsilon in (0.0, 1.0):
        means = [
            sum(shift * weights[e * batches + k] for e, k in enumerate(order)) / spread
            for order in np.ndindex(*(batches,) * epochs)
        ]
        exact = float(np.mean([special.gaussian_delta(mu, epsilon) for mu in means]))
        arguments = {"epochs": epochs, "batches": batches}
        found = shuffled_epochs_delta(shift, c, scale, epsilon, **arguments)
        fixed = epochs_mu(shift, c, scale, **arguments).get_delta(epsilon)
        assert exact <= found <= fixed


def test_later_use_is_worse():
    for c in (0.5, 0.95, 1.0):
        values = []
        for position in range(6):
            shifts = np.zeros(12)
            shifts[[position, 11]] = 1.0
            values.append(last_iterate_mu(shifts[position:], c, 1.0))
        assert (np.diff(values) >= -1e-12).all()


def test_arguments():
    for bad in ([], [[1.0]], [-1.0]):
        with pytest.raises(ValueError, match="shifts must be"):
            last_iterate_mu(bad, 0.5, 1.0)
    with pytest.raises(ValueError, match="diameter must be"):
        last_iterate_mu([1.0], 0.5, 1.0, diameter=0.0)
    with pytest.raises(ValueError, match="contraction must be"):
        last_iterate_mu([1.0], 1.5, 1.0)
    with pytest.raises(ValueError, match="epochs times batches must be"):
        epochs_mu(1.0, 0.5, 1.0, epochs=10**4, batches=10**4)
    assert last_iterate_mu([0.0, 0.0], 0.5, 1.0) == 0.0
    assert last_iterate_mu([1.0, 0.0], 0.0, 1.0) <= 5e-324
    run = epochs_mu(0.2, 0.99, 1.0, epochs=10, batches=20)
    assert run.get_delta(run.get_epsilon(1e-5)) <= 1e-5
