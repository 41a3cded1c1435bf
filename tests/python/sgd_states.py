"""States of optimisers beside each other, bit for bit."""

import numpy as np

from renyi.noise import SecureGenerator


def same(a, b):
    """Whether dictionaries, lists and arrays hold the same."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return np.array_equal(a, b)


def seeded(seed=1):
    return SecureGenerator(insecure_reproducible=seed)
