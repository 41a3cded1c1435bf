// The integrand under Q is g(l) = peak e^{-(l + top)/2} f(x(l)), f(x) = (1+x)^alpha - 1 - alpha x, x = q (e^l - 1).
//
// Quadrature. f(x) = alpha (alpha-1) x^2 Psi(x), Psi(x) = int_0^1 (1-t) (1+tx)^(alpha-2) dt, and for |Im z| <= pi/2,
// X = x(Re z): |1 + t x(z)| <= 1 + tX and >= (1 + tX)/sqrt 2. Hence |f(x(z))| <= sqrt 2 |x(z)|^2 f(X)/X^2. Between
// the real ends a < b of a Bernstein ellipse f(X)/X^2 grows (alpha >= 2) or falls by at most e^{b-a}, so with
// |e^z - 1| <= min(e^Re z + 1, e^|z| - 1) the error of a panel is at most a constant times f(x(b)): a node at b whose
// mass is that constant. Bounds are sums over such nodes.
//
// Range. d log f/dl >= 1 for l > 0 and f falls for l < 0, so g grows like e^{l/2} at least to the right of 0 and falls
// like e^{-l/2} at least to the left: what lies more than 90 from both ends is below e^-45 of the rest.
//
// Input. An error of u in `top` is one of u top in e^top: e^l, and with it x, is taken to be right to u top.
#include "renyi/mechanism/sampled_loss_pair.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/special/elementary.hpp"
#include "renyi/special/gauss_legendre.hpp"

namespace renyi {

namespace {

constexpr double kRange = 90.0;
constexpr double kWidth = 1.5;
constexpr double kSteepest = 8.0;  // beta * slope * width of the last panel
constexpr double kLargestBeta = 1e6;
constexpr double kTruncation = 0x1p-60;
constexpr double kHalfPi = 0x1.921fb54442d18p0;

// Bernstein's parameter: not so large that the ellipse leaves |Im z| <= pi/2 or reaches beyond the panel by more than
// its width, for halves are as far from the top as they are wide.
double ellipse_of(double half_width) noexcept {
    const double h = 0.999 * kHalfPi / half_width;
    return std::min(5.8, h + std::sqrt(h * h + 1.0));
}

std::size_t halvings(double steepness) noexcept {
    return steepness > kSteepest ? static_cast<std::size_t>(std::ceil(std::log2(steepness / kSteepest))) : 0;
}

}  // namespace

SampledLossPair::SampledLossPair(const LossPair& pair, double q)
    : q_(q), density_(pair.density()), largest_base_(pair.largest_loss()) {
    slope_ = q > 0.0 ? q / (q + (1.0 - q) * lane_exp(-largest_base_)) : 0.0;
    for (const LossAtom& atom : pair.atoms()) add_node(graded_, atom.loss, atom.p, atom.q);
    graded_.end_block();
    if (density_.peak > 0.0) tile();
    largest_ = std::max(sampled(largest_base_), 0.0);
}

double SampledLossPair::sampled(double loss) const noexcept {
    if (loss > 700.0 && q_ > 0.0) return loss + lane_log(q_ + (1.0 - q_) * lane_exp(-loss));
    if (loss < -700.0) return q_ < 1.0 ? lane_log1p(-q_) : loss;
    return log_of(reduce_log((1.0 - q_) + q_ * lane_exp(loss), q_ * lane_expm1(loss)));
}

void SampledLossPair::add_node(LossNodes& nodes, double loss, double p, double q) const {
    nodes.add({sampled(loss), (1.0 - q_) * q + q_ * p, q});
}

void SampledLossPair::add_panel(const Panel& panel, LossNodes& nodes) const {
    const double half = 0.5 * (panel.far - panel.near), middle = 0.5 * (panel.far + panel.near);
    for (int i = -kLegendreHalf; i < kLegendreHalf; ++i) {
        const int j = i < 0 ? -i - 1 : i;
        const double offset = middle + (i < 0 ? -half : half) * kLegendreNode[j];
        const double weight = half * kLegendreWeight[j] * density_.peak;
        const double near = weight * lane_exp(-0.5 * offset), far = weight * lane_exp(0.5 * offset - density_.top);
        if (panel.at_top) {
            add_node(nodes, density_.top - offset, near, far);
        } else {
            add_node(nodes, offset - density_.top, far, near);
        }
    }
}

void SampledLossPair::add_bound(const Panel& panel, LossNodes& bounds) const {
    const double half = 0.5 * (panel.far - panel.near), middle = 0.5 * (panel.far + panel.near);
    const double center = panel.at_top ? density_.top - middle : middle - density_.top;
    const double rho = ellipse_of(half);
    const double reach = 0.5 * half * (rho + 1.0 / rho), height = 0.5 * half * (rho - 1.0 / rho);
    const double a = center - reach;
    const double b = std::fabs(center + reach) < 0.1 * half ? 0.1 * half : center + reach;  // not where X = 0
    const double size = std::max(std::fabs(a), std::fabs(b)) + height;
    // |e^z - 1|/|e^b - 1| where Re z = end, numerator and denominator divided by e^max(b, 0)
    const auto ratio = [&](double end) {
        const double unit = lane_exp(-std::max(b, 0.0));
        const double top = size < 1.0 ? lane_expm1(size) * unit : lane_exp(end - std::max(b, 0.0)) + unit;
        return top / -lane_expm1(-std::fabs(b));
    };
    const double scale = 64.0 / 15.0 * half * std::pow(rho, -32.0) / (1.0 - 1.0 / (rho * rho)) * std::sqrt(2.0) *
                         lane_exp(b - a) * density_.peak;
    const double loss = sampled(b);
    double p = 0.0, q = 0.0;
    for (const double end : {a, b}) {
        const double weight = scale * ratio(end) * ratio(end), exponent = -0.5 * (density_.top + end);
        p = std::max(p, weight * lane_exp(exponent + loss));
        q = std::max(q, weight * lane_exp(exponent));
    }
    bounds.add({loss, p, q});
}

void SampledLossPair::tile() {
    const double top = density_.top;
    std::vector<Panel> panels;
    double width = kWidth;
    if (top > kRange) {
        for (double near = 0.0; near < kRange; near += width) panels.push_back({false, near, near + width});
        for (double far = kRange; far > 0.0; far -= width) panels.push_back({true, far - width, far});
    } else {
        const double count = std::max(std::ceil(2.0 * top / kWidth), 1.0);
        width = 2.0 * top / count;
        for (double i = 0.0; i < count; ++i) {
            const bool at_top = 2.0 * i + 1.0 >= count;
            const double nearest = at_top ? count - 1.0 - i : i;
            panels.push_back({at_top, nearest * width, (nearest + 1.0) * width});
        }
    }
    last_width_ = width;
    panels.pop_back();  // the last one is what the levels divide
    const auto add = [&](const Panel& panel, LossNodes& nodes, LossNodes& bounds) {
        add_panel(panel, nodes);
        add_bound(panel, bounds);
    };
    for (const Panel& panel : panels) add(panel, graded_, graded_bounds_);
    undivided_ = graded_.blocks();
    const std::size_t levels = halvings(kLargestBeta * slope_ * width);
    for (std::size_t level = 0; level <= levels; ++level, width *= 0.5) {
        add({true, 0.0, width}, tops_, top_bounds_);
        top_bounds_.end_block();
        if (level < levels) add({true, 0.5 * width, width}, graded_, graded_bounds_);
    }
}

std::size_t SampledLossPair::level_at(double beta) const noexcept {
    return std::min(halvings(beta * slope_ * last_width_), tops_.blocks() - 1);
}

// Of the excess, from e^l.
double SampledLossPair::input_error(double beta) const noexcept {
    return (3.0 + beta * slope_) * largest_base_ * kUnitRoundoff;
}

LogMoment SampledLossPair::log_moment(double alpha) const noexcept {
    const Tilt tilt(alpha, largest_);
    if (tops_.blocks() == 0)
        return logarithm_of(graded_.sums(tilt, 0, graded_.blocks()), tilt, input_error(tilt.beta), graded_.size());
    const std::size_t level = level_at(tilt.beta);
    const TiltedSums sums = graded_.sums(tilt, 0, undivided_ + level) + tops_.sums(tilt, level, 1);
    const TiltedSums bounds = graded_bounds_.sums(tilt, 0, graded_bounds_.blocks()) + top_bounds_.sums(tilt, level, 1);
    const double quadrature = 1.001 * bounds.excess / std::max(sums.excess, kSmallestMoment) + kTruncation;
    return logarithm_of(sums, tilt, quadrature + input_error(tilt.beta), graded_.size());
}

Certified SampledLossPair::divergence(double alpha) const noexcept {
    if (alpha > 1.0) return RenyiCurve::divergence(alpha);
    const LogMoment m = log_moment(1.0 + 0x1p-40);  // its quadrature error is that of the divergence, nearly
    const bool tiled = tops_.blocks() > 0;
    const double sum = graded_.divergence(tiled ? undivided_ : graded_.blocks()) + (tiled ? tops_.divergence(1) : 0.0);
    return divergence_of(sum, largest_, m.value.relative_error, graded_.size());
}

double SampledLossPair::largest_loss() const noexcept {
    return largest_ * (1.0 + (8.0 + largest_base_) * kUnitRoundoff);
}

}  // namespace renyi
