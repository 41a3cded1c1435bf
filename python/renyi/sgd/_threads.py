"""How many threads a kernel takes when nobody says."""

from __future__ import annotations

import os
from typing import Any

from renyi._validation import integer_of

__all__ = ["threads_of"]


def threads_of(value: Any) -> int:
    """Return the number of threads: an integer >= 1, or by default the processors at hand."""
    if value is not None:
        return min(integer_of(value, "threads", 1), 1 << 16)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
