"""Accountants of steps (sampling rate, noise multiplier, count), and how many steps fit."""

from renyi import Gaussian, PLDAccountant, PoissonSampled


def composed(*steps, adjacency="add_remove"):
    ledger = PLDAccountant(adjacency=adjacency)
    for q, sigma, count in steps:
        gaussian = Gaussian(sigma)
        ledger.compose(gaussian if q == 1 else PoissonSampled(gaussian, q), count)
    return ledger


def most(fits):
    """Return the largest count that fits, by bisection."""
    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
