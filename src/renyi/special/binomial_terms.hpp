// The terms C(n, k) x^k y^(n-k) of the binomial theorem, one by one and without over- or underflow: the weights of the
// sums over orders that bound a sampled mechanism. x = q, y = 1-q gives probabilities; x = gamma, y = 1 what sampling
// without replacement asks for.
//
// A first term from logarithms of factorials in double-double, its neighbours by the recurrence
// w_{k+1} = w_k (n-k)/(k+1) x/y. Relative error for n <= 2^20: 2^-57 at the start, 2^-98 a step.
#pragma once

#include <cmath>

#include "renyi/special/log_factorial.hpp"

namespace renyi {

class BinomialTerms {
public:
    static BinomialTerms sampled(double n, double q) noexcept {  // 0 < q < 1
        return {n, q, two_sum(1.0, -q)};
    }
    static BinomialTerms powers(double n, double gamma) noexcept {  // 0 < gamma <= 1
        return {n, gamma, {1.0, 0.0}};
    }

    // Of a record among `population` >= 2 in n draws: x = 1, y = population - 1, over population^n.
    static BinomialTerms drawn(double n, double population) noexcept {
        BinomialTerms terms{n, 1.0, {population - 1.0, 0.0}};
        terms.log_order_ = terms.log_order_ - log_dd({population, 0.0}) * n;
        return terms;
    }

    double order() const noexcept { return n_; }

    Scaled at(double k) const noexcept { return exp_dd(log_at(k)); }

    DoubleDouble log_at(double k) const noexcept {
        return log_order_ - log_factorial(k) - log_factorial(n_ - k) + log_x_ * k + log_y_ * (n_ - k);
    }

    // w_{k+1} from w_k.
    Scaled next(const Scaled& w, double k) const noexcept {
        const DoubleDouble step = odds_.mantissa * (n_ - k) / DoubleDouble{k + 1.0, 0.0};
        return normalised({w.mantissa * step, w.exponent + odds_.exponent});
    }

    // w_{k-1} from w_k.
    Scaled previous(const Scaled& w, double k) const noexcept {
        const DoubleDouble step = DoubleDouble{k, 0.0} / (odds_.mantissa * (n_ - k + 1.0));
        return normalised({w.mantissa * step, w.exponent - odds_.exponent});
    }

    // log(w_{k+1}/w_k), falling in k; 0 <= k < n.
    double log_step(double k) const noexcept { return lane_log((n_ - k) / (k + 1.0)) + log_odds_; }

private:
    BinomialTerms(double n, double x, DoubleDouble y) noexcept : n_(n), log_order_(log_factorial(n)) {
        int shift;
        const double m = std::frexp(x, &shift);
        log_x_ = log_dd({m, 0.0}) + kLog2DD * shift;
        log_y_ = y.hi == 1.0 && y.lo == 0.0 ? DoubleDouble{0.0, 0.0} : log_dd(y);
        odds_ = {DoubleDouble{m, 0.0} / y, static_cast<double>(shift)};
        log_odds_ = (log_x_ - log_y_).hi;
    }

    double n_;
    DoubleDouble log_order_, log_x_, log_y_;
    Scaled odds_;
    double log_odds_;
};

}  // namespace renyi
