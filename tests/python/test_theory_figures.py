"""The numbers of examples/theory_figures.py, and what the pages say of them."""

import itertools
import math
import re
import runpy
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from each import slow

from renyi import Gaussian, PrivacyLoss, special
from renyi.pairs import DiscretePair
from renyi.theory.f_divergences import finite_divergence
from renyi.theory.iteration import noise_divergence
from renyi.theory.noise import mean_noise_multiplier
from renyi.theory.sampled_gaussian import largest_order
from renyi.theory.subsampling import poisson_rdp

ROOT = Path(__file__).parents[2]
FIGURES = runpy.run_path(str(ROOT / "examples" / "theory_figures.py"), run_name="figures")


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_route_1_wins_below_log_2_and_below_the_last_rate_only():
    for epochs, noise, rate in itertools.product(
        (1, 100), (0.5, 1.0, 3.0, 10.0, 100.0), np.geomspace(1e-4, 1.0, 9)
    ):
        ratio, step = FIGURES["routes"](noise, float(rate), epochs)
        if ratio < 1.0:
            assert step < math.log(2.0)
            assert rate < FIGURES["last_rate"](epochs)


@pytest.mark.parametrize("epochs", [1, 100])
def test_the_last_rate_is_the_limit_of_much_noise(epochs):
    rate = FIGURES["last_rate"](epochs)
    assert f"{rate:.4f} after {'one epoch' if epochs == 1 else '100'}" in page("comparison.md")
    assert FIGURES["routes"](1e5, 0.97 * rate, epochs)[0] < 1.0
    assert FIGURES["routes"](1e5, 1.03 * rate, epochs)[0] > 1.0


@pytest.mark.parametrize("order", [4, 16, 64])
def test_the_leading_term_and_the_next(order):
    slopes = []
    for bound, factor in (("tight", 1.0), ("general", 3.0)):
        slope = FIGURES["first_order"](Gaussian(2.0), order, factor)
        found = FIGURES["beyond_leading_term"](Gaussian(2.0), order, 1e-6, bound)
        assert found == pytest.approx(1e-6 * slope, rel=1e-3)
        slopes.append(slope)
    assert slopes[1] / slopes[0] == pytest.approx(17.0, rel=0.01)


def test_the_last_term_wins_at_order_64():
    before, after = (
        [FIGURES["beyond_leading_term"](Gaussian(2.0), 64, q, b) for b in ("tight", "general")]
        for q in (2e-4, 4e-4)
    )
    assert max(before) < 0.1
    assert min(after) > 30.0


def test_one_order_of_neighbours_is_not_enough():
    p, q, rate, order = np.array([0.999, 0.001]), np.array([0.9, 0.1]), 0.9, 10
    assert all((q * (p / q - 1.0) ** odd).sum() < 0.0 for odd in range(3, order + 1, 2))
    added = finite_divergence(q, rate * p + (1.0 - rate) * q, order)
    l = np.arange(order + 1)  # noqa: E741
    weights = [math.comb(order, k) * rate**k * (1.0 - rate) ** (order - k) for k in l.tolist()]
    terms = weights * (p[:, None] ** l * q[:, None] ** (1.0 - l)).sum(axis=0)
    alone = [
        math.log(terms[:3].sum() + factor * terms[3:].sum()) / (order - 1) for factor in (1.0, 3.0)
    ]
    mechanism = PrivacyLoss(DiscretePair(p.tolist(), q.tolist()))
    both = poisson_rdp(mechanism, rate, order, bound="tight")
    assert max(alone) < added < both
    text = page("subsampling.md")
    assert [f"{x:.3f}" in text for x in (added, *alone, both)] == [True] * 4


def test_the_closed_form_is_from_378_to_4_times_the_exact_value():
    for noise, rate in itertools.product((4.0, 5.0, 16.0), (1e-6, 1e-3, 0.05, 0.1, 0.2)):
        for share in (1e-9, 0.1, 0.5, 1.0):
            order = 1.001 + share * (largest_order(rate, noise) - 1.001)
            assert 3.78 < FIGURES["closed_form_factor"](rate, noise, order) <= 4.0
    limit = 4.0 / (16.0 * math.expm1(1.0 / 16.0))
    assert FIGURES["closed_form_factor"](1e-7, 4.0, 2.0) == pytest.approx(limit, rel=1e-4)
    assert f"{limit:.3f} at σ = 4" in page("sampled_gaussian.md")


def test_one_record_by_three_theorems():
    text = page("iteration.md")
    rows = re.findall(r"^\| (\d+) \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", text, re.M)
    assert len(rows) == 4
    for steps, small, large, renyi, normal in rows:
        near, far = (FIGURES["one_record"](1.0, int(steps), d, 1.0) for d in (0.3, 0.6))
        found = near["E_g"], far["E_g"], near["renyi"], near["gaussian"]
        for cell, value in zip((small, large, renyi, normal), found, strict=True):
            assert value <= float(cell) < 1.01 * value


@pytest.mark.parametrize("later", [0, 1, 10, 1000])
def test_the_renyi_form_is_that_of_feldman_and_others(later):
    """2 alpha L^2 / sigma^2 over 1 + m: of epsilon, the best of its orders."""
    noise, epsilon = 3.0, 0.2
    rho = 2.0 / noise**2 / (1.0 + later)  # L = 1
    orders = np.geomspace(1.001, 1e5, 4000)
    log_delta = (orders - 1.0) * (orders * rho - epsilon) + orders * np.log1p(-1.0 / orders)
    best = math.exp(float((log_delta - np.log(orders - 1.0)).min()))
    found = FIGURES["one_record"](noise, later, 1.0, epsilon)["renyi"]
    assert found <= min(best, 1.0) * (1.0 + 1e-9)
    assert found >= 0.3 * best or best > 0.1


def log_lost(law, x):
    """-log B at a real step x."""
    if law == "laplace":
        return -mp.log1p(-mp.exp(mp.mpf(1) / 2) / (x ** mp.mpf(1.5) / 100 + 100))
    r = 2 * mp.sqrt(mp.lambertw(x**3 / (2 * mp.pi * 100**2) + 100).real)
    near, far = mp.erfc((r / 2 - 1 / r) / mp.sqrt(2)), mp.erfc((r / 2 + 1 / r) / mp.sqrt(2))
    return -mp.log1p(-(near + mp.e * far) / 2)


@pytest.mark.parametrize(
    ("law", "upper", "lower"), [("laplace", 0.76, 0.75), *slow(("gaussian", 5.32, 5.06))]
)
def test_the_integral_beside_the_limit(law, upper, lower):
    ends = [0, 1, 2, 4, 8, 16, 32, 64]
    last, index = 1500, 100
    with mp.workdps(20):
        integral = [
            mp.quad(
                lambda u: log_lost(law, mp.exp(u)) * mp.exp(u), [mp.log(first) + k for k in ends]
            )
            for first in (index + 1, index, last)
        ]
        total = mp.fsum(log_lost(law, mp.mpf(t)) for t in range(index + 1, last)) + integral[2]
        slope = log_lost(law, mp.mpf(last + 0.5)) - log_lost(law, mp.mpf(last - 0.5))
        total += log_lost(law, mp.mpf(last)) / 2 - slope / 12
        exact = [float(mp.expm1(total - one)) for one in integral[:2]]
    found = [FIGURES["integral_over_limit"](law, index, first) - 1.0 for first in (101, 100)]
    np.testing.assert_allclose(found, exact, atol=5e-6)
    assert [round(100.0 * x, 2) for x in found] == [upper, -lower]
    text = page("errata.md")
    assert f"{upper} %" in text
    assert f"{lower} %" in text
    late = [FIGURES["integral_over_limit"](law, 10_000, first) - 1.0 for first in (10_001, 10_000)]
    assert 2e-4 > late[0] > 0.0 > late[1] > -2e-4


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_what_a_step_forgets(law):
    for r in (0.5, 3.0, 10.0):
        kept = noise_divergence(law, 1.0, r)
        assert 1.0 - FIGURES["forgotten"](law, r, 1.0) == pytest.approx(kept, abs=1e-13)


def test_orders_of_a_power_above_one_plus_that_of_the_rate_have_no_constant():
    for d, e in ((1.0, 2.0), (0.5, 1.5), (1.0, 2.2), (0.5, 1.8)):
        found = []
        for noise in (5.0, 20.0, 80.0):
            order, rate = math.floor(noise**e), 0.3 * noise**-d
            log_moment = float(special.log_a_lower(rate, noise, order))
            assert log_moment >= 0.999 * rate**2 * order * (order - 1.0) / (2.0 * noise**2)
            found.append(log_moment)
        assert (found[2] > 1.5 * found[0]) == (e > 1.0 + d)


def test_a_clipped_mean_takes_half_the_batch_times_the_noise():
    mean, rows = (
        mean_noise_multiplier(1.0, 1.0, clipped=kind, adjacency="replace_one", least_size=256)
        for kind in ("mean", "rows")
    )
    assert (mean, rows) == (2.0, 256.0)


def test_the_figures_are_drawn(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    names = FIGURES["main"].__globals__
    monkeypatch.setitem(names, "routes", lambda noise, rate, epochs: (noise * rate, noise))
    monkeypatch.setitem(names, "integral_over_limit", lambda law, index, first: index / first)
    FIGURES["main"](tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(names["FIGURES"])
    for name in names["FIGURES"]:
        assert (tmp_path / name).stat().st_size > 10_000
        assert (ROOT / "docs" / name).stat().st_size < 100_000
