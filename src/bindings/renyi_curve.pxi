# Rényi curves of mechanisms, and the queries of `RDPAccountant` on compositions of them.

cdef extern from "renyi/transform/renyi_curves.hpp" namespace "renyi" nogil:
    cdef struct Corner:
        double x
        double y
    cdef enum class PoissonBoundKind:
        general
        tight
        lower
    cdef struct Interval:
        double low
        double high
    Corner profile_point(double epsilon, double delta)
    Interval cpp_log_inverse_gamma "renyi::log_inverse_gamma"(double mean, double shape)
    CurvePointer curve_bounded_range "renyi::bounded_range_curve"(double) except +
    CurvePointer curve_polygon "renyi::polygon"(vector[Corner]) except +
    CurvePointer composed_curve(vector[CountedCurve]) except +
    CurvePointer random_allocation_curve(double, long long) except +
    CurvePointer smaller_curve(CurvePointer, CurvePointer) except +
    CurvePointer larger_curve(CurvePointer, CurvePointer) except +
    CurvePointer cpp_poisson_bound "renyi::poisson_bound"(CurvePointer, double q, PoissonBoundKind, cbool cut) except +
    CurvePointer cpp_fixed_size_bound "renyi::fixed_size_bound"(CurvePointer, double, cbool tight, cbool cut) except +
    CurvePointer cpp_mixture_bound "renyi::mixture_bound"(CurvePointer, double r) except +
    CurvePointer cpp_repeat_and_select "renyi::repeat_and_select"(
        CurvePointer, double mean, double shape, vector[Corner], double log_ratio) except +

cdef extern from "renyi/pair/noise/normal_moment.hpp" namespace "renyi" nogil:
    CurvePointer sampled_gaussian_curve(double q, double sigma) except +

cdef extern from *:
    CurvePointer curve_linear "std::make_shared<const renyi::LinearCurve>"(double rho, double xi) except +
    CurvePointer curve_unbounded "std::make_shared<const renyi::UnboundedCurve>"() except +

cdef dict _POISSON_BOUNDS = {"general": 0, "tight": 1, "lower": 2}


def log_inverse_gamma(double mean, double shape):
    """Return (lower, upper) bounds of log(1/gamma) of a truncated negative binomial distribution."""
    cdef Interval found = cpp_log_inverse_gamma(mean, shape)
    return found.low, found.high


cdef class RenyiCurve:
    """The Rényi curve of a mechanism, K(alpha) = (alpha - 1) D_alpha; immutable.

    The static methods below and `Pair.moment` make curves; the methods of a curve return curves of operations on it.
    """

    cdef CurvePointer curve

    def __init__(self):
        raise TypeError("made by the static methods of RenyiCurve")

    # Mechanisms.

    @staticmethod
    def linear(double rho, double xi=0.0):
        """D_alpha = xi + rho alpha: Gaussian noise (rho = 1/(2 sigma^2)), zero-concentrated DP."""
        return wrapped_curve(curve_linear(rho, xi))

    @staticmethod
    def unbounded():
        """Return the curve with infinite divergences of every order."""
        return wrapped_curve(curve_unbounded())

    @staticmethod
    def bounded_range(double epsilon):
        """Return the curve of mechanisms of bounded range epsilon: that of the worst pair at each order."""
        return wrapped_curve(curve_bounded_range(epsilon))

    @staticmethod
    def polygon(orders, k):
        """The lower convex hull of upper bounds K at orders > 1, and of (1, 0)."""
        cdef vector[Corner] points
        for alpha, value in zip(orders, k, strict=True):
            points.push_back(Corner(alpha, value))
        return wrapped_curve(curve_polygon(move(points)))

    @staticmethod
    def composed(parts):
        """Return the sum of the curves (curve, count > 0)."""
        cdef vector[CountedCurve] counted
        cdef RenyiCurve part
        for curve, count in parts:
            part = curve
            counted.push_back(CountedCurve(part.curve, count))
        return wrapped_curve(composed_curve(move(counted)))

    @staticmethod
    def sampled_gaussian(double q, double sigma):
        """Gaussian noise on a Poisson sample."""
        return wrapped_curve(sampled_gaussian_curve(q, sigma))

    @staticmethod
    def random_allocation(double sigma, long long steps):
        """Return the curve of Gaussian noise in every step, where each record takes part in one step."""
        return wrapped_curve(random_allocation_curve(sigma, steps))

    # Operations. If this curve is unbounded, so is the result of any operation other than the trivial one.

    def poisson_bound(self, double q, str kind, bint cut=True):
        """Return a bound for Poisson sampling by Zhu and Wang: "general", "tight" or "lower".

        With ``cut`` the bound is limited by the largest loss.
        """
        if self.is_unbounded and q > 0.0:
            return self
        return wrapped_curve(cpp_poisson_bound(self.curve, q, <PoissonBoundKind><int>_POISSON_BOUNDS[kind], cut))

    def fixed_size_bound(self, double gamma, bint tight, bint cut=True):
        """Return a bound for samples without replacement of a share gamma of all records; ``cut`` as above.

        Wang, Balle, Kasiviswanathan.
        """
        if self.is_unbounded and gamma > 0.0:
            return self
        return wrapped_curve(cpp_fixed_size_bound(self.curve, gamma, tight, cut))

    def mixture_bound(self, double r):
        """Return a bound, by convexity, for any sampling that includes the record with probability r."""
        if self.is_unbounded and r > 0.0:
            return self
        return wrapped_curve(cpp_mixture_bound(self.curve, r))

    def repeat_and_select(self, double mean, double shape, profile=(), double log_ratio=0.0):
        """Return the curve of the best output of a random number of runs (Papernot, Steinke 2022).

        ``profile``: known pairs (epsilon >= 0, delta) such that the run is (epsilon, delta)-DP.
        ``log_ratio``: for a binomial number of runs, see the header.
        """
        if self.is_unbounded and mean > 0.0:
            return self
        cdef vector[Corner] points
        for epsilon, delta in profile:
            points.push_back(profile_point(epsilon, delta))
        return wrapped_curve(cpp_repeat_and_select(self.curve, mean, shape, move(points), log_ratio))

    def larger(self, RenyiCurve other not None):
        """Return the larger of two curves, which bounds both mechanisms."""
        return wrapped_curve(larger_curve(self.curve, other.curve))

    def smaller(self, RenyiCurve other not None):
        """Return the smaller of two bounds of the same mechanism."""
        if self.is_unbounded:
            return other
        return wrapped_curve(smaller_curve(self.curve, other.curve))

    # Properties and values.

    @property
    def largest_order(self):
        """The order above which K is infinite."""
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
        """Return (lower, upper) bounds of K at an order in [1, 1e6]."""
        cdef Certified k
        if order > self.curve.get().largest_order():
            return INFINITY, INFINITY
        with nogil:
            k = self.curve.get().log_moment(order).value
        return max(lower(k), 0.0), upper(k)  # 0 where K is out of the range of double

    def rdp_into(self, const double[::1] orders, double[::1] out):
        """Write D_alpha at each order in [1, 1e6], rounded up, to ``out``."""
        self.fill(orders, out, False)

    def rdp_lower_into(self, const double[::1] orders, double[::1] out):
        """Write D_alpha at each order in [1, 1e6], rounded down, to ``out``."""
        self.fill(orders, out, True)

    cdef fill(self, const double[::1] orders, double[::1] out, bint down):
        cdef Py_ssize_t i
        cdef Certified found
        cdef const Curve* curve = self.curve.get()
        with nogil:
            for i in range(orders.shape[0]):
                out[i] = INFINITY
                if orders[i] <= curve.largest_order():
                    found = curve.divergence(orders[i])
                    if down:
                        out[i] = fmax(lower(found), 0.0)
                    elif found.value == found.value:  # else out of the engine's reach
                        out[i] = upper(found)


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
    RdpGuarantee rdp_epsilon(const Composition&, double delta, Conversion, const vector[double]& orders)
    RdpGuarantee rdp_delta(const Composition&, double epsilon, Conversion, const vector[double]& orders)
    void type_two_errors(const Composition&, const vector[double]& orders, ConstDoubles a, double* b)
    double largest_advantage(const Composition&, const vector[double]& orders)
    double least_bayes_risk(const Composition&, const vector[double]& orders, double rare)

cdef dict _CONVERSIONS = {"mironov": 0, "balle": 1, "asoodeh": 2, "optimal": 3}


def all_floats(tuple values):
    """Return whether all values are of type float itself, not a subclass."""
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
        """Return an upper bound of all privacy losses, rounded up."""
        cdef Composition copy = self.parts.composition()
        return largest_loss(copy)

    def epsilon(self, double delta):
        """Return (epsilon rounded up, rounded down, order) at 0 < delta < 1."""
        cdef Composition copy = self.parts.composition()
        cdef RdpGuarantee g
        with nogil:
            g = rdp_epsilon(copy, delta, self.conversion, self.orders)
        return g.value, g.floor, g.order

    def delta(self, double epsilon):
        """Return (delta rounded up, rounded down, order) at 0 <= epsilon < inf."""
        cdef Composition copy = self.parts.composition()
        cdef RdpGuarantee g
        with nogil:
            g = rdp_delta(copy, epsilon, self.conversion, self.orders)
        return g.value, g.floor, g.order

    def betas_into(self, const double[::1] alphas, double[::1] out):
        """Write the least type II errors that all orders allow at type I errors in [0, 1], rounded down, to ``out``."""
        if alphas.shape[0] == 0:
            return
        cdef Composition copy = self.parts.composition()
        with nogil:
            type_two_errors(copy, self.orders, ConstDoubles(&alphas[0], alphas.shape[0]), &out[0])

    def advantage(self):
        """Return the largest 1 - alpha - beta that all orders allow, rounded up."""
        cdef Composition copy = self.parts.composition()
        cdef double most
        with nogil:
            most = largest_advantage(copy, self.orders)
        return most

    def bayes_risk(self, double rare):
        """Return the least Bayes risk that all orders allow, rounded down; ``rare`` <= 1/2 is the smaller prior."""
        cdef Composition copy = self.parts.composition()
        cdef double risk
        with nogil:
            risk = least_bayes_risk(copy, self.orders, rare)
        return risk

    def rdp_into(self, const double[::1] orders, double[::1] out):
        """Write the Renyi-DP at each order, rounded up, to ``out``."""
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
