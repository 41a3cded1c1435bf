// One epoch of random allocation of any pair (A, B) to t steps: A at one of them, drawn uniformly, and B at the others,
// against B at all. The ratio of both is the mean of t ratios dA/dB, independent under B.
//
// It dominates the epoch of every mechanism whose steps (A, B) dominates, adaptive ones too, in both directions: a channel
// that maps A and B to the outputs of a step with and without the record (Blackwell), step by step. Feldman, Shenfeld
// 2025, arXiv 2502.08202.
#pragma once

#include <mutex>

#include "renyi/pair/mixed.hpp"

namespace renyi {

// (P, Q) with and without the record. Found when first read.
class AllocatedPair final : public BracketedPair {
public:
    // 1 <= steps <= 1e6.
    AllocatedPair(PairPointer base, double steps) : base_(std::move(base)), steps_(steps) {}

    bool symmetric() const noexcept override { return false; }
    const PairPointer& upper() const override { return found(upper_); }
    const PairPointer& lower() const override { return found(lower_); }

private:
    const PairPointer& found(const PairPointer& side) const;

    PairPointer base_;
    double steps_;
    mutable std::once_flag once_;
};

}  // namespace renyi
