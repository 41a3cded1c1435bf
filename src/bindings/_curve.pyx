# distutils: language = c++
"""The exact privacy curve of compositions of Poisson-sampled Gaussian steps: queries of `PLDAccountant`.

Every query works on a copy of the steps taken under the GIL and releases it, so threads may compose and ask at will.
"""

from libcpp cimport bool as cbool
from libcpp.vector cimport vector


include "counted_steps.pxi"


cdef extern from "renyi/loss/direction.hpp" namespace "renyi" nogil:
    cdef enum class Direction:
        remove
        add

cdef extern from "renyi/curve/bracket.hpp" namespace "renyi" nogil:
    cdef struct Bracket:
        double lower
        double upper

cdef extern from "renyi/curve/privacy_curve.hpp" namespace "renyi" nogil:
    cdef struct CurveAnswer:
        Bracket bracket
        cbool certified
    void curve_delta(Steps, Direction, ConstDoubles, CurveAnswer*) except +
    void curve_epsilon(Steps, Direction, ConstDoubles, CurveAnswer*) except +
    void curve_epsilon_after(Steps, Steps, Direction, ConstDoubles times, double delta, CurveAnswer*) except +
    double rough_delta(Steps, Direction, double epsilon) except +
    Bracket certified_delta(Steps, Direction, double epsilon, double rtol) except +
    Bracket certified_epsilon(Steps, Direction, double delta, double rtol) except +


cdef inline Direction direction_of(bint remove) noexcept nogil:
    return Direction.remove if remove else Direction.add


cdef unpack(vector[CurveAnswer]& answers, double[:, ::1] out):
    cdef size_t i
    for i in range(answers.size()):
        out[0, i] = answers[i].bracket.lower
        out[1, i] = answers[i].bracket.upper
        out[2, i] = answers[i].certified


cdef class SampledGaussianCurve(CountedSteps):
    """The exact privacy curve of a multiset of steps.

    Answers go into rows lower, upper, certified of an array; NaN where no fast route answers. Epsilons are of either
    sign.
    """

    def delta_into(self, const double[::1] epsilons, bint remove, double[:, ::1] out):
        """Answer delta at every epsilon."""
        cdef vector[SampledStep] steps = self.steps
        cdef vector[CurveAnswer] answers
        cdef size_t n = epsilons.shape[0]
        answers.resize(n)
        with nogil:
            curve_delta(Steps(steps.data(), steps.size()), direction_of(remove),
                        ConstDoubles(&epsilons[0] if n else NULL, n), answers.data())
        unpack(answers, out)

    def epsilon_into(self, const double[::1] deltas, bint remove, double[:, ::1] out):
        """Answer epsilon at every delta in (0, 1)."""
        cdef vector[SampledStep] steps = self.steps
        cdef vector[CurveAnswer] answers
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
        cdef vector[CurveAnswer] answers
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

    def certified_delta(self, double epsilon, bint remove, double rtol):
        """Return (lower, upper)."""
        cdef vector[SampledStep] steps = self.steps
        cdef Bracket b
        with nogil:
            b = certified_delta(Steps(steps.data(), steps.size()), direction_of(remove), epsilon, rtol)
        return b.lower, b.upper

    def certified_epsilon(self, double delta, bint remove, double rtol):
        """Return (lower, upper)."""
        cdef vector[SampledStep] steps = self.steps
        cdef Bracket b
        with nogil:
            b = certified_epsilon(Steps(steps.data(), steps.size()), direction_of(remove), delta, rtol)
        return b.lower, b.upper
