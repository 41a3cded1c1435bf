"""Classifiers in plain NumPy, and what their layers leave behind for each sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency
from renyi.sgd import ClippedSum, LinearLayer, ghost_clip_and_sum

__all__ = ["CLASSIFIERS", "Classifier", "LogisticRegression", "TwoLayerNetwork"]

Array = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


class Classifier:
    """Parameters, the scores of the classes, and what gradients of a batch are made of."""

    name: str
    parameters: list[Array]

    def scores(self, images: Array) -> Array:
        """Return (B, classes); the largest is the prediction."""
        raise NotImplementedError

    def layers(self, images: Array, labels: Labels) -> list[LinearLayer]:
        """Return what enters each layer, and the gradients of the cross-entropy by what leaves it.

        That is all clipping needs: no gradient of a single sample is ever formed.
        """
        raise NotImplementedError

    def clipped_sum(
        self,
        images: Array,
        labels: Labels,
        max_grad_norm: float,
        adjacency: Adjacency = "add_remove",
    ) -> ClippedSum:
        """Return the sum of the gradients of the cross-entropy, each clipped."""
        layers = self.layers(images, labels)
        return ghost_clip_and_sum(layers, max_grad_norm, adjacency=adjacency)

    def accuracy(self, images: Array, labels: Labels) -> float:
        """Return the share of images that are recognised."""
        return float(np.mean(self.scores(images).argmax(axis=1) == labels))


class LogisticRegression(Classifier):
    """One linear layer."""

    name = "logistic regression"

    def __init__(self, features: int, classes: int, seed: int) -> None:
        self.parameters = [np.zeros((features, classes), np.float32), np.zeros(classes, np.float32)]

    def scores(self, images: Array) -> Array:
        """Return (B, classes)."""
        weights, bias = self.parameters
        return images @ weights + bias

    def layers(self, images: Array, labels: Labels) -> list[LinearLayer]:
        """Return the layer."""
        return [LinearLayer(images, _error(self.scores(images), labels))]


class TwoLayerNetwork(Classifier):
    """A hidden layer with tanh."""

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

    def layers(self, images: Array, labels: Labels) -> list[LinearLayer]:
        """Return both layers."""
        hidden, scores = self._forward(images)
        error = _error(scores, labels)
        back = (error @ self.parameters[2].T) * (1.0 - hidden * hidden)
        return [LinearLayer(images, back), LinearLayer(hidden, error)]

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
