"""The pair of distributions that dominates one release, in each direction.

``remove`` compares the outputs with the record to those without it; for replaced records both
directions have one pair. Replacing a record moves a query twice as far as removing it. `_samples`
adds what is done with releases: composition and sampling.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from renyi._pair import Pair
from renyi.accountants._support import UnsupportedMechanismError
from renyi.mechanisms import (
    ZCDP,
    ApproxDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    GaussianMixture,
    Gumbel,
    Laplace,
    Mechanism,
    MultivariateDiscreteGaussian,
    PrivacyLoss,
    PureDP,
    RandomizedResponse,
    RDPCurve,
    RepeatAndSelect,
    Skellam,
    Staircase,
)

__all__ = ["NOTHING", "REVEALED", "gaussian_pair", "laplace_pair", "moved", "single_pair"]

REPLACE = "replace_one"
NOTHING = Pair.discrete(np.ones(1), np.ones(1))
REVEALED = Pair.discrete(np.array([1.0, 0.0]), np.array([0.0, 1.0]))

LARGEST_MU = 500.0
"""A larger one leaves nothing to protect; the spans of its loss would be many."""

LARGEST_LOSS = 500.0  # of Laplace noise, of bounded range, of approximate privacy
SMALLEST = 1e-12  # a loss below is accounted as this from above, as none from below

NO_LARGEST_SHIFT = (
    "of the integer vectors that a record may add none is known to dominate the others; "
    "RDPAccountant takes it"
)
NO_LARGEST_PAIR = (
    "of the pairs with its Rényi divergences none is known to dominate the others; "
    "RDPAccountant takes it"
)
NO_PAIR_SELECTED = (
    "the theorems on selection bound Rényi divergences, not pairs; RDPAccountant takes it"
)


@singledispatch
def single_pair(mechanism: Mechanism, adjacency: str, remove: bool) -> Pair:
    """Return a pair that dominates one use of a mechanism, not on a sample, in one direction.

    Raises
    ------
    UnsupportedMechanismError
        If none is known.
    """
    raise UnsupportedMechanismError(mechanism, "its privacy loss is not known")


def moved(adjacency: str) -> int:
    """Return how far neighbours move a query, in units of one record's presence."""
    return 2 if adjacency == REPLACE else 1


def gaussian_pair(mu: float) -> Pair:
    """Return (N(mu, 1), N(0, 1)), mu in [0, inf]."""
    if mu == math.inf:
        return REVEALED
    if mu > LARGEST_MU:
        return Pair.bracketed(REVEALED, Pair.gaussian(0.2 * LARGEST_MU))
    if mu == 0.0:
        return NOTHING
    return Pair.gaussian(mu) if mu >= SMALLEST else Pair.bracketed(Pair.gaussian(SMALLEST), NOTHING)


def laplace_pair(scale: float) -> Pair:
    """Return the pair of Laplace noise of this scale over the shift, scale in [0, inf]."""
    if scale == 0.0:
        return REVEALED
    if scale < 1.0 / LARGEST_LOSS:
        return Pair.bracketed(REVEALED, Pair.laplace(1.0 / LARGEST_LOSS))
    if scale == math.inf:
        return NOTHING
    if scale > 1.0 / SMALLEST:
        return Pair.bracketed(Pair.laplace(1.0 / SMALLEST), NOTHING)
    return Pair.laplace(scale)


@single_pair.register
def _gaussian_pair(mechanism: Gaussian, adjacency: str, remove: bool) -> Pair:
    return _of_noise(mechanism.noise_multiplier, adjacency)


def _of_noise(noise: float, adjacency: str) -> Pair:
    return gaussian_pair(moved(adjacency) / noise if noise else math.inf)


@single_pair.register
def _laplace_pair(mechanism: Laplace, adjacency: str, remove: bool) -> Pair:
    return laplace_pair(mechanism.noise_multiplier / moved(adjacency))


@single_pair.register
def _gumbel_pair(mechanism: Gumbel, adjacency: str, remove: bool) -> Pair:
    """Return the pair of noise on a query moved either way.

    Above 0 the losses of the reversed pair are the larger ones. With t = 1/scale, r = 1/(e^t - 1)
    and the profiles H of (P, Q) and G of (Q, P), d(G - H)/dE at E = e^s is
    1 - e^(-r (t-s)) - e^(-(r+1)(t+s)) for s in [0, t]: concave in s, positive at 0 since
    e^(rt) > 1 + e^-t, negative at t. So G - H, 0 at s = 0, rises and then falls to
    G(t) - H(t) = G(t) > 0, and beyond t H vanishes. From below: noise moved one way. One use
    attains the splice; several do not, even where each way is chosen by what was released.
    """
    scale = mechanism.noise_multiplier / moved(adjacency)
    if scale == 0.0:
        return REVEALED
    if scale < 0.1:
        return Pair.bracketed(REVEALED, NOTHING)
    if scale == math.inf:
        return NOTHING
    reverse = Pair.gumbel(min(scale, 1e9)).reversed()
    return Pair.spliced(reverse, 1.0, reverse if scale <= 1e9 else NOTHING)


@single_pair.register
def _discrete_gaussian_pair(mechanism: DiscreteGaussian, adjacency: str, remove: bool) -> Pair:
    shift = moved(adjacency) * mechanism.sensitivity
    if shift > 1000.0 * mechanism.sigma:
        return Pair.bracketed(REVEALED, NOTHING)
    if shift > 2**20 or mechanism.sigma > 1e4:
        raise UnsupportedMechanismError(
            mechanism, "its losses are kept one by one, up to sigma 10,000 and a shift of 2^20"
        )
    return Pair.discrete_gaussian(mechanism.sigma, shift)


@single_pair.register
def _multivariate_discrete_gaussian_pair(
    mechanism: MultivariateDiscreteGaussian, adjacency: str, remove: bool
) -> Pair:
    raise UnsupportedMechanismError(mechanism, NO_LARGEST_SHIFT)


@single_pair.register
def _discrete_laplace_pair(mechanism: DiscreteLaplace, adjacency: str, remove: bool) -> Pair:
    shift = moved(adjacency) * mechanism.sensitivity
    if shift > LARGEST_LOSS * mechanism.scale:
        return Pair.bracketed(REVEALED, NOTHING)
    if shift > 2**20:
        raise UnsupportedMechanismError(
            mechanism, "its losses are kept one by one, up to a shift of 2^20"
        )
    return Pair.discrete_laplace(min(mechanism.scale, 1.0 / SMALLEST), shift)


@single_pair.register
def _skellam_pair(mechanism: Skellam, adjacency: str, remove: bool) -> Pair:
    """Return the pair of the largest shift: its masses fall on both sides, so that it dominates."""
    shift, variance = moved(adjacency) * mechanism.sensitivity, mechanism.variance
    if variance < 0.01 or shift > 1000.0 * math.sqrt(variance):
        return Pair.bracketed(REVEALED, NOTHING)
    if shift > 2**20 or variance > 1e8:
        raise UnsupportedMechanismError(
            mechanism, "its losses are kept one by one, up to variance 1e8 and a shift of 2^20"
        )
    return Pair.skellam(variance, shift)


@single_pair.register
def _staircase_pair(mechanism: Staircase, adjacency: str, remove: bool) -> Pair:
    """Return the pair of a query moved by 1.

    Less far, the losses are the same three, and the larger one has the mass TV/(1 - e^-epsilon) of
    the total variation of the shift, which rises with it for noise that falls on both sides.
    """
    epsilon, gamma = mechanism.epsilon, mechanism.gamma
    if epsilon == 0.0:
        return NOTHING
    if epsilon < SMALLEST:
        return Pair.bracketed(Pair.staircase(SMALLEST, gamma), NOTHING)
    return Pair.staircase(epsilon, gamma)


@single_pair.register
def _randomized_response_pair(mechanism: RandomizedResponse, adjacency: str, remove: bool) -> Pair:
    return Pair.randomized_response(mechanism.p, mechanism.choices)


@single_pair.register
def _exponential_pair(mechanism: Exponential, adjacency: str, remove: bool) -> Pair:
    """Return the pair of losses in an interval of length epsilon.

    It dominates all mechanisms of that range; each delta is reached by one of them, a composition
    by none: randomized response, of that range too, bounds those from below.
    """
    epsilon = mechanism.epsilon
    if epsilon == 0.0:
        return NOTHING
    if epsilon > LARGEST_LOSS:
        return Pair.bracketed(REVEALED, Pair.bounded_range(LARGEST_LOSS))
    if epsilon < SMALLEST:
        return Pair.bracketed(Pair.bounded_range(SMALLEST), NOTHING)
    return Pair.bracketed(Pair.bounded_range(epsilon), Pair.approximate_privacy(0.5 * epsilon, 0.0))


@single_pair.register
def _pure_dp_pair(mechanism: PureDP, adjacency: str, remove: bool) -> Pair:
    return _approximate(mechanism.epsilon, 0.0)


@single_pair.register
def _approx_dp_pair(mechanism: ApproxDP, adjacency: str, remove: bool) -> Pair:
    return _approximate(mechanism.epsilon, mechanism.delta)


def _approximate(epsilon: float, delta: float) -> Pair:
    pair = Pair.approximate_privacy(min(epsilon, LARGEST_LOSS), delta)
    return pair if epsilon <= LARGEST_LOSS else Pair.bracketed(REVEALED, pair)


@single_pair.register
def _privacy_loss_pair(mechanism: PrivacyLoss, adjacency: str, remove: bool) -> Pair:
    return mechanism.loss(remove)._pair


@single_pair.register
def _gaussian_mixture_pair(mechanism: GaussianMixture, adjacency: str, remove: bool) -> Pair:
    if adjacency == REPLACE:
        raise UnsupportedMechanismError(
            mechanism, "the pair of two records of random sensitivity each is not known"
        )
    noise, given = mechanism.noise_multiplier, mechanism.probabilities
    kept = [(w, m) for w, m in zip(given, mechanism.sensitivities, strict=True) if w > 0.0]
    weights, means = zip(*kept, strict=True)
    if noise == math.inf or not any(means):
        return NOTHING
    if noise == 0.0 or max(map(abs, means)) > 1e6 * noise:
        hidden = math.fsum(w for w, m in kept if not m)
        shown = np.array([math.fsum(w for w, m in kept if m), hidden])
        pair = Pair.bracketed(Pair.discrete(shown, np.array([0.0, 1.0])), NOTHING)
    else:
        pair = Pair.gaussian_mixture(weights, means, noise)
    return pair if remove else pair.reversed()


@single_pair.register(ZCDP)
@single_pair.register(RDPCurve)
def _no_largest_pair(mechanism: Mechanism, adjacency: str, remove: bool) -> Pair:
    raise UnsupportedMechanismError(mechanism, NO_LARGEST_PAIR)


@single_pair.register
def _repeat_and_select_pair(mechanism: RepeatAndSelect, adjacency: str, remove: bool) -> Pair:
    raise UnsupportedMechanismError(mechanism, NO_PAIR_SELECTED)
