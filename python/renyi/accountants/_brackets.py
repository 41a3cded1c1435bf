"""What every accountant answers with: brackets of epsilon and delta."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Curve", "DirectionName", "opposite"]

Array = npt.NDArray[np.float64]
DirectionName = Literal["remove", "add"]


class Curve(Protocol):
    """A privacy curve, known by certified brackets: lower and upper ends, of shape (2, n)."""

    def epsilon_brackets(self, deltas: Array, /) -> Array:
        """Return brackets of the least epsilon at every delta in [0, 1], at least 0."""

    def delta_brackets(self, epsilons: Array, /) -> Array:
        """Return brackets of delta at every epsilon in [0, inf]."""


def opposite(direction: DirectionName) -> DirectionName:
    """Return the other direction."""
    return "add" if direction == "remove" else "remove"
