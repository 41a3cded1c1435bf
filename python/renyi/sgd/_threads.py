"""Threads: how many a kernel takes when nobody says, and objects that take one at a time."""

from __future__ import annotations

import os
from threading import Thread, current_thread
from typing import Any

from renyi._locks import lock_freed_by_fork
from renyi._validation import integer_of

__all__ = ["OneAtATime", "threads_of"]

_WORTH_THREADS = 8 << 20


def threads_of(value: Any, bytes_read: int | None = None) -> int:
    """Return the number of threads: an integer >= 1, or by default the processors at hand.

    By default little to read is left to one thread: others would come too late.
    """
    if value is not None:
        return min(integer_of(value, "threads", 1), 1 << 16)
    if bytes_read is not None and bytes_read < _WORTH_THREADS:
        return 1
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class OneAtATime:
    """A context that refuses a second thread instead of letting it wait.

    A thread may be interrupted between any two lines, also of these: what it leaves behind is its
    name, with which it enters again, and which means nothing once it has ended.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._users: dict[str, Thread] = {}
        self._guard = lock_freed_by_fork()

    def __enter__(self) -> None:
        thread = current_thread()
        user = self._users.setdefault("at work", thread)  # at once, unlike a test and a setting
        if user is thread:
            return
        if user.is_alive():
            raise RuntimeError(f"{self._what} must be used by one thread at a time, got a second")
        with self._guard:  # or two threads would take the place of a third
            if self._users.get("at work") is user:
                self._users.pop("at work")
        self.__enter__()

    def __exit__(self, *error: object) -> None:
        self._users.pop("at work", None)
