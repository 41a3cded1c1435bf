// Random allocation of any pair: what remains of the masses, for pairs of all kinds. Sums over all outputs of
// a few steps are compared in Python.
#include <cmath>

#include "check.hpp"
#include "renyi/pair/noise/noises.hpp"
#include "renyi/pair/operations/operations.hpp"

using namespace renyi;

namespace {

// Both masses come to 1 from above, and to nearly as much from below.
void whole(const PairPointer& base, double steps) {
    const PairPointer pair = allocated_pair(base, steps);
    for (const Side side : {Side::upper, Side::lower}) {
        const Spans found = pair->spans(side, Coarse{});
        const bool above = side == Side::upper;
        double p = above ? found.infinite.upper : found.infinite.lower, q = above ? found.null.upper : found.null.lower;
        for (const Span& s : found.spans) {
            p += s.p;
            q += s.q;
        }
        CHECK_THAT(std::fabs(p - 1.0), <, 1e-9 + 1e-13 * steps);
        CHECK_THAT(std::fabs(q - 1.0), <, 1e-9 + 1e-13 * steps);
        CHECK(found.spans.size() < 20000);
    }
}

}  // namespace

int main() {
    for (const double mu : {1e-4, 12.0}) {
        if (!check::is_tried()) continue;
        const PairPointer base = gaussian_noise(mu);
        whole(base, 2.0);
        whole(base->sampled(0.1), 30.0);
    }
    whole(gaussian_mixture({0.5, 0.5}, {0.0, 1.0}, 1.0)->reverse(), 100.0);
    whole(laplace_noise(0.05), check::kStride == 1 ? 1e6 : 1e3);
    return check::finish();
}
