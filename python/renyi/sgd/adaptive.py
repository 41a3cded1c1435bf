"""Clipping norms that follow a quantile of the gradients' norms, privately."""

import math
from collections.abc import Mapping
from typing import Any

from renyi._adjacency import Adjacency, adjacency_of
from renyi._training import LARGEST_BOUND, LEAST_BOUND
from renyi._validation import Range, number_in, probability_of, real_of
from renyi.mechanisms import Gaussian
from renyi.sgd.rules import bound_of
from renyi.sgd.sums import ClippedSum


class QuantileClipNorm:
    r"""A clipping norm that moves to a quantile of the norms of the gradients.

    After each step the norm is multiplied by :math:`\exp(-\eta (\tilde b - \gamma))`, where
    :math:`\tilde b` is the fraction of unclipped rows, with noise, and :math:`\gamma` is the target
    fraction (Andrew, Thakkar, McMahan, Ramaswamy 2021, Differentially Private Learning with
    Adaptive Clipping). The fraction is relative to a public expected batch size.

    The noised count is released: charge it with the sum, see `sum_noise_multiplier`, or by itself
    as `mechanism`. Adding or removing a record changes the count by 1/2, replacing a record by
    another or by a row of zeros changes it by 1; the latter is the neighbour of "zero_out", for
    which half of ``count_noise`` is accounted.

    Args:
        initial: The first norm, in [2^-96, 2^96]; later norms stay in this range.
        expected_batch_size: A public number, such as sample rate times population. Positive.
        target_quantile: :math:`\gamma` in [0, 1].
        learning_rate: :math:`\eta`, positive.
        count_noise: Standard deviation of the noise of the count; by default a 20th of the expected
            batch size, as in the paper.

    >>> import numpy as np
    >>> from renyi.sgd import clip_and_sum
    >>> norm = QuantileClipNorm(1.0, expected_batch_size=4)
    >>> grads = np.array([[0.1], [0.2], [0.3], [5.0]])
    >>> count = norm.private_count(clip_and_sum(grads, norm.value))
    >>> count
    1.0
    >>> norm.update(count + 0.0)  # noise of standard deviation norm.count_noise goes here
    0.951229424500714
    """

    def __init__(
        self,
        initial: float,
        *,
        expected_batch_size: float,
        target_quantile: float = 0.5,
        learning_rate: float = 0.2,
        count_noise: float | None = None,
    ) -> None:
        self._value = bound_of(initial, "initial")
        self.expected_batch_size = _positive(expected_batch_size, "expected_batch_size")
        self.target_quantile = probability_of(target_quantile, "target_quantile")
        self.learning_rate = _positive(learning_rate, "learning_rate")
        given = self.expected_batch_size / 20.0 if count_noise is None else count_noise
        self.count_noise = _positive(given, "count_noise")

    @property
    def value(self) -> float:
        """The present clipping norm. It is public: it depends on noised counts only."""
        return self._value

    @property
    def mechanism(self) -> Gaussian:
        """The mechanism of one release of the noised count, whose sensitivity is 1/2."""
        return Gaussian(2.0 * self.count_noise)

    def sum_noise_multiplier(
        self, noise_multiplier: float, adjacency: Adjacency = "add_remove"
    ) -> float:
        r"""Return the noise multiplier of a sum released with the noised count, rounded up.

        Both are one Gaussian mechanism with the multiplier :math:`z` of

        .. math:: z^{-2} = z_\mathrm{sum}^{-2} + (2 \sigma_b)^{-2}

        since the count of :math:`b_i - 1/2` has the sensitivity 1/2, and :math:`\sigma_b` is
        ``count_noise``, or half of it with "zero_out" (Andrew et al. 2021, Theorem 1). With Poisson
        sampling this one mechanism is sampled, not two independently.

        Args:
            noise_multiplier: :math:`z`, the multiplier that the accountant gets.
            adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours.

        Raises:
            ValueError: If the count alone costs more than ``noise_multiplier`` allows.

        >>> norm = QuantileClipNorm(1.0, expected_batch_size=100)
        >>> round(norm.sum_noise_multiplier(1.0), 12)
        1.005037815259
        """
        z, b = _positive(noise_multiplier, "noise_multiplier"), self._count_multiplier(adjacency)
        if not z < b:
            raise ValueError(
                f"noise_multiplier must be less than that of count_noise, {b!r}, got "
                f"{noise_multiplier!r}"
            )
        # 1 - (z/b)^2 = (b - z)(b + z)/b^2: the difference is exact where it matters. Six roundings.
        ratio = (b - z) / b * ((b + z) / b)
        return z / math.sqrt(ratio) * (1.0 + 2.0**-49)

    def joint_noise_multiplier(
        self, sum_multiplier: float, adjacency: Adjacency = "add_remove"
    ) -> float:
        """Return the multiplier of sum and count together, for the accountant, rounded down.

        >>> norm = QuantileClipNorm(1.0, expected_batch_size=100)
        >>> round(norm.joint_noise_multiplier(1.005037815259), 9)
        1.0
        """
        z, b = _positive(sum_multiplier, "sum_multiplier"), self._count_multiplier(adjacency)
        least, most = min(z, b), max(z, b)
        ratio = least / most
        return least / math.sqrt(1.0 + ratio * ratio) * (1.0 - 2.0**-49)

    def _count_multiplier(self, adjacency: Adjacency) -> float:
        return (1.0 if adjacency_of(adjacency) == "zero_out" else 2.0) * self.count_noise

    def private_count(self, clipped: ClippedSum) -> float:
        """Sum of +1/2 for each unclipped row and -1/2 for each other, before noise.

        Args:
            clipped: The sum of rows clipped with "flat" at `value`. Adding or removing a record
                changes the count by 1/2.
        """
        if clipped.clipping != "flat" or clipped.max_grad_norm != (self._value,):
            raise ValueError(
                f"clipped must be clipped flat at {self._value!r}, got {clipped.clipping} at "
                f"{clipped.max_grad_norm!r}"
            )
        private = clipped.private
        return private.unclipped_count - 0.5 * private.batch_size

    def update(self, noised_count: float) -> float:
        """Move the norm by one step, and return it.

        Args:
            noised_count: `private_count` with Gaussian noise of standard deviation ``count_noise``.
        """
        count = real_of(noised_count, "noised_count", "a finite number")
        if math.isinf(count):
            raise ValueError(f"noised_count must be a finite number, got {noised_count!r}")
        fraction = count / self.expected_batch_size + 0.5
        exponent = -self.learning_rate * (fraction - self.target_quantile)
        moved = math.log(self._value) + exponent
        if moved >= math.log(LARGEST_BOUND):
            self._value = LARGEST_BOUND
        elif moved <= math.log(LEAST_BOUND):
            self._value = LEAST_BOUND
        else:
            self._value = min(max(self._value * math.exp(exponent), LEAST_BOUND), LARGEST_BOUND)
        return self._value

    def state_dict(self) -> dict[str, float]:
        """Return the state and the settings, for `load_state_dict`."""
        return {"value": self._value, **self._settings()}

    def _settings(self) -> dict[str, float]:
        names = ("expected_batch_size", "target_quantile", "learning_rate", "count_noise")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        words = ", ".join(f"{name}={value:g}" for name, value in self._settings().items())
        return f"<QuantileClipNorm: {self._value:g}, {words}>"

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self._value = self.checked(state)

    def checked(self, state: Any) -> float:
        """Return the norm of a state, or raise `ValueError` if its settings differ from these."""
        if not isinstance(state, Mapping):
            raise ValueError(f"state must be a mapping, got {state!r}")
        settings = {name: state.get(name) for name in self._settings()}
        if settings != self._settings():
            raise ValueError(f"state must hold the settings {self._settings()}, got {settings}")
        return bound_of(state.get("value"), "value")


def _positive(value: Any, name: str) -> float:
    return number_in(value, name, Range(2.0**-500, 2.0**500))
