#include "renyi/pair/loss_law.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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

// Fine enough for the range of losses to be seen.
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

double largest(const std::vector<Span>& spans, double Span::*error) {
    double found = 0.0;
    for (const Span& s : spans) found = std::max(found, s.*error);
    return found;
}

LossLaw shared(const Pair& pair, Range range, double step) {
    const auto first = static_cast<std::int64_t>(std::floor(range.low / step));
    const auto last = std::max(static_cast<std::int64_t>(std::ceil(range.high / step)), first + 1);
    Spans found = pair.spans(Side::upper, AtEdges(step, 0.0, static_cast<double>(first), static_cast<double>(last)));
    settle_masses(found, Side::upper, kHardlyAny);
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
    settle_masses(found, Side::lower, kHardlyAny);
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

}  // namespace renyi
