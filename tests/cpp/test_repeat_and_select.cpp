// Selection among a random number of runs: closed forms of the optimal orders, limits and edges by name.
#include <cmath>
#include <initializer_list>
#include <memory>
#include <vector>

#include "check.hpp"
#include "pairs.hpp"
#include "renyi/pair/noise/exponential_loss.hpp"
#include "renyi/pair/renyi_curve.hpp"
#include "renyi/transform/renyi_curves.hpp"
#include "renyi/transform/selection.hpp"

using namespace renyi;

namespace {

CurvePointer gaussian(double sigma) { return std::make_shared<LinearCurve>(0.5 / (sigma * sigma)); }

// log(1/gamma) from E[N], by the closed forms of three shapes and a plain bisection for the others.
double log_inverse_gamma(double mean, double shape) {
    if (shape == 1.0) return std::log(mean);
    double low = 1e-12, high = 800.0;
    for (int i = 0; i < 200; ++i) {
        const double x = 0.5 * (low + high);
        const double runs = shape == 0.0 ? std::expm1(x) / x : shape * (std::expm1(x) / -std::expm1(-shape * x));
        (runs < mean ? low : high) = x;
    }
    return high;
}

// K = rho l (l-1): (K + x)/l is least at l = sqrt(x/rho), and (K + log E)/(alpha-1) at alpha - 1 = sqrt(log E/rho).
void gaussian_base() {
    for (double sigma : {0.5, 1.0, 5.0, 100.0}) {
        const double rho = 0.5 / (sigma * sigma);
        for (double mean : {1.0 + 1e-9, 1.5, 10.0, 1e4}) {
            for (double shape : {-0.9, -0.5, 0.0, 1.0, 2.0, 50.0}) {
                const RepeatAndSelectCurve curve(gaussian(sigma), mean, shape);
                const double x = log_inverse_gamma(mean, shape), l = std::max(1.0, std::sqrt(x / rho));
                const double cost = (1.0 + shape) * (rho * (l - 1.0) + x / l), log_mean = std::log(mean);
                const double knee = 1.0 + std::sqrt(log_mean / rho);
                for (double alpha : {1.0 + 1e-7, 1.5, 2.0, 30.0, 1e4}) {
                    const double a = std::max(alpha, knee);
                    const double truth = rho * a + cost + log_mean / (a - 1.0);
                    CHECK_THAT(upper(curve.divergence(alpha)), >=, truth * (1.0 - 1e-13) - 1e-15);
                    CHECK_THAT(curve.divergence(alpha).value, <=, truth * (1.0 + 1e-7) + 1e-14);
                }
            }
        }
    }
}

void convex_and_rising() {
    for (double shape : {0.0, 1.0, kInfinity}) {
        const RepeatAndSelectCurve curve(gaussian(3.0), 8.0, shape);
        double last = 0.0, slope = 0.0, divergence = 0.0;
        for (double alpha = 1.125; alpha < 60.0; alpha += 0.125) {
            const LogMoment m = curve.log_moment(alpha);
            CHECK_THAT(m.value.value - last, >=, slope - 1e-9);
            CHECK_THAT(m.value.value / (alpha - 1.0), >=, divergence * (1.0 - 1e-12));
            slope = m.value.value - last, last = m.value.value, divergence = last / (alpha - 1.0);
        }
    }
}

void poisson() {
    // Theorem 6 with an infinitely private base: only E[N] shows.
    const auto silent = std::make_shared<LinearCurve>(0.0);
    CHECK_THAT(std::fabs(RepeatAndSelectCurve(silent, 5.0, kInfinity).log_moment(9.0).value.value), <=, 1e-4);
    // Pure DP: delta = 0 as soon as eps <= log(alpha/(alpha-1)).
    const double epsilon = 0.1, mean = 20.0, alpha = 9.0;
    const auto pure = pairs::moment(pairs::pure_dp(epsilon));
    const RepeatAndSelectCurve curve(pure, mean, kInfinity);
    const double plain = pure->log_moment(alpha).value.value + std::log(mean);
    CHECK_THAT(curve.log_moment(alpha).value.value, <=, plain * (1.0 + 1e-12));
    CHECK_THAT(curve.largest_loss(), <=, (epsilon + mean * std::tanh(0.5 * epsilon)) * (1.0 + 1e-12));
    for (double order : {20.0, 1e3, 1e6}) CHECK_THAT(curve.divergence(order).value, <=, curve.largest_loss());
    // Below one run on average the bound stays above 0 and above what one outcome in E[N] leaks.
    for (double few : {1e-9, 0.01, 0.5, 0.999}) {
        const LogMoment m = RepeatAndSelectCurve(gaussian(2.0), few, kInfinity).log_moment(4.0);
        const double single = gaussian(2.0)->log_moment(4.0).value.value;
        CHECK_THAT(upper(m.value), >=, std::log1p(few * std::expm1(single)));
        CHECK_THAT(lower(m.value), <=, std::log1p(few * std::expm1(single + 3.0 * few) + 0.5 * few * few));
    }
    // From dp_accounting 0.6 on a dense grid of orders (sigma = 1, mean 10).
    const RepeatAndSelectCurve known(gaussian(1.0), 10.0, kInfinity);
    CHECK_THAT(known.divergence(3.0).value, >=, 6.955723 - 3e-6);
    CHECK_THAT(known.divergence(3.0).value, <=, 6.955723 * (1.0 + 1e-4));
}

// Pure DP of epsilon: delta = (e^epsilon - e^eps)/(e^epsilon + 1), linear in e^eps, from points on it and above it.
void profiles() {
    const double top = std::expm1(0.5);
    const auto truth = [top](double x) { return std::max(top - x, 0.0) / (top + 2.0); };
    std::vector<ProfilePoint> points{profile_point(0.5, 0.0), profile_point(0.0, truth(0.0))};
    for (double eps = 0.05; eps < 0.5; eps += 0.1) points.push_back(profile_point(eps, truth(std::expm1(eps)) + 0.01));
    const PrivacyProfile hull(points);
    for (double x = 0.0; x < 2.0 * top; x += 0.01) {
        CHECK_THAT(hull.at(x).delta, >=, truth(x) * (1.0 - 1e-15));
        CHECK_THAT(hull.at(x).delta, <=, truth(x) + 1e-14);
        CHECK_THAT(std::fabs(hull.at(x).slope + (x < top ? 1.0 / (top + 2.0) : 0.0)), <=, 1e-12);
    }
    CHECK(PrivacyProfile({}).at(3.0).delta == 1.0);
    CHECK(PrivacyProfile({{kNaN, 0.1}, {1.0, kNaN}, {kInfinity, 0.0}}).at(3.0).delta == 1.0);

    // By the Renyi curve, at each eps: no order does better, and points lie close enough to lose little.
    const double rho = 0.005;
    const PrivacyProfile found(renyi_profile(LinearCurve(rho), 1e-30));
    for (double eps = 0.05; eps < 1.0; eps += 0.013) {
        double best = 1.0;
        for (double t = 1e-3; t < 1e4; t *= 1.001)
            best = std::min(best, std::exp(rho * t * (t + 1.0) - t * eps - t * std::log1p(1.0 / t) - std::log1p(t)));
        CHECK_THAT(found.at(std::expm1(eps)).delta, >=, best * (1.0 - 1e-5));
        CHECK_THAT(found.at(std::expm1(eps)).delta, <=, std::min(best, std::sqrt(-std::expm1(-rho))) * 1.01);
    }
    // A polygon ends: beyond the slope there its last order bounds alone.
    const Polygon few({{2.0, 0.1}, {8.0, 1.0}});
    const PrivacyProfile ending(renyi_profile(few, 1e-30));
    for (double eps : {1.0, 3.0, 8.0}) {
        const double best = std::exp(1.0 - 7.0 * eps + 7.0 * std::log(7.0 / 8.0) - std::log(8.0));
        CHECK_THAT(ending.at(std::expm1(eps)).delta, >=, best * (1.0 - 1e-12));
        CHECK_THAT(ending.at(std::expm1(eps)).delta, <=, best * 1.01);
    }
}

void edges() {
    const CurvePointer b = gaussian(2.0);
    for (double shape : {-0.5, 0.0, 3.0}) {
        const RepeatAndSelectCurve once(b, 1.0, shape);
        for (double alpha : {1.0, 1.25, 1e5})
            CHECK(once.log_moment(alpha).value.value == b->log_moment(alpha).value.value);
    }
    // Pure DP, geometric: three times epsilon (Liu, Talwar 2019).
    const auto pure = pairs::moment(pairs::pure_dp(0.3));
    const RepeatAndSelectCurve geometric(pure, 1e6, 1.0);
    CHECK_THAT(geometric.largest_loss(), <=, 0.9 * (1.0 + 1e-12));
    CHECK_THAT(geometric.divergence(1e6).value, <=, 0.9 + std::log(1e6) / 1e6 + 1e-9);
    const auto few = std::make_shared<Polygon>(std::vector<PolygonPoint>{{2.0, 0.1}, {8.0, 1.0}});
    for (double shape : {0.0, 1.0, kInfinity}) {
        const RepeatAndSelectCurve curve(few, 3.0, shape);
        CHECK(curve.largest_order() == 8.0);
        CHECK(std::isfinite(curve.log_moment(8.0).value.value) && curve.log_moment(8.5).value.value == kInfinity);
        CHECK(curve.log_moment(1.0).value.value == 0.0);
    }
}

}  // namespace

int main() {
    gaussian_base();
    convex_and_rising();
    poisson();
    profiles();
    edges();
    return check::finish();
}
