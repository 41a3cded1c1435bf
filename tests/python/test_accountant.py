"""The Rényi accountant: safe rounding, edges, orders, merging, threads."""

import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from each import each, slow
from mpmath import mp, mpf

from renyi import (
    ZCDP,
    Composed,
    Exponential,
    Gaussian,
    Gumbel,
    Laplace,
    PoissonSampled,
    PrivacyLoss,
    RandomizedResponse,
    RDPAccountant,
    RDPCurve,
    reference,
)
from renyi.pairs import MechanismPair, MixedPair

CONVERSIONS = ["optimal", "balle", "asoodeh", "mironov"]


def sampled(q, sigma, steps, **options):
    return RDPAccountant(**options).compose(PoissonSampled(Gaussian(sigma), q), steps)


def random_settings(count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield (
            float(10 ** rng.uniform(-6, 0)),
            float(10 ** rng.uniform(-0.7, 2.3)),
            int(10 ** rng.uniform(0, 6)),
            float(10 ** rng.uniform(-12, -0.05)),
        )


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_the_value_is_safe_and_tight_at_its_order(conversion):
    """Against 20 digits: K from the mpmath integral, the conversion from its definition."""
    for q, sigma, steps, delta in random_settings(1, 11):
        acc = sampled(q, sigma, steps, conversion=conversion)
        epsilon, order = acc.get_epsilon_and_order(delta)
        lower, upper = acc.get_epsilon_bounds(delta)
        if order == 1.0:
            assert epsilon == 0.0
            continue
        rho = steps * reference.rdp_sampled_gaussian(q, sigma, order, 20)
        exact = reference.epsilon_from_rdp(order, rho, delta, conversion, 25)
        assert mpf(lower) <= exact <= mpf(upper)
        assert upper == pytest.approx(float(exact), rel=1e-9, abs=1e-14)

        value, order = acc.get_delta_and_order(epsilon)
        low, high = acc.get_delta_bounds(epsilon)
        if order > 1.0:
            rho = steps * reference.rdp_sampled_gaussian(q, sigma, order, 20)
            exact = min(reference.delta_from_rdp(order, rho, epsilon, conversion, 25), mpf(1))
            assert mpf(low) <= exact <= mpf(high)
        assert value == high
        assert value <= delta * (1 + 1e-6)


# Steps (q, sigma, count) and delta; K turns from a parabola to an exponential at the optimum.
CLIFFS = [
    ([(0.0010539207339463014, 3.696582187161399, 2905)], 6.66116983716581e-05),
    ([(1.2833245465684802e-09, 153.33299952281584, 116)], 1.0323084397971044e-12),
    ([(0.0002124621596976079, 3.397663574879895, 4154)], 1e-05),
    (
        [
            (8.068651001786434e-08, 6.475745131451366, 6263),
            (6.000314370030302e-06, 0.2732450867820193, 544),
            (0.005179219662936583, 162.36343064270622, 2),
        ],
        1e-06,
    ),
    ([(0.001, 4.0, 10_000)], 1e-7),
    ([(1e-5, 2.0, 10)], 1e-9),
]
RARE, STRONG = PoissonSampled(Gaussian(1.0), 0.01), MechanismPair(Gaussian(0.01))
ASKED = [
    (
        sum((PoissonSampled(Gaussian(sigma), q) * count for q, sigma, count in steps), Composed()),
        delta,
    )
    for steps, delta in [*(([run], delta) for *run, delta in random_settings(40, 5)), *CLIFFS]
]
ASKED += [
    (Laplace(2.0) * 40 + RandomizedResponse(0.6, 3) * 5, 1e-6),
    (PoissonSampled(Laplace(0.5), 0.01) * 1000, 1e-6),
    (RDPCurve([2.0, 3.0, 8.0, 300.0], [0.1, 0.2, 1.0, 40.0]), 1e-5),
    # two minima, one at the corner of order 3
    (RDPCurve([2.0, 3.0, 8.0, 300.0], [0.1, 0.2, 1.0, 40.0]) + ZCDP(0.02), 6e-3),
    (RDPCurve([2.5, 90.5, 300.0], [0.1, 0.2, 40.0]) + ZCDP(1e-4), 1e-3),
    (Exponential(0.2) * 30, 1e-10),
    (Gumbel(20.0) * 10, 1e-5),
    (ZCDP(0.02) * 10 + Gumbel(20.0), 0.01),
    (Laplace(2.0) * 3 + PoissonSampled(Laplace(0.5), 0.01) * 20 + RARE * 1000, 1e-5),
    # curves that cross, and a rare part that rules from some order on
    (PoissonSampled(ZCDP(0.5), 0.01) * 300, 1e-5),
    (PoissonSampled(ZCDP(0.5), 0.01) * 30 + RARE * 100, 1e-5),
    (PrivacyLoss(MixedPair((1e-130, 1e-6), (STRONG, MechanismPair(Gaussian(5.0))))), 1e-10),
    (PrivacyLoss(MixedPair((1e-130, 1e-6), (STRONG, MechanismPair(Gaussian(5.0))))), 1e-5),
]
LISTS = [1 + 10 ** np.linspace(-5, 5.9, 150), np.r_[2:65, 128:1025:128], 1 + np.arange(1, 640) / 10]


@pytest.mark.parametrize("asked", [ASKED[::2], *slow(ASKED[1::2])], ids=["even", "odd"])
@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_the_continuum_is_never_worse_than_a_list_which_gives_its_best_order(conversion, asked):
    for number, (mechanism, delta) in enumerate(asked):
        best, *listed = (
            RDPAccountant(conversion=conversion, orders=orders).compose(mechanism)
            for orders in (None, *LISTS)
        )
        epsilon = best.get_epsilon(delta)
        for account in listed:
            assert epsilon <= account.get_epsilon(delta) * (1 + 1e-12)
            for at in (0.7, 0.6 * epsilon, epsilon, 1.4 * epsilon):
                assert best.get_delta(at) <= account.get_delta(at) * (1 + 1e-12)
        account = listed[number % len(LISTS)]
        single = [
            RDPAccountant(conversion=conversion, orders=[order]).compose(mechanism)
            for order in LISTS[number % len(LISTS)]
        ]
        # A list knows its lowest order only for the fallback at epsilon = 0.
        least = min(one.get_epsilon(delta) for one in single)
        assert account.get_epsilon(delta) == pytest.approx(least, rel=1e-13, abs=1e-300)
        least = min(one.get_delta(0.7) for one in single)
        assert account.get_delta(0.7) == pytest.approx(least, rel=1e-10, abs=1e-300)


@each("noise, uses, epsilon", [(0.519, 2, 1.007), (1.0, 1, 0.01), (0.3, 3, 0.5), (10.0, 100, 1e-3)])
def test_orders_next_to_one_are_within_the_bracket(noise, uses, epsilon):
    low, high = RDPAccountant().compose(Gaussian(noise), uses).get_delta_bounds(epsilon)
    for distance in np.geomspace(1e-12, 1e-3, 60):
        near = RDPAccountant(orders=[1.0 + distance]).compose(Gaussian(noise), uses)
        assert low <= near.get_delta(epsilon)
        assert high <= near.get_delta(epsilon) * (1.0 + 1e-10)


def test_conversions_are_ordered():
    for q, sigma, steps, delta in random_settings(40, 3):
        values = [sampled(q, sigma, steps, conversion=c).get_epsilon(delta) for c in CONVERSIONS]
        optimal, balle, asoodeh, mironov = values
        slack = 1 + 1e-12
        assert optimal <= asoodeh * slack
        assert asoodeh <= balle * slack
        assert balle <= mironov * slack


def test_gaussian_against_the_closed_form():
    """Mironov's conversion of a Gaussian has the closed form mu^2/2 + mu sqrt(2 log(1/delta))."""
    for sigma, delta in [(1.0, 1e-5), (30.0, 1e-9), (0.2, 0.01)]:
        mu = 1 / mpf(sigma)
        exact = mu**2 / 2 + mu * mp.sqrt(-2 * mp.log(mpf(delta)))
        value = RDPAccountant(conversion="mironov").compose(Gaussian(sigma)).get_epsilon(delta)
        assert value >= exact * (1 - mpf(10) ** -17)
        assert value == pytest.approx(float(exact), rel=1e-13)


SWEEPS = {
    "sigma": np.geomspace(1e6, 0.01, 200),
    "q": np.geomspace(1e-6, 1.0, 200),
    "steps": np.unique(np.geomspace(1, 1e6, 200).astype(int)),
}


@pytest.mark.parametrize("swept", SWEEPS)
@pytest.mark.parametrize("base", [(0.2, 1.2, 2000), (1.0, 3.0, 1), *slow(((0.01, 0.4, 100),))])
def test_monotone_in_every_argument(base, swept):
    """More steps, a larger rate or less noise never seem safer: root finders rely on it."""
    names = ("q", "sigma", "steps")
    epsilon = sampled(*base).get_epsilon(1e-5)
    runs = [sampled(**dict(zip(names, base, strict=True)) | {swept: x}) for x in SWEEPS[swept]]
    for values, rounding in (
        ([run.get_epsilon(1e-5) for run in runs], 0.0),
        ([run.get_epsilon(0.2) for run in runs], 0.0),
        ([run.get_delta(epsilon) for run in runs], 0.0),
        ([run.get_advantage() for run in runs[::4]], 1e-13),
        ([1.0 - run.get_beta(0.05) for run in runs[::4]], 1e-10),
        ([1.0 - run.get_bayes_risk(0.3) for run in runs[::4]], 1e-10),
    ):
        assert (np.diff(values) >= -rounding).all()
    assert (np.diff(runs[0].get_epsilon(np.geomspace(1e-300, 0.999, 400))) <= 0.0).all()
    assert (np.diff(runs[0].get_delta(np.linspace(0.0, 40.0, 400))) <= 0.0).all()
    assert (np.diff(runs[0].get_beta(np.linspace(0.0, 1.0, 400))) <= 0.0).all()


def test_equal_steps_merge_and_grouping_does_not_matter():
    step = PoissonSampled(Gaussian(1.1), 0.004)
    one = RDPAccountant()
    for _ in range(100):
        one.compose(step)
    assert one.mechanisms == ((step, 100),)
    other = RDPAccountant().compose(step * 60 + Composed((step, 40)))
    assert one.get_epsilon(1e-5) == other.get_epsilon(1e-5)
    mixed = [step, Gaussian(30.0), PoissonSampled(Gaussian(2.0), 0.3)]
    forward, backward = RDPAccountant(), RDPAccountant()
    for mechanism in mixed:
        forward.compose(mechanism)
    for mechanism in mixed[::-1]:
        backward.compose(mechanism)
    assert forward.get_epsilon(1e-5) == pytest.approx(backward.get_epsilon(1e-5), rel=1e-13)


def test_nothing_composed_and_nothing_protected():
    empty = RDPAccountant()
    assert empty.get_epsilon(0.0) == empty.get_epsilon(1e-5) == empty.get_delta(0.0) == 0.0
    assert empty.get_rdp([2.0]).tolist() == [0.0]
    for harmless in (PoissonSampled(Gaussian(0.0), 0.0), Gaussian(math.inf)):
        assert RDPAccountant().compose(harmless, 10).get_epsilon(0.0) == 0.0
    open_ = RDPAccountant().compose(Gaussian(0.0))
    assert open_.get_epsilon(1e-5) == math.inf
    assert open_.get_epsilon(1.0) == 0.0
    assert open_.get_delta(5.0) == 1.0
    assert open_.get_rdp(2.0) == math.inf
    assert RDPAccountant().compose(Gaussian(1.0)).get_epsilon(0.0) == math.inf
    assert RDPAccountant().compose(Gaussian(1.0)).get_delta(math.inf) == 0.0
    assert RDPAccountant().compose(Gaussian(1.0), 0).mechanisms == ()


@pytest.mark.parametrize("delta", [1e-300, 1e-100, 0.5, 1 - 1e-12])
@pytest.mark.parametrize("steps", [1, 10**9])
def test_extreme_delta_and_count(delta, steps):
    epsilon = sampled(0.01, 1.0, steps).get_epsilon(delta)
    assert 0.0 <= epsilon < math.inf
    assert sampled(0.01, 1.0, steps).get_delta(epsilon + 1e-9) <= delta * (1 + 1e-6)


def test_get_rdp_is_rounded_up_and_keeps_the_shape():
    acc = sampled(0.01, 1.0, 7)
    orders = np.array([[1.0, 1.5], [2.0, 32.0]])
    values = acc.get_rdp(orders[:, ::-1])[:, ::-1]
    assert values.shape == (2, 2)
    for order, value in zip(orders.flat, values.flat, strict=True):
        exact = 7 * reference.rdp_sampled_gaussian(0.01, 1.0, float(order), 30)
        assert exact <= mpf(float(value)) <= exact * (1 + mpf(10) ** -12)
    with pytest.raises(ValueError, match=r"orders must be a number in \[1, 1e6\]"):
        acc.get_rdp([2.0, 0.5])
    with pytest.raises(ValueError, match="nan"):
        acc.get_rdp(math.nan)


def test_numpy_integers_and_zero_dimensional_arrays_are_fine():
    acc = RDPAccountant().compose(PoissonSampled(Gaussian(np.array(1.1)), 0.004), np.array(15000))
    assert acc.get_epsilon(np.float64(1e-5)) == sampled(0.004, 1.1, 15000).get_epsilon(1e-5)


DELTA, EPSILON = r"delta must be a number in \[0, 1\]", r"epsilon must be a number in \[0, inf\]"
ORDERS = "orders must be a non-empty list"
KNOWN = "conversion must be one of 'optimal', 'balle', 'asoodeh', 'mironov', got 'best'$"


@each(
    "message, call, bads",
    [
        (DELTA, RDPAccountant().get_epsilon, [-1e-9, 1.0 + 1e-9, math.nan, math.inf]),
        (EPSILON, RDPAccountant().get_delta, [-1e-9, math.nan]),
        (ORDERS, lambda bad: RDPAccountant(orders=bad), [[], [1.0], [0.5, 2.0], [math.nan]]),
        (ORDERS, lambda bad: RDPAccountant(orders=bad), [[2.0, 1e7], [math.inf], 3, "23", [None]]),
        (KNOWN, lambda bad: RDPAccountant(conversion=bad), ["best"]),
    ],
)
def test_refused(message, call, bads):
    for bad in bads:
        wrong = TypeError if bad in (3, "23", [None]) else ValueError
        with pytest.raises(wrong, match=f"^{message}"):
            call(bad)


def test_threads_compose_and_ask_without_losing_a_step():
    acc, step = RDPAccountant(), PoissonSampled(Gaussian(1.0), 0.001)

    def work():
        for _ in range(500):
            acc.compose(step).get_epsilon(1e-5)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert acc.mechanisms == ((step, 2000),)
    assert acc.get_epsilon(1e-5) == pytest.approx(sampled(0.001, 1.0, 2000).get_epsilon(1e-5))


FORK = """
import os, threading
from renyi import Gaussian, PLDAccountant, PrivacyFilter

accountant, budget = PLDAccountant(), PrivacyFilter(5.0, 1e-5)
held, done = threading.Event(), threading.Event()

def hold():
    with accountant.lock, budget._lock:
        held.set()
        done.wait(30)

thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    accountant.compose(Gaussian(10.0))
    budget.spend(Gaussian(10.0))
    os._exit(7)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
done.set()
thread.join()
assert code == 7
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_wait_for_threads_it_has_not():
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0
