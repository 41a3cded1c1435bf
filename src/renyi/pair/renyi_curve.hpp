// The Rényi curve of a mechanism: K(alpha) = (alpha-1) D_alpha, the log moment generating function of its privacy loss,
// or an upper bound of it, mostly convex. This file has the closed forms: curves linear in the order, infinite curves,
// and mixtures whose part is revealed.
#pragma once

#include <memory>
#include <vector>

#include "renyi/fp/certified.hpp"

namespace renyi {

// K and its derivatives in alpha; where K is a polygon, the derivatives are those of the segment on the right.
struct LogMoment {
    Certified value;
    double first, second;
};

class RenyiCurve {
public:
    virtual ~RenyiCurve() = default;

    // 1 <= alpha <= min(largest_order(), 1e6). Non-negative, 0 at alpha = 1.
    virtual LogMoment log_moment(double alpha) const noexcept = 0;

    // D_alpha on the same orders; at alpha = 1 the Kullback-Leibler divergence, K'(1).
    virtual Certified divergence(double alpha) const noexcept;

    // The order above which K is infinite; at least 1.
    virtual double largest_order() const noexcept { return kInfinity; }

    // Whether K is convex up to the order from which K is (alpha-1) times the largest loss.
    virtual bool convex() const noexcept { return true; }

    // Orders at which K has a corner. Whole orders, where bounds by sums have corners, may be left out.
    virtual std::vector<double> corners() const { return {}; }

    // D_infinity in both orders of the pair, rounded up: no loss is larger.
    virtual double largest_loss() const noexcept { return kInfinity; }

    // Returns rho > 0 where K = rho alpha (alpha-1), the curve of Gaussian noise; 0 for any other curve.
    virtual double gaussian_rho() const noexcept { return 0.0; }

protected:
    RenyiCurve() = default;
    RenyiCurve(const RenyiCurve&) = default;
    RenyiCurve& operator=(const RenyiCurve&) = default;
};

using CurvePointer = std::shared_ptr<const RenyiCurve>;

// Divergences linear in the order: D_alpha = xi + rho alpha, so K = (alpha-1) (xi + rho alpha).
//
// The Gaussian mechanism and the discrete Gaussian have rho = Delta^2/(2 sigma^2) and xi = 0 (Mironov 2017, Prop. 7;
// Canonne, Kamath, Steinke 2020, Theorem 4), and (xi, rho)-zCDP is this bound by definition (Bun, Steinke 2016). K to
// 4u, rho and xi taken as exact. Domain: rho, xi >= 0.
class LinearCurve final : public RenyiCurve {
public:
    explicit LinearCurve(double rho, double xi = 0.0) noexcept : rho_(rho), xi_(xi) {}

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    double largest_loss() const noexcept override { return rho_ > 0.0 ? kInfinity : xi_; }
    double gaussian_rho() const noexcept override { return xi_ == 0.0 ? rho_ : 0.0; }

private:
    double rho_, xi_;
};

// Nothing is protected, or nothing that a double can hold: infinite divergences of every order.
class UnboundedCurve final : public RenyiCurve {
public:
    LogMoment log_moment(double) const noexcept override { return {{0.0, 0.0}, kInfinity, 0.0}; }  // at alpha = 1
    Certified divergence(double) const noexcept override { return {kInfinity, 0.0}; }
    double largest_order() const noexcept override { return 1.0; }
};

struct WeightedPart {
    double weight;  // >= 0
    CurvePointer curve;
};

// A = 1 + sum w_i (A_i - 1): one of several mechanisms, drawn with the probabilities w_i and revealed; with the
// remaining probability nothing is released. With weights that add up to more than 1, a bound made of several curves.
CurvePointer labelled_mixture(std::vector<WeightedPart> parts);

}  // namespace renyi
