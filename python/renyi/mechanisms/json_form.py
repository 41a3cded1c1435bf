"""Mechanisms as JSON: strict both ways, so that a mechanism read equals the one written."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

from renyi import mechanisms, pairs
from renyi._strict_json import check_names, check_version, read_number, written
from renyi._validation import count_of, uses_of
from renyi.mechanisms.algebra import Composed, Mechanism

TYPE = "type"
MATRIX = "matrix."


@cache
def _types() -> dict[str, type]:
    """Return the types that can be written, without densities (functions) and strategies."""
    every = [getattr(module, name) for module in (mechanisms, pairs) for name in module.__all__]
    barred = (mechanisms.Mechanism, pairs.DensityPair)
    return {
        kind.__name__: kind
        for kind in every
        if isinstance(kind, type)
        and kind not in barred
        and (is_dataclass(kind) or kind is Composed)
    }


@cache
def _matrix_types() -> dict[str, type]:
    """Return strategies and participations; `renyi.matrix` is loaded when one is written or read.

    `renyi.matrix` depends on mechanisms, so it cannot be imported at the top.
    """
    matrix = import_module("renyi.matrix")
    kinds = {f"{MATRIX}{name}": getattr(matrix, name) for name in matrix.__all__}
    return {name: k for name, k in kinds.items() if is_dataclass(k) and isinstance(k, type)}


def _type_of(name: Any) -> type:
    known = _matrix_types() if isinstance(name, str) and name.startswith(MATRIX) else _types()
    kind = known.get(name) if isinstance(name, str) else None
    if kind is None:
        allowed = ", ".join(_types() | _matrix_types())
        raise ValueError(f"type must be one of {allowed}, got {name!r}")
    return kind


def _name_of(kind: type) -> str | None:
    if _types().get(kind.__name__) is kind:
        return kind.__name__
    name = f"{MATRIX}{kind.__name__}"
    return name if _matrix_types().get(name) is kind else None


def encode(value: Mechanism) -> dict[str, Any]:
    """Return a mechanism as dictionaries, lists, numbers and strings."""
    if isinstance(value, Composed):
        return {TYPE: "Composed", "parts": encode_counted(value.parts)}
    return _encode_fields(value, "mechanism")


def decode(data: Any) -> Mechanism:
    """Return the mechanism that `encode` wrote; the data may have a version."""
    if isinstance(data, Mapping) and "version" in data:
        data = check_version(data)
    value = _decode_fields(data)
    if not isinstance(value, Mechanism):
        raise ValueError(f"type must be that of a mechanism, got {data[TYPE]!r}")
    return value


def _encode_fields(value: Any, name: str) -> dict[str, Any]:
    kind = _name_of(type(value))
    if kind is None:
        raise TypeError(
            f"{name} must be made of numbers to be written as JSON, which cannot hold functions or "
            f"classes from elsewhere, got {value!r}"
        )
    given = {f.name: encode_value(getattr(value, f.name), f.name) for f in fields(value) if f.init}
    return {TYPE: kind} | given


def encode_value(value: Any, name: str = "value") -> Any:
    """Return a value of one of the types, or a value inside of one, in the form for strict JSON."""
    if isinstance(value, Mechanism):
        return encode(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return written(value)
    if isinstance(value, tuple):
        return [encode_value(item, name) for item in value]
    return _encode_fields(value, name)


def _decode_fields(data: Any) -> Any:
    if not isinstance(data, Mapping):
        raise TypeError(f"data must be a mapping with the field {TYPE!r}, got {data!r}")
    if TYPE not in data:
        raise ValueError(f"data must have the field {TYPE!r}, got {sorted(map(str, data))}")
    name = data[TYPE]
    kind = _type_of(name)
    if kind is Composed:
        check_names("Composed", data, {TYPE, "parts"})
        return Composed(*decode_counted(data["parts"], "parts", count_of))
    given = [f for f in fields(kind) if f.init]
    optional = [f.name for f in given if f.default is not MISSING]
    check_names(name, data, {TYPE} | {f.name for f in given}, optional)
    return kind(**{key: decode_value(value) for key, value in data.items() if key != TYPE})


def decode_value(value: Any) -> Any:
    """Return the value that `encode_value` wrote."""
    if isinstance(value, Mapping):
        return _decode_fields(value)
    if isinstance(value, list | tuple):
        return tuple(decode_value(item) for item in value)
    return read_number(value)


def encode_counted(uses: Iterable[tuple[Mechanism, int]]) -> list[dict[str, Any]]:
    """Return mechanisms with their counts as dictionaries, in order and not merged."""
    return [{"mechanism": encode(mechanism), "count": count} for mechanism, count in uses]


def decode_counted(
    uses: Any, name: str = "mechanisms", number: Callable[[Any], int] = uses_of
) -> list[tuple[Mechanism, int]]:
    """Return the uses that `encode_counted` wrote; ``number`` checks a count."""
    if not isinstance(uses, list | tuple):
        raise TypeError(f"{name} must be a list, got {uses!r}")
    found = []
    for use in uses:
        if not isinstance(use, Mapping):
            raise TypeError(f"{name} must be mappings, got {use!r}")
        check_names(name, use, {"mechanism", "count"})
        mechanism = decode_value(use["mechanism"])
        if not isinstance(mechanism, Mechanism):
            raise TypeError(f"{name} must be mechanisms, got {use['mechanism']!r}")
        found.append((mechanism, number(use["count"])))
    return found
