"""A line on stderr while something takes long: on a terminal only, and gone when it ends."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self, TypeVar

__all__ = ["Line", "progress"]

REFRESH = 0.1  # seconds between two texts

T = TypeVar("T")


class Line:
    """A line that is written over; silent for the first ``patience`` seconds."""

    def __init__(self, patience: float = 0.0) -> None:
        self._live = sys.stderr is not None and sys.stderr.isatty()
        self._due = time.monotonic() + patience
        self._written = False

    def show(self, text: str) -> None:
        """Write a text over the last one, unless that is too young to be read."""
        if not self._live or time.monotonic() < self._due:
            return
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r\x1b[K" + text[:width])
        sys.stderr.flush()
        self._due, self._written = time.monotonic() + REFRESH, True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._written:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def progress(items: Sequence[T], unit: str, patience: float) -> Iterator[T]:
    """Yield the items, and show how many are done and about how long the others take."""
    start = time.monotonic()
    with Line(patience) as line:
        for done, item in enumerate(items):
            taken = time.monotonic() - start
            left = f", about {_duration(taken * (len(items) / done - 1.0))} left" if done else ""
            line.show(f"{done} of {len(items)} {unit}s, {_duration(taken)}{left}")
            yield item


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
