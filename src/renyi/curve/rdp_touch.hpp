// Lines that touch the convex set of error probabilities which a Renyi-DP of order alpha > 1 allows.
//
// With a = p/q and b = (1-p)/(1-q) the set is f(p,q) = q a^alpha + (1-q) b^alpha <= e^K; see rdp_conversion.hpp. A line
// p - e^epsilon q = delta touches it at a point that follows in closed form from s = log(a/b) and delta, and from b and
// epsilon by one equation; which K the point belongs to is left to log_excess_of.
#pragma once

namespace renyi {

// A touching point: a = e^x, b = e^-y, x + y = s, so that p = (1 - e^-y)/(1 - e^-s) and 1 - q = (1 - e^-x)/(1 - e^-s).
struct Touch {
    double s, x, y;
    double log_p, log_rest;  // log p, log (1-q)
    double log_delta;        // of the line
    double epsilon, size;    // size of the parts of epsilon
    bool inside;             // x > 0 and y > 0, that is p < 1 and q > 0
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
