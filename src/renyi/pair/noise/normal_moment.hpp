// The Rényi curve of a pair of Gaussian mixtures of one deviation, P = sum w_i N(m_i, 1) and Q = sum v_j N(n_j, 1):
// groups sampled in part, samples in which a record is replaced, and their reverses.
//
//     A(alpha) - 1 = int p^alpha q^{1-alpha} - q - alpha (p - q)  >= 0 pointwise
//
// by the trapezoidal rule, whose error for an integrand analytic on |Im x| <= a is at most 2/(e^{2 pi a/h} - 1) times
// its integral on the lines Im x = +-a. There |phi| grows by e^{a^2/2}, sums of e^{m x} with positive weights do not
// grow, and fall at most by cos(D a), D half the range of the means.
//
// Means far apart would take too many points. There one term of each mixture is as good as all: with
// |f| = (int |f|^alpha q)^(1/alpha), Minkowski's inequality and q >= v_j N(n_j)
//
//     A^(1/alpha) = |p/q| <= sum_i w_i |N(m_i)/q|,   |N(m_i)/q|^alpha <= min_j v_j^(1-alpha) e^{alpha (alpha-1)
//     (m_i-n_j)^2/2} KL <= sum_i w_i min_j (log 1/v_j + (m_i-n_j)^2/2)
#pragma once

#include <vector>

#include "renyi/loss/direction.hpp"
#include "renyi/pair/renyi_curve.hpp"

namespace renyi {

struct NormalComponent {
    double weight, mean;  // weight > 0
};
using NormalMixture = std::vector<NormalComponent>;

// The law of a sum of which m records, each sampled with probability q, move a standard normal by 1/sigma each: weights
// to 4u, and to 1e-307 where they are smaller, or left out where the mixture is to be no larger anywhere.
NormalMixture binomial_mixture(const SampledStep& step, bool leaves_out = false);

class NormalMixtureMoment final : public RenyiCurve {
public:
    NormalMixtureMoment(NormalMixture p, NormalMixture q);

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;

private:
    // Losses and masses on the points of one rule.
    struct Point {
        double log_p, loss, error;  // of the mass that the rule gives the point; the loss, and how far it may be off
    };
    struct Rule {
        double step;
        double first, last;   // points, multiples of the step
        double log_aliasing;  // of 2/(e^{2 pi a/h} - 1) e^{a^2/2}
        double log_fall;      // of cos(D a)^-(alpha-1)
    };
    Rule rule_for(double alpha, double nats) const noexcept;
    bool is_long(double alpha) const noexcept;
    double nearest(const NormalComponent& of_p, double alpha, double& slope) const noexcept;
    LogMoment moment_far_apart(double alpha) const noexcept;
    Certified divergence_far_apart() const noexcept;
    Point at(double x, double step) const noexcept;
    static double moved_by_loss(const Point& point, double beta) noexcept;
    static double lost_at(const Point& point, double beta) noexcept;

    NormalMixture p_, q_;
    double lowest_p_, highest_p_, lowest_q_, highest_q_;
};

// Gaussian noise on a Poisson sample: K = log A(q, sigma, alpha) of
// loss/sampled_gaussian.hpp, for bases of further steps (sampling, selection). Compositions of such steps alone have a
// faster road, curve/rdp_guarantee.hpp. In the other order of the neighbours K(alpha) = log A(q, sigma, 1 - alpha).
// Domain as there.
class SampledGaussianCurve final : public RenyiCurve {
public:
    SampledGaussianCurve(double q, double sigma, Direction direction = Direction::remove) noexcept
        : q_(q), sigma_(sigma), direction_(direction) {}

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    double largest_loss() const noexcept override;

private:
    double q_, sigma_;
    Direction direction_;
};

}  // namespace renyi
