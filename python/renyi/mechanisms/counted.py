"""Mechanisms with their counts as JSON can hold them, in their order and not merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from renyi._strict_json import check_names
from renyi._validation import uses_of
from renyi.mechanisms import Mechanism

__all__ = ["decode_counted", "encode_counted"]


def encode_counted(uses: Iterable[tuple[Mechanism, int]]) -> list[dict[str, Any]]:
    """Return a list of dictionaries."""
    return [{"mechanism": mechanism.to_dict(), "count": count} for mechanism, count in uses]


def decode_counted(uses: Any) -> list[tuple[Mechanism, int]]:
    """Return what `encode_counted` was given."""
    if not isinstance(uses, list):
        raise TypeError(f"mechanisms must be a list, got {uses!r}")
    found = []
    for use in uses:
        if not isinstance(use, Mapping):
            raise TypeError(f"mechanisms must be mappings, got {use!r}")
        check_names("mechanisms", use, {"mechanism", "count"})
        found.append((Mechanism.from_dict(use["mechanism"]), uses_of(use["count"])))
    return found
