#include "renyi/pair/with_replacement.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "renyi/pair/division.hpp"
#include "renyi/pair/mixed.hpp"
#include "renyi/pair/sampled.hpp"
#include "renyi/pair/spliced.hpp"
#include "renyi/special/binomial_tail.hpp"

namespace renyi {

namespace {

constexpr double kLikely = 1e-17, kSeen = 1e-130;  // relative to the likeliest
constexpr std::size_t kSingles = 64, kRare = 8;    // groups of likely and of rarer numbers

// Masses of first, first + 1, ... > 0 and of all others together, relative to the likeliest.
struct Counts {
    double first;
    std::vector<double> masses;
    std::size_t likely_end;
    double left;
};

// Masses from the mode, without it, to `last` or until they are too rare to be seen: from there on no more than
// r/(1 - r) of the last one remains, r the last ratio.
std::vector<double> side_of(const BinomialTerms& terms, double mode, double last, double& left) {
    const Scaled peak = terms.at(mode);
    const double step = last > mode ? 1.0 : -1.0;
    std::vector<double> masses;
    Scaled term = peak;
    for (double k = mode; k != last; k += step) {
        const Scaled following = step > 0.0 ? terms.next(term, k) : terms.previous(term, k);
        const double mass = ratio(following, peak), fall = ratio(following, term);
        if (mass < kSeen && fall < 1.0) {
            left += mass / (1.0 - fall);
            break;
        }
        masses.push_back(mass);
        term = following;
    }
    return masses;
}

Counts counts_of(const BinomialTerms& terms, double draws, double mode) {
    double left = 0.0;
    const std::vector<double> down = side_of(terms, mode, 1.0, left), up = side_of(terms, mode, draws, left);
    Counts found{mode - static_cast<double>(down.size()), {down.rbegin(), down.rend()}, 0, left};
    found.masses.push_back(1.0);
    found.likely_end = found.masses.size();
    for (const double mass : up) {
        found.masses.push_back(mass);
        if (mass >= kLikely) found.likely_end = found.masses.size();
    }
    return found;
}

// Ends of few groups: one of what is unlikely below, then the likely ones, then the rarer.
std::vector<std::size_t> ends_of(const Counts& counts) {
    std::size_t start = 0;
    while (counts.masses[start] < kLikely) ++start;
    std::vector<std::size_t> ends;
    if (start > 0) ends.push_back(start);
    const auto divide_into = [&ends](std::size_t first, std::size_t last, std::size_t groups) {
        const std::size_t parts = std::min(last - first, groups);
        for (std::size_t i = 1; i <= parts; ++i) ends.push_back(first + (last - first) * i / parts);
    };
    divide_into(start, counts.likely_end, kSingles);
    divide_into(counts.likely_end, counts.masses.size(), kRare);
    return ends;
}

}  // namespace

ReplacedDraws replaced_draws(std::int64_t draws, std::int64_t population) {
    const double m = static_cast<double>(draws), n = static_cast<double>(population);
    const BinomialTerms terms = BinomialTerms::drawn(m, n);
    const double mode = std::clamp(std::floor((m + 1.0) / n), 1.0, m);
    const Counts counts = counts_of(terms, m, mode);
    // P[K > 0] = -expm1(m log(1 - 1/n)); m log1p(-1/n) to 4u of itself.
    const double rate = -lane_expm1(std::max(m * lane_log1p(-1.0 / n), -700.0));
    const double peak = detail::to_double(terms.at(mode)) / rate;
    const double error = detail::binomial_error(m, 2.0 * static_cast<double>(counts.masses.size())) +
                         (32.0 + static_cast<double>(counts.masses.size())) * kUnitRoundoff;
    ReplacedDraws found{{}, std::min(rate * (1.0 + 16.0 * kUnitRoundoff), 1.0), 1, 0.0};
    std::size_t start = 0;
    for (const std::size_t end : ends_of(counts)) {
        double mass = 0.0;
        for (std::size_t i = start; i < end; ++i) mass += counts.masses[i];
        const double rounding = error + static_cast<double>(end - start) * kUnitRoundoff;
        const double weight = std::min(peak * mass * (1.0 + 2.0 * rounding), 1.0);
        found.groups.push_back({static_cast<std::int64_t>(counts.first) + static_cast<std::int64_t>(end) - 1, weight});
        start = end;
    }
    if (counts.left > 0.0) found.groups.push_back({draws, std::min(counts.left * peak * (1.0 + 2.0 * error), 1.0)});
    // The losses are about k P[K >= k] for one that is worth the most.
    double from = 0.0, most = 0.0;
    for (std::size_t i = counts.masses.size(); i-- > 0;) {
        from += counts.masses[i];
        const double k = counts.first + static_cast<double>(i);
        if (k * from <= most) continue;
        most = k * from;
        found.least = static_cast<std::int64_t>(k);
        found.rate_of_least = std::min(from * peak * rate * (1.0 - 3.0 * error), 1.0);
    }
    return found;
}

PairPointer drawn_pair(const ReplacedDraws& drawn, const std::vector<PairPointer>& groups, PairPointer least) {
    std::vector<WeightedPair> parts;
    for (std::size_t i = 0; i < groups.size(); ++i) parts.push_back({drawn.groups[i].weight, groups[i]});
    auto base = std::make_shared<const MixedPair>(std::move(parts));
    auto above = std::make_shared<const SplicedPair>(std::move(base), drawn.rate);
    auto below = std::make_shared<const PoissonSampledPair>(std::move(least), drawn.rate_of_least);
    return std::make_shared<const BracketedPair>(std::move(above), std::move(below));
}

}  // namespace renyi
