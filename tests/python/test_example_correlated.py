"""The program on correlated noise: what it prints and refuses."""

import re

import pytest
from examples import correlated as program

FEW = ["--epsilon", "8", "--repeats", "2", "--learning-rate", "0.4", "--batch-size", "8"]


def test_correlated_noise_leaves_the_better_model(capsys):
    assert program.main([*FEW, "--epsilon", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = [
        re.search(r"epsilon ([\d.]+), .*: (.*\w) +noise.* accuracy ([\d.]+)%", x) for x in lines
    ]
    assert [match[2] for match in found] == ["independent", "tree", "3 buffers"]
    assert all(0.99 < float(match[1]) <= 1.0 for match in found)
    assert float(found[2][3]) > float(found[0][3]) + 10.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epsilon", "0"], "target_epsilon"),
        (["--epochs", "0"], "steps must be"),
        (["--batch-size", "5000"], "batch_size must be an integer in"),
        (["--buffers", "9"], "buffers must be an integer in"),
    ],
)
def test_it_refuses(capsys, options, message):
    assert program.main([*FEW, *options]) == 2
    assert message in capsys.readouterr().err
