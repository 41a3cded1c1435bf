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


from renyi._pair cimport Curve, CurvePointer, Certified, RenyiCurve, upper
from renyi import _pair

globals()["RenyiCurve"] = _pair.RenyiCurve  # a cimport alone gives Python no name

include "counted_steps.pxi"


cdef extern from "<span>" namespace "std" nogil:
    cdef cppclass Curves "std::span<const renyi::WeightedCurve>":
        Curves()
        Curves(const WeightedCurve*, size_t)

cdef extern from "renyi/transform/renyi_curves.hpp" namespace "renyi" nogil:
    cdef struct CountedCurve:
        CurvePointer curve
        double count

cdef extern from "renyi/curve/rdp_composition.hpp" namespace "renyi" nogil:
    cdef struct WeightedCurve:
        const Curve* curve
        double count
    cdef struct Composition:
        Steps steps
        Curves curves
    Certified rdp(const Composition&, double alpha)
    double largest_loss(const Composition&)

cdef extern from * nogil:
    """
    #include <memory>
    #include <vector>
    #include "renyi/curve/rdp_composition.hpp"
    #include "renyi/transform/renyi_curves.hpp"

    namespace {

    // A composition that keeps its curves alive while a query runs without the GIL.
    class Snapshot {
    public:
        Snapshot() = default;
        Snapshot(const std::vector<renyi::SampledStep>& steps, const std::vector<renyi::CountedCurve>& curves)
            : steps_(steps), curves_(curves) {
            for (const renyi::CountedCurve& c : curves_) weighted_.push_back({c.curve.get(), c.count});
        }
        renyi::Composition view() const { return {steps_, weighted_}; }

    private:
        std::vector<renyi::SampledStep> steps_;
        std::vector<renyi::CountedCurve> curves_;
        std::vector<renyi::WeightedCurve> weighted_;
    };

    }  // namespace
    """
    cdef cppclass Snapshot:
        Snapshot()
        Snapshot(const vector[SampledStep]&, const vector[CountedCurve]&) except +
        Composition view()
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
