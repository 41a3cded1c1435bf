"""One rule for numbers of uses: integers in [0, 10^9], equal steps taken together."""

import math

import numpy as np
import pytest

from renyi import (
    ApproxDP,
    Composed,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PrivacyFilter,
    PrivacyOdometer,
    RDPAccountant,
    RenyiFilter,
    calibrate_noise_multiplier,
    calibrate_sample_rate,
    pairs,
)
from renyi.cli import main
from renyi.sgd import TrainingPlan
from renyi.theory.comparison import compare
from renyi.theory.composition import optimal_composition

MOST = 10**9
STEP = PoissonSampled(Gaussian(2e4), 0.01)
RULE = r"must be an integer in \[0, 10\^9\]"
MECHANISMS = [STEP, Gaussian(1e5), Laplace(1e6), ApproxDP(1e-6, 1e-12), DiscreteGaussian(1e3)]


@pytest.mark.parametrize("kind", [PLDAccountant, RDPAccountant])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_counts_up_to_the_limit_are_taken_and_no_more(kind, mechanism):
    accountant = kind().compose(mechanism, MOST - 1).compose(mechanism)
    assert accountant.mechanisms == ((mechanism, MOST),)
    for count in (1, MOST, 10**30):
        with pytest.raises(ValueError, match=f"^count {RULE}"):
            accountant.compose(mechanism, count)
    for count in (MOST + 1, 10**400, -1):
        with pytest.raises(ValueError, match=f"^count {RULE}, got {count}$"):
            kind().compose(mechanism, count)
    for count in (1.5, math.nan, True, "1", None):
        with pytest.raises(TypeError, match=f"^count {RULE}, got {count!r}$"):
            kind().compose(mechanism, count)
    assert accountant.compose(mechanism, np.int64(0)).mechanisms == ((mechanism, MOST),)


@pytest.mark.parametrize("kind", [PLDAccountant, RDPAccountant])
def test_equal_steps_are_counted_together_whatever_holds_them(kind):
    half = Composed((STEP, MOST // 2), (Gaussian(1e6), 3))
    accountant = kind().compose(STEP, MOST // 2).compose(half)
    before = accountant.mechanisms, accountant.get_epsilon(1e-6)
    for more in (half, STEP, Composed(Gaussian(1e6), (STEP, 1)), Composed((STEP, 10**12))):
        with pytest.raises(ValueError, match=f"^count {RULE}"):
            accountant.compose(more)
    assert (accountant.mechanisms, accountant.get_epsilon(1e-6)) == before
    accountant.compose(Gaussian(1e6), MOST - 3)  # others have room
    assert math.isfinite(accountant.get_epsilon(1e-6))


def test_checkpoints_follow_the_rule():
    accountant = PLDAccountant().compose(STEP, MOST - 10)
    assert np.isfinite(accountant.get_epsilon_after(1e-6, STEP, [0, 10])).all()
    for counts in ([0, 11], [MOST + 1]):
        with pytest.raises(ValueError, match=f"^counts? {RULE}"):
            accountant.get_epsilon_after(1e-6, STEP, counts)


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_calibration_follows_the_rule(accountant):
    target = {"target_epsilon": 1.0, "target_delta": 1e-6, "accountant": accountant}
    for call in (
        lambda steps: calibrate_noise_multiplier(**target, sample_rate=0.1, steps=steps),
        lambda steps: calibrate_sample_rate(**target, noise_multiplier=2.0, steps=steps),
    ):
        with pytest.raises(ValueError, match=f"^steps {RULE}, got {MOST + 1}$"):
            call(MOST + 1)


@pytest.mark.parametrize(
    "use",
    [
        RenyiFilter(2.0, 1.0).spend,
        RenyiFilter(2.0, 1.0).fits,
        PrivacyFilter(1.0, 1e-6).spend,
        PrivacyFilter(1.0, 1e-6).fits,
        PrivacyOdometer(1e-6).spend,
        lambda mechanism, count: PLDAccountant().compose(mechanism, count),
        lambda mechanism, count: optimal_composition(0.1, count, target_epsilon=1.0).delta,
    ],
)
def test_one_message_wherever_uses_are_counted(use):
    for count in (MOST + 1, -1):
        with pytest.raises(ValueError, match=f"^count {RULE}, got {count}$"):
            use(STEP, count)
    with pytest.raises(ValueError, match=f"^count {RULE}, got one of 33220 bits$"):
        use(STEP, 10**10_000)  # too long for Python to print


def test_training_plans_follow_the_rule():
    def plan(**length):
        return TrainingPlan(10**4, 10, noise_multiplier=1.0, **length)

    assert plan(steps=MOST).steps == plan(epochs=MOST // 1000).steps == MOST
    for steps in (0, MOST + 1):
        with pytest.raises(
            ValueError, match=rf"^steps must be an integer in \[1, 10\^9\], got {steps}$"
        ):
            plan(steps=steps)
    shuffled = {"sampling": "shuffled", "adjacency": "zero_out"}
    for length in ({"epochs": 1e6 + 1}, {"epochs": 1e300}, {"epochs": 10**7, **shuffled}):
        with pytest.raises(ValueError, match=r"^epochs must make at most 10\^9 steps, got"):
            plan(**length)


def test_lattices_and_comparisons_follow_the_rule():
    with pytest.raises(ValueError, match=f"^count {RULE}"):
        pairs.Composition([(pairs.LaplacePair(1.0), MOST + 1)])
    with pytest.raises(ValueError, match=r"^steps must be an integer in \[1, 10\^9\]"):
        compare(0.01, 4.0, MOST + 1, epsilon=1.0)


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_the_command_line_follows_the_rule(accountant, capsys):
    run = ["epsilon", "--sample-rate", "1e-6", "--noise-multiplier", "10", "--delta", "1e-6"]
    run += ["--accountant", accountant]
    assert main([*run, "--steps", "1e9"]) == 0
    capsys.readouterr()
    for length in (["--steps", "1000000001"], ["--epochs", "1001"]):
        assert main([*run, *length]) == 2
        error = capsys.readouterr().err
        assert length[0] in error or "--steps" in error
        assert error.count("\n") == 1


def test_files_of_mechanisms_follow_the_rule(tmp_path, capsys):
    file = tmp_path / "run.json"
    file.write_text(Composed((STEP, MOST + 1)).to_json())
    assert main(["account", str(file), "--delta", "1e-6"]) == 2
    error = capsys.readouterr().err
    assert (
        "FILE must hold what can be accounted for: count must be an integer in [0, 10^9]" in error
    )
