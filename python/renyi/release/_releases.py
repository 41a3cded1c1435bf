"""The object that binds a budget and a generator, and releases statistics under it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from renyi._adjacency import Adjacency
from renyi._arrays import outline
from renyi._rounding import round_down
from renyi._validation import Range, number_in
from renyi.filters import GDPFilter, PrivacyFilter, RenyiFilter, ZCDPFilter
from renyi.ledger import Ledger
from renyi.mechanisms import Mechanism
from renyi.noise import SecureGenerator
from renyi.noise.generator import generator_of
from renyi.release._columns import (
    Grid,
    bounds_of,
    cells_of,
    column_of,
    counts_between,
    numbers_of_column,
)
from renyi.release._laws import Noise, noise_of
from renyi.release._release import Release

__all__ = ["Releases"]

EXTENDED = Range(-np.inf, np.inf)
BUDGETS = (PrivacyFilter, ZCDPFilter, GDPFilter, RenyiFilter)


class Releases:
    """Statistics of one data set, charged to one budget.

    Every method takes a column of records, checks it, charges the budget and only then draws. A
    refusal draws nothing and leaves the budget as it was. What is interrupted after the charge is
    spent without an answer, never the reverse.

    How much noise there is, one of these says:

    * ``epsilon``: the release is purely private with this epsilon. Laplace noise, on whole numbers
      for counts.
    * ``rho``: the release costs this much zero-concentrated privacy. Gaussian noise.
    * ``noise``: a mechanism of `renyi.mechanisms`, ``Gaussian``, ``Laplace`` or, for counts,
      ``DiscreteLaplace``; it is what is charged, and the scale in units of the value follows from
      the sensitivity. Under "replace_one" its multiplier is over half of the distance of
      neighbours, as everywhere in this package.

    Parameters
    ----------
    budget : PrivacyFilter, ZCDPFilter, GDPFilter, RenyiFilter or Ledger
        What is charged. The adjacency is that of the budget, "add_remove" or "replace_one".
    dataset : str, optional
        The data set of a ledger.
    generator : SecureGenerator or numpy.random.Generator, optional
        As for `renyi.noise.gaussian_noise`; by default the process's own.

    Raises
    ------
    LedgerError
        If the ledger cannot be read.
    TypeError, ValueError
        If an argument is not as above.

    Notes
    -----
    A person is taken to be one record of the column. Noise is ideal and rounded to a lattice, or on
    whole numbers; numbers of records are rounded one by one to multiples of a power of two, clipped
    and added as integers. So the stated sensitivity is that of what is computed, however the
    records are ordered and however many there are. The time a release takes is not protected, nor
    are errors: whoever asks must be allowed to see the data.

    Threads may share one.

    References
    ----------
    Mironov 2012, CCS (doi 10.1145/2382196.2382264); Casacuberta, Shoemate, Vadhan, Wagaman 2022,
    arXiv 2207.10635.

    Examples
    --------
    >>> import numpy as np
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
        """Which data sets are neighbours."""
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
        """Release how many records fulfil a condition.

        Neighbours differ by 1, under both adjacencies.

        Parameters
        ----------
        condition : array-like of bool
            One for each record.
        epsilon, rho, noise
            How much noise, see `Releases`.
        note : str
            For the release, and the history of a ledger.

        Returns
        -------
        Release
            Of an int, which may be negative.

        Raises
        ------
        BudgetExceededError
            If the charge would exceed the budget; nothing is charged nor drawn then, nor after
            the other errors.
        LedgerError, UnsupportedMechanismError
            As `renyi.Ledger.charge`.
        TypeError, ValueError
            If an argument is not as above.
        """
        column = column_of(condition, "condition", "a column of booleans")
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
        """Release the sum of numbers, each clipped to [lower, upper].

        Neighbours differ by the larger of the absolute values of the bounds under "add_remove", by
        upper - lower under "replace_one".

        Parameters
        ----------
        values : array-like of numbers
            One for each record. Infinities are clipped, as other numbers.
        lower, upper : float
            Bounds, which must not depend on the data.
        missing : float, optional
            What stands for NaN and None, which are refused without it.
        epsilon, rho, noise, note
            As for `count`.

        Returns
        -------
        Release
            Of a float.

        Raises
        ------
        BudgetExceededError, LedgerError, UnsupportedMechanismError, TypeError, ValueError
            As `count`.

        Notes
        -----
        Each number is rounded to a multiple of a power of two, some 2^-36 of how far neighbours
        differ; whole numbers are not changed where that is at most 2^36.
        """
        bounds = bounds_of(lower, upper)
        low, high = bounds
        width = high - low if self._replaced else max(-low, high)
        grid = Grid.between(low, high, width)
        reach = grid.high - grid.low if self._replaced else max(-grid.low, grid.high)
        drawn = self._noise(noise, epsilon, rho, distance=reach * grid.step)
        _check_fit(drawn, grid)
        total, _ = grid.total(numbers_of_column(values, missing))
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
        """Release the mean of numbers, each clipped to [lower, upper].

        Under "replace_one" the number of records is public: the sum of the records is released,
        which neighbours move by upper - lower, and divided by it. Under "add_remove" it is not:
        the sums of the distances of records to the lower and to the upper bound are released, each
        with noise. A record adds to both, by upper - lower in all. Their ratio gives the mean, and
        they add up to a number of records, so that no part of the budget goes to a count.

        Arguments and errors are those of `sum`.

        Returns
        -------
        Release
            Of a float in [lower, upper]; `Release.ends` has the two sums.

        Raises
        ------
        BudgetExceededError, LedgerError, UnsupportedMechanismError, TypeError, ValueError
            As `count`.
        ValueError
            If there is no record under "replace_one".
        """
        bounds = bounds_of(lower, upper)
        grid = Grid.between(*bounds, bounds[1] - bounds[0])
        distance = (grid.high - grid.low) * grid.step
        drawn = self._noise(noise, epsilon, rho, distance=distance, joint=not self._replaced)
        _check_fit(drawn, grid)
        total, count = grid.total(numbers_of_column(values, missing))
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
        """Release how many records are in each cell of a list that is given.

        A record is in one cell or in none. Under "add_remove" neighbours differ by 1 in one cell;
        under "replace_one" by 1 in at most two, which are both charged.

        Parameters
        ----------
        values : array-like
            One for each record. Those in no cell, NaN and None among them, are not counted.
        bins : iterable of float, optional
            Ascending edges of intervals, closed below and open above, the last closed. They may
            begin with -inf and end with inf.
        categories : iterable, optional
            What values are compared with: strings, numbers or booleans, all different. Either
            this or ``bins``, which must not depend on the data: a cell that is there because a
            record is tells that it is.
        epsilon, rho, noise, note
            As for `count`.

        Returns
        -------
        Release
            Of a tuple of int, one for each cell; `Release.labels` names the cells.

        Raises
        ------
        BudgetExceededError, LedgerError, UnsupportedMechanismError, TypeError, ValueError
            As `count`.
        """
        labels, exact = _cells(values, bins, categories)
        parts = 2 if self._replaced and len(labels) > 1 else 1
        drawn = self._noise(noise, epsilon, rho, whole=True, parts=parts)
        self._charge(drawn.mechanism, note)
        value = tuple(drawn.add_to_counts(exact, self._generator).tolist())
        return self._released("histogram", value, drawn, note, labels=labels)

    @property
    def _replaced(self) -> bool:
        return self._adjacency == "replace_one"

    def _noise(self, noise: Any, epsilon: Any, rho: Any, **what: Any) -> Noise:
        return noise_of(noise, epsilon, rho, replaced=self._replaced, **what)

    def _charge(self, mechanism: Mechanism, note: str) -> None:
        """Charge the budget; nothing that fails must come after this."""
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

    def __repr__(self) -> str:
        name = "" if self._dataset is None else f" of {self._dataset!r}"
        return f"<Releases{name}: {self._adjacency}, {round_down(self.remaining, 3)} remaining>"


def _check_fit(noise: Noise, grid: Grid) -> None:
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
        return tuple(pairs), counts_between(values, edges)
    if not isinstance(categories, Iterable) or isinstance(categories, str | bytes):
        raise TypeError(f"categories must be a sequence, got {categories!r}")
    labels = tuple(item.item() if isinstance(item, np.generic) else item for item in categories)
    if not labels or len(set(labels)) < len(labels):
        raise ValueError(f"categories must be different, at least one, got {len(labels)}")
    for label in labels:
        if not isinstance(label, str | int | float | bool) or label != label:
            raise TypeError(f"categories must be strings, numbers or booleans, got {label!r}")
    return labels, cells_of(values, labels)
