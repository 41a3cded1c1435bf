"""Mechanisms as JSON: strict both ways, so that what is read is what was written."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from renyi import mechanisms, pld
from renyi.mechanisms._algebra import Composed, Mechanism

__all__ = ["VERSION", "decode", "dumps", "encode", "loads"]

VERSION = 1
TYPE = "type"


def _types() -> dict[str, type]:
    """Return what may be written; losses with their module, since names recur there."""
    found: dict[str, type] = {}
    for name in mechanisms.__all__:
        if name != "Mechanism":
            found[name] = getattr(mechanisms, name)
    for name in pld.__all__:
        kind = getattr(pld, name)
        # A Density holds functions.
        if is_dataclass(kind) and isinstance(kind, type) and name != "Density":
            found[f"pld.{name}"] = kind
    return found


_TYPES = _types()
_NAMES = {kind: name for name, kind in _TYPES.items()}
_INFINITIES = {"inf": math.inf, "-inf": -math.inf}


def encode(value: Mechanism) -> dict[str, Any]:
    """Return a mechanism as dictionaries, lists, numbers and strings."""
    if isinstance(value, Composed):
        parts = [{"mechanism": encode(part), "count": count} for part, count in value.parts]
        return {TYPE: "Composed", "parts": parts}
    return _encode_fields(value, "mechanism")


def decode(data: Any) -> Mechanism:
    """Return the mechanism of what `encode` returned, perhaps with a version."""
    if isinstance(data, Mapping) and "version" in data:
        version = data["version"]
        if type(version) is not int or version != VERSION:
            raise ValueError(f"version must be {VERSION}, got {version!r}")
        data = {key: value for key, value in data.items() if key != "version"}
    value = _decode_fields(data)
    if not isinstance(value, Mechanism):
        raise ValueError(f"type must be that of a mechanism, got {data[TYPE]!r}")
    return value


def dumps(mechanism: Mechanism, indent: int | None) -> str:
    """Return strict JSON."""
    data = {"version": VERSION} | encode(mechanism)
    return json.dumps(data, indent=indent, allow_nan=False)


def loads(text: str | bytes) -> Mechanism:
    """Read strict JSON."""
    if not isinstance(text, str | bytes | bytearray):
        raise TypeError(f"text must be a string of JSON, got {text!r}")
    try:
        data = json.loads(
            text, object_pairs_hook=_distinct, parse_constant=_refuse, parse_float=_finite
        )
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"text must be strict JSON: {error}") from error
    if not isinstance(data, dict) or "version" not in data:
        raise ValueError("text must be a JSON object with the field 'version', got another")
    return decode(data)


def _encode_fields(value: Any, name: str) -> dict[str, Any]:
    kind = _NAMES.get(type(value))
    if kind is None:
        raise TypeError(
            f"{name} must be made of numbers to be written as JSON, which cannot hold functions or "
            f"classes from elsewhere, got {value!r}"
        )
    given = {f.name: _encode_value(getattr(value, f.name), f.name) for f in fields(value) if f.init}
    return {TYPE: kind} | given


def _encode_value(value: Any, name: str) -> Any:
    if isinstance(value, Mechanism):
        return encode(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, tuple):
        return [_encode_value(item, name) for item in value]
    return _encode_fields(value, name)


def _decode_fields(data: Any) -> Any:
    if not isinstance(data, Mapping):
        raise TypeError(f"data must be a mapping with the field {TYPE!r}, got {data!r}")
    if TYPE not in data:
        raise ValueError(f"data must have the field {TYPE!r}, got {sorted(map(str, data))}")
    name = data[TYPE]
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"type must be one of {', '.join(_TYPES)}, got {name!r}")
    if kind is Composed:
        _check_names("Composed", data, {TYPE, "parts"})
        return Composed(*_parts_of(data["parts"]))
    _check_names(name, data, {TYPE} | {f.name for f in fields(kind) if f.init})
    return kind(**{key: _decode_value(value) for key, value in data.items() if key != TYPE})


def _parts_of(parts: Any) -> list[tuple[Any, Any]]:
    if not isinstance(parts, list | tuple):
        raise TypeError(f"parts must be a list, got {parts!r}")
    for part in parts:
        if not isinstance(part, Mapping):
            raise TypeError(f"parts must be mappings, got {part!r}")
        _check_names("parts", part, {"mechanism", "count"})
    return [(_decode_value(part["mechanism"]), part["count"]) for part in parts]


def _decode_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _decode_fields(value)
    if isinstance(value, list | tuple):
        return tuple(_decode_value(item) for item in value)
    return _INFINITIES.get(value, value) if isinstance(value, str) else value


def _check_names(kind: str, data: Mapping[str, Any], expected: set[str]) -> None:
    wrong = (("lacks", expected - set(data)), ("has unknown", set(data) - expected))
    found = [f"{words} {', '.join(sorted(map(repr, names)))}" for words, names in wrong if names]
    if found:
        allowed = ", ".join(sorted(expected))
        raise ValueError(f"{kind} must have the fields {allowed}: it {' and '.join(found)}")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError(f"fields must be distinct, got {[name for name, _ in pairs]}")
    return data


def _refuse(constant: str) -> float:
    raise ValueError(f'numbers must be finite or the string "inf", got {constant}')


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        _refuse(digits)
    return number
