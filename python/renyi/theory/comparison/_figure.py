"""The comparison as a figure over the number of steps; needs matplotlib, the extra ``[plot]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from renyi._figure import plain_ticks
from renyi._validation import integer_of, uses_of
from renyi.theory.comparison._methods import METHODS, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from renyi.plot import Kind
    from renyi.theory.comparison._noise import NoiseRow

__all__ = ["plot_comparison", "plot_noise", "steps_grid"]

POINTS = 25


def plot_comparison(
    steps: Sequence[int], rows: Sequence[Sequence[Row]], *, ax: Axes | None = None
) -> Axes:
    """Draw what each method says against the number of steps, on logarithmic axes.

    Parameters
    ----------
    steps : sequence of int
        Rising.
    rows : sequence of sequence of Row
        What `compare` returned for each, all at one epsilon, or all at one delta.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        With a line for each method that gives anything; it ends where the method gives nothing.

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        If the lengths differ.

    Examples
    --------
    >>> from renyi.theory.comparison import compare
    >>> steps = [10, 100, 1000]
    >>> rows = [compare(0.01, 2.0, count, delta=1e-5) for count in steps]
    >>> axes = plot_comparison(steps, rows)  # doctest: +SKIP
    """
    from renyi.plot import Line, draw_privacy_curves

    if len(steps) != len(rows) or not rows:
        raise ValueError(f"rows must be one tuple for each of {len(steps)} steps, got {len(rows)}")
    by_delta = len({row.epsilon for part in rows for row in part}) == 1
    lines = []
    for k, row in enumerate(rows[0]):
        found = np.array([part[k].delta if by_delta else part[k].epsilon for part in rows])
        useful = np.isfinite(found) & ((found < 1.0) | (not by_delta))
        if not useful.any():
            continue
        kind: Kind = "exact" if row.method == "exact" else "renyi"
        run = list(METHODS)[::-1].index(row.method)
        lines.append(Line(np.array(steps), np.where(useful, found, np.nan), row.label, kind, run))
    axes = draw_privacy_curves(lines, ax)
    axes.autoscale(axis="y")
    axes.set_xscale("log")
    axes.set_xlim(steps[0], steps[-1])
    axes.set_xlabel("steps")
    if not by_delta:
        axes.set_ylabel("privacy parameter ε (nats)")
    plain_ticks(axes.xaxis, axes.yaxis)
    return axes


def plot_noise(
    steps: Sequence[int], rows: Sequence[Sequence[NoiseRow]], *, ax: Axes | None = None
) -> Axes:
    """Draw the noise that each method needs against the number of steps, on logarithmic axes.

    Parameters
    ----------
    steps : sequence of int
        Rising.
    rows : sequence of sequence of NoiseRow
        What `compare_noise` returned for each.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        With a line for each method; it ends where no noise will do.

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        If the lengths differ.
    """
    from renyi.plot import Line, draw_privacy_curves

    if len(steps) != len(rows) or not rows:
        raise ValueError(f"rows must be one tuple for each of {len(steps)} steps, got {len(rows)}")
    lines = []
    for k, row in enumerate(rows[0]):
        found = np.array([part[k].noise_multiplier for part in rows])
        kind: Kind = "exact" if row.method == "exact" else "renyi"
        run = list(METHODS)[::-1].index(row.method)
        useful = np.where(np.isfinite(found), found, np.nan)
        lines.append(Line(np.array(steps), useful, row.label, kind, run))
    axes = draw_privacy_curves(lines, ax)
    axes.autoscale(axis="y")
    axes.set_xscale("log")
    axes.set_xlim(steps[0], steps[-1])
    axes.set(xlabel="steps", ylabel="noise multiplier σ")
    plain_ticks(axes.xaxis, axes.yaxis)
    return axes


def steps_grid(last: int, points: int = POINTS) -> list[int]:
    """Return about ``points`` whole numbers from 1 to ``last``, evenly spaced in the logarithm.

    >>> steps_grid(1000, 4)
    [1, 10, 100, 1000]
    """
    grid = np.geomspace(1.0, uses_of(last, "last", 1), integer_of(points, "points", 1))
    return sorted({*np.round(grid).astype(int).tolist(), last})
