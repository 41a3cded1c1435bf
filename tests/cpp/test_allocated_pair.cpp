// Random allocation of any pair: both sides against exact sums over all outputs of a few steps, and what remains of the
// masses for pairs of all kinds.
#include "renyi/pair/operations/allocation.hpp"

#include <cmath>
#include <vector>

#include "check.hpp"
#include "outcomes.hpp"
#include "renyi/pair/noise/exponential_loss.hpp"
#include "renyi/pair/noise/normal_mixtures.hpp"
#include "renyi/pair/operations/basic.hpp"

using namespace renyi;

namespace {

// All outputs of the steps: the mean over the step with the record.
std::vector<Outcome> allocated(const std::vector<Outcome>& base, int steps) {
    std::vector<Outcome> all{{0.0L, 1.0L}};
    for (int step = 0; step < steps; ++step) {
        std::vector<Outcome> next;
        for (const Outcome& a : all)
            for (const Outcome& b : base) next.push_back({a.p * b.q + a.q * b.p / steps, a.q * b.q});
        all = std::move(next);
    }
    return all;
}

double stick(const Spans& spans, double epsilon, bool above) {
    long double sum = above ? spans.infinite.upper : spans.infinite.lower;
    for (const Span& s : spans.spans)
        sum += std::max(static_cast<long double>(s.p) - std::exp(static_cast<long double>(epsilon)) * s.q, 0.0L);
    return static_cast<double>(sum);
}

void encloses(const std::vector<Outcome>& base) {
    for (const int steps : {2, 3, 7}) {
        const std::vector<Outcome> all = allocated(base, steps);
        const AllocatedPair pair(pair_of(base), steps);
        const Spans high = pair.spans(Side::upper, Coarse{}), low = pair.spans(Side::lower, Coarse{});
        for (const double epsilon : {-0.5, 0.0, 0.1, 0.7, 2.0}) {
            long double truth = 0.0L;
            for (const Outcome& o : all)
                truth += std::max(o.p - std::exp(static_cast<long double>(epsilon)) * o.q, 0.0L);
            CHECK_THAT(stick(low, epsilon, false), <=, static_cast<double>(truth) * (1.0 + 1e-11) + 1e-15);
            CHECK_THAT(stick(high, epsilon, true), >=, static_cast<double>(truth) * (1.0 - 1e-11) - 1e-15);
            CHECK_THAT(stick(high, epsilon, true) - stick(low, epsilon, false), <=,
                       1e-3 * static_cast<double>(truth) + 1e-9);
        }
    }
}

// Both masses come to 1 from above, and to nearly as much from below.
void whole(const PairPointer& base, double steps) {
    const AllocatedPair pair(base, steps);
    for (const Side side : {Side::upper, Side::lower}) {
        const Spans found = pair.spans(side, Coarse{});
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
    encloses({{0.7L, 0.3L}, {0.3L, 0.7L}});
    encloses({{0.5L, 0.1L}, {0.3L, 0.3L}, {0.2L, 0.5L}, {0.0L, 0.1L}});
    encloses({{0.25L, 0.0L}, {0.75L, 0.5L}, {0.0L, 0.5L}});
    encloses({{1e-3L, 1e-9L}, {0.999L, 1.0L - 1e-9L}});
    encloses({{0.5L, 0.5L}, {0.5L, 0.5L}});
    encloses({{0.0L, 1.0L}, {1.0L, 0.0L}});
    for (const double mu : {1e-4, 0.3, 1.0, 5.0, 12.0}) {
        const PairPointer base = std::make_shared<const GaussianPair>(mu);
        whole(base, 2.0);
        whole(base, 100.0);
        whole(std::make_shared<const PoissonSampledPair>(base, 0.1), 30.0);
    }
    const PairPointer mixture =
        std::make_shared<const NormalMixtures>(NormalMixtures::mixture({0.5, 0.5}, {0.0, 1.0}, 1.0));
    whole(mixture, 100.0);
    whole(std::make_shared<const ReversedPair>(mixture), 100.0);
    for (const double scale : {0.05, 1.0, 100.0})
        whole(std::make_shared<const ExponentialLoss>(ExponentialLoss::laplace(scale)), 1e6);
    return check::finish();
}
