"""Projected noisy SGD: one pass with one record a step; only the last iterate is released."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np
import numpy.typing as npt

from renyi._adjacency import one_of
from renyi._arrays import noise_scale
from renyi._validation import Range, check_array, integer_of, number_in, numbers_of
from renyi.noise.generator import generator_of
from renyi.theory.iteration import (
    DecayingNoise,
    Noise,
    NoisyDescent,
    shuffled_pass,
    step_contraction,
)
from renyi.theory.online import online_delta, online_epsilon, online_worst

Vector = npt.NDArray[np.float64]
_UP = 1.0 + 1e-12  # diameters, norms and constants hold in floating point
_LARGEST = 1e70


@runtime_checkable
class Domain(Protocol):
    """A convex compact set with its number of coordinates, diameter and largest L2 norm."""

    dimension: int
    diameter: float
    largest_norm: float

    def project(self, w: Vector) -> Vector:
        """Return the nearest point."""


class Ball:
    """All points within ``radius`` of ``centre``.

    Args:
        radius: In [1e-70, 1e70].
        centre: One number for each coordinate, in [-1e70, 1e70].

    >>> ball = Ball(2.0, centre=[1.0, 0.0])
    >>> ball.project(np.array([9.0, 0.0])), round(ball.diameter, 9)
    (array([3., 0.]), 4.0)
    """

    def __init__(self, radius: float, centre: npt.ArrayLike) -> None:
        self.radius = number_in(radius, "radius", Range(1e-70, 1e70))
        self.centre = _vector(centre, "centre")
        self.dimension = len(self.centre)
        self.diameter = 2.0 * self.radius * _UP
        self.largest_norm = (math.hypot(*self.centre) + self.radius) * _UP

    @classmethod
    def around_zero(cls, radius: float, dimension: int) -> Ball:
        """Return the ball around the origin."""
        return cls(radius, np.zeros(integer_of(dimension, "dimension", 1)))

    def project(self, w: Vector) -> Vector:
        """Return the nearest point."""
        away = w - self.centre
        with np.errstate(over="ignore"):
            distance = math.sqrt(float(away @ away))
            if distance <= self.radius:
                return w
            if distance == math.inf:
                away = away / np.abs(away).max()
                distance = math.sqrt(float(away @ away))
        return np.asarray(self.centre + away * (self.radius / distance))

    def __repr__(self) -> str:
        return f"<Ball: radius {self.radius:g}, {self.dimension} dimensions>"


class Box:
    """All points with every coordinate between two bounds.

    Args:
        lower, upper: One number for each coordinate, in [-1e70, 1e70]; ``lower < upper``. Two plain
            numbers give an interval, the box of one dimension.

    >>> box = Box([0.0, 0.0], [3.0, 4.0])
    >>> box.project(np.array([-1.0, 2.0])), round(box.diameter, 9)
    (array([0., 2.]), 5.0)
    """

    def __init__(self, lower: npt.ArrayLike, upper: npt.ArrayLike) -> None:
        ends = (np.atleast_1d(end) if np.ndim(end) == 0 else end for end in (lower, upper))
        self.lower, self.upper = map(_vector, ends, ("lower", "upper"))
        if self.lower.shape != self.upper.shape:
            raise ValueError(
                f"upper must be of the length of lower, {len(self.lower)}, got {len(self.upper)}"
            )
        if not (self.lower < self.upper).all():
            raise ValueError(f"lower must be below upper, got {lower!r} and {upper!r}")
        self.dimension = len(self.lower)
        self.diameter = math.hypot(*(self.upper - self.lower)) * _UP
        self.largest_norm = math.hypot(*np.maximum(abs(self.lower), abs(self.upper))) * _UP

    def project(self, w: Vector) -> Vector:
        """Return the nearest point."""
        return np.minimum(np.maximum(w, self.lower), self.upper)

    def __repr__(self) -> str:
        return f"<Box: {self.lower.tolist()} to {self.upper.tolist()}>"


def _vector(values: Any, name: str) -> Vector:
    allowed = "one number in [-1e70, 1e70] a coordinate"
    flat, shape = numbers_of(values, name, -_LARGEST, _LARGEST, allowed)
    if len(shape) != 1 or not flat.size:
        raise ValueError(f"{name} must be {allowed}, got an array of shape {shape}")
    return flat


# Strongly convex losses of linear models, with the constants that guarantees of descent need.
#
# For a record (x, y) with ``|x| <= R`` and weights w with ``|w| <= B`` on the domain:
#
# * ridge, ``(x.w - y)^2/2 + rho |w|^2/2`` with ``|y| <= Y``: gradient ``(x.w - y) x + rho w``, of
#   which the record's part is at most ``(R B + Y) R``; Hessian ``x x' + rho``;
# * logistic, ``log(1 + exp(-y x.w)) + rho |w|^2/2`` with y = -1 or 1: gradient
#   ``-y s(-y x.w) x + rho w``, s being the logistic function, of which the record's part is at most
#   ``s(R B) R``; Hessian ``s (1 - s) x x' + rho`` with ``s (1 - s) <= 1/4``.
#
# So the curvature lies between rho and ``R^2 + rho`` or ``R^2/4 + rho``, and gradients of two
# records at one point differ by at most twice the record's part: rho w is the same for both.


_BOUND = Range(1e-30, 1e30)


@runtime_checkable
class Loss(Protocol):
    """A loss for `PNSGD`, with its largest and its smallest curvature."""

    smoothness: float
    strong_convexity: float

    def lipschitz(self, domain: Domain) -> float:
        """L: gradients of two records at one point of the domain differ by at most 2L."""

    def gradient(self, w: Vector, x: Vector, y: float) -> Vector:
        """Return the gradient for one record."""

    def checked(self, features: Any, labels: Any) -> tuple[Vector, Vector]:
        """Return the records as arrays, or refuse records that break the bounds."""


class _LinearModel(Loss):
    def __init__(self, feature_bound: float, regularisation: float) -> None:
        self.feature_bound = number_in(feature_bound, "feature_bound", _BOUND)
        self.regularisation = number_in(regularisation, "regularisation", Range(0.0, 1e30))
        self.strong_convexity = self.regularisation

    @abstractmethod
    def _slope(self, score: float, y: float) -> float:
        """Return the derivative of the loss in the score x.w."""

    @abstractmethod
    def _check_labels(self, y: Vector) -> None:
        """Refuse labels beyond their bound; the excess is private."""

    def gradient(self, w: Vector, x: Vector, y: float) -> Vector:
        """Return the gradient for one record."""
        return np.asarray(self._slope(float(x @ w), y) * x + self.regularisation * w)

    def checked(self, features: Any, labels: Any) -> tuple[Vector, Vector]:
        """Return the records as arrays, or refuse records that break the bounds."""
        check_array(features, "features")
        check_array(labels, "labels")
        x, y = np.asarray(features, np.float64), np.asarray(labels, np.float64)
        if x.ndim != 2 or not x.size:
            raise ValueError(f"features must have a row a record, got the shape {x.shape}")
        if y.shape != (len(x),):
            raise ValueError(f"labels must be {len(x)} numbers, got the shape {y.shape}")
        longest = float(np.sqrt(np.einsum("ij,ij->i", x, x)).max())
        if not longest <= self.feature_bound * (1.0 + 1e-13):  # the excess is private
            raise ValueError(
                f"features must have rows of norm <= {self.feature_bound!r}, the feature bound, "
                "got others"
            )
        self._check_labels(y)
        return x, y


class RidgeLoss(_LinearModel):
    """Squared error of a linear model, with a ridge: ``(x.w - y)^2/2 + rho |w|^2/2``.

    Args:
        feature_bound: R, in [1e-30, 1e30]: no row of features has a larger L2 norm.
        label_bound: Y, in [1e-30, 1e30]: no label is larger in size.
        regularisation: rho, in [0, 1e30].

    >>> loss = RidgeLoss(feature_bound=1.0, label_bound=2.0, regularisation=0.5)
    >>> round(loss.smoothness, 9), round(loss.lipschitz(Box(-1.0, 1.0)), 9)
    (1.5, 3.0)
    >>> loss.gradient(np.array([1.0]), np.array([0.5]), 2.0)
    array([-0.25])
    """

    def __init__(self, feature_bound: float, label_bound: float, regularisation: float) -> None:
        super().__init__(feature_bound, regularisation)
        self.label_bound = number_in(label_bound, "label_bound", _BOUND)
        self.smoothness = (self.feature_bound**2 + self.regularisation) * _UP

    def lipschitz(self, domain: Domain) -> float:
        """L: gradients of two records at one point of the domain differ by at most 2L."""
        residual = self.feature_bound * domain.largest_norm + self.label_bound
        return residual * self.feature_bound * _UP

    def _slope(self, score: float, y: float) -> float:
        return score - y

    def _check_labels(self, y: Vector) -> None:
        if not (np.abs(y) <= self.label_bound).all():
            raise ValueError(
                f"labels must be in [-{self.label_bound!r}, {self.label_bound!r}], the label "
                "bound, got others"
            )


class LogisticLoss(_LinearModel):
    """Logistic loss of a linear model, regularised: ``log(1 + exp(-y x.w)) + rho |w|^2/2``.

    Args:
        feature_bound: R, in [1e-30, 1e30]: no row of features has a larger L2 norm.
        regularisation: rho, in [0, 1e30].

    >>> loss = LogisticLoss(feature_bound=1.0, regularisation=0.01)
    >>> round(loss.smoothness, 9), round(loss.lipschitz(Ball.around_zero(2.0, 3)), 6)
    (0.26, 0.880797)
    >>> loss.gradient(np.zeros(2), np.array([0.6, 0.8]), 1.0)
    array([-0.3, -0.4])
    """

    def __init__(self, feature_bound: float, regularisation: float) -> None:
        super().__init__(feature_bound, regularisation)
        self.smoothness = (0.25 * self.feature_bound**2 + self.regularisation) * _UP

    def lipschitz(self, domain: Domain) -> float:
        """L: gradients of two records at one point of the domain differ by at most 2L."""
        steepest = 1.0 / (1.0 + math.exp(-min(self.feature_bound * domain.largest_norm, 700.0)))
        return steepest * self.feature_bound * _UP

    def _slope(self, score: float, y: float) -> float:
        return -y / (1.0 + math.exp(min(y * score, 700.0)))

    def _check_labels(self, y: Vector) -> None:
        if not (np.abs(y) == 1.0).all():
            raise ValueError("labels must be -1 or 1, got others")


Order = Literal["shuffled", "online"]
_FINE = 32  # binary digits of the noise's scale that are kept: ideal noise to a part in 2^33


@dataclass(frozen=True)
class PNSGDRun:
    """The last iterate of a pass, with its guarantee.

    The guarantee is about the replacement of one record and holds for ``weights`` alone, as long as
    no other iterate, and for a shuffled pass not the order either, is seen by anyone.

    Attributes:
        weights: The last iterate.
        descent: The parameters of the guarantee.
        order ({"shuffled", "online"}): Whether records came in secret random order, or as given.
        scales: Scales of the noise Z of the steps; one scale for a shuffled pass.
        n: Number of steps, which is the number of records over the batch size.
    """

    weights: Vector
    descent: NoisyDescent
    order: Order
    scales: float | Vector
    n: int

    def get_delta(self, epsilon: float, record: int | None = None) -> float:
        """Return delta, rounded up.

        Args:
            epsilon: In [0, inf].
            record: The position of the record in the stream, from 0; by default the worst one. In a
                shuffled pass all positions are equal.
        """
        step = self._step_of(record)
        if self.order == "shuffled":
            return shuffled_pass(self.descent, self.n, epsilon=epsilon, scale=self._scale)
        if step is None:
            return online_worst(self.descent, epsilon, self.scales, self.n).delta
        return float(online_delta(self.descent, epsilon, self.scales, self.n, step))

    def get_epsilon(self, delta: float, record: int | None = None) -> float:
        """Return the smallest epsilon, rounded up.

        Args:
            delta: In [0, 1].
            record: As for `get_delta`.
        """
        step = self._step_of(record)
        if self.order == "shuffled":
            return shuffled_pass(self.descent, self.n, delta=delta, scale=self._scale)
        return online_epsilon(self.descent, delta, self.scales, self.n, step)

    @property
    def _scale(self) -> float:
        assert isinstance(self.scales, float)
        return self.scales

    def _step_of(self, record: int | None) -> int | None:
        if record is None:
            return None
        size = self.descent.batch_size
        if not 0 <= record < self.n * size:
            last = self.n * size - 1
            raise ValueError(f"record must be an integer in [0, {last}], got {record!r}")
        return record // size + 1


class PNSGD:
    """Descent on a strongly convex loss: ``w <- Proj(w - step_size * (gradient(w, record) - Z))``.

    Args:
        domain: The set that iterates are projected onto.
        loss: The loss, with its bounds on the records.
        step_size: At most ``2 / (loss.smoothness + loss.strong_convexity)``.
        noise ({"gaussian", "laplace"}): Law of Z; Laplace noise in one dimension only.
        batch_size: Number of records of a step, whose gradients are averaged.

    Raises:
        ValueError: If a condition of the theorem fails.

    The last iterate is rounded to the lattice of its noise (`noise_lattice`), and then projected.
    The theorem is about real arithmetic: the guarantee does not cover that earlier iterates are
    rounded to double precision, and their noise to 2^-32 of its scale.

    The noise of a shuffled pass over n records for a target is
    ``renyi.theory.iteration.shuffled_pass(learner.descent, n, epsilon=epsilon, delta=delta)``.

    Source: Sordello, Bu, Dong 2021, arXiv 2106.11767. See `renyi.theory.iteration`.

    >>> from renyi.sgd import Box, RidgeLoss
    >>> loss = RidgeLoss(feature_bound=1.0, label_bound=1.0, regularisation=0.1)
    >>> learner = PNSGD(Box(-1.0, 1.0), loss, step_size=0.1, noise="laplace")
    >>> x = np.linspace(-1.0, 1.0, 1000)
    >>> run = learner.run(x[:, None], 0.5 * x, noise=3.0)
    >>> bool(-1.0 <= run.weights[0] <= 1.0), round(run.get_delta(epsilon=1.0), 6)
    (True, 0.002531)
    """

    def __init__(
        self,
        domain: Domain,
        loss: Loss,
        *,
        step_size: float,
        noise: Noise = "gaussian",
        batch_size: int = 1,
    ) -> None:
        if not isinstance(domain, Domain):
            raise TypeError(f"domain must be a Domain, such as Ball and Box, got {domain!r}")
        if not isinstance(loss, Loss):
            raise TypeError(f"loss must be a Loss, such as LogisticLoss, got {loss!r}")
        if noise == "laplace" and domain.dimension != 1:
            raise ValueError(
                f"noise must be 'gaussian' in {domain.dimension} dimensions, got 'laplace'"
            )
        contraction = step_contraction(step_size, loss.smoothness, loss.strong_convexity)
        self.domain, self.loss = domain, loss
        self.descent = NoisyDescent(
            step_size, loss.lipschitz(domain), domain.diameter, contraction, noise, batch_size
        )

    def run(
        self,
        features: npt.ArrayLike,
        labels: npt.ArrayLike,
        noise: float | npt.ArrayLike | DecayingNoise,
        *,
        order: Order = "shuffled",
        start: npt.ArrayLike | None = None,
        generator: Any = None,
    ) -> PNSGDRun:
        """Visit every record once and return the last iterate.

        Args:
            features: One row for each record, within the bounds of the loss; the number of records
                is a multiple of the batch size.
            labels: One label for each record.
            noise: Scale of Z: one number for a shuffled pass; an online pass also takes an array
                with a scale for each step, or a `renyi.theory.iteration.DecayingNoise`.
            order ({"shuffled", "online"}): Records in secret random order, or as they are given.
            start: The first iterate, which must not depend on the records; by default the point of
                the domain nearest to 0.
            generator (SecureGenerator or numpy.random.Generator): By default the process's own
                `SecureGenerator`.
        """
        one_of(order, "order", get_args(Order))
        x, y = self.loss.checked(features, labels)
        size, dimension = self.descent.batch_size, self.domain.dimension
        if len(x) % size:
            raise ValueError(f"features must have a multiple of {size} rows, got {len(x)}")
        n = len(x) // size
        if x.shape[1] != dimension:
            raise ValueError(f"features must have {dimension} columns, got {x.shape[1]}")
        scales = self._scales(noise, order, n)
        first = np.zeros(dimension) if start is None else np.asarray(start, np.float64)
        if first.shape != (dimension,) or not np.isfinite(first).all():
            raise ValueError(f"start must be {dimension} finite numbers, got {start!r}")
        source = generator_of(generator)
        if order == "shuffled":
            secret = source.core.permutation(len(x))
            x, y = x[secret], y[secret]
        w = self._descend(self.domain.project(first), x, y, scales, source)
        return PNSGDRun(w, self.descent, order, scales, n)

    def _scales(self, noise: Any, order: Order, n: int) -> float | Vector:
        """Return the scales; computing the guarantee refuses bad ones before anything is drawn."""
        if order == "shuffled":
            if np.ndim(noise) != 0 or isinstance(noise, DecayingNoise):
                raise TypeError(
                    f"noise must be one number for a shuffled pass, got {type(noise).__name__}"
                )
            shuffled_pass(self.descent, n, epsilon=1.0, scale=noise)
            return float(noise)
        online_delta(self.descent, 1.0, noise, n, n)
        if isinstance(noise, DecayingNoise):
            return noise.scales(n)
        return np.broadcast_to(np.asarray(noise, np.float64), n).copy()

    def _descend(
        self, w: Vector, x: Vector, y: Vector, scales: float | Vector, source: Any
    ) -> Vector:
        """Take all steps; only the noise of the last one, which is released, is on the lattice."""
        eta, gaussian = self.descent.step_size, self.descent.noise == "gaussian"
        size = self.descent.batch_size
        steps = len(x) // size
        widths = np.broadcast_to(eta * np.asarray(scales) * (1.0 + 2.0**-51), steps)
        for width in (widths.min(), widths.max()):
            noise_scale(float(width), w.dtype)
        rows, values = x.reshape(steps, size, -1), y.reshape(steps, size).tolist()
        for left, (features, labels, width) in enumerate(
            zip(rows, values, widths, strict=True), 1 - steps
        ):
            w = w - eta * self._gradient(w, features, labels)
            source.core.add_noise(gaussian, w, width, 1, *([] if left == 0 else [_FINE]))
            w = self.domain.project(w)
        return w

    def _gradient(self, w: Vector, features: Vector, labels: list[float]) -> Vector:
        """Return the mean gradient of a batch."""
        total = self.loss.gradient(w, features[0], labels[0])
        for row, label in zip(features[1:], labels[1:], strict=True):
            total = total + self.loss.gradient(w, row, label)
        return total / len(labels) if len(labels) > 1 else total
