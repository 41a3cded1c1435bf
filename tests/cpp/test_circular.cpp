// cos t - 1, sin t - t, the argument and e^z - 1 - z against long double.
#include <cmath>
#include <random>

#include "check.hpp"
#include "renyi/special/elementary.hpp"

using namespace renyi;

namespace {

constexpr double kU = 0x1p-53;

void excesses() {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> exponent(-40.0, 19.9), sign(-1.0, 1.0);
    for (int i = 0; i < 20000; ++i) {
        const double t = std::copysign(std::exp2(exponent(random)), sign(random));
        const CircularExcess e = circular_excess(t);
        const long double half = std::sin(0.5L * t), cosine = -2.0L * half * half;
        // sin t - t by its series where the difference of long doubles would cancel
        long double sine = std::sin(static_cast<long double>(t)) - t;
        if (std::fabs(t) < 0.5) {
            long double term = t;
            sine = 0.0L;
            for (int k = 1; k < 14; ++k)
                sine += term *= -static_cast<long double>(t) * t / (2.0L * k * (2.0L * k + 1.0L));
        }
        const bool small = std::fabs(t) < 0.78;
        const double cosine_bound = small ? 6.0 * kU * static_cast<double>(-cosine) : 8.0 * kU;
        CHECK_THAT(std::fabs(static_cast<double>(e.cosine - cosine)), <=, cosine_bound);
        const double sine_bound =
            small ? 6.0 * kU * static_cast<double>(std::fabs(sine)) : 4.0 * kU * (1.0 + std::fabs(t));
        CHECK_THAT(std::fabs(static_cast<double>(e.sine - sine)), <=, sine_bound);
    }
}

void arguments() {
    std::mt19937_64 random(2);
    std::uniform_real_distribution<double> angle(-1.5707, 1.5707), size(-20.0, 20.0);
    for (int i = 0; i < 5000; ++i) {
        const double r = std::exp2(size(random)), a = angle(random);
        const double x = r * std::cos(a), y = r * std::sin(a);
        const long double truth = std::atan2(static_cast<long double>(y), static_cast<long double>(x));
        CHECK_THAT(std::fabs(static_cast<double>(lane_argument(y, x) - truth)), <=,
                   16.0 * kU * static_cast<double>(std::fabs(truth)));
    }
}

void complex_phi() {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> size(-20.0, 6.0), sign(-1.0, 1.0);
    for (int i = 0; i < 5000; ++i) {
        const double a = std::copysign(std::exp2(size(random)), sign(random));
        const double b = std::copysign(std::exp2(size(random)), sign(random));
        const ComplexLane f = lane_phi(a, b);
        const long double e = std::exp(static_cast<long double>(a));
        const long double half = std::sin(0.5L * b);
        const long double re = (std::expm1(static_cast<long double>(a)) - a) - 2.0L * e * half * half;
        const long double im = e * std::sin(static_cast<long double>(b)) - b;
        // long double itself loses up to 2^-64 |z|
        const long double scale =
            64.0L * kU * std::max(1.0L, e) * (1.0L * a * a + 1.0L * b * b) + 0x1p-60L * (std::fabs(a) + std::fabs(b));
        CHECK_THAT(std::fabs(static_cast<double>(f.re - re)), <=, static_cast<double>(scale));
        CHECK_THAT(std::fabs(static_cast<double>(f.im - im)), <=, static_cast<double>(scale));
    }
}

}  // namespace

int main() {
    excesses();
    arguments();
    complex_phi();
    return check::finish();
}
