"""Binary trees: noise at the nodes, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._validation import set_fields, set_integers, uses_of
from renyi.matrix._strategy import (
    PREFIX_SUMS,
    Sensitivity,
    Strategy,
    Workload,
    rounded_up,
)
from renyi.mechanisms.participation import (
    FixedEpochs,
    Participation,
    most_participations,
    separation_of,
)

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tree(Strategy):
    """Noise at every node of a binary tree, a node for each complete subtree of 2^h steps.

    A prefix sum is a sum of disjoint nodes. The noise takes a buffer for each height. C has a row
    for each node, so more rows than columns: the sensitivity is that of all nodes, used or not.

    Args:
        steps: In [1, 10^9].
        honaker: Whether the value of a node is the best combination of it with all nodes below;
            otherwise it is the node alone.
        restart: Number of steps after which the tree is completed, as if by steps without records,
            and another one begins: all nodes over the steps so far are used, up to the root, which
            leaves the sum with less noise than the nodes of its prefix. There is no restart without
            completion.

    Source: Dwork, Naor, Pitassi, Rothblum 2010; Honaker 2015 ("Efficient use of differentially
    private binary trees"); Kairouz and others 2021, arXiv 2103.00039 (restarts, Appendix D).

    >>> round(Tree(1000).loss("max"), 4), round(Tree(1000, False).loss("max"), 4)
    (7.2817, 9.4868)
    """

    steps: int
    honaker: bool = True
    restart: int | None = None
    streams = "tree"

    def __post_init__(self) -> None:
        set_fields(self, steps=uses_of(self.steps, "steps", 1))
        if not isinstance(self.honaker, bool):
            raise TypeError(f"honaker must be True or False, got {self.honaker!r}")
        if self.restart is not None:
            set_integers(self, restart=1)

    @property
    def bands(self) -> int:
        """Number of diagonals that are not zero: nodes reach over the whole tree."""
        return min(self.period, self.steps)

    @property
    def period(self) -> int:
        """Number of steps of one tree."""
        return self.steps if self.restart is None else self.restart

    @property
    def heights(self) -> int:
        """The number of heights of nodes, with that of the leaves."""
        if self.steps <= self.period:
            return self.steps.bit_length()
        return (self.period - 1).bit_length() + 1  # completed

    def _sensitivity(self, participation: Participation) -> Sensitivity:
        most = most_participations(participation, self.steps)
        separation = separation_of(participation, self.steps)
        if most == 1:
            square = float(self.heights)
        elif isinstance(participation, FixedEpochs) and self.steps <= MOST_ENUMERATED:
            square = float(self._square_of_epochs(participation.period))
        elif most <= MOST_USES and self.steps <= MOST_ENUMERATED:
            square = float(self._square_of_any(separation, most))
        else:
            return self._bounded(separation, most)
        return rounded_up(square, 2.0, True)

    def _bounded(self, separation: int, most: int) -> Sensitivity:
        """Return a bound: numbers of sum k that are at most m have squares of sum at most k m.

        A record is in one node of each height each time it takes part, and at most
        m = min(k, ceil(2^h / separation)) of the k times fall into one node of height h.
        """
        square = sum(most * min(most, -(-(2**h) // separation)) for h in range(self.heights))
        return rounded_up(float(square), 2.0, False)

    def _square_of_epochs(self, period: int) -> int:
        """Return the largest sum of squared numbers of uses of nodes, over steps of an epoch."""
        step = np.arange(self.steps)
        tree, place = np.divmod(step, self.period)
        last = tree == tree[-1]
        length = place[-1] + 1
        total = np.zeros(min(period, self.steps), dtype=np.int64)
        for h in range(self.heights):
            used = ~last | ((place >> h) + 1 << h <= length)
            # Uses of one node by one step of the epoch.
            keys = (tree * (self.period + 1) + (place >> h)) * period + step % period
            _, first, uses = np.unique(keys[used], return_index=True, return_counts=True)
            np.add.at(total, step[used][first] % period, uses**2)
        return int(total.max())

    def _square_of_any(self, separation: int, most: int) -> int:
        """Return the largest sum of squared numbers of uses of nodes, over choices of steps."""
        completed, rest = divmod(self.steps - 1, self.period)
        rules = Rules(separation, most)
        whole = Part.completed(self.period, self.heights - 1, rules) if completed else Part.of(0)
        part = Part.of(0)
        for bit in f"{completed:b}":  # by repeated doubling
            part = part.before(part, rules)
            part = part.before(whole, rules) if bit == "1" else part
        part = part.before(Part.begun(rest + 1, rules), rules)
        return max(choice.square for choices in part.choices for choice in choices)

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
        if workload != PREFIX_SUMS:
            raise ValueError(f"workload must be Workload() for a tree, got {workload!r}")
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


MOST_ENUMERATED = 2**17  # the most steps to enumerate, in tenths of a second
MOST_USES = 32  # the most uses by one record, in a second at most


class Rules(NamedTuple):
    """How far apart the steps of a record are, and how many there are at most."""

    separation: int
    most: int


class Choice(NamedTuple):
    """The properties of a choice of steps in a part of a tree that later parts depend on.

    If the first of the steps may not come before a, at most ``latest``, all of them can be chosen
    within the same nodes with the last at max(``last``, a + ``stretch``), and not earlier.
    ``square`` is the sum of the squared numbers of steps in the nodes of the part.
    """

    square: int
    latest: int
    last: int
    stretch: int


class Part(NamedTuple):
    """A part of a tree: its length, and for each number of steps the choices that may be best."""

    length: int
    choices: list[list[Choice]]

    @classmethod
    def of(cls, length: int, *choices: Choice) -> Part:
        """Return a part that holds no step or one."""
        return cls(length, [[Choice(0, length, 0, 0)], list(choices)])

    @classmethod
    def completed(cls, length: int, height: int, rules: Rules) -> Part:
        """Return a tree of which all nodes are used, over the first steps of its leaves."""
        if length <= rules.separation and 2**height <= rules.separation:
            return cls.of(length, Choice(height + 1, length - 1, 0, 0))
        half = 2**height // 2
        part = cls.completed(min(length, half), height - 1, rules)
        if length > half:
            same = length == 2 * half
            part = part.before(
                part if same else cls.completed(length - half, height - 1, rules), rules
            )
        return part.within_a_node()

    @classmethod
    def begun(cls, length: int, rules: Rules) -> Part:
        """Return a tree with the nodes that are full after so many steps."""
        part = cls.of(0)
        for height in reversed(range(length.bit_length())):
            if length >> height & 1:
                part = part.before(cls.completed(2**height, height, rules), rules)
        return part

    def within_a_node(self) -> Part:
        """Return the part with one more node over all of it."""
        return Part(
            self.length,
            [
                [choice._replace(square=choice.square + number**2) for choice in choices]
                for number, choices in enumerate(self.choices)
            ],
        )

    def before(self, other: Part, rules: Rules) -> Part:
        """Return this part and another one after it."""
        most = min(rules.most, len(self.choices) + len(other.choices) - 2)
        joined: list[list[Choice]] = [[] for _ in range(most + 1)]
        for number, own in enumerate(self.choices):
            for more, others in enumerate(other.choices[: most + 1 - number]):
                moved = (
                    _after(first, second, self.length, rules.separation, bool(number), bool(more))
                    for first in own
                    for second in others
                )
                joined[number + more] += [choice for choice in moved if choice is not None]
        length = self.length + other.length
        return Part(length, [_best(choices, length, rules.separation) for choices in joined])


def _after(
    first: Choice, second: Choice, length: int, separation: int, has_first: bool, has_second: bool
) -> Choice | None:
    """Return two choices one after the other, the first in a part of a length; None: too close."""
    square = first.square + second.square
    if not has_second:
        return first
    later = length + max(second.last, second.stretch)
    if not has_first:
        return Choice(square, length + second.latest, later, second.stretch)
    latest = length + second.latest - separation  # of the last step of the first choice
    if first.last > latest or first.stretch > latest:
        return None
    stretch = first.stretch + separation + second.stretch
    last = max(later, first.last + separation + second.stretch)
    return Choice(square, min(first.latest, latest - first.stretch), last, stretch)


def _best(choices: list[Choice], length: int, separation: int) -> list[Choice]:
    """Return the choices that no other one is at least as good as in everything that matters.

    The first step is never to come later than the separation less 1, and a last step at least the
    separation before the end hinders nothing that follows.
    """
    kept: list[Choice] = []
    for choice in sorted(
        {_that_matters(choice, length, separation) for choice in choices}, reverse=True
    ):
        if not any(
            other.latest >= choice.latest
            and other.last <= choice.last
            and other.stretch <= choice.stretch
            for other in kept
        ):
            kept.append(choice)
    return kept


def _that_matters(choice: Choice, length: int, separation: int) -> Choice:
    latest, last = min(choice.latest, separation - 1), max(choice.last, length - separation)
    return Choice(choice.square, latest, last, max(choice.stretch, last - latest))
