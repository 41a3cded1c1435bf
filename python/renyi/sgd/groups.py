"""Parameters that are clipped together, group by group, with one guarantee for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from renyi._validation import integer_of, real_of

__all__ = ["ClipGroups"]


@dataclass(frozen=True)
class ClipGroups:
    r"""Arrays in groups, each group with its share of the norm, and of the noise.

    Between "flat", which is one group, and "per_layer", where every array is one. The norm C of all
    is shared out: :math:`\sum_g C_g^2 = C^2`. Noise of standard deviations :math:`\sigma_g` costs
    as much as that of one multiplier z with :math:`z^{-2} = \sum_g (C_g / \sigma_g)^2`: divided by
    :math:`\sigma_g`, all of it is one Gaussian mechanism.

    Parameters
    ----------
    of : sequence of int
        The group of each array: numbers from 0 on, each of them used.
    shares : sequence of float, optional
        To which the norms of the groups are proportional, in [2^-20, 2^20]; by default all equal.
    noise : sequence of float, optional
        To which the deviations of their noise are proportional, in [2^-20, 2^20]; by default all
        equal. Where they are the shares, no group has more noise beside its norm than another. Not
        on a grid.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    References
    ----------
    McMahan, Andrew, Erlingsson, Chien, Mironov, Papernot, Kairouz 2018, arXiv 1812.06210.

    Examples
    --------
    >>> groups = ClipGroups((0, 0, 1), shares=(3.0, 4.0))  # two arrays, and one
    >>> [round(bound, 9) for bound in groups.bounds(1.0)]
    [0.6, 0.8]
    >>> [round(factor, 9) for factor in ClipGroups((0, 1), noise=(1.0, 3.0)).noise_factors()]
    [0.745355992, 2.236067977]
    """

    of: tuple[int, ...]
    shares: tuple[float, ...] | None = None
    noise: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        of = tuple(integer_of(group, "of", 0) for group in self.of)
        if not of or set(of) != set(range(max(of) + 1)):
            raise ValueError(f"of must hold each number from 0 to its largest, got {self.of!r}")
        object.__setattr__(self, "of", of)
        for name in ("shares", "noise"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, _proportions(given, name, max(of) + 1))

    def _relative(self) -> list[float]:
        """Return norms of the groups with a sum of squares of at most 1, exactly.

        Relative errors: of hypot below 2^-51, of the quotient 2^-53, and 1 - 2^-50 is more.
        """
        shares = self.shares or (1.0,) * (max(self.of) + 1)
        norm = math.hypot(*shares)
        return [share / norm * (1.0 - 2.0**-50) for share in shares]

    def bounds(self, total: float) -> tuple[float, ...]:
        """Return the norms of the groups, whose squares make at most that of ``total``."""
        return tuple(part * total * (1.0 - 2.0**-52) for part in self._relative())

    def noise_factors(self) -> list[float]:
        """Return what the deviation of the noise is multiplied with in each group.

        With these factors f the sum of (C_g / (C f_g))^2 is at most 1: two quotients, hypot and a
        product lose less than 2^-50 relatively, by which they are larger.
        """
        if self.noise is None:
            return [1.0] * (max(self.of) + 1)
        ratios = [part / noise for part, noise in zip(self._relative(), self.noise, strict=True)]
        norm = math.hypot(*ratios)
        return [noise * norm * (1.0 + 2.0**-50) for noise in self.noise]


def _proportions(values: Any, name: str, count: int) -> tuple[float, ...]:
    allowed = "numbers in [2^-20, 2^20]"
    if not isinstance(values, Sequence) or len(values) != count:
        raise ValueError(f"{name} must be one number for each of {count} groups, got {values!r}")
    numbers = tuple(real_of(value, name, allowed) for value in values)
    if not all(2.0**-20 <= number <= 2.0**20 for number in numbers):
        raise ValueError(f"{name} must be {allowed}, got {values!r}")
    return numbers
