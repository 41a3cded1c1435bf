#include "renyi/transform/windowed_nodes.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/transform/windowed_kernels.hpp"

namespace renyi {

namespace {

constexpr double kLogRoot2Pi = 0x1.d67f1c864beb5p-1;
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
    evaluate(law_, {x, n}, v, log_weight);
    windowed::StepAt steps[LossWindow::kMost];
    int count = 0;
    for (const LossStep& s : window_) steps[count++] = {s.level, 1.0 / s.width, s.sign};
    const double least = law_.is_ratio() ? 1.0 : -std::log1p(-law_.q);
    windowed::bound_losses({law_.c, least, law_.two_sided(), law_.is_ratio()}, x, v, n, loss_error, rounding);
    windowed::add_windows(v, loss_error, n, steps, count, log_weight, rounding);
    const double log_step = std::log(step) - kLogRoot2Pi;
    for (std::size_t i = 0; i < n; ++i) log_weight[i] += log_step;
    merge_flat(tolerance);
    loss_.resize(v_.size());
    for (std::size_t i = 0; i < v_.size(); ++i) loss_[i] = law_.sign() * v_[i];
}

// Nodes whose loss is that of no output at all.
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

// The weights of the tilted law times e^-top, which is returned.
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
    const double mean = windowed::first_moment(weight_.data(), loss_.data(), loss_.size()) / sum;
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
    m.mean = windowed::first_moment(weight_.data(), loss_.data(), n) / sum;
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
    if (!law_.is_ratio()) error = std::max(error / m.mass, m.size > 0.0 ? fall_error / m.size : 0.0);
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

}  // namespace renyi
