// Prints log A and its ends at some points, to the last bit.
#include <cstdio>

#include "renyi/fp/environment.hpp"
#include "renyi/loss/sampled_gaussian.hpp"

int main() {
    if (!renyi::probe_floating_point().sound()) return 1;
    for (const double q : {1e-6, 1e-3, 0.01, 0.1, 0.5, 0.9}) {
        for (const double sigma : {0.3, 0.7, 1.1, 3.0, 50.0}) {
            for (const double alpha : {1.01, 1.7, 2.0, 13.3, 64.0, 511.9}) {
                const renyi::Certified found = renyi::log_a(q, sigma, alpha);
                std::printf("%a %a %a %a %a %a\n", q, sigma, alpha, found.value, renyi::lower(found), renyi::upper(found));
            }
        }
    }
}
