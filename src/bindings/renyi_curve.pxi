# Rényi curves of mechanisms, and the queries of `RDPAccountant` on compositions of them.

cdef extern from "renyi/transform/renyi_curves.hpp" namespace "renyi" nogil:
    cdef struct PolygonPoint:
        double alpha
        double k

cdef extern from "renyi/transform/sampling_bounds.hpp" namespace "renyi" nogil:
    cdef enum class PoissonBoundKind:
        general
        tight
        lower

cdef extern from "renyi/transform/selection.hpp" namespace "renyi" nogil:
    cdef struct ProfilePoint:
        pass
    ProfilePoint profile_point(double epsilon, double delta)
    cdef struct Interval:
        double low
        double high
    Interval cpp_log_inverse_gamma "renyi::log_inverse_gamma"(double mean, double shape)

cdef extern from * nogil:
    """
    #include "renyi/pair/noise/normal_moment.hpp"
    #include "renyi/transform/random_allocation.hpp"
    #include "renyi/transform/renyi_curves.hpp"
    #include "renyi/transform/sampling_bounds.hpp"
    #include "renyi/transform/selection.hpp"

    namespace {

    template <class T, class... Arguments>
    renyi::CurvePointer make_curve(Arguments&&... arguments) {
        return std::make_shared<const T>(std::forward<Arguments>(arguments)...);
    }

    }  // namespace
    """
    CurvePointer curve_linear "make_curve<renyi::LinearCurve>"(double rho, double xi) except +
    CurvePointer curve_unbounded "make_curve<renyi::UnboundedCurve>"() except +
    CurvePointer curve_bounded_range "make_curve<renyi::BoundedRangeCurve>"(double) except +
    CurvePointer curve_polygon "make_curve<renyi::Polygon>"(vector[PolygonPoint]) except +
    CurvePointer curve_composed "make_curve<renyi::ComposedCurve>"(vector[CountedCurve]) except +
    CurvePointer curve_random_allocation "make_curve<renyi::RandomAllocationCurve>"(double, long long) except +
    CurvePointer curve_sampled_gaussian "make_curve<renyi::SampledGaussianCurve>"(double q, double sigma) except +
    CurvePointer curve_smaller "make_curve<renyi::SmallerCurve>"(CurvePointer, CurvePointer) except +
    CurvePointer curve_larger "make_curve<renyi::LargerCurve>"(CurvePointer, CurvePointer) except +
    CurvePointer curve_poisson "make_curve<renyi::PoissonBound>"(CurvePointer, double q, PoissonBoundKind, cbool cut) except +
    CurvePointer curve_fixed_size "make_curve<renyi::FixedSizeBound>"(CurvePointer, double gamma, cbool tight, cbool cut) except +
    CurvePointer curve_mixture "make_curve<renyi::MixtureBound>"(CurvePointer, double r) except +
    CurvePointer curve_selection "make_curve<renyi::RepeatAndSelectCurve>"(
        CurvePointer, double mean, double shape, vector[ProfilePoint], double log_ratio) except +

cdef dict _POISSON_BOUNDS = {"general": 0, "tight": 1, "lower": 2}


def log_inverse_gamma(double mean, double shape):
    """(lower, upper) around log(1/gamma) of a truncated negative binomial distribution."""
    cdef Interval found = cpp_log_inverse_gamma(mean, shape)
    return found.low, found.high


cdef class RenyiCurve:
    """The Rényi curve of a mechanism, K(alpha) = (alpha - 1) D_alpha; immutable.

    Made by the static methods below and by `Pair.moment`; the methods of a curve give the curves of what is done to it.
    """

    cdef CurvePointer curve

    def __init__(self):
        raise TypeError("made by the static methods of RenyiCurve")

    # What is released.

    @staticmethod
    def linear(double rho, double xi=0.0):
        """D_alpha = xi + rho alpha: Gaussian noise (rho = 1/(2 sigma^2)), zero-concentrated DP."""
        return wrapped_curve(curve_linear(rho, xi))

    @staticmethod
    def unbounded():
        """Infinite divergences of every order."""
        return wrapped_curve(curve_unbounded())

    @staticmethod
    def bounded_range(double epsilon):
        """Bounded range epsilon: the worst pair of each order."""
        return wrapped_curve(curve_bounded_range(epsilon))

    @staticmethod
    def polygon(orders, k):
        """The lower convex hull of upper bounds K at orders > 1, and of (1, 0)."""
        cdef vector[PolygonPoint] points
        for alpha, value in zip(orders, k, strict=True):
            points.push_back(PolygonPoint(alpha, value))
        return wrapped_curve(curve_polygon(move(points)))

    @staticmethod
    def composed(parts):
        """The sum of (curve, count > 0)."""
        cdef vector[CountedCurve] counted
        cdef RenyiCurve part
        for curve, count in parts:
            part = curve
            counted.push_back(CountedCurve(part.curve, count))
        return wrapped_curve(curve_composed(move(counted)))

    @staticmethod
    def sampled_gaussian(double q, double sigma):
        """Gaussian noise on a Poisson sample."""
        return wrapped_curve(curve_sampled_gaussian(q, sigma))

    @staticmethod
    def random_allocation(double sigma, long long steps):
        """Gaussian noise in every step, each record in one of them."""
        return wrapped_curve(curve_random_allocation(sigma, steps))

    # What is done to it. That is unbounded too where this curve is and anything is done.

    def poisson_bound(self, double q, str kind, bint cut=True):
        """Poisson sampling by Zhu and Wang: "general", "tight" or "lower"; cut at what the largest loss allows."""
        if self.is_unbounded and q > 0.0:
            return self
        return wrapped_curve(curve_poisson(self.curve, q, <PoissonBoundKind><int>_POISSON_BOUNDS[kind], cut))

    def fixed_size_bound(self, double gamma, bint tight, bint cut=True):
        """A sample without replacement, a share gamma of all records, by Wang, Balle, Kasiviswanathan; cut as above."""
        if self.is_unbounded and gamma > 0.0:
            return self
        return wrapped_curve(curve_fixed_size(self.curve, gamma, tight, cut))

    def mixture_bound(self, double r):
        """Any sampling that lets the record in with probability r, by convexity."""
        if self.is_unbounded and r > 0.0:
            return self
        return wrapped_curve(curve_mixture(self.curve, r))

    def repeat_and_select(self, double mean, double shape, profile=(), double log_ratio=0.0):
        """The best output of a random number of runs (Papernot, Steinke 2022).

        ``profile``: pairs (epsilon >= 0, delta) such that the run is (epsilon, delta)-DP, as many as are known.
        ``log_ratio``: of a binomial number, see the header.
        """
        if self.is_unbounded and mean > 0.0:
            return self
        cdef vector[ProfilePoint] points
        for epsilon, delta in profile:
            points.push_back(profile_point(epsilon, delta))
        return wrapped_curve(curve_selection(self.curve, mean, shape, move(points), log_ratio))

    def larger(self, RenyiCurve other not None):
        """What holds for both of two mechanisms."""
        return wrapped_curve(curve_larger(self.curve, other.curve))

    def smaller(self, RenyiCurve other not None):
        """The smaller of two bounds of one mechanism."""
        if self.is_unbounded:
            return other
        return wrapped_curve(curve_smaller(self.curve, other.curve))

    # What is known of it.

    @property
    def largest_order(self):
        """K is infinite above."""
        return self.curve.get().largest_order()

    @property
    def is_unbounded(self):
        """Whether the divergences of all orders are infinite, that of order 1 among them."""
        cdef const Curve* curve = self.curve.get()
        return curve.largest_order() == 1.0 and curve.divergence(1.0).value == INFINITY

    @property
    def largest_loss(self):
        """D_infinity in both orders of the pair, rounded up."""
        return self.curve.get().largest_loss()

    def log_moment(self, double order):
        """(lower, upper) around K at an order in [1, 1e6]."""
        cdef Certified k
        if order > self.curve.get().largest_order():
            return INFINITY, INFINITY
        with nogil:
            k = self.curve.get().log_moment(order).value
        return max(lower(k), 0.0), upper(k)  # 0 where K is out of the range of double

    def rdp_into(self, const double[::1] orders, double[::1] out):
        """D_alpha of each order in [1, 1e6], rounded up."""
        cdef Py_ssize_t i
        cdef const Curve* curve = self.curve.get()
        with nogil:
            for i in range(orders.shape[0]):
                out[i] = INFINITY
                if orders[i] <= curve.largest_order():
                    out[i] = upper(curve.divergence(orders[i]))
                    if out[i] != out[i]:  # out of the engine's reach
                        out[i] = INFINITY

    def rdp_lower_into(self, const double[::1] orders, double[::1] out):
        """D_alpha of each order in [1, 1e6], rounded down."""
        cdef Py_ssize_t i
        cdef const Curve* curve = self.curve.get()
        with nogil:
            for i in range(orders.shape[0]):
                out[i] = INFINITY
                if orders[i] <= curve.largest_order():
                    out[i] = fmax(lower(curve.divergence(orders[i])), 0.0)


cdef RenyiCurve wrapped_curve(CurvePointer curve):
    cdef RenyiCurve result = RenyiCurve.__new__(RenyiCurve)
    result.curve = move(curve)
    return result


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
    Certified rdp(const Composition&, double alpha)
    double largest_loss(const Composition&)
    RdpGuarantee rdp_epsilon(const Composition&, double delta, Conversion, ConstDoubles orders)
    RdpGuarantee rdp_delta(const Composition&, double epsilon, Conversion, ConstDoubles orders)

cdef extern from "renyi/curve/two_points.hpp" namespace "renyi" nogil:
    void type_two_errors(const Composition&, ConstDoubles orders, ConstDoubles a, double* b)
    double largest_advantage(const Composition&, ConstDoubles orders)
    double least_bayes_risk(const Composition&, ConstDoubles orders, double rare)

cdef dict _CONVERSIONS = {"mironov": 0, "balle": 1, "asoodeh": 2, "optimal": 3}


def all_floats(tuple values):
    """Whether all are of type float itself."""
    for value in values:
        if not PyFloat_CheckExact(value):
            return False
    return True


cdef class SampledSteps(CountedSteps):
    """A composition: Poisson-sampled Gaussian steps and Rényi curves with counts; equal ones merge."""

    cdef vector[double] orders
    cdef dict curves
    cdef Conversion conversion

    def __init__(self, orders, str conversion):
        self.curves = {}
        self.conversion = <Conversion><int>_CONVERSIONS[conversion]
        if orders is not None:
            self.set_orders(orders)

    @cython.boundscheck(False)
    @cython.wraparound(False)
    cdef set_orders(self, tuple orders):
        cdef bint valid = True
        cdef Py_ssize_t i, count = len(orders)
        cdef double order
        self.orders.resize(count)
        for i in range(count):
            order = orders[i]
            self.orders[i] = order
            valid = valid and 1.0 < order <= 1e6
        if not valid or self.orders.empty():
            raise ValueError("orders outside (1, 1e6]")
        if not is_sorted(self.orders.begin(), self.orders.end()):
            sort(self.orders.begin(), self.orders.end())

    def add_curve(self, key, RenyiCurve curve not None, double count):
        """Add ``count`` > 0 uses of a mechanism; equal keys stand for equal curves."""
        cdef RenyiCurve known = self.curves.setdefault(key, curve)
        self.parts.add(known.curve, count)

    def largest_loss(self):
        """What no privacy loss exceeds, rounded up."""
        cdef Composition copy = self.parts.composition()
        return largest_loss(copy)

    def epsilon(self, double delta):
        """(epsilon rounded up, rounded down, order) at 0 < delta < 1."""
        cdef Composition copy = self.parts.composition()
        cdef RdpGuarantee g
        with nogil:
            g = rdp_epsilon(copy, delta, self.conversion,
                            ConstDoubles(self.orders.data(), self.orders.size()))
        return g.value, g.floor, g.order

    def delta(self, double epsilon):
        """(delta rounded up, rounded down, order) at 0 <= epsilon < inf."""
        cdef Composition copy = self.parts.composition()
        cdef RdpGuarantee g
        with nogil:
            g = rdp_delta(copy, epsilon, self.conversion,
                          ConstDoubles(self.orders.data(), self.orders.size()))
        return g.value, g.floor, g.order

    def betas_into(self, const double[::1] alphas, double[::1] out):
        """Least type II errors that all orders allow at type I errors in [0, 1], rounded down."""
        if alphas.shape[0] == 0:
            return
        cdef Composition copy = self.parts.composition()
        with nogil:
            type_two_errors(copy, ConstDoubles(self.orders.data(), self.orders.size()),
                            ConstDoubles(&alphas[0], alphas.shape[0]), &out[0])

    def advantage(self):
        """Largest 1 - alpha - beta that all orders allow, rounded up."""
        cdef Composition copy = self.parts.composition()
        cdef double most
        with nogil:
            most = largest_advantage(copy, ConstDoubles(self.orders.data(), self.orders.size()))
        return most

    def bayes_risk(self, double rare):
        """Least chance of an error that all orders allow, rounded down; the rarer prior, at most 1/2."""
        cdef Composition copy = self.parts.composition()
        cdef double risk
        with nogil:
            risk = least_bayes_risk(copy, ConstDoubles(self.orders.data(), self.orders.size()), rare)
        return risk

    def rdp_into(self, const double[::1] orders, double[::1] out):
        """Renyi-DP of each order, rounded up."""
        cdef Composition copy = self.parts.composition()
        cdef Py_ssize_t i
        cdef double least
        with nogil:
            least = DBL_MIN if largest_loss(copy) > 0.0 else 0.0  # below, digits are lost
            for i in range(orders.shape[0]):
                out[i] = upper(rdp(copy, orders[i]))
                if out[i] != out[i]:  # out of the engine's reach
                    out[i] = INFINITY
                out[i] = fmax(out[i], least)
