"""Skellam, staircase and multivariate discrete Gaussian noise beside sums over the lattice."""

from __future__ import annotations

import math

import numpy as np
import pytest
from each import slow
from lattice_pairs import Lattice, divergence
from mpmath import mp

from renyi import (
    Gaussian,
    PLDAccountant,
    PoissonSampled,
    RDPAccountant,
    Skellam,
    Staircase,
    reference,
)
from renyi.accountants import UnsupportedMechanismError
from renyi.mechanisms import (
    FixedSizeSampled,
    Mechanism,
    MultivariateDiscreteGaussian,
    ShuffledBatches,
)
from renyi.theory.subsampling import poisson_rdp

ORDERS = [1.25, 2.0, 17.5]


def excess(masses, epsilon):
    """Delta of pairs of masses."""
    return mp.fsum(max(p - mp.exp(epsilon) * q, mp.zero) for p, q in masses)


@pytest.mark.parametrize(("variance", "shift"), [(0.5, 1), (10.0, 3), *slow((100.0, 4))])
@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_skellam(variance, shift, adjacency):
    moved = shift * (2 if adjacency == "replace_one" else 1)
    found = RDPAccountant(adjacency=adjacency).compose(Skellam(variance, shift)).get_rdp(ORDERS)
    for alpha, rdp in zip(ORDERS, found, strict=True):
        assert reference.rdp(reference.skellam_pair(variance, moved), alpha, 12) <= rdp
    assert (
        found[1] <= 1.5 * reference.rdp(reference.skellam_pair(variance, moved), 2, 12)
        or variance < 50.0
    )
    size = int(30 * math.sqrt(variance) + 60)
    laws = [mp.besseli(k, variance) * mp.exp(-variance) for k in range(size + moved + 1)]
    masses = [(laws[abs(x - moved)], laws[abs(x)]) for x in range(-size, size + moved + 1)]
    accountant = PLDAccountant(adjacency=adjacency).compose(Skellam(variance, shift))
    for epsilon in 0.0, 0.1, 1.0, 3.0:
        low, high = accountant.get_delta_bounds(epsilon)
        truth = excess(masses, epsilon)
        assert low * (1 - 1e-13) <= truth <= high
        assert high - low <= 1e-4 * high


def skellam_masses(variance, size):
    """Masses at 0, ..., size - 1: Bessel functions by recurrence, which is stable downwards."""
    values, v = [mp.zero, mp.mpf(10) ** -mp.dps], mp.mpf(variance)
    for k in range(size + 60 + int(4 * variance), 0, -1):
        values.append(values[-2] + 2 * k / v * values[-1])
    values = values[:1:-1]
    total = values[0] + 2 * mp.fsum(values[1:])
    return [value / total for value in values[:size]]


@pytest.mark.parametrize("variance", [64.0, *slow(0.05, 0.5, 2.0, 10.0, 400.0)])
def test_skellam_divergences_are_below_the_theorems(variance):
    """Agarwal, Kairouz and Liu's bound at whole orders, and its chords between them."""
    orders, shifts = [1.5, 2.0, 7.0, 20.0, 33.3, 64.0], [1, 2, 12]
    with mp.workdps(30):
        size = int(900 + 2 * variance)  # terms are largest before alpha s + v
        laws = skellam_masses(variance, size + max(shifts) + 1)
        assert abs(laws[3] / (mp.besseli(3, variance) * mp.exp(-variance)) - 1) < 1e-20
        logs = [mp.log(law) for law in laws]
        for shift in shifts:
            found = RDPAccountant().compose(Skellam(variance, shift)).get_rdp(orders)
            for alpha, rdp in zip(orders, found, strict=True):
                a, v, s = mp.mpf(alpha), mp.mpf(variance), mp.mpf(shift)
                terms = [
                    mp.exp(a * logs[abs(x - shift)] + (1 - a) * logs[abs(x)])
                    for x in range(-size, size)
                ]
                assert terms[-1] < 1e-6 * max(terms)
                truth = mp.log(mp.fsum(terms)) / (a - 1)
                assert truth <= rdp
                first = ((2 * a - 1) * s**2 + 6 * s) / (4 * v**2)
                bound = a * s**2 / (2 * v) + min(first, 3 * s / (2 * v))
                if alpha.is_integer() and alpha <= 20.0:  # larger ones are on a coarser grid
                    assert rdp == pytest.approx(float(bound), rel=1e-13)
                    assert rdp >= bound
                if alpha >= 2.0 and variance >= 64.0 and alpha * shift <= variance / 8:
                    assert rdp <= 1.1 * truth


@pytest.mark.parametrize("epsilon", [1e-3, 0.7, 4.0, 40.0])
@pytest.mark.parametrize("gamma", [0.0, 0.125, 0.5, 0.8125, 1.0])
def test_staircase(epsilon, gamma):
    mechanism = Staircase(epsilon, gamma)
    found = RDPAccountant().compose(mechanism).get_rdp(ORDERS)
    for alpha, rdp in zip(ORDERS, found, strict=True):
        truth = reference.rdp(reference.staircase_pair(epsilon, gamma), alpha, 20)
        assert truth <= rdp <= truth * (1 + mp.mpf("1e-9"))
    # The three losses, the larger with the mass that its moment of order 2 tells.
    e = mp.mpf(epsilon)
    with mp.workdps(40):
        second = mp.expm1(reference.rdp(reference.staircase_pair(epsilon, gamma), 2, 30))
        larger = second / (mp.exp(e) + mp.exp(-2 * e) - 1 - mp.exp(-e))
    accountant = PLDAccountant().compose(mechanism)
    for at in 0.0, 0.5 * epsilon, 0.999 * epsilon:
        low, high = accountant.get_delta_bounds(at)
        truth = -larger * mp.expm1(mp.mpf(at) - e)
        assert low * (1 - 1e-12) <= truth <= high * (1 + 1e-15)
        assert high <= truth * (1 + mp.mpf("1e-3"))
    assert accountant.get_delta(epsilon * (1 + 1e-9)) <= 1e-12


# --- vectors


ADDED = [(3,), (1, 1), *slow(((1,),), ((2, -1),))]
SIGMAS = [0.3, 1.2, *slow(0.6)]
RATES = [0.001, 0.7]
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


# What two records add, each to a sample of the rest; the farthest two are a replacement apart.
REPLACED = [
    [(1,), (-1,)],
    *slow([(2,), (1,)], [(1, 1), (-1, 1)], [(2, 1), (0, 0)]),
    [(1, 0), (0, 1)],
]


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
