"""The GIL is free while the engine works, and threads get the numbers that one thread gets."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from renyi import special

ATTEMPTS = 300
GIL_ENABLED = getattr(sys, "_is_gil_enabled", lambda: True)()


def runs_beside(work):
    """Whether another thread gets to run while ``work()`` does, in at least one attempt.

    No thread is forced off the GIL here (the switch interval is long) and the other thread waits
    for a lock that is released just before the call: it can only run if ``work`` gives the GIL up.
    A call may be over before the other thread is scheduled, therefore the attempts.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)
    try:
        for _ in range(ATTEMPTS):
            gate = threading.Lock()
            gate.acquire()
            ran = []

            def other(gate=gate, ran=ran):
                gate.acquire()
                ran.append(True)

            thread = threading.Thread(target=other)
            thread.start()
            gate.release()
            work()
            seen = bool(ran)
            thread.join()
            if seen:
                return True
        return False
    finally:
        sys.setswitchinterval(interval)


# Fewer elements than the 500 from which on NumPy gives the GIL up itself.
TEN_LARGE_ORDERS = np.arange(100_000, 100_010)  # the binomial route takes as many terms
ORDERS = np.linspace(1.5, 40.0, 400)


@pytest.mark.parametrize(
    "call",
    [
        lambda: special.log_a_binomial(0.3, 0.5, TEN_LARGE_ORDERS),
        lambda: special.log_a(0.3, 0.5, ORDERS),
        lambda: special.log_a(np.full(400, 0.3), 0.5, ORDERS),
        lambda: special.log_a(0.3, 0.5, ORDERS + 3j),
        lambda: special.rdp_sampled_gaussian(0.3, 0.5, ORDERS),
        lambda: special.log_a_derivative(0.3, 0.5, ORDERS),
    ],
    ids=["ten elements", "many orders", "elementwise", "complex", "rdp", "derivative"],
)
def test_expensive_loops_leave_the_gil_free(call):
    assert runs_beside(call)


@pytest.mark.skipif(not GIL_ENABLED, reason="there is no GIL")
def test_the_check_notices_a_loop_that_keeps_the_gil():
    many = np.full(500, 3.0)  # NumPy's own threshold; an inexpensive loop leaves the GIL alone
    assert not runs_beside(lambda: special.rdp_gaussian(many, many))


def test_threads_agree_with_one_thread():
    rng = np.random.default_rng(7)
    q = 10.0 ** rng.uniform(-6, 0, 600)
    sigma = 10.0 ** rng.uniform(-0.5, 2, 600)
    alpha = 1.0 + 10.0 ** rng.uniform(-3, 2, 600)
    expected = special.log_a(q, sigma, alpha)
    pieces = [slice(start, start + 50) for start in range(0, 600, 50)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            found = pool.map(lambda p: special.log_a(q[p], sigma[p], alpha[p]), pieces)
            assert np.array_equal(np.concatenate(list(found)), expected)


def test_long_loops_work_in_a_process_with_a_subinterpreter():
    # PyGILState_Check() answers 1 for every thread there, also where NumPy has given the GIL away.
    code = """
import sys
import numpy as np
from renyi import special
try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        sys.exit(0)
handle = interpreters.create()
orders = np.linspace(2.0, 3.0, 2000)
assert np.all(special.log_a(0.1, 2.0, orders) > 0.0)
interpreters.destroy(handle)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
