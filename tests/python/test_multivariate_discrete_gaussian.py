"""Discrete Gaussian vectors: the accountant's curve beside sums over the lattice."""

import math

import numpy as np
import pytest
from lattice_pairs import Lattice, divergence

from renyi import Gaussian, PLDAccountant, RDPAccountant
from renyi.accountants import UnsupportedMechanismError
from renyi.mechanisms import (
    ZCDP,
    FixedSizeSampled,
    Mechanism,
    MultivariateDiscreteGaussian,
    PoissonSampled,
    ShuffledBatches,
)
from renyi.theory.subsampling import poisson_rdp

ADDED = [(1,), (3,), (1, 1), (2, -1)]
SIGMAS = [0.3, 0.6, 1.2]
RATES = [0.001, 0.1, 0.7]
WHOLE, BETWEEN = [2, 3, 4], [1.5, 2.4, 3.8]


def multiplier(sigma, shift):
    """The noise multiplier of a record that adds this vector, rounded down."""
    return sigma / math.hypot(*shift) * (1 - 1e-15)


def rdp(mechanism, orders, adjacency="add_remove"):
    return RDPAccountant(adjacency=adjacency).compose(mechanism).get_rdp(orders)


@pytest.mark.parametrize("shift", ADDED)
@pytest.mark.parametrize("sigma", SIGMAS)
def test_alone_it_is_bounded_by_continuous_noise(sigma, shift):
    lattice = Lattice(sigma, [shift])
    mechanism = MultivariateDiscreteGaussian(multiplier(sigma, shift))
    for order, found in zip(WHOLE + BETWEEN, rdp(mechanism, WHOLE + BETWEEN), strict=True):
        truth = divergence(lattice.masses[1], lattice.masses[0], order)
        assert truth <= found
        if order in WHOLE:
            assert found <= truth * (1 + 1e-12)


@pytest.mark.parametrize("shift", ADDED)
@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("q", RATES)
def test_a_poisson_sample_is_exact_at_whole_orders_and_bounded_between(q, sigma, shift):
    lattice = Lattice(sigma, [shift])
    sampled, rest = lattice.mixture(q, 1), lattice.masses[0]
    mechanism = PoissonSampled(MultivariateDiscreteGaussian(multiplier(sigma, shift)), q)
    exact = {1: 0.0} | {order: divergence(sampled, rest, order) for order in WHOLE}
    for order, found in zip(WHOLE, rdp(mechanism, WHOLE), strict=True):
        assert exact[order] <= found <= exact[order] * (1 + 1e-11)
        assert divergence(rest, sampled, order) <= found
    for order, found in zip(BETWEEN, rdp(mechanism, BETWEEN), strict=True):
        low, part = math.floor(order), order - math.floor(order)
        chord = (1 - part) * (low - 1) * exact[low] + part * low * exact[low + 1]
        truth = divergence(sampled, rest, order)
        assert divergence(rest, sampled, order) <= truth <= found
        assert found <= chord / (order - 1) * (1 + 1e-11)


@pytest.mark.parametrize("q", RATES)
@pytest.mark.parametrize("z", [0.4, 1.1, 30.0])
def test_at_whole_orders_it_is_the_sampled_gaussian(q, z):
    orders = [2, 3, 17, 64, 1000]
    found = rdp(PoissonSampled(MultivariateDiscreteGaussian(z), q), orders)
    np.testing.assert_allclose(found, rdp(PoissonSampled(Gaussian(z), q), orders), rtol=1e-11)
    between = [1.5, 2.5, 17.3]
    found = rdp(PoissonSampled(MultivariateDiscreteGaussian(z), q), between)
    assert (found >= rdp(PoissonSampled(Gaussian(z), q), between)).all()


def test_smaller_vectors_lose_less():
    for q in RATES:
        losses = [
            divergence(lattice.mixture(q, 1), lattice.masses[0], 3)
            for lattice in (Lattice(1.3, [shift]) for shift in [(1, 0), (1, 1), (2, 0), (2, 1)])
        ]
        assert losses == sorted(losses)


# What two records add, each to a sample of the rest; the farthest two are a replacement apart.
REPLACED = [[(1,), (-1,)], [(2,), (1,)], [(1, 0), (0, 1)], [(1, 1), (-1, 1)], [(2, 1), (0, 0)]]


@pytest.mark.parametrize("shifts", REPLACED, ids=str)
@pytest.mark.parametrize("sigma", [0.4, 1.0])
def test_a_sample_of_a_fixed_size_is_bounded(sigma, shifts):
    lattice = Lattice(sigma, shifts)
    one, two = shifts
    apart = np.array([one, two, np.subtract(one, two)])
    half = np.sqrt((apart**2).sum(axis=1)).max() / 2
    base = MultivariateDiscreteGaussian(sigma / half * (1 - 1e-15))
    for size in (1, 30):
        p, q = (lattice.mixture(size / 100, number) for number in (1, 2))
        orders = WHOLE + BETWEEN
        found = rdp(FixedSizeSampled(base, size, 100), orders, "replace_one")
        assert all(divergence(p, q, a) <= f for a, f in zip(orders, found, strict=True))
        assert all(divergence(q, p, a) <= f for a, f in zip(orders, found, strict=True))
    assert rdp(FixedSizeSampled(base, 5, 5), [3.0], "replace_one") == pytest.approx(
        rdp(base, [3.0], "replace_one")
    )


def test_it_costs_next_to_nothing_more_than_continuous_noise():
    def epsilon(base):
        return RDPAccountant().compose(PoissonSampled(base, 0.01), 1000).get_epsilon(1e-5)

    continuous = epsilon(Gaussian(1.1))
    assert continuous <= epsilon(MultivariateDiscreteGaussian(1.1)) <= 1.01 * continuous
    assert epsilon(ZCDP(0.5 / 1.1**2)) == pytest.approx(epsilon(MultivariateDiscreteGaussian(1.1)))


def test_adjacency():
    base, alone = MultivariateDiscreteGaussian(2.0), [2.0, 7.5]
    np.testing.assert_allclose(rdp(base, alone), [0.25, 0.9375], rtol=1e-14)
    for adjacency, shift in (("zero_out", 1.0), ("replace_one", 2.0)):
        wanted = shift**2 * np.array([0.25, 0.9375])
        np.testing.assert_allclose(rdp(base, alone, adjacency), wanted, rtol=1e-14)
        shuffled = ShuffledBatches(base, 10)
        np.testing.assert_allclose(rdp(shuffled, alone, adjacency), wanted, rtol=1e-14)


def test_several_releases_on_one_sample_are_one_at_whole_orders():
    base = MultivariateDiscreteGaussian(2.0)
    both = rdp(PoissonSampled(base + base, 0.1), [2.0, 5.0, 9.0])
    once = rdp(PoissonSampled(MultivariateDiscreteGaussian(math.sqrt(2.0)), 0.1), [2.0, 5.0, 9.0])
    assert both == pytest.approx(once)


def test_what_is_refused():
    base = MultivariateDiscreteGaussian(1.0)
    for adjacency in ("add_remove", "replace_one"):
        for mechanism in (base, base + Gaussian(1.0), PoissonSampled(base, 0.1)):
            with pytest.raises(UnsupportedMechanismError, match="RDPAccountant takes it"):
                PLDAccountant(adjacency=adjacency).compose(mechanism)
    with pytest.raises(ValueError, match=r"noise_multiplier must be a number in \(0, inf\], got 0"):
        MultivariateDiscreteGaussian(0.0)


def test_a_value_like_others():
    base = MultivariateDiscreteGaussian(1)
    assert base.describe() == "Discrete Gaussian noise on a vector, multiplier 1"
    assert Mechanism.from_json((base * 3).to_json()) == base * 3
    assert rdp(PoissonSampled(MultivariateDiscreteGaussian(math.inf), 0.1), [2.0]) == 0.0
    tight = poisson_rdp(base, 0.1, 3, bound="tight")
    assert tight == poisson_rdp(base, 0.1, 3) < poisson_rdp(base, 0.1, 3, bound="general")
