"""`python -m examples.stream`: accuracy rises with the length of the stream."""

from pathlib import Path

import numpy as np
import pytest
from examples import stream

from renyi.sgd import PNSGD, Ball, RidgeLoss
from renyi.theory.iteration import shuffled_scale


@pytest.mark.slow
def test_a_long_stream_is_learnt_from(capsys, tmp_path):
    pytest.importorskip("sklearn")
    path = tmp_path / "figure.png"
    arguments = ["--lengths", "1e3,6e4", "--epsilon", "8", "--plot", str(path)]
    assert stream.main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[::4]] == ["synthetic", "diabetes"]
    for first in (2, 6):
        few, many = (line.split() for line in lines[first : first + 2])
        assert float(few[2]) <= 8.0 >= float(many[2])
        assert float(many[5]) < float(many[3]) < float(few[6])
        assert float(many[3]) < float(few[3])
    assert path.stat().st_size > 5000


def test_the_noise_and_the_errors_of_the_page():
    pytest.importorskip("sklearn")
    page = Path(__file__).parents[2].joinpath("docs", "iteration.md").read_text(encoding="utf-8")
    loss = RidgeLoss(1.0, 1.0, regularisation=0.01)
    for step, noise in ((10.0 / 1e6, "14.92"), (0.05, "6.304")):
        learner = PNSGD(Ball.around_zero(1.0, 4), loss, step_size=step)
        assert f"{shuffled_scale(learner.descent, 1.0, 1e-5, 10**6):.4g}" == noise
        assert noise in page
    lines = [line.strip("| ").split(" | ") for line in page.splitlines()]
    table = {cells[0]: cells[1:] for cells in lines if len(cells) == 3}
    for column, make in enumerate(stream.STREAMS.values()):
        judge = make(20_000, np.random.default_rng(0))
        residual = judge.features @ judge.best - judge.labels
        assert f"{np.mean(residual**2):.3g}" == table["best weights"][column]
        assert f"{np.mean(judge.labels**2):.3g}" == table["no learning"][column]
        # a direction of curvature k keeps the variance t s^2/(2k) of its noise, and that costs k
        excess = 10.0 / 1e6 * 14.92**2 / 2 * judge.features.shape[1]
        told, spread = map(float, table["1e6"][column].split(" ± "))
        assert abs(told - np.mean(residual**2) - excess) < 2 * spread


def test_streams_are_within_the_bounds_of_the_loss():
    pytest.importorskip("sklearn")
    generator = np.random.default_rng(1)
    for make in stream.STREAMS.values():
        found = make(2000, generator)
        assert np.linalg.norm(found.features, axis=1).max() <= 1.0
        assert abs(found.labels).max() <= 1.0
        residual = found.features @ found.best - found.labels
        assert np.mean(residual**2) < np.mean(found.labels**2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lengths", "10,x"], "--lengths must be integers"),
        (["--epsilon", "-1"], "epsilon must be"),
        (["--passes", "0"], "--passes must be"),
        (["--plot", "figure.txt"], "--plot must be a file name"),
    ],
)
def test_bad_options_take_one_line(arguments, message, capsys):
    assert stream.main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
