"""Logistic noise, which is a bounded range in disguise."""

from __future__ import annotations

from renyi._validation import real_of
from renyi.pld._exponential import BoundedRange

__all__ = ["logistic"]


def logistic(scale: float) -> BoundedRange:
    """Return the pair of logistic noise of a given scale over a query moved by 1.

    Parameters
    ----------
    scale : float
        b of the distribution function 1/(1 + e^(-x/b)), over the shift, in [0.002, 1e12]. The
        standard deviation is pi b/3^(1/2).

    Raises
    ------
    TypeError, ValueError
        If it is not a number in [0.002, 1e12].

    Notes
    -----
    With t = 1/b the loss at x is t - 2 log w, w = (1 + e^(t - x/b))/(1 + e^(-x/b)). Q's
    distribution function at x is (e^t - w)/(e^t - 1): under Q, w is uniform on [1, e^t]. So the
    loss has the density e^((t - l)/2)/(2 (e^t - 1)) under Q on [-t, t], that of `BoundedRange`:
    logistic noise costs what the worst mechanism of bounded range 1/b costs.

    Examples
    --------
    >>> logistic(2.0)
    BoundedRange(epsilon=0.5)
    """
    allowed = "a number in [0.002, 1e+12]"
    number = real_of(scale, "scale", allowed)
    if not 2e-3 <= number <= 1e12:
        raise ValueError(f"scale must be {allowed}, got {scale!r}")
    return BoundedRange(1.0 / number)
