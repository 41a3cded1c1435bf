"""What an attacker can do: the trade-off function and the risks that follow from it."""

import math
from abc import abstractmethod
from typing import Self, overload

import numpy as np
import numpy.typing as npt

from renyi._adjacency import DirectionName
from renyi._validation import numbers_of, probability_of
from renyi.accountants._curves import Array, Curve, opposite, upper_end
from renyi.accountants._ledger import Ledger, Part, group_size_of
from renyi.accountants._tradeoff import beta_from_curves

RTOL = 1e-5  # the relative width of the brackets asked for here


class Risks(Ledger[Part]):
    """Risks that follow from the privacy curves of a composition."""

    @abstractmethod
    def _curve(self, direction: DirectionName | None, rtol: float, size: int) -> Curve:
        """Return the curve of one direction, or the worse of both, for groups of a size."""

    def _beta_rtol(self) -> float:
        """Return the relative error of beta where the trade-off function is smooth."""
        return 1e-8

    @overload
    def get_beta(
        self, alpha: float, *, direction: DirectionName | None = None, group_size: int = 1
    ) -> float: ...
    @overload
    def get_beta(
        self, alpha: npt.ArrayLike, *, direction: DirectionName | None = None, group_size: int = 1
    ) -> float | Array: ...
    def get_beta(
        self, alpha: npt.ArrayLike, *, direction: DirectionName | None = None, group_size: int = 1
    ) -> float | Array:
        """Return the trade-off function: the least type II error of any test, rounded down.

        Args:
            alpha: Type I error (false-positive rate) in [0, 1].
            direction ({"remove", "add"}): "remove" tests whether the record is there, "add" whether
                it is missing. By default the result is the symmetric function that holds for
                both, the convex hull of the smaller one. Only `PLDAccountant` takes a direction.
            group_size: In [1, 1000], as for `get_epsilon`.

        Returns:
            Beta in [0, 1 - alpha], of the shape of ``alpha``. An array shares the work: thousands
            of alphas cost little more than a few. Where f is smooth and beta not tiny, beta is
            within 1e-8, relatively, of the value that the accountant's deltas imply; at corners,
            and where lattices answer, within about 1e-5.

        Source: Dong, Roth, Su 2022, arXiv 1905.02383, Propositions 2.5 and 2.13, Theorem 2.14.

        >>> from renyi import Gaussian, PLDAccountant, RDPAccountant
        >>> PLDAccountant().compose(Gaussian(1.0)).get_beta([0.05, 0.5]).round(6)
        array([0.740489, 0.158655])
        >>> RDPAccountant().compose(Gaussian(1.0)).get_beta([0.05, 0.5]).round(3)
        array([0.664, 0.107])
        """
        flat, shape = numbers_of(
            alpha, "alpha", 0.0, 1.0, "a number in [0, 1] or an array of these"
        )
        size = group_size_of(group_size)
        known = self._for_records(size)
        if known is not None:
            result = known._betas(flat, direction)
        else:  # the power of a test is the alpha of the next test in the chain
            result = self._betas(flat, direction)
            for _ in range(size - 1):
                powers = np.minimum(np.nextafter(1.0 - result, 1.0), 1.0)
                result = self._betas(powers, direction)
        return result.reshape(shape) if shape else float(result[0])

    def _betas(self, alpha: Array, direction: DirectionName | None) -> Array:
        """Return beta of tests for one record, rounded down."""
        tested, half = self._curve(direction, RTOL, 1), self._curve(None, RTOL, 1)
        other = half if direction is None else self._curve(opposite(direction), RTOL, 1)
        return beta_from_curves(
            alpha,
            lambda epsilons: tested.brackets("delta", epsilons)[1],
            lambda epsilons: other.brackets("delta", epsilons)[1],
            lambda: upper_end(half, "epsilon", 0.5),
            self._beta_rtol(),
        )

    def get_advantage(self, *, group_size: int = 1) -> float:
        """Return the largest advantage of a membership test, rounded up: max of 1 - alpha - beta.

        The advantage is delta at epsilon = 0, the total variation distance. `RDPAccountant` uses
        all orders together, which may be tighter than its delta, which uses one order.

        Args:
            group_size: In [1, 1000], as for `get_epsilon`.

        >>> from renyi import Gaussian, PLDAccountant
        >>> round(PLDAccountant().compose(Gaussian(1.0)).get_advantage(), 6)
        0.382925
        """
        return self._advantage(group_size_of(group_size))

    def get_bayes_risk(self, prior: float = 0.5, *, group_size: int = 1) -> float:
        """Return the least probability of error of a test, rounded down.

        Args:
            prior: Probability in [0, 1] that the record is there.
            group_size: In [1, 1000], as for `get_epsilon`.

        >>> from renyi import Gaussian, PLDAccountant
        >>> round(PLDAccountant().compose(Gaussian(1.0)).get_bayes_risk(), 6)
        0.308538
        """
        chance = probability_of(prior, "prior")
        rare = min(chance, 1.0 - chance)
        if rare == 0.0:
            return 0.0
        return self._bayes_risk(rare, group_size_of(group_size))

    def _for_records(self, size: int) -> Self | None:
        """Return the accountant for groups; None if some mechanism has no form for groups."""
        return self if size == 1 else self._of_groups(size)

    def _advantage(self, group_size: int) -> float:
        return self._delta_at(0.0, group_size)

    def _bayes_risk(self, rare: float, group_size: int) -> float:
        # The rarer hypothesis has weight 1, the other one e^epsilon. Delta rises as epsilon falls.
        odds = math.log1p(-rare) - math.log(rare)
        delta = self._delta_at(max(odds * (1.0 - 2.0**-50) - 2.0**-50, 0.0), group_size)
        return rare * (1.0 - delta) * (1.0 - 2.0**-50) if delta else rare

    def _delta_at(self, epsilon: float, group_size: int) -> float:
        return upper_end(self._curve(None, RTOL, group_size), "delta", epsilon)
