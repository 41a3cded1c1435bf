"""The numeric part of examples/pnsgd_convergence.py."""

from __future__ import annotations

import runpy
from pathlib import Path

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
