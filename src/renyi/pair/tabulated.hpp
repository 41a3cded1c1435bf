// A pair of densities on an interval, given by values of their logarithms.
//
// A table of panels asks for values in as few batches as it can: at 13 Chebyshev points of every panel, which a
// polynomial interpolates, and at 8 Gauss points, where the polynomial is checked. A panel is divided if the check
// fails, or if both sets of points lead to different integrals. Assumed, and not provable from values: the densities
// are smooth on the scale of a panel, and the loss turns only where the nodes show it.
#pragma once

#include <vector>

#include "renyi/pair/division.hpp"
#include "renyi/pair/pair.hpp"

namespace renyi {

enum class TableState { wanting, finished, not_finite, not_smooth, too_large };

class Table {
public:
    static constexpr int kDegree = 12;
    static constexpr double kPanels = 1024.0;
    static constexpr int kDivisions = 6;  // most times that a panel is halved

    struct Panel {
        double start, end;
        double log_p[kDegree + 1], loss[kDegree + 1];  // Chebyshev coefficients
        double deepest, loss_error;                    // largest |log| of both densities
    };

    // `breaks`: increasing places inside, where a density or its slope jumps. `tolerance`: relative, for the integrals.
    Table(double start, double end, const std::vector<double>& breaks, double tolerance);

    // The places where values are wanted next; and the function that takes the values there.
    const std::vector<double>& wanted() const noexcept { return wanted_; }
    TableState give(const double* log_p, const double* log_q);

    PairPointer pair() const;

private:
    struct Wanted {
        double start, end;
        int divisions;
    };

    void want(std::vector<Wanted> panels);
    bool add(const Wanted& panel, const double* log_p, const double* log_q);

    double tolerance_, p_ = 0.0, q_ = 0.0;
    std::vector<Panel> panels_;
    std::vector<Wanted> waiting_;
    std::vector<double> wanted_;
};

}  // namespace renyi
