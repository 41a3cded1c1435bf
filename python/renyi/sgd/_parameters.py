"""Parameters that are trained in place, and what updates remember."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from renyi._arrays import Array, check_writeable
from renyi._states import entries_of
from renyi._validation import count_of
from renyi.sgd.convex import Domain
from renyi.sgd.updates import UpdateRule

__all__ = ["Parameters"]


# Parameters that are trained in place: one array or a list of them, and what updates remember.


Rules = UpdateRule | tuple[UpdateRule, ...]


_KINDS = (np.dtype(np.float32), np.dtype(np.float64))


class _Saved(NamedTuple):
    """A state that was checked."""

    rule: Rules
    steps: int
    parameters: list[Array]
    slots: list[list[Array]]


class Parameters:
    """Arrays, the rules by which they follow gradients, and how many they have followed.

    All elements, one array after the other, are projected onto the domain after every update.
    """

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
        """Follow the gradients."""
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
        """Return a rule, or rules, that can take the place of the present one."""
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
        """Return copies of what a state holds, if it fits here."""
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
        """Take over a state that was checked."""
        self.rule, self.steps, self._slots = saved.rule, saved.steps, saved.slots
        for array, value in zip(self._arrays, saved.parameters, strict=True):
            array[...] = value


def _described(rule: Any) -> Any:
    if isinstance(rule, tuple):
        return [_described(one) for one in rule]
    return {"kind": type(rule).__name__, **asdict(rule)}


def _rule_saved(described: Any, own: Rules) -> Rules:
    """Return the rule that was described, which is like one's own."""
    if isinstance(own, tuple) and isinstance(described, list) and len(described) == len(own):
        return tuple(_one_saved(*pair) for pair in zip(described, own, strict=True))
    if isinstance(own, tuple):
        raise ValueError(f"state must hold rules like {own!r}, got {described!r}")
    return _one_saved(described, own)


def _one_saved(described: Any, own: UpdateRule) -> UpdateRule:
    settings = dict(described) if isinstance(described, Mapping) else {}
    same = settings.keys() == _described(own).keys()
    if not same or settings.pop("kind") != type(own).__name__:
        raise ValueError(f"state must hold a rule like {own!r}, got {described!r}")
    return type(own)(**settings)


def _kinds(rule: Any) -> Any:
    """Return what rules have in common that may take each other's place."""
    if isinstance(rule, tuple):
        return [_kinds(one) for one in rule]
    return type(rule), getattr(rule, "slots", None)


def _rules_of(value: Any, count: int | None) -> Rules:
    """Return a rule for all arrays, or one for each of so many."""
    if isinstance(value, list | tuple):
        if len(value) != count:
            raise ValueError(
                f"rule must be one for each of {count or 1} parameters, got {len(value)}"
            )
        return tuple(_rule_of(one) for one in value)
    return _rule_of(value)


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
        raise TypeError(f"domain must be a Ball, a Box or an Interval, got {domain!r}")
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
