"""A budget for each record: a record that has spent its budget takes no further part."""

import math

import numpy as np
import numpy.typing as npt

from renyi import special
from renyi._validation import FINITE_POSITIVE, RATE, Range, count_of, number_in, numbers_of
from renyi.mechanisms import RDPCurve

Floats = npt.NDArray[np.float64]

ORDER = Range(1.0, 1e6, "(]")
LARGEST_RECORDS = 10**9
LARGEST_NOISE = 1e6  # relative to a norm: smaller norms are charged at this ratio
UP = 1.0 + 2.0**-50
LEAST_COST = 2.0**-1022  # of a contribution that is not 0: squares may underflow


class IndividualFilter:
    """A budget of Rényi divergence of one order for each record, kept by the record's own norms.

    A sum over records with Gaussian noise charges each record for its own contribution: the noise
    is divided by the norm of this contribution, not by a bound for all. Records continue while
    their own account is within the budget; outliers and late steps may exhaust some accounts only.
    Noise, sample rates and their number may be chosen along the way. If a record is added or
    removed, the releases have a Rényi divergence of the order of at most the budget.

    Args:
        records: The number of records, 1 to 1e9; or the spent budget of each, to continue from
            `spent`.
        order: The Rényi order in (1, 1e6]; fixed. For (epsilon, delta) choose an order near
            1 + 2 log(1/delta)/epsilon.
        budget: The budget of the divergence, in (0, inf).

    The spent budget of a record, and whether it takes part, depend on its data: neither may be
    published, nor the norms. A sum must contain only records that `admit` admits, with at most the
    norms it was given; whether a record is in depends on the releases and on the record alone.
    Replaced records are not covered. The object is not for several threads.

    Source: Feldman, Zrnic 2021, arXiv 2008.11193, Theorem 4.5 and Section 4.

    >>> accounts = IndividualFilter(3, order=8.0, budget=0.6)
    >>> norms = np.array([1.0, 0.5, 0.0])  # of three records, clipped at 1
    >>> [accounts.admit(norms, noise=4.0).tolist() for _ in range(3)]
    [[True, True, True], [True, True, True], [False, True, True]]
    >>> accounts.spent.round(4).tolist()
    [0.5, 0.1875, 0.0]
    """

    def __init__(self, records: int | npt.ArrayLike, *, order: float, budget: float) -> None:
        self._order = number_in(order, "order", ORDER)
        self._budget = number_in(budget, "budget", FINITE_POSITIVE)
        if np.ndim(records):
            self._spent = _not_negative(records, "records").copy()
            return
        number = count_of(records, "records")
        if not 1 <= number <= LARGEST_RECORDS:
            raise ValueError(f"records must be from 1 to 10^9 or an array, got {records!r}")
        self._spent = np.zeros(number)

    @property
    def order(self) -> float:
        """The order of the divergence."""
        return self._order

    @property
    def budget(self) -> float:
        """The budget that no record exceeds."""
        return self._budget

    @property
    def spent(self) -> Floats:
        """The spent budget of each record, rounded up: as secret as the data."""
        return self._spent.copy()

    @property
    def mechanism(self) -> RDPCurve:
        """The whole interaction as a mechanism for accountants; its epsilon may be published.

        >>> from renyi import RDPAccountant
        >>> all_of_it = IndividualFilter(1000, order=20.0, budget=0.5).mechanism
        >>> round(RDPAccountant().compose(all_of_it).get_epsilon(1e-5), 3)
        0.897
        """
        return RDPCurve([self._order], [self._budget])

    def admit(
        self, norms: npt.ArrayLike, *, noise: float, sample_rate: float = 1.0
    ) -> npt.NDArray[np.bool_]:
        """Charge the records that a noisy sum may contain; return for each whether it takes part.

        Call it before the noise is drawn. Records without a contribution cost nothing.

        Args:
            norms: Upper bounds of the L2 norms of the contributions, one for each record, at least
                0; inf is never admitted.
            noise: Standard deviation in each coordinate, in the unit of the norms, in (0, inf).
            sample_rate: The rate of the Poisson sample that is summed, in (0, 1]. All records are
                charged, drawn or not.

        Raises:
            TypeError, ValueError: If an argument is not permitted; nothing is charged then.
        """
        sizes = _not_negative(norms, "norms")
        if sizes.shape != self._spent.shape:
            raise ValueError(
                f"norms must be as many as records, {self._spent.size}, got shape {sizes.shape}"
            )
        sigma = number_in(noise, "noise", FINITE_POSITIVE)
        rate = number_in(sample_rate, "sample_rate", RATE)
        with np.errstate(over="ignore"):
            ratio = sizes / sigma * UP
            after = (self._spent + self._cost(ratio, rate)) * UP
        after = np.where(sizes == 0.0, self._spent, after)
        admitted: npt.NDArray[np.bool_] = (after <= self._budget) | (sizes == 0.0)
        np.copyto(self._spent, after, where=admitted)
        return admitted

    def _cost(self, ratio: Floats, rate: float) -> Floats:
        """Return the divergences of contributions over their noise, rounded up."""
        if rate == 1.0:
            with np.errstate(under="ignore"):
                return np.maximum(0.5 * self._order * ratio * ratio * UP, LEAST_COST)
        cost = np.full(ratio.shape, math.inf)
        known = ratio < math.inf
        noise = 1.0 / np.maximum(ratio[known], 1.0 / LARGEST_NOISE) / UP
        cost[known] = special.rdp_sampled_gaussian_upper(rate, noise, self._order)
        return np.where(np.isnan(cost), math.inf, cost)

    def __repr__(self) -> str:
        return (
            f"<IndividualFilter: {self._spent.size} records, order {self._order!r}, "
            f"budget {self._budget!r}>"
        )


def _not_negative(values: npt.ArrayLike, name: str) -> Floats:
    allowed = "a 1-d array of numbers >= 0"
    found, shape = numbers_of(values, name, 0.0, math.inf, allowed)
    if len(shape) != 1 or not found.size:
        raise ValueError(f"{name} must be {allowed}, got shape {shape}")
    return found
