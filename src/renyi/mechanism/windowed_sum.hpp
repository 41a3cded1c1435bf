// Sums of w_l X_l over very many whole l, of which only a few windows count.
//
// The weights w_l are binomial terms, so log w is concave; X_l <= e^{G_l + c} with G convex in l and c constant on
// [a, b] (Terms::limit). On a block [a, b] log w lies below its tangents at both ends and G below its chord: a bound
// on every term from the two ends alone. Blocks are taken in falling order of that bound times their length, split in
// the middle until they are short enough to be summed term by term, and given up together once what is left cannot
// reach 2^-60 of the sum. Nothing is assumed of the number of peaks: the bulk near the mean of the weights and the end
// l = n, where G wins, are the usual two.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "renyi/fp/scaled.hpp"
#include "renyi/special/binomial_terms.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

// Terms has a type Value (what is known of a mechanism at the order l) and
//   Value value(double l)                           the costly part
//   double exponent(const Value&, double l)         G_l
//   double limit(const Value& at_b, double b)       c of a block that ends at b
//   void add(const Value&, double l, const Scaled& weight)
//   double log_total()                              of what was added, -inf for nothing
template <class Terms>
class WindowedSum {
public:
    WindowedSum(const BinomialTerms& weights, Terms& terms) : weights_(weights), terms_(terms) {}

    void run(double first, double last) {
        if (last - first < kLongest) return add(first, last);
        push(point(first), point(last));
        while (!blocks_.empty()) {
            const Block block = blocks_.front();
            const double left = block.bound + lane_log(static_cast<double>(blocks_.size()));
            if (left < terms_.log_total() - 60.0 * kLog2) return;
            std::pop_heap(blocks_.begin(), blocks_.end());
            blocks_.pop_back();
            if (block.b.l - block.a.l < kLongest) {
                add(block.a.l, block.b.l);
                continue;
            }
            const double middle = std::floor(0.5 * (block.a.l + block.b.l));
            push(block.a, point(middle));
            push(point(middle + 1.0), block.b);
        }
    }

private:
    static constexpr double kLongest = 32.0;

    struct Point {
        double l, log_weight, exponent, limit;
    };

    struct Block {
        Point a, b;
        double bound;
        bool operator<(const Block& other) const noexcept { return bound < other.bound; }
    };

    Point point(double l) const {
        const auto value = terms_.value(l);
        return {l, weights_.log_at(l).hi, terms_.exponent(value, l), terms_.limit(value, l)};
    }

    void push(const Point& a, const Point& b) {
        blocks_.push_back({a, b, bound(a, b)});
        std::push_heap(blocks_.begin(), blocks_.end());
    }

    // log of the number of terms times the largest they can be; the slack is for the roundings of this function.
    double bound(const Point& a, const Point& b) const noexcept {
        const double length = b.l - a.l, count = lane_log(length + 1.0);
        const double at_a = a.log_weight + a.exponent, at_b = b.log_weight + b.exponent;
        const double size = std::fabs(a.log_weight) + std::fabs(b.log_weight) + a.exponent + b.exponent;
        const double chord = (b.exponent - a.exponent) / length;
        const double rise = weights_.log_step(a.l) + chord, fall = weights_.log_step(b.l - 1.0) + chord;
        double peak = std::max(at_a, at_b);
        if (rise > 0.0 && fall < 0.0) {
            const double cross = (at_b - at_a - fall * length) / (rise - fall);
            peak = std::max(peak, at_a + rise * std::clamp(cross, 0.0, length));
        }
        return peak + count + b.limit + 1e-3 + 1e-13 * size;
    }

    void add(double first, double last) {
        Scaled w = weights_.at(first);
        for (double l = first;; ++l) {
            terms_.add(terms_.value(l), l, w);
            if (l >= last) return;
            w = weights_.next(w, l);
        }
    }

    const BinomialTerms& weights_;
    Terms& terms_;
    std::vector<Block> blocks_;
};

}  // namespace renyi
