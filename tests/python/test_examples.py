"""The programs of examples: what they print, draw and refuse."""

import re
import sys

import numpy as np
import pytest
from examples import digits as program
from examples._classifiers import CLASSIFIERS
from examples._data import bundled, digits

from renyi import PLDAccountant
from renyi.sgd import TrainingPlan, clip_and_sum

FEW = ["--epochs", "4", "--batch-size", "512", "--epsilon", "3"]


def test_digits_learns_within_its_budget(capsys):
    assert program.main(FEW) == 0
    lines = capsys.readouterr().out.splitlines()
    found = [re.search(r"accuracy ([\d.]+)% .* \(([\d.]+), 1e-5\)-DP", x) for x in lines[1:3]]
    for match in found:
        assert float(match[1]) > 75.0
        assert 2.9 < float(match[2]) <= 3.0
    assert re.fullmatch(r"whoever gets both: \((3\.9|4\.\d)\d+, 1e-5\)-DP", lines[3])


@pytest.mark.parametrize("ending", [".png", ".svg"])
def test_digits_draws(tmp_path, capsys, ending):
    file = tmp_path / f"digits{ending}"
    assert program.main([*FEW, "--model", "logistic", "--plot", str(file)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert file.stat().st_size > 5000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epsilon", "0"], "target_epsilon"),
        (["--delta", "nan"], "target_delta"),
        (["--batch-size", "5000"], "batch_size must be an integer in"),
        (["--epochs", "0"], "epochs must be"),
        (["--max-grad-norm", "inf"], "max_grad_norm must be"),
        (["--learning-rate", "-1"], "learning_rate must be"),
        (["--plot", "digits.doc"], "--plot must be a file name ending in"),
        (["--plot", "nowhere/digits.png"], "--plot must be in a directory that exists, got"),
    ],
)
def test_digits_refuses(capsys, options, message):
    assert program.main(options) == 2
    assert message in capsys.readouterr().err


def test_without_scikit_learn_the_remedy_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match="pip install scikit-learn"):
        bundled("load_digits")
    assert program.main([]) == 2
    assert "scikit-learn" in capsys.readouterr().err


def test_the_curve_of_epsilon_is_that_of_the_steps_so_far():
    data = digits(0)
    plan = TrainingPlan(len(data.train), 256, noise_multiplier=4.0, steps=3)
    classifier = CLASSIFIERS["logistic"](64, 10, 0)
    run = program.train(classifier, data, plan, 1.0, 1e-5)
    for steps, epsilon in zip(run.steps, run.epsilons, strict=True):
        spent = PLDAccountant().compose(plan.step_mechanism, steps)
        assert epsilon == spent.get_epsilon(1e-5)
    assert run.steps == [1, 2, 3]
    assert run.accuracies[-1] == classifier.accuracy(data.test, data.test_labels)


def test_the_held_out_images_are_not_trained_on():
    data, other = digits(3), digits(4)
    train, test = (set(map(bytes, part)) for part in (data.train, data.test))
    assert len(data.train) + len(data.test) == 1797
    assert not train & test
    assert not np.array_equal(data.train, other.train)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_clipped_sums_are_of_the_true_gradients(kind):
    """Against central differences of each sample's own loss."""
    rng = np.random.default_rng(2)
    classifier = CLASSIFIERS[kind](6, 3, 1)
    classifier.parameters = [
        p.astype(float) + rng.normal(size=p.shape) for p in classifier.parameters
    ]
    images, labels = rng.normal(size=(4, 6)), np.array([0, 2, 1, 1])

    def losses():
        scores = classifier.scores(images)
        return np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(4), labels]

    grads = []
    for parameter in classifier.parameters:
        grad = np.empty((4, *parameter.shape))
        for index in np.ndindex(parameter.shape):
            value, step = parameter[index], 1e-5
            parameter[index] = value + step
            above = losses()
            parameter[index] = value - step
            grad[(slice(None), *index)] = (above - losses()) / (2 * step)
            parameter[index] = value
        grads.append(grad)
    wanted = clip_and_sum(grads, 0.7).sum
    found = classifier.clipped_sum(images, labels, 0.7).sum
    # Ghost sums keep room for the rounding of a matrix product, a part in 1,000 of each record.
    assert all(np.allclose(a, b, rtol=0.0, atol=1.2e-3) for a, b in zip(found, wanted, strict=True))
