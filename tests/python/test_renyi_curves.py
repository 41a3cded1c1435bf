"""Every Renyi curve of the engine contains the reference, over its whole domain."""

from __future__ import annotations

import math
import random
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from each import slow
from mpmath import mp

from renyi import RDPAccountant, reference, special
from renyi._engine import Pair, RenyiCurve
from renyi.mechanisms import ZCDP, Gaussian, Laplace, PoissonSampled, RDPCurve, RepeatAndSelect

DIGITS = 25
ORDERS = (1.0, 1 + 1e-9, 1.5, 2.0, 33.3, 1e3, 1e5)


class Family(NamedTuple):
    """How parameters are drawn, the curve they make, and its divergence by the reference."""

    draw: object
    curve: object
    truth: object
    widest: float  # of the bracket of D, relatively


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def rate(rng):
    return rng.choice([0.0, 1e-12, 1 - 1e-9, 1.0, log_uniform(rng, 1e-12, 1), rng.random()])


def scale(rng):
    return rng.choice([2e-3, 1e9, math.inf, log_uniform(rng, 2e-3, 1e9), log_uniform(rng, 0.1, 10)])


def range_of_loss(rng):
    return rng.choice([0.0, 1e-9, 500.0, log_uniform(rng, 1e-9, 500), log_uniform(rng, 0.1, 10)])


def probability(rng):
    return rng.choice([rng.random(), log_uniform(rng, 1e-12, 1), 1 - log_uniform(rng, 1e-12, 1)])


def choices(rng):
    return rng.choice([2, 3, 1000])


def sensitivity(rng):
    return rng.choice([1, 2, 30])


def drawing(*parts):
    return lambda rng: tuple(part(rng) for part in parts)


def pure(epsilon):
    return Pair.approximate_privacy(epsilon, 0.0)


def gumbel(shift):
    """The curve of the worse order."""
    return Pair.gumbel(1.0 / shift if shift > 0.0 else math.inf).reversed().moment()


# Parameters, the pair of the engine and of the reference, widths alone and on samples.
PAIRS = {
    "laplace": ((scale,), Pair.laplace, reference.laplace_pair, 1e-13, 1e-12),
    "randomized response": (
        (probability, choices),
        Pair.randomized_response,
        reference.randomized_response_pair,
        1e-12,
        1e-12,
    ),
    "pure": ((range_of_loss,), pure, reference.pure_dp_pair, 1e-13, 1e-12),
    "exponential": ((range_of_loss,), Pair.bounded_range, reference.exponential_pair, 1e-13, 1e-12),
    "discrete laplace": (
        (scale, sensitivity),
        Pair.discrete_laplace,
        reference.discrete_laplace_pair,
        1e-12,
        1e-10,
    ),
}


def families(name, parts, pair, twin, alone, on_samples):
    """The pair by itself, and on Poisson samples, of which the first parameter is the rate."""
    yield (
        name,
        Family(
            drawing(*parts),
            lambda *parameters: pair(*parameters).moment(),
            lambda *parameters: reference.rdp(twin(*parameters[:-1]), parameters[-1], DIGITS),
            alone,
        ),
    )
    yield (
        f"sampled {name}",
        Family(
            drawing(rate, *parts),
            lambda q, *parameters: pair(*parameters).sampled(q).moment(),
            lambda q, *rest: reference.rdp(twin(*rest[:-1]), rest[-1], DIGITS, q=q),
            on_samples,
        ),
    )


EXACT = {
    **{key: one for name, row in PAIRS.items() for key, one in families(name, *row)},
    "zcdp": Family(
        lambda rng: (log_uniform(rng, 1e-12, 1e6), rng.choice([0.0, log_uniform(rng, 1e-9, 9)])),
        RenyiCurve.linear,
        lambda rho, xi, alpha: reference.rdp_zcdp(rho, alpha, xi, DIGITS),
        1e-14,
    ),
    "bounded range": Family(
        drawing(range_of_loss),
        RenyiCurve.bounded_range,
        lambda epsilon, alpha: reference.rdp_bounded_range(epsilon, alpha, digits=DIGITS),
        1e-13,
    ),
    "gumbel": Family(
        drawing(lambda rng: rng.choice([0.0, 1e-9, 30.0, log_uniform(rng, 1e-9, 30)])),
        gumbel,
        lambda shift, alpha: reference.rdp_gumbel(shift, alpha, DIGITS),
        1e-12,
    ),
    "sampled gaussian": Family(
        lambda rng: (rate(rng), log_uniform(rng, 0.1, 1e6)),
        RenyiCurve.sampled_gaussian,
        lambda q, sigma, alpha: reference.rdp_sampled_gaussian(q, sigma, alpha, DIGITS),
        1e-12,
    ),
}
COUNTS = {"sampled gaussian": 2, "sampled laplace": 3, "exponential": 5, "sampled exponential": 5}


def brackets(curve, alpha):
    """Lower and upper ends of K and of D."""
    order, low, high = np.array([alpha]), np.empty(1), np.empty(1)
    curve.rdp_lower_into(order, low)
    curve.rdp_into(order, high)
    return curve.log_moment(alpha), (low[0], high[0])


def slack_of(truth):
    """The reference itself is rounded: exact values must not fail by its last digits."""
    return abs(truth) * mp.mpf(10) ** (3 - DIGITS)


@pytest.mark.parametrize("name", EXACT)
def test_containment(name):
    family, rng = EXACT[name], random.Random(name)
    for _ in range(COUNTS.get(name, 20)):
        parameters = family.draw(rng)
        curve = family.curve(*parameters)
        for alpha in {rng.choice(ORDERS), 1 + log_uniform(rng, 1e-9, 1e5)}:
            check(curve, family.truth(*parameters, alpha), alpha, family.widest)


def check(curve, truth, alpha, widest):
    (k_low, k_high), (low, high) = brackets(curve, alpha)
    if truth == mp.inf:
        assert low == high == math.inf
        assert k_low == k_high == (0.0 if alpha == 1 else math.inf)
        return
    with mp.workdps(DIGITS + 20):
        k, slack = (mp.mpf(alpha) - 1) * truth, slack_of(truth)
        assert low <= truth + slack
        assert truth - slack <= high
        assert k_low <= k + slack
        assert k - slack <= k_high
    assert high - low <= widest * high


@pytest.mark.parametrize("name", EXACT)
def test_largest_loss(name):
    """No divergence exceeds it, and those of large orders come close where it is finite."""
    family, rng = EXACT[name], random.Random(name)
    for _ in range(20):
        parameters = family.draw(rng)
        curve = family.curve(*parameters)
        most = curve.largest_loss
        order = min(1e6, curve.largest_order)
        _, (low, _) = brackets(curve, order)
        assert low <= most
        if 0 < most * order < math.inf and order == 1e6:
            assert most <= low + 60 / order + 1e-9


def test_discrete_gaussian_is_below_the_continuous():
    """Its curve is that of the Gaussian: an upper bound, met where alpha times s is whole."""
    rng = random.Random(5)
    for _ in range(15):
        sigma, s = log_uniform(rng, 0.05, 1e3), rng.choice([1, 2, 7])
        curve = Pair.discrete_gaussian(sigma, s).moment()
        for alpha in (1.0, 1.5, 2.0, 1 + log_uniform(rng, 1e-3, 100)):
            truth = reference.rdp(reference.discrete_gaussian_pair(sigma, s), alpha, DIGITS)
            _, (_, high) = brackets(curve, alpha)
            assert truth <= high * (1 + 1e-15)
            if alpha == int(alpha):
                assert truth >= high * (1 - 1e-14)


def of(twin):
    return lambda *rest: reference.rdp(twin(*rest[:-2]), *rest[-2:])


# Parameters, the curve, the divergence of (order, digits), and the largest loss.
BASES = {
    "gaussian": (
        lambda rng: (log_uniform(rng, 1e-9, 100),),
        RenyiCurve.linear,
        lambda rho, alpha, digits: reference.rdp_zcdp(rho, alpha, 0, digits),
        lambda rho: mp.inf,
    ),
    "laplace": (
        lambda rng: (log_uniform(rng, 0.01, 1e6),),
        lambda b: Pair.laplace(b).moment(),
        of(reference.laplace_pair),
        lambda b: 1 / mp.mpf(b),
    ),
    "randomized response": (
        lambda rng: (rng.uniform(0.01, 0.99), 2),
        lambda p, k: Pair.randomized_response(p, k).moment(),
        of(reference.randomized_response_pair),
        lambda p, k: abs(mp.log(mp.mpf(p) / (1 - mp.mpf(p)))),
    ),
    "pure": (
        lambda rng: (log_uniform(rng, 1e-6, 100),),
        lambda epsilon: pure(epsilon).moment(),
        of(reference.pure_dp_pair),
        lambda epsilon: mp.mpf(epsilon),
    ),
    "gumbel": (
        lambda rng: (log_uniform(rng, 1e-3, 3),),
        gumbel,
        reference.rdp_gumbel,
        lambda shift: mp.inf,
    ),
}


def draw_base(rng):
    """A curve, the same as a function (alpha, digits), and its largest loss."""
    draw, make, truth, most = BASES[rng.choice(list(BASES))]
    parameters = draw(rng)
    with mp.workdps(DIGITS + 20):
        loss = most(*parameters)
    return make(*parameters), cache(lambda alpha, digits: truth(*parameters, alpha, digits)), loss


def draw_order(rng, most):
    choice = [1.0, 1 + 1e-9, 1.5, 2.0, 3.0, 4.0, 33.3, 1 + log_uniform(rng, 1e-3, most)]
    return rng.choice(choice)


def check_bound(curve, truth, alpha, widest):
    """At least the bound itself, and no more than rounding above it."""
    (_, k_high), (_, high) = brackets(curve, alpha)
    if truth == mp.inf:
        assert high == math.inf
        assert k_high == (0.0 if alpha == 1 else math.inf)
        return
    with mp.workdps(DIGITS + 20):
        k, slack = (mp.mpf(alpha) - 1) * truth, slack_of(truth)
        assert truth - slack <= high <= truth * (1 + widest)
        assert k - slack <= k_high <= k * (1 + widest)


@pytest.mark.parametrize("kind", ["general", "tight", "lower"])
def test_poisson_bounds(kind):
    rng = random.Random(kind)
    for _ in range(15):
        base, function, most = draw_base(rng)
        q, alpha = rate(rng), draw_order(rng, 300)
        curve = base.poisson_bound(q, kind)
        truth = reference.rdp_poisson(function, q, alpha, kind, most, DIGITS)
        if kind == "lower":
            check(curve, truth, alpha, 1e-10)
        else:
            check_bound(curve, truth, alpha, 1e-12)


def test_lower_poisson_bound_up_to_the_largest_order():
    """Between the last whole order of the base and its last order there is no infinity yet."""
    base = gumbel(0.3)
    assert 3.8 < base.largest_order < 3.9
    truth = reference.rdp_poisson(
        lambda a, digits: reference.rdp_gumbel(0.3, a, digits), 0.1, 3.5, "lower", digits=DIGITS
    )
    check(base.poisson_bound(0.1, "lower"), truth, 3.5, 1e-10)


@pytest.mark.parametrize(
    ("kind", "rho", "alpha"),
    [
        ("general", 0.02, 1e3),
        ("tight", 0.5, 1e3),
        *slow(("general", 0.5, 1e3), ("tight", 0.02, 5e3)),
    ],
)
def test_poisson_bounds_of_large_orders(kind, rho, alpha):
    def base(order, digits):
        return reference.rdp_zcdp(rho, order, 0, digits)

    truth = reference.rdp_poisson(base, 1e-3, alpha, kind, digits=12)
    _, (_, high) = brackets(RenyiCurve.linear(rho).poisson_bound(1e-3, kind), alpha)
    assert truth * (1 - 1e-12) <= high <= truth * (1 + 1e-11)


@pytest.mark.parametrize("tight", [False, True])
def test_fixed_size_bounds(tight):
    """Far moments of bases other than the Gaussian are given up: then Theorem 9 is the ceiling."""
    rng = random.Random(tight)
    for _ in range(20):
        base, function, most = draw_base(rng)
        gamma, alpha = rate(rng), draw_order(rng, 30 if tight else 300)
        curve = base.fixed_size_bound(gamma, tight)
        truth = reference.rdp_fixed_size(function, gamma, alpha, most, tight, DIGITS)
        if not tight:
            check_bound(curve, truth, alpha, 1e-12)
            continue
        ceiling = reference.rdp_fixed_size(function, gamma, alpha, most, False, DIGITS)
        _, (_, high) = brackets(curve, alpha)
        assert truth * (1 - mp.mpf(10) ** -20) <= high <= ceiling * (1 + 1e-12)


def test_fixed_size_bound_of_the_gaussian():
    rng = random.Random(3)
    for _ in range(3):
        rho, gamma = log_uniform(rng, 1e-4, 10), log_uniform(rng, 1e-4, 1)
        alpha = rng.choice([3.0, 8.0, 20.5, 64.0])
        curve = RenyiCurve.linear(rho).fixed_size_bound(gamma, True)
        truth = reference.rdp_fixed_size(
            lambda a, digits, rho=rho: reference.rdp_zcdp(rho, a, 0, digits),
            gamma, alpha, math.inf, True, 15,
        )  # fmt: skip
        _, (_, high) = brackets(curve, alpha)
        assert truth * (1 - 1e-13) <= high <= truth * (1 + 1e-11)


def test_mixture_bounds():
    rng = random.Random(9)
    for _ in range(60):
        base, function, _ = draw_base(rng)
        r, alpha = rate(rng), draw_order(rng, 1e4)
        if r == 0 or alpha <= base.largest_order:
            truth = reference.rdp_mixture(function, r, alpha, DIGITS)
            check(base.mixture_bound(r), truth, alpha, 1e-6)


def test_selection_bounds():
    """The engine seeks its second order in doubles: a little above, never below."""
    rng = random.Random(11)
    for _ in range(6):
        base, function, most = draw_base(rng)
        shape = rng.choice([-0.99, -0.5, 0.0, 1e-9, 0.5, 1.0, 3.0, 100.0])
        mean = rng.choice([1.0, 1 + 1e-9, 2.0, 100.0, log_uniform(rng, 1, 1e4)])
        last = base.largest_order
        alpha = 1 + (min(draw_order(rng, 1e3), last) - 1) * 0.9
        if alpha == 1.0:
            continue
        truth = reference.rdp_repeat_and_select(
            function, mean, shape, alpha, last * (1 - 1e-12) if last < 1e9 else last, most, 10
        )
        _, (_, high) = brackets(base.repeat_and_select(mean, shape), alpha)
        assert truth * (1 - 1e-9) <= high
        assert high <= truth * (1 + 1e-4)


def laplace_profile(epsilon, digits=None):
    """Of scale 2."""
    return -mp.expm1(min(epsilon - mp.mpf(1) / 2, mp.zero) / 2)


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "alpha"), [(0.1, 4.0), (10.0, 30.0)])
def test_selection_of_a_poisson_number_of_runs(mean, alpha):
    """By the curve alone: no looser than the reference from it, above that of the profile."""
    bound, least = (
        reference.rdp_repeat_and_select(
            lambda a, digits: reference.rdp(reference.laplace_pair(2.0), a, digits),
            mean, math.inf, alpha, math.inf, 0.5, 4, profile=profile,
        )
        for profile in (None, laplace_profile)
    )  # fmt: skip
    _, (_, high) = brackets(Pair.laplace(2.0).moment().repeat_and_select(mean, math.inf), alpha)
    assert least * (1 - 1e-4) <= high <= bound * (1 + 1e-3)


def check_poisson(run, mean, alpha, divergence, delta):
    """Theorem 6 at an order from which on the bound rises, read with the exact profile."""
    epsilon = -mp.log1p(-1 / mp.mpf(alpha))
    truth = divergence + mean * delta(epsilon) + mp.log(mean) / (mp.mpf(alpha) - 1)
    runs = RDPAccountant().compose(RepeatAndSelect(run, mean, math.inf))
    found, later = runs.get_rdp([alpha, 1.1 * alpha])
    assert found < later
    assert truth * (1 - mp.mpf("1e-12")) <= found <= truth * (1 + mp.mpf("1e-4"))


@pytest.mark.parametrize(
    ("sigma", "mean", "alpha"),
    [(1000.0, 1e9, 190.0), (1000.0, 1e3, 450.0), (2.0, 10.0, 8.0), (5.0, 100.0, 30.0)],
)
def test_selection_among_gaussian_runs_reads_their_exact_profile(sigma, mean, alpha):
    check_poisson(
        Gaussian(sigma), mean, alpha,
        reference.rdp_sampled_gaussian(1, sigma, alpha, 20),
        lambda e: reference.gaussian_delta(1 / mp.mpf(sigma), e, 20),
    )  # fmt: skip


@pytest.mark.parametrize(("q", "sigma", "mean"), [(0.1, 1.0, 10.0), (0.01, 0.7, 1e5)])
def test_selection_among_sampled_runs_reads_the_worse_profile(q, sigma, mean):
    def delta(e):
        ways = "remove", "add"
        return max(reference.sampled_gaussian_delta(q, sigma, e, way, 12) for way in ways)

    truth = reference.rdp_sampled_gaussian(q, sigma, 12, 20)
    check_poisson(PoissonSampled(Gaussian(sigma), q), mean, 12.0, truth, delta)


@pytest.mark.parametrize(("mean", "alpha"), [(10.0, 30.0), (1e6, 100.0)])
def test_selection_among_laplace_runs_reads_their_exact_profile(mean, alpha):
    check_poisson(
        Laplace(2.0), mean, alpha,
        reference.rdp(reference.laplace_pair(2), alpha, 20),
        laplace_profile,
    )  # fmt: skip


def test_selection_among_runs_without_a_profile_is_a_bound():
    for known in RDPCurve([2, 4, 8], [0.1, 0.2, 0.5]), ZCDP(0.1):
        curve = RDPAccountant().compose(RepeatAndSelect(known, 5.0, math.inf))
        one = RDPAccountant().compose(known)
        for alpha in 2.0, 8.0:
            least = one.get_rdp([alpha])[0]  # a higher order may serve a lower one better
            assert least <= curve.get_rdp([alpha])[0] < math.inf


@pytest.mark.parametrize(
    ("sigma", "steps"), [(1.0, 10), (5.0, 1000), *slow((1.0, 1), (2.0, 10**6), (0.3, 3))]
)
def test_random_allocation(sigma, steps):
    curve = RenyiCurve.random_allocation(sigma, steps)

    @cache
    def log_moment(n):
        ways = (
            reference.rdp_random_allocation(sigma, steps, n, way, 8) for way in ("remove", "add")
        )
        return (n - 1) * max(ways)

    for n in (2, 4) if sigma < 1 else (2, 9):
        _, (low, high) = brackets(curve, float(n))
        truth = log_moment(n) / (n - 1)
        assert low * (1 - 1e-7) <= truth <= high * (1 + 1e-7)
        assert high - low <= 1e-9 * high
    for alpha in (17.25, 100.5):
        truth = reference.rdp_random_allocation(sigma, steps, alpha, "remove", 12)
        if steps > 1:
            _, (low, high) = brackets(curve, alpha)
            assert low * (1 - 1e-10) <= truth <= high * (1 + 1e-10)


def test_composed_and_smaller():
    laplace, gaussian = Pair.laplace(2.0).moment(), RenyiCurve.linear(0.1)
    both = RenyiCurve.composed([(laplace, 3), (gaussian, 1000)])
    least = laplace.smaller(gaussian)
    for alpha in ORDERS:
        parts = (
            reference.rdp(reference.laplace_pair(2), alpha, 30),
            reference.rdp_zcdp(0.1, alpha, 0, 30),
        )
        check(both, 3 * parts[0] + 1000 * parts[1], alpha, 1e-13)
        check(least, min(parts), alpha, 1e-13)


def test_polygons_are_chords():
    curve = RenyiCurve.polygon([2.0, 4.0, 8.0, 16.0], [0.1, 0.9, 35.0, 13.5])
    corners = {1: mp.zero, 2: mp.mpf(0.1), 4: mp.mpf(0.9), 16: mp.mpf(13.5)}
    for low, high in ((1, 2), (2, 4), (4, 16)):
        for share in (0.25, 0.5, 1.0):
            alpha = low + share * (high - low)
            k = (1 - share) * corners[low] + share * corners[high]
            check(curve, k / (mp.mpf(alpha) - 1), alpha, 1e-13)
    assert curve.largest_order == 16.0
    assert curve.log_moment(16.5) == (math.inf, math.inf)


@pytest.mark.parametrize("sigma", [1e-6, 1e-4, 5e-4, 6e-4, 7e-4, 1e-3, 0.05])
@pytest.mark.parametrize("rate", [1e-12, 0.01, 0.5])
def test_orders_far_beyond_the_noise_are_never_below_the_largest_term(sigma, rate):
    order = 1e6
    with mp.workdps(40):
        q, c, a = mp.mpf(rate), 1 / mp.mpf(sigma), mp.mpf(order)
        half = (a - 1) * c * c / 2
        low, high = a * (mp.log(q) + half), a * mp.log(1 - q + q * mp.exp(half))
    assert special.log_a_lower(rate, sigma, order) <= high
    assert special.log_a_upper(rate, sigma, order) >= low
    found = RDPAccountant(orders=[order]).compose(PoissonSampled(Gaussian(sigma), rate))
    assert found.get_epsilon(1e-5) >= low / (a - 1) - 1e-5


@pytest.mark.parametrize("rate", [1e-24, 1e-6, 0.3])
@pytest.mark.parametrize(
    ("sigma", "order"),
    [(3e-11, 1.0000907), (1.7e-12, 1.0000002), (1.2e-10, 1.000545), (1e-3, 3.0), (0.05, 40.0)],
)
def test_orders_next_to_one_with_hardly_any_noise_are_enclosed(rate, sigma, order):
    with mp.workdps(60):
        q, c, a = mp.mpf(rate), 1 / mp.mpf(sigma), mp.mpf(order)
        half = (a - 1) * c * c / 2
        assert half > 800 - 2 * mp.log(q)
        low = a * (mp.log(q) + half)
        high = low + a * mp.exp(-half) / q
    assert special.log_a_lower(rate, sigma, order) <= high
    assert special.log_a_upper(rate, sigma, order) >= low
