# Amplification by iteration. Loops release the GIL.

cdef extern from "renyi/iteration/passes.hpp" namespace "renyi" nogil:
    cdef enum class NoiseLaw:
        gaussian
        laplace
    cdef struct IterationSetting:
        NoiseLaw law
        double epsilon
        double record_shift
        double state_shift
    cdef struct StepDivergence:
        double upper
        double complement_lower
        double decay_lower
    StepDivergence _step_divergence "renyi::step_divergence"(NoiseLaw, double, double, double)
    cdef struct NoiseSchedule:
        const double* scales
        NoiseLaw law
        double amplitude
        double power
        double c1
        double c2
    void _step_scales "renyi::step_scales"(const NoiseSchedule&, double, int, double*)
    double _shuffled_delta "renyi::shuffled_delta"(const IterationSetting&, double, double)
    cdef struct WorstStep:
        double delta
        int64_t index
    void _online_deltas "renyi::online_deltas"(const IterationSetting&, const NoiseSchedule&, int64_t, double*)
    WorstStep _online_worst "renyi::online_worst"(const IterationSetting&, const NoiseSchedule&, int64_t)
    void _online_delta "renyi::online_delta"(const IterationSetting&, const NoiseSchedule&, int64_t, const int64_t*,
                                             int64_t, double*)
    double _online_limit "renyi::online_limit"(const IterationSetting&, const NoiseSchedule&, int64_t)


cdef NoiseLaw law_of(str name) except *:
    return NoiseLaw.gaussian if name == "gaussian" else NoiseLaw.laplace


def step_divergence(str law, double epsilon, double shift, double scale):
    """Return an upper bound of E_g between the noise at two places, and a lower bound of 1 - E_g."""
    cdef StepDivergence value = _step_divergence(law_of(law), epsilon, shift, scale)
    return value.upper, value.complement_lower


cdef class Schedule:
    """Noise scales of steps: an array, to which a reference is kept, or a formula with amplitude, power, c1, c2."""

    cdef NoiseSchedule core
    cdef object kept

    def __init__(self, str law, scales, double amplitude, double power, double c1, double c2):
        cdef const double[::1] given
        self.core = NoiseSchedule(NULL, law_of(law), amplitude, power, c1, c2)
        if scales is not None:
            given = scales
            self.kept = scales
            self.core.scales = &given[0]

    def scales_into(self, int64_t first, double[::1] out):
        """Write the scales of the steps from ``first`` on to ``out``."""
        cdef int64_t size = out.shape[0], done = 0
        cdef NoiseSchedule core = self.core
        with nogil:
            while done < size:
                _step_scales(core, <double>(first + done), <int>min(size - done, 1 << 20), &out[done])
                done += 1 << 20


cdef class Pass:
    """One pass of projected noisy descent."""

    cdef IterationSetting core

    def __init__(self, str law, double epsilon, double record_shift, double state_shift):
        self.core = IterationSetting(law_of(law), epsilon, record_shift, state_shift)

    def shuffled_delta(self, double scale, double n):
        """Return delta of a shuffled pass over n records."""
        return _shuffled_delta(self.core, scale, n)

    def online_deltas_into(self, Schedule schedule, double[::1] out):
        """Write delta of every record to ``out``."""
        cdef int64_t n = out.shape[0]
        cdef IterationSetting core = self.core
        cdef NoiseSchedule noise = schedule.core
        with nogil:
            _online_deltas(core, noise, n, &out[0])

    def online_worst(self, Schedule schedule, int64_t n):
        """Return the largest delta and the step of its record."""
        cdef IterationSetting core = self.core
        cdef NoiseSchedule noise = schedule.core
        cdef WorstStep worst
        with nogil:
            worst = _online_worst(core, noise, n)
        return worst.delta, worst.index

    def online_delta_into(self, Schedule schedule, int64_t index, const int64_t[::1] n, double[::1] out):
        """Write delta of one record after increasing numbers ``n`` of steps to ``out``."""
        cdef IterationSetting core = self.core
        cdef NoiseSchedule noise = schedule.core
        with nogil:
            _online_delta(core, noise, index, &n[0], n.shape[0], &out[0])

    def online_limit(self, Schedule schedule, int64_t index):
        """Return delta of one record for any number of steps."""
        cdef IterationSetting core = self.core
        cdef NoiseSchedule noise = schedule.core
        cdef double value
        with nogil:
            value = _online_limit(core, noise, index)
        return value
