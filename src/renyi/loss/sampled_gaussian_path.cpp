// See the header.
#include "renyi/loss/sampled_gaussian_path.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/special/circular.hpp"

namespace renyi {

namespace {

using Complex = std::complex<double>;

constexpr double kInverseSqrt2Pi = 0x1.9884533d43651p-2;
constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kDepth = 42.0;
constexpr int kMostBlocks = 500;                  // small noise: the path is not for that
constexpr double kGrown = 60.0;                   // e^-60 alpha x is nothing
constexpr double kBulk = 6.0;                     // of u: the bulk is not left before
constexpr double kMostTurn = 1.5;                 // of psi
constexpr double kSteepest = 42.0 / 180.0 * kPi;  // of omega: the Gaussian decays below 45 degrees
constexpr double kMargin = 8.0 / 180.0 * kPi;     // by which Re(alpha l) falls rather than stays
constexpr double kLargestScale = 25.0;            // of log A for which A - 1 is summed

Complex logistic(Complex v) noexcept { return 1.0 / (1.0 + std::exp(-v)); }

struct Integrand {
    double split, sigma, log_rest, scale;
    double psi, turn, onset;  // w(v) = psi + turn / (1 + e^{onset - v})
    double order_re, order_im;
    bool excess;
};

struct Nodes {
    double lr[kLanes], li[kLanes];  // l
    double gr[kLanes], gi[kLanes];  // -u^2/2
    double dr[kLanes], di[kLanes];  // dV/dv
};

RENYI_INLINE double lane_logistic(double v) noexcept {
    const double e = lane_exp(v > 0.0 ? -v : v);
    return select(v > 0.0, 1.0, e) / (1.0 + e);
}

// V = L + log(1 - e^-L) and dV = dL / (1 - e^-L).
RENYI_INLINE void fill_nodes(const Integrand& k, double first, double h, Nodes& out) noexcept {
    for (int i = 0; i < kLanes; ++i) {
        const double v = (first + static_cast<double>(i)) * h;
        const double e = lane_exp(v > 0.0 ? -v : v);
        const double length = (v > 0.0 ? v : 0.0) + lane_log1p(e);
        const double slope = select(v > 0.0, 1.0, e) / (1.0 + e);
        const double g = lane_logistic(v - k.onset);
        const double w = k.psi + k.turn * g, dw = k.turn * g * (1.0 - g);
        const CircularExcess turn = circular_excess(w);
        const double cosine = 1.0 + turn.cosine, sine = w + turn.sine;
        const double lr = length * cosine, li = length * sine;
        // dL = (slope + i length dw) e^{i w} dv
        const double er = slope * cosine - length * dw * sine, ei = slope * sine + length * dw * cosine;
        // m = 1 - e^-L
        const double decay = lane_expm1(-lr);
        const CircularExcess c = circular_excess(li);
        const double mr = -decay - (decay + 1.0) * c.cosine, mi = (decay + 1.0) * (li + c.sine);
        const double norm = mr * mr + mi * mi;
        out.dr[i] = (er * mr + ei * mi) / norm;
        out.di[i] = (ei * mr - er * mi) / norm;
        out.lr[i] = k.log_rest + lr;
        out.li[i] = li;
        const double ur = k.split + k.sigma * (lr + 0.5 * lane_log(norm));
        const double ui = k.sigma * (li + lane_argument(mi, mr));
        out.gr[i] = 0.5 * (ui * ui - ur * ur);
        out.gi[i] = -ur * ui;
    }
}

// Adds n(u) (phi(alpha l) - alpha phi(l)) dV, or n(u) e^{alpha l - scale} dV.
template <bool excess>
RENYI_INLINE void add_nodes(const Integrand& k, const Nodes& at, double* sum_re, double* sum_im) noexcept {
    for (int i = 0; i < kLanes; ++i) {
        const double er = k.order_re * at.lr[i] - k.order_im * at.li[i];
        const double ei = k.order_re * at.li[i] + k.order_im * at.lr[i];
        double re, im;
        // n(u) e^{alpha l} in one exponential, since each factor alone may leave the range of double
        const double exponent = er + at.gr[i] - (excess ? 0.0 : k.scale), phase = ei + at.gi[i];
        const double size = lane_exp(exponent < 700.0 ? exponent : 700.0);
        const CircularExcess c = circular_excess(phase);
        re = size * (1.0 + c.cosine);
        im = size * (phase + c.sine);
        if constexpr (excess) {  // where e^{alpha l} is not all there is
            const double n = lane_exp(at.gr[i] < 700.0 ? at.gr[i] : 700.0);
            const CircularExcess d = circular_excess(at.gi[i]);
            const double dr = n * (1.0 + d.cosine), di = n * (at.gi[i] + d.sine);
            const ComplexLane f = lane_phi(er, ei), x = lane_phi(at.lr[i], at.li[i]);  // x = mu/mu0 - 1 = l + phi(l)
            const double fr = f.re - (k.order_re * x.re - k.order_im * x.im);
            const double fi = f.im - (k.order_re * x.im + k.order_im * x.re);
            const bool grown = er > kGrown;
            re = select(grown, re, dr * fr - di * fi);
            im = select(grown, im, dr * fi + di * fr);
        }
        sum_re[i] += re * at.dr[i] - im * at.di[i];
        sum_im[i] += im * at.dr[i] + re * at.di[i];
    }
}

// Sum of the integrand over v = (first + i) h, i < 16 blocks.
RENYI_MULTIVERSION
void sum_path(const Integrand& of, double first, double h, int blocks, double* out_re, double* out_im) noexcept {
    const Integrand k = of;
    double sum_re[kLanes] = {}, sum_im[kLanes] = {};
    Nodes nodes;
    for (int block = 0; block < blocks; ++block) {
        fill_nodes(k, first + static_cast<double>(block * kLanes), h, nodes);
        if (k.excess) {
            add_nodes<true>(k, nodes, sum_re, sum_im);
        } else {
            add_nodes<false>(k, nodes, sum_re, sum_im);
        }
    }
    for (int i = 0; i < kLanes; ++i) {
        *out_re += sum_re[i];
        *out_im += sum_im[i];
    }
}

// log of the modulus of the integrand without the -1.
double height(const Integrand& k, double v) noexcept {
    const double length = std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v)));
    const double w = k.psi + k.turn / (1.0 + std::exp(k.onset - v));
    const Complex l = std::polar(length, w);
    const Complex u = k.split + k.sigma * (length > 1e-6 ? l + std::log(1.0 - std::exp(-l)) : std::log(l));
    const double weight = 0.5 * (u.imag() * u.imag() - u.real() * u.real());
    const double grown = k.order_re * (k.log_rest + l.real()) - k.order_im * l.imag();
    const double linear = k.log_rest + l.real() + std::log1p(std::hypot(k.order_re, k.order_im));
    return k.excess ? weight + std::max(grown, linear) : weight + grown - k.scale;
}

}  // namespace

LawOnPath::LawOnPath(double q, double sigma, double scale) noexcept
    : law_(q, sigma), split_(law_.split()), scale_(scale), excess_(scale < kLargestScale) {}

std::complex<double> LawOnPath::log_ratio(std::complex<double> alpha) const noexcept {
    const double c = law_.c, sigma = law_.sigma;
    // The saddle point u = alpha c p of the bulk, by damped Newton steps from the origin.
    Complex u = 0.0;
    for (int i = 0; i < 30; ++i) {
        const Complex p = logistic((u - split_) * c);
        Complex step = -(u - alpha * c * p) / (1.0 - alpha * c * c * p * (1.0 - p));
        const double size = std::abs(step), longest = std::min(1.0, 0.5 * sigma);
        if (size > longest) step *= longest / size;
        u += step;
        if (u.real() > split_) u.real(split_);
        if (size < 1e-2) break;
    }
    const double psi = std::clamp(u.imag() * c, 0.0, kMostTurn);
    const Complex far = alpha * c * c - split_ * c;
    const double theta = std::arg(far);
    const double omega = std::max(0.0, std::min({theta, 0.5 * kPi - theta + kMargin, kSteepest}));
    const Integrand k{split_,       sigma,        law_.log_rest, scale_, psi, omega - psi, -std::log1p(std::abs(alpha)),
                      alpha.real(), alpha.imag(), excess_};
    const double centre = -split_ * c;
    double left = centre, right = std::max(centre, (kBulk - split_) * c);
    if (far.real() > right && height(k, far.real()) > -kDepth) right = far.real();
    const double step = c;
    while (height(k, left) > -kDepth) left -= step;
    while (height(k, right) > -kDepth) right += step;
    const double h = std::min(0.3 * c, 0.08);
    const double first = std::floor(left / h);
    const int blocks = static_cast<int>(std::min((right / h - first) / kLanes + 1.0, 1e5));
    if (blocks > kMostBlocks) return {kNaN, kNaN};
    double re = 0.0, im = 0.0;
    sum_path(k, first, h, blocks, &re, &im);
    const double unit = h * sigma * kInverseSqrt2Pi;
    re *= unit;
    im *= unit;
    if (!excess_) return std::log(Complex{re, im});
    return {0.5 * std::log1p(2.0 * re + (re * re + im * im)) - scale_, std::atan2(im, 1.0 + re)};
}

}  // namespace renyi
