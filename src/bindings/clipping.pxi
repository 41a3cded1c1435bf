# Clipping of the rows of arrays.

cdef extern from "renyi/sgd/rows.hpp" namespace "renyi" nogil:
    cdef enum class Element:
        half
        single
        twice
        brain
    cdef cppclass RowArray:
        RowArray(const void*, Element, Py_ssize_t, const vector[size_t]&, const vector[Py_ssize_t]&, cbool) except +

cdef extern from "renyi/sgd/clipping.hpp" namespace "renyi" nogil:
    cdef enum class ClipRule:
        flat
        normalise
        constant
    const double kLeastBound
    const size_t kMostRows
    const double kLargestBound
    double _sum_spacing "renyi::sum_spacing"(double bound)
    cdef cppclass ClipTask:
        size_t rows
        vector[RowArray] arrays
        vector[void*] sums
        cbool adds_to_sums
        cbool wide_sum
        vector[size_t] groups
        vector[double] bounds
        ClipRule rule
        double stability
        const double* weights
        double spacing
        double* norms
        double* factors
        size_t threads
    void _clip_and_sum "renyi::clip_and_sum"(const ClipTask&) except +

cdef extern from "renyi/sgd/rows.hpp" namespace "renyi" nogil:
    cdef struct Lookups:
        size_t rows
        size_t times
        size_t columns
        const int64_t* tokens
        const int64_t* order
        const void* gradients
        Element element
        size_t threads
    void _lookup_squares "renyi::lookup_squares"(const Lookups&, double* squares)
    void _add_lookups "renyi::add_lookups"(const Lookups&, const double* weights, double spacing, double* sum)

cdef extern from "renyi/sgd/fingerprint.hpp" namespace "renyi" nogil:
    uint64_t _fingerprint "renyi::fingerprint"(const void*, size_t, uint64_t)

LEAST_BOUND = kLeastBound
LARGEST_BOUND = kLargestBound
MOST_ROWS = kMostRows

def sum_spacing(double bound):
    """Return the spacing of the lattice to which rows clipped at a bound are rounded for sums in double precision."""
    return _sum_spacing(bound)


def fingerprint(cnp.ndarray array, uint64_t seed):
    """Return the fingerprint of the bytes of a C-contiguous array."""
    cdef const void* memory = cnp.PyArray_DATA(array)
    cdef size_t size = array.nbytes
    cdef uint64_t found
    with nogil:
        found = _fingerprint(memory, size, seed)
    return found


cdef dict _rules = {"flat": 0, "normalise": 1, "constant": 2}


cdef Element element_of(cnp.ndarray array) except *:
    cdef int size = array.dtype.itemsize
    if array.dtype.kind == "V":
        return Element.brain
    return Element.half if size == 2 else Element.single if size == 4 else Element.twice


cdef void put_arrays(ClipTask* task, list arrays, list sums) except *:
    """Put arrays, with rows along the first axis, and C-contiguous sums into a task."""
    cdef cnp.ndarray array, sum
    cdef vector[size_t] shape
    cdef vector[Py_ssize_t] strides
    cdef int axis
    for array in arrays:
        shape.clear()
        strides.clear()
        for axis in range(1, array.ndim):
            shape.push_back(array.shape[axis])
            strides.push_back(array.strides[axis])
        task.arrays.push_back(RowArray(cnp.PyArray_DATA(array), element_of(array), array.strides[0], shape, strides,
                                       array.flags.aligned))
    for sum in sums:
        task.sums.push_back(cnp.PyArray_DATA(sum))
        task.wide_sum = sum.dtype.itemsize == 8


def clip_into(list arrays, list sums, bint adds_to_sums, str rule, list bounds, list groups, double stability,
              double[:, ::1] norms, double[:, ::1] factors, size_t threads):
    """Sum the rows, each times its factor, into `sums` (if empty, norms only); fill norms and factors."""
    cdef ClipTask task
    put_arrays(&task, arrays, sums)
    task.rows = arrays[0].shape[0]
    task.adds_to_sums = adds_to_sums
    task.rule = <ClipRule><int>_rules[rule]
    task.bounds = bounds
    task.groups = groups
    task.stability = stability
    task.threads = threads
    if norms.shape[0] != 0:
        task.norms = &norms[0, 0]
        task.factors = &factors[0, 0]
    with nogil:
        _clip_and_sum(task)


def weigh_into(list arrays, list sums, bint adds_to_sums, const double[::1] weights, double spacing, size_t threads):
    """Sum the rows, each times its weight and rounded to multiples of a spacing other than 0, into `sums`."""
    cdef ClipTask task
    put_arrays(&task, arrays, sums)
    task.rows = arrays[0].shape[0]
    task.adds_to_sums = adds_to_sums
    task.spacing = spacing
    task.threads = threads
    if weights.shape[0] != 0:
        task.weights = &weights[0]
    with nogil:
        _clip_and_sum(task)


cdef Lookups lookups_of(const int64_t[:, ::1] tokens, const int64_t[:, ::1] order, cnp.ndarray gradients,
                        size_t threads) except *:
    """Return the task of at least one token."""
    cdef Lookups result
    result.rows = gradients.shape[0]
    result.times = gradients.shape[1]
    result.columns = gradients.shape[2]
    result.tokens = &tokens[0, 0]
    result.order = &order[0, 0]
    result.gradients = cnp.PyArray_DATA(gradients)
    result.element = element_of(gradients)
    result.threads = threads
    return result


def lookup_squares(const int64_t[:, ::1] tokens, const int64_t[:, ::1] order, cnp.ndarray gradients,
                   double[::1] squares, size_t threads):
    """Put the squared norm of each record's gradient of the embedding into `squares`."""
    cdef Lookups task = lookups_of(tokens, order, gradients, threads)
    with nogil:
        _lookup_squares(task, &squares[0])


def add_lookups(const int64_t[:, ::1] tokens, const int64_t[:, ::1] order, cnp.ndarray gradients,
                const double[::1] weights, double spacing, double[:, ::1] sum, size_t threads):
    """Add the records' gradients, each times its weight and rounded to multiples of the spacing, to `sum`."""
    cdef Lookups task = lookups_of(tokens, order, gradients, threads)
    with nogil:
        _add_lookups(task, &weights[0], spacing, &sum[0, 0])
