"""Pairs of single releases, for all numbers.

Where a number lies outside what the engine takes, the next larger loss it takes bounds from above
and the next smaller one from below.
"""

from __future__ import annotations

import math

from renyi import pld

__all__ = [
    "Pair",
    "approximate_pair",
    "bounded_range_pair",
    "gaussian_pair",
    "gumbel_pair",
    "laplace_pair",
    "replace_one_loss_of",
    "step_loss",
]

Pair = pld.PrivacyLossDistribution

NOTHING, REVEALED = pld.NOTHING, pld.REVEALED

LARGEST_MU = 500.0
"""A larger one leaves nothing to protect; the cells of its loss would be many."""


def gaussian_pair(mu: float) -> Pair:
    """Return (N(mu, 1), N(0, 1)), mu in [0, inf]."""
    if mu > LARGEST_MU:
        return pld.Bracketed(REVEALED, pld.Gaussian(0.2 * LARGEST_MU))
    if mu == 0.0:
        return NOTHING
    return pld.Gaussian(mu) if mu >= 1e-12 else pld.Bracketed(pld.Gaussian(1e-12), NOTHING)


def laplace_pair(scale: float) -> Pair:
    """Return the pair of Laplace noise of this scale over the shift."""
    if scale < 2e-3:
        return pld.Bracketed(REVEALED, pld.Laplace(2e-3))
    if scale == math.inf:
        return NOTHING
    return pld.Laplace(scale) if scale <= 1e12 else pld.Bracketed(pld.Laplace(1e12), NOTHING)


def approximate_pair(epsilon: float, delta: float) -> Pair:
    """Return the pair of (epsilon, delta)-privacy."""
    pair = pld.ApproximateDP(min(epsilon, 500.0), delta)
    return pair if epsilon <= 500.0 else pld.Bracketed(REVEALED, pair)


def gumbel_pair(scale: float) -> Pair:
    """Return the pair of Gumbel noise, of this scale over the shift, on a query moved either way.

    Above 0 the losses of the reversed pair are the larger ones. With t = 1/scale, r = 1/(e^t - 1)
    and the profiles H of (P, Q) and G of (Q, P), d(G - H)/dE at E = e^s is
    1 - e^(-r (t-s)) - e^(-(r+1)(t+s)) for s in [0, t]: concave in s, positive at 0 since
    e^(rt) > 1 + e^-t, negative at t. So G - H, 0 at s = 0, rises and then falls to
    G(t) - H(t) = G(t) > 0, and beyond t H vanishes.
    """
    if scale < 0.1:
        return pld.Bracketed(REVEALED, NOTHING)
    if scale == math.inf:
        return NOTHING
    pair = pld.Spliced(pld.Reversed(pld.Gumbel(min(scale, 1e9))), 1.0)
    return pair if scale <= 1e9 else pld.Bracketed(pair, NOTHING)


def bounded_range_pair(epsilon: float) -> Pair:
    """Return the pair of losses in an interval of length epsilon.

    It dominates all mechanisms of that range; each epsilon is reached by one of them, a composition
    of its uses by none.
    """
    if epsilon == 0.0:
        return NOTHING
    if epsilon < 1e-12:
        return pld.Bracketed(pld.BoundedRange(1e-12), NOTHING)
    pair = pld.BoundedRange(min(epsilon, 500.0))
    return pair if epsilon <= 500.0 else pld.Bracketed(REVEALED, pair)


def step_loss(rate: float, noise: float, remove: bool) -> Pair:
    """Return the loss of one Poisson-sampled Gaussian step, add/remove."""
    if noise == 0.0:  # the record shows itself whenever it is in the sample
        revealing = pld.Discrete((rate, 1.0 - rate), (0.0, 1.0))
        return revealing if remove else pld.Reversed(revealing)
    if rate == 1.0:
        return pld.Gaussian(1.0 / noise)
    return pld.sampled_gaussian(rate, noise, "remove" if remove else "add")


def replace_one_loss_of(rate: float, noise: float) -> Pair:
    """Return the loss of one Poisson-sampled Gaussian step when one record is replaced.

    The means move from -1 to 1; the pair is its own mirror image, so that one direction is enough.
    """
    if noise == 0.0:
        return pld.Discrete((rate, 0.0, 1.0 - rate), (0.0, rate, 1.0 - rate))
    if rate == 1.0:
        return pld.Gaussian(2.0 / noise)
    if noise < 0.1:  # the pair of Gaussian mixtures would overflow
        return pld.Spliced(gaussian_pair(2.0 / noise), rate)
    return pld.ReplaceOneSampledGaussian(rate, noise)
