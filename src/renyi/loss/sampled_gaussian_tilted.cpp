// See the header. Rounding, in units of u = 2^-53: t to 11u + what the argument v/sigma costs, relatively; the weights
// to (40 + their exponents) u; a term of R to 40u; so that the sums R and I are right to about 100 u y^2 Var.
#include "renyi/loss/sampled_gaussian_tilted.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/loss/sampled_gaussian_far.hpp"
#include "renyi/loss/sampled_gaussian_tilted_kernels.hpp"
#include "renyi/special/gauss_legendre.hpp"

namespace renyi {

using namespace tilted;

namespace {

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kTarget = 41.0;       // e^-41 = 1.6e-18
constexpr double kLargestShift = 2.0;  // of u, in widths of the tilted law: what is summed there is up to e^2 larger
constexpr double kPanel = 0.4;         // largest half-width of a panel, see sampled_gaussian_below.cpp
constexpr double kFlank = 4.0;         // and S times that, where the integrand rises to the limit like e^{S u}
constexpr double kPanelPerStep = 1.0;  // and its part of the step of the trapezoidal rule, which falls with y
constexpr double kMostPairs = 400.0;   // of panels: with more, every sum is 0 and the transform NaN
constexpr double kShiftPays = 0.5;     // a node there costs twice as much

}  // namespace

TiltedLaw::TiltedLaw(double q, double sigma, Direction direction, double alpha, double mean, double log_count,
                     double limit) noexcept
    : law_(q, sigma), direction_(direction), alpha_(alpha), target_(kTarget + std::max(log_count, 0.0)) {
    const double c = law_.c;
    // A peak beyond the limit counts as far as it reaches below it: the limit stands for its mode.
    const bool cut = direction == Direction::remove && limit < kInfinity;
    const double low = std::min(far_mode(law_, alpha, 0.0), cut ? limit : kInfinity);
    const double high = direction == Direction::remove ? std::min(far_mode(law_, alpha, alpha * c), limit) : low;
    const bool two = high - low > 1.0;
    const double at_low = far_height(law_, alpha, low), at_high = two ? far_height(law_, alpha, high) : at_low;
    mode_ = at_high > at_low ? high : low;
    const double odds = lane_exp(-std::fabs(law_.logit(mode_)));
    const double larger = 1.0 / (1.0 + odds), smaller = odds / (1.0 + odds);
    const bool sampled = law_.logit(mode_) >= 0.0;
    p_ = sampled ? larger : smaller;
    one_minus_p_ = sampled ? smaller : larger;
    const double narrow = 1.0 + std::max(-alpha * p_ * one_minus_p_, 0.0) * c * c;
    shift_ = std::min(0.5 * strip(), kLargestShift / std::sqrt(narrow));
    shifted_step_ = 2.0 * kPi * shift_ / (target_ + 0.7 + growth(2.0 * shift_));
    // The windows serve both lines. For alpha < 0 the modulus on the shifted one is larger, most so where p = 1/2.
    const double half_sine = std::sin(0.5 * shift_ * c);
    const auto log_modulus = [&](double u) {
        const double p = law_.posterior(u);
        const double excess = 0.5 * alpha * std::log1p(-4.0 * p * (1.0 - p) * half_sine * half_sine);
        return far_height(law_, alpha, u) + 0.5 * shift_ * shift_ + std::max(excess, 0.0);
    };
    const double floor = std::max(at_low, at_high) - target_ - 2.0;
    const auto reach = [&](double mode, double sign) {
        double u = mode, step = 2.0 / std::sqrt(1.0 + std::max(-alpha * c * c, 0.0) * 0.25);
        while (log_modulus(u) > floor && std::fabs(u - mode) < 1e8) u += sign * (step *= 1.2);
        return u;
    };
    windows_[0] = {reach(low, -1.0) - mode_, reach(low, 1.0) - mode_};
    window_count_ = 1;
    if (two && at_high > floor && high - mode_ > windows_[0].last) {
        const Window second{reach(high, -1.0) - mode_, reach(high, 1.0) - mode_};
        if (second.first <= windows_[0].last) {
            windows_[0].last = second.last;
        } else {
            windows_[1] = second;
            window_count_ = 2;
        }
    }
    edge_ = cut && windows_[window_count_ - 1].last + mode_ > limit;
    if (edge_) {
        windows_[0].last = limit - mode_;
        window_count_ = 1;
        panel_ = std::min(kPanel, kFlank / std::max(alpha * c * law_.posterior(limit) - limit, 0.0));
    }
    const double w = std::max(law_.w(mode_), -708.0);
    loss_ = w < 700.0 ? lane_log1p(law_.q * lane_expm1(w)) : law_.log_ratio(mode_);
    centre_ = loss_ - mean;
}

// log of the bound of the integral of the modulus on the line Im u = a, relative to A(alpha).
double TiltedLaw::growth(double a) const noexcept {
    if (direction_ == Direction::remove) return 0.5 * a * a;
    // D(u) = log of the modulus on the line is concave; integral e^D <= sqrt(2 pi) e^{D(mode) + D'(mode)^2/2}.
    const double c = law_.c, z = -alpha_, pq = p_ * one_minus_p_;
    const double sine = std::sin(0.5 * a * c);
    const double shrink = 1.0 - 4.0 * pq * sine * sine;
    const double slope = -mode_ - z * c * (p_ - 2.0 * pq * sine * sine) / shrink;
    return 0.5 * (a * a - z * std::log(shrink) + slope * slope + std::log1p(z * pq * c * c));
}

// Widest strip that growth() covers, or less where the integrand is narrow.
double TiltedLaw::strip() const noexcept {
    const double c = law_.c;
    if (direction_ == Direction::remove) return std::min(std::sqrt(2.0 * target_), 3.1 / c);
    return std::min(std::sqrt(2.0 * target_ / (1.0 - alpha_ * p_ * one_minus_p_ * c * c)), 1.57 / c);
}

double TiltedLaw::step_for(double y) const noexcept {
    const double a = strip();
    return 2.0 * kPi * a / (target_ + 0.7 + growth(a) + y * a * law_.c);
}

template <class Visit>
void TiltedLaw::for_each_chunk(double h, Visit visit) const noexcept {
    if (edge_) return for_each_panel(h, visit);
    const Node node{alpha_, law_.c, mode_, p_, one_minus_p_};
    Chunk chunk;
    for (int k = 0; k < window_count_; ++k) {
        const double end = std::floor(windows_[k].last / h);
        for (double j = std::ceil(windows_[k].first / h); j <= end; j += kChunk) {
            for (int i = 0; i < kChunk; ++i) {
                chunk.v[i] = (j + i) * h;
                chunk.weight[i] = j + i <= end ? 1.0 : 0.0;
            }
            fill(node, chunk);
            visit(chunk);
        }
    }
}

// Two panels of Gauss-Legendre nodes to a chunk, the last one ending at the limit, for the trapezoidal step h.
template <class Visit>
void TiltedLaw::for_each_panel(double h, Visit visit) const noexcept {
    const Node node{alpha_, law_.c, mode_, p_, one_minus_p_};
    const double first = windows_[0].first, length = windows_[0].last - first;
    const double pairs = std::ceil(length / (4.0 * std::min(panel_, kPanelPerStep * h)));
    if (pairs > kMostPairs) return;
    const double half_width = length / (4.0 * pairs);
    Chunk chunk;
    for (double j = 0.0; j < pairs; ++j) {
        for (int i = 0; i < kChunk; ++i) {
            const int half = i / 16, n = i % 8;
            const double middle = first + (4.0 * j + 2.0 * half + 1.0) * half_width;
            chunk.v[i] = middle + (i % 16 < 8 ? -half_width : half_width) * kLegendreNode[n];
            chunk.weight[i] = kLegendreWeight[n] * half_width;
        }
        fill(node, chunk);
        visit(chunk);
    }
}

bool TiltedLaw::shifts(double y) const noexcept { return !edge_ && step_for(y) < kShiftPays * shifted_step_; }

double TiltedLaw::cost(double y) const noexcept {
    double length = 0.0;
    for (int k = 0; k < window_count_; ++k) length += windows_[k].last - windows_[k].first;
    return length / (shifts(y) ? shifted_step_ : step_for(y));
}

double TiltedLaw::rounding(double y) const noexcept {
    const double end = std::max(windows_[window_count_ - 1].last, -windows_[0].first);
    const double far = std::fabs(mode_) + std::max(end - 10.0, 0.0);
    return (48.0 + 48.0 * far) * (shifts(y) ? std::exp(std::max(growth(shift_), 0.0)) : 1.0);
}

double TiltedLaw::recentre() noexcept {
    double weight = 0.0, moment = 0.0;
    for_each_chunk(step_for(0.0), [&](const Chunk& chunk) {
        weight += sum_weights(chunk);
        moment += sum_losses(chunk);
    });
    centre_ = -moment / weight;
    return loss_ - centre_;
}

void TiltedLaw::add_log_characteristic(double first, double step, double count, double* log_modulus,
                                       double* phase) const noexcept {
    const double last = (first + kLanes - 1.0) * step, h = step_for(last);
    double cosine[kLanes] = {}, sine[kLanes] = {}, weight = 0.0;
    if (shifts(last)) {
        weight = add_on_shifted_line(first, step, cosine, sine);
    } else {
        for_each_chunk(h, [&](const Chunk& chunk) {
            weight += sum_weights(chunk);
            add_circular(chunk, centre_, first, step, cosine, sine);
        });
    }
    const double sign = direction_ == Direction::remove ? 1.0 : -1.0;
    for (int j = 0; j < kLanes; ++j) {
        const double re = cosine[j] / weight, im = sine[j] / weight;
        // Near 1 the sums count by themselves, near 0 what they leave of 1.
        log_modulus[j] +=
            count * (re > -0.5 ? 0.5 * std::log1p(2.0 * re + (re * re + im * im)) : std::log(std::hypot(1.0 + re, im)));
        phase[j] += count * sign * std::atan2(im, 1.0 + re);
    }
}

// The same sums on the line Im u = b, where E d = 0 as well, between the real axis and Im u = 2b: at y >= 0 the modulus
// on these is bounded by growth(0) = 0 and growth(2b), whatever y. Returns the sum of the weights on the real axis, for
// which the step is small enough as well.
double TiltedLaw::add_on_shifted_line(double first, double step, double* cosine, double* sine) const noexcept {
    const double half_sine = std::sin(0.5 * shift_ * law_.c), sine_b = std::sin(shift_ * law_.c);
    Shifted nodes;
    double weight = 0.0;
    for_each_chunk(shifted_step_, [&](const Chunk& chunk) {
        weight += sum_weights(chunk);
        shift_nodes(chunk, alpha_, mode_, shift_, 2.0 * half_sine * half_sine, sine_b, nodes);
        add_shifted(nodes, centre_, first, step, cosine, sine);
    });
    return weight;
}

// The integrand at the limit, in units of the weights of for_each_panel.
double TiltedLaw::edge_weight() const noexcept {
    const double v = windows_[0].last;
    const double t = lane_log1p(p_ * lane_expm1(std::min(v * law_.c, 700.0)));
    return lane_exp(alpha_ * t - mode_ * v - 0.5 * v * v);
}

double TiltedLaw::log_decay(double y) const noexcept {
    // Half of the strip for the shift, half for the rule.
    const double a = 0.5 * strip();
    const double h = 2.0 * kPi * a / (target_ + 0.7 + growth(2.0 * a));
    double weight = 0.0, posterior = 0.0;
    for_each_chunk(h, [&](const Chunk& chunk) {
        weight += sum_weights(chunk);
        posterior += sum_posterior(chunk);
    });
    const auto mean_decay = [&](double shift) {
        const double half_sine = std::sin(0.5 * shift * law_.c), sine = std::sin(shift * law_.c);
        double sum = 0.0;
        for_each_chunk(h, [&](const Chunk& chunk) {
            sum += sum_decay(chunk, alpha_, y, shift, 2.0 * half_sine * half_sine, sine);
        });
        // The shifted line ends above the limit, to which a segment of height b leads down.
        const double rise = edge_ ? shift * lane_exp(0.5 * shift * shift) * edge_weight() : 0.0;
        return (sum + rise) / weight;
    };
    // The best shift is near y E[r]/sigma while that is small.
    double shift = std::min(a, y * law_.c * posterior / weight);
    double best = mean_decay(shift);
    for (double factor : {2.0, 0.5}) {
        for (double next = shift * factor; next <= a; next *= factor) {
            const double here = mean_decay(next);
            if (!(here < best)) break;
            best = here;
            shift = next;
        }
    }
    return best < 0.0 ? std::log1p(std::max(best, -1.0 + 0x1p-50)) : 0.0;
}

}  // namespace renyi
