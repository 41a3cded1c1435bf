"""Users as the unit of a guarantee, with rows of their own or shared rows."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._adjacency import one_of
from renyi._arrays import Array, Arrays, rows_of
from renyi._validation import integer_of
from renyi.samplers.basic import Indices


def bound_contributions(
    owners: Iterable[Hashable | Iterable[Hashable]], most: int
) -> npt.NDArray[np.int64]:
    """Return the ascending indices of examples to keep so that nobody owns more than ``most``.

    Greedy: examples of fewer owners first, then in the order given; an example is kept if none of
    its owners has ``most`` already. Nothing is random, and equal input gives equal output.

    Args:
        owners: The owner of each example, a string or another hashable value; or its owners, in a
            list, set, tuple or array.
        most: At least 1: ``records_per_user`` of a `TrainingPlan`.

    Raises:
        ValueError: If an example has no owner.

    A guarantee with ``records_per_user=most`` is for the data that is kept: with a user or without
    the at most ``most`` examples that are kept and that the user owns, all others being the same.
    The choice depends on who owns what, as without a user those of co-owners might have been kept.
    So ownership has to be public or fixed before; where it is not, and every user has one owner
    only, the choice for one user depends on no other.

    >>> bound_contributions(["ann", "bob", "ann", ["ann", "bob"], ["bob", "eve"]], 2).tolist()
    [0, 1, 2, 4]
    """
    limit = integer_of(most, "most", 1)
    several = (list, tuple, set, frozenset, np.ndarray)
    groups = [
        tuple(dict.fromkeys(one.tolist() if isinstance(one, np.ndarray) else one))
        if isinstance(one, several)
        else (one,)
        for one in owners
    ]
    if not all(groups):
        raise ValueError("owners must name an owner of every example, got an example without")
    counts: Counter[Hashable] = Counter()
    kept = []
    for i in sorted(range(len(groups)), key=lambda i: len(groups[i])):
        if all(counts[owner] < limit for owner in groups[i]):
            counts.update(groups[i])
            kept.append(i)
    return np.sort(np.array(kept, np.int64))


class UserBatch:
    """The rows of the users of a batch, one user after the other.

    Attributes:
        rows: Indices of the rows of the users.
    """

    def __init__(self, rows: Indices, sizes: Indices) -> None:
        self.rows = rows
        self._sizes = sizes

    def gradients(self, grads: Any, how: str = "mean") -> Arrays:
        """Return one gradient for each user, from one for each of ``rows``.

        Args:
            grads (array or list of arrays): A row for each of ``rows``, in their order, which
                depends on the data of its user only.
            how ({"mean", "sum"}): How the gradients of a user are combined, before `DPSGD.step`
                clips the result. The mean lets users with many rows count as much as others.

        Returns:
            float64, with a row for each user of the batch: for `DPSGD.step`. A user without rows
            has zeros.
        """
        one_of(how, "how", ("mean", "sum"))
        given = rows_of(grads, scalars=True)
        if given.count != len(self.rows):
            raise ValueError("grads must have a row for each of rows, got another number")
        return given.like_given([self._joined(array, how) for array in given.arrays])

    def _joined(self, array: Array, how: str) -> Array:
        ends = np.cumsum(self._sizes)
        joined = np.zeros((len(self._sizes), *array.shape[1:]))
        some = self._sizes > 0  # reduceat gives a user without rows the first of the next
        if some.any():
            # Doubles beforehand: buffers for conversion might cut the rows of a user by where they
            # are, and then its sum would round by what others there are.
            wide = array.astype(np.float64)
            joined[some] = np.add.reduceat(wide, (ends - self._sizes)[some], axis=0)
        if how == "mean":
            joined /= np.maximum(self._sizes, 1).reshape(-1, *[1] * (array.ndim - 1))
        return joined

    def __repr__(self) -> str:
        return "UserBatch(...)"


class UserRows:
    """The rows of each user, for plans whose records are users.

    The plan's ``population`` is the number of users, its ``batch_size`` one of users, and its
    sampler draws users. Its guarantee is for all rows of a user together.

    Args:
        user_of: The user of each row: integers or strings.

    Attributes:
        population: The number of users: public, as that of a plan.
        names (ndarray): The users, in increasing order: private.

    >>> from renyi.sgd import DPSGD, SGD, TrainingPlan
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal([2.0, -1.0], 0.1, (20_000, 2))
    >>> users = UserRows(np.arange(20_000) % 2000)
    >>> run = {"noise_multiplier": 1.0, "epochs": 5, "max_grad_norm": 3.0}
    >>> plan = TrainingPlan(users.population, 100, **run)
    >>> w, sampler = np.zeros(2), plan.sampler()
    >>> optimizer = DPSGD(w, plan, SGD(0.2), sampler=sampler)
    >>> for batch in sampler:
    ...     mine = users.batch(batch)
    ...     _ = optimizer.step(mine.gradients(w - x[mine.rows]))
    >>> bool(abs(w - [2.0, -1.0]).max() < 0.1)
    True
    """

    def __init__(self, user_of: npt.ArrayLike) -> None:
        given = np.asarray(user_of)
        if given.ndim != 1 or not given.size:
            raise ValueError(f"user_of must name the user of each row, got shape {given.shape}")
        self.names, numbers = np.unique(given, return_inverse=True)
        self._ordered = np.argsort(numbers, kind="stable")
        self._starts = np.searchsorted(numbers[self._ordered], np.arange(len(self.names) + 1))

    @property
    def population(self) -> int:
        """The number of users."""
        return len(self.names)

    def batch(self, users: Indices) -> UserBatch:
        """Return the rows of users, whose numbers a sampler has drawn."""
        chosen = np.asarray(users, np.int64)
        sizes = self._starts[chosen + 1] - self._starts[chosen]
        before = np.cumsum(sizes) - sizes
        places = np.arange(sizes.sum()) + np.repeat(self._starts[chosen] - before, sizes)
        return UserBatch(self._ordered[places], sizes)

    def __repr__(self) -> str:
        return f"<UserRows: {self.population} users>"
