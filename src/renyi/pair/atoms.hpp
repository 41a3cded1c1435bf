// Pairs of distributions on finitely many outcomes.
#pragma once

#include <cstdint>
#include <vector>

#include "renyi/pair/pair.hpp"

namespace renyi {

class AtomsPair final : public Pair {
public:
    // `atoms`: in any order. `bounded`: whether no loss lies beyond the atoms.
    // `moment`: the Rényi curve of a symmetric pair, where a better one than that of the atoms is known.
    AtomsPair(Spans atoms, bool symmetric, bool bounded = true, CurvePointer moment = nullptr);

    // Joins neighbouring atoms into one span if no cut lies between them.
    Spans spans(Side, const Fineness& fineness) const override;
    CurvePointer moment(Direction direction) const override { return moment_ ? moment_ : Pair::moment(direction); }
    bool symmetric() const noexcept override { return symmetric_; }

private:
    Spans atoms_;  // sorted by loss
    bool symmetric_;
    CurvePointer moment_;
};

// The pair with these probabilities of the same outcomes under P and Q, in any order; zeros are allowed.
PairPointer discrete_pair(const std::vector<double>& p, const std::vector<double>& q);

// Randomized response over k >= 1 answers: the true answer has probability p in [0, 1], all others are equally likely.
// P and Q belong to two records with different answers.
PairPointer randomized_response(double p, std::int64_t choices);

// The output of randomized response (P) against a uniform answer (Q).
PairPointer response_against_uniform(double p, std::int64_t choices);

// The pair that dominates every (epsilon, delta)-private mechanism: P has mass delta where Q vanishes, Q has mass delta
// where P vanishes, and the rest is a binary randomized response of loss epsilon (Kairouz, Oh, Viswanath 2015,
// arXiv 1311.0776). Spans exist for epsilon in [0, 700], moments for every epsilon >= 0.
PairPointer approximate_privacy(double epsilon, double delta);

}  // namespace renyi
