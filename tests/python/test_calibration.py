"""Calibration returns values that meet the target, and one tolerance further does not."""

import importlib
import io
import math
import sys
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from each import each, slow

from renyi import (
    ZCDP,
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    RDPAccountant,
    UnsupportedMechanismError,
    calibrate_noise_multiplier,
    calibrate_sample_rate,
    calibrate_steps,
    reference,
)
from renyi.calibration import _search, calibrate, runs
from renyi.calibration._targets import target_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
ACCOUNTANTS = {"pld": PLDAccountant, "rdp": RDPAccountant}
of_each_kind = pytest.mark.parametrize("kind", ACCOUNTANTS)


def private(epsilon, delta):
    return {"target_epsilon": epsilon, "target_delta": delta}


def accountant(q, sigma, steps, kind="pld", **options):
    return ACCOUNTANTS[kind](**options).compose(PoissonSampled(Gaussian(sigma), q), steps)


def epsilon_of(q, sigma, steps, delta, kind="pld", **options):
    return accountant(q, sigma, steps, kind, **options).get_epsilon(delta)


@of_each_kind
@each("target", [0.01, 0.1, 1.0, 8.0, 50.0, 300.0])
@pytest.mark.parametrize(
    ("q", "steps", "delta"),
    [
        (0.01, 10_000, 1e-5),
        (1.0, 1, 1e-12),
        (1.0, 10**9, 1e-100),
        (0.2, 1, 1e-3),
        (0.3, 500, 0.3),
        (0.01, 10**6, 1e-12),
        (0.02, 2000, 1e-100),
        (0.001, 10**9, 1e-5),
    ],
)
def test_noise_multiplier(target, q, steps, delta, kind):
    run = {"sample_rate": q, "steps": steps, "accountant": kind}
    sigma = calibrate_noise_multiplier(**private(target, delta), **run)
    assert epsilon_of(q, sigma, steps, delta, kind) <= target
    assert sigma == 0.01 or epsilon_of(q, sigma * (1 - 1e-6), steps, delta, kind) > target


@of_each_kind
@each("target", [0.1, 1.0, 8.0, 100.0])
@pytest.mark.parametrize(
    ("sigma", "steps", "delta"), [(1.0, 20_000, 1e-5), (4.0, 1, 1e-12), (20.0, 10**6, 1e-100)]
)
def test_sample_rate(target, sigma, steps, delta, kind):
    run = {"noise_multiplier": sigma, "steps": steps, "accountant": kind}
    q = calibrate_sample_rate(**private(target, delta), **run)
    assert 0 < q <= 1
    assert epsilon_of(q, sigma, steps, delta, kind) <= target
    assert q == 1.0 or epsilon_of(min(q * (1 + 1e-6), 1.0), sigma, steps, delta, kind) > target


@of_each_kind
@each("target", [0.5, 1.0, 8.0, 100.0, 1000.0])
@pytest.mark.parametrize(
    ("q", "sigma", "delta"), [(0.004, 1.1, 1e-5), (0.5, 8.0, 1e-9), (1.0, 300.0, 1e-100)]
)
def test_steps(target, q, sigma, delta, kind):
    run = {"noise_multiplier": sigma, "sample_rate": q, "accountant": kind}
    steps = calibrate_steps(**private(target, delta), **run)
    assert steps == 0 or epsilon_of(q, sigma, steps, delta, kind) <= target
    assert epsilon_of(q, sigma, steps + 1, delta, kind) > target


@of_each_kind
@each("tolerance", [0.1, 1e-3, 1e-9, 1e-12])
def test_the_tolerance_is_what_it_says(tolerance, kind):
    run = {"sample_rate": 0.02, "steps": 500, "tolerance": tolerance, "accountant": kind}
    sigma = calibrate_noise_multiplier(**private(2.0, 1e-6), **run)
    assert epsilon_of(0.02, sigma, 500, 1e-6, kind) <= 2.0
    short = sigma * (1 - tolerance) * (1 - 1e-15)
    assert epsilon_of(0.02, short, 500, 1e-6, kind) > 2.0


def test_orders_and_conversion_are_used():
    options = {"orders": [1.5, 2, 8, 32], "conversion": "mironov"}
    run = {"sample_rate": 0.02, "steps": 500, "accountant": "rdp", **options}
    sigma = calibrate_noise_multiplier(**private(2.0, 1e-6), **run)
    assert epsilon_of(0.02, sigma, 500, 1e-6, "rdp", **options) <= 2.0
    assert epsilon_of(0.02, sigma * (1 - 1e-6), 500, 1e-6, "rdp", **options) > 2.0


@pytest.mark.parametrize("steps", [1, 10**6])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.01, 1e-5), (60.0, 1e-100), (1e-4, 0.3), *slow((3.0, 1e-300))]
)
def test_gaussian_mechanism_in_closed_form(epsilon, delta, steps):
    target = private(epsilon, delta)
    exact = math.sqrt(steps) / float(reference.gaussian_mu(epsilon, delta))
    sigma = calibrate_noise_multiplier(**target, sample_rate=1, steps=steps, tolerance=1e-10)
    assert exact * (1 - 1e-14) <= sigma <= exact * (1 + 1e-10)
    if steps < 10**6:
        kept = {"noise_multiplier": exact * (1 + 1e-9), "sample_rate": 1}
        assert calibrate_steps(**target, **kept) == steps
        half = {"noise_multiplier": exact, "steps": steps}
        assert calibrate_sample_rate(**target, **half) > 1 - 1e-5


def stored_points():
    """Exact points of the curve of many equal steps."""
    for point in importlib.import_module("curve_tables").load("curve"):
        q, sigma, steps = point.steps[0]
        plain = len(point.steps) == 1 and point.direction == "remove"
        if plain and q >= 1e-4 and q * steps >= 30 and point.epsilon > 0 and 1e-290 < point.hi < 1:
            yield q, sigma, int(steps), float(point.epsilon), float(point.hi)


def test_noise_of_stored_points_is_found_again():
    points = list(stored_points())
    assert len(points) > 40
    for q, exact, steps, epsilon, delta in points:
        run = {"sample_rate": q, "steps": steps}
        sigma = calibrate_noise_multiplier(**private(epsilon, delta), **run)
        assert exact * (1 - 1e-13) <= sigma <= exact * (1 + 1.01e-6), (q, exact, steps, epsilon)


@pytest.mark.parametrize("steps", [1, 100])
@pytest.mark.parametrize(
    ("alpha", "beta"), [(0.01, 0.95), (1e-6, 0.5), (0.5, 0.01), (0.9, 0.05), (0.01, 0.9899)]
)
def test_trade_off_of_the_gaussian_mechanism(alpha, beta, steps):
    normal = NormalDist()
    exact = math.sqrt(steps) / -(normal.inv_cdf(alpha) + normal.inv_cdf(beta))
    point = {"target_alpha": alpha, "target_beta": beta}
    sigma = calibrate_noise_multiplier(**point, sample_rate=1, steps=steps)
    assert sigma == pytest.approx(exact, rel=2e-6)
    assert accountant(1, sigma, steps).get_beta(alpha) >= beta
    assert accountant(1, sigma * (1 - 1e-6), steps).get_beta(alpha) < beta


@pytest.mark.parametrize("steps", [1, 100])
@pytest.mark.parametrize("advantage", [1e-4, 0.1, 0.5, 0.99])
def test_advantage_of_the_gaussian_mechanism(advantage, steps):
    exact = math.sqrt(steps) / (2 * NormalDist().inv_cdf((1 + advantage) / 2))
    sigma = calibrate_noise_multiplier(target_advantage=advantage, sample_rate=1, steps=steps)
    assert sigma == pytest.approx(exact, rel=2e-6)


def test_other_targets_of_sampled_steps():
    point = {"target_alpha": 0.01, "target_beta": 0.95}
    sigma = calibrate_noise_multiplier(**point, sample_rate=0.01, steps=10_000)
    assert accountant(0.01, sigma, 10_000).get_beta(0.01) >= 0.95
    assert accountant(0.01, sigma * (1 - 1e-6), 10_000).get_beta(0.01) < 0.95
    steps = calibrate_steps(**point, sample_rate=0.01, noise_multiplier=1.0)
    assert accountant(0.01, 1.0, steps).get_beta(0.01) >= 0.95
    assert accountant(0.01, 1.0, steps + 1).get_beta(0.01) < 0.95
    q = calibrate_sample_rate(target_advantage=0.1, noise_multiplier=1.0, steps=1000)
    assert accountant(q, 1.0, 1000).get_advantage() <= 0.1
    assert accountant(q * (1 + 1e-6), 1.0, 1000).get_advantage() > 0.1


def test_replacing_a_record_takes_more_noise():
    run = private(1.0, 1e-5) | {"sample_rate": 1.0, "steps": 10}
    one, both = (
        calibrate_noise_multiplier(**run, adjacency=adjacency)
        for adjacency in ("add_remove", "replace_one")
    )
    assert both == pytest.approx(2 * one, rel=2e-6)
    assert accountant(1.0, both, 10, adjacency="replace_one").get_epsilon(1e-5) <= 1.0


def counted_queries(monkeypatch):
    """Return a list that grows with every epsilon that a calibration of the exact curve asks."""
    queries = []
    plain = runs.Accounting._epsilon

    def counted(self, *args):
        if self.accountant == "pld":
            queries.append(1)
        return plain(self, *args)

    monkeypatch.setattr(runs.Accounting, "_epsilon", counted)
    return queries


@pytest.mark.parametrize(("q", "steps"), [(0.01, 1000), (0.01, 10_000), (0.3, 50), (1.0, 1)])
@pytest.mark.parametrize("target", [0.05, 1.0, 8.0])
def test_exact_accounting_takes_less_noise_and_few_queries(q, steps, target, monkeypatch):
    queries = counted_queries(monkeypatch)
    run = private(target, 1e-5) | {"sample_rate": q, "steps": steps}
    exact = calibrate_noise_multiplier(**run)
    assert 0 < len(queries) <= 8
    assert exact < calibrate_noise_multiplier(**run, accountant="rdp")


@pytest.mark.parametrize(
    ("epsilon", "delta", "q", "steps"),
    [(2.57, 2.5e-7, 8e-4, 2), (12.0, 1e-6, 0.02, 40), (0.3, 1e-9, 1e-3, 10_000)],
)
def test_few_steps_with_rare_large_losses_take_few_queries(epsilon, delta, q, steps, monkeypatch):
    queries = counted_queries(monkeypatch)
    sigma = calibrate_noise_multiplier(**private(epsilon, delta), sample_rate=q, steps=steps)
    assert 0 < len(queries) <= 9
    assert epsilon_of(q, sigma, steps, delta) <= epsilon
    assert epsilon_of(q, sigma * (1 - 1e-6), steps, delta) > epsilon


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_long_searches_show_that_they_go_on_terminals(stream, monkeypatch):
    shown = stream()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(_search, "PATIENCE", 0.0)
    calibrate_noise_multiplier(**private(1.0, 1e-6), sample_rate=0.01, steps=100)
    assert ("searching" in shown.getvalue()) == shown.isatty()


@pytest.mark.parametrize("name", ["pld", "rdp"])
@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.3, 1.0])
def test_a_compiled_verdict_is_that_of_an_accountant(name, adjacency, rate):
    target = target_of(1.0, 1e-6, None, None, None)
    accounting = runs.accounting_of(target, name, adjacency, None, None)
    sides = ("remove", "add") if rate < 1.0 else ("remove",)
    for noise in (0.3, 0.7, 1.0, 3.0, 20.0):
        for steps in (1, 100, 10_000):
            found = accounting._epsilon((noise, rate, steps), 1e-6, sides, runs.WIDE)
            if math.isnan(found):
                assert (name, adjacency) == ("pld", "replace_one") or rate < 1.0
                continue
            made = accounting.blank().compose(PoissonSampled(Gaussian(noise), rate), steps)
            assert found == made.get_epsilon(1e-6)


@of_each_kind
def test_edges(kind):
    target = private(1.0, 1e-6) | {"accountant": kind}
    assert calibrate_noise_multiplier(**target, sample_rate=0.0, steps=10) == 0.0
    assert calibrate_noise_multiplier(**target, sample_rate=0.1, steps=0) == 0.0
    assert calibrate_noise_multiplier(**private(1e4, 1e-6), sample_rate=1.0, steps=1) == 0.01
    assert calibrate_sample_rate(**target, noise_multiplier=math.inf, steps=10) == 1.0
    assert calibrate_sample_rate(**target, noise_multiplier=0.1, steps=0) == 1.0
    assert calibrate_sample_rate(**target, noise_multiplier=100.0, steps=10) == 1.0
    assert calibrate_steps(**target, noise_multiplier=math.inf, sample_rate=0.1) == 10**9
    assert calibrate_steps(**target, noise_multiplier=1.0, sample_rate=0.0) == 10**9
    assert calibrate_steps(**target, noise_multiplier=1e6, sample_rate=1e-3) == 10**9
    assert calibrate_steps(**target, noise_multiplier=0.05, sample_rate=1.0) == 0
    assert calibrate_steps(**target, noise_multiplier=np.float64(2), sample_rate=np.float32(1e-3))


GOOD = {"target_epsilon": 1.0, "target_delta": 1e-6, "sample_rate": 0.1, "steps": 10}
POINT = {"target_epsilon": None, "target_delta": None, "target_alpha": 0.1, "target_beta": 0.5}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"target_epsilon": 0.0}, "target_epsilon"),
        ({"target_epsilon": math.inf}, "target_epsilon"),
        ({"target_delta": 0.0}, "target_delta"),
        ({"target_delta": 1.0}, "target_delta"),
        (POINT | {"target_alpha": 0.0}, "target_alpha"),
        (POINT | {"target_alpha": math.nan}, "target_alpha"),
        (POINT | {"target_beta": 0.9}, "target_beta"),
        (POINT | {"target_beta": 0.0}, "target_beta"),
        ({"target_epsilon": None, "target_delta": None, "target_advantage": 1}, "target_advantage"),
        ({"sample_rate": 1.5}, "sample_rate"),
        ({"steps": -1}, "steps"),
        ({"steps": 10**9 + 1}, "steps"),
        ({"tolerance": 0.5}, "tolerance"),
        ({"tolerance": math.nan}, "tolerance"),
        ({"accountant": "gdp"}, "accountant"),
        ({"accountant": None}, "accountant"),
        ({"adjacency": "replace"}, "adjacency"),
        ({"orders": [2.0]}, "orders"),
        ({"conversion": "optimal"}, "conversion"),
        ({"accountant": "rdp", "orders": []}, "orders"),
        ({"accountant": "rdp", "conversion": "x"}, "conversion"),
    ],
)
def test_bad_input_names_the_argument(change, name):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        calibrate_noise_multiplier(**GOOD | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target_epsilon": None}, "target_epsilon must be given with target_delta"),
        ({"target_delta": None}, "target_delta must be given with target_epsilon"),
        (POINT | {"target_beta": None}, "target_beta must be given with target_alpha"),
        ({"target_epsilon": None, "target_delta": None}, "target_epsilon and .* must be given"),
        ({"target_advantage": 0.1}, "target_advantage must be None where target_epsilon and"),
        (POINT | {"target_advantage": 0.1}, "target_advantage must be None where target_alpha and"),
        ({"target_alpha": 0.1}, "target_alpha and target_beta must be None where target_epsilon"),
        ({"target_epsilon": "1"}, "target_epsilon must be a number"),
        ({"steps": 1.5}, "steps must be an integer"),
    ],
)
def test_exactly_one_kind_of_target(change, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        calibrate_noise_multiplier(**GOOD | change)


@of_each_kind
def test_unreachable_targets_say_so(kind):
    with pytest.raises(ValueError, match=r"^target_epsilon must be .* at most 1e\+08"):
        calibrate_noise_multiplier(
            **private(1e-12, 1e-300), sample_rate=1.0, steps=10**9, accountant=kind
        )
    with pytest.raises(ValueError, match=r"^target_advantage must be .* at most 1e\+08"):
        calibrate_noise_multiplier(target_advantage=1e-9, sample_rate=1.0, steps=10**6)


# --- any mechanism that depends on one number


TARGET = {"target_epsilon": 1.0, "target_delta": 1e-6}


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
@pytest.mark.parametrize(
    ("mechanism", "between", "looser"),
    [
        (lambda b: Laplace(b) * 10, (0.1, 1000.0), -1),
        (lambda x: Laplace(1.0 / x), (0.001, 10.0), 1),
        (lambda p: RandomizedResponse(p, 3), (0.34, 1.0), 1),
        (lambda s: Gaussian(s) * 3 + Laplace(40.0), (0.1, 1000.0), -1),
        (lambda e: PureDP(e) * 5, (0.0, 30.0), 1),
        *slow((lambda s: RandomAllocation(Gaussian(s), 100) * 10, (0.3, 100.0), -1)),
    ],
)
def test_the_value_meets_the_target_and_one_tolerance_more_does_not(
    mechanism, between, looser, accountant
):
    value = calibrate(mechanism, between, **TARGET, tolerance=1e-4, accountant=accountant)

    def epsilon(at):
        return ACCOUNTANTS[accountant]().compose(mechanism(at)).get_epsilon(1e-6)

    further = value * 1.0001**looser if between[0] > 0 else value + looser * 1e-4 * between[1]
    assert epsilon(value) <= 1.0 < epsilon(further)


def test_integers_are_told_apart():
    def uses(count):
        assert isinstance(count, int)
        return Laplace(50.0) * count

    most = calibrate(uses, (1, 10_000), integer=True, **TARGET)
    assert isinstance(most, int)
    epsilons = [PLDAccountant().compose(uses(most + k)).get_epsilon(1e-6) for k in (0, 1)]
    assert epsilons[0] <= 1.0 < epsilons[1]


def test_as_the_calibrations_of_sampled_steps():
    run = {"sample_rate": 0.01, "steps": 1000}
    noise = calibrate(lambda s: PoissonSampled(Gaussian(s), 0.01) * 1000, (0.3, 50.0), **TARGET)
    assert noise == pytest.approx(calibrate_noise_multiplier(**TARGET, **run), rel=3e-6)
    steps = calibrate(
        lambda k: PoissonSampled(Gaussian(2.0), 0.01) * k, (1, 10**6), integer=True, **TARGET
    )
    assert steps == calibrate_steps(**TARGET, noise_multiplier=2.0, sample_rate=0.01)


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_other_targets(accountant):
    def account(p):
        return ACCOUNTANTS[accountant]().compose(RandomizedResponse(p, 2) * 2)

    kind = {"accountant": accountant, "tolerance": 1e-4}
    p = calibrate(lambda p: account(p).mechanisms[0][0], (0.5, 1.0), target_advantage=0.3, **kind)
    assert account(p).get_advantage() <= 0.3 < account(p * 1.0001).get_advantage()
    alone = calibrate(
        lambda p: RandomizedResponse(p, 2), (0.5, 1.0), target_alpha=0.1, target_beta=0.7, **kind
    )
    kept, lost = (
        ACCOUNTANTS[accountant]().compose(RandomizedResponse(x, 2)).get_beta(0.1)
        for x in (alone, alone * 1.0001)
    )
    assert kept >= 0.7 > lost


def test_an_end_that_meets_the_target_is_the_answer():
    assert calibrate(lambda b: Laplace(b), (5.0, 9.0), **TARGET) == 5.0
    assert calibrate(lambda e: PureDP(e), (0.0, 0.5), **TARGET) == 0.5
    assert calibrate(lambda k: PureDP(0.1) * k, (1, 10), integer=True, **TARGET) == 10


@pytest.mark.parametrize(
    ("mechanism", "between", "more", "error", "message"),
    [
        (Laplace, (0.1, 0.2), {}, ValueError, r"reachable with a value in \[0.1, 0.2\], got 1.0"),
        (lambda x: Laplace(abs(x - 5) + 0.1), (0.0, 10.0), {}, ValueError, "more and more"),
        (lambda x: PureDP(abs(x - 5)), (0.0, 10.0), {}, ValueError, "more and more"),
        (Laplace, (2.0, 1.0), {}, ValueError, "between must be two finite numbers"),
        (Laplace, (1.0, math.inf), {}, ValueError, "between must be two finite numbers"),
        (Laplace, 3.0, {}, TypeError, "between must be two finite numbers"),
        (Laplace, (1.5, 3.0), {"integer": True}, TypeError, "between must be an integer"),
        (Laplace(1.0), (1.0, 2.0), {}, TypeError, "mechanism must be a function"),
        (lambda b: b, (1.0, 2.0), {}, TypeError, "mechanism must be a renyi mechanism"),
        (Laplace, (1.0, 2.0), {"tolerance": 1.0}, ValueError, "tolerance must be"),
        (Laplace, (1.0, 2.0), {"orders": [2.0]}, ValueError, "orders must be None"),
        (ZCDP, (0.1, 2.0), {}, UnsupportedMechanismError, "RDPAccountant"),
    ],
)
def test_what_is_refused(mechanism, between, more, error, message):
    with pytest.raises(error, match=message):
        calibrate(mechanism, between, **TARGET, **more)
