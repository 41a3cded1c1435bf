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
        PrivacyCurve(const vector[SampledStep]&, SampledPair) except +
        void delta(ConstDoubles epsilons, ConstDoubles known, Bracket*) except +
        void epsilon(ConstDoubles deltas, ConstDoubles known, Bracket*) except +
        double rough_delta(double epsilon)
        Route route()
    void curve_epsilon_after(const vector[SampledStep]&, const vector[SampledStep]&, SampledPair, ConstDoubles times,
                             double delta, Bracket*) except +


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
    """Return the indices of brackets, of numbers >= 0, that are wider than rtol relative to their upper ends."""
    cdef Py_ssize_t i
    cdef list found = []
    for i in range(brackets.shape[1]):
        if not max(brackets[0, i], DBL_MIN) >= (1.0 - rtol) * brackets[1, i]:
            found.append(i)
    return found


cdef class Questions:
    """Questions to one curve in one direction, for one thread at a time.

    Certified brackets are written into two rows of an array, lower and upper. If a quick bound proves that
    ``known[i]`` is valid, it may be the upper end.
    """

    def answer(self, str wanted, const double[::1] asked, double[:, ::1] out, const double[::1] known=None):
        """Answer "epsilon" at every delta in [0, 1], or "delta" at every epsilon, in any order."""
        cdef bint of_epsilon = wanted == "epsilon"
        cdef vector[Bracket] answers
        cdef ConstDoubles places = view(asked), limits
        if known is not None:
            limits = view(known)
        answers.resize(asked.shape[0])
        with nogil:
            self.find(of_epsilon, places, limits, answers.data())
        unpack(answers, out)

    cdef int find(self, bint of_epsilon, ConstDoubles places, ConstDoubles known, Bracket* answers) except -1 nogil:
        return 0


cdef class SampledGaussianQuestions(Questions):
    """Questions about steps, which share their work. Epsilons may have either sign."""

    cdef unique_ptr[PrivacyCurve] curve

    def __init__(self):
        raise TypeError("SampledGaussianCurve.questions makes these")

    cdef int find(self, bint of_epsilon, ConstDoubles places, ConstDoubles known, Bracket* answers) except -1 nogil:
        if of_epsilon:
            deref(self.curve).epsilon(places, known, answers)
        else:
            deref(self.curve).delta(places, known, answers)
        return 0

    def rough_delta(self, double epsilon):
        """Return a certified upper bound of delta, quickly."""
        return deref(self.curve).rough_delta(epsilon)

    @property
    def route(self):
        """The route of the last question; the last one if there were several."""
        return ROUTES[<int>deref(self.curve).route()]


cdef class SampledGaussianCurve(CountedSteps):
    """The exact privacy curve of a multiset of steps."""

    def questions(self, str pair):
        """Return questions to the curve of the steps added so far."""
        cdef SampledGaussianQuestions result = SampledGaussianQuestions.__new__(SampledGaussianQuestions)
        cdef vector[SampledStep] steps = self.parts.composition().steps
        result.curve.reset(new PrivacyCurve(steps, pair_of(pair)))
        return result

    def epsilon_after_into(self, SampledGaussianCurve repeated, const double[::1] times, double delta, str pair,
                           double[:, ::1] out):
        """Answer epsilon after these steps and each number of repetitions of the steps `repeated`."""
        cdef vector[SampledStep] steps = self.parts.composition().steps
        cdef vector[SampledStep] more = repeated.parts.composition().steps
        cdef vector[Bracket] answers
        cdef ConstDoubles places = view(times)
        answers.resize(times.shape[0])
        cdef SampledPair which = pair_of(pair)
        with nogil:
            curve_epsilon_after(steps, more, which, places, delta, answers.data())
        unpack(answers, out)


cdef class AllocationQuestions(Questions):
    """Questions about one epoch of random allocation, for epsilon >= 0."""

    cdef unique_ptr[AllocationCurve] curve
    cdef Direction direction

    def __init__(self, double sigma, double batches, double rate, bint remove):
        self.curve.reset(new AllocationCurve(sigma, batches, rate))
        self.direction = Direction.remove if remove else Direction.add

    cdef int find(self, bint of_epsilon, ConstDoubles places, ConstDoubles known, Bracket* answers) except -1 nogil:
        cdef size_t i
        cdef double limit
        for i in range(places.size()):
            limit = known[i] if known.size() else 0.0
            if of_epsilon:
                answers[i] = deref(self.curve).epsilon(places[i], self.direction, limit)
            else:
                answers[i] = deref(self.curve).delta(places[i], self.direction, limit)
        return 0
