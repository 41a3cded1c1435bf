# Pairs of distributions, and the lattices that compose their losses.

from weakref import WeakValueDictionary

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

cdef extern from "renyi/pair/operations/basic.hpp" namespace "renyi" nogil:
    cdef struct WeightedPair:
        double weight
        PairPointer pair

cdef extern from "renyi/pair/operations/product.hpp" namespace "renyi" nogil:
    cdef struct RepeatedPair:
        PairPointer pair
        int64_t count

cdef extern from "renyi/pair/operations/replacement.hpp" namespace "renyi" nogil:
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
    #include "renyi/pair/noise/even_noise.hpp"
    #include "renyi/pair/noise/exponential_loss.hpp"
    #include "renyi/pair/noise/integer_noise.hpp"
    #include "renyi/pair/noise/normal_mixtures.hpp"
    #include "renyi/pair/noise/sampled_groups.hpp"
    #include "renyi/pair/operations/allocation.hpp"
    #include "renyi/pair/operations/replacement.hpp"

    namespace {

    template <class T, class... Arguments>
    renyi::PairPointer make_pair(Arguments&&... arguments) {
        return std::make_shared<const T>(std::forward<Arguments>(arguments)...);
    }

    renyi::Spans coarse_spans(const renyi::PairPointer& pair, bool above) {
        return pair->spans(above ? renyi::Side::upper : renyi::Side::lower, renyi::Coarse{});
    }

    renyi::PairPointer make_laplace(double scale) {
        return make_pair<renyi::ExponentialLoss>(renyi::ExponentialLoss::laplace(scale));
    }
    renyi::PairPointer make_bounded_range(double epsilon) {
        return make_pair<renyi::ExponentialLoss>(renyi::ExponentialLoss::bounded_range(epsilon));
    }
    renyi::PairPointer make_gaussian_mixture(const std::vector<double>& weights, const std::vector<double>& means,
                                             double sigma) {
        return make_pair<renyi::NormalMixtures>(renyi::NormalMixtures::mixture(weights, means, sigma));
    }
    renyi::PairPointer make_replaced_gaussian(const std::vector<double>& weights, const std::vector<double>& means,
                                              double sigma) {
        return make_pair<renyi::NormalMixtures>(renyi::NormalMixtures::replaced(weights, means, sigma));
    }
    renyi::PairPointer make_sampled_group(double rate, double sigma, int records, int others) {
        return make_pair<renyi::NormalMixtures>(renyi::NormalMixtures::group({rate, sigma, 1.0, records}, others));
    }

    }  // namespace
    """
    Spans cpp_spans "coarse_spans"(const PairPointer&, cbool above)
    PairPointer make_laplace(double scale)
    PairPointer make_bounded_range(double epsilon)
    PairPointer make_gaussian "make_pair<renyi::GaussianPair>"(double mu)
    PairPointer make_gaussian_mixture(vector[double] weights, vector[double] means, double sigma)
    PairPointer make_replaced_gaussian(vector[double] weights, vector[double] means, double sigma)
    PairPointer make_sampled_group(double rate, double sigma, int records, int others)
    PairPointer make_allocation "make_pair<renyi::AllocationPair>"(double sigma, double batches)
    PairPointer make_allocated "make_pair<renyi::AllocatedPair>"(PairPointer base, double steps)
    PairPointer make_gumbel "make_pair<renyi::GumbelPair>"(double scale)
    PairPointer discrete_pair "renyi::discrete_pair"(const vector[double]& p, const vector[double]& q)
    PairPointer randomized_response "renyi::randomized_response"(double p, int64_t choices)
    PairPointer response_against_uniform "renyi::response_against_uniform"(double p, int64_t choices)
    PairPointer approximate_privacy "renyi::approximate_privacy"(double epsilon, double delta)
    PairPointer discrete_gaussian "renyi::discrete_gaussian"(double sigma, int64_t shift)
    PairPointer laplace_group "renyi::laplace_group"(double rate, double scale, int records, int others)
    PairPointer discrete_laplace_group "renyi::discrete_laplace_group"(double rate, double scale, int64_t shift,
                                                                       int records, int others)
    PairPointer discrete_gaussian_group "renyi::discrete_gaussian_group"(double rate, double scale, int64_t shift,
                                                                         int records, int others)
    PairPointer discrete_laplace "renyi::discrete_laplace"(double scale, int64_t shift)
    PairPointer generalised_gaussian_noise "renyi::generalised_gaussian_noise"(double shape, double scale)
    PairPointer student_noise "renyi::student_noise"(double degrees, double scale)
    PairPointer skellam_noise "renyi::skellam_noise"(double variance, int shift)
    PairPointer staircase_noise "renyi::staircase_noise"(double epsilon, double gamma)
    PairPointer make_mixed "make_pair<renyi::MixedPair>"(vector[WeightedPair] parts)
    PairPointer make_spliced "make_pair<renyi::SplicedPair>"(PairPointer base, double rate)
    PairPointer product_pair "renyi::product_pair"(const vector[RepeatedPair]& parts)
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
    """The pair of equal arguments that is alive already, if there is one: equal pairs are the same object."""
    return _alive.setdefault(arguments, wrapped(move(pair)))


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

    @staticmethod
    def gaussian(double mu):
        """(N(mu, 1), N(0, 1))."""
        return only_one(("gaussian", mu), make_gaussian(mu))

    @staticmethod
    def laplace(double scale):
        """Laplace noise of the given scale on a query moved by 1."""
        return only_one(("laplace", scale), make_laplace(scale))

    @staticmethod
    def bounded_range(double epsilon):
        """What dominates every mechanism whose loss lies in some interval of length epsilon."""
        return only_one(("bounded_range", epsilon), make_bounded_range(epsilon))

    @staticmethod
    def gaussian_mixture(weights, means, double sigma):
        """(sum of w N(m, sigma^2), N(0, sigma^2))."""
        arguments = ("gaussian_mixture", tuple(weights), tuple(means), sigma)
        return only_one(arguments, make_gaussian_mixture(weights, means, sigma))

    @staticmethod
    def replaced_gaussian(weights, means, double sigma):
        """(sum of w N(-m, sigma^2), sum of w N(m, sigma^2)), means of one sign."""
        arguments = ("replaced_gaussian", tuple(weights), tuple(means), sigma)
        return only_one(arguments, make_replaced_gaussian(weights, means, sigma))

    @staticmethod
    def sampled_group(double rate, double sigma, int records, int others):
        """The same of records that each enter a sample by their own coin, against others that move in the other
        direction; 0: against none."""
        arguments = ("sampled_group", rate, sigma, records, others)
        return only_one(arguments, make_sampled_group(rate, sigma, records, others))

    @staticmethod
    def laplace_group(double rate, double scale, int records, int others):
        """The same with Laplace noise; (records + others) / scale <= 500."""
        arguments = ("laplace_group", rate, scale, records, others)
        return only_one(arguments, laplace_group(rate, scale, records, others))

    @staticmethod
    def discrete_laplace_group(double rate, double scale, int64_t shift, int records, int others):
        """The same with discrete Laplace noise on an integer that a record moves by `shift`."""
        arguments = ("discrete_laplace_group", rate, scale, shift, records, others)
        return only_one(arguments, discrete_laplace_group(rate, scale, shift, records, others))

    @staticmethod
    def discrete_gaussian_group(double rate, double scale, int64_t shift, int records, int others):
        """The same with discrete Gaussian noise on an integer that a record moves by `shift`."""
        arguments = ("discrete_gaussian_group", rate, scale, shift, records, others)
        return only_one(arguments, discrete_gaussian_group(rate, scale, shift, records, others))

    @staticmethod
    def generalised_gaussian(double shape, double scale):
        """Noise of density proportional to e^(-(|x|/scale)^shape) on a query moved by 1."""
        return only_one(("generalised_gaussian", shape, scale), generalised_gaussian_noise(shape, scale))

    @staticmethod
    def student(double degrees, double scale):
        """Student's t noise on a query moved by 1."""
        return only_one(("student", degrees, scale), student_noise(degrees, scale))

    @staticmethod
    def allocation(double sigma, double batches):
        """One epoch of random allocation to so many batches with Gaussian noise: with the record against without."""
        return only_one(("allocation", sigma, batches), make_allocation(sigma, batches))

    @staticmethod
    def gumbel(double scale):
        """Gumbel noise: P around 1, Q around 0."""
        return only_one(("gumbel", scale), make_gumbel(scale))

    @staticmethod
    def skellam(double variance, int shift):
        """Skellam noise on an integer moved by `shift`."""
        return only_one(("skellam", variance, shift), skellam_noise(variance, shift))

    @staticmethod
    def staircase(double epsilon, double gamma):
        """Staircase noise on a query moved by 1."""
        return only_one(("staircase", epsilon, gamma), staircase_noise(epsilon, gamma))

    @staticmethod
    def tabulated(log_p, log_q, double start, double end, breaks, double tolerance):
        """Densities on an interval; integrals and values between the table's are right to `tolerance`."""
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
        """One of several pairs, its index revealed; weights are exact, and what is missing to 1 reveals nothing."""
        cdef vector[WeightedPair] parts
        cdef Pair one
        for weight, pair in zip(weights, pairs, strict=True):
            one = pair
            parts.push_back(WeightedPair(weight, one.pair))
        return only_one(("mixed", tuple(weights), tuple(pairs)), make_mixed(parts))

    @staticmethod
    def bracketed(Pair upper, Pair lower):
        """A pair known by one above it and one below it."""
        return only_one(("bracketed", upper, lower), make_bracketed(upper.pair, lower.pair))

    @staticmethod
    def discrete(double[::1] p, double[::1] q):
        """Probabilities of the same outcomes under P and Q."""
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
    def randomized_response(double p, int64_t choices):
        """The true one of several answers with probability p; two records of different answers."""
        return only_one(("randomized_response", p, choices), randomized_response(p, choices))

    @staticmethod
    def response_against_uniform(double p, int64_t choices):
        """The true one of several answers with probability p, against a uniform one."""
        return only_one(("response_against_uniform", p, choices), response_against_uniform(p, choices))

    @staticmethod
    def approximate_privacy(double epsilon, double delta):
        """What dominates every (epsilon, delta)-private mechanism; epsilon in [0, 700]."""
        return only_one(("approximate_privacy", epsilon, delta), approximate_privacy(epsilon, delta))

    @staticmethod
    def discrete_gaussian(double sigma, int64_t shift):
        """Discrete Gaussian noise on an integer moved by `shift`."""
        return only_one(("discrete_gaussian", sigma, shift), discrete_gaussian(sigma, shift))

    @staticmethod
    def discrete_laplace(double scale, int64_t shift):
        """Discrete Laplace noise on an integer moved by `shift`; shift / scale <= 700."""
        return only_one(("discrete_laplace", scale, shift), discrete_laplace(scale, shift))

    @staticmethod
    def product(parts):
        """Independent releases on the same data: (pair, count), at least one use each."""
        cdef vector[RepeatedPair] found
        cdef Pair one
        for pair, count in parts:
            one = pair
            found.push_back(RepeatedPair(one.pair, count))
        return only_one(("product", *parts), product_pair(found))

    @staticmethod
    def spliced(Pair base, double rate, Pair attained):
        """A record replaced in a sample that holds any record at `rate`, in either order.

        The base dominates the mechanism inside for replacing a record, in either order, and for
        its removal where the size of the sample varies. `attained` is what fixed neighbours have:
        the base sampled, where records may be replaced by one that counts for nothing.
        """
        return only_one(("spliced", base, rate, attained), make_bracketed(make_spliced(base.pair, rate), attained.pair))

    @staticmethod
    def truncated_poisson(pair_at, double rate, double limit, double population):
        """A record replaced, or by one without a contribution, in Poisson samples cut to a limit.

        `pair_at` gives the pair of the record in a Poisson sample of a given rate. rate in (0, 1].
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
        """A record removed from `population` in Poisson samples cut to a limit.

        Of the mechanism on the batch: a record removed, a record replaced.
        """
        cdef TruncatedRates rates = rates_of_removal(TruncatedSampling(rate, limit, population))
        cdef PairPointer below = removal.pair.get().sampled(rates.below.rate)
        cdef PairPointer full = replacement.pair.get().sampled(rates.full.rate)
        cdef PairPointer taken = removal.pair.get().sampled(rates.taken)
        arguments = ("truncated_poisson_removal", removal, replacement, rate, limit, population)
        return only_one(arguments, truncated_pair(rates, below, full, taken))

    @staticmethod
    def sampled_with_replacement(group, int64_t draws, int64_t population):
        """A record replaced in `draws` >= 1 from `population` >= 2.

        `group` gives the pair of k replaced records, symmetric, of monotone likelihood ratio, and
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
        """(Q, P)."""
        return self if self.symmetric else only_one(("reversed", self), self.pair.get().reverse())

    def allocated(self, double steps):
        """One epoch of random allocation to so many steps: with the record against without."""
        return only_one(("allocated", self, steps), make_allocated(self.pair, steps))

    def sampled(self, double rate):
        """((1 - rate) Q + rate P, Q)."""
        return only_one(("sampled", self, rate), self.pair.get().sampled(rate))

    def moment(self):
        """The Rényi curve of (P, Q), or an upper bound of it; None where its losses have no bound and no form is known."""
        cdef CurvePointer found = self.pair.get().moment(Direction.remove)
        return wrapped_curve(move(found)) if found else None

    @property
    def symmetric(self):
        """Whether both orders are known to have one profile."""
        return self.pair.get().symmetric()

    def spans(self, losses, bint lower=False):
        """Rows (low, mean, high, p, q, mass error, loss error) of spans divided at increasing losses; infinite, null."""
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
        """Losses of the atoms and their masses under P and Q, from above."""
        cdef Spans found = cpp_spans(self.pair, True)
        rows = sorted((s.mean, s.p, s.q) for s in found.spans if s.low == s.high)
        loss, p, q = np.array(rows, dtype=np.float64).reshape(-1, 3).T.copy()
        return loss, p, q

    def discretised(self, double step, double offset, int64_t first, int64_t last):
        """Masses at the nodes offset + step i: upper, lower, both at infinity, error of the losses."""
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
        """Numbers that enclose delta(epsilon), perhaps roughly if a quick bound proves `known`."""
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
