// A pair of densities on an interval, given by values of their logarithms.
//
// A table of panels asks for values, as few times as it can: at 13 Chebyshev points of every panel, through which it
// lays polynomials, and at 8 Gauss points, where these have to be right; panels on which they are not, or on which both
// sets of points lead to different integrals, are divided. Assumed, and not provable from values: the densities are
// smooth on the scale of a panel, and the loss turns only where the nodes show it.
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
    static constexpr int kDivisions = 6;  // of a panel by 2, at most

    struct Panel {
        double start, end;
        double log_p[kDegree + 1], loss[kDegree + 1];  // Chebyshev coefficients
        double deepest, loss_error;                    // largest |log| of both densities
    };

    // Breaks: increasing, inside, where a density or its slope jumps. `tolerance`: of the integrals, relative.
    Table(double start, double end, const std::vector<double>& breaks, double tolerance);

    // Where values are wanted next, and what to do with them.
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
