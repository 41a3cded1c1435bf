"""`python -m examples.pnsgd`: what it prints, and what it says without scikit-learn."""

import pytest
from examples import pnsgd


def test_it_prints_accuracy_beside_the_guarantee(capsys, tmp_path):
    pytest.importorskip("sklearn")
    path = tmp_path / "figure.png"
    assert pnsgd.main(["--noise", "0.01,4", "--runs", "3", "--plot", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "456 tumours, one shuffled pass" in lines[0]
    little, much = (line.split() for line in lines[2:4])
    assert float(little[1]) > 1000.0 > 2.0 > float(much[1])
    assert float(much[1]) < float(much[3])  # the last iterate alone says less than all of them
    assert float(little[4].rstrip("%")) > 72.0  # one label for all is right two times in three
    assert path.stat().st_size > 5000


def test_online_passes_protect_the_first_record_more(capsys):
    pytest.importorskip("sklearn")
    arguments = ["--noise", "4", "--runs", "1", "--order", "online", "--step-size", "0.3"]
    assert pnsgd.main(arguments) == 0
    epsilon, first, seen = (float(x) for x in capsys.readouterr().out.splitlines()[2].split()[1:4])
    assert first < epsilon <= seen


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--noise", "1,x"], "--noise must be numbers"),
        (["--runs", "0"], "--runs must be at least 1"),
        (["--step-size", "9"], "step_size must be at most"),
        (["--plot", "figure.txt"], "--plot must be a file name"),
    ],
)
def test_bad_options_take_one_line(arguments, message, capsys):
    assert pnsgd.main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_it_says_what_to_install(monkeypatch, capsys):
    def without(name):
        raise ImportError(name)

    monkeypatch.setattr("examples._data.import_module", without)
    assert pnsgd.main(["--runs", "1"]) == 2
    assert "python -m pip install scikit-learn" in capsys.readouterr().err
