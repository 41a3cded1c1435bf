r"""One run with many canaries, each included or not by the toss of a coin.

Canaries are records or gradients whose traces in a model are searched for. The attack guesses r of
m coins, and v guesses are right. The adjacency is adding or removing a canary. The number r is
fixed beforehand; several numbers share the probability to fail (Bonferroni's inequality).

A trade-off function f that is its own inverse bounds P[v or more right] (Mahloujifar, Melis,
Chaudhuri 2024, arXiv 2410.22235). With :math:`r_i = \sum_{j \ge i} (j/m) P[j \text{ right}]` and
:math:`h_i` the same sum of wrong guesses, flipping one coin and the convexity of f give
:math:`h_i \ge f(1 - r_{i+1})`. From :math:`P[\ge v \text{ right}] \ge \tau` the recursion runs
down to :math:`r_0 + h_0`, which is r/m: a larger sum refutes tau.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from renyi._adjacency import one_of
from renyi._validation import FINITE_POSITIVE, integer_of, number_in, uses_of
from renyi.audit._claims import Audit, Curve, Source, generator_of, scores_of, shown


def draw_canaries(count: int, generator: Source = None) -> npt.NDArray[np.bool_]:
    """Toss a fair coin for each canary: whether it is in the run.

    Args:
        count: Number of canaries, at least 1.
        generator: By default a new `renyi.noise.SecureGenerator`.

    Returns:
        array of bool, of shape (count,): It must be kept secret from the maker of the scores.

    >>> draw_canaries(1000).shape
    (1000,)
    """
    number = integer_of(count, "count", 1)
    return np.asarray(generator_of(generator).random(number) < 0.5)


def dirac_gradients(
    count: int,
    dimension: int,
    norm: float = 1.0,
    *,
    dtype: npt.DTypeLike = np.float64,
    generator: Source = None,
) -> npt.NDArray[Any]:
    """Return gradients of canaries: each has one nonzero entry, at a place of its own.

    They are the easiest to detect: the score of a canary is its inner product with the sum of all
    updates, against the direction of the descent (Nasr et al. 2023, arXiv 2302.07956; Steinke,
    Nasr, Jagielski 2023, arXiv 2305.08846).

    Args:
        count, dimension: Number of canaries and of all parameters: ``count <= dimension``.
        norm: Norm of each gradient, positive and finite; the clipping norm gives the strongest
            test.
        dtype: A floating-point dtype.
        generator: By default a new `renyi.noise.SecureGenerator`.

    Returns:
        array of shape (count, dimension): Split it like the parameters if they are a list.

    >>> rows = dirac_gradients(3, 10, norm=0.5)
    >>> rows.sum(axis=1)
    array([0.5, 0.5, 0.5])
    """
    entries = integer_of(dimension, "dimension", 1)
    rows = uses_of(count, "count", 1, entries)
    kind = np.dtype(dtype)
    if kind.kind != "f":
        raise TypeError(f"dtype must be one of floating-point numbers, got {dtype!r}")
    length = number_in(norm, "norm", FINITE_POSITIVE)
    gradients = np.zeros((rows, entries), dtype=kind)
    places = generator_of(generator).choice(entries, rows, replace=False)
    gradients[np.arange(rows), places] = length
    return gradients


def mislabelled(
    labels: npt.ArrayLike, classes: int, generator: Source = None
) -> npt.NDArray[np.int64]:
    """Return another label for each record, uniform over the other labels.

    A model that has learnt the wrong label of a record was trained on it: the score is minus the
    loss.

    Args:
        labels: Labels in [0, classes).
        classes: Number of classes, at least 2.
        generator: By default a new `renyi.noise.SecureGenerator`.

    >>> mislabelled([0, 1, 1], 2)
    array([1, 0, 0])
    """
    number, given = integer_of(classes, "classes", 2), np.asarray(labels)
    if given.dtype.kind not in "iu" or np.any((given < 0) | (given >= number)):
        raise ValueError(f"labels must be integers in [0, {number}), got {shown(given)}")
    shift = generator_of(generator).integers(1, number, given.shape)
    return np.asarray((given + shift) % number, dtype=np.int64)


Sides = Literal["both", "in"]


class OneRun(Audit):
    """One run whose canaries were each included or not by an independent fair coin.

    The guess is that the canaries with the highest scores were in the run, and as many with the
    lowest scores were not; there is no guess about the rest. Among equal scores the guesses count
    as wrong as they can be.

    Args:
        scores (array of shape (m,), or mapping): A score for each canary, at least 4; a higher
            score indicates that it was in the run.
        included (array of bool, of shape (m,), or mapping): Whether each canary was included:
            `draw_canaries`. Two mappings are joined by their keys, the identifiers of canaries, in
            any order.
        guesses: Number of canaries to guess about, in [1, m], chosen before the run. Several
            numbers have equal shares of the probability to fail, and the best one counts. By
            default m, m / 2, m / 4, ... down to 32.
        sides ({"both", "in"}): Whether canaries with low scores are guessed, too, or those with
            high scores only.

    Raises:
        ValueError: If identifiers are not the same.

    >>> from renyi.audit import draw_canaries
    >>> rng = np.random.default_rng(1)
    >>> included = draw_canaries(10_000, rng)
    >>> scores = included + rng.laplace(0.0, 1.0 / 2.0, 10_000)  # (2, 0)-private
    >>> 1.4 < OneRun(scores, included).epsilon_lower_bound(1e-6) < 2.0
    True
    """

    def __init__(
        self,
        scores: Any,
        included: Any,
        *,
        guesses: int | npt.ArrayLike | None = None,
        sides: Sides = "both",
    ) -> None:
        if isinstance(scores, Mapping):
            included = _joined(scores, included)
            scores = list(scores.values())
        values, inside = scores_of(scores, "scores"), np.asarray(included)
        if inside.dtype != np.bool_ or inside.shape != values.shape:
            raise ValueError(
                f"included must be booleans, one for each of {values.size} scores, "
                f"got {shown(inside)}"
            )
        one_of(sides, "sides", get_args(Sides))
        numbers = _guesses_of(guesses, values.size)
        highest = np.cumsum(inside[np.lexsort((inside, -values))])
        lowest = np.cumsum(~inside[np.lexsort((~inside, values))])
        tests = []
        for number in numbers:
            low = number // 2 if sides == "both" else 0
            right = int(highest[number - low - 1]) + (int(lowest[low - 1]) if low else 0)
            share = (1.0 - 2.0**-50) / len(numbers)
            tests.append((_Guesses(values.size, number, right), share))
        super().__init__(tests)
        self._canaries, self._numbers, self._sides = values.size, numbers, sides

    def _like(self, curve: Curve, generator: np.random.Generator) -> OneRun:
        included = draw_canaries(self._canaries, generator)
        scores = curve.drawn(included, generator)
        return OneRun(scores, included, guesses=self._numbers, sides=self._sides)


class _Guesses(NamedTuple):
    """Right guesses about some of the canaries, the fewest over all orders of equal scores."""

    canaries: int
    guesses: int
    correct: int

    def refutes(self, curve: Curve, failing: float) -> bool:
        """Return whether the probability of so many right guesses is at most ``failing``."""
        m, guesses = self.canaries, self.guesses
        wrong = failing * (guesses - self.correct) / m
        right = failing * self.correct / m * (1.0 - 2.0**-50)
        most = guesses / m * (1.0 + 2.0**-48)  # the margin covers the rounding of ``wrong``
        for i in range(self.correct - 1, -1, -1):
            least = curve.missed(right)
            if right + wrong > most or not least > wrong:
                break
            # Four roundings of positive numbers, downward.
            right = (right + i / (guesses - i) * (least - wrong)) * (1.0 - 2.0**-50)
            wrong = least
        return right + wrong > most


def _joined(scores: Mapping[Any, Any], included: Any) -> list[Any]:
    """Return whether canaries were included, in the order of their scores."""
    if not isinstance(included, Mapping) or (odd := scores.keys() ^ included.keys()):
        named = type(included).__name__
        if isinstance(included, Mapping):
            named = f"{min(map(repr, odd))} once"
        raise ValueError(f"included must have the identifiers of scores, each, got {named}")
    return [included[key] for key in scores]


def _guesses_of(guesses: Any, m: int) -> list[int]:
    if guesses is None:
        return [max(m >> k, 1) for k in range(max((m // 32).bit_length(), 1))]
    several = [guesses] if np.ndim(guesses) == 0 else list(guesses)
    numbers = [integer_of(value, "guesses", 1) for value in several]
    if not numbers or max(numbers) > m:
        raise ValueError(f"guesses must be integers in [1, {m}], got {guesses!r}")
    return numbers
