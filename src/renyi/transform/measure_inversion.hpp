// E_M[(1 - e^{eps - S})_+] for a positive measure M of sums S of windowed losses, for ratios E_M[(S - eps)_+], by the
// trapezoidal rule on a vertical line. With base laws b_i, jump laws f_i and counts k_i, and the moment generating
// function g of Gaussian steps,
//     kBase:   M = g prod b_i^k_i                                  no step jumps
//     kJumps:  M = g prod (b_i + f_i)^k_i - g prod b_i^k_i         at least one step jumps, none beyond its window
//     or       M = g C(k, n) b^{k-n} f^n                           n steps jump, all of one kind
// where the second is  g prod b_i^k_i expm1(sum k_i log1p(f_i/b_i)), in which nothing cancels. With b + f in place of b
// the third is at least the measure of n or more jumps.
//
// Certificate, for D = 2 pi/h and I(eps) the quantity sought (Poisson's summation formula):
//     h/(2 pi) sum_j M(z_j) e^{-z_j eps}/(z_j (z_j + 1)) = sum_m e^{m t D} I(eps + m D),   every term >= 0,
// so the sum is never below I. The terms with m != 0 are bounded by I(eps') <= M(s) e^{-s eps'} s^s/(1+s)^{1+s}, s
// below t for m < 0 and above t for m > 0. For ratios the kernel is 1/z_j^2 and the last factor 1/(e s). Nodes left
// out: |f_i| <= F_i beyond the last node, and M is a polynomial in b and f with non-negative coefficients, so that
// |M| <= M(b(t), F).
// Quadrature: relative errors e of b and f change M by at most (1 + e)^{sum k} - 1 of M(t), by the same argument.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <optional>
#include <vector>

#include "renyi/fp/certified.hpp"
#include "renyi/transform/node_sum.hpp"
#include "renyi/transform/windowed_law.hpp"
#include "renyi/transform/windowed_transform.hpp"

namespace renyi {

// The kernels are 1/(z (z + shift)): shift 1 for the hockey stick (1 - e^{-x})_+ of losses, shift 0 for the excess
// (x)_+ of likelihood ratios, where x is a sum beyond eps.
// Chernoff's factor: log (s^s/(1+s)^(1+s)), where s^s/(1+s)^(1+s) is the largest value of e^{-s x} (1 - e^{-x}), x > 0.
inline double log_kernel_peak(double s) noexcept { return s > 0.0 ? -s * std::log1p(1.0 / s) - std::log1p(s) : 0.0; }

// The largest value of e^{-s x} x, x > 0, is 1/(e s).
inline double log_excess_peak(double s) noexcept { return s > 0.0 ? -1.0 - std::log(s) : kInfinity; }

// log(e^d - 1)
inline double log_expm1(double d) noexcept { return d > 30.0 ? d : std::log(std::expm1(d)); }

using Complex = std::complex<double>;

// log(1 + r) and e^d - 1, to a few roundings of either part.
inline Complex log1p_complex(Complex r) noexcept {
    const double re = r.real(), im = r.imag();
    const double half = re > -0.5 ? 0.5 * std::log1p(2.0 * re + (re * re + im * im))
                                  : 0.5 * std::log(std::max((1.0 + re) * (1.0 + re) + im * im, 1e-300));
    return {half, std::atan2(im, 1.0 + re)};
}

inline Complex expm1_complex(Complex d) noexcept {
    const double half = std::sin(0.5 * d.imag()), grown = std::expm1(d.real());
    return {grown - 2.0 * (grown + 1.0) * half * half, (grown + 1.0) * std::sin(d.imag())};
}

// A tilt with the logarithm of a measure's transform there, rounded up.
struct TiltBound {
    double tilt, log_measure;
};

// The logarithm of Chernoff's bound times e^log_factor, rounded up: this covers three sums, a product, a logarithm and
// the exponential that follows.
inline double log_chernoff(const TiltBound& b, double epsilon, double shift = 1.0, double log_factor = 0.0) noexcept {
    if (b.log_measure == -kInfinity) return b.log_measure;
    const double spent = b.tilt * epsilon, peak = shift == 0.0 ? log_excess_peak(b.tilt) : log_kernel_peak(b.tilt);
    const double size = std::fabs(b.log_measure) + std::fabs(spent) + std::fabs(peak) + std::fabs(log_factor) + 1.0;
    return b.log_measure - spent + peak + log_factor + 8.0 * kUnitRoundoff * size;
}

struct SplitStep {
    double count;
    SampledLoss law;
    LossWindow base, jump;
    LeftOut left_out;         // by the base window
    bool has_masses = false;  // whether left_out is known
};

enum class Measure { base, jumps };

struct Reading {
    double value;         // of I(eps), from above but for errors
    double slope;         // of log value
    double lower, upper;  // enclose I(eps)
};

class MeasureInversion {
public:
    // The measure with `number` jumps; 0 stands for at least one jump.
    MeasureInversion(Measure measure, std::vector<SplitStep> steps, double gaussian, double number = 0.0);

    // Finds the saddle point for eps, and with it rough values of log I and of Chernoff's bound, without certificate.
    void approach(double epsilon);
    double log_estimate() const noexcept { return log_estimate_; }
    double tilt() const noexcept { return tilt_; }

    // Places the line for eps after approach(eps), with errors of e^-depth of e^log_scale. Returns false where only
    // Chernoff's bound is known: it is below these errors, or the transform decays too slowly or takes too much work.
    bool place(double epsilon, double log_scale, double depth, double most_work);

    // Whether only Chernoff's bound is known although it is not negligible.
    bool failed() const noexcept { return failed_; }
    bool placed() const noexcept { return placed_ || bounded_; }

    // Chernoff's bound after approach(), and whether few nodes are enough. Neither is certified.
    double log_chernoff(double epsilon) const noexcept;
    bool is_smooth(double epsilon, double log_scale, double depth, double few_nodes = kFewNodes);
    bool is_short(double epsilon, double log_scale, double depth, double few_nodes = kFewNodes);

    // I(eps) times e^log_factor.
    Reading read(double epsilon, double log_factor = 0.0) const noexcept;

    SampledPair pair() const noexcept { return steps_.front().law.pair; }

    // Frees the memory that only placing needs.
    void release() noexcept;

private:
    static constexpr double kFewNodes = 1024.0;

    struct Part {
        WindowedLaw base;
        std::optional<WindowedLaw> jump;
    };
    struct StepMoments {
        WindowedMoment base, jump;
    };
    struct LogMeasure {
        double value, error;     // log M(t)
        double mean, curvature;  // its derivatives
    };
    using Bound = TiltBound;
    struct Periods {
        double below, above;

        double longest() const noexcept { return std::max(below, above); }
    };
    struct Line {
        double goal, step, end;
    };

    bool has_jumps() const noexcept { return measure_ == Measure::jumps; }
    // Whether the tail counts the decay of the bases. Next to jumps it pays where the jumps do not decay first.
    bool bases_decay() const noexcept { return !has_jumps() || steps_.front().law.pair == SampledPair::reversed_ratio; }
    std::vector<StepMoments> rough_moments(double t) const;
    std::vector<StepMoments> moments(double t) const;
    LogMeasure log_measure(const std::vector<StepMoments>& at, double t) const;
    double node_error(const std::vector<StepMoments>& at, double t, double y) const;
    Bound certified(double t) const;
    void lift_tilt(double epsilon, double farthest);
    void set_tilt(double t, std::vector<StepMoments> moments);
    bool bound_only(bool failed);
    void start_decay(const std::vector<Part>& parts);
    Periods find_periods(double epsilon, double log_value, double depth);
    double find_end(double step, double epsilon, double log_value, double depth) const;
    Line plan(double epsilon, double log_value, double depth);
    double log_tail(const std::vector<Part>& parts, double y) const;
    bool make_nodes(double y, double most_work);
    void sum_nodes(double end);
    void sum_block(std::size_t block);
    double log_peak(double tilt) const noexcept;

    Measure measure_;
    std::vector<SplitStep> steps_;
    double gaussian_, count_;       // variance of the Gaussian steps; sum of the counts
    double number_, log_ways_ = 0;  // number n of jumps, log C(k, n)
    double shift_ = 1.0;       // of the kernel
    std::vector<Part> rough_, fine_;
    bool placed_ = false, bounded_ = false, failed_ = false;
    double log_estimate_ = 0.0;
    double most_spent_ = 0.0;  // of log M(t) - t eps, at lower tilts
    double tilt_ = 0.0, curvature_ = 0.0, step_ = 0.0, centre_ = 0.0;
    LogMeasure at_{};
    std::vector<StepMoments> moments_;  // at the tilt
    std::vector<DecayByNodes> decay_;   // of the bases, at the tilt
    std::optional<Line> plan_;
    Bound below_{}, above_{}, chernoff_{};
    double log_tail_ = 0.0, quadrature_ = 0.0;  // relative to M(t)
    std::vector<WindowedTransform> base_, jump_;
    NodeSum nodes_;  // turned by centre_
};

}  // namespace renyi
