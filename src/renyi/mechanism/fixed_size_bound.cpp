#include "renyi/mechanism/fixed_size_bound.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/mechanism/excess.hpp"
#include "renyi/mechanism/polygon_segment.hpp"
#include "renyi/mechanism/windowed_sum.hpp"
#include "renyi/special/expm1_dd.hpp"

namespace renyi {

namespace {

constexpr int kLastMoment = 256;
constexpr double kAlwaysTwo = 2.0;  // of D_inf: m^2 > 2

// To 3u.
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

}  // namespace

FixedSizeBound::FixedSizeBound(CurvePointer base, double gamma, bool tight, bool cut)
    : base_(std::move(base)),
      gamma_(gamma),
      log_m_hi_(kInfinity),
      log_m_lo_(0.0),
      largest_order_(gamma == 0.0 ? kInfinity : std::floor(base_->largest_order())),
      largest_loss_(cut ? upper(log_mixture(gamma, {base_->largest_loss(), 0.0})) : kInfinity) {
    const double largest = base_->largest_loss();
    if (largest < kAlwaysTwo && largest > 0x1p-900) {
        const DoubleDouble log_m = log_dd(expm1_dd(largest));
        log_m_hi_ = log_m.hi, log_m_lo_ = log_m.lo;
    }
    if (tight && gamma > 0.0) factors_ = moment_factors(*base_);
    if (gamma == 1.0) largest_order_ = base_->largest_order();
}

// Beyond K_n = 2^50 the last term is the sum, as for Poisson sampling; then m is large.
Certified FixedSizeBound::at_whole_order(double n) const noexcept {
    const Certified last = base_->log_moment(n).value;
    if (last.value == kInfinity || last.value == 0.0) return last;
    if (!(last.value < kLargestExponent)) {
        const double value = last.value + n * log_of(scaled(gamma_)) + kLog2;
        return {value, last.relative_error * (last.value / value) + 4.0 * kUnitRoundoff};
    }
    const BinomialTerms weights = BinomialTerms::powers(n, gamma_);
    FixedSizeTerms terms{*base_, {log_m_hi_, log_m_lo_}, factors_};
    terms.add_second(terms.value(2.0), weights.at(2.0));
    if (n > 2.0) WindowedSum(weights, terms).run(3.0, n);
    return terms.excess.log_moment(16.0 * kUnitRoundoff);
}

LogMoment FixedSizeBound::log_moment(double alpha) const noexcept {
    if (gamma_ == 0.0) return {{0.0, 0.0}, 0.0, 0.0};
    const double last = std::floor(largest_order_);
    const LogMoment m = polygon_segment(alpha, last, [this](double n) { return at_whole_order(n); });
    if (gamma_ == 1.0) {
        const LogMoment plain = base_->log_moment(alpha);
        if (!(m.value.value < plain.value.value)) return plain;
    }
    const double cut = (alpha - 1.0) * largest_loss_;
    if (alpha > 1.0 && cut < m.value.value) return {{cut, 2.0 * kUnitRoundoff}, largest_loss_, 0.0};
    return m;
}

// Up to 2 the curve is one segment from (1, 0).
Certified FixedSizeBound::divergence(double alpha) const noexcept {
    if (gamma_ == 1.0 && alpha == 1.0) return base_->divergence(alpha);
    return RenyiCurve::divergence(alpha == 1.0 && largest_order_ >= 2.0 ? 2.0 : alpha);
}

}  // namespace renyi
