"""The figures of ``renyi.plot``: what is drawn is what the accountants say."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from renyi import Gaussian, PLDAccountant, PoissonSampled, RDPAccountant, special

STEP = PoissonSampled(Gaussian(1.1), 0.004)


@pytest.fixture
def plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    from renyi import plot

    yield plot
    pyplot.close("all")


@pytest.fixture
def runs():
    return [make().compose(STEP, 15000) for make in (PLDAccountant, RDPAccountant)]


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_privacy_curve(plot, runs):
    axes = plot.plot_privacy_curve(runs, [0.0, 1.0, 2.0], mu=0.5554)
    assert axes.get_yscale() == "log"
    assert "ε" in axes.get_xlabel()
    assert "δ" in axes.get_ylabel()
    exact, renyi, gaussian = axes.get_lines()
    for line in (exact, renyi, gaussian):
        assert line.get_xdata().tolist() == [0.0, 1.0, 2.0]
    assert (exact.get_ydata() == runs[0].get_delta([0.0, 1.0, 2.0])).all()
    assert renyi.get_ydata().tolist() == [runs[1].get_delta(e) for e in (0.0, 1.0, 2.0)]
    assert gaussian.get_ydata()[1] == special.gaussian_delta_upper(0.5554, 1.0)
    assert labels(axes) == ["exact", "Rényi-DP", "Gaussian DP, μ = 0.5554"]
    assert len({line.get_linestyle() for line in axes.get_lines()}) == 3


def test_the_range_by_default(plot, runs):
    (line,) = plot.plot_privacy_curve(runs[0]).get_lines()
    assert line.get_xdata()[0] == 0.0
    assert line.get_ydata()[-1] == pytest.approx(1e-10, rel=1e-6)


def test_runs_differ_without_colour(plot):
    several = [PLDAccountant().compose(Gaussian(s)) for s in (1.0, 2.0, 4.0)]
    axes = plot.plot_privacy_curve(several, labels=["1", "2", "4"])
    assert labels(axes) == ["1", "2", "4"]
    assert len({line.get_marker() for line in axes.get_lines()}) == 3


def test_zeros_end_a_line_on_a_logarithmic_axis(plot):
    nothing = PLDAccountant().compose(Gaussian(float("inf")))
    (line,) = plot.plot_privacy_curve(nothing, [0.0, 1.0]).get_lines()
    assert np.isnan(line.get_ydata()).all()


def test_tradeoff(plot, runs):
    alpha = np.array([0.0, 0.01, 0.1, 0.5, 1.0])
    axes = plot.plot_tradeoff(runs, alpha, mu=0.5554)
    exact, renyi, gaussian, perfect = axes.get_lines()
    assert (exact.get_ydata() == runs[0].get_beta(alpha)).all()
    assert (renyi.get_ydata() <= exact.get_ydata()).all()
    assert renyi.get_ydata()[1] > 0.9
    assert gaussian.get_ydata()[3] == special.gaussian_tradeoff_lower(0.5554, 0.5)
    assert perfect.get_ydata().tolist() == [1.0, 0.0]
    assert labels(axes)[-1] == "perfect privacy"


def test_axes_of_the_caller(plot, runs):
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    assert plot.plot_privacy_curve(runs[0], ax=ax) is ax
    assert plot.plot_tradeoff(runs[0], [0.1, 0.2], ax=Figure().add_subplot()) is not ax


def test_wrong_number_of_labels(plot, runs):
    with pytest.raises(ValueError, match="labels must be 2 strings"):
        plot.plot_privacy_curve(runs, labels=["one"])


def test_without_matplotlib(monkeypatch, runs):
    from renyi import plot

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        plot.plot_privacy_curve(runs[0], [0.0, 1.0])
