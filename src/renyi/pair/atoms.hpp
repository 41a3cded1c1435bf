// Pairs of distributions on finitely many outcomes.
#pragma once

#include <cstdint>
#include <vector>

#include "renyi/pair/pair.hpp"

namespace renyi {

class AtomsPair final : public Pair {
public:
    // Atoms in any order; `bounded` where they are all there is.
    // `moment`: the Rényi curve of a symmetric pair, where it is known better than from the atoms.
    AtomsPair(Spans atoms, bool symmetric, bool bounded = true, CurvePointer moment = nullptr);

    // Neighbours between which nothing is to be divided come as one span.
    Spans spans(Side, const Fineness& fineness) const override;
    CurvePointer moment(Direction direction) const override { return moment_ ? moment_ : Pair::moment(direction); }
    bool symmetric() const noexcept override { return symmetric_; }

private:
    Spans atoms_;  // by their losses
    bool symmetric_;
    CurvePointer moment_;
};

// Probabilities of the same outcomes under P and Q; they need not be sorted, zeros are allowed.
PairPointer discrete_pair(const std::vector<double>& p, const std::vector<double>& q);

// One of k >= 1 answers: the true one with probability p in [0, 1], each other equally likely; two records of different
// answers.
PairPointer randomized_response(double p, std::int64_t choices);

// The same answer against a uniform one.
PairPointer response_against_uniform(double p, std::int64_t choices);

// The pair that dominates every (epsilon, delta)-private mechanism: delta where Q vanishes, delta where P does, the
// rest a response of loss epsilon (Kairouz, Oh, Viswanath 2015, arXiv 1311.0776). Spans for epsilon in [0, 700],
// moments for every one.
PairPointer approximate_privacy(double epsilon, double delta);

}  // namespace renyi
