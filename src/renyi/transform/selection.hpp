// The Rényi curve of the best of several runs, and the profile of a run that it takes.
#pragma once

#include <vector>

#include "renyi/fp/search.hpp"
#include "renyi/pair/renyi_curve.hpp"

namespace renyi {

// Upper bounds of the privacy profile of a pair (P, Q), delta(eps) = sup_S P(S) - e^eps Q(S) at eps >= 0: the lower
// convex hull of points (e^eps - 1, delta), and the delta of the last one beyond it.
//
// delta is convex in e^eps, a supremum of functions linear in it, so it lies below every chord between two of its upper
// bounds; and it falls. Points may be given in any order; no point at 0 stands for delta = 1 there.
struct ProfilePoint {
    double excess, delta;  // e^eps - 1 and delta, neither below the truth
};

class PrivacyProfile {
public:
    explicit PrivacyProfile(std::vector<ProfilePoint> points);

    struct Value {
        double delta, slope;  // rounded up; d delta/d excess to the right, <= 0
    };
    Value at(double excess) const noexcept;

private:
    std::vector<ProfilePoint> corners_;  // ascending in excess, the first at 0, descending in delta
};

// The point at (eps, delta), rounded up.
ProfilePoint profile_point(double epsilon, double delta) noexcept;

// What a Renyi curve K says of the profile of its pairs, in both of their orders, followed until delta is below `least`
// or eps beyond what any order asks for. At eps = 0: 1; sqrt(1 - e^{-D_1}) (Bretagnolle, Huber). At every eps and for
// every order a > 1, e^{K(a) - (a-1) eps} (1 - 1/a)^{a-1}/a (Canonne, Kamath, Steinke 2020, Prop. 12), which is least
// where eps = K'(a) + log(1 - 1/a). With the largest loss m, the line from ((e^m - 1)/(e^m + 1) at 0 to 0 at m. Where
// orders are sought, any order gives a bound.
std::vector<ProfilePoint> renyi_profile(const RenyiCurve& curve, double least);

// log(1/gamma) of the truncated negative binomial number of runs below, of mean in [1, inf): x is in the interval.
Interval log_inverse_gamma(double mean, double shape) noexcept;

// A mechanism run a random number N of times, and only the best of its outputs released (Papernot, Steinke 2022, arXiv
// 2110.03620). mean = E[N]; shape = eta tells the law of N:
//
//   eta > -1, finite   truncated negative binomial, N >= 1, mean >= 1 (Theorem 2); 0 logarithmic, 1 geometric. With
//       x = log(1/gamma) from E[N] = eta (e^x - 1) / (1 - e^{-eta x}), for every order l >= 1 or infinity of the base,
//           K'(alpha) = K(alpha) + (alpha-1) C + log E[N],   C = (1+eta) (K(l) + x) / l,
//       where (K(l) + x)/l is D_inf for l infinite. The best l does not depend on alpha.
//   eta = infinity     Poisson, mean > 0 (Theorem 6). With delta such that the base is (log(alpha/(alpha-1)),
//       delta)-DP,
//           K'(alpha) = K(alpha) + (alpha-1) E[N] delta + log E[N].
//       For E[N] < 1, where that would fall below 0, the outcome without a run is counted for itself: in the proof of
//       the theorem e^{K'} is at most e^{-E[N]} + E[N] e^{K + (alpha-1) E[N] delta}.
//       delta is read from what is known of the profile of the base, in both directions, and from its Renyi curve
//       (renyi_profile). The proof uses delta(eps) at that one eps only, so that nothing is lost where the
//       profile is exact.
//
//   eta = -n           Binomial, n runs of probability p = mean/n each. With phi the probability generating function of
//       N, outputs in order, and F the distribution functions under P and Q, the density of the best is phi'(F) times
//       that of a run; phi'(F_P)/phi'(F_Q) <= R by the profile of the base, phi' <= E[N], so that
//           e^{K'} <= Pr[N = 0] + E[N] R^{alpha-1} e^K,   Pr[N = 0] <= e^{-E[N]}.
//
// Divergences do not fall with the order, so below the order at which K'/(alpha-1) is least that value stands, and K'
// is linear there: 0 at alpha = 1, and convex. Minima are sought, not proven: any l and any such order give a bound.
// mean = 1 with finite eta is the base itself.
class RepeatAndSelectCurve final : public RenyiCurve {
public:
    // `known`: points of the profile of the base, for shape = infinity; `log_ratio`: log R, for shape = -n.
    RepeatAndSelectCurve(CurvePointer base, double mean, double shape, std::vector<ProfilePoint> known = {},
                         double log_ratio = 0.0);

    LogMoment log_moment(double alpha) const noexcept override;
    bool convex() const noexcept override { return base_->convex(); }
    double largest_order() const noexcept override { return largest_order_; }
    double largest_loss() const noexcept override { return largest_loss_; }

private:
    double selection_cost(double x, double shape) const noexcept;
    LogMoment negative_binomial(double alpha) const noexcept;
    LogMoment perhaps_none(double alpha) const noexcept;  // Poisson, binomial
    LogMoment formula(double alpha) const noexcept {
        return poisson_ || binomial_ ? perhaps_none(alpha) : negative_binomial(alpha);
    }
    void find_flat_part() noexcept;

    CurvePointer base_;
    double mean_, log_mean_;
    bool poisson_, binomial_;
    PrivacyProfile profile_;  // of Poisson
    double cost_ = 0.0;       // C
    double largest_order_, largest_loss_;
    double flat_until_ = 1.0, flat_divergence_ = 0.0;
};

}  // namespace renyi
