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
