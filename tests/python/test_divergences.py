"""Rényi divergences of the standard families, by quadrature of densities and 80-digit formulas."""

from __future__ import annotations

import math
import pickle
from functools import partial

import mpmath as mp
import numpy as np
import pytest
from each import slow

from renyi.theory.divergences import FAMILIES, Distribution, ExponentialFamily, renyi_divergence

INF = mp.inf
POINTS = 30


def chi(x, k, s):
    first = (k - 1) * mp.log(x) - x**2 / (2 * s**2) - (k / 2 - 1) * mp.log(2)
    return first - mp.loggamma(k / 2) - k * mp.log(s)


def gamma(x, k, t):
    return (k - 1) * mp.log(x) - x / t - mp.loggamma(k) - k * mp.log(t)


def gaussian(x, m, s):
    return -(((x - m) / s) ** 2) / 2 - mp.log(2 * mp.pi) / 2 - mp.log(s)


def weibull(x, k, s):
    return mp.log(k / s) + (k - 1) * mp.log(x / s) - (x / s) ** k


def logistic(x, m, s):
    return -(x - m) / s - mp.log(s) - 2 * mp.log1p(mp.exp(-(x - m) / s))


def inverse_gaussian(x, m, k):
    return (mp.log(k / (2 * mp.pi)) - 3 * mp.log(x) - k * (x - m) ** 2 / (m**2 * x)) / 2


def pareto(x, m, c):
    return mp.log(c) + c * mp.log(m) - (c + 1) * mp.log(x)


def levy(x, c, m):
    return mp.log(c / (2 * mp.pi)) / 2 - c / (2 * (x - m)) - 3 * mp.log(x - m) / 2


HALF_LINE = [0, 0.5, 1, 2, 4, 8, 16, 32, 64, INF]
SQUARES = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16]
LINE = [-30, -10, -5, -2, -1, 0, 1, 2, 5, 10, 30]
TAILS = [-150, -50, -10, 0, 1, 10, 50, 150]
LONG = [0, 0.1, 0.5, 1, 2, 5, 10, 100, 1e3, 1e5, INF]
# Log density without anything that the package computes, the parameters of p and q, cuts.
DENSITIES = {
    "exponential": (lambda x, r: mp.log(r) - r * x, (1.0,), (1.2,), HALF_LINE),
    "gamma": (gamma, (2.5, 1.0), (2.0, 1.3), HALF_LINE),
    "gamma of large shape": (gamma, (13.0, 0.5), (12.0, 0.6), [0, 2, 4, 6, 8, 10, 15, 20, 30, 50]),
    "chi_square": (lambda x, k: gamma(x, k / 2, mp.mpf(2)), (5.0,), (4.0,), HALF_LINE),
    "chi": (chi, (3.0, 1.0), (2.5, 1.2), SQUARES),
    "half_normal": (lambda x, s: chi(x, mp.mpf(1), s), (1.0,), (1.1,), SQUARES),
    "rayleigh": (lambda x, s: mp.log(x / s**2) - x**2 / (2 * s**2), (1.0,), (1.1,), SQUARES),
    "maxwell": (lambda x, s: chi(x, mp.mpf(3), s), (1.0,), (0.9,), SQUARES),
    "weibull": (weibull, (1.5, 1.0), (1.5, 1.2), SQUARES),
    "gumbel": (
        lambda x, m, s: -mp.log(s) - (x - m) / s - mp.exp(-(x - m) / s),
        (0.3, 2.0),
        (0.0, 2.0),
        [-15, -10, -7, -5, -3, -1, 0, 1, 3, 6, 10, 30, 60, 150],
    ),
    "gaussian": (gaussian, (0.5, 1.0), (0.0, 1.2), LINE),
    "log_normal": (
        lambda x, m, s: gaussian(mp.log(x), m, s) - mp.log(x),
        (0.1, 0.5),
        (0.0, 0.6),
        [0, 0.2, 0.5, 1, 2, 4, 8, 20, 60, 300],
    ),
    "laplace": (lambda x, m, s: -abs(x - m) / s - mp.log(2 * s), (1.0, 1.0), (0.0, 1.5), TAILS),
    "laplace of one scale": (
        lambda x, m, s: -abs(x - m) / s - mp.log(2 * s),
        (1.0, 2.0),
        (0.0, 2.0),
        TAILS,
    ),
    "logistic": (logistic, (1.0, 1.5), (0.0, 1.5), [-150, -50, -10, -3, 0, 1, 4, 10, 50, 150]),
    "beta": (
        lambda x, a, b: (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - mp.log(mp.beta(a, b)),
        (2.5, 3.0),
        (2.0, 2.5),
        [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1],
    ),
    "inverse_gaussian": (
        inverse_gaussian,
        (1.0, 3.0),
        (1.2, 2.8),
        [0.01, 0.1, 0.5, 1, 2, 4, 8, 16, 50],
    ),
    "pareto": (pareto, (2.0, 3.0), (1.5, 2.5), [2, 3, 5, 10, 100, INF]),
    "uniform": (lambda x, a, b: -mp.log(b - a), (0.0, 1.0), (-1.0, 3.0), [0, 1]),
    "levy": (levy, (1.0, 0.0), (1.4, 0.0), LONG),
    "cramer": (
        lambda x, t: mp.log(t / 2) - 2 * mp.log1p(t * abs(x)),
        (2.0,),
        (3.0,),
        [-1e6, -1e3, -30, -3, -0.3, 0, 0.3, 3, 30, 1e3, 1e6],
    ),
}


def two(name):
    _, p, q, _ = DENSITIES[name]
    family = name.split(" of ")[0]
    return Distribution(family, *p), Distribution(family, *q)


def test_every_family_is_in_the_table():
    listed = {name.split(" of ")[0] for name in DENSITIES}
    assert listed | {"dirichlet", "multivariate_gaussian"} == FAMILIES.keys()


@pytest.mark.parametrize("alpha", [1.0, 2.5, *slow(0.3)])
@pytest.mark.parametrize("name", DENSITIES)
def test_quadrature(name, alpha):
    log_density, p, q, cuts = DENSITIES[name]
    if alpha == 0.3 and name == "cramer":
        cuts = [-INF, *cuts, INF]
    a, p, q = mp.mpf(alpha), [mp.mpf(x) for x in p], [mp.mpf(x) for x in q]

    def integrand(x):
        first, second = log_density(x, *p), log_density(x, *q)
        if alpha == 1.0:
            return mp.exp(first) * (first - second)
        return mp.exp(a * first + (1 - a) * second)

    with mp.workdps(15):
        exact = mp.quad(integrand, [mp.mpf(c) for c in cuts])
        exact = exact if alpha == 1.0 else mp.log(exact) / (a - 1)
    rel = 1e-5 if name == "cramer" else 1e-7 if name == "levy" else 1e-8  # tails are cut off
    assert renyi_divergence(*two(name), alpha) == pytest.approx(float(exact), rel=rel)


@pytest.mark.parametrize("name", DENSITIES)
def test_properties(name):
    p, q = two(name)
    orders = np.concatenate((np.linspace(0.01, 0.99, 50), [1.0], np.linspace(1.01, 30.0, 50)))
    found = renyi_divergence(p, q, orders)
    with np.errstate(invalid="ignore"):
        steps = np.where(np.isinf(found[1:]), 1.0, np.diff(found))
    assert (steps >= -1e-14 * found[:-1]).all()  # increasing in the order
    low = orders < 1.0  # (1-a) D_a(p || q) = a D_(1-a)(q || p)
    swapped = renyi_divergence(q, p, 1.0 - orders[low]) * orders[low] / (1.0 - orders[low])
    np.testing.assert_allclose(found[low], swapped, rtol=1e-12)
    assert not renyi_divergence(p, p, orders).any()
    around = renyi_divergence(p, q, [1.0 - 1e-12, 1.0, 1.0 + 1e-12])
    np.testing.assert_allclose(around, around[1], rtol=1e-10)  # continuous at 1


@pytest.mark.parametrize(
    ("p", "q", "limit"),
    [  # a finite divergence below the order, an infinite one at it and above
        (("exponential", 1.0), ("exponential", 2.0), 2.0),
        (("exponential", 3.0), ("exponential", 4.0), 4.0),
        (("gamma", 2.0, 1.0), ("gamma", 4.0, 1.0), 2.0),
        (("gamma", 1.0, 2.0), ("gamma", 1.0, 1.0), 2.0),
        (("rayleigh", 2.0), ("rayleigh", 1.0), 4.0 / 3.0),
        (("half_normal", 2.0), ("half_normal", 1.0), 4.0 / 3.0),
        (("chi_square", 2.0), ("chi_square", 4.0), 2.0),
        (("weibull", 1.0, 2.0), ("weibull", 1.0, 1.0), 2.0),
        (("gumbel", 0.0, 1.0), ("gumbel", math.log(2.0), 1.0), 2.0),
        (("gaussian", 0.0, 2.0), ("gaussian", 1.0, 1.0), 4.0 / 3.0),
        (("log_normal", 0.0, 2.0), ("log_normal", 0.0, 1.0), 4.0 / 3.0),
        (("laplace", 0.0, 2.0), ("laplace", 3.0, 1.0), 2.0),
        (("beta", 1.0, 5.0), ("beta", 2.0, 1.0), 2.0),
        (("dirichlet", [1.0, 5.0, 3.0]), ("dirichlet", [2.0, 1.0, 3.0]), 2.0),
        (("levy", 1.0), ("levy", 2.0), 2.0),
        (("pareto", 3.0, 1.0), ("pareto", 2.0, 2.0), 2.0),
        (("inverse_gaussian", 1.0, 1.0), ("inverse_gaussian", 1.0, 2.0), 2.0),
        (
            ("multivariate_gaussian", [0.0, 0.0], [[1.0, 0.0], [0.0, 2.0]]),
            ("multivariate_gaussian", [1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]),
            2.0,
        ),
    ],
    ids=repr,
)
def test_existence(p, q, limit):
    p, q = Distribution(*p), Distribution(*q)
    orders = np.array([0.5, 1.0, limit * (1.0 - 1e-6), limit * (1.0 + 1e-9), 100.0])
    assert np.isfinite(renyi_divergence(p, q, orders)).tolist() == [True, True, True, False, False]
    assert np.isfinite(renyi_divergence(q, p, [0.5, 1.0])).all() or p.family == "pareto"
    if limit in (2.0, 4.0) and p.family != "gumbel":
        assert renyi_divergence(p, q, limit) == math.inf


def test_the_lévy_limit_of_inverse_gaussians_is_finite():
    # alpha l_p/m_p^2 + (1-alpha) l_q/m_q^2 = 0 at alpha = 2.
    p, q = (Distribution("inverse_gaussian", x, x) for x in (2.0, 1.0))
    found = renyi_divergence(p, q, [1.999999, 2.0, 2.000001])
    assert np.isfinite(found[:2]).all()
    assert found[2] == math.inf
    with mp.workdps(30):  # h = 2 l_p/m_p - l_q/m_q, l* = 3
        exact = mp.log(mp.mpf(2) / mp.sqrt(3) * mp.exp(1))
    assert found[1] == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    ("p", "q", "alpha", "exact"),
    [
        (("uniform", 0.0, 2.0), ("uniform", 1.0, 3.0), 0.5, 2.0 * math.log(2.0)),
        (("uniform", 0.0, 2.0), ("uniform", 1.0, 3.0), 1.0, math.inf),
        (("uniform", 0.0, 1.0), ("uniform", 1.0, 3.0), 0.5, math.inf),
        (("pareto", 1.0, 2.0), ("pareto", 2.0, 2.0), 1.0, math.inf),
        # log E_q of (p/q)^(1/2): 2 sqrt(3/2) 2^(3/2) / 2.5 2^(-5/2) of x > 2
        (("pareto", 1.0, 2.0), ("pareto", 2.0, 3.0), 0.5, -2 * math.log(math.sqrt(6.0) / 5.0)),
    ],
)
def test_supports(p, q, alpha, exact):
    assert renyi_divergence(Distribution(*p), Distribution(*q), alpha) == pytest.approx(exact)


def test_many_dimensions():
    rng = np.random.default_rng(5)
    for n in (1, 2, 5):
        roots = rng.normal(size=(2, n, n))
        means, matrices = rng.normal(size=(2, n)), roots @ roots.swapaxes(1, 2) + np.eye(n)
        matrices = 0.5 * (matrices + matrices.swapaxes(1, 2))
        p, q = (
            Distribution("multivariate_gaussian", m, s)
            for m, s in zip(means, matrices, strict=True)
        )
        for alpha in (0.4, 1.01):
            with mp.workdps(40):
                sp, sq = (mp.matrix(s.tolist()) for s in matrices)
                d, a = mp.matrix((means[0] - means[1]).tolist()), mp.mpf(alpha)
                v = a * sq + (1 - a) * sp
                logs = mp.log(mp.det(v)) - (1 - a) * mp.log(mp.det(sp)) - a * mp.log(mp.det(sq))
                exact = a / 2 * (d.T * mp.inverse(v) * d)[0] - logs / (2 * (a - 1))
            assert renyi_divergence(p, q, alpha) == pytest.approx(float(exact), rel=1e-11)
    one = renyi_divergence(
        Distribution("gaussian", 1.0, 2.0), Distribution("gaussian", 0.0, 1.5), 1.7
    )
    same = [Distribution("multivariate_gaussian", [m], [[s]]) for m, s in ((1.0, 4.0), (0.0, 2.25))]
    assert renyi_divergence(*same, 1.7) == pytest.approx(float(one), rel=1e-14)


def test_dirichlet_of_many_shares():
    rng = np.random.default_rng(9)
    for n in (2, 3, 7):
        for _ in range(10):
            x, y = 10.0 ** rng.uniform(-2, 2, (2, n))
            y = y if rng.uniform() < 0.5 else x * (1.0 + 1e-7 * rng.normal(size=n))
            alpha = float(rng.choice([rng.uniform(), 1.0 + rng.exponential()]))
            p, q = Distribution("dirichlet", x), Distribution("dirichlet", y)
            with mp.workdps(60):
                a, xs, ys = mp.mpf(alpha), [mp.mpf(t) for t in x], [mp.mpf(t) for t in y]
                both = [a * s + (1 - a) * t for s, t in zip(xs, ys, strict=True)]
                exact = mp.inf
                if min(both) > 0:
                    logs = [
                        mp.fsum(map(mp.loggamma, z)) - mp.loggamma(mp.fsum(z))
                        for z in (both, xs, ys)
                    ]
                    exact = (logs[0] - a * logs[1] - (1 - a) * logs[2]) / (a - 1)
            assert renyi_divergence(p, q, alpha) == pytest.approx(float(exact), rel=1e-10)


def test_a_family_of_ones_own():
    def log_partition(theta):
        return -math.log(-theta[0]) if theta[0] < 0.0 else math.inf

    p, q = (ExponentialFamily([-rate], log_partition, lambda t: -1.0 / t) for rate in (1.0, 1.5))
    orders = [0.5, 1.0, 2.0, 2.9, 3.5]
    exact = renyi_divergence(
        Distribution("exponential", 1.0), Distribution("exponential", 1.5), orders
    )
    np.testing.assert_allclose(renyi_divergence(p, q, orders), exact, rtol=1e-12)
    without = ExponentialFamily([-1.0], log_partition), ExponentialFamily([-2.0], log_partition)
    with pytest.raises(ValueError, match="mean must be given"):
        renyi_divergence(*without, 1.0)
    with pytest.raises(TypeError, match="log_partition must be callable"):
        ExponentialFamily([1.0], 2.0)
    with pytest.raises(ValueError, match="natural must be a sequence"):
        ExponentialFamily(1.0, log_partition)


def test_shapes_scalars_and_values():
    p, q = Distribution("gaussian", 1.0), Distribution("gaussian", 0.0)
    assert isinstance(renyi_divergence(p, q, 2), np.float64)
    assert renyi_divergence(p, q, [[1, 2], [3, 4]]).tolist() == [[0.5, 1.0], [1.5, 2.0]]
    assert renyi_divergence(p, q, []).shape == (0,)
    assert p == Distribution("gaussian", sigma=1.0, mean=1) != q
    assert hash(p) == hash(pickle.loads(pickle.dumps(p)))
    assert (p.mean, p.sigma) == p.parameters == (1.0, 1.0)
    for name in ("variance", "_x"):
        with pytest.raises(AttributeError, match="no attribute"):
            getattr(p, name)
    with pytest.raises(AttributeError, match="cannot assign"):
        p.mean = 2.0


SQUARE = [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        *(
            ((family, bad), ValueError, "must be a number in")
            for family in ("exponential", "chi_square", "half_normal", "rayleigh", "cramer", "levy")
            for bad in (0.0, -1.0, math.inf, math.nan, 1e101)
        ),
        (("maxwell", "1"), TypeError, "scale must be a number in"),
        (("inverse_gaussian", 1e41, 1.0), ValueError, r"mean must be a number in \[1e-40, 1e40\]"),
        (("uniform", 1.0, 1.0), ValueError, "high must be a number above low"),
        (("dirichlet", [1.0]), ValueError, "concentration must have at least 2 entries"),
        (("dirichlet", [1.0, -1.0]), ValueError, "concentration must be a number in"),
        (("multivariate_gaussian", [0.0], SQUARE), ValueError, "covariance must be a matrix of"),
        (("multivariate_gaussian", [0.0], [1.0]), ValueError, "covariance must be a matrix of"),
        (
            ("multivariate_gaussian", [0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]),
            ValueError,
            "positive definite",
        ),
        (
            ("multivariate_gaussian", [0.0, 0.0], [[1.0, 0.5], [0.4, 1.0]]),
            ValueError,
            "covariance must be symmetric",
        ),
        (("student", 1.0), ValueError, "family must be one of 'beta'"),
        (("gamma", 1.0), TypeError, "gamma must have the parameters shape, scale, got"),
        (("gamma", 1.0, 2.0, 3.0), TypeError, "gamma must have the parameters shape, scale"),
    ],
)
def test_parameters_outside(arguments, error, message):
    with pytest.raises(error, match=message):
        Distribution(*arguments)
    for named in {"rate": 1.0}, {"shape": 1.0, "scale": 2.0}:
        with pytest.raises(TypeError, match="gamma must have the parameters shape, scale, got"):
            Distribution("gamma", 1.0, **named)


def test_families_apart():
    normal = Distribution("gaussian", 0.0)
    for alpha in (0.0, -1.0, math.inf, math.nan, 1e13, [2.0, 0.0]):
        with pytest.raises(ValueError, match=r"alpha must be numbers in \(0, 1e12\]"):
            renyi_divergence(normal, Distribution("gaussian", 1.0), alpha)
    with pytest.raises(TypeError, match="alpha must be"):
        renyi_divergence(normal, Distribution("gaussian", 1.0), "2")
    with pytest.raises(TypeError, match="p must be a distribution"):
        renyi_divergence(1.0, normal, 2.0)
    for p, q in (
        (normal, Distribution("laplace", 0.0)),
        (normal, Distribution("log_normal", 0.0)),
        (normal, Distribution("multivariate_gaussian", [0.0], [[1.0]])),
        (Distribution("gumbel", 0.0, 1.0), Distribution("gumbel", 0.0, 2.0)),
        (Distribution("weibull", 1.0, 1.0), Distribution("weibull", 2.0, 1.0)),
        (Distribution("levy", 1.0), Distribution("levy", 1.0, 2.0)),
        (Distribution("dirichlet", [1.0, 1.0]), Distribution("dirichlet", [1.0, 1.0, 1.0])),
    ):
        with pytest.raises(ValueError, match="q must be of the family of"):
            renyi_divergence(p, q, 2.0)


# Relative errors of the closed forms against 80 digits, over random parameters and orders.


def of_gamma(a, kp, tp, kq, tq):
    k, t = a * kp + (1 - a) * kq, a * tq + (1 - a) * tp
    if k <= 0 or t <= 0:
        return mp.inf
    first = mp.loggamma(kq) - mp.loggamma(kp) + kq * mp.log(tq) - kp * mp.log(tp)
    rest = mp.loggamma(k) - mp.loggamma(kp) - kp * mp.log(tp) + k * mp.log(tp * tq / t)
    return first + rest / (a - 1)


def of_rates(a, p, q):
    rate = a * p + (1 - a) * q
    return mp.log(p / q) + mp.log(p / rate) / (a - 1) if rate > 0 else mp.inf


def of_gaussian(a, mp_, sp, mq, sq):
    v = a * sq**2 + (1 - a) * sp**2
    if v <= 0:
        return mp.inf
    return mp.log(sq / sp) + mp.log(sq**2 / v) / (2 * (a - 1)) + a * (mp_ - mq) ** 2 / (2 * v)


def of_laplace(a, mp_, bp, mq, bq):
    d, up, down = abs(mp_ - mq), a / bp, (a - 1) / bq
    if up <= down:
        return mp.inf
    both = 2 * (up * mp.exp(down * d) + down * mp.exp(-up * d)) / (up**2 - down**2)
    return mp.log((2 * bp) ** -a * (2 * bq) ** (a - 1) * both) / (a - 1)


def of_logistic(a, p, b, q, _):
    t = abs(p - q) / b
    return mp.log(mp.sinh((a - mp.mpf(1) / 2) * t) / ((2 * a - 1) * mp.sinh(t / 2))) / (a - 1)


def log_beta(x, y):
    return mp.loggamma(x) + mp.loggamma(y) - mp.loggamma(x + y)


def of_beta(a, xp, yp, xq, yq):
    x, y = a * xp + (1 - a) * xq, a * yp + (1 - a) * yq
    if x <= 0 or y <= 0:
        return mp.inf
    at_p = log_beta(xp, yp)
    return log_beta(xq, yq) - at_p + (log_beta(x, y) - at_p) / (a - 1)


def of_inverse_gaussian(a, mp_, lp, mq, lq):
    rate, c = a * lp + (1 - a) * lq, a * lp / mp_**2 + (1 - a) * lq / mq**2
    if rate <= 0 or c < 0:
        return mp.inf
    h = a * lp / mp_ + (1 - a) * lq / mq - mp.sqrt(rate * c)
    return (a / 2 * mp.log(lp) + (1 - a) / 2 * mp.log(lq) - mp.log(rate) / 2 + h) / (a - 1)


def of_pareto(a, mp_, cp, mq, cq):
    if mp_ < mq:
        return mp.inf if a > 1 else of_rates(a, cp, cq) + a / (1 - a) * cp * mp.log(mq / mp_)
    found = of_rates(a, cp, cq)
    return found if mp.isinf(found) else found + cq * mp.log(mp_ / mq)


# Family, closed form of (alpha, p's two parameters, q's two); which of the two are of any sign.
FORMULAS = {
    "gamma": ("gamma", of_gamma, False, False),
    "chi": (
        "chi",
        lambda a, *x: of_gamma(a, *(f(y) for f, y in zip(HALVES, x, strict=True))),
        False,
        False,
    ),
    "exponential": (
        lambda x, _: Distribution("exponential", x),
        lambda a, p, _, q, __: of_rates(a, p, q),
        0,
        0,
    ),
    "weibull": (
        lambda x, s: Distribution("weibull", s, x),
        lambda a, p, s, q, _: of_rates(a, p**-s, q**-s),
        False,
        True,
    ),
    "gumbel": (
        "gumbel",
        lambda a, p, b, q, _: of_rates(a, mp.exp(p / b), mp.exp(q / b)),
        True,
        True,
    ),
    "gaussian": ("gaussian", of_gaussian, True, False),
    "laplace": ("laplace", of_laplace, True, False),
    "laplace of one scale": ("laplace", of_laplace, True, True),
    "logistic": ("logistic", of_logistic, True, True),
    "beta": ("beta", of_beta, False, False),
    "inverse_gaussian": ("inverse_gaussian", of_inverse_gaussian, False, False),
    "pareto": ("pareto", of_pareto, False, False),
}
HALVES = [lambda k: k / 2, lambda s: 2 * s**2] * 2


def drawn(rng, signed):
    """Two values: equal, nearly equal, or not."""
    one, two = (
        float(rng.normal() * 10 ** rng.uniform(-2, 1) if signed else 10 ** rng.uniform(-2, 2))
        for _ in range(2)
    )
    kind = rng.uniform()
    if kind < 0.4:
        two = one * (1.0 + 10.0 ** rng.uniform(-12.0, -1.0))
    return one, one if kind > 0.9 else two


def order(rng):
    kind = rng.uniform()
    if kind < 0.2:
        return float(1.0 + rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-15.0, -1.0))
    if kind < 0.5:
        return float(rng.uniform())
    return (
        float(10.0 ** rng.uniform(-8.0, 0.0)) if kind < 0.6 else float(1.0 + rng.exponential(9.0))
    )


def condition(exact, form, alpha, values):
    """The relative change of the divergence for that of a parameter."""
    largest, step = mp.mpf(0), mp.mpf(2) ** -90
    for i in range(len(values)):
        for sign in (-1, 1):
            moved = list(values)
            moved[i] *= 1 + sign * step
            value = form(alpha, *moved)
            largest = max(largest, abs(value - exact) / exact / step)
    return largest


@pytest.mark.parametrize("name", FORMULAS)
def test_relative_error(name):
    kind, form, signed, shared = FORMULAS[name]
    make = partial(Distribution, kind) if isinstance(kind, str) else kind
    rng = np.random.default_rng(sum(map(ord, name)))
    limit = 1e-10 if name == "beta" else 5e-12
    finite = 0
    with mp.workdps(80):
        for _ in range(POINTS):
            (xp, xq), (yp, yq) = drawn(rng, signed), drawn(rng, False)
            if shared:
                yp = yq = max(yp, 0.2)
            p, q, alpha = make(xp, yp), make(xq, yq), order(rng)
            if p == q:
                continue
            found, values = renyi_divergence(p, q, alpha), [mp.mpf(v) for v in (xp, yp, xq, yq)]
            exact = form(mp.mpf(alpha), *values)
            assert mp.isinf(exact) == math.isinf(found)
            if mp.isinf(exact):
                continue
            finite += 1
            error = abs(found - exact) / exact
            if error > limit:  # next to the order where the divergence becomes infinite
                assert error <= limit * (1 + condition(exact, form, mp.mpf(alpha), values))
    assert finite > POINTS // 4


@pytest.mark.parametrize("log_ratio", [-2000.0, -701.0, 701.0, 2000.0])
def test_locations_far_apart(log_ratio):
    p, q = Distribution("gumbel", 0.0), Distribution("gumbel", -log_ratio)
    for alpha in (0.5, 1.0, 2.0):
        with mp.workdps(1000):
            a = mp.mpf(alpha) + (mp.mpf(10) ** -900 if alpha == 1.0 else 0)
            exact = of_rates(a, mp.mpf(1), mp.exp(-mp.mpf(log_ratio)))
        found = renyi_divergence(p, q, alpha)
        if exact > 1e308:
            assert found == math.inf
        else:
            assert found == pytest.approx(float(exact), rel=1e-12)
