# distutils: language = c++
"""Private training: the ChaCha20 generator with its noise and samples, clipping, and correlated noise.

Callers check arguments; loops release the GIL. Every call on a generator first takes a key of its own, so threads may
share a generator.
"""

import numpy as np

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp cimport bool as cbool
from libcpp.memory cimport make_unique, unique_ptr
from libcpp.vector cimport vector

cnp.import_array()


cdef extern from "numpy/random/bitgen.h":
    ctypedef struct bitgen_t:
        void* state
        uint64_t (*next_uint64)(void*) noexcept nogil
        uint32_t (*next_uint32)(void*) noexcept nogil
        double (*next_double)(void*) noexcept nogil
        uint64_t (*next_raw)(void*) noexcept nogil

cdef extern from "renyi/sgd/generator.hpp" namespace "renyi" nogil:
    cdef cppclass ChaChaKey:
        uint32_t* data()
        ChaChaKey()
    cdef cppclass ChaChaStream:
        ChaChaKey key
        uint64_t nonce
    void chacha20_groups(const ChaChaStream&, uint64_t first, size_t count, uint32_t* out)
    void wipe_stack "renyi::wipe_stack<renyi::kDrawStack>"()
    size_t kGroupWords
    cdef cppclass GeneratorState:
        ChaChaStream stream
        uint32_t buffer_used
        uint32_t* buffer
    cdef cppclass NoiseGenerator:
        NoiseGenerator()
        NoiseGenerator(const ChaChaKey&)
        cbool secure()
        void rekey()
        ChaChaStream derive()
        uint32_t next32()
        uint64_t next64()
        GeneratorState state()
        void restore(const GeneratorState&)
    cdef cppclass WordSource:
        WordSource(const ChaChaStream&)

cdef extern from "renyi/sgd/rounded_noise.hpp" namespace "renyi" nogil:
    cdef enum class NoiseLaw:
        gaussian
        laplace
    const double kLeastSingle "renyi::kLeastNoise<float>"
    const double kLargestSingle "renyi::kLargestNoise<float>"
    const double kLeastDouble "renyi::kLeastNoise<double>"
    const double kLargestDouble "renyi::kLargestNoise<double>"
    cdef cppclass NoiseLattice:
        NoiseLattice(double scale, int resolution)
        double spacing
    cdef cppclass Undecided:
        uint64_t by_first_words
        uint64_t by_double_precision
    int kResolution
    Undecided add_noise[T](NoiseLaw, const ChaChaStream&, uint64_t first, const NoiseLattice&, T* numbers, size_t count,
                           int threads)

cdef extern from "renyi/sgd/discrete_noise.hpp" namespace "renyi" nogil:
    cdef cppclass DiscreteGaussian:
        DiscreteGaussian(double sigma)
    double kSmallestScale
    double kLargestScale
    cdef cppclass DiscreteLaplace:
        DiscreteLaplace(double scale)
    void add_integer_noise[Law](const ChaChaStream&, const Law&, int64_t* out, size_t count, int threads)

cdef extern from "renyi/sgd/rows.hpp" namespace "renyi" nogil:
    cbool add_to_grid[T](const T* rows, const double* factors, size_t count, size_t dimension, double inverse_spacing,
                         int64_t* sum, int threads)

cdef extern from "renyi/sgd/samplers.hpp" namespace "renyi" nogil:
    int64_t kLargestPopulation
    vector[int64_t] poisson_sample(WordSource&, int64_t population, double rate) except +
    vector[int64_t] choose(WordSource&, int64_t population, int64_t size) except +
    void choose_repeated[T](WordSource&, int64_t population, T* out, size_t size)
    void group_order "renyi::order_by_group"[G, R](const G* groups, size_t records, size_t count, int64_t* starts,
                                                   R* order) except +
    void shuffle(WordSource&, int64_t* order, size_t size)


SMALLEST_SCALE = kSmallestScale
LARGEST_SCALE = kLargestScale
LARGEST_POPULATION = kLargestPopulation
NOISE_RANGE = {np.dtype(np.float32): (kLeastSingle, kLargestSingle),
               np.dtype(np.float64): (kLeastDouble, kLargestDouble)}

ctypedef fused real:
    float
    double

ctypedef fused group_number:
    uint16_t
    uint32_t
    int64_t

ctypedef fused record_number:
    uint32_t
    int64_t


cdef uint64_t next_uint64(void* state) noexcept nogil:
    return (<NoiseGenerator*> state).next64()


cdef uint32_t next_uint32(void* state) noexcept nogil:
    return (<NoiseGenerator*> state).next32()


cdef double next_double(void* state) noexcept nogil:
    return <double> ((<NoiseGenerator*> state).next64() >> 11) * (1.0 / 9007199254740992.0)


cdef from_vector(const vector[int64_t]& members):
    out = np.empty(members.size(), np.int64)
    cdef int64_t[::1] view = out
    if members.size():
        memcpy(&view[0], members.data(), members.size() * sizeof(int64_t))
    return out


cdef class ChaCha20:
    """A stream keyed by the operating system, or by 32 bytes.

    `numpy.random.Generator` takes its numbers from ``capsule``, under the lock of the object that exposes it. The
    capsule lives as long as this object.
    """

    cdef NoiseGenerator* generator
    cdef bitgen_t bitgen
    cdef readonly object capsule

    def __cinit__(self, bytes key=None):
        if key is None:
            self.generator = new NoiseGenerator()
        else:
            self.generator = new NoiseGenerator(key_of(key))
        self.bitgen.state = self.generator
        self.bitgen.next_uint64 = next_uint64
        self.bitgen.next_uint32 = next_uint32
        self.bitgen.next_double = next_double
        self.bitgen.next_raw = next_uint64
        self.capsule = PyCapsule_New(&self.bitgen, "BitGenerator", NULL)

    def __dealloc__(self):
        del self.generator

    def __reduce__(self):
        raise TypeError("a key stream cannot be pickled or copied: two copies would draw the same numbers")

    def rekey(self):
        self.generator.rekey()

    def derived_key(self):
        cdef ChaChaStream stream = self.generator.derive()
        return (<char*> stream.key.data())[:32]

    def state(self):
        """Return the key, the nonce, and the remaining words of the buffer."""
        cdef GeneratorState s = self.generator.state()
        left = (<char*> s.buffer)[4 * s.buffer_used:4 * kGroupWords]
        return (<char*> s.stream.key.data())[:32], s.stream.nonce, left

    def restore(self, bytes key, uint64_t nonce, bytes buffer):
        cdef GeneratorState s
        cdef size_t left = len(buffer)
        s.stream.key = key_of(key)
        s.stream.nonce = nonce
        if left % 4 or left > 4 * kGroupWords:
            raise ValueError(f"buffer must be at most {kGroupWords} words of 4 bytes, got {left} bytes")
        s.buffer_used = kGroupWords - left // 4
        memcpy(<char*> s.buffer + 4 * s.buffer_used, <char*> buffer, left)
        self.generator.restore(s)

    def words(self, size_t groups):
        """Return whole groups of the stream, 256 words each."""
        out = np.empty(groups * kGroupWords, np.uint32)
        cdef uint32_t[::1] view = out
        cdef ChaChaStream stream = self.generator.derive()
        if groups:
            with nogil:
                chacha20_groups(stream, 0, groups, &view[0])
        wipe_stack()
        return out

    def add_noise(self, bint gaussian, real[::1] numbers, double scale, int threads, int resolution=kResolution):
        """Add noise; return how many numbers the first random words, and of these double precision, did not decide."""
        cdef size_t count = numbers.shape[0]
        cdef NoiseLaw law = NoiseLaw.gaussian if gaussian else NoiseLaw.laplace
        cdef ChaChaStream stream = self.generator.derive()
        cdef Undecided undecided
        if count and scale:
            with nogil:
                undecided = add_noise(law, stream, 0, NoiseLattice(scale, resolution), &numbers[0], count, threads)
        wipe_stack()
        return undecided.by_first_words, undecided.by_double_precision

    def add_integers(self, bint gaussian, int64_t[::1] out, double scale, int threads):
        cdef size_t count = out.shape[0]
        cdef ChaChaStream stream = self.generator.derive()
        if count:
            with nogil:
                if gaussian:
                    add_integer_noise(stream, DiscreteGaussian(scale), &out[0], count, threads)
                else:
                    add_integer_noise(stream, DiscreteLaplace(scale), &out[0], count, threads)
        wipe_stack()

    def poisson_sample(self, int64_t population, double rate):
        cdef unique_ptr[WordSource] words = make_unique[WordSource](self.generator.derive())
        cdef vector[int64_t] members
        with nogil:
            members = poisson_sample(words.get()[0], population, rate)
        wipe_stack()
        return from_vector(members)

    def choose(self, int64_t population, int64_t size):
        cdef unique_ptr[WordSource] words = make_unique[WordSource](self.generator.derive())
        cdef vector[int64_t] members
        with nogil:
            members = choose(words.get()[0], population, size)
        wipe_stack()
        return from_vector(members)

    def choose_repeated(self, int64_t population, int64_t size):
        return self.choose_repeated_into(population, np.empty(size, np.int64))

    def choose_repeated_into(self, int64_t population, group_number[::1] out):
        cdef unique_ptr[WordSource] words = make_unique[WordSource](self.generator.derive())
        if out.shape[0]:
            with nogil:
                choose_repeated(words.get()[0], population, &out[0], out.shape[0])
        wipe_stack()
        return np.asarray(out)

    def permutation(self, int64_t size):
        out = np.arange(size, dtype=np.int64)
        cdef int64_t[::1] view = out
        cdef unique_ptr[WordSource] words = make_unique[WordSource](self.generator.derive())
        if size:
            with nogil:
                shuffle(words.get()[0], &view[0], size)
        wipe_stack()
        return out


def order_by_group(const group_number[::1] groups, size_t count, record_number[::1] order):
    """Write the records in the order of their groups to `order`, and return where each group starts."""
    starts = np.empty(count + 1, np.int64)
    cdef int64_t[::1] view = starts
    with nogil:
        group_order(&groups[0], groups.shape[0], count, &view[0], &order[0])
    return starts


def noise_spacing(double scale):
    """Return the spacing of the lattice to which noise of a scale is rounded."""
    return NoiseLattice(scale, kResolution).spacing


cdef ChaChaKey key_of(bytes key) except *:
    cdef ChaChaKey words
    if len(key) != 32:
        raise ValueError(f"key must be 32 bytes, got {len(key)}")
    memcpy(words.data(), <char*> key, 32)
    return words


def sum_on_grid(const real[:, ::1] rows, const double[::1] factors, double inverse_spacing, int64_t[::1] out,
                int threads):
    """Add rows, times factors, to the grid; return whether every entry was finite and below 2^50 spacings."""
    cdef size_t count = rows.shape[0], dimension = rows.shape[1]
    cdef cbool inside = True
    if count and dimension:
        with nogil:
            inside = add_to_grid(&rows[0, 0], &factors[0], count, dimension, inverse_spacing, &out[0], threads)
    return inside


include "clipping.pxi"
include "matrix.pxi"
