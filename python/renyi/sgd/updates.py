"""How parameters follow noisy gradients: post-processing, which costs no privacy."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from renyi._validation import real_of
from renyi.sgd._rows import Array
from renyi.sgd.schedules import Schedule, checked_schedule, value_at

__all__ = ["SGD", "Adam", "AdamW", "UpdateRule"]


class UpdateRule(ABC):
    """Settings of an update; what it remembers between steps is kept by the optimiser.

    A rule is a dataclass: its fields are saved, and make it again.
    """

    learning_rate: float | Schedule

    @property
    @abstractmethod
    def slots(self) -> int:
        """Arrays of the shape of a parameter that it needs to remember."""

    @abstractmethod
    def update(self, parameter: Array, gradient: Array, slots: Sequence[Array], step: int) -> None:
        """Change a parameter and its slots in place; ``step`` counts from 1."""


@dataclass(frozen=True)
class SGD(UpdateRule):
    r"""Gradient descent, with momentum and decoupled weight decay if wanted.

    .. math:: v \leftarrow m v + g, \qquad w \leftarrow w - \eta (v + \lambda w)

    Parameters
    ----------
    learning_rate : float or Schedule
        :math:`\eta` in [0, inf).
    momentum : float
        :math:`m` in [0, 1).
    weight_decay : float
        :math:`\lambda` in [0, inf).

    Raises
    ------
    TypeError, ValueError
        If a number is not as above.

    Examples
    --------
    >>> rule = SGD(0.5)
    >>> w = np.array([1.0])
    >>> rule.update(w, np.array([0.2]), [], 1)
    >>> w
    array([0.9])
    """

    learning_rate: float | Schedule
    momentum: float = 0.0
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _settle_rate(self)
        _settle(self, "momentum", 1.0)
        _settle(self, "weight_decay", math.inf)

    @property
    def slots(self) -> int:
        """The velocity, where there is momentum."""
        return 1 if self.momentum else 0

    def update(self, parameter: Array, gradient: Array, slots: Sequence[Array], step: int) -> None:
        """Change a parameter and its velocity in place."""
        direction = gradient
        if slots:
            direction = slots[0]
            direction *= self.momentum
            direction += gradient
        rate = value_at(self.learning_rate, step)
        if self.weight_decay:
            parameter *= 1.0 - rate * self.weight_decay
        parameter -= rate * direction


@dataclass(frozen=True)
class Adam(UpdateRule):
    r"""Steps scaled by running moments of the gradient, corrected for their start at zero.

    .. math:: m \leftarrow \beta_1 m + (1 - \beta_1) g, \quad
              v \leftarrow \beta_2 v + (1 - \beta_2) g^2, \quad
              w \leftarrow w - \eta \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + s}

    Parameters
    ----------
    learning_rate : float or Schedule
        :math:`\eta` in [0, inf).
    beta1, beta2 : float
        In [0, 1).
    stability : float
        :math:`s` in (0, inf).

    Raises
    ------
    TypeError, ValueError
        If a number is not as above.

    References
    ----------
    Kingma, Ba 2014, arXiv 1412.6980, Algorithm 1.

    Examples
    --------
    >>> w = np.array([1.0, 1.0])
    >>> moments = [np.zeros(2), np.zeros(2)]
    >>> Adam(0.1).update(w, np.array([5.0, -0.01]), moments, 1)
    >>> w.round(6)
    array([0.9, 1.1])
    """

    learning_rate: float | Schedule = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    stability: float = 1e-8
    slots: ClassVar[int] = 2

    def __post_init__(self) -> None:
        _settle_rate(self)
        _settle(self, "beta1", 1.0)
        _settle(self, "beta2", 1.0)
        _settle(self, "stability", math.inf, least=math.ulp(0.0))

    def update(self, parameter: Array, gradient: Array, slots: Sequence[Array], step: int) -> None:
        """Change a parameter and its moments in place."""
        mean, square = slots
        mean *= self.beta1
        mean += (1.0 - self.beta1) * gradient
        square *= self.beta2
        square += (1.0 - self.beta2) * gradient * gradient
        size = np.sqrt(square / (1.0 - self.beta2**step)) + self.stability
        rate = value_at(self.learning_rate, step)
        parameter -= rate / (1.0 - self.beta1**step) * mean / size


@dataclass(frozen=True)
class AdamW(Adam):
    r"""`Adam` with decoupled weight decay.

    .. math:: w \leftarrow (1 - \eta \lambda) w

    comes before the step.

    Parameters
    ----------
    learning_rate, beta1, beta2, stability
        As for `Adam`.
    weight_decay : float
        :math:`\lambda` in [0, inf).

    Raises
    ------
    TypeError, ValueError
        If a number is not as above.

    References
    ----------
    Loshchilov, Hutter 2019, arXiv 1711.05101.

    Examples
    --------
    >>> w = np.array([1.0, 1.0])
    >>> moments = [np.zeros(2), np.zeros(2)]
    >>> AdamW(0.1, weight_decay=0.5).update(w, np.array([5.0, -0.01]), moments, 1)
    >>> w.round(6)
    array([0.85, 1.05])
    """

    weight_decay: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        _settle(self, "weight_decay", math.inf)

    def update(self, parameter: Array, gradient: Array, slots: Sequence[Array], step: int) -> None:
        """Change a parameter and its moments in place."""
        parameter *= 1.0 - value_at(self.learning_rate, step) * self.weight_decay
        super().update(parameter, gradient, slots, step)


def _settle_rate(rule: UpdateRule) -> None:
    """Take a number, or a schedule, also as a saved state holds it."""
    if isinstance(rule.learning_rate, Schedule | Mapping):
        schedule = checked_schedule(rule.learning_rate, "learning_rate")
        object.__setattr__(rule, "learning_rate", schedule)
    else:
        _settle(rule, "learning_rate", math.inf)


def _settle(rule: UpdateRule, name: str, bound: float, least: float = 0.0) -> None:
    opening = "[" if least == 0.0 else "("
    allowed = f"a number in {opening}0, {bound:g})"
    value = getattr(rule, name)
    number = real_of(value, name, allowed)
    if not least <= number < bound:
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    object.__setattr__(rule, name, number)
