// From above, a span between two nodes is shared between them so that both masses are kept (Doroshenko, Ghazi, Kamath,
// Kumar, Manurangsi 2022, arXiv 2207.04380, "connect the dots"): (p - e^{e_i} q)/(1 - e^-h) goes to the upper node. A
// longer span is shared between its own ends first.
//
// From below, the mass of a span is merged and handed to one of the two nodes around it, and then Q is raised. The node
// e_i may keep masses (p, q) if p >= e^{e_i} q. Handed down from a distance d above a node, the mass p brings the node
// the surplus p (1 - e^-d); handed up from h - d below the next node, it costs that node p (e^{h-d} - 1). The shares
// are such that every node's surplus is hardly more than 0, so that only the variance inside the cells is lost.
//
// Errors. Losses with errors of at most e move labels, which `drift` counts, and distances to nodes, which adds 2e/h to
// a share.
#include "renyi/transform/lattice/lattice.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/fp/double_double.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/pair/division.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi::lattice {

namespace {

constexpr double kOnEdge = 1e-6;  // of a half-cell: so much of it may lie beyond its edge
constexpr double kFew = 6.0;      // half-cells, on which a loss is nearly linear

// Finds where losses lie among the nodes, and sums their masses there.
class Nodes {
public:
    explicit Nodes(const Lattice& lattice)
        : lattice_(lattice),
          cells(static_cast<std::int64_t>(lattice.size()) - 1),
          masses(lattice.size()),
          terms_(lattice.size()) {}

    // Index of the node below a loss; -1 and `cells` outside.
    std::int64_t below(double loss) const noexcept {
        const double place = std::floor((loss - lattice_.offset) / lattice_.step) - static_cast<double>(lattice_.first);
        return static_cast<std::int64_t>(std::clamp(place, -1.0, static_cast<double>(cells)));
    }
    double loss(std::int64_t i) const noexcept { return lattice_.loss(static_cast<std::size_t>(i)); }
    double step() const noexcept { return lattice_.step; }

    void add(std::int64_t i, double mass) noexcept {
        masses[static_cast<std::size_t>(i)] += mass;
        terms_[static_cast<std::size_t>(i)] += 1.0;
    }

    // How far the loss may be from its place relative to a node.
    double error_of(double loss, double loss_error) const noexcept {
        const double size = std::min(std::fabs(loss), std::max(std::fabs(this->loss(0)), std::fabs(this->loss(cells))));
        const double error = loss_error + 4.0 * kUnitRoundoff * (size + std::fabs(lattice_.offset) + lattice_.step);
        drift = std::max(drift, error);
        return error;
    }

    // Puts an atom on the node that it meets, if it meets one.
    bool add_on_node(const Span& span, double mass) noexcept {
        if (span.low != span.high) return false;
        const std::int64_t i = std::max<std::int64_t>(below(span.mean + 0.5 * lattice_.step), 0);
        const double distance = std::fabs(span.mean - loss(i));
        const double reach =
            span.loss_error + 4.0 * kUnitRoundoff * (std::fabs(span.mean) + std::fabs(lattice_.offset));
        if (distance > 4.0 * reach) return false;
        drift = std::max(drift, distance + reach);
        add(i, mass);
        return true;
    }

    // The sums, rounded up (sign 1) or down (-1): each term to 16u, and one u for each addition.
    std::vector<double> rounded(double sign) && {
        for (std::size_t i = 0; i < masses.size(); ++i) masses[i] *= 1.0 + sign * (terms_[i] + 16.0) * kUnitRoundoff;
        return std::move(masses);
    }

private:
    Lattice lattice_;

public:
    std::int64_t cells;
    std::vector<double> masses;
    mutable double drift = 0.0;

private:
    std::vector<double> terms_;
};

class Above {
public:
    explicit Above(const Lattice& lattice)
        : nodes(lattice), spread(lattice.size()), one_minus_(-lane_expm1(-lattice.step)) {}

    void add(const Span& span) {
        const double mass = span.p * (1.0 + span.mass_error);
        if (nodes.add_on_node(span, mass)) return;
        const std::int64_t first = nodes.below(span.low), last = nodes.below(span.high);
        if (last < 0) return nodes.add(0, mass);
        const double error = 4.0 * nodes.error_of(span.mean, span.loss_error);
        if (first == last) return share(first, span.mean, mass, error, 0.0);
        const double width = -lane_expm1(span.low - span.high),
                     apart = (span.mean - span.low) * (span.high - span.mean);
        const double raised = mass * std::min((error - lane_expm1(span.low - span.mean)) / width, 1.0);
        share(first, span.low, mass - raised, 0.0, apart);
        share(last, span.high, raised, 0.0, apart);
    }

    Nodes nodes;
    std::vector<double> spread;
    double infinite = 0.0;

private:
    // Shares the mass between node i and the next; `apart` is its spread so far. After the last node comes infinity.
    void share(std::int64_t i, double loss, double mass, double error, double apart) {
        if (i < 0) return nodes.add(0, mass);
        const double rise = error - lane_expm1(std::min(nodes.loss(i) - loss, 0.0));
        const double share = std::min(i < nodes.cells ? rise / one_minus_ : rise, 1.0);
        nodes.add(i, mass * (1.0 - share));
        if (i < nodes.cells) {
            nodes.add(i + 1, mass * share);
            const double below = loss - nodes.loss(i);
            apart += std::max(below * (nodes.step() - below), 0.0);
            spread[static_cast<std::size_t>(i)] += mass * (1.0 - share) * apart;
            spread[static_cast<std::size_t>(i) + 1] += mass * share * apart;
        } else {
            infinite += mass * share;
        }
    }

    double one_minus_;  // 1 - e^-h
};

double ratio(double top, double bottom) noexcept { return bottom > 0.0 ? std::min(top / bottom, 1.0) : 0.0; }

class Below {
public:
    explicit Below(const Lattice& lattice) : nodes(lattice), above_(lattice.size() + 1), below_(lattice.size() + 1) {}

    void add(const Span& span) {
        const double mass = span.p * std::max(1.0 - span.mass_error, 0.0);
        if (nodes.add_on_node(span, mass)) return;
        const std::int64_t i = nodes.below(span.mean);
        if (i < 0) return;
        if (i >= nodes.cells) return nodes.add(nodes.cells, mass);
        const double distance = std::clamp(span.mean - nodes.loss(i), 0.0, nodes.step());
        const double error = nodes.error_of(span.mean, span.loss_error);
        HalfCell& half = (distance <= 0.5 * nodes.step() ? above_ : below_)[static_cast<std::size_t>(i) + 1];
        half.mass += mass;
        half.terms += 1.0;
        half.gain += std::max(-lane_expm1(-distance) - error, 0.0) * mass;
        half.cost += (lane_expm1(nodes.step() - distance) + error) * mass;
    }

    // Node i may keep what it holds if its surplus is not negative:
    //     (1 - f_i) gain_a_i + g_i gain_b_i >= (1 - g_{i-1}) cost_b_{i-1} + f_{i-1} cost_a_{i-1},
    // f the share of the half-cell above a node that is handed up, g that of the one below the next that is handed
    // down.
    void hand_on() {
        round_outward();
        const std::size_t size = above_.size();
        std::vector<double> f(size), g(size);  // index i + 1, like the half-cells: empty ones at both ends
        for (std::size_t i = 1; i < size; ++i) {
            const double difference = above_[i].gain - below_[i - 1].cost;
            f[i] = ratio(std::max(difference, 0.0), above_[i].gain + above_[i - 1].cost);
            g[i - 1] = ratio(std::max(-difference, 0.0), below_[i - 1].cost + below_[i].gain);
        }
        for (std::size_t i = 1; i < size; ++i) {
            const HalfCell &a = above_[i - 1], &b = below_[i - 1];
            const double surplus = (1.0 - f[i]) * above_[i].gain + g[i] * below_[i].gain;
            const double deficit = (1.0 - g[i - 1]) * b.cost + f[i - 1] * a.cost;
            double missing = std::max(deficit - surplus + 8.0 * kUnitRoundoff * (deficit + surplus), 0.0);
            // Take back first what was handed up, the farthest; then hand down more.
            const double returned = std::min(ratio(missing, a.cost), f[i - 1]);
            f[i - 1] -= returned;
            missing = std::max(missing - returned * a.cost * (1.0 - 4.0 * kUnitRoundoff), 0.0);
            g[i - 1] = std::min(g[i - 1] + ratio(missing, b.cost) * (1.0 + 4.0 * kUnitRoundoff), 1.0);
        }
        for (std::size_t i = 1; i + 1 < size; ++i) {
            const auto node = static_cast<std::int64_t>(i) - 1;
            nodes.add(node, (1.0 - f[i]) * above_[i].mass + g[i] * below_[i].mass);
            nodes.add(node + 1, (1.0 - g[i]) * below_[i].mass + f[i] * above_[i].mass);
        }
    }

    Nodes nodes;

private:
    // Mass of one half of a cell, the surplus that it brings to the node below and the cost to the node above.
    struct HalfCell {
        double mass = 0.0, gain = 0.0, cost = 0.0, terms = 0.0;
    };

    void round_outward() noexcept {
        for (std::vector<HalfCell>* halves : {&above_, &below_}) {
            for (HalfCell& half : *halves) {
                const double rounding = (half.terms + 16.0) * kUnitRoundoff;
                half.mass *= 1.0 - rounding;
                half.gain *= 1.0 - 2.0 * rounding;
                half.cost *= 1.0 + 2.0 * rounding;
            }
        }
    }

    std::vector<HalfCell> above_, below_;  // at index i + 1: above node i, and below node i + 1
};

}  // namespace

LatticePair discretise(const Pair& pair, const Lattice& lattice) {
    // Divides losses at the nodes and half-way between them.
    const double half = 0.5 * lattice.step;
    const double first = 2.0 * static_cast<double>(lattice.first), last = 2.0 * static_cast<double>(lattice.last);
    const CutBy fineness([&, offset = lattice.offset](double low, double high) {
        const double start = std::max(std::floor((low - offset) / half + kOnEdge) + 1.0, first);
        const double end = std::min(std::ceil((high - offset) / half - kOnEdge) - 1.0, last);
        if (!(start <= end)) return kFine;
        return end - start > kFew ? kAnywhere : offset + half * std::floor(0.5 * (start + end));
    });
    Above above(lattice);
    Below below(lattice);
    const Spans found = pair.spans(Side::upper, fineness);
    for (const Span& span : found.spans) above.add(span);
    for (const Span& span : found.spans) below.add(span);
    below.hand_on();
    const double terms = static_cast<double>(found.spans.size());
    const double beyond = above.infinite * (1.0 + (terms + 16.0) * kUnitRoundoff);
    return {lattice,
            std::move(above.nodes).rounded(1.0),
            std::move(below.nodes).rounded(-1.0),
            found.infinite.upper * (1.0 + 4.0 * kUnitRoundoff) + beyond,
            found.infinite.lower * (1.0 - 4.0 * kUnitRoundoff),
            std::max(above.nodes.drift, below.nodes.drift),
            beyond,
            std::move(above.spread)};
}

namespace {

constexpr std::size_t kBlock = 256;

RENYI_INLINE double larger(double a, double b) noexcept { return a > b ? a : b; }
RENYI_INLINE double smaller(double a, double b) noexcept { return a < b ? a : b; }

// Calls add(i, lane) for start <= i < stop, in blocks of lanes.
template <class Add>
RENYI_INLINE void in_lanes(std::size_t start, std::size_t stop, const Add& add) noexcept {
    std::size_t i = start;
    for (; i + kLanes <= stop; i += kLanes)
        for (int l = 0; l < kLanes; ++l) add(i + l, l);
    for (int l = 0; i < stop; ++i, ++l) add(i, l);
}

// The compensated sum of blocks, each of its lanes.
template <class Term>
RENYI_INLINE double sum_in_blocks(std::size_t n, const Term& term) noexcept {
    DoubleDouble sum{0.0, 0.0};
    for (std::size_t start = 0; start < n; start += kBlock) {
        double lane[kLanes] = {};
        in_lanes(start, start + kBlock < n ? start + kBlock : n,
                 [&](std::size_t i, int l) RENYI_INLINED { lane[l] += term(i); });
        sum = sum + total(lane);
    }
    return sum.hi;
}

}  // namespace

RENYI_MULTIVERSION void log_masses(const double* masses, std::size_t n, double* out) noexcept {
    for (std::size_t i = 0; i < n; ++i) out[i] = lane_log(larger(masses[i], 0x1p-1022));
}

RENYI_MULTIVERSION TiltedPeak tilted_peak(const double* logs, const double* losses, std::size_t n, double t) noexcept {
    double best[kLanes], at[kLanes];
    for (int l = 0; l < kLanes; ++l) best[l] = -kInfinity, at[l] = 0.0;
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (int l = 0; l < kLanes; ++l) {
            const double exponent = logs[i + l] + t * losses[i + l];
            const bool higher = exponent > best[l];
            at[l] = select(higher, losses[i + l], at[l]);
            best[l] = select(higher, exponent, best[l]);
        }
    }
    TiltedPeak peak{-kInfinity, 0.0};
    for (int l = 0; l < kLanes; ++l) {
        if (best[l] > peak.exponent) peak = {best[l], at[l]};
    }
    for (; i < n; ++i) {
        const double exponent = logs[i] + t * losses[i];
        if (exponent > peak.exponent) peak = {exponent, losses[i]};
    }
    return peak;
}

RENYI_MULTIVERSION TiltedSums tilted_sums(const double* logs, const double* losses, std::size_t n, double t,
                                          TiltedPeak peak) noexcept {
    double mass[kLanes] = {}, first[kLanes] = {}, second[kLanes] = {};
    in_lanes(0, n, [&](std::size_t i, int l) RENYI_INLINED {
        const double apart = losses[i] - peak.loss;
        const double w = lane_exp((logs[i] + t * losses[i]) - peak.exponent);
        mass[l] += w;
        first[l] += w * apart;
        second[l] += w * apart * apart;
    });
    return {total(mass), total(first), total(second)};
}

RENYI_MULTIVERSION void tilted_weights(const double* masses, std::size_t n, double theta, double centre,
                                       double* out) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
        // The centre makes the exponents of positive masses at most 745.
        const double half = smaller(0.5 * (theta * static_cast<double>(i) - centre), 400.0);
        const double part = lane_exp(half);
        out[i] = masses[i] * part * part;
    }
}

RENYI_MULTIVERSION double sum_of(const double* a, std::size_t n) noexcept {
    return sum_in_blocks(n, [&](std::size_t i) RENYI_INLINED { return a[i]; });
}

RENYI_MULTIVERSION double exponential_sum(const double* a, std::size_t n, double slope, double first, double step,
                                          double top) noexcept {
    return sum_in_blocks(n, [&](std::size_t i) RENYI_INLINED {
        const double loss = first + step * static_cast<double>(i);
        return a[i] * exp_of(reduce_exp(larger(slope * loss - top, -708.0)));
    });
}

RENYI_MULTIVERSION TwoSums two_products(const double* a, const double* w, const double* v, std::size_t n) noexcept {
    double first[kLanes] = {}, second[kLanes] = {};
    in_lanes(0, n, [&](std::size_t i, int l) RENYI_INLINED {
        first[l] += a[i] * w[i];
        second[l] += a[i] * v[i];
    });
    return {total(first), total(second)};
}

}  // namespace renyi::lattice
