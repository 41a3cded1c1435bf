"""Schemes of sampling on the command line, compared, and reports that are shuffled."""

import csv
import io
import json

import pytest
from command_line import refused, run
from each import slow

from renyi import (
    FixedSizeSampled,
    Gaussian,
    MatrixMechanism,
    PLDAccountant,
    PureDP,
    RandomAllocation,
    Shuffled,
    ShuffledBatches,
    TruncatedPoissonSampled,
)
from renyi.matrix import BandedInverse, FixedEpochs
from renyi.sgd import TrainingPlan
from renyi.theory.comparison import compare_samplings

SIZES = ["--batch-size", "600", "--dataset-size", "60000"]
NOISE = ["--noise-multiplier", "1"]
G = Gaussian(1.0)
RUNS = {
    "balls-in-bins": (RandomAllocation(G, 100), 2, "add_remove"),
    "shuffled": (ShuffledBatches(G, 100), 2, "zero_out"),
    "truncated-poisson": (TruncatedPoissonSampled(G, 0.01, 845, 60_000), 200, "add_remove"),
    "fixed-size": (FixedSizeSampled(G, 600, 60_000), 200, "replace_one"),
}


def scheme(name):
    return ["--sampling", name, "--adjacency", RUNS[name][2]]


@pytest.mark.parametrize("name", RUNS)
def test_epsilon_and_delta_are_those_of_the_scheme(capsys, name):
    part, count, adjacency = RUNS[name]
    accountant = PLDAccountant(adjacency=adjacency).compose(part, count)
    common = [*SIZES, *NOISE, "--epochs", 2, *scheme(name), "--json"]
    code, out, _ = run(capsys, "epsilon", "--delta", "1e-5", *common)
    document = json.loads(out)
    assert code == 0
    assert document["assumptions"]["sampling"] == name.replace("-", "_")
    assert document["results"][0]["epsilon"] == accountant.get_epsilon(1e-5)
    _, out, _ = run(capsys, "delta", "--epsilon", "8", *common)
    assert json.loads(out)["results"][0]["delta"] == accountant.get_delta(8.0)


def test_words_say_how_batches_were_drawn(capsys):
    common = ["epsilon", "--delta", "1e-5", *SIZES, *NOISE, "--epochs", 1]
    _, out, _ = run(capsys, *common, *scheme("balls-in-bins"))
    assert "(exact curve" in out
    assert "(balls in bins): in each epoch each record is in one of 100 batches" in " ".join(
        out.split()
    )
    assert "Poisson" not in out.partition("Computed")[0]
    _, out, _ = run(capsys, *common, *scheme("shuffled"))
    assert "(proven bound" in out
    assert "a proven upper bound of the privacy curve" in " ".join(out.split())


def test_noise_and_steps_meet_their_targets(capsys):
    target = ["--epsilon", 1, "--delta", "1e-5", *SIZES, "--json"]
    _, out, _ = run(capsys, "noise", *target, "--epochs", 1, *scheme("balls-in-bins"))
    noise = json.loads(out)["results"][0]["noise_multiplier"]

    def epsilon(multiplier, epochs):
        epoch = RandomAllocation(Gaussian(multiplier), 100)
        return PLDAccountant().compose(epoch, epochs).get_epsilon(1e-5)

    assert epsilon(noise, 1) <= 1.0 < epsilon(noise * (1.0 - 1e-4), 1)
    _, out, _ = run(capsys, "steps", *target, *NOISE, *scheme("balls-in-bins"))
    steps = json.loads(out)["results"][0]["steps"]
    assert steps % 100 == 0
    assert epsilon(1.0, steps // 100) <= 1.0 < epsilon(1.0, steps // 100 + 1)


@pytest.mark.parametrize(
    ("records", "size", "epochs"), [(1000, 600, 10), *slow((60_000, 50_000, 20))]
)
@pytest.mark.parametrize("name", ["balls-in-bins", "shuffled"])
def test_epochs_are_whole_where_batches_do_not_divide_the_records(
    capsys, records, size, epochs, name
):
    common = ["--batch-size", size, "--dataset-size", records, "--delta", "1e-6", "--json"]
    common += scheme(name)

    def planned(noise_multiplier):
        settings = {"sampling": name.replace("-", "_"), "adjacency": RUNS[name][2]}
        return TrainingPlan(
            records, size, noise_multiplier=noise_multiplier, epochs=epochs, **settings
        )

    plan, noise = planned(2.0), ["--noise-multiplier", 2]
    steps = 2 * epochs  # two batches to an epoch
    for length in (["--epochs", epochs], ["--steps", steps], ["--steps", steps - 1]):
        _, out, _ = run(capsys, "epsilon", *common, *noise, *length)
        (found,) = json.loads(out)["results"]
        assert found["steps"] == plan.steps == steps
        assert found["epsilon"] == plan.get_epsilon(1e-6)
    _, out, _ = run(capsys, "noise", *common, "--epsilon", 2, "--epochs", epochs)
    (found,) = json.loads(out)["results"]
    assert planned(found["noise_multiplier"]).get_epsilon(1e-6) <= 2.0
    err = refused(capsys, "epsilon", *common, *noise, "--epochs", "19.5")
    assert f"--epochs must be whole numbers with --sampling {name}" in err


def test_epochs_in_fixed_order_have_a_short_last_batch(capsys):
    common = ["noise", "--strategy", "tree", "--epsilon", 1, "--delta", "1e-5"]
    common += ["--batch-size", 4, "--dataset-size", 10, "--json"]
    found = [
        json.loads(run(capsys, *common, *length)[1])["results"][0]["noise_multiplier"]
        for length in (["--epochs", 10], ["--steps", 30])
    ]
    assert found[0] == found[1]


def test_noise_of_inverse_bands(capsys):
    common = ["noise", "--strategy", "inverse", "--epsilon", 2, "--delta", "1e-5", "--steps", 40]
    common += ["--batch-size", 4, "--dataset-size", 40, "--json"]
    found = [
        json.loads(run(capsys, *common, *more)[1])["results"][0]
        for more in (["--bands", 2], ["--bands", 8], [])
    ]
    assert [row["strategy"] for row in found] == ["BandedInverse"] * 3
    assert found[0]["error"] > found[1]["error"] >= found[2]["error"] * (1.0 - 1e-3)
    inverse = BandedInverse.optimal(40, 8, participation=FixedEpochs(10))
    run_of = MatrixMechanism(inverse, found[1]["noise_multiplier"], FixedEpochs(10))
    assert PLDAccountant(adjacency="zero_out").compose(run_of).get_epsilon(1e-5) <= 2.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--bands", "3"], "--bands needs --strategy banded or inverse"),
        (["--strategy", "blt", "--bands", "3"], "--bands needs --strategy banded or inverse"),
        (["--strategy", "tree", "--buffers", "3"], "--buffers needs --strategy blt"),
        (["--fixed-order"], "--fixed-order needs --strategy banded"),
        (["--strategy", "banded", "--bands", "0"], "--bands must be a whole number from 1"),
        (["--strategy", "blt", "--buffers", "50"], "--buffers must be an integer in [1, 8]"),
    ],
)
def test_options_of_strategies(capsys, arguments, words):
    common = ["noise", "--epsilon", 2, "--delta", "1e-5", "--steps", 40, "--batch-size", 4]
    err = refused(capsys, *common, "--dataset-size", 40, *arguments)
    assert f"renyi noise: error: {words}" in err


def test_a_cut_sample_of_all_records_is_not_called_none(capsys):
    sizes = ["--batch-size", 1000, "--dataset-size", 1000, "--batch-limit", 10]
    common = [*sizes, *NOISE, *scheme("truncated-poisson"), "--steps", 1, "--delta", 1e-5]
    _, out, _ = run(capsys, "epsilon", *common)
    assert "truncated-poisson sampling" in out
    assert "without sampling" not in out
    assert "larger than 10 a uniform subset of that size is kept" in " ".join(out.split())


def test_curve(capsys):
    common = [*SIZES, *NOISE, "--epochs", 1, "--epsilon", "0.2,0.6", "--csv"]
    _, out, _ = run(capsys, "curve", *common, *scheme("balls-in-bins"))
    rows = list(csv.DictReader(io.StringIO(out)))
    accountant = PLDAccountant().compose(RandomAllocation(G, 100))
    assert [float(row["delta"]) for row in rows] == list(accountant.get_delta([0.2, 0.6]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sample-rate", ".01", "--sampling", "shuffled"], "needs --batch-size and"),
        ([*SIZES, "--batch-limit", 700], "--batch-limit needs --sampling truncated-poisson"),
        ([*SIZES, "--sampling", "dealt"], "--sampling has no choice 'dealt'"),
    ],
)
def test_what_does_not_go_together_is_refused(capsys, arguments, message):
    common = ["epsilon", *NOISE, "--epochs", 1, "--delta", "1e-5"]
    assert message in refused(capsys, *common, *arguments)


def test_samplings_side_by_side(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "samplings.svg"
    common = ["compare", "--samplings", *NOISE, *SIZES, "--epochs", 2, "--delta", "1e-5"]
    _, out, _ = run(capsys, *common, "--json", "--plot", file)
    assert file.stat().st_size > 1000
    found = {row["sampling"]: row for row in json.loads(out)["results"]}
    for name, (part, count, adjacency) in RUNS.items():
        row = found[name.replace("-", "_")]
        low, high = PLDAccountant(adjacency=adjacency).compose(part, count).get_epsilon_bounds(1e-5)
        assert row["adjacency"] == adjacency
        assert row["epsilon_lower"] <= high
        assert low <= row["epsilon"]
    assert found["balls_in_bins"]["epsilon"] < found["poisson"]["epsilon"]
    assert found["shuffled"]["epsilon_lower"] > 2.0 * found["poisson"]["epsilon"]


def test_samplings_take_one_run(capsys):
    common = ["compare", "--samplings", *NOISE, *SIZES, "--delta", "1e-5"]
    err = refused(capsys, *common, "--epochs", "1,2")
    assert "--epochs must be one number with --samplings" in err


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="batch_size must be an integer in"):
        compare_samplings(10, 11, noise_multiplier=1.0, epochs=1, delta=1e-5)


# --- renyi shuffle


BOTH = ["--local-epsilon", "2", "--users", "10000"]


def result(capsys, *arguments):
    code, out, err = run(capsys, "shuffle", *arguments, "--json")
    assert (code, err) == (0, "")
    (found,) = json.loads(out)["results"]
    return found


def test_a_guarantee_and_its_attack(capsys):
    accountant = PLDAccountant(adjacency="replace_one").compose(Shuffled(PureDP(2.0), 10_000))
    lower, upper = accountant.get_epsilon_bounds(1e-6)
    found = result(capsys, *BOTH, "--delta", "1e-6")
    assert (found["epsilon"], found["lower"]) == (upper, lower)
    assert result(capsys, *BOTH, "--epsilon", "0.1")["delta"] == accountant.get_delta(0.1)
    code, out, err = run(capsys, "shuffle", *BOTH, "--delta", "1e-6")
    assert (code, err) == (0, "")
    assert out.startswith("epsilon = 0.1144")
    assert "the number of reports is public" in " ".join(out.split())


@pytest.mark.parametrize("name", ["rappor", "oue", "olh", "hadamard", "subset", "laplace"])
def test_named_randomizers_are_better_than_any(capsys, name):
    choices = [] if name == "laplace" else ["--choices", "20"]
    named = result(capsys, *BOTH, "--delta", "1e-6", "--randomizer", name, *choices)
    assert 0.03 < named["lower"] < named["epsilon"] < 0.1145


def test_calibration(capsys):
    target = ["--epsilon", "0.2", "--delta", "1e-6"]
    users = result(capsys, "--local-epsilon", "2", *target)
    assert users["epsilon"] <= 0.2 < users["epsilon"] * 1.001
    local = result(capsys, "--users", "10000", *target)
    assert local["epsilon"] <= 0.2 < local["epsilon"] * 1.01


def test_errors(capsys):
    for words, arguments in (
        ("three of --local-epsilon, --users, --epsilon and --delta are needed, got 2", BOTH),
        ("--choices must be given with", [*BOTH, "--delta", "1e-6", "--randomizer", "oue"]),
        ("--choices must be given with", [*BOTH, "--delta", "1e-6", "--choices", "3"]),
        (
            "--epsilon must be reachable with a --local-epsilon in [1e-06, 20], got 1e-09",
            ["--users", "1000", "--epsilon", "1e-9", "--delta", "1e-9"],
        ),
        ("--local-epsilon must be a number > 0 and <= 30, got '800'", ["--local-epsilon", "800"]),
        (
            "--local-epsilon must be at most 20 with --randomizer olh",
            ["--local-epsilon=29", "--users=9", "--delta=.1", "--randomizer=olh", "--choices=4"],
        ),
    ):
        assert words in refused(capsys, "shuffle", *arguments)
