# distutils: language = c++
"""NumPy ufuncs of the engine, registered from the table in loops.hpp."""

import contextlib

cimport numpy as cnp

include "special_docs.pxi"

cdef extern from "loops.hpp" namespace "renyi::bindings" nogil:
    struct Ufunc:
        const char* name
        int inputs
        int loops
        cnp.PyUFuncGenericFunction functions[2]
        char types[8]
    Ufunc[1] ufuncs  # the true length is in the header

cdef extern from *:
    """
    static constexpr int renyi_ufunc_count = std::size(renyi::bindings::ufuncs);
    static void* renyi_no_data[2] = {nullptr, nullptr};
    """
    const int renyi_ufunc_count
    void* renyi_no_data[2]

cdef extern from "renyi/loss/gaussian.hpp" namespace "renyi" nogil:
    enum class BoundCondition:
        first
        second
        both
    double _largest_order "renyi::largest_order_of_bound"(double q, double sigma, BoundCondition condition)

cnp.import_array()
cnp.import_umath()

_docs_kept_alive = []  # a ufunc stores the pointer to its documentation, not the text


cdef object _make_ufunc(Ufunc* entry):
    cdef str name = entry.name.decode()
    cdef str doc = DOCS.pop(name)
    cdef bytes body = doc.split("\n\n", 1)[1].encode()  # NumPy writes a first line of its own
    _docs_kept_alive.append(body)
    ufunc = cnp.PyUFunc_FromFuncAndData(
        entry.functions, renyi_no_data, entry.types, entry.loops, entry.inputs, 1,
        cnp.PyUFunc_None, entry.name, body, 0)
    with contextlib.suppress(AttributeError):  # not settable in older versions of NumPy
        ufunc.__module__ = "renyi.special"
        ufunc.__qualname__ = name
        ufunc.__doc__ = doc
    return ufunc


__all__ = ["largest_order_of_bound"]
cdef int _i
for _i in range(renyi_ufunc_count):
    __all__.append(ufuncs[_i].name.decode())
    globals()[__all__[-1]] = _make_ufunc(&ufuncs[_i])


def largest_order_of_bound(double q, double sigma, str condition="both", /):
    """Largest order that the conditions of ``rdp_sampled_gaussian_bound`` permit.

    ``condition`` is "first", "second" or "both".
    """
    if condition == "first":
        return _largest_order(q, sigma, BoundCondition.first)
    if condition == "second":
        return _largest_order(q, sigma, BoundCondition.second)
    return _largest_order(q, sigma, BoundCondition.both)
