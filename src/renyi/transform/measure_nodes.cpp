// The nodes of a measure's line, and the sum over them.
#include <cmath>
#include <complex>

#include "renyi/transform/measure_inversion.hpp"

namespace renyi {

namespace {

using Complex = std::complex<double>;

constexpr double kPi = 0x1.921fb54442d18p1;

Complex log1p_complex(Complex r) noexcept {
    const double re = r.real(), im = r.imag();
    const double half = re > -0.5 ? 0.5 * std::log1p(2.0 * re + (re * re + im * im))
                                  : 0.5 * std::log((1.0 + re) * (1.0 + re) + im * im);
    return {half, std::atan2(im, 1.0 + re)};
}

Complex expm1_complex(Complex d) noexcept {
    const double half = std::sin(0.5 * d.imag()), grown = std::expm1(d.real());
    return {grown - 2.0 * (grown + 1.0) * half * half, (grown + 1.0) * std::sin(d.imag())};
}

double modulus(Complex z) noexcept { return std::sqrt(std::norm(z)); }

Complex quotient(Complex a, Complex b) noexcept { return a * std::conj(b) / std::norm(b); }

}  // namespace

void MeasureInversion::sum_nodes(double end) {
    nodes_.begin(tilt_, step_, shift_);
    const auto blocks = static_cast<std::size_t>(std::ceil(end / step_ / kLanes));
    for (std::size_t block = 0; block < blocks; ++block) sum_block(block);
}

void MeasureInversion::sum_block(std::size_t block) {
    const double first = static_cast<double>(block * kLanes + 1);
    Complex log_base[kLanes] = {}, grown[kLanes] = {};
    double base_error[kLanes] = {}, grown_error[kLanes] = {};
    centre_ = 0.5 * gaussian_ * (2.0 * tilt_ + 1.0);
    double log_base_at = 0.5 * gaussian_ * tilt_ * (tilt_ + 1.0), phase_error = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const double k = steps_[i].count;
        const WindowedMoment &base_at = moments_[i].base, &jump_at = moments_[i].jump;
        centre_ += k * base_at.mean;
        log_base_at += k * base_at.value;
        phase_error += k * base_at.mean_error;
        double re[kLanes], im[kLanes], fre[kLanes], fim[kLanes];
        base_[i].excess(first, re, im);
        if (has_jumps()) jump_[i].whole(first, fre, fim);
        const double full_ratio = std::exp(jump_at.value - base_at.value), apart = jump_at.mean - base_at.mean;
        for (int j = 0; j < kLanes; ++j) {
            const double y = (first + j) * step_;
            const Complex b = Complex{re[j], im[j]};
            const double size = modulus(1.0 + b), own = base_[i].excess_error(y);
            const Complex log_b = log1p_complex(b);
            log_base[j] += k * log_b;
            base_error[j] += k * (own / std::max(size, 1e-300) + kUnitRoundoff * (4.0 * modulus(log_b)));
            if (!has_jumps()) continue;
            const double turn = y * apart;
            const Complex f = full_ratio * (std::polar(1.0, turn) * Complex{fre[j], fim[j]});
            const double f_error =
                full_ratio * (jump_[i].whole_error(y) + kUnitRoundoff * (8.0 + 2.0 * std::fabs(turn)) + jump_at.error +
                              base_at.error);
            const Complex r = quotient(f, 1.0 + b), whole = 1.0 + b + f;
            const double ratio = modulus(r);
            const Complex log_r = ratio < 0.5 ? log1p_complex(r) : std::log(whole) - log_b;
            grown[j] += k * log_r;
            grown_error[j] += k * ((f_error + ratio * own) / std::max(modulus(whole), 1e-300) +
                                   kUnitRoundoff * (8.0 * modulus(log_r) + (ratio < 0.5 ? 0.0 : 8.0)));
        }
    }
    const double scale = log_base_at - at_.value;
    for (int j = 0; j < kLanes; ++j) {
        const double y = (first + j) * step_;
        // The Gaussian steps: z (z+1)/2 at z = t + i y, whose phase is y (2t+1)/2.
        const Complex log_b = log_base[j] + scale - 0.5 * gaussian_ * y * y;
        const Complex whole = log_b + grown[j];
        Complex value;
        if (!has_jumps()) {
            value = std::exp(log_b);
        } else if (grown[j].real() < 30.0 && log_b.real() < 600.0) {
            value = log_b.real() > -740.0 ? std::exp(log_b) * expm1_complex(grown[j]) : std::exp(whole);
        } else {
            value = std::exp(whole) - std::exp(log_b);
        }
        const double size = modulus(value), full = std::exp(whole.real());
        const double phases = kUnitRoundoff * (16.0 + 4.0 * std::fabs(whole.imag()) + 4.0 * std::fabs(log_b.imag()) +
                                               2.0 * std::fabs(scale)) +
                              y * phase_error;
        const double error = size * (base_error[j] + phases) + (has_jumps() ? full * grown_error[j] : 0.0);
        nodes_.add(value.real(), value.imag(), error);
    }
}

Reading MeasureInversion::read(double epsilon, double log_factor) const noexcept {
    if (!placed_) return {0.0, 0.0, 0.0, std::exp(log_chernoff(chernoff_, epsilon) + log_factor)};
    const double t = tilt_;
    const NodeSum::Sum nodes = nodes_.at(centre_ - epsilon, std::fabs(epsilon));
    const double y = static_cast<double>(nodes_.size()) * step_;
    const double tail = std::exp(log_tail_) * t * (t + shift_) / (step_ * y);
    const double exponent = at_.value - t * epsilon + log_factor;
    const double scale = std::exp(exponent + std::log(step_ / kPi) - std::log(t) - std::log(t + shift_));
    const double relative =
        at_.error + kUnitRoundoff * (32.0 + 4.0 * std::fabs(exponent) + 4.0 * (t * std::fabs(epsilon) + std::fabs(log_factor)));
    const double absolute =
        scale * (nodes.error + quadrature_ * nodes.kernel + tail + relative * std::fabs(nodes.value));
    const double period = 2.0 * kPi / step_;
    const auto alias = [&](const Bound& b) {
        return std::exp(log_chernoff(b, epsilon) + log_factor) / std::expm1(std::fabs(t - b.tilt) * period);
    };
    const double sum = scale * nodes.value;
    return {sum, nodes.slope / nodes.value, std::max(0.0, sum - absolute - alias(below_) - alias(above_)),
            sum + absolute};
}

}  // namespace renyi
