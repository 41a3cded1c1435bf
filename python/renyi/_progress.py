"""A line on stderr during long work: removed at its end, or logged now and then."""

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from types import TracebackType
from typing import Self, TypeVar

REFRESH = 0.1  # seconds between two texts
LOGGED = 10.0  # seconds between two lines without a terminal

T = TypeVar("T")


class Line:
    """A line that is written over, after ``patience`` seconds; or one every ``logged`` seconds.

    Without a terminal and without ``logged`` nothing is written.
    """

    def __init__(self, patience: float = 0.0, logged: float | None = None) -> None:
        self._live = sys.stderr is not None and sys.stderr.isatty()
        self._logged = logged if sys.stderr is not None else None
        self._due = time.monotonic() + (patience if self._live or logged is None else logged)
        self._written = False

    def show(self, text: str) -> None:
        """Write a text over the last one, or below it, unless the last is too recent to be read."""
        if not (self._live or self._logged is not None) or time.monotonic() < self._due:
            return
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r\x1b[K" + text[:width])
            self._due, self._written = time.monotonic() + REFRESH, True
        else:
            sys.stderr.write(text + "\n")
            self._due = time.monotonic() + (self._logged or 0.0)
        sys.stderr.flush()

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


def progress(
    items: Iterable[T],
    unit: str,
    patience: float = 0.0,
    *,
    total: int | None = None,
    title: str = "",
    note: Callable[[], str] | None = None,
    logged: float | None = None,
) -> Iterator[T]:
    """Yield the items, and show the number of finished items and the time that is left.

    ``total`` is the number of items if they have no length; ``note`` returns a further text.
    """
    count = total if total is not None else len(items) if isinstance(items, Sized) else 0
    start, head = time.monotonic(), f"{title}: " if title else ""
    with Line(patience, logged) as line:
        for done, item in enumerate(items):
            taken = time.monotonic() - start
            left = f", about {_duration(taken * (count / done - 1.0))} left" if done else ""
            tail = f", {said}" if note is not None and (said := note()) else ""
            line.show(f"{head}{done} of {count} {unit}s, {_duration(taken)}{left}{tail}")
            yield item


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
