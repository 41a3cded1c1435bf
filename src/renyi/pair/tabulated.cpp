#include "renyi/pair/tabulated.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "renyi/fp/search.hpp"

namespace renyi {

namespace {

// sum_k c_k T_k(t), by Clenshaw's recurrence.
inline double chebyshev_sum(const double* coefficients, double t) noexcept {
    double here = 0.0, before = 0.0;
    for (int k = Table::kDegree; k > 0; --k) {
        const double next = coefficients[k] + 2.0 * t * here - before;
        before = here;
        here = next;
    }
    return coefficients[0] + t * here - before;
}

constexpr int kDegree = Table::kDegree, kPoints = kDegree + 1, kChecks = 8;
constexpr double kDeepest = 745.0;

struct Chebyshev {
    double point[kPoints], weight[kPoints], cosine[kPoints][kPoints];  // points on [-1, 1], Clenshaw-Curtis weights
};

Chebyshev make_chebyshev() {
    Chebyshev c;
    for (int k = 0; k < kPoints; ++k) {
        for (int j = 0; j < kPoints; ++j) c.cosine[j][k] = std::cos(std::numbers::pi * ((j * k) % 24) / kDegree);
        c.point[k] = -std::cos(std::numbers::pi * k / kDegree);
        double sum = 1.0;
        for (int j = 2; j <= kDegree; j += 2) sum -= (j == kDegree ? 1.0 : 2.0) / (j * j - 1.0) * c.cosine[j][k];
        c.weight[k] = sum / kDegree * (k == 0 || k == kDegree ? 1.0 : 2.0);
    }
    return c;
}

const Chebyshev& chebyshev() {
    static const Chebyshev found = make_chebyshev();
    return found;
}

// Computes the Chebyshev coefficients of the polynomial with these values at the points.
void interpolate(const double* values, double* coefficients) {
    const Chebyshev& c = chebyshev();
    for (int j = 0; j <= kDegree; ++j) {
        double sum = 0.0;
        for (int k = 0; k <= kDegree; ++k)
            sum += (k == 0 || k == kDegree ? 0.5 : 1.0) * values[kDegree - k] * c.cosine[j][k];
        coefficients[j] = sum * (j == 0 || j == kDegree ? 1.0 : 2.0) / kDegree;
    }
}

double largest(const double* values) {
    double found = 0.0;
    for (int i = 0; i < kPoints + kChecks; ++i) found = std::max(found, std::fabs(values[i]));
    return found;
}

// Returns the largest distance between the polynomial and the values at the Gauss points.
double missed(const double* coefficients, const double* checks) {
    const Rule& gauss = rule_for(1.0);
    double found = 0.0;
    for (int i = 0; i < kChecks; ++i)
        found = std::max(found, std::fabs(chebyshev_sum(coefficients, 2.0 * gauss.node[i] - 1.0) - checks[i]));
    return found;
}

// The integrals over [-1, 1] from each set of values.
struct Integrals {
    double by_points, by_checks;
};
Integrals integrals(const double* values) {
    const Rule& gauss = rule_for(1.0);
    Integrals sums{0.0, 0.0};
    for (int i = 0; i < kPoints; ++i) sums.by_points += chebyshev().weight[i] * std::exp(values[i]);
    for (int i = 0; i < kChecks; ++i) sums.by_checks += 2.0 * gauss.weight[i] * std::exp(values[kPoints + i]);
    return sums;
}

constexpr double kScan = 12.0;  // parts of a panel; the loss is assumed to turn at most once in each

class OnPanel {
public:
    explicit OnPanel(const Table::Panel& panel)
        : panel_(panel), middle_(0.5 * (panel.start + panel.end)), inverse_(2.0 / (panel.end - panel.start)) {}

    double loss(double x) const noexcept { return chebyshev_sum(panel_.loss, (x - middle_) * inverse_); }
    OutputPoint at(double x, bool positive) const noexcept {
        const double log_p = chebyshev_sum(panel_.log_p, (x - middle_) * inverse_), here = loss(x);
        return {deep_exp(positive ? log_p : log_p - here), here};
    }

private:
    const Table::Panel& panel_;
    double middle_, inverse_;
};

// The pair that a table holds.
class TabulatedPair final : public Pair {
public:
    TabulatedPair(std::vector<Table::Panel> panels, double tolerance, Bracket infinite, Bracket null)
        : panels_(std::move(panels)), tolerance_(tolerance), infinite_(infinite), null_(null) {
        const std::vector<double> found = turns();
        std::size_t next = 0;
        for (std::size_t i = 0; i < panels_.size(); ++i) {
            double start = panels_[i].start;
            for (; next < found.size() && found[next] < panels_[i].end; ++next) {
                if (found[next] > start) sections_.push_back({start, found[next], i});
                start = std::max(start, found[next]);
            }
            sections_.push_back({start, panels_[i].end, i});
        }
    }

    Spans spans(Side, const Fineness& fineness) const override {
        Spans found;
        found.infinite = infinite_;
        found.null = null_;
        found.unbounded_above = found.unbounded_below = false;
        for (const Section& section : sections_) {
            const Table::Panel& panel = panels_[section.panel];
            const OnPanel output(panel);
            const double mass_error = tolerance_ + (16.0 + 8.0 * panel.deepest) * kUnitRoundoff;
            const auto loss = [&output](double x) { return output.loss(x); };
            divide({section.start, section.end, loss(section.start), loss(section.end)}, loss, fineness,
                   [&](const Part& part) {
                       const Rule& rule = rule_for((part.end - part.start) / (panel.end - panel.start));
                       Span span = integrated(part, rule, output, mass_error, panel.loss_error);
                       if (span.high - span.low <= 2.0 * panel.loss_error) {  // a constant loss is an atom
                           span.loss_error += span.high - span.low;
                           span.low = span.high = span.mean;
                       }
                       found.spans.push_back(span);
                   });
        }
        return found;
    }

private:
    struct Section {  // a part of a panel on which the loss is monotone
        double start, end;
        std::size_t panel;
    };

    double loss(double x) const noexcept {
        const auto after = std::upper_bound(panels_.begin() + 1, panels_.end(), x,
                                            [](double value, const Table::Panel& p) { return value < p.start; });
        return OnPanel(*(after - 1)).loss(x);
    }
    // Returns the places where the loss turns: where it comes back by more than its error.
    std::vector<double> turns() const {
        std::vector<double> places, losses, found;
        double noise = 0.0;
        for (const Table::Panel& p : panels_) {
            for (double i = 0.0; i <= kScan; i += 1.0) {
                places.push_back(p.start + (p.end - p.start) * (i / kScan));
                losses.push_back(OnPanel(p).loss(places.back()));
            }
            noise = std::max(noise, 4.0 * p.loss_error);
        }
        double sign = 0.0;
        std::size_t extreme = 0;
        for (std::size_t i = 1; i < places.size(); ++i) {
            const double rise = losses[i] - losses[extreme];
            if (sign == 0.0 && std::fabs(rise) > noise) sign = std::copysign(1.0, rise);
            const bool turned = sign * rise < -noise;
            if (turned) {
                found.push_back(turn_between(places[std::max<std::size_t>(extreme, 1) - 1], places[extreme + 1], sign));
                sign = -sign;
            }
            if (turned || sign * rise > 0.0) extreme = i;
        }
        return found;
    }
    // Returns the place of the maximum of sign times the loss, by golden section.
    double turn_between(double low, double high, double sign) const noexcept {
        const double resolution = 2.0 * kUnitRoundoff * (std::fabs(low) + std::fabs(high));
        return golden_section(low, high, resolution, [&](double x) { return -sign * loss(x); }).place;
    }

    std::vector<Table::Panel> panels_;
    std::vector<Section> sections_;
    double tolerance_;
    Bracket infinite_, null_;
};

}  // namespace

Table::Table(double start, double end, const std::vector<double>& breaks, double tolerance) : tolerance_(tolerance) {
    std::vector<double> ends = breaks;
    for (double i = 0.0; i < kPanels; i += 1.0) ends.push_back(start + (end - start) * (i / kPanels));
    ends.push_back(end);
    std::sort(ends.begin(), ends.end());
    std::vector<Wanted> panels;
    for (std::size_t i = 1; i < ends.size(); ++i)
        if (ends[i - 1] < ends[i]) panels.push_back({ends[i - 1], ends[i], 0});
    want(std::move(panels));
}

void Table::want(std::vector<Wanted> panels) {
    waiting_ = std::move(panels);
    wanted_.clear();
    const Rule& gauss = rule_for(1.0);
    for (const Wanted& w : waiting_) {
        const double middle = 0.5 * (w.start + w.end), half = 0.5 * (w.end - w.start);
        for (int i = 0; i < kPoints; ++i)
            wanted_.push_back(std::clamp(middle + half * chebyshev().point[i], w.start, w.end));
        for (int i = 0; i < kChecks; ++i) wanted_.push_back(w.start + (w.end - w.start) * gauss.node[i]);
    }
}

TableState Table::give(const double* log_p, const double* log_q) {
    const std::vector<Wanted> given = std::move(waiting_);
    std::vector<Wanted> divided;
    for (const Wanted& w : given) {
        for (int i = 0; i < kPoints + kChecks; ++i)
            if (!std::isfinite(log_p[i]) || !std::isfinite(log_q[i])) return TableState::not_finite;
        if (!add(w, log_p, log_q)) {
            if (w.divisions == kDivisions) return TableState::not_smooth;
            const double middle = 0.5 * (w.start + w.end);
            divided.push_back({w.start, middle, w.divisions + 1});
            divided.push_back({middle, w.end, w.divisions + 1});
        }
        log_p += kPoints + kChecks;
        log_q += kPoints + kChecks;
    }
    want(std::move(divided));
    if (!wanted_.empty()) return TableState::wanting;
    if (std::max(p_, q_) > 1.0 + 2.0 * tolerance_) return TableState::too_large;
    std::sort(panels_.begin(), panels_.end(), [](const Panel& a, const Panel& b) { return a.start < b.start; });
    return TableState::finished;
}

// Assumes a relative error of 64u of the values.
bool Table::add(const Wanted& wanted, const double* log_p, const double* log_q) {
    Panel panel{};
    panel.start = wanted.start;
    panel.end = wanted.end;
    panel.deepest = std::max(largest(log_p), largest(log_q));
    const double noise = 64.0 * kUnitRoundoff * (1.0 + panel.deepest);
    double loss[kPoints], checks[kChecks];
    for (int i = 0; i < kPoints; ++i) loss[i] = log_p[i] - log_q[i];
    for (int i = 0; i < kChecks; ++i) checks[i] = log_p[kPoints + i] - log_q[kPoints + i];
    interpolate(log_p, panel.log_p);
    interpolate(loss, panel.loss);
    const double of_log = missed(panel.log_p, log_p + kPoints), of_loss = missed(panel.loss, checks);
    if (!(std::max(of_log, of_loss) <= tolerance_ + noise)) return false;
    const double width = panel.end - panel.start;
    double masses[2];
    for (const bool of_p : {true, false}) {
        const Integrals found = integrals(of_p ? log_p : log_q);
        const bool matters = found.by_checks > std::exp(-kDeepest);
        if (matters && !(std::fabs(found.by_points - found.by_checks) <= (tolerance_ + noise) * found.by_checks))
            return false;
        masses[of_p] = 0.5 * width * found.by_checks;
    }
    p_ += masses[1];
    q_ += masses[0];
    panel.loss_error = 2.0 * of_loss + 16.0 * kUnitRoundoff * panel.deepest;
    panels_.push_back(panel);
    return true;
}

// Mass missing to 1 counts as infinite or null if the tolerance does not explain it.
PairPointer Table::pair() const {
    const auto missing = [this](double mass) {
        const double lost = 1.0 - mass;
        return lost > 2.0 * tolerance_ ? Bracket{lost - 2.0 * tolerance_, lost + 2.0 * tolerance_} : Bracket{0.0, 0.0};
    };
    return std::make_shared<const TabulatedPair>(panels_, tolerance_, missing(p_), missing(q_));
}

}  // namespace renyi
