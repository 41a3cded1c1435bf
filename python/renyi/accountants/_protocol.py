"""The protocol of accountants: the queries that all of them answer.

Every answer is an end of a bracket of a `Curve`, which an accountant gives for a direction.
"""

import math
from abc import abstractmethod
from typing import Any, Self, TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from renyi._adjacency import DirectionName
from renyi._validation import (
    Range,
    delta_of,
    epsilon_of,
    number_in,
    numbers_of,
    probability_of,
    uses_of,
)
from renyi.accountants._curves import Array, Curve, PureCurve, Wanted, opposite, upper_end
from renyi.accountants._groups import GroupCurve
from renyi.accountants._ledger import Ledger, Part, group_size_of
from renyi.accountants._tradeoff import beta_from_curves
from renyi.mechanisms import Mechanism
from renyi.mechanisms.algebra import mechanism_of

RTOL = 1e-5  # the relative width of the brackets that risks ask for


class Question(TypedDict, total=False):
    """The arguments that all questions about the curve take."""

    direction: DirectionName | None
    rtol: float
    group_size: int


class Accountant(Ledger[Part]):
    """Composes mechanisms and answers queries on the composition: the base of all accountants.

    `get_epsilon` and `get_delta` return the upper ends of the brackets that `get_epsilon_bounds`
    and `get_delta_bounds` return. The elements of an array share the work.
    """

    @abstractmethod
    def _curve_of(self, direction: DirectionName | None, rtol: float) -> Curve:
        """Return the curve for one record, of one direction or the worse of both."""

    @abstractmethod
    def _check_direction(self, direction: DirectionName) -> None:
        """Raise `ValueError` where the accountant has no curve of one direction alone."""

    @overload
    def get_epsilon(self, delta: float, **question: Unpack[Question]) -> float: ...
    @overload
    def get_epsilon(self, delta: npt.ArrayLike, **question: Unpack[Question]) -> float | Array: ...
    def get_epsilon(
        self,
        delta: npt.ArrayLike,
        *,
        direction: DirectionName | None = None,
        rtol: float = 1e-5,
        group_size: int = 1,
    ) -> float | Array:
        """Return an epsilon such that the composition is (epsilon, delta)-DP, rounded up.

        Args:
            delta: In [0, 1].
            direction ({"remove", "add"}): The direction of the neighbouring pair; by default the
                worse of both. Only `PLDAccountant` has a curve for each direction, unless records
                are replaced.
            rtol: In [1e-8, 0.5]: the distance by which an answer from lattices may exceed the exact
                value, as a relative width of delta. It may be more where lattices reach their cap.
            group_size: In [1, 1000]: the number of records of a person. Either all of them are
                there or none is, or all of them are replaced; with a direction, all are removed, or
                all are added. If some are removed and others added, use `GroupSampled` with
                ``instead``.

        Returns:
            The epsilon, at least 0, of the shape of ``delta``; infinity if no finite one is known.

        Raises:
            TypeError, ValueError: For arguments outside these ranges; `UnsupportedMechanismError`
                if the guarantee of a mechanism does not carry over to groups.

        >>> from renyi import Gaussian, PLDAccountant
        >>> exact = PLDAccountant().compose(Gaussian(1.0))
        >>> exact.get_epsilon([1e-5, 1e-6]).round(4)
        array([4.3772, 4.8866])
        >>> round(exact.get_epsilon(1e-5, group_size=3), 4)
        16.6755
        """
        return self._ends("epsilon", delta, direction, rtol, group_size)[1]

    @overload
    def get_delta(self, epsilon: float, **question: Unpack[Question]) -> float: ...
    @overload
    def get_delta(self, epsilon: npt.ArrayLike, **question: Unpack[Question]) -> float | Array: ...
    def get_delta(
        self,
        epsilon: npt.ArrayLike,
        *,
        direction: DirectionName | None = None,
        rtol: float = 1e-5,
        group_size: int = 1,
    ) -> float | Array:
        """Return a delta such that the composition is (epsilon, delta)-DP, rounded up.

        Args:
            epsilon: In [0, inf]; the answer is of its shape, in [0, 1].
            direction, rtol, group_size: As for `get_epsilon`.

        >>> from renyi import Gaussian, PLDAccountant
        >>> PLDAccountant().compose(Gaussian(1.0)).get_delta([0.0, 1.0]).round(6)
        array([0.382925, 0.126937])
        """
        return self._ends("delta", epsilon, direction, rtol, group_size)[1]

    @overload
    def get_epsilon_bounds(
        self, delta: float, **question: Unpack[Question]
    ) -> tuple[float, float]: ...
    @overload
    def get_epsilon_bounds(
        self, delta: npt.ArrayLike, **question: Unpack[Question]
    ) -> tuple[float, float] | tuple[Array, Array]: ...
    def get_epsilon_bounds(
        self,
        delta: npt.ArrayLike,
        *,
        direction: DirectionName | None = None,
        rtol: float = 1e-5,
        group_size: int = 1,
    ) -> tuple[float, float] | tuple[Array, Array]:
        """Return certified numbers that enclose the epsilon of this accountant's curve.

        Args:
            delta, direction, rtol, group_size: As for `get_epsilon`.

        Returns:
            The lower and the upper end: around the exact epsilon (`PLDAccountant`), or around the
            epsilon of the best order of Rényi divergence (`RDPAccountant`). If the loss of a group
            is not known exactly, the lower end is that for one record.

        >>> from renyi import Laplace, PLDAccountant
        >>> accountant = PLDAccountant().compose(Laplace(2.0), 10)
        >>> low, high = accountant.get_epsilon_bounds(1e-5, rtol=1e-8)
        >>> low <= accountant.get_epsilon(1e-5, rtol=1e-8) <= high < low + 1e-7
        True
        """
        return self._ends("epsilon", delta, direction, rtol, group_size, attained=True)

    def _ends(
        self,
        wanted: Wanted,
        given: npt.ArrayLike,
        direction: DirectionName | None,
        rtol: float,
        group_size: int,
        attained: bool = False,
    ) -> tuple[float, float] | tuple[Array, Array]:
        """Return the ends of the curve; with ``attained`` the lower end is valid as well."""
        name, most = ("delta", 1.0) if wanted == "epsilon" else ("epsilon", math.inf)
        allowed = f"a number in [0, {most:g}] or an array of these"
        flat, shape = numbers_of(given, name, 0.0, most, allowed)
        curve = self._curve(direction, rtol_of(rtol), group_size_of(group_size))
        low, high = curve.brackets(wanted, flat)
        if attained and (least := self._attained(direction, rtol)) is not None:
            low = np.minimum(least.brackets(wanted, flat)[0], high)
        if not shape:
            return low.item(), high.item()
        return low.reshape(shape), high.reshape(shape)

    def _attained(self, direction: DirectionName | None, rtol: float) -> Curve | None:
        """Return a curve with valid lower ends if those of the accountant are not; else None."""
        return None

    @overload
    def get_delta_bounds(
        self, epsilon: float, **question: Unpack[Question]
    ) -> tuple[float, float]: ...
    @overload
    def get_delta_bounds(
        self, epsilon: npt.ArrayLike, **question: Unpack[Question]
    ) -> tuple[float, float] | tuple[Array, Array]: ...
    def get_delta_bounds(
        self,
        epsilon: npt.ArrayLike,
        *,
        direction: DirectionName | None = None,
        rtol: float = 1e-5,
        group_size: int = 1,
    ) -> tuple[float, float] | tuple[Array, Array]:
        """Return certified numbers that enclose the delta of this accountant's curve.

        Args:
            epsilon: As for `get_delta`.
            direction, rtol, group_size: As for `get_epsilon`; the ends are as for
                `get_epsilon_bounds`.
        """
        return self._ends("delta", epsilon, direction, rtol, group_size, attained=True)

    def certificate(
        self, *, epsilon: float | None = None, delta: float | None = None
    ) -> dict[str, Any]:
        """Return a proof of the guarantee, which `renyi.check` verifies without this library.

        Args:
            epsilon, delta: One of them: the argument of `get_delta` or of `get_epsilon`.

        Returns:
            A dictionary for `json.dump`, with the places where the checker evaluates as exact
            hexadecimal doubles. The proved delta exceeds the given or reported one by at most 1e-9
            of itself.

        Raises:
            UnsupportedMechanismError: If the checker knows no pair of a mechanism.
            TypeError, ValueError: If not one of ``epsilon`` and ``delta`` is given, if it is out of
                its range, or if no proof was found.
            ImportError: If python-flint is missing.

        >>> import json
        >>> from renyi import Gaussian, PLDAccountant, check
        >>> made = PLDAccountant().compose(Gaussian(1.0)).certificate(epsilon=1.0)
        >>> check.check_text(json.dumps(made)).delta
        0.12693673750664403
        """
        if (epsilon is None) == (delta is None):
            raise TypeError(f"epsilon or delta must be given, got {epsilon!r} and {delta!r}")
        if delta is not None:
            delta = delta_of(delta)
            epsilon = float(self.get_epsilon(delta))
        else:
            epsilon = epsilon_of(epsilon)
            delta = float(self.get_delta(epsilon))
        from renyi.accountants._certificate import certificate  # loads python-flint

        order = self._certified_order(epsilon)
        return certificate(self._leaves(), self._adjacency, epsilon, delta, order)

    def _certified_order(self, epsilon: float) -> float | None:
        """Return the Rényi order that proves delta; None if the whole loss proves it."""
        return None

    def spend_if_fits(
        self, mechanism: Mechanism, count: int = 1, *, epsilon: float, delta: float
    ) -> bool:
        """Record uses of a mechanism if the composition stays within (epsilon, delta).

        The check and the record are one atomic step: threads that share an accountant never exceed
        a budget together. The mechanisms must be fixed beforehand; only the time to stop may depend
        on the budget that is left. If mechanisms depend on earlier releases, use `PrivacyFilter`.

        Args:
            mechanism: The mechanism to release if the answer is True, and not before.
            count: The number of uses, as for `compose`: all uses are recorded or none.
            epsilon, delta: In [0, inf] and [0, 1].

        Returns:
            Whether the uses were recorded. The errors are those of `compose`; nothing is recorded
            then.

        >>> from renyi import Gaussian, PLDAccountant
        >>> accountant = PLDAccountant()
        >>> while accountant.spend_if_fits(Gaussian(20.0), epsilon=1.0, delta=1e-5):
        ...     pass  # draw the noise and release
        >>> accountant.mechanisms
        ((Gaussian(noise_multiplier=20.0), 28),)
        """
        most, allowed = epsilon_of(epsilon), delta_of(delta)
        with self.lock:
            if self.copy().compose(mechanism, count).get_epsilon(allowed) > most:
                return False
            self.compose(mechanism, count)
            return True

    def get_epsilon_after(
        self,
        delta: float,
        mechanism: Mechanism,
        counts: npt.ArrayLike,
        *,
        direction: DirectionName | None = None,
        rtol: float = 1e-5,
        group_size: int = 1,
    ) -> Array:
        """Return epsilon after each number of further uses of a mechanism, recording nothing.

        Args:
            delta: In [0, 1].
            mechanism: The mechanism that a run would continue with.
            counts: Numbers of uses, each in [0, 10^9] as for `compose`; the answer is of this
                shape. In ascending order a thousand checkpoints cost `PLDAccountant` little more
                than a dozen.
            direction, rtol, group_size: As for `get_epsilon`.

        >>> from renyi import Gaussian, PLDAccountant, PoissonSampled
        >>> step = PoissonSampled(Gaussian(1.0), 0.01)
        >>> PLDAccountant().get_epsilon_after(1e-5, step, [0, 1000, 10_000]).round(4)
        array([0.    , 1.8282, 6.1877])
        """
        flat, shape = numbers_of(delta, "delta", 0.0, 1.0, "a number in [0, 1]")
        if shape:
            raise TypeError(f"delta must be a number in [0, 1], got {delta!r}")
        given = np.asarray(counts)
        times = [uses_of(count, "counts") for count in given.reshape(-1)]
        mechanism = mechanism_of(mechanism)
        self._uses_with(self._parts_of(mechanism), max(times, default=0))  # raises
        if direction is not None:
            self._check_direction(direction)
        rtol, size = rtol_of(rtol), group_size_of(group_size)
        result = np.full(len(times), math.nan)
        if size == 1:
            result = self._epsilons_after(float(flat[0]), mechanism, times, direction)
        for i in np.flatnonzero(np.isnan(result)):
            later = self.copy().compose(mechanism, times[i])
            result[i] = later.get_epsilon(
                float(flat[0]), direction=direction, rtol=rtol, group_size=size
            )
        return np.asarray(result.reshape(given.shape))

    def _epsilons_after(
        self, delta: float, mechanism: Mechanism, times: list[int], direction: DirectionName | None
    ) -> Array:
        """Return epsilon after each number of uses; NaN where there is no faster method."""
        return np.full(len(times), math.nan)

    def _curve(self, direction: DirectionName | None, rtol: float, size: int) -> Curve:
        if direction is not None:
            self._check_direction(direction)
        if size == 1:
            curve = self._curve_of(direction, rtol)
        elif (known := self._of_groups(size)) is not None:
            curve = known._curve_of(direction, rtol)
        else:
            curve = self._group_curve(direction, rtol, size)
        loss = None if self._has_steps else self._largest_loss(direction)
        return curve if loss is None else PureCurve(curve, size * loss, reached=size == 1)

    def _group_curve(self, direction: DirectionName | None, rtol: float, size: int) -> Curve:
        """Return a curve for groups from the curves for one record."""
        own = self._curve_of(direction, rtol)
        other = own if direction is None else self._curve_of(opposite(direction), rtol)
        return GroupCurve(own, other, size)

    # What an attacker can do: the trade-off function and the risks that follow from it.

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


def rtol_of(value: Any) -> float:
    """Return a relative width that lattices can reach."""
    if type(value) is float and 1e-8 <= value <= 0.5:
        return value
    return number_in(value, "rtol", Range(1e-8, 0.5))
