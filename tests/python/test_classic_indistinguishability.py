"""Hockey-stick divergences and max divergences against enumeration of all sets."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from pair_reference import gaussian, laplace

from renyi import Laplace, pairs
from renyi.theory.indistinguishability import common_part, indistinguishability, loss_tail
from renyi.theory.noise import gaussian_calibration


def sets(size):
    return (
        list(chosen)
        for count in range(size + 1)
        for chosen in itertools.combinations(range(size), count)
    )


def random_pairs(count, size=5):
    rng = np.random.default_rng(11)
    for _ in range(count):
        p, q = rng.dirichlet(np.full(size, 0.5)), rng.dirichlet(np.full(size, 0.5))
        yield p / math.fsum(p), q / math.fsum(q)


def exact_delta(p, q, epsilon):
    return max(math.fsum(p[s]) - math.exp(epsilon) * math.fsum(q[s]) for s in sets(len(p)))


def alone(pair):
    pair = pairs.DiscretePair(*pair) if isinstance(pair, tuple) else pair
    return pairs.Composition([(pair, 1)])


def max_divergence(p, q, delta):
    found = -math.inf
    for s in sets(len(p)):
        mass, other = math.fsum(p[s]), math.fsum(q[s])
        if mass > delta:
            found = max(found, math.log((mass - delta) / other) if other else math.inf)
    return found


@pytest.mark.parametrize("epsilon", [-0.7, 0.0, 0.3, 1.0, 4.0])
def test_hockey_stick_is_the_best_set(epsilon):
    for p, q in random_pairs(40):
        lower, upper = alone((p, q)).delta_bounds(epsilon)
        exact = exact_delta(p, q, epsilon)
        assert lower - 1e-15 <= exact <= upper + 1e-16
        assert upper - lower <= 1e-13
        both = max(exact, exact_delta(q, p, epsilon))
        assert both <= indistinguishability((p, q), epsilon=epsilon).delta + 1e-16


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.1, 0.4])
def test_max_divergence_is_the_supremum_over_sets(delta):
    for p, q in random_pairs(10):
        lower, upper = alone((p, q)).epsilon_bounds(delta)
        exact = max_divergence(p, q, delta)
        assert lower - 1e-11 <= exact <= upper + 1e-12
        both = max(exact, max_divergence(q, p, delta), 0.0)
        found = indistinguishability((p, q), delta=delta).epsilon
        assert both - 1e-12 <= found <= both + 1e-11


def test_the_maximum_over_points_is_something_else():
    p, q = np.array([0.3, 0.3, 0.4]), np.array([0.1, 0.1, 0.8])
    by_points = max(math.log((a - 0.25) / b) for a, b in zip(p, q, strict=True))
    _, upper = alone((p, q)).epsilon_bounds(0.25)
    assert upper == pytest.approx(math.log(0.35 / 0.2))
    assert by_points < 0.0 < upper


def test_outcomes_that_only_one_has():
    pair = ([0.5, 0.5, 0.0], [0.0, 0.5, 0.5])
    assert indistinguishability(pair, epsilon=3.0).delta == pytest.approx(0.5)
    assert indistinguishability(pair, delta=0.4).epsilon == math.inf
    assert indistinguishability(pair, delta=0.51).epsilon <= 1e-9
    assert loss_tail(pair, 10.0) == pytest.approx((0.5, 0.5))


def test_equal_distributions_cannot_be_told_apart():
    pair = ([0.5, 0.5], [0.5, 0.5])
    assert indistinguishability(pair, epsilon=0.0).delta <= 1e-15
    assert indistinguishability(pair, delta=0.0).epsilon <= 1e-14


def test_a_tail_gives_a_guarantee_but_not_the_other_way():
    # Claim 2: (log(4/3), 1/3)-indistinguishable, but the loss exceeds log(4/3) with 3/5
    p, q = [0.4, 0.6], [0.6, 0.4]
    epsilon = math.log(4 / 3)
    assert indistinguishability((p, q), epsilon=epsilon).delta <= 1 / 3
    assert loss_tail((p, q), epsilon) == pytest.approx((0.6, 0.6))
    for a, b in random_pairs(60):
        for at in (0.1, 0.5, 2.0):
            tail = max(loss_tail((a, b), at)[1], loss_tail((b, a), at)[1])
            assert tail >= indistinguishability((a, b), epsilon=at).delta - 1e-15
            exact = a[np.log(a / b) > at].sum()
            assert loss_tail((a, b), at) == pytest.approx((exact, exact))


def normal_tail(mu, epsilon):
    with mp.workdps(40):
        t = mp.mpf(epsilon) / mp.mpf(mu) - mp.mpf(mu) / 2
        return mp.erfc(t / mp.sqrt(2)) / 2


def laplace_tail(largest, epsilon):
    """The loss |x| - |x - d| over the scale of a Laplace variable around d exceeds epsilon."""
    if epsilon >= largest:
        return mp.mpf(0)
    return 1 - mp.exp((mp.mpf(epsilon) - largest) / 2) / 2 if epsilon >= -largest else mp.mpf(1)


@pytest.mark.parametrize(
    ("part", "exact", "levels", "width"),
    [
        (gaussian(3.0), lambda e: normal_tail(3, e), (-2.0, 0.0, 4.0, 30.0), 1e-5),
        (gaussian(0.1), lambda e: normal_tail(0.1, e), (-0.3, 0.0, 0.4), 1e-5),
        ([(gaussian(0.5), 16)], lambda e: normal_tail(2, e), (-1.0, 2.0, 9.0), 1e-5),
        (laplace(1.0), lambda e: laplace_tail(1, e), (-0.5, 0.0, 0.5, 1.5), 1e-5),
        (laplace(2.5), lambda e: laplace_tail(mp.mpf(0.4), e), (-0.39, 0.3), 1e-5),
    ],
    ids=["gaussian", "little", "several", "laplace", "even"],
)
def test_tails_of_the_loss_are_enclosed(part, exact, levels, width):
    for epsilon in levels:
        lower, upper = loss_tail(part, epsilon)
        assert lower <= exact(epsilon) <= upper
        assert upper - lower <= width * upper + 1e-300
    assert loss_tail(part, math.inf) == (0.0, 0.0)
    assert loss_tail(part, -math.inf) == (1.0, 1.0)


def test_tails_take_the_pair_of_a_mechanism():
    pair = Laplace(2.5).dominating_pair()
    lower, upper = loss_tail(pair, 0.3)
    assert lower <= laplace_tail(mp.mpf(0.4), 0.3) <= upper <= lower * 1.00002
    assert loss_tail([(pair, 3)], 0.3) == loss_tail([(laplace(2.5), 3)], 0.3)


@pytest.mark.parametrize(
    ("pairs_of", "levels"), [(1, 2), pytest.param(4, 5, marks=pytest.mark.slow)]
)
def test_tails_of_compositions_of_finite_pairs(pairs_of, levels):
    """Each product of outcomes, with losses that are on no lattice; the atoms are few."""
    rng = np.random.default_rng(2)
    for p, q in random_pairs(pairs_of, size=3):
        many_p, many_q = p, q
        for _ in range(3):
            many_p, many_q = np.outer(many_p, p).ravel(), np.outer(many_q, q).ravel()
        losses = np.log(many_p / many_q)
        for epsilon in rng.uniform(losses.min(), losses.max(), levels):
            if np.abs(losses - epsilon).min() < 1e-3:
                continue
            lower, upper = loss_tail([((p, q), 4)], epsilon, rtol=1e-5)
            exact = many_p[losses > epsilon].sum()
            assert lower - 1e-12 <= exact <= upper + 1e-12
            assert upper - lower <= 1e-3


@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_densities_by_their_logarithms(sigma):
    def log_p(x):
        return -0.5 * ((x - 1.0) / sigma) ** 2 - math.log(sigma * math.sqrt(2.0 * math.pi))

    def log_q(x):
        return -0.5 * (x / sigma) ** 2 - math.log(sigma * math.sqrt(2.0 * math.pi))

    pair = pairs.DensityPair(log_p, log_q, -12.0 * sigma, 1.0 + 12.0 * sigma)
    for epsilon in (0.0, 0.4, 1.5):
        exact = gaussian_calibration(sigma=sigma, epsilon=epsilon)
        lower, upper = alone(pair).delta_bounds(epsilon)
        assert lower <= exact <= upper + 1e-12
        assert upper - lower <= 1e-11
    delta = gaussian_calibration(sigma=sigma, epsilon=0.4)
    assert indistinguishability(pair, delta=delta).epsilon == pytest.approx(0.4, abs=1e-9)


def test_a_loss_that_turns():
    # two bumps against one: the loss rises and falls twice
    def log_p(x):
        return np.log(
            0.5 * np.exp(-0.5 * (x - 2) ** 2) + 0.5 * np.exp(-0.5 * (x + 2) ** 2)
        ) - 0.5 * (np.log(2 * np.pi))

    def log_q(x):
        return -0.5 * (x / 2) ** 2 - np.log(2 * np.sqrt(2 * np.pi))

    pair = pairs.DensityPair(log_p, log_q, -20.0, 20.0)
    x = np.linspace(-20.0, 20.0, 400_001)
    excess = np.maximum(np.exp(log_p(x)) - math.exp(0.2) * np.exp(log_q(x)), 0.0)
    lower, upper = alone(pair).delta_bounds(0.2)
    assert lower - 1e-8 <= excess.sum() * (x[1] - x[0]) <= upper + 1e-8
    assert upper - lower < 1e-9


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 5.0, math.inf])
def test_the_common_part_is_kept_by_two_events(epsilon):
    for p, q in [*random_pairs(60), (np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5]))]:
        delta, kept_p, kept_q = common_part((p, q), epsilon)
        exact = max(exact_delta(a, b, min(epsilon, 600.0)) for a, b in ((p, q), (q, p)))
        assert exact - 1e-15 <= delta <= exact + 1e-13
        for kept, whole, other in ((kept_p, p, kept_q), (kept_q, q, kept_p)):
            assert kept.sum() == pytest.approx(1.0 - exact, abs=1e-14)
            assert (kept >= 0.0).all()
            assert (kept <= whole * (1 + 1e-15)).all()
            assert (kept <= math.exp(min(epsilon, 700.0)) * other * (1 + 1e-13)).all()
        if kept_p.sum() > 0.0:  # Claim 5: the laws given the events
            given_p, given_q = kept_p / kept_p.sum(), kept_q / kept_q.sum()
            both = np.maximum(given_p, given_q), np.minimum(given_p, given_q)
            assert (both[0] <= math.exp(min(epsilon, 700.0)) * both[1] * (1 + 1e-12)).all()


def test_events_give_a_guarantee():
    # the other way: whatever events of 1 - delta leave factors of e^epsilon, delta is enough
    rng = np.random.default_rng(5)
    for p, q in random_pairs(200):
        kept_p, kept_q = p * rng.uniform(0.5, 1.0, p.size), q * rng.uniform(0.5, 1.0, q.size)
        delta = 1.0 - min(kept_p.sum(), kept_q.sum())
        ratios = (kept_p / kept_p.sum()) / (kept_q / kept_q.sum())
        epsilon = float(np.abs(np.log(ratios)).max())
        assert indistinguishability((p, q), epsilon=epsilon).delta <= delta + 1e-14


def test_one_outcome_and_no_outcome_in_common():
    assert common_part(([1.0], [1.0]), 0.0).kept_p.tolist() == [1.0]
    apart = common_part(([1.0, 0.0], [0.0, 1.0]), 3.0)
    assert apart.delta == 1.0
    assert not apart.kept_p.any()
    assert not apart.kept_q.any()
