"""Samples with little noise, whose outputs nearly tell who was seen: brackets are narrow.

The truths are independent of the engine: two steps by quadrature over the first of the closed form
of the second; more on a plain grid of losses whose mass goes to both neighbours such that the mean
is kept, which is off by the number of steps times the square of the spacing; and multi-precision
with the number of large losses as a condition (tests/reference/large_losses.py).

Of the direction add with X = (the largest loss) - epsilon and G what a step loses less than the
largest of its own, delta = E[(1 - e^(G_1 + ... + G_k - X))_+]: sums below X are composed on a grid
of so much only, at two spacings; two steps by quadrature in multi-precision.
"""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
from each import slow

from renyi import FixedSizeSampled, Gaussian, PLDAccountant, PoissonSampled
from renyi._engine import LossComposition
from renyi.mechanisms.steps import SampledStep, step_pair

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))

SPACING, POINTS = 2e-3, 2**20
NORMAL_TAIL = np.vectorize(lambda x: 0.5 * math.erfc(x / math.sqrt(2)), otypes=[float])


def composed(q, sigma, count):
    return PLDAccountant().compose(PoissonSampled(Gaussian(sigma), q), count)


def replaced(q, sigma, count):
    return PLDAccountant(adjacency="replace_one").compose(PoissonSampled(Gaussian(sigma), q), count)


def removed(account, *step, delta):
    """Return the ends of epsilon of one record that is removed, or replaced."""
    direction = "remove" if account is composed else None
    return account(*step).get_epsilon_bounds(delta, direction=direction)


def log_ratio(q, sigma, records, x):
    """Of outputs of a group's records, each in the sample by its own coin, to those of none."""
    result = np.full_like(x, records * math.log1p(-q))
    for n in range(1, records + 1):
        chance = math.log(math.comb(records, n)) + n * math.log(q) + (records - n) * math.log1p(-q)
        result = np.logaddexp(result, chance + n * x / sigma - 0.5 * n**2 / sigma**2)
    return result


def outputs(q, sigma, points=400_001, records=1, replaced=False):
    """Outputs in units of the noise, their losses, and masses with the records and without."""
    farthest = records / sigma + 12
    x = np.linspace(-farthest if replaced else -12, farthest, points)
    without = np.exp(-(x**2) / 2) * (x[1] - x[0]) / math.sqrt(2 * math.pi)
    ratio = log_ratio(q, sigma, records, x)
    loss = ratio - log_ratio(q, sigma, records, -x) if replaced else ratio
    return loss, np.exp(ratio) * without, without


def on_a_grid(q, sigma, count, add=False, **pair):
    """Losses of a composition and their masses."""
    loss, with_record, without = outputs(q, sigma, **pair)
    loss, mass = (-loss, without) if add else (loss, with_record)
    loss, mass = loss[mass > 1e-30], mass[mass > 1e-30]
    start = math.floor(loss.min() / SPACING)
    place = loss / SPACING - start
    cell = np.floor(place).astype(int)
    law = np.zeros(POINTS)
    np.add.at(law, cell, mass * (1 - (place - cell)))
    np.add.at(law, cell + 1, mass * (place - cell))
    composed = np.fft.irfft(np.fft.rfft(law) ** count, POINTS)
    base = max(count * start, -POINTS // 4)  # sums below that have next to no mass
    return (base + np.arange(POINTS)) * SPACING, np.roll(composed, count * start - base)


def delta_on_a_grid(law, epsilon):
    losses, masses = law
    return float(np.sum(masses * -np.expm1(np.minimum(epsilon - losses, 0.0))))


def delta_of_one(q, sigma, epsilon):
    """Of the direction remove: P(L > epsilon) - e^epsilon Q(L > epsilon), at an array."""
    above = epsilon > math.log1p(-q)
    grown = np.where(above, np.log1p(np.expm1(np.where(above, epsilon, 1.0)) / q), 0.0)
    x = sigma * (grown + 0.5 / sigma**2)
    without = NORMAL_TAIL(x)
    tail = (1 - q) * without + q * NORMAL_TAIL(x - 1 / sigma)
    return np.where(
        above, tail - np.exp(np.where(above, epsilon, 0.0)) * without, -np.expm1(epsilon)
    )


def delta_of_two(q, sigma, epsilon):
    loss, mass, _ = outputs(q, sigma, points=20_001)
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sum(mass * delta_of_one(q, sigma, epsilon - loss)))


def falls_between(law, low, high, delta):
    return delta_on_a_grid(law, high * (1 + 3e-5)) < delta < delta_on_a_grid(law, low * (1 - 3e-5))


@pytest.mark.parametrize(
    ("account", "q", "sigma", "count", "delta"),
    [
        (composed, 0.01, 0.2, 100, 1e-5),
        (composed, 0.05, 0.3, 100, 0.01),
        (composed, 0.5, 0.2, 10, 0.01),
        (composed, 1e-4, 0.15, 1000, 1e-6),
        (composed, 0.05, 0.07, 100, 1e-2),
        *slow((composed, 0.01, 0.25, 100, 1e-5), (composed, 0.01, 0.2, 100, 0.2)),
        *slow((composed, 0.01, 0.28, 100, 0.2), (composed, 0.001, 0.2, 1000, 0.01)),
        *slow((composed, 0.01, 0.15, 1000, 1e-2), (composed, 0.001, 0.1, 1000, 1e-2)),
        *slow((composed, 0.05, 0.1, 100, 1e-6)),
        (replaced, 0.001, 0.12, 100, 1e-3),
        (replaced, 0.01, 0.25, 100, 1e-5),
        (replaced, 0.2, 0.3, 30, 1e-2),
        (replaced, 0.9, 0.2, 10, 1e-6),
        (replaced, 1e-4, 0.2, 1000, 1e-4),
        (replaced, 0.05, 0.1, 100, 0.3),
        (replaced, 0.001, 0.07, 72, 1e-4),
    ],
)
def test_many_steps_are_narrow(account, q, sigma, count, delta):
    low, high = removed(account, q, sigma, count, delta=delta)
    assert 0 < low <= high <= low * (1 + 1e-8)
    law = on_a_grid(q, sigma, count, replaced=account is replaced)
    assert falls_between(law, low, low, delta)


@pytest.mark.parametrize("records", [2, 3])
@pytest.mark.parametrize(("q", "sigma"), [(0.02, 0.25), *slow((0.01, 0.15))])
def test_groups_are_not_taken_for_one_record(q, sigma, records):
    ledger, delta = composed(q, sigma, 100), 1e-3
    low, high = ledger.get_epsilon_bounds(delta, direction="remove", group_size=records)
    assert high < 1.01 * low
    assert falls_between(on_a_grid(q, sigma, 100, records=records), low, high, delta)


def test_steps_of_two_kinds():
    few, (rate, noise, count) = (0.007, 0.08, 5), (0.27, 2.4, 10)
    ledger = composed(*few).compose(PoissonSampled(Gaussian(noise), rate), count)
    low, high = ledger.get_epsilon_bounds(1e-3, direction="remove")
    assert 0 < low <= high < 1.001 * low
    (one, masses), (other, more) = on_a_grid(*few), on_a_grid(rate, noise, count)
    both = np.fft.irfft(np.fft.rfft(masses) * np.fft.rfft(more), POINTS)
    assert falls_between((one + other[0], both), low, high, 1e-3)


@pytest.mark.parametrize("sigma", [0.15, 0.2, 0.3])
@pytest.mark.parametrize("q", [0.01, 0.2])
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_two_steps_are_narrow(q, sigma, delta):
    low, high = composed(q, sigma, 2).get_epsilon_bounds(delta, direction="remove")
    assert 0 < low <= high <= low * (1 + 1e-8)
    assert (
        delta_of_two(q, sigma, high * (1 + 1e-6)) < delta < delta_of_two(q, sigma, low * (1 - 1e-6))
    )


@pytest.mark.parametrize(
    ("q", "sigma", "count", "delta"), [(0.5, 0.01, 10_000, 1e-6), (0.2, 0.02, 10_000, 1e-2)]
)
def test_many_records_seen_are_narrow(q, sigma, count, delta):
    """Their number is binomial, and the sum of their losses normal, with the mean between."""
    low, high = composed(q, sigma, count).get_epsilon_bounds(delta, direction="remove")
    assert 0 < low <= high <= low * (1 + 1e-8)
    least, most = 0.0, 0.0
    for n in range(count + 1):
        log_chance = math.lgamma(count + 1) - math.lgamma(n + 1) - math.lgamma(count - n + 1)
        chance = math.exp(log_chance + n * math.log(q) + (count - n) * math.log1p(-q))
        mean = n * (0.5 / sigma**2 + math.log(q)) + (count - n) * math.log1p(-q)
        deviation = math.sqrt(n) / sigma
        if chance < 1e-30 or n == 0:
            continue
        for end, at in (("low", low * (1 - 1e-5)), ("high", low * (1 + 1e-5))):
            a = (at - mean) / deviation
            b = a + deviation
            # e^(at - mean + deviation^2/2) of the second tail, which is next to nothing beside it.
            grown = math.exp(-a * a / 2) * (1 / (b * math.sqrt(2 * math.pi)) if b > 5 else 0.0)
            part = chance * max(0.5 * math.erfc(a / math.sqrt(2)) - grown, 0.0)
            least, most = (least + part, most) if end == "low" else (least, most + part)
    assert most < delta < least


@pytest.mark.parametrize("sigma", [0.02, 0.05])
def test_the_chance_that_any_is_seen(sigma):
    """A plateau of delta, 1 - (1 - q)^k: at it and around it."""
    ledger = composed(0.5, sigma, 2)
    at = ledger.get_epsilon(0.75)
    assert ledger.get_epsilon(0.75 * (1 + 1e-9)) == pytest.approx(0.0, abs=1e-8)
    below = ledger.get_epsilon(0.75 * (1 - 1e-3))
    # The right end: of one record seen, almost certainly more than a few deviations below.
    mean, deviation = 0.5 / sigma**2 + 2 * math.log(0.5), 1 / sigma
    assert 0 <= at <= mean
    assert mean - 4 * deviation < below < mean


@pytest.mark.parametrize(
    ("account", "q", "sigma", "count", "delta"),
    [
        (composed, 0.05, 0.1, 1000, 1e-6),
        *slow((composed, 0.5, 0.2, 10, 1e-2), (composed, 2e-4, 0.15, 3, 1e-8)),
        *slow((composed, 0.01, 0.12, 3000, 1e-60), (composed, 0.001, 0.1, 1000, 1e-6)),
        *slow((composed, 0.15, 0.07, 97, 1e-7)),
        (replaced, 0.7, 0.3, 20, 1e-3),
        *slow((replaced, 0.05, 0.15, 300, 1e-6), (replaced, 2e-4, 0.15, 30, 1e-8)),
        *slow((replaced, 0.01, 0.12, 3000, 1e-60), (replaced, 0.3, 0.25, 10, 1e-120)),
    ],
)
def test_the_truth_lies_inside(account, q, sigma, count, delta):
    pytest.importorskip("flint")
    from large_losses import LargeLosses

    low, high = removed(account, q, sigma, count, delta=delta)
    assert 0 < low <= high <= low * (1 + (1e-11 if account is composed else 1e-9))
    instead = account is replaced
    truth = LargeLosses(q, sigma, count, low, math.log(delta), 2e7, replaced=instead)
    (above, rest), (below, other) = truth.delta(low), truth.delta(high)
    assert above + rest >= delta
    assert below - other <= delta
    assert above - rest < delta * (1 + 1e-9)


@pytest.mark.parametrize(
    ("q", "sigma", "count", "delta"),
    [
        (1.5e-6, 0.4, 180_000, 1e-213),  # several large losses, all far out
        (2e-6, 0.47, 106_740, 6e-287),
        (1e-6, 0.1, 30_000_000, 1e-2),  # outputs that may be either
        (1e-6, 0.19, 10**9, 1e-6),
        (0.01, 0.015, 10_000_000, 1e-12),  # many records
        (0.2, 0.01, 10**9, 1e-300),
        (0.1, 0.002, 10**8, 1e-9),
        (0.002, 0.015, 2, 1e-51),
        (5e-5, 0.26, 3, 1.3e-4),  # next to no loss
        (0.006, 0.28, 463_296, 0.75),
        (0.5, 0.05, 10**6, 0.99),
    ],
)
def test_extremes_are_narrow(q, sigma, count, delta):
    low, high = composed(q, sigma, count).get_epsilon_bounds(delta, direction="remove")
    assert 0 < low <= high <= low * (1 + 1e-8)
    assert_inverse(q, sigma, count, delta, "remove")


def assert_inverse(q, sigma, count, delta, direction):
    """Of delta, which is flatter or steeper than its argument by as many nats as that changes."""
    account = composed(q, sigma, count)
    low, high = account.get_epsilon_bounds(delta, direction=direction)
    assert low <= high
    assert account.get_delta_bounds(high, direction=direction)[0] <= delta
    assert low <= 0 or account.get_delta_bounds(low, direction=direction)[1] >= delta


@pytest.mark.parametrize(
    ("q", "sigma", "count"), [(5e-5, 0.5, 35), (5e-6, 0.24, 700_000), (0.01, 1.5, 10)]
)
def test_epsilon_is_zero_from_the_total_variation_on(q, sigma, count):
    ledger = composed(q, sigma, count)
    low, high = ledger.get_delta_bounds(0.0, direction="remove")
    assert ledger.get_epsilon_bounds(high * (1 + 1e-6), direction="remove") == (0, 0)
    assert ledger.get_epsilon_bounds(low * (1 - 1e-2), direction="remove")[0] > 0


def seen_at_least(q, count, number):
    return math.fsum(
        math.comb(count, n) * q**n * (1 - q) ** (count - n) for n in range(number, count + 1)
    )


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("sigma", [0.005, 0.03])
def test_plateaus_end_where_as_many_records_are_seen(sigma, number):
    """The right end, from both sides of the plateau: eight deviations below so many losses."""
    q, count = 0.2, 4
    ledger, delta = composed(q, sigma, count), seen_at_least(q, count, number)
    ends = [ledger.get_epsilon(delta * (1 + x), direction="remove") for x in (1e-9, 0.0, -1e-9)]
    mean = number / (2 * sigma**2) + number * math.log(q) + (count - number) * math.log1p(-q)
    deviation = math.sqrt(number) / sigma
    assert ends[0] <= ends[1] <= ends[2]
    assert mean - 10 * deviation < ends[2] < mean - 4 * deviation
    before = (number - 1) / (2 * sigma**2) + 10 * math.sqrt(number) / sigma
    assert ends[0] < before


def plateau(q, count, number):
    """P(at least so many records are included), in multi-precision."""
    q = mpmath.mpf(q)
    terms = (mpmath.binomial(count, n) * q**n * (1 - q) ** (count - n) for n in range(number))
    return 1 - sum(terms)


def delta_of_inclusions(q, sigma, count, epsilon, most=25):
    """From below, with the losses of steps with the record Gaussian, and a bound of the rest."""
    q, c = mpmath.mpf(q), 1 / mpmath.mpf(sigma)
    total = mpmath.mpf(0)
    for n in range(1, min(count, most) + 1):
        rest = mpmath.mpf(epsilon) - n * mpmath.log(q) - (count - n) * mpmath.log1p(-q)
        mu = c * mpmath.sqrt(n)
        a, b = rest / mu - mu / 2, rest / mu + mu / 2
        mean = mpmath.ncdf(-a) - mpmath.exp(rest) * mpmath.ncdf(-b)
        total += mpmath.binomial(count, n) * q**n * (1 - q) ** (count - n) * mean
    return total, 4 * count * mpmath.sqrt(q * (1 - q)) * mpmath.exp(-(c**2) / 8)


@pytest.mark.parametrize("distance", [-1e-15, -1e-12, -1e-7, -1e-3, 1e-12, 1e-4])
@pytest.mark.parametrize(
    ("q", "sigma", "count", "number"),
    [
        (0.01, 0.04, 10, 1),
        (0.1, 0.03, 5, 2),
        (0.5, 0.02, 2, 2),
        (0.001, 0.03, 1000, 1),
        (0.2, 0.02, 9, 4),
        (0.3, 0.005, 7, 3),
    ],
)
def test_next_to_plateaus_the_truth_lies_inside(q, sigma, count, number, distance):
    with mpmath.workdps(60):
        delta = float(plateau(q, count, number) * (1 + mpmath.mpf(distance)))
        low, high = composed(q, sigma, count).get_epsilon_bounds(delta, direction="remove")
        assert 0 <= low <= high <= low * (1 + 1e-10)
        assert delta_of_inclusions(q, sigma, count, high)[0] <= delta
        assert high == 0 or sum(delta_of_inclusions(q, sigma, count, low)) >= delta
        if high == 0:
            assert number == 1
            assert distance > 0


@pytest.mark.parametrize("distance", [1e-15, 1e-12, 1e-7])
def test_next_to_a_delta_of_one_the_truth_lies_inside(distance):
    """Where delta hardly falls, beside the errors of a line."""
    low, high = composed(0.5, 0.06, 100).get_epsilon_bounds(1 - distance, direction="remove")
    with mpmath.workdps(60):
        assert delta_of_inclusions(0.5, 0.06, 100, high, 100)[0] <= 1 - distance
        assert sum(delta_of_inclusions(0.5, 0.06, 100, low, 100)) >= 1 - distance
    assert low <= high


@pytest.mark.parametrize("distance", [1e-13, 1e-9, 1e-3, 0.9])
@pytest.mark.parametrize(
    ("q", "sigma", "count"), [(0.01, 0.04, 10), (2e-5, 0.011, 756), (0.1, 0.03, 30)]
)
def test_added_records_next_to_the_first_plateau(q, sigma, count, distance):
    """Without an output that may come from the record, delta = 1 - e^(epsilon - largest loss)."""
    with mpmath.workdps(60):
        delta = float(plateau(q, count, 1) * (1 - mpmath.mpf(distance)))
        low, high = composed(q, sigma, count).get_epsilon_bounds(delta, direction="add")
        most = mpmath.log1p(-mpmath.mpf(delta)) - count * mpmath.log1p(-mpmath.mpf(q))
        lost = delta_of_inclusions(q, sigma, count, 1.0)[1] / (1 - delta)
        assert 0 < low <= high <= low * (1 + 1e-8)
        assert low <= most
        assert high >= most - lost


def rest_on_a_line(q, sigma, count, epsilon, add=False):
    """1 - delta = E min(1, e^(epsilon - S)), inverted at a tilt between -1 and 0."""
    loss, with_record, without = outputs(q, sigma, points=20_001)
    loss, mass = (-loss, without) if add else (loss, with_record)

    def log_term(z):
        log_moment = np.log(np.sum(mass * np.exp(z * loss)))
        return count * log_moment - z * epsilon - np.log(-z * (1 + z))

    def term(z):
        return np.exp(log_term(z))

    tilt = min(-np.geomspace(1e-4, 0.9, 200), key=log_term)
    step = 2 * math.pi * -tilt / 100
    ordinates = step * np.arange(1, 400)
    return (0.5 * term(tilt) + sum(term(tilt + 1j * y).real for y in ordinates)) * step / math.pi


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(
    ("q", "sigma", "count", "rest"),
    [(0.01, 0.3, 10_000, 1e-9), (0.3, 0.2, 1000, 1e-13), (0.05, 2.0, 1_000_000, 1e-15)],
)
def test_next_to_a_delta_of_one_brackets_are_narrow(q, sigma, count, rest, add):
    delta = 1 - rest
    direction = "add" if add else "remove"
    low, high = composed(q, sigma, count).get_epsilon_bounds(delta, direction=direction)
    assert 0 < low <= high <= low * (1 + 1e-10)
    assert rest_on_a_line(q, sigma, count, low, add) == pytest.approx(1 - delta, rel=1e-6)


@pytest.mark.parametrize(("noise", "count"), [(0.3667, 14_623), (0.37, 40_000)])
def test_replaced_records_at_a_tiny_delta_are_narrow(noise, count):
    low, high = replaced(6e-4, noise, count).get_epsilon_bounds(1e-63)
    assert 0 < low <= high <= low * (1 + 1e-10)


@pytest.mark.parametrize("direction", ["add", "remove"])
def test_rounding_widens_brackets_of_many_kinds_of_steps(direction):
    """One part of so many steps, and parts that differ by one unit in the last place."""
    single, noise, parts = composed(0.5, 1.0, 1500), 1.0, PLDAccountant()
    for _ in range(750):
        parts.compose(PoissonSampled(Gaussian(noise), 0.5), 2)
        noise = math.nextafter(noise, 2.0)
    low, high = single.get_epsilon_bounds(1 - 1e-12, direction=direction)
    least, most = parts.get_epsilon_bounds(1 - 1e-12, direction=direction)
    assert high - low <= most - least <= 1e-9
    assert least <= high
    assert low <= most


@pytest.mark.parametrize(
    ("q", "sigma", "count"),
    [
        (1.2163897314313495e-4, 0.024763148794313045, 198),
        (0.00256165337080947, 0.043665049238776545, 146),
        *slow((2.0030985338372645e-5, 0.03725882616409307, 1016)),
    ],
)
def test_the_truth_lies_inside_at_a_delta_of_1e_300(q, sigma, count):
    low, high = composed(q, sigma, count).get_epsilon_bounds(1e-300, direction="remove")
    with mpmath.workdps(60):
        assert delta_of_inclusions(q, sigma, count, high, count)[0] <= 1e-300
        assert sum(delta_of_inclusions(q, sigma, count, low, count)) >= 1e-300
    assert low <= high <= low * (1 + 1e-8)


@pytest.mark.parametrize(
    ("q", "sigma", "count", "delta"),
    [
        (0.004534166925131823, 0.03568395639182408, 1446, 1e-320),
        (8.468508018054893e-5, 0.1332351466134543, 507, 1e-320),
        (0.007235318184140212, 0.3926205618485357, 471, 1e-320),
        (1.4687781513292823e-4, 0.27012886826062343, 1242, 1.8565668255e-313),
        (0.00256165337080947, 0.043665049238776545, 146, 1e-300),
        (1e-20, 4.0, 10, 1e-22),
        (6.5e-8, 2.6, 6, 2.7e-319),
        (1.2e-9, 1.8, 509_247, 2e-315),
        (0.25, 0.28, 2, 1.5e-320),
    ],
)
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_epsilon_and_delta_agree_next_to_the_least_doubles(q, sigma, count, delta, direction):
    assert_inverse(q, sigma, count, delta, direction)


def delta_of_two_removed(q, sigma, epsilon):
    """In balls, from where the first output leaves something to the second one on by pieces."""
    from flint import acb, arb, ctx

    saved, ctx.prec = ctx.prec, 140
    q, c, epsilon = arb(q), 1 / arb(sigma), arb(epsilon)

    def tail(x):
        return (x / arb(2).sqrt()).erfc() / 2

    def rest_and_density(x):
        rest = epsilon - (1 - q + q * (c * x - c * c / 2).exp()).log()
        densities = (1 - q) * (-x * x / 2).exp() + q * (-((x - c) ** 2) / 2).exp()
        return rest, densities / (2 * arb.pi()).sqrt()

    def output(rest):
        return (((rest.exp() - 1 + q) / q).log() + c * c / 2) / c

    def both(x, _):
        rest, density = rest_and_density(x)
        y = output(rest)
        return density * ((1 - q) * tail(y) + q * tail(y - c) - rest.exp() * tail(y))

    def first(x, _):
        rest, density = rest_and_density(x)
        return density * (1 - rest.exp())

    kink = output(epsilon - (1 - q).log())
    parts = [*range(-12, int(float(kink))), *(kink - arb(2) ** -n for n in range(1, 100))]
    ends = [arb(part).mid() for part in sorted(parts, key=float)]
    goal = {"rel_tol": arb(2) ** -100, "abs_tol": arb(10) ** -330}
    pieces = [acb.integral(both, a, b, **goal) for a, b in itertools.pairwise(ends)]
    found = sum(pieces, acb.integral(first, kink.mid(), kink.mid() + 20, **goal)).real
    ctx.prec = saved
    return found


@pytest.mark.parametrize(
    ("q", "sigma", "delta"),
    [
        (5e-5, 1.46, 1.4e-183),  # one large loss or two
        (1e-4, 2.0, 1e-298),
        *slow((2e-6, 1.27, 4e-263), (1e-3, 1.5, 1e-120), (1e-3, 1.5, 1e-20), (0.01, 0.8, 1e-100)),
        # next to plateaus, where outputs overlap a little
        *slow((0.5, 0.05, 0.75 * (1 - 1e-14)), (0.1, 0.055, 0.19 * (1 - 1e-12))),
        *slow((0.3, 0.06, 0.09 * (1 - 1e-8)), (0.1, 0.07, 0.19 * (1 - 1e-7))),
        *slow((0.5, 0.08, 0.75 * 0.99)),
    ],
)
def test_deltas_of_two_steps_contain_the_truth(q, sigma, delta):
    pytest.importorskip("flint")
    low, high = composed(q, sigma, 2).get_epsilon_bounds(delta, direction="remove")
    assert 0 < low <= high <= low * (1 + (1e-11 if delta < 1e-19 else 5e-9))
    assert delta_of_two_removed(q, sigma, high) <= delta <= delta_of_two_removed(q, sigma, low)


@pytest.mark.parametrize(
    ("q", "sigma", "count", "delta"),
    [
        (6.739e-6, 1.706, 147, 1.88e-150),
        (8.955e-5, 1.962, 250_075, 4.16e-297),
        (5.633e-6, 1.135, 94_104, 3.63e-221),
        (4.127e-5, 1.469, 552_965, 1.39e-299),
        (2.022e-5, 1.497, 35_197, 2.67e-290),
    ],
)
def test_tiny_deltas_of_one_large_loss_or_several_are_narrow(q, sigma, count, delta):
    """Beside delta of at most three large losses, the others by their moment at that tilt."""
    low, high = composed(q, sigma, count).get_epsilon_bounds(delta, direction="remove")
    assert 0 < low <= high <= low * (1 + 1e-10)
    width, least = 1e-3, low / 12
    losses = least + width * (np.arange(int(1.5 * low / width)) + 0.5)
    x = sigma * (np.log(np.expm1(losses) + q) - math.log(q)) + 0.5 / sigma
    slope = sigma * np.exp(losses) / (np.expm1(losses) + q)
    log_law = losses - x**2 / 2 - math.log(math.sqrt(2 * math.pi)) + np.log(slope * width)
    small, masses, _ = outputs(q, sigma, 100_001)
    found = -np.inf
    for number in (1, 2, 3):
        ways = math.lgamma(count + 1) - math.lgamma(number + 1) - math.lgamma(count + 1 - number)
        spread = np.interp(low / number, losses, x * slope)  # the tilt of so many
        law = np.exp(log_law + spread * losses - np.max(log_law + spread * losses))
        size = 4 * law.size
        sums = np.fft.irfft(np.fft.rfft(law, size) ** number, size)
        at = number * (least + 0.5 * width) + width * np.arange(size)
        kept = at > low
        terms = sums[kept] * -np.expm1(low - at[kept]) * np.exp(-spread * (at[kept] - low))
        scale = number * np.max(log_law + spread * losses) - spread * low
        excess = (masses * np.expm1(spread * small))[small < least].sum()
        others = (count - number) * math.log1p(excess - masses[small >= least].sum())
        found = np.logaddexp(found, ways + scale + others + math.log(terms.sum()))
    assert found == pytest.approx(math.log(delta), abs=0.06)  # 1e-4 of epsilon


@pytest.mark.parametrize(
    ("account", "q", "sigma", "count", "delta", "rtol"),
    [
        (composed, 8.491e-4, 6.377, 749, 1.6e-242, 1e-2),
        (composed, 0.02334, 6.207, 40, 2.6e-138, 1e-2),
        *slow((composed, 1.048e-6, 6.068, 107, 9.8e-239, 1e-2)),
        *slow((composed, 1.272e-6, 5.238, 830, 1.9e-186, 1e-2)),
        *slow((composed, 3.338e-4, 3.884, 32_652, 1.6e-189, 1e-2)),
        (replaced, 0.02, 0.06, 30, 0.01, 1e-5),
        *slow((replaced, 0.1, 0.055, 3, 0.02, 1e-5), (replaced, 0.1, 0.05, 100, 1e-6, 1e-5)),
    ],
)
def test_narrow_brackets_meet_those_of_tilted_lattices(account, q, sigma, count, delta, rtol):
    low, high = removed(account, q, sigma, count, delta=delta)
    assert account is replaced or 0 < low <= high <= low * (1 + 1e-8)
    adjacency = "add_remove" if account is composed else "replace_one"
    pair = step_pair(SampledStep(q, sigma), adjacency, "remove")
    lattice = LossComposition([(pair, count)], rtol, 2**17 if account is composed else 2**20)
    least, most = lattice.epsilon_bounds(delta, 0.0)
    assert max(low, least) <= min(high, most)


@pytest.mark.parametrize("sigma", [0.02, 0.05])
@pytest.mark.parametrize("delta", [0.25, 0.75])
def test_epsilon_falls_over_plateaus(sigma, delta):
    """On a plateau that is a double one unit of its last place moves epsilon by a fifth."""
    ledger = composed(0.5, sigma, 2)
    steps = [
        delta * (1 + n * 2.0**-53) for n in (*range(-64, 0, 4), -2, -1, 0, 2, 4, *range(8, 64, 4))
    ]
    ends = [ledger.get_epsilon_bounds(x, direction="remove") for x in steps]
    assert all(a[1] >= b[1] and a[0] >= b[0] for a, b in itertools.pairwise(ends))
    assert all(low <= high for low, high in ends)


def output_that_loses(q, sigma, lost):
    """Where a step loses so much less than its largest loss."""
    return sigma * (np.log(np.expm1(lost)) - math.log(q) + math.log1p(-q)) + 0.5 / sigma


def delta_of_rest(q, sigma, count, rest, cells):
    """Of the direction add; a cell's mass goes to both ends such that mass and mean are kept."""
    h = rest / cells
    ends = h * np.arange(cells + 1)
    point, weight = np.polynomial.legendre.leggauss(12)
    inside = ends[1:-1, None] + 0.5 * h * (1 + point)
    exceeded = 0.5 * NORMAL_TAIL(output_that_loses(q, sigma, inside)) @ weight
    decay, weight = np.polynomial.laguerre.laggauss(80)  # the first cell, by its logarithm
    first = NORMAL_TAIL(output_that_loses(q, sigma, h * np.exp(-decay))) @ weight
    mean = np.concatenate([[first], exceeded])  # of P(G > g) in each cell
    law = np.concatenate([[1 - first], -np.diff(mean), [0.0]])

    def both(a, b):
        size = 2 * law.size
        return np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)[: law.size]

    sums = None
    while count:
        if count % 2:
            sums = law if sums is None else both(sums, law)
        law, count = both(law, law), count // 2
    return float(sums @ -np.expm1(ends - rest))


@pytest.mark.parametrize(
    ("q", "sigma", "count", "delta"),
    [
        (0.5, 0.2, 5, 1e-6),
        (0.01, 0.5, 5, 0.01),
        (0.2, 0.2, 20, 0.01),
        (0.01, 0.2, 100, 1e-6),
        (0.05, 0.15, 100, 0.5),
        (0.2, 0.05, 10_000, 0.9),
        *slow((0.2, 0.3, 5, 0.01), (0.05, 0.15, 20, 0.01), (0.001, 0.25, 20, 0.01)),
        *slow((0.01, 0.15, 100, 0.01), (0.5, 0.15, 100, 0.01), (0.001, 0.1, 10_000, 0.01)),
        *slow((0.5, 0.1, 10_000, 0.01)),
    ],
)
def test_added_records_are_narrow(q, sigma, count, delta):
    low, high = composed(q, sigma, count).get_epsilon_bounds(delta, direction="add")
    assert 0 < low <= high <= low * (1 + 1e-8)
    largest = -count * math.log1p(-q)
    slack = 4e-15 * largest  # of a rest that is a difference

    def truth(rest):
        rough, fine = (delta_of_rest(q, sigma, count, rest, cells) for cells in (2**11, 2**12))
        return fine + (fine - rough) / 3

    # What is off by 1e-7 of the rest may be off by more of a delta that rises steeply with it.
    assert truth((largest - high) * (1 - 1e-7) - slack) < delta
    assert truth((largest - low) * (1 + 1e-7) + slack) > delta


def delta_of_two_added(q, sigma, epsilon):
    """In multi-precision; `epsilon` is taken as it is."""
    q, c = mpmath.mpf(q), 1 / mpmath.mpf(sigma)
    odds = mpmath.log(q) - mpmath.log1p(-q)
    rest = -2 * mpmath.log1p(-q) - mpmath.mpf(epsilon)

    def output(lost):
        return (mpmath.log(mpmath.expm1(lost)) - odds) / c + c / 2

    def of_one(lost):
        x = output(lost)
        none = mpmath.ncdf(x)
        return none - mpmath.exp(-lost) * (none + q / (1 - q) * mpmath.ncdf(x - c))

    def integrand(x):
        lost = rest - mpmath.log1p(mpmath.exp(odds + c * x - c**2 / 2))
        return mpmath.npdf(x) * of_one(lost) if lost > 0 else mpmath.mpf(0)

    parts = [20, 12, *(n / 2 for n in range(16, 1, -1)), *(0.5 * 2.0**-n for n in range(40)), 0]
    ends = [output(rest) - part for part in parts]
    return mpmath.quad(integrand, ends, method="gauss-legendre", maxdegree=4)


@pytest.mark.parametrize(
    ("q", "sigma", "delta"),
    [
        (1e-4, 0.5, 1e-6),
        (0.2, 0.7, 1e-2),
        (0.999999999, 0.44, 1e-60),  # 1 - q + q e^w, and q e^w is little
        *slow((0.5, 0.4, 1e-6), (0.5, 0.2, 1e-2), (0.01, 0.3, 1e-2)),
    ],
)
def test_two_added_records_contain_the_truth(q, sigma, delta):
    low, high = composed(q, sigma, 2).get_epsilon_bounds(delta, direction="add")
    assert 0 < low <= high <= low * (1 + 1e-8)
    with mpmath.workdps(20):
        assert delta_of_two_added(q, sigma, high) <= delta <= delta_of_two_added(q, sigma, low)


@pytest.mark.parametrize(
    ("direction", "q", "count", "delta"),
    [
        (None, 0.01, 100, 1e-2),
        (None, 0.2, 10, 1e-2),
        (None, 1e-3, 1000, 1e-6),
        ("add", 0.01, 100, 1e-2),
        ("add", 0.5, 1000, 0.3),
        ("add", 1e-4, 2, 1e-6),
    ],
)
def test_upper_ends_fall_with_the_noise(direction, q, count, delta):
    """Added records: those next to the largest loss fall by less than a rounding error."""
    noises = [sigma / 1000 for sigma in range(50 if direction else 200, 400, 9)]
    ends = [composed(q, s, count).get_epsilon(delta, direction=direction) for s in noises]
    least = [a * (1 + 1e-14) if direction else math.nextafter(a, 0.0) for a in ends]
    assert all(b <= a for a, b in zip(least[:-1], ends[1:], strict=True))
    assert ends[-1] < ends[0]


def test_drawn_samples_with_next_to_no_noise_compose():
    """Where draws are told, every pair of numbers of draws leaves a Gaussian of its own."""
    sigma, delta, draws, population = 2e-4, 1e-6, 100, 10_000
    mass = [
        math.comb(draws, k) * population**-k * (1.0 - 1.0 / population) ** (draws - k)
        for k in range(9)
    ]

    def about_delta(epsilon):  # e^epsilon times the tail of the other side is next to nothing
        shifts = ((p * r, 2.0 * math.hypot(k, j) / sigma) for (k, p), (j, r) in pairs if k or j)
        return sum(weight * float(NORMAL_TAIL(epsilon / mu - 0.5 * mu)) for weight, mu in shifts)

    pairs = list(itertools.product(enumerate(mass), repeat=2))
    sample = FixedSizeSampled(Gaussian(sigma), draws, population, replacement=True)
    accountant = PLDAccountant(adjacency="replace_one").compose(sample, 2)
    low, high = accountant.get_epsilon_bounds(delta)
    assert about_delta(low) > 1.1 * delta > 0.9 * delta > about_delta(high)
    assert low > 1e8  # two draws


def loss_of_replaced(q, c, x):
    one, other = (mpmath.log1p(q * mpmath.expm1(c * y - c * c / 2)) for y in (x, -x))
    return one - other


def output_of_replaced(q, c, loss):
    low, high = -c - 40, c + 40  # what is off counts by its square
    for _ in range(64):
        x = (low + high) / 2
        low, high = (x, high) if loss_of_replaced(q, c, x) <= loss else (low, x)
    return low


def delta_of_one_replaced(q, c, epsilon):
    """By the output at which the loss is epsilon; arguments in multi-precision."""
    x = output_of_replaced(q, c, epsilon)
    one, other = ((1 - q) * mpmath.ncdf(-x) + q * mpmath.ncdf(y - x) for y in (c, -c))
    return one - mpmath.exp(epsilon) * other


@pytest.mark.parametrize("q", [1e-9, 0.5, *slow(0.01, 0.999)])
@pytest.mark.parametrize("sigma", [3e-8, 0.009, 0.011, 0.7, *slow(1e-3, 0.1, 4.0)])
def test_one_replaced_record_contains_the_truth(q, sigma):
    ledger = replaced(q, sigma, 1)
    for share in (1e-280, 1e-12, 1e-5, 0.3, 0.9, 1.0 - 2.0**-40, 1.0 - 2.0**-53):
        delta = share * q
        low, high = ledger.get_epsilon_bounds(delta)
        assert 0 <= low <= high
        assert high <= low * (1 + 1e-8) or share > 1 - 1e-9 or high < 0.1
        with mpmath.workdps(40):
            rate, c = mpmath.mpf(q), 1 / mpmath.mpf(sigma)
            at_high = delta_of_one_replaced(rate, c, mpmath.mpf(high))
            assert at_high <= delta
            assert low == 0 or delta_of_one_replaced(rate, c, mpmath.mpf(low)) >= delta
            least, most = ledger.get_delta_bounds(high)
            assert least <= at_high <= most
    assert ledger.get_epsilon_bounds(q) == (0, 0)


def delta_of_two_replaced(q, sigma, epsilon):
    q, c, epsilon = mpmath.mpf(q), 1 / mpmath.mpf(sigma), mpmath.mpf(epsilon)

    def integrand(x):
        density = (1 - q) * mpmath.npdf(x) + q * mpmath.npdf(x - c)
        return density * delta_of_one_replaced(q, c, epsilon - loss_of_replaced(q, c, x))

    kink = output_of_replaced(q, c, epsilon)  # the other output has to lose nothing
    near = (kink + n / c for n in (-32, -8, -2, 0, 2, 8, 32))
    ends = sorted([-12, -6, 0, 6, c - 12, c - 6, c, c + 6, c + 12, *near])
    return mpmath.quad(integrand, ends, method="gauss-legendre", maxdegree=4)


@pytest.mark.parametrize(
    ("q", "sigma", "delta"), [(0.1, 0.05, 1e-5), (0.5, 0.055, 0.6), (1e-3, 0.04, 1e-9)]
)
@pytest.mark.slow
def test_two_replaced_records_contain_the_truth(q, sigma, delta):
    low, high = replaced(q, sigma, 2).get_epsilon_bounds(delta)
    assert 0 < low <= high <= low * (1 + 1e-8)
    with mpmath.workdps(25):
        assert delta_of_two_replaced(q, sigma, high) <= delta * (1 + mpmath.mpf("1e-18"))
        assert delta_of_two_replaced(q, sigma, low) >= delta * (1 - mpmath.mpf("1e-18"))


@pytest.mark.parametrize("count", [2, 10])
@pytest.mark.parametrize("sigma", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("epsilon", [1.0, 5.0, 20.0])
def test_replaced_records_that_are_nearly_always_drawn(epsilon, sigma, count):
    """Beside the curve of all records by the chance that one is not, on either side."""
    rate = 1.0 - 2.0**-53
    drawn = PLDAccountant(adjacency="replace_one").compose(
        PoissonSampled(Gaussian(sigma), rate), count
    )
    all_of = PLDAccountant(adjacency="replace_one").compose(Gaussian(sigma), count)
    low, high = drawn.get_delta_bounds(epsilon)
    exact, off = all_of.get_delta(epsilon), count * (1.0 - rate) * (1.0 + math.exp(epsilon)) + 1e-12
    assert low <= exact + off
    assert high >= exact - off


@pytest.mark.parametrize("sigma", [2e-4, 9e-5, 1e-6, 1e-99, 1e-310])
@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_next_to_no_noise_leaves_epsilon_finite(sigma, adjacency):
    """Of two steps the loss is at most some deviations above 4/sigma^2."""
    accountant = PLDAccountant(adjacency=adjacency).compose(
        PoissonSampled(Gaussian(sigma), 0.01), 2
    )
    low, high = accountant.get_epsilon_bounds(1e-5, rtol=1e-2)
    if sigma > 1e-100:  # by two records, of which 1e-4 see both: a tenth is left
        assert low <= high <= low * (1.0 + 1e-8)
        assert low == pytest.approx((1.0 + 1.2815516 * sigma * math.sqrt(2)) / sigma**2, rel=1e-6)
    else:
        assert 0.0 < low < math.inf == high
    low, high = accountant.get_delta_bounds(5.0)
    assert low <= 0.0199 <= high
