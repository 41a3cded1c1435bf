"""Samples that may stand in which, numbers of uses, and real numbers of any type."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from each import each
from mechanism_strategies import examples

import renyi
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
    mechanisms,
    pairs,
)
from renyi.cli import main
from renyi.matrix import Tree
from renyi.mechanisms import (
    FixedAllocation,
    FixedSizeSampled,
    MatrixMechanism,
    Mechanism,
    PrivacyLoss,
    RandomAllocation,
    RepeatAndSelect,
    ShuffledBatches,
    TruncatedPoissonSampled,
)
from renyi.pairs import MechanismPair
from renyi.sgd import TrainingPlan
from renyi.theory.comparison import compare
from renyi.theory.composition import optimal_composition

G = Gaussian(1.0)
STEP = PoissonSampled(G, 0.01)
FIXED = FixedSizeSampled(G, 10, 100)
TRUNCATED = TruncatedPoissonSampled(G, 0.1, 20, 100)
SHUFFLED = ShuffledBatches(G, 10)
ALLOCATED = RandomAllocation(G, 10)


@pytest.mark.parametrize(
    "inner",
    [
        G,
        G * 3 + Laplace(2.0),
        STEP,
        STEP * 2,
        STEP + G,
        Composed(),
        ApproxDP(1.0, 1e-5),
        PrivacyLoss(MechanismPair(Laplace(1.0))),
        MatrixMechanism(Tree(8), 1.0),
        RepeatAndSelect(STEP, 3.0, 1.0),
    ],
)
def test_anything_that_needs_no_size_is_sampled(inner):
    poisson = PoissonSampled(inner, 0.5)
    assert (poisson.mechanism, poisson.sample_rate) == (inner, 0.5)
    assert FixedSizeSampled(inner, 10, 100).mechanism == inner
    assert FixedSizeSampled(inner, 10, 100, replacement=True).mechanism == inner


@pytest.mark.parametrize("inner", [FIXED, TRUNCATED, SHUFFLED])
@pytest.mark.parametrize(
    "wrap", [lambda m: m, lambda m: m * 2 + G, lambda m: RepeatAndSelect(m, 2.0, 1.0)]
)
def test_a_random_sample_has_no_size(inner, wrap):
    for sampled in (PoissonSampled, RandomAllocation, lambda m, _: FixedAllocation(m, 3, 2)):
        with pytest.raises(ValueError, match="must not fix the size of its data, which is random"):
            sampled(wrap(inner), 1)


@pytest.mark.parametrize("inner", [G * 2 + Laplace(1.0), STEP, ALLOCATED, Composed()])
def test_anything_that_needs_no_size_is_allocated(inner):
    assert RandomAllocation(inner, 10, 3).mechanism == inner
    assert FixedAllocation(inner, 10, 3).mechanism == inner
    for bad in (3, None):
        with pytest.raises(TypeError, match=f"^mechanism must be a Mechanism, got {bad}"):
            RandomAllocation(bad, 10)


def test_picks_are_of_the_steps():
    assert RandomAllocation(G, np.int64(5), np.int64(5)).picks == 5
    for bad in (0, 6):
        with pytest.raises(ValueError, match=r"^picks must be an integer (>= 1|in \[1, 5\])"):
            RandomAllocation(G, 5, bad)
    written = RandomAllocation(G, 5).to_dict()
    assert RandomAllocation.from_dict(written) == RandomAllocation(G, 5, 1)
    del written["picks"]  # as it was written when there was one pick only
    assert RandomAllocation.from_dict(written) == RandomAllocation(G, 5)
    text = RandomAllocation(Laplace(2.0), 5, 3).to_json()
    assert RandomAllocation.from_json(text).picks == 3


def test_what_is_written_is_kept():
    twice = PoissonSampled(PoissonSampled(G, 0.1), 0.2)
    assert twice.mechanism == PoissonSampled(G, 0.1)
    assert twice != PoissonSampled(G, 0.1 * 0.2)
    assert PoissonSampled(G, 1.0) != G


def test_samples_of_fixed_size_nest_where_sizes_fit():
    assert FixedSizeSampled(FIXED, 100, 1000).mechanism == FIXED
    assert FixedSizeSampled(FIXED * 3 + FIXED + STEP, 100, 1000).sample_rate == 0.1
    assert FixedSizeSampled(SHUFFLED, 100, 1000).mechanism == SHUFFLED
    again = FixedSizeSampled(G, 10, 100, replacement=True)
    assert FixedSizeSampled(again, 100, 1000).mechanism == again
    for size in (99, 101):
        with pytest.raises(ValueError, match=f"must have the population {size}, the sample_size"):
            FixedSizeSampled(G + FIXED, size, 1000)
    assert FixedSizeSampled(ALLOCATED, 100, 1000).mechanism == ALLOCATED
    for inner in (TRUNCATED, TRUNCATED + G):
        with pytest.raises(ValueError, match="must hold where one record is replaced"):
            FixedSizeSampled(inner, 100, 1000)
    for inner in (FIXED, SHUFFLED):
        with pytest.raises(ValueError, match="must not need distinct records"):
            FixedSizeSampled(inner, 100, 1000, replacement=True)


def test_an_epoch_is_of_anything():
    for inner in (G, STEP, FIXED, TRUNCATED, SHUFFLED, ALLOCATED, G + STEP * 2):
        assert ShuffledBatches(inner, 10).mechanism == inner


def test_rate_of_a_sample_of_fixed_size():
    assert FixedSizeSampled(G, 1, 3).sample_rate == 1 / 3
    assert FixedSizeSampled(G, 3, 3).sample_rate == 1.0
    drawn = FixedSizeSampled(G, 4, 3, replacement=True)
    assert drawn.sample_rate == pytest.approx(1 - (2 / 3) ** 4, rel=1e-15)
    assert FixedSizeSampled(G, 5, 1, replacement=True).sample_rate == 1.0
    assert FixedSizeSampled(G, 1, 10**30, True).sample_rate == pytest.approx(1e-30, rel=1e-15)
    assert FixedSizeSampled(G, 10**400, 10**401).sample_rate == 0.1


def test_sizes_of_numpy_become_integers():
    fixed = FixedSizeSampled(G, np.int32(10), np.int64(100), np.True_)
    assert fixed == FixedSizeSampled(G, 10, 100, True)
    assert [type(v) for v in (fixed.sample_size, fixed.replacement)] == [int, bool]


def cut(**changes):
    return TruncatedPoissonSampled(
        **{"mechanism": G, "sample_rate": 0.1, "batch_limit": 1, "population": 1} | changes
    )


NO_SIZE, GAUSSIAN = [1.5, "3", None, True], "mechanism must be a Gaussian, the only one"


@each(
    "message, make, outside, wrong",
    [
        (r"sample_size must be .* >= 1", lambda x: FixedSizeSampled(G, x, 10), [0], NO_SIZE),
        (r"sample_size must be .* in \[1, 10\]", lambda x: FixedSizeSampled(G, x, 10), [11], []),
        (r"population must be .* >= 1", lambda x: FixedSizeSampled(G, 1, x), [0], NO_SIZE),
        (
            r"replacement must be True or",
            lambda x: FixedSizeSampled(G, 1, 10, x),
            [],
            [1, 0, None, "yes"],
        ),
        (r"sample_rate must be .* in \[0, 1\]", lambda x: cut(sample_rate=x), [1.1], []),
        (r"batch_limit must be .* >= 1", lambda x: cut(batch_limit=x), [0], NO_SIZE),
        (r"population must be .* >= 1", lambda x: cut(population=x), [0], []),
        (GAUSSIAN, lambda x: cut(mechanism=x), [], [G * 2, STEP, Laplace(1.0), 3, None]),
        (r"batches must be .* >= 1", lambda x: ShuffledBatches(G, x), [0], NO_SIZE),
        (r"steps must be .* >= 1", lambda x: RandomAllocation(G, x), [-1], NO_SIZE),
        (r"epochs must be .* >= 1", lambda x: FixedAllocation(G, 5, x), [0], []),
        (
            r"sample_rate must be .* in \[0, 1\]",
            lambda x: PoissonSampled(G, x),
            [1.1, math.nan],
            [],
        ),
        (r"mechanism must be a Mechanism", lambda x: FixedSizeSampled(x, 1, 10), [], [3]),
        (r"mechanism must be a Mechanism", lambda x: ShuffledBatches(x, 1), [], [3]),
    ],
)
def test_refused(message, make, outside, wrong):
    for error, bads in ((ValueError, outside), (TypeError, wrong)):
        for bad in bads:
            with pytest.raises(error, match=f"^{message}"):
                make(bad)


# --- numbers of uses


MOST = 10**9
RARE_STEP = PoissonSampled(Gaussian(2e4), 0.01)
RULE = r"must be an integer in \[0, 10\^9\]"
MECHANISMS = [RARE_STEP, Gaussian(1e5), Laplace(1e6), ApproxDP(1e-6, 1e-12), DiscreteGaussian(1e3)]


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
    half = Composed((RARE_STEP, MOST // 2), (Gaussian(1e6), 3))
    accountant = kind().compose(RARE_STEP, MOST // 2).compose(half)
    before = accountant.mechanisms, accountant.get_epsilon(1e-6)
    for more in (
        half,
        RARE_STEP,
        Composed(Gaussian(1e6), (RARE_STEP, 1)),
        Composed((RARE_STEP, 10**12)),
    ):
        with pytest.raises(ValueError, match=f"^count {RULE}"):
            accountant.compose(more)
    assert (accountant.mechanisms, accountant.get_epsilon(1e-6)) == before
    accountant.compose(Gaussian(1e6), MOST - 3)  # others have room
    assert math.isfinite(accountant.get_epsilon(1e-6))


def test_checkpoints_follow_the_rule():
    accountant = PLDAccountant().compose(RARE_STEP, MOST - 10)
    assert np.isfinite(accountant.get_epsilon_after(1e-6, RARE_STEP, [0, 10])).all()
    for counts in ([0, 11], [MOST + 1]):
        with pytest.raises(ValueError, match=f"^counts? {RULE}"):
            accountant.get_epsilon_after(1e-6, RARE_STEP, counts)


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
            use(RARE_STEP, count)
    with pytest.raises(ValueError, match=f"^count {RULE}, got one of 33220 bits$"):
        use(RARE_STEP, 10**10_000)  # too long for Python to print


@each("accountant", ["pld", "rdp"])
def test_calibrations_lattices_and_comparisons_follow_the_rule(accountant):
    target = {"target_epsilon": 1.0, "target_delta": 1e-6, "accountant": accountant}
    one = r"steps must be an integer in \[1, 10\^9\]"
    for message, make in (
        (f"steps {RULE}", lambda n: calibrate_noise_multiplier(**target, sample_rate=0.1, steps=n)),
        (f"steps {RULE}", lambda n: calibrate_sample_rate(**target, noise_multiplier=2.0, steps=n)),
        (f"count {RULE}", lambda n: pairs.Composition([(MechanismPair(Laplace(1.0)), n)])),
        (one, lambda n: compare(0.01, 4.0, n, epsilon=1.0)),
    ):
        with pytest.raises(ValueError, match=f"^{message}, got {MOST + 1}$"):
            make(MOST + 1)


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
    file.write_text(Composed((RARE_STEP, MOST + 1)).to_json())
    assert main(["account", str(file), "--delta", "1e-6"]) == 2
    error = capsys.readouterr().err
    assert (
        "FILE must hold what can be accounted for: count must be an integer in [0, 10^9]" in error
    )


# --- any real number is an argument


WHOLE_STEP = Gaussian(2.0)


def permits(make, number):
    try:
        make(number)
    except ValueError:
        return False
    return True


ALONE = [  # each with one number, to be a multiple of 1/4 in (0, 1), where it may be
    make
    for one in examples.values()
    if is_dataclass(one)
    for field in fields(one)
    if field.init and field.type == "float"
    for make in [lambda x, one=one, name=field.name: replace(one, **{name: x})]
    if permits(make, 0.75)
]
CASES = [
    *ALONE,
    lambda x: mechanisms.GaussianMixture(1.0, [0.0, x], [0.5, 0.5]),
    lambda x: mechanisms.GaussianMixture(1.0, [0.0, 1.0], [x, 1 - x]),
    lambda x: mechanisms.RDPCurve([2.0], [x]),
    lambda x: mechanisms.RDPCurve([1 + x], [2.0]),
]
KINDS = {
    "Decimal": Decimal,
    "Fraction": Fraction,
    "float16": np.float16,
    "float32": np.float32,
    "longdouble": np.longdouble,
    "0-d": np.array,
    "object": lambda x: np.array(Decimal(x)),
    "mpf": mpmath.mpf,
}
OTHERS = [
    "0.5",
    b"0.5",
    True,
    np.True_,
    0.5 + 0.25j,
    np.complex128(0.5),
    None,
    [0.5],
    np.array([0.5]),
    np.array("0.5"),
]


@each("make", CASES)
@each("kind", KINDS)
def test_every_mechanism_takes_any_real_number(make, kind):
    assert make(KINDS[kind](0.75)) == make(0.75)
    assert Mechanism.from_json(make(KINDS[kind](0.75)).to_json()) == make(0.75)


@each("make", ALONE)
@each("other", OTHERS)
def test_what_is_no_real_number_is_refused_by_name(make, other):
    with pytest.raises(TypeError, match=r"^[a-z_]+ must be .*, got "):
        make(other)


@each("make", [lambda x: Gaussian(x), lambda x: renyi.PoissonSampled(WHOLE_STEP, x)])
@each(
    "tiny",
    [Decimal("1e-400"), Fraction(1, 10**400), np.longdouble("1e-4000"), mpmath.mpf("1e-400")],
)
def test_a_number_that_doubles_have_as_zero_is_refused(make, tiny):
    """As 0 a sampling rate would say that no record is ever seen."""
    with pytest.raises(ValueError, match="which no double is near"):
        make(tiny)


@pytest.mark.parametrize(
    "large", [Decimal("1e400"), 10**400, Fraction(10**400), np.longdouble("1e4000")], ids=repr
)
def test_a_number_beyond_doubles_is_refused(large):
    """As infinite noise it would cost nothing."""
    with pytest.raises(ValueError, match=r"noise_multiplier must be .*(no double|beyond doubles)"):
        Gaussian(large)
    assert Gaussian(Decimal("Infinity")) == Gaussian(float("inf"))


def test_decimals_become_the_nearest_double():
    assert Gaussian(Decimal("1.1")) == Gaussian(1.1)
    assert Gaussian(Fraction(11, 10)) == Gaussian(1.1)


@pytest.mark.parametrize("three", [3.0, Decimal(3), Fraction(3), np.float32(3), np.int8(3)])
def test_counts_may_be_whole_numbers_of_any_type(three):
    assert WHOLE_STEP * three == WHOLE_STEP * 3
    assert renyi.RandomAllocation(WHOLE_STEP, three) == renyi.RandomAllocation(WHOLE_STEP, 3)
    accountants = [
        renyi.PLDAccountant().compose(WHOLE_STEP, n).get_epsilon(1e-5) for n in (three, 3)
    ]
    assert accountants[0] == accountants[1]


@pytest.mark.parametrize("none", [2.5, Decimal("2.5"), Decimal("NaN"), Fraction(7, 3), "3", True])
def test_counts_are_whole(none):
    with pytest.raises(TypeError, match="count must be an integer"):
        renyi.PLDAccountant().compose(WHOLE_STEP, none)


@pytest.mark.parametrize("delta", [Decimal("1e-5"), Fraction(1, 100_000), np.float64(1e-5)])
def test_questions_take_any_real_number(delta):
    run = renyi.PLDAccountant().compose(WHOLE_STEP, 10)
    assert run.get_epsilon(delta) == run.get_epsilon(1e-5)
    assert run.get_epsilon([delta, delta]).tolist() == [run.get_epsilon(1e-5)] * 2
    with pytest.raises(ValueError, match="delta must be"):
        run.get_epsilon([0.1, Decimal("1e-400")])
    with pytest.raises(TypeError, match="delta must be"):
        run.get_epsilon(np.array(["0.1", 0.2], dtype=object))
