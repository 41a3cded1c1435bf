#include "renyi/pair/operations/loss_law.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "renyi/fp/multiversion.hpp"
#include "renyi/pair/division.hpp"

namespace renyi {

namespace {

constexpr double kSmallestStep = 0x1p-60;  // nodes stay exact
constexpr double kOnEdge = 1e-6;
constexpr double kHardlyAny = 1e-200;  // masses that are hardly known

// Divides at step (i + offset), offset 0 or 1/2.
class AtEdges final : public Fineness {
public:
    AtEdges(double step, double offset, double start, double end)
        : step_(step), offset_(offset), start_(start), end_(end) {}
    double cut(double low, double high) const noexcept override {
        const double first = std::max(std::floor(low / step_ - offset_ + kOnEdge) + 1.0, start_);
        const double last = std::min(std::ceil(high / step_ - offset_ - kOnEdge) - 1.0, end_);
        if (!(first <= last)) return kFine;
        return last - first > 8.0 ? kAnywhere : step_ * (std::floor(0.5 * (first + last)) + offset_);
    }

private:
    double step_, offset_, start_, end_;
};

// Fine enough to find the range of losses.
class Panels final : public Fineness {
public:
    double cut(double low, double high) const noexcept override { return high - low > 2.0 ? kAnywhere : kFine; }
};

struct Range {
    double low, high;    // but for kTail of Q below and kTail of P above; 0 among them
    double bottom, top;  // of all
    bool cut;
};

Range range_of(std::vector<Span> spans) {
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.low < b.low; });
    std::size_t start = 0, end = spans.size();
    for (double lost = 0.0; start < end && (lost += spans[start].q) <= kTail;) ++start;
    for (double lost = 0.0; start < end && (lost += spans[end - 1].p) <= kTail;) --end;
    Range found{0.0, 0.0, 0.0, 0.0, start > 0 || end < spans.size()};
    for (const Span& s : spans) {
        found.bottom = std::min(found.bottom, s.low);
        found.top = std::max(found.top, s.high);
    }
    for (; start < end; ++start) {
        found.low = std::min(found.low, spans[start].low);
        found.high = std::max(found.high, spans[start].high);
    }
    return found;
}

// A power of two of which about `points` make the range.
double step_of(Range range, double points) noexcept {
    return std::exp2(std::ceil(std::log2(std::max((range.high - range.low) / points, kSmallestStep))));
}

// The sums over spans, and the largest number of terms of one.
struct Sums {
    explicit Sums(std::size_t size) : p(size), q(size), terms_(size) {}
    void add(std::int64_t i, double mass, double other) noexcept {
        const auto at =
            static_cast<std::size_t>(std::clamp<std::int64_t>(i, 0, static_cast<std::int64_t>(p.size()) - 1));
        p[at] += mass;
        q[at] += other;
        terms_[at] += 1.0;
    }
    double most_terms() const { return *std::max_element(terms_.begin(), terms_.end()); }

    std::vector<double> p, q;

private:
    std::vector<double> terms_;
};

// Shares spans between nodes. Losses wrong by e at most move the labels by as much, with the masses kept.
class Shared {
public:
    Shared(double step, std::int64_t first, std::size_t size)
        : sums(size),
          step_(step),
          one_minus_(-lane_expm1(-step)),
          first_(first),
          size_(static_cast<std::int64_t>(size)) {}

    void add(const Span& s) {
        const std::int64_t low = below(s.low), high = below(s.high);
        if (low == high || s.low == s.high) return share(below(s.mean), s.mean, s.p);
        const double raised = s.p * std::min(lane_expm1(s.low - s.mean) / lane_expm1(s.low - s.high), 1.0);
        share(low, s.low, s.p - raised);
        share(high, s.high, raised);
    }

    Sums sums;
    double infinite = 0.0;

private:
    std::int64_t below(double loss) const noexcept {
        const double place = std::floor(loss / step_) - static_cast<double>(first_);
        return static_cast<std::int64_t>(std::clamp(place, -1.0, static_cast<double>(size_ - 1)));
    }
    void share(std::int64_t i, double loss, double mass) {
        if (i < 0) return sums.add(0, mass, 0.0);
        const double rise = -lane_expm1(std::min(step_ * static_cast<double>(first_ + i) - loss, 0.0));
        const bool last = i == size_ - 1;
        const double upper = mass * std::min(last ? rise : rise / one_minus_, 1.0);
        sums.add(i, mass - upper, 0.0);
        if (last) {
            infinite += upper;
        } else if (upper > 0.0) {
            sums.add(i + 1, upper, 0.0);
        }
    }

    double step_, one_minus_;  // 1 - e^-h
    std::int64_t first_, size_;
};

double largest(const std::vector<Span>& spans, double Span::* error) {
    double found = 0.0;
    for (const Span& s : spans) found = std::max(found, s.*error);
    return found;
}

LossLaw shared(const Pair& pair, Range range, double step) {
    const auto first = static_cast<std::int64_t>(std::floor(range.low / step));
    const auto last = std::max(static_cast<std::int64_t>(std::ceil(range.high / step)), first + 1);
    Spans found = pair.spans(Side::upper, AtEdges(step, 0.0, static_cast<double>(first), static_cast<double>(last)));
    round_small_masses_outward(found, Side::upper, kHardlyAny);
    Shared all(step, first, static_cast<std::size_t>(last - first + 1));
    for (const Span& s : found.spans) all.add(s);
    const double error = largest(found.spans, &Span::mass_error) + (all.sums.most_terms() + 16.0) * kUnitRoundoff;
    // What is cut off is less than kTail of Q below, and of P, hence of Q, above.
    const double outward = 1.0 + 2.0 * error, lost = range.cut ? 4.0 * kTail : 0.0;
    // A share that is wrong by 16u is one of a loss that is wrong by 16u of the step.
    const double drift = largest(found.spans, &Span::loss_error) +
                         kUnitRoundoff * (4.0 * std::max(-range.low, range.high) + 20.0 * step);
    LossLaw law{Side::upper,
                step,
                first,
                std::move(all.sums.p),
                {},
                found.infinite.upper * outward,
                found.null.upper * outward,
                error,
                drift,
                all.infinite * outward,
                lost * outward};
    if (!found.unbounded_above) law.top = range.top + drift;
    if (!found.unbounded_below) law.bottom = range.bottom - drift;
    return law;
}

LossLaw merged(const Pair& pair, Range range, double step) {
    const auto first = static_cast<std::int64_t>(std::floor(range.low / step));
    const auto last = static_cast<std::int64_t>(std::ceil(range.high / step));
    Spans found =
        pair.spans(Side::lower, AtEdges(step, 0.5, static_cast<double>(first), static_cast<double>(last) - 1.0));
    round_small_masses_outward(found, Side::lower, kHardlyAny);
    Sums sums(static_cast<std::size_t>(last - first + 1));
    for (const Span& s : found.spans)
        sums.add(static_cast<std::int64_t>(std::floor(std::clamp(s.mean, range.low, range.high) / step + 0.5)) - first,
                 s.p, s.q);
    // Masses are wrong by the error of the loss besides.
    const double error = largest(found.spans, &Span::mass_error) + largest(found.spans, &Span::loss_error) +
                         (sums.most_terms() + 16.0) * kUnitRoundoff;
    return {Side::lower,      step,  first, std::move(sums.p), std::move(sums.q), found.infinite.lower,
            found.null.lower, error, 0.0};
}

}  // namespace

LossLaw law_of(const Pair& pair, Side side, double points) {
    const Range range = range_of(pair.spans(side, Panels()).spans);
    const double step = step_of(range, points);
    return side == Side::upper ? shared(pair, range, step) : merged(pair, range, step);
}

namespace {

constexpr std::size_t kTile = 32;
constexpr double kUp = 0x1p500;

// out[t] = sum_i a[i] b[t - i], 0 <= t < kTile; b has what it reads on both sides.
RENYI_MULTIVERSION void tile(const double* __restrict a, std::ptrdiff_t size, const double* __restrict b,
                             double* __restrict out) noexcept {
    double sums[kTile] = {};
    for (std::ptrdiff_t i = 0; i < size; ++i) {
        const double factor = a[i];
        const double* row = b - i;
        for (std::size_t t = 0; t < kTile; ++t) sums[t] += factor * row[t];
    }
    for (std::size_t t = 0; t < kTile; ++t) out[t] = sums[t];
}

}  // namespace

std::vector<double> convolved(const std::vector<double>& a, const std::vector<double>& b) {
    if (a.size() > b.size()) return convolved(b, a);
    const std::size_t size = a.size() + b.size() - 1, tiles = (size + kTile - 1) / kTile;
    std::vector<double> factors(a), padded(a.size() + tiles * kTile + kTile), out(tiles * kTile);
    for (double& x : factors) x *= kUp;
    double* start = padded.data() + a.size();
    for (std::size_t i = 0; i < b.size(); ++i) start[i] = b[i] * kUp;
    const auto last_b = static_cast<std::ptrdiff_t>(b.size()) - 1, count = static_cast<std::ptrdiff_t>(a.size());
    for (std::size_t k = 0; k < out.size(); k += kTile) {
        // Of the tile's outputs k <= j < k + 32 only a[j - last_b], ..., a[j] meet a value of b.
        const auto at = static_cast<std::ptrdiff_t>(k);
        const std::ptrdiff_t from = std::max<std::ptrdiff_t>(at - last_b, 0);
        const std::ptrdiff_t to = std::min<std::ptrdiff_t>(at + static_cast<std::ptrdiff_t>(kTile), count);
        if (from < to) tile(factors.data() + from, to - from, start + (at - from), out.data() + k);
    }
    out.resize(size);
    for (double& x : out) x = x / kUp / kUp;
    return out;
}

// Sums of independent losses: convolutions, then the ends are cut off and the lattice is made coarser.

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
