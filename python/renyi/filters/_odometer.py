"""A running epsilon that holds at all times at once."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from renyi.accountants import Adjacency, UnsupportedMechanismError
from renyi.filters._spent import ROUNDED_UP, Spent, inside
from renyi.mechanisms import Mechanism

__all__ = ["PrivacyOdometer"]

ORDERS = tuple(1.0 + 2.0 ** (0.5 * i) for i in range(-4, 21))


class PrivacyOdometer(Spent):
    """A running epsilon that holds at all times at once, whatever is done and whenever one stops.

    With probability at least 1 - delta, `get_epsilon` is never below the privacy loss of what was
    released so far. It sets no limit; a filter for a known budget spends less.

    Parameters
    ----------
    delta : float
        In (0, 1): the probability that the loss ever exceeds what was said.
    orders : iterable of float, optional
        Rényi orders in (1, 1e6], fixed before anything is seen; delta is shared out among them. One
        well-chosen order costs nothing more; the default of 25 between 1.25 and 1025 costs
        log(25)/(order - 1).
    adjacency : {"add_remove", "replace_one", "zero_out"}
        Which data sets are neighbours.

    Raises
    ------
    TypeError, ValueError
        If an argument is outside its range.

    Notes
    -----
    By Ville's inequality M_t ever exceeds 1/delta with probability at most delta, so that L_t stays
    below rho_t + log(1/delta)/(alpha-1) (Whitehouse, Ramdas, Rogers, Wu 2023, arXiv 2203.05481).

    References
    ----------
    Rogers, Roth, Ullman, Vadhan 2016, arXiv 1605.08294, Definition 3.4 (odometers).

    Examples
    --------
    >>> from renyi import Gaussian
    >>> odometer = PrivacyOdometer(1e-5)
    >>> for noise in 20.0, 10.0, 40.0:
    ...     odometer.spend(Gaussian(noise))
    ...     print(round(odometer.get_epsilon(), 3))
    0.276
    0.615
    0.629
    """

    def __init__(
        self,
        delta: float,
        orders: Iterable[float] | None = None,
        adjacency: Adjacency = "add_remove",
    ) -> None:
        self._delta = inside(delta)
        super().__init__(ORDERS if orders is None else orders, adjacency)

    @property
    def orders(self) -> tuple[float, ...]:
        """The Rényi orders by which is counted."""
        return tuple(self._orders.tolist())

    def spend(self, mechanism: Mechanism, count: int = 1) -> None:
        """Record ``count`` uses of a mechanism, before they are run.

        Raises
        ------
        UnsupportedMechanismError, TypeError, ValueError
            As `RDPAccountant.compose`; nothing is recorded then.
        """
        cost, failing = self._cost(mechanism, count)
        if failing > 0.0:
            raise UnsupportedMechanismError(
                mechanism, "it may fail, and an odometer has no delta set aside for that"
            )
        with self._lock:
            self._total = (self._total + cost) * ROUNDED_UP

    def get_epsilon(self) -> float:
        """Return what the privacy loss has not exceeded so far, rounded up; 0 at the start."""
        total = self._total
        if not total.any():
            return 0.0
        share = self._delta / self._orders.size
        found = float(np.min(total - math.log(share) / (self._orders - 1.0)))
        return found * ROUNDED_UP

    def __repr__(self) -> str:
        return f"<PrivacyOdometer: delta {self._delta!r}, epsilon {self.get_epsilon():.6g} so far>"
