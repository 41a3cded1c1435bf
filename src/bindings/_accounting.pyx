# distutils: language = c++
"""The accountant's queries: steps go in as (sampling rate, noise multiplier, count), guarantees come out.

Every query works on a copy of the steps taken under the GIL and releases it, so threads may compose and ask at will.
"""

from libcpp.algorithm cimport sort
from libcpp.vector cimport vector


cdef extern from "<span>" namespace "std" nogil:
    cdef cppclass ConstDoubles "std::span<const double>":
        ConstDoubles()
        ConstDoubles(const double*, size_t)
    cdef cppclass Steps "std::span<const renyi::SampledStep>":
        Steps()
        Steps(const SampledStep*, size_t)

cdef extern from "renyi/fp/certified.hpp" namespace "renyi" nogil:
    cdef struct Certified:
        double value
        double relative_error
    double upper(Certified)

cdef extern from "renyi/curve/rdp_composition.hpp" namespace "renyi" nogil:
    cdef struct SampledStep:
        double q
        double sigma
        double count
    Certified rdp(Steps steps, double alpha)

cdef extern from "renyi/curve/rdp_conversion.hpp" namespace "renyi" nogil:
    cdef enum class Conversion:
        mironov
        balle
        asoodeh
        optimal

cdef extern from "renyi/curve/rdp_guarantee.hpp" namespace "renyi" nogil:
    cdef struct RdpGuarantee:
        double value
        double floor
        double order
    RdpGuarantee rdp_epsilon(Steps, double delta, Conversion, ConstDoubles orders)
    RdpGuarantee rdp_delta(Steps, double epsilon, Conversion, ConstDoubles orders)

cdef dict _CONVERSIONS = {"mironov": 0, "balle": 1, "asoodeh": 2, "optimal": 3}
CONVERSIONS = tuple(_CONVERSIONS)


cdef class SampledSteps:
    """A multiset of Poisson-sampled Gaussian steps; equal ones merge."""

    cdef vector[SampledStep] steps
    cdef vector[double] orders
    cdef dict positions
    cdef Conversion conversion

    def __init__(self, orders, str conversion):
        cdef double order
        cdef bint valid = True
        self.positions = {}
        self.conversion = <Conversion><int>_CONVERSIONS[conversion]
        if orders is not None:
            for value in orders:
                order = value
                valid = valid and 1.0 < order <= 1e6
                self.orders.push_back(order)
            if not valid or self.orders.empty():
                raise ValueError("orders outside (1, 1e6]")
            sort(self.orders.begin(), self.orders.end())

    def add(self, double q, double sigma, double count):
        """Add ``count`` steps; the sum of counts is not rounded below 2^53."""
        key = (q, sigma)
        cdef Py_ssize_t index = self.positions.setdefault(key, <Py_ssize_t>self.steps.size())
        if index == <Py_ssize_t>self.steps.size():
            self.steps.push_back(SampledStep(q, sigma, 0.0))
        self.steps[index].count += count

    def __len__(self):
        return self.steps.size()

    def epsilon(self, double delta):
        """(epsilon rounded up, rounded down, order) at 0 < delta < 1."""
        cdef vector[SampledStep] steps = self.steps
        cdef RdpGuarantee g
        with nogil:
            g = rdp_epsilon(Steps(steps.data(), steps.size()), delta, self.conversion,
                            ConstDoubles(self.orders.data(), self.orders.size()))
        return g.value, g.floor, g.order

    def delta(self, double epsilon):
        """(delta rounded up, rounded down, order) at 0 <= epsilon < inf."""
        cdef vector[SampledStep] steps = self.steps
        cdef RdpGuarantee g
        with nogil:
            g = rdp_delta(Steps(steps.data(), steps.size()), epsilon, self.conversion,
                          ConstDoubles(self.orders.data(), self.orders.size()))
        return g.value, g.floor, g.order

    def rdp_into(self, const double[::1] orders, double[::1] out):
        """Renyi-DP of each order, rounded up."""
        cdef vector[SampledStep] steps = self.steps
        cdef Py_ssize_t i
        with nogil:
            for i in range(orders.shape[0]):
                out[i] = upper(rdp(Steps(steps.data(), steps.size()), orders[i]))
