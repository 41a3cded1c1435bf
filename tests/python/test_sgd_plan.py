"""A training plan: the sampling rate, the steps and the mechanism; users as the unit."""

import dataclasses
import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from each import each, refused
from examples import user_sampling

from renyi import Gaussian, PLDAccountant, RDPAccountant
from renyi.accountants import UnsupportedMechanismError
from renyi.calibration import calibrate_noise_multiplier
from renyi.mechanisms import (
    FixedSizeSampled,
    MultivariateDiscreteGaussian,
    PoissonSampled,
    RandomAllocation,
    ShuffledBatches,
    TruncatedPoissonSampled,
)
from renyi.samplers import (
    BallsInBinsSampler,
    FixedSizeSampler,
    PoissonSampler,
    ShuffledSampler,
    bound_contributions,
)
from renyi.sgd import TrainingPlan, compare_user_sampling

FIXED = {"sampling": "fixed_size", "adjacency": "replace_one"}
SHUFFLED = {"sampling": "shuffled", "adjacency": "zero_out"}
BINS = {"sampling": "balls_in_bins"}
TRUNCATED = {"sampling": "truncated_poisson", "batch_limit": 80}
CYCLIC = {"sampling": "cyclic_poisson", "cycle_length": 5}
GRID = {"grid_spacing": 2.0**-20, "dimension": 100}


def plan(population=1000, batch_size=64, **settings):
    if "steps" not in settings and "epochs" not in settings:
        settings["epochs"] = 3
    return TrainingPlan(population, batch_size, **{"noise_multiplier": 1.1, **settings})


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({"epochs": 3}, 47),  # 46.875, rounded up
        ({"epochs": 0.064}, 2),  # the float is above 64/1000: 1 and a bit
        ({"epochs": 1e-300}, 1),
        ({"steps": 17}, 17),
        ({"epochs": 3, **FIXED}, 47),
        ({"epochs": 3, **SHUFFLED}, 48),  # 16 batches to an epoch
        ({"epochs": 3, **BINS}, 48),
        ({"epochs": 5, "batch_size": 1000}, 5),
        ({"epochs": 1, "batch_size": 2**24, "population": 2**53}, 2**29),
    ],
)
def test_steps(settings, steps):
    assert plan(**settings).steps == steps


@pytest.mark.parametrize("settings", [{}, FIXED])
def test_sample_rate(settings):
    assert plan(**settings).sample_rate == 0.064
    assert plan(batch_size=1000, **settings).sample_rate == 1.0


@pytest.mark.parametrize("scheme", [{}, FIXED, SHUFFLED])
def test_accumulation_changes_neither_rate_nor_steps_nor_cost(scheme):
    one, many = plan(**scheme), plan(accumulation=5, **scheme)
    assert many.steps == one.steps
    assert many.mechanism == one.mechanism
    assert many.step_mechanism == one.step_mechanism
    assert many.noise_scale == one.noise_scale
    assert many.expected_batch_size == one.expected_batch_size
    assert (one.micro_batch_size, many.micro_batch_size) == (64, 13)


def test_micro_batches_are_a_partition():
    batch = np.arange(17)
    parts = list(plan(accumulation=4).micro_batches(batch))
    assert [part.size for part in parts] == [5, 4, 4, 4]
    assert np.array_equal(np.concatenate(parts), batch)
    assert [part.size for part in plan(accumulation=3).micro_batches(batch[:1])] == [1, 0, 0]


@pytest.mark.parametrize(
    ("scheme", "step", "uses"),
    [
        ({}, PoissonSampled(Gaussian(1.1), 0.064), 47),
        (FIXED, FixedSizeSampled(Gaussian(1.1), 64, 1000), 47),
        (SHUFFLED, ShuffledBatches(Gaussian(1.1), 16), 3),  # 48 steps
        ({**SHUFFLED, "steps": 17}, ShuffledBatches(Gaussian(1.1), 16), 2),  # one has begun
        (BINS, RandomAllocation(Gaussian(1.1), 16), 3),
        (TRUNCATED, TruncatedPoissonSampled(Gaussian(1.1), 0.064, 80, 1000), 47),
        (CYCLIC, PoissonSampled(Gaussian(1.1), 0.32), 10),
        (GRID, PoissonSampled(MultivariateDiscreteGaussian(1.1), 0.064), 47),
        ({**FIXED, **GRID}, FixedSizeSampled(MultivariateDiscreteGaussian(1.1), 64, 1000), 47),
        ({**SHUFFLED, **GRID}, ShuffledBatches(MultivariateDiscreteGaussian(1.1), 16), 3),
    ],
)
def test_mechanism(scheme, step, uses):
    made = plan(**scheme)
    assert made.step_mechanism == step
    assert made.mechanism == step * uses
    assert made.releases == uses
    assert made.steps_per_release * (uses - 1) < made.steps <= made.steps_per_release * uses
    fixed = scheme.get("sampling") == "fixed_size"
    both = ["replace_one"] * (scheme != GRID) + ["zero_out"] * (not fixed)
    for adjacency in both:
        assert plan(**{**scheme, "adjacency": adjacency}).mechanism == made.mechanism
    spent = RDPAccountant(adjacency=made.adjacency).compose(made.mechanism).get_epsilon(1e-5)
    assert made.get_epsilon(1e-5, accountant="rdp") == spent
    if "dimension" in scheme:
        assert made.get_epsilon(1e-5) == spent


@pytest.mark.parametrize(
    ("scheme", "kind"),
    [
        *(({}, PoissonSampler), (FIXED, FixedSizeSampler), (SHUFFLED, ShuffledSampler)),
        *((BINS, BallsInBinsSampler), (TRUNCATED, PoissonSampler)),
        (CYCLIC, PoissonSampler),
    ],
)
def test_sampler(scheme, kind):
    made = plan(**scheme)
    sampler = made.sampler()
    assert type(sampler) is kind
    assert sampler.mechanism(Gaussian(1.1), made.steps) == made.mechanism
    sizes = [len(batch) for batch in sampler]
    assert len(sizes) == len(sampler) == made.steps
    mean = made.expected_batch_size
    assert abs(np.mean(sizes) - mean) < 6 * math.sqrt(mean / made.steps)
    known = (
        80 if scheme is TRUNCATED else {FixedSizeSampler: 64, ShuffledSampler: 63}.get(kind, 1000)
    )
    assert max(sizes) <= made.largest_batch == known


@pytest.mark.parametrize("adjacency", ["add_remove", "zero_out"])
def test_calibration_for_poisson_is_the_exact_one(adjacency):
    settings = {"population": 1000, "batch_size": 64, "epochs": 3, "adjacency": adjacency}
    made = TrainingPlan.calibrated(2.0, 1e-5, tolerance=1e-6, **settings)
    target = {"target_epsilon": 2.0, "target_delta": 1e-5}
    exact = calibrate_noise_multiplier(
        **target, sample_rate=made.sample_rate, steps=made.steps, adjacency=adjacency
    )
    assert made.noise_multiplier == pytest.approx(exact, rel=3e-6)
    assert made.get_epsilon(1e-5) <= 2.0


@pytest.mark.parametrize(
    ("scheme", "accountant"),
    [
        ({}, "pld"),
        ({}, "rdp"),
        (FIXED, "rdp"),
        (SHUFFLED, "pld"),
        (SHUFFLED, "rdp"),
        ({**SHUFFLED, "adjacency": "replace_one"}, "pld"),
        *((scheme, "pld") for scheme in (BINS, TRUNCATED, CYCLIC)),
        ({"unit": "user", "records_per_user": 2}, "pld"),
        *(({**scheme, **GRID}, "rdp") for scheme in ({}, FIXED, SHUFFLED)),
    ],
)
@pytest.mark.parametrize("target", [0.1, 1.0, 8.0])
def test_calibration_meets_its_target_and_a_little_less_does_not(scheme, accountant, target):
    settings = {"population": 1000, "batch_size": 64, "epochs": 3, **scheme}
    made = TrainingPlan.calibrated(target, 1e-5, accountant=accountant, tolerance=1e-3, **settings)
    assert made.get_epsilon(1e-5, accountant=accountant) <= target
    less = dataclasses.replace(made, noise_multiplier=made.noise_multiplier * (1 - 1e-3))
    assert less.get_epsilon(1e-5, accountant=accountant) > target


def test_calibration_of_fixed_size_by_the_exact_accountant():
    settings = {"population": 100, "batch_size": 10, "steps": 1, **FIXED}
    made = TrainingPlan.calibrated(1.0, 1e-5, tolerance=0.1, **settings)
    less = dataclasses.replace(made, noise_multiplier=made.noise_multiplier * 0.9)
    assert made.get_epsilon(1e-5) <= 1.0 < less.get_epsilon(1e-5)


def test_epsilon_of_the_run():
    made = plan()
    for name, accountant in ("pld", PLDAccountant), ("rdp", RDPAccountant):
        spent = accountant().compose(PoissonSampled(Gaussian(1.1), 0.064), 47)
        assert made.get_epsilon(1e-5, accountant=name) == spent.get_epsilon(1e-5)
    assert plan(noise_multiplier=0.0).get_epsilon(1e-5) == math.inf


def test_shuffled_is_never_taken_for_poisson():
    shuffled = plan(**SHUFFLED)
    for scheme in (SHUFFLED, BINS):
        with pytest.raises(ValueError, match=f"sampling must not be '{scheme['sampling']}'"):
            _ = plan(**scheme).sample_rate
    with pytest.raises(ValueError, match="adjacency must be 'replace_one' or 'zero_out' with"):
        plan(sampling="shuffled")
    with pytest.raises(UnsupportedMechanismError):
        PLDAccountant(adjacency="add_remove").compose(shuffled.mechanism)
    poisson = plan(adjacency="zero_out")
    assert shuffled.get_epsilon(1e-5) > 2 * poisson.get_epsilon(1e-5)
    assert shuffled.get_epsilon(1e-5) == PLDAccountant().compose(Gaussian(1.1), 3).get_epsilon(1e-5)


def test_noise_scale_is_not_below_the_product():
    for noise, norm in (1.1, 0.3), (0.7, 1e-20), (1e-3, 7.7):
        product = math.prod(map(float, (noise, norm)))
        scale = plan(noise_multiplier=noise, max_grad_norm=norm).noise_scale
        assert product < scale <= math.nextafter(product, math.inf)
    assert plan(noise_multiplier=0.0).noise_scale == 0.0


def test_a_plan_is_a_value():
    made = plan(np.int64(1000), epochs=3)
    assert made == plan(steps=47)
    assert hash(made) == hash(plan(steps=47))
    assert dataclasses.replace(made, batch_size=32).steps == made.steps
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.steps = 3


REFUSED = {
    ValueError: [
        ({"batch_size": 0}, "batch_size must be an integer >= 1, got 0"),
        ({"batch_size": 1001}, r"batch_size must be an integer in \[1, 1000\]"),
        ({"population": 2**53 + 1, "batch_size": 2**30}, "population must be at most"),
        ({"population": 0}, "population must be an integer >= 1, got 0"),
        ({"steps": 0}, r"steps must be an integer in \[1, 10\^9\], got 0"),
        ({"epochs": 0}, r"epochs must be a number in \(0, inf\), got 0"),
        ({"epochs": math.inf}, r"epochs must be a number in \(0, inf\), got inf"),
        ({"sampling": ["poisson"]}, "sampling must be one of 'poisson', 'truncated_poisson'"),
        ({"sampling": "uniform"}, "sampling must be one of 'poisson', 'truncated_poisson'"),
        ({"sampling": "fixed_size"}, "adjacency must be 'replace_one' with sampling"),
        ({"adjacency": "swap"}, "adjacency must be one of"),
        ({"noise_multiplier": -1.0}, "noise_multiplier must be a number in"),
        ({"noise_multiplier": math.inf}, "noise_multiplier must be a number in"),
        ({"noise_multiplier": math.nan}, "noise_multiplier must be a number in"),
        ({"max_grad_norm": 0.0}, "max_grad_norm must be a number in"),
        ({"accumulation": 0}, "accumulation must be an integer >= 1, got 0"),
        *(({**s, **GRID}, "grid_spacing must be None") for s in (BINS, TRUNCATED)),
        ({"sampling": "truncated_poisson"}, "batch_limit must be given with sampling"),
        ({"batch_limit": 5}, "batch_limit must be given with sampling"),
        ({"sampling": "cyclic_poisson"}, "cycle_length must be given with sampling"),
        ({"cycle_length": 2}, "cycle_length must be given with"),
        ({**TRUNCATED, "batch_limit": 0}, "batch_limit must be an integer >= 1"),
        ({**CYCLIC, "cycle_length": 16}, "of the population, 1000, hold a batch, 64"),
    ],
    TypeError: [
        ({"steps": 3, "epochs": 3}, "exactly one of steps and epochs"),
        ({"steps": None}, "exactly one of steps and epochs"),
        ({"epochs": 1.5, **SHUFFLED}, "epochs must be an integer >= 1, got 1.5"),
        ({"epochs": 1.5, **BINS}, "epochs must be an integer"),
    ],
}
test_bad_arguments = refused(REFUSED, lambda settings: plan(**settings))


def test_bad_arguments_of_calibration():
    run = {"population": 100, "batch_size": 10, "epochs": 1}
    with pytest.raises(TypeError, match="noise_multiplier must be left out"):
        TrainingPlan.calibrated(1.0, 1e-5, noise_multiplier=1.0, **run)
    with pytest.raises(ValueError, match="target_epsilon must be"):
        TrainingPlan.calibrated(0.0, 1e-5, **run)
    with pytest.raises(ValueError, match="accountant must be one of 'pld', 'rdp', got 'gdp'"):
        TrainingPlan.calibrated(1.0, 1e-5, accountant="gdp", **run)
    with pytest.raises(ValueError, match="accountant must be one of 'pld', 'rdp'"):
        plan().get_epsilon(1e-5, accountant="gdp")


# --- users as the unit


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


UNITS = {
    ValueError: [
        ({"unit": "person"}, "unit must be"),
        ({"records_per_user": 3}, "records_per_user must be None with unit"),
        ({"unit": "user", "records_per_user": 0}, "records_per_user must be"),
        *(
            ({"unit": "user", "records_per_user": 2, **other}, "no pair is known")
            for other in (GRID, BINS)
        ),
    ]
}
test_refusals = refused(UNITS, lambda settings: plan(steps=10, **settings))


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
