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


def test_the_figure_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    FIGURES["draw"](str(tmp_path / "figure.png"), (1, 1024))
    assert (tmp_path / "figure.png").stat().st_size > 10_000
