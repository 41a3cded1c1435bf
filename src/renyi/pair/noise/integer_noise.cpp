#include "renyi/pair/noise/noises.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "renyi/pair/atoms.hpp"
#include "renyi/pair/division.hpp"
#include "renyi/special/elementary_dd.hpp"

namespace renyi {

namespace {

constexpr double kReach = 38.7;               // in sigmas: masses beyond are below 2^-1075
constexpr std::int64_t kMostSpans = 1 << 18;  // with more outcomes, neighbours are merged

struct Noise {
    double sigma;
    double exponent(double x) const noexcept {
        const double z = x / sigma;
        return 0.5 * z * z;
    }
};

}  // namespace

double discrete_gaussian_total(double sigma) noexcept {
    constexpr double kTwiceSquare = 0x1.3bd3cc9be45dep+4;  // 2 pi^2
    if (sigma >= 1.0) return sigma * kRoot2Pi * (1.0 + 2.0 * deep_exp(-kTwiceSquare * sigma * sigma));
    const Noise noise{sigma};
    double sum = 0.0;
    for (double x = std::ceil(kReach * sigma); x > 0.0; x -= 1.0) sum += deep_exp(-noise.exponent(x));
    return 1.0 + 2.0 * sum;
}

// The pair is symmetric around x = shift/2, where the loss is 0: the spans are those of one side and their mirror
// images. For x > shift/2 the mass of P is the larger, and the mean of a block lies below its upper end by a log1p of
// non-negative terms.
PairPointer discrete_gaussian(double sigma, std::int64_t shift) {
    const Noise noise{sigma};
    const auto reach = static_cast<std::int64_t>(std::ceil(kReach * sigma));
    const double total = discrete_gaussian_total(sigma);
    const double slope = static_cast<double>(shift) / sigma / sigma, centre = 0.5 * static_cast<double>(shift);
    const std::int64_t first = shift / 2 + 1, last = shift + reach;
    const std::int64_t block = (last - first) / (kMostSpans / 2) + 1;
    Spans found;
    found.infinite.upper = found.null.upper = kNegligible;
    for (std::int64_t start = first; start <= last; start += block) {
        const std::int64_t end = std::min(start + block - 1, last);
        const double top = slope * (static_cast<double>(end) - centre);
        const double low = slope * (static_cast<double>(start) - centre);
        double mass = 0.0, apart = 0.0;
        for (std::int64_t x = start; x <= end; ++x) {
            const double p = deep_exp(-noise.exponent(static_cast<double>(x - shift)));
            mass += p;
            apart += p * lane_expm1(slope * static_cast<double>(end - x));
        }
        const double mean = mass > 0.0 ? std::max(top - lane_log1p(apart / mass), low) : top;
        mass /= total;
        const double far = static_cast<double>(std::max(end - shift, shift - start));
        // The relative error is 5u for exponents, n u for masses of n additions of decreasing terms, 64u for the sum.
        const double error =
            (5.0 * std::min(noise.exponent(far), 1000.0) + 64.0 + static_cast<double>(end - start)) * kUnitRoundoff;
        const double loss_error = (4.0 * top + 2.0 * error / kUnitRoundoff * (top - low)) * kUnitRoundoff;
        const double other = mass * deep_exp(-mean);
        const double both = error + (8.0 + 4.0 * top) * kUnitRoundoff;
        found.spans.push_back({low, mean, top, mass, other, both, loss_error});
        found.spans.push_back({-top, -mean, -low, other, mass, both, loss_error});
    }
    if (shift % 2 == 0) {
        const double mass = deep_exp(-noise.exponent(centre)) / total;
        const double error = (5.0 * std::min(noise.exponent(centre), 1000.0) + 64.0) * kUnitRoundoff;
        found.spans.push_back({0.0, 0.0, 0.0, mass, mass, error, 0.0});
    }
    const double mu = static_cast<double>(shift) / sigma;
    auto bound = std::make_shared<const LinearCurve>(0.5 * mu * mu * raised(6));
    return std::make_shared<const AtomsPair>(std::move(found), true, false, std::move(bound));
}

// With r = e^{-1/scale} the masses of P are 1/(1+r) and r^shift/(1+r) at the ends, and r^{shift-j} (1-r)/(1+r) at the
// loss (2j - shift)/scale between them. Over j, ..., j + n - 1 they add up to r^{shift-j-n+1} (1 - r^n)/(1+r) for P and
// r^j (1 - r^n)/(1+r) for Q, and the mean is the middle.
PairPointer discrete_laplace(double scale, std::int64_t shift) {
    const double length = static_cast<double>(shift), top = length / scale;
    const double outer = 1.0 / (1.0 + deep_exp(-1.0 / scale));
    // The error of a mass r^x, the larger of both masses; their ratio is as accurate as the loss.
    const auto error = [scale](double x) { return (24.0 + 4.0 * x / scale) * kUnitRoundoff; };
    const std::int64_t block = (shift - 1) / kMostSpans + 1;
    const auto power = [scale](double j) { return deep_exp(-j / scale); };
    Spans found;
    found.spans.push_back({top, top, top, outer, outer * power(length), error(0.0), 2.0 * kUnitRoundoff * top});
    found.spans.push_back({-top, -top, -top, outer * power(length), outer, error(0.0), 2.0 * kUnitRoundoff * top});
    for (std::int64_t start = 1; start < shift; start += block) {
        const double n = static_cast<double>(std::min(block, shift - start)), j = static_cast<double>(start);
        const double inner = -outer * lane_expm1(-n / scale);
        const double low = (2.0 * j - length) / scale, high = (2.0 * (j + n - 1.0) - length) / scale;
        const double mean = (2.0 * j + n - 1.0 - length) / scale;
        found.spans.push_back({low, mean, high, inner * power(length - j - n + 1.0), inner * power(j),
                               error(std::min(length - j - n + 1.0, j)),
                               2.0 * kUnitRoundoff * std::max(std::fabs(low), std::fabs(high))});
    }
    return std::make_shared<const AtomsPair>(std::move(found), true);
}

// With I the modified Bessel functions at mu = variance, the mass of k is e^-mu I_|k|. The ratios r_k = I_k/I_{k-1}
// follow from r_k = 1/(2k/mu + r_{k+1}), a recurrence of positive terms that multiplies an error of r_{k+1} by r_k^2.
// The sum L(k) of -log r_j over j <= k is -log of the mass of k over that of 0. Losses are differences of L. All this
// is in double-double.
//
// r_k <= mu/(k - 1/2 + ((k - 1/2)^2 + mu^2)^(1/2)) (Segura 2011), so that -log r_k >= asinh((k - 1/2)/mu), and, the
// function being concave, L(k) >= int_0^k asinh(t/mu) dt.

namespace {

constexpr double kDeepest = 760.0;

// Returns a k where L is above kDeepest: the mass beyond it is less than e^-kDeepest, since r_k falls and 1/(1 - r_k)
// is less than 1/(mass of 0).
int last_seen(double mu) {
    const auto depth = [mu](double k) { return k * std::asinh(k / mu) - std::hypot(k, mu) + mu; };
    double low = 0.0, high = 1.0;
    while (depth(high) < kDeepest) high *= 2.0;
    while (high - low > 1.0) {
        const double middle = std::floor(0.5 * (low + high));
        (depth(middle) < kDeepest ? low : high) = middle;
    }
    return static_cast<int>(high);
}

// Returns L(0), ..., L(last). The recurrence starts from a ratio between 0 and 1, so far out that the error has fallen
// below 2^-110 at `last`.
std::vector<DoubleDouble> depths(double mu, int last) {
    const int start = last + 2 + static_cast<int>(39.0 / std::asinh((last - 0.5) / mu));
    std::vector<DoubleDouble> found(static_cast<std::size_t>(last) + 1);
    DoubleDouble ratio{0.5, 0.0};
    for (int k = start; k > 0; --k) {
        ratio = DoubleDouble{1.0, 0.0} / (DoubleDouble{2.0 * k, 0.0} / DoubleDouble{mu, 0.0} + ratio);
        if (k <= last) found[static_cast<std::size_t>(k)] = -log_dd(ratio);
    }
    for (std::size_t k = 1; k < found.size(); ++k) found[k] = found[k] + found[k - 1];
    return found;
}

}  // namespace

PairPointer skellam_noise(double variance, int shift) {
    const int last = last_seen(variance);
    const std::vector<DoubleDouble> depth = depths(variance, last + shift);
    const auto at = [&depth](int k) { return depth[static_cast<std::size_t>(std::abs(k))]; };
    DoubleDouble total{1.0, 0.0};
    for (int k = last; k > 0; --k) total = total + 2.0 * exp_of_dd(-at(k));
    // The error of a logarithm is 2^-79 (1 + 2^-10), that of a quotient of double-doubles 2^-101; the latter falls by
    // r^2 with each step.
    const double count = static_cast<double>(depth.size()), absolute = count * 0x1p-78;
    Spans found;
    found.infinite.upper = found.null.upper = kNegligible;
    for (int x = -last; x <= last + shift; ++x) {
        const double loss = (at(x) - at(x - shift)).hi;
        const double p = exp_of_dd(-at(x - shift)) / total.hi, q = exp_of_dd(-at(x)) / total.hi;
        found.spans.push_back({loss, loss, loss, p, q, 16.0 * kUnitRoundoff + 2.0 * absolute,
                               kUnitRoundoff * std::fabs(loss) + absolute});
    }
    return std::make_shared<const AtomsPair>(std::move(found), true, false);
}

}  // namespace renyi
