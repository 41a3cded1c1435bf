"""Answers from a child process, so that neither a hang nor a crash nor hunger ends a bench."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
from peers import quiet

MEMORY = 6 << 30


class Answer(NamedTuple):
    """A value, or None and the reason; seconds of the quickest of all repetitions."""

    value: Any
    seconds: float
    reason: str = ""


def timed(ask: Callable[[Any], Any], question: Any, repeats: int) -> Answer:
    """Ask again only where it is quick."""
    best, spent = float("inf"), 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        value = ask(question)
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
        if spent > 1:
            break
    return Answer(value, best)


def answers(
    ask: Callable[[Any], Any],
    questions: Sequence[Any],
    seconds: float,
    repeats: int = 1,
    loud: bool = False,
) -> Iterator[Answer]:
    """Answers in turn; a question that takes longer than all repetitions may is given up.

    ``loud``: floating-point and other warnings stay as the caller has set them.
    """
    fork = multiprocessing.get_context("fork")

    def work(first: int, out: Connection) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for question in questions[first:]:
            try:
                if loud:
                    answer = timed(ask, question, repeats)
                else:
                    with quiet(), np.errstate(all="ignore"):
                        answer = timed(ask, question, repeats)
            except MemoryError:
                answer = Answer(None, np.nan, "memory")
            except Exception as problem:
                answer = Answer(None, np.nan, type(problem).__name__)
            out.send(answer)

    done = 0
    while done < len(questions):
        ours, theirs = fork.Pipe(duplex=False)
        child = fork.Process(target=work, args=(done, theirs))
        child.start()
        theirs.close()
        while done < len(questions):
            try:
                answer = ours.recv() if ours.poll(seconds) else Answer(None, seconds, "time")
            except EOFError:
                answer = Answer(None, np.nan, "crash")
            done += 1
            yield answer
            if answer.reason in ("time", "crash"):
                break
        child.kill()
        child.join()
        ours.close()
