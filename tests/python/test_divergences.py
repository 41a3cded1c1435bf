"""Rényi divergences in closed form against quadrature of the densities, by mpmath."""

from __future__ import annotations

import dataclasses
import math

import mpmath as mp
import numpy as np
import pytest

from renyi import pairs
from renyi.theory.divergences import (
    BetaDistribution,
    ChiDistribution,
    ChiSquareDistribution,
    ExponentialDistribution,
    ExponentialFamily,
    GammaDistribution,
    GaussianDistribution,
    GumbelDistribution,
    HalfNormalDistribution,
    InverseGaussianDistribution,
    LaplaceDistribution,
    LogisticDistribution,
    LogNormalDistribution,
    MaxwellDistribution,
    MultivariateGaussianDistribution,
    ParetoDistribution,
    RayleighDistribution,
    UniformDistribution,
    WeibullDistribution,
    renyi_divergence,
)

INF = mp.inf


def log_density(d, x):
    """The log density, without anything that the package computes."""
    f = {field.name: mp.mpf(getattr(d, field.name)) for field in dataclasses.fields(d)}
    log = mp.log
    match d:
        case ExponentialDistribution():
            return log(f["rate"]) - f["rate"] * x
        case GammaDistribution():
            k, t = f["shape"], f["scale"]
            return (k - 1) * log(x) - x / t - mp.loggamma(k) - k * log(t)
        case ChiSquareDistribution():
            return log_density(GammaDistribution(d.degrees / 2, 2.0), x)
        case ChiDistribution():
            k, s = f["degrees"], f["scale"]
            return (
                (k - 1) * log(x) - x**2 / (2 * s**2) - (k / 2 - 1) * log(2) - mp.loggamma(k / 2)
            ) - k * log(s)
        case HalfNormalDistribution():
            return log_density(ChiDistribution(1.0, d.scale), x)
        case RayleighDistribution():
            return log(x) - 2 * log(f["scale"]) - x**2 / (2 * f["scale"] ** 2)
        case MaxwellDistribution():
            s = f["scale"]
            return log(2 / mp.pi) / 2 + 2 * log(x) - 3 * log(s) - x**2 / (2 * s**2)
        case WeibullDistribution():
            y = x / f["scale"]
            return log(f["shape"] / f["scale"]) + (f["shape"] - 1) * log(y) - y ** f["shape"]
        case GumbelDistribution():
            y = (x - f["location"]) / f["scale"]
            return -log(f["scale"]) - y - mp.exp(-y)
        case GaussianDistribution():
            y = (x - f["mean"]) / f["sigma"]
            return -(y**2) / 2 - log(2 * mp.pi) / 2 - log(f["sigma"])
        case LogNormalDistribution():
            return log_density(GaussianDistribution(d.mean, d.sigma), log(x)) - log(x)
        case LaplaceDistribution():
            return -abs(x - f["location"]) / f["scale"] - log(2 * f["scale"])
        case LogisticDistribution():
            y = (x - f["location"]) / f["scale"]
            return -y - log(f["scale"]) - 2 * mp.log1p(mp.exp(-y))
        case BetaDistribution():
            a, b = f["a"], f["b"]
            return (a - 1) * log(x) + (b - 1) * mp.log1p(-x) - log(mp.beta(a, b))
        case InverseGaussianDistribution():
            m, k = f["mean"], f["shape"]
            return (log(k / (2 * mp.pi)) - 3 * log(x) - k * (x - m) ** 2 / (m**2 * x)) / 2
        case ParetoDistribution():
            return log(f["index"]) + f["index"] * log(f["minimum"]) - (f["index"] + 1) * log(x)
        case UniformDistribution():
            return -log(f["high"] - f["low"])
    raise AssertionError(d)


def by_quadrature(p, q, alpha, cuts):
    a = mp.mpf(alpha)
    if a == 1:
        return mp.quad(
            lambda x: mp.exp(log_density(p, x)) * (log_density(p, x) - log_density(q, x)), cuts
        )
    total = mp.quad(lambda x: mp.exp(a * log_density(p, x) + (1 - a) * log_density(q, x)), cuts)
    return mp.log(total) / (a - 1)


HALF_LINE = [0, 0.5, 1, 2, 4, 8, 16, 32, 64, INF]
SQUARES = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16]
LINE = [-30, -10, -5, -2, -1, 0, 1, 2, 5, 10, 30]
PAIRS = [
    (ExponentialDistribution(1.0), ExponentialDistribution(1.2), HALF_LINE),
    (GammaDistribution(2.5, 1.0), GammaDistribution(2.0, 1.3), HALF_LINE),
    (
        GammaDistribution(13.0, 0.5),
        GammaDistribution(12.0, 0.6),
        [0, 2, 4, 6, 8, 10, 15, 20, 30, 50],
    ),
    (ChiSquareDistribution(5.0), ChiSquareDistribution(4.0), HALF_LINE),
    (ChiDistribution(3.0, 1.0), ChiDistribution(2.5, 1.2), SQUARES),
    (HalfNormalDistribution(1.0), HalfNormalDistribution(1.1), SQUARES),
    (RayleighDistribution(1.0), RayleighDistribution(1.1), SQUARES),
    (MaxwellDistribution(1.0), MaxwellDistribution(0.9), SQUARES),
    (RayleighDistribution(1.0), HalfNormalDistribution(1.5), SQUARES),
    (WeibullDistribution(1.5, 1.0), WeibullDistribution(1.5, 1.2), SQUARES),
    (
        GumbelDistribution(0.3, 2.0),
        GumbelDistribution(0.0, 2.0),
        [-15, -10, -7, -5, -3, -1, 0, 1, 3, 6, 10, 30, 60, 150],
    ),
    (GaussianDistribution(0.5, 1.0), GaussianDistribution(0.0, 1.2), LINE),
    (
        LogNormalDistribution(0.1, 0.5),
        LogNormalDistribution(0.0, 0.6),
        [0, 0.2, 0.5, 1, 2, 4, 8, 20, 60, 300],
    ),
    (
        LaplaceDistribution(1.0, 2.0),
        LaplaceDistribution(0.0, 2.0),
        [-150, -50, -10, 0, 1, 10, 50, 150],
    ),
    (
        LaplaceDistribution(1.0, 1.0),
        LaplaceDistribution(0.0, 1.5),
        [-150, -50, -10, 0, 1, 10, 50, 150],
    ),
    (
        LogisticDistribution(1.0, 1.5),
        LogisticDistribution(0.0, 1.5),
        [-150, -50, -10, -3, 0, 1, 4, 10, 50, 150],
    ),
    (BetaDistribution(2.5, 3.0), BetaDistribution(2.0, 2.5), [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1]),
    (
        InverseGaussianDistribution(1.0, 3.0),
        InverseGaussianDistribution(1.2, 2.8),
        [0.01, 0.1, 0.5, 1, 2, 4, 8, 16, 50],
    ),
    (ParetoDistribution(2.0, 3.0), ParetoDistribution(1.5, 2.5), [2, 3, 5, 10, 100, INF]),
    (UniformDistribution(0.0, 1.0), UniformDistribution(-1.0, 3.0), [0, 1]),
]


@pytest.mark.parametrize(("p", "q", "cuts"), PAIRS, ids=lambda v: repr(v)[:30])
@pytest.mark.parametrize("alpha", [0.3, 2.5])
def test_quadrature(p, q, cuts, alpha):
    with mp.workdps(15):
        exact = by_quadrature(p, q, alpha, [mp.mpf(c) for c in cuts])
    assert renyi_divergence(p, q, alpha) == pytest.approx(float(exact), rel=1e-8)


@pytest.mark.parametrize(("p", "q", "cuts"), PAIRS[::4], ids=lambda v: repr(v)[:30])
def test_quadrature_of_order_one(p, q, cuts):
    with mp.workdps(15):
        exact = by_quadrature(p, q, 1, [mp.mpf(c) for c in cuts])
    assert renyi_divergence(p, q, 1.0) == pytest.approx(float(exact), rel=1e-8)


@pytest.mark.parametrize(("p", "q", "cuts"), PAIRS, ids=lambda v: repr(v)[:30])
def test_properties(p, q, cuts):
    orders = np.concatenate((np.linspace(0.01, 0.99, 50), [1.0], np.linspace(1.01, 30.0, 50)))
    found = renyi_divergence(p, q, orders)
    with np.errstate(invalid="ignore"):
        steps = np.where(np.isinf(found[1:]), 1.0, np.diff(found))
    assert (steps >= -1e-14 * found[:-1]).all()  # increasing in the order
    low = orders < 1.0  # (1-a) D_a(p || q) = a D_(1-a)(q || p)
    swapped = renyi_divergence(q, p, 1.0 - orders[low]) * orders[low] / (1.0 - orders[low])
    np.testing.assert_allclose(found[low], swapped, rtol=1e-12)
    assert not renyi_divergence(p, p, orders).any()
    # Continuous at 1.
    around = renyi_divergence(p, q, [1.0 - 1e-12, 1.0, 1.0 + 1e-12])
    np.testing.assert_allclose(around, around[1], rtol=1e-10)


@pytest.mark.parametrize(
    ("p", "q", "limit"),
    [  # a finite divergence below the order, an infinite one at it and above
        (ExponentialDistribution(1.0), ExponentialDistribution(2.0), 2.0),
        (ExponentialDistribution(3.0), ExponentialDistribution(4.0), 4.0),
        (GammaDistribution(2.0, 1.0), GammaDistribution(4.0, 1.0), 2.0),
        (GammaDistribution(1.0, 2.0), GammaDistribution(1.0, 1.0), 2.0),
        (RayleighDistribution(2.0), RayleighDistribution(1.0), 4.0 / 3.0),
        (HalfNormalDistribution(2.0), HalfNormalDistribution(1.0), 4.0 / 3.0),
        (ChiSquareDistribution(2.0), ChiSquareDistribution(4.0), 2.0),
        (WeibullDistribution(1.0, 2.0), WeibullDistribution(1.0, 1.0), 2.0),
        (GumbelDistribution(0.0, 1.0), GumbelDistribution(math.log(2.0), 1.0), 2.0),
        (GaussianDistribution(0.0, 2.0), GaussianDistribution(1.0, 1.0), 4.0 / 3.0),
        (LogNormalDistribution(0.0, 2.0), LogNormalDistribution(0.0, 1.0), 4.0 / 3.0),
        (LaplaceDistribution(0.0, 2.0), LaplaceDistribution(3.0, 1.0), 2.0),
        (BetaDistribution(1.0, 5.0), BetaDistribution(2.0, 1.0), 2.0),
        (ParetoDistribution(3.0, 1.0), ParetoDistribution(2.0, 2.0), 2.0),
        (InverseGaussianDistribution(1.0, 1.0), InverseGaussianDistribution(1.0, 2.0), 2.0),
        (
            MultivariateGaussianDistribution([0.0, 0.0], [[1.0, 0.0], [0.0, 2.0]]),
            MultivariateGaussianDistribution([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]),
            2.0,
        ),
    ],
    ids=repr,
)
def test_existence(p, q, limit):
    orders = np.array([0.5, 1.0, limit * (1.0 - 1e-6), limit * (1.0 + 1e-9), 100.0])
    assert np.isfinite(renyi_divergence(p, q, orders)).tolist() == [True, True, True, False, False]
    assert np.isfinite(renyi_divergence(q, p, [0.5, 1.0])).all() or isinstance(
        p, ParetoDistribution
    )
    if limit in (2.0, 4.0) and not isinstance(p, GumbelDistribution):
        assert renyi_divergence(p, q, limit) == math.inf


def test_the_lévy_limit_of_inverse_gaussians_is_finite():
    # alpha l_p/m_p^2 + (1-alpha) l_q/m_q^2 = 0 at alpha = 2.
    p, q = InverseGaussianDistribution(2.0, 2.0), InverseGaussianDistribution(1.0, 1.0)
    found = renyi_divergence(p, q, [1.999999, 2.0, 2.000001])
    assert np.isfinite(found[:2]).all()
    assert found[2] == math.inf
    with mp.workdps(30):  # h = 2 l_p/m_p - l_q/m_q, l* = 3
        exact = mp.log(mp.mpf(2) / mp.sqrt(3) * mp.exp(1))
    assert found[1] == pytest.approx(float(exact), rel=1e-12)


def test_supports():
    overlap = renyi_divergence(UniformDistribution(0.0, 2.0), UniformDistribution(1.0, 3.0), 0.5)
    assert overlap == pytest.approx(2.0 * math.log(2.0))
    assert (
        renyi_divergence(UniformDistribution(0.0, 2.0), UniformDistribution(1.0, 3.0), 1.0)
        == math.inf
    )
    assert (
        renyi_divergence(UniformDistribution(0.0, 1.0), UniformDistribution(1.0, 3.0), 0.5)
        == math.inf
    )
    assert (
        renyi_divergence(ParetoDistribution(1.0, 2.0), ParetoDistribution(2.0, 2.0), 1.0)
        == math.inf
    )
    with mp.workdps(20):
        exact = by_quadrature(
            ParetoDistribution(1.0, 2.0), ParetoDistribution(2.0, 3.0), 0.5, [2, 5, 20, 200, INF]
        )
    assert renyi_divergence(
        ParetoDistribution(1.0, 2.0), ParetoDistribution(2.0, 3.0), 0.5
    ) == pytest.approx(float(exact))


def test_many_dimensions():
    rng = np.random.default_rng(5)
    for n in (1, 2, 5):
        roots = rng.normal(size=(2, n, n))
        means, matrices = rng.normal(size=(2, n)), roots @ roots.swapaxes(1, 2) + np.eye(n)
        matrices = 0.5 * (matrices + matrices.swapaxes(1, 2))
        p, q = (
            MultivariateGaussianDistribution(m, s) for m, s in zip(means, matrices, strict=True)
        )
        for alpha in (0.4, 1.01):
            with mp.workdps(40):
                sp, sq = (mp.matrix(s.tolist()) for s in matrices)
                d, a = mp.matrix((means[0] - means[1]).tolist()), mp.mpf(alpha)
                v = a * sq + (1 - a) * sp
                logs = mp.log(mp.det(v)) - (1 - a) * mp.log(mp.det(sp)) - a * mp.log(mp.det(sq))
                exact = a / 2 * (d.T * mp.inverse(v) * d)[0] - logs / (2 * (a - 1))
            assert renyi_divergence(p, q, alpha) == pytest.approx(float(exact), rel=1e-11)
    one = renyi_divergence(GaussianDistribution(1.0, 2.0), GaussianDistribution(0.0, 1.5), 1.7)
    same = (
        MultivariateGaussianDistribution([1.0], [[4.0]]),
        MultivariateGaussianDistribution([0.0], [[2.25]]),
    )
    assert renyi_divergence(*same, 1.7) == pytest.approx(float(one), rel=1e-14)


def test_a_family_of_ones_own():
    def log_partition(theta):
        return -math.log(-theta[0]) if theta[0] < 0.0 else math.inf

    def mean(theta):
        return -1.0 / theta

    p, q = (ExponentialFamily([-rate], log_partition, mean) for rate in (1.0, 1.5))
    orders = [0.5, 1.0, 2.0, 2.9, 3.5]
    exact = renyi_divergence(ExponentialDistribution(1.0), ExponentialDistribution(1.5), orders)
    np.testing.assert_allclose(renyi_divergence(p, q, orders), exact, rtol=1e-12)
    without = ExponentialFamily([-1.0], log_partition), ExponentialFamily([-2.0], log_partition)
    with pytest.raises(ValueError, match="mean must be given"):
        renyi_divergence(*without, 1.0)


@pytest.mark.parametrize("scale", [0.3, 2.0])
@pytest.mark.parametrize("alpha", [0.5, 2.0, 9.0])
def test_logistic_is_a_bounded_range(scale, alpha):
    edges = np.linspace(-1.0 / scale, 1.0 / scale, 20_001)
    spans, _, _ = pairs.logistic_pair(scale).compiled.spans(edges)
    moment = math.log(float((spans[:, 4] * np.exp(alpha * spans[:, 1])).sum())) / (alpha - 1.0)
    found = renyi_divergence(
        LogisticDistribution(1.0, scale), LogisticDistribution(0.0, scale), alpha
    )
    assert found == pytest.approx(moment, rel=1e-6)


def test_shapes_and_scalars():
    p, q = GaussianDistribution(1.0), GaussianDistribution(0.0)
    assert isinstance(renyi_divergence(p, q, 2), np.float64)
    assert renyi_divergence(p, q, [[1, 2], [3, 4]]).tolist() == [[0.5, 1.0], [1.5, 2.0]]
    assert renyi_divergence(p, q, []).shape == (0,)


@pytest.mark.parametrize("alpha", [0.0, -1.0, math.inf, math.nan, 1e13, [2.0, 0.0]])
def test_orders_outside(alpha):
    with pytest.raises(ValueError, match=r"alpha must be numbers in \(0, 1e12\]"):
        renyi_divergence(GaussianDistribution(0.0), GaussianDistribution(1.0), alpha)


def test_bad_arguments():
    with pytest.raises(TypeError, match="alpha must be"):
        renyi_divergence(GaussianDistribution(0.0), GaussianDistribution(1.0), "2")
    with pytest.raises(TypeError, match="p must be a distribution"):
        renyi_divergence(1.0, GaussianDistribution(1.0), 2.0)
    for q in (
        LaplaceDistribution(0.0),
        LogNormalDistribution(0.0),
        MultivariateGaussianDistribution([0.0], [[1.0]]),
    ):
        with pytest.raises(ValueError, match="q must be of the family of"):
            renyi_divergence(GaussianDistribution(0.0), q, 2.0)
    with pytest.raises(ValueError, match="q must be of the family of"):
        renyi_divergence(GumbelDistribution(0.0, 1.0), GumbelDistribution(0.0, 2.0), 2.0)
    for kind in (
        ExponentialDistribution,
        ChiSquareDistribution,
        HalfNormalDistribution,
        RayleighDistribution,
        MaxwellDistribution,
    ):
        for bad in (0.0, -1.0, math.inf, math.nan, 1e101):
            with pytest.raises(ValueError, match="must be a number in"):
                kind(bad)
        with pytest.raises(TypeError, match="must be a number in"):
            kind("1")
    with pytest.raises(ValueError, match="high must be a number above low"):
        UniformDistribution(1.0, 1.0)
    for matrix in ([[1.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.5], [0.4, 1.0]]):
        with pytest.raises(ValueError, match="covariance must be"):
            MultivariateGaussianDistribution([0.0, 0.0], matrix)
