"""The bounds of samples beside each other and beside exact divergences."""

import math
from functools import partial

import mpmath as mp
import numpy as np
import pytest

from renyi import (
    ZCDP,
    ApproxDP,
    Gaussian,
    Laplace,
    PrivacyLoss,
    PureDP,
    RandomizedResponse,
    RDPAccountant,
    UnsupportedMechanismError,
    pairs,
    reference,
)
from renyi.theory.subsampling import fixed_size_rdp, poisson_rdp

ORDERS = np.array([2.0, 3.0, 4.0, 8.0, 31.0, 32.0, 200.0, 1000.0])


@pytest.mark.parametrize(
    "mechanism",
    [
        Gaussian(0.6),
        Gaussian(5.0),
        Laplace(0.5),
        Laplace(2.0),
        RandomizedResponse(0.6),
        PureDP(2.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("q", [1e-9, 1e-3, 0.1, 0.5, 0.99])
def test_bounds_are_in_order_and_the_tight_one_is_exact_at_whole_orders(mechanism, q):
    lower, best, tight, general = (
        poisson_rdp(mechanism, q, ORDERS, bound=bound)
        for bound in ("lower", "best", "tight", "general")
    )
    assert (lower <= best).all()
    assert (best <= tight * (1 + 1e-12)).all()
    assert (tight <= general).all()
    np.testing.assert_allclose(best, tight, rtol=1e-12)
    np.testing.assert_allclose(lower, tight, rtol=1e-12)
    assert (general <= (tight + np.log(3.0) / (ORDERS - 1.0)) * (1 + 1e-12)).all()


@pytest.mark.parametrize("mechanism", [Gaussian(1.0), Laplace(0.7), ZCDP(0.3)], ids=repr)
def test_between_whole_orders_bounds_stay_on_their_side(mechanism):
    orders = np.array([1.0, 1.2, 1.9, 2.5, 3.1, 7.7, 33.3])
    lower = poisson_rdp(mechanism, 0.05, orders, bound="lower")
    best = poisson_rdp(mechanism, 0.05, orders)
    general = poisson_rdp(mechanism, 0.05, orders, bound="general")
    assert (lower <= best * (1 + 1e-12)).all()
    assert (best <= general * (1 + 1e-12)).all()


def test_no_mechanism_needs_the_factor():
    """Skewed pairs, both orders of neighbours of the sample against divergences of the pair."""
    rng = np.random.default_rng(7)
    nearest, one_order = 0.0, 0.0
    for _ in range(4000):
        size = int(rng.integers(2, 5))
        p, q = (rng.dirichlet(np.full(size, rng.choice([0.2, 1.0]))) + 1e-6 for _ in range(2))
        p, q = p / p.sum(), q / q.sum()
        rate, alpha = rng.choice([1e-3, 0.1, 0.5, 0.9]), int(rng.integers(3, 12))
        orders = np.arange(alpha + 1)
        forward, backward = (
            (a[:, None] ** orders * b[:, None] ** (1.0 - orders)).sum(axis=0)
            for a, b in ((p, q), (q, p))
        )
        chosen = np.array([math.comb(alpha, k) for k in range(alpha + 1)])
        weights = chosen * rate**orders * (1.0 - rate) ** (alpha - orders)
        mixed = (1.0 - rate) * q + rate * p
        added = (q**alpha * mixed ** (1.0 - alpha)).sum() - 1.0
        both = (weights * (np.maximum(forward, backward) - 1.0)).sum()
        assert added <= both * (1.0 + 1e-9) + 1e-12
        nearest = max(nearest, added / both)
        one_order = max(one_order, added / (weights * (forward - 1.0)).sum())
    assert nearest > 0.999  # the bound is reached
    assert one_order > 3.0  # divergences of one order are not enough, not even with the factor


@mp.workdps(60)
def test_the_inequality_behind_it():
    rng = np.random.default_rng(8)
    for _ in range(300):
        alpha, q = int(rng.integers(2, 60)), mp.mpf(10 ** rng.uniform(-6, 0)) * mp.mpf("0.999")
        t = 3 * (1 - q) / (3 + 2 * (alpha - 2) * q)
        slope = (1 - alpha) * q - t * alpha * q - (1 - t) * (1 - alpha * q)
        for x in map(mp.mpf, [*10 ** rng.uniform(-4, 4, 20), 1.0 + 1e-4, 1.0 - 1e-4]):
            right = t * (1 - q + q * x) ** alpha + (1 - t) * x * (1 - q + q / x) ** alpha
            assert (1 - q + q * x) ** (1 - alpha) <= right + slope * (x - 1) + mp.mpf("1e-50")


def test_the_accountant_has_no_factor_either():
    for mechanism in ZCDP(0.1), Gaussian(1.0) + ZCDP(0.1):
        tight = poisson_rdp(mechanism, 0.1, ORDERS, bound="tight")
        assert (poisson_rdp(mechanism, 0.1, ORDERS) <= tight * (1 + 1e-12)).all()
        assert (tight < poisson_rdp(mechanism, 0.1, ORDERS, bound="general"))[ORDERS > 2.0].all()


@pytest.mark.parametrize(("sigma", "q"), [(1.0, 0.01), (4.0, 0.001), (10.0, 0.3), (2.0, 0.9)])
def test_the_accountants_bound_of_fixed_size_samples_is_the_smallest(sigma, q):
    best = fixed_size_rdp(Gaussian(sigma), q, ORDERS)
    for bound in "tight", "general", "mixture", "pure":
        other = fixed_size_rdp(Gaussian(sigma), q, ORDERS, bound=bound)
        assert (best <= other * (1 + 1e-9)).all(), bound


@pytest.mark.parametrize(("sigma", "q", "alpha"), [(1.0, 0.1, 3), (3.0, 0.3, 2), (0.8, 0.5, 5)])
def test_the_accountants_bound_holds_for_the_spliced_pair(sigma, q, alpha):
    """The divergence of the pair itself, by mpmath: positive losses one way, negative the other."""
    from mpmath import inf, mp, mpf, npdf, quad

    with mp.workdps(30):
        moved, rate = mpf(2) / mpf(sigma), mpf(q)

        def excess(r):
            return r**alpha - 1 - alpha * (r - 1)

        def integrand(x):
            plain = npdf(x)
            mixed = (1 - rate) * plain + rate * npdf(x - moved)
            return plain * excess(mixed / plain) + mixed * excess(plain / mixed)

        exact = mp.log1p(quad(integrand, [moved / 2, moved, 2 * moved, alpha * moved + 5, inf]))
        exact = float(exact / (alpha - 1))
    found = fixed_size_rdp(Gaussian(sigma), q, float(alpha))
    assert exact <= found <= 2.0 * exact


@pytest.mark.parametrize(("q", "alpha"), [(0.5, 5), (0.5, 8), (0.2, 12), (0.9, 3), (1e-3, 40)])
@pytest.mark.parametrize("scale", [0.7, 2.0])
def test_theorems_stand_by_themselves(scale, q, alpha):
    """The largest loss cuts neither: what it allows is a bound of its own, "pure"."""
    laplace = Laplace(scale)
    for kind in "general", "tight":
        expected = float(
            reference.rdp_poisson(
                partial(reference.rdp, reference.laplace_pair(scale)), q, alpha, kind
            )
        )
        assert poisson_rdp(laplace, q, alpha, bound=kind) == pytest.approx(expected, rel=1e-11)
    with mp.workdps(
        50
    ):  # Wang, Balle, Kasiviswanathan 2019, Theorem 9; a replaced record moves by 2
        spread, total = mp.expm1(2 / mp.mpf(scale)), mp.mpf(1)
        for j in range(2, alpha + 1):
            moment = (j - 1) * reference.rdp(reference.laplace_pair(scale / 2), j)
            term = mp.exp(moment) * min(2, spread**j)
            term = min(term, 4 * mp.expm1(moment)) if j == 2 else term
            total += mp.binomial(alpha, j) * mp.mpf(q) ** j * term
        expected = float(mp.log(total) / (alpha - 1))
    assert fixed_size_rdp(laplace, q, alpha, bound="general") == pytest.approx(expected, rel=1e-11)
    for function, moved in (poisson_rdp, 1), (fixed_size_rdp, 2):
        pure = float(mp.log1p(q * mp.expm1(moved / mp.mpf(scale))))
        assert function(laplace, q, alpha, bound="pure") == pytest.approx(pure, rel=1e-14)
        assert function(laplace, q, alpha) <= pure * (1 + 1e-14)
        assert function(Gaussian(1.0), q, alpha, bound="pure") == np.inf


def test_general_bound_of_fixed_size_samples_has_published_values():
    """Values of dp_accounting 0.6.0; Wang, Balle, Kasiviswanathan 2019."""
    # There the distance is 1; here a replaced record moves by 2.
    for q, sigma, alpha, general, tight in [
        (0.01, 1.0, 5.0, 0.0014664462907, None),
        (0.001, 5.0, 20.0, 1.768351662e-6, 1.636206700e-6),
        (0.1, 2.0, 12.0, 0.1123795354, 0.0805458207),
        (0.3, 4.0, 33.0, 0.386799343, 0.221224271),
    ]:
        twice = Gaussian(2.0 * sigma)
        found = fixed_size_rdp(twice, q, alpha, bound="general")
        assert found == pytest.approx(general, rel=1e-8)
        if tight is not None:
            found = fixed_size_rdp(twice, q, alpha, bound="tight")
            assert found == pytest.approx(tight, rel=1e-8)


def test_limits_and_shapes():
    assert poisson_rdp(Laplace(1.0), 0.0, 5.0) == 0.0
    for bound in "best", "tight", "general", "mixture", "lower":
        alone = poisson_rdp(Laplace(1.0), 1.0, 5.0, bound=bound)
        assert alone == pytest.approx(
            float(reference.rdp(reference.laplace_pair(1.0), 5)), rel=1e-12
        )
    assert poisson_rdp(Gaussian(1.0), 0.1, [[2.0], [3.0]]).shape == (2, 1)
    assert isinstance(poisson_rdp(Gaussian(1.0), 0.1, 2), float)
    assert fixed_size_rdp(Gaussian(1.0), 1.0, 3.0) == pytest.approx(6.0, rel=1e-12)
    assert fixed_size_rdp(Gaussian(1.0), 0.0, 3.0) == 0.0


def test_mechanisms_without_a_curve():
    for function in poisson_rdp, fixed_size_rdp:
        with pytest.raises(UnsupportedMechanismError):
            function(PrivacyLoss(pairs.GeneralisedGaussianPair(1.5, 2.0)), 0.1, 2.0)
        assert function(ApproxDP(1.0, 1e-5), 0.1, 2.0) == math.inf


def by_the_statement(mechanism, q, alpha, tau):
    """Theorem 11 as it is printed, with its differences, in many digits."""
    rdp = [0, 0, *RDPAccountant().compose(mechanism).get_rdp(np.arange(2.0, alpha + 1.0))]
    with mp.workdps(60):
        q, rdp = mp.mpf(q), [mp.mpf(float(value)) for value in rdp]
        top = rdp[alpha - tau]
        weight = [mp.binomial(alpha, k) * (1 - q) ** (alpha - k) * q**k for k in range(alpha + 1)]
        inside = (1 - q) ** alpha * (1 - mp.exp(-top))
        inside += mp.exp(-top) * (1 - q + q * mp.exp(top)) ** alpha
        for k in [*range(2, tau + 1), *range(alpha - tau + 1, alpha + 1)]:
            inside += weight[k] * (mp.exp((k - 1) * rdp[k]) - mp.exp((k - 1) * top))
        return mp.log(inside) / (alpha - 1)


@pytest.mark.parametrize(
    "mechanism", [Gaussian(1.0), Laplace(0.5), RandomizedResponse(0.9)], ids=repr
)
@pytest.mark.parametrize("q", [1e-3, 0.1, 0.7])
def test_a_few_terms_give_the_bound_of_the_theorem(mechanism, q):
    for alpha, tau in ((5, 1), (5, 2), (30, 3), (100, 10), (100, 1), (300, 40)):
        found = poisson_rdp(mechanism, q, alpha, bound="tight", terms=tau)
        exact = by_the_statement(mechanism, q, alpha, tau)
        assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-9)
        assert found >= poisson_rdp(mechanism, q, alpha, bound="tight")


def test_more_terms_are_never_worse_and_half_of_them_are_all():
    for mechanism in (Laplace(2.0), ZCDP(0.01)):
        for q in (1e-3, 0.3):
            values = [
                poisson_rdp(mechanism, q, 40, bound="tight", terms=terms)
                for terms in (1, 2, 5, 10, 20)
            ]
            assert (np.diff(values) <= 1e-12 * np.array(values[1:])).all()
            assert values[-1] == pytest.approx(
                poisson_rdp(mechanism, q, 40, bound="tight"), rel=1e-9
            )
    assert poisson_rdp(Gaussian(1.0), 0.0, 9, bound="tight", terms=2) == 0.0
    assert poisson_rdp(Gaussian(1.0), 1.0, 9, bound="tight", terms=2) == pytest.approx(4.5)
