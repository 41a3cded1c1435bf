"""What an attacker can do: the trade-off function and the risks that follow from it."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import partial
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from renyi._validation import numbers_of, probability_of
from renyi.accountants._base import Accountant
from renyi.accountants._curves import PrivacyCurves
from renyi.accountants._direction import Array, worse_deltas, worse_epsilons
from renyi.accountants._steps import SampledStep
from renyi.accountants._tradeoff import beta_from_curves
from renyi.mechanisms import Mechanism
from renyi.tradeoff import GaussianLimit, central_limit, compose_mu

__all__ = ["CurveAccountant", "DirectionName", "Part"]

DirectionName = Literal["remove", "add"]
Part = SampledStep | Mechanism


class CurveAccountant(Accountant[Part]):
    """An accountant that holds the privacy curves of both directions."""

    _curves: PrivacyCurves

    @abstractmethod
    def get_delta(
        self, epsilon: npt.ArrayLike, *, direction: DirectionName | None = None
    ) -> float | Array:
        """Return delta at epsilon, rounded up."""

    @abstractmethod
    def get_epsilon(
        self, delta: npt.ArrayLike, *, direction: DirectionName | None = None
    ) -> float | Array:
        """Return epsilon at delta, rounded up."""

    @abstractmethod
    def _directions(self, direction: DirectionName | None) -> tuple[bool, ...]:
        """Return which directions to evaluate, True for remove."""

    @overload
    def get_beta(self, alpha: float, *, direction: DirectionName | None = None) -> float: ...
    @overload
    def get_beta(
        self, alpha: npt.ArrayLike, *, direction: DirectionName | None = None
    ) -> float | Array: ...
    def get_beta(
        self, alpha: npt.ArrayLike, *, direction: DirectionName | None = None
    ) -> float | Array:
        """Return the trade-off function: the least type II error of any test, rounded down.

        Parameters
        ----------
        alpha : float or array_like of float
            Type I error (false-positive rate) in [0, 1].
        direction : {"remove", "add"}, optional
            "remove" tests whether the record is there, "add" whether it is missing. By default the
            symmetric function that holds for both, the convex hull of the smaller one.

        Returns
        -------
        float or ndarray of float64
            In [0, 1 - alpha], of the shape of ``alpha``. An array shares the work: thousands cost
            little more than some. Where f is smooth and beta not tiny it is within 1e-8 of the
            truth, relatively; within about 1e-5 at corners, and where lattices answer.

        Raises
        ------
        TypeError, ValueError
            If ``alpha`` is not made of numbers in [0, 1], or for an unknown direction.

        References
        ----------
        Dong, Roth, Su 2022, arXiv 1905.02383, Proposition 2.13.

        Examples
        --------
        >>> from renyi import Gaussian, PLDAccountant
        >>> PLDAccountant().compose(Gaussian(1.0)).get_beta([0.05, 0.5]).round(6)
        array([0.740489, 0.158655])
        """
        flat, shape = numbers_of(
            alpha, "alpha", 0.0, 1.0, "a number in [0, 1] or an array of these"
        )
        curves = {remove: self._curves.direction(remove) for remove in self._directions(None)}
        both = list(curves.values())
        if direction is None:
            tested = other = both
        else:
            (remove,) = self._directions(direction)
            tested, other = [curves.get(remove, both[0])], [curves.get(not remove, both[0])]
        rtol = 1e-5 if self._curves.contents()[1] else 1e-8  # lattices are no more accurate
        result = beta_from_curves(
            flat,
            partial(worse_deltas, tested),
            partial(worse_deltas, other),
            lambda: float(worse_epsilons(both, np.array([0.5]))[0]),
            rtol,
        )
        return result.reshape(shape) if shape else float(result[0])

    def get_advantage(self) -> float:
        """Return the largest advantage of a membership test, rounded up: max of 1 - alpha - beta.

        It is delta at epsilon = 0, the total variation distance.

        Examples
        --------
        >>> from renyi import Gaussian, PLDAccountant
        >>> round(PLDAccountant().compose(Gaussian(1.0)).get_advantage(), 6)
        0.382925
        """
        return float(self.get_delta(0.0))

    def get_bayes_risk(self, prior: float = 0.5) -> float:
        """Return the least probability of error of a test, rounded down.

        Parameters
        ----------
        prior : float
            Probability in [0, 1] that the record is there.

        Raises
        ------
        TypeError, ValueError
            If ``prior`` is not a number in [0, 1].

        Examples
        --------
        >>> from renyi import Gaussian, PLDAccountant
        >>> round(PLDAccountant().compose(Gaussian(1.0)).get_bayes_risk(), 6)
        0.308538
        """
        chance = probability_of(prior, "prior")
        rare = min(chance, 1.0 - chance)
        if rare == 0.0:
            return 0.0
        # The rarer hypothesis weighs 1, the other one e^epsilon; delta rises to the left.
        odds = math.log1p(-rare) - math.log(rare)
        delta = float(self.get_delta(max(odds * (1.0 - 2.0**-50) - 2.0**-50, 0.0)))
        return rare * (1.0 - delta) * (1.0 - 2.0**-50)

    def get_gdp_mu(self) -> GaussianLimit:
        """Return mu and gamma of Gaussian differential privacy.

        Exact, with ``gamma = 0``, where only Gaussian steps were composed (``mu`` rounded up); else
        the central-limit value of one kind of Poisson-sampled Gaussian step and a bound of its
        error: the trade-off function is at least ``G_mu(alpha + gamma) - gamma``. ``mu`` alone may
        understate the privacy loss.

        Raises
        ------
        ValueError
            If steps of several kinds, other mechanisms, or replaced records make neither apply.

        References
        ----------
        Dong, Roth, Su 2022, arXiv 1905.02383, Corollary 3.3 and Section 3.3.

        Examples
        --------
        >>> from renyi import Gaussian, PLDAccountant
        >>> round(PLDAccountant().compose(Gaussian(2.0), 4).get_gdp_mu().mu, 9)
        1.0
        """
        steps, losses = self._curves.contents()
        replaces = self.adjacency == "replace_one"
        if not losses and all(step.rate == 1.0 and step.noise > 0.0 for step, _ in steps):
            if not steps:
                return GaussianLimit(0.0, 0.0)
            distance = 2.0 if replaces else 1.0
            sensitivities = [distance / step.noise for step, _ in steps]
            mu = compose_mu(sensitivities, [count for _, count in steps])
            return GaussianLimit(mu * (1.0 + 2.0**-51), 0.0)
        if losses or len(steps) != 1 or replaces or steps[0][0].noise == 0.0:
            raise ValueError(
                "mechanisms must be Gaussian, or one kind of Poisson-sampled Gaussian step under "
                f"add/remove adjacency, got {self.mechanisms!r}"
            )
        (step, count) = steps[0]
        return central_limit(step.rate, step.noise, count)
