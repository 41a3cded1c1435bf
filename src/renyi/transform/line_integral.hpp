// Upper bounds of integrals over a line beside the real axis. Nodes and tails are certified by these alone:
//     integral |density(x + i a)| e^{tilt Re loss} e^{-y Im V} |window| dx,   0 <= c a <= 1.4, for ratios 0.7.
// With y > 0 they bound the transform at every ordinate beyond y (the loss moves to the side where it decays). With
// y < 0 they bound its growth up to |y|, for the error of quadrature nodes.
//
// The line is cut into cells so short that the exponent changes by a few nats where it matters. All factors are
// monotone, so each cell is bounded by its ends. The ends of the line are bounded by the normal tail times the monotone
// factors there. The bounds are a few nats too large, which costs nothing. The logarithm is rounded up by 1e-6.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

constexpr double kLargestAngle = 1.4;  // below pi/2: all factors are monotone, see sampled_loss.hpp
constexpr double kSteepAngle = 0.71;   // tan^2 < 1 below, so that the windows close whatever they let through

struct LineRange {
    double first = -kInfinity, last = kInfinity;
    double spacing = 0.0;  // bounds the sum over nodes so far apart as well as the integral
};

// The angles that callers should ask for, so that they share lines.
inline double line_angle(int rank) noexcept { return kLargestAngle * std::exp2(-0.5 * rank); }

class LineIntegral {
public:
    LineIntegral(const SampledLoss& law, const LossWindow& window);

    // The logarithm of the bound. It is infinite where the cells do not reach far enough: tilt > 0 needs a window that
    // falls (or SampledPair::add or reversed_ratio, whose loss is bounded above), and so does y < 0.
    double log_bound(double angle, double tilt, double y, const LineRange& range = {}) const;

private:
    // The part that depends on neither tilt nor ordinate: Re V at the points; for the cells the largest and the least
    // Im V and the logarithm of all other factors. The last entries are the values at the last point.
    struct Line {
        double angle;
        Rotation turn;
        std::vector<double> re, high, low, fixed;
        double left, right;  // logarithm of the windows on the ends
        double turned;       // a bound of Im V on the right end
        double reached;
        bool is_past;  // whether the last point is past all falling steps
    };

    void add_points();
    double far_right() const noexcept;
    const Line& line_at(double angle) const;
    void close_ends(Line& line) const noexcept;
    bool falls_beyond(const Line& line, double slope, double y, bool is_moved) const noexcept;

    SampledLoss law_;
    LossWindow window_;
    // At the ends of the cells: x, V, L+ and the posteriors of the sampled components in e^{L+} and e^{L-}; for ratios
    // x, V, w and 1 + V.
    std::vector<double> x_, v_, log_factor_, above_, below_;
    GroupTurns group_above_, group_below_;  // in place of the posteriors
    std::vector<double> log_cell_, per_width_;  // the largest normal density of a cell times its width; 1/width
    mutable std::vector<Line> lines_;           // computed so far
};

}  // namespace renyi
