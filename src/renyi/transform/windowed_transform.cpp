#include "renyi/transform/windowed_transform.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/search.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/special/elementary.hpp"

// The hot loops; arrays are padded with nodes of weight 0 to a multiple of kLanes. Fixed summation order: the same bits
// on every instruction set. Errors are in u.
namespace renyi::windowed {

namespace {

// Fills d = loss - mean and the weights over their sum, and sums their errors in u. The error of weight
// |e^{i y d} - 1 - i y d| is y^2 quadratic, or constant plus y linear.
struct NodeArrays {
    const double *weight, *loss, *rounding, *loss_error;
};
struct Centre {
    double sum, mean, tilt, additions;
};
struct TransformErrors {
    double quadratic, linear, constant;
    double moved;  // the error of weight e^{i y d} is constant plus y moved
};
RENYI_MULTIVERSION
TransformErrors centre(const NodeArrays& nodes, std::size_t n, const Centre& at, double* weight, double* d) noexcept {
    const Centre k = at;
    const double scale = 1.0 / k.sum, mean_size = __builtin_fabs(k.mean);
    double quadratic[kLanes] = {}, linear[kLanes] = {}, constant[kLanes] = {}, moved[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double w = nodes.weight[block + i] * scale, gap = nodes.loss[block + i] - k.mean;
            const double size = __builtin_fabs(gap), off = 1.2 * nodes.loss_error[block + i] + mean_size;
            const double relative = nodes.rounding[block + i] + k.additions + k.tilt * off;
            weight[block + i] = w;
            d[block + i] = gap;
            quadratic[i] += w * (relative * size + off) * size;
            linear[i] += w * (2.0 * relative * size + off);
            constant[i] += w * relative;
            moved[i] += w * off;
        }
    }
    return {total(quadratic), total(linear), total(constant), total(moved)};
}

// sum weight (unit d)^m/m! for m = 2 ... kMoments + 1.
RENYI_MULTIVERSION
void sum_moments(const double* weight, const double* d, std::size_t n, double unit, double* moments) noexcept {
    double sum[kMoments][kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double t = unit * d[block + i];
            double power = weight[block + i] * t;
            for (int m = 0; m < kMoments; ++m) {
                power *= t * (1.0 / (m + 2));
                sum[m][i] += power;
            }
        }
    }
    for (int m = 0; m < kMoments; ++m) moments[m] = total(sum[m]);
}

// weight (cos y d - 1) and weight sin y d, and their sums.
RENYI_MULTIVERSION
void turn_block(const double* weight, const double* d, std::size_t n, double y, double* cosine, double* sine,
                double& re, double& im) noexcept {
    double sum_re[kLanes] = {}, sum_im[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double t = y * d[block + i], w = weight[block + i];
            const CircularExcess e = circular_excess(t);
            const double c = w * e.cosine, s = w * (t + e.sine);
            cosine[block + i] = c;
            sine[block + i] = s;
            sum_re[i] += c;
            sum_im[i] += s;
        }
    }
    re = total(sum_re);
    im = total(sum_im);
}

// Fills rows j = 0 ... kLanes - 1 with cos j step d - 1 and sin j step d, and their weighted sums.
RENYI_MULTIVERSION
void turn_rows(const double* weight, const double* d, std::size_t n, double step, double* cosine, double* sine,
               double* re, double* im) noexcept {
    for (int j = 0; j < kLanes; ++j) {
        const double y = static_cast<double>(j) * step;
        double *const c = cosine + static_cast<std::size_t>(j) * n, *const s = sine + static_cast<std::size_t>(j) * n;
        double sum_re[kLanes] = {}, sum_im[kLanes] = {};
        for (std::size_t block = 0; block < n; block += kLanes) {
            for (int i = 0; i < kLanes; ++i) {
                const double t = y * d[block + i];
                const CircularExcess e = circular_excess(t);
                c[block + i] = e.cosine;
                s[block + i] = t + e.sine;
                sum_re[i] += weight[block + i] * c[block + i];
                sum_im[i] += weight[block + i] * s[block + i];
            }
        }
        re[j] = total(sum_re);
        im[j] = total(sum_im);
    }
}

// sum (c + i v)(c' + i v') for the rows c' and v'.
RENYI_MULTIVERSION
void join(const double* cosine, const double* sine, const double* row_cosine, const double* row_sine, std::size_t n,
          double* re, double* im) noexcept {
    for (int j = 0; j < kLanes; ++j) {
        const double *const c = row_cosine + static_cast<std::size_t>(j) * n, *const s =
                                                                                  row_sine +
                                                                                  static_cast<std::size_t>(j) * n;
        double sum_re[kLanes] = {}, sum_im[kLanes] = {};
        for (std::size_t block = 0; block < n; block += kLanes) {
            for (int i = 0; i < kLanes; ++i) {
                sum_re[i] += cosine[block + i] * c[block + i] - sine[block + i] * s[block + i];
                sum_im[i] += cosine[block + i] * s[block + i] + sine[block + i] * c[block + i];
            }
        }
        re[j] = total(sum_re);
        im[j] = total(sum_im);
    }
}

}  // namespace

}  // namespace renyi::windowed

namespace renyi {

namespace {

void pad(std::vector<double>& a) { a.resize((a.size() + kLanes - 1) / kLanes * kLanes, 0.0); }

}  // namespace

WindowedTransform::WindowedTransform(const WindowedNodes& nodes, double tilt, double mean, double step, double last)
    : step_(step) {
    double sum = 0.0;
    nodes.tilt_weights(tilt, sum);
    const std::size_t n = nodes.size();
    std::vector<double> weight(n), d(n);
    const double additions = static_cast<double>(n / kLanes) + 16.0;
    const windowed::TransformErrors e =
        windowed::centre({nodes.weight_.data(), nodes.loss_.data(), nodes.rounding_.data(), nodes.loss_error_.data()},
                         n, {sum, mean, std::fabs(tilt), additions}, weight.data(), d.data());
    quadratic_ = e.quadratic;
    linear_ = e.linear;
    constant_ = e.constant;
    moved_ = e.moved;
    separate(weight, d, last);
    const std::size_t count = moving_.size();
    row_cosine_ = std::make_unique_for_overwrite<double[]>(count * kLanes);
    row_sine_ = std::make_unique_for_overwrite<double[]>(count * kLanes);
    block_cosine_.resize(count);
    block_sine_.resize(count);
    windowed::turn_rows(moving_weight_.data(), moving_.data(), count, step, row_cosine_.get(), row_sine_.get(), row_re_,
                        row_im_);
}

void WindowedTransform::separate(const std::vector<double>& weight, const std::vector<double>& d, double last) {
    std::vector<double> still_weight, still;
    for (auto* a : {&still_weight, &still, &moving_weight_, &moving_}) a->reserve(d.size() + kLanes);
    const double reach = 1.0 / last;
    for (std::size_t i = 0; i < d.size(); ++i) {
        if (weight[i] == 0.0) continue;
        const bool is_still = std::fabs(d[i]) <= reach;
        (is_still ? still_weight : moving_weight_).push_back(weight[i]);
        (is_still ? still : moving_).push_back(d[i]);
        if (!is_still) moving_absolute_ += weight[i] * std::fabs(d[i]);
    }
    for (auto* a : {&still_weight, &still, &moving_weight_, &moving_}) pad(*a);
    additions_ = static_cast<double>((still.size() + moving_.size()) / kLanes) + 8.0;
    still_mass_ = sum_plain(still_weight.data(), still.size() / kLanes);
    moving_mass_ = sum_plain(moving_weight_.data(), moving_.size() / kLanes);
    still_mean_ = sum_products(still_weight.data(), still.data(), still.size() / kLanes);
    moving_mean_ = sum_products(moving_weight_.data(), moving_.data(), moving_.size() / kLanes);
    unit_ = std::ldexp(1.0, std::ilogb(last));  // losses may be so large that their powers overflow
    windowed::sum_moments(still_weight.data(), still.data(), still.size(), unit_, moments_);
}

// sum over the still nodes of e^{i t} - 1 - i t.
void WindowedTransform::add_still(double y, double& re, double& im) const noexcept {
    const double turn = y / unit_;
    double even = 0.0, odd = 0.0;
    for (int m = kMoments - 2; m >= 0; m -= 2) {
        even = moments_[m] - turn * turn * even;
        odd = moments_[m + 1] - turn * turn * odd;
    }
    re -= turn * turn * even;
    im -= turn * turn * turn * odd;
}

// sum over the moving nodes of e^{i t} - 1.
void WindowedTransform::moving(double first, double* re, double* im) const {
    double block_re = 0.0, block_im = 0.0;
    windowed::turn_block(moving_weight_.data(), moving_.data(), moving_.size(), first * step_, block_cosine_.data(),
                         block_sine_.data(), block_re, block_im);
    windowed::join(block_cosine_.data(), block_sine_.data(), row_cosine_.get(), row_sine_.get(), moving_.size(), re,
                   im);
    for (int j = 0; j < kLanes; ++j) {
        re[j] += block_re + row_re_[j];
        im[j] += block_im + row_im_[j];
    }
}

void WindowedTransform::excess(double first, double* re, double* im) const {
    moving(first, re, im);
    for (int j = 0; j < kLanes; ++j) {
        const double y = (first + j) * step_;
        im[j] -= y * moving_mean_;
        add_still(y, re[j], im[j]);
    }
}

void WindowedTransform::whole(double first, double* re, double* im) const {
    moving(first, re, im);
    for (int j = 0; j < kLanes; ++j) {
        const double y = (first + j) * step_;
        re[j] += still_mass_ + moving_mass_;
        im[j] += y * still_mean_;
        add_still(y, re[j], im[j]);
    }
}

namespace {

// Errors in u: 6 + 4|t| of cos - 1 and sin at both angles, 3|t| of the angles, 20 of the products; all in |t| where |t|
// is small. The additions of the block, of its rows, of their products and of the mean add to them, each of parts below
// 2 and |t|.
constexpr double kTurned = 32.0, kTurnedByAngle = 8.0, kTurnedSmall = 48.0;

}  // namespace

double WindowedTransform::excess_error(double y) const noexcept {
    const double angle = y * moving_absolute_;
    const double turned = std::min((kTurned + 4.0 * additions_) * moving_mass_ + (kTurnedByAngle + additions_) * angle,
                                   (kTurnedSmall + 4.0 * additions_) * angle);
    return kUnitRoundoff * (std::min(y * y * quadratic_, 4.0 * constant_ + y * linear_) + turned);
}

double WindowedTransform::whole_error(double y) const noexcept {
    return kUnitRoundoff * (2.0 * constant_ + 8.0 + kTurned + 6.0 * additions_ +
                            y * (moved_ + (kTurnedByAngle + additions_) * moving_absolute_));
}

namespace {

struct DecayLine {
    double a, sine, versine;
    double weighted, slope, y;
};
struct DecayStep {
    double sign, scale;                // scale = 1/width
    const double *argument, *log_cdf;  // u_0 and log Phi(u_0) at the nodes
};

// The sum of weight (e^E - 1), where E is the logarithm of the modulus of the integrand on the line Im x = a over that
// on the axis, for all ordinates beyond y. With p the posteriors of the sampled components in e^{L+} and e^{L-},
// m and arg the modulus and argument of 1 + p (e^{i theta} - 1):
//     E = a^2/2 + weighted log m_+ + slope (log m_+ - log m_-) - y (arg_+ + arg_-) + windows,
// and for every step of the window, at u + i v against u_0:  v^2/2 + log Phi(u) - log Phi(u_0).
// For a group log m_+, log m_- and the sum of the arguments are given. For ratios p = 1 + V is multiplied by
// e^{i theta}: Re V moves by -p (1 - cos theta), Im V is p sin theta.
template <LossShape kShape>
RENYI_INLINE double add_decay(const double* weight, const double* above, const double* below, const double* argument,
                              std::size_t n, const DecayLine& at, const DecayStep* steps, int count) noexcept {
    const DecayLine k = at;
    double sum[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        double exponent[kLanes], re[kLanes], im[kLanes];
        for (int i = 0; i < kLanes; ++i) {
            const double p = above[block + i];
            double up = 0.0;
            if (kShape == LossShape::ratio) {
                re[i] = -p * k.versine;
                im[i] = p * k.sine;
            } else if (kShape == LossShape::group) {
                up = p;
                re[i] = p - below[block + i];
                im[i] = argument[block + i];
            } else {
                up = 0.5 * lane_log1p(2.0 * p * k.versine * (p - 1.0));
                re[i] = up;
                im[i] = lane_argument(p * k.sine, 1.0 - p * k.versine);
            }
            if (kShape == LossShape::two_sided) {
                const double r = below[block + i];
                re[i] -= 0.5 * lane_log1p(2.0 * r * k.versine * (r - 1.0));
                im[i] += lane_argument(r * k.sine, 1.0 - r * k.versine);
            }
            exponent[i] = 0.5 * k.a * k.a + k.weighted * up + k.slope * re[i] - k.y * im[i];
        }
        for (int s = 0; s < count; ++s) {
            const DecayStep step = steps[s];
            for (int i = 0; i < kLanes; ++i) {
                const double v = im[i] * step.scale, u = step.argument[block + i] + step.sign * (re[i] * step.scale);
                exponent[i] += 0.5 * (v * v) + (log_normal_cdf(u) - step.log_cdf[block + i]);
            }
        }
        for (int i = 0; i < kLanes; ++i)
            sum[i] += weight[block + i] * lane_expm1(exponent[i] < 700.0 ? exponent[i] : 700.0);
    }
    return total(sum);
}

RENYI_MULTIVERSION
double add_decay(LossShape shape, const double* weight, const double* above, const double* below,
                 const double* argument, std::size_t n, const DecayLine& at, const DecayStep* steps,
                 int count) noexcept {
    if (shape == LossShape::ratio)
        return add_decay<LossShape::ratio>(weight, above, below, argument, n, at, steps, count);
    if (shape == LossShape::group)
        return add_decay<LossShape::group>(weight, above, below, argument, n, at, steps, count);
    if (shape == LossShape::two_sided)
        return add_decay<LossShape::two_sided>(weight, above, below, argument, n, at, steps, count);
    return add_decay<LossShape::one_sided>(weight, above, below, argument, n, at, steps, count);
}

RENYI_MULTIVERSION
void find_log_cdf(const double* u, std::size_t n, double* log_cdf) noexcept {
    for (std::size_t i = 0; i < n; ++i) log_cdf[i] = log_normal_cdf(u[i]);
}

}  // namespace

namespace {

constexpr double kNowhere = -1e100;  // an output at which no record was in the sample
constexpr int kMostAngles = 100;     // as many as there are above the least; affects the width of log_bound alone

}  // namespace

DecayByNodes::DecayByNodes(const WindowedNodes& nodes, double tilt, double highest, double left_out)
    : law_(nodes.law_), window_(nodes.window_), tilt_(tilt), highest_(highest), left_out_(left_out) {
    double sum = 0.0;
    nodes.tilt_weights(tilt, sum);
    const std::size_t n = nodes.size();
    std::vector<double> above(n), below(n, 0.0);
    if (law_.is_ratio()) {
        for (std::size_t i = 0; i < n; ++i) above[i] = 1.0 + nodes.v_[i];
    } else if (law_.group) {
        above = nodes.x_;
        for (std::size_t i = 0; i < n; ++i) below[i] = -above[i];
    } else {
        const double start = std::log(law_.q) - std::log1p(-law_.q) - 0.5 * law_.c * law_.c;
        find_posteriors(nodes.x_.data(), n, start, law_.c, above.data());
        if (law_.two_sided()) find_posteriors(nodes.x_.data(), n, start, -law_.c, below.data());
    }
    above[0] = below[0] = law_.group ? kNowhere : 0.0;  // the merged nodes
    for (auto* part : {&open_, &edge_})
        for (auto* a : {&part->weight, &part->above, &part->below}) a->reserve(n + kLanes);
    for (std::size_t i = 0; i < n; ++i) {
        if (nodes.weight_[i] == 0.0) continue;
        const double v = nodes.v_[i], weight = nodes.weight_[i] / sum;
        const bool is_open = std::all_of(window_.begin(), window_.end(),
                                         [&](const LossStep& s) { return s.argument(v) > windowed::kOpen; });
        Nodes& to = is_open ? open_ : edge_;
        to.weight.push_back(weight);
        to.above.push_back(above[i]);
        to.below.push_back(below[i]);
        mean_posterior_ += weight * (law_.group ? law_.group->rise(above[i]).number : above[i]);
        if (is_open) continue;
        std::size_t s = 0;
        for (const LossStep& step : window_) argument_[s++].push_back(step.argument(v));
    }
    for (auto* part : {&open_, &edge_}) {
        for (auto* a : {&part->weight, &part->above, &part->below}) pad(*a);
        if (!law_.group) continue;
        part->rise = GroupTurns(*law_.group, part->above);
        if (law_.two_sided()) part->fall = GroupTurns(*law_.group, part->below);
    }
    for (std::size_t s = 0; s < LossWindow::kMost; ++s) {
        pad(argument_[s]);
        log_cdf_[s].resize(argument_[s].size());
        find_log_cdf(argument_[s].data(), argument_[s].size(), log_cdf_[s].data());
    }
}

double DecayByNodes::mean_decay(double y, double angle) const {
    const Rotation r = rotation(law_, angle);
    const DecayLine line{r.a, r.sine, r.versine, law_.weighted() ? 1.0 : 0.0, law_.sign() * tilt_, y};
    DecayStep steps[LossWindow::kMost];
    int count = 0;
    for (const LossStep& s : window_) {
        steps[count] = {s.sign, 1.0 / s.width, argument_[count].data(), log_cdf_[count].data()};
        ++count;
    }
    const LossShape shape = law_.shape();
    const auto sum = [&](const Nodes& a, int n) {
        const std::size_t size = a.weight.size();
        if (!law_.group)
            return add_decay(shape, a.weight.data(), a.above.data(), a.below.data(), nullptr, size, line, steps, n);
        std::vector<double> risen(size), fallen(size, 0.0), argument(size), other(size, 0.0);
        a.rise.turn(angle, risen.data(), argument.data());
        a.fall.turn(angle, fallen.data(), other.data());
        for (std::size_t i = 0; i < size; ++i) argument[i] += other[i];
        return add_decay(shape, a.weight.data(), risen.data(), fallen.data(), argument.data(), size, line, steps, n);
    };
    return sum(open_, 0) + sum(edge_, count);
}

double DecayByNodes::log_bound(double y) const {
    // The best shift is near y E[p]/sigma while this is small.
    const double start = std::min(highest_, y * law_.c * law_.c * mean_posterior_ + 1e-6);
    const Least least =
        descend(start, 1.7, 0.6, 1e-9, highest_, kMostAngles, [&](double angle) { return mean_decay(y, angle); });
    // The nodes left out weigh e^{a^2/2} times as much on the line.
    const double a = least.place / law_.c, best = least.value + 4.0 * left_out_ * std::exp(0.5 * a * a);
    return best < 0.0 ? std::log1p(std::max(best, -lowered(6))) : 0.0;
}

}  // namespace renyi
