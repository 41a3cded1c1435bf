"""The programs of examples: what they print, draw, learn and refuse."""

import json
import math
import os
import re
import signal
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster, wait
from each import slow
from examples import adapters, audit_digits, correlated, distributed, pnsgd, stream, sweep
from examples import digits as digits_program
from examples._classifiers import CLASSIFIERS, LogisticRegression
from examples._data import Split, bundled, digits
from examples._text import CHARACTERS, docstrings, reference, shown
from examples._transformer import Transformer
from ghost_reference import in_full
from numpy.testing import assert_allclose

from renyi import BudgetExceededError, Gaussian, GDPFilter, Ledger, PLDAccountant, special
from renyi.sgd import (
    DPSGD,
    PNSGD,
    SGD,
    Ball,
    RidgeLoss,
    TrainingPlan,
    clip_and_sum,
    ghost_clip_and_sum,
)
from renyi.theory.iteration import shuffled_pass

FEW = ["--epochs", "4", "--batch-size", "512", "--epsilon", "3"]


def test_digits_learns_within_its_budget(capsys):
    assert digits_program.main(FEW) == 0
    lines = capsys.readouterr().out.splitlines()
    found = [re.search(r"accuracy ([\d.]+)% .* \(([\d.]+), 1e-5\)-DP", x) for x in lines[1:3]]
    for match in found:
        assert float(match[1]) > 75.0
        assert 2.9 < float(match[2]) <= 3.0
    assert re.fullmatch(r"whoever gets both: \((3\.9|4\.\d)\d+, 1e-5\)-DP", lines[3])


@pytest.mark.parametrize("ending", [".png", ".svg"])
def test_digits_draws(tmp_path, capsys, ending):
    file = tmp_path / f"digits{ending}"
    assert digits_program.main([*FEW, "--model", "logistic", "--plot", str(file)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert file.stat().st_size > 5000


def test_an_audit_of_digits_finds_missing_noise_only(capsys, tmp_path):
    few = ["--epochs", "3", "--canaries", "400", "--epsilon", "2"]
    assert audit_digits.main(few) == 0
    assert "reported 2.000 is not refuted" in capsys.readouterr().out
    assert audit_digits.main([*few, "--noise-share", "0.05"]) == 1
    found = re.search(
        r"epsilon above ([\d.]+) .* the reported 2.000 is refuted", capsys.readouterr().out
    )
    assert float(found[1]) > 2.0
    assert audit_digits.main([*few, "--noise-share", "-1"]) == 2
    assert "--noise-share must be a number in (0, inf), got -1.0" in capsys.readouterr().err


def test_without_scikit_learn_the_remedy_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match="pip install scikit-learn"):
        bundled("load_digits")
    assert digits_program.main([]) == 2
    assert "scikit-learn" in capsys.readouterr().err


def test_the_curve_of_epsilon_is_that_of_the_steps_so_far():
    data = digits(0)
    plan = TrainingPlan(len(data.train), 256, noise_multiplier=4.0, steps=3)
    classifier = CLASSIFIERS["logistic"](64, 10, 0)
    run = digits_program.train(classifier, data, plan, 1.0, 1e-5)
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


# --- private adapters


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
    adapters.LENGTH, length = 12, adapters.LENGTH
    try:
        adapters.pretrain(model, RNG.integers(0, 3, 500), 10, 0)
    finally:
        adapters.LENGTH = length
    assert model.losses(tokens).mean() < 0.9 * before


def test_layers_are_clipped_as_in_full(model):
    tokens = RNG.integers(0, CHARACTERS, (4, 13))
    found = ghost_clip_and_sum(model.layers(tokens), 0.01)
    norms = np.sqrt(sum((r.reshape(4, -1) ** 2).sum(axis=1) for r in in_full(model.layers(tokens))))
    assert_allclose(found.private.norms, norms, rtol=1e-5)


@pytest.mark.slow
def test_records_are_different_docstrings():
    records = docstrings(adapters.LENGTH + 1)
    assert len({bytes(row) for row in records}) == len(records) > 1000
    assert 0 <= records.min() <= records.max() < CHARACTERS
    assert any("Return" in shown(row) for row in records[-500:])
    assert len(reference()) > 10**5
    train, held_out = adapters.split(records, 3)
    assert not {bytes(row) for row in train} & {bytes(row) for row in held_out}


@pytest.mark.slow
def test_the_program_learns_within_its_budget(capsys):
    few = ["--public-steps", "30", "--width", "16", "--rank", "2", "--epsilon", "8"]
    assert adapters.main([*few, "--learning-rate", "0.02"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    match = re.search(r": ([\d.]+) bits a character before, ([\d.]+) after, \(([\d.]+),", last)
    assert float(match[2]) < float(match[1])
    assert 7.9 < float(match[3]) <= 8.0


# --- correlated noise


TWO_RUNS = ["--epsilon", "8", "--repeats", "2", "--learning-rate", "0.4", "--batch-size", "8"]


def test_correlated_noise_leaves_the_better_model(capsys):
    assert correlated.main([*TWO_RUNS, "--epsilon", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = [
        re.search(r"epsilon ([\d.]+), .*: (.*\w) +noise.* accuracy ([\d.]+)%", x) for x in lines
    ]
    assert [match[2] for match in found] == ["independent", "tree", "3 buffers"]
    assert all(0.99 < float(match[1]) <= 1.0 for match in found)
    assert float(found[2][3]) > float(found[0][3]) + 10.0


# --- PNSGD


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


# --- streams


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
        assert f"{shuffled_pass(learner.descent, 10**6, epsilon=1.0, delta=1e-5):.4g}" == noise
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


# --- a sweep over a cluster


def test_small(capsys):
    assert sweep.main(["--points", "1e3", "--workers", "1"]) == 0
    out = capsys.readouterr().out
    q, sigma, alpha = (
        np.geomspace(low, high, 10) for low, high in ((1e-4, 0.1), (0.8, 8.0), (1.1, 64.0))
    )
    values = special.rdp_sampled_gaussian_upper(q[:, None, None], sigma[:, None], alpha)
    assert out.startswith("1,000 settings in ")
    assert float(out.split()[-1]) == pytest.approx(values.mean(), rel=1e-5)


# --- workers of Dask


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_workers_train_like_one_machine(client):
    data = digits(0)
    plan = TrainingPlan(
        len(data.train), len(data.train), noise_multiplier=0.0, steps=3, max_grad_norm=0.5
    )
    found, optimizer = distributed.train(client, data, plan, 2.0)
    wanted = LogisticRegression(64, 10, 0)
    alone = DPSGD(wanted.parameters, plan, SGD(2.0))
    for _ in range(3):
        alone.step(wanted.clipped_sum(data.train, data.train_labels, 0.5))
    assert found.parameters[0].any()
    for a, b in zip(found.parameters, wanted.parameters, strict=True):
        assert np.allclose(a, b, rtol=1e-4, atol=1e-6)
    assert optimizer.accountant.mechanisms == alone.accountant.mechanisms
    assert optimizer.private.batch_size == len(data.train)


def test_noise_is_added_once(client):
    images = np.zeros((20, 3000), np.float32)
    data = Split(images, np.zeros(20, np.int64), images, np.zeros(20, np.int64))
    plan = TrainingPlan(20, 2, noise_multiplier=3.0, steps=1, max_grad_norm=0.5)
    found, _ = distributed.train(client, data, plan, 2.0)
    noise = found.parameters[0] / (2.0 * plan.noise_scale / plan.expected_batch_size)
    assert abs(noise.std() - 1) < 5 / math.sqrt(2 * noise.size)


def kill(client, worker):
    os.kill(client.run(os.getpid, workers=[worker])[worker], signal.SIGKILL)


def test_training_outlives_a_worker(client, tmp_path):
    """The sum of the lost worker is made anew; the ledger has every step once."""
    data = digits(0)
    plan = TrainingPlan(
        len(data.train), len(data.train), noise_multiplier=50.0, steps=6, max_grad_norm=0.5
    )
    with Ledger(tmp_path / "privacy.db") as ledger:
        ledger.create("digits", epsilon=1.0, delta=1e-5)

        def charge(*mechanism, **position):
            ledger.charge("digits", *mechanism, **position)
            if position["step"] == 2:
                kill(client, next(iter(client.nthreads())))

        _, optimizer = distributed.train(client, data, plan, 2.0, charge)
        assert optimizer.private.batch_size == len(data.train)
        assert sum(entry.repeats for entry in ledger.history("digits")[1:]) == plan.steps
        assert ledger.verify() == []


def charged_release(path, number):
    """A task that pays before it releases; again when it is run again, since both may be seen."""
    with Ledger(path, timeout=300.0) as ledger:
        try:
            ledger.charge("data", Gaussian(50.0), note=str(number))
        except BudgetExceededError:
            return None
    return special.dp_sgd_epsilon_upper(0.01, 1.0 + number, [1000, 2000], 1e-5)


def test_tasks_that_charge_outlive_a_worker(client, tmp_path):
    """All tasks end, each result has its charge, and the budget is used up exactly."""
    path = tmp_path / "privacy.db"
    with Ledger(path) as ledger:
        ledger.create("data", epsilon=1.0, delta=1e-6, accountant="gdp")
    client.wait_for_workers(2)
    fits = GDPFilter(1.0, 1e-6).count_that_fits(Gaussian(50.0), 10**6)
    tasks = client.map(partial(charged_release, path), range(fits + 20))
    wait(tasks[:20])
    kill(client, *client.who_has(tasks[0])[tasks[0].key])
    results = client.gather(tasks)
    paid = {number for number, found in enumerate(results) if found is not None}
    with Ledger(path) as ledger:
        charged = Counter(entry.note for entry in ledger.history("data")[1:])
        assert ledger.verify() == []
    print(json.dumps({"fits": fits, "charged": charged.total(), "results": len(paid)}))
    assert charged.total() == fits
    assert charged["0"] == 2  # its result was lost
    assert paid <= {int(note) for note in charged}
    for number in paid:
        wanted = special.dp_sgd_epsilon_upper(0.01, 1.0 + number, [1000, 2000], 1e-5)
        assert (results[number] == wanted).all()


# --- what is refused


@pytest.mark.parametrize(
    ("program", "options", "message"),
    [
        (digits_program, ["--epsilon", "0"], "target_epsilon"),
        (digits_program, ["--delta", "nan"], "target_delta"),
        (digits_program, ["--batch-size", "5000"], "batch_size must be an integer in"),
        (digits_program, ["--epochs", "0"], "epochs must be"),
        (digits_program, ["--max-grad-norm", "inf"], "max_grad_norm must be"),
        (digits_program, ["--learning-rate", "-1"], "learning_rate must be"),
        (digits_program, ["--plot", "digits.doc"], "--plot must be a file name ending in"),
        (
            digits_program,
            ["--plot", "nowhere/digits.png"],
            "must be in a directory that exists, got",
        ),
        *slow(
            (adapters, ["--width", "8", "--epsilon", "0"], "target_epsilon"),
            (adapters, ["--width", "8", "--batch-size", "50000"], "batch_size must be an integer"),
            (adapters, ["--public-steps", "0", "--learning-rate", "-1"], "learning_rate must be"),
        ),
        (correlated, ["--epsilon", "0"], "target_epsilon"),
        (correlated, ["--epochs", "0"], "steps must be"),
        (correlated, ["--batch-size", "5000"], "batch_size must be an integer in"),
        (correlated, ["--buffers", "9"], "buffers must be an integer in"),
        (pnsgd, ["--noise", "1,x"], "--noise must be numbers"),
        (pnsgd, ["--runs", "0"], "--runs must be at least 1"),
        (pnsgd, ["--step-size", "9"], "step_size must be at most"),
        (pnsgd, ["--plot", "figure.txt"], "--plot must be a file name"),
        (stream, ["--lengths", "10,x"], "--lengths must be integers"),
        (stream, ["--epsilon", "-1"], "epsilon must be"),
        (stream, ["--passes", "0"], "--passes must be"),
        (stream, ["--plot", "figure.txt"], "--plot must be a file name"),
        (sweep, ["--points", "0"], "sweep: error: "),
        (sweep, ["--workers", "0"], "sweep: error: "),
        (sweep, ["--points", "inf"], "sweep: error: "),
        *slow((distributed, ["--workers", "0"], "workers must be an integer >= 1")),
    ],
)
def test_programs_refuse_in_one_line(capsys, program, options, message):
    assert program.main(options) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
