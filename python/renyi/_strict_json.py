"""Strict JSON: no constants, no repeated names, a version; values read equal those written."""

import json
import math
from collections.abc import Collection, Mapping
from typing import Any

VERSION = 1
DEEPEST = 100  # reading recurses once for each mechanism within another
_INFINITIES = {"inf": math.inf, "-inf": -math.inf}


def dumps(data: Mapping[str, Any], indent: int | None = None) -> str:
    """Return a mapping as JSON, with the version of the format first."""
    return json.dumps({"version": VERSION} | dict(data), indent=indent, allow_nan=False)


def loads(text: str | bytes) -> dict[str, Any]:
    """Return the mapping of a JSON object that has a version, or raise an error."""
    if not isinstance(text, str | bytes | bytearray):
        raise TypeError(f"text must be a string of JSON, got {text!r}")
    try:
        data = json.loads(
            text, object_pairs_hook=_distinct, parse_constant=_refuse, parse_float=_finite
        )
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"text must be strict JSON: {error}") from error
    if not isinstance(data, dict) or "version" not in data:
        what = "an object without it" if isinstance(data, dict) else f"a {type(data).__name__}"
        raise ValueError(f"text must be a JSON object with the field 'version', got {what}")
    level: list[Any] = [data]
    depth = 0
    while level and depth < DEEPEST:
        inside = (one.values() if isinstance(one, dict) else one for one in level)
        level = [item for items in inside for item in items if isinstance(item, dict | list)]
        depth += 1
    if level:
        raise ValueError(f"text must be nested at most {DEEPEST} deep, got more")
    return data


def check_version(data: Any) -> dict[str, Any]:
    """Return the other fields if the version is the current one, else raise."""
    if not isinstance(data, Mapping) or "version" not in data:
        raise ValueError(f"a state must be a mapping with the field 'version', got {data!r}")
    version = data["version"]
    if type(version) is not int or version != VERSION:
        raise ValueError(f"version must be {VERSION}, got {version!r}")
    return {key: value for key, value in data.items() if key != "version"}


def read(text: str | bytes, kind: str, names: Collection[str]) -> dict[str, Any]:
    """Return the fields that a class wrote, which must have these names besides the type.

    Raises:
        TypeError, ValueError: If the text is not strict JSON, or has another version, class or
            form.
    """
    data = check_version(loads(text))
    if data.get("type") != kind:
        raise ValueError(f"type must be {kind!r}, got {data.get('type')!r}")
    check_names(kind, data, {"type", *names})
    return {key: value for key, value in data.items() if key != "type"}


def check_names(
    kind: str, data: Mapping[str, Any], expected: Collection[str], optional: Collection[str] = ()
) -> None:
    """Raise `ValueError` unless a mapping has exactly the expected names; some are optional."""
    lacking = set(expected) - set(optional) - set(data)
    wrong = (("lacks", lacking), ("has unknown", set(data) - set(expected)))
    found = [f"{words} {', '.join(sorted(map(repr, names)))}" for words, names in wrong if names]
    if found:
        allowed = ", ".join(sorted(expected))
        raise ValueError(f"{kind} must have the fields {allowed}: it {' and '.join(found)}")


def written(number: float) -> float | str:
    """Return a number in the form of JSON: infinities as strings."""
    return number if math.isfinite(number) else str(number)


def read_number(value: Any) -> Any:
    """Return the number that `written` wrote; anything else unchanged."""
    return _INFINITIES.get(value, value) if isinstance(value, str) else value


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
