"""The same cases with pytest-benchmark, this package alone: one working copy beside another.

python -m pytest bench/test_speed.py --benchmark-enable --benchmark-autosave
python -m pytest bench/test_speed.py --benchmark-enable --benchmark-compare

The comparison with other libraries is speed.py: it alternates between them within one run.
"""

from __future__ import annotations

import itertools

import cases
import pytest
from speed import epsilon_contenders, everyday_points

from renyi import Gaussian, PoissonSampled, RDPAccountant, calibrate_noise_multiplier, special

CASES = pytest.mark.parametrize("case", cases.EPSILON, ids=lambda case: case.title)


@CASES
def test_epsilon_all_orders(benchmark, case):
    (ours,) = epsilon_contenders(case.run, [])
    number = itertools.count()
    benchmark(lambda: ours.call(next(number)))
    assert ours.call(0) == pytest.approx(case.best, rel=1e-9)


@CASES
def test_epsilon_listed_orders(benchmark, case):
    (ours,) = epsilon_contenders(case.run, [])
    number, options = itertools.count(), {"orders": cases.OPACUS_ORDERS, "conversion": "balle"}
    benchmark(lambda: ours.call(next(number), **options))
    assert ours.call(0, **options) == pytest.approx(case.opacus, rel=1e-12)


@pytest.mark.parametrize("kind", ["fractional", "integer"])
def test_log_a(benchmark, kind):
    points = everyday_points(cases.LOG_A_POINTS, integer=kind == "integer")
    benchmark(special.log_a, *points)


def test_live_query(benchmark):
    q, sigma, _ = cases.LIVE_STEP
    step, accountant = PoissonSampled(Gaussian(sigma), q), RDPAccountant()
    benchmark(lambda: accountant.compose(step).get_epsilon(cases.DELTA))


@pytest.mark.parametrize("case", cases.CALIBRATION, ids=lambda case: f"{case.target_epsilon:g}")
def test_calibration(benchmark, case):
    number = itertools.count()

    def noise() -> float:
        return calibrate_noise_multiplier(
            target_epsilon=case.target_epsilon * (1 + 1e-10 * next(number)),
            target_delta=cases.DELTA,
            sample_rate=cases.CALIBRATION_RATE,
            steps=cases.CALIBRATION_STEPS,
            accountant="rdp",
        )

    assert noise() == pytest.approx(case.best, rel=1e-6)  # the tolerance
    benchmark(noise)
