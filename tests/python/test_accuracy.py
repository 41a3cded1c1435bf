"""log A and its three routes against 2,000 proven values over the whole box."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from renyi import special

TABLES = Path(__file__).resolve().parents[1] / "reference"
sys.path.insert(0, str(TABLES))

TABLE = importlib.import_module("make_log_a").load(TABLES / "log_a.npz")
Q, SIGMA, ALPHA, HI, LO = (TABLE[k] for k in ("q", "sigma", "alpha", "hi", "lo"))
INTEGER = (ALPHA >= 1) & (np.floor(ALPHA) == ALPHA)
ABOVE_ONE = ALPHA > 1


def relative_error(value, chosen=slice(None)):
    return np.abs((value - HI[chosen]) - LO[chosen]) / HI[chosen]


def check(value, chosen):
    assert np.isfinite(value).all()
    assert (value > 0).all()
    limit = np.where(HI[chosen] < 1e4, 1e-14, 4e-14)
    error = relative_error(value, chosen)
    worst = np.argmax(error / limit)
    where = tuple(float(x[chosen][worst]) for x in (Q, SIGMA, ALPHA))
    assert error[worst] <= limit[worst], where


def test_table_covers_the_box():
    assert len(Q) == 2000
    assert (Q.min(), Q.max()) == (1e-12, 1.0)
    assert (SIGMA.min(), SIGMA.max()) == (0.01, 1e6)
    assert (ALPHA.min(), ALPHA.max()) == (-1e6, 1e6)
    assert HI.min() < 1e-44
    assert HI.max() > 1e15


def test_log_a():
    check(special.log_a(Q, SIGMA, ALPHA), np.full(len(Q), True))


def test_quadrature_everywhere():
    check(special.log_a_quadrature(Q, SIGMA, ALPHA), np.full(len(Q), True))


def test_binomial_at_integers():
    check(special.log_a_binomial(Q[INTEGER], SIGMA[INTEGER], ALPHA[INTEGER]), INTEGER)
    assert np.isnan(special.log_a_binomial(Q[~INTEGER], SIGMA[~INTEGER], ALPHA[~INTEGER])).all()


def test_series_where_it_answers():
    """It declines by NaN where it would need too many terms; everything it returns is right."""
    value = special.log_a_series(Q, SIGMA, ALPHA)
    answered = ~np.isnan(value)
    assert not (answered & ~ABOVE_ONE).any()
    assert answered.sum() > 100
    assert np.isfinite(value[answered]).all()
    assert (value[answered] > 0).all()
    assert relative_error(value[answered], answered).max() <= 1e-12


def test_renyi_divergence():
    """One division more: alpha - 1 is exact above 1/2."""
    chosen = ABOVE_ONE
    value = special.rdp_sampled_gaussian(Q[chosen], SIGMA[chosen], ALPHA[chosen])
    exact = HI[chosen] / (ALPHA[chosen] - 1)
    np.testing.assert_allclose(value, exact, rtol=4e-14)


@pytest.mark.parametrize("alpha", [1.0, 0.0])
def test_zero_orders(alpha):
    assert (special.log_a(Q, SIGMA, alpha) == 0).all()
