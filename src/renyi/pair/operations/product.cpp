// Independent releases as one pair: laws of losses on a lattice and their convolutions.
#include "renyi/pair/operations/operations.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include "renyi/fp/multiversion.hpp"
#include "renyi/pair/atoms.hpp"
#include "renyi/pair/division.hpp"

namespace renyi {

namespace {

// The law of a loss on a lattice, and the laws of sums of independent losses: a pair from above or from below.
//
// Above: spans are shared between the nodes step (first + i) so that both masses are kept ("connect the dots", arXiv
// 2207.04380), a pair that dominates; products of dominating pairs dominate the product. The masses under Q are p e^-l.
// Below: outcomes are merged by the cell of their loss, and after a convolution by the sum of the cells' indices.
// Masses of P and Q are convolved separately, the loss is the log of their ratio. Merging is post-processing. Both
// sides differ from the truth by the variance inside the cells, of second order in the step. Steps are powers of two;
// the step of a law that has become long is doubled.
constexpr double kTail = 1e-150;  // most mass that is cut off at either end

struct LossLaw {
    Side side;
    double step;
    std::int64_t first;
    std::vector<double> p, q;  // q is set from below only
    double infinite, null;     // P-mass where Q vanishes and Q-mass where P vanishes, rounded toward the side
    double error, drift;       // relative error of the masses; absolute error of the losses, from above only
    // From above: the P-mass cut off above and the Q-mass cut off below, and the ends between which all losses lie.
    double cut_above = 0.0, cut_below = 0.0, top = kInfinity, bottom = -kInfinity;
};

constexpr double kSmallestStep = 0x1p-60;  // nodes stay exact
constexpr double kOnEdge = 1e-6;           // distance, in steps, at which an end counts as on an edge
constexpr double kHardlyAny = 1e-200;      // smaller masses may have a large relative error

// Divides at the losses step (i + offset), offset 0 or 1/2, start <= i <= end.
auto at_edges(double step, double offset, double start, double end) {
    return CutBy([=](double low, double high) {
        const double first = std::max(std::floor(low / step - offset + kOnEdge) + 1.0, start);
        const double last = std::min(std::ceil(high / step - offset - kOnEdge) - 1.0, end);
        if (!(first <= last)) return kFine;
        return last - first > 8.0 ? kAnywhere : step * (std::floor(0.5 * (first + last)) + offset);
    });
}

struct Range {
    double low, high;    // range of the losses and 0, without Q-mass kTail below and P-mass kTail above
    double bottom, top;  // range of all losses and 0
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

// Returns a power of two, of which about `points` steps make the range.
double step_of(Range range, double points) noexcept {
    return std::exp2(std::ceil(std::log2(std::max((range.high - range.low) / points, kSmallestStep))));
}

// Sums of the masses of spans by node, and the largest number of terms of one sum.
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

// Shares spans between nodes. An error e of the losses moves the labels by at most e and keeps the masses.
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
    Spans found = pair.spans(Side::upper, at_edges(step, 0.0, static_cast<double>(first), static_cast<double>(last)));
    round_small_masses_outward(found, Side::upper, kHardlyAny);
    Shared all(step, first, static_cast<std::size_t>(last - first + 1));
    for (const Span& s : found.spans) all.add(s);
    const double error = largest(found.spans, &Span::mass_error) + (all.sums.most_terms() + 16.0) * kUnitRoundoff;
    // The mass cut off is less than kTail of Q below, and of P, hence of Q, above.
    const double outward = 1.0 + 2.0 * error, lost = range.cut ? 4.0 * kTail : 0.0;
    // An error of 16u of a share is that of a loss with an error of 16u of the step.
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
        pair.spans(Side::lower, at_edges(step, 0.5, static_cast<double>(first), static_cast<double>(last) - 1.0));
    round_small_masses_outward(found, Side::lower, kHardlyAny);
    Sums sums(static_cast<std::size_t>(last - first + 1));
    for (const Span& s : found.spans)
        sums.add(static_cast<std::int64_t>(std::floor(std::clamp(s.mean, range.low, range.high) / step + 0.5)) - first,
                 s.p, s.q);
    // The error of the loss adds to that of the masses.
    const double error = largest(found.spans, &Span::mass_error) + largest(found.spans, &Span::loss_error) +
                         (sums.most_terms() + 16.0) * kUnitRoundoff;
    return {Side::lower,      step,  first, std::move(sums.p), std::move(sums.q), found.infinite.lower,
            found.null.lower, error, 0.0};
}

// The law of one use, with a step for which it has about `points` nodes.
LossLaw law_of(const Pair& pair, Side side, double points) {
    const CutBy rough([](double low, double high) { return high - low > 2.0 ? kAnywhere : kFine; });
    const Range range = range_of(pair.spans(side, rough).spans);
    const double step = step_of(range, points);
    return side == Side::upper ? shared(pair, range, step) : merged(pair, range, step);
}

constexpr std::size_t kTile = 32;
constexpr double kUp = 0x1p500;

// out[t] = sum_i a[i] b[t - i], 0 <= t < kTile; b is padded on both sides.
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
        // For an output k <= j < k + 32 of the tile, only a[j - last_b], ..., a[j] meet a value of b.
        const auto at = static_cast<std::ptrdiff_t>(k);
        const std::ptrdiff_t from = std::max<std::ptrdiff_t>(at - last_b, 0);
        const std::ptrdiff_t to = std::min<std::ptrdiff_t>(at + static_cast<std::ptrdiff_t>(kTile), count);
        if (from < to) tile(factors.data() + from, to - from, start + (at - from), out.data() + k);
    }
    out.resize(size);
    for (double& x : out) x = x / kUp / kUp;
    return out;
}

// Sums of independent losses: the laws are convolved, then the ends are cut off and the lattice is made coarser.

namespace {

constexpr double kLargestStep = 512.0;

double node_of(const LossLaw& law, std::size_t i) noexcept {
    return law.step * static_cast<double>(law.first + static_cast<std::int64_t>(i));
}

// The law on a lattice of twice the step. The mass of an odd node, at distance h from both neighbours, goes to both:
// from below in halves, from above so that the masses of P and Q are kept. The error is 16u.
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

// Drops the ends: from above P-mass moves up, to the next node or to infinity; from below an end is merged into the
// next node.
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

// The law of `count` >= 1 uses, with at most 2 `points` nodes.
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

constexpr double kReliable = 1e-290;  // smaller masses may have underflowed
constexpr double kWork = 3e9;         // most products of all convolutions
constexpr double kDeepest = -300.0;   // at losses below it a mass of P may vanish where that of Q is above 2^-500
constexpr double kNeighbours = 3.0;   // largest distance of outcomes that are blended, in steps

// Returns the number of points for which all convolutions, of 12 products per pair of points, stay within kWork.
double points_for(const std::vector<CountedPair>& parts) noexcept {
    double sums = static_cast<double>(parts.size()) - 1.0;
    for (const CountedPair& part : parts) {
        for (std::int64_t count = part.count; count > 1; count /= 2) sums += 1.0 + static_cast<double>(count % 2);
    }
    return std::clamp(std::sqrt(kWork / (12.0 * std::max(sums, 1.0))), 1024.0, 16384.0);
}

LossLaw composed(const std::vector<CountedPair>& parts, Side side) {
    const double points = points_for(parts);
    LossLaw total = power(law_of(*parts[0].pair, side, points), parts[0].count, points);
    for (std::size_t i = 1; i < parts.size(); ++i) {
        total = sum_of(std::move(total), power(law_of(*parts[i].pair, side, points), parts[i].count, points), points);
    }
    return total;
}

// Adds the mass that was cut off: at the ends of the losses, or beyond all losses.
void add_ends(const LossLaw& law, bool bounded, Spans& found) {
    const double above = law.cut_above + kNegligible, below = law.cut_below + kNegligible;
    if (bounded) {
        const double error = 32.0 * kUnitRoundoff;
        found.spans.push_back({law.top, law.top, law.top, above, above * deep_exp(-law.top), error, 0.0});
        found.spans.push_back({law.bottom, law.bottom, law.bottom, below * deep_exp(law.bottom), below, error, 0.0});
    } else {
        found.infinite.upper = std::min(law.infinite + above, 1.0);
        found.null.upper = std::min(law.null + below, 1.0);
    }
}

PairPointer atoms_above(const std::vector<CountedPair>& parts) {
    const LossLaw law = composed(parts, Side::upper);
    Spans found;
    found.infinite = {law.infinite, law.infinite};  // exact, as this pair defines the upper side
    found.null = {law.null, law.null};
    const bool bounded = std::isfinite(law.top - law.bottom);
    add_ends(law, bounded, found);
    double others = 0.0;
    for (std::size_t i = 0; i < law.p.size(); ++i) {
        if (law.p[i] == 0.0) continue;
        const double loss = law.step * static_cast<double>(law.first + static_cast<std::int64_t>(i));
        const double q = law.p[i] * deep_exp(std::min(-loss, 700.0));
        found.spans.push_back({loss, loss, loss, law.p[i], q, law.error + 8.0 * kUnitRoundoff, law.drift});
        others += q;
    }
    // Where masses of P may have underflowed, the masses of Q there are what is missing to 1.
    const double error = law.error + law.drift + static_cast<double>(law.p.size() + 16) * kUnitRoundoff;
    const bool deep = law.step * static_cast<double>(law.first) < kDeepest;
    const double missing = deep ? std::max(1.0 - others, 0.0) + 2.0 * error : 0.0;
    found.null.upper = std::min(std::max(found.null.upper, missing), 1.0);
    const bool symmetric = std::all_of(parts.begin(), parts.end(), [](const auto& p) { return p.pair->symmetric(); });
    return std::make_shared<const AtomsPair>(std::move(found), symmetric, bounded);
}

double log_ratio(double p, double q) noexcept { return lane_log(p) - lane_log(q); }

// An outcome. Each mass has the error of the law, so that the loss has twice that error and that of the logarithms.
Span outcome(double p, double q, double low, double high, double mass_error) noexcept {
    const double mean = std::clamp(log_ratio(p, q), low, high);
    return {low, mean, high, p, q, mass_error, 2.0 * mass_error + kUnitRoundoff * (2900.0 + 2.0 * std::fabs(mean))};
}

// Returns the outcomes of a law from below. Ends where a mass may have underflowed are merged into the next outcome;
// between them P and Q vanish together.
Spans outcomes_below(const LossLaw& law) {
    Spans found;
    found.infinite = {law.infinite, law.infinite};
    found.null = {law.null, law.null};
    const auto reliable = [&law](std::size_t i) { return law.p[i] > kReliable && law.q[i] > kReliable; };
    std::size_t start = 0, stop = law.p.size();
    while (start < stop && !reliable(start)) ++start;
    while (stop > start && !reliable(stop - 1)) --stop;
    const double error = law.error + static_cast<double>(law.p.size() + 4) * kUnitRoundoff;
    for (std::size_t i = start; i < stop; ++i) {
        if (!reliable(i)) continue;
        double p = law.p[i], q = law.q[i];
        const std::size_t from = i == start ? 0 : i, to = i + 1 == stop ? law.p.size() : i + 1;
        for (std::size_t j = from; j < to; ++j) {
            if (j == i) continue;
            p += law.p[j];
            q += law.q[j];
        }
        const double loss = log_ratio(p, q);
        found.spans.push_back(outcome(p, q, loss, loss, error));
    }
    std::sort(found.spans.begin(), found.spans.end(), [](const Span& a, const Span& b) { return a.mean < b.mean; });
    return found;
}

// Two neighbouring outcomes blended: each goes, at random, to a point u of [0, 1] between them. With lambda_P and
// lambda_Q the differences of the logs of their masses and d = lambda_Q - lambda_P, the densities
//
//     e^(lambda_Q u) expm1(d (1 - u)) / expm1(d)  of a,     e^(lambda_P (u - 1)) expm1(d u) / expm1(d)  of b
//
// give P the density p_a e^(lambda_P u), Q likewise. The loss at u is that of a plus -d u: its density has no jumps, so
// that a lattice represents it to second order in the step.
struct Blend {
    Blend(const Span& a, const Span& b) noexcept
        : start(a.mean), log_p(lane_log(b.p / a.p)), log_q(lane_log(b.q / a.q)), gap(log_p - log_q) {}

    // Outcomes of the same loss need no blend; the rule in `uses` is accurate where masses differ little.
    bool exists(double farthest) const noexcept {
        return 0x1p-20 * farthest < gap && gap <= farthest && std::fabs(log_p) <= 1.0 && std::fabs(log_q) <= 1.0;
    }

    // Integrals of both densities, which are analytic and below e^8 on the ellipse of parameter 15.9: 8 nodes leave an
    // error of 2^-48.
    std::pair<double, double> uses() const noexcept {
        const Rule& rule = rule_for(1.0);
        const double d = log_q - log_p, whole = lane_expm1(d);
        double first = 0.0, second = 0.0;
        for (int i = 0; i < rule.count; ++i) {
            const double u = rule.node[i];
            first += rule.weight[i] * lane_exp(log_q * u) * lane_expm1(d * (1.0 - u)) / whole;
            second += rule.weight[i] * lane_exp(log_p * (u - 1.0)) * lane_expm1(d * u) / whole;
        }
        return {first, second};
    }

    // The integral of e^(lambda u).
    static double growth(double lambda, double from, double to) noexcept {
        const double part = lambda * (to - from);
        return lane_exp(lambda * from) * (part == 0.0 ? to - from : lane_expm1(part) / lambda);
    }

    // The loss at u.
    double operator()(double u) const noexcept { return start + gap * u; }
    double inverse(double loss) const noexcept { return (loss - start) / gap; }

    double start;  // loss of a
    double log_p, log_q, gap;
    double share = 0.0;  // the factor of both densities
};

// The outcomes of a law from below, with neighbours blended.
class BlendedOutcomes final : public Pair {
public:
    // No outcome is used more than once in total: the share of a blend is the smaller of those that use up either of
    // its two outcomes.
    BlendedOutcomes(const LossLaw& law, bool symmetric) : outcomes_(outcomes_below(law)), symmetric_(symmetric) {
        constexpr double kUsesError = 0x1p-44;  // relative
        const std::vector<Span>& all = outcomes_.spans;
        kept_.assign(all.size(), 1.0);
        std::vector<std::pair<double, double>> uses;
        for (std::size_t i = 0; i + 1 < all.size(); ++i) {
            blends_.emplace_back(all[i], all[i + 1]);
            const bool exists = blends_[i].exists(kNeighbours * law.step);
            uses.push_back(exists ? blends_[i].uses() : std::pair{0.0, 0.0});
        }
        const auto used = [&uses](std::size_t i) {
            return (i < uses.size() ? uses[i].first : 0.0) + (i > 0 ? uses[i - 1].second : 0.0);
        };
        for (std::size_t i = 0; i < blends_.size(); ++i) {
            if (uses[i].first == 0.0) continue;
            const double share = (1.0 - kUsesError) / std::max(used(i), used(i + 1));
            blends_[i].share = share;
            kept_[i] -= share * uses[i].first * (1.0 + kUsesError);
            kept_[i + 1] -= share * uses[i].second * (1.0 + kUsesError);
        }
    }

    Spans spans(Side, const Fineness& fineness) const override {
        Spans found;
        found.infinite = outcomes_.infinite;
        found.null = outcomes_.null;
        const std::vector<Span>& all = outcomes_.spans;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (kept_[i] > 0.0) {
                found.spans.push_back(all[i]);
                found.spans.back().p *= kept_[i];
                found.spans.back().q *= kept_[i];
            }
            if (i == blends_.size() || blends_[i].share == 0.0) continue;
            const Blend& blend = blends_[i];
            const double error = std::max(all[i].mass_error, all[i + 1].mass_error) + 16.0 * kUnitRoundoff;
            divide({0.0, 1.0, blend(0.0), blend(1.0)}, blend, fineness, [&](const Part& part) {
                const double p = blend.share * all[i].p * Blend::growth(blend.log_p, part.start, part.end);
                const double q = blend.share * all[i].q * Blend::growth(blend.log_q, part.start, part.end);
                found.spans.push_back(outcome(p, q, part.first, part.last, error));
            });
        }
        return found;
    }
    bool symmetric() const noexcept override { return symmetric_; }

private:
    Spans outcomes_;             // atoms, sorted by loss
    std::vector<double> kept_;   // share of each outcome that is in no blend
    std::vector<Blend> blends_;  // blends of each outcome with the next
    bool symmetric_;
};

}  // namespace

PairPointer product_pair(const std::vector<CountedPair>& parts) {
    PairPointer above = atoms_above(parts);
    auto below = std::make_shared<const BlendedOutcomes>(composed(parts, Side::lower), above->symmetric());
    return std::make_shared<const BracketedPair>(std::move(above), std::move(below));
}

}  // namespace renyi
