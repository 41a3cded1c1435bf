"""Noise scales: one for a pass of n steps, or decaying along a pass without a planned end.

    Laplace    v(n) = M D / (2 eta log(n/C1 + C2)),            v_j = the same at j^a
    Gaussian   sigma(n) = M D / (2 eta sqrt(W(n^2/(2 pi C1^2) + C2))),    sigma_j likewise

W is Lambert's function, principal branch. With v(n), n (1 - B) tends to ``C1 exp(epsilon/2)``, with
sigma(n) to twice that, so delta of a shuffled pass has a limit above 0 although the noise gets
less. With a > 1, 1 - B_j has a finite sum, and so delta of an online pass.

Sordello, Bu, Dong 2021, arXiv 2106.11767.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._iteration import Schedule
from renyi._validation import integer_of, numbers_of, real_of
from renyi.theory.iteration._arguments import LARGEST, MOST_STEPS, SMALLEST, positive_of, steps_of
from renyi.theory.iteration.setting import NoisyDescent

__all__ = ["DecayingNoise", "NoiseScales", "fixed_scale", "schedule_of"]

Floats = npt.NDArray[np.float64]

_LARGEST_SCALE = 1e150


@dataclass(frozen=True)
class DecayingNoise:
    """Noise scales v_j or sigma_j of the steps j = 1, 2, ..., times a factor.

    Parameters
    ----------
    descent : NoisyDescent
        The pass they are for; its contraction must not be 0.
    c1 : float
        C1, in [1e-75, 1e75]: the larger, the more noise.
    c2 : float
        C2, in [1, 1e75] for Laplace and [0, 1e75] for Gaussian noise: the larger, the less noise at
        first. Laplace noise needs ``c2 >= exp(epsilon/2)`` for a contraction coefficient above 0
        from the first step on.
    power : float
        a, in [1, 100]; delta stays above 0 in the limit for a > 1 only.
    factor : float
        In [1e-75, 1e75].

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> descent = NoisyDescent(step_size=0.01, lipschitz=10.0, diameter=1.0)
    >>> DecayingNoise(descent, c1=100.0, c2=100.0, power=1.5).scales(3).round(4)
    array([27.1738, 27.1738, 27.1738])
    >>> round(DecayingNoise(descent, c1=100.0, c2=100.0, power=1.5).scale(10_000), 4)
    13.3882
    """

    descent: NoisyDescent
    c1: float
    c2: float
    power: float = 1.5
    factor: float = 1.0

    def __post_init__(self) -> None:
        if self.descent.state_shift == 0.0:
            raise ValueError("descent must have a contraction above 0, got 0.0")
        least = 1.0 if self.descent.noise == "laplace" else 0.0
        for name, low, high in (("c2", least, LARGEST), ("power", 1.0, 100.0)):
            allowed = f"a number in [{low:g}, {high:g}]"
            value = real_of(getattr(self, name), name, allowed)
            if not low <= value <= high:
                raise ValueError(f"{name} must be {allowed}, got {value!r}")
            object.__setattr__(self, name, value)
        for name in ("c1", "factor"):
            object.__setattr__(self, name, positive_of(getattr(self, name), name))
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

        Guarantees are about these very floats.
        """
        out = np.empty(steps_of(n))
        self._core.scales_into(steps_of(first, "first"), out)
        return out

    def scale(self, step: int) -> float:
        """Return the scale of one step, counted from 1."""
        return float(self.scales(1, steps_of(step, "step"))[0])

    def scaled(self, factor: float) -> DecayingNoise:
        """Return the same noise times a factor."""
        return replace(self, factor=self.factor * positive_of(factor, "factor"))


NoiseScales = float | npt.ArrayLike | DecayingNoise


def fixed_scale(descent: NoisyDescent, n: int, c1: float, c2: float) -> float:
    """Return v(n) or sigma(n): the scale for all of a shuffled pass over ``n`` records.

    Parameters
    ----------
    descent : NoisyDescent
        The pass.
    n : int
        Number of records, in [1, 2^53].
    c1, c2 : float
        As for `DecayingNoise`.

    Returns
    -------
    float
        Right to 1e-13 relatively.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> descent = NoisyDescent(step_size=0.1, lipschitz=10.0, diameter=1.0)
    >>> round(fixed_scale(descent, 10**7, c1=1e5, c2=100.0), 4)
    2.0954
    """
    return DecayingNoise(descent, c1, c2, power=1.0).scale(steps_of(n))


def schedule_of(descent: NoisyDescent, noise: Any, n: int | None) -> Schedule:
    """Return the scales of ``n`` steps, or of all: a number, an array of ``n`` or a decaying noise.

    Raises
    ------
    TypeError, ValueError
        If they are none of these, or belong to another law of noise.
    """
    if isinstance(noise, DecayingNoise):
        if noise.descent.noise != descent.noise:
            raise ValueError(
                f"noise must be {descent.noise} noise, as the descent's, "
                f"got {noise.descent.noise} noise"
            )
        return noise._core
    if np.ndim(noise) == 0:
        width = positive_of(noise, "noise")
        return Schedule(descent.noise, None, width, 0.0, 1.0, 1.0)
    allowed = "a number in [1e-75, 1e75], an array of them, one a step, or a DecayingNoise"
    scales, shape = numbers_of(noise, "noise", SMALLEST, LARGEST, allowed)
    if n is None or shape != (integer_of(n, "n", 1),):
        raise ValueError(f"noise must be {allowed}, got an array of shape {shape} for n = {n}")
    return Schedule(descent.noise, scales, 1.0, 0.0, 1.0, 1.0)
