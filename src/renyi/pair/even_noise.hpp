// Noise of an even density over a query moved by 1: P around 1/2, Q around -1/2. Its own reverse.
//
// Outputs v >= 0 are known by x = v - 1/2, which is precise where densities are singular; v < 0 mirrors them. A kernel
// gives, for x >= -1/2,
//
//     at(x), loss(x)         P's density, times `scale`; the loss, >= 0
//     fits(c, w)             whether [c - w, c + w] is a panel
//     mass_error(a, b), loss_error(a, b)   on a panel; the second one absolute
//     breaks()               -1/2, where the loss turns, and where no mass to speak of is left
//     tail_from, tail(x)     from where on the masses beyond x are known in closed form, and the span that they make
#pragma once

#include <utility>
#include <vector>

#include "renyi/fp/double_double.hpp"
#include "renyi/pair/panels.hpp"
#include "renyi/pair/reversed.hpp"

namespace renyi {

template <class Kernel>
class EvenNoise final : public Pair {
public:
    explicit EvenNoise(Kernel kernel) : kernel_(std::move(kernel)) {
        const std::vector<double> breaks = kernel_.breaks();
        const auto fits = [this](double c, double w) { return kernel_.fits(c, w); };
        ends_.push_back(breaks[0]);
        for (std::size_t i = 1; i < breaks.size(); ++i) {
            const std::vector<double> found = panel_ends(breaks[i - 1], breaks[i], fits);
            ends_.insert(ends_.end(), found.begin() + 1, found.end());
        }
        normalise();
    }

    Spans spans(Side, const Fineness& fineness) const override {
        Spans found = upper_half(fineness);
        for (const Span& s : upper_half(Mirrored(fineness)).spans) found.spans.push_back(reversed(s));
        for (Span& s : found.spans) s.mass_error += total_error_;
        found.infinite.upper = found.null.upper = kNegligible;
        found.unbounded_above = found.unbounded_below = !kernel_.bounded;
        return found;
    }
    bool symmetric() const noexcept override { return true; }

private:
    Spans upper_half(const Fineness& fineness) const {
        Spans found;
        for (std::size_t i = 1; i < ends_.size(); ++i) {
            const double a = ends_[i - 1], b = ends_[i];
            if (a >= kernel_.tail_from && fineness.cut(0.0, kernel_.loss(a)) == kFine) {
                found.spans.push_back(kernel_.tail(a));
                return found;
            }
            add_panel(a, b, kernel_, kernel_.mass_error(a, b), kernel_.loss_error(a, b), fineness, found);
        }
        if (ends_.back() >= kernel_.tail_from) found.spans.push_back(kernel_.tail(ends_.back()));
        return found;
    }

    // P's mass at v < 0 is Q's at v > 0.
    void normalise() {
        DoubleDouble total{0.0, 0.0};
        double wrong = 0.0;
        for (const Span& s : upper_half(Coarse{}).spans) {
            total = total + s.p + s.q;
            wrong += (s.p + s.q) * (s.mass_error + s.loss_error);
        }
        kernel_.scale /= total.hi;
        total_error_ = 1.01 * wrong / total.hi + 4.0 * kUnitRoundoff;
    }

    Kernel kernel_;
    std::vector<double> ends_;
    double total_error_ = 0.0;
};

}  // namespace renyi
