"""What a saved state must hold before anything is taken from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["check_same", "entries_of"]


def entries_of(state: Any, *names: str) -> list[Any]:
    """Return the entries of these names.

    Raises
    ------
    ValueError
        If the state is no mapping, or one of them is missing or None. Entries are never shown: they
        may be secret.

    Examples
    --------
    >>> entries_of({"drawn": 3, "order": []}, "drawn")
    [3]
    """
    wanted = ", ".join(names)
    if not isinstance(state, Mapping):
        raise ValueError(f"state must be a mapping that holds {wanted}, got {type(state).__name__}")
    if missing := [name for name in names if state.get(name) is None]:
        raise ValueError(f"state must hold {wanted}, got one without {', '.join(missing)}")
    return [state[name] for name in names]


def check_same(state: Any, name: str, own: Mapping[str, Any]) -> None:
    """Raise `ValueError`, with the fields that differ, unless a state holds these settings."""
    given = entries_of(state, name)[0]
    if not isinstance(given, Mapping):
        raise ValueError(f"state must hold the {name} as a mapping, got {type(given).__name__}")
    differ = [key for key in {**own, **given} if own.get(key) != given.get(key)]
    if differ:
        wanted, found = (
            ", ".join(f"{key}={settings.get(key)!r}" for key in differ) for settings in (own, given)
        )
        raise ValueError(f"state must hold the {name} with {wanted}, got {found}")
