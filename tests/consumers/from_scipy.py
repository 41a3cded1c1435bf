"""A LowLevelCallable for SciPy: the integral of log A over the sampling rate, all compiled."""

import ctypes

import numba
from scipy import LowLevelCallable
from scipy.integrate import quad

import renyi

library = ctypes.CDLL(renyi.get_library())
log_a = library.renyi_log_a
log_a.argtypes, log_a.restype = [ctypes.c_double] * 3, ctypes.c_double


@numba.cfunc("float64(intc, CPointer(float64))")
def integrand(count, numbers):  # q, sigma, alpha
    return log_a(numbers[0], numbers[1], numbers[2])


value, _ = quad(LowLevelCallable(integrand.ctypes), 0.01, 0.02, args=(1.0, 8.0))
print(value.hex())
