"""The noise that each method needs for a target: the routes compared the other way round."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from renyi._search import least_argument
from renyi._validation import delta_of, epsilon_of, uses_of
from renyi.theory.comparison._methods import METHODS, Run, names_of, rate_of

__all__ = ["NoiseRow", "compare_noise"]

LEAST, MOST = 0.05, 1e6  # the noise multipliers that are looked at
TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """The noise one method asks for, infinite if none up to 10^6 will do; and what it holds for."""

    method: str
    label: str
    noise_multiplier: float
    epsilon: float
    delta: float
    sampling: str
    adjacency: str


def compare_noise(
    sample_rate: float,
    steps: int,
    *,
    epsilon: float,
    delta: float,
    methods: Iterable[str] | None = None,
) -> tuple[NoiseRow, ...]:
    """Return the noise multiplier with which each method proves a target (epsilon, delta).

    Parameters
    ----------
    sample_rate, steps, methods
        As in `compare`.
    epsilon : float
        The target, in (0, inf).
    delta : float
        The target, in (0, 1).

    Returns
    -------
    tuple of NoiseRow
        In the order of ``methods``. Each method proves the target with the noise multiplier that
        stands in its row, and did not with one smaller by 1e-4 of itself, unless that is 0.05, the
        smallest that is looked at.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "Great but Manageable Expectations" compares its routes by the noise they permit.

    Examples
    --------
    >>> for row in compare_noise(0.01, 1000, epsilon=1.0, delta=1e-5, methods=("moments", "exact")):
    ...     print(f"{row.method:9}{row.noise_multiplier:.3f}")
    moments  1.769
    exact    1.415
    """
    rate, count = rate_of(sample_rate), uses_of(steps, "steps", 1)
    target, chance = epsilon_of(epsilon), delta_of(delta)
    if not 0.0 < target < math.inf:
        raise ValueError(f"epsilon must be a number in (0, inf), got {epsilon!r}")
    if not 0.0 < chance < 1.0:
        raise ValueError(f"delta must be a number in (0, 1), got {delta!r}")
    rows = []
    for name in names_of(methods):
        method = METHODS[name]

        def met(noise: float, found: Callable[[Run, float], float] = method.epsilon) -> bool:
            return found(Run(noise, rate, count), chance) <= target

        rows.append(
            NoiseRow(
                name,
                method.label,
                least_argument(met, LEAST, MOST, TOLERANCE),
                target,
                chance,
                method.sampling,
                method.adjacency,
            )
        )
    return tuple(rows)
