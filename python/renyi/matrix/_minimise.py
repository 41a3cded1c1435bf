"""Minimisation of smooth functions by L-BFGS."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from renyi._progress import progress

Array = npt.NDArray[np.float64]
Function = Callable[[Array], tuple[float, Array]]

_SHORT = 2.0  # seconds of silence before progress is shown
_SUFFICIENT = 1e-4  # least decrease, relative to the prediction of the slope
_STALLED = 3  # consecutive steps without gain


def minimise(
    function: Function,
    start: Array,
    *,
    title: str,
    steps: int = 1000,
    memory: int = 20,
    tolerance: float = 1e-14,
) -> tuple[Array, float]:
    """Return the minimiser of a function, and its minimum.

    L-BFGS (Nocedal 1980) with steps that are halved until the function falls by a part of the
    decrease that its slope predicts. The function returns value and gradient; the value infinity
    where it is not defined shortens the step. It ends where several steps in a row gain less than
    ``tolerance`` of the value, and shows its progress if that takes long.
    """
    x, idle = start.astype(float), 0
    pairs: list[tuple[Array, Array, float]] = []
    value, gradient = function(x)
    for _ in progress(range(steps), "step", _SHORT, title=title):
        direction = _direction(gradient, pairs)
        slope = float(np.vdot(gradient, direction))
        if not slope < 0.0:
            pairs, direction, slope = [], -gradient, -float(np.vdot(gradient, gradient))
        length = 1.0 if pairs else min(1.0, 1.0 / (math.sqrt(-slope) + 1e-300))
        found = _search(function, x, value, direction, slope, length)
        if found is None:
            if not pairs:
                break
            pairs = []
            continue
        moved, lower, steeper = found
        s, y = moved - x, steeper - gradient
        curvature = float(np.vdot(s, y))
        if curvature > 0.0:
            pairs = [*pairs[1 - memory :], (s, y, 1.0 / curvature)]
        idle = idle + 1 if value - lower <= tolerance * abs(value) else 0
        x, value, gradient = moved, lower, steeper
        if idle == _STALLED:
            break
    return x, value


def _direction(gradient: Array, pairs: list[tuple[Array, Array, float]]) -> Array:
    """Return minus the gradient times the inverse Hessian, estimated from the steps so far."""
    direction, stack = -gradient, []
    for s, y, rho in reversed(pairs):
        stack.append(rho * float(np.vdot(s, direction)))
        direction = direction - stack[-1] * y
    if pairs:
        _, y, rho = pairs[-1]
        direction = direction / (rho * float(np.vdot(y, y)))
    for s, y, rho in pairs:
        direction = direction + s * (stack.pop() - rho * float(np.vdot(y, direction)))
    return direction


def _search(
    function: Function, x: Array, value: float, direction: Array, slope: float, length: float
) -> tuple[Array, float, Array] | None:
    """Return the first point on the line where the function is lower by enough."""
    while length > 1e-16:
        moved = x + length * direction
        lower, gradient = function(moved)
        if lower <= value + _SUFFICIENT * length * slope and lower < value:
            return moved, lower, gradient
        if math.isfinite(lower):  # the minimum of the parabola through the known values
            bend = lower - value - length * slope
            length *= min(max(-0.5 * length * slope / bend, 0.1), 0.5) if bend > 0.0 else 0.5
        else:
            length *= 0.5
    return None
