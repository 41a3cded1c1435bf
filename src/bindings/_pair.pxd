# What other extension modules see of pairs.
from libc.stdint cimport int64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector

cdef extern from "renyi/fp/certified.hpp" namespace "renyi" nogil:
    cdef struct Certified:
        double value
        double relative_error
    double upper(Certified)
    double lower(Certified)

cdef extern from "renyi/pair/renyi_curve.hpp" namespace "renyi" nogil:
    cdef struct LogMoment:
        Certified value
        double first
        double second
    cdef cppclass Curve "renyi::RenyiCurve":
        LogMoment log_moment(double alpha)
        Certified divergence(double alpha)
        double largest_order()
        double largest_loss()
    ctypedef shared_ptr[const Curve] CurvePointer

cdef extern from "renyi/loss/direction.hpp" namespace "renyi" nogil:
    cdef enum class Direction:
        remove
        add

cdef extern from "renyi/pair/pair.hpp" namespace "renyi" nogil:
    cdef cppclass CppPair "renyi::Pair":
        cbool symmetric()
        CurvePointer moment(Direction) except +
        shared_ptr[const CppPair] reverse() except +
        shared_ptr[const CppPair] sampled(double rate) except +
    ctypedef shared_ptr[const CppPair] PairPointer

cdef extern from "renyi/pair/composition.hpp" namespace "renyi" nogil:
    cdef struct SampledStep:
        double q
        double sigma
        double count
    cdef struct CountedPair:
        PairPointer pair
        int64_t count
    cdef struct CountedCurve:
        CurvePointer curve
        double count
    cdef cppclass Composition:
        vector[SampledStep] steps
        vector[CountedPair] pairs
    cdef cppclass Composer:
        void add(SampledStep) except +
        void add(PairPointer, int64_t count) except +
        void add(CurvePointer, double count) except +
        size_t size()
        Composition composition() except +

cdef class Pair:
    cdef PairPointer pair
    cdef object __weakref__

cdef class RenyiCurve:
    cdef CurvePointer curve
