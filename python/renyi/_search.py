"""Searches for the place where a condition begins to hold, for minima, and convex hulls."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from renyi._progress import progress

Array = npt.NDArray[np.float64]
Function = Callable[[Array], tuple[float, Array]]

TOLERANCE = 1e-12
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_NARROWINGS = 48
_SHORT = 2.0  # seconds of silence before progress is shown
_SUFFICIENT = 1e-4  # least decrease, relative to the prediction of the slope
_STALLED = 3  # consecutive steps without gain


def bisected(
    holds: Callable[[float], bool], low: float, high: float, relative: float
) -> tuple[float, float]:
    """Return neighbours, at most ``relative`` apart: the condition holds at the second only.

    The condition is assumed to hold at ``high`` and not at ``low``; neither is evaluated.
    """
    while high - low > relative * high and low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def largest_count(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return a count that holds before one that does not; ``low`` holds, ``high`` does not."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def least_argument(
    holds: Callable[[float], bool], least: float, most: float, relative: float
) -> float:
    """Return an argument that holds, next to one that does not; inf beyond ``most``.

    The search starts at 1 by doubling or halving, then uses `bisected`. It ends below ``least``.
    """
    high = 1.0
    while not holds(high):
        high *= 2.0
        if high > most:
            return math.inf
    low = 0.5 * high
    while low > least and holds(low):
        low, high = 0.5 * low, low
    return bisected(holds, low, high, relative)[1]


def smallest_argument(
    delta: Callable[[float], float],
    target: float,
    start: float,
    low: float,
    high: float,
    *,
    tolerance: float = TOLERANCE,
) -> float:
    """Return an x in [low, high] with ``delta(x) <= target``; inf if there is none.

    At ``x (1 - tolerance)`` the target is missed, unless x is ``low``. ``delta`` must not increase.
    The method is false position in log x and log delta (Dowell, Jarratt 1971), with bisections.
    """

    def excess(x: float) -> float:
        value = delta(x)
        if value <= target:
            return -math.inf if value == 0.0 else min(math.log(value / target), -0.0)
        if target == 0.0:
            return math.inf
        return max(math.log(value) - math.log(target), 1e-17)  # the logarithms may agree

    left = right = start
    at_left = at_right = excess(start)
    factor = 2.0
    while at_right > 0.0 and right < high:
        left, at_left = right, at_right
        right = min(right * factor, high)
        at_right, factor = excess(right), min(factor * factor, 1e100)
    if at_right > 0.0:
        return math.inf
    while at_left <= 0.0 and left > low:
        right, at_right = left, at_left
        left = max(left / factor, low)
        at_left, factor = excess(left), min(factor * factor, 1e100)
    if at_left <= 0.0:
        return left
    looks = side = 0
    while right > left * (1.0 + tolerance):
        looks += 1
        x = _crossing(left, right, at_left, at_right, tolerance, bisect=looks % 4 == 0)
        at = excess(x)
        if at <= 0.0:
            at_left *= 0.5 if side < 0 else 1.0
            right, at_right, side = x, at, -1
        else:
            at_right *= 0.5 if side > 0 else 1.0
            left, at_left, side = x, at, 1
    return right


def _crossing(
    left: float, right: float, at_left: float, at_right: float, tolerance: float, *, bisect: bool
) -> float:
    """Return the root of the secant, moved away from the nearer end to pass the root."""
    width = math.log(right / left)
    share = 0.5
    if not bisect and math.isfinite(at_left - at_right):
        share = at_left / (at_left - at_right)
        aside = min(0.25 * tolerance / width, 0.25)
        share = min(share + aside, 1.0) if share < 0.5 else max(share - aside, 0.0)
    x = left * math.exp(width * share)
    return x if left < x < right else left + 0.5 * (right - left)


def least_value(
    value: Callable[[float], float], low: float, high: float, *, places: int = 241
) -> tuple[float, float]:
    """Return the place of the least value found in [low, high], 0 < low < high, and that value.

    The search takes the best of ``places`` points, evenly spaced in the logarithm, then golden
    section between its neighbours, to 1e-10 of their distance if there is a single valley there.

    >>> place, least = least_value(lambda x: x + 9.0 / x, 1e-3, 1e3)
    >>> round(place, 6), round(least, 12)
    (3.0, 6.0)
    """
    start, end = math.log(low), math.log(high)
    step = (end - start) / (places - 1)
    best, k = min((value(math.exp(start + k * step)), k) for k in range(places))
    found = start + k * step
    left, right = max(found - step, start), min(found + step, end)
    inner = [right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)]
    values = [value(math.exp(place)) for place in inner]
    for _ in range(_NARROWINGS):
        best, found = min((best, found), *zip(values, inner, strict=True))
        if values[0] <= values[1]:
            right = inner[1]
            inner = [right - _GOLDEN * (right - left), inner[0]]
            values = [value(math.exp(inner[0])), values[0]]
        else:
            left = inner[0]
            inner = [inner[1], left + _GOLDEN * (right - left)]
            values = [values[1], value(math.exp(inner[1]))]
    return math.exp(found), best


def lower_hull(x: Array, y: Array, exact: bool = True) -> tuple[Array, Array]:
    """Return the vertices of the lower convex hull of points, from the left (Andrew 1979).

    If not ``exact``, vertices are left out that rounding cannot tell from lines between others.
    """
    order = np.lexsort((y, x))
    hull: list[tuple[float, float]] = []
    for point in zip(x[order].tolist(), y[order].tolist(), strict=True):
        if hull and hull[-1][0] == point[0]:
            continue  # above the last one
        while len(hull) > 1 and not _turns_left(hull[-2], hull[-1], point, exact):
            hull.pop()
        hull.append(point)
    a, b = np.array(hull).T
    return a, b


def _turns_left(
    p: tuple[float, float], q: tuple[float, float], r: tuple[float, float], exact: bool
) -> bool:
    """Return whether q lies below the line from p to r, exactly where rounding could matter."""
    left = (q[0] - p[0]) * (r[1] - p[1])
    right = (q[1] - p[1]) * (r[0] - p[0])
    if abs(left - right) > 2.0**-50 * (abs(left) + abs(right)):
        return left > right
    if not exact:
        return False
    (px, py), (qx, qy), (rx, ry) = ((Fraction(x), Fraction(y)) for x, y in (p, q, r))
    return (qx - px) * (ry - py) > (qy - py) * (rx - px)


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
