#include "renyi/transform/sampled_loss.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/normal.hpp"

namespace renyi {

namespace {

RENYI_INLINE double loss_above(double q, double one_minus_q, double w) noexcept {
    const double clamped = w < 700.0 ? (w > -708.0 ? w : -708.0) : 700.0;
    const ExpReduction e = reduce_exp(clamped);
    const double y = one_minus_q + q * exp_of(e);
    return log_of(reduce_log(y, q * expm1_of(e))) + (w > 700.0 ? w - 700.0 : 0.0);
}

}  // namespace

// w may be far less than its two terms; its error is 2 u of itself and 4 u^2 of them.
RENYI_MULTIVERSION
static void fill_one_sided(double q, double one_minus_q, DoubleDouble c, double weight, const double* x, std::size_t n,
                           double* v, double* log_density) noexcept {
    const DoubleDouble square = c * c;
    const double half = 0.5 * square.hi, half_rest = 0.5 * square.lo;
    for (std::size_t i = 0; i < n; ++i) {
        const DoubleDouble turned = two_prod(c.hi, x[i]);
        const double loss =
            loss_above(q, one_minus_q, (turned.hi - half) + (turned.lo + (c.lo * x[i] - half_rest)));
        v[i] = loss;
        log_density[i] = weight * loss - 0.5 * (x[i] * x[i]);
    }
}

RENYI_MULTIVERSION
static void fill_two_sided(double q, double one_minus_q, double c, const double* x, std::size_t n, double* v,
                           double* log_density) noexcept {
    const double half = 0.5 * c * c;
    for (std::size_t i = 0; i < n; ++i) {
        const double above = loss_above(q, one_minus_q, c * x[i] - half);
        v[i] = above - loss_above(q, one_minus_q, -c * x[i] - half);
        log_density[i] = above - 0.5 * (x[i] * x[i]);
    }
}

RENYI_MULTIVERSION
static void fill_ratio(double c, double weight, const double* x, std::size_t n, double* v,
                       double* log_density) noexcept {
    const double half = 0.5 * c * c;
    for (std::size_t i = 0; i < n; ++i) {
        const double w = c * x[i] - half;
        v[i] = lane_expm1(w < kLogLargestRatio ? w : kLogLargestRatio);
        log_density[i] = weight * w - 0.5 * (x[i] * x[i]);
    }
}

static void evaluate_group(const SampledLoss& law, std::span<const double> x, double* v, double* log_density,
                           double* error) {
    const std::size_t n = x.size();
    std::vector<double> other(n, 0.0), other_error(n, 0.0), error_of_v(n);
    law.group->evaluate(x, v, error_of_v.data());
    for (std::size_t i = 0; i < n; ++i) log_density[i] = (law.weighted() ? v[i] : 0.0) - 0.5 * (x[i] * x[i]);
    if (law.two_sided()) {
        std::vector<double> mirrored(n);
        for (std::size_t i = 0; i < n; ++i) mirrored[i] = -x[i];
        law.group->evaluate(mirrored, other.data(), other_error.data());
    }
    for (std::size_t i = 0; i < n; ++i) {
        v[i] -= other[i];
        if (error) error[i] = error_of_v[i] + other_error[i] + std::fabs(v[i]);
    }
}

void evaluate(const SampledLoss& law, std::span<const double> x, double* v, double* log_density, double* error) {
    if (law.group) {
        evaluate_group(law, x, v, log_density, error);
    } else if (law.is_ratio()) {
        fill_ratio(law.c, law.weighted() ? 1.0 : 0.0, x.data(), x.size(), v, log_density);
    } else if (law.two_sided()) {
        fill_two_sided(law.q, law.one_minus_q, law.c, x.data(), x.size(), v, log_density);
    } else {
        fill_one_sided(law.q, law.one_minus_q, {law.c, law.c_rest}, law.weighted() ? 1.0 : 0.0, x.data(), x.size(), v,
                       log_density);
    }
}

RENYI_MULTIVERSION
void find_posteriors(const double* x, std::size_t n, double start, double c, double* posterior) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
        const double e = -(start + c * x[i]);
        posterior[i] = 1.0 / (1.0 + lane_exp(e < 700.0 ? e : 700.0));
    }
}

Rotation rotation(const SampledLoss& law, double angle) noexcept {
    const double half_sine = std::sin(0.5 * angle);
    return {angle / law.c, std::sin(angle), 2.0 * half_sine * half_sine, std::tan(angle)};
}

namespace {

// Finds the output by halving, to a hundredth.
double output_of_group(const SampledLoss& law, double loss) noexcept {
    const auto value = [&](double x) {
        const double other = law.two_sided() ? law.group->rise(-x).size : -law.least();
        return law.group->rise(x).size - other;
    };
    if (!(loss > law.least())) return -kInfinity;
    double low = -40.0, high = 40.0 + law.records() * law.c;
    while (value(high) < loss && high < 1e6) high *= 2.0;
    while (high - low > 0.01) (value(0.5 * (low + high)) < loss ? low : high) = 0.5 * (low + high);
    return high;
}

}  // namespace

double output_at(const SampledLoss& law, double loss) noexcept {
    if (law.group) return output_of_group(law, loss);
    if (law.is_ratio()) return loss > -1.0 ? std::log1p(loss) / law.c + 0.5 * law.c : -kInfinity;
    // e^w = 1 + expm1(loss)/q
    if (loss > 600.0) return (loss - std::log(law.q)) / law.c + 0.5 * law.c;
    const double ratio = std::expm1(loss) / law.q;
    if (!(ratio > -1.0)) return -kInfinity;
    return std::log1p(ratio) / law.c + 0.5 * law.c;
}

namespace {

// Tuning: these affect width and time, not validity. Errors are computed for the step and the range that were chosen.
constexpr double kDepth = 34.0;  // nats: e^-34 over the number of steps is negligible
constexpr double kMostNodes = 4000.0;
constexpr double kLeastSlope = 0.05;
constexpr double kLongest = 0.8;  // longest step in v
constexpr double kFarther = 1.2;  // tilt served over the tilt asked for
constexpr double kFarthestCut = -10.0, kCutError = 1e-9;  // deviations; error of moments of a normal law cut there
constexpr double kLog3 = 1.0986122886681098;

struct Nodes {
    const double *v, *l, *other_l, *excess, *factor, *other;
    std::size_t size, negative;
};

// With own = e^{a l - z l'} - 1, l' at the output -x, the term is factor own + other e^{i y v} for v < 0, else factor
// own e^{i y v} + other; `excess` is own at y = 0.
RENYI_MULTIVERSION
static void sum_overlap(const Nodes& n, double y, double* re, double* im) noexcept {
    double sum_re[kLanes] = {}, sum_im[kLanes] = {};
    for (std::size_t block = 0; block < n.size; block += kLanes) {
        const bool is_negative = block < n.negative;
        for (int i = 0; i < kLanes; ++i) {
            const std::size_t j = block + i;
            const double angle = y * (n.l[j] - n.other_l[j]);
            const CircularExcess own = circular_excess(angle), turn = circular_excess(y * n.v[j]);
            const double grown = 1.0 + n.excess[j];
            const double e_re = n.excess[j] + grown * own.cosine, e_im = grown * (angle + own.sine);
            const double cosine = 1.0 + turn.cosine, sine = y * n.v[j] + turn.sine;
            const double a_re = n.factor[j] * (is_negative ? e_re : e_re * cosine - e_im * sine);
            const double a_im = n.factor[j] * (is_negative ? e_im : e_re * sine + e_im * cosine);
            sum_re[i] += a_re + n.other[j] * (is_negative ? cosine : 1.0);
            sum_im[i] += a_im + n.other[j] * (is_negative ? sine : 0.0);
        }
    }
    *re = total(sum_re);
    *im = total(sum_im);
}

}  // namespace

InclusionOverlap::InclusionOverlap(const SampledStep& s, SampledPair pair) noexcept
    : replaces(pair == SampledPair::replace_one),
      count(s.count),
      q(s.q),
      rest(1.0 - s.q),
      log_q(std::log(s.q)),
      log_rest(std::log1p(-s.q)),
      log_odds(log_q - log_rest),
      c(1.0 / s.sigma),
      with(replaces ? log_odds : log_q),
      without(replaces ? 0.0 : log_rest) {}

// log(phi(x)/c), a density in v.
double InclusionOverlap::log_density(double v) const noexcept {
    const double x = output(v);
    return -0.5 * x * x - kHalfLog2Pi - std::log(c);
}

// log of a bound of the integral of phi min(1, e^v) (1 + e^v)^t. The integrand is at most phi times 2^t e^{k v} for any
// t <= k <= 1, or 2^t (e^v + e^{t v}). For replaced records the integral of phi min(1, e^v') (1 + e^v)^{1+t} is added:
// at most 2^{1+t} times that of phi min(1, e^v') <= phi e^{k v'}, 0 <= k <= 1, and, for v > 0, that of
// phi e^{v' + v} e^{t v}.
double InclusionOverlap::log_mass(double t) const noexcept {
    const auto power = [&](double k) { return k * log_odds + 0.5 * c * c * k * (k - 1.0); };
    const auto best = [&](double least) { return power(std::clamp(0.5 - log_odds / (c * c), least, 1.0)); };
    const double own = t > 1.0 ? log_add(power(1.0), power(t)) : best(t);
    if (!replaces) return t * kLog2 + own;
    return t * kLog2 + log_add(own, kLog2 + log_add(best(0.0), mirrored(0.0) + power(t)));
}

double InclusionOverlap::above(double t) const noexcept { return (2.0 + t) * std::exp(log_mass(t) + 1e-6); }

// log of a bound of all nodes from v on, where they fall at least like e^{-slope |v|}. For replaced records the second
// part is at most twice the first for v > 0, and both are at most 2^t (1 + 2) where v' > 0.
double InclusionOverlap::log_beyond(double v, double slope, double t, double y) const noexcept {
    if (!(slope > kLeastSlope) || (replaces && v < 0.0 && mirrored(v) < 0.0)) return kInfinity;
    double grown = v > 0.0 ? t * (v + std::log1p(std::exp(-v))) : v + t * std::log1p(std::exp(v));
    if (replaces) grown = kLog3 + (v > 0.0 ? grown : t * kLog2);
    return std::log(h_ * (2.0 + t + y)) + log_density(v) + grown - std::log(-std::expm1(-h_ * slope)) + 1e-6;
}

double InclusionOverlap::error(double t, double y_most) const noexcept {
    const double size = std::log(2.0 + t + y_most) + log_mass(t);
    if (v_.empty()) return std::exp(size + 1e-6);
    const double a = 0.5 * std::numbers::pi / c, order = 1.0 + t + y_most;
    const double rule = size + kLog2 + 0.5 * a * a + std::numbers::pi * y_most -
                        std::log(std::expm1(std::numbers::pi * std::numbers::pi / h_));
    const double left = log_beyond(left_, left_slope(left_), t, y_most),
                 right = log_beyond(right_, output(right_) / c - t, t, y_most);
    // Errors in u: 4 x^2 + 16 of the weights, 8 a (|v| + 1) of both terms and as much of v', one a block of the sum.
    double rounding = 0.0;
    const double off = replaces ? 1.0 - mirrored(0.0) : 1.0;
    const double blocks = static_cast<double>(v_.size() / kLanes) + 64.0;
    for (std::size_t j = 0; j < v_.size(); ++j) {
        const double x = output(v_[j]), tilted = std::exp((1.0 + t) * v_[j]);
        const double grown = std::exp(std::max((1.0 + t) * l_[j] - t * other_l_[j], 0.0));
        const double excess = std::min(order * (l_[j] + other_l_[j]), 2.0) * grown;
        const double terms = j < negative_ ? excess + tilted : excess * tilted + 1.0;
        rounding += weight_[j] * terms * (4.0 * x * x + 8.0 * order * (std::fabs(v_[j]) + off) + blocks);
    }
    return (std::exp(rule + 1e-6) + std::exp(left) + std::exp(right) + kUnitRoundoff * rounding) * (1.0 + 1e-6);
}

bool InclusionOverlap::place(double tilt, double ordinate) {
    is_ignored_ = false;
    if (tilt <= tilt_ && ordinate <= ordinate_) return true;
    v_.clear();
    weight_.clear();
    tilt_ = kFarther * tilt;
    ordinate_ = ordinate;
    negative_ = 0;
    // The error counts relative to 1 + C and the term of included records.
    const double tilts[] = {0.0, 0.25 * tilt_, 0.5 * tilt_, 0.75 * tilt_, tilt_};
    const double a = 0.5 * std::numbers::pi / c;
    double nothing[std::size(tilts)], level = -kInfinity;
    for (std::size_t i = 0; i < std::size(tilts); ++i) {
        const double t = tilts[i];
        nothing[i] = -kDepth - std::log(count) + std::max(log_included(t), 0.0);
        level = std::max(level, std::log(2.0 + t + ordinate) + log_mass(t) - nothing[i]);
    }
    if (level < 0.0) return true;
    const double strip = level + 0.7 + 0.5 * a * a + std::numbers::pi * ordinate;
    // h has few digits, so that its multiples are doubles.
    h_ = static_cast<float>(std::min(std::numbers::pi * std::numbers::pi / strip, kLongest));
    const auto matters = [&](double v, auto slope) {
        for (std::size_t i = 0; i < std::size(tilts); ++i)
            if (!(log_beyond(v, slope(tilts[i]), tilts[i], ordinate) < nothing[i])) return true;
        return false;
    };
    const double most = kMostNodes * h_;
    left_ = -0.5 * h_;
    while (left_ > -most && matters(left_, [&](double) { return left_slope(left_); })) left_ -= h_;
    right_ = 0.5 * h_;
    while (right_ < most && matters(right_, [&](double t) { return output(right_) / c - t; })) right_ += h_;
    if (!(right_ - left_ < most)) {
        tilt_ = -1.0;
        return false;
    }
    const auto add = [&](double from, double to) {
        for (double v = from; v < to; v += h_) {
            v_.push_back(v);
            weight_.push_back(std::exp(log_density(v)) * h_);
        }
        while (v_.size() % kLanes != 0) {
            v_.push_back(0.0);
            weight_.push_back(0.0);
        }
    };
    add(left_ + h_, -0.25 * h_);
    negative_ = v_.size();
    add(0.5 * h_, right_ - 0.25 * h_);
    l_.resize(v_.size());
    other_l_.assign(v_.size(), 0.0);
    for (std::size_t j = 0; j < v_.size(); ++j) {
        l_[j] = std::log1p(std::exp(-std::fabs(v_[j])));
        if (replaces) other_l_[j] = log_add(0.0, mirrored(v_[j]));
    }
    return true;
}

void InclusionOverlap::set_tilt(double t) {
    const std::size_t n = v_.size();
    for (auto* a : {&excess_, &factor_, &other_}) a->resize(n);
    for (std::size_t j = 0; j < n; ++j) {
        const double w = weight_[j], tilted = w * std::exp((1.0 + t) * v_[j]);
        excess_[j] = std::expm1((1.0 + t) * l_[j] - t * other_l_[j]);
        factor_[j] = j < negative_ ? w : tilted;
        other_[j] = j < negative_ ? -tilted : -w;
    }
}

double InclusionOverlap::at(double t) const noexcept {
    if (is_ignored_) return 0.0;
    double sum = 0.0;
    for (std::size_t j = 0; j < v_.size(); ++j) {
        const double w = weight_[j], tilted = w * std::exp((1.0 + t) * v_[j]);
        const double excess = std::expm1((1.0 + t) * l_[j] - t * other_l_[j]);
        sum += j < negative_ ? w * excess - tilted : tilted * excess - w;
    }
    return sum;
}

double InclusionOverlap::slope_at(double t) const noexcept {
    if (is_ignored_) return 0.0;
    double sum = 0.0;
    for (std::size_t j = 0; j < v_.size(); ++j) {
        const double v = v_[j], l = l_[j] + std::max(v, 0.0);  // log(1 + e^v)
        const double own = (l - other_l_[j]) * std::exp((1.0 + t) * l - t * other_l_[j]);
        sum += weight_[j] * (own - v * std::exp((1.0 + t) * v));
    }
    return sum;
}

void InclusionOverlap::at_ordinates(const double* y, double* re, double* im) const noexcept {
    const Nodes nodes{v_.data(),      l_.data(),     other_l_.data(), excess_.data(),
                      factor_.data(), other_.data(), v_.size(),       negative_};
    std::fill_n(re, kLanes, 0.0);
    std::fill_n(im, kLanes, 0.0);
    for (int i = 0; i < kLanes && !is_ignored_; ++i) sum_overlap(nodes, y[i], re + i, im + i);
}

// With E = e^{L - log(1-q)} the losses at L have the density phi(x) (1-q) E^2/((E - 1) c), those of included records
// phi(x') (1-q) E/c, where e^{v(x)} = E - 1 and e^{v(x')} = E, so x < x': where x >= 0 the first is larger. The
// negative part is in losses below that of x = 0, with mass and tilt as at normal outputs. For replaced records with
// a = e^{v(x)}, b = e^{v(-x)} and L = log((1 + a)/(1 + b)) = v(x') the first is
// phi(x) (1 + a)/(c (a/(1 + a) + b/(1 + b))), the second phi(x') (1 + a)/(c (1 + b)): for 0 <= x the first is larger,
// since x < x' where a b < 1, and a + b + 2 a b <= (1 + a) (1 + b)^2; L is 0 at x = 0.
double InclusionOverlap::above_negative(double t) const noexcept {
    const double least = replaces ? 0.0 : std::log1p(std::exp(log_odds - 0.5 * c * c));
    return (0.5 + t) * c - (least - log_odds) / c;
}

double InclusionOverlap::negative_part(double t) const noexcept {
    return std::exp(log_included(t) + log_upper_tail(above_negative(t))) * (1.0 + 1e-9);
}

// f' is a normal law cut from below, u deviations under its mean. With r = phi(u)/Phi(u) its variance is v c^2,
// v = 1 - r (u + r), and its fourth central moment m c^4, so that the difference D of two draws has the second and
// fourth moments 2 v c^2 and (2 m + 6 v^2) c^4. D is symmetric and unimodal, a mixture of uniform laws, and
// sin(x')/x' <= 1 - x^2/6 + x^4/120 for all x' >= x >= 0: |f'(z)|^2 = f'(t)^2 E cos(y D) is at most
// f'(t)^2 (1 - w v + w^2 (m + 3 v^2)/12) for any w <= c^2 y^2. The parabola in w falls up to 6 v/(m + 3 v^2).
double InclusionOverlap::decayed(double t, double y) const noexcept {
    const double negative = negative_part(t), whole = std::exp(log_included(t)), turned = c * c * y * y;
    const double far = whole * std::exp(-0.5 * turned) + negative, u = above_negative(t);
    if (u < kFarthestCut) return negative + far;
    const double r = std::exp(-0.5 * u * u - kHalfLog2Pi - log_upper_tail(-u)), square = r * r;
    const double v = std::max(1.0 - r * (u + r) - kCutError, 0.0);
    const double m = 3.0 * (1.0 - u * r) - u * u * u * r - 4.0 * square * (2.0 + u * u) +
                     square * (6.0 * (1.0 - u * r) - 3.0 * square) + kCutError;
    const double bend = (m + 3.0 * v * v) / 12.0, w = std::min(turned, 0.5 * v / bend);
    return negative + std::min((whole - negative) * std::sqrt(1.0 - w * (v - w * bend)), far);
}

// The bound uses (1 + w)^t - 1 <= min(t w, w^t), (1 + w)^t - w^t <= min(1, t w^{t-1}) and 1 + w <= 2 max(1, w), and the
// moments of w, which is log-normal, below and above 1. Replaced records: L lies between v and log(1 + w) and,
// at x < 0, between -log(1 + e^v') and 0, so that the first root there is at most the first root at -x.
double InclusionOverlap::change(double t) const noexcept {
    const auto moment = [&](double p) { return p * log_odds - 0.5 * p * (1.0 - p) * c * c; };
    const auto below = [&](double p) { return std::exp(moment(p) + log_upper_tail(log_odds / c - (0.5 - p) * c)); };
    const auto above = [&](double p) { return std::exp(moment(p) + log_upper_tail((0.5 - p) * c - log_odds / c)); };
    const double sum = std::sqrt(t) * (below(0.5) + above(t + 0.5)) + above(t) + below(1.0);
    return (replaces ? 2.0 : 1.0) * std::exp2(0.5 * t) * sum * (1.0 + 1e-9);
}

}  // namespace renyi
