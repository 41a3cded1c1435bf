# distutils: language = c++
"""The exact privacy curve of compositions of Poisson-sampled Gaussian steps: queries of `PLDAccountant`.

Every query works on a copy of the steps taken under the GIL and releases it, so threads may compose and ask at will.
"""

from libcpp.vector cimport vector


include "counted_steps.pxi"


cdef extern from "renyi/loss/direction.hpp" namespace "renyi" nogil:
    cdef enum class Direction:
        remove
        add

cdef extern from "renyi/fp/bracket.hpp" namespace "renyi" nogil:
    cdef struct Bracket:
        double lower
        double upper

cdef extern from "renyi/curve/privacy_curve.hpp" namespace "renyi" nogil:
    void curve_delta(Steps, Direction, ConstDoubles, Bracket*) except +
    void curve_epsilon(Steps, Direction, ConstDoubles, Bracket*) except +
    void curve_epsilon_after(Steps, Steps, Direction, ConstDoubles times, double delta, Bracket*) except +
    double rough_delta(Steps, Direction, double epsilon) except +


cdef inline Direction direction_of(bint remove) noexcept nogil:
    return Direction.remove if remove else Direction.add


cdef unpack(vector[Bracket]& answers, double[:, ::1] out):
    cdef size_t i
    for i in range(answers.size()):
        out[0, i] = answers[i].lower
        out[1, i] = answers[i].upper


cdef class SampledGaussianCurve(CountedSteps):
    """The exact privacy curve of a multiset of steps.

    Certified brackets go into rows lower and upper of an array. Epsilons are of either sign.
    """

    def delta_into(self, const double[::1] epsilons, bint remove, double[:, ::1] out):
        """Answer delta at every epsilon."""
        cdef vector[SampledStep] steps = self.steps
        cdef vector[Bracket] answers
        cdef size_t n = epsilons.shape[0]
        answers.resize(n)
        with nogil:
            curve_delta(Steps(steps.data(), steps.size()), direction_of(remove),
                        ConstDoubles(&epsilons[0] if n else NULL, n), answers.data())
        unpack(answers, out)

    def epsilon_into(self, const double[::1] deltas, bint remove, double[:, ::1] out):
        """Answer epsilon at every delta in (0, 1)."""
        cdef vector[SampledStep] steps = self.steps
        cdef vector[Bracket] answers
        cdef size_t n = deltas.shape[0]
        answers.resize(n)
        with nogil:
            curve_epsilon(Steps(steps.data(), steps.size()), direction_of(remove),
                          ConstDoubles(&deltas[0] if n else NULL, n), answers.data())
        unpack(answers, out)

    def epsilon_after_into(self, SampledGaussianCurve repeated, const double[::1] times, double delta, bint remove,
                           double[:, ::1] out):
        """Answer epsilon after these steps and each number of repetitions of others."""
        cdef vector[SampledStep] steps = self.steps
        cdef vector[SampledStep] more = repeated.steps
        cdef vector[Bracket] answers
        cdef size_t n = times.shape[0]
        answers.resize(n)
        with nogil:
            curve_epsilon_after(Steps(steps.data(), steps.size()), Steps(more.data(), more.size()),
                                direction_of(remove), ConstDoubles(&times[0] if n else NULL, n), delta, answers.data())
        unpack(answers, out)

    def rough_delta(self, double epsilon, bint remove):
        """Return a certified upper bound of delta, quickly."""
        cdef vector[SampledStep] steps = self.steps
        cdef double value
        with nogil:
            value = rough_delta(Steps(steps.data(), steps.size()), direction_of(remove), epsilon)
        return value
