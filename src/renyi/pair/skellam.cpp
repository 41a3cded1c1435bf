// With I the modified Bessel functions at mu = variance the mass of k is e^-mu I_|k|. Ratios r_k = I_k/I_{k-1} follow
// from r_k = 1/(2k/mu + r_{k+1}), of positive terms, which makes an error of r_{k+1} r_k^2 times as large; sums of
// -log r_k are the logs L(k) of masses over that of 0, and losses their differences, in double-double.
//
// r_k <= mu/(k - 1/2 + ((k - 1/2)^2 + mu^2)^(1/2)) (Segura 2011), so that -log r_k >= asinh((k - 1/2)/mu), and, the
// function being concave, L(k) >= int_0^k asinh(t/mu) dt.
#include "renyi/pair/skellam.hpp"

#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "renyi/pair/atoms.hpp"
#include "renyi/pair/division.hpp"
#include "renyi/special/elementary_dd.hpp"

namespace renyi {

namespace {

constexpr double kDeepest = 760.0;

// Where L is above kDeepest: what lies beyond has less than e^-kDeepest, r_k falling, since 1/(1 - r_k) is less than
// the 1/(mass of 0).
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

// L(0), ..., L(last). The first ratio, between 0 and 1, is taken where the error has fallen below 2^-110.
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
    // A logarithm is right to 2^-79 (1 + 2^-10), a quotient of double-doubles to 2^-101, and falls by r^2.
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
