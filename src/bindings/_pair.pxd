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
