#include "renyi/pair/reversed.hpp"

namespace renyi {

namespace {

class Mirrored final : public Fineness {
public:
    explicit Mirrored(const Fineness& base) : base_(base) {}
    bool is_fine(double low, double high) const noexcept override { return base_.is_fine(-high, -low); }

private:
    const Fineness& base_;
};

}  // namespace

// Domination goes with the reverse: if H is nowhere below another's, so is E H(1/E).
Spans ReversedPair::spans(Side side, const Fineness& fineness) const {
    Spans found = base_->spans(side, Mirrored(fineness));
    for (Span& s : found.spans) s = {-s.high, -s.mean, -s.low, s.q, s.p, s.mass_error, s.loss_error};
    std::swap(found.infinite, found.null);
    return found;
}

}  // namespace renyi
