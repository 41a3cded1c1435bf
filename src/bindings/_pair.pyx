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
    #include "renyi/pair/mixed.hpp"
    #include "renyi/pair/reversed.hpp"
    #include "renyi/pair/sampled.hpp"

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

    }  // namespace
    """
    PairPointer make_laplace(double scale)
    PairPointer make_bounded_range(double epsilon)
    PairPointer make_gaussian "make_pair<renyi::GaussianPair>"(double mu)
    PairPointer make_atoms "make_pair<renyi::AtomsPair>"(Spans atoms, cbool symmetric)
    PairPointer make_reversed "make_pair<renyi::ReversedPair>"(PairPointer base)
    PairPointer make_sampled "make_pair<renyi::PoissonSampledPair>"(PairPointer base, double rate)
    PairPointer make_mixed "make_pair<renyi::MixedPair>"(vector[WeightedPair] parts)
    PairPointer make_bracketed "make_pair<renyi::BracketedPair>"(PairPointer upper, PairPointer lower)


cdef Pair wrapped(PairPointer pair):
    cdef Pair result = Pair.__new__(Pair)
    result.pair = move(pair)
    return result


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

    def discretised(self, double step, double offset, int64_t first, int64_t last):
        """Masses at the nodes offset + step i: upper, lower, both at infinity, error of the losses."""
        cdef LatticePair found = cpp_discretise(self.pair.get()[0], Lattice(step, offset, first, last))
        upper, lower = np.array(found.upper), np.array(found.lower)
        return upper, lower, found.upper_infinite, found.lower_infinite, found.drift


include "loss_composition.pxi"
