"""Certified brackets of delta(epsilon) and epsilon(delta) of a composition."""

from __future__ import annotations

import math
from collections.abc import Iterable

from renyi._validation import count_of, delta_of, real_of
from renyi.pld import _moments, _plan
from renyi.pld._cells import ROUNDING
from renyi.pld._crossing import solved_epsilon, tighter
from renyi.pld._distribution import Part
from renyi.pld._layout import Goal, Layout, first_layout, refined
from renyi.pld._parts import merged_parts
from renyi.pld._single import single_delta, single_epsilon
from renyi.pld._solve import Solved, composed, infinite_mass

__all__ = ["MAX_POINTS", "Composition", "delta_bounds", "epsilon_bounds"]

MAX_POINTS = 2**22
"""Default cap on the nodes of a lattice or window; about 500 bytes each at the peak, 2 GB."""
SMALLEST = 5e-324  # double


class Composition:
    """Independent, possibly adaptive uses of several mechanisms, in one direction.

    Parameters
    ----------
    parts : iterable of (PrivacyLossDistribution, int)
        Pairs with their counts, 0 <= count <= 1e9. Gaussians are merged into one.
    rtol : float
        Aim for the relative width of brackets of delta, in [1e-12, 1].
    max_points : int
        Cap on the nodes of every lattice and window, in [2^10, 2^26]. Where it is reached the
        bracket is wider than asked for, and still encloses.

    Raises
    ------
    TypeError, ValueError
        On other types or values.

    Notes
    -----
    One use alone is integrated without a lattice. Otherwise the loss is discretised from both sides
    with one step, chosen so that the log moment functions of the two sides differ by less than
    ``rtol`` at the tilt; composed by FFT; the results enclose delta whatever was chosen.

    Examples
    --------
    >>> from renyi.pld import Laplace
    >>> lower, upper = Composition([(Laplace(1.0), 10)]).delta_bounds(3.0)
    >>> bool(lower < upper < lower * 1.00001)
    True
    """

    def __init__(
        self, parts: Iterable[Part], *, rtol: float = 1e-5, max_points: int = MAX_POINTS
    ) -> None:
        self._rtol = real_of(rtol, "rtol", "a number in [1e-12, 1]")
        if not 1e-12 <= self._rtol <= 1.0:
            raise ValueError(f"rtol must be a number in [1e-12, 1], got {rtol!r}")
        self._max_points = count_of(max_points, "max_points")
        if not 2**10 <= self._max_points <= 2**26:
            raise ValueError(f"max_points must be an integer in [1024, 2^26], got {max_points!r}")
        self._parts, self._drift = merged_parts(parts)
        self._solved: list[Solved] = []
        self._coarse: Layout | None = None
        self._finest: tuple[Layout, float] | None = None  # with the relative width it gave

    @property
    def parts(self) -> tuple[Part, ...]:
        """The distinct parts with their counts."""
        return tuple(self._parts)

    def delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """Return numbers that enclose delta(epsilon), any real epsilon.

        Raises
        ------
        TypeError, ValueError
            If epsilon is not a real number, or NaN.
        """
        epsilon = real_of(epsilon, "epsilon", "a number")
        if epsilon == -math.inf:
            return 1.0, 1.0
        if not self._parts:
            value = max(-math.expm1(epsilon), 0.0) if epsilon < 0.0 else 0.0
            return value * (1.0 - 4.0 * ROUNDING), min(value * (1.0 + 4.0 * ROUNDING), 1.0)
        floor = max(-math.expm1(epsilon) * (1.0 - 4.0 * ROUNDING), 0.0) if epsilon < 0.0 else 0.0
        if self._alone:
            low, high = single_delta(self._parts[0][0], epsilon, self._drift)
        else:
            infinite = self._infinite()
            if infinite[1] == 1.0:  # nothing is left to compose from above
                return max(infinite[0], floor), 1.0
            if epsilon == math.inf or epsilon > self._largest_loss():
                return infinite
            for solved in self._solved:
                low, high = solved.lower.delta(epsilon), solved.upper.delta(epsilon)
                if high - low <= self._rtol * high:
                    break
            else:
                solved = self._solve(epsilon)
                low, high = solved.lower.delta(epsilon), solved.upper.delta(epsilon)
        if high == 0.0 and epsilon < self._largest_loss():  # too small to hold
            high = SMALLEST
        return max(low, floor), high

    def epsilon_bounds(self, delta: float) -> tuple[float, float]:
        """Return numbers that enclose the least epsilon with delta(epsilon) <= delta.

        Negative where even P and Q exchanged roles would satisfy it; inf below the infinite mass.

        Raises
        ------
        TypeError, ValueError
            If delta is not a number in [0, 1].
        """
        delta = delta_of(delta)
        if delta == 1.0:
            return -math.inf, -math.inf
        if not self._parts:
            value = math.log1p(-delta)
            return value * (1.0 + 4.0 * ROUNDING), value * (1.0 - 4.0 * ROUNDING)
        if self._alone:
            return single_epsilon(self._parts[0][0], delta, self._drift)
        low_mass, high_mass = self._infinite()
        if delta < low_mass:
            return math.inf, math.inf
        top = self._largest_loss()  # there delta is the infinite mass
        if delta <= high_mass:
            return -math.inf, top if delta == high_mass else math.inf
        best = (-math.inf, top)
        for solved in self._solved:
            best = tighter(best, solved_epsilon(solved, delta))
        guess = self._guess(delta - low_mass)
        for _ in range(4):
            if best[1] - best[0] < math.inf:
                guess = 0.5 * (best[0] + best[1])
                if self._is_tight(best, delta):
                    break
            before = best
            best = tighter(best, solved_epsilon(self._solve(guess), delta))
            if best[0] >= before[0] and before[1] - before[0] <= 1.5 * (best[1] - best[0]):
                break
            if best[1] - best[0] == math.inf:
                guess = best[0] + 1.0 if best[0] > -math.inf else best[1] - 1.0
        return best

    def _is_tight(self, found: tuple[float, float], delta: float) -> bool:
        return any(
            s.upper.delta(found[1]) - s.lower.delta(found[1]) <= self._rtol * delta
            for s in self._solved
        )

    @property
    def _alone(self) -> bool:
        return len(self._parts) == 1 and self._parts[0][1] == 1

    def _infinite(self) -> tuple[float, float]:
        """Return bounds on the mass at infinity, 1 - prod (1 - m)^count."""
        bounds = [(pair.infinite_bounds, count) for pair, count in self._parts]
        low, high = ([(m[side], count) for m, count in bounds] for side in (0, 1))
        return infinite_mass(low)[0] + 0.0, infinite_mass(high)[1] + 0.0  # no negative zero

    def _largest_loss(self) -> float:
        """Return a loss that no finite outcome of the composition exceeds."""
        tops = [count * distribution.support[1] for distribution, count in self._parts]
        return self._drift + math.fsum(tops) + 1e-12 * math.fsum(map(abs, tops))

    def _solve(self, epsilon: float) -> Solved:
        goal = Goal(epsilon, self._rtol, self._max_points)
        solved = self._solve_again(goal) or self._solve_anew(goal)
        self._solved.insert(0, solved)
        del self._solved[4:]
        return solved

    def _solve_again(self, goal: Goal) -> Solved | None:
        """Compose on the lattices of the last epsilon, which mostly do for another one nearby."""
        if self._finest is None:
            return None
        layout, reached = self._finest
        laws = _moments.laws(layout.pairs, layout.counts)
        choice = _plan.choose(laws, goal.epsilon, goal.rtol)
        solved = composed(layout, choice, goal, self._drift)
        enough = solved.relative_width(goal.epsilon) <= max(goal.rtol, 1.5 * reached)
        return solved if enough else None

    def _solve_anew(self, goal: Goal) -> Solved:
        epsilon = goal.epsilon
        choice, layout = refined(self._layout(), goal)
        solved = composed(layout, choice, goal, self._drift)
        # The moment functions agree; where that says too little of delta, go on from the result.
        width = solved.relative_width(epsilon)
        for _ in range(2):
            size = max(pair.lattice.size for pair in layout.pairs)
            if (
                width <= self._rtol
                or layout.exact
                or layout.final
                or solved.all_nodes > self._max_points // 4
            ):
                break
            shrink = max(math.sqrt(0.5 * self._rtol / width), 1.1 * size / self._max_points, 0.02)
            if shrink > 0.9:
                break
            finer = layout.with_step(layout.step * shrink, layout.ranges)
            better = composed(finer, choice, goal, self._drift)
            if better.relative_width(epsilon) > 0.7 * width:
                break
            layout, solved, width = finer, better, better.relative_width(epsilon)
        self._finest = layout, width
        return solved

    def _layout(self) -> Layout:
        if self._coarse is None:
            self._coarse = first_layout(self._parts, self._max_points)
        return self._coarse

    def _guess(self, delta: float) -> float:
        """Return about epsilon(delta), from the coarse lattices."""
        layout = self._layout()
        laws = _moments.laws(layout.pairs, layout.counts)
        high = sum(c * float(law.losses[-1]) for law, c in zip(laws, layout.counts, strict=True))
        low = min(math.log1p(-delta), high)
        for _ in range(30):
            middle = 0.5 * (low + high)
            if _plan.choose(laws, middle, 1.0).log_delta > math.log(delta):
                low = middle
            else:
                high = middle
        return 0.5 * (low + high)


def delta_bounds(
    parts: Iterable[Part], epsilon: float, *, rtol: float = 1e-5, max_points: int = MAX_POINTS
) -> tuple[float, float]:
    """Return numbers that enclose delta(epsilon) of a composition, see ``Composition``.

    Examples
    --------
    >>> from renyi.pld import RandomizedResponse
    >>> lower, upper = delta_bounds([(RandomizedResponse(0.8), 2)], 0.0)
    >>> bool(lower <= 0.6 <= upper < 0.6000001)
    True
    """
    return Composition(parts, rtol=rtol, max_points=max_points).delta_bounds(epsilon)


def epsilon_bounds(
    parts: Iterable[Part], delta: float, *, rtol: float = 1e-5, max_points: int = MAX_POINTS
) -> tuple[float, float]:
    """Return numbers that enclose epsilon(delta) of a composition, see ``Composition``.

    Examples
    --------
    >>> from renyi.pld import Laplace
    >>> lower, upper = epsilon_bounds([(Laplace(10.0), 1)], 0.0)
    >>> bool(lower <= 0.1 <= upper)
    True
    """
    return Composition(parts, rtol=rtol, max_points=max_points).epsilon_bounds(delta)
