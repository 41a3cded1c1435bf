# distutils: language = c++
"""Pairs of distributions, and their lattices."""

import numpy as np

from libc.stdint cimport int64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.utility cimport move
from libcpp.vector cimport vector


cdef extern from "renyi/fp/bracket.hpp" namespace "renyi" nogil:
    cdef struct Bracket:
        double lower
        double upper

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

cdef extern from "renyi/pair/division.hpp" namespace "renyi" nogil:
    Spans spans_at(const CppPair& pair, vector[double] losses)

cdef extern from "renyi/pair/mixed.hpp" namespace "renyi" nogil:
    cdef struct WeightedPair:
        double weight
        PairPointer pair

cdef extern from "renyi/transform/lattice.hpp" namespace "renyi" nogil:
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
    LatticePair cpp_discretise "renyi::discretise"(const CppPair&, const Lattice&)

cdef extern from * nogil:
    """
    #include "renyi/pair/atoms.hpp"
    #include "renyi/pair/exponential_loss.hpp"
    #include "renyi/pair/gaussian.hpp"
    #include "renyi/pair/generalised_gaussian.hpp"
    #include "renyi/pair/gumbel.hpp"
    #include "renyi/pair/mixed.hpp"
    #include "renyi/pair/normal_mixtures.hpp"
    #include "renyi/pair/reversed.hpp"
    #include "renyi/pair/sampled.hpp"
    #include "renyi/pair/skellam.hpp"
    #include "renyi/pair/staircase.hpp"
    #include "renyi/pair/student.hpp"

    namespace {

    template <class T, class... Arguments>
    renyi::PairPointer make_pair(Arguments&&... arguments) {
        return std::make_shared<const T>(std::forward<Arguments>(arguments)...);
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
    renyi::PairPointer make_replaced_gaussian(double rate, double sigma) {
        return make_pair<renyi::NormalMixtures>(renyi::NormalMixtures::replaced(rate, sigma));
    }

    }  // namespace
    """
    PairPointer make_laplace(double scale)
    PairPointer make_bounded_range(double epsilon)
    PairPointer make_gaussian "make_pair<renyi::GaussianPair>"(double mu)
    PairPointer make_gaussian_mixture(vector[double] weights, vector[double] means, double sigma)
    PairPointer make_replaced_gaussian(double rate, double sigma)
    PairPointer make_gumbel "make_pair<renyi::GumbelPair>"(double scale)
    PairPointer generalised_gaussian_noise "renyi::generalised_gaussian_noise"(double shape, double scale)
    PairPointer student_noise "renyi::student_noise"(double degrees, double scale)
    PairPointer skellam_noise "renyi::skellam_noise"(double variance, int shift)
    PairPointer staircase_noise "renyi::staircase_noise"(double epsilon, double gamma)
    PairPointer make_atoms "make_pair<renyi::AtomsPair>"(Spans atoms, cbool symmetric)
    PairPointer make_reversed "make_pair<renyi::ReversedPair>"(PairPointer base)
    PairPointer make_sampled "make_pair<renyi::PoissonSampledPair>"(PairPointer base, double rate)
    PairPointer make_mixed "make_pair<renyi::MixedPair>"(vector[WeightedPair] parts)
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


cdef Pair wrapped(PairPointer pair):
    cdef Pair result = Pair.__new__(Pair)
    result.pair = move(pair)
    return result


def _values(function, places):
    found = np.ascontiguousarray(function(places), dtype=np.float64)
    if found.shape != places.shape:
        raise ValueError(f"log_p and log_q must return as many values as places, got shape {found.shape}")
    return found


cdef class Pair:
    """A pair of distributions seen through its privacy loss; immutable, made by the static methods."""

    def __init__(self):
        raise TypeError("made by the static methods of Pair")

    @staticmethod
    def atoms(rows, infinite, null, bint symmetric):
        """Atoms (loss, p, q, mass error, loss error); bounds of the masses where Q or P vanishes."""
        cdef Spans found
        for loss, p, q, mass_error, loss_error in rows:
            found.spans.push_back(Span(loss, loss, loss, p, q, mass_error, loss_error))
        found.infinite = Bracket(infinite[0], infinite[1])
        found.null = Bracket(null[0], null[1])
        found.unbounded_above = found.unbounded_below = False
        return wrapped(make_atoms(found, symmetric))

    @staticmethod
    def gaussian(double mu):
        """(N(mu, 1), N(0, 1))."""
        return wrapped(make_gaussian(mu))

    @staticmethod
    def laplace(double scale):
        """Laplace noise of the given scale on a query moved by 1."""
        return wrapped(make_laplace(scale))

    @staticmethod
    def bounded_range(double epsilon):
        """What dominates every mechanism whose loss lies in some interval of length epsilon."""
        return wrapped(make_bounded_range(epsilon))

    @staticmethod
    def gaussian_mixture(weights, means, double sigma):
        """(sum of w N(m, sigma^2), N(0, sigma^2))."""
        return wrapped(make_gaussian_mixture(weights, means, sigma))

    @staticmethod
    def replaced_gaussian(double rate, double sigma):
        """((1-q) N(0) + q N(-1), (1-q) N(0) + q N(1)) of standard deviation sigma."""
        return wrapped(make_replaced_gaussian(rate, sigma))

    @staticmethod
    def generalised_gaussian(double shape, double scale):
        """Noise of density proportional to e^(-(|x|/scale)^shape) on a query moved by 1."""
        return wrapped(generalised_gaussian_noise(shape, scale))

    @staticmethod
    def student(double degrees, double scale):
        """Student's t noise on a query moved by 1."""
        return wrapped(student_noise(degrees, scale))

    @staticmethod
    def gumbel(double scale):
        """Gumbel noise: P around 1, Q around 0."""
        return wrapped(make_gumbel(scale))

    @staticmethod
    def skellam(double variance, int shift):
        """Skellam noise on an integer moved by `shift`."""
        return wrapped(skellam_noise(variance, shift))

    @staticmethod
    def staircase(double epsilon, double gamma):
        """Staircase noise on a query moved by 1."""
        return wrapped(staircase_noise(epsilon, gamma))

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
        """One of several pairs, shown which."""
        cdef vector[WeightedPair] parts
        cdef Pair one
        for weight, pair in zip(weights, pairs, strict=True):
            one = pair
            parts.push_back(WeightedPair(weight, one.pair))
        return wrapped(make_mixed(parts))

    @staticmethod
    def bracketed(Pair upper, Pair lower):
        """A pair known by one above it and one below it."""
        return wrapped(make_bracketed(upper.pair, lower.pair))

    def reversed(self):
        """(Q, P)."""
        return wrapped(make_reversed(self.pair))

    def sampled(self, double rate):
        """((1 - rate) Q + rate P, Q)."""
        return wrapped(make_sampled(self.pair, rate))

    @property
    def symmetric(self):
        """Whether both orders are known to have one profile."""
        return self.pair.get().symmetric()

    def spans(self, losses):
        """Rows (low, mean, high, p, q, mass error, loss error) of spans divided at increasing losses; infinite, null."""
        cdef Spans found = spans_at(self.pair.get()[0], losses)
        rows = [(s.low, s.mean, s.high, s.p, s.q, s.mass_error, s.loss_error) for s in found.spans]
        infinite, null = found.infinite, found.null
        return np.array(rows), (infinite.lower, infinite.upper), (null.lower, null.upper)

    def discretised(self, double step, double offset, int64_t first, int64_t last):
        """Masses at the nodes offset + step i: upper, lower, both at infinity, error of the losses."""
        cdef LatticePair found = cpp_discretise(self.pair.get()[0], Lattice(step, offset, first, last))
        upper, lower = np.array(found.upper), np.array(found.lower)
        return upper, lower, found.upper_infinite, found.lower_infinite, found.drift


include "loss_composition.pxi"
