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
from libcpp cimport bool as cbool
from libcpp.algorithm cimport is_sorted, sort
from libcpp.memory cimport shared_ptr
from libcpp.utility cimport move
from libcpp.vector cimport vector


from renyi._pair cimport Pair, PairPointer

include "counted_steps.pxi"


cdef extern from "<span>" namespace "std" nogil:
    cdef cppclass Curves "std::span<const renyi::WeightedCurve>":
        Curves()
        Curves(const WeightedCurve*, size_t)

cdef extern from "renyi/fp/certified.hpp" namespace "renyi" nogil:
    cdef struct Certified:
        double value
        double relative_error
    double upper(Certified)
    double lower(Certified)

cdef extern from "renyi/mechanism/renyi_curve.hpp" namespace "renyi" nogil:
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

cdef extern from "renyi/transform/pair_curve.hpp" namespace "renyi" nogil:
    CurvePointer pair_curve "renyi::curve_of"(const PairPointer&)

cdef extern from "renyi/mechanism/loss_pair.hpp" namespace "renyi" nogil:
    cdef cppclass LossPair(Curve):
        @staticmethod
        LossPair laplace(double scale)
        @staticmethod
        LossPair discrete_laplace(double scale, int sensitivity)
        @staticmethod
        LossPair randomized_response(double p, double choices)
        @staticmethod
        LossPair pure_dp(double epsilon)
        @staticmethod
        LossPair exponential(double epsilon)

cdef extern from "renyi/mechanism/polygon.hpp" namespace "renyi" nogil:
    cdef struct PolygonPoint:
        double alpha
        double k

cdef extern from "renyi/mechanism/composed_curve.hpp" namespace "renyi" nogil:
    cdef struct CountedCurve:
        CurvePointer curve
        double count

cdef extern from "renyi/mechanism/poisson_bound.hpp" namespace "renyi" nogil:
    cdef enum class PoissonBoundKind:
        general
        tight
        lower

cdef extern from "renyi/mechanism/privacy_profile.hpp" namespace "renyi" nogil:
    cdef struct ProfilePoint:
        pass
    ProfilePoint profile_point(double epsilon, double delta)

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
    #include "renyi/mechanism/bounded_range.hpp"
    #include "renyi/mechanism/composed_curve.hpp"
    #include "renyi/mechanism/fixed_size_bound.hpp"
    #include "renyi/mechanism/gumbel.hpp"
    #include "renyi/mechanism/larger_curve.hpp"
    #include "renyi/mechanism/linear_curve.hpp"
    #include "renyi/mechanism/loss_pair.hpp"
    #include "renyi/mechanism/mixture_bound.hpp"
    #include "renyi/mechanism/poisson_bound.hpp"
    #include "renyi/mechanism/polygon.hpp"
    #include "renyi/mechanism/random_allocation.hpp"
    #include "renyi/mechanism/repeat_and_select.hpp"
    #include "renyi/mechanism/sampled_gaussian_curve.hpp"
    #include "renyi/mechanism/sampled_loss_pair.hpp"
    #include "renyi/mechanism/smaller_curve.hpp"
    #include "renyi/mechanism/unbounded_curve.hpp"

    namespace {

    template <class T, class... Arguments>
    renyi::CurvePointer make_curve(Arguments&&... arguments) {
        return std::make_shared<const T>(std::forward<Arguments>(arguments)...);
    }

    // Empty where the curve is not that of a pair.
    renyi::CurvePointer sampled_pair(const renyi::CurvePointer& curve, double q) {
        const auto pair = std::dynamic_pointer_cast<const renyi::LossPair>(curve);
        return pair ? make_curve<renyi::SampledLossPair>(*pair, q) : nullptr;
    }

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
    CurvePointer make_linear "make_curve<renyi::LinearCurve>"(double rho, double xi) except +
    CurvePointer make_unbounded "make_curve<renyi::UnboundedCurve>"() except +
    CurvePointer make_pair "make_curve<renyi::LossPair>"(LossPair) except +
    CurvePointer make_bounded_range "make_curve<renyi::BoundedRangeCurve>"(double) except +
    CurvePointer make_gumbel "make_curve<renyi::GumbelCurve>"(double) except +
    CurvePointer make_polygon "make_curve<renyi::Polygon>"(vector[PolygonPoint]) except +
    CurvePointer make_composed "make_curve<renyi::ComposedCurve>"(vector[CountedCurve]) except +
    CurvePointer make_random_allocation "make_curve<renyi::RandomAllocationCurve>"(double, long long) except +
    CurvePointer sampled_pair(const CurvePointer&, double q) except +
    CurvePointer make_sampled_gaussian "make_curve<renyi::SampledGaussianCurve>"(double q, double sigma) except +
    CurvePointer make_smaller "make_curve<renyi::SmallerCurve>"(CurvePointer, CurvePointer) except +
    CurvePointer make_larger "make_curve<renyi::LargerCurve>"(CurvePointer, CurvePointer) except +
    CurvePointer make_poisson "make_curve<renyi::PoissonBound>"(CurvePointer, double q, PoissonBoundKind, cbool cut) except +
    CurvePointer make_fixed_size "make_curve<renyi::FixedSizeBound>"(CurvePointer, double gamma, cbool tight, cbool cut) except +
    CurvePointer make_mixture "make_curve<renyi::MixtureBound>"(CurvePointer, double r) except +
    CurvePointer make_selection "make_curve<renyi::RepeatAndSelectCurve>"(
        CurvePointer, double mean, double shape, vector[ProfilePoint]) except +

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
cdef dict _POISSON_BOUNDS = {"general": 0, "tight": 1, "lower": 2}


include "renyi_curve.pxi"
include "sampled_steps.pxi"
