// Pairs of finitely many outcomes, from their probabilities.
#pragma once

#include <cstdint>
#include <vector>

#include "renyi/pair/atoms.hpp"

namespace renyi {

// Probabilities of the same outcomes under P and Q; they need not be sorted, zeros are allowed.
AtomsPair discrete_pair(const std::vector<double>& p, const std::vector<double>& q);

// One of k >= 1 answers: the true one with probability p in [0, 1], each other equally likely; two records of different
// answers.
AtomsPair randomized_response(double p, std::int64_t choices);

// The same answer against a uniform one.
AtomsPair response_against_uniform(double p, std::int64_t choices);

// The pair that dominates every (epsilon, delta)-private mechanism: delta where Q vanishes, delta where P does, the
// rest a response of loss epsilon in [0, 700] (Kairouz, Oh, Viswanath 2015, arXiv 1311.0776).
AtomsPair approximate_privacy(double epsilon, double delta);

}  // namespace renyi
