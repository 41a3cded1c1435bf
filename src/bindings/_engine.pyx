# distutils: language = c++
"""The engine for Python: Rényi curves, pairs, privacy curves, ufuncs, and scalar functions for Cython.

Callers check arguments; this module refuses only values that the engine cannot represent. A query copies the
composition under the GIL and then releases the GIL, so threads may compose and ask at any time.
"""

import contextlib

import numpy as np

cimport cython
cimport numpy as cnp
from cpython.float cimport PyFloat_CheckExact
from cython.operator cimport dereference as deref
from libc.float cimport DBL_MIN
from libc.math cimport INFINITY, fmax
from libc.stdint cimport int64_t
from libcpp cimport bool as cbool
from libcpp.algorithm cimport is_sorted, sort
from libcpp.complex cimport complex as cpp_complex
from libcpp.memory cimport shared_ptr, unique_ptr
from libcpp.optional cimport optional
from libcpp.utility cimport move
from libcpp.vector cimport vector


# Declarations that several parts use.

cdef extern from "<span>" namespace "std" nogil:
    cdef cppclass ConstDoubles "std::span<const double>":
        ConstDoubles()
        ConstDoubles(const double*, size_t)
        size_t size()
        double operator[](size_t)

cdef extern from "renyi/fp/bracket.hpp" namespace "renyi" nogil:
    cdef struct Bracket:
        double lower
        double upper

cdef extern from "renyi/fp/certified.hpp" namespace "renyi" nogil:
    cdef struct Certified:
        double value
        double relative_error
    double upper(Certified)
    double lower(Certified)

cdef extern from "renyi/pair/renyi_curve.hpp" namespace "renyi" nogil:
    cdef struct LogMoment:
        Certified value
        double first
        double second
    cdef cppclass Curve "renyi::RenyiCurve":
        LogMoment log_moment(double alpha)
        Certified divergence(double alpha)
        double largest_order()
        double largest_loss()
    ctypedef shared_ptr[const Curve] CurvePointer

cdef extern from "renyi/loss/sampled_gaussian.hpp" namespace "renyi" nogil:
    cdef enum class Direction:
        remove
        add

cdef extern from "renyi/pair/pair.hpp" namespace "renyi" nogil:
    cdef cppclass CppPair "renyi::Pair":
        cbool symmetric()
        CurvePointer moment(Direction) except +
        shared_ptr[const CppPair] reverse() except +
        shared_ptr[const CppPair] sampled(double rate) except +
    ctypedef shared_ptr[const CppPair] PairPointer

cdef extern from "renyi/pair/composition.hpp" namespace "renyi" nogil:
    cdef struct SampledStep:
        double q
        double sigma
        double count
        int records
    cdef struct CountedPair:
        PairPointer pair
        int64_t count
    cdef struct CountedCurve:
        CurvePointer curve
        double count
    cdef cppclass Composition:
        vector[SampledStep] steps
        vector[CountedPair] pairs
    cdef cppclass Composer:
        void add(SampledStep) except +
        void add(PairPointer, int64_t count) except +
        void add(CurvePointer, double count) except +
        size_t size()
        Composition composition() except +


cdef class CountedSteps:
    """A multiset of Poisson-sampled Gaussian steps (rate, noise multiplier, count); equal ones merge."""

    cdef Composer parts

    def add(self, double q, double sigma, double count, int records=1):
        """Add ``count`` steps; the sum of counts is not rounded below 2^53.

        Only `SampledGaussianCurve` supports several ``records`` that are added or removed together.
        """
        self.parts.add(SampledStep(q, sigma, count, records))

    def __len__(self):
        return self.parts.size()


include "renyi_curve.pxi"
include "pair.pxi"
include "privacy_curve.pxi"
include "iteration.pxi"
include "ufuncs.pxi"


# Binomial tails, rounded outward; n and k are whole numbers with 0 <= k <= n <= 2^40.

cdef extern from "renyi/special/binomial.hpp" namespace "renyi" nogil:
    struct BinomialTails:
        Certified below
        Certified from_ "from"
    BinomialTails binomial_tails(double n, double q, double k)


def tail_bounds(double n, double q, double k, /):
    """Return a lower and an upper bound of P[Bin(n, q) >= k], 0 < q <= 1."""
    cdef Certified found
    with nogil:
        found = binomial_tails(n, q, k).from_
    return lower(found), min(upper(found), 1.0)


# The functions of cython_special.pxd, which is also the declaration of this module.

cdef extern from "renyi/loss/sampled_gaussian.hpp" namespace "renyi" nogil:
    Certified engine_log_a "renyi::log_a"(double q, double sigma, double alpha)
    cpp_complex[double] engine_log_a_complex "renyi::log_a"(double q, double sigma, cpp_complex[double] alpha)
    Certified engine_rdp "renyi::rdp_sampled_gaussian"(double q, double sigma, double alpha)

cdef extern from "renyi/loss/gaussian.hpp" namespace "renyi" nogil:
    double engine_bound "renyi::rdp_sampled_gaussian_bound"(double q, double sigma, double alpha)
    Certified engine_rdp_gaussian "renyi::rdp_gaussian"(double sigma, double alpha)

cdef extern from "renyi/capi/renyi.h" nogil:
    double renyi_epsilon_lower(double q, double sigma, double count, double delta)
    double renyi_epsilon_upper(double q, double sigma, double count, double delta)
    double renyi_delta_lower(double q, double sigma, double count, double epsilon)
    double renyi_delta_upper(double q, double sigma, double count, double epsilon)


cdef double log_a(double q, double sigma, double alpha) noexcept nogil:
    return engine_log_a(q, sigma, alpha).value

cdef double log_a_lower(double q, double sigma, double alpha) noexcept nogil:
    return lower(engine_log_a(q, sigma, alpha))

cdef double log_a_upper(double q, double sigma, double alpha) noexcept nogil:
    return upper(engine_log_a(q, sigma, alpha))

cdef double complex log_a_complex(double q, double sigma, double complex alpha) noexcept nogil:
    cdef cpp_complex[double] result = engine_log_a_complex(
        q, sigma, cpp_complex[double](alpha.real, alpha.imag))
    return result.real() + 1j * result.imag()

cdef double rdp_sampled_gaussian(double q, double sigma, double alpha) noexcept nogil:
    return engine_rdp(q, sigma, alpha).value

cdef double rdp_sampled_gaussian_lower(double q, double sigma, double alpha) noexcept nogil:
    return lower(engine_rdp(q, sigma, alpha))

cdef double rdp_sampled_gaussian_upper(double q, double sigma, double alpha) noexcept nogil:
    return upper(engine_rdp(q, sigma, alpha))

cdef double rdp_sampled_gaussian_bound(double q, double sigma, double alpha) noexcept nogil:
    return engine_bound(q, sigma, alpha)

cdef double rdp_gaussian(double sigma, double alpha) noexcept nogil:
    return engine_rdp_gaussian(sigma, alpha).value

cdef double epsilon_lower(double q, double sigma, double count, double delta) noexcept nogil:
    return renyi_epsilon_lower(q, sigma, count, delta)

cdef double epsilon_upper(double q, double sigma, double count, double delta) noexcept nogil:
    return renyi_epsilon_upper(q, sigma, count, delta)

cdef double delta_lower(double q, double sigma, double count, double epsilon) noexcept nogil:
    return renyi_delta_lower(q, sigma, count, epsilon)

cdef double delta_upper(double q, double sigma, double count, double epsilon) noexcept nogil:
    return renyi_delta_upper(q, sigma, count, epsilon)
