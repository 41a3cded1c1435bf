"""The numeric part of examples/composition_figures.py."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

FIGURES = runpy.run_path(
    str(Path(__file__).parents[2] / "examples" / "composition_figures.py"), run_name="figures"
)
COUNTS = FIGURES["KNOWN_COUNTS"]


@pytest.mark.parametrize("panel", range(6))
def test_bounds_have_the_known_values(panel):
    _, mechanism = FIGURES["PANELS"][panel]
    known = np.array(FIGURES["KNOWN"][panel])
    for column, bound in enumerate(("tight", "general")):
        found = FIGURES["by_bound"](mechanism, bound, COUNTS)
        # The cut by the largest loss of a sample makes some a little smaller.
        assert (found <= known[:, column] * (1 + 1e-4)).all()
        np.testing.assert_allclose(found, known[:, column], rtol=1e-2)
    lower = FIGURES["by_bound"](mechanism, "lower", COUNTS)
    assert (lower <= FIGURES["by_bound"](mechanism, "tight", COUNTS)).all()


@pytest.mark.parametrize("panel", [0, 3, 4])
def test_the_exact_curve_is_below_all_bounds(panel):
    _, mechanism = FIGURES["PANELS"][panel]
    counts = (1024, 60_000)
    found = FIGURES["exact"](mechanism, counts)
    assert (found < FIGURES["by_bound"](mechanism, "tight", counts)).all()
    assert (found < FIGURES["unsampled"](mechanism, counts)).all()
    assert (found > 0.0).all()


@pytest.mark.slow
def test_the_figure_is_drawn(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    names = FIGURES["draw"].__globals__
    monkeypatch.setitem(names, "ORDERS", names["ORDERS"][::40])
    FIGURES["draw"](str(tmp_path / "figure.png"), (1, 8))
    assert (tmp_path / "figure.png").stat().st_size > 10_000


@pytest.mark.parametrize("panel", [3, 5])
def test_every_method_is_above_the_exact_curve_and_strong_below_naive_in_the_end(panel):
    _, mechanism = FIGURES["PANELS"][panel]
    found = FIGURES["compositions"](mechanism, (64, 4096))
    exact = found.pop("exact privacy curve")
    assert set(found) < set(FIGURES["STYLES"])
    for label, values in found.items():
        assert (values >= exact).all(), label
    assert found["strong composition"][1] < found["naive composition"][1]
    assert np.isfinite(found["leading term of 2016"]).all() == (panel == 3)


def test_divergences_are_in_order():
    _, mechanism = FIGURES["PANELS"][4]
    found = FIGURES["divergences"](mechanism, np.array([2.0, 5.0, 40.0, 400.0]))
    tight = found["tight bound"]
    np.testing.assert_allclose(found["lower bound"], tight, rtol=1e-12)
    assert (found["general bound (factor 3)"] >= tight).all()
    for few, more in (("2 terms", "10 terms"), ("10 terms", "50 terms")):
        assert (found[few] >= found[more] * (1 - 1e-12)).all()
    assert (found["50 terms"] >= tight).all()
    assert (found["fixed size, a record replaced"] >= tight).all()
    assert (found["no sampling"] >= tight).all()
