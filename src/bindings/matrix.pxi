# Correlated noise: Toeplitz recurrences, selections of steps, and streams.

cdef extern from "renyi/matrix/toeplitz.hpp" namespace "renyi" nogil:
    cdef struct Bands:
        const double* c
        size_t count
    void _solve "renyi::solve_toeplitz"(const Bands&, double* x, size_t n) except +
    double _error "renyi::toeplitz_error"(const Bands&, const double* a, const double* w, size_t n, double* work,
                                          double* gradient) except +
    void _solve_buffered "renyi::solve_buffered"(const double* weights, const double* decays, size_t count,
                                                 double* buffers, double* x, size_t n)
    const size_t kMostBuffers
    cdef struct BufferedSetting:
        size_t buffers
        double steps
        double separation
        size_t participations
        cbool mean
    double _buffered_loss "renyi::buffered_loss"(const BufferedSetting&, const double* p, double* gradient)
    void _buffered_nodes "renyi::buffered_nodes"(size_t buffers, const double* p, double* theta, double* omega)

cdef extern from "renyi/matrix/stream.hpp" namespace "renyi" nogil:
    cdef struct NoiseStep:
        ChaChaStream stream
        uint64_t first
        double scale
        size_t size
        int threads
    double _selection "renyi::best_selection"(const double* x, size_t n, size_t separation, size_t most, double* work)
    const size_t kNone
    void _banded "renyi::add_banded_noise"[T](const NoiseStep&, const double* taps, size_t slots, size_t newest,
                                              cbool inverse, T* buffers, T* numbers)
    void _buffered "renyi::add_buffered_noise"[T](const NoiseStep&, const double* weights, const double* decays,
                                                  size_t slots, double* buffers, T* numbers)
    void _tree "renyi::add_tree_noise"[T](const NoiseStep&, const double* own, const cbool* sibling, size_t levels,
                                          size_t newest, T* buffers, T* numbers)

MOST_BUFFERS = kMostBuffers

def solve_toeplitz(const double[::1] c, double[::1] x):
    """Replace x by C^-1 x, in place."""
    cdef Bands bands = Bands(&c[0], c.shape[0])
    with nogil:
        _solve(bands, &x[0], x.shape[0])


def solve_buffered(const double[::1] weights, const double[::1] decays, double[::1] x):
    """Replace x by C^-1 x, in place, for the C of these buffers."""
    cdef double[::1] buffers = np.empty(weights.shape[0])
    with nogil:
        _solve_buffered(&weights[0], &decays[0], weights.shape[0], &buffers[0], &x[0], x.shape[0])


def toeplitz_error(const double[::1] c, const double[::1] a, const double[::1] w, double[::1] work,
                   double[::1] gradient):
    """Return the weighted sum of squares of C^-1 a; write its gradient in c to `gradient`."""
    cdef Bands bands = Bands(&c[0], c.shape[0])
    cdef double found
    with nogil:
        found = _error(bands, &a[0], &w[0], a.shape[0], &work[0], &gradient[0])
    return found


def best_selection(const double[:, ::1] rows, size_t separation, size_t most):
    """Return for each row the largest sum over at most `most` entries that are at least `separation` apart."""
    cdef size_t count = rows.shape[0], n = rows.shape[1], i
    work = np.empty(2 * (n + 1))
    best = np.empty(count)
    cdef double[::1] w = work, b = best
    with nogil:
        for i in range(count):
            b[i] = _selection(&rows[i, 0], n, separation, most, &w[0])
    return best


def buffered_loss(const double[::1] p, double steps, double separation, size_t participations, bint mean,
                  double[::1] gradient):
    cdef BufferedSetting setting = BufferedSetting(p.shape[0] // 2, steps, separation, participations, mean)
    cdef double found
    with nogil:
        found = _buffered_loss(setting, &p[0], &gradient[0])
    return found


def buffered_nodes(const double[::1] p):
    cdef size_t m = p.shape[0] // 2
    theta, omega = np.empty(m), np.empty(m)
    cdef double[::1] t = theta, o = omega
    _buffered_nodes(m, &p[0], &t[0], &o[0])
    return theta, omega


# Correlated noise. The state of a stream changes within one call, together with the count of steps in `taken`. No
# signal is handled in between, so that after an interruption a step is either taken completely or not at all.


cdef NoiseStep step_of(ChaCha20 source, double scale, size_t size, int threads) except *:
    """Return a step whose random words come from a key of its own, derived from a generator."""
    cdef NoiseStep step
    step.stream = source.generator.derive()
    step.first = 0
    step.scale = scale
    step.size = size
    step.threads = threads
    return step


def add_banded_noise(ChaCha20 source not None, double scale, const double[::1] taps, Py_ssize_t newest,
                     bint inverse, real[:, ::1] buffers, real[::1] numbers, int threads, int64_t[::1] taken):
    """Add the noise of a step; slot `newest`, if not negative, takes the realised noise."""
    cdef NoiseStep step = step_of(source, scale, numbers.shape[0], threads)
    cdef size_t slots = buffers.shape[0]
    cdef size_t place = slots if newest < 0 else <size_t> newest
    cdef const double* first = &taps[0] if slots else NULL
    cdef real* kept = &buffers[0, 0] if slots and numbers.shape[0] else NULL
    if numbers.shape[0]:
        with nogil:
            _banded(step, first, slots, place, inverse, kept, &numbers[0])
    taken[0] += 1


def add_buffered_noise(ChaCha20 source not None, double scale, const double[::1] weights, const double[::1] decays,
                       double[:, ::1] buffers, real[::1] numbers, int threads, int64_t[::1] taken):
    cdef NoiseStep step = step_of(source, scale, numbers.shape[0], threads)
    if numbers.shape[0]:
        with nogil:
            _buffered(step, &weights[0], &decays[0], weights.shape[0], &buffers[0, 0], &numbers[0])
    taken[0] += 1


def add_tree_noise(ChaCha20 source not None, double scale, const double[::1] own, list siblings,
                   const double[::1] closing, list closing_siblings, bint last, real[:, ::1] nodes,
                   real[:, ::1] pending, real[::1] numbers, int threads, int64_t[::1] taken):
    """Add the noise of a step. With `pending` trees follow each other: after the last step of a tree, its open nodes
    are completed by the chain `closing` (empty if none is open), put into `pending` and added to the next step."""
    cdef size_t size = numbers.shape[0], i
    cdef NoiseStep step = step_of(source, scale, size, threads), completion
    cdef vector[char] sibling = [bool(s) for s in siblings], beside = [bool(s) for s in closing_siblings]
    cdef bint follows = pending.shape[0] > 0, closes = last and closing.shape[0] > 0
    if closes:
        completion = step_of(source, scale, size, threads)
    if size:
        with nogil:
            _tree(step, &own[0], <const cbool*> sibling.data(), own.shape[0], own.shape[0] - 1, &nodes[0, 0],
                  &numbers[0])
            if follows:
                for i in range(size):
                    numbers[i] += pending[0, i]
                    pending[0, i] = 0
            if closes:
                _tree(completion, &closing[0], <const cbool*> beside.data(), closing.shape[0], kNone, &nodes[0, 0],
                      &pending[0, 0])
            if last:
                for i in range(nodes.shape[0] * size):
                    (&nodes[0, 0])[i] = 0
    taken[0] += 1
