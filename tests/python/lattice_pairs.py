"""Discrete Gaussians on small lattices, moved by whole vectors, and their moments from the sums."""

import itertools

from mpmath import mp

mp.dps = 30


class Lattice:
    """The integer points that matter for moments up to an order, and the masses on them."""

    def __init__(self, sigma, shifts, order=4):
        self.sigma = mp.mpf(sigma)
        farthest = max(abs(entry) for shift in shifts for entry in shift)
        reach = int(order * farthest + 10 * self.sigma) + 2  # all but e^-50 of each moment
        line = range(-reach, reach + 1)
        total = mp.fsum(map(self._weight, line))
        masses = {
            x: self._weight(x) / total for x in range(-reach - farthest, reach + farthest + 1)
        }
        box = list(itertools.product(line, repeat=len(shifts[0])))
        self.masses = [
            [mp.fprod(masses[x - m] for x, m in zip(point, shift, strict=True)) for point in box]
            for shift in [(0,) * len(shifts[0]), *shifts]
        ]

    def _weight(self, x):
        return mp.exp(-(mp.mpf(x) ** 2) / (2 * self.sigma**2))

    def mixture(self, q, shift):
        """A sample that holds the record which moves by the shift of this number, with rate q."""
        pairs = zip(self.masses[0], self.masses[shift], strict=True)
        return [(1 - mp.mpf(q)) * a + mp.mpf(q) * b for a, b in pairs]


def divergence(p, q, order):
    """Rényi divergence of two lists of masses."""
    order = mp.mpf(order)
    return mp.log(mp.fsum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (
        order - 1
    )
