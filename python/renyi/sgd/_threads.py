"""How many threads a kernel takes when nobody says."""

from __future__ import annotations

import os
from typing import Any

from renyi._validation import integer_of

__all__ = ["threads_of"]

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
