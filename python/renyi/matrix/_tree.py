"""Binary trees: noise at the nodes, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from renyi._validation import integer_of, uses_of
from renyi.matrix._strategy import PREFIX_SUMS, PrefixSums, Sensitivity, Strategy, Workload, of_tree
from renyi.mechanisms.participation import Participation

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tree(Strategy):
    """Noise at every node of a binary tree, a node for each complete subtree of 2^h steps.

    A prefix sum is one of disjoint nodes. Its noise takes a buffer for each height. C has a row for
    each node, more than columns: the sensitivity is of all nodes, whichever are used.

    Parameters
    ----------
    steps : int
        In [1, 10^9].
    honaker : bool
        What stands for a node: the best combination of it with all nodes below, or it alone.
    restart : int, optional
        After every so many steps the tree is completed, as if by steps without records, and another
        one begins: all nodes over the steps so far are used, up to the root, which leaves the sum
        with less noise than the nodes of its prefix. A tree that is not completed is not offered.

    References
    ----------
    Dwork, Naor, Pitassi, Rothblum 2010; Honaker 2015 ("Efficient use of differentially private
    binary trees"); Kairouz and others 2021, arXiv 2103.00039 (restarts, Appendix D).

    Examples
    --------
    >>> round(Tree(1000).loss("max"), 4), round(Tree(1000, False).loss("max"), 4)
    (7.2817, 9.4868)
    """

    steps: int
    honaker: bool = True
    restart: int | None = None
    streams = "tree"

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", uses_of(self.steps, "steps", 1))
        if not isinstance(self.honaker, bool):
            raise TypeError(f"honaker must be True or False, got {self.honaker!r}")
        if self.restart is not None:
            object.__setattr__(self, "restart", integer_of(self.restart, "restart", 1))

    @property
    def bands(self) -> int:
        """Diagonals that are not zero: nodes reach over the whole of a tree."""
        return min(self.period, self.steps)

    @property
    def period(self) -> int:
        """Steps of one tree."""
        return self.steps if self.restart is None else self.restart

    @property
    def heights(self) -> int:
        """The number of heights of nodes, with that of the leaves."""
        if self.steps <= self.period:
            return self.steps.bit_length()
        return (self.period - 1).bit_length() + 1  # completed

    def _sensitivity(self, participation: Participation) -> Sensitivity:
        return of_tree(self.heights, self.steps, participation)

    def chain(self, done: int) -> tuple[list[float], list[bool]]:
        """Return the nodes that end with a step, bottom up: `own` weights, and siblings below.

        ``done`` steps of the tree are before it. A node that is combined with its children, of
        variance 2 v, weighs 2 v / (1 + 2 v).
        """
        height = ((done + 1) & -(done + 1)).bit_length() - 1
        siblings = [h < height for h in range(height + 1)]
        if not self.honaker:
            return [float(h == height) for h in range(height + 1)], siblings
        return [1.0 / (2.0 - 2.0**-h) for h in range(height + 1)], siblings

    def completion(self) -> tuple[list[float], list[bool], float]:
        """Return the nodes that complete a tree, bottom up, and the variance that is left.

        Node h covers the steps of the lower h bits of the period; the rest of it has no records.
        """
        own, siblings, variance = [], [], 0.0
        for h in range(self.heights):
            if not self.honaker:
                weight = float(h == self.heights - 1)
            else:
                weight = variance / (1.0 + variance)
            bit = bool(self.period >> h & 1)
            own.append(weight)
            variance = weight if self.honaker else 1.0
            siblings.append(bit)
            variance += bit / (2.0 - 2.0**-h)
        return own, siblings, variance

    def errors(self, workload: Workload = PREFIX_SUMS) -> Vector:
        """Return the variance of each query at noise of variance 1."""
        if not isinstance(workload, PrefixSums):
            raise ValueError(f"workload must be PrefixSums() for a tree, got {workload!r}")
        number = np.arange(1, self.steps + 1)
        place = (number - 1) % self.period + 1
        before = (number - 1) // self.period
        errors = np.zeros(self.steps)
        for h in range(self.heights):
            node = 1.0 if not self.honaker else 1.0 / (2.0 - 2.0**-h)
            errors += node * (place >> h & 1)
        return errors + before * self._left_over()

    def _left_over(self) -> float:
        """Return the variance of the sum over a completed tree."""
        if self.period & (self.period - 1) == 0:
            return 1.0 if not self.honaker else 1.0 / (2.0 - 1.0 / self.period)
        return self.completion()[2]

    def matrix(self) -> Matrix:
        """Return C, with a row for each node: of 1, 2, 4, .. steps, completed ones included."""
        self._written_out()
        rows = []
        for begin in range(0, self.steps, self.period):
            completed = begin + self.period < self.steps
            end = min(begin + self.period, self.steps)
            for h in range(self.heights):
                for first in range(begin, end, 1 << h):
                    if completed or first + (1 << h) <= end:
                        row = np.zeros(self.steps)
                        row[first : min(first + (1 << h), end)] = 1.0
                        rows.append(row)
        return np.array(rows)
