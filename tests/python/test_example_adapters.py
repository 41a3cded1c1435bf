"""The program of private adapters: its model, its text, and what it prints and refuses."""

import re

import numpy as np
import pytest
from examples import adapters as program
from examples._text import CHARACTERS, docstrings, reference, shown
from examples._transformer import Transformer
from ghost_reference import in_full
from numpy.testing import assert_allclose

from renyi.sgd import ghost_clip_and_sum

RNG = np.random.default_rng(8)


@pytest.fixture
def model():
    made = Transformer(0, width=16, heads=2, length=12)
    for array in made.adapt(2, 1):
        array[...] = RNG.normal(0.0, 0.3, array.shape)
    return made


def test_gradients_are_those_of_the_losses(model):
    tokens = RNG.integers(0, CHARACTERS, (3, 13))
    trained = [array for pair in model.adapters.values() for array in pair]
    trained += [model.gain, model.bias]
    full = in_full(model.layers(tokens))
    assert [array.shape for array in trained] == [rows.shape[1:] for rows in full]
    for array, rows in zip(trained, full, strict=True):
        at = tuple(RNG.integers(0, n) for n in array.shape)
        ends = []
        for step in (2e-2, -4e-2):
            array[at] += step
            ends.append(model.losses(tokens) * np.log(2.0))
        array[at] += 2e-2
        found = (ends[0] - ends[1]) / 4e-2
        assert_allclose(found, rows[(slice(None), *at)], rtol=0.1, atol=6e-3)


def test_gradients_of_all_weights_go_down(model):
    tokens = RNG.integers(0, 3, (8, 13))
    before = model.losses(tokens).mean()
    program.LENGTH, length = 12, program.LENGTH
    try:
        program.pretrain(model, RNG.integers(0, 3, 500), 10, 0)
    finally:
        program.LENGTH = length
    assert model.losses(tokens).mean() < 0.9 * before


def test_layers_are_clipped_as_in_full(model):
    tokens = RNG.integers(0, CHARACTERS, (4, 13))
    found = ghost_clip_and_sum(model.layers(tokens), 0.01)
    norms = np.sqrt(sum((r.reshape(4, -1) ** 2).sum(axis=1) for r in in_full(model.layers(tokens))))
    assert_allclose(found.private.norms, norms, rtol=1e-5)


def test_records_are_different_docstrings():
    records = docstrings(program.LENGTH + 1)
    assert len({bytes(row) for row in records}) == len(records) > 1000
    assert 0 <= records.min() <= records.max() < CHARACTERS
    assert any("Return" in shown(row) for row in records[-500:])
    assert len(reference()) > 10**5
    train, held_out = program.split(records, 3)
    assert not {bytes(row) for row in train} & {bytes(row) for row in held_out}


@pytest.mark.slow
def test_the_program_learns_within_its_budget(capsys):
    few = ["--public-steps", "30", "--width", "16", "--rank", "2", "--epsilon", "8"]
    assert program.main([*few, "--learning-rate", "0.02"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    match = re.search(r": ([\d.]+) bits a character before, ([\d.]+) after, \(([\d.]+),", last)
    assert float(match[2]) < float(match[1])
    assert 7.9 < float(match[3]) <= 8.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epsilon", "0"], "target_epsilon"),
        (["--batch-size", "50000"], "batch_size must be an integer in"),
        (["--public-steps", "0", "--learning-rate", "-1"], "learning_rate must be"),
    ],
)
def test_the_program_refuses(capsys, options, message):
    assert program.main([*options, "--width", "8"]) == 2
    assert message in capsys.readouterr().err
