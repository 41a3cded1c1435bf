"""Noise of a release: how much, what it is to an accountant, how it is drawn, and its tails.

Laplace and Gaussian noise is ideal and then rounded to multiples of a power of two. The exact sum
is split in a multiple of that and a rest: rounding the rest with the noise rounds the whole, so
that a sum of any size is post-processing of the ideal mechanism (Mironov 2012, CCS, is withstood).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._rounding import above
from renyi._validation import Range, float_above, number_in
from renyi.mechanisms import DiscreteLaplace, Gaussian, Laplace, Mechanism, PureDP
from renyi.noise import (
    SecureGenerator,
    add_discrete_laplace_noise,
    add_gaussian_noise,
    add_laplace_noise,
    noise_lattice,
)

DISCRETE, LAPLACE, GAUSSIAN = "discrete_laplace", "laplace", "gaussian"

MULTIPLIER = Range(2.0**-20, 2.0**24)
EPSILON = Range(2.0**-20, 2.0**20)
RHO = Range(2.0**-40, 2.0**40)

# Shares are priced this much lower, so that those which add up to a budget fit in it: filters
# round every sum up.
REDUCED = 1 - Fraction(1, 2**40)


@dataclass(frozen=True, slots=True)
class Noise:
    """A law of independent noise for each number released, and what all of them cost."""

    law: str
    scale: float
    mechanism: Mechanism

    @property
    def spacing(self) -> float:
        """The lattice it is rounded to, 0 for noise on whole numbers."""
        return 0.0 if self.law == DISCRETE else noise_lattice(self.scale)

    def add_to_counts(
        self, counts: npt.NDArray[np.int64], generator: SecureGenerator
    ) -> npt.NDArray[np.int64]:
        """Return whole numbers with noise, rounded to whole numbers again."""
        if self.law == DISCRETE:
            return add_discrete_laplace_noise(counts.copy(), self.scale, generator=generator)
        return np.rint(self._added(counts.astype(np.float64), generator)).astype(np.int64)

    def add_to_sum(self, total: int, step: Fraction, generator: SecureGenerator) -> Fraction:
        """Return ``total`` times ``step`` and noise, rounded to the lattice: exactly that."""
        spacing = Fraction(self.spacing)
        whole, rest = divmod(total * step, spacing)
        noisy = self._added(np.array([float(rest)]), generator)  # exact, see `fits`
        return whole * spacing + Fraction(float(noisy[0]))

    def fits(self, step: Fraction) -> bool:
        """Whether every multiple of ``step`` below the spacing is a double."""
        return Fraction(self.spacing) <= step * 2**53

    def _added(
        self, numbers: npt.NDArray[np.float64], generator: SecureGenerator
    ) -> npt.NDArray[np.float64]:
        add = add_gaussian_noise if self.law == GAUSSIAN else add_laplace_noise
        return add(numbers, self.scale, generator=generator)


def noise_of(
    noise: Any,
    epsilon: Any,
    rho: Any,
    *,
    replaced: bool,
    distance: Fraction = Fraction(1),
    parts: int = 1,
    whole: bool = False,
    joint: bool = False,
) -> Noise:
    """Return the noise that was asked for, on numbers which neighbours move.

    Parameters
    ----------
    noise, epsilon, rho
        One of them: a mechanism, or what all of the release may cost.
    replaced : bool
        Whether neighbours replace a record: accountants then take it that a query moves by twice
        what the presence of a record does, so that this is half of ``distance``.
    distance : Fraction
        How far neighbours move a number.
    parts : int
        How many numbers neighbours move as far, each charged by itself.
    whole : bool
        Whether the numbers are whole.
    joint : bool
        Whether several numbers are moved by ``distance`` in all, in the L1 norm.
    """
    asked = _asked(noise, epsilon, rho, 2 if replaced else 1, parts, whole)
    if isinstance(asked, DiscreteLaplace):
        # One step apart on whole numbers: losses are 1/scale and -1/scale, those of pure privacy.
        loss = PureDP(float_above(1 / Fraction(asked.scale)))
        return Noise(DISCRETE, asked.scale, _times(loss if replaced else asked, parts))
    multiplier = Fraction(asked.noise_multiplier)
    scale = float_above(multiplier * distance / (2 if replaced else 1))
    charged: Mechanism = asked
    if joint and isinstance(asked, Laplace):
        charged = PureDP(float_above((2 if replaced else 1) / multiplier))
    law = GAUSSIAN if isinstance(asked, Gaussian) else LAPLACE
    return Noise(law, scale, _times(charged, parts))


def _times(mechanism: Mechanism, parts: int) -> Mechanism:
    return mechanism if parts == 1 else mechanism * parts


def _asked(
    noise: Any, epsilon: Any, rho: Any, half: int, parts: int, whole: bool
) -> DiscreteLaplace | Laplace | Gaussian:
    if sum(value is not None for value in (noise, epsilon, rho)) != 1:
        raise ValueError(
            "one of noise, epsilon and rho must be given, got "
            f"noise {noise!r}, epsilon {epsilon!r}, rho {rho!r}"
        )
    if epsilon is not None:
        share = Fraction(number_in(epsilon, "epsilon", EPSILON)) * REDUCED / parts
        return (
            DiscreteLaplace(float_above(1 / share)) if whole else Laplace(float_above(half / share))
        )
    if rho is not None:
        share = Fraction(number_in(rho, "rho", RHO)) * REDUCED / parts
        return Gaussian(above(half * math.sqrt(float_above(1 / (2 * share)))))
    # No subclass: it could tell the accountant another scale than the generator.
    if type(noise) is Gaussian or type(noise) is Laplace:
        number_in(noise.noise_multiplier, "noise_multiplier of noise", MULTIPLIER)
        return noise
    if whole and type(noise) is DiscreteLaplace and noise.sensitivity == 1:
        number_in(noise.scale, "scale of noise", MULTIPLIER)
        return noise
    kinds = (
        "Gaussian, Laplace or DiscreteLaplace of sensitivity 1" if whole else "Gaussian, Laplace"
    )
    raise TypeError(f"noise must be a mechanism, {kinds}, got {noise!r}")


def tail_point(law: str, scale: float, outside: float) -> float:
    """Return t, rounded up, with P(|noise| > t) <= ``outside``, before it is rounded.

    For noise on whole numbers t is the least whole number.
    """
    if law == GAUSSIAN:
        return above(above(-NormalDist().inv_cdf(0.5 * outside) * (1.0 + 1e-9)) * scale)
    if law == LAPLACE:
        return above(above(-math.log(outside)) * scale)
    # P(|Y| > t) = 2 e^(-(t+1)/scale) / (1 + e^(-1/scale))
    depth = math.log(2.0 / outside) - math.log1p(math.exp(-1.0 / scale))
    return max(0.0, math.ceil(depth * scale * (1.0 + 1e-12)) - 1.0)
