"""Several releases on one sample: multinomial sums and closed forms."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from pair_reference import bounds

from renyi._engine import Pair

EPSILONS = (0.0, 0.02, 0.3, 1.0)


def sampled(profile: object, rate: float, epsilon: float) -> mp.mpf:
    """delta of ((1-s) Q + s P, Q) from that of (P, Q) as a function of E."""
    s, e = mp.mpf(rate), mp.exp(epsilon)
    return s * profile((e - 1 + s) / s)  # type: ignore[operator]


def sampled_add(profile: object, rate: float, epsilon: float) -> mp.mpf:
    """delta of (Q, (1-s) Q + s P): 1 - E + E H(1/E)."""
    s, e = mp.mpf(rate), mp.exp(epsilon)
    if 1 / e <= 1 - s:
        return mp.mpf(0)
    return 1 - e + e * s * profile((1 / e - 1 + s) / s)  # type: ignore[operator]


def contained(product: Pair, profile: object, width: float) -> None:
    with mp.workdps(60):
        for rate in (1e-3, 0.3, 1.0):
            one = product.sampled(rate)
            for epsilon in EPSILONS:
                for pair, exact in (
                    (one, sampled(profile, rate, epsilon)),
                    (one.reversed(), sampled_add(profile, rate, epsilon)),
                ):
                    lower, upper = bounds(pair, epsilon)
                    assert lower <= exact * (1 + mp.mpf("1e-40")) + mp.mpf("1e-50")
                    assert exact * (1 - mp.mpf("1e-40")) - mp.mpf("1e-50") <= upper
                    assert upper - lower <= width * upper + 1e-140


@pytest.mark.parametrize("uses", [1, 2, 5, 64, 1000])
def test_responses(uses: int) -> None:
    with mp.workdps(60):
        a = mp.mpf("0.75") if uses < 10 else mp.mpf("0.53125")
        masses = [mp.binomial(uses, j) * a**j * (1 - a) ** (uses - j) for j in range(uses + 1)]

        def profile(e: mp.mpf) -> mp.mpf:
            pairs = zip(masses, reversed(masses), strict=True)
            return mp.fsum(max(p - e * q, 0) for p, q in pairs)

        product = Pair.product([(Pair.randomized_response(float(a), 2), uses)])
        assert product.symmetric
        contained(product, profile, 2e-4)


@pytest.mark.parametrize(("mu", "uses"), [(1.0, 4), (0.3, 9), (0.05, 1000), (2.0, 2)])
def test_gaussians_are_one(mu: float, uses: int) -> None:
    with mp.workdps(60):
        total = mp.mpf(mu) * mp.sqrt(uses)

        def profile(e: mp.mpf) -> mp.mpf:
            x = mp.log(e)
            return mp.ncdf(total / 2 - x / total) - e * mp.ncdf(-total / 2 - x / total)

        contained(Pair.product([(Pair.gaussian(mu), uses)]), profile, 3e-3)


def test_different_parts() -> None:
    # A response and a pair that reveals, both once: four outcomes and what shows.
    with mp.workdps(60):
        p, d, e1 = mp.mpf("0.625"), mp.mpf(2) ** -20, mp.exp(1)
        first = [(p, 1 - p), (1 - p, p)]
        second = [(x * (1 - d) / (1 + e1), y * (1 - d) / (1 + e1)) for x, y in ((e1, 1), (1, e1))]

        def profile(e: mp.mpf) -> mp.mpf:
            both = [(a * c, b * f) for a, b in first for c, f in second]
            return d + mp.fsum(max(a - e * b, 0) for a, b in both)

        parts = [
            (Pair.randomized_response(0.625, 2), 1),
            (Pair.approximate_privacy(1.0, 2.0**-20), 1),
        ]
        contained(Pair.product(parts), profile, 2e-4)


def test_a_pair_and_its_reverse_are_not_taken_for_symmetric() -> None:
    pair = Pair.discrete(np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6]))
    assert not Pair.product([(pair, 1), (pair.reversed(), 1)]).symmetric


def test_losses_so_large_that_masses_vanish() -> None:
    # Q lies where P has nothing to speak of: half of it must not be lost.
    product = Pair.product([(Pair.gaussian(40.0), 2)])
    for one in (product.sampled(0.5), product.sampled(0.5).reversed()):
        lower, upper = bounds(one, 0.1)
        assert 0.0 <= lower <= upper <= 1.0
    assert bounds(product.sampled(0.5), 0.1)[1] >= 0.5 - 1e-9
