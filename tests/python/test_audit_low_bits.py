"""The last bits of noisy sums, in few runs of the bench's attack."""

import importlib
from pathlib import Path

import pytest

from renyi import special

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("low_bits")


def test_the_attack_works_on_floating_point_and_not_here(bench):
    reported = special.gaussian_epsilon_upper(1.0 / bench.SIGMA, bench.DELTA)
    found = {
        release: bench.bounds(*bench.scores(release, 10_000, 150))
        for release in (bench.floating, bench.rounded)
    }
    assert max(epsilon for epsilon, _ in found[bench.floating].values()) > 2 * reported
    for epsilon, mu in found[bench.rounded].values():
        assert epsilon <= reported
        assert mu <= 1.0 / bench.SIGMA


def test_every_entry_is_on_the_lattice_in_both_worlds(bench):
    spacing = bench.noise_lattice(bench.SIGMA)
    for rows in bench.worlds(10_000):
        assert (bench.rounded(rows) % spacing == 0.0).all()
