r"""One run with many canaries, each in it or not by the toss of a coin.

Canaries are records or gradients whose traces in a model are looked for.

Steinke, Nasr, Jagielski 2023, arXiv 2305.08846, Theorem 5.2: of m coins, r are guessed from what an
:math:`(\epsilon, \delta)`-private mechanism released. Then v or more guesses are right with
probability at most

.. math:: P[W \ge v] + 2 m \delta \max_{i \ge 1} P[v > W \ge v - i] / i

with :math:`W \sim \mathrm{Bin}(r, e^\epsilon / (1 + e^\epsilon))`. Adjacency is that of adding or
removing a canary. The number r is fixed beforehand; several are tried at shares of the probability
to fail (Bonferroni's inequality).

A whole trade-off function f refutes far more (Mahloujifar, Melis, Chaudhuri 2024, arXiv
2410.22235). With :math:`r_i = \sum_{j \ge i} (j/m) P[j \text{ right}]` and :math:`h_i` the same sum
of wrong guesses, flipping one coin and the convexity of f give :math:`h_i \ge f(1 - r_{i+1})`,
where f is its own inverse. From :math:`P[\ge v \text{ right}] \ge \tau` the recursion runs down to
:math:`r_0 + h_0`, which is r/m: a larger sum refutes tau.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from renyi import special
from renyi._engine import largest_mean_upper, tail_bounds
from renyi._search import bisected
from renyi._validation import count_of, epsilon_of, integer_of, one_of, probability_of, real_of
from renyi.accountants import Accountant, PLDAccountant
from renyi.audit._rates import Scores, failing_of, scores_of
from renyi.mechanisms import Mechanism
from renyi.noise import SecureGenerator


def draw_canaries(
    count: int, generator: np.random.Generator | None = None
) -> npt.NDArray[np.bool_]:
    """Toss a fair coin for each canary: whether it is in the run.

    Parameters
    ----------
    count : int
        Of canaries, at least 1.
    generator : numpy.random.Generator, optional
        By default a new `renyi.noise.SecureGenerator`.

    Returns
    -------
    array of bool, of shape (count,)
        It must be kept secret from the maker of the scores.

    Examples
    --------
    >>> draw_canaries(1000).shape
    (1000,)
    """
    number = integer_of(count, "count", 1)
    return np.asarray(_generator(generator).random(number) < 0.5)


def dirac_gradients(
    count: int,
    dimension: int,
    norm: float = 1.0,
    *,
    dtype: npt.DTypeLike = np.float64,
    generator: np.random.Generator | None = None,
) -> npt.NDArray[Any]:
    """Return gradients of canaries: each has one entry that is not 0, no two at the same place.

    Nothing of a model is as easy to look for: the score of a canary is its inner product with the
    sum of all updates, against the sense of the descent (Nasr et al. 2023, arXiv 2302.07956;
    Steinke, Nasr, Jagielski 2023, arXiv 2305.08846).

    Parameters
    ----------
    count, dimension : int
        Of canaries, and of all parameters: ``count <= dimension``.
    norm : float
        Of each; the clipping norm is the strongest.
    dtype : dtype
        Of floating-point numbers.
    generator : numpy.random.Generator, optional
        By default a new `renyi.noise.SecureGenerator`.

    Returns
    -------
    array of shape (count, dimension)
        For a list of parameters, to be split like them.

    Examples
    --------
    >>> rows = dirac_gradients(3, 10, norm=0.5)
    >>> rows.sum(axis=1)
    array([0.5, 0.5, 0.5])
    """
    rows, entries = integer_of(count, "count", 1), integer_of(dimension, "dimension", 1)
    if rows > entries:
        raise ValueError(f"count must be an integer in [1, {entries}], got {count!r}")
    gradients = np.zeros((rows, entries), dtype=dtype)
    places = _generator(generator).choice(entries, rows, replace=False)
    gradients[np.arange(rows), places] = real_of(norm, "norm", "a number")
    return gradients


def mislabelled(
    labels: npt.ArrayLike, classes: int, generator: np.random.Generator | None = None
) -> npt.NDArray[np.int64]:
    """Return another label for each record, each of the others as likely.

    A model that has learnt the wrong label of a record was trained on it: the score is minus the
    loss.

    Parameters
    ----------
    labels : array_like of int
        In [0, classes).
    classes : int
        At least 2.
    generator : numpy.random.Generator, optional
        By default a new `renyi.noise.SecureGenerator`.

    Examples
    --------
    >>> mislabelled([0, 1, 1], 2)
    array([1, 0, 0])
    """
    number, given = integer_of(classes, "classes", 2), np.asarray(labels)
    if given.dtype.kind not in "iu" or np.any((given < 0) | (given >= number)):
        raise ValueError(f"labels must be integers in [0, {number}), got {labels!r}")
    shift = _generator(generator).integers(1, number, given.shape)
    return np.asarray((given + shift) % number, dtype=np.int64)


def _generator(given: np.random.Generator | None) -> np.random.Generator:
    return SecureGenerator().numpy_generator() if given is None else given


LARGEST_COUNT = 10**8


def one_run_p_value(
    epsilon: float, delta: float, *, canaries: int, guesses: int, correct: int
) -> float:
    """Bound the probability that so many guesses about the canaries of a private run are right.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee, under the addition or removal of a canary.
    canaries, guesses, correct : int
        ``correct <= guesses <= canaries <= 1e8``. The number of guesses is chosen beforehand.

    Returns
    -------
    float
        At most 1, rounded up. Guarantees for which it is small are refuted.

    Raises
    ------
    TypeError, ValueError
        If a number is not as above.

    Examples
    --------
    >>> round(one_run_p_value(1.0, 1e-5, canaries=1000, guesses=200, correct=170), 5)
    0.00062
    """
    m, r, v = _counts(canaries, guesses, correct)
    q = 1.0 / (1.0 + math.exp(-epsilon_of(epsilon)))
    # Three roundings, upward: the bound of a larger epsilon is one of this.
    return _p_value(min(q * (1.0 + 2.0**-50), 1.0), probability_of(delta, "delta"), m, r, v)


def one_run_epsilon_lower_bound(
    scores: Any,
    included: Any,
    delta: float,
    *,
    guesses: int | npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> float:
    """Bound epsilon from below by how well scores of one run tell which canaries were in it.

    The canaries with the highest scores are guessed to have been in the run, as many with the
    lowest not, and about the rest nothing is said. Where scores are equal the guesses are taken to
    be as wrong as they can be.

    Parameters
    ----------
    scores : array of shape (m,)
        One for each canary, at least 4: the higher, the more it looks as if it was in the run.
    included : array of bool, of shape (m,)
        Which canaries were, by independent fair coins: `draw_canaries`.
    delta : float
        In [0, 1].
    guesses : int or list of int, optional
        How many canaries to guess about, in [1, m], chosen before the run; of several numbers each
        has an equal share of the probability to fail, and the best counts. By default m, m / 2,
        m / 4, ... down to 32.
    confidence : float
        In (0, 1), of the bound.

    Returns
    -------
    float
        At least 0. An epsilon at ``delta`` that is smaller is refuted.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> from renyi.audit import draw_canaries
    >>> rng = np.random.default_rng(1)
    >>> included = draw_canaries(10_000, rng)
    >>> scores = included + rng.laplace(0.0, 1.0 / 2.0, 10_000)  # (2, 0)-private
    >>> 1.4 < one_run_epsilon_lower_bound(scores, included, 1e-6) < 2.0
    True
    """
    values, inside = _canaries_of(scores, included)
    share, failing = probability_of(delta, "delta"), failing_of(confidence)
    numbers = _guesses_of(guesses, values.size)
    each = failing / len(numbers) * (1.0 - 2.0**-52)
    rightly = [_correct(values, inside, number) for number in numbers]
    return max(
        _least_epsilon(share, values.size, r, v, each)
        for r, v in zip(numbers, rightly, strict=True)
    )


Sides = Literal["both", "in"]


def one_run_curve_p_value(
    accountant: Accountant[Any], *, canaries: int, guesses: int, correct: int
) -> float:
    """Bound the probability of so many right guesses by all of an accountant's trade-off function.

    Parameters
    ----------
    accountant : PLDAccountant or RDPAccountant
        Of what is claimed, under the addition and removal of a canary.
    canaries, guesses, correct : int
        As of `one_run_p_value`.

    Returns
    -------
    float
        At most 1, rounded up; mostly far below `one_run_p_value` at any epsilon and delta of the
        same mechanism. The claim is refuted where it is small.

    Raises
    ------
    TypeError, ValueError
        If a number is not as above, or the accountant's adjacency is "replace_one".

    References
    ----------
    Mahloujifar, Melis, Chaudhuri 2024, arXiv 2410.22235.

    Examples
    --------
    >>> from renyi import Gaussian, PLDAccountant
    >>> claim = PLDAccountant().compose(Gaussian(1.0))
    >>> one_run_curve_p_value(claim, canaries=1000, guesses=200, correct=200) < 1e-3
    True
    """
    m, r, v = _counts(canaries, guesses, correct)
    curve = _Curve.of(accountant)
    if not curve.refutes(1.0, m, r, v):
        return 1.0
    # Down to the first power of 2^(1/8) that is not refuted.
    tau = 1.0
    while tau > 1e-300 and curve.refutes(tau * 2.0**-0.125, m, r, v):
        tau *= 2.0**-0.125
    return tau


def one_run_mu_lower_bound(
    scores: Any,
    included: Any,
    *,
    guesses: int | npt.ArrayLike | None = None,
    sides: Sides = "both",
    confidence: float = 0.95,
) -> float:
    """Bound the mu of Gaussian differential privacy from below by the scores of one run.

    For mechanisms that are mu-Gaussian for some mu, as `mu_lower_bound`: then
    ``special.gaussian_epsilon_lower(mu, delta)`` bounds epsilon at any delta. Of others it refutes
    mu and says nothing of epsilon: see `one_run_parameter_bound`.

    Parameters
    ----------
    scores, included, guesses, confidence
        As for `one_run_epsilon_lower_bound`.
    sides : {"both", "in"}
        Whether canaries with low scores are guessed, too, or those with high scores only.

    Returns
    -------
    float
        At least 0. A smaller mu is refuted.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> included = draw_canaries(1000, rng)
    >>> scores = rng.normal(0.0, 1.0, 1000) + 2.0 * included  # mu is 2
    >>> 0.8 < one_run_mu_lower_bound(scores, included, guesses=[100, 200]) < 2.0
    True
    """
    counts = _Guesses.among(scores, included, guesses, sides, confidence)
    low, high = LEAST_MU, 1.0
    if not counts.refute(_Curve.of_gaussian(low)):
        return 0.0
    while counts.refute(_Curve.of_gaussian(high)) and high < LARGEST_MU:
        low, high = high, 2.0 * high
    return bisected(lambda mu: not counts.refute(_Curve.of_gaussian(mu)), low, high, WIDTH)[0]


def one_run_parameter_bound(
    scores: Any,
    included: Any,
    mechanism: Callable[[float], Mechanism],
    between: tuple[float, float],
    *,
    guesses: int | npt.ArrayLike | None = None,
    sides: Sides = "both",
    confidence: float = 0.95,
) -> float | None:
    """Return the value next to which a mechanism with one parameter is refuted by one run.

    Parameters
    ----------
    scores, included, guesses, sides, confidence
        As for `one_run_mu_lower_bound`.
    mechanism : callable
        Returns what the run is said to be for a value, such as ``lambda sigma:
        PoissonSampled(Gaussian(sigma), 0.01) * 1000``. From one end of the range to the other it
        must reveal more and more, or less and less.
    between : tuple of two float
        The range of values.

    Returns
    -------
    float or None
        A value that is refuted, with all that reveal less; one next to it, towards more, is not,
        unless it is the end. None: nothing in the range is refuted. A lower bound of epsilon is
        ``PLDAccountant().compose(mechanism(value)).get_epsilon_bounds(delta)[0]``.

    Raises
    ------
    TypeError, ValueError, UnsupportedMechanismError
        If an argument is not as above, or a mechanism that `renyi.PLDAccountant` does not take.

    Examples
    --------
    >>> from renyi import Gaussian
    >>> rng = np.random.default_rng(1)
    >>> included = draw_canaries(1000, rng)
    >>> scores = rng.normal(0.0, 1.0, 1000) + 2.0 * included  # the noise multiplier is 1/2
    >>> noise = one_run_parameter_bound(scores, included, Gaussian, (0.1, 10.0), guesses=[100, 200])
    >>> 0.5 < noise < 1.2
    True
    """
    counts = _Guesses.among(scores, included, guesses, sides, confidence)
    if np.shape(between) != (2,):
        raise ValueError(f"between must be two numbers, got {between!r}")
    ends = [real_of(end, "between", "two numbers") for end in between]

    def claim(value: float) -> Accountant[Any]:
        return PLDAccountant().compose(mechanism(value))

    private, revealing = sorted(ends, key=lambda value: claim(value).get_advantage())
    if not counts.refute(_Curve.of(claim(private))):
        return None
    if counts.refute(_Curve.of(claim(revealing))):
        return revealing

    def value_at(place: float) -> float:  # from 1 to 2, so that a share next to 0 is found, too
        return private + (place - 1.0) * (revealing - private)

    def holds(place: float) -> bool:
        return not counts.refute(_Curve.of(claim(value_at(place))))

    return value_at(bisected(holds, 1.0, 2.0, WIDTH)[0])


LEVELS = np.geomspace(1e-10, 1.0, 4000)  # at which a trade-off function is asked for
WIDTH = 1e-4  # relative, of a search
LEAST_MU, LARGEST_MU = 1e-4, 100.0  # that are searched for


class _Curve(NamedTuple):
    """A trade-off function that is its own inverse, from below, by its values f(1 - r)."""

    levels: list[float]
    values: list[float]

    @classmethod
    def of(cls, accountant: Accountant[Any]) -> _Curve:
        """Return that of what was composed, of the worse direction."""
        if accountant.adjacency == "replace_one":
            raise ValueError(
                "accountant must have the adjacency of a canary in the run or not, "
                "'add_remove' or 'zero_out', got 'replace_one'"
            )
        return cls(LEVELS.tolist(), np.asarray(accountant.get_beta(_ALPHAS)).tolist())

    @classmethod
    def of_gaussian(cls, mu: float) -> _Curve:
        """Return that of mu-Gaussian privacy."""
        return cls(LEVELS.tolist(), special.gaussian_tradeoff_lower(mu, _ALPHAS).tolist())

    def refutes(self, tau: float, m: int, guesses: int, correct: int) -> bool:
        """Return whether the probability of so many right guesses is below tau."""
        # 1 - f is at most what the level below says. All sums are of positive terms, rounded down.
        right, wrong = tau * correct / m, tau * (guesses - correct) / m
        most = guesses / m * (1.0 + (correct + 8.0) * 2.0**-50)
        for i in range(correct - 1, -1, -1):
            place = bisect_right(self.levels, right) - 1
            least = self.values[place] if place >= 0 else 0.0
            if right + wrong > most or not least > wrong:
                break
            right += i / (guesses - i) * (least - wrong)
            wrong = least
        return right + wrong > most


_ALPHAS = np.nextafter(1.0 - LEVELS, 1.0)


class _Guesses(NamedTuple):
    """Right guesses at several numbers of guesses, each with its share of what may fail."""

    canaries: int
    counts: list[tuple[int, int]]
    failing: float

    @classmethod
    def among(
        cls, scores: Any, included: Any, guesses: Any, sides: Sides, confidence: float
    ) -> _Guesses:
        values, inside = _canaries_of(scores, included)
        one_of(sides, "sides", get_args(Sides))
        numbers = _guesses_of(guesses, values.size)
        found = [(number, _correct(values, inside, number, sides)) for number in numbers]
        return cls(values.size, found, failing_of(confidence) / len(numbers) * (1.0 - 2.0**-52))

    def refute(self, curve: _Curve) -> bool:
        """Return whether any of them refutes a trade-off function."""
        return any(curve.refutes(self.failing, self.canaries, *counts) for counts in self.counts)


def _canaries_of(scores: Any, included: Any) -> tuple[Scores, npt.NDArray[np.bool_]]:
    values, inside = scores_of(scores, "scores"), np.asarray(included)
    if inside.dtype != np.bool_ or inside.shape != values.shape:
        raise ValueError(
            f"included must be booleans, one for each of {values.size} scores, got {included!r}"
        )
    return values, inside


def _correct(
    scores: Scores, included: npt.NDArray[np.bool_], guesses: int, sides: Sides = "both"
) -> int:
    """Return the least number of right guesses over all orders of equal scores."""
    low = guesses // 2 if sides == "both" else 0
    high = guesses - low
    first = np.lexsort((included, -scores))[:high]
    last = np.lexsort((~included, scores))[:low]
    return int(np.count_nonzero(included[first]) + np.count_nonzero(~included[last]))


def _least_epsilon(delta: float, m: int, r: int, v: int, failing: float) -> float:
    """Return an epsilon whose p-value is at most ``failing``, next to the largest; or 0.

    Privacy with a smaller epsilon implies privacy with this one, so smaller ones are refuted too:
    the p-value need not rise with epsilon. The search is over e^eps / (1 + e^eps), a double.
    """
    low, high = 0.5, 1.0
    while low < (middle := 0.5 * (low + high)) < high and high - low > 2.0**-40 * (1.0 - middle):
        if _p_value(middle, delta, m, r, v) <= failing:
            low = middle
        else:
            high = middle
    # 2q - 1 and 1 - q are exact for q in [1/2, 1); a quotient and a logarithm, rounded down.
    return math.log1p((2.0 * low - 1.0) / (1.0 - low)) * (1.0 - 2.0**-49)


def _p_value(q: float, delta: float, m: int, r: int, v: int) -> float:
    tail = tail_bounds(r, q, v)[1]
    extra = 2.0 * m * delta * largest_mean_upper(r, q, v) if delta else 0.0
    # Three roundings, and what underflow may hide.
    return min((tail + extra) * (1.0 + 2.0**-50) + 2.0**-1000, 1.0)


def _guesses_of(guesses: Any, m: int) -> list[int]:
    if guesses is None:
        return [max(m >> k, 1) for k in range(max((m // 32).bit_length(), 1))]
    several = [guesses] if np.ndim(guesses) == 0 else list(guesses)
    numbers = [integer_of(value, "guesses", 1) for value in several]
    if not numbers or max(numbers) > m:
        raise ValueError(f"guesses must be integers in [1, {m}], got {guesses!r}")
    return numbers


def _counts(canaries: Any, guesses: Any, correct: Any) -> tuple[int, int, int]:
    m, r, v = (
        count_of(value, name)
        for value, name in ((canaries, "canaries"), (guesses, "guesses"), (correct, "correct"))
    )
    if not v <= r <= m <= LARGEST_COUNT:
        raise ValueError(
            "correct, guesses and canaries must be ascending and at most 1e8, "
            f"got {correct!r}, {guesses!r}, {canaries!r}"
        )
    return m, r, v
