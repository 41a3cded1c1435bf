"""Reports of local randomizers, drawn with their exact probabilities, and estimates from them.

A coin is whether a uniform number, whose bits are drawn as needed, is below a probability. The
probability is rational or contains an exponential, which is enclosed as tightly as needed.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._validation import array_of, float_above
from renyi.mechanisms import (
    HadamardResponse,
    LaplaceResponse,
    LocalHashing,
    LocalRandomizer,
    RandomizedResponse,
    ResponseTable,
    SubsetSelection,
    UnaryEncoding,
)
from renyi.noise import SecureGenerator, add_laplace_noise
from renyi.noise.generator import generator_of
from renyi.release._draws import _bits, _exp_bracket

Array = npt.NDArray[np.float64]
Law = Callable[[int], tuple[Fraction, Fraction]]
Responses = RandomizedResponse | LocalRandomizer

WORD = 64


class Estimate(NamedTuple):
    """Unbiased estimates, and unbiased estimates of their variances, given the users' values."""

    value: Any
    variance: Any


def randomize(
    randomizer: Responses, values: npt.ArrayLike, *, generator: object = None
) -> npt.NDArray[Any]:
    """Return a report for every user; they still have to be shuffled.

    Args:
        randomizer: The randomizer that every user runs.
        values (array_like of shape (n,)): The value of each user: whole numbers from 0 to
            choices - 1 (rows of a table), or for `LaplaceResponse` numbers of [0, 1].
        generator: The source of randomness; by default that of the process.

    Returns:
        ndarray: Answers, columns or numbers, of shape (n,); or sets as bits, (n, choices).

    Probabilities are exact; Laplace noise is ideal and rounded to a lattice, see `renyi.noise`.

    >>> randomize(RandomizedResponse(1.0, 4), [0, 3, 3])
    array([0, 3, 3])
    >>> randomize(UnaryEncoding(1.0, 5), [0, 3, 3]).shape
    (3, 5)
    """
    source = generator_of(generator)
    held = array_of(values, "values", "an array, a value for each user")
    if isinstance(randomizer, LaplaceResponse):
        if held.ndim != 1 or held.dtype.kind not in "fiu" or not np.all((held >= 0) & (held <= 1)):
            raise ValueError(f"values must be a 1-d array of numbers in [0, 1], got {values!r}")
        noisy = held.astype(np.float64)
        scale = float_above(1 / Fraction(randomizer.epsilon))
        return add_laplace_noise(noisy, scale, generator=source)
    choices = _choices(randomizer)
    if held.ndim != 1 or held.dtype.kind not in "iu" or not np.all((held >= 0) & (held < choices)):
        raise ValueError(
            f"values must be a 1-d array of whole numbers in [0, {choices}), got {values!r}"
        )
    numbers = source.numpy_generator()
    if isinstance(randomizer, ResponseTable):
        return _from_table(randomizer, held, source)
    kept = _coins(held.shape, _supports(randomizer)[0], source)
    if isinstance(randomizer, RandomizedResponse):
        others = numbers.integers(1, max(choices, 2), size=held.shape)
        return np.where(kept, held, (held + others) % choices)
    if isinstance(randomizer, HadamardResponse):
        columns, rows = numbers.integers(randomizer.columns, size=held.shape), held + 1
        inside = np.bitwise_count(columns & rows) % 2 == 0
        return np.where(inside == kept, columns, columns ^ (rows & -rows))  # a bijection of halves
    if isinstance(randomizer, SubsetSelection):
        bits = np.arange(choices - 1) < (randomizer.size - kept)[:, None]
        bits = np.insert(numbers.permuted(bits, axis=1), 0, kept, axis=1)
        places = (np.arange(choices) - held[:, None]) % choices
        return np.take_along_axis(bits, places, axis=1)
    bits = _coins((held.size, choices), _supports(randomizer)[1], source)
    bits[np.arange(held.size), held] = kept
    return bits


def estimate(randomizer: Responses, reports: npt.NDArray[Any]) -> Estimate:
    """Return what users hold, estimated from their reports in any order.

    Args:
        randomizer: The randomizer that every user ran.
        reports (ndarray): As `randomize` returns them.

    Returns:
        The number of users with each value, which may be negative, and the variances, of shape
        (choices,); for `LaplaceResponse` the mean of the users' numbers, and its variance.

    Raises:
        TypeError, ValueError: If the reports are not of the randomizer, or do not depend on the
            values of users.

    >>> randomizer = HadamardResponse(2.0, 3)
    >>> reports = randomize(randomizer, np.repeat([0, 1, 2], [6000, 3000, 1000]))
    >>> counts, variance = estimate(randomizer, reports)
    >>> bool(np.all(abs(counts - [6000, 3000, 1000]) < 6.0 * np.sqrt(variance)))
    True
    >>> numbers = LaplaceResponse(2.0)
    >>> mean, variance = estimate(numbers, randomize(numbers, np.full(10_000, 0.3)))
    >>> abs(mean - 0.3) < 0.05, variance
    (True, 5e-05)
    """
    reports = array_of(reports, "reports", "an array, a report of each user")
    if not reports.size:
        raise ValueError("reports must be of at least one user, got none")
    if isinstance(randomizer, LaplaceResponse):
        if reports.ndim != 1 or reports.dtype.kind not in "iuf" or not np.isfinite(reports).all():
            raise ValueError(f"reports must be a 1-d array of finite numbers, got {reports!r}")
        return Estimate(float(np.mean(reports)), 2.0 / (randomizer.epsilon**2 * len(reports)))
    choices = _choices(randomizer)
    if isinstance(randomizer, ResponseTable):
        table = np.array(randomizer.rows)
        if np.linalg.matrix_rank(table) < choices:
            raise ValueError("randomizer must have independent rows, got others")
        weights = np.linalg.pinv(table)  # of reports, by inputs
        seen = _counted(reports, table.shape[1])
        found = seen @ weights
        return Estimate(found, found @ (table @ weights**2 - np.eye(choices)))
    if isinstance(randomizer, RandomizedResponse):
        support = _counted(reports, choices)
    elif isinstance(randomizer, HadamardResponse):
        seen = _counted(reports, randomizer.columns)
        columns, rows = np.arange(randomizer.columns), np.arange(1, choices + 1)
        support = seen @ (np.bitwise_count(columns[:, None] & rows) % 2 == 0)
    else:
        if reports.shape[1:] != (choices,) or not np.isin(reports, (0, 1)).all():
            raise ValueError(f"reports must be rows of {choices} bits, got {reports!r}")
        support = reports.sum(axis=0)
    p, q = (float(sum(law(WORD)) / 2) for law in _supports(randomizer))
    if p == q:
        raise ValueError(f"randomizer must depend on what users hold, got {randomizer!r}")
    users = len(reports)
    counts = (support - users * q) / (p - q)
    variance = (counts * p * (1.0 - p) + (users - counts) * q * (1.0 - q)) / (p - q) ** 2
    return Estimate(counts, variance)


def _counted(reports: npt.NDArray[Any], choices: int) -> npt.NDArray[np.int64]:
    """Return the number of each report."""
    inside = reports.dtype.kind in "iu" and np.all((reports >= 0) & (reports < choices))
    if reports.ndim != 1 or not inside:
        raise ValueError(
            f"reports must be a 1-d array of integers below {choices}, got {reports!r}"
        )
    return np.bincount(reports.astype(np.int64), minlength=choices)


def _choices(randomizer: Any) -> int:
    if isinstance(randomizer, ResponseTable):
        return len(randomizer.rows)
    known = RandomizedResponse | HadamardResponse | SubsetSelection | UnaryEncoding | LocalHashing
    if not isinstance(randomizer, known):
        raise TypeError(
            f"randomizer must be a RandomizedResponse or LocalRandomizer, got {randomizer!r}"
        )
    return randomizer.choices


def _supports(randomizer: Any) -> tuple[Law, Law]:
    """Return the probabilities that a report supports the user's value, and another value."""
    if isinstance(randomizer, RandomizedResponse):
        p, others = Fraction(randomizer.p), max(randomizer.choices - 1, 1)
        return _known(p), _known((1 - p) / others)
    epsilon = Fraction(randomizer.epsilon)
    if isinstance(randomizer, HadamardResponse):
        return _logistic(Fraction(1), epsilon), _known(Fraction(1, 2))
    if isinstance(randomizer, SubsetSelection):
        d, k = randomizer.choices, randomizer.size
        own = _logistic(Fraction(d - k, k), epsilon)

        def other(bits: int) -> tuple[Fraction, Fraction]:
            low, high = own(bits)
            return (k - high) / (d - 1), (k - low) / (d - 1)

        return own, other
    if isinstance(randomizer, LocalHashing):
        g = randomizer.buckets
        return _logistic(Fraction(g - 1), epsilon), _known(Fraction(1, g))
    if randomizer.optimized:
        return _known(Fraction(1, 2)), _logistic(Fraction(1), -epsilon)
    return _logistic(Fraction(1), epsilon / 2), _logistic(Fraction(1), -epsilon / 2)


def _known(p: Fraction) -> Law:
    return lambda bits: (p, p)


def _logistic(factor: Fraction, x: Fraction) -> Law:
    """Return brackets of the probability 1/(1 + factor e^-x)."""

    def law(bits: int) -> tuple[Fraction, Fraction]:
        low, high = _exp_bracket(abs(x), 2 * bits)
        if x < 0:
            return low / (low + factor), high / (high + factor)
        return 1 / (1 + factor * high), 1 / (1 + factor * low)

    return law


def _coins(shape: tuple[int, ...], law: Law, source: SecureGenerator) -> npt.NDArray[np.bool_]:
    """Return independent coins with the probability that ``law`` brackets."""
    low, high = law(WORD)
    sure, perhaps = math.floor(low * 2**WORD), math.ceil(high * 2**WORD)
    words = source.numpy_generator().integers(2**WORD, size=shape, dtype=np.uint64)
    if sure == 2**WORD:
        return np.ones(shape, dtype=bool)
    result = words < np.uint64(sure)
    if perhaps > sure:
        open_ = (words >= np.uint64(sure)) & (words <= np.uint64(perhaps - 1))
        for place in zip(*np.nonzero(open_), strict=True):
            result[place] = _is_below(int(words[place]), law, source)
    return result


def _is_below(number: int, law: Law, source: SecureGenerator) -> bool:
    """Return whether a uniform number is below a probability; its first 64 bits are given."""
    bits = WORD
    while True:
        low, high = law(bits)
        if number + 1 <= low * 2**bits:
            return True
        if number >= high * 2**bits:
            return False
        number, bits = (number << WORD) | _bits(WORD, source), bits + WORD


def _from_table(
    table: ResponseTable, held: npt.NDArray[Any], source: SecureGenerator
) -> npt.NDArray[Any]:
    """Return reports, one column after the other: each given that no earlier one was drawn."""
    reports = np.full(held.shape, len(table.rows[0]) - 1)
    for value, row in enumerate(table.rows):
        waiting, left = np.flatnonzero(held == value), sum(map(Fraction, row))
        for report, chance in enumerate(map(Fraction, row)):
            if chance and waiting.size:
                chosen = _coins(waiting.shape, _known(chance / left), source)
                reports[waiting[chosen]] = report
                waiting = waiting[~chosen]
            left -= chance
    return reports
