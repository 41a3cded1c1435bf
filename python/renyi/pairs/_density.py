"""Losses given by the user's own log densities."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from renyi._pair import Pair
from renyi._validation import real_of
from renyi.pairs._distribution import Array, DominatingPair

__all__ = ["DensityPair"]

LogDensity = Callable[[Array], Array]


@dataclass(frozen=True)
class DensityPair(DominatingPair):
    """A pair of densities on an interval, given by their logarithms.

    Parameters
    ----------
    log_p, log_q : callable
        Vectorised; finite inside the interval. Equal callables compare equal.
    start, end : float
        The interval, finite; what P has outside is counted at infinite loss.
    breaks : sequence of float
        Points inside where a density or its slope jumps.
    tolerance : float
        Stated relative error of the integrals, in [1e-15, 1e-3].

    Raises
    ------
    TypeError, ValueError
        If the values are of another type, the interval is empty, a density is not finite inside,
        has an integral above 1, or if the integrals at orders 8 and 12 differ by more than
        ``tolerance``.

    Notes
    -----
    The interval is divided into 4,096 panels, broken at the turning points of the loss found among
    the panels' ends. Assumed, and not provable from values: the densities are smooth between the
    breaks on the scale of a panel, and the loss has no further turning point. Bounds are then
    certified given the densities as computed and ``tolerance``.

    Examples
    --------
    >>> import numpy as np
    >>> def log_p(x): return -0.5 * (x - 1.0) ** 2 - 0.5 * np.log(2.0 * np.pi)
    >>> def log_q(x): return -0.5 * x**2 - 0.5 * np.log(2.0 * np.pi)
    >>> pair = DensityPair(log_p, log_q, -12.0, 13.0)
    >>> abs(pair.support[1] - 12.5) < 1e-9
    True
    """

    log_p: LogDensity
    log_q: LogDensity
    start: float
    end: float
    breaks: tuple[float, ...] = ()
    tolerance: float = 1e-12

    def __post_init__(self) -> None:
        for name in ("log_p", "log_q"):
            if not callable(getattr(self, name)):
                raise TypeError(f"{name} must be callable, got {getattr(self, name)!r}")
        ends = [real_of(getattr(self, n), n, "a finite number") for n in ("start", "end")]
        if not (math.isfinite(ends[0]) and math.isfinite(ends[1]) and ends[0] < ends[1]):
            raise ValueError(f"end must be a finite number above start, got {ends[1]!r}")
        tolerance = real_of(self.tolerance, "tolerance", "a number in [1e-15, 1e-3]")
        if not 1e-15 <= tolerance <= 1e-3:
            raise ValueError(f"tolerance must be a number in [1e-15, 1e-3], got {tolerance!r}")
        inner = sorted(real_of(b, "breaks", "numbers inside the interval") for b in self.breaks)
        if inner and not ends[0] < inner[0] <= inner[-1] < ends[1]:
            raise ValueError(f"breaks must be numbers inside the interval, got {self.breaks!r}")
        fixed = {"start": ends[0], "end": ends[1], "breaks": tuple(inner)}
        for name, value in fixed.items():
            object.__setattr__(self, name, value)
        self._pair  # noqa: B018 - refuses densities that are not

    def _build(self) -> Pair:
        return Pair.tabulated(
            self.log_p, self.log_q, self.start, self.end, self.breaks, self.tolerance
        )
