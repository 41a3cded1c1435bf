"""Interruptions at any moment: at a line, by a signal, from another thread; once or twice."""

import contextlib
import ctypes
import dis
import gc
import inspect
import signal
import sys
import threading
import time

__all__ = ["at_line", "by_signals", "each_place", "in_a_thread", "in_threads", "interrupts"]

RETURN = dis.opmap["RETURN_VALUE"]


def interrupts(*args, **kwargs):
    """Stand in for a function that is interrupted."""
    raise KeyboardInterrupt


def in_threads(works):
    """Call each in a thread of its own, and return when all have ended."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def at_line(work, number, *, error=KeyboardInterrupt, event="line", within=""):
    """Call it, interrupted before its line with this number: true if there was one.

    That may be the end of a with statement, where no signal is ever taken: what was held is held
    by this thread then. With ``event="opcode"`` each instruction of the interpreter counts but that
    which returns: between it and the one before nothing is ever raised. With ``event="call"`` the
    beginning of each function counts, where signals are taken; not of generators, which are called
    to be freed, too. Only files with ``within`` in their names count. The garbage collector is
    off meanwhile: an error that one of its callbacks raises (Hypothesis has one) is swallowed.
    """
    places = 0
    collects = gc.isenabled()

    def trace(frame, kind, argument):
        nonlocal places
        frame.f_trace_opcodes = event == "opcode"
        returns = event == "opcode" and frame.f_code.co_code[frame.f_lasti] == RETURN
        freed = event == "call" and frame.f_code.co_flags & inspect.CO_GENERATOR
        inside = within in frame.f_code.co_filename
        if kind == event and inside and not returns and not freed:
            places += 1
            if places == number:
                raise error
        return trace

    gc.disable()
    sys.settrace(trace)
    try:
        work()
    except error:
        return True
    finally:
        sys.settrace(None)
        if collects:
            gc.enable()
    return False


def each_place(step=1, least=5, **how):
    """Yield at_line for one place after another, until it interrupts nothing.

    ``step`` is how many places on the next one is, or gives that from the place. More than
    ``least`` must be interrupted.
    """
    place, hits, interruptions = 1, [True], -1
    while any(hits):
        interruptions, hits = interruptions + 1, []

        def interrupted(work, place=place, hits=hits):
            hits.append(at_line(work, place, **how))
            return hits[-1]

        yield interrupted
        place += step(place) if callable(step) else step
    assert interruptions > least


def by_signals(work, delay, gap, times):
    """Call it, interrupted ``times`` times by signals: after a delay, and then after gaps.

    Return how often it was.
    """
    left = times

    def handler(number, frame):
        nonlocal left
        while frame is not None and frame.f_code is not _inside.__code__:
            frame = frame.f_back
        if left and frame is not None:  # in the work, and not on the way out of it
            left -= 1
            signal.setitimer(signal.ITIMER_REAL, gap if left else 0.0)
            raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, delay)
    with contextlib.suppress(KeyboardInterrupt):
        _inside(work)
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)  # one more may be on its way
    return times - left


def _inside(work):
    work()


def in_a_thread(work, delay, gap, times):
    """Call it in a thread, again and again until it is interrupted from this one.

    ``times`` is how often: once for certain, more if the end takes so long. Where it is depends on
    the load of the machine, that it is does not. A thread that does not end is a wedge.
    """
    begun = threading.Event()

    def run():
        with contextlib.suppress(KeyboardInterrupt):
            begun.set()
            while True:
                work()

    def to_its_end():
        with contextlib.suppress(KeyboardInterrupt):  # on the way out
            run()

    worker = threading.Thread(target=to_its_end)
    worker.start()
    begun.wait(60.0)
    for pause in [delay] + [gap] * (times - 1):
        time.sleep(pause)
        if worker.is_alive():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(worker.ident), ctypes.py_object(KeyboardInterrupt)
            )
    worker.join(60.0)
    assert not worker.is_alive(), "a thread waits without end"
    return 1
