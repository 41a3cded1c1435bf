"""Clipped sums of Dask workers add up to that of one machine, and get noise once."""

import math

import numpy as np
import pytest
from distributed import Client, LocalCluster
from examples import distributed as program
from examples._classifiers import LogisticRegression
from examples._data import Split, digits

from renyi.sgd import DPSGD, SGD, TrainingPlan


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
    found, optimizer = program.train(client, data, plan, 2.0)
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
    found, _ = program.train(client, data, plan, 2.0)
    noise = found.parameters[0] / (2.0 * plan.noise_scale / plan.expected_batch_size)
    assert abs(noise.std() - 1) < 5 / math.sqrt(2 * noise.size)


def test_the_program_refuses_by_name(capsys):
    assert program.main(["--workers", "0"]) == 2
    assert "workers must be an integer >= 1" in capsys.readouterr().err
