#include "renyi/sgd/samplers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "renyi/special/elementary_dd.hpp"

namespace renyi {

namespace {

// -log(1 - v) for 0 < v <= 1/2, or for v < 1 exact in double. The relative error is 2^-72.
DoubleDouble minus_log1m(DoubleDouble v) noexcept {
    if (v.hi > 0x1p-7) return -log_dd(-v + 1.0);  // absolute error 2^-79
    DoubleDouble sum{1.0 / 16, 0.0};              // v + v^2/2 + ... + v^16/16, truncated at v^17/17 < 2^-116 v
    for (int i = 15; i >= 1; --i) sum = sum * v + DoubleDouble{1.0, 0.0} / DoubleDouble{static_cast<double>(i), 0.0};
    return sum * v;
}

// U = (j + 1/2) 2^-127 folded to v = min(U, 1 - U).
struct WideUniform {
    bool flipped;
    std::uint64_t high, low;

    explicit WideUniform(WordSource& words) noexcept : high(words.next64()), low(words.next64()) {
        flipped = (high >> 63) != 0;
        const std::uint64_t mask = std::uint64_t{0} - static_cast<std::uint64_t>(flipped);
        high ^= mask;
        low = (low ^ mask) | 1u;
    }

    double exponential() const noexcept {
        const double v = static_cast<double>(high) * 0x1p-64 + static_cast<double>(low) * 0x1p-128;
        return flipped ? -lane_log1p(-v) : -lane_log(v);
    }

    DoubleDouble wide_exponential() const noexcept {
        const auto half = [](std::uint64_t word) { return static_cast<double>(word); };
        DoubleDouble v = two_sum(half(high >> 32) * 0x1p-32, half(high & 0xffffffffu) * 0x1p-64);
        v = v + half(low >> 32) * 0x1p-96;
        v = v + half(low & 0xffffffffu) * 0x1p-128;
        return flipped ? minus_log1m(v) : -log_dd(v);
    }
};

class Gaps {
public:
    explicit Gaps(double rate) noexcept : wide_(minus_log1m({rate, 0.0})), c_(wide_.hi) {}

    // Returns the number of records skipped before the next member, or more than any population.
    double next(WordSource& words) const noexcept {
        const WideUniform u(words);
        const double gap = u.exponential() / c_;
        // The relative errors are 4u for the logarithm, u for c and u for the division: 2^-50 in total.
        const double below = std::floor(gap * lowered(14));
        if (below == std::floor(gap * raised(14)) || !(gap < 0x1p54)) return below;
        const DoubleDouble exact = u.wide_exponential() / wide_;
        const double floor = std::floor(exact.hi);
        return floor == exact.hi && exact.lo < 0.0 ? floor - 1.0 : floor;
    }

private:
    DoubleDouble wide_;
    double c_;
};

}  // namespace

std::vector<std::int64_t> poisson_sample(WordSource& words, std::int64_t population, double rate) {
    std::vector<std::int64_t> members;
    if (rate <= 0.0) return members;
    if (rate >= 1.0) {
        members.resize(static_cast<std::size_t>(population));
        std::iota(members.begin(), members.end(), std::int64_t{0});
        return members;
    }
    const double mean = rate * static_cast<double>(population);
    members.reserve(static_cast<std::size_t>(mean + 6.0 * std::sqrt(mean) + 8.0));
    const Gaps gaps(rate);
    for (std::int64_t next = 0;; ++next) {
        const double gap = gaps.next(words);
        if (!(gap < static_cast<double>(population - next))) return members;
        next += static_cast<std::int64_t>(gap);
        members.push_back(next);
    }
}

std::vector<std::int64_t> choose(WordSource& words, std::int64_t population, std::int64_t size) {
    std::vector<std::int64_t> members;
    members.reserve(static_cast<std::size_t>(size));
    const auto draw = [&](std::int64_t last) {
        return static_cast<std::int64_t>(words.below(static_cast<std::uint64_t>(last) + 1));
    };
    if (size > population / 32) {  // a bit per record takes less memory than a table of the members
        std::vector<std::uint64_t> taken(static_cast<std::size_t>(population / 64 + 1));
        const auto take = [&](std::int64_t i) {
            std::uint64_t& word = taken[static_cast<std::size_t>(i / 64)];
            const std::uint64_t bit = std::uint64_t{1} << (i % 64);
            return !(std::exchange(word, word | bit) & bit);
        };
        for (std::int64_t last = population - size; last < population; ++last)
            if (!take(draw(last))) take(last);
        for (std::size_t w = 0; w < taken.size(); ++w)
            for (std::uint64_t rest = taken[w]; rest != 0; rest &= rest - 1)
                members.push_back(static_cast<std::int64_t>(w) * 64 + std::countr_zero(rest));
        return members;
    }
    std::unordered_set<std::int64_t> taken;
    taken.reserve(static_cast<std::size_t>(size) * 2);
    for (std::int64_t last = population - size; last < population; ++last) {
        const std::int64_t drawn = draw(last);
        const std::int64_t member = taken.insert(drawn).second ? drawn : last;
        if (member == last) taken.insert(last);
        members.push_back(member);
    }
    std::sort(members.begin(), members.end());
    return members;
}

void shuffle(WordSource& words, std::int64_t* order, std::size_t size) noexcept {
    for (std::size_t i = size; i > 1; --i) std::swap(order[i - 1], order[words.below(i)]);
}

}  // namespace renyi
