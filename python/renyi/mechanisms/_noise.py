"""Additive noise: Gaussian, Laplace, Gumbel, staircase, and noise on whole numbers.

Noise is relative to how far a record moves the query, as each class says; replacing a record moves
a query twice as far as removing it. If noise is so small or so large that doubles cannot hold the
losses of its pair, pairs on either side bracket it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

import numpy as np

from renyi._adjacency import Adjacency, DirectionName
from renyi._engine import Pair, RenyiCurve
from renyi._validation import (
    FINITE_NON_NEGATIVE,
    FINITE_POSITIVE,
    NON_NEGATIVE,
    POSITIVE,
    PROBABILITY,
    Range,
    integer_of,
    number_in,
    numbers_in,
    set_fields,
    set_numbers,
    shortest,
)
from renyi.mechanisms.algebra import Mechanism, UnsupportedMechanismError
from renyi.mechanisms.steps import (
    LARGEST_LOSS,
    LARGEST_RDP,
    NOTHING,
    REPLACE,
    REVEALED,
    SMALLEST_LOSS,
    CountedSteps,
    SampledStep,
    distance,
    gaussian_curve,
    pure_curve,
    step_pair,
)

SUM_TOLERANCE = 1e-12  # of the sum of probabilities
MOST_LOSSES = 2**20  # the most of a pair of noise on integers
MOST_ATOMS = 2**16  # the most of a Rényi curve
WHOLE_ORDERS = np.unique(np.rint(np.geomspace(2.0, 1e6, 400)))

L2 = "the L2 norm that one record contributes at most, which is enforced"
L1 = "the L1 norm that one record contributes at most, which is enforced"
INTEGER = "on an integer, moved by one record by at most the stated sensitivity, which is enforced"


def laplace_pair(scale: float) -> Pair:
    """Return the pair of Laplace noise; ``scale`` in [0, inf] is relative to the shift."""
    if scale == 0.0:
        return REVEALED
    if scale < 1.0 / LARGEST_LOSS:
        return Pair.bracketed(REVEALED, Pair.laplace(1.0 / LARGEST_LOSS))
    if scale == math.inf:
        return NOTHING
    if scale > 1.0 / SMALLEST_LOSS:
        return Pair.bracketed(Pair.laplace(1.0 / SMALLEST_LOSS), NOTHING)
    return Pair.laplace(scale)


def noise_of_group(noise: float, size: int) -> float:
    """Return the noise relative to a group, which moves ``size`` times as far, rounded down."""
    ratio = noise / size
    return ratio if ratio in (0.0, math.inf) else math.nextafter(ratio, 0.0)


def _quotient(shift: int, noise: float) -> Fraction | None:
    if noise == math.inf:
        return Fraction(0)
    return shift / Fraction(noise) if noise else None


@dataclass(frozen=True, slots=True)
class _ScaledNoise(Mechanism):
    """Noise given by its scale over the distance that one record moves the query."""

    dominates_removal = True
    permitted: ClassVar[Range] = POSITIVE

    noise_multiplier: float

    def __post_init__(self) -> None:
        set_numbers(self, noise_multiplier=self.permitted)

    def for_group(self, size: int) -> Mechanism:
        """Return the mechanism with less noise: a group moves the query ``size`` times as far."""
        return type(self)(noise_of_group(self.noise_multiplier, size))


@dataclass(frozen=True, slots=True)
class Gaussian(_ScaledNoise):
    """Adds N(0, noise_multiplier^2) to a query of L2 sensitivity 1.

    Args:
        noise_multiplier (float): Standard deviation of the noise over the sensitivity, in [0, inf].
            At 0 nothing is protected, at infinity nothing released.

    >>> Gaussian(1.1)
    Gaussian(noise_multiplier=1.1)
    """

    summary = "Gaussian noise, multiplier {noise_multiplier}"
    assumption = f"Gaussian: normal, standard deviation = noise multiplier x {L2}"
    symmetric = True
    permitted: ClassVar[Range] = NON_NEGATIVE

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        return step_pair(SampledStep(1.0, self.noise_multiplier), adjacency, direction)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        return gaussian_curve(self.noise_multiplier, adjacency)

    @property
    def gaussian_steps(self) -> CountedSteps:
        """One step, on all of the data."""
        return ((SampledStep(1.0, self.noise_multiplier), 1),)


@dataclass(frozen=True, slots=True, init=False)
class GaussianMixture(Mechanism):
    """Adds Gaussian noise to a query that a record moves by a random amount.

    A user whose records are sampled one by one moves the sum by the number of records drawn.

    Args:
        noise_multiplier: Standard deviation of the noise, in the unit of ``sensitivities``, in (0,
            inf].
        sensitivities: The distances that the query may move in the L2 norm, each in [0, inf).
        probabilities: The probability of each of ``sensitivities``, in [0, 1]; their sum is 1
            within 1e-12.

    >>> print(GaussianMixture(2.0, [0, 1, 2], [0.81, 0.18, 0.01]).describe())
    Gaussian noise, multiplier 2, of sensitivity 0 (0.81), 1 (0.18), 2 (0.01)
    """

    assumption = (
        "Gaussian of random sensitivity: normal; one record moves the result in the L2 norm by "
        "the stated amounts with the stated probabilities, and nobody learns by which"
    )
    states_sampling = True

    noise_multiplier: float
    sensitivities: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __init__(
        self,
        noise_multiplier: float,
        sensitivities: Iterable[float],
        probabilities: Iterable[float],
    ) -> None:
        noise = number_in(noise_multiplier, "noise_multiplier", POSITIVE)
        moves = numbers_in(sensitivities, "sensitivities", FINITE_NON_NEGATIVE)
        weights = numbers_in(probabilities, "probabilities", PROBABILITY)
        if not moves:
            raise ValueError("sensitivities must be at least one number, got none")
        if len(weights) != len(moves):
            raise ValueError(
                f"probabilities must be as many as sensitivities, {len(moves)}, got {len(weights)}"
            )
        total = math.fsum(weights)
        if abs(total - 1.0) > SUM_TOLERANCE:
            raise ValueError(f"probabilities must be numbers of sum 1, got numbers of sum {total}")
        set_fields(self, noise_multiplier=noise, sensitivities=moves, probabilities=weights)

    def _headline(self) -> str:
        moves = list(zip(self.sensitivities, self.probabilities, strict=True))
        words = ", ".join(f"{shortest(move)} ({shortest(weight)})" for move, weight in moves)
        if len(moves) > 6:
            low, high = min(self.sensitivities), max(self.sensitivities)
            words = f"random among {len(moves)} from {shortest(low)} to {shortest(high)}"
        return (
            f"Gaussian noise, multiplier {shortest(self.noise_multiplier)}, of sensitivity {words}"
        )

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        noise, moves, replaces = self.noise_multiplier, self.sensitivities, adjacency == REPLACE
        kept = [(w, m) for w, m in zip(self.probabilities, moves, strict=True) if w > 0.0]
        weights, means = zip(*kept, strict=True)
        if noise == math.inf or not any(means):
            return NOTHING
        if max(means) > 1e6 * noise:
            moved = math.fsum(w for w, m in kept if m > 0.0)
            rest = math.fsum(w for w, m in kept if m == 0.0)
            other = [0.0, moved, rest] if replaces else [0.0, 0.0, 1.0]
            revealed = Pair.discrete(np.array([moved, 0.0, rest]), np.array(other))
            pair = Pair.bracketed(revealed, NOTHING)
        elif replaces:
            pair = Pair.replaced_gaussian(weights, means, noise)
        else:
            pair = Pair.gaussian_mixture(weights, means, noise)
        return pair if direction == "remove" else pair.reversed()


@dataclass(frozen=True, slots=True)
class Laplace(_ScaledNoise):
    """Adds Laplace noise to a query of L1 sensitivity 1.

    Args:
        noise_multiplier (float): Scale b of the density e^(-|x|/b) / (2 b) over the sensitivity, in
            (0, inf]. At infinity nothing is released.

    >>> Laplace(2)
    Laplace(noise_multiplier=2.0)
    """

    summary = "Laplace noise, multiplier {noise_multiplier}"
    assumption = f"Laplace: scale = noise multiplier x {L1}"
    symmetric = True

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        return laplace_pair(self.noise_multiplier / distance(adjacency))

    def largest_loss(self, adjacency: Adjacency, direction: DirectionName) -> Fraction | None:
        """Return the shift over the scale."""
        return _quotient(distance(adjacency), self.noise_multiplier)


@dataclass(frozen=True, slots=True)
class Gumbel(_ScaledNoise):
    """Adds Gumbel noise to one number of sensitivity 1.

    The Rényi divergence is finite only for orders below ``1/(1 - e^(-1/noise_multiplier))``. For
    report-noisy-max with Gumbel noise, which costs less, see `Exponential`.

    Args:
        noise_multiplier (float): Scale b of the distribution function exp(-e^(-x/b)) over the
            sensitivity, in (0, inf].

    `PLDAccountant` is exact for one use. For several uses its bracket reaches from a record that
    always moves the query the same way to a pair above both ways, which no neighbours have: 9.04 to
    9.34 for 16 uses of standard deviation 4 at delta 1e-5, where adaptive choices reach 9.069.

    Source: Gil, Alajaji, Linder 2013, Information Sciences 249 (Rényi divergences in closed form).

    >>> Gumbel(5.0)
    Gumbel(noise_multiplier=5.0)
    """

    summary = "Gumbel noise, multiplier {noise_multiplier}"
    assumption = (
        "Gumbel: on one number, scale = noise multiplier x what one record moves it at most, "
        "which is enforced"
    )

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        """Return the pair of a query moved either way.

        Above 0 the losses of the reversed pair are the larger ones. With t = 1/scale,
        r = 1/(e^t - 1) and the profiles H of (P, Q) and G of (Q, P), d(G - H)/dE at E = e^s is
        1 - e^(-r (t-s)) - e^(-(r+1)(t+s)) for s in [0, t]: concave in s, positive at 0 since
        e^(rt) > 1 + e^-t, negative at t. So G - H, 0 at s = 0, rises and then falls to
        G(t) - H(t) = G(t) > 0, and beyond t H vanishes. The lower pair is noise moved one way. One
        use attains the splice; several do not, even if the way depends on earlier releases.
        """
        scale = self.noise_multiplier / distance(adjacency)
        if scale == 0.0:
            return REVEALED
        if scale < 0.1:
            return Pair.bracketed(REVEALED, NOTHING)
        if scale == math.inf:
            return NOTHING
        reverse = Pair.gumbel(min(scale, 1e9)).reversed()
        return Pair.spliced(reverse, 1.0, reverse if scale <= 1e9 else NOTHING)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        """Return the curve of noise moved one way, which is the same for both ways."""
        if math.isinf(self.noise_multiplier):
            return RenyiCurve.linear(0.0)
        scale = min(self.noise_multiplier / distance(adjacency), 1.0 / SMALLEST_LOSS)
        curve = Pair.gumbel(scale).reversed().moment()
        assert curve is not None  # it has a closed form
        return curve

    def same_in_both_directions(self, adjacency: Adjacency) -> bool:
        """Whether both directions have one curve: the pair dominates both signs of the shift."""
        return True


@dataclass(frozen=True, slots=True)
class Staircase(Mechanism):
    """Adds staircase noise to one number: pure differential privacy with the least mean noise.

    In units of the sensitivity under the accountant's adjacency, the density at x is proportional
    to e^(-epsilon k), k the number of steps at gamma, gamma + 1, ... up to |x|.

    Args:
        epsilon: The largest privacy loss, in [0, 500].
        gamma: The place of the first step, in [0, 1]. The mean of |x| is least at 1/(1 +
            e^(epsilon/2)).

    Source: Geng, Viswanath 2014, arXiv 1212.1186, Theorem 3.

    >>> Staircase(1.0, 0.3775)
    Staircase(epsilon=1.0, gamma=0.3775)
    """

    summary = "Staircase noise, epsilon {epsilon}, first step at {gamma}"
    assumption = (
        "staircase: on one number, relative to what one record moves it at most, which is enforced"
    )

    epsilon: float
    gamma: float

    def __post_init__(self) -> None:
        set_numbers(self, epsilon=Range(0.0, 500.0), gamma=PROBABILITY)

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        """Return the pair of a query moved by 1.

        For a smaller shift the losses are the same three, and the largest has mass
        TV/(1 - e^-epsilon), where TV is the total variation of the shift. TV rises with the shift
        for noise that falls on both sides.
        """
        if self.epsilon == 0.0:
            return NOTHING
        if self.epsilon < SMALLEST_LOSS:
            return Pair.bracketed(Pair.staircase(SMALLEST_LOSS, self.gamma), NOTHING)
        return Pair.staircase(self.epsilon, self.gamma)

    def largest_loss(self, adjacency: Adjacency, direction: DirectionName) -> Fraction | None:
        """Return ``epsilon``."""
        return Fraction(self.epsilon)


@dataclass(frozen=True, slots=True)
class _IntegerNoise(Mechanism):
    """Noise with one parameter on an integer, and the distance that a record moves it."""

    symmetric = True
    dominates_removal = True

    def __post_init__(self) -> None:
        parameter, sensitivity = (field.name for field in fields(self))
        set_numbers(self, **{parameter: FINITE_POSITIVE})
        set_fields(self, sensitivity=integer_of(getattr(self, sensitivity), sensitivity, 1))

    def _beyond(self, parameter: str) -> UnsupportedMechanismError:
        reason = f"its losses are kept one by one, up to {parameter}a shift of 2^20"
        return UnsupportedMechanismError(self, reason)


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(_IntegerNoise):
    """Adds discrete Gaussian noise, of mass ∝ e^(-x^2 / (2 sigma^2)), to an integer.

    Args:
        sigma: In (0, inf); close to the standard deviation unless it is small.
        sensitivity: How far the presence of one record moves the integer, at least 1.

    Source: Canonne, Kamath, Steinke 2020, arXiv 2004.00010.

    >>> DiscreteGaussian(3.0)
    DiscreteGaussian(sigma=3.0, sensitivity=1)
    """

    summary = "Discrete Gaussian noise, sigma {sigma}, sensitivity {sensitivity}"
    assumption = f"discrete Gaussian: {INTEGER}"

    sigma: float
    sensitivity: int = 1

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        shift = distance(adjacency) * self.sensitivity
        if shift > 1000.0 * self.sigma:
            return Pair.bracketed(REVEALED, NOTHING)
        if shift > MOST_LOSSES or self.sigma > 1e4:
            raise self._beyond("sigma 10,000 and ")
        return Pair.discrete_gaussian(self.sigma, shift)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        # Canonne, Kamath, Steinke 2020, Proposition 5: the curve is at most that of continuous
        # noise.
        return gaussian_curve(self.sigma / self.sensitivity, adjacency)

    def for_group(self, size: int) -> DiscreteGaussian:
        """Return it with ``size`` times the sensitivity."""
        return DiscreteGaussian(self.sigma, self.sensitivity * size)


@dataclass(frozen=True, slots=True)
class MultivariateDiscreteGaussian(_ScaledNoise):
    """Adds discrete Gaussian noise to every entry of a vector of integers, as sums on a grid are.

    Only its L2 sensitivity is known. Many integer vectors have it and none is known to dominate the
    others; for one integer, `DiscreteGaussian` is tighter.

    Args:
        noise_multiplier (float): sigma, see `DiscreteGaussian`, over the L2 sensitivity, in (0,
            inf]. At infinity nothing is released.

    Source: Canonne, Kamath, Steinke 2020, arXiv 2004.00010; Kairouz, Liu, Steinke 2021, arXiv
    2102.06387.

    >>> MultivariateDiscreteGaussian(1.1)
    MultivariateDiscreteGaussian(noise_multiplier=1.1)
    """

    summary = "Discrete Gaussian noise on a vector, multiplier {noise_multiplier}"
    assumption = f"multivariate discrete Gaussian: on integers, sigma = noise multiplier x {L2}"
    has_swapped_pairs = True
    """There is a pair for every integer vector D that a record may add, and x -> D - x swaps it.

    At whole orders its moments are those of continuous noise: the sum of
    exp(-|x - k D|^2/(2 sigma^2)) over the integer vectors x is the same for every whole k. The
    moments rise with |D|, and their logarithm is convex between whole orders: the largest |D|
    bounds all.
    """

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        raise UnsupportedMechanismError(
            self,
            "of the integer vectors that a record may add none is known to dominate the others; "
            "RDPAccountant takes it",
        )

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        # Proposition 5, as above, bounds each entry; the squares of the shifts add up.
        return gaussian_curve(self.noise_multiplier, adjacency)


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(_IntegerNoise):
    """Adds discrete Laplace noise, of mass ∝ e^(-|x| / scale), to an integer: geometric mechanism.

    Args:
        scale: In (0, inf).
        sensitivity: How far the presence of one record moves the integer, at least 1.

    Source: Ghosh, Roughgarden, Sundararajan 2012, SIAM Journal on Computing 41(6).

    >>> DiscreteLaplace(2.0, sensitivity=3)
    DiscreteLaplace(scale=2.0, sensitivity=3)
    """

    summary = "Discrete Laplace noise, scale {scale}, sensitivity {sensitivity}"
    assumption = f"discrete Laplace: {INTEGER}"

    scale: float
    sensitivity: int = 1

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        shift = distance(adjacency) * self.sensitivity
        if shift > LARGEST_LOSS * self.scale:
            return Pair.bracketed(REVEALED, NOTHING)
        if shift > MOST_LOSSES:
            raise self._beyond("")
        return Pair.discrete_laplace(min(self.scale, 1.0 / SMALLEST_LOSS), shift)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        shift = self.sensitivity * distance(adjacency)
        if shift > MOST_ATOMS:
            return pure_curve(shift / Fraction(self.scale))
        return Mechanism._curve(self, adjacency)

    def largest_loss(self, adjacency: Adjacency, direction: DirectionName) -> Fraction | None:
        """Return the shift over the scale."""
        return _quotient(distance(adjacency) * self.sensitivity, self.scale)

    def for_group(self, size: int) -> DiscreteLaplace:
        """Return it with ``size`` times the sensitivity."""
        return DiscreteLaplace(self.scale, self.sensitivity * size)


@dataclass(frozen=True, slots=True)
class Skellam(_IntegerNoise):
    """Adds the difference of two Poisson variables of mean variance/2 each to an integer.

    The sum of Skellam noise is Skellam noise: the noise of many clients has the law of one.

    Args:
        variance: In (0, inf).
        sensitivity: How far the presence of one record moves the integer, at least 1.

    Source: Agarwal, Kairouz, Liu 2021, arXiv 2110.04995, Theorem 3.5 (the Rényi bound of
    `RDPAccountant`).

    >>> Skellam(25.0)
    Skellam(variance=25.0, sensitivity=1)
    """

    summary = "Skellam noise, variance {variance}, sensitivity {sensitivity}"
    assumption = f"Skellam: {INTEGER}"

    variance: float
    sensitivity: int = 1

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        """Return the pair of the largest shift. It dominates, as masses fall on both sides."""
        shift, variance = distance(adjacency) * self.sensitivity, self.variance
        if variance < 0.01 or shift > 1000.0 * math.sqrt(variance):
            return Pair.bracketed(REVEALED, NOTHING)
        if shift > MOST_LOSSES or variance > 1e8:
            raise self._beyond("variance 1e8 and ")
        return Pair.skellam(variance, shift)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        # Agarwal, Kairouz, Liu 2021, arXiv 2110.04995, Theorem 3.5, at whole orders and with both
        # sensitivities equal; between whole orders K lies below its chords.
        orders = WHOLE_ORDERS
        shift = float(self.sensitivity * distance(adjacency))
        ratio = shift / self.variance
        with np.errstate(over="ignore"):
            rest = 0.25 * ((2.0 * orders - 1.0) * ratio + 6.0 / self.variance)
            rest = np.minimum(rest, 1.5) * ratio
            moments = (orders - 1.0) * (0.5 * orders * shift * ratio + rest) * (1.0 + 2.0**-48)
        if not moments[-1] < LARGEST_RDP:
            return RenyiCurve.unbounded()
        return RenyiCurve.polygon(orders.tolist(), moments.tolist())
