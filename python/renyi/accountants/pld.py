"""The exact accountant: (epsilon, delta) from the whole distribution of the privacy loss.

Compositions of Gaussian and Poisson-sampled Gaussian steps are inverted from their moment
generating function (`renyi._curve`); everything else, and what that route cannot certify, goes
through certified lattices (`renyi.pld`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from threading import Lock
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from renyi import pld
from renyi._curve import SampledGaussianCurve
from renyi._validation import count_of, float_above, numbers_of, probability_of, real_of
from renyi.accountants._losses import leaves, loss_of, replace_one_loss_of, step_loss
from renyi.accountants._tradeoff import beta_from_curves
from renyi.mechanisms import Mechanism
from renyi.tradeoff import GaussianLimit, central_limit, compose_mu

__all__ = ["Adjacency", "DirectionName", "PLDAccountant"]

Adjacency = Literal["add_remove", "replace_one"]
DirectionName = Literal["remove", "add"]
Array = npt.NDArray[np.float64]

SMALLEST_RATE = 1e-100  # smaller sampling rates are accounted as this one
FALLBACK_RTOL = 1e-6  # of a single number that only lattices can give
GOOD_ENOUGH = 1e-5  # relative width of a certified bracket that lattices are not asked to narrow
LARGEST_NOISE = 1e6  # of a sampled Gaussian on a lattice
LATTICE_POINTS = 2**20  # at most; bounds the memory and the time of a query
DELTAS = "a number in [0, 1] or an array of these"
EPSILONS = "a number in [0, inf] or an array of these"


class PLDAccountant:
    """Accountant of the exact privacy curve.

    Parameters
    ----------
    adjacency : {"add_remove", "replace_one"}
        Which data sets are neighbours: one has a record more (both directions are evaluated and the
        worse one reported), or one record differs (Gaussian and Poisson-sampled Gaussian
        mechanisms: their means move by twice the sensitivity).

    Raises
    ------
    ValueError
        If the adjacency is unknown.

    Notes
    -----
    Equal steps merge: memory and time grow with the number of distinct steps only. Single numbers
    are rounded up from a certified bracket about 1e-12 wide, or, with few effective steps, from an
    estimate widened by ten times its estimated error (about 1e-10); the ``_bounds`` methods return
    certified brackets only. Methods may be called from many threads.

    Time and memory of a query are bounded: at most 2^19 contour nodes (16 bytes each), after that
    lattices of at most 2^20 nodes (half a gigabyte, seconds). Lattices are needed where the rare
    large losses of few effective steps decide (``steps * sample_rate`` below about 1 and delta far
    below 1e-10, direction "remove"); where they reach their cap, a bracket may be much wider than
    asked for, and a single number that much too large. It is never too small.

    References
    ----------
    Alghamdi et al. 2023, arXiv 2208.09595, Theorem 3.1 (the inversion integral). Zhu, Dong, Wang
    2022, arXiv 2106.08567 (dominating pairs). Doroshenko et al. 2022, arXiv 2207.04380 (connecting
    the dots).

    Examples
    --------
    >>> from renyi import Gaussian, PLDAccountant, PoissonSampled
    >>> accountant = PLDAccountant().compose(PoissonSampled(Gaussian(1.1), 0.004), 15_000)
    >>> round(accountant.get_epsilon(1e-5), 6)
    2.29537
    """

    def __init__(self, adjacency: Adjacency = "add_remove") -> None:
        if adjacency not in ("add_remove", "replace_one"):
            raise ValueError(f"adjacency must be 'add_remove' or 'replace_one', got {adjacency!r}")
        self._adjacency: Adjacency = adjacency
        self._curve = SampledGaussianCurve()
        self._lock = Lock()
        self._ledger: dict[Mechanism, int] = {}
        self._steps: dict[tuple[float, float], int] = {}
        self._losses: dict[Mechanism, int] = {}  # what is not made of Gaussian steps
        self._only_steps = True  # the curve holds everything

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation."""
        return self._adjacency

    @property
    def mechanisms(self) -> tuple[tuple[Mechanism, int], ...]:
        """The mechanisms composed so far with their counts, equal ones merged."""
        return tuple(self._ledger.items())

    def compose(self, mechanism: Mechanism, count: int = 1) -> PLDAccountant:
        """Record ``count`` uses of a mechanism and return the accountant.

        Raises
        ------
        TypeError, ValueError
            If ``mechanism`` is not a mechanism or ``count`` not an integer >= 0; nothing is
            recorded then.

        Examples
        --------
        >>> from renyi import Gaussian
        >>> PLDAccountant().compose(Gaussian(2.0), 3).mechanisms
        ((Gaussian(noise_multiplier=2.0), 3),)
        """
        if not isinstance(mechanism, Mechanism):
            raise TypeError(f"mechanism must be a renyi mechanism, got {mechanism!r}")
        number = count if type(count) is int and count >= 0 else count_of(count)
        if number == 0:
            return self
        steps, losses = _parts_of(mechanism)
        with self._lock:
            for rate, noise, times in steps:
                self._add_step(rate, noise, times * number)
            for part, times in losses:
                self._losses[part] = self._losses.get(part, 0) + times * number
                self._only_steps = False
            self._ledger[mechanism] = self._ledger.get(mechanism, 0) + number
        return self

    def _add_step(self, rate: float, noise: float, count: int) -> None:
        if rate == 0.0 or math.isinf(noise):
            return
        key = (max(rate, SMALLEST_RATE), noise)
        self._steps[key] = self._steps.get(key, 0) + count
        replaces = self._adjacency == "replace_one"
        if noise == 0.0 or (replaces and rate < 1.0):
            self._only_steps = False
        else:
            self._curve.add(key[0], 0.5 * noise if replaces else noise, float_above(count))

    @overload
    def get_epsilon(self, delta: float, *, direction: DirectionName | None = None) -> float: ...
    @overload
    def get_epsilon(
        self, delta: npt.ArrayLike, *, direction: DirectionName | None = None
    ) -> float | Array: ...
    def get_epsilon(
        self, delta: npt.ArrayLike, *, direction: DirectionName | None = None
    ) -> float | Array:
        """Return the smallest epsilon such that the composition is (epsilon, delta)-DP, rounded up.

        Parameters
        ----------
        delta : float or array_like of float
            In [0, 1]. An array shares the work: a thousand values cost little more than one.
        direction : {"remove", "add"}, optional
            Of the neighbouring pair; by default the worse of both.

        Returns
        -------
        float or ndarray of float64
            At least 0, of the shape of ``delta``; infinity where no epsilon will do.

        Raises
        ------
        TypeError, ValueError
            If ``delta`` is not made of numbers in [0, 1], or for an unknown direction.

        Examples
        --------
        >>> from renyi import Gaussian
        >>> round(PLDAccountant().compose(Gaussian(1.0)).get_epsilon(1e-5), 6)
        4.377178
        """
        flat, shape = numbers_of(delta, "delta", 0.0, 1.0, DELTAS)
        result = np.zeros(flat.shape)
        for remove in self._directions(direction):
            np.maximum(result, self._epsilons(flat, remove, known=result), out=result)
        return result.reshape(shape) if shape else float(result[0])

    @overload
    def get_delta(self, epsilon: float, *, direction: DirectionName | None = None) -> float: ...
    @overload
    def get_delta(
        self, epsilon: npt.ArrayLike, *, direction: DirectionName | None = None
    ) -> float | Array: ...
    def get_delta(
        self, epsilon: npt.ArrayLike, *, direction: DirectionName | None = None
    ) -> float | Array:
        """Return the smallest delta such that the composition is (epsilon, delta)-DP, rounded up.

        Parameters
        ----------
        epsilon : float or array_like of float
            In [0, inf]. An array shares the work.
        direction : {"remove", "add"}, optional
            Of the neighbouring pair; by default the worse of both.

        Returns
        -------
        float or ndarray of float64
            In [0, 1], of the shape of ``epsilon``.

        Raises
        ------
        TypeError, ValueError
            If ``epsilon`` is not made of numbers in [0, inf], or for an unknown direction.

        Examples
        --------
        >>> from renyi import Gaussian
        >>> accountant = PLDAccountant().compose(Gaussian(1.0))
        >>> accountant.get_delta([0.0, 1.0]).round(6)
        array([0.382925, 0.126937])
        """
        flat, shape = numbers_of(epsilon, "epsilon", 0.0, math.inf, EPSILONS)
        result = np.zeros(flat.shape)
        for remove in self._directions(direction):
            np.maximum(result, self._deltas(flat, remove, known=result), out=result)
        return result.reshape(shape) if shape else float(result[0])

    def get_epsilon_bounds(
        self, delta: float, *, rtol: float = 1e-5, direction: DirectionName | None = None
    ) -> tuple[float, float]:
        """Return certified numbers that enclose the exact epsilon.

        Parameters
        ----------
        delta : float
            In [0, 1].
        rtol : float
            In [1e-8, 1e-1]: the width aimed at, as a relative width of delta. Wider where the
            lattices reach their cap.
        direction : {"remove", "add"}, optional
            By default the worse of both.

        Raises
        ------
        TypeError, ValueError
            For arguments outside these ranges.
        """
        flat, _ = numbers_of(delta, "delta", 0.0, 1.0, "a number in [0, 1]")
        target, rtol = _one(flat, "delta", delta), _rtol_of(rtol)
        low = high = 0.0
        for remove in self._directions(direction):
            if low > 0.0 and self._only_steps and self._curve.rough_delta(low, remove) <= target:
                continue  # this direction needs less
            bracket = self._epsilon_bracket(target, remove, rtol)
            low, high = max(low, bracket[0]), max(high, bracket[1])
        return low, high

    def get_delta_bounds(
        self, epsilon: float, *, rtol: float = 1e-5, direction: DirectionName | None = None
    ) -> tuple[float, float]:
        """Return certified numbers that enclose the exact delta.

        Parameters
        ----------
        epsilon : float
            In [0, inf].
        rtol : float
            In [1e-8, 1e-1]: the relative width aimed at. Wider where the lattices reach their cap.
        direction : {"remove", "add"}, optional
            By default the worse of both.

        Raises
        ------
        TypeError, ValueError
            For arguments outside these ranges.
        """
        flat, _ = numbers_of(epsilon, "epsilon", 0.0, math.inf, "a number in [0, inf]")
        target, rtol = _one(flat, "epsilon", epsilon), _rtol_of(rtol)
        low = high = 0.0
        for remove in self._directions(direction):
            if low > 0.0 and self._only_steps and self._curve.rough_delta(target, remove) <= low:
                continue  # this direction loses less
            bracket = self._delta_bracket(target, remove, rtol)
            low, high = max(low, bracket[0]), max(high, bracket[1])
        return low, high

    def get_epsilon_after(
        self,
        delta: float,
        mechanism: Mechanism,
        counts: npt.ArrayLike,
        *,
        direction: DirectionName | None = None,
    ) -> Array:
        """Return epsilon after each number of further uses of a mechanism, recording nothing.

        Parameters
        ----------
        delta : float
            In [0, 1].
        mechanism : Mechanism
            What a run would go on with.
        counts : array_like of int
            Numbers of uses, each at least 0. They share the work: in ascending order a thousand
            checkpoints cost little more than a dozen.
        direction : {"remove", "add"}, optional
            By default the worse of both.

        Returns
        -------
        ndarray of float64
            Of the shape of ``counts``.

        Raises
        ------
        TypeError, ValueError
            For arguments outside these ranges.

        Examples
        --------
        >>> from renyi import Gaussian, PoissonSampled
        >>> step = PoissonSampled(Gaussian(1.0), 0.01)
        >>> PLDAccountant().get_epsilon_after(1e-5, step, [0, 1000, 10_000]).round(4)
        array([0.    , 1.8282, 6.1877])
        """
        flat, _ = numbers_of(delta, "delta", 0.0, 1.0, "a number in [0, 1]")
        target = _one(flat, "delta", delta)
        given = np.asarray(counts)
        times = [count_of(count, "counts") for count in given.reshape(-1)]
        if not isinstance(mechanism, Mechanism):
            raise TypeError(f"mechanism must be a renyi mechanism, got {mechanism!r}")
        result = np.zeros(len(times))
        repeated = PLDAccountant(self._adjacency).compose(mechanism)
        if self._only_steps and repeated._only_steps and 0.0 < target < 1.0:
            floats = np.array([float_above(count) for count in times])
            out = np.empty((3, floats.size))
            for remove in self._directions(direction):
                self._curve.epsilon_after_into(repeated._curve, floats, target, remove, out)
                np.maximum(result, out[1], out=result)
        else:
            result.fill(math.nan)
        for i in np.flatnonzero(np.isnan(result)):
            later = self._copy().compose(mechanism, times[i])
            result[i] = later.get_epsilon(target, direction=direction)
        return np.asarray(result.reshape(given.shape))

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
            In [0, 1 - alpha], of the shape of ``alpha``.

        Raises
        ------
        TypeError, ValueError
            If ``alpha`` is not made of numbers in [0, 1], or for an unknown direction.

        References
        ----------
        Dong, Roth, Su 2022, arXiv 1905.02383, Proposition 2.13.

        Examples
        --------
        >>> from renyi import Gaussian
        >>> PLDAccountant().compose(Gaussian(1.0)).get_beta([0.05, 0.5]).round(6)
        array([0.740489, 0.158655])
        """
        flat, shape = numbers_of(
            alpha, "alpha", 0.0, 1.0, "a number in [0, 1] or an array of these"
        )
        directions = self._directions(direction)

        def curve(remove: bool) -> Callable[[Array], Array]:
            return lambda epsilons: self._deltas(epsilons, remove)

        def worse(epsilons: Array) -> Array:
            return np.maximum(self._deltas(epsilons, True), self._deltas(epsilons, directions[-1]))

        ends = np.minimum(flat, 1.0 - flat)
        smallest = max(float(ends[ends > 0.0].min(initial=1e-10)), 1e-250)
        largest = min(-math.log(smallest) + 1.0, float(self.get_epsilon(1e-6 * smallest)))
        if direction is None:
            result = beta_from_curves(flat, worse, worse, largest)
        else:
            result = beta_from_curves(flat, curve(directions[0]), curve(not directions[0]), largest)
        return result.reshape(shape) if shape else float(result[0])

    def get_advantage(self) -> float:
        """Return the largest advantage of a membership test, rounded up: max of 1 - alpha - beta.

        It is delta at epsilon = 0, the total variation distance.

        Examples
        --------
        >>> from renyi import Gaussian
        >>> round(PLDAccountant().compose(Gaussian(1.0)).get_advantage(), 6)
        0.382925
        """
        return self.get_delta(0.0)

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
        >>> from renyi import Gaussian
        >>> round(PLDAccountant().compose(Gaussian(1.0)).get_bayes_risk(), 6)
        0.308538
        """
        chance = probability_of(prior, "prior")
        rare = min(chance, 1.0 - chance)
        if rare == 0.0:
            return 0.0
        # The rarer hypothesis weighs 1, the other one e^epsilon; delta rises to the left.
        odds = math.log1p(-rare) - math.log(rare)
        delta = self.get_delta(max(odds * (1.0 - 2.0**-50) - 2.0**-50, 0.0))
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
        >>> from renyi import Gaussian
        >>> round(PLDAccountant().compose(Gaussian(2.0), 4).get_gdp_mu().mu, 9)
        1.0
        """
        steps = list(self._steps.items())
        scale = 2.0 if self._adjacency == "replace_one" else 1.0
        if not self._losses and all(q == 1.0 and noise > 0.0 for (q, noise), _ in steps):
            if not steps:
                return GaussianLimit(0.0, 0.0)
            sensitivities = [scale / noise for (_, noise), _ in steps]
            mu = compose_mu(sensitivities, [count for _, count in steps])
            return GaussianLimit(mu * (1.0 + 2.0**-51), 0.0)
        if self._losses or len(steps) != 1 or scale == 2.0 or steps[0][0][1] == 0.0:
            raise ValueError(
                "mechanisms must be Gaussian, or one kind of Poisson-sampled Gaussian step under "
                f"add/remove adjacency, got {self.mechanisms!r}"
            )
        (rate, noise), count = steps[0]
        return central_limit(rate, noise, count)

    def _directions(self, direction: DirectionName | None) -> tuple[bool, ...]:
        """Return which directions to evaluate, True for remove."""
        if direction not in (None, "remove", "add"):
            raise ValueError(f"direction must be 'remove', 'add' or None, got {direction!r}")
        if self._adjacency == "replace_one":
            if direction is not None:
                raise ValueError(
                    f"direction must be None where records are replaced, got {direction!r}"
                )
            # Gaussian steps are their own mirror images; user-supplied losses need not be.
            return (True, False) if self._losses else (True,)
        return (True, False) if direction is None else (direction == "remove",)

    def _epsilons(self, deltas: Array, remove: bool, known: Array) -> Array:
        """Return epsilon rounded up, perhaps negative, of one direction.

        Where ``known`` is certainly enough, any smaller number may be returned.
        """
        result = np.full(deltas.shape, math.nan)
        result[deltas == 1.0] = 0.0
        inside = np.flatnonzero((deltas > 0.0) & (deltas < 1.0))
        if self._only_steps and not self._steps:
            result.fill(0.0)
        elif self._only_steps:
            order = inside[np.argsort(deltas[inside], kind="stable")]
            if order.size:
                result[order] = self._answers(self._curve.epsilon_into, deltas[order], remove)
            if remove:
                result[deltas == 0.0] = math.inf
        composition = None
        for i in np.flatnonzero(np.isnan(result)):
            delta, enough = float(deltas[i]), float(known[i])
            checkable = enough > 0.0 and self._only_steps
            if checkable and self._curve.rough_delta(enough, remove) <= delta:
                result[i] = 0.0
                continue
            bracket = (-math.inf, math.inf)
            if self._only_steps and delta > 0.0:
                bracket = self._curve.certified_epsilon(delta, remove, FALLBACK_RTOL)
            if not bracket[1] - bracket[0] <= GOOD_ENOUGH * abs(bracket[1]):
                composition = composition or self._composition(remove, FALLBACK_RTOL)
                bracket = _common(bracket, composition.epsilon_bounds(delta))
            result[i] = bracket[1]
        return result

    def _deltas(self, epsilons: Array, remove: bool, known: Array | None = None) -> Array:
        """Return delta rounded up of one direction; ``known`` as for `_epsilons`."""
        result = np.full(epsilons.shape, math.nan)
        if self._only_steps:
            finite = np.flatnonzero(epsilons < math.inf)
            result[epsilons == math.inf] = 0.0
            order = finite[np.argsort(epsilons[finite], kind="stable")]
            if order.size:
                result[order] = self._answers(self._curve.delta_into, epsilons[order], remove)
        composition = None
        for i in np.flatnonzero(np.isnan(result)):
            epsilon, bracket = float(epsilons[i]), (0.0, 1.0)
            if self._only_steps:
                rough = self._curve.rough_delta(epsilon, remove)
                if known is not None and rough <= known[i]:
                    result[i] = 0.0
                    continue
                bracket = _common(
                    (0.0, rough), self._curve.certified_delta(epsilon, remove, FALLBACK_RTOL)
                )
            if not bracket[1] - bracket[0] <= GOOD_ENOUGH * bracket[1]:
                composition = composition or self._composition(remove, FALLBACK_RTOL)
                bracket = _common(bracket, composition.delta_bounds(epsilon))
            result[i] = bracket[1]
        return result

    @staticmethod
    def _answers(query: Callable[[Array, bool, Array], None], values: Array, remove: bool) -> Array:
        out: Array = np.empty((3, values.size))
        query(np.ascontiguousarray(values), remove, out)
        upper: Array = out[1]
        return upper

    def _delta_bracket(self, epsilon: float, remove: bool, rtol: float) -> tuple[float, float]:
        bracket = (0.0, 1.0)
        if self._only_steps:
            if epsilon == math.inf or not self._steps:
                return 0.0, 0.0
            bracket = _common(
                (0.0, self._curve.rough_delta(epsilon, remove)),
                self._curve.certified_delta(epsilon, remove, rtol),
            )
            if bracket[1] - bracket[0] <= rtol * bracket[1]:
                return bracket
        low, high = self._composition(remove, rtol).delta_bounds(epsilon)
        return _common(bracket, (0.0 if self._reduces_noise() else low, high))

    def _epsilon_bracket(self, delta: float, remove: bool, rtol: float) -> tuple[float, float]:
        if delta == 1.0:
            return 0.0, 0.0
        bracket = (-math.inf, math.inf)
        if self._only_steps:
            if not self._steps:
                return 0.0, 0.0
            if delta == 0.0 and remove:
                return math.inf, math.inf
            if delta > 0.0:
                bracket = _common(bracket, self._curve.certified_epsilon(delta, remove, rtol))
                if bracket[1] - bracket[0] <= GOOD_ENOUGH * abs(bracket[1]):
                    return bracket
        low, high = self._composition(remove, rtol).epsilon_bounds(delta)
        return _common(bracket, (-math.inf if self._reduces_noise() else low, high))

    def _reduces_noise(self) -> bool:
        """Whether lattices account for less noise than there is, and bound from above only."""
        return any(LARGEST_NOISE < noise < math.inf for _, noise in self._steps)

    def _composition(self, remove: bool, rtol: float) -> pld.Composition:
        """Return everything composed so far for the lattices."""
        with self._lock:
            steps, losses = list(self._steps.items()), list(self._losses.items())
        parts: list[tuple[pld.PrivacyLossDistribution, int]] = []
        for (rate, more), count in steps:
            noise = min(more, LARGEST_NOISE)
            if self._adjacency == "replace_one":
                parts.append((replace_one_loss_of(rate, noise), count))
            else:
                parts.append((step_loss(rate, noise, remove), count))
        for mechanism, count in losses:
            loss = loss_of(mechanism, remove)
            assert loss is not None
            parts.append((loss, count))
        return pld.Composition(parts, rtol=rtol, max_points=LATTICE_POINTS)

    def _copy(self) -> PLDAccountant:
        return _rebuilt(self._adjacency, self.mechanisms)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._adjacency, self.mechanisms)

    def __repr__(self) -> str:
        parts = ", ".join(f"({mechanism!r}, {count})" for mechanism, count in self._ledger.items())
        return f"<PLDAccountant: {parts or 'nothing composed'}>"


def _parts_of(
    mechanism: Mechanism,
) -> tuple[list[tuple[float, float, int]], list[tuple[Mechanism, int]]]:
    """Split a mechanism into sampled Gaussian steps and losses for the lattices."""
    steps: list[tuple[float, float, int]] = []
    losses: list[tuple[Mechanism, int]] = []
    for leaf, count in leaves(mechanism):
        if loss_of(leaf, True) is not None:
            losses.append((leaf, count))
        else:
            steps += [
                (q, noise, times * count) for q, noise, times in leaf.sampled_gaussian_steps()
            ]
    return steps, losses


def _common(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """Return what two brackets of one number have in common; NaN is no bound."""
    return float(np.fmax(a[0], b[0])), float(np.fmin(a[1], b[1]))


def _one(values: Array, name: str, given: object) -> float:
    if values.size != 1:
        raise TypeError(f"{name} must be a number, got {given!r}")
    return float(values[0])


def _rtol_of(value: Any) -> float:
    rtol = real_of(value, "rtol", "a number in [1e-8, 0.1]")
    if not 1e-8 <= rtol <= 0.1:
        raise ValueError(f"rtol must be a number in [1e-8, 0.1], got {value!r}")
    return rtol


def _rebuilt(adjacency: Adjacency, ledger: tuple[tuple[Mechanism, int], ...]) -> PLDAccountant:
    accountant = PLDAccountant(adjacency)
    for mechanism, count in ledger:
        accountant.compose(mechanism, count)
    return accountant
