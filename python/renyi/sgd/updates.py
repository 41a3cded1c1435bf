"""Parameters trained in place, the rules by which they follow noisy gradients, and schedules."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from renyi._arrays import Array, check_writeable
from renyi._states import entries_of
from renyi._strict_json import check_names
from renyi._validation import (
    BELOW_ONE,
    FINITE,
    FINITE_NON_NEGATIVE,
    FINITE_POSITIVE,
    count_of,
    integer_of,
    number_in,
    set_fields,
    set_numbers,
)
from renyi.sgd.projected import Domain


@dataclass(frozen=True)
class Schedule:
    """A number for each step, piecewise constant.

    As a learning rate it is the rate of each step. As the ``noise_schedule`` or ``clip_schedule``
    of a `TrainingPlan` it is a factor of the number of the plan.

    Args:
        starts: The first steps of the pieces, increasing; steps are counted from 1, the first
            start.
        values: The values of the pieces, finite and not negative. The last one holds for all later
            steps.

    >>> half = Schedule((1, 501), (1.0, 0.5))
    >>> half.at(500), half.at(501), half.at(10_000)
    (1.0, 0.5, 0.5)
    """

    starts: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        starts = tuple(integer_of(step, "starts", 1) for step in self.starts)
        values = tuple(number_in(value, "values", FINITE_NON_NEGATIVE) for value in self.values)
        increasing = all(a < b for a, b in pairwise(starts))
        if not starts or starts[0] != 1 or not increasing:
            raise ValueError(f"starts must be increasing and begin with 1, got {self.starts!r}")
        if len(values) != len(starts):
            raise ValueError(f"values must be one for each of {len(starts)}, got {len(values)}")
        set_fields(self, starts=starts, values=values)

    @classmethod
    def linear(cls, first: float, last: float, *, steps: int, pieces: int = 100) -> Schedule:
        """Return numbers from ``first`` to ``last`` in equal differences."""
        first, last = (number_in(x, "first and last", FINITE) for x in (first, last))
        return cls._shaped(lambda t: first + (last - first) * t, steps, pieces)

    @classmethod
    def exponential(cls, first: float, last: float, *, steps: int, pieces: int = 100) -> Schedule:
        """Return numbers from ``first`` to ``last``, both positive, in equal ratios."""
        low, high = (
            math.log(number_in(x, "first and last", FINITE_POSITIVE)) for x in (first, last)
        )
        return cls._shaped(lambda t: math.exp(low + (high - low) * t), steps, pieces)

    @classmethod
    def cosine(
        cls, first: float, last: float, *, steps: int, warmup: int = 0, pieces: int = 100
    ) -> Schedule:
        """Return numbers on half a wave, after ``warmup`` steps that rise to ``first``."""
        first, last = (number_in(x, "first and last", FINITE) for x in (first, last))

        def value(t: float) -> float:
            return last + (first - last) * 0.5 * (1.0 + math.cos(math.pi * t))

        if not warmup:
            return cls._shaped(value, steps, pieces)
        rise = cls._shaped(lambda t: first * t, warmup, pieces)
        fall = cls._shaped(value, integer_of(steps, "steps", 1) - warmup, pieces)
        return cls(
            rise.starts + tuple(start + warmup for start in fall.starts), rise.values + fall.values
        )

    @classmethod
    def _shaped(cls, value: Callable[[float], float], steps: int, pieces: int) -> Schedule:
        """Return a function on [0, 1] as pieces of nearly equal length."""
        length = integer_of(steps, "steps", 1)
        count = min(integer_of(pieces, "pieces", 1), length)
        starts = tuple(1 + k * length // count for k in range(count))
        return cls(starts, tuple(value(k / max(count - 1, 1)) for k in range(count)))

    def at(self, step: int) -> float:
        """Return the number of a step, counted from 1."""
        return self.values[self.piece(step)]

    def piece(self, step: int) -> int:
        """Return the index of the piece of a step, counted from 0."""
        return bisect_right(self.starts, step) - 1

    def counts(self, done: int, steps: int) -> Iterator[tuple[int, int]]:
        """Yield the pieces of ``steps`` steps after ``done``, with the number of steps in each."""
        first, last = done + 1, done + steps
        for k in range(self.piece(first), len(self.starts)):
            end = self.starts[k + 1] - 1 if k + 1 < len(self.starts) else last
            if first <= min(end, last):
                yield k, min(end, last) - first + 1
            first = end + 1


def checked_schedule(value: Any, name: str, *, positive: bool = False) -> Schedule | None:
    """Return a schedule, possibly given as a mapping, or None."""
    if isinstance(value, Mapping):
        check_names(name, value, ("starts", "values"))
        value = Schedule(**value)
    if value is not None and type(value) is not Schedule:
        raise TypeError(f"{name} must be a Schedule, of no class of its own, got {value!r}")
    if value is not None and positive and min(value.values) == 0.0:
        raise ValueError(f"{name} must be of positive numbers, got {value!r}")
    return value


def value_at(value: float | Schedule, step: int) -> float:
    """Return a number, or that of a schedule at a step."""
    return value.at(step) if isinstance(value, Schedule) else value


class UpdateRule(ABC):
    """Settings of an update; its memory between steps is kept by the optimiser.

    A rule is a dataclass: its fields are saved, and restore it.
    """

    learning_rate: float | Schedule

    @property
    @abstractmethod
    def slots(self) -> int:
        """Number of arrays of the shape of a parameter that the rule remembers."""

    @abstractmethod
    def update(self, parameter: Array, gradient: Array, slots: Sequence[Array], step: int) -> None:
        """Change a parameter and its slots in place; ``step`` counts from 1."""


@dataclass(frozen=True)
class SGD(UpdateRule):
    r"""Gradient descent, with momentum and decoupled weight decay if wanted.

    .. math:: v \leftarrow m v + g, \qquad w \leftarrow w - \eta (v + \lambda w)

    Args:
        learning_rate: :math:`\eta` in [0, inf).
        momentum: :math:`m` in [0, 1).
        weight_decay: :math:`\lambda` in [0, inf).

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
        _set_rate(self)
        set_numbers(self, momentum=BELOW_ONE, weight_decay=FINITE_NON_NEGATIVE)

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
              w \leftarrow (1 - \eta \lambda) w
              - \eta \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + s}

    With ``noise_std`` the divisor is :math:`\sqrt{\max(v / (1 - \beta_2^t) - \Phi, \, s^2)}`,
    without the noise in the second moment, which hides how small gradients are (DP-AdamBC).

    Args:
        learning_rate: :math:`\eta` in [0, inf).
        beta1, beta2: In [0, 1).
        stability: :math:`s` in (0, inf); with ``noise_std`` the least value of the root, 2e-4 in
            the source.
        weight_decay: :math:`\lambda` in [0, inf), decoupled (AdamW).
        noise_std: :math:`\sqrt{\Phi}` in [0, inf), the standard deviation of the noise in an entry
            of the gradient: noise multiplier times clipping norm over the expected batch size.

    Source: Kingma, Ba 2014, arXiv 1412.6980, Algorithm 1; Loshchilov, Hutter 2019, arXiv
    1711.05101, for the decay; Tang, Shpilevskiy, Lécuyer 2023, arXiv 2312.14334, Algorithm 1.

    >>> w, moments = np.array([1.0, 1.0]), [np.zeros(2), np.zeros(2)]
    >>> Adam(0.1, weight_decay=0.5).update(w, np.array([5.0, -0.01]), moments, 1)
    >>> w.round(6)
    array([0.85, 1.05])
    >>> w, moments = np.array([1.0]), [np.zeros(1), np.zeros(1)]
    >>> Adam(0.1, stability=2e-4, noise_std=4.0).update(w, np.array([5.0]), moments, 1)
    >>> w.round(6)  # 0.1 times 5 / 3
    array([0.833333])
    """

    learning_rate: float | Schedule = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    stability: float = 1e-8
    weight_decay: float = 0.0
    noise_std: float | None = None
    slots: ClassVar[int] = 2

    def __post_init__(self) -> None:
        _set_rate(self)
        set_numbers(self, beta1=BELOW_ONE, beta2=BELOW_ONE, stability=FINITE_POSITIVE)
        set_numbers(self, weight_decay=FINITE_NON_NEGATIVE)
        if self.noise_std is not None:
            set_numbers(self, noise_std=FINITE_NON_NEGATIVE)

    def update(self, parameter: Array, gradient: Array, slots: Sequence[Array], step: int) -> None:
        """Change a parameter and its moments in place."""
        mean, square = slots
        mean *= self.beta1
        mean += (1.0 - self.beta1) * gradient
        square *= self.beta2
        square += (1.0 - self.beta2) * gradient * gradient
        corrected = square / (1.0 - self.beta2**step)
        if self.noise_std is None:
            size = np.sqrt(corrected) + self.stability
        else:
            size = np.sqrt(np.maximum(corrected - self.noise_std**2, self.stability**2))
        rate = value_at(self.learning_rate, step)
        if self.weight_decay:
            parameter *= 1.0 - rate * self.weight_decay
        parameter -= rate / (1.0 - self.beta1**step) * mean / size


def _set_rate(rule: UpdateRule) -> None:
    """Check a learning rate: a number, or a schedule, possibly as a saved state holds it."""
    if isinstance(rule.learning_rate, Schedule | Mapping):
        schedule = checked_schedule(rule.learning_rate, "learning_rate")
        set_fields(rule, learning_rate=schedule)
    else:
        set_numbers(rule, learning_rate=FINITE_NON_NEGATIVE)


Rules = UpdateRule | tuple[UpdateRule, ...]
_KINDS = (np.dtype(np.float32), np.dtype(np.float64))


class _Saved(NamedTuple):
    """A checked state."""

    rule: Rules
    steps: int
    parameters: list[Array]
    slots: list[list[Array]]


class Parameters:
    """Trained arrays with update rules, a step count, and a domain they are projected onto."""

    def __init__(self, parameters: Any, rule: Any, domain: Domain | None = None) -> None:
        self._single = not isinstance(parameters, list | tuple)
        self._arrays = _arrays_of(parameters, self._single)
        self.rule = _rules_of(rule, None if self._single else len(self._arrays))
        self._slots = [
            [np.zeros_like(array) for _ in range(own.slots)]
            for array, own in zip(self._arrays, self._rules, strict=True)
        ]
        self._domain = _domain_for(domain, self._arrays)
        self.steps = 0

    @property
    def _rules(self) -> tuple[UpdateRule, ...]:
        rule = self.rule
        return rule if isinstance(rule, tuple) else (rule,) * len(self._arrays)

    @property
    def shapes(self) -> Any:
        """The shape of the array, or those of the list."""
        shapes = [array.shape for array in self._arrays]
        return shapes[0] if self._single else shapes

    def update(self, gradients: list[Array]) -> None:
        """Take one step along the gradients, then project."""
        self.steps += 1
        for array, gradient, slots, rule in zip(
            self._arrays, gradients, self._slots, self._rules, strict=True
        ):
            rule.update(array, gradient, slots, self.steps)
        if self._domain is not None:
            self._project(self._domain)

    def _project(self, domain: Domain) -> None:
        nearest = domain.project(np.concatenate([a.ravel() for a in self._arrays], dtype=float))
        ends = np.cumsum([array.size for array in self._arrays])
        for array, part in zip(self._arrays, np.split(nearest, ends[:-1]), strict=True):
            array[...] = part.reshape(array.shape)

    def rule_like(self, rule: Any) -> Rules:
        """Return rules that can replace the present ones."""
        new = tuple(rule) if isinstance(rule, list | tuple) else rule
        if _kinds(new) != _kinds(self.rule):
            raise ValueError(
                f"rule must be of the kind of {self.rule!r} and remember as much, got {rule!r}"
            )
        known: Rules = new
        return known

    def state_dict(self) -> dict[str, Any]:
        """Return copies of everything."""
        return {
            "rule": _described(self.rule),
            "steps": self.steps,
            "parameters": [array.copy() for array in self._arrays],
            "slots": [[slot.copy() for slot in slots] for slots in self._slots],
        }

    def checked(self, state: Mapping[str, Any]) -> _Saved:
        """Return copies of the contents of a state that fits these parameters."""
        described, steps, parameters, slots = entries_of(
            state, "rule", "steps", "parameters", "slots"
        )
        rule = self.rule_like(_rule_saved(described, self.rule))
        arrays = _copies(parameters, self._arrays, "parameters")
        remembered = _listed(slots, "slots")
        if len(remembered) != len(self._slots):
            raise ValueError(
                f"state must hold slots of {len(self._slots)} parameters, got {len(remembered)}"
            )
        copies = [
            _copies(saved, own, "slots") for saved, own in zip(remembered, self._slots, strict=True)
        ]
        return _Saved(rule, count_of(steps, "steps"), arrays, copies)

    def restore(self, saved: _Saved) -> None:
        """Continue from a checked state."""
        self.rule, self.steps, self._slots = saved.rule, saved.steps, saved.slots
        for array, value in zip(self._arrays, saved.parameters, strict=True):
            array[...] = value


def _described(rule: Any) -> Any:
    if isinstance(rule, tuple):
        return [_described(each) for each in rule]
    return {"kind": type(rule).__name__, **asdict(rule)}


def _rule_saved(described: Any, current: Any) -> Any:
    """Return the rules of a saved state, which must be like the current ones."""
    if isinstance(current, tuple) and isinstance(described, list):
        if len(described) == len(current):
            return tuple(map(_rule_saved, described, current))
    elif isinstance(described, Mapping) and isinstance(current, UpdateRule):
        settings, kind = dict(described), type(current)
        same = settings.keys() == _described(current).keys()
        if same and settings.pop("kind") == kind.__name__:
            return kind(**settings)
    raise ValueError(f"state must hold a rule like {current!r}, got {described!r}")


def _kinds(rule: Any) -> Any:
    """Return the class and the number of slots of each rule: rules that agree are exchangeable."""
    if isinstance(rule, tuple):
        return [_kinds(each) for each in rule]
    return type(rule), getattr(rule, "slots", None)


def _rules_of(value: Any, count: int | None) -> Rules:
    """Return one rule for all arrays, or a tuple with one for each."""
    if not isinstance(value, list | tuple):
        return _rule_of(value)
    if len(value) != count:
        raise ValueError(f"rule must be one for each of {count or 1} parameters, got {len(value)}")
    return tuple(map(_rule_of, value))


def _rule_of(value: Any) -> UpdateRule:
    if not isinstance(value, UpdateRule):
        raise TypeError(f"rule must be an UpdateRule such as SGD(0.1), got {value!r}")
    if not is_dataclass(type(value)):
        raise TypeError(
            "rule must be a dataclass, whose fields are the settings that state_dict saves, "
            f"got {value!r}"
        )
    return value


def _arrays_of(value: Any, single: bool) -> list[Array]:
    given = [value] if single else list(value)
    if not given:
        raise ValueError("parameters must be an array or a list of at least one, got an empty list")
    for k, array in enumerate(given):
        name = "parameters" if single else f"parameters[{k}]"
        if not isinstance(array, np.ndarray) or array.dtype not in _KINDS:
            kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
            raise TypeError(f"{name} must be an array of float32 or float64, got {kind}")
        check_writeable(array, name)
        if any(np.may_share_memory(array, other) for other in given[:k]):
            raise ValueError(f"{name} must not overlap another parameter")
    return given


def _domain_for(domain: Any, arrays: list[Array]) -> Domain | None:
    size = sum(array.size for array in arrays)
    if domain is None:
        return None
    if not all(hasattr(domain, name) for name in ("dimension", "project")):
        raise TypeError(f"domain must be a Ball or a Box, got {domain!r}")
    if domain.dimension != size:
        raise ValueError(
            f"domain must have as many dimensions as the parameters, {size}, got {domain!r}"
        )
    known: Domain = domain
    return known


def _listed(values: Any, name: str) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise ValueError(f"state must hold a list of {name}, got {type(values).__name__}")
    return list(values)


def _copies(values: Any, arrays: list[Array], name: str) -> list[Array]:
    saved = [np.array(value) for value in _listed(values, name)]
    found = [(array.shape, str(array.dtype)) for array in saved]
    wanted = [(array.shape, str(array.dtype)) for array in arrays]
    if found != wanted:
        raise ValueError(f"state must hold {name} of {wanted}, got {found}")
    return saved
