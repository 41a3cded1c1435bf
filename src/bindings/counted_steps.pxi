cdef extern from "<span>" namespace "std" nogil:
    cdef cppclass ConstDoubles "std::span<const double>":
        ConstDoubles()
        ConstDoubles(const double*, size_t)
    cdef cppclass Steps "std::span<const renyi::SampledStep>":
        Steps()
        Steps(const SampledStep*, size_t)


cdef class CountedSteps:
    """A multiset of Poisson-sampled Gaussian steps (rate, noise multiplier, count); equal ones merge."""

    cdef Composer parts

    def add(self, double q, double sigma, double count):
        """Add ``count`` steps; the sum of counts is not rounded below 2^53."""
        self.parts.add(SampledStep(q, sigma, count))

    def __len__(self):
        return self.parts.size()
