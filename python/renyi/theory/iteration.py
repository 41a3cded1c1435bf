"""Privacy amplification by iteration: one noisy pass whose last iterate alone is released.

Projected noisy SGD visits every record once (PNSGD). The steps after a record blur what its own
step reveals: each contracts delta, the hockey-stick divergence E_g with g = e^epsilon, ``E_g(P, Q)
= sup_S P(S) - g Q(S)``, which is at most delta in both orders for all neighbours. With

* A, E_g of one step with two different records from the same point,
  ``noise_divergence(descent.noise, epsilon, descent.record_shift, scale)``,
* B, by which a step multiplies E_g of any two laws of the iterate at most, the largest E_g of a
  step from two points of K (Asoodeh, Diaz, Calmon 2020, Theorem 2),
  ``noise_divergence(descent.noise, epsilon, descent.state_shift, scale)``,

a shuffled pass has delta = A (1 - B^n) / (n (1 - B)) for every record: each is at each step with
the same probability. The order must be uniformly random and secret. `renyi.theory.online` treats a
fixed order, `renyi.theory.last_iterate` several epochs. Records are replaced, not added or removed,
and every delta is rounded up. `renyi.sgd.PNSGD` runs the algorithm.

With batches a step uses the mean gradient of ``batch_size`` records, no record is in two batches,
and n counts steps. Another record moves that mean by 2L/batch_size at most. A mean of losses is as
smooth and convex as each of them, so ``contraction`` stays. If the records are cut into batches in
a uniformly random order, the batch of each record is uniform: every theorem here holds with the
batch in the place of the record.

Sordello, Bu, Dong 2021, arXiv 2106.11767, after Feldman, Mironov, Talwar, Thakurta 2018 (arXiv
1808.06651) and Asoodeh, Diaz, Calmon 2020 (arXiv 2001.06546).

>>> descent = NoisyDescent(step_size=0.1, lipschitz=10.0, diameter=1.0, noise="laplace")
>>> scale = DecayingNoise(descent, c1=1e5, c2=2.0, power=1.0).scale(10**6)
>>> delta = shuffled_pass(descent, 10**6, epsilon=1.0, scale=scale)
>>> round(scale, 4), round(math.log10(delta), 4)
(2.0121, -5.143)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from renyi._adjacency import one_of
from renyi._engine import Pass, Schedule, step_divergence
from renyi._search import smallest_argument
from renyi._validation import (
    PROBABILITY,
    Range,
    check_one_missing,
    delta_of,
    epsilon_of,
    integer_of,
    number_in,
    numbers_of,
    real_of,
    set_fields,
    set_numbers,
    uses_of,
)

__all__ = [
    "DecayingNoise",
    "NoisyDescent",
    "noise_divergence",
    "shuffled_limit",
    "shuffled_pass",
    "step_contraction",
]
__dir__ = __all__.copy

Noise = Literal["gaussian", "laplace"]
Floats = npt.NDArray[np.float64]

SMALLEST, LARGEST = 1e-75, 1e75  # quotients of such numbers stay in the range of double
MOST_STEPS = 2**53
_LARGEST_SCALE = 1e150
SCALES = Range(SMALLEST, LARGEST)


def steps_of(value: Any, name: str = "n") -> int:
    """Return an integer in [1, 2^53]."""
    return uses_of(value, name, 1, MOST_STEPS)


def _noise_of(noise: Any) -> Noise:
    return one_of(noise, "noise", get_args(Noise))


@dataclass(frozen=True)
class NoisyDescent:
    """The descent ``w <- Proj_K(w - step_size * (gradient(w, batch) - Z))``, one batch a step.

    Args:
        step_size: eta, in [1e-75, 1e75]; no more than ``2 / (smoothness + strong_convexity)``, see
            `step_contraction`.
        lipschitz: L, in [1e-75, 1e75]: gradients of two records at one point differ by at most 2L
            in L2 norm. This holds for losses with gradients of at most L; a regulariser that is the
            same for all records does not count.
        diameter: Diameter of the convex set K, in [1e-75, 1e75].
        contraction: M, in [0, 1]: a step without noise multiplies distances by at most M; 1 for
            convex losses, `step_contraction` for strongly convex ones.
        noise ({"gaussian", "laplace"}): Law of Z: normal in every coordinate, or Laplace, which is
            for one dimension only. The scale (standard deviation; b of the density
            ``exp(-|x|/b)/(2b)``) is that of Z, so the step adds noise of ``step_size`` times the
            scale.
        batch_size: Number of records of every batch, whose gradients are averaged, at least 1. No
            record is in two batches.

    >>> descent = NoisyDescent(step_size=0.1, lipschitz=10.0, diameter=2.0, contraction=0.5)
    >>> descent.record_shift, descent.state_shift > 10.0
    (20.0, True)
    >>> NoisyDescent(0.1, 10.0, 2.0, batch_size=4).record_shift
    5.0
    """

    step_size: float
    lipschitz: float
    diameter: float
    contraction: float = 1.0
    noise: Noise = "gaussian"
    batch_size: int = 1

    def __post_init__(self) -> None:
        set_numbers(self, step_size=SCALES, lipschitz=SCALES, diameter=SCALES)
        set_numbers(self, contraction=PROBABILITY)
        _noise_of(self.noise)
        set_fields(self, batch_size=steps_of(self.batch_size, "batch_size"))
        if self.record_shift < SMALLEST:
            raise ValueError(
                "batch_size must leave 2 lipschitz/batch_size at least 1e-75, got "
                f"{self.batch_size!r}"
            )

    @property
    def record_shift(self) -> float:
        """2L/batch_size, rounded up: the shift of a step by another record, in units of Z."""
        moved = 2.0 * self.lipschitz / self.batch_size
        exact = Fraction(moved) * self.batch_size >= 2 * Fraction(self.lipschitz)
        return moved if exact else math.nextafter(moved, math.inf)

    @property
    def state_shift(self) -> float:
        """``contraction * diameter / step_size``, rounded up: the same for another iterate."""
        if self.contraction == 0.0:
            return 0.0
        moved = max(self.contraction, SMALLEST) * self.diameter
        return math.nextafter(moved * (1.0 + 2.0**-52) / self.step_size, math.inf)


def step_contraction(step_size: float, smoothness: float, strong_convexity: float) -> float:
    """Return M, the Lipschitz constant of a gradient step, rounded up by two ulps at most.

    ``sqrt(1 - 2 eta beta rho / (beta + rho))`` for a loss that is beta-smooth and rho-strongly
    convex, as long as ``eta <= 2 / (beta + rho)``.

    Args:
        step_size: eta, in [1e-75, 1e75] and at most ``2 / (smoothness + strong_convexity)``.
        smoothness: beta, in [1e-75, 1e75]: the Lipschitz constant of the gradient.
        strong_convexity: rho, in [0, smoothness].

    Source: Nesterov 2004, Theorem 2.1.12; Sordello, Bu, Dong 2021, arXiv 2106.11767.

    >>> step_contraction(0.1, 1.0, 0.0)
    1.0
    >>> round(step_contraction(1.0, 0.5, 0.5), 6)
    0.707107
    """
    eta = number_in(step_size, "step_size", SCALES)
    beta = number_in(smoothness, "smoothness", SCALES)
    rho = number_in(strong_convexity, "strong_convexity", Range(0.0, beta))
    exact_eta, exact_beta, exact_rho = Fraction(eta), Fraction(beta), Fraction(rho)
    if exact_eta * (exact_beta + exact_rho) > 2:
        raise ValueError(
            "step_size must be at most 2 / (smoothness + strong_convexity) = "
            f"{2.0 / (beta + rho)!r}, got {step_size!r}"
        )
    square = 1 - 2 * exact_eta * exact_beta * exact_rho / (exact_beta + exact_rho)
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return min(root, 1.0)


def noise_divergence(noise: Noise, epsilon: float, distance: float, scale: float = 1.0) -> float:
    """Return E_g of two laws of noise at a distance, ``g = exp(epsilon)``.

    With ``r = distance / scale``, for the normal law ``Q(epsilon/r - r/2) - g Q(epsilon/r + r/2)``,
    Q being its upper tail, and for the Laplace law ``max(0, 1 - exp((epsilon - r)/2))``.

    Args:
        noise ({"gaussian", "laplace"}): The law; normal noise may have any dimension, with the
            distance in L2.
        epsilon: In [0, inf].
        distance: 0 or in [1e-75, 1e151].
        scale: Standard deviation, or b of the density ``exp(-|x|/b)/(2b)``; in [1e-75, 1e75].

    Returns:
        In [0, 1], rounded up: relatively by less than 1e-14 where it is a normal number, and the
        smallest normal number where it would be below that.

    Source: Balle, Wang 2018, arXiv 1805.06530, Theorem 8; Sordello, Bu, Dong 2021, arXiv
    2106.11767.

    >>> round(noise_divergence("gaussian", 1.0, 1.0), 6)
    0.126937
    >>> noise_divergence("laplace", 1.0, 1.0)
    0.0
    """
    law, allowed = _noise_of(noise), "0 or a number in [1e-75, 1e151]"
    shift = real_of(distance, "distance", allowed)
    if shift != 0.0 and not SMALLEST <= shift <= 1e151:
        raise ValueError(f"distance must be {allowed}, got {distance!r}")
    width = number_in(scale, "scale", SCALES)
    return step_divergence(law, epsilon_of(epsilon), shift, width)[0]


@dataclass(frozen=True)
class DecayingNoise:
    """Noise scales v_j or sigma_j of the steps j = 1, 2, ..., times a factor.

        Laplace    v(n) = M D / (2 eta log(n/C1 + C2)),            v_j = the same at j^a
        Gaussian   sigma(n) = M D / (2 eta sqrt(W(n^2/(2 pi C1^2) + C2))),    sigma_j likewise

    W is Lambert's function, principal branch. With the scale v(n) or sigma(n) for all of a shuffled
    pass of n records, ``DecayingNoise(..., power=1.0).scale(n)``, n (1 - B) tends to ``C1
    exp(epsilon/2)``, for Gaussian noise to twice that, so delta of the pass has a limit above 0
    although the noise gets less: `shuffled_limit`. With a > 1, 1 - B_j has a finite sum, and so
    delta of an online pass.

    Args:
        descent: The pass; its contraction must not be 0.
        c1: C1, in [1e-75, 1e75]; a larger number is more noise.
        c2: C2, in [1, 1e75] for Laplace and [0, 1e75] for Gaussian noise; a larger number is less
            noise at first. Laplace noise needs ``c2 >= exp(epsilon/2)`` for a contraction
            coefficient above 0 from the first step on.
        power: a, in [1, 100]; delta stays above 0 in the limit for a > 1 only.
        factor: Factor of all scales, in [1e-75, 1e75].

    >>> descent = NoisyDescent(step_size=0.01, lipschitz=10.0, diameter=1.0)
    >>> DecayingNoise(descent, c1=100.0, c2=100.0, power=1.5).scales(3).round(4)
    array([27.1738, 27.1738, 27.1738])
    """

    descent: NoisyDescent
    c1: float
    c2: float
    power: float = 1.5
    factor: float = 1.0

    def __post_init__(self) -> None:
        if _descent_of(self.descent).state_shift == 0.0:
            raise ValueError("descent must have a contraction above 0, got 0.0")
        least = 1.0 if self.descent.noise == "laplace" else 0.0
        set_numbers(self, c2=Range(least, LARGEST), power=Range(1.0, 100.0), c1=SCALES)
        set_numbers(self, factor=SCALES)
        first, last = self.scale(1), self.scale(MOST_STEPS)
        if not (first <= _LARGEST_SCALE and last >= 1.0 / _LARGEST_SCALE):
            raise ValueError(
                "factor must keep the scales of all steps in [1e-150, 1e150], got scales from "
                f"{last!r} to {first!r}"
            )

    @cached_property
    def _core(self) -> Schedule:
        amplitude = 0.5 * self.factor * self.descent.state_shift
        return Schedule(self.descent.noise, None, amplitude, self.power, self.c1, self.c2)

    def scales(self, n: int, first: int = 1) -> Floats:
        """Return the scales of ``n`` steps from ``first`` on; right to 1e-13 relatively.

        Guarantees hold for exactly these floats.
        """
        out = np.empty(steps_of(n))
        self._core.scales_into(steps_of(first, "first"), out)
        return out

    def scale(self, step: int) -> float:
        """Return the scale of one step, counted from 1."""
        return float(self.scales(1, steps_of(step, "step"))[0])

    def scaled(self, factor: float) -> DecayingNoise:
        """Return the same noise times a factor."""
        return replace(self, factor=self.factor * number_in(factor, "factor", SCALES))


NoiseScales = float | npt.ArrayLike | DecayingNoise


def schedule_of(descent: NoisyDescent, noise: Any, n: int | None) -> Schedule:
    """Return the scales of ``n`` steps, or of all: of a number, an array or a decaying noise."""
    law = _descent_of(descent).noise
    if isinstance(noise, DecayingNoise):
        if noise.descent.noise != law:
            raise ValueError(
                f"noise must be {law} noise, as the descent's, got {noise.descent.noise} noise"
            )
        return noise._core
    if np.ndim(noise) == 0:
        width = number_in(noise, "noise", SCALES)
        return Schedule(law, None, width, 0.0, 1.0, 1.0)
    allowed = "a number in [1e-75, 1e75], an array of them, one a step, or a DecayingNoise"
    scales, shape = numbers_of(noise, "noise", SMALLEST, LARGEST, allowed)
    if n is None or shape != (integer_of(n, "n", 1),):
        raise ValueError(f"noise must be {allowed}, got an array of shape {shape} for n = {n}")
    return Schedule(law, scales, 1.0, 0.0, 1.0, 1.0)


def pass_of(descent: NoisyDescent, epsilon: float) -> Pass:
    """Return the engine's view of a pass, at one epsilon."""
    law = _descent_of(descent).noise
    return Pass(law, epsilon, descent.record_shift, descent.state_shift)


def _descent_of(value: Any) -> NoisyDescent:
    if not isinstance(value, NoisyDescent):
        raise TypeError(f"descent must be a NoisyDescent, got {value!r}")
    return value


def shuffled_pass(
    descent: NoisyDescent,
    n: int,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    scale: float | None = None,
) -> float:
    """Return epsilon, delta or the noise scale of a shuffled pass from the other two.

    Args:
        descent: The pass.
        n: Number of records, in [1, 2^53].
        epsilon, delta: In [0, inf] and [0, 1].
        scale: Scale of the noise Z of every step, in [1e-75, 1e75].

    Returns:
        The number that is not given. Delta is in [0, 1], rounded up, relatively by less than 1e-13;
        no less than the smallest normal number unless 0. Epsilon and scale are the smallest for
        which delta is at most the given one; a number smaller by 1e-12 relatively does not suffice.
        Epsilon is at least 0, and inf for Gaussian noise and a delta below 2.3e-308; the scale at
        least 1e-75.

    Raises:
        TypeError, ValueError: If an argument is not as above, not two of the three are given, or no
            scale up to 1e75 meets the target.

    >>> descent = NoisyDescent(step_size=0.1, lipschitz=10.0, diameter=1.0)
    >>> round(shuffled_pass(descent, 10_000, delta=1e-4, scale=3.0), 6)
    10.197053
    >>> round(shuffled_pass(descent, 1_000_000, epsilon=1.0, delta=1e-4), 6)
    1.82502
    """
    check_one_missing(epsilon=epsilon, delta=delta, scale=scale)
    steps = float(steps_of(n))
    if delta is None:
        core, width = pass_of(descent, epsilon_of(epsilon)), number_in(scale, "scale", SCALES)
        return core.shuffled_delta(width, steps)
    target = delta_of(delta)
    if epsilon is None:
        width = number_in(scale, "scale", SCALES)

        def at(value: float) -> float:
            return pass_of(descent, value).shuffled_delta(width, steps)

        return 0.0 if at(0.0) <= target else smallest_argument(at, target, 1.0, 1e-300, 1e305)
    core = pass_of(descent, epsilon_of(epsilon))
    start = min(max(descent.record_shift, SMALLEST), LARGEST)
    found = smallest_argument(
        lambda width: core.shuffled_delta(width, steps), target, start, SMALLEST, LARGEST
    )
    if math.isinf(found):
        raise ValueError(f"delta must be one that a scale up to 1e75 reaches, got {delta!r}")
    return found


def shuffled_limit(
    noise: Noise, epsilon: float, c1: float | None = None, *, delta: float | None = None
) -> float:
    """Return the limit of delta for a long shuffled pass, or the C1 that makes it ``delta``.

    With the scale ``DecayingNoise(..., c1, power=1.0).scale(n)`` it is ``(1 - exp(-x))/x``, where x
    is ``c1 exp(epsilon/2)`` for Laplace noise, and twice that for Gaussian noise. This is a limit,
    not a bound: for finite ``n`` delta may be on either side of it.

    Args:
        noise ({"gaussian", "laplace"}): The law.
        epsilon: In [0, 1000].
        c1: C1 of `DecayingNoise`, in [1e-75, 1e75].
        delta: In [1e-70, 1). Either c1 or delta has to be given.

    Returns:
        The limit, in [0, 1], right to 1e-14 relatively; or C1, right to 1e-11 relatively and
        rounded so that the limit is at most ``delta``.

    Delta approaches the limit as 1/n for Laplace noise if ``2 lipschitz step_size >= contraction
    diameter``, and otherwise as n to the power ``-2 lipschitz step_size / (contraction diameter)``;
    as 1/log n for Gaussian noise.

    >>> round(math.log10(shuffled_limit("laplace", 1.0, 1e5)), 4)
    -5.2171
    """
    value = number_in(epsilon, "epsilon", Range(0.0, 1000.0))
    one = math.exp(-0.5 * value) * (0.5 if _noise_of(noise) == "gaussian" else 1.0)  # x is 1
    check_one_missing(c1=c1, delta=delta)
    if c1 is not None:
        x = number_in(c1, "c1", SCALES) / one
        return -math.expm1(-x) / x
    target = number_in(delta, "delta", Range(1e-70, 1.0, "[)"))
    x = smallest_argument(lambda x: -math.expm1(-x) / x, target, 1.0 / target, 1e-20, 1e75)
    return x * (1.0 + 2.0**-49) * one
