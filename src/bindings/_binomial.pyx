# distutils: language = c++
"""Binomial tails, rounded outward. Arguments are checked by the callers: whole numbers, 0 <= k <= n <= 2^40."""

cdef extern from "renyi/special/binomial_tail.hpp" namespace "renyi" nogil:
    struct Certified:
        pass
    struct BinomialTails:
        Certified below
        Certified from_ "from"
    double upper(Certified)
    double lower(Certified)
    BinomialTails binomial_tails(double n, double q, double k)
    Certified binomial_largest_mean(double n, double q, double k)


def tail_bounds(double n, double q, double k, /):
    """Return a lower and an upper bound of P[Bin(n, q) >= k], 0 < q <= 1."""
    cdef Certified found
    with nogil:
        found = binomial_tails(n, q, k).from_
    return lower(found), min(upper(found), 1.0)


def largest_mean_upper(double n, double q, double k, /):
    """Return an upper bound of the largest P[k > Bin(n, q) >= k - i] / i over i in [1, k]."""
    cdef Certified found
    with nogil:
        found = binomial_largest_mean(n, q, k)
    return upper(found)
