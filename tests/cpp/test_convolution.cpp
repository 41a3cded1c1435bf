// Direct convolution against the sums in long double: every value, however small, to its number of terms.
#include "renyi/pair/operations/operations.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "check.hpp"

namespace {

std::vector<double> falling(std::size_t size, double rate) {
    std::vector<double> found(size);
    for (std::size_t i = 0; i < size; ++i) {
        const double x = static_cast<double>(i), noise = 1.0 + 0.5 * std::sin(12.9898 * x * x);
        found[i] = noise * std::exp(-rate * x);
    }
    return found;
}

void compare(const std::vector<double>& a, const std::vector<double>& b) {
    const std::vector<double> found = renyi::convolved(a, b);
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
    for (const std::size_t n : {1u, 2u, 31u, 32u, 33u, 200u}) {
        for (const std::size_t m : {1u, 5u, 64u, 97u, 333u}) {
            compare(falling(n, 0.3), falling(m, 0.01));
            compare(falling(n, 5.0), falling(m, 2.0));  // down to the denormals
        }
    }
    compare(std::vector<double>(40, 1.0), std::vector<double>(3, 0.0));
    return check::finish();
}
