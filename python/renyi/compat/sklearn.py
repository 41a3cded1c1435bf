"""Estimators for scikit-learn that train by DP-SGD; needs scikit-learn.

They fit in pipelines, searches and `cross_val_score`. Each call of ``fit`` is a separate training
on its data and spends ``epsilon``. Several fits, as in a search or a cross-validation, spend it
several times, and ``charge`` records each in a ledger.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency
from renyi._validation import integer_of, real_of
from renyi.mechanisms import Mechanism
from renyi.noise import SecureGenerator
from renyi.sgd import DPSGD, SGD, LinearLayer, TrainingPlan, ghost_clip_and_sum

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "renyi.compat.sklearn needs scikit-learn: python -m pip install scikit-learn"
    ) from error

__all__ = ["PrivateLinearRegression", "PrivateLogisticRegression"]
__dir__ = __all__.copy

Array = npt.NDArray[np.float64]
Charge = Callable[[Mechanism, int], object]


@dataclass(eq=False, repr=False)
class _Linear(BaseEstimator):  # type: ignore[misc]
    """A linear model, trained by clipped and noised gradients of a loss."""

    epsilon: float = 1.0
    delta: float = 1e-5
    _: KW_ONLY
    epochs: float = 20
    batch_size: int = 256
    max_grad_norm: float = 1.0
    learning_rate: float = 0.5
    adjacency: Adjacency = "add_remove"
    charge: Charge | None = None
    random_state: int | None = None

    def _train(
        self, features: Array, outputs: int, errors: Callable[[Array, Any], Array]
    ) -> tuple[Array, Array]:
        """Return weights and intercepts; ``errors`` returns a batch's gradients in the scores."""
        rate = real_of(self.learning_rate, "learning_rate", "a number")
        plan = TrainingPlan.calibrated(
            self.epsilon,
            self.delta,
            population=len(features),
            batch_size=min(integer_of(self.batch_size, "batch_size", 1), len(features)),
            epochs=self.epochs,
            max_grad_norm=self.max_grad_norm,
            adjacency=self.adjacency,
        )
        seed = self.random_state
        generator = None if seed is None else SecureGenerator(insecure_reproducible=seed)
        weights, intercept = np.zeros((features.shape[1], outputs)), np.zeros(outputs)
        sampler = plan.sampler(generator=generator)
        optimizer = DPSGD(
            [weights, intercept],
            plan,
            SGD(rate),
            sampler=sampler,
            charge=self.charge,
            generator=generator,
        )
        for batch in sampler:
            rows = features[batch]
            layer = LinearLayer(rows, errors(rows @ weights + intercept, batch))
            optimizer.step(
                ghost_clip_and_sum([layer], plan.max_grad_norm, adjacency=self.adjacency)
            )
        self.plan_ = plan
        self.epsilon_ = optimizer.get_epsilon(self.delta)
        self.delta_ = float(self.delta)
        return weights, intercept


@dataclass(eq=False, repr=False)
class PrivateLogisticRegression(ClassifierMixin, _Linear):  # type: ignore[misc]
    """A multinomial logistic regression, trained with differential privacy.

    The rows of ``X`` with their labels are private. Their number and the set of classes count as
    public: pass ``classes`` where the set of labels is a secret. Gradients are clipped, so columns
    need no bound; columns of about unit size train best.

    Args:
        epsilon, delta (float): The most that each ``fit`` may spend.
        epochs (float): Passes over the data.
        batch_size (int): Expected size of the Poisson-sampled batches, at most that of the data.
        max_grad_norm (float): L2 norm to which the gradient of each row is clipped.
        learning_rate (float): Learning rate of plain gradient descent.
        adjacency ({"add_remove", "replace_one", "zero_out"}): The neighbouring relation.
        charge (callable): Called with a mechanism and a count before anything of it is released,
            such as ``functools.partial(ledger.charge, "the data set")``; an exception ends the
            training.
        classes: The possible labels; by default those of ``y``.
        random_state (int): Makes a run reproducible, for tests only: with it the noise can be
            subtracted. By default the noise is cryptographic.

    Attributes:
        coef_, intercept_ (array of shape (classes, features), (classes,)): The model; all that may
            be published.
        classes_ (array): The labels.
        epsilon_, delta_ (float): The guarantee of this fit, rounded up.
        plan_ (renyi.sgd.TrainingPlan): The plan of the training.
        n_features_in_ (int): Number of columns.

    Raises:
        TypeError, ValueError: If an argument is not permitted, or the data are not finite numbers.

    Source: Abadi and others 2016, arXiv 1607.00133.

    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(2000, 2))
    >>> model = PrivateLogisticRegression(epsilon=1.0, random_state=1).fit(X, X[:, 0] > 0.0)
    >>> model.score(X, X[:, 0] > 0.0) > 0.9, 0.99 < model.epsilon_ <= 1.0
    (True, True)
    """

    classes: npt.ArrayLike | None = None

    def fit(self, X: Any, y: Any) -> PrivateLogisticRegression:
        """Train on rows and their labels, and return the model."""
        features, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = np.unique(y if self.classes is None else np.asarray(self.classes))
        if not np.isin(y, self.classes_).all():
            raise ValueError(f"y must hold only classes of {self.classes_.tolist()}, got others")
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes, got {len(self.classes_)} class")
        labels = np.searchsorted(self.classes_, y)

        def errors(scores: Array, batch: Any) -> Array:
            error = _softmax(scores)
            error[np.arange(len(batch)), labels[batch]] -= 1.0
            return error

        weights, self.intercept_ = self._train(features, len(self.classes_), errors)
        self.coef_ = weights.T
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the classes; for two classes the second score less the first."""
        check_is_fitted(self)
        scores = validate_data(self, X, reset=False, dtype=np.float64) @ self.coef_.T
        scores = scores + self.intercept_
        found: Array = scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores
        return found

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return _softmax(scores)

    def predict(self, X: Any) -> Any:
        """Return the most likely class of each row."""
        scores = self.decision_function(X)
        chosen = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]


class PrivateLinearRegression(RegressorMixin, _Linear):  # type: ignore[misc]
    """A linear regression by squared errors, trained with differential privacy.

    The rows of ``X`` with their targets are private; their number counts as public. Gradients are
    clipped, which makes the loss a Huber loss where errors are large. Columns and targets of about
    unit size train best.

    Args:
        epsilon, delta, epochs, batch_size, max_grad_norm, learning_rate, adjacency, charge: As for
            `PrivateLogisticRegression`.
        random_state (int): As for `PrivateLogisticRegression`.

    Attributes:
        coef_, intercept_ (array of shape (features,), float): The model; all that may be published.
        epsilon_, delta_, plan_, n_features_in_: As for `PrivateLogisticRegression`.

    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(5000, 2))
    >>> y = X @ [0.5, -0.25] + 0.1 * rng.normal(size=5000)
    >>> model = PrivateLinearRegression(epsilon=1.0, random_state=1).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    def fit(self, X: Any, y: Any) -> PrivateLinearRegression:
        """Train on rows and their targets, and return the model."""
        features, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        targets = np.asarray(y, np.float64)[:, np.newaxis]
        weights, intercept = self._train(features, 1, lambda s, batch: s - targets[batch])
        self.coef_, self.intercept_ = weights[:, 0], float(intercept[0])
        return self

    def predict(self, X: Any) -> Array:
        """Return the expected target of each row."""
        check_is_fitted(self)
        rows: Array = validate_data(self, X, reset=False, dtype=np.float64)
        found: Array = rows @ self.coef_ + self.intercept_
        return found


def _softmax(scores: Array) -> Array:
    found = np.exp(scores - scores.max(axis=1, keepdims=True))
    total: Array = found / found.sum(axis=1, keepdims=True)
    return total
