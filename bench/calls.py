"""How many files and functions of the package an everyday question enters, asked a second time.

    python bench/calls.py

Counted are calls of Python functions, those that the interpreter makes for classes among them.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from types import FrameType

import renyi
from renyi import Gaussian, PLDAccountant, PoissonSampled, RDPAccountant
from renyi.cli import main

STEP = PoissonSampled(Gaussian(1.1), 0.004)
RUN = ["--noise-multiplier", "1.1", "--sample-rate", "0.004", "--steps", "15000", "--delta", "1e-5"]


def questions() -> Iterator[tuple[str, Callable[[], object]]]:
    for kind in PLDAccountant, RDPAccountant:
        known = kind().compose(STEP, 15_000)
        yield f"{kind.__name__}.get_epsilon", lambda known=known: known.get_epsilon(1e-5)
        yield (
            f"{kind.__name__}, composed and asked",
            lambda kind=kind: kind().compose(STEP, 15_000).get_epsilon(1e-5),
        )
    yield (
        "calibrate_noise_multiplier",
        lambda: renyi.calibrate_noise_multiplier(
            target_epsilon=1.0, target_delta=1e-5, sample_rate=0.01, steps=1000
        ),
    )
    yield "renyi epsilon", lambda: main(["epsilon", *RUN])


def entered(question: Callable[[], object]) -> tuple[int, int]:
    """Return the number of files and of calls."""
    files: list[str] = []

    def look(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and "/renyi/" in frame.f_code.co_filename:
            files.append(frame.f_code.co_filename)

    with contextlib.redirect_stdout(io.StringIO()):
        question()
        sys.setprofile(look)
        try:
            question()
        finally:
            sys.setprofile(None)
    return len(set(files)), len(files)


if __name__ == "__main__":
    for name, question in questions():
        files, calls = entered(question)
        print(f"{name:32} {files:3} files {calls:5} calls")
