"""The estimators of ``renyi.compat.sklearn``: scikit-learn's own checks, budgets, pipelines."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from renyi import BudgetExceededError, Ledger, PLDAccountant
from renyi.compat.sklearn import PrivateLinearRegression, PrivateLogisticRegression

BOTH = [PrivateLogisticRegression, PrivateLinearRegression]


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.filterwarnings("ignore")  # of scikit-learn about checks that were skipped
def test_the_checks_of_scikit_learn(kind):
    """With little noise: the checks ask for accuracy on some dozens of rows."""
    found = check_estimator(kind(epsilon=1e3, random_state=0, learning_rate=0.1), on_fail=None)
    failed = {
        check["check_name"]: check["exception"] for check in found if check["status"] == "failed"
    }
    assert failed == {}
    assert len(found) > 40


@pytest.mark.parametrize("kind", BOTH)
def test_the_guarantee_is_that_of_the_plan(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 3)), rng.integers(0, 2, 500)
    model = kind(epsilon=0.7, delta=1e-6, epochs=3, batch_size=50).fit(X, y)
    assert model.plan_.population == 500
    assert 0.69 < model.epsilon_ <= 0.7
    assert model.delta_ == 1e-6
    run = PLDAccountant().compose(model.plan_.mechanism)
    assert run.get_epsilon(1e-6) == model.epsilon_


def test_noise_is_that_of_the_budget():
    """Weights of labels that say nothing spread as the noise multiplier tells."""
    X = np.zeros((400, 1))
    y = np.tile([0.0, 0.0], 200)
    settings = {"epochs": 1, "batch_size": 400, "learning_rate": 1.0, "max_grad_norm": 2.0}
    model = PrivateLinearRegression(1.0, 1e-5, **settings)
    runs = [clone(model).fit(X, y) for _ in range(300)]
    (plan,) = {run.plan_ for run in runs}
    expected = plan.noise_multiplier * 2.0 / plan.expected_batch_size * np.sqrt(plan.steps)
    assert np.std([run.coef_[0] for run in runs]) == pytest.approx(expected, rel=0.2)


def test_in_a_pipeline_and_a_cross_validation():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), PrivateLogisticRegression(8.0, random_state=1))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9


def test_every_fit_is_charged(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    with Ledger(tmp_path / "privacy.db") as ledger:
        ledger.create("rows", epsilon=1.5, delta=1e-5)
        model = PrivateLogisticRegression(
            1.0, 1e-6, epochs=1, charge=partial(ledger.charge, "rows")
        )
        model.fit(X, y)
        assert len(ledger.history("rows")) > 1
        with pytest.raises(BudgetExceededError):
            [model.fit(X, y) for _ in range(3)]


def test_classes_may_be_public():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    model = PrivateLogisticRegression(epochs=1, classes=[0, 1, 2]).fit(X, y)
    assert model.predict_proba(X).shape == (300, 3)
    with pytest.raises(ValueError, match="y must hold only classes"):
        PrivateLogisticRegression(classes=[0, 3]).fit(X, y)
