// Sums of independent losses: convolutions, then the ends are cut off and the lattice is made coarser.
#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/pair/convolution.hpp"
#include "renyi/pair/division.hpp"
#include "renyi/pair/loss_law.hpp"

namespace renyi {

namespace {

constexpr double kLargestStep = 512.0;

double node_of(const LossLaw& law, std::size_t i) noexcept {
    return law.step * static_cast<double>(law.first + static_cast<std::int64_t>(i));
}

// On a lattice of twice the step. An odd node, with h to both neighbours, goes to both: from below in halves, from
// above so that both masses are kept. 16u.
LossLaw doubled(const LossLaw& law) {
    const double h = law.side == Side::upper ? law.step : 0.0;
    const double up = 1.0 / (1.0 + lane_exp(-h)), down = up * lane_exp(-h);
    const std::int64_t first = law.first >= 0 ? law.first / 2 : -((1 - law.first) / 2);
    const auto odd = static_cast<std::size_t>(law.first - 2 * first);
    const auto halved = [&](const std::vector<double>& masses) {
        std::vector<double> found((masses.size() + odd) / 2 + 1);
        for (std::size_t i = 0; i < masses.size(); ++i) {
            const std::size_t at = (i + odd) / 2;
            if ((i + odd) % 2 == 0) {
                found[at] += masses[i];
            } else {
                found[at] += down * masses[i];
                found[at + 1] += up * masses[i];
            }
        }
        return found;
    };
    LossLaw found{law};
    found.step = 2.0 * law.step;
    found.first = first;
    found.p = halved(law.p);
    if (law.side == Side::lower) found.q = halved(law.q);
    found.error += 16.0 * kUnitRoundoff;
    found.drift += 16.0 * kUnitRoundoff * law.step;
    return found;
}

// Drops the ends: from above P goes up, to the next node or to infinity; from below they are merged into the next one.
LossLaw trimmed(LossLaw law) {
    const bool upper = law.side == Side::upper;
    const auto other = [&](std::size_t i) {
        return upper ? law.p[i] * deep_exp(std::min(-node_of(law, i), 700.0)) : law.q[i];
    };
    std::size_t start = 0, stop = law.p.size();
    double lost_q = 0.0, lost_p = 0.0, moved_p = 0.0, moved_q = 0.0;
    for (double q; start + 1 < stop && lost_q + (q = other(start)) <= kTail; ++start) {
        lost_q += q;
        moved_p += law.p[start];
    }
    for (; stop > start + 1 && lost_p + law.p[stop - 1] <= kTail; --stop) {
        lost_p += law.p[stop - 1];
        moved_q += other(stop - 1);
    }
    law.p[start] += moved_p;
    if (upper) {
        law.cut_above += lost_p * (1.0 + 2.0 * law.error);
        law.cut_below += (lost_q + moved_q) * (1.0 + 2.0 * law.error);
    } else {
        law.q[start] += lost_q;
        law.p[stop - 1] += lost_p;
        law.q[stop - 1] += moved_q;
        law.q = {law.q.begin() + static_cast<std::ptrdiff_t>(start), law.q.begin() + static_cast<std::ptrdiff_t>(stop)};
    }
    law.p = {law.p.begin() + static_cast<std::ptrdiff_t>(start), law.p.begin() + static_cast<std::ptrdiff_t>(stop)};
    law.first += static_cast<std::int64_t>(start);
    law.error += static_cast<double>(start + 4) * kUnitRoundoff;
    return law;
}

double either(double a, double b, Side side) noexcept {
    if (side == Side::lower) return std::max(a + b - a * b - 4.0 * kUnitRoundoff * (a + b), 0.0);
    return std::min((a + b) * (1.0 + 4.0 * kUnitRoundoff), 1.0);
}

}  // namespace

LossLaw sum_of(LossLaw a, LossLaw b, double points) {
    while (a.step < b.step) a = doubled(a);
    while (b.step < a.step) b = doubled(b);
    const double rounding = static_cast<double>(std::min(a.p.size(), b.p.size()) + 4) * kUnitRoundoff;
    LossLaw sum{a.side,
                a.step,
                a.first + b.first,
                convolved(a.p, b.p),
                a.side == Side::lower ? convolved(a.q, b.q) : std::vector<double>{},
                either(a.infinite, b.infinite, a.side),
                either(a.null, b.null, a.side),
                a.error + b.error + rounding,
                a.drift + b.drift,
                either(a.cut_above, b.cut_above, a.side),
                either(a.cut_below, b.cut_below, a.side),
                a.top + b.top,
                a.bottom + b.bottom};
    sum = trimmed(std::move(sum));
    while (static_cast<double>(sum.p.size()) > 2.0 * points && sum.step < kLargestStep) sum = doubled(sum);
    return sum;
}

LossLaw power(LossLaw law, std::int64_t count, double points) {
    while (count % 2 == 0) {
        law = sum_of(law, law, points);
        count /= 2;
    }
    LossLaw total = law;
    while ((count /= 2) > 0) {
        law = sum_of(law, law, points);
        if (count % 2 == 1) total = sum_of(std::move(total), law, points);
    }
    return total;
}

}  // namespace renyi
