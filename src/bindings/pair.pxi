# Pairs of distributions, and the lattices that compose their losses.

from functools import partial
from weakref import WeakValueDictionary

from libcpp.string cimport string

cdef extern from "renyi/pair/pair.hpp" namespace "renyi" nogil:
    cdef struct Span:
        double low
        double mean
        double high
        double p
        double q
        double mass_error
        double loss_error
    cdef cppclass Spans:
        vector[Span] spans
        Bracket infinite
        Bracket null
        cbool unbounded_above
        cbool unbounded_below
    cdef enum class CppSide "renyi::Side":
        lower
        upper
    Spans spans_at(const CppPair& pair, CppSide side, vector[double] losses)

cdef extern from "renyi/pair/operations/operations.hpp" namespace "renyi" nogil:
    cdef struct WeightedPair:
        double weight
        PairPointer pair
    cdef struct TruncatedSampling:
        double rate
        double limit
        double population
    cdef struct WeightedRate:
        double weight
        double rate
    cdef struct TruncatedRates:
        WeightedRate below
        WeightedRate full
        double taken
    TruncatedRates rates_of_equal_size(const TruncatedSampling& sampling)
    TruncatedRates rates_of_removal(const TruncatedSampling& sampling)
    PairPointer truncated_pair(const TruncatedRates&, PairPointer, PairPointer, PairPointer)
    cdef struct Appearances:
        int64_t largest
        double weight
    cdef cppclass ReplacedDraws:
        vector[Appearances] groups
        int64_t least
    ReplacedDraws replaced_draws(int64_t draws, int64_t population)
    PairPointer drawn_pair(const ReplacedDraws&, const vector[PairPointer]&, PairPointer least)

cdef extern from "renyi/transform/lattice/lattice.hpp" namespace "renyi::lattice" nogil:
    cdef struct Lattice:
        double step
        double offset
        int64_t first
        int64_t last
    cdef cppclass LatticePair:
        Lattice lattice
        vector[double] upper
        vector[double] lower
        double upper_infinite
        double lower_infinite
        double drift
    LatticePair cpp_discretise "renyi::lattice::discretise"(const CppPair&, const Lattice&)

cdef extern from * nogil:
    """
    #include "renyi/curve/allocation_curve.hpp"
    #include "renyi/pair/atoms.hpp"
    #include "renyi/pair/noise/noises.hpp"
    #include "renyi/pair/operations/operations.hpp"

    #include <functional>
    #include <map>
    #include <string>

    namespace {

    template <class T, class... Arguments>
    renyi::PairPointer make_pair(Arguments&&... arguments) {
        return std::make_shared<const T>(std::forward<Arguments>(arguments)...);
    }

    renyi::Spans coarse_spans(const renyi::PairPointer& pair, bool above) {
        return pair->spans(above ? renyi::Side::upper : renyi::Side::lower, renyi::Coarse{});
    }

    using Numbers = std::vector<double>;
    using Maker = std::function<renyi::PairPointer(const Numbers&)>;

    template <class... A>
    Maker by(renyi::PairPointer (*make)(A...)) {
        return [make](const Numbers& x) {
            const auto call = [&]<std::size_t... i>(std::index_sequence<i...>) {
                return make(static_cast<A>(x.at(i))...);
            };
            return call(std::index_sequence_for<A...>{});
        };
    }

    renyi::PairPointer pair_of_numbers(const std::string& name, const Numbers& numbers) {
        static const std::map<std::string, Maker> makers{
            {"gaussian", by(renyi::gaussian_noise)},
            {"laplace", by(renyi::laplace_noise)},
            {"bounded_range", by(renyi::bounded_range)},
            {"gumbel", by(renyi::gumbel_noise)},
            {"generalised_gaussian", by(renyi::generalised_gaussian_noise)},
            {"student", by(renyi::student_noise)},
            {"staircase", by(renyi::staircase_noise)},
            {"discrete_gaussian", by(renyi::discrete_gaussian)},
            {"discrete_laplace", by(renyi::discrete_laplace)},
            {"skellam", by(renyi::skellam_noise)},
            {"sampled_group", by(renyi::gaussian_group)},
            {"laplace_group", by(renyi::laplace_group)},
            {"discrete_laplace_group", by(renyi::discrete_laplace_group)},
            {"discrete_gaussian_group", by(renyi::discrete_gaussian_group)},
            {"randomized_response", by(renyi::randomized_response)},
            {"response_against_uniform", by(renyi::response_against_uniform)},
            {"approximate_privacy", by(renyi::approximate_privacy)},
            {"allocation", [](const Numbers& x) { return make_pair<renyi::AllocationPair>(x.at(0), x.at(1)); }},
        };
        return makers.at(name)(numbers);
    }

    }  // namespace
    """
    Spans cpp_spans "coarse_spans"(const PairPointer&, cbool above)
    PairPointer pair_of_numbers(string name, vector[double] numbers) except +
    PairPointer gaussian_mixture "renyi::gaussian_mixture"(vector[double] weights, vector[double] means, double sigma)
    PairPointer replaced_gaussian "renyi::replaced_gaussian"(vector[double] weights, vector[double] means, double sigma)
    PairPointer allocated_pair "renyi::allocated_pair"(PairPointer base, double steps)
    PairPointer discrete_pair "renyi::discrete_pair"(const vector[double]& p, const vector[double]& q)
    PairPointer mixed_pair "renyi::mixed_pair"(vector[WeightedPair] parts)
    PairPointer spliced_pair "renyi::spliced_pair"(PairPointer base, double rate)
    PairPointer product_pair "renyi::product_pair"(const vector[CountedPair]& parts)
    PairPointer make_bracketed "make_pair<renyi::BracketedPair>"(PairPointer upper, PairPointer lower)


cdef extern from "renyi/pair/tabulated.hpp" namespace "renyi" nogil:
    enum class TableState:
        wanting
        finished
        not_finite
        not_smooth
        too_large
    cdef cppclass Table:
        Table(double start, double end, vector[double] breaks, double tolerance)
        vector[double] wanted()
        TableState give(const double* log_p, const double* log_q)
        PairPointer pair()


_alive = WeakValueDictionary()


cdef Pair wrapped(PairPointer pair):
    cdef Pair result = Pair.__new__(Pair)
    result.pair = move(pair)
    return result


cdef Pair only_one(tuple arguments, PairPointer pair):
    """Return the existing pair of equal arguments, if there is one: equal pairs are the same object."""
    return _alive.setdefault(arguments, wrapped(move(pair)))


def _of_numbers(str name, *numbers):
    """Return a pair of noises.hpp or atoms.hpp, or one epoch of random allocation of Gaussian noise, by its name."""
    return only_one((name, *numbers), pair_of_numbers(name.encode(), numbers))


def _values(function, places):
    found = np.ascontiguousarray(function(places), dtype=np.float64)
    if found.shape != places.shape:
        raise ValueError(f"log_p and log_q must return as many values as places, got shape {found.shape}")
    return found


cdef class Pair:
    """A pair of distributions described by its privacy loss; immutable, made by the static methods.

    Pairs of equal arguments are the same object.
    """

    cdef PairPointer pair
    cdef object __weakref__

    def __init__(self):
        raise TypeError("made by the static methods of Pair")

    # Of numbers: (mu), (scale), (epsilon), (scale), (shape, scale), (degrees, scale), (epsilon, gamma); of noise on
    # integers (scale, shift), Skellam's (variance, shift); of groups (rate, scale, [shift,] records, others); of
    # responses (p, choices); (epsilon, delta); and (sigma, batches).
    gaussian = partial(_of_numbers, "gaussian")
    laplace = partial(_of_numbers, "laplace")
    bounded_range = partial(_of_numbers, "bounded_range")
    gumbel = partial(_of_numbers, "gumbel")
    generalised_gaussian = partial(_of_numbers, "generalised_gaussian")
    student = partial(_of_numbers, "student")
    staircase = partial(_of_numbers, "staircase")
    discrete_gaussian = partial(_of_numbers, "discrete_gaussian")
    discrete_laplace = partial(_of_numbers, "discrete_laplace")
    skellam = partial(_of_numbers, "skellam")
    sampled_group = partial(_of_numbers, "sampled_group")
    laplace_group = partial(_of_numbers, "laplace_group")
    discrete_laplace_group = partial(_of_numbers, "discrete_laplace_group")
    discrete_gaussian_group = partial(_of_numbers, "discrete_gaussian_group")
    randomized_response = partial(_of_numbers, "randomized_response")
    response_against_uniform = partial(_of_numbers, "response_against_uniform")
    approximate_privacy = partial(_of_numbers, "approximate_privacy")
    allocation = partial(_of_numbers, "allocation")

    @staticmethod
    def gaussian_mixture(weights, means, double sigma):
        """Return the pair (sum of w N(m, sigma^2), N(0, sigma^2))."""
        arguments = ("gaussian_mixture", tuple(weights), tuple(means), sigma)
        return only_one(arguments, gaussian_mixture(weights, means, sigma))

    @staticmethod
    def replaced_gaussian(weights, means, double sigma):
        """Return the pair (sum of w N(-m, sigma^2), sum of w N(m, sigma^2)); all means have one sign."""
        arguments = ("replaced_gaussian", tuple(weights), tuple(means), sigma)
        return only_one(arguments, replaced_gaussian(weights, means, sigma))

    @staticmethod
    def tabulated(log_p, log_q, double start, double end, breaks, double tolerance):
        """Return the pair of two densities on an interval; integrals and interpolated values have error `tolerance`."""
        cdef Table* table = new Table(start, end, breaks, tolerance)
        cdef const double[::1] p, q
        cdef TableState state = TableState.wanting
        try:
            while state == TableState.wanting:
                places = np.array(table.wanted())
                p = _values(log_p, places)
                q = _values(log_q, places)
                with nogil:
                    state = table.give(&p[0], &q[0])
            if state == TableState.not_finite:
                raise ValueError("log_p and log_q must be finite on the interval, got another value")
            if state == TableState.not_smooth:
                raise ValueError("log_p and log_q must be smooth between the breaks on the scale of "
                                 "(end - start)/65536, got two orders of quadrature that differ")
            if state == TableState.too_large:
                raise ValueError("log_p and log_q must be of integral at most 1, got a larger one")
            return wrapped(table.pair())
        finally:
            del table

    @staticmethod
    def mixed(weights, pairs):
        """Return the pair that draws one of several and reveals its index.

        Weights are exact; with the remaining probability nothing is revealed.
        """
        cdef vector[WeightedPair] parts
        cdef Pair one
        for weight, pair in zip(weights, pairs, strict=True):
            one = pair
            parts.push_back(WeightedPair(weight, one.pair))
        return only_one(("mixed", tuple(weights), tuple(pairs)), mixed_pair(parts))

    @staticmethod
    def bracketed(Pair upper, Pair lower):
        """Return the pair between bounds: `upper` dominates it, and it dominates `lower`."""
        return only_one(("bracketed", upper, lower), make_bracketed(upper.pair, lower.pair))

    @staticmethod
    def discrete(double[::1] p, double[::1] q):
        """Return the pair with these probabilities of the same outcomes under P and Q."""
        cdef vector[double] first, second
        cdef Py_ssize_t i
        first.reserve(p.shape[0])
        second.reserve(p.shape[0])
        for i in range(p.shape[0]):
            first.push_back(p[i])
            second.push_back(q[i])
        arguments = ("discrete", bytes(p), bytes(q))
        return only_one(arguments, discrete_pair(first, second))

    @staticmethod
    def product(parts):
        """Return the pair of independent releases on the same data: (pair, count >= 1) each."""
        cdef vector[CountedPair] found
        cdef Pair one
        for pair, count in parts:
            one = pair
            found.push_back(CountedPair(one.pair, count))
        return only_one(("product", *parts), product_pair(found))

    @staticmethod
    def spliced(Pair base, double rate, Pair attained):
        """Return the pair of a record replaced in a sample that holds each record with probability `rate`.

        It dominates both orders. The base dominates the inner mechanism for replacing a record, in either order, and
        for removing it where the size of the sample varies. `attained` is the pair of fixed neighbours: the base
        sampled, where records may be replaced by one that contributes nothing.
        """
        return only_one(("spliced", base, rate, attained), make_bracketed(spliced_pair(base.pair, rate), attained.pair))

    @staticmethod
    def truncated_poisson(pair_at, double rate, double limit, double population):
        """Return the pair of a record replaced, maybe by one without a contribution, in Poisson samples cut to a limit.

        `pair_at` returns the pair of the record in a Poisson sample of a given rate; rate is in (0, 1].
        """
        cdef TruncatedRates rates = rates_of_equal_size(TruncatedSampling(rate, limit, population))
        cdef Pair below = pair_at(rates.below.rate)
        cdef Pair full = pair_at(rates.full.rate)
        cdef Pair taken = pair_at(rates.taken)
        arguments = ("truncated_poisson", below, full, taken, rates.below.weight, rates.full.weight)
        return only_one(arguments, truncated_pair(rates, below.pair, full.pair, taken.pair))

    @staticmethod
    def truncated_poisson_removal(
        Pair removal, Pair replacement, double rate, double limit, double population
    ):
        """Return the pair of a record removed from `population`, in Poisson samples cut to a limit.

        `removal` and `replacement` are the pairs of the mechanism on the batch for a record removed and replaced.
        """
        cdef TruncatedRates rates = rates_of_removal(TruncatedSampling(rate, limit, population))
        cdef PairPointer below = removal.pair.get().sampled(rates.below.rate)
        cdef PairPointer full = replacement.pair.get().sampled(rates.full.rate)
        cdef PairPointer taken = removal.pair.get().sampled(rates.taken)
        arguments = ("truncated_poisson_removal", removal, replacement, rate, limit, population)
        return only_one(arguments, truncated_pair(rates, below, full, taken))

    @staticmethod
    def sampled_with_replacement(group, int64_t draws, int64_t population):
        """Return the pair of a record replaced in `draws` >= 1 draws with replacement from `population` >= 2.

        `group` returns the pair of k replaced records, which is symmetric, of monotone likelihood ratio, and
        dominated by that of k + 1.
        """
        cdef ReplacedDraws drawn = replaced_draws(draws, population)
        cdef vector[PairPointer] pairs
        cdef Pair least = group(drawn.least)
        cdef Pair one
        groups = [group(part.largest) for part in drawn.groups]
        for one in groups:
            pairs.push_back(one.pair)
        arguments = ("sampled_with_replacement", draws, population, least, *groups)
        return only_one(arguments, drawn_pair(drawn, pairs, least.pair))

    def reversed(self):
        """Return (Q, P)."""
        return self if self.symmetric else only_one(("reversed", self), self.pair.get().reverse())

    def allocated(self, double steps):
        """Return one epoch of random allocation to `steps` steps: the output with the record against that without."""
        return only_one(("allocated", self, steps), allocated_pair(self.pair, steps))

    def sampled(self, double rate):
        """Return ((1 - rate) Q + rate P, Q)."""
        return only_one(("sampled", self, rate), self.pair.get().sampled(rate))

    def moment(self):
        """Return the Rényi curve of (P, Q) or an upper bound; None if losses are unbounded and no form is known."""
        cdef CurvePointer found = self.pair.get().moment(Direction.remove)
        return wrapped_curve(move(found)) if found else None

    @property
    def symmetric(self):
        """Whether both orders are known to have the same privacy profile."""
        return self.pair.get().symmetric()

    def spans(self, losses, bint lower=False):
        """Return rows (low, mean, high, p, q, mass error, loss error) of spans divided at losses; infinite, null."""
        cdef Spans found = spans_at(self.pair.get()[0], CppSide.lower if lower else CppSide.upper, losses)
        rows = [(s.low, s.mean, s.high, s.p, s.q, s.mass_error, s.loss_error) for s in found.spans]
        infinite, null = found.infinite, found.null
        return np.array(rows), (infinite.lower, infinite.upper), (null.lower, null.upper)

    @property
    def infinite_mass(self):
        """P-mass where Q vanishes, rounded up."""
        return cpp_spans(self.pair, True).infinite.upper

    @property
    def null_mass(self):
        """Q-mass where P vanishes, rounded up."""
        return cpp_spans(self.pair, True).null.upper

    @property
    def support(self):
        """The smallest and the largest loss of the spans from above; (0, 0) without any."""
        cdef Spans found = cpp_spans(self.pair, True)
        if found.spans.empty():
            return 0.0, 0.0
        return min(span.low for span in found.spans), max(span.high for span in found.spans)

    def atoms(self):
        """Return the losses of the atoms and their masses under P and Q, of the upper side."""
        cdef Spans found = cpp_spans(self.pair, True)
        rows = sorted((s.mean, s.p, s.q) for s in found.spans if s.low == s.high)
        loss, p, q = np.array(rows, dtype=np.float64).reshape(-1, 3).T.copy()
        return loss, p, q

    def discretised(self, double step, double offset, int64_t first, int64_t last):
        """Return masses at the nodes offset + step i: upper, lower, both at infinity, error of the losses."""
        cdef LatticePair found = cpp_discretise(self.pair.get()[0], Lattice(step, offset, first, last))
        upper, lower = np.array(found.upper), np.array(found.lower)
        return upper, lower, found.upper_infinite, found.lower_infinite, found.drift


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
    """Return the step of a lattice that holds all losses of every pair; None if there is no such lattice."""
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

    Callers check arguments. Results are cached for nearby questions; threads may ask at the same time.
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
        """Return bounds of delta(epsilon), which may be rough if a quick bound proves `known`."""
        return self.answer(False, epsilon, known)

    def epsilon_bounds(self, double delta, double known=0.0):
        """Return bounds of the least epsilon with delta(epsilon) <= delta; `known` as for `delta_bounds`."""
        return self.answer(True, delta, known)

    cdef answer(self, bint of_epsilon, double asked, double known):
        cdef unique_ptr[CallbackFourier] fourier
        fourier.reset(new CallbackFourier(forward, inverse))
        cdef Bracket found
        with nogil:
            if of_epsilon:
                found = self.composition.get().epsilon(asked, deref(fourier), known)
            else:
                found = self.composition.get().delta(asked, deref(fourier), known)
        return found.lower, found.upper
