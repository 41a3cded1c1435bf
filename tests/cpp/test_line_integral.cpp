// The bound of the integral over a line beside the real axis against a fine trapezoidal rule on that line.
#include "renyi/transform/line_integral.hpp"

#include <cstdlib>
#include <random>
#include <vector>

#include "check.hpp"
#include "complex_window.hpp"

using namespace renyi;
using reference::Real;

namespace {

struct Case {
    SampledLoss law;
    LossWindow window;
    double angle, tilt, y;
};

// Logarithm of the integrand at points of one distance; adds up any range, and nodes of any spacing.
class Line {
public:
    explicit Line(const Case& k) : h_(0.02 / std::max(1.0, k.law.c)) {
        const Real a = static_cast<Real>(k.angle) / k.law.c, end = 50 + (2 + k.law.records()) * static_cast<Real>(k.law.c);
        for (long i = static_cast<long>(-42 / h_); i * h_ < end; ++i) {
            const reference::Point p = reference::at(k.law, k.window, {i * h_, a});
            x_.push_back(i * h_);
            exponent_.push_back(p.log_density.real() + p.log_window.real() +
                                static_cast<Real>(k.law.sign() * k.tilt) * p.v.real() -
                                static_cast<Real>(k.y) * p.v.imag());
            top_ = std::max(top_, exponent_.back());
        }
    }

    double log_sum(double first, double last, std::size_t stride = 1, std::size_t offset = 0) const {
        Real sum = 0;
        for (std::size_t i = offset; i < x_.size(); i += stride)
            if (x_[i] >= first && x_[i] <= last) sum += std::exp(exponent_[i] - top_);
        return static_cast<double>(top_ + std::log(sum * h_ * static_cast<Real>(stride)));
    }
    double spacing(std::size_t stride) const { return static_cast<double>(h_) * static_cast<double>(stride); }

private:
    Real h_, top_ = -1e4000L;
    std::vector<Real> x_, exponent_;
};

class Cases {
public:
    explicit Cases(unsigned seed) : random_(seed) {}

    double uniform(double a, double b) { return std::uniform_real_distribution<>(a, b)(random_); }
    bool chance(double p) { return uniform(0.0, 1.0) < p; }
    double log_uniform(double a, double b) { return std::exp(uniform(std::log(a), std::log(b))); }

    Case next() {
        const double q = chance(0.3) ? uniform(0.0, 0.999) : log_uniform(1e-9, 0.999), sigma = log_uniform(0.2, 50.0);
        const auto pair = static_cast<SampledPair>(std::uniform_int_distribution<>(0, 2)(random_));
        const int records = chance(0.5) ? 1 : std::uniform_int_distribution<>(2, 24)(random_);
        Case k{SampledLoss({q, sigma, 1.0, records}, pair), {}, 0.0, 0.0, 0.0};
        const double least = k.law.least_factor();
        const Real x = uniform(0.5, 9.0);
        double level =
            static_cast<double>(reference::at(k.law, {}, {x, 0}).v.real()) - least;
        if (chance(0.2)) level = log_uniform(0.01, 20.0);
        const double steep = uniform(12.0, 22.0), origin = chance(0.5) ? least : 0.0;
        const bool rises = chance(0.6), falls = !rises || chance(0.7);
        if (rises) k.window = k.window.with({origin + level, level / steep, 1.0});
        double outer = level * (rises ? 3.0 : 1.0);
        for (int i = 0; falls && (i == 0 || chance(0.4)) && i < 4; ++i, outer *= 3.0)
            k.window = k.window.with({origin + outer, outer / (steep + 2.0), -1.0});
        const double width = level / steep;
        const double most = k.law.group ? std::min(k.law.group->largest_angle(), kLargestAngle) : kLargestAngle;
        k.angle = chance(0.3) ? 0.0 : uniform(0.0, most);
        k.tilt = chance(0.2) ? 0.0 : log_uniform(0.01, 20.0) / width * (chance(0.3) ? -1.0 : 1.0);
        k.y = chance(0.2) ? 0.0 : log_uniform(0.01, 12.0) / width * (chance(0.5) ? -1.0 : 1.0);
        return k;
    }

private:
    std::mt19937 random_;
};

void show(const Case& k) {
    std::fprintf(stderr, "    q %.17g sigma %.17g records %d pair %d angle %.17g tilt %.17g y %.17g\n", k.law.q,
                 1.0 / k.law.c, k.law.records(), static_cast<int>(k.law.pair), k.angle, k.tilt, k.y);
    for (const LossStep& s : k.window) std::fprintf(stderr, "    step %.17g %.17g %g\n", s.level, s.width, s.sign);
}

struct Seen {
    int finite = 0, moderate = 0;
    double loosest = 0.0, nearest = 1e9;
};

void holds(const Case& k, Cases& random, Seen& seen) {
    const LineIntegral integral(k.law, k.window);
    const double bound = integral.log_bound(k.angle, k.tilt, k.y);
    if (!(bound < kInfinity)) return;
    ++seen.finite;
    const Line line(k);
    const int failures = check::failures;
    const double truth = line.log_sum(-kInfinity, kInfinity);
    CHECK_THAT(truth, <=, bound + 2e-7 * (1.0 + std::fabs(truth)));
    // A part of the line, and nodes as far apart as the rule may put them.
    const double first = random.uniform(-6.0, 4.0),
                 last = first + (random.chance(0.5) ? random.uniform(0.0, 6.0) : 0.1);
    const std::size_t stride =
        random.chance(0.5) ? 1 : 1 + static_cast<std::size_t>(random.uniform(0.0, 0.3) / line.spacing(1));
    const auto offset = static_cast<std::size_t>(random.uniform(0.0, static_cast<double>(stride)));
    for (const LineRange& range :
         {LineRange{-kInfinity, first, line.spacing(stride)}, LineRange{first, last, line.spacing(stride)},
          LineRange{last, kInfinity, line.spacing(stride)}})
        CHECK_THAT(line.log_sum(range.first, range.last, stride, offset), <=,
                   integral.log_bound(k.angle, k.tilt, k.y, range) + 1e-6 * (1.0 + std::fabs(truth)));
    // The left tail of a loss without a least one is taken for nothing where the tilt is negative.
    const bool is_moderate = std::fabs(k.tilt) * k.window.begin()->width < 2.0 && !(k.law.two_sided() && k.tilt < 0.0);
    if (k.angle == 0.0 && is_moderate && truth > -200.0) {
        ++seen.moderate;
        seen.loosest = std::max(seen.loosest, bound - truth);
        CHECK_THAT(bound, <=, truth + 8.0);
    }
    if (k.angle > 0.0 && bound > truth) seen.nearest = std::min(seen.nearest, bound - truth);
    if (check::failures > failures) show(k);
}

}  // namespace

int main(int argc, char** argv) {
    Cases random(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1);
    const int cases = argc > 2 ? std::atoi(argv[2]) : check::cases(40);
    Seen seen;
    for (int i = 0; i < cases; ++i) holds(random.next(), random, seen);
    std::fprintf(stderr, "%d of %d bounds are finite; %d at moderate tilts, within %.2f nats\n", seen.finite, cases,
                 seen.moderate, seen.loosest);
    CHECK(seen.finite > cases / 2 && seen.moderate > cases / 20);
    return check::finish();
}
