"""log A by its expansions: bracketed by the reference, and in arrays the bits of single points."""

import numpy as np
import pytest
from mpmath import mp

from renyi import reference, special

NAMES = [
    name + end for name in ("log_a", "rdp_sampled_gaussian") for end in ("", "_lower", "_upper")
]


def everyday(count, seed):
    rng = np.random.default_rng(seed)
    q = 10.0 ** rng.uniform(-4, -0.61, count)
    sigma = rng.uniform(0.5, 5.0, count)
    alpha = rng.uniform(1.0, 72.0, count)
    whole, near = np.arange(count) % 3 == 0, np.arange(count) % 7 == 1
    alpha[whole] = np.maximum(np.floor(alpha[whole]), 2.0)
    alpha[near] = np.maximum(np.round(alpha[near]), 2.0) + rng.uniform(-1e-6, 1e-6, near.sum())
    return q, sigma, alpha


def extreme(count, seed):
    rng = np.random.default_rng(seed)
    q = 10.0 ** rng.uniform(-12, -0.61, count)
    sigma = 10.0 ** rng.uniform(-2, 6, count)
    return q, sigma, 1.0 + 10.0 ** rng.uniform(-9, 1.85, count)


@pytest.mark.parametrize("points", [everyday(50, 1), extreme(35, 2)], ids=["everyday", "extreme"])
def test_brackets_hold_the_truth(points):
    lower, upper = special.log_a_lower(*points), special.log_a_upper(*points)
    value = special.log_a(*points)
    with mp.workdps(40):
        for i, point in enumerate(zip(*points, strict=True)):
            truth = reference.log_a(*map(float, point), digits=20)
            assert mp.mpf(lower[i]) <= truth <= mp.mpf(upper[i]), point
            assert abs(value[i] / truth - 1) < 1e-13, point
    assert ((upper - lower) <= 1e-12 * value).all()


@pytest.mark.parametrize("name", NAMES)
def test_arrays_have_the_bits_of_points(name):
    f = getattr(special, name)
    points = np.concatenate([everyday(2000, 3), extreme(1100, 4)], axis=1)
    alone = np.array([f(*point) for point in points.T.tolist()])
    assert np.isfinite(alone).all()
    rng = np.random.default_rng(5)
    for count in (1, 5, 16, 500, 3100):
        chosen = rng.permutation(points.shape[1])[:count]
        assert (f(*points[:, chosen]) == alone[chosen]).all()
    assert (f(*points[:, ::-3]) == alone[::-3]).all()
    in_place = points.copy()
    f(*in_place, out=in_place[2])
    assert (in_place[2] == alone).all()
