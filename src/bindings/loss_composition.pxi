from libcpp.complex cimport complex as cpp_complex
from libcpp.memory cimport unique_ptr
from libcpp.optional cimport optional


cdef extern from "renyi/transform/lattice/spectrum.hpp" namespace "renyi::lattice" nogil:
    cdef cppclass FourierTransform:
        pass

cdef extern from "callback_fourier.hpp" namespace "renyi::lattice" nogil:
    ctypedef int (*Forward)(const double*, size_t, cpp_complex[double]*) except -1 with gil
    ctypedef int (*Inverse)(const cpp_complex[double]*, size_t, double*) except -1 with gil
    cdef cppclass CallbackFourier(FourierTransform):
        CallbackFourier(Forward, Inverse)

cdef extern from "renyi/transform/lattice/loss_layout.hpp" namespace "renyi::lattice" nogil:
    cdef cppclass LossOutline:
        cbool only_atoms
    LossOutline outline_of(const CppPair&)
    optional[double] cpp_common_step "renyi::lattice::common_step"(const vector[LossOutline]&)

cdef extern from "renyi/transform/lattice/loss_composition.hpp" namespace "renyi::lattice" nogil:
    cdef cppclass CppLossComposition "renyi::lattice::LossComposition":
        CppLossComposition(const vector[CountedPair]&, double rtol, int64_t max_points) except +
        Bracket delta(double epsilon, FourierTransform&, double known) except +
        Bracket epsilon(double delta, FourierTransform&, double known) except +


cdef int forward(const double* values, size_t n, cpp_complex[double]* out) except -1 with gil:
    cdef const double[::1] source = <const double[:n]> values
    cdef double complex[::1] target = <double complex[:n // 2 + 1]> <double complex*> out
    np.fft.rfft(source, out=np.asarray(target))
    return 0


cdef int inverse(const cpp_complex[double]* values, size_t n, double* out) except -1 with gil:
    cdef double complex[::1] source = <double complex[:n // 2 + 1]> <double complex*> values
    cdef double[::1] target = <double[:n]> out
    np.fft.irfft(np.asarray(source), n, out=np.asarray(target))
    return 0


def common_step(pairs):
    """The step of a lattice that holds all losses of every pair; None: there is none."""
    cdef vector[LossOutline] outlines
    cdef Pair one
    cdef size_t i
    for pair in pairs:
        one = pair
        outlines.push_back(outline_of(one.pair.get()[0]))
        if not outlines.back().only_atoms:
            return None
    if all(len(pair.atoms()[0]) < 2 for pair in pairs):
        return 1.0
    found = cpp_common_step(outlines)
    return found.value() if found.has_value() else None


cdef class LossComposition:
    """Independent uses of several pairs, (pair, count) each: brackets of delta and epsilon.

    Arguments are checked by whoever calls. Results are kept for questions nearby; threads may ask at the same time.
    """

    cdef unique_ptr[CppLossComposition] composition

    def __init__(self, parts, double rtol, int64_t max_points):
        cdef Composer composer
        cdef Pair one
        for pair, count in parts:
            one = pair
            composer.add(one.pair, <int64_t>count)
        self.composition.reset(new CppLossComposition(composer.composition().pairs, rtol, max_points))

    def delta_bounds(self, double epsilon, double known=0.0):
        """Numbers that enclose delta(epsilon), perhaps roughly where `known` is certainly enough."""
        cdef CallbackFourier* fourier = new CallbackFourier(forward, inverse)
        cdef unique_ptr[CallbackFourier] owner
        owner.reset(fourier)
        cdef Bracket found
        with nogil:
            found = self.composition.get().delta(epsilon, fourier[0], known)
        return found.lower, found.upper

    def epsilon_bounds(self, double delta, double known=0.0):
        """Numbers that enclose the least epsilon with delta(epsilon) <= delta; `known` as for `delta_bounds`."""
        cdef CallbackFourier* fourier = new CallbackFourier(forward, inverse)
        cdef unique_ptr[CallbackFourier] owner
        owner.reset(fourier)
        cdef Bracket found
        with nogil:
            found = self.composition.get().epsilon(delta, fourier[0], known)
        return found.lower, found.upper
