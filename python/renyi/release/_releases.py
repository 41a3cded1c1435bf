"""The object that binds a budget and a generator, and releases statistics under it."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from renyi._adjacency import Adjacency
from renyi._arrays import outline
from renyi._rounding import round_down
from renyi._validation import PROBABILITY, Range, number_in
from renyi.filters import GDPFilter, PrivacyFilter, RenyiFilter, ZCDPFilter
from renyi.ledger import Ledger
from renyi.mechanisms import Exponential, Mechanism
from renyi.noise import SecureGenerator
from renyi.noise.generator import generator_of
from renyi.release import _columns
from renyi.release._draws import REDUCED, Exponents, Noise, chosen, noise_of, of_ranks, of_utilities
from renyi.release._release import Release

MOST_CANDIDATES = 1 << 24
CHOICE_EPSILON = Range(2.0**-20, 2.0**10)
SENSITIVITY = Range(2.0**-500, 2.0**500)
EXTENDED = Range(-np.inf, np.inf)
BUDGETS = (PrivacyFilter, ZCDPFilter, GDPFilter, RenyiFilter)


class Releases:
    """Statistics of one data set, charged to one budget.

    Every method takes a column of records, checks it, charges the budget and only then draws. A
    refusal draws nothing and leaves the budget as it was. A release that is interrupted after the
    charge is spent without an answer, never the reverse.

    One of these arguments states the amount of noise:

    * ``epsilon``: the release is purely private with this epsilon. Laplace noise, on whole numbers
      for counts.
    * ``rho``: the release costs this much zero-concentrated privacy. Gaussian noise.
    * ``noise``: a mechanism of `renyi.mechanisms`, ``Gaussian``, ``Laplace`` or, for counts,
      ``DiscreteLaplace``. This mechanism is charged, and the scale in units of the value follows
      from the sensitivity. Under "replace_one" its multiplier is relative to half of the distance
      of neighbours, as everywhere in this package.

    Args:
        budget (PrivacyFilter, ZCDPFilter, GDPFilter, RenyiFilter or Ledger): The budget to charge.
            The adjacency is that of the budget, "add_remove" or "replace_one".
        dataset: The data set of a ledger.
        generator (SecureGenerator or numpy.random.Generator): As for
            `renyi.noise.add_gaussian_noise`; by default the process's own.

    Raises:
        LedgerError: If the ledger cannot be read.

    A person is assumed to be one record of the column. Noise is ideal and rounded to a lattice, or
    on whole numbers; the numbers of records are rounded one by one to multiples of a power of two,
    clipped and added as integers. The stated sensitivity is therefore that of the computation, for
    any order and number of records. The time of a release is not protected, nor are errors: the
    caller must be allowed to see the data. The type of a column must not depend on single records,
    as it does if one word in a file turns all its numbers into strings: state the types when files
    are read.

    Every release raises `BudgetExceededError` if its charge would exceed the budget, and the errors
    of `renyi.Ledger.charge`. Nothing is charged or drawn then.

    Threads may share one object.

    Source: Mironov 2012, CCS (doi 10.1145/2382196.2382264); Casacuberta, Shoemate, Vadhan, Wagaman
    2022, arXiv 2207.10635.

    >>> from renyi import PrivacyFilter
    >>> budget = PrivacyFilter(epsilon=1.0, delta=1e-6)
    >>> releases = Releases(budget)
    >>> people = releases.count(np.ones(5000, bool), epsilon=0.1, note="people")
    >>> abs(people.value - 5000) < 300, budget.remaining < 1.0
    (True, True)
    """

    def __init__(self, budget: Any, dataset: str | None = None, *, generator: Any = None) -> None:
        adjacency: Adjacency
        if isinstance(budget, Ledger):
            if dataset is None:
                raise ValueError("dataset must be the name of a data set of the ledger, got None")
            adjacency = budget.status(dataset).adjacency
        elif isinstance(budget, BUDGETS):
            if dataset is not None:
                raise ValueError(f"dataset must be None without a ledger, got {dataset!r}")
            adjacency = budget.adjacency
        else:
            kinds = ", ".join(kind.__name__ for kind in BUDGETS)
            raise TypeError(f"budget must be one of {kinds} and Ledger, got {budget!r}")
        if adjacency == "zero_out":
            raise ValueError(
                "budget must have the adjacency 'add_remove' or 'replace_one', got 'zero_out'"
            )
        self._budget, self._dataset, self._adjacency = budget, dataset, adjacency
        self._generator: SecureGenerator = generator_of(generator)

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation."""
        return self._adjacency

    @property
    def remaining(self) -> float:
        """The share of the budget that is left, in [0, 1]."""
        if self._dataset is None:
            return float(self._budget.remaining)
        return float(self._budget.status(self._dataset).remaining)

    def count(
        self,
        condition: Any,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        noise: Mechanism | None = None,
        note: str = "",
    ) -> Release:
        """Release the number of records that fulfil a condition: an int, which may be negative.

        Neighbours differ by 1, under both adjacencies.

        Args:
            condition (array-like of bool): One for each record.
            epsilon, rho, noise: The amount of noise, see `Releases`.
            note: A note for the release, and the history of a ledger.
        """
        column = _columns.column_of(condition, "condition", "a column of booleans")
        if column.dtype.kind != "b" and column.size:
            raise TypeError(
                "condition must be a column of booleans, such as ages >= 18, or notna() for all "
                f"records with an entry, got {outline(column)}"
            )
        drawn = self._noise(noise, epsilon, rho, whole=True)
        exact = np.array([np.count_nonzero(column)], np.int64)
        self._charge(drawn.mechanism, note)
        value = int(drawn.add_to_counts(exact, self._generator)[0])
        return self._released("count", value, drawn, note)

    def sum(
        self,
        values: Any,
        *,
        lower: float,
        upper: float,
        epsilon: float | None = None,
        rho: float | None = None,
        noise: Mechanism | None = None,
        missing: float | None = None,
        note: str = "",
    ) -> Release:
        """Release the sum of numbers, each clipped to [lower, upper], as a float.

        Neighbours differ by the larger of the absolute values of the bounds under "add_remove", by
        upper - lower under "replace_one".

        Args:
            values (array-like of numbers): One for each record. Infinities are clipped, as other
                numbers.
            lower, upper: Bounds, which must not depend on the data.
            missing: The number that replaces NaN and None, which are refused without it.
            epsilon, rho, noise, note: As for `count`.

        Each number is rounded to a multiple of a power of two, about 2^-36 of the distance of
        neighbours; whole numbers do not change if this distance is at most 2^36.
        """
        bounds = _columns.bounds_of(lower, upper)
        low, high = bounds
        width = high - low if self._replaced else max(-low, high)
        grid = _columns.Grid.between(low, high, width)
        reach = grid.high - grid.low if self._replaced else max(-grid.low, grid.high)
        drawn = self._noise(noise, epsilon, rho, distance=reach * grid.step)
        _check_fit(drawn, grid)
        total, _ = grid.total(_columns.numbers_of_column(values, missing))
        self._charge(drawn.mechanism, note)
        value = float(drawn.add_to_sum(total, grid.step, self._generator))
        return self._released("sum", value, drawn, note, bounds=bounds)

    def mean(
        self,
        values: Any,
        *,
        lower: float,
        upper: float,
        epsilon: float | None = None,
        rho: float | None = None,
        noise: Mechanism | None = None,
        missing: float | None = None,
        note: str = "",
    ) -> Release:
        """Release the mean of numbers clipped to [lower, upper]; `Release.ends` has the two sums.

        Under "replace_one" the number of records is public: the sum of the records, which
        neighbours move by upper - lower, is released and divided by this number. Under "add_remove"
        the number is not public: the sums of the distances of records to the lower and to the upper
        bound are released, each with noise. A record adds to both, by upper - lower in total. The
        ratio of the sums gives the mean, and they add up to a number of records: no budget goes to
        a count.

        Arguments and errors are those of `sum`.

        Raises:
            ValueError: If there are no records under "replace_one".
        """
        bounds = _columns.bounds_of(lower, upper)
        grid = _columns.Grid.between(*bounds, bounds[1] - bounds[0])
        distance = (grid.high - grid.low) * grid.step
        drawn = self._noise(noise, epsilon, rho, distance=distance, joint=not self._replaced)
        _check_fit(drawn, grid)
        total, count = grid.total(_columns.numbers_of_column(values, missing))
        if self._replaced:
            if count == 0:
                raise ValueError("values must have a record, got none")
            self._charge(drawn.mechanism, note)
            mean = float(drawn.add_to_sum(total, grid.step, self._generator) / count)
            value = min(max(mean, bounds[0]), bounds[1])
            return self._released("mean", value, drawn, note, bounds=bounds, records=count)
        self._charge(drawn.mechanism, note)
        near = drawn.add_to_sum(total - count * grid.low, grid.step, self._generator)
        far = drawn.add_to_sum(count * grid.high - total, grid.step, self._generator)
        share = near / (near + far) if near + far > 0 else Fraction(1, 2)
        value = float(grid.low * grid.step + min(max(share, Fraction(0)), Fraction(1)) * distance)
        value = min(max(value, bounds[0]), bounds[1])
        ends = float(near), float(far)
        return self._released("mean", value, drawn, note, bounds=bounds, ends=ends)

    def histogram(
        self,
        values: Any,
        *,
        bins: Iterable[float] | None = None,
        categories: Iterable[Any] | None = None,
        epsilon: float | None = None,
        rho: float | None = None,
        noise: Mechanism | None = None,
        note: str = "",
    ) -> Release:
        """Release the number of records in each given cell; `Release.labels` names the cells.

        A record is in one cell or in none. Under "add_remove" neighbours differ by 1 in one cell;
        under "replace_one" by 1 in at most two, which are both charged.

        Args:
            values (array-like): One for each record. Records in no cell, NaN and None among them,
                are not counted.
            bins: Ascending edges of intervals, closed below and open above, the last closed. They
                may begin with -inf and end with inf.
            categories (iterable): The values of the cells: strings, numbers below 2^53 or booleans,
                all different. Give either this or ``bins``; neither may depend on the data: a cell
                that exists because a record is in it reveals that record.
            epsilon, rho, noise, note: As for `count`.
        """
        labels, exact = _cells(values, bins, categories)
        parts = 2 if self._replaced and len(labels) > 1 else 1
        drawn = self._noise(noise, epsilon, rho, whole=True, parts=parts)
        self._charge(drawn.mechanism, note)
        value = tuple(drawn.add_to_counts(exact, self._generator).tolist())
        return self._released("histogram", value, drawn, note, labels=labels)

    def quantile(
        self,
        values: Any,
        q: float,
        *,
        candidates: Any,
        epsilon: float,
        missing: float | None = None,
        note: str = "",
    ) -> Release:
        """Release a quantile: one of the candidates, by the exponential mechanism.

        The utility of a candidate is minus the distance of q n, n the number of records, from the
        interval between the number of records below the candidate and the number at most the
        candidate. Neighbours change the utility by max(q, 1 - q) under "add_remove", by 1 under
        "replace_one".

        Args:
            values (array-like of numbers): One for each record; infinities may be among them.
            q: In [0, 1]: 0.5 for the median.
            candidates (array-like of numbers): Ascending, at most 2^24. They must not depend on the
                data: ``np.arange(121)`` for ages. They should include numbers that many records
                equal. If records are few, candidates far from all records are likely, too: choose
                candidates within the range of possible records.
            epsilon: The largest privacy loss, in [2^-20, 2^10], and the length of the interval of
                the losses: `renyi.Exponential` is charged.
            missing, note: As for `sum`.

        Source: Smith 2011, STOC (doi 10.1145/1993636.1993743).
        """
        rank = Fraction(number_in(q, "q", PROBABILITY))
        points = _points(candidates)
        charged = _range(epsilon)
        rate = Fraction(charged.epsilon) / (2 * (1 if self._replaced else max(rank, 1 - rank)))
        pieces = _columns.numbers_of_column(values, missing)
        below, upto, count = _columns.sides_of(pieces, points.astype(np.float64))
        exponents = of_ranks(below, upto, rank * count, rate)
        return self._choose("quantile", points, exponents, charged, note)

    def noisy_max(
        self, values: Any, *, categories: Iterable[Any], epsilon: float, note: str = ""
    ) -> Release:
        """Release the category with the most records, or nearly the most.

        A category of k records has probability proportional to e^(epsilon k) under "add_remove",
        where neighbours move counts one way only, and to e^(epsilon k / 2) under "replace_one".
        This is the law of the largest count with Gumbel noise.

        Args:
            values (array-like): One for each record. Records in no category are not counted.
            categories (iterable): As for `histogram`.
            epsilon, note: As for `quantile`.

        Source: Durfee, Rogers 2019, arXiv 1905.04273.
        """
        labels = _labels(categories, "categories")
        charged = _range(epsilon)
        rate = Fraction(charged.epsilon) / (2 if self._replaced else 1)
        exponents = of_utilities(_columns.cells_of(values, labels).astype(np.float64), rate)
        return self._choose("noisy_max", labels, exponents, charged, note)

    def exponential(
        self,
        utilities: Any,
        *,
        sensitivity: float,
        epsilon: float,
        candidates: Iterable[Any] | None = None,
        one_way: bool = False,
        note: str = "",
    ) -> Release:
        """Release one of the candidates, by the exponential mechanism.

        Candidate r has probability proportional to e^(epsilon u(r) / (2 sensitivity)), exactly.

        Args:
            utilities (array-like of numbers): The utility of each candidate: finite, and exactly a
                double.
            sensitivity: The largest distance that neighbours move any utility, in [2^-500, 2^500].
                The caller must prove it for the given doubles: whole numbers below 2^53 are best.
            epsilon, note: As for `quantile`.
            candidates (iterable): As many strings, finite numbers or booleans, all different; by
                default the places 0, 1, ....
            one_way: Whether neighbours move all utilities the same way, or not at all, as counts
                under "add_remove". The exponent is then epsilon u(r) / sensitivity.

        Source: McSherry, Talwar 2007, FOCS (doi 10.1109/FOCS.2007.66).
        """
        charged = _range(epsilon)
        reach = Fraction(number_in(sensitivity, "sensitivity", SENSITIVITY))
        rate = Fraction(charged.epsilon) / (reach * (1 if one_way else 2))
        numbers = _columns.utilities_of(utilities)
        labels = _labels(range(len(numbers)) if candidates is None else candidates, "candidates")
        if len(labels) != len(numbers):
            raise ValueError(
                f"candidates must be as many as utilities, {len(numbers)}, got {len(labels)}"
            )
        return self._choose("exponential", labels, of_utilities(numbers, rate), charged, note)

    @property
    def _replaced(self) -> bool:
        return self._adjacency == "replace_one"

    def _noise(self, noise: Any, epsilon: Any, rho: Any, **what: Any) -> Noise:
        return noise_of(noise, epsilon, rho, replaced=self._replaced, **what)

    def _charge(self, mechanism: Mechanism, note: str) -> None:
        """Charge the budget; nothing after this may fail."""
        if not isinstance(note, str):
            raise TypeError(f"note must be a string, got {note!r}")
        if self._dataset is None:
            self._budget.spend(mechanism)
        else:
            self._budget.charge(self._dataset, mechanism, note=note)

    def _released(
        self, query: str, value: Any, noise: Noise, note: str, records: int = 1, **more: Any
    ) -> Release:
        return Release(
            query,
            value,
            noise.mechanism,
            self._adjacency,
            note,
            noise=noise.law,
            scale=noise.scale / records,
            spacing=noise.spacing / records,
            **more,
        )

    def _choose(
        self, query: str, labels: Any, exponents: Exponents, charged: Exponential, note: str
    ) -> Release:
        self._charge(charged, note)
        place = chosen(exponents, self._generator)
        value = labels[place]
        value = value.item() if isinstance(value, np.generic) else value
        return Release(query, value, charged, self._adjacency, note)

    def __repr__(self) -> str:
        name = "" if self._dataset is None else f" of {self._dataset!r}"
        return f"<Releases{name}: {self._adjacency}, {round_down(self.remaining, 3)} remaining>"


def _check_fit(noise: Noise, grid: _columns.Grid) -> None:
    if not noise.fits(grid.step):
        raise ValueError(
            f"noise must be less between these bounds, got one of scale {noise.scale!r}, to whose "
            "lattice the numbers of records cannot be added exactly"
        )


def _cells(values: Any, bins: Any, categories: Any) -> tuple[tuple[Any, ...], Any]:
    if (bins is None) == (categories is None):
        raise ValueError(
            "one of bins and categories must be given: cells taken from the data would tell what "
            f"is in it, got bins {bins!r}, categories {categories!r}"
        )
    if bins is not None:
        if not isinstance(bins, Iterable) or isinstance(bins, str | bytes):
            raise TypeError(f"bins must be a sequence of edges, got {bins!r}")
        edges = np.array([number_in(edge, "bins", EXTENDED) for edge in bins])
        if len(edges) < 2 or not (edges[1:] > edges[:-1]).all():
            raise ValueError("bins must be at least two edges, ascending")
        pairs = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        return tuple(pairs), _columns.counts_between(values, edges)
    labels = _labels(categories, "categories")
    return labels, _columns.cells_of(values, labels)


def _labels(values: Any, name: str) -> tuple[Any, ...]:
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise TypeError(f"{name} must be a sequence, got {values!r}")
    labels = tuple(item.item() if isinstance(item, np.generic) else item for item in values)
    for label in labels:
        if not isinstance(label, str | int | float | bool) or label != label:
            raise TypeError(f"{name} must be strings, numbers or booleans, got {label!r}")
        if isinstance(label, float) and math.isinf(label):  # "inf" in JSON, as a string is
            raise ValueError(f"{name} must be finite where they are numbers, got {label!r}")
    if not labels or len(set(labels)) < len(labels):
        raise ValueError(f"{name} must be different, at least one, got {len(labels)} of them")
    return labels


def _points(candidates: Any) -> Any:
    allowed = "candidates must be ascending numbers, from 1 to 2^24 of them"
    grid = _columns.column_of(candidates, "candidates", "ascending numbers")
    if grid.dtype.kind not in "iuf" or not 0 < len(grid) <= MOST_CANDIDATES:
        raise ValueError(f"{allowed}, got {outline(grid)}")
    points = grid.astype(np.float64)
    if not np.isfinite(points).all() or not (points[1:] > points[:-1]).all():
        raise ValueError(f"{allowed}, got others")
    return points if grid.dtype.kind == "f" else grid


def _range(epsilon: Any) -> Exponential:
    """Return the mechanism that is charged for a choice."""
    share = Fraction(number_in(epsilon, "epsilon", CHOICE_EPSILON)) * REDUCED
    return Exponential(float(share))
