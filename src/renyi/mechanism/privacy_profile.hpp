// Upper bounds of the privacy profile of a pair (P, Q), delta(eps) = sup_S P(S) - e^eps Q(S) at eps >= 0: the lower
// convex hull of points (e^eps - 1, delta), and the delta of the last one beyond it.
//
// delta is convex in e^eps, a supremum of functions linear in it, so it lies below every chord between two of its upper
// bounds; and it falls. Points may be given in any order; no point at 0 stands for delta = 1 there.
#pragma once

#include <vector>

namespace renyi {

class RenyiCurve;

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

}  // namespace renyi
