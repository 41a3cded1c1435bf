"""Threads: how many a kernel takes when nobody says, and objects that take one at a time."""

from __future__ import annotations

import os
from threading import Lock
from typing import Any

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
    """A context that refuses a second thread instead of letting it wait."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(f"{self._what} must be used by one thread at a time, got a second")

    def __exit__(self, *error: object) -> None:
        self._lock.release()
