#include "renyi/pair/tabulated_pair.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/golden_section.hpp"
#include "renyi/pair/panels.hpp"

namespace renyi {

namespace {

constexpr double kScan = 12.0;  // parts of a panel in which the loss turns once at most

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

}  // namespace

TabulatedPair::TabulatedPair(std::vector<Table::Panel> panels, double tolerance, Bracket infinite, Bracket null)
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

double TabulatedPair::loss(double x) const noexcept {
    const auto after = std::upper_bound(panels_.begin() + 1, panels_.end(), x,
                                        [](double value, const Table::Panel& p) { return value < p.start; });
    return OnPanel(*(after - 1)).loss(x);
}

// Where the loss, followed from place to place, comes back by more than it may be wrong.
std::vector<double> TabulatedPair::turns() const {
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

// The extremum of sign times the loss, by golden section.
double TabulatedPair::turn_between(double low, double high, double sign) const noexcept {
    const double resolution = 2.0 * kUnitRoundoff * (std::fabs(low) + std::fabs(high));
    return golden_section(low, high, resolution, [&](double x) { return -sign * loss(x); }).place;
}

Spans TabulatedPair::spans(Side, const Fineness& fineness) const {
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

}  // namespace renyi
