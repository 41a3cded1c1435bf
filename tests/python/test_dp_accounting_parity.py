"""Where dp_accounting is wrong: its numbers beside exact ones. Its own suite is run elsewhere."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

from renyi import Composed, Gaussian, PoissonSampled, RDPAccountant, special


def accountant(*events, orders=None, conversion="balle") -> RDPAccountant:
    """A fresh accountant with the conversion that dp_accounting uses."""
    result = RDPAccountant(orders=orders, conversion=conversion)
    for event in events:
        result.compose(event)
    return result


@pytest.mark.parametrize("sigma", [1, 1.0, np.float32(1), np.int64(1)])
@pytest.mark.parametrize("as_product", [False, True])
def test_int_noise_multiplier_is_not_dropped(sigma, as_product):
    """100 Gaussians on one sample must count as 100, whatever the type of the noise multiplier.

    dp_accounting 0.6.0 asks whether a noise multiplier is a float. For the int 1 it is not, so only
    the first of the 100 is counted: epsilon(1e-5) = 2.1330 instead of 88.629 (q = 0.1).
    """
    hundred = Gaussian(sigma) * 100 if as_product else Composed((Gaussian(sigma), 100))
    acc = accountant(PoissonSampled(hundred, 0.1), orders=[1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 2, 6])
    epsilon, order = acc.get_epsilon_and_order(1e-5)
    assert epsilon == pytest.approx(88.629322276935469268, rel=1e-12)
    assert order == 1.4


def their_log_a(q, sigma, order):
    """log A of dp_accounting 0.6, of which the page speaks."""
    theirs = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    if not metadata.version("dp-accounting").startswith("0.6."):
        pytest.skip("another version of dp_accounting")
    return theirs._compute_log_a(q, sigma, int(order) if float(order).is_integer() else order)


def test_the_page_on_fractional_orders():
    text = (Path(__file__).parents[2] / "docs" / "accuracy.md").read_text(encoding="utf-8")
    table = text[text.index("| q | σ | α |") :].split("\n\n")[0].splitlines()[2:]
    assert len(table) == 7
    for line in table:
        q, sigma, order, *cells = (float(cell) for cell in line.strip("|").split("|"))
        value = float(special.log_a(q, sigma, order))
        found = their_log_a(q, sigma, order)
        assert cells[:2] == pytest.approx([value, found], rel=1e-4)
        assert cells[2] == pytest.approx(found / value, rel=5e-4 if q > 1e-6 else 1e-6)


@pytest.mark.parametrize(("q", "sigma", "order"), [(0.3608, 8.415, 1.2023), (0.3, 2.0, 3.7)])
def test_the_two_series_of_the_page(q, sigma, order):
    """The sum as it stands on docs/accuracy.md; without signs, that of dp_accounting."""
    with mp.workdps(30):
        a, s = mp.mpf(order), mp.mpf(sigma)
        z = mp.mpf(1) / 2 + s**2 * mp.log(1 / mp.mpf(q) - 1)
        signed, unsigned = mp.mpf(0), mp.mpf(0)
        for k in range(1000):
            j = a - k
            first, second = (
                (1 - mp.mpf(q)) ** (a - i)
                * mp.mpf(q) ** i
                * mp.exp((i**2 - i) / (2 * s**2))
                * mp.erfc(side / (mp.sqrt(2) * s))
                / 2
                for i, side in ((k, k - z), (j, z - j))
            )
            signed += mp.binomial(a, k) * (first + second)
            unsigned += abs(mp.binomial(a, k)) * (first + second)
    assert float(mp.log(signed)) == pytest.approx(float(special.log_a(q, sigma, order)), rel=1e-4)
    assert float(mp.log(unsigned)) == pytest.approx(their_log_a(q, sigma, order), rel=1e-6)


# q, sigma, steps, exact epsilon(1e-5) over the orders 1.1, 1.2, ..., 10.9, 11, 12, ..., 63,
# epsilon(1e-5) of dp_accounting 0.6.0 with its default orders (these and 128, 256, 512, 1024)
EPSILON = [
    (0.1, 1.0, 10_000, 134.50201957383925705, 170.10858354738596),
    (0.3, 0.5, 20_000, 7570.7469186727444028, 22296.300488721543),
    (0.5, 2.0, 5_000, 249.20943332959222269, 353.1202530121425),
    (0.5, 10.0, 200_000, 355.38583620650028871, 512.004754131172),
    (0.01, 1.0, 10_000, 6.7127382975454222574, 6.712756664482653),
    (0.004, 1.1, 15_000, 2.5028709266189950014, 2.5028709296537146),
]


@pytest.mark.parametrize(("q", "sigma", "steps", "exact", "theirs"), EPSILON)
def test_epsilon_of_training_runs(q, sigma, steps, exact, theirs):
    """What the missing signs cost: with the same orders and formula theirs is larger.

    It is negligible where the best order is large, as in the last two rows, and not where it is
    small. Never below the exact value, which a rounded-up guarantee may touch.
    """
    orders = [1 + x / 10 for x in range(1, 100)] + list(range(11, 64))
    acc = accountant(PoissonSampled(Gaussian(sigma), q) * steps, orders=orders)
    epsilon = acc.get_epsilon(1e-5)
    assert epsilon == pytest.approx(exact, rel=1e-12)
    assert epsilon >= exact * (1 - 1e-16)
    assert theirs > epsilon
    lower, upper = acc.get_epsilon_bounds(1e-5)
    assert lower <= exact <= upper
    # Any real order, and the best conversion of each, can only be better.
    assert accountant(PoissonSampled(Gaussian(sigma), q) * steps).get_epsilon(1e-5) <= epsilon
