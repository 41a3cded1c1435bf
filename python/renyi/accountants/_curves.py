"""Privacy curves as certified brackets, and curves that are made of others."""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from renyi._adjacency import DirectionName
from renyi._engine import LossComposition

Array = npt.NDArray[np.float64]
Wanted = Literal["epsilon", "delta"]

SHARES = np.linspace(0.1, 0.9, 9)  # the shares of epsilon, or of delta, that removal takes
ROUNDING = 1.0 + 2.0**-49
MARGIN = 0.5  # the first guess of epsilon exceeds that of Poisson samples by this much


class Curve(Protocol):
    """A privacy curve, known by certified brackets."""

    def brackets(self, wanted: Wanted, values: Array, /) -> Array:
        """Return lower and upper ends, of shape (2, n).

        They are of the least epsilon >= 0 at every delta in [0, 1], or of delta at every epsilon in
        [0, inf].
        """


def upper_end(curve: Curve, wanted: Wanted, value: float) -> float:
    """Return the upper end of one bracket."""
    return float(curve.brackets(wanted, np.array([value]))[1, 0])


def opposite(direction: DirectionName) -> DirectionName:
    """Return the other direction."""
    return "add" if direction == "remove" else "remove"


class JoinedCurve:
    """A curve whose brackets are made of the brackets of other curves.

    Args:
        join: Makes one array of brackets from several.
        *curves: The curves whose brackets ``join`` is given.
    """

    def __init__(self, join: Callable[[list[Array]], Array], *curves: Curve) -> None:
        self._join, self._curves = join, curves

    def brackets(self, wanted: Wanted, values: Array) -> Array:
        """Return lower and upper ends."""
        return self._join([curve.brackets(wanted, values) for curve in self._curves])


def smallest(brackets: list[Array]) -> Array:
    """Return the smallest upper ends, and the lower ends of the first curve."""
    upper = np.min([bracket[1] for bracket in brackets], axis=0)
    return np.stack([np.minimum(brackets[0][0], upper), upper])


def between(brackets: list[Array]) -> Array:
    """Return the lower ends of the first of two curves and the upper ends of the second."""
    return np.stack([brackets[0][0], brackets[1][1]])


class PureCurve:
    """A curve with a largest loss: epsilon is at most this loss, and delta is 0 from there on.

    If ``reached``, losses come arbitrarily near to the largest loss, which is epsilon at delta 0.
    """

    def __init__(self, curve: Curve, loss: Fraction, *, reached: bool) -> None:
        self._curve, self._most = curve, rounded_up(loss)
        self._least = self._most if reached else 0.0
        if self._most == math.inf or Fraction(self._most) != loss:  # logarithms are rounded up
            self._least = math.nextafter(math.nextafter(self._least, 0.0), 0.0)

    def brackets(self, wanted: Wanted, values: Array) -> Array:
        """Return lower and upper ends."""
        result = self._curve.brackets(wanted, values)
        if wanted == "delta":
            result[:, values >= self._most] = 0.0
            return result
        result, at_zero = np.minimum(result, self._most), values == 0.0
        result[0, at_zero] = np.maximum(result[0, at_zero], self._least)
        return result


def rounded_up(value: Fraction) -> float:
    """Return the least double that is not below ``value``."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


class ReplacedCurve:
    """The curve of a replaced record, from its removal and the addition of the other record.

    Let R be the release without either record. For any e in [0, epsilon],

        delta(epsilon) <= delta_remove(e) + e^e delta_add(epsilon - e),

    as (p - e^epsilon q)_+ <= (p - e^e r)_+ + e^e (r - e^(epsilon - e) q)_+ for all densities p, r,
    q. The minimum over e is flat: a few e near it are tried. The lower ends are those of removal.

    Args:
        remove, add: The curves of one record that is present or absent.
    """

    def __init__(self, remove: Curve, add: Curve) -> None:
        self._remove, self._add = remove, add

    def brackets(self, wanted: Wanted, values: Array) -> Array:
        """Return lower and upper ends."""
        result = self._remove.brackets(wanted, values)
        for i, value in enumerate(values.tolist()):
            if value == math.inf:
                result[1, i] = min(2.0 * result[1, i], 1.0)
                continue
            parts = value * SHARES
            first = self._remove.brackets(wanted, parts)[1]
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                if wanted == "epsilon":
                    left = value * (1.0 - SHARES) * np.exp(-first) / ROUNDING
                    total = first + self._add.brackets(wanted, left)[1]
                else:
                    total = first + np.exp(parts) * self._add.brackets(wanted, value - parts)[1]
            result[1, i] = np.nanmin(total * ROUNDING)
        return result if wanted == "epsilon" else np.minimum(result, 1.0)


class AttainedCurve:
    """The lower ends of the worse direction of compositions; the upper ends are trivial.

    Args:
        lattices: The composition in each direction.
        error: The sum over all uses of the relative errors of the masses of their pairs.
    """

    def __init__(self, lattices: Iterable[LossComposition], error: float) -> None:
        self._lattices = list(lattices)
        # If all masses have relative error e, delta moves by e (P + e^epsilon Q) <= 2 e P of an
        # event where P - e^epsilon Q is positive, P <= 1, for every use.
        self._error = 4.0 * error

    def brackets(self, wanted: Wanted, values: Array) -> Array:
        """Return lower ends, and infinity or 1."""
        low = [max(self._lower(one, wanted, x) for one in self._lattices) for x in values.tolist()]
        most = math.inf if wanted == "epsilon" else 1.0
        return np.array([np.maximum(low, 0.0), np.full(values.size, most)])

    def _lower(self, lattice: LossComposition, wanted: Wanted, value: float) -> float:
        if wanted == "epsilon":
            return lattice.epsilon_bounds(min(value + self._error, 1.0))[0]
        return lattice.delta_bounds(value)[0] - self._error


class NearlyPoissonCurve:
    """The curve of truncated samples, from the curve of samples that are not cut.

    If the batch of a step exceeds its limit with probability at most tau, the step differs from one
    without a limit by at most tau in total variation, for either neighbour and whatever was
    released before. For T such steps

        |delta(epsilon) - delta_Poisson(epsilon)| <= T tau (1 + e^epsilon)

    (Chua and others 2024, arXiv 2411.04205, for the upper side). Neighbours that attain the curve
    of Poisson samples give the lower side.

    Args:
        poisson: The curve without limits.
        slack: T tau, or the sum of T tau over the kinds of steps.
        otherwise: The curve to intersect with where T tau (1 + e^epsilon) is more than ``narrow``
            times delta.
    """

    def __init__(self, poisson: Curve, slack: float, otherwise: Curve, narrow: float) -> None:
        self._poisson, self._slack, self._otherwise = poisson, slack * (1.0 + 2.0**-48), otherwise
        self._narrow = narrow

    def brackets(self, wanted: Wanted, values: Array) -> Array:
        """Return lower and upper ends."""
        if wanted == "delta":
            off = self._off(values)
            low, high = self._poisson.brackets(wanted, values)
            low, high = np.maximum(down(low - off), 0.0), np.minimum(up(high + off), 1.0)
            deltas = low
        else:  # below this epsilon, delta is off by no more than at this epsilon
            most = self._poisson.brackets(wanted, values)[1] + MARGIN
            low = self._poisson.brackets(wanted, np.minimum(up(values + self._off(most)), 1.0))[0]
            high = self._least(values, most)
            high = self._least(values, high)  # the error is smaller there
            off, deltas = self._off(high), values
        result = np.array([low, high])
        far = np.flatnonzero(~(off <= self._narrow * deltas))
        if far.size:
            others = self._otherwise.brackets(wanted, values[far])
            result[0, far] = np.maximum(low[far], others[0])
            result[1, far] = np.minimum(high[far], others[1])
        return result

    def _least(self, deltas: Array, most: Array) -> Array:
        """Return an upper end of epsilon, infinite where it is not below ``most``."""
        left = down(deltas - self._off(most))
        found = self._poisson.brackets("epsilon", np.maximum(left, 0.0))[1]
        return np.where((left >= 0.0) & (found <= most), found, math.inf)

    def _off(self, epsilons: Array) -> Array:
        if not self._slack:  # nothing is cut, and 0 times e^epsilon may be NaN
            return np.zeros(np.shape(epsilons))
        with np.errstate(over="ignore"):
            return np.asarray(self._slack * (1.0 + np.exp(epsilons)) * (1.0 + 2.0**-48))


def up(values: Array) -> Array:
    return np.nextafter(values, math.inf)


def down(values: Array) -> Array:
    return np.nextafter(values, -math.inf)
