// From Renyi-DP of one order to (epsilon, delta): alpha > 1 and K = (alpha-1) rho, rho the RDP of order alpha.
//
//   mironov   eps = rho + log(1/delta)/(alpha-1)
//             Mironov 2017, Prop. 3
//   balle     eps = rho + log(1-1/alpha) - (log delta + log alpha)/(alpha-1)
//             Balle et al. 2020, Thm 21; the same as Canonne, Kamath, Steinke 2020, Prop. 12
//   asoodeh   the smaller of balle and log1p(expm1(K)/(alpha delta))/(alpha-1)
//             Asoodeh et al. 2020
//   optimal   sup of eps over all pairs of divergence at most rho; binary pairs suffice
//             Asoodeh et al. 2020
// and, for all but mironov, eps = 0 where delta^2 >= 1 - e^-rho (Bretagnolle-Huber; D_1 <= D_alpha).
//
// The optimal value: with a = p/q, b = (1-p)/(1-q) the set f(p,q) = q a^alpha + (1-q) b^alpha <= e^K is convex, so its
// supporting lines p - e^eps q = delta touch the set where e^eps = ((alpha-1)/alpha) (a^alpha - b^alpha)/(a^(alpha-1) -
// b^(alpha-1)). With s = log(a/b), both eps and the touching point follow from s and delta in closed form (and from s
// and eps), so one monotone equation K(s) = K remains. f - 1 = q F(a) + (1-q) F(b), F(a) = a^alpha - 1 - alpha (a-1) >=
// 0, keeps its digits for small K.
//
// Every function rounds either way: if K is not below the truth, neither is the result; rounded down, it is not above.
// Values are not clamped: eps may be negative, log delta positive.
#pragma once

namespace renyi {

enum class Conversion { mironov, balle, asoodeh, optimal };

enum class Rounding { down, up };

// Below this log delta 1 - b underflows: the closed forms then replace the optimal value when rounding up, and
// -infinity is the bound from below.
constexpr double kSmallestLogDelta = -690.0;

// The end of the last search for a touching point of one question: the logarithm of the parameter, log(f - 1) there,
// and its derivative in that logarithm. The next search at this order starts there; results are certified for any
// start.
struct TouchStart {
    double alpha = 0.0, place = 0.0, log_excess = 0.0, slope = 0.0;
};

double epsilon_from_rdp(Conversion conversion, double alpha, double k, double log_delta, Rounding rounding,
                        TouchStart* start = nullptr) noexcept;
double log_delta_from_rdp(Conversion conversion, double alpha, double k, double epsilon, Rounding rounding,
                          TouchStart* start = nullptr) noexcept;

// Cheap lower bounds on the optimal values, by a few logarithms: q a^alpha <= e^K - 1 implies f <= e^K, since b <= 1,
// and the pairs of that smaller set have the balle value for e^K - 1 as long as p = alpha delta <= 1.
double epsilon_floor(double alpha, double k, double log_delta) noexcept;
double log_delta_floor(double alpha, double k, double epsilon) noexcept;

// For the optimal conversion: the derivative of log f in alpha at the touching point. The converted value falls with
// alpha while this derivative exceeds K'.
double optimal_slope_given_delta(double alpha, double k, double log_delta, TouchStart* start) noexcept;
double optimal_slope_given_epsilon(double alpha, double k, double epsilon, TouchStart* start) noexcept;

// log sqrt(1 - e^-rho): the log delta at which epsilon = 0, from the divergence rho of any order >= 1.
double log_delta_at_zero(double rho) noexcept;

// Lines that touch the convex set of error probabilities which a Renyi-DP of order alpha > 1 allows.
//
// With a = p/q and b = (1-p)/(1-q) the set is f(p,q) = q a^alpha + (1-q) b^alpha <= e^K; see rdp_conversion.hpp. A line
// p - e^epsilon q = delta touches it at a point that follows in closed form from s = log(a/b) and delta, and from b and
// epsilon by one equation; log_excess_of tells which K the point belongs to.
// A touching point: a = e^x, b = e^-y, x + y = s, so that p = (1 - e^-y)/(1 - e^-s) and 1 - q = (1 - e^-x)/(1 - e^-s).
struct Touch {
    double s, x, y;
    double log_p, log_rest;  // log p, log (1-q)
    double log_delta;        // of the line
    double epsilon, size;    // size of the parts of epsilon
    bool inside;             // x > 0 and y > 0, that is p < 1 and q > 0
    double miss = 0.0;       // log f at the end of a search, less what was asked
};

// The touching point of slope s whose line has intercept delta.
Touch touch_given_delta(double alpha, double s, double log_delta) noexcept;

// The touching point at height b = e^-y whose line has slope e^epsilon.
Touch touch_given_epsilon(double alpha, double y, double epsilon) noexcept;

// The touching point at given x, y > 0.
Touch touch_at(double alpha, double x, double y) noexcept;

// log(f - 1), f - 1 = q F(a) + (1-q) F(b), q = p e^-x: a sum of a dozen logarithms.
double log_excess_of(double alpha, const Touch& t) noexcept;

// The derivative of log f in alpha at a touching point.
double slope_of(double alpha, double k, const Touch& t) noexcept;

}  // namespace renyi
