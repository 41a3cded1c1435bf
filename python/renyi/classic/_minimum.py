"""Where a function of one positive number is small: a scan of a logarithmic grid, then a search.

Whatever place is found gives a valid bound; a better place gives a better one. So nothing is
assumed of the function, and it may be infinite where it is not defined.
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["smallest"]

_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_NARROWINGS = 48


def smallest(
    value: Callable[[float], float], low: float, high: float, *, places: int = 241
) -> tuple[float, float]:
    """Return the place of the least value found in [low, high], 0 < low < high, and that value.

    The best of so many places evenly spaced in the logarithm, then golden section between its
    neighbours, to a ten-billionth of their distance where the function has a single valley there.

    >>> place, least = smallest(lambda x: x + 9.0 / x, 1e-3, 1e3)
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
