// The pair that a table holds.
#pragma once

#include <vector>

#include "renyi/pair/tabulated.hpp"

namespace renyi {

// sum_k c_k T_k(t), by Clenshaw's recurrence.
inline double chebyshev_sum(const double* coefficients, double t) noexcept {
    double here = 0.0, before = 0.0;
    for (int k = Table::kDegree; k > 0; --k) {
        const double next = coefficients[k] + 2.0 * t * here - before;
        before = here;
        here = next;
    }
    return coefficients[0] + t * here - before;
}

class TabulatedPair final : public Pair {
public:
    TabulatedPair(std::vector<Table::Panel> panels, double tolerance, Bracket infinite, Bracket null);

    Spans spans(Side side, const Fineness& fineness) const override;

private:
    struct Section {  // of a panel, on which the loss is monotone
        double start, end;
        std::size_t panel;
    };

    double loss(double x) const noexcept;
    std::vector<double> turns() const;
    double turn_between(double low, double high, double sign) const noexcept;

    std::vector<Table::Panel> panels_;
    std::vector<Section> sections_;
    double tolerance_;
    Bracket infinite_, null_;
};

}  // namespace renyi
