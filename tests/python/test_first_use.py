"""What a user meets first: lists, options, the locale and the terminal of the command line."""

from __future__ import annotations

import pytest

from renyi.cli import main

RUN = ["--noise-multiplier", "1", "--sample-rate", "0.1", "--steps", "10", "--delta", "1e-5"]
SIZES = ["--batch-size", "10", "--dataset-size", "1000", "--steps", "10"]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["epsilon", "--noise-multiplier", "1,1"], "--noise-multiplier must hold a number once"),
        (["epsilon", "--delta", "1e-5,0.00001"], "--delta must hold a number once, got 1e-05"),
        (["epsilon", "--steps", "1:5:1,3"], "--steps must hold a number once, got 3.0 twice"),
        (["rdp", "--orders", "2,2.0"], "--orders must hold a number once"),
        (["epsilon", "--noise-multiplier", "1:1.0000000000000001:1e-17"], "must hold a number"),
        (["compare", "--methods", "rdp,exact,rdp"], "--methods must hold a name once"),
        (["curve", "--compare", "rdp,rdp"], "--compare must hold a name once"),
        (["epsilon", *RUN, "--steps", "20"], "--steps is given twice; a list is written 1,2"),
        (["epsilon", *RUN, "--digits=3", "--digits", "4"], "--digits is given twice\n"),
        (["ledger", "status", "x.db", "--json", "--json"], "--json is given twice"),
    ],
)
def test_nothing_is_given_twice(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert words in refused(capsys, *arguments)


@pytest.mark.parametrize("command", ["epsilon", "delta", "noise", "steps", "curve"])
def test_shuffled_batches_name_the_option_to_type(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    numbers = {
        "epsilon": ["--noise-multiplier", "1", "--delta", "1e-5", *SIZES],
        "delta": ["--noise-multiplier", "1", "--epsilon", "1", *SIZES],
        "noise": ["--epsilon", "1", "--delta", "1e-5", *SIZES],
        "steps": ["--noise-multiplier", "1", "--epsilon", "1", "--delta", "1e-5", *SIZES[:4]],
        "curve": ["--noise-multiplier", "1", *SIZES],
    }[command]
    message = refused(capsys, command, *numbers, "--sampling", "shuffled")
    assert "--adjacency must be replace_one or zero_out with --sampling shuffled" in message
