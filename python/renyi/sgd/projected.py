"""Projected noisy SGD: one pass, a record a step, of which only the last iterate is released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from renyi._arrays import noise_scale
from renyi.noise.generator import generator_of
from renyi.sgd.convex import Domain, Loss
from renyi.theory.iteration import (
    DecayingNoise,
    Noise,
    NoisyDescent,
    shuffled_delta,
    shuffled_epsilon,
    step_contraction,
)
from renyi.theory.online import online_delta, online_epsilon, online_worst

__all__ = ["PNSGD", "PNSGDRun"]

Order = Literal["shuffled", "online"]
Vector = npt.NDArray[np.float64]

_FINE = 32  # binary digits of the noise's scale that are kept: ideal noise to a part in 2^33


@dataclass(frozen=True)
class PNSGDRun:
    """The last iterate of a pass, with its guarantee.

    The guarantee is about the replacement of one record and holds for ``weights`` alone, as long as
    no other iterate, and for a shuffled pass not the order either, is seen by anyone.

    Attributes
    ----------
    weights : ndarray
        The last iterate.
    descent : NoisyDescent
        What the guarantee rests on.
    order : {"shuffled", "online"}
        Whether records came in secret random order, or as given.
    scales : float or ndarray
        Of the noise Z of the steps; one for all of a shuffled pass.
    n : int
        Number of steps: of records over the batch size.
    """

    weights: Vector
    descent: NoisyDescent
    order: Order
    scales: float | Vector
    n: int

    def get_delta(self, epsilon: float, record: int | None = None) -> float:
        """Return delta, rounded up.

        Parameters
        ----------
        epsilon : float
            In [0, inf].
        record : int, optional
            The position of the record in the stream, from 0; by default the worst one. All are
            equal in a shuffled pass.

        Raises
        ------
        TypeError, ValueError
            If an argument is not as above.
        """
        step = self._step_of(record)
        if self.order == "shuffled":
            return shuffled_delta(self.descent, epsilon, self._scale, self.n)
        if step is None:
            return online_worst(self.descent, epsilon, self.scales, self.n).delta
        return float(online_delta(self.descent, epsilon, self.scales, self.n, step))

    def get_epsilon(self, delta: float, record: int | None = None) -> float:
        """Return the smallest epsilon, rounded up.

        Parameters
        ----------
        delta : float
            In [0, 1].
        record : int, optional
            As for `get_delta`.

        Raises
        ------
        TypeError, ValueError
            If an argument is not as above.
        """
        step = self._step_of(record)
        if self.order == "shuffled":
            return shuffled_epsilon(self.descent, delta, self._scale, self.n)
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

    Parameters
    ----------
    domain : Ball, Box or Interval
        What iterates are projected onto.
    loss : RidgeLoss or LogisticLoss
        With its bounds on the records.
    step_size : float
        At most ``2 / (loss.smoothness + loss.strong_convexity)``.
    noise : {"gaussian", "laplace"}
        Law of Z; Laplace noise in one dimension only.
    batch_size : int
        Records of a step, whose gradients are averaged.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or a condition of the theorem fails.

    Notes
    -----
    The last iterate is rounded to the lattice of its noise (`noise_lattice`), and then projected.
    The theorem is about real arithmetic: that iterates before it are rounded to double precision,
    and their noise to 2^-32 of its scale, is not in the guarantee.

    The noise of a shuffled pass over n records for a target is
    ``renyi.theory.iteration.shuffled_scale(learner.descent, epsilon, delta, n)``.

    References
    ----------
    Sordello, Bu, Dong 2021, arXiv 2106.11767. See `renyi.theory.iteration`.

    Examples
    --------
    >>> from renyi.sgd import Interval, RidgeLoss
    >>> loss = RidgeLoss(feature_bound=1.0, label_bound=1.0, regularisation=0.1)
    >>> learner = PNSGD(Interval(-1.0, 1.0), loss, step_size=0.1, noise="laplace")
    >>> x = np.linspace(-1.0, 1.0, 1000)
    >>> run = learner.run(x[:, None], 0.5 * x, noise=3.0)
    >>> bool(-1.0 <= run.weights[0] <= 1.0), round(run.get_delta(epsilon=1.0), 6)
    (True, 0.002531)
    >>> from renyi.theory.iteration import shuffled_scale
    >>> noise = shuffled_scale(learner.descent, epsilon=1.0, delta=1e-3, n=1000)
    >>> learner.run(x[:, None], 0.5 * x, noise=noise).get_delta(epsilon=1.0) <= 1e-3
    True
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

        Parameters
        ----------
        features : array_like
            A row a record, within the bounds of the loss; their number is a multiple of the batch
            size.
        labels : array_like
            A label a record.
        noise : float, array_like or DecayingNoise
            Scale of Z: one number for a shuffled pass; for an online one also an array, a scale a
            step, or a `renyi.theory.iteration.DecayingNoise`.
        order : {"shuffled", "online"}
            Records in secret random order, or as they are given.
        start : array_like, optional
            The first iterate, which must not depend on the records; by default the point of the
            domain nearest to 0.
        generator : SecureGenerator or numpy.random.Generator, optional
            By default the process's own `SecureGenerator`.

        Returns
        -------
        PNSGDRun

        Raises
        ------
        TypeError, ValueError
            If an argument is not as above.
        """
        if order not in ("shuffled", "online"):
            raise ValueError(f"order must be 'shuffled' or 'online', got {order!r}")
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
            secret = source._core.permutation(len(x))
            x, y = x[secret], y[secret]
        w = self._descend(self.domain.project(first), x, y, scales, source)
        return PNSGDRun(w, self.descent, order, scales, n)

    def _scales(self, noise: Any, order: Order, n: int) -> float | Vector:
        """Return the scales, checked where the guarantee is computed: before anything is drawn."""
        if order == "shuffled":
            if np.ndim(noise) != 0 or isinstance(noise, DecayingNoise):
                raise TypeError(
                    f"noise must be one number for a shuffled pass, got {type(noise).__name__}"
                )
            shuffled_delta(self.descent, 1.0, noise, n)
            return float(noise)
        online_delta(self.descent, 1.0, noise, n, n)
        if isinstance(noise, DecayingNoise):
            return noise.scales(n)
        return np.broadcast_to(np.asarray(noise, np.float64), n).copy()

    def _descend(
        self, w: Vector, x: Vector, y: Vector, scales: float | Vector, source: Any
    ) -> Vector:
        """Noise of iterates that nobody sees is fine; that of the last is on the lattice."""
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
            source._core.add_noise(gaussian, w, width, 1, *([] if left == 0 else [_FINE]))
            w = self.domain.project(w)
        return w

    def _gradient(self, w: Vector, features: Vector, labels: list[float]) -> Vector:
        """Return the mean gradient of a batch."""
        total = self.loss.gradient(w, features[0], labels[0])
        for row, label in zip(features[1:], labels[1:], strict=True):
            total = total + self.loss.gradient(w, row, label)
        return total / len(labels) if len(labels) > 1 else total
