#include "renyi/transform/windowed_law.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "renyi/loss/sampled_gaussian_kernels.hpp"

// The hot loops over the nodes; arrays are padded with nodes of weight 0 to a multiple of kLanes. Fixed summation
// order: the same bits on every instruction set. Errors are in u.
namespace renyi::windowed {

namespace {

constexpr double kBasic = 24.0;  // rounding errors of exp, the log-density and products

// weight = e^{log_weight + tilt loss - top}; returns the sum.
RENYI_MULTIVERSION
double tilt_weights(const double* log_weight, const double* loss, std::size_t n, double tilt, double top,
                    double* weight) noexcept {
    double sum[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            weight[block + i] = lane_exp((log_weight[block + i] - top) + tilt * loss[block + i]);
            sum[i] += weight[block + i];
        }
    }
    return total(sum);
}

RENYI_MULTIVERSION
double largest_exponent(const double* log_weight, const double* loss, std::size_t n, double tilt) noexcept {
    double largest[kLanes];
    for (int i = 0; i < kLanes; ++i) largest[i] = -1e300;
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double e = log_weight[block + i] + tilt * loss[block + i];
            largest[i] = e > largest[i] ? e : largest[i];
        }
    }
    double result = largest[0];
    for (int i = 1; i < kLanes; ++i) result = largest[i] > result ? largest[i] : result;
    return result;
}

// sum weight (loss - centre)^2.
RENYI_MULTIVERSION
double second_moment(const double* weight, const double* loss, std::size_t n, double centre) noexcept {
    double sum[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double d = loss[block + i] - centre;
            sum[i] += weight[block + i] * (d * d);
        }
    }
    return total(sum);
}

// sum weight (loss - mean)^2, and the errors of the sums of weight and of weight loss, for |tilt|.
struct Spread {
    double second, error, mean_error;
};
RENYI_MULTIVERSION
Spread sum_spread(const double* weight, const double* loss, const double* rounding, const double* loss_error,
                  std::size_t n, double mean, double additions, double tilt) noexcept {
    double second[kLanes] = {}, error[kLanes] = {}, mean_error[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double w = weight[block + i], off = loss_error[block + i], d = loss[block + i] - mean;
            const double relative = rounding[block + i] + additions + tilt * off;
            second[i] += w * (d * d);
            error[i] += w * relative;
            mean_error[i] += w * (relative * __builtin_fabs(d) + off);
        }
    }
    return {total(second), total(error), total(mean_error)};
}

// Sums of e^{log_weight} times the parts, all >= 0, of E[e^{t L}] - 1 and of its derivative in t (windowed_law.hpp),
// and their errors.
struct Excess {
    double value, slope, error, slope_error;
};

constexpr double kFar = 60.0;  // (1 + t) e^-t < 2^-80

template <bool kCentred>
RENYI_INLINE Excess add_excess(const double* log_weight, const double* loss, const double* rounding,
                               const double* loss_error, std::size_t n, double tilt) noexcept {
    double value[kLanes] = {}, slope[kLanes] = {}, error[kLanes] = {}, slope_error[kLanes] = {};
    const double additions = static_cast<double>(n / kLanes) + 8.0, size = __builtin_fabs(tilt);
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double v = loss[block + i], w = lane_exp(log_weight[block + i]), t = tilt * v;
            const double up = t < kFar ? (t > -708.0 ? t : -708.0) : kFar;
            const double down = -v < 700.0 ? (-v > -708.0 ? -v : -708.0) : 700.0;
            const ExpReduction e = reduce_exp(up), f = reduce_exp(down);
            // Far out phi and expm1 equal the exponential, which may overflow without its weight.
            const double whole = lane_exp(log_weight[block + i] + t);
            const double phi = select(t < kFar, w * (phi_of(e) + (up - t)), whole);
            const double grown = select(t < kFar, w * expm1_of(e), whole);
            const double back = kCentred ? 0.0 : w * (phi_of(f) + (down + v));
            const double back_steep = kCentred ? 0.0 : w * __builtin_fabs(expm1_of(f));
            const double term = phi + tilt * back, rise = v * grown + back, steep = __builtin_fabs(grown);
            value[i] += term;
            slope[i] += rise;
            // phi has an error of 16u, the rest less; the error of a loss counts by the derivatives in it.
            const double relative = rounding[block + i] + additions + 40.0, off = loss_error[block + i];
            error[i] += relative * term + off * size * (steep + back_steep);
            slope_error[i] += relative * rise + off * (steep + size * __builtin_fabs(v) * (steep + w) + back_steep);
        }
    }
    return {total(value), total(slope), total(error), total(slope_error)};
}

// The excess of a law with E[e^-L] = 1, or with E[L] = 0 (centred).
RENYI_MULTIVERSION
Excess sum_excess(const double* log_weight, const double* loss, const double* rounding, const double* loss_error,
                  std::size_t n, double tilt) noexcept {
    return add_excess<false>(log_weight, loss, rounding, loss_error, n, tilt);
}
RENYI_MULTIVERSION
Excess sum_centred_excess(const double* log_weight, const double* loss, const double* rounding,
                          const double* loss_error, std::size_t n, double tilt) noexcept {
    return add_excess<true>(log_weight, loss, rounding, loss_error, n, tilt);
}

// Bounds the absolute errors of the computed losses and of the logarithm of the density. L+ rises with w at the rate
// 1 - e^{least - L+} <= min(1, L+ - least). The error of w is 2 |w| u, that of the logarithm 6 |L+| u. With two sides,
// each has an error of (7 + 2 (c |x| + c^2/2)) u of itself, and |L-| <= |least| where L+ decides.
struct LossFacts {
    double c, least;               // |least|
    bool two_sided, ratio, known;  // known: the errors of the losses are given
};
RENYI_MULTIVERSION
void bound_losses(const LossFacts& law, const double* x, const double* v, std::size_t n, double* loss_error,
                  double* rounding) noexcept {
    const double c = law.c, half = 0.5 * c * c, least = law.least;
    if (law.ratio) {
        for (std::size_t i = 0; i < n; ++i)
            loss_error[i] = 8.0 * __builtin_fabs(v[i]) + 4.0 * (c * __builtin_fabs(x[i]) + half) * (1.0 + v[i]);
        for (std::size_t i = 0; i < n; ++i)
            rounding[i] = kBasic + x[i] * x[i] + 4.0 * (c * __builtin_fabs(x[i]) + half);
        return;
    }
    if (law.two_sided && !law.known) {
        for (std::size_t i = 0; i < n; ++i)
            loss_error[i] = (7.0 + 2.0 * (c * __builtin_fabs(x[i]) + half)) * (__builtin_fabs(v[i]) + 2.0 * least);
    } else if (!law.known) {
        for (std::size_t i = 0; i < n; ++i) {
            const double risen = v[i] + least, share = risen < 1.0 ? risen : 1.0;
            loss_error[i] = 6.0 * __builtin_fabs(v[i]) + 2.0 * __builtin_fabs(c * x[i] - half) * share;
        }
    }
    for (std::size_t i = 0; i < n; ++i) rounding[i] = kBasic + x[i] * x[i] + loss_error[i];
}

// Adds log Phi(u), u = sign (v - level) scale, and its error: the derivative of log Phi in u is phi/Phi.
struct StepAt {
    double level, scale, sign;  // scale = 1/width
};
RENYI_MULTIVERSION
void add_windows(const double* v, const double* loss_error, std::size_t n, const StepAt* steps, int count,
                 double* log_weight, double* rounding) noexcept {
    for (int s = 0; s < count; ++s) {
        const StepAt step = steps[s];
        for (std::size_t i = 0; i < n; ++i) {
            const double u = step.sign * (v[i] - step.level) * step.scale, size = __builtin_fabs(u);
            const double cdf = log_normal_cdf(u), hazard = select(u < 0.0, 1.0 + size, lane_exp(-0.5 * (u * u)));
            const bool is_open = u > kOpen;
            log_weight[i] += select(is_open, 0.0, cdf);
            rounding[i] += select(is_open, 0.0, 20.0 + hazard * (loss_error[i] * step.scale + 3.0 * size));
        }
    }
}

}  // namespace

}  // namespace renyi::windowed

namespace renyi {

namespace {

constexpr double kOverflow = 600.0;
constexpr double kNoWeight = -1e4;

}  // namespace

// The first block of the arrays is left free for the merged node.
void WindowedNodes::fill(double first, double last, double step, double tolerance) {
    const double start = std::floor(first / step);
    const auto wanted = static_cast<std::size_t>(std::ceil(last / step) - start) + 1;
    const std::size_t n = (wanted + kLanes - 1) / kLanes * kLanes, size = n + kLanes;
    for (auto* a : {&x_, &v_, &loss_, &log_weight_, &rounding_, &loss_error_}) a->resize(size);
    double *const x = x_.data() + kLanes, *const v = v_.data() + kLanes,
                  *const log_weight = log_weight_.data() + kLanes, *const loss_error = loss_error_.data() + kLanes,
                  *const rounding = rounding_.data() + kLanes;
    for (std::size_t i = 0; i < n; ++i) x[i] = (start + static_cast<double>(i)) * step;
    first_ = x[0] - step;
    last_ = x[n - 1] + step;
    evaluate(law_, {x, n}, v, log_weight, loss_error);
    windowed::StepAt steps[LossWindow::kMost];
    int count = 0;
    for (const LossStep& s : window_) steps[count++] = {s.level, 1.0 / s.width, s.sign};
    const double least = law_.is_ratio() ? 1.0 : -law_.least_factor();
    windowed::bound_losses({law_.c, least, law_.two_sided(), law_.is_ratio(), law_.group != nullptr}, x, v, n,
                           loss_error, rounding);
    windowed::add_windows(v, loss_error, n, steps, count, log_weight, rounding);
    const double log_step = std::log(step) - kHalfLog2Pi;
    for (std::size_t i = 0; i < n; ++i) log_weight[i] += log_step;
    merge_flat(tolerance);
    loss_.resize(v_.size());
    for (std::size_t i = 0; i < v_.size(); ++i) loss_[i] = law_.sign() * v_[i];
}

// Merges the nodes whose loss is within the tolerance of the flat part of V: the least loss, or 0 with two sides.
void WindowedNodes::merge_flat(double tolerance) {
    const double flat = law_.two_sided() ? 0.0 : law_.least();
    double top = -1e300, sum = 0.0, rounding = 0.0;
    std::size_t kept = 1;
    for (std::size_t i = kLanes; i < x_.size(); ++i) {
        if (std::fabs(v_[i] - flat) < tolerance) {
            const double e = log_weight_[i];
            sum = e > top ? sum * std::exp(top - e) + 1.0 : sum + std::exp(e - top);
            top = std::max(top, e);
            rounding = std::max(rounding, rounding_[i]);
            continue;
        }
        for (auto* a : {&x_, &v_, &log_weight_, &rounding_, &loss_error_}) (*a)[kept] = (*a)[i];
        ++kept;
    }
    x_[0] = 0.0;
    v_[0] = flat;
    log_weight_[0] = sum > 0.0 ? top + std::log(sum) : kNoWeight;
    rounding_[0] = rounding + 8.0;
    loss_error_[0] = 2.0 * std::fabs(flat);
    const std::size_t n = (kept + kLanes - 1) / kLanes * kLanes;
    for (auto* a : {&x_, &v_, &log_weight_, &rounding_, &loss_error_}) a->resize(kept);
    x_.resize(n, 0.0);
    v_.resize(n, flat);
    log_weight_.resize(n, kNoWeight);
    rounding_.resize(n, 0.0);
    loss_error_.resize(n, 0.0);
}

// Fills the weights of the tilted law times e^-top, and returns top.
double WindowedNodes::tilt_weights(double tilt, double& sum) const {
    const std::size_t n = loss_.size();
    const double top = windowed::largest_exponent(log_weight_.data(), loss_.data(), n, tilt);
    weight_.resize(n);
    sum = windowed::tilt_weights(log_weight_.data(), loss_.data(), n, tilt, top, weight_.data());
    return top;
}

WindowedMoment WindowedNodes::rough_moment(double tilt) const {
    double sum = 0.0;
    const double top = tilt_weights(tilt, sum);
    const double mean = sum_products(weight_.data(), loss_.data(), loss_.size() / kLanes) / sum;
    const double variance = windowed::second_moment(weight_.data(), loss_.data(), loss_.size(), mean) / sum;
    return {top + std::log(sum), 0.0, mean, 0.0, variance};
}

double WindowedNodes::fourth_cumulant(double tilt, const WindowedMoment& at) const {
    double sum = 0.0, fourth = 0.0;
    tilt_weights(tilt, sum);
    for (std::size_t i = 0; i < loss_.size(); ++i) {
        const double d = loss_[i] - at.mean;
        fourth += weight_[i] * (d * d) * (d * d);
    }
    return fourth / sum - 3.0 * at.variance * at.variance;
}

WindowedMoment WindowedNodes::moment(double tilt) const {
    double sum = 0.0;
    const double top = tilt_weights(tilt, sum);
    const std::size_t n = loss_.size();
    const double additions = static_cast<double>(n / kLanes) + 8.0;
    WindowedMoment m{};
    m.mean = sum_products(weight_.data(), loss_.data(), n / kLanes) / sum;
    const windowed::Spread s = windowed::sum_spread(weight_.data(), loss_.data(), rounding_.data(), loss_error_.data(),
                                                    n, m.mean, additions, std::fabs(tilt));
    m.variance = s.second / sum;
    m.value = top + std::log(sum);
    m.error = kUnitRoundoff * (s.error / sum + 4.0 * std::fabs(top) + 4.0);
    m.mean_error = kUnitRoundoff * (s.mean_error / sum + additions * std::fabs(m.mean));
    return m;
}

WindowedMoment WindowedNodes::moment_by_excess(double tilt, const WindowedMoment& plain,
                                               const LeftOut& left_out) const {
    if (law_.two_sided() || !(plain.value < kOverflow)) return plain;
    const auto sum = law_.is_ratio() ? windowed::sum_centred_excess : windowed::sum_excess;
    const windowed::Excess e =
        sum(log_weight_.data(), loss_.data(), rounding_.data(), loss_error_.data(), loss_.size(), tilt);
    const double lost = left_out.mass + std::fabs(tilt * left_out.fall);
    const double excess = e.value - left_out.mass - tilt * left_out.fall;
    if (!(e.value < kOverflow && excess > -0.9)) return plain;
    const double off =
        (kUnitRoundoff * e.error + (1.0 + std::fabs(tilt)) * left_out.error + 4.0 * kUnitRoundoff * lost) /
            (1.0 + excess) +
        4.0 * kUnitRoundoff * std::fabs(excess);
    if (!(off < plain.error)) return plain;
    WindowedMoment m = plain;
    m.value = std::log1p(excess);
    m.error = off;
    m.mean = (e.slope - left_out.fall) / (1.0 + excess);
    m.mean_error = (kUnitRoundoff * e.slope_error + left_out.error + 4.0 * kUnitRoundoff * std::fabs(left_out.fall)) /
                       (1.0 + excess) +
                   std::fabs(m.mean) * (off + 4.0 * kUnitRoundoff);
    return m;
}

WindowedMoment WindowedNodes::moment_by_rise(double tilt, const WindowedMoment& plain, const LeftOut& left_out) const {
    const double least = law_.least(), weighted = law_.weighted() ? 1.0 : 0.0, s = law_.sign() * tilt + weighted;
    const double additions = static_cast<double>(loss_.size());
    double sum = 0.0, slope = 0.0, error = 0.0, slope_error = 0.0;
    for (std::size_t i = 0; i < loss_.size(); ++i) {
        const double w = std::exp(log_weight_[i] - weighted * v_[i]);
        if (w == 0.0) continue;
        const double g = std::max(v_[i] - least, 0.0), risen = std::expm1(s * g), whole = w * (1.0 + risen);
        const double relative = rounding_[i] + additions + 8.0, off = loss_error_[i] + std::fabs(least);
        sum += w * risen;
        slope += whole * g;
        error += w * std::fabs(risen) * relative + whole * std::fabs(s) * off;
        slope_error += whole * (g * relative + (1.0 + std::fabs(s) * g) * off);
    }
    const double excess = sum - left_out.mass;
    if (!(excess > -0.9 && excess < 1e300)) return plain;
    WindowedMoment m = plain;
    m.value = s * least + std::log1p(excess);
    m.error = (kUnitRoundoff * (error + 4.0 * (std::fabs(sum) + left_out.mass)) + left_out.error) / (1.0 + excess) +
              4.0 * kUnitRoundoff * (std::fabs(s * least) + std::fabs(excess));
    if (!(m.error < plain.error)) return plain;
    m.mean = law_.sign() * (least + slope / (1.0 + excess));
    m.mean_error = kUnitRoundoff * (slope_error / (1.0 + excess) + 8.0 * (std::fabs(least) + std::fabs(m.mean))) +
                   std::fabs(slope / (1.0 + excess)) * m.error;
    return m;
}

WindowedNodes::Masses WindowedNodes::masses() const noexcept {
    Masses m{};
    double error = 0.0, fall_error = 0.0;
    for (std::size_t i = 0; i < loss_.size(); ++i) {
        if (law_.is_ratio()) {
            m.mass += std::exp(log_weight_[i]);
            error = std::max(error, log_weight_[i] > kNoWeight ? rounding_[i] : 0.0);
            continue;
        }
        const double w = std::exp(log_weight_[i]), fall = -std::expm1(-loss_[i]);
        m.mass += w;
        m.fall += w * fall;
        m.size += w * std::fabs(fall);
        m.reverse += w * std::exp(-loss_[i]);
        const double off = w > 0.0 ? rounding_[i] + loss_error_[i] : 0.0;
        error += w * off;
        fall_error += w * std::fabs(fall) * off;
    }
    const double underflow = static_cast<double>(loss_.size()) * kSmallestNormal;  // in units of u
    if (!law_.is_ratio())
        error = std::max((error + underflow) / std::max(m.mass, kSmallestNormal),
                         (fall_error + underflow) / std::max(m.size, kSmallestNormal));
    m.error = kUnitRoundoff * (2.0 * error + static_cast<double>(loss_.size()));
    return m;
}

WindowedNodes::Rise WindowedNodes::rise() const noexcept {
    double value = 0.0, error = 0.0;
    const double least = law_.least(), additions = static_cast<double>(loss_.size());
    for (std::size_t i = 0; i < loss_.size(); ++i) {
        const double w = std::exp(log_weight_[i]);
        if (w == 0.0) continue;
        const double grown = std::expm1(std::max(v_[i] - least, 0.0));
        value += w * grown;
        error += w * (grown * (rounding_[i] + additions) + (1.0 + grown) * (loss_error_[i] + std::fabs(least)));
    }
    return {value, kUnitRoundoff * error * (1.0 + 0x1p-30)};
}

namespace {

// Tuning: these affect width and time, not validity.
constexpr double kMostNodes = 100000.0;
constexpr double kBoundExcess = 2.0;   // nats, by which a bound of the moment is usually above it
constexpr double kLargestShift = 6.0;  // of a line from the real axis, in standard deviations of x
constexpr int kMostLines = 6;
constexpr double kLonger = 1.03, kShorter = 0.97;        // steps of a better line, and those at which a search ends
constexpr double kEdges[] = {0.1, 0.2, 0.4, 0.6};        // parts of the loss at which a window opens, above the least
constexpr double kLeastOpening = 1.5, kLeastTail = 8.0;  // of an edge, the second in widths of the window
constexpr double kRoughReach = 7.0, kMostRough = 4000.0;

int first_rank_below(double angle) noexcept {
    int rank = 0;
    while (line_angle(rank) > angle) ++rank;
    return rank;
}

}  // namespace

WindowedLaw::WindowedLaw(const SampledLoss& law, const LossWindow& window)
    : law_(law), window_(window), line_(std::make_shared<LineIntegral>(law, window)), nodes_(law, window) {}

bool WindowedLaw::discretise(double tilt, double y, double target, double farthest, bool decay) {
    const double scale = nodes_.size() > 0 ? nodes_.rough_moment(tilt).value : log_moment_bound(tilt) - kBoundExcess;
    if (!discretise_from(scale, tilt, y, target, farthest, decay)) return false;
    left_out_ *= std::exp(scale - nodes_.rough_moment(tilt).value + 1e-9);
    return true;
}

double WindowedLaw::most_angle(double shift) const noexcept {
    return std::min(shift * law_.c, law_.group ? law_.group->largest_angle() : kInfinity);
}

namespace {

struct LineStep {
    int rank;
    double step;
};

// Returns the line that allows a longer step than its neighbours, searched from a given line on.
template <class StepAt>
LineStep longest_step(int start, int lowest, const StepAt& step_at) {
    LineStep best{start, step_at(start)};
    for (const int direction : {-1, 1}) {
        bool better = false;
        for (int next = best.rank + direction; next >= lowest; next += direction) {
            const double h = step_at(next);
            if (!(h > kShorter * best.step)) break;
            better = better || h > kLonger * best.step;
            if (h > best.step) best = {next, h};
        }
        if (better) break;
    }
    return best;
}

}  // namespace

// Chooses the angle that allows the longest step. The integrand grows by about y V sin(angle) and with the shifted
// normal density.
double WindowedLaw::choose_step(double scale, double tilt, double y, double target, bool decay) {
    const double sigma = 1.0 / law_.c;
    const int lowest = first_rank_below(most_angle(kLargestShift));
    const auto step_at = [&](int rank) {
        const double angle = line_angle(rank), grown = line_->log_bound(angle, tilt, -y);
        return 2.0 * std::numbers::pi * (angle * sigma) / (target + std::max(grown - scale, 0.0) + 1.0);
    };
    const LossStep* falling = window_.falling();
    const double top = falling != nullptr ? std::fabs(falling->level) + 2.0 * falling->width : 1.0;
    const int start = first_rank_below(std::min(0.3, 0.5 * target / (y * top + 1.0) + 0.02));
    const LineStep rule = longest_step(std::max(lowest, start), lowest, step_at);
    angle_ = line_angle(rule.rank);
    if (!decay) return rule.step;
    // Half of the strip for the shift, half for the rule: see windowed_transform.hpp.
    const LineStep both = longest_step(rule.rank, lowest, [&](int rank) {
        const double angle = line_angle(rank), grown = std::max(line_->log_bound(angle, tilt, 0.0) - scale, 0.0);
        return std::numbers::pi * angle * sigma / (target + grown + 1.0);
    });
    decay_angle_ = 0.5 * line_angle(both.rank);
    return std::min(rule.step, both.step);
}

bool WindowedLaw::discretise_from(double scale, double tilt, double y, double target, double farthest, bool decay) {
    if (!(scale > -1e290 && scale < 1e290)) return false;
    step_ = static_cast<float>(choose_step(scale, tilt, y, target, decay));  // of few digits: its multiples are doubles
    const double c = law_.records() * law_.c, reach = std::sqrt(2.0 * (target + 6.0)),
                 positive = std::max(law_.sign() * std::max(farthest, tilt), 0.0);
    const double beyond = law_.group && positive == 0.0 ? law_.group->reach(2.0 * (target + 6.0)) : c + reach;
    // The tilt moves the normal density by its size times c; ratios grow too fast for that, so that the window decides.
    double first = -reach, last = law_.is_ratio() && positive > 0.0 ? kInfinity : beyond + positive * c;
    for (const LossStep& step : window_)
        if (step.sign > 0.0) last = std::max(last, output_at(law_, step.level + reach * step.width));
    if (const LossStep* falling = window_.falling())
        last = std::min(last, output_at(law_, falling->level + positive * falling->width * falling->width +
                                                  reach * falling->width));
    // Nothing is left where a rising step is closed, either.
    for (const LossStep& step : window_)
        if (step.sign > 0.0)
            first = std::max(first, std::min(output_at(law_, step.level - reach * step.width), last - 1.0));
    const auto outside = [&](double from, double to) {
        return line_->log_bound(0.0, tilt, 0.0, {from, to, step_}) - scale;
    };
    // At the other tilts, where the moments serve only as bounds, half of the target is enough.
    const double others[] = {0.0, std::max(farthest, tilt)};
    const double moments[] = {log_moment_bound(others[0]), log_moment_bound(others[1])};
    const auto matters = [&](double from, double to) {
        if (outside(from, to) > -target) return true;
        for (int i = 0; i < 2; ++i)
            if (others[i] != tilt &&
                line_->log_bound(0.0, others[i], 0.0, {from, to, step_}) - moments[i] > -0.5 * target)
                return true;
        return false;
    };
    for (int turn = 0; turn < 8 && matters(-kInfinity, first); ++turn) first -= 1.0 + 0.2 * reach;
    for (int turn = 0; turn < 8 && matters(last, kInfinity); ++turn) last += 1.0 + 0.1 * reach;
    if (!(step_ > 0.0 && last > first && (last - first) / step_ < kMostNodes)) return false;
    tolerance_ = std::exp(-target - 2.0) / (1.0 + std::fabs(tilt) + y);
    nodes_.fill(first, last, step_, tolerance_);
    missed_.reset();
    left_out_ =
        std::exp(outside(-kInfinity, nodes_.first())) + std::exp(outside(nodes_.last(), kInfinity)) + std::exp(-target);
    return true;
}

double WindowedLaw::log_decay_by_cells(double tilt, double y, double log_moment) const {
    // Start where the growth of the rising window, (Im V/width)^2/2, costs half of what e^{-y Im V} gains.
    const LossStep& step =
        *std::find_if(window_.begin(), window_.end(), [](const LossStep& s) { return s.sign > 0.0; });
    const double opens = law_.is_ratio() || law_.two_sided() ? std::fabs(step.level) : step.level - law_.least();
    const double sine = std::clamp(y * step.width * step.width / opens, 0.02, 1.0);
    // Lines far beside the axis serve where the window opens among losses that are not small.
    const double most = law_.is_ratio() || step.level - law_.least() < 1.0 ? kSteepAngle : kLargestAngle;
    double result = 0.0;
    int rank = first_rank_below(std::min({std::asin(sine), most, most_angle(1.5 * kLargestShift)}));
    for (const int end = rank + kMostLines; rank < end; ++rank) {
        const double here = line_->log_bound(line_angle(rank), tilt, y) - log_moment;
        if (result < 0.0 && here > result) break;
        result = std::min(result, here);
    }
    return std::min(result, log_decay_far(tilt, y, log_moment));
}

// Bounds the decay where the window opens among large losses, far beyond the branch points at odds of -1. Only the part
// that the window lets through is moved, as far as it decays best: from an output on with odds e^v, v > 1, along the
// edge there and on Im x = a from the edge on. With e = e^-v and theta = c a,
//     theta/(1 + e) <= Im V <= theta/(1 - e),   V - d <= Re V <= V,   d = log((1 + e)/(1 - e)),
// |Phi(u + i v)| <= e^{v^2/2} Phi(u), and d moves a falling step by d/width: log Phi grows by at most d/width times
// 1 + |u|. Below the edge, where the window lets next to nothing through, nothing is moved. The exponent on the edge is
// convex in theta.
double WindowedLaw::log_decay_far(double tilt, double y, double log_moment) const {
    if (law_.is_ratio() || law_.two_sided() || law_.group) return 0.0;
    const double c = law_.c, least = law_.least(), weighted = law_.weighted() ? 1.0 : 0.0;
    const double slope = law_.sign() * tilt;
    double opens = kInfinity, lowest = kInfinity, widest = 0.0, squares = 0.0;
    for (const LossStep& s : window_) {
        squares += 1.0 / (s.width * s.width);
        if (s.sign > 0.0) widest = std::max(widest, s.width);
        double& level = s.sign > 0.0 ? opens : lowest;
        level = std::min(level, s.sign > 0.0 ? s.level - least : s.level);
    }
    double result = 0.0;
    for (const double part : kEdges) {
        const double edge = least + part * opens, tail = (1.0 - part) * opens;
        if (!(part * opens > kLeastOpening && tail > kLeastTail * widest)) continue;
        const double x = output_at(law_, edge), e = 1.0 / std::expm1(edge - least - 1e-9);
        const double d = 1e-9 + std::log((1.0 + e) / (1.0 - e));
        const double turned = 1.0 / (1.0 - e), least_turned = 1.0 / (1.0 + e);
        const double growth = 0.5 * (1.0 / (c * c) + turned * turned * squares);
        const double theta = 0.5 * y * least_turned / growth, a = theta / c;
        const double moved = theta * (theta * growth - y * least_turned) + std::max(-slope, 0.0) * d;
        const double about = 1e-6 * (1.0 + x * x);  // the error of the edge
        double on_edge = (weighted + slope) * edge + std::max(-slope, 0.0) * d - 0.5 * x * x + about;
        double falling = 0.0, steeper = 0.0;
        for (const LossStep& s : window_) {
            if (s.sign > 0.0) on_edge += log_cdf_bound((edge - s.level) / s.width, 0.0);
            if (s.sign > 0.0) continue;
            falling += d / s.width;
            steeper += d / (s.width * s.width);
        }
        // e^{(d/width) |u|} <= 1 + e^{(d/width) (V - level)/width}, level the lowest.
        const double plain = line_->log_bound(0.0, tilt, 0.0);
        const double steep =
            steeper == 0.0 ? plain : line_->log_bound(0.0, tilt + law_.sign() * steeper, 0.0) - steeper * lowest + 1e-9;
        const double kept = line_->log_bound(0.0, tilt, 0.0, {-kInfinity, x, 0.0});
        const double far = moved + falling + log_add(plain, steep);
        const double along = std::log(a) + on_edge + std::max(0.0, moved);
        result = std::min(result, log_add(log_add(kept, along), far) - log_moment);
    }
    return result;
}

double WindowedLaw::log_node_error(const LineIntegral& line, double tilt, double y) const {
    const double rule = line.log_bound(angle_, tilt, -y) + 0.7 - 2.0 * std::numbers::pi * (angle_ / law_.c) / step_;
    const double left = line.log_bound(0.0, tilt, 0.0, {-kInfinity, nodes_.first(), step_});
    const double right = line.log_bound(0.0, tilt, 0.0, {nodes_.last(), kInfinity, step_});
    // |e^{z (v - flat)} - 1| <= 2 |z| tolerance.
    const double merged = std::log(2.0 * (1.0 + std::fabs(tilt) + y) * tolerance_) + nodes_.log_merged(tilt);
    return log_add(log_add(rule, log_add(left, right)), merged);
}

std::pair<double, double> WindowedLaw::missed_parts() const {
    if (missed_) return *missed_;
    const double of_mass = std::exp(log_node_error(0.0, 0.0));
    if (law_.is_ratio()) {
        SampledLoss weighted = law_;
        weighted.pair = SampledPair::weighted_ratio;
        missed_ = {of_mass, std::exp(log_node_error(LineIntegral(weighted, window_), 0.0, 0.0))};
    } else {
        missed_ = {of_mass, std::exp(log_node_error(-1.0, 0.0))};
    }
    return *missed_;
}

double WindowedLaw::missed() const {
    const auto [of_mass, of_reverse] = missed_parts();
    return of_mass + of_reverse;
}

WindowedMoment WindowedLaw::moment(double tilt, const LeftOut* left_out) const {
    const WindowedMoment plain = nodes_.moment(tilt);
    if (left_out == nullptr) return plain;
    if (left_out->from_least) {  // the sum has the error of E_0[W] besides
        WindowedMoment m = nodes_.moment_by_rise(tilt, plain, *left_out);
        const auto [of_mass, of_reverse] = missed_parts();
        const double slope = law_.sign() * tilt + (law_.weighted() ? 1.0 : 0.0);
        const double more =
            (law_.weighted() ? of_reverse : of_mass) * std::exp(slope * law_.least() - m.value) * (1.0 + 1e-9);
        m.error += more;
        m.mean_error += more;
        return m.error < plain.error ? m : plain;
    }
    WindowedMoment m = nodes_.moment_by_excess(tilt, plain, *left_out);
    // Let Q be the sum over the nodes and E the expectation. The error of this moment is Q - E of e^{t L} - (1 + t) +
    // t e^-L, that of the plain moment is Q - E of e^{t L}. The error of the mean is Q - E of L e^{t L} - 1 + e^-L. For
    // ratios -t L and -L, |L| <= 1 + (1 + V), replace the last terms.
    const auto [of_mass, of_reverse] = missed_parts();
    const double size = std::max(std::fabs(tilt), 1.0);
    const double more = ((1.0 + size) * of_mass + size * of_reverse) * std::exp(-m.value) * (1.0 + 1e-9);
    m.error += more;
    m.mean_error += more;
    return m.error < plain.error ? m : plain;
}

double WindowedLaw::log_moment_above(double tilt) const {
    const WindowedMoment m = nodes_.moment(tilt);
    return m.value + m.error + std::log1p(std::exp(log_node_error(tilt, m.value))) + 1e-12;
}

void WindowedLaw::discretise_roughly(double farthest) {
    angle_ = std::min(0.5, most_angle(4.0));
    const double c = law_.records() * law_.c;
    double step = std::min(0.12 / law_.c, 0.3);
    decay_angle_ = 0.5 * std::min(kSteepAngle, most_angle(kLargestShift));
    const double positive = std::max(law_.sign() * farthest, 0.0);
    const double beyond =
        law_.group && positive == 0.0 ? law_.group->reach(0.5 * kRoughReach * kRoughReach) : c + kRoughReach;
    double last = law_.is_ratio() && positive > 0.0 ? kInfinity : beyond + positive * c;
    if (const LossStep* f = window_.falling())
        last = std::min(last, output_at(law_, f->level + positive * f->width * f->width + kRoughReach * f->width));
    last = std::max(last, -kRoughReach + 1.0);
    if (!std::isfinite(last)) last = beyond;
    step = std::max(step, (last + kRoughReach) / kMostRough);
    left_out_ = 0.0;
    nodes_.fill(-kRoughReach, last, step, 1e-9 / (1.0 + farthest));
}

}  // namespace renyi
