# distutils: language = c++
"""The exact privacy curve of compositions of Poisson-sampled Gaussian steps: queries of `PLDAccountant`.

Every query works on a copy of the steps taken under the GIL and releases it, so threads may compose and ask at will.
"""

from libcpp.vector cimport vector


include "counted_steps.pxi"


cdef extern from "renyi/transform/sampled_loss.hpp" namespace "renyi" nogil:
    cdef enum class SampledPair:
        remove
        add
        replace_one

cdef extern from "renyi/fp/bracket.hpp" namespace "renyi" nogil:
    cdef struct Bracket:
        double lower
        double upper

cdef extern from "renyi/curve/privacy_curve.hpp" namespace "renyi" nogil:
    void curve_delta(Steps, SampledPair, ConstDoubles, Bracket*) except +
    void curve_epsilon(Steps, SampledPair, ConstDoubles, Bracket*) except +
    void curve_epsilon_after(Steps, Steps, SampledPair, ConstDoubles times, double delta, Bracket*) except +
    double rough_delta(Steps, SampledPair, double epsilon) except +


cdef SampledPair pair_of(str name):
    if name == "replace_one":
        return SampledPair.replace_one
    return SampledPair.remove if name == "remove" else SampledPair.add


cdef unpack(vector[Bracket]& answers, double[:, ::1] out):
    cdef size_t i
    for i in range(answers.size()):
        out[0, i] = answers[i].lower
        out[1, i] = answers[i].upper


cdef class SampledGaussianCurve(CountedSteps):
    """The exact privacy curve of a multiset of steps.

    Certified brackets go into rows lower and upper of an array. Epsilons are of either sign.
    """

    def delta_into(self, const double[::1] epsilons, str pair, double[:, ::1] out):
        """Answer delta at every epsilon."""
        cdef vector[SampledStep] steps = self.steps
        cdef vector[Bracket] answers
        cdef size_t n = epsilons.shape[0]
        answers.resize(n)
        cdef SampledPair which = pair_of(pair)
        with nogil:
            curve_delta(Steps(steps.data(), steps.size()), which,
                        ConstDoubles(&epsilons[0] if n else NULL, n), answers.data())
        unpack(answers, out)

    def epsilon_into(self, const double[::1] deltas, str pair, double[:, ::1] out):
        """Answer epsilon at every delta in (0, 1)."""
        cdef vector[SampledStep] steps = self.steps
        cdef vector[Bracket] answers
        cdef size_t n = deltas.shape[0]
        answers.resize(n)
        cdef SampledPair which = pair_of(pair)
        with nogil:
            curve_epsilon(Steps(steps.data(), steps.size()), which,
                          ConstDoubles(&deltas[0] if n else NULL, n), answers.data())
        unpack(answers, out)

    def epsilon_after_into(self, SampledGaussianCurve repeated, const double[::1] times, double delta, str pair,
                           double[:, ::1] out):
        """Answer epsilon after these steps and each number of repetitions of others."""
        cdef vector[SampledStep] steps = self.steps
        cdef vector[SampledStep] more = repeated.steps
        cdef vector[Bracket] answers
        cdef size_t n = times.shape[0]
        answers.resize(n)
        cdef SampledPair which = pair_of(pair)
        with nogil:
            curve_epsilon_after(Steps(steps.data(), steps.size()), Steps(more.data(), more.size()),
                                which, ConstDoubles(&times[0] if n else NULL, n), delta, answers.data())
        unpack(answers, out)

    def rough_delta(self, double epsilon, str pair):
        """Return a certified upper bound of delta, quickly."""
        cdef vector[SampledStep] steps = self.steps
        cdef double value
        cdef SampledPair which = pair_of(pair)
        with nogil:
            value = rough_delta(Steps(steps.data(), steps.size()), which, epsilon)
        return value
