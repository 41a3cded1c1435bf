"""Compositions of pairs that are spliced from both orders: what adaptive choices reach, bracketed.

A splice is tight for one use. Composed, its bracket reaches from fixed neighbours to the splice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from each import slow

from renyi import (
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    FixedSizeSampled,
    Gaussian,
    Gumbel,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    RandomizedResponse,
    RDPAccountant,
    Skellam,
    TruncatedPoissonSampled,
)
from renyi.mechanisms import Mechanism

Array = npt.NDArray[np.float64]
PAGE = (Path(__file__).parents[2] / "docs" / "noise.md").read_text(encoding="utf-8")
SCALE = 4.0 * math.sqrt(6.0) / math.pi  # standard deviation 4, as in docs/noise.md
REACH, LARGEST = 100.0, 20.0  # of the grid of epsilon; of one loss


def one_use(scale: float, step: float) -> tuple[Array, Array]:
    """P-masses of the losses of Gumbel noise moved the one way and the other, on a grid.

    The loss t - (e^t - 1) u, u exponential of rate e^t under P and 1 under Q. The masses of a cell
    under P and Q are spread to its ends, which replaces functions convex in e^epsilon by chords.
    """
    shift = 1.0 / scale
    rate = 1.0 / math.expm1(shift)
    ends = step * np.arange(-round(LARGEST / step), round(LARGEST / step) + 1)

    def spread(p: Array, q: Array) -> Array:
        high = (p * np.exp(-ends[:-1]) - q) / (-math.expm1(-step) * np.exp(-ends[:-1]))
        return np.append(0.0, high) + np.append(p - high, 0.0)

    below = rate * np.maximum(shift - ends, 0.0)
    p = np.diff(np.exp(-math.exp(shift) * below))
    q = np.diff(np.exp(-below))
    return spread(p, q), spread(q[::-1], p[::-1])


def adaptive_deltas(uses: int, step: float) -> tuple[Array, Array]:
    """Epsilons, and delta where the direction of each use may depend on what was released."""
    laws = one_use(SCALE, step)
    ends = step * np.arange(-round(REACH / step), round(REACH / step) + 1)
    reach = round(LARGEST / step)
    left = -np.expm1(ends[0] - step * np.arange(reach, 0, -1))
    found = np.maximum(-np.expm1(ends), 0.0)
    for _ in range(uses):
        # The sum of p(l) found(epsilon - l): beyond the grid 1 - e^epsilon, and 0.
        padded = np.concatenate([left, found, np.zeros(reach)])
        found = np.maximum(*(np.convolve(padded, law, "valid") for law in laws))
    return ends, found


def limit_of(value: Callable[[float], float]) -> float:
    """Extrapolate to step 0: chords err by the square of their length."""
    coarse, fine = value(0.04), value(0.02)
    return fine + (fine - coarse) / 3.0


def test_two_uses_of_gumbel_noise() -> None:
    truth = limit_of(lambda step: float(np.interp(1.0, *adaptive_deltas(2, step))))
    assert truth == pytest.approx(0.0223065, rel=1e-5)
    low, high = PLDAccountant().compose(Gumbel(SCALE), 2).get_delta_bounds(1.0)
    assert low <= 0.0223065 <= high


@pytest.mark.parametrize(("uses", "known"), [(16, 9.069), *slow((256, 41.98))])
def test_many_uses_of_gumbel_noise(uses: int, known: float) -> None:
    def epsilon(step: float) -> float:
        ends, deltas = adaptive_deltas(uses, step)
        return float(np.interp(math.log(1e5), -np.log(np.maximum(deltas, 1e-14)), ends))

    assert limit_of(epsilon) == pytest.approx(known, rel=5e-5)
    low, high = PLDAccountant().compose(Gumbel(SCALE), uses).get_epsilon_bounds(1e-5)
    assert low <= known <= high
    assert high <= 1.15 * known


def test_the_page_says_what_the_bracket_is() -> None:
    rows = re.findall(r"^\| (\d+) uses? \| (\S+) \| \S+ \| (\S+) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 3
    for uses, lower, upper in rows:
        low, high = PLDAccountant().compose(Gumbel(SCALE), int(uses)).get_epsilon_bounds(1e-5)
        assert float(lower) <= low == pytest.approx(float(lower), rel=1e-3)
        assert high <= float(upper) == pytest.approx(high, rel=1e-3)


ADJACENCIES = ("add_remove", "replace_one", "zero_out")
REPLACED = [
    Gaussian(2.0),
    Laplace(2.0),
    DiscreteGaussian(3.0),
    DiscreteLaplace(3.0),
    Skellam(20.0),
    RandomizedResponse(0.7, 3),
    Gaussian(4.0) + Laplace(5.0),
]


@pytest.mark.parametrize(
    ("adjacency", "mechanism"),
    [
        ("add_remove", Gumbel(4.0)),
        ("replace_one", Gumbel(4.0)),
        ("add_remove", PoissonSampled(Gumbel(4.0), 0.1)),
        *(("replace_one", PoissonSampled(base, 0.1)) for base in [*REPLACED, Gumbel(4.0)]),
        *(("replace_one", FixedSizeSampled(base, 10, 100)) for base in REPLACED),
        *(("replace_one", FixedSizeSampled(base, 10, 100, True)) for base in REPLACED[:2]),
        *((kind, TruncatedPoissonSampled(Gaussian(2.0), 0.1, 12, 100)) for kind in ADJACENCIES),
    ],
    ids=repr,
)
@pytest.mark.parametrize("uses", [1000, *slow(1)])
def test_no_lower_end_exceeds_what_another_accountant_proves(
    adjacency: str, mechanism: Mechanism, uses: int
) -> None:
    low, high = PLDAccountant(adjacency=adjacency).compose(mechanism, uses).get_epsilon_bounds(1e-5)
    proven = RDPAccountant(adjacency=adjacency).compose(mechanism, uses).get_epsilon(1e-5)
    assert low <= proven
    assert low <= high


@pytest.mark.parametrize("base", [*REPLACED, Gumbel(4.0)], ids=repr)
def test_one_sample_of_fixed_size_is_exact(base: Mechanism) -> None:
    accountant = PLDAccountant(adjacency="replace_one").compose(FixedSizeSampled(base, 10, 100))
    low, high = accountant.get_epsilon_bounds(1e-5)
    width = 1e-4 if isinstance(base, Composed) else 1e-6  # products are atoms off the lattice
    assert low <= high <= low * (1.0 + width) + 1e-9
