"""What two distributions have in common: the events on which their losses are bounded.

A pair is (epsilon, delta)-indistinguishable exactly if there are events E of P and F of Q, each of
probability at least 1 - delta, given which the distributions differ by factors within
exp(+-epsilon). An event may depend on a coin beside the outcome, so it is given by how much of the
probability of each outcome it keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._validation import epsilon_of
from renyi.classic.indistinguishability import discrete_pair, indistinguishability_delta

__all__ = ["CommonPart", "common_part"]

Masses = npt.NDArray[np.float64]


class CommonPart(NamedTuple):
    """The least delta, and of each outcome the parts of p and q that the two events keep."""

    delta: float
    kept_p: Masses
    kept_q: Masses


def common_part(pair: tuple[Sequence[float], Sequence[float]], epsilon: float) -> CommonPart:
    """Split off the part on which two distributions differ by factors within exp(+-epsilon).

    Parameters
    ----------
    pair : (sequence of float, sequence of float)
        P and Q: probabilities of the same outcomes, each of sum 1 within 1e-9.
    epsilon : float
        In [0, inf].

    Returns
    -------
    CommonPart
        ``delta`` is `indistinguishability_delta`, rounded up. ``kept_p`` <= p and ``kept_q`` <= q
        are both of sum 1 - delta, and each is at most exp(epsilon) times the other, up to rounding:
        no events of greater probability do it.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Notes
    -----
    min(p, e^epsilon q) and min(q, e^epsilon p) do, but for their sums, 1 less the hockey-stick
    divergence of each order. The one of larger sum is moved towards e^-epsilon times the other.

    References
    ----------
    "A Tail of Two Densities", Claims 4, 5 and 7.

    Examples
    --------
    >>> found = common_part(([0.4, 0.6], [0.6, 0.4]), 0.0)
    >>> round(found.delta, 12), found.kept_p.round(12).tolist()
    (0.2, [0.4, 0.4])
    """
    given = discrete_pair(pair)
    p, q = np.array(given.p), np.array(given.q)
    bound = np.exp(min(epsilon_of(epsilon), 700.0))
    kept_p, kept_q = np.minimum(p, bound * q), np.minimum(q, bound * p)
    if kept_p.sum() < kept_q.sum():
        kept_q = _lowered(kept_q, kept_p / bound, float(kept_p.sum()))
    else:
        kept_p = _lowered(kept_p, kept_q / bound, float(kept_q.sum()))
    return CommonPart(indistinguishability_delta(pair, epsilon), kept_p, kept_q)


def _lowered(kept: Masses, floor: Masses, total: float) -> Masses:
    """Return masses between ``floor`` and ``kept``, of the given sum between theirs."""
    excess, room = float(kept.sum()) - total, float((kept - floor).sum())
    return kept - (kept - floor) * min(excess / room, 1.0) if excess > 0.0 < room else kept
