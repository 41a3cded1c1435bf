// Bounds of the Rényi curve of a sampled mechanism from the curve of the mechanism, for any mechanism.
#include "renyi/transform/renyi_curves.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "renyi/fp/double_double.hpp"
#include "renyi/special/binomial.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/elementary_dd.hpp"

namespace renyi {

namespace {

// B_l = E_Q[(P/Q - 1)^l] for even l, from the Renyi curve of a pair that reaches it at every order:
//
//     B_l = sum_{i=2}^l (-1)^i C(l, i) (e^{K_i} - 1).
//
// This sum cancels. It is taken in double-double, with a bound of the error that the rounding of the K_i causes, and
// given up where this error is more than 2^-10. For the Gaussian mechanism, K = c^2 l (l-1)/2, B_l is an integral
// without cancellation, by w = c y, z = y + c/2:
//
//     B_l = 2 e^{-c^2/8} int_0^inf cosh((l-1) c y/2) (2 sinh(c y/2))^l phi(y) dy.
//
// The error of the trapezoidal rule of step h is at most 2^{l+1} (1 + e^{K_l}) e^{-2 pi^2/h^2}: the integrand is
// entire, on the lines Im y = +-2 pi/h it is at most e^{2 pi^2/h^2} (e^{cx} + 1)^l where it was (e^{cx} - 1)^l, and
// E_Q[(P/Q + 1)^l] <= 2^{l-1} (1 + e^{K_l}). Jensen's inequality gives the scale, B_l >= (e^{c^2} - 1)^{l/2}.
struct CentralMoment {
    Scaled value;
    double error;  // relative
};

class MixtureBound final : public CurveOfBase {
public:
    MixtureBound(CurvePointer base, double r) : CurveOfBase(std::move(base)), r_(r) {
        if (r > 0.0) largest_order_ = base_->largest_order();
        largest_loss_ = upper(log_mixture(r, {base_->largest_loss(), 0.0}));
    }

    // With p = r e^K / (1 + r (e^K - 1)): first derivative p K', second p K'' + p (1-p) K'^2.
    LogMoment log_moment(double alpha) const noexcept override {
        if (r_ == 0.0) return {{0.0, 0.0}, 0.0, 0.0};
        const LogMoment m = base_->log_moment(alpha);
        if (r_ == 1.0) return m;
        const double other = (1.0 - r_) * lane_exp(-m.value.value), p = r_ / (r_ + other);
        const double spread = other / (r_ + other);
        return {log_mixture(r_, m.value), p * m.first, p * (m.second + spread * m.first * m.first)};
    }

private:
    double r_;
};

}  // namespace

// Sums of w_l X_l over very many whole l, of which only a few windows count.
//
// The weights w_l are binomial terms, so log w is concave; X_l <= e^{G_l + c} with G convex in l and c constant on
// [a, b] (Terms::limit). On a block [a, b] log w lies below its tangents at both ends and G below its chord: a bound
// on every term from the two ends alone. Blocks are taken in falling order of that bound times their length, split in
// the middle until they are short enough to be summed term by term, and given up together once what is left cannot
// reach 2^-60 of the sum. Nothing is assumed of the number of peaks: the bulk near the mean of the weights and the end
// l = n, where G wins, are the usual two.

namespace {

// Terms has a type Value (what is known of a mechanism at the order l) and
//   Value value(double l)                           the costly part
//   double exponent(const Value&, double l)         G_l
//   double limit(const Value& at_b, double b)       c of a block that ends at b
//   void add(const Value&, double l, const Scaled& weight)
//   double log_total()                              of what was added, -inf for nothing
template <class Terms>
class WindowedSum {
public:
    WindowedSum(const BinomialTerms& weights, Terms& terms) : weights_(weights), terms_(terms) {}

    void run(double first, double last) {
        if (last - first < kLongest) return add(first, last);
        push(point(first), point(last));
        while (!blocks_.empty()) {
            const Block block = blocks_.front();
            const double left = block.bound + lane_log(static_cast<double>(blocks_.size()));
            if (left < terms_.log_total() - 60.0 * kLog2) return;
            std::pop_heap(blocks_.begin(), blocks_.end());
            blocks_.pop_back();
            if (block.b.l - block.a.l < kLongest) {
                add(block.a.l, block.b.l);
                continue;
            }
            const double middle = std::floor(0.5 * (block.a.l + block.b.l));
            push(block.a, point(middle));
            push(point(middle + 1.0), block.b);
        }
    }

private:
    static constexpr double kLongest = 32.0;

    struct Point {
        double l, log_weight, exponent, limit;
    };

    struct Block {
        Point a, b;
        double bound;
        bool operator<(const Block& other) const noexcept { return bound < other.bound; }
    };

    Point point(double l) const {
        const auto value = terms_.value(l);
        return {l, weights_.log_at(l).hi, terms_.exponent(value, l), terms_.limit(value, l)};
    }

    void push(const Point& a, const Point& b) {
        blocks_.push_back({a, b, bound(a, b)});
        std::push_heap(blocks_.begin(), blocks_.end());
    }

    // log of the number of terms times a bound of the largest; the slack covers the roundings of this function.
    double bound(const Point& a, const Point& b) const noexcept {
        const double length = b.l - a.l, count = lane_log(length + 1.0);
        const double at_a = a.log_weight + a.exponent, at_b = b.log_weight + b.exponent;
        const double size = std::fabs(a.log_weight) + std::fabs(b.log_weight) + a.exponent + b.exponent;
        const double chord = (b.exponent - a.exponent) / length;
        const double rise = weights_.log_step(a.l) + chord, fall = weights_.log_step(b.l - 1.0) + chord;
        double peak = std::max(at_a, at_b);
        if (rise > 0.0 && fall < 0.0) {
            const double cross = (at_b - at_a - fall * length) / (rise - fall);
            peak = std::max(peak, at_a + rise * std::clamp(cross, 0.0, length));
        }
        return peak + count + b.limit + 1e-3 + 1e-13 * size;
    }

    void add(double first, double last) {
        Scaled w = weights_.at(first);
        for (double l = first;; ++l) {
            terms_.add(terms_.value(l), l, w);
            if (l >= last) return;
            w = weights_.next(w, l);
        }
    }

    const BinomialTerms& weights_;
    Terms& terms_;
    std::vector<Block> blocks_;
};

// The sum from l = 2, for WindowedSum.
struct PoissonTerms {
    using Value = Certified;  // K_l

    const RenyiCurve& base;
    double factor;
    Excess excess{};

    Certified value(double l) const { return base.log_moment(l).value; }
    double exponent(Certified k, double) const { return k.value * (1.0 + 2.0 * k.relative_error); }
    // e^K - 1 <= min(1, K) e^K and 3 e^K - 1 <= 3 e^K; K does not fall.
    double limit(Certified k, double) const {
        return factor > 1.0 ? lane_log(factor) : lane_log(std::clamp(k.value, 1e-300, 1.0));
    }
    void add(Certified k, double l, const Scaled& w) {
        const double c = l > 2.0 ? factor : 1.0;
        const Scaled growth = scaled_expm1({k.value, 0.0});
        const Scaled x = c > 1.0 ? growth * DoubleDouble{c, 0.0} + Scaled{{c - 1.0, 0.0}, 0.0} : growth;
        excess.add(w * x, log_error(k));
    }
    double log_total() const { return excess.log_total(); }
};

class PoissonBound final : public CurveOfBase {
public:
    PoissonBound(CurvePointer base, double q, PoissonBoundKind kind, bool cut = true)
        : CurveOfBase(std::move(base)), q_(q), kind_(kind) {
        if (q > 0.0) largest_order_ = base_->largest_order();
        if (cut) largest_loss_ = upper(log_mixture(q, {base_->largest_loss(), 0.0}));
        if (q < 1.0 && kind != PoissonBoundKind::lower) largest_order_ = std::floor(largest_order_);
    }

    LogMoment log_moment(double alpha) const noexcept override {
        if (q_ == 0.0) return {{0.0, 0.0}, 0.0, 0.0};
        if (q_ == 1.0) return base_->log_moment(alpha);
        return kind_ == PoissonBoundKind::lower ? below(alpha) : above(alpha);
    }
    // Up to 2 the curve is one segment from (1, 0).
    Certified divergence(double alpha) const noexcept override {
        if (q_ == 1.0) return base_->divergence(alpha);
        if (alpha == 1.0 && kind_ == PoissonBoundKind::lower) return {0.0, 0.0};
        return RenyiCurve::divergence(alpha == 1.0 && largest_order_ >= 2.0 ? 2.0 : alpha);
    }

private:
    // Beyond K_n = 2^50 the last term is the sum: K is convex and K_1 = 0, so K_l <= K_n - 2^50/n for l < n <= 2^20,
    // and no weight outweighs e^{2^30}.
    Certified at_whole_order(double n) const noexcept {
        const double factor = kind_ == PoissonBoundKind::general ? 3.0 : 1.0;
        const Certified last = base_->log_moment(n).value;
        if (last.value == kInfinity || (last.value == 0.0 && factor == 1.0)) return last;
        if (!(last.value < kLargestExponent)) {
            const double value = last.value + n * log_of(scaled(q_)) + (n > 2.0 ? lane_log(factor) : 0.0);
            return {value, last.relative_error * (last.value / value) + 4.0 * kUnitRoundoff};
        }
        const BinomialTerms weights = BinomialTerms::sampled(n, q_);
        PoissonTerms terms{*base_, factor};
        if (factor == 1.0 || n == 2.0) {
            WindowedSum(weights, terms).run(2.0, n);
        } else {
            terms.add(terms.value(2.0), 2.0, weights.at(2.0));
            WindowedSum(weights, terms).run(3.0, n);
        }
        return terms.excess.log_moment(12.0 * kUnitRoundoff);
    }
    LogMoment above(double alpha) const noexcept {
        return cut(alpha, polygon_segment(alpha, largest_order_, [this](double n) { return at_whole_order(n); }));
    }
    // The lines through (n-1, n) and (n+1, n+2) at alpha = n + t; the second needs the base at n+2.
    LogMoment below(double alpha) const noexcept {
        const double n = std::floor(alpha), t = alpha - n;
        if (t == 0.0) {
            return polygon_segment(alpha, largest_order_, [this](double order) { return at_whole_order(order); });
        }
        const auto at = [this](double order) { return order < 2.0 ? Certified{0.0, 0.0} : at_whole_order(order); };
        const auto absolute = [](Certified c) { return c.value * c.relative_error; };
        const Certified k0 = at(n - 1.0), k1 = at(n);
        const double rise = k1.value - k0.value;
        double value = k1.value + t * rise, slope = rise, error = 2.0 * absolute(k1) + absolute(k0);
        if (n + 2.0 <= std::min(largest_order_, kLastOrder)) {
            const Certified k2 = at(n + 1.0), k3 = at(n + 2.0);
            const double line = k2.value - (1.0 - t) * (k3.value - k2.value);
            if (line > value) {
                value = line, slope = k3.value - k2.value;
                error = 2.0 * absolute(k2) + absolute(k3) + kUnitRoundoff * k3.value;
            }
        }
        if (value == 0.0) return {{0.0, 0.0}, slope, 0.0};
        return {{value, std::min(error / value + 4.0 * kUnitRoundoff, 1.0 - 0x1p-22)}, slope, 0.0};
    }

    double q_;
    PoissonBoundKind kind_;
};

constexpr double kWorstError = 0x1p-10;  // largest relative error of a moment that is used

// Terms are taken relative to (e^{c^2} - 1)^{l/2} (l-1)!!, near B_l for small c. Those with e^{+(l-1) c y/2} have a
// concave logarithm and the other half is smaller: past the peak the rest is at most twice a geometric series.
// Exponents have errors of 8u of the parts that they are made of, c has 1u.
CentralMoment gaussian_moment(double c_squared, double l, double k) noexcept {
    const double c = std::sqrt(c_squared), jensen = 0.5 * l * lane_log(lane_expm1(c_squared));
    const double scale = jensen + (log_factorial(l) - log_factorial(0.5 * l)).hi - 0.5 * l * kLog2;
    if (!(k - scale < 700.0)) return {kScaledZero, kInfinity};
    const double digits = 45.0 + l * kLog2 + k - jensen, h = std::numbers::pi * std::sqrt(2.0 / digits);
    double sum = 0.0, previous = -kInfinity, parts = 0.0;
    for (double y = h;; y += h) {
        const double w = c * y, log_growth = lane_log(lane_expm1(w)), rise = 0.5 * (l - 1.0) * w;
        const double exponent = l * (log_growth - 0.5 * w) + rise - 0.5 * y * y - 0.125 * c_squared - scale;
        const double term = lane_exp(exponent) * (1.0 + lane_exp(-2.0 * rise));
        sum += term;
        parts = std::max(parts, l * (2.0 + 2.0 * w + std::fabs(log_growth)) + y * y + c_squared);
        const double fall = exponent - previous;
        previous = exponent;
        if (fall < 0.0 && 2.0 * term < 0x1p-60 * sum * -fall) break;
    }
    const double value = sum * h * kInverseRoot2Pi;
    const double aliases = lane_exp(l * kLog2 + k + lane_log1p(lane_exp(-k)) - digits - scale);
    const double exponent = std::nearbyint(scale / kLog2);
    return {{{value * lane_exp(scale - exponent * kLog2), 0.0}, exponent},
            2.0 * aliases / value + (8.0 * (parts + std::fabs(scale)) + 64.0) * kUnitRoundoff};
}

CentralMoment alternating_moment(const std::vector<Scaled>& growth, const std::vector<double>& errors, int l) noexcept {
    Scaled even = kScaledZero, odd = kScaledZero, error = kScaledZero;
    Scaled binomial{{0.5 * l * (l - 1.0), 0.0}, 0.0};
    for (int i = 2; i <= l; ++i) {
        const Scaled term = binomial * growth[i];
        (i % 2 == 0 ? even : odd) = (i % 2 == 0 ? even : odd) + term;
        error = error + term * DoubleDouble{errors[i] + 12.0 * kUnitRoundoff, 0.0};
        binomial = normalised(
            {binomial.mantissa * static_cast<double>(l - i) / DoubleDouble{i + 1.0, 0.0}, binomial.exponent});
    }
    const Scaled value = even + Scaled{-odd.mantissa, odd.exponent};
    return {value, value.mantissa.hi > 0.0 ? ratio(error, value) : kInfinity};
}

// B_0, B_2, B_4, ... up to B_last at most; fewer where they cannot be computed or are no longer below e^{K_l}/2.
std::vector<CentralMoment> even_central_moments(const RenyiCurve& base, int last) {
    std::vector<CentralMoment> moments{{kScaledOne, 0.0}};
    std::vector<Scaled> growth(2, kScaledZero);
    std::vector<double> errors(2, 0.0);
    const double c_squared = 2.0 * base.gaussian_rho();
    for (int l = 2; l <= std::min<double>(last, base.largest_order()); l += 2) {
        for (int i = l - 1; i <= l; ++i) {
            if (i < 2) continue;
            const Certified k = base.log_moment(i).value;
            if (!(k.value > 0x1p-900 && k.value < 0x1p20)) return moments;
            growth.push_back(scaled_expm1({k.value, 0.0}));
            errors.push_back(log_error(k));
        }
        const CentralMoment moment = c_squared > 0.0 ? gaussian_moment(c_squared, l, 0.5 * c_squared * l * (l - 1.0))
                                                     : alternating_moment(growth, errors, l);
        if (!(moment.error < kWorstError) || ratio(moment.value, growth[l] + kScaledOne) > 0.5) return moments;
        moments.push_back(moment);
    }
    return moments;
}

constexpr int kLastMoment = 256;
constexpr double kAlwaysTwo = 2.0;  // D_inf from which on m^2 > 2

// The square root, to 3u.
Scaled square_root(Scaled s) noexcept {
    if (std::fmod(s.exponent, 2.0) != 0.0) s = {s.mantissa * 2.0, s.exponent - 1.0};
    return {{std::sqrt(s.mantissa.hi), 0.0}, 0.5 * s.exponent};
}

std::vector<CentralMoment> moment_factors(const RenyiCurve& base) {
    const std::vector<CentralMoment> even = even_central_moments(base, kLastMoment);
    std::vector<CentralMoment> factors;
    for (std::size_t j = 3; (j + 1) / 2 < even.size(); ++j) {
        const CentralMoment &low = even[j / 2], &high = even[(j + 1) / 2];
        factors.push_back(
            {square_root(low.value * high.value) * DoubleDouble{4.0, 0.0}, 0.6 * (low.error + high.error)});
    }
    return factors;
}

// The sum from j = 3, for WindowedSum.
struct FixedSizeTerms {
    using Value = Certified;  // K_j

    const RenyiCurve& base;
    DoubleDouble log_m;
    const std::vector<CentralMoment>& factors;
    Excess excess{};

    Scaled capped_power(double j) const noexcept {  // min(2, m^j)
        const Scaled two{{2.0, 0.0}, 0.0};
        if (j * log_m.hi > 1.0) return two;
        const Scaled power = exp_dd(log_m * j);
        return ratio(power, two) < 1.0 ? power : two;
    }

    Certified value(double j) const { return base.log_moment(j).value; }
    double exponent(Certified k, double j) const {
        return k.value * (1.0 + 2.0 * k.relative_error) + std::min(log_m.hi, 0.0) * j;
    }
    double limit(Certified, double) const { return log_m.hi > 0.0 ? kLog2 : 0.0; }
    void add(Certified k, double j, const Scaled& w) {
        const Scaled x = (scaled_expm1({k.value, 0.0}) + kScaledOne) * capped_power(j);
        const auto index = static_cast<std::size_t>(j) - 3;
        if (index < factors.size() && ratio(factors[index].value, x) < 1.0) {
            excess.add(w * factors[index].value, factors[index].error);
        } else {
            excess.add(w * x, log_error(k));
        }
    }
    // j = 2: 4 (e^K - 1) or e^K min(2, m^2)
    void add_second(Certified k, const Scaled& w) {
        const Scaled growth = scaled_expm1({k.value, 0.0}), four = growth * DoubleDouble{4.0, 0.0};
        const Scaled x = (growth + kScaledOne) * capped_power(2.0);
        excess.add(w * (ratio(x, four) < 1.0 ? x : four), log_error(k));
    }
    double log_total() const { return excess.log_total(); }
};

class FixedSizeBound final : public CurveOfBase {
public:
    FixedSizeBound(CurvePointer base, double gamma, bool tight, bool cut = true)
        : CurveOfBase(std::move(base)), gamma_(gamma) {
        if (gamma > 0.0) largest_order_ = gamma == 1.0 ? base_->largest_order() : std::floor(base_->largest_order());
        if (cut) largest_loss_ = upper(log_mixture(gamma, {base_->largest_loss(), 0.0}));
        const double largest = base_->largest_loss();
        if (largest < kAlwaysTwo && largest > 0x1p-900) log_m_ = log_dd(expm1_dd(largest));
        if (tight && gamma > 0.0) factors_ = moment_factors(*base_);
    }

    LogMoment log_moment(double alpha) const noexcept override {
        if (gamma_ == 0.0) return {{0.0, 0.0}, 0.0, 0.0};
        const double last = std::floor(largest_order_);
        const LogMoment m = polygon_segment(alpha, last, [this](double n) { return at_whole_order(n); });
        if (gamma_ == 1.0) {
            const LogMoment plain = base_->log_moment(alpha);
            if (!(m.value.value < plain.value.value)) return plain;
        }
        return cut(alpha, m);
    }
    // Up to 2 the curve is one segment from (1, 0).
    Certified divergence(double alpha) const noexcept override {
        if (gamma_ == 1.0 && alpha == 1.0) return base_->divergence(alpha);
        return RenyiCurve::divergence(alpha == 1.0 && largest_order_ >= 2.0 ? 2.0 : alpha);
    }

private:
    // Beyond K_n = 2^50 the last term is the sum, as for Poisson sampling; then m is large.
    Certified at_whole_order(double n) const noexcept {
        const Certified last = base_->log_moment(n).value;
        if (last.value == kInfinity || last.value == 0.0) return last;
        if (!(last.value < kLargestExponent)) {
            const double value = last.value + n * log_of(scaled(gamma_)) + kLog2;
            return {value, last.relative_error * (last.value / value) + 4.0 * kUnitRoundoff};
        }
        const BinomialTerms weights = BinomialTerms::powers(n, gamma_);
        FixedSizeTerms terms{*base_, log_m_, factors_};
        terms.add_second(terms.value(2.0), weights.at(2.0));
        if (n > 2.0) WindowedSum(weights, terms).run(3.0, n);
        return terms.excess.log_moment(16.0 * kUnitRoundoff);
    }

    double gamma_;
    DoubleDouble log_m_{kInfinity, 0.0};  // log of m = e^{D_inf} - 1; infinite without a largest loss
    std::vector<CentralMoment> factors_;  // 4 sqrt(B B) from j = 3 on
};

}  // namespace

CurvePointer mixture_bound(CurvePointer base, double r) {
    return std::make_shared<const MixtureBound>(std::move(base), r);
}
CurvePointer poisson_bound(CurvePointer base, double q, PoissonBoundKind kind, bool cut) {
    return std::make_shared<const PoissonBound>(std::move(base), q, kind, cut);
}
CurvePointer fixed_size_bound(CurvePointer base, double gamma, bool tight, bool cut) {
    return std::make_shared<const FixedSizeBound>(std::move(base), gamma, tight, cut);
}

}  // namespace renyi
