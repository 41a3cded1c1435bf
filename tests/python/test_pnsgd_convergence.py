"""The numeric part of examples/pnsgd_convergence.py."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

FIGURE = runpy.run_path(
    str(Path(__file__).parents[2] / "examples" / "pnsgd_convergence.py"), run_name="figure"
)


def test_table_has_the_known_values():
    rows = FIGURE["table"]()
    assert len(rows) == 14
    for what, ours, known in rows:
        assert ours == pytest.approx(known, abs=1e-3), what


def test_the_figure_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "figure.png"
    FIGURE["draw"](str(path), longest=4.0)
    assert path.stat().st_size > 10_000


def test_noise_curves_and_epochs():
    at = np.array([2.0, 4.0, 7.0])
    found = dict(FIGURE["scales"](at))
    assert len(found) == 5
    assert all((np.diff(values) < 0).all() for values in found.values())
    assert found[r"shuffled, Laplace, $\eta=0.1$"][0] == pytest.approx(7.208, abs=1e-3)
    assert found[r"shuffled, Gaussian, $\eta=0.1$"][2] == pytest.approx(2.0954, abs=1e-4)
    assert found[r"online, Laplace, $\eta=0.01$"][1] == pytest.approx(5.42, abs=5e-3)
    last, composed = FIGURE["epochs"]((1, 10, 300), 0.99, 20)
    assert last[0] == pytest.approx(composed[0])
    assert (last[1:] < composed[1:]).all()
    assert last[2] == pytest.approx(last[1], rel=0.05)
