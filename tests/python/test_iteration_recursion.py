"""Amplification by iteration and last iterates against recursions on a grid and closed forms."""

import functools
import itertools
import math

import numpy as np
import pytest
from scheme_enumeration import delta as hockey_stick

from renyi import special
from renyi.theory.f_divergences import kernel_contraction
from renyi.theory.iteration import NoisyDescent, noise_divergence, shuffled_pass, step_contraction
from renyi.theory.last_iterate import epochs_mu, last_iterate_mu, shuffled_epochs_delta
from renyi.theory.online import online_deltas

CELLS = 101
ETA, BETA, RHO = 0.3, 1.0, 1.0  # loss (w - x)^2/2, records in [-1, 1]


def shuffled_delta(descent, epsilon, scale, n):
    return shuffled_pass(descent, n, epsilon=epsilon, scale=scale)


def cdf(law, x):
    if law == "gaussian":
        return np.array([0.5 * math.erfc(-v / math.sqrt(2.0)) for v in x.ravel()]).reshape(x.shape)
    return np.where(x < 0, 0.5 * np.exp(-np.abs(x)), 1.0 - 0.5 * np.exp(-np.abs(x)))


class Grid:
    """Descent on [-half, half] with the gradient ``slope * w - x``, rounded to a grid."""

    def __init__(self, law, half, scale, slope=1.0):
        self.law, self.scale = law, scale
        self.points = np.linspace(-half, half, CELLS)
        self.edges = 0.5 * (self.points[1:] + self.points[:-1])
        self.slope = slope
        self.kernel = functools.cache(self._kernel)

    def _kernel(self, record, scale=None):
        width = ETA * (self.scale if scale is None else scale)
        centres = self.points - ETA * (self.slope * self.points - record)
        below = cdf(self.law, (self.edges - centres[:, None]) / width)
        padded = np.pad(below, ((0, 0), (1, 1)), constant_values=((0, 0), (0.0, 1.0)))
        return np.maximum(np.diff(padded, axis=1), 0.0)

    def law_of_last(self, records, scales=None):
        law = np.zeros(CELLS)
        law[CELLS // 2] = 1.0
        for t, record in enumerate(records):
            law = law @ self.kernel(record, None if scales is None else scales[t])
        return law


def worse(p, q, epsilon):
    return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))


def descent_of(law, half):
    # on [-half, half] the gradient w - x differs by at most 2 between records in [-1, 1]
    m = step_contraction(ETA, BETA, RHO)
    return NoisyDescent(ETA, 1.0, 2.0 * half, m, law)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("half", [0.5, 2.0])
def test_online_delta_bounds_the_computed_one_for_every_record(law, epsilon, half):
    rng = np.random.default_rng(1)
    descent = descent_of(law, half)
    for _ in range(3):
        scales = rng.uniform(0.7, 4.0, 4)
        grid = Grid(law, half, 1.0)
        records = rng.uniform(-1.0, 1.0, 4)
        deltas = online_deltas(descent, epsilon, scales, 4)
        for i, (here, there) in itertools.product(range(4), [(-1.0, 1.0), (0.3, -0.9)]):
            one, other = records.copy(), records.copy()
            one[i], other[i] = here, there
            p, q = grid.law_of_last(one, scales), grid.law_of_last(other, scales)
            exact = worse(p, q, epsilon)
            assert exact <= deltas[i] + 1e-14


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_shuffled_delta_bounds_the_average_over_all_orders(law, epsilon, scale):
    descent = descent_of(law, 1.0)
    grid = Grid(law, 1.0, scale)
    one, other = [1.0, 0.2, -0.5, 0.9], [-1.0, 0.2, -0.5, 0.9]

    def mixture(records):
        orders = list(itertools.permutations(records))
        return sum(grid.law_of_last(order) for order in orders) / len(orders)

    p, q = mixture(one), mixture(other)
    exact = worse(p, q, epsilon)
    assert exact <= shuffled_delta(descent, epsilon, scale, 4) + 1e-14
    assert exact > 0.0 or law == "laplace"


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("scale", [0.6, 1.5])
def test_batches_in_the_place_of_records(law, epsilon, scale):
    # the gradient is linear in the record: a batch of two is a step with their mean
    m = step_contraction(ETA, BETA, RHO)
    descent = NoisyDescent(ETA, 1.0, 2.0, m, law, batch_size=2)
    grid = Grid(law, 1.0, scale)
    one, other = (1.0, 0.2, -0.5, 0.9, 0.1, -1.0), (-1.0, 0.2, -0.5, 0.9, 0.1, -1.0)

    def law_of(order, records):
        means = [
            round(0.5 * (records[a] + records[b]), 9)
            for a, b in zip(order[::2], order[1::2], strict=True)
        ]
        return grid.law_of_last(means)

    deltas = online_deltas(descent, epsilon, scale, 3)
    for position in range(6):
        order = [*range(1, position + 1), 0, *range(position + 1, 6)]
        exact = worse(law_of(order, one), law_of(order, other), epsilon)
        assert exact <= deltas[position // 2] + 1e-14
    orders = list(itertools.permutations(range(6)))
    p, q = (sum(law_of(order, data) for order in orders) / len(orders) for data in (one, other))
    exact = worse(p, q, epsilon)
    assert exact <= shuffled_delta(descent, epsilon, scale, 3) + 1e-14
    assert exact > 0.0 or law == "laplace"


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("small", [0, 2])
def test_one_smaller_batch(law, epsilon, small):
    """Five records in batches of two and one of one, which is the first or the last."""
    scale, m = 0.8, step_contraction(ETA, BETA, RHO)
    grid = Grid(law, 1.0, scale)
    one, other = (1.0, 0.2, -0.5, 0.9, 0.1), (-1.0, 0.2, -0.5, 0.9, 0.1)
    cuts = [(0, 1), (1, 3), (3, 5)] if small == 0 else [(0, 2), (2, 4), (4, 5)]

    def law_of(order, records):
        return grid.law_of_last(
            [round(sum(records[k] for k in order[i:j]) / (j - i), 9) for i, j in cuts]
        )

    orders = list(itertools.permutations(range(5)))
    p, q = (sum(law_of(order, data) for order in orders) / len(orders) for data in (one, other))
    exact = worse(p, q, epsilon)
    full, rest = (NoisyDescent(ETA, 1.0, 2.0, m, law, batch_size=size) for size in (2, 1))
    (a, a_rest), b = (
        [noise_divergence(law, epsilon, one.record_shift, scale) for one in (full, rest)],
        noise_divergence(law, epsilon, full.state_shift, scale),
    )
    last = 0.4 * a * b * (1.0 - b**2) / (1.0 - b) + 0.2 * a_rest
    first = 0.4 * a * (1.0 - b**2) / (1.0 - b) + 0.2 * a_rest * b**2
    assert exact <= (first if small == 0 else last) + 1e-14
    assert exact > 0.0 or law == "laplace"


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.2])
def test_contraction_coefficient_is_the_largest_ratio(law, epsilon):
    rng = np.random.default_rng(2)
    half, scale = 1.0, 2.0
    descent = descent_of(law, half)
    kernel = Grid(law, half, scale).kernel(0.3)
    bound = noise_divergence(descent.noise, epsilon, descent.state_shift, scale)
    coefficient = kernel_contraction(kernel, epsilon)
    assert coefficient <= bound
    ratios = []
    for _ in range(300):
        p, q = rng.dirichlet(np.full(CELLS, 0.01)), rng.dirichlet(np.full(CELLS, 0.01))
        ratios.append(hockey_stick(p @ kernel, q @ kernel, epsilon) / hockey_stick(p, q, epsilon))
    ends = np.eye(CELLS)[[0, -1]]
    ratios.append(hockey_stick(*(ends @ kernel), epsilon) / hockey_stick(*ends, epsilon))
    assert max(ratios) <= coefficient
    assert ratios[-1] == pytest.approx(coefficient, rel=1e-9)  # point masses at the ends


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.2])
def test_coefficients_are_attained_where_nothing_is_cut_off(law, epsilon):
    # gradient -x: a step moves no two points closer, M = 1; the interval is wide beside the noise
    descent = NoisyDescent(ETA, 1.0, 1.0, 1.0, law)
    grid = Grid(law, 8.0, 3.0, slope=0.0)
    p, q = (grid.kernel(x)[CELLS // 2] for x in (1.0, -1.0))
    found = hockey_stick(p, q, epsilon)
    a = noise_divergence(descent.noise, epsilon, descent.record_shift, 3.0)
    assert found <= a
    assert found == pytest.approx(a, abs=0.03)
    at = np.searchsorted(grid.points, [-0.5 - 1e-9, 0.5 + 1e-9])
    p, q = grid.kernel(0.0)[at - [0, 1]]
    assert (
        noise_divergence(descent.noise, epsilon, descent.state_shift, 3.0)
        >= hockey_stick(p, q, epsilon) - 1e-14
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_kernel_contraction_of_two_points(epsilon):
    g = math.exp(epsilon)
    kernel = [[0.8, 0.2], [0.3, 0.7]]
    exact = max(0.8 - g * 0.3, 0.7 - g * 0.2, 0.0)
    assert exact <= kernel_contraction(kernel, epsilon) <= exact + 1e-14


def test_kernel_contraction_refuses_what_is_no_kernel():
    with pytest.raises(ValueError, match=r"kernel must be rows .* off by 0.1"):
        kernel_contraction([[0.5, 0.4], [0.5, 0.5]], 0.0)
    with pytest.raises(ValueError, match="kernel must be rows"):
        kernel_contraction([0.5, 0.5], 0.0)
    with pytest.raises(ValueError, match="epsilon must be a number in"):
        kernel_contraction([[1.0]], 800.0)


# --- epochs of which only the last iterate is seen


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
            exact = worse(*laws, epsilon)
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
