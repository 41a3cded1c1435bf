"""Locks that a forked child finds free."""

import os
import weakref
from typing import Any, TypeVar

Lock = TypeVar("Lock")

_LOCKS: set[weakref.ref[Any]] = set()  # a WeakSet takes three times as long to fill


def freed_by_fork(lock: Lock) -> Lock:
    """Return a lock as one that is free in every forked child, even if the parent held it.

    The thread that held the lock is not in the child, which would wait for it forever. The lock
    remains the same object: NumPy keeps the lock of a bit generator. A thread that was interrupted
    while it held a reentrant lock does not wait for it.

    >>> import threading
    >>> with freed_by_fork(threading.Lock()) as held:
    ...     held
    True
    """
    _LOCKS.add(weakref.ref(lock, _LOCKS.discard))
    return lock


def _after_fork() -> None:
    for reference in tuple(_LOCKS):
        lock = reference()
        if lock is not None:
            lock._at_fork_reinit()


os.register_at_fork(after_in_child=_after_fork)
