"""The three routes to the privacy of DP-SGD: the published comparison, and the exact curve."""

import math
import re

import pytest
from each import slow

from renyi import FixedSizeSampled, Gaussian, PLDAccountant, PoissonSampled, RDPAccountant, special
from renyi.theory.noise import gaussian_calibration
from renyi.theory.routes import advanced_route, full_batch_route, moment_bound

ROUTES = """
r=.01  k=1   sigma=1  eps=2  : .376   | .325    | 9.1e-4 (9)    | 4.7e-7  | 2.0e-8
r=.01  k=1   sigma=4  eps=.5 : .00622 | .172    | 4.0e-12 (6.7) | 6.4e-29 | 1.6e-31
r=.01  k=1   sigma=4  eps=1  : 1.0e-4 | 5.5e-4  | 2.9e-25 (7.2) | 2.1e-60 | 5.2e-63
r=.01  k=10  sigma=4  eps=2  : .0125  | .1025   | 6.1e-39 (5.6) | 8.9e-94 | 2.3e-96
r=.001 k=1   sigma=4  eps=.2 : .00157 | .796    | 1.4e-7 (10)   | 2.3e-17 | 4.3e-20
r=.1   k=5   sigma=4  eps=4  : .0301  | 5.4e-11 | 1.5e-41 (3.1) | 8.4e-62 | 5.5e-64
r=.1   k=1   sigma=10 eps=1  : 2.3e-5 | 3.2e-22 | 1.3e-67 (3.1) | 2.1e-92 | 3.0e-95
r=.01  k=100 sigma=10 eps=2  : .0171  | .325    | 1.2e-80 (1.9) | 4.8e-85 | 9.1e-88
"""
ORDERS = [*map(float, range(2, 200)), 256.0, 512.0, 1024.0]


@pytest.mark.parametrize("row", ROUTES.strip().splitlines())
def test_the_table_of_routes(row):
    rate, epochs, sigma, epsilon = map(float, re.findall(r"=([\d.]+)", row))
    cells = [float(cell.split("(")[0]) for cell in row.split(":")[1].split("|")]
    steps = round(epochs / rate)
    first = advanced_route(rate, sigma, steps, epsilon=epsilon)
    assert first.delta == pytest.approx(cells[0], rel=0.02)
    second = full_batch_route(sigma, int(epochs), epsilon=epsilon)
    assert second.delta == pytest.approx(cells[1], rel=0.02)
    third = moment_bound(rate, sigma, steps, epsilon=epsilon)
    assert third.log_constant * steps <= 0.5 * third.order * epsilon
    if "(10)" in row:  # the table stops at c2 = 10
        assert third.delta < cells[2]
        assert third.c2 > 10.0
    else:
        assert third.delta == pytest.approx(cells[2], rel=0.03)
        assert third.c2 == pytest.approx(float(re.findall(r"\(([\d.]+)\)", row)[0]), abs=0.06)
    for conversion, cell in zip(("mironov", "balle"), cells[3:], strict=True):
        step = PoissonSampled(Gaussian(sigma), rate)
        listed = RDPAccountant(orders=ORDERS, conversion=conversion).compose(step, steps)
        listed = listed.get_delta(epsilon)
        assert listed == pytest.approx(cell, rel=0.03)
        best = RDPAccountant(conversion=conversion).compose(step, steps).get_delta(epsilon)
        assert best <= listed <= third.delta
    direct = moment_bound(rate, sigma, steps, epsilon=epsilon, form="direct")
    assert best <= direct.delta <= third.delta


@pytest.mark.parametrize(
    ("sigma", "rate", "steps"), [(4.0, 0.1, 50), *slow((1.0, 0.01, 100), (2.0, 0.02, 5000))]
)
def test_every_route_is_above_the_exact_curve(sigma, rate, steps):
    account = PLDAccountant().compose(PoissonSampled(Gaussian(sigma), rate), steps)
    for epsilon in (0.5, 2.0, 6.0):
        exact = account.get_delta_bounds(epsilon)[0]
        for form in ("halved", "direct"):
            assert exact <= moment_bound(rate, sigma, steps, epsilon=epsilon, form=form).delta
        for step in ("tail", "exact"):
            for composition in ("adaptive", "independent", "sharp", "optimal"):
                found = advanced_route(
                    rate, sigma, steps, epsilon=epsilon, step=step, composition=composition
                )
                assert exact <= found.delta
    for delta in (1e-3, 1e-8):
        exact = account.get_epsilon_bounds(delta)[0]
        for form in ("halved", "direct"):
            found = moment_bound(rate, sigma, steps, delta=delta, form=form)
            assert exact <= found.epsilon
            back = moment_bound(rate, sigma, steps, epsilon=found.epsilon, form=form)
            assert back.delta <= delta * (1 + 1e-6)
        for composition in ("adaptive", "optimal"):
            found = advanced_route(
                rate, sigma, steps, delta=delta, step="exact", composition=composition
            )
            assert exact <= found.epsilon


@pytest.mark.parametrize("sigma", [0.5, 3.0])
@pytest.mark.parametrize("epochs", [1, 30])
def test_no_sampling(sigma, epochs):
    for delta in (0.3, 1e-9):
        found = full_batch_route(sigma, epochs, delta=delta)
        back = full_batch_route(sigma, epochs, epsilon=found.epsilon)
        assert back.delta == pytest.approx(delta, rel=1e-9)
        assert gaussian_calibration(sigma=sigma, epsilon=found.epsilon, count=epochs) <= delta
    assert full_batch_route(sigma, epochs, epsilon=epochs / (2 * sigma**2)).delta == 1.0


def test_one_step_is_the_step_itself():
    found = advanced_route(0.1, 2.0, 1, delta=1e-4, step="exact", composition="optimal")
    exact = float(special.sampled_gaussian_epsilon_remove(0.1, 2.0, 1e-4))
    assert exact <= found.epsilon
    assert found.epsilon == pytest.approx(exact, rel=1e-6)


def test_routes_at_their_edges():
    for function in (advanced_route, moment_bound):
        assert function(0.01, 1.0, 10, epsilon=0.0).delta == 1.0
        assert function(0.01, 1.0, 10, epsilon=math.inf).delta == 0.0
        assert function(0.01, 1.0, 10, delta=0.0).epsilon == math.inf
        assert function(0.01, 1.0, 10, delta=1.0).epsilon == 0.0
    # no order from 2 on: c2 = 2/sigma^2 is beyond what is proven
    nothing = moment_bound(0.01, 0.3, 10, epsilon=1.0)
    assert (nothing.delta, nothing.order) == (1.0, 0)
    assert moment_bound(0.01, 0.3, 10, delta=1e-5).epsilon == math.inf
    assert full_batch_route(1.0, 3, delta=0.0).epsilon == math.inf
    assert full_batch_route(1.0, 3, delta=1.0).epsilon == 0.0


def fixed_size_account(sigma, size, population, steps):
    """Of noise sigma times the sensitivity of replacing a record, twice that of removing one."""
    step = FixedSizeSampled(Gaussian(2.0 * sigma), size, population)
    return PLDAccountant(adjacency="replace_one").compose(step, steps)


def test_the_first_route_holds_for_fixed_size_samples():
    account = fixed_size_account(2.0, 10, 100, 20)
    low, high = account.get_epsilon_bounds(1e-4, rtol=1e-2)
    for step, composition in (("tail", "adaptive"), ("exact", "optimal")):
        found = advanced_route(0.1, 2.0, 20, delta=1e-4, step=step, composition=composition)
        assert low <= found.epsilon
    # the curve itself is close to that of Poisson samples
    poisson = PLDAccountant().compose(PoissonSampled(Gaussian(2.0), 0.1), 20).get_epsilon(1e-4)
    assert low < poisson < high < 1.06 * poisson


def test_one_fixed_size_sample_is_what_the_subsampling_theorem_says():
    low, high = fixed_size_account(2.0, 10, 100, 1).get_epsilon_bounds(1e-4)
    found = advanced_route(0.1, 2.0, 1, delta=1e-4, step="exact", composition="optimal")
    assert low <= found.epsilon <= high * (1 + 1e-6)
