"""Several epochs of noisy descent whose last iterate alone is released.

    w_{k+1} = w_k - eta g_k(w_k) + N(0, s^2) in each coordinate, then perhaps a projection

Two runs on data sets that differ in one record have the same steps, except for those that use the
record: there the next iterates from the same point are at most d_k apart. If a step multiplies
distances by at most c, and a budget a_k moves one run towards the other at the cost of a test
between two normal laws at distance a_k, then the last iterates are as hard to tell apart as N(0, 1)
and N(mu, 1) with

    mu^2 = sum_k a_k^2 / s^2     for any a_k >= 0 with z_k = c z_{k-1} + d_k - a_k >= 0, z_t = 0,

z_0 = 0, or z_j the diameter of the domain for any j >= 0 at which one begins (Bok, Su, Altschuler
2024, arXiv 2403.00278, the shifted interpolation). With A_k = sum of c^-j a_j, D_k that of d_j and
T_k = sum of c^-2j this is a path below D from 0 to D_t, and mu^2 is the least sum of
(change of A)^2 / (change of T): the greatest convex minorant of D over T. Where the minorant is one
segment the bound is the closed form of that paper. It is exact for linear gradients if no
constraint binds. Composition, with all iterates released, is a_k = d_k. The adjacency is that of
the d_k. Losses must be convex and smooth, so that c <= 1 holds: the bound does not hold for neural
networks.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renyi import special
from renyi._search import lower_hull
from renyi._validation import (
    POSITIVE,
    delta_of,
    epsilon_of,
    integer_of,
    number_in,
    numbers_of,
    probability_of,
)
from renyi.theory.iteration import LARGEST, SCALES, Floats

__all__ = ["epochs_mu", "last_iterate_mu", "shuffled_epochs_delta"]
__dir__ = __all__.copy

MOST = 10**6


class EpochGuarantee(NamedTuple):
    """Gaussian differential privacy of the last iterate, and that of all iterates.

    ``mu`` of the last iterate is the smaller of both, rounded up; ``composed`` is the mu with all
    iterates released.
    """

    mu: float
    composed: float

    def get_epsilon(self, delta: float) -> float:
        """Return epsilon of the last iterate at a delta, rounded up."""
        return float(special.gaussian_epsilon_upper(self.mu, delta_of(delta)))

    def get_delta(self, epsilon: float) -> float:
        """Return delta of the last iterate at an epsilon, rounded up."""
        return float(special.gaussian_delta_upper(self.mu, epsilon_of(epsilon)))


def last_iterate_mu(
    shifts: npt.ArrayLike, contraction: float, scale: float, *, diameter: float = math.inf
) -> float:
    """Return mu of the last iterate for any sequence of steps, rounded up.

    Args:
        shifts (array_like of shape (t,)): d_k in [0, 1e75], the distance of the next iterates for
            the two records; 0 where the step does not use them. At most 10^6 steps.
        contraction: c, in [0, 1].
        scale: s, the standard deviation of the noise of a step, in [1e-75, 1e75], in units of w.
        diameter: Diameter of the domain that iterates are projected to, in (0, inf]; inf without a
            domain.

    >>> round(last_iterate_mu([1.0] * 100, 0.9, 10.0), 6)
    0.435878
    """
    given, shape = numbers_of(shifts, "shifts", 0.0, LARGEST, "of numbers in [0, 1e75]")
    if len(shape) != 1 or not 1 <= len(given) <= MOST:
        raise ValueError(f"shifts must be a row of 1 to 10^6 numbers, got shape {shape}")
    c, width = probability_of(contraction, "contraction"), number_in(scale, "scale", SCALES)
    size = number_in(diameter, "diameter", POSITIVE)
    if not given.any():
        return 0.0
    square = _least_square(given, c, size)
    return math.nextafter(math.sqrt(square) * (1.0 + 2.0**-50) / width, math.inf)


def epochs_mu(
    shift: float,
    contraction: float,
    scale: float,
    *,
    epochs: int,
    batches: int = 1,
    diameter: float = math.inf,
) -> EpochGuarantee:
    """Return the guarantee of epochs in a fixed order of batches, for the worst record.

    Args:
        shift: d, the distance of the next iterates for two records in a step that uses them: for
            gradients of norm at most L, step size eta and batches of b averaged, 2 eta L / b where
            a record is replaced. In [1e-75, 1e75].
        contraction, scale, diameter: As for `last_iterate_mu`; the noise eta Z of `NoisyDescent`
            has the scale eta times Z's.
        epochs: E, at least 1.
        batches: l, the steps of an epoch, one of which uses the record; 1 is gradient descent on
            all data.

    Returns:
        The guarantee of a record of the last batch: a record used earlier is hidden better. Without
        a domain mu^2 s^2/d^2 is 1 + c^(2l-2) (1-c^2)/(1-c^l)^2 (1-c^(l(E-1)))/(1+c^(l(E-1))), for l
        = 1 (1-c^E)/(1+c^E) (1+c)/(1-c), and E where c is 1.

    Raises:
        ValueError: If there are more than 10^6 steps.

    Source: Bok, Su, Altschuler 2024, arXiv 2403.00278, on NoisyGD and NoisyCGD.

    >>> for epochs in 1, 10, 100, 1000:
    ...     run = epochs_mu(0.2, 0.99, 1.0, epochs=epochs, batches=20)
    ...     print(f"{run.mu:.4f} {run.composed:.4f}")
    0.2000 0.2000
    0.2275 0.6325
    0.2375 2.0000
    0.2375 6.3246
    """
    moved, rounds = number_in(shift, "shift", SCALES), integer_of(epochs, "epochs", 1)
    steps = integer_of(batches, "batches", 1)
    if rounds * steps > MOST:
        raise ValueError(f"epochs times batches must be at most 10^6, got {rounds * steps}")
    pattern = np.zeros(steps)
    pattern[-1] = moved
    # before the first use of the record the runs are equal
    shifts = np.tile(pattern, rounds)[steps - 1 :]
    hidden = last_iterate_mu(shifts, contraction, scale, diameter=diameter)
    width = number_in(scale, "scale", SCALES)
    composed = math.nextafter(math.sqrt(rounds) * moved / width * (1.0 + 2.0**-50), math.inf)
    return EpochGuarantee(min(hidden, composed), composed)


def shuffled_epochs_delta(
    shift: float,
    contraction: float,
    scale: float,
    epsilon: float,
    *,
    epochs: int,
    batches: int,
    diameter: float = math.inf,
) -> float:
    """Return delta of the last iterate if every epoch has a new random order.

    Given the positions of the record the order is fixed, and E_g is jointly convex, so that delta
    is at most the mean over positions. Later use of a record is worse: the bound assumes that the
    epochs before the last one use it in their last step, and takes the mean over its position in
    the last epoch.

    Args:
        shift, contraction, scale, epochs, batches, diameter: As for `epochs_mu`.
        epsilon: In [0, inf].

    Returns:
        Delta in [0, 1], rounded up. The order of the last epoch must be secret and uniform.

    >>> one = epochs_mu(0.2, 0.9, 0.1, epochs=5, batches=20).get_delta(1.0)
    >>> mixed = shuffled_epochs_delta(0.2, 0.9, 0.1, 1.0, epochs=5, batches=20)
    >>> round(one, 4), round(mixed, 4)
    (0.5114, 0.0555)
    """
    moved, rounds = number_in(shift, "shift", SCALES), integer_of(epochs, "epochs", 1)
    steps, bound = integer_of(batches, "batches", 2), epsilon_of(epsilon)
    if rounds * steps * steps > MOST:
        raise ValueError(
            f"epochs times batches^2 must be at most 10^6, got {rounds * steps * steps}"
        )
    pattern = np.zeros(steps)
    pattern[-1] = moved
    earlier = np.tile(pattern, rounds - 1)
    found = []
    for position in range(steps):
        last = np.zeros(steps)
        last[position] = moved
        shifts = np.concatenate([earlier, last])
        shifts = shifts[int(np.flatnonzero(shifts)[0]) :]
        mu = last_iterate_mu(shifts, contraction, scale, diameter=diameter)
        found.append(float(special.gaussian_delta_upper(mu, bound)))
    return min(math.nextafter(math.fsum(found) / steps, 1.0), 1.0)


# The slopes of the minorant only propose the a_k. The bound is the sum of squares of a budget
# carried through the recursion, every z rounded up: valid whatever the proposal.

_UP = 1.0 + 2.0**-50  # for the two roundings of a step of the recursion


def _least_square(shifts: Floats, contraction: float, diameter: float) -> float:
    """Return the least sum, from z_0 = 0 or from z_j = diameter for the j that looks best."""
    found = _square_from(shifts, contraction, 0.0)
    if diameter < math.inf:
        start = _best_start(shifts, contraction, diameter)
        found = min(found, _square_from(shifts[start:], contraction, diameter))
    return found


def _powers(contraction: float, count: int) -> Floats:
    """Return c^(t-1), ..., c, 1."""
    with np.errstate(under="ignore"):
        return np.asarray(np.power(contraction, np.arange(count - 1, -1, -1.0)))


def _best_start(shifts: Floats, contraction: float, diameter: float) -> int:
    """Return the j for which a straight path from z_j = diameter is shortest."""
    weights = _powers(contraction, len(shifts))
    with np.errstate(under="ignore"):
        still = np.cumsum((weights * shifts)[::-1])[::-1]
        time = np.cumsum((weights * weights)[::-1])[::-1]
        return int(np.argmin((still + diameter * contraction * weights) ** 2 / time))


def _square_from(shifts: Floats, contraction: float, start: float) -> float:
    """Return the sum of squares of the budget that the convex minorant proposes."""
    proposed = _minorant_slopes(shifts, contraction, start)
    apart, squares = start, []
    for shift, budget in zip(shifts[:-1].tolist(), proposed[:-1].tolist(), strict=True):
        apart = (contraction * apart + shift) * _UP
        spent = min(budget, apart)
        squares.append(spent * spent)
        apart = (apart - spent) * _UP
    squares.append(((contraction * apart + float(shifts[-1])) * _UP) ** 2)
    return math.fsum(squares) * _UP


def _minorant_slopes(shifts: Floats, contraction: float, start: float) -> Floats:
    """Return a_k = slope of the minorant at step k, times c^(t-k)."""
    weights = _powers(contraction, len(shifts))
    with np.errstate(under="ignore"):
        x = np.concatenate([[0.0], np.cumsum(weights * weights)])
        y = np.concatenate([[0.0], np.cumsum(weights * shifts) + start * contraction * weights[0]])
    across, height = lower_hull(x, y, exact=False)
    slopes = np.diff(height) / np.diff(across)
    part = np.searchsorted(across, x[1:]) - 1
    return np.asarray(slopes[np.maximum(part, 0)] * weights)
