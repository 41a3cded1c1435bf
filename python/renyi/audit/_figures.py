"""Figures of audits: the errors of an attack, and the violations that an audit would find."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from renyi._progress import progress
from renyi._validation import decimal_of
from renyi.audit._claims import Audit, Source, failing_of, scores_of
from renyi.audit._many_runs import binomial_interval
from renyi.plot import Accountant, axes_for, plot_tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 1001  # type I errors at which the band is drawn
ORANGE, BLUE = "#D55E00", "#0072B2"
PATIENCE = 0.5  # seconds without a progress bar


def plot_power(
    audit: Audit,
    claim: Accountant,
    truths: Iterable[Accountant],
    delta: float,
    *,
    confidence: float = 0.95,
    repeats: int = 100,
    generator: Source = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often an audit like this refutes a claim if the run is less private.

    Audits of the same size are drawn with the best scores that each truth allows. The figure shows
    the share of refutations, the lower bound from the scores and the reported epsilon: the best
    attack would hardly have missed a truth to the right of where the line is near 1.

    Args:
        audit: The audit whose size and lower bound of epsilon are used.
        claim: The reported guarantee.
        truths: At least one guarantee that the run may have instead, such as that with less noise,
            the most private first. The line ends at the first one that every audit finds.
        delta: The delta of the epsilon that each truth is shown at.
        confidence: Confidence in (0, 1) of the bound, of each audit, and of the band at each truth
            (Clopper, Pearson).
        repeats: Number of audits for each truth.
        generator: By default a NumPy generator with a fixed seed: the figure of an audit is always
            the same.
        ax: The axes to draw on; by default those of a new figure.

    Raises:
        ImportError: Without matplotlib.

    >>> from renyi import Gaussian, PLDAccountant
    >>> from renyi.audit import ManyRuns
    >>> rng = np.random.default_rng(1)
    >>> audit = ManyRuns(rng.normal(1.0, 1.0, 999), rng.normal(0.0, 1.0, 999))
    >>> claim, *truths = (PLDAccountant().compose(Gaussian(s)) for s in (1.0, 0.9, 0.8, 0.7))
    >>> plot_power(audit, claim, truths, 1e-2)  # doctest: +SKIP
    """
    source = np.random.default_rng(0) if generator is None else generator
    several = list(truths)
    if not several or not all(isinstance(each, Accountant) for each in (claim, *several)):
        raise TypeError(
            "claim and truths, at least one, must be PLDAccountant or RDPAccountant, "
            f"got {claim!r} and {several!r}"
        )
    axes = axes_for(ax)
    found: list[int] = []
    for truth in progress(several, "truth", PATIENCE):
        found.append(
            audit.times_refuted(claim, truth, repeats, confidence=confidence, generator=source)
        )
        if found[-1] == repeats:
            break
    epsilon = [float(truth.get_epsilon(delta)) for truth in several[: len(found)]]
    ends = [binomial_interval(k, repeats, confidence=confidence) for k in found]
    bound = audit.epsilon_lower_bound(delta, confidence=confidence)
    axes.plot(epsilon, np.divide(found, repeats), color=BLUE, label="power of such audits")
    axes.fill_between(
        epsilon,
        *np.transpose(ends),
        color=BLUE,
        alpha=0.2,
        linewidth=0.0,
        label=f"{100.0 * confidence:g} % confidence",
    )
    axes.axvline(bound, color=ORANGE, linestyle="--", label="lower bound of ε found")
    axes.axvline(float(claim.get_epsilon(delta)), color="black", linestyle=":", label="reported ε")
    axes.set(
        xlabel=f"true ε at δ = {decimal_of(delta)}",
        ylabel="probability that the claim is refuted",
        xlim=(0.0, None),
        ylim=(0.0, 1.02),
    )
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return axes


def plot_attack(
    present: Any,
    absent: Any,
    accountant: Accountant,
    *,
    confidence: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the errors of an attack at every threshold, and the least errors of a guarantee.

    The attack is a line of measured rates within a band. With the given confidence the errors of
    the attack at all thresholds lie in the band together. A guarantee is refuted only if it lies
    above the band somewhere, not if it lies above the line.

    Args:
        present, absent (array of shape (n,)): Scores of independent runs, as for `ManyRuns`. The
            scores of the canaries of one run depend on each other: their line may be drawn, but
            proves nothing.
        accountant: The accountant of the reported guarantee.
        confidence: Confidence of the whole band, in (0, 1), by the inequality of Dvoretzky, Kiefer
            and Wolfowitz for either kind of runs (with the constant of Massart 1990, doi
            10.1214/aop/1176990746). Near both ends, where few runs decide, `ManyRuns` is stronger.
        ax: The axes to draw on; by default those of a new figure.

    Raises:
        ImportError: Without matplotlib.

    >>> from renyi import Gaussian, PLDAccountant
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.normal(1.0, 1.0, 999), rng.normal(0.0, 1.0, 999)
    >>> plot_attack(*scores, PLDAccountant().compose(Gaussian(1.0)))  # doctest: +SKIP
    """
    first, second = scores_of(present, "present"), scores_of(absent, "absent")
    axes = plot_tradeoff(accountant, labels=["guarantee"], ax=ax)
    alpha, missed = attack_errors(first, second)
    axes.plot(alpha, missed / first.size, color=ORANGE, linewidth=1.2, label="attack")
    axes.fill_between(
        *attack_band(first, second, confidence),
        color=ORANGE,
        alpha=0.2,
        linewidth=0.0,
        label=f"attack, {100.0 * confidence:g} % confidence",
    )
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


def attack_band(
    present: npt.NDArray[np.float64], absent: npt.NDArray[np.float64], confidence: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return type I errors, and bounds of the type II error that hold at all of them.

    Each empirical distribution is off by more than sqrt(log(2/f) / (2n)) anywhere with probability
    at most f, half of the probability to fail. Then a threshold of type I error a has a measured
    one of at most a + w, and a type II error of at least the least measured there less its own w.
    The last threshold measured below a - w has a type I error below a: its type II error, at most
    the measured one plus its w, is achieved at a, also where equal scores leave no threshold
    between.
    """
    depth = math.log(4.0 / failing_of(confidence))
    off_alpha, off_beta = (math.sqrt(0.5 * depth / runs.size) for runs in (absent, present))
    alpha, missed = attack_errors(present, absent)
    beta = missed / present.size
    at = np.linspace(0.0, 1.0, POINTS)
    before = np.searchsorted(alpha, at - off_alpha) - 1  # measured below: its true error is below a
    last = np.searchsorted(alpha, at + off_alpha, side="right") - 1
    low = np.maximum(beta[last] - off_beta, 0.0)
    high = np.where(before < 0, 1.0, np.minimum(beta[before] + off_beta, 1.0))
    return at, low, high
