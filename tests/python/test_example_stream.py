"""`python -m renyi.examples.stream`: accuracy rises with the length of the stream."""

import numpy as np
import pytest

from renyi.examples import stream


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
        assert float(many[4]) < float(many[3]) < float(few[5])
    assert path.stat().st_size > 5000


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
        (["--plot", "figure.txt"], "--plot must be a file name"),
    ],
)
def test_bad_options_take_one_line(arguments, message, capsys):
    assert stream.main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
