"""The subsampling theorem and its Rényi twin, against all samples of small data sets."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scheme_enumeration import delta as exact_delta

from renyi import special
from renyi.theory.composition import advanced_composition
from renyi.theory.noise import gaussian_calibration
from renyi.theory.subsampling import subsampled, subsampled_rdp


def renyi(p, q, order):
    return math.log((p**order * q ** (1.0 - order)).sum()) / (order - 1.0)


def random_mechanism(rng, largest):
    """The law of an output for each number of ones in the sample."""
    laws = [rng.dirichlet(np.full(4, 0.7)) + 1e-4 for _ in range(largest + 1)]
    return [law / law.sum() for law in laws]


def fixed_size(laws, data, size):
    samples = list(itertools.combinations(data, size))
    return sum(laws[sum(sample)] for sample in samples) / len(samples)


def poisson(laws, data, rate):
    found = np.zeros_like(laws[0])
    for kept in itertools.product([0, 1], repeat=len(data)):
        weight = math.prod(rate if one else 1.0 - rate for one in kept)
        found += weight * laws[sum(x for x, one in zip(data, kept, strict=True) if one)]
    return found


def fixed_pairs(laws, size, population):
    """Laws of samples of data with one 0 more or one 1 more."""
    by_ones = [
        fixed_size(laws, [1] * ones + [0] * (population - ones), size)
        for ones in range(population + 1)
    ]
    return itertools.pairwise(by_ones)


def poisson_pairs(laws, rate, others):
    """Laws of samples without a record and with it."""
    for ones in range(others + 1):
        data = [1] * ones + [0] * (others - ones)
        yield poisson(laws, data, rate), poisson(laws, [*data, 1], rate)


def worst(divergence, pairs, at):
    return max(divergence(*both, at) for p, q in pairs for both in ((p, q), (q, p)))


@pytest.mark.parametrize(
    ("rate", "largest", "pairs"),
    [
        *((k / 5, k, lambda laws, k=k: fixed_pairs(laws, k, 5)) for k in (1, 2, 4, 5)),
        *((r, 4, lambda laws, r=r: poisson_pairs(laws, r, 3)) for r in (0.05, 0.3, 0.9)),
    ],
)
def test_samples_of_small_data(rate, largest, pairs):
    rng = np.random.default_rng(largest)
    for _ in range(25):
        laws = random_mechanism(rng, largest)
        for epsilon in (0.1, 0.6, 1.5):
            # samples that differ in one record: the number of ones differs by one
            delta = worst(exact_delta, itertools.pairwise(laws), epsilon)
            found = subsampled(epsilon, delta, rate)
            assert worst(exact_delta, pairs(laws), found.epsilon) <= found.delta + 1e-15


@pytest.mark.parametrize("q", [1e-4, 0.05, 0.5])
@pytest.mark.parametrize("sigma", [0.6, 2.0])
def test_it_is_an_equality_for_gaussian_noise(q, sigma):
    for epsilon in (0.1, 1.0, 4.0):
        base = gaussian_calibration(sigma=sigma, epsilon=epsilon)
        found = subsampled(epsilon, base, q)
        exact = float(special.sampled_gaussian_delta_remove(q, sigma, found.epsilon))
        assert exact <= found.delta
        assert exact == pytest.approx(found.delta, rel=1e-9)


@pytest.mark.parametrize("rate", [1e-300, 1e-9, 0.01, 0.7, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 0.5, 30.0, 699.0, 701.0, 1e5])
def test_forth_and_back(rate, epsilon):
    found = subsampled(epsilon, 1e-5, rate)
    with mp.workdps(700):
        exact = mp.log1p(mp.mpf(rate) * mp.expm1(mp.mpf(epsilon)))
        assert exact <= found.epsilon <= exact * (1 + mp.mpf(1e-10)) + mp.mpf(1e-320)
        assert mp.mpf(rate) * mp.mpf(1e-5) <= found.delta
    back = subsampled(epsilon, 1e-12, rate, inverse=True)
    with mp.workdps(700):
        exact = mp.log1p(mp.expm1(mp.mpf(epsilon)) / mp.mpf(rate))
        assert exact * (1 - mp.mpf(1e-10)) - mp.mpf(1e-320) <= back.epsilon <= exact
        assert back.delta <= min(mp.mpf(1e-12) / mp.mpf(rate), 1)
    again = subsampled(back.epsilon, back.delta, rate)
    assert again.epsilon <= epsilon * (1 + 1e-10) + 1e-320


def test_what_is_asked_of_a_sample_is_met_to_the_last_digit():
    rng = np.random.default_rng(8)
    asked = [(0.065, 0.0, 0.55), (700.0, 1e-300, 0.5), (5e-324, 5e-324, 0.5), (1e-300, 0.7, 1e-9)]
    exponents = rng.uniform((-12, -300, -12), (2.8, 0, 0), (4000, 3))
    for epsilon, delta, rate in asked + [tuple(row) for row in 10.0**exponents]:
        base = subsampled(epsilon, delta, rate, inverse=True)
        again = subsampled(*base, rate)
        assert again.epsilon <= epsilon
        assert again.delta <= delta
        if min(epsilon, delta) > 1e-300:  # hardly anything is given away
            assert again.epsilon > epsilon * (1 - 1e-11)
            assert base.delta == 1.0 or again.delta > delta * (1 - 1e-13)


def test_samples_of_an_epsilon_whose_exponential_overflows():
    for epsilon, rate in ((737.0, 5e-324), (720.0, 1e-310), (800.0, 1e-300), (1e4, 1e-3)):
        exact = mp.log1p(mp.mpf(rate) * mp.expm1(mp.mpf(epsilon)))
        found = subsampled(epsilon, 0.0, rate).epsilon
        assert exact <= found <= exact * (1 + 1e-10)


def test_edges():
    assert subsampled(math.inf, 1.0, 0.5) == (math.inf, pytest.approx(0.5))
    assert subsampled(0.0, 0.0, 0.5) == (0.0, 0.0)
    assert subsampled(0.0, 0.0, 0.5, inverse=True) == (0.0, 0.0)
    assert subsampled(1.0, 0.6, 0.5, inverse=True).delta == 1.0
    assert subsampled(math.inf, 0.1, 0.5, inverse=True).epsilon == math.inf
    # a record that is never in the sample, Claims 19 and 24 at r = 0
    assert subsampled(math.inf, 0.3, 0.0) == (0.0, 0.0)
    assert subsampled_rdp(3.0, 2.0, 0.0) == 0.0
    for epsilon in (1e-9, 0.4, 3.0):  # the linear form is weaker
        assert subsampled(epsilon, 0.0, 0.1).epsilon <= 0.1 * math.expm1(epsilon) * (1 + 1e-12)


def test_the_shorter_sum_of_the_text_is_not_implied():
    # sqrt(2 k r log(1/beta)) epsilon + 2 k r epsilon^2 = .8087 for a minibatch run
    rate, epochs, epsilon, slack = 0.01, 10, 0.5, 1e-5
    step = subsampled(epsilon, 0.0, rate).epsilon
    count = round(epochs / rate)
    found = [
        advanced_composition(step, slack, count=count, form=form).epsilon
        for form in ("independent", "adaptive")
    ]
    assert [round(value, 4) for value in found] == [1.0232, 1.0295]
    # 2 sqrt(2 k r log(1/beta)) epsilon + 8 k r epsilon^2, with its factors, is
    root = math.sqrt(2.0 * epochs * rate * math.log(1 / slack))
    assert found[1] <= 2.0 * root * epsilon + 8.0 * epochs * rate * epsilon**2


# Rényi divergences.


@pytest.mark.parametrize("order", [1.5, 2.0, 10.0])
def test_convexity_bounds_the_divergence_of_samples(order):
    rng = np.random.default_rng(7)
    for _ in range(20):
        laws = random_mechanism(rng, 3)
        rdp = worst(renyi, itertools.pairwise(laws), order)
        for rate, pairs in (
            (1 / 4, fixed_pairs(laws, 1, 4)),
            (3 / 4, fixed_pairs(laws, 3, 4)),
            (0.3, poisson_pairs(laws, 0.3, 2)),
        ):
            assert worst(renyi, pairs, order) <= subsampled_rdp(order, rdp, rate) * (1 + 1e-12)


def test_the_convexity_bound_is_linear_in_the_rate():
    found = subsampled_rdp(10.0, 10.0 / 32.0, 0.01)
    assert found == pytest.approx(0.01616, abs=5e-6)
    assert found > 400 * float(special.rdp_sampled_gaussian(0.01, 4.0, 10.0))
    # the weaker corollary r (e^((l-1) rho) - 1)/(l - 1)
    assert found <= 0.01 * math.expm1(9.0 * 10.0 / 32.0) / 9.0
    assert subsampled_rdp(3.0, 0.0, 0.5) == 0.0
    assert subsampled_rdp(3.0, 0.7, 1.0) == pytest.approx(0.7)
