"""Figures of privacy curves and trade-off functions; needs matplotlib, the extra ``[plot]``.

>>> from renyi import Gaussian, PLDAccountant, RDPAccountant
>>> exact, renyi = (a().compose(Gaussian(2.0)) for a in (PLDAccountant, RDPAccountant))
>>> axes = plot_privacy_curve([exact, renyi])  # doctest: +SKIP
>>> axes.figure.savefig("curve.png")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi import special
from renyi._rounding import round_double, round_up
from renyi.accountants import PLDAccountant, RDPAccountant

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_privacy_curve", "plot_tradeoff"]
__dir__ = __all__.copy

Array = npt.NDArray[np.float64]
Accountant = PLDAccountant | RDPAccountant
Kind = Literal["exact", "renyi", "gaussian"]

SMALLEST_DELTA = 1e-10  # the end of a curve if no range of epsilon is given
POINTS = 201
LEAST = 1e-30  # the least value on a logarithmic axis
POWERS = 300.0  # the ratio of the ends of an axis above which ticks are powers of ten
FORMATS = (".png", ".svg", ".pdf")

# The colours go from dark to light, to differ in print; from Okabe and Ito's palette.
_COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_MARKERS = ("", "o", "s", "^", "D", "v", "x")
_STYLES: dict[Kind, str] = {"exact": "-", "renyi": "--", "gaussian": ":"}
NAMES: dict[Kind, str] = {"exact": "exact", "renyi": "Rényi-DP", "gaussian": "Gaussian DP"}


class Line(NamedTuple):
    """A line of a figure; ``run`` chooses colour and marker, ``kind`` the style of the line."""

    x: Array
    y: Array
    label: str
    kind: Kind = "exact"
    run: int = 0


def plot_privacy_curve(
    accountants: Accountant | Sequence[Accountant],
    epsilon: npt.ArrayLike | None = None,
    *,
    labels: Sequence[str] | None = None,
    mu: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw delta against epsilon, delta on a logarithmic axis.

    Args:
        accountants: `renyi.PLDAccountant` (solid lines) and `renyi.RDPAccountant` (dashed).
        epsilon: In [0, inf), ascending; by default 201 values, for each accountant from 0 to the
            epsilon at which its delta falls to 1e-10.
        labels: One for each accountant.
        mu: Adds the curve of ``mu``-Gaussian differential privacy, dotted.
        ax: The axes to draw on; by default those of a new figure.

    Raises:
        ImportError: Without matplotlib.
        ValueError: Without accountants, for another number of labels than accountants, or for a
            bad ``epsilon``.

    >>> from renyi import Gaussian, PLDAccountant
    >>> run = PLDAccountant().compose(Gaussian(1.0))
    >>> plot_privacy_curve(run, mu=1.0).get_xlabel()  # doctest: +SKIP
    'privacy parameter ε (nats)'
    """
    accounts = _several(accountants)
    if epsilon is None:
        grids = [np.linspace(0.0, largest_epsilon(account), POINTS) for account in accounts]
    else:
        grids = [np.asarray(epsilon, dtype=np.float64).reshape(-1)] * len(accounts)
    lines = _lines(accounts, labels, grids, "get_delta")
    if mu is not None:
        given = max(grids, key=lambda grid: float(grid[-1]))
        lines.append(_gaussian(given, special.gaussian_delta_upper(mu, given), mu))
    return draw_privacy_curves(lines, ax)


def plot_tradeoff(
    accountants: Accountant | Sequence[Accountant],
    alpha: npt.ArrayLike | None = None,
    *,
    labels: Sequence[str] | None = None,
    mu: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the least type II error of any test against its type I error.

    Args:
        alpha: In [0, 1]; by default 201 values, denser at both ends.
        accountants, labels, mu, ax: As for `plot_privacy_curve`.

    Raises:
        ImportError: Without matplotlib.
        ValueError: If the number of labels is not that of the accountants, or for a bad ``alpha``.

    >>> from renyi import Gaussian, PLDAccountant
    >>> plot_tradeoff(PLDAccountant().compose(Gaussian(1.0))).get_ylim()  # doctest: +SKIP
    (0.0, 1.0)
    """
    given = alpha_grid(POINTS) if alpha is None else np.asarray(alpha, np.float64).reshape(-1)
    accounts = _several(accountants)
    lines = _lines(accounts, labels, [given] * len(accounts), "get_beta")
    if mu is not None:
        lines.append(_gaussian(given, special.gaussian_tradeoff_lower(mu, given), mu))
    return draw_tradeoffs(lines, ax)


def draw_lines(lines: Iterable[Line], ax: Axes | None = None, *, log_y: bool = False) -> Axes:
    """Draw lines from 0 on; with ``log_y`` they end where they fall below 1e-30."""
    axes = axes_for(ax)
    axes.margins(x=0.0)
    if log_y:
        lines = [line._replace(y=np.where(line.y >= LEAST, line.y, np.nan)) for line in lines]
        if any(np.isfinite(line.y).any() for line in lines):
            axes.set_yscale("log")
    for line in lines:
        _draw(axes, line)
    axes.set_xlim(left=0.0)
    _finish(axes)
    return axes


def draw_privacy_curves(lines: Iterable[Line], ax: Axes | None = None) -> Axes:
    """Draw lines of delta against epsilon; where delta is below 1e-30 they end."""
    axes = draw_lines(lines, ax, log_y=True)
    axes.set_ylim(top=min(1.5, axes.get_ylim()[1]))
    axes.set_xlabel("privacy parameter ε (nats)")
    axes.set_ylabel("δ (probability)")
    return axes


def draw_tradeoffs(lines: Iterable[Line], ax: Axes | None = None) -> Axes:
    """Draw lines of the type II error against the type I error, and that of perfect privacy."""
    axes = axes_for(ax)
    for line in lines:
        _draw(axes, line)
    axes.plot([0.0, 1.0], [1.0, 0.0], color="0.6", linewidth=0.8, label="perfect privacy")
    axes.set_aspect("equal")
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.0)
    axes.set_xlabel("type I error α (false alarms)")
    axes.set_ylabel("least type II error β (missed records)")
    _finish(axes)
    return axes


def largest_epsilon(accountant: Accountant) -> float:
    """Return the end of a drawn curve: delta is 1e-10, or a millionth of its start."""
    start = accountant.get_delta(0.0)
    if start == 0.0:
        return 1.0
    return accountant.get_epsilon(min(SMALLEST_DELTA, 1e-6 * start))


def alpha_grid(points: int) -> Array:
    """Return type I errors from 0 to 1 inclusive, quadratically denser at both ends."""
    return np.asarray(np.sin(np.linspace(0.0, 0.5 * np.pi, points)) ** 2)


def _several(accountants: Accountant | Sequence[Accountant]) -> list[Accountant]:
    if isinstance(accountants, PLDAccountant | RDPAccountant):
        return [accountants]
    several = list(accountants)
    if not several:
        raise ValueError("accountants must be one accountant or several, got none")
    return several


def _lines(
    accounts: Sequence[Accountant],
    labels: Sequence[str] | None,
    grids: Sequence[Array],
    method: Literal["get_delta", "get_beta"],
) -> list[Line]:
    if labels is not None and len(labels) != len(accounts):
        raise ValueError(f"labels must be {len(accounts)} strings, got {labels!r}")
    lines = []
    of_kind: dict[Kind, int] = {"exact": 0, "renyi": 0}
    for i, (account, x) in enumerate(zip(accounts, grids, strict=True)):
        kind: Kind = "renyi" if isinstance(account, RDPAccountant) else "exact"
        label = NAMES[kind] if labels is None else labels[i]
        y = np.asarray(getattr(account, method)(x))
        lines.append(Line(x, y, label, kind, of_kind[kind]))
        of_kind[kind] += 1
    return lines


def _gaussian(x: Array, y: Array, mu: float) -> Line:
    return Line(x, y, f"{NAMES['gaussian']}, μ = {round_double(mu, 4, round_up)}", "gaussian")


def _draw(axes: Axes, line: Line) -> None:
    colour = _COLOURS[line.run % len(_COLOURS)]
    axes.plot(
        line.x,
        line.y,
        _STYLES[line.kind],
        color=colour,
        marker=_MARKERS[line.run % len(_MARKERS)],
        markersize=4.5,
        markerfacecolor="white",
        markevery=0.12,
        linewidth=1.6 if line.kind == "exact" else 1.4,
        label=line.label,
    )


def _finish(axes: Axes) -> None:
    axes.grid(True, which="major", color="0.9", linewidth=0.6)
    labels = axes.get_legend_handles_labels()[1]
    longest = max(map(len, labels))
    if len(labels) <= 5 and longest <= 20:
        axes.legend(frameon=False, loc="best")
        return
    # The legend goes below, as inside it would hide lines: small print, at most four rows.
    columns = max(-(-len(labels) // 4), 1 if longest > 45 else 2)
    size = "small" if longest * columns <= 100 else "xx-small"
    axes.legend(
        frameon=False,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
        ncols=columns,
        fontsize=size,
        columnspacing=1.0,
        handlelength=1.5,
    )


def axes_for(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(NEEDED) from error
    axes: Axes = plt.subplots(figsize=FIGURE_SIZE, layout="constrained")[1]
    return axes


FIGURE_SIZE = (6.4, 4.6)  # inches
NEEDED = "figures need matplotlib: python -m pip install matplotlib"


def plain_ticks(*axes: Any) -> None:
    """Write the ticks of short logarithmic axes as 12, not as 1.2 x 10^1; to be called last."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    for axis in axes:
        low, high = sorted(axis.get_view_interval())
        if axis.get_scale() != "log" or high >= POWERS * low:
            continue
        few = MaxNLocator(nbins=8, steps=[1, 2, 2.5, 5, 10])
        axis.set_major_locator(few if high < 10.0 * low else LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
