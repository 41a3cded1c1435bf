cdef extern from "<span>" namespace "std" nogil:
    cdef cppclass ConstDoubles "std::span<const double>":
        ConstDoubles()
        ConstDoubles(const double*, size_t)
    cdef cppclass Steps "std::span<const renyi::SampledStep>":
        Steps()
        Steps(const SampledStep*, size_t)

cdef extern from "renyi/loss/sampled_step.hpp" namespace "renyi" nogil:
    cdef struct SampledStep:
        double q
        double sigma
        double count


cdef class CountedSteps:
    """A multiset of Poisson-sampled Gaussian steps (rate, noise multiplier, count); equal ones merge."""

    cdef vector[SampledStep] steps
    cdef dict positions

    def __cinit__(self):
        self.positions = {}

    def add(self, double q, double sigma, double count):
        """Add ``count`` steps; the sum of counts is not rounded below 2^53."""
        key = (q, sigma)
        cdef Py_ssize_t index = self.positions.setdefault(key, <Py_ssize_t>self.steps.size())
        if index == <Py_ssize_t>self.steps.size():
            self.steps.push_back(SampledStep(q, sigma, 0.0))
        self.steps[index].count += count

    def __len__(self):
        return self.steps.size()
