// Pairs of distributions on a few outcomes, whose doubles are exact or their error is stated.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "renyi/pair/atoms.hpp"

struct Outcome {
    long double p, q;
};

inline renyi::PairPointer pair_of(const std::vector<Outcome>& outcomes) {
    renyi::Spans spans;
    for (const Outcome& o : outcomes) {
        const double p = static_cast<double>(o.p), q = static_cast<double>(o.q);
        if (p == 0.0) {
            spans.null = {q * (1.0 - 0x1p-50), q * (1.0 + 0x1p-50)};
        } else if (q == 0.0) {
            spans.infinite = {p * (1.0 - 0x1p-50), p * (1.0 + 0x1p-50)};
        } else {
            const double loss = static_cast<double>(std::log(o.p / o.q));
            spans.spans.push_back({loss, loss, loss, p, q, 0x1p-51, 0x1p-50 * (1.0 + std::fabs(loss))});
        }
    }
    return std::make_shared<renyi::AtomsPair>(spans, false);
}
