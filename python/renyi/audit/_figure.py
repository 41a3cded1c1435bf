"""A figure of what an attack achieves and what a guarantee allows; needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from renyi.audit._arguments import failing_of, scores_of
from renyi.audit._intervals import interval
from renyi.plot import Accountant, plot_tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_attack"]

POINTS = 25  # confidence intervals that are drawn


def plot_attack(
    present: Any,
    absent: Any,
    accountant: Accountant,
    *,
    confidence: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the errors of an attack at every threshold above the least that a guarantee allows.

    The attack is a line of measured rates, with a confidence interval of the type II error at some
    of them, and nothing is proven by a point below the guarantee unless the interval is.

    Parameters
    ----------
    present, absent : array of shape (n,)
        Scores of independent runs, as for `epsilon_lower_bound`. Those of the canaries of one run
        depend on each other: their line may be drawn, and proves nothing.
    accountant : PLDAccountant or RDPAccountant
        What was reported.
    confidence : float
        In (0, 1), of each interval by itself.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        With the lines in it.

    Raises
    ------
    ImportError
        Without matplotlib.

    Examples
    --------
    >>> from renyi import Gaussian, PLDAccountant
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.normal(1.0, 1.0, 999), rng.normal(0.0, 1.0, 999)
    >>> plot_attack(*scores, PLDAccountant().compose(Gaussian(1.0)))  # doctest: +SKIP
    """
    first, second = scores_of(present, "present"), scores_of(absent, "absent")
    failing = failing_of(confidence)
    axes = plot_tradeoff(accountant, labels=["guarantee"], ax=ax)
    alpha, missed = attack_errors(first, second)
    axes.plot(alpha, missed / first.size, color="#D55E00", linewidth=1.2, label="attack")
    some = np.unique(np.linspace(0, alpha.size - 1, POINTS).astype(int))
    ends = np.array([interval(int(count), first.size, failing) for count in missed[some]])
    axes.vlines(alpha[some], ends[:, 0], ends[:, 1], color="#D55E00", linewidth=0.8)
    axes.legend(frameon=False, loc="upper right")
    return axes


def attack_errors(
    present: npt.NDArray[np.float64], absent: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the type I error and the number of missed records at every threshold."""
    limits = np.unique(np.concatenate([present, absent]))[::-1]
    quiet = np.searchsorted(np.sort(absent), limits)
    missed = np.searchsorted(np.sort(present), limits)
    alpha = np.concatenate([[0.0], 1.0 - quiet / absent.size])
    return alpha, np.concatenate([[present.size], missed])
