"""The C interface in compiled loops: called without the interpreter, by many threads if need be."""

import ctypes

import numba
import numpy as np

import renyi

library = ctypes.CDLL(renyi.get_library())
epsilon_upper = library.renyi_epsilon_upper
epsilon_upper.argtypes, epsilon_upper.restype = [ctypes.c_double] * 4, ctypes.c_double


@numba.njit(nogil=True)
def epsilons(noise_multipliers):
    result = np.empty_like(noise_multipliers)
    for i in range(noise_multipliers.size):
        result[i] = epsilon_upper(0.01, noise_multipliers[i], 1000.0, 1e-5)
    return result


print(*(epsilon.hex() for epsilon in epsilons(np.array([0.8, 1.0, 2.0])).tolist()))
