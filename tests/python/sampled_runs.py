"""Accountants of steps (sampling rate, noise multiplier, count)."""

from renyi import Gaussian, PLDAccountant, PoissonSampled


def composed(*steps, adjacency="add_remove"):
    ledger = PLDAccountant(adjacency=adjacency)
    for q, sigma, count in steps:
        gaussian = Gaussian(sigma)
        ledger.compose(gaussian if q == 1 else PoissonSampled(gaussian, q), count)
    return ledger
