"""A pass over records in random order, with noise of one scale.

    delta = A (1 - B^n) / (n (1 - B))

for every record: it is at each step with the same probability, and what follows a step contracts
E_g by B each time (Sordello, Bu, Dong 2021, arXiv 2106.11767). A is `record_divergence`, B is
`contraction_coefficient`. The order must be uniformly random and secret.
"""

from __future__ import annotations

import math

from renyi._iteration import Pass
from renyi._search import smallest_argument
from renyi._validation import Range, delta_of, epsilon_of, number_in
from renyi.theory.iteration._arguments import LARGEST, SMALLEST, positive_of, steps_of
from renyi.theory.iteration.setting import Noise, NoisyDescent

__all__ = [
    "pass_of",
    "shuffled_delta",
    "shuffled_epsilon",
    "shuffled_limit",
    "shuffled_limit_constant",
    "shuffled_scale",
]


def pass_of(descent: NoisyDescent, epsilon: float) -> Pass:
    """Return the engine's view of a pass, at one epsilon."""
    return Pass(descent.noise, epsilon, descent.record_shift, descent.state_shift)


def shuffled_delta(descent: NoisyDescent, epsilon: float, scale: float, n: int) -> float:
    """Return delta of a shuffled pass over ``n`` records.

    Parameters
    ----------
    descent : NoisyDescent
        The pass.
    epsilon : float
        In [0, inf].
    scale : float
        Of the noise Z of every step, in [1e-75, 1e75].
    n : int
        Number of records, in [1, 2^53].

    Returns
    -------
    float
        In [0, 1], rounded up, relatively by less than 1e-13; no less than the smallest normal
        number unless 0.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> descent = NoisyDescent(step_size=0.1, lipschitz=10.0, diameter=1.0)
    >>> round(shuffled_delta(descent, 1.0, 3.0, 10_000), 6)
    0.000654
    """
    width = positive_of(scale, "scale")
    return pass_of(descent, epsilon_of(epsilon)).shuffled_delta(width, float(steps_of(n)))


def shuffled_epsilon(descent: NoisyDescent, delta: float, scale: float, n: int) -> float:
    """Return the smallest epsilon for a target delta.

    Parameters
    ----------
    descent, scale, n
        As for `shuffled_delta`.
    delta : float
        In [0, 1].

    Returns
    -------
    float
        At least 0: `shuffled_delta` there is at most ``delta``, and above it at an epsilon that is
        smaller by 1e-12 relatively; inf for Gaussian noise and a delta below 2.3e-308.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> descent = NoisyDescent(step_size=0.1, lipschitz=10.0, diameter=1.0)
    >>> round(shuffled_epsilon(descent, 1e-4, 3.0, 10_000), 6)
    10.197053
    """
    width, steps, target = positive_of(scale, "scale"), float(steps_of(n)), delta_of(delta)

    def at(epsilon: float) -> float:
        return pass_of(descent, epsilon).shuffled_delta(width, steps)

    return 0.0 if at(0.0) <= target else smallest_argument(at, target, 1.0, 1e-300, 1e305)


def shuffled_scale(descent: NoisyDescent, epsilon: float, delta: float, n: int) -> float:
    """Return the smallest noise scale for a target (epsilon, delta).

    Parameters
    ----------
    descent, epsilon, n
        As for `shuffled_delta`.
    delta : float
        In [0, 1].

    Returns
    -------
    float
        A scale that meets the target, as `shuffled_delta` confirms; one smaller by 1e-12 does not.
        1e-75, the smallest that is looked at, if that is enough.

    Raises
    ------
    TypeError
        If an argument is of the wrong type.
    ValueError
        If an argument is not as above, or no scale up to 1e75 meets the target.

    Examples
    --------
    >>> descent = NoisyDescent(step_size=0.1, lipschitz=10.0, diameter=1.0)
    >>> round(shuffled_scale(descent, 1.0, 1e-4, 1_000_000), 6)
    1.82502
    """
    target, steps = delta_of(delta), float(steps_of(n))
    core = pass_of(descent, epsilon_of(epsilon))

    def at(scale: float) -> float:
        return core.shuffled_delta(scale, steps)

    start = min(max(descent.record_shift, SMALLEST), LARGEST)
    scale = smallest_argument(at, target, start, SMALLEST, LARGEST)
    if math.isinf(scale):
        raise ValueError(f"delta must be one that a scale up to 1e75 reaches, got {delta!r}")
    return scale


def shuffled_limit(noise: Noise, epsilon: float, c1: float) -> float:
    """Return the limit of `shuffled_delta` for large ``n`` with the scale `fixed_scale`.

    ``(1 - exp(-x))/x``, where x is ``c1 exp(epsilon/2)`` for Laplace noise, and twice that for
    Gaussian noise. A limit, no bound: for finite ``n`` delta may be on either side of it.

    Parameters
    ----------
    noise : {"gaussian", "laplace"}
        The law.
    epsilon : float
        In [0, 1000].
    c1 : float
        C1 of `fixed_scale`, in [1e-75, 1e75].

    Returns
    -------
    float
        In [0, 1], right to 1e-14 relatively.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Notes
    -----
    Approached as 1/n for Laplace noise if ``2 lipschitz step_size >= contraction diameter``, and
    otherwise as n to the power ``-2 lipschitz step_size / (contraction diameter)``; as 1/log n for
    Gaussian noise.

    Examples
    --------
    >>> import math
    >>> round(math.log10(shuffled_limit("laplace", 1.0, 1e5)), 4)
    -5.2171
    """
    x = positive_of(c1, "c1") / _constant_for_one(noise, epsilon)
    return -math.expm1(-x) / x


def shuffled_limit_constant(noise: Noise, epsilon: float, delta: float) -> float:
    """Return C1 of `fixed_scale` for which `shuffled_limit` is ``delta``.

    Parameters
    ----------
    noise, epsilon
        As for `shuffled_limit`.
    delta : float
        In [1e-70, 1).

    Returns
    -------
    float
        Right to 1e-11 relatively, rounded so that the limit is at most ``delta``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> round(shuffled_limit_constant("gaussian", 1.0, 1e-6))
    303265
    """
    target = number_in(delta, "delta", Range(1e-70, 1.0, "[)"))
    one = _constant_for_one(noise, epsilon)
    x = smallest_argument(lambda x: -math.expm1(-x) / x, target, 1.0 / target, 1e-20, 1e75)
    return x * (1.0 + 2.0**-49) * one


def _constant_for_one(noise: Noise, epsilon: float) -> float:
    """C1 for which x is 1."""
    if noise not in ("gaussian", "laplace"):
        raise ValueError(f"noise must be 'gaussian' or 'laplace', got {noise!r}")
    value = number_in(epsilon, "epsilon", Range(0.0, 1000.0))
    return math.exp(-0.5 * value) * (0.5 if noise == "gaussian" else 1.0)
