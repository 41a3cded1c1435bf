#include "renyi/loss/sampled_gaussian_tilted.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/multiversion.hpp"
#include "renyi/special/elementary.hpp"

// Fixed summation order.
namespace renyi {

namespace {

// Computes E = e^{y z} - 1 at every node; returns the weighted sum of E - y z.
RENYI_MULTIVERSION
ComplexSum first_power(const double* __restrict weight, const double* __restrict frequency, std::size_t count, double y,
                       double* __restrict out_re, double* __restrict out_im) noexcept {
    double sum_re[kLanes] = {}, sum_im[kLanes] = {};
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double angle = y * frequency[k + i];
            const CircularExcess e = circular_excess(angle);
            sum_re[i] += weight[k + i] * e.cosine;
            sum_im[i] += weight[k + i] * e.sine;
            out_re[k + i] = e.cosine;
            out_im[k + i] = angle + e.sine;
        }
    }
    return {total(sum_re), total(sum_im)};
}

RENYI_MULTIVERSION
ComplexSum first_power_damped(const double* __restrict weight, const double* __restrict weight_im,
                              const double* __restrict damping, const double* __restrict frequency, std::size_t count,
                              double y, double* __restrict out_re, double* __restrict out_im) noexcept {
    double sum_re[kLanes] = {}, sum_im[kLanes] = {};
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double fall = -y * damping[k + i], angle = y * frequency[k + i];
            const double re = weight[k + i], im = weight_im[k + i];
            const ComplexLane f = lane_phi(fall, angle);
            sum_re[i] += re * f.re - im * f.im;
            sum_im[i] += re * f.im + im * f.re;
            out_re[k + i] = fall + f.re;
            out_im[k + i] = angle + f.im;
        }
    }
    return {total(sum_re), total(sum_im)};
}

// Computes E_{a+b} from the rows E_a and E_b.
RENYI_MULTIVERSION
void multiply(const double* a_re, const double* a_im, const double* b_re, const double* b_im, std::size_t count,
              double* __restrict out_re, double* __restrict out_im) noexcept {
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double re = a_re[k + i] * b_re[k + i] - a_im[k + i] * b_im[k + i];
            const double im = a_re[k + i] * b_im[k + i] + a_im[k + i] * b_re[k + i];
            out_re[k + i] = (a_re[k + i] + b_re[k + i]) + re;
            out_im[k + i] = (a_im[k + i] + b_im[k + i]) + im;
        }
    }
}

RENYI_MULTIVERSION
void scale(const double* __restrict weight, std::size_t count, double* __restrict re, double* __restrict im) noexcept {
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            re[k + i] *= weight[k + i];
            im[k + i] *= weight[k + i];
        }
    }
}

RENYI_MULTIVERSION
void turn(const double* __restrict weight, const double* __restrict weight_im, std::size_t count, double* __restrict re,
          double* __restrict im) noexcept {
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double x = re[k + i], y = im[k + i];
            re[k + i] = weight[k + i] * x - weight_im[k + i] * y;
            im[k + i] = weight[k + i] * y + weight_im[k + i] * x;
        }
    }
}

// The sum of a_k b_k.
RENYI_MULTIVERSION
ComplexSum inner(const double* a_re, const double* a_im, const double* b_re, const double* b_im,
                 std::size_t count) noexcept {
    double sum_re[kLanes] = {}, sum_im[kLanes] = {};
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            sum_re[i] += a_re[k + i] * b_re[k + i] - a_im[k + i] * b_im[k + i];
            sum_im[i] += a_re[k + i] * b_im[k + i] + a_im[k + i] * b_re[k + i];
        }
    }
    return {total(sum_re), total(sum_im)};
}

ComplexSum operator+(ComplexSum a, ComplexSum b) noexcept { return {a.re + b.re, a.im + b.im}; }

}  // namespace

void ExponentialSums::resize(std::size_t count, bool damped) {
    weight.resize(count);
    frequency.resize(count);
    weight_im.resize(damped ? count : 0);
    damping.resize(damped ? count : 0);
    table_.resize(2 * kPowers * count);
}

// Row 0 is the weighted row of the current group.
ExponentialSums::Row ExponentialSums::row(int b) noexcept {
    double* re = table_.data() + static_cast<std::size_t>(2 * b) * count();
    return {re, re + count()};
}

ComplexSum ExponentialSums::fill(Row row, double y) noexcept {
    if (damping.empty()) return first_power(weight.data(), frequency.data(), count(), y, row.re, row.im);
    return first_power_damped(weight.data(), weight_im.data(), damping.data(), frequency.data(), count(), y, row.re,
                              row.im);
}

void ExponentialSums::weigh(Row row) noexcept {
    if (damping.empty()) return scale(weight.data(), count(), row.re, row.im);
    turn(weight.data(), weight_im.data(), count(), row.re, row.im);
}

ComplexSum ExponentialSums::product(Row a, Row b) const noexcept { return inner(a.re, a.im, b.re, b.im, count()); }

void ExponentialSums::set_step(double step) noexcept {
    step_ = step;
    sums_[1] = fill(row(1), step);
    for (int b = 2; b < kPowers; ++b) {
        const Row half = row(b / 2), rest = row(b - b / 2), out = row(b), weighted = row(0);
        multiply(half.re, half.im, rest.re, rest.im, count(), out.re, out.im);
        std::copy(half.re, half.re + 2 * count(), weighted.re);
        weigh(weighted);
        sums_[b] = (sums_[b / 2] + sums_[b - b / 2]) + product(weighted, rest);
    }
}

void ExponentialSums::at(double first, double* re, double* im) noexcept {
    const Row group = row(0);
    for (int j = 0; j < kLanes; j += kPowers) {
        const ComplexSum start = fill(group, (first + j) * step_);
        weigh(group);
        for (int b = 0; b < kPowers; ++b) {
            const ComplexSum sum = b > 0 ? (start + sums_[b]) + product(group, row(b)) : start;
            re[j + b] = sum.re;
            im[j + b] = sum.im;
        }
    }
}

}  // namespace renyi

namespace renyi::tilted {

namespace {

constexpr double kFarLogit = 600.0;

RENYI_MULTIVERSION
void fill_rows(Node at, std::size_t count, const double* __restrict v, double* __restrict weight, double* __restrict t,
               double* __restrict posterior) noexcept {
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double x = v[k + i];
            const double w = x * at.c;
            const double clamped = w < 700.0 ? (w > -708.0 ? w : -708.0) : 700.0;
            const ExpReduction e = reduce_exp(clamped);
            const double sampled = at.p * exp_of(e);
            const double y = at.one_minus_p + sampled;
            const double l = log_of(reduce_log(y, at.p * expm1_of(e))) + (w > 700.0 ? w - 700.0 : 0.0);
            t[k + i] = l;
            weight[k + i] *= lane_exp((at.alpha * l - at.mode * x) - 0.5 * (x * x));
            posterior[k + i] = sampled / y;
        }
    }
}

// fill_rows where the posterior odds e^logit at the mode are beyond e^+-600: with s = w + logit, y is e^-logit
// (1 + e^s) or 1 + e^s to 2^-800. Where s > 40, log(1 + e^s) is s to 2^-57, and w stays free of the rounding of logit.
RENYI_MULTIVERSION
void fill_far_rows(Node at, std::size_t count, const double* __restrict v, double* __restrict weight,
                   double* __restrict t, double* __restrict posterior) noexcept {
    const double origin = at.logit > 0.0 ? at.logit : 0.0;
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double x = v[k + i];
            const double w = x * at.c, s = w + at.logit;
            const double e = lane_exp(s < 0.0 ? s : -s);
            const double l = s > 40.0 ? w + (at.logit - origin) : (s > 0.0 ? s : 0.0) + lane_log1p(e) - origin;
            t[k + i] = l;
            weight[k + i] *= lane_exp((at.alpha * l - at.mode * x) - 0.5 * (x * x));
            posterior[k + i] = (s < 0.0 ? e : 1.0) / (1.0 + e);
        }
    }
}

RENYI_MULTIVERSION
void shift_rows(const double* __restrict v, const double* __restrict weight, const double* __restrict t,
                const double* __restrict posterior, std::size_t count, double alpha, double mode, Line line,
                Shifted out) noexcept {
    double* __restrict out_re = out.re, * __restrict out_im = out.im;
    double* __restrict out_argument = out.argument, * __restrict out_loss = out.loss;
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double r = posterior[k + i];
            const double modulus = 0.5 * lane_log1p(2.0 * r * line.versine * (r - 1.0));
            const double argument = lane_argument(r * line.sine, 1.0 - r * line.versine);
            const double size = weight[k + i] * lane_exp(alpha * modulus + 0.5 * line.height * line.height);
            const double phase = alpha * argument - line.height * (mode + v[k + i]);
            const CircularExcess e = circular_excess(phase);
            out_re[k + i] = size * (1.0 + e.cosine);
            out_im[k + i] = size * (phase + e.sine);
            out_argument[k + i] = argument;
            out_loss[k + i] = t[k + i] + modulus;
        }
    }
}

RENYI_MULTIVERSION
double decay_of_rows(const double* weight, const double* posterior, std::size_t count, double alpha, double y,
                     Line line) noexcept {
    double sum[kLanes] = {};
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double r = posterior[k + i];
            const double re = 1.0 - r * line.versine, im = r * line.sine;
            const double norm_excess = 2.0 * r * line.versine * (r - 1.0);  // m^2 - 1
            const double argument = 3.0 * im / (re + 2.0 * __builtin_sqrt(1.0 + norm_excess));
            const double exponent = 0.5 * (line.height * line.height + alpha * lane_log1p(norm_excess)) - y * argument;
            sum[i] += weight[k + i] * lane_expm1(exponent < 700.0 ? exponent : 700.0);
        }
    }
    return total(sum);
}

}  // namespace

Line::Line(double b, double c) noexcept : height(b), sine(std::sin(b * c)) {
    const double half_sine = std::sin(0.5 * b * c);
    versine = 2.0 * half_sine * half_sine;
}

void Nodes::resize(std::size_t count) {
    for (std::vector<double>* row : {&v, &weight, &t, &posterior}) row->resize(count);
}

void fill(const Node& at, Nodes& nodes) noexcept {
    const auto rows = at.logit > kFarLogit || at.logit < -kFarLogit ? fill_far_rows : fill_rows;
    rows(at, nodes.count(), nodes.v.data(), nodes.weight.data(), nodes.t.data(), nodes.posterior.data());
}

void shift(const Nodes& nodes, double alpha, double mode, const Line& line, Shifted out) noexcept {
    shift_rows(nodes.v.data(), nodes.weight.data(), nodes.t.data(), nodes.posterior.data(), nodes.count(), alpha, mode,
               line, out);
}

double sum_weights(const Nodes& nodes) noexcept { return sum_plain(nodes.weight.data(), nodes.count() / kLanes); }

double sum_losses(const Nodes& nodes) noexcept {
    return sum_products(nodes.weight.data(), nodes.t.data(), nodes.count() / kLanes);
}

double sum_posterior(const Nodes& nodes) noexcept {
    return sum_products(nodes.weight.data(), nodes.posterior.data(), nodes.count() / kLanes);
}

double sum_decay(const Nodes& nodes, double alpha, double y, const Line& line) noexcept {
    return decay_of_rows(nodes.weight.data(), nodes.posterior.data(), nodes.count(), alpha, y, line);
}

}  // namespace renyi::tilted
