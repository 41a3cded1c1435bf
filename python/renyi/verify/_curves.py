"""The Renyi curves of mechanisms and of their samplings against the reference, at one point.

The references share nothing with the engine: pairs of distributions are summed and integrated with
other nodes and more digits, sums over the order are not windowed.
"""

from __future__ import annotations

from dataclasses import dataclass

import mpmath
import numpy as np

from renyi.verify._kinds import KINDS, Kind
from renyi.verify._routes import agreeing_digits, check_point, proven_digits


@dataclass(frozen=True)
class CurveCheck:
    """One curve at one order.

    Attributes
    ----------
    curve : str
        What was released, and how its record was sampled.
    order : float
        The order of the comparison: sums over the order stop at 50.
    reference : str
        The Renyi divergence as decimal text of 30 digits.
    lower, upper : float
        The engine's bracket. ``upper`` is what is accounted.
    digits : float
        Agreeing decimal digits of ``upper``, at most 17.
    ok : bool
        Whether lower <= reference <= upper; of upper bounds whether reference <= upper.
    """

    curve: str
    order: float
    reference: str
    lower: float
    upper: float
    digits: float
    ok: bool

    @property
    def proven(self) -> float:
        """Decimal digits that the bracket proves."""
        return proven_digits(self.upper, self.lower, self.upper)


def verify_curves(
    sample_rate: float, noise_multiplier: float, order: float, *, digits: int = 50
) -> tuple[CurveCheck, ...]:
    """Compare the curve of every kind of mechanism with the reference at one point.

    Noise has the scale ``noise_multiplier`` on a query of sensitivity 1, other mechanisms the
    largest loss 1/``noise_multiplier``, at most 500. Noise multipliers below 1e-3 or above 1e9 are
    taken as these.

    Parameters
    ----------
    sample_rate : float
        q in [0, 1].
    noise_multiplier : float
        sigma > 0.
    order : float
        Renyi order in [1, 1e6]; at 1 the divergence is the Kullback-Leibler one.
    digits : int
        Decimal digits of the reference, at least 30.

    Returns
    -------
    tuple of CurveCheck
        One a curve.

    Raises
    ------
    ValueError
        If a parameter is outside its domain.

    Examples
    --------
    >>> checks = verify_curves(0.01, 2.0, 8.5, digits=30)
    >>> all(check.ok for check in checks)
    True
    >>> checks[1].curve, checks[1].reference[:12]
    ('Laplace', '0.4157031191')
    """
    q, sigma, alpha = float(sample_rate), float(noise_multiplier), float(order)
    check_point(q, sigma, alpha, digits)
    sigma = min(max(sigma, 1e-3), 1e9)
    return tuple(_check(kind, q, sigma, min(alpha, kind.largest_order), digits) for kind in KINDS)


def _check(kind: Kind, q: float, sigma: float, alpha: float, digits: int) -> CurveCheck:
    truth = kind.truth(q, sigma, alpha, digits)
    lower, upper = _bracket(kind, q, sigma, alpha)
    text = mpmath.nstr(truth, 30)
    if truth == mpmath.inf or upper == mpmath.inf:
        known = upper == truth and (kind.is_bound or lower == truth)
        return CurveCheck(kind.name, alpha, text, lower, upper, 17.0 if known else 0.0, known)
    with mpmath.workdps(digits + 10):
        slack = abs(truth) * mpmath.mpf(10) ** (8 - digits)  # the reference is itself rounded
        contained = bool(truth - slack <= mpmath.mpf(upper))
        if not kind.is_bound:
            contained = contained and bool(mpmath.mpf(lower) <= truth + slack)
        return CurveCheck(
            kind.name, alpha, text, lower, upper, agreeing_digits(upper, truth), contained
        )


def _bracket(kind: Kind, q: float, sigma: float, alpha: float) -> tuple[float, float]:
    curve = kind.curve(q, sigma)
    order, lower, upper = np.array([alpha]), np.empty(1), np.empty(1)
    curve.rdp_lower_into(order, lower)
    curve.rdp_into(order, upper)
    return float(lower[0]), float(upper[0])
