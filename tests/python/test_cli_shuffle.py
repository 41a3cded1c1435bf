"""``renyi shuffle``: numbers of the accountant, calibration, and errors."""

import json

import pytest
from command_line import run

from renyi import PLDAccountant, PureDP, Shuffled

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
        code, out, err = run(capsys, "shuffle", *arguments)
        assert (code, out) == (2, "")
        assert words in err
