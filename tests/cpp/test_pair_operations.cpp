// Random allocation of any pair: what remains of the masses, for pairs of all kinds (sums over all outputs of a few
// steps are compared in Python). Direct convolution against the sums in long double: every value, however small, to its
// number of terms.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

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

std::vector<double> falling(std::size_t size, double rate) {
    std::vector<double> found(size);
    for (std::size_t i = 0; i < size; ++i) {
        const double x = static_cast<double>(i), noise = 1.0 + 0.5 * std::sin(12.9898 * x * x);
        found[i] = noise * std::exp(-rate * x);
    }
    return found;
}

void compare(const std::vector<double>& a, const std::vector<double>& b) {
    const std::vector<double> found = convolved(a, b);
    CHECK(found.size() == a.size() + b.size() - 1);
    const double terms = static_cast<double>(std::min(a.size(), b.size()));
    for (std::size_t k = 0; k < found.size(); ++k) {
        long double sum = 0.0L;
        for (std::size_t i = 0; i < a.size(); ++i) {
            if (k >= i && k - i < b.size()) sum += static_cast<long double>(a[i]) * b[k - i];
        }
        const long double error = std::fabs(static_cast<long double>(found[k]) - sum);
        CHECK(error <= (terms + 3.0) * 0x1p-53L * sum + 0x1p-1074L);
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
    for (const std::size_t n : {1u, 2u, 31u, 32u, 33u, 200u}) {
        for (const std::size_t m : {1u, 5u, 64u, 97u, 333u}) {
            compare(falling(n, 0.3), falling(m, 0.01));
            compare(falling(n, 5.0), falling(m, 2.0));  // down to the denormals
        }
    }
    compare(std::vector<double>(40, 1.0), std::vector<double>(3, 0.0));
    return check::finish();
}
