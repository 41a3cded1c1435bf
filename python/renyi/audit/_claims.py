r"""The claim of a run, as a trade-off function, and the questions that every audit answers.

If a mechanism is :math:`(\epsilon, \delta(\epsilon))`-private at every epsilon, a test with a false
positive rate F has a true positive rate of at most

.. math:: 1 - f(F) = \min_\epsilon \min(e^\epsilon F + \delta(\epsilon),
          1 - e^{-\epsilon} (1 - \delta(\epsilon) - F))

(Dong, Roth, Su 2022, arXiv 1905.02383, Proposition 2.12). Any selection of these lines gives a
bound, so several hundred lines of an accountant, each with its delta rounded up, represent all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from renyi import special
from renyi._search import bisected
from renyi._validation import (
    BETWEEN,
    array_of,
    epsilon_of,
    integer_of,
    number_in,
    probability_of,
    real_of,
)
from renyi.accountants import Accountant, PLDAccountant
from renyi.mechanisms import Mechanism
from renyi.noise import SecureGenerator

Scores = npt.NDArray[np.float64]
Source = np.random.Generator | SecureGenerator | None

LINES = np.linspace(0.0, 1.0, 400) ** 2  # epsilons, as shares of the largest
LARGEST = 700.0  # epsilon
LEAST_DELTA = 1e-15  # the least delta of a line
WIDTH = 1e-5  # relative accuracy of a search
SMALLEST = -1000.0  # binary logarithm of the least p-value


def scores_of(values: Any, name: str) -> Scores:
    """Return at least four scores."""
    allowed = "a one-dimensional array of at least 4 numbers"
    scores = array_of(values, name, allowed)
    numbers = scores.dtype.kind in "biuf"
    missing = int(np.isnan(scores).sum()) if numbers else 0
    if not numbers or missing or scores.ndim != 1 or scores.size < 4:
        raise ValueError(f"{name} must be {allowed}, got {shown(scores)} with {missing} NaN")
    return scores.astype(np.float64)


def shown(values: npt.NDArray[Any]) -> str:
    """Return a description of an array without its entries, which may be many or secret."""
    return f"{values.dtype} of shape {values.shape}"


def generator_of(given: Source) -> np.random.Generator:
    """Return a generator of NumPy's; None is a new secure one."""
    source = SecureGenerator() if given is None else given
    if isinstance(source, SecureGenerator):
        return source.numpy_generator()
    if not isinstance(source, np.random.Generator):
        raise TypeError(
            f"generator must be a numpy.random.Generator or SecureGenerator, got {given!r}"
        )
    return source


def failing_of(confidence: Any) -> float:
    """Return the probability, rounded down, with which a bound may be wrong."""
    number = number_in(confidence, "confidence", BETWEEN)
    return (1.0 - number) * (1.0 - 2.0**-52)  # two roundings


class Curve:
    """A lower bound of a trade-off function that is its own inverse.

    Args:
        epsilon, delta: The guarantees that give the lines, ``epsilon`` ascending from at least 0.
    """

    def __init__(self, epsilon: Scores, delta: Scores) -> None:
        up = np.exp(epsilon)
        self._up, self._down, self._delta = up * (1.0 + 2.0**-50), (1.0 - 2.0**-50) / up, delta
        # f(1 - r) >= slope (r - zero): both directions, by ascending slopes.
        second = slice(int(epsilon[0] == 0.0), None)
        zero = np.append(delta[::-1], (1.0 - (1.0 - delta) * self._down + 2.0**-50)[second])
        slope = np.append(self._down[::-1], (up * (1.0 - 2.0**-50))[second])
        # Every line is a bound everywhere; this takes the highest one, up to rounding.
        steeper = np.append(True, np.diff(slope) > 0.0)
        slope, zero = slope[steeper], zero[steeper]
        crossing = np.diff(slope * zero) / np.diff(slope)
        self._places = np.maximum.accumulate(crossing).tolist()
        self._slope, self._zero = slope.tolist(), zero.tolist()

    @classmethod
    def of(cls, claim: Accountant[Any] | tuple[float, float] | Curve, name: str = "claim") -> Curve:
        """Return the curve of an accountant, in the worse direction, or of one guarantee."""
        if isinstance(claim, Curve):
            return claim
        if isinstance(claim, tuple) and len(claim) == 2:
            return cls.of_pair(epsilon_of(claim[0]), probability_of(claim[1], "delta"))
        if not isinstance(claim, Accountant):
            raise TypeError(
                f"{name} must be an accountant, or a tuple of epsilon and delta, got {claim!r}"
            )
        if claim.adjacency == "replace_one":
            raise ValueError(
                f"{name} must have the adjacency of a record in the run or not, "
                "'add_remove' or 'zero_out', got 'replace_one'"
            )
        epsilon = min(float(claim.get_epsilon(LEAST_DELTA)), LARGEST) * LINES
        if epsilon[-1] == 0.0:
            return cls.of_pair(0.0, float(claim.get_delta(0.0)))
        return cls(epsilon, np.asarray(claim.get_delta(epsilon)))

    @classmethod
    def of_pair(cls, epsilon: float, delta: float) -> Curve:
        """Return the curve of one guarantee."""
        return cls(np.array([min(epsilon, LARGEST)]), np.array([delta]))

    @classmethod
    @lru_cache(maxsize=64)
    def of_gaussian(cls, mu: float) -> Curve:
        """Return the curve of mu-Gaussian privacy."""
        largest = min(float(special.gaussian_epsilon_upper(mu, LEAST_DELTA)), LARGEST)
        epsilon = largest * LINES if largest else np.zeros(1)
        return cls(epsilon, special.gaussian_delta_upper(mu, epsilon))

    def missed(self, right: float) -> float:
        """Return f(1 - right), rounded down."""
        k = bisect_right(self._places, right)
        # A difference and a product; the slope is rounded down by more.
        return float(max(self._slope[k] * (right - self._zero[k]) * (1.0 - 2.0**-51), 0.0))

    def allowed(self, false: Scores) -> Scores:
        """Return the largest true positive rates at false positive rates, rounded up."""
        rates = false[:, np.newaxis]
        first = (self._up * rates + self._delta) * (1.0 + 2.0**-51)
        second = 1.0 - self._down * ((1.0 - self._delta) - rates) + 2.0**-51
        return np.asarray(np.minimum(np.minimum(first, second).min(axis=1), 1.0))

    @cached_property
    def _roc(self) -> tuple[Scores, Scores]:
        alpha = np.append(0.0, np.geomspace(1e-9, 1.0, 4000))
        return np.maximum.accumulate(self.allowed(alpha)), alpha

    def drawn(self, present: npt.NDArray[np.bool_], generator: np.random.Generator) -> Scores:
        """Return drawn scores of runs with and without a record, the best that the curve allows."""
        place = generator.random(present.size)
        return np.asarray(-np.where(present, np.interp(place, *self._roc), place))


class Test(Protocol):
    """One test of a claim."""

    def refutes(self, curve: Curve, failing: float) -> bool:
        """Return whether the outcome has a probability of at most ``failing`` under the claim."""


class Audit:
    """The bounds that scores prove: a `ManyRuns`, `SequentialRuns` or `OneRun`."""

    def __init__(self, tests: Sequence[tuple[Test, float]]) -> None:
        self._tests = tests  # each with its share of the probability to fail; in all at most 1

    def epsilon_lower_bound(self, delta: float, *, confidence: float = 0.95) -> float:
        """Bound epsilon of any mechanism from below, rounded down; a smaller one is refuted.

        Args:
            delta: In [0, 1].
            confidence: Confidence of the bound, in (0, 1).

        >>> from renyi.audit import ManyRuns
        >>> ManyRuns([1.0] * 100, [0.0] * 100).epsilon_lower_bound(1e-5) > 2.0
        True
        """
        share = probability_of(delta, "delta")
        return self._largest(lambda epsilon: Curve.of_pair(epsilon, share), confidence)

    def mu_lower_bound(self, *, confidence: float = 0.95) -> float:
        """Bound the mu of Gaussian differential privacy, rounded down; a smaller one is refuted.

        The bound is for mechanisms that are mu-Gaussian for some mu: composed Gaussian noise
        without sampling. Then ``special.gaussian_epsilon_lower(mu, delta)`` bounds epsilon at any
        delta. For others it refutes mu and says nothing about epsilon: see `parameter_bound`.

        Args:
            confidence: Confidence of the bound, in (0, 1).

        >>> from renyi.audit import ManyRuns
        >>> rng = np.random.default_rng(1)
        >>> audit = ManyRuns(rng.normal(1.0, 1.0, 20_000), rng.normal(0.0, 1.0, 20_000))
        >>> round(audit.mu_lower_bound(), 1)
        1.0
        """
        return self._largest(Curve.of_gaussian, confidence)

    def parameter_bound(
        self,
        mechanism: Callable[[float], Mechanism],
        between: tuple[float, float],
        *,
        confidence: float = 0.95,
    ) -> float | None:
        """Return the value next to which a mechanism with one parameter is refuted.

        Args:
            mechanism: A function that returns the claimed mechanism of the run for a value, such as
                ``lambda sigma: PoissonSampled(Gaussian(sigma), 0.01) * 1000``. From one end of the
                range to the other its privacy loss must only rise or only fall.
            between: The range of values.
            confidence: Confidence of the bound, in (0, 1).

        Returns:
            A value that is refuted, together with all values that reveal less. A value next to it
            that reveals more is not refuted, unless it is the end. None if nothing in the range is
            refuted. A lower bound of epsilon is
            ``PLDAccountant().compose(mechanism(value)).get_epsilon_bounds(delta)[0]``.

        Raises:
            TypeError, ValueError, UnsupportedMechanismError: If an argument is not as above, or a
                mechanism that `renyi.PLDAccountant` does not take.

        >>> from renyi import Gaussian
        >>> from renyi.audit import OneRun
        >>> rng = np.random.default_rng(1)
        >>> included = rng.random(1000) < 0.5
        >>> audit = OneRun(rng.normal(0.0, 1.0, 1000) + 2.0 * included, included)
        >>> 0.5 < audit.parameter_bound(Gaussian, (0.1, 10.0)) < 1.2  # the noise multiplier is 1/2
        True
        """
        try:
            first, last = between
        except (TypeError, ValueError):
            raise ValueError(f"between must be two numbers, got {between!r}") from None
        ends = [real_of(end, "between", "two numbers") for end in (first, last)]
        failing = failing_of(confidence)

        def claim(value: float) -> PLDAccountant:
            return PLDAccountant().compose(mechanism(value))

        def holds(value: float) -> bool:
            return not self._refute(Curve.of(claim(value)), failing)

        private, revealing = sorted(ends, key=lambda value: claim(value).get_advantage())
        if holds(private):
            return None
        if not holds(revealing):
            return revealing

        def value_at(place: float) -> float:  # from 1 to 2, so a share next to 0 is found, too
            return private + (place - 1.0) * (revealing - private)

        return value_at(bisected(lambda place: holds(value_at(place)), 1.0, 2.0, 10.0 * WIDTH)[0])

    def refutes(
        self, claim: Accountant[Any] | tuple[float, float] | Curve, *, confidence: float = 0.95
    ) -> bool:
        """Return whether the scores refute what was reported.

        Args:
            claim (accountant, or tuple of epsilon and delta): As for `p_value`.
            confidence: In (0, 1): a true claim is refuted with probability at most 1 - confidence.

        >>> from renyi.audit import ManyRuns
        >>> ManyRuns([1.0] * 100, [0.0] * 100).refutes((1.0, 1e-5))
        True
        """
        return self._refute(Curve.of(claim), failing_of(confidence))

    def p_value(self, claim: Accountant[Any] | tuple[float, float]) -> float:
        """Bound the probability of such scores if the run were as private as claimed.

        Args:
            claim (accountant, or tuple of epsilon and delta): The reported guarantee, under the
                addition and removal of a record. All of an accountant's trade-off function is
                tested, which refutes more than any epsilon and delta of it.

        Returns:
            A p-value of at most 1, rounded up by at most a tenth. A small one refutes the claim.

        Raises:
            TypeError, ValueError: If the claim is not as above, or the accountant's adjacency is
                "replace_one".

        >>> from renyi.audit import ManyRuns
        >>> audit = ManyRuns([1.0] * 100, [0.0] * 100)
        >>> audit.p_value((1.0, 1e-5)) < 1e-9
        True
        """
        curve = Curve.of(claim)
        if not self._refute(curve, 1.0):
            return 1.0
        low, high = SMALLEST, 0.0
        while high - low > 0.125:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self._refute(curve, 2.0**middle) else (middle, high)
        return float(2.0**high)

    def times_refuted(
        self,
        claim: Accountant[Any] | tuple[float, float],
        truth: Accountant[Any] | tuple[float, float],
        repeats: int,
        *,
        confidence: float = 0.95,
        generator: Source = None,
    ) -> int:
        """Count how many audits of the same size would refute a claim, by the best scores.

        Args:
            claim, truth (accountant, or tuple of epsilon and delta): The reported guarantee, and
                the true one of the runs.
            repeats: Number of audits to draw, at least 1.
            confidence: Confidence of each audit, in (0, 1).
            generator: By default a new NumPy generator. Thresholds of `ManyRuns` are ignored.

        >>> from renyi import Gaussian, PLDAccountant
        >>> from renyi.audit import ManyRuns
        >>> audit = ManyRuns([1.0] * 200, [0.0] * 200)
        >>> claim, truth = (PLDAccountant().compose(Gaussian(sigma)) for sigma in (4.0, 1.0))
        >>> audit.times_refuted(claim, truth, 20) >= 19
        True
        """
        source = generator_of(np.random.default_rng() if generator is None else generator)
        said, real, failing = Curve.of(claim), Curve.of(truth, "truth"), failing_of(confidence)
        drawn = (self._like(real, source) for _ in range(integer_of(repeats, "repeats", 1)))
        return sum(audit._refute(said, failing) for audit in drawn)

    def _like(self, curve: Curve, generator: np.random.Generator) -> Audit:
        """Return an audit of the same size with drawn scores."""
        raise NotImplementedError

    def _refute(self, curve: Curve, failing: float) -> bool:
        return any(test.refutes(curve, share * failing) for test, share in self._tests)

    def _largest(self, claim: Callable[[float], Curve], confidence: float) -> float:
        """Return a value next to the largest one up to 700 that some test refutes."""
        failing, best = failing_of(confidence), 0.0
        for test, share in self._tests:
            each = share * failing

            def holds(value: float, test: Test = test, each: float = each) -> bool:
                return not test.refutes(claim(value), each)

            if not holds(best):
                low, high = best, 2.0 * best + 1.0
                while high < LARGEST and not holds(high):
                    low, high = high, 2.0 * high
                best = bisected(holds, low, high, WIDTH)[0]
        return best
