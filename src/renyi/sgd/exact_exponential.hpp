// Bernoulli variables of probability e^-x for rational x >= 0, exactly.
//
// A uniform U, drawn 64 bits at a time, is below e^-x or not. Its first word decides but for a case in 2^38 or fewer:
// e^-x in double is known to an error that is added and taken away. Otherwise e^-x is enclosed by two partial sums of
// its series in integer arithmetic of any length and U is lengthened, until they are apart; e^-x is irrational for
// rational x > 0, so that happens with probability 1, and nothing was ever rounded. (Canonne, Kamath, Steinke 2020,
// arXiv 2004.00010, Algorithm 1, draws the series term by term instead, with the same law.)
#pragma once

#include <cstdint>

#include "renyi/sgd/natural.hpp"
#include "renyi/sgd/word_source.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

struct Fraction {
    Natural p, q;
};

// U < e^-(p/q), given the first word of U.
bool is_below_exp(WordSource& words, std::uint64_t first, const Fraction& x);

// x to within absolute_error, and a function that gives it exactly. The error is below 1 wherever e^-x > 2^-64.
template <class Exact>
bool bernoulli_exp(WordSource& words, double x, double absolute_error, const Exact& exact) {
    const std::uint64_t word = words.next64();
    const auto u = static_cast<double>(word);  // relative error 2^-53, as have lane_exp (3u) and what follows
    const double e = lane_exp(-x) * 0x1p64;
    const double margin = e * (2.0 * absolute_error + 0x1p-49) + 4.0;
    if (u < e - margin) return true;
    if (u > e + margin) return false;
    return is_below_exp(words, word, exact());
}

}  // namespace renyi
