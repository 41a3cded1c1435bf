"""Moments: the Legendre transform, and the constant C(c1, c2)."""

import math

import mpmath as mp
import numpy as np
import pytest

from renyi import Gaussian, Laplace, PLDAccountant, PoissonSampled, RDPAccountant, special
from renyi.theory import moments
from renyi.theory.moments import dp_from_moments, dp_from_rdp, log_moment_constant, moments_of
from renyi.theory.noise import gaussian_calibration
from renyi.theory.routes import full_batch_route

# The Legendre transform.


def pairs(count):
    rng = np.random.default_rng(23)
    for _ in range(count):
        p, q = rng.dirichlet(np.full(5, 0.6)) + 1e-6, rng.dirichlet(np.full(5, 0.6)) + 1e-6
        yield p / p.sum(), q / q.sum()


def kappa(p, q):
    """The larger log moment of both orders; terms in logarithms, for large t."""
    loss, log_p, log_q = np.log(p / q), np.log(p), np.log(q)
    return lambda t: float(
        max(np.logaddexp.reduce(log_p + t * loss), np.logaddexp.reduce(log_q - t * loss))
    )


@pytest.mark.parametrize("count", [1, 3])
def test_moments_bound_the_hockey_stick(count):
    for p, q in pairs(8):
        everything, other = p, q
        for _ in range(count - 1):
            everything, other = np.outer(everything, p).ravel(), np.outer(other, q).ravel()
        for epsilon in (0.1, 0.8, 2.5):
            found = dp_from_moments(kappa(p, q), epsilon=epsilon, count=count).delta
            a, b = everything, math.exp(epsilon) * other
            c, d = other, math.exp(epsilon) * everything
            exact = max(np.maximum(a - b, 0).sum(), np.maximum(c - d, 0).sum())
            assert exact <= found
            # and never better than the best of a list of orders by much
            grid = min(
                math.exp(min(count * kappa(p, q)(t) - epsilon * t, 0.0))
                for t in np.geomspace(1e-3, 1e3, 400)
            )
            assert found <= grid * (1 + 1e-9)


@pytest.mark.parametrize("sigma", [0.7, 2.0, 9.0])
@pytest.mark.parametrize("count", [1, 25])
def test_gaussian_noise_gives_the_tail_bound(sigma, count):
    def moment(t):
        return t * (t + 1.0) / (2.0 * sigma**2)

    for epsilon in (0.5, 3.0, 12.0):
        found = dp_from_moments(moment, epsilon=epsilon, count=count).delta
        # the best order is 1/2 + epsilon sigma^2, above 1 only for sigma^2 > 1/(2 epsilon)
        if sigma**2 * epsilon <= count / 2:
            assert found == pytest.approx(1.0, abs=1e-5)
            continue
        if found < 1e-300:
            continue
        by_tail = gaussian_calibration(
            sigma=sigma, epsilon=epsilon, count=count, calibration="chernoff"
        )
        assert found == pytest.approx(by_tail, rel=1e-9)
        assert found == pytest.approx(
            full_batch_route(sigma, count, epsilon=epsilon).delta, rel=1e-9
        )
        assert dp_from_moments(moment, delta=found, count=count).epsilon == pytest.approx(epsilon)


@pytest.mark.parametrize("mechanism", [Laplace(1.3), PoissonSampled(Gaussian(1.1), 0.05)])
def test_mechanisms_give_what_the_accountant_gives(mechanism):
    account = RDPAccountant(conversion="mironov").compose(mechanism, 10)
    moment = moments_of(mechanism)
    for epsilon in (0.5, 2.0):
        found = dp_from_moments(moment, epsilon=epsilon, count=10).delta
        assert found == pytest.approx(account.get_delta(epsilon), rel=1e-6, abs=1e-300)
        assert found >= PLDAccountant().compose(mechanism, 10).get_delta(epsilon)
    found = dp_from_moments(moment, delta=1e-5, count=10).epsilon
    assert found == pytest.approx(account.get_epsilon(1e-5), rel=1e-5)


def test_one_order():
    assert dp_from_rdp(3.0, 1.0, epsilon=2.0).delta == pytest.approx(math.exp(-2.0))
    assert dp_from_rdp(3.0, 2.0, epsilon=1.0).delta == 1.0
    assert dp_from_rdp(math.inf, 1.0, epsilon=2.0).delta == 0.0
    assert dp_from_rdp(3.0, 1.0, delta=math.exp(-2.0)).epsilon == pytest.approx(2.0)
    assert dp_from_rdp(math.inf, 1.0, delta=1e-9).epsilon == 1.0
    assert dp_from_rdp(3.0, 1.0, delta=0.0).epsilon == math.inf
    assert dp_from_rdp(3.0, 1.0, delta=1.0).epsilon == 0.0
    assert dp_from_moments(lambda t: t, epsilon=math.inf).delta == 0.0
    assert dp_from_moments(lambda t: math.inf, epsilon=1.0).delta == 1.0


# The constant.

TABLE = """
c1=.1   5.00e-5   3.125e-4  1.2505e-3 .0050242  .0219327  .0649307 .176018
c1=.25  3.125e-4  1.9537e-3 7.8324e-3 .0320771  .158279   .544983  1.87848
c1=.5   1.2501e-3 7.8211e-3 .0315477  .134801   .754858   2.89908  10.4285
c1=1    5.0013e-3 .0313798  .128855   .586747   3.53165   13.5506  46.0614
c1=2    .0200202  .126729   .536535   2.53436   15.1431   56.7912  188.831
"""


def term(c1, c2, order):
    """Log of E[exp(c2 J (J-1) / (2 l))] by the sum itself."""
    with mp.workdps(30):
        rate = min(mp.mpf(1), mp.mpf(c1) * mp.sqrt(mp.mpf(c2) / order))
        mass, total = (1 - rate) ** order, mp.mpf(0)
        if rate == 1:
            return mp.mpf(c2) * (order - 1) / 2
        for j in range(order + 1):
            addend = mass * mp.exp(mp.mpf(c2) * j * (j - 1) / (2 * order))
            total += addend
            if j > 10 * order * rate + 10 and addend < total * mp.mpf(10) ** -25:
                break
            mass *= (order - j) * rate / ((j + 1) * (1 - rate))
        return mp.log(total)


def integral(c1, c2, order):
    """The same by the integral over a normal variable, for orders beyond the sum."""
    with mp.workdps(22):
        v = mp.sqrt(mp.mpf(c2) / order)

        def integrand(n):
            excess = mp.mpf(c1) * v * mp.expm1(v * n - v * v / 2)
            return mp.exp(order * mp.log1p(excess) - n * n / 2)

        a = c1 * c2
        inside = mp.quad(integrand, mp.linspace(a - 12, a + 12, 13))
        return mp.log(inside / mp.sqrt(2 * mp.pi))


def test_the_integral_is_the_sum():
    for order in (5, 300):
        assert abs(integral(0.5, 1.0, order) - term(0.5, 1.0, order)) < 1e-12


@pytest.mark.parametrize("row", TABLE.strip().splitlines())
def test_the_table_of_constants(row):
    name, *values = row.split()
    for c2, value in zip((0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0), values, strict=True):
        found = log_moment_constant(float(name[3:]), c2)
        assert float(value) * (1 - 5e-5) <= found <= float(value) * (1 + 3e-3)


@pytest.mark.parametrize(
    ("c1", "c2"), [(0.05, 7.0), (0.3, 2.0), (1.0, 1.0), (2.0, 0.5), (0.02, 0.3), (1.0, 3.5)]
)
def test_the_constant_against_direct_maximisation(c1, c2):
    constant = log_moment_constant(c1, c2)
    orders = [*range(1, 130), 200, 400, 1000, 5000]
    terms = [term(c1, c2, order) for order in orders]
    assert max(terms) <= constant
    highest = max(*terms, mp.mpf((c1 * c2) ** 2) / 2)
    assert constant <= highest * (1 + 3e-3)
    if max(terms) > (c1 * c2) ** 2 / 2 * 1.01:
        assert constant == pytest.approx(float(max(terms)), rel=1e-10)


def test_the_constant_is_as_near_the_supremum_as_it_says():
    orders = np.unique(np.geomspace(2, 1e6, 1500).astype(int)).astype(float)
    rng = np.random.default_rng(3)
    found = [(5e-4, 2.0), (1e-3, 1.5), (1e-3, 1.0), (10.0, 10.0**-4.9)]
    for c2, product in 10.0 ** rng.uniform((-4, -4), (1, 1), (60, 2)):
        found.append((product / c2, c2))
    for c1, c2 in found:
        if c1 * math.sqrt(c2 / 1e6) > 1.0 or c1 * c2 < 1e-4:
            continue
        rates = np.clip(c1 * np.sqrt(c2 / orders), 1e-12, 1.0)
        lowest = max(special.log_a_lower(rates, np.sqrt(orders / c2), orders).max(), 0.0)
        lowest = max(float(lowest), (c1 * c2) ** 2 / 2)
        excess = log_moment_constant(c1, c2) / lowest - 1.0
        assert 0.0 <= excess <= (3e-3 if c2 <= 2.0 else 1.2e-2)


@pytest.mark.parametrize(("c1", "c2"), [(0.02, 0.3), (0.5, 1.0), (1.0, 4.0), (3.0, 2.0)])
def test_beyond_the_orders_of_the_engine(c1, c2):
    bound = moments._log_moment_beyond(c1, c2)
    limit = mp.mpf((c1 * c2) ** 2) / 2
    assert limit <= bound <= limit * (1 + 0.05) + 1e-6
    for order in (10**6, 10**8, 10**11):
        exact = integral(c1, c2, order)
        assert exact <= bound
        assert bound <= log_moment_constant(c1, c2)


def test_the_constant_bounds_the_moments_in_its_domain():
    rng = np.random.default_rng(1)
    for _ in range(200):
        sigma, c2 = math.exp(rng.uniform(math.log(0.5), math.log(50.0))), rng.uniform(0.05, 5.0)
        order = math.floor(c2 * sigma**2)
        if order < 2:
            continue
        c1 = math.exp(rng.uniform(math.log(1e-3), math.log(2.0)))
        rate = min(c1 / sigma, 1.0) * rng.uniform(0.5, 1.0)
        exact = float(special.log_a_lower(rate, sigma, order))
        assert exact <= log_moment_constant(c1, c2)


def test_the_domain_of_the_constant():
    for c1, c2 in ((1.0, 14.0), (20.0, 5.0), (1e3, 1.0)):
        with pytest.raises(ValueError, match="c1 and c2 must be small enough"):
            log_moment_constant(c1, c2)
