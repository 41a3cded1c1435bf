"""Users as the unit: plans, bounded contributions, and which way has less noise."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from each import each
from examples import user_sampling

from renyi import Gaussian, PLDAccountant
from renyi.samplers import bound_contributions
from renyi.sgd import DPSGD, SGD, TrainingPlan, compare_user_sampling

# Noise, sampling rate, records; removal and insertion, 1,000 steps, delta 1e-6, of an independent
# inversion of the binomial mixture.
SHEET = [
    (1.0, 1, 2, 4.554091, 3.359424),
    (2.0, 1, 4, 3.269888, 2.979919),
    (5.0, 1, 8, 2.343371, 2.270143),
    (1.0, 1, 8, 23.082489, 16.024448),
]


@each("noise, size, records, removal, insertion", SHEET)
def test_users_with_several_records(noise, size, records, removal, insertion):
    run = {"noise_multiplier": noise, "steps": 1000, "unit": "user"}
    plan = TrainingPlan(100, size, records_per_user=records, **run)
    accountant = PLDAccountant().compose(plan.mechanism)
    found = [accountant.get_epsilon(1e-6, direction=side) for side in ("remove", "add")]
    assert found == pytest.approx([removal, insertion], rel=2e-6)
    assert plan.get_epsilon(1e-6) == max(found)


def test_one_record_of_a_user_is_a_record():
    settings = {"noise_multiplier": 1.5, "steps": 50}
    alone = TrainingPlan(1000, 20, **settings)
    for others in ({"unit": "user"}, {"unit": "user", "records_per_user": 1}):
        other = TrainingPlan(1000, 20, **settings, **others)
        assert other.get_epsilon(1e-5) == pytest.approx(alone.get_epsilon(1e-5), rel=1e-9)
        assert other.get_epsilon(1e-5) >= alone.get_epsilon(1e-5) * (1 - 1e-12)


def test_two_dimensional_gradients_are_below_the_pair():
    """Records of one user in any directions: sums over what was drawn, on a grid of outputs."""
    rng, noise, q = np.random.default_rng(4), 1.3, 0.3
    plan = TrainingPlan(10, 3, noise_multiplier=noise, steps=1, unit="user", records_per_user=3)
    accountant = PLDAccountant().compose(plan.mechanism)
    grid = np.stack(np.meshgrid(*[np.linspace(-11, 11, 300)] * 2), axis=-1)
    cell = (22 / 299) ** 2 / (2 * math.pi * noise**2)
    without = cell * np.exp(-(grid**2).sum(-1) / (2 * noise**2))
    for _ in range(12):
        rows = rng.normal(size=(3, 2))
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
        given = np.zeros(without.shape)
        for drawn in itertools.product((0, 1), repeat=3):
            centre = np.array(drawn) @ rows
            weight = q ** sum(drawn) * (1 - q) ** (3 - sum(drawn))
            given += weight * cell * np.exp(-((grid - centre) ** 2).sum(-1) / (2 * noise**2))
        for epsilon in (0.0, 0.5, 1.5):
            for one, other, side in ((given, without, "remove"), (without, given, "add")):
                truth = np.maximum(one - math.exp(epsilon) * other, 0.0).sum()
                assert truth <= accountant.get_delta(epsilon, direction=side) + 1e-9


def test_an_optimiser_is_charged_for_users():
    plan = TrainingPlan(40, 4, noise_multiplier=2.0, steps=3, unit="user", records_per_user=2)
    w, sampler = np.zeros(2), plan.sampler()
    optimizer = DPSGD(w, plan, SGD(0.1), sampler=sampler)
    for batch in sampler:
        optimizer.step(np.ones((len(batch), 2)))
    assert optimizer.get_epsilon(1e-5) == plan.get_epsilon(1e-5)
    record = TrainingPlan(40, 4, noise_multiplier=2.0, steps=3)
    assert plan.get_epsilon(1e-5) > record.get_epsilon(1e-5)
    found = TrainingPlan.calibrated(
        1.0, 1e-5, population=40, batch_size=4, steps=3, unit="user", records_per_user=2
    )
    assert 0.999 < found.get_epsilon(1e-5) <= 1.0


def test_extremes():
    many = {"steps": 1, "unit": "user", "records_per_user": 20}
    loud = TrainingPlan(1000, 1, noise_multiplier=1.0, **many)
    assert 0.0 < loud.get_epsilon(1e-5) < loud.get_epsilon(1e-5, accountant="rdp")
    bare = TrainingPlan(1000, 1, noise_multiplier=0.0, **many)
    drawn = PLDAccountant().compose(bare.mechanism).get_delta(1.0)
    assert drawn >= 1 - 0.999**20
    whole = TrainingPlan(1000, 1000, noise_multiplier=1e3, **many)
    expected = PLDAccountant().compose(Gaussian(50.0)).get_epsilon(1e-5)
    assert whole.get_epsilon(1e-5) == pytest.approx(expected, rel=1e-12)
    swapped = TrainingPlan(1000, 1, noise_multiplier=1.0, adjacency="replace_one", **many)
    assert swapped.get_epsilon(1e-5) > loud.get_epsilon(1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"unit": "person"}, "unit must be"),
        ({"records_per_user": 3}, "records_per_user must be None with unit"),
        ({"unit": "user", "records_per_user": 0}, "records_per_user must be"),
        (
            {"unit": "user", "records_per_user": 2, "grid_spacing": 2.0**-20, "dimension": 9},
            "no pair is known",
        ),
        ({"unit": "user", "records_per_user": 2, "sampling": "balls_in_bins"}, "no pair is known"),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(ValueError, match=message):
        TrainingPlan(100, 10, noise_multiplier=1.0, steps=10, **settings)


def test_contributions_are_bounded():
    rng = np.random.default_rng(8)
    for most in (1, 2, 5):
        owners = [
            tuple(rng.choice(30, rng.integers(1, 4), replace=False).tolist()) for _ in range(400)
        ]
        kept = bound_contributions(owners, most)
        counts = np.bincount([one for i in kept for one in owners[i]], minlength=30)
        assert counts.max() == most
        left = set(range(400)) - set(kept.tolist())
        assert all(max(counts[list(owners[i])]) == most for i in left)  # none can be added
        assert np.array_equal(kept, bound_contributions(iter(owners), most))
    assert bound_contributions(np.array([3, 3, 3, 1]), 2).tolist() == [0, 1, 3]
    assert bound_contributions([["a", "a"], np.array(["a", "b"])], 2).tolist() == [0, 1]
    assert bound_contributions([], 1).tolist() == []
    for bad, error in (([[]], ValueError), ([{}], TypeError)):
        with pytest.raises(error):
            bound_contributions(bad, 1)
    with pytest.raises(ValueError, match="most must be"):
        bound_contributions(["a"], 0)


PAGE = Path(__file__).parents[2] / "docs" / "training.md"
ROWS = re.findall(
    r"^\| (\d+ \| \d+ \| \d+ \| \d+ \| 0.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
)


def test_the_table_of_the_page():
    assert len(ROWS) == 4
    for row in ROWS:
        most, drawn, size, epsilon, *noises = row.split(" | ")
        both = compare_user_sampling(
            10_000, int(most), int(size),
            target_epsilon=float(epsilon), target_delta=1e-6, steps=500, records_drawn=int(drawn),
        )  # fmt: skip
        found = [both.record_noise, both.user_noise]
        assert found == pytest.approx([float(noise) for noise in noises], rel=2e-4 * 5)
        assert both.recommended == ("record" if found[0] <= found[1] else "user")
    with pytest.raises(ValueError, match="records_drawn must be"):
        compare_user_sampling(
            10, 2, 3, target_epsilon=1.0, target_delta=1e-5, steps=5, records_drawn=2
        )


def test_the_figure_of_both_ways(tmp_path, capsys):
    assert user_sampling.ratio(1, 1, 8.0) == pytest.approx(1.0, rel=1e-6)
    assert 0.974 < user_sampling.ratio(64, 1, 8.0) < user_sampling.ratio(2, 1, 8.0) < 1.0
    found = [user_sampling.ratio(rows, rows, epsilon) for epsilon in (0.5, 8.0) for rows in (2, 64)]
    assert found == pytest.approx([1.006, 2.891, 1.217, 15.390], abs=6e-4)
