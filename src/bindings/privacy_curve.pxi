# The exact privacy curve of compositions of Poisson-sampled Gaussian steps: queries of `PLDAccountant`.

cdef extern from "renyi/transform/sampled_loss.hpp" namespace "renyi" nogil:
    cdef enum class SampledPair:
        remove
        add
        replace_one

cdef extern from "renyi/curve/privacy_curve.hpp" namespace "renyi" nogil:
    cdef enum class Route(int):
        pass
    cdef cppclass PrivacyCurve:
        PrivacyCurve(Steps, SampledPair) except +
        void delta(ConstDoubles epsilons, ConstDoubles known, Bracket*) except +
        void epsilon(ConstDoubles deltas, ConstDoubles known, Bracket*) except +
        double rough_delta(double epsilon)
        Route route()
    void curve_epsilon_after(Steps, Steps, SampledPair, ConstDoubles times, double delta, Bracket*) except +


cdef extern from "renyi/curve/allocation_curve.hpp" namespace "renyi" nogil:
    cdef cppclass AllocationCurve:
        AllocationCurve(double sigma, double batches, double rate)
        Bracket delta(double epsilon, Direction, double known) except +
        Bracket epsilon(double delta, Direction, double known) except +


ROUTES = ("nothing new", "closed form", "bounds", "line", "inclusion line", "split sum", "long line")


cdef SampledPair pair_of(str name):
    if name == "replace_one":
        return SampledPair.replace_one
    return SampledPair.remove if name == "remove" else SampledPair.add


cdef unpack(vector[Bracket]& answers, double[:, ::1] out):
    cdef size_t i
    for i in range(answers.size()):
        out[0, i] = answers[i].lower
        out[1, i] = answers[i].upper


cdef ConstDoubles view(const double[::1] values):
    return ConstDoubles(&values[0] if values.shape[0] else NULL, values.shape[0])


def wide_brackets(const double[:, ::1] brackets, double rtol):
    """Return where brackets of numbers that are at least 0 are wider than this, relatively to their upper ends."""
    cdef Py_ssize_t i
    cdef list found = []
    for i in range(brackets.shape[1]):
        if not max(brackets[0, i], DBL_MIN) >= (1.0 - rtol) * brackets[1, i]:
            found.append(i)
    return found


cdef class SampledGaussianQuestions:
    """Questions to the curve of one direction that share their work. For one thread at a time.

    Certified brackets go into rows lower and upper of an array. Epsilons are of either sign. If a quick
    bound proves that ``known[i]`` is valid, it may be the upper end.
    """

    cdef unique_ptr[PrivacyCurve] curve

    def __init__(self):
        raise TypeError("SampledGaussianCurve.questions makes these")

    def delta_into(self, const double[::1] epsilons, double[:, ::1] out, const double[::1] known=None):
        """Answer delta at every epsilon, in any order; `known[i]`, if a quick bound proves it, may be the upper end."""
        cdef vector[Bracket] answers
        cdef ConstDoubles asked = view(epsilons), limits
        if known is not None:
            limits = view(known)
        answers.resize(epsilons.shape[0])
        with nogil:
            deref(self.curve).delta(asked, limits, answers.data())
        unpack(answers, out)

    def epsilon_into(self, const double[::1] deltas, double[:, ::1] out, const double[::1] known=None):
        """Answer epsilon at every delta in [0, 1], in any order; `known` as for delta."""
        cdef vector[Bracket] answers
        cdef ConstDoubles asked = view(deltas), limits
        if known is not None:
            limits = view(known)
        answers.resize(deltas.shape[0])
        with nogil:
            deref(self.curve).epsilon(asked, limits, answers.data())
        unpack(answers, out)

    def rough_delta(self, double epsilon):
        """Return a certified upper bound of delta, quickly."""
        return deref(self.curve).rough_delta(epsilon)

    @property
    def route(self):
        """What the last question took; of several routes the last."""
        return ROUTES[<int>deref(self.curve).route()]


cdef class SampledGaussianCurve(CountedSteps):
    """The exact privacy curve of a multiset of steps."""

    def questions(self, str pair):
        """Return the curve of the steps so far, to be asked."""
        cdef SampledGaussianQuestions result = SampledGaussianQuestions.__new__(SampledGaussianQuestions)
        cdef vector[SampledStep] steps = self.parts.composition().steps
        result.curve.reset(new PrivacyCurve(Steps(steps.data(), steps.size()), pair_of(pair)))
        return result

    def epsilon_after_into(self, SampledGaussianCurve repeated, const double[::1] times, double delta, str pair,
                           double[:, ::1] out):
        """Answer epsilon after these steps and each number of repetitions of others."""
        cdef vector[SampledStep] steps = self.parts.composition().steps
        cdef vector[SampledStep] more = repeated.parts.composition().steps
        cdef vector[Bracket] answers
        cdef size_t n = times.shape[0]
        answers.resize(n)
        cdef SampledPair which = pair_of(pair)
        with nogil:
            curve_epsilon_after(Steps(steps.data(), steps.size()), Steps(more.data(), more.size()),
                                which, ConstDoubles(&times[0] if n else NULL, n), delta, answers.data())
        unpack(answers, out)


cdef class AllocationQuestions:
    """Questions to the curve of one epoch of random allocation in one direction, as `SampledGaussianQuestions`."""

    cdef unique_ptr[AllocationCurve] curve
    cdef Direction direction

    def __init__(self, double sigma, double batches, double rate, bint remove):
        self.curve.reset(new AllocationCurve(sigma, batches, rate))
        self.direction = Direction.remove if remove else Direction.add

    def delta_into(self, const double[::1] epsilons, double[:, ::1] out, const double[::1] known=None):
        """Answer delta at every epsilon >= 0."""
        cdef vector[Bracket] answers
        cdef Py_ssize_t i
        answers.resize(epsilons.shape[0])
        with nogil:
            for i in range(epsilons.shape[0]):
                answers[i] = deref(self.curve).delta(epsilons[i], self.direction, 0.0 if known is None else known[i])
        unpack(answers, out)

    def epsilon_into(self, const double[::1] deltas, double[:, ::1] out, const double[::1] known=None):
        """Answer the least epsilon >= 0 at every delta in [0, 1]."""
        cdef vector[Bracket] answers
        cdef Py_ssize_t i
        answers.resize(deltas.shape[0])
        with nogil:
            for i in range(deltas.shape[0]):
                answers[i] = deref(self.curve).epsilon(deltas[i], self.direction, 0.0 if known is None else known[i])
        unpack(answers, out)
