"""Rényi divergences read from pairs: against quadratures and sums, and beside the exact curve."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import mpmath as mp
import pytest
from each import slow

from renyi import PLDAccountant, RDPAccountant, UnsupportedMechanismError, pairs
from renyi._engine import Pair
from renyi.mechanisms import (
    FixedSizeSampled,
    Gaussian,
    GaussianMixture,
    Laplace,
    Mechanism,
    MultivariateDiscreteGaussian,
    PoissonSampled,
    PrivacyLoss,
    RandomizedResponse,
    TruncatedPoissonSampled,
)
from renyi.pairs import MechanismPair

ORDERS = (1.5, 2.0, 4.5, 16.0)
Density = Callable[[mp.mpf], mp.mpf]


def rdp_of(mechanism: Mechanism, adjacency: str) -> list[float]:
    return RDPAccountant(adjacency=adjacency).compose(mechanism).get_rdp(ORDERS).tolist()


def normal_mixture(parts: list[tuple[float, float]], sigma: float, x: mp.mpf) -> mp.mpf:
    return mp.fsum(mp.mpf(w) * mp.npdf(x, m, sigma) for w, m in parts)


def divergence_of(
    p: list[tuple[float, float]], q: list[tuple[float, float]], sigma: float, order: float
) -> mp.mpf:
    def integrand(x: mp.mpf) -> mp.mpf:
        over, under = normal_mixture(p, sigma, x), normal_mixture(q, sigma, x)
        return over**order * under ** (1 - mp.mpf(order))

    # The trapezoidal rule: the mixtures have no zero within 1.5 of the axis, hence 30 digits.
    step = mp.mpf(sigma) / 8
    last = int((2.0 * order + 14.0 * sigma) / step)
    total = mp.fsum(integrand(k * step) for k in range(-last, last + 1))
    return mp.log(step * total) / (mp.mpf(order) - 1)


@pytest.mark.parametrize(("q", "sigma"), [(0.1, 1.0), (0.5, 2.0)])
def test_gaussian_noise_on_samples_where_a_record_is_replaced(q: float, sigma: float) -> None:
    found = rdp_of(PoissonSampled(Gaussian(sigma), q), "replace_one")
    with mp.workdps(25):
        for order, value in zip(ORDERS[::3], found[::3], strict=True):
            p, other = [(1 - q, 0.0), (q, -1.0)], [(1 - q, 0.0), (q, 1.0)]
            exact = divergence_of(p, other, sigma, order)
            assert exact * (1 - mp.mpf("1e-12")) <= value <= exact * (1 + mp.mpf("1e-9"))


@pytest.mark.parametrize("mu", [3.0, 30.0, 100.0, 1e6])
@pytest.mark.parametrize("rate", [0.3, 1e-3])
def test_mixtures_far_apart(mu: float, rate: float) -> None:
    sampled = MechanismPair(GaussianMixture(1.0 / mu, (0.0, 1.0), (1.0 - rate, rate)))
    remove, add = (
        RDPAccountant().compose(PrivacyLoss(pair, pair)).get_rdp(ORDERS)
        for pair in (sampled, pairs.ReversedPair(sampled))
    )
    with mp.workdps(30):
        q = mp.mpf(rate)
        for order, of_removal, of_addition in zip(ORDERS, remove, add, strict=True):
            a = mp.mpf(order)
            # One term of the mixture alone, below the sum; without the other, above it.
            least = (a * mp.log(q) + a * (a - 1) * mp.mpf(mu) ** 2 / 2) / (a - 1)
            assert least <= of_removal
            assert of_removal <= (a * mp.mpf(mu) ** 2 / 2) * (1 + mp.mpf("1e-12"))
            most = -mp.log(1 - q)
            assert of_addition <= most * (1 + mp.mpf("1e-9"))
            if mu >= 30.0:  # the components do not overlap
                assert of_addition >= most * (1 - mp.mpf("1e-9"))


@pytest.mark.parametrize("sigma", [0.39, *slow(0.02, 0.3, 2e-4)])
def test_many_draws_of_little_noise(sigma: float) -> None:
    # All draws of one record move the sum by more than 500 deviations, and hardly ever happen.
    draws, population = 100, 10_000
    mechanism = FixedSizeSampled(Gaussian(sigma), draws, population, True)
    [low, value] = (
        RDPAccountant(adjacency="replace_one").compose(mechanism).get_rdp([1.0 + 1e-5, 2.0])
    )
    with mp.workdps(30):  # a record in place of one of no effect, at order 2
        q, mu = mp.mpf(1) / population, 1 / mp.mpf(sigma)
        masses = [mp.binomial(draws, k) * q**k * (1 - q) ** (draws - k) for k in range(draws + 1)]
        moment = mp.fsum(
            a * b * mp.exp(j * k * mu**2)
            for j, a in enumerate(masses)
            for k, b in enumerate(masses)
        )
        always = 2 * (2 * draws * mu) ** 2 / 2
    assert mp.log(moment) <= value <= always
    assert 0.0 < low <= value
    if sigma > 0.1:  # lattices of less noise take up to a minute
        account = PLDAccountant(adjacency="replace_one").compose(mechanism, 3)
        low, high = account.get_epsilon_bounds(1e-6)
        assert 0.0 < low <= high < math.inf


@pytest.mark.parametrize("rate", [1e-9, 1e-13, 1e-17, 1e-40, 1e-160, 1e-300])
@pytest.mark.parametrize("mu", [0.01, 1.0, 3.0])
def test_rates_next_to_nothing(mu: float, rate: float) -> None:
    # E_Q[(1 + s y)^n] - 1 = sum_{k >= 2} C(n, k) s^k E[y^k], y = e^{mu x - mu^2/2} - 1
    curve = Pair.gaussian(mu).sampled(rate).moment()
    assert curve is not None
    for order in (2, 10):
        low, high = curve.log_moment(float(order))
        with mp.workdps(700):
            grown = [mp.exp(mp.mpf(mu) ** 2 * j * (j - 1) / 2) for j in range(order + 1)]
            powers = [
                mp.fsum((-1) ** (k - j) * mp.binomial(k, j) * grown[j] for j in range(k + 1))
                for k in range(order + 1)
            ]
            rest = mp.fsum(
                mp.binomial(order, k) * mp.mpf(rate) ** k * powers[k] for k in range(2, order + 1)
            )
            truth = mp.log1p(rest)
            assert low * (1.0 - 1e-12) <= truth <= high
            assert high - truth <= 1e-12 * truth + 1e-300


def test_losses_of_ones_own() -> None:
    p, q = (0.6, 0.3, 0.1), (0.2, 0.3, 0.5)
    for rate in (1.0, 0.25):
        own = PrivacyLoss(pairs.DiscretePair(p, q))
        found = rdp_of(own if rate == 1.0 else PoissonSampled(own, rate), "add_remove")
        with mp.workdps(30):
            one = [rate * mp.mpf(a) + (1 - rate) * mp.mpf(b) for a, b in zip(p, q, strict=True)]
            for order, value in zip(ORDERS, found, strict=True):
                moments = [
                    mp.fsum(x**order * y ** (1 - order) for x, y in zip(a, b, strict=True))
                    for a, b in ((one, list(map(mp.mpf, q))), (list(map(mp.mpf, q)), one))
                ]
                exact = mp.log(max(moments)) / (mp.mpf(order) - 1)
                assert exact * (1 - mp.mpf("1e-12")) <= value <= exact * (1 + mp.mpf("1e-6"))


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one", "zero_out"])
def test_batches_that_are_cut(adjacency: str) -> None:
    # Without a cut it is a Poisson sample; with one, the divergences are those of rarer noise.
    whole = rdp_of(PoissonSampled(Gaussian(2.0), 0.1), adjacency)
    never = rdp_of(TruncatedPoissonSampled(Gaussian(2.0), 0.1, 50, 50), adjacency)
    assert never == pytest.approx(whole, rel=1e-9)
    cut = TruncatedPoissonSampled(Gaussian(2.0), 0.1, 8, 50)
    found = RDPAccountant(adjacency=adjacency).compose(cut)
    assert math.isfinite(found.get_epsilon(1e-5))


def test_responses_of_any_probability() -> None:
    for p, choices in ((0.5, 2), (0.25, 4), (0.0, 1), (1.0, 1), (0.3, 1)):
        for accountant in (PLDAccountant(), RDPAccountant()):
            assert accountant.compose(RandomizedResponse(p, choices)).get_delta(0.0) <= 1e-15
    for p, choices in ((0.0, 2), (1.0, 2), (1.0, 5), (0.0, 3)):
        mechanism = RandomizedResponse(p, choices)
        lower, upper = PLDAccountant().compose(mechanism).get_delta_bounds(3.0)
        exact = 1.0 / (choices - 1) if p == 0.0 else 1.0  # the one answer that is never given
        assert lower <= exact <= upper <= exact * (1.0 + 1e-12)
        assert RDPAccountant().compose(mechanism).get_epsilon(1e-5) == math.inf


def quadrature(p: Density, q: Density, order: float, ends: tuple[float, float]) -> mp.mpf:
    def integrand(x: mp.mpf) -> mp.mpf:
        return p(x) ** order * q(x) ** (1 - mp.mpf(order))

    return mp.log(mp.quad(integrand, mp.linspace(*ends, 24))) / (mp.mpf(order) - 1)


def check_moment(pair: Pair, order: float, exact: mp.mpf, widest: str = "1e-11") -> None:
    curve = pair.moment()
    assert curve is not None
    lower, upper = (value / (order - 1.0) for value in curve.log_moment(order))
    assert lower * (1 - mp.mpf("1e-15")) <= exact <= upper * (1 + mp.mpf("1e-15"))
    assert upper <= exact * (1 + mp.mpf(widest))


@pytest.mark.parametrize("scale", [0.7, *slow(3.0)])
@pytest.mark.parametrize("order", [1.5, 6.0, *slow(2.0)])
def test_gumbel_noise_in_each_order(scale: float, order: float) -> None:
    pair = Pair.gumbel(scale)
    with mp.workdps(30):

        def around(centre: int) -> Density:
            def density(x: mp.mpf) -> mp.mpf:
                z = (x - centre) / scale
                return mp.exp(-z - mp.exp(-z)) / scale

            return density

        ends = (-6.0 * scale, 1.0 + 60.0 * scale * order)
        check_moment(pair, order, quadrature(around(1), around(0), order, ends))
        reverse = pair.reversed().moment()
        assert reverse is not None
        # E e^{-b L} of an exponential loss ends where (order - 1) (e^t - 1) = 1.
        last = 1.0 + 1.0 / math.expm1(1.0 / scale)
        assert reverse.largest_order == pytest.approx(last)
        if order < last:
            check_moment(pair.reversed(), order, quadrature(around(0), around(1), order, ends))


def test_samples_and_reverses_of_normal_mixtures_are_mixtures() -> None:
    weights, means, sigma, rate, order = (0.7, 0.3), (0.5, 2.0), 1.5, 0.25, 3.0
    mixture = Pair.gaussian_mixture(weights, means, sigma)
    p, q = list(zip(weights, means, strict=True)), [(1.0, 0.0)]
    some = [(rate * w, m) for w, m in p] + [(1 - rate, 0.0)]
    other = [(rate, 0.0)] + [((1 - rate) * w, m) for w, m in p]
    with mp.workdps(25):
        removal, addition = (divergence_of(*both, sigma, order) for both in ((some, q), (q, some)))
        check_moment(mixture.sampled(rate), order, removal)
        check_moment(mixture.sampled(0.5).sampled(0.5), order, removal)
        check_moment(mixture.sampled(rate).reversed(), order, addition)
        check_moment(
            mixture.reversed().reversed().sampled(rate).reversed().reversed().reversed(),
            order,
            addition,
        )
        check_moment(mixture.reversed().sampled(rate), order, divergence_of(other, p, sigma, order))


@pytest.mark.parametrize(
    "pair",
    [Pair.gaussian(0.7), Pair.laplace(2.0), Pair.gumbel(3.0), Pair.randomized_response(0.6, 3)],
)
def test_samples_of_all_and_of_none(pair: Pair) -> None:
    none, every, whole = pair.sampled(0.0).moment(), pair.sampled(1.0).moment(), pair.moment()
    assert none is not None
    assert every is not None
    assert whole is not None
    for order in (1.0, 1.5, 30.0):
        assert none.log_moment(order) == (0.0, 0.0)
        assert every.log_moment(order) == whole.log_moment(order)


def test_labelled_mixtures_have_the_moments_of_their_parts() -> None:
    parts, weights = (Pair.gumbel(2.0), Pair.laplace(1.5), Pair.gaussian(0.4)), (0.2, 0.3, 0.4)
    mixed = Pair.mixed(weights, parts)
    for change in (
        lambda pair: pair,
        lambda pair: pair.reversed(),
        lambda pair: pair.sampled(0.1),
        lambda pair: pair.reversed().reversed(),
    ):
        curves = [change(part).moment() for part in parts]
        for order in (1.25, 1.5):
            assert all(curve is not None for curve in curves)
            tops = [curve.log_moment(order)[1] for curve in curves if curve is not None]
            with mp.workdps(30):
                total = mp.fsum(w * mp.expm1(k) for w, k in zip(weights, tops, strict=True))
                check_moment(change(mixed), order, mp.log1p(total) / (order - 1), "1e-12")


def test_what_has_no_form() -> None:
    own = PrivacyLoss(pairs.GeneralisedGaussianPair(1.5, 2.0))
    assert PLDAccountant().supports(own)
    with pytest.raises(UnsupportedMechanismError, match="its losses have no bound, and no form"):
        RDPAccountant().compose(own)


def test_what_is_said_to_be_supported_is_answered() -> None:
    twice = FixedSizeSampled(PrivacyLoss(MechanismPair(Laplace(2.0))) * 2, 3, 10)
    exact, bound = PLDAccountant(adjacency="replace_one"), RDPAccountant(adjacency="replace_one")
    for accountant in (exact, bound):
        assert accountant.supports(twice)
        accountant.compose(twice, 2)
    assert exact.get_epsilon_bounds(1e-3)[0] <= bound.get_epsilon(1e-3) < 2.0
    one_way = FixedSizeSampled(PrivacyLoss(pairs.GumbelPair(2.0)) * 2, 3, 10)
    assert not PLDAccountant(adjacency="replace_one").supports(one_way)


def test_vectors_of_integers_where_a_record_is_replaced() -> None:
    # Twice the shift of one dimension is among what a record may do.
    inside = MultivariateDiscreteGaussian(2.0)
    found = rdp_of(PoissonSampled(inside, 0.1), "replace_one")
    alone = rdp_of(inside, "replace_one")
    exact = rdp_of(PoissonSampled(Gaussian(2.0), 0.1), "replace_one")
    for value, whole, least in itertools.zip_longest(found, alone, exact):
        assert 0.5 * least <= value <= whole
