#include "renyi/pair/reversed.hpp"

#include <cmath>

namespace renyi {

namespace {

class Mirrored final : public Fineness {
public:
    explicit Mirrored(const Fineness& base) : base_(base) {}
    double cut(double low, double high) const noexcept override {
        const double found = base_.cut(-high, -low);
        return std::isfinite(found) ? -found : found;
    }

private:
    const Fineness& base_;
};

}  // namespace

// Domination goes with the reverse: if H is nowhere below another's, so is E H(1/E).
Spans ReversedPair::spans(Side side, const Fineness& fineness) const {
    Spans found = base_->spans(side, Mirrored(fineness));
    for (Span& s : found.spans) s = {-s.high, -s.mean, -s.low, s.q, s.p, s.mass_error, s.loss_error};
    std::swap(found.infinite, found.null);
    std::swap(found.unbounded_above, found.unbounded_below);
    return found;
}

}  // namespace renyi
