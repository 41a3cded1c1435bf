// Binomial masses and tails against sums of exact terms, and where symmetry gives them.
#include "renyi/special/binomial.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "check.hpp"

using renyi::Certified;

namespace {

void check_near(Certified found, long double truth) {
    const long double slack = 4e-19L * truth;
    CHECK(found.relative_error < 1e-9);
    CHECK(std::fabs(static_cast<long double>(found.value) - truth) <= found.relative_error * truth + slack);
}

// C(n, k) a^k b^(n-k) / (a+b)^n in long double, n small.
long double term(int n, int k, int a, int b) {
    long double mass = 1.0L;
    for (int i = 1; i <= k; ++i) mass = mass * (n - k + i) / i * a / (a + b);
    for (int i = 0; i < n - k; ++i) mass = mass * b / (a + b);
    return mass;
}

void small_populations() {
    for (const int n : {1, 2, 7, 40, 60}) {
        for (const int a : {1, 8, 15}) {
            const double q = a / 16.0;
            for (int k = 0; k <= n; ++k) {
                long double below = 0.0L, from = 0.0L;
                for (int j = 0; j < k; ++j) below += term(n, j, a, 16 - a);
                for (int j = n; j >= k; --j) from += term(n, j, a, 16 - a);
                check_near(renyi::binomial_mass(n, q, k), term(n, k, a, 16 - a));
                const renyi::BinomialTails tails = renyi::binomial_tails(n, q, k);
                if (k > 0) check_near(tails.below, below);
                check_near(tails.from, from);
            }
        }
    }
}

// P[X < (n+1)/2] = 1/2 for odd n and q = 1/2.
void large_populations() {
    for (const double n : {1001.0, 1000001.0, 10000000001.0}) {
        const renyi::BinomialTails tails = renyi::binomial_tails(n, 0.5, 0.5 * (n + 1.0));
        check_near(tails.below, 0.5L);
        check_near(tails.from, 0.5L);
    }
}

void edges() {
    CHECK(renyi::binomial_tails(5.0, 0.25, 0.0).below.value == 0.0);
    CHECK(renyi::binomial_tails(5.0, 0.25, 6.0).from.value == 0.0);
    CHECK(renyi::binomial_tails(5.0, 1.0, 5.0).from.value == 1.0);
    CHECK(renyi::binomial_mass(5.0, 1.0, 5.0).value == 1.0);
    CHECK(renyi::binomial_mass(5.0, 0.25, -1.0).value == 0.0);
}

}  // namespace

int main() {
    small_populations();
    large_populations();
    edges();
    return check::finish();
}
