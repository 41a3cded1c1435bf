# What other extension modules see of pairs.
from libcpp cimport bool as cbool
from libcpp.memory cimport shared_ptr

cdef extern from "renyi/pair/pair.hpp" namespace "renyi" nogil:
    cdef cppclass CppPair "renyi::Pair":
        cbool two_sided()
        cbool symmetric()
    ctypedef shared_ptr[const CppPair] PairPointer

cdef class Pair:
    cdef PairPointer pair
    cdef object __weakref__


cdef extern from "renyi/fp/certified.hpp" namespace "renyi" nogil:
    cdef struct Certified:
        double value
        double relative_error
    double upper(Certified)
    double lower(Certified)

cdef extern from "renyi/mechanism/renyi_curve.hpp" namespace "renyi" nogil:
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

cdef class RenyiCurve:
    cdef CurvePointer curve
