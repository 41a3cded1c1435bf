"""Checks of saved states, runs, which only one object may continue, and locks across forks."""

import os
import secrets
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

Lock = TypeVar("Lock")

_LOCKS: set[weakref.ref[Any]] = set()  # a WeakSet takes three times as long to fill


def freed_by_fork(lock: Lock) -> Lock:
    """Return a lock as one that is free in every forked child, even if the parent held it.

    The thread that held the lock is not in the child, which would wait for it forever. The lock
    remains the same object: NumPy keeps the lock of a bit generator.
    """
    _LOCKS.add(weakref.ref(lock, _LOCKS.discard))
    return lock


def _after_fork() -> None:
    for reference in tuple(_LOCKS):
        lock = reference()
        if lock is not None:
            lock._at_fork_reinit()


os.register_at_fork(after_in_child=_after_fork)


def entries_of(state: Any, *names: str) -> list[Any]:
    """Return the entries of a state with these names; messages never show what may be secret."""
    wanted = ", ".join(names)
    if not isinstance(state, Mapping):
        raise ValueError(f"state must be a mapping that holds {wanted}, got {type(state).__name__}")
    if missing := [name for name in names if state.get(name) is None]:
        raise ValueError(f"state must hold {wanted}, got one without {', '.join(missing)}")
    return [state[name] for name in names]


def with_secrets(state: Any, secrets: Any, name: str) -> Any:
    """Return a part of a state with its own part, by name, of the secrets.

    Secrets must not be published with a state: they are an entry of their own.
    """
    if not isinstance(state, Mapping):
        return state
    public = {key: value for key, value in state.items() if key != "secrets"}
    own = secrets.get(name) if isinstance(secrets, Mapping) else None
    return public if own is None else {**public, "secrets": own}


def secrets_of(state: Mapping[str, Any], what: str, *names: str) -> list[Any]:
    """Return secrets of a state, or raise `ValueError` if it was saved without them."""
    if state.get("secrets") is None:
        raise ValueError(
            f"state must hold the secrets of {what}, which state_dict(secrets=True) saves, got one "
            "without"
        )
    return entries_of(state["secrets"], *names)


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


@dataclass
class _Known:
    """The facts of a run in this process; the number of a state counts the steps begun."""

    holder: object
    begun: int
    loaded: int = -1
    process: int = field(default_factory=os.getpid)
    lock: Any = field(default_factory=lambda: freed_by_fork(threading.RLock()))


_RUNS: dict[str, _Known] = {}


class Run:
    """One object's place in a run: only the maker, or the loader of the last state, continues it.

    ``what`` is the object as a user calls it, ``instead`` what a user can do if it cannot continue.
    """

    def __init__(self, what: str, instead: str) -> None:
        self._what, self._instead = what, instead
        self._own = object()
        self._start(secrets.token_hex(16), 0)

    def _start(self, name: str, begun: int, loaded: int = -1) -> None:
        _RUNS[name] = _Known(self._own, begun, loaded, lock=self.lock_of(name))
        self.name = name

    @staticmethod
    def lock_of(name: str) -> Any:
        """Return the lock to hold from `check_load` to `take_over`."""
        return _RUNS.setdefault(name, _Known(None, 0)).lock

    def check(self) -> None:
        """Raise `RuntimeError` if another object continues the run."""
        known = _RUNS[self.name]
        if known.process != os.getpid():
            raise RuntimeError(
                f"{self._what} must be used in the process that made it, got a fork of it, of "
                f"which neither would know what the other spends: {self._instead}"
            )
        if known.holder is not self._own:
            raise RuntimeError(
                f"{self._what} must go on where its state was loaded last, got one whose run "
                f"another has taken over: {self._instead}"
            )

    def begin(self, number: int) -> None:
        """Record that ``number`` steps have been begun; raises as `check`."""
        with self.lock_of(self.name):
            self.check()  # another thread may have loaded the state since the last time
            known = _RUNS[self.name]
            known.begun = max(known.begun, number)

    def check_load(self, name: str, number: int) -> None:
        """Raise `ValueError` if continuing from a state would be a branch of a run.

        The object that loaded the state last and has released nothing since may load it again.
        """
        known = _RUNS.get(name)
        if known is None or known.holder is None:
            return
        again = number <= known.loaded and known.holder is not self._own
        if known.process != os.getpid() or number < known.begun or again:
            raise ValueError(
                f"state must be loaded once and be the last of its run, got number {number} after "
                f"{known.begun} were begun and {max(known.loaded, 0)} loaded, for two branches "
                f"spend more together than either reports: {self._instead}"
            )

    def take_over(self, name: str, number: int, *, branch: bool) -> None:
        """Continue from a checked state; a branch becomes a new run."""
        if branch:
            self._start(secrets.token_hex(16), number)
        else:
            self._start(name, number, number)
