"""Classifiers in plain NumPy, and what their gradients leave behind for each sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from renyi.sgd import ClippedSum, LinearLayer, clip_and_sum, ghost_clip_and_sum

__all__ = ["CLASSIFIERS", "Classifier", "LogisticRegression", "TwoLayerNetwork"]

Array = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


class Classifier:
    """Parameters, the scores of the classes, and clipped sums of the gradients of a batch."""

    name: str
    parameters: list[Array]

    def scores(self, images: Array) -> Array:
        """Return (B, classes); the largest is the prediction."""
        raise NotImplementedError

    def clipped_sum(self, images: Array, labels: Labels, max_grad_norm: float) -> ClippedSum:
        """Return the sum of the gradients of the cross-entropy, each clipped."""
        raise NotImplementedError

    def accuracy(self, images: Array, labels: Labels) -> float:
        """Return the share of images that are recognised."""
        return float(np.mean(self.scores(images).argmax(axis=1) == labels))


class LogisticRegression(Classifier):
    """One linear layer; clips explicit gradients, one row a sample."""

    name = "logistic regression"

    def __init__(self, features: int, classes: int, seed: int) -> None:
        self.parameters = [np.zeros((features, classes), np.float32), np.zeros(classes, np.float32)]

    def scores(self, images: Array) -> Array:
        """Return (B, classes)."""
        weights, bias = self.parameters
        return images @ weights + bias

    def clipped_sum(self, images: Array, labels: Labels, max_grad_norm: float) -> ClippedSum:
        """Return the sum over (B, features, classes) and (B, classes), clipped by joint norms."""
        error = _error(self.scores(images), labels)
        grads = [images[:, :, np.newaxis] * error[:, np.newaxis, :], error]
        return clip_and_sum(grads, max_grad_norm)


class TwoLayerNetwork(Classifier):
    """A hidden layer with tanh; no gradient of a single sample is ever formed."""

    name = "two-layer network"
    hidden = 64

    def __init__(self, features: int, classes: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        shapes = [(features, self.hidden), (self.hidden, classes)]
        self.parameters = []
        for inputs, outputs in shapes:
            weights = rng.normal(0.0, inputs**-0.5, (inputs, outputs))
            self.parameters += [weights.astype(np.float32), np.zeros(outputs, np.float32)]

    def scores(self, images: Array) -> Array:
        """Return (B, classes)."""
        return self._forward(images)[1]

    def clipped_sum(self, images: Array, labels: Labels, max_grad_norm: float) -> ClippedSum:
        """Return the sum by the norms of activations and output gradients alone."""
        hidden, scores = self._forward(images)
        error = _error(scores, labels)
        back = (error @ self.parameters[2].T) * (1.0 - hidden * hidden)
        layers = [LinearLayer(images, back), LinearLayer(hidden, error)]
        return ghost_clip_and_sum(layers, max_grad_norm)

    def _forward(self, images: Array) -> tuple[Array, Array]:
        weights, bias, head, head_bias = self.parameters
        hidden = np.tanh(images @ weights + bias)
        return hidden, hidden @ head + head_bias


CLASSIFIERS: dict[str, Any] = {"logistic": LogisticRegression, "network": TwoLayerNetwork}


def _error(scores: Array, labels: Labels) -> Array:
    """Return the gradient of the cross-entropy by the scores: softmax minus one-hot."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    error: Array = exponentials / exponentials.sum(axis=1, keepdims=True)
    error[np.arange(len(labels)), labels] -= 1.0
    return error
