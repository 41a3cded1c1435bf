# distutils: language = c++
"""Rényi curves of mechanisms, and the accountant's queries on compositions of them.

Every query works on a copy of the composition taken under the GIL and releases it, so threads may
compose and ask at will. Arguments are checked by the callers; what is refused here is what the
engine could not represent.
"""

cimport cython
from cpython.float cimport PyFloat_CheckExact
from libc.float cimport DBL_MIN
from libc.math cimport INFINITY, fmax
from libcpp.algorithm cimport is_sorted, sort
from libcpp.vector cimport vector


from renyi._pair cimport Certified, Composer, Composition, RenyiCurve, SampledStep, upper


include "counted_steps.pxi"


cdef extern from "renyi/curve/rdp_guarantee.hpp" namespace "renyi" nogil:
    Certified rdp(const Composition&, double alpha)
    double largest_loss(const Composition&)

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
    RdpGuarantee rdp_epsilon(const Composition&, double delta, Conversion, ConstDoubles orders)
    RdpGuarantee rdp_delta(const Composition&, double epsilon, Conversion, ConstDoubles orders)

cdef extern from "renyi/curve/two_points.hpp" namespace "renyi" nogil:
    void type_two_errors(const Composition&, ConstDoubles orders, ConstDoubles a, double* b)
    double largest_advantage(const Composition&, ConstDoubles orders)
    double least_bayes_risk(const Composition&, ConstDoubles orders, double rare)

cdef dict _CONVERSIONS = {"mironov": 0, "balle": 1, "asoodeh": 2, "optimal": 3}
CONVERSIONS = tuple(_CONVERSIONS)


include "sampled_steps.pxi"
