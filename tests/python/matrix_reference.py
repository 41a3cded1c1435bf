"""Correlated noise by its definitions: every pattern of steps with every sign."""

import itertools
import math

import numpy as np


def patterns(participation, steps):
    """Yield the steps of one record, every choice that is permitted."""
    kind = type(participation).__name__
    if kind == "SinglePass":
        yield from ((i,) for i in range(steps))
    elif kind == "FixedEpochs":
        period = participation.period
        yield from (tuple(range(i, steps, period)) for i in range(min(period, steps)))
    else:
        most = participation.count or steps
        for size in range(1, min(most, steps) + 1):
            for chosen in itertools.combinations(range(steps), size):
                if all(j - i >= participation.separation for i, j in itertools.pairwise(chosen)):
                    yield chosen


def sensitivity(c, participation):
    """The largest norm of a signed sum of columns that one record can be in."""
    best = 0.0
    for chosen in patterns(participation, c.shape[1]):
        columns = c[:, chosen]
        for signs in itertools.product([1.0, -1.0], repeat=len(chosen) - 1):
            best = max(best, float(np.linalg.norm(columns @ np.array([1.0, *signs]))))
    return best


def loss(c, kind, largest):
    """The loss for prefix sums, of a square matrix and its sensitivity."""
    b = np.linalg.solve(c.T, np.tri(len(c)).T).T
    errors = (b * b).sum(axis=1)
    return largest * math.sqrt(errors.mean() if kind == "mean" else errors.max())
