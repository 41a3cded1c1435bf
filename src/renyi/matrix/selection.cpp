#include "renyi/matrix/selection.hpp"

#include <algorithm>
#include <utility>

namespace renyi {

double best_selection(const double* x, std::size_t n, std::size_t separation, std::size_t most, double* work) noexcept {
    double *fewer = work, *present = work + (n + 1);
    std::fill_n(fewer, n + 1, 0.0);
    for (std::size_t j = 0; j < most; ++j) {
        present[n] = 0.0;
        for (std::size_t i = n; i-- > 0;) {
            const double taken = x[i] + (separation < n - i ? fewer[i + separation] : 0.0);
            present[i] = std::max(taken, present[i + 1]);
        }
        std::swap(fewer, present);
    }
    return fewer[0];
}

}  // namespace renyi
