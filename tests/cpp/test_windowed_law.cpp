// The part of a law that a window lets through against a much finer rule in long double: moments, the transform at
// ordinates up to the one the nodes were made for, each within the error claimed for it; the bounds of the decay.
#include "renyi/transform/windowed_law.hpp"

#include <cstdlib>
#include <random>
#include <vector>

#include "check.hpp"
#include "complex_window.hpp"
#include "renyi/transform/windowed_transform.hpp"

using namespace renyi;
using reference::Complex;
using reference::Real;

namespace {

struct Case {
    SampledLoss law;
    LossWindow window;
    double tilt, y, target;
    bool jump;
};

struct Node {
    Real weight, loss;
};

// The real law with its window at many points; transforms with any tilt.
class Fine {
public:
    explicit Fine(const Case& k) {
        const Real h = 0.01L / std::max(1.0, k.law.c) / 4, end = 24 + (1 + k.law.records()) * k.law.c;
        for (long i = static_cast<long>(-14 / h); i * h < end; ++i) {
            const reference::Point p = reference::at(k.law, k.window, {i * h, 0});
            const Real exponent = p.log_density.real() + p.log_window.real() + std::log(h);
            if (exponent > -2000) nodes_.push_back({exponent, static_cast<Real>(k.law.sign()) * p.v.real()});
        }
    }

    // log E[W e^{t L}], and the nodes' weights under the tilted law.
    Real log_moment(Real t, std::vector<Node>& tilted) const {
        Real top = -1e4000L, sum = 0;
        for (const Node& n : nodes_) top = std::max(top, n.weight + t * n.loss);
        tilted.clear();
        for (const Node& n : nodes_) {
            const Real w = std::exp(n.weight + t * n.loss - top);
            if (w < 1e-25L) continue;
            tilted.push_back({w, n.loss});
            sum += w;
        }
        for (Node& n : tilted) n.weight /= sum;
        return top + std::log(sum);
    }

private:
    std::vector<Node> nodes_;
};

Real mean_of(const std::vector<Node>& tilted) {
    Real mean = 0;
    for (const Node& n : tilted) mean += n.weight * n.loss;
    return mean;
}

Complex transform(const std::vector<Node>& tilted, Real y, Real centre) {
    Complex sum = 0;
    for (const Node& n : tilted) sum += n.weight * std::polar(Real(1), y * (n.loss - centre));
    return sum;
}

// E[e^{i y d}] - 1 - i y E[d] without cancellation.
Complex excess(const std::vector<Node>& tilted, Real y, Real centre) {
    Complex sum = 0;
    for (const Node& n : tilted) {
        const Real t = y * (n.loss - centre), half = std::sin(t / 2);
        const Real odd =
            std::fabs(t) < 0.01L ? t * t * t * (-1 / 6.0L + t * t * (1 / 120.0L - t * t / 5040)) : std::sin(t) - t;
        sum += n.weight * Complex{-2 * half * half, odd};
    }
    return sum;
}

void show(const Case& k) {
    std::fprintf(stderr, "    q %.17g sigma %.17g records %d pair %d tilt %.17g y %.17g target %g\n", k.law.q, 1.0 / k.law.c,
                 k.law.records(), static_cast<int>(k.law.pair), k.tilt, k.y, k.target);
    for (const LossStep& s : k.window) std::fprintf(stderr, "    step %.17g %.17g %g\n", s.level, s.width, s.sign);
}

// What the window leaves out, from its complement.
LeftOut left_out_of(const std::vector<Node>& all, const std::vector<Real>& outside) {
    Real mass = 0, fall = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        mass += all[i].weight * outside[i];
        fall -= all[i].weight * outside[i] * std::expm1(-all[i].loss);
    }
    return {static_cast<double>(mass), static_cast<double>(fall),
            0x1p-51 * static_cast<double>(mass + std::fabs(fall))};
}

struct Seen {
    int cases = 0, decays = 0, left_out = 0;
};

void check_moments(const WindowedLaw& law, const Case& k, const Fine& fine, double farthest) {
    std::vector<Node> tilted;
    for (const double t : {0.0, 0.4 * k.tilt, k.tilt, farthest}) {
        if (t < k.tilt && k.window.rises()) continue;  // the error is small against the moment at the tilt only
        const WindowedMoment m = law.moment(t, nullptr);
        const auto truth = fine.log_moment(t, tilted);
        const double node = std::exp(law.log_node_error(t, m.value));
        CHECK_THAT(std::fabs(static_cast<double>(m.value - truth)), <=, m.error + 1.01 * node + 1e-17);
        if (t == k.tilt) {
            CHECK_THAT(node, <=, 10.0 * std::exp(-k.target));
            const Real mean = mean_of(tilted);
            Real spread = 0;
            for (const Node& n : tilted) spread += n.weight * std::fabs(n.loss - mean);
            CHECK_THAT(std::fabs(static_cast<double>(m.mean - mean)), <=,
                       m.mean_error + 1e3 * node * static_cast<double>(std::fabs(mean) + spread));
        }
    }
}

void check_transform(const WindowedLaw& law, const Case& k, const Fine& fine) {
    std::vector<Node> tilted;
    fine.log_moment(k.tilt, tilted);
    const double step = k.y / (3.0 * kLanes), quadrature = 8.0 * std::exp(-k.target);
    const double mean = law.nodes().moment(k.tilt).mean;
    const WindowedTransform transform_of(law.nodes(), k.tilt, mean, step, k.y + kLanes * step);
    for (const int block : {0, 2}) {
        const double first = block * kLanes + 1.0;
        double re[kLanes], im[kLanes], whole_re[kLanes], whole_im[kLanes];
        transform_of.excess(first, re, im);
        transform_of.whole(first, whole_re, whole_im);
        for (int j = 0; j < kLanes; j += 5) {
            const double y = (first + j) * step;
            const Complex e = excess(tilted, y, mean), w = transform(tilted, y, mean);
            // The centre is the mean but for its error.
            CHECK_THAT(static_cast<double>(std::abs(e - Complex{re[j], im[j]})), <=,
                       transform_of.excess_error(y) + quadrature);
            CHECK_THAT(static_cast<double>(std::abs(w - Complex{whole_re[j], whole_im[j]})), <=,
                       transform_of.whole_error(y) + quadrature);
        }
    }
}

void check_decay(const WindowedLaw& law, const Case& k, const Fine& fine, Seen& seen) {
    std::vector<Node> tilted;
    const double log_moment = static_cast<double>(fine.log_moment(k.tilt, tilted));
    const DecayByNodes decay(law.nodes(), k.tilt, law.decay_angle(), law.left_out());
    for (const double y : {0.1 * k.y, 0.5 * k.y, k.y}) {
        const double bound = k.jump ? law.log_decay_by_cells(k.tilt, y, log_moment) : decay.log_bound(y);
        CHECK_THAT(bound, <=, 0.0);
        if (bound < -0.01) ++seen.decays;
        for (const double further : {1.0, 1.1, 1.7, 3.0}) {
            const Real modulus = std::abs(transform(tilted, further * y, 0));
            if (modulus < 1e-16L + 1e-20L * further * y) continue;  // below the rounding of the fine rule
            CHECK_THAT(static_cast<double>(std::log(modulus)), <=, bound + 1e-9);
        }
    }
}

void check_left_out(const WindowedLaw& law, const Case& k, const Fine& fine, Seen& seen) {
    std::vector<Node> all;
    const Case whole{k.law, {}, 0.0, 0.0, 0.0, false};
    Fine(whole).log_moment(0.0, all);
    std::vector<Real> outside;
    for (const Node& n : all) {
        Real open = 1, product = 0;
        for (const LossStep& s : k.window) {  // 1 - prod Phi, from the complements
            const Real u = Real(s.sign) * (Real(k.law.sign()) * n.loss - Real(s.level)) / Real(s.width);
            product += open * std::erfc(u / std::sqrt(2.0L)) / 2;
            open *= std::erfc(-u / std::sqrt(2.0L)) / 2;
        }
        outside.push_back(product);
    }
    const LeftOut left_out = left_out_of(all, outside);
    for (const double t : {0.3 * k.tilt, k.tilt}) {
        const WindowedMoment plain = law.moment(t, nullptr), m = law.moment(t, &left_out);
        std::vector<Node> tilted;
        const Real truth = fine.log_moment(t, tilted);
        const double node = std::exp(law.log_node_error(t, plain.value));
        CHECK_THAT(std::fabs(static_cast<double>(m.value - truth)), <=, m.error + 2.0 * node + 2e-17);
        CHECK_THAT(m.error, <=, plain.error);
        if (m.error < 0.1 * plain.error) ++seen.left_out;
    }
}

void holds(const Case& k, Seen& seen) {
    WindowedLaw law(k.law, k.window);
    const double farthest = 1.3 * k.tilt;
    if (!law.discretise(k.tilt, k.y, k.target, farthest, !k.jump)) return;
    ++seen.cases;
    const int failures = check::failures;
    const Fine fine(k);
    check_moments(law, k, fine, farthest);
    check_transform(law, k, fine);
    check_decay(law, k, fine, seen);
    if (!k.jump && k.law.pair == SampledPair::remove) check_left_out(law, k, fine, seen);
    if (check::failures > failures) show(k);
}

// Bases and jumps as the split sum makes them.
Case random_case(std::mt19937& random) {
    const auto uniform = [&](double a, double b) { return std::uniform_real_distribution<>(a, b)(random); };
    const double q = std::exp(uniform(std::log(1e-6), std::log(0.9))),
                 sigma = std::exp(uniform(std::log(0.08), std::log(20.0)));
    const auto pair = static_cast<SampledPair>(std::uniform_int_distribution<>(0, 2)(random));
    const int records = uniform(0.0, 1.0) < 0.5 ? 1 : std::uniform_int_distribution<>(2, 16)(random);
    const SampledLoss law({q, sigma, 1.0, records}, pair);
    Case k{law, {}, 0.0, 0.0, uniform(36.0, 46.0), uniform(0.0, 1.0) < 0.5};
    const double least = law.least_factor();
    const Real x = uniform(1.0, 6.0);
    const double level = static_cast<double>(reference::at(k.law, {}, {x, 0}).v.real()) - least;
    if (!(level > -1e-9 * least)) return random_case(random);  // doubles hardly tell the loss from the least one
    const double width = level / uniform(12.0, 18.0), origin = pair == SampledPair::replace_one ? 0.0 : least;
    if (k.jump) {
        k.window = k.window.with({origin + 3.0 * level, 3.0 * level / 18.0, -1.0}).with({origin + level, width, 1.0});
        k.tilt = uniform(0.0, 2.0) / width;
        k.y = uniform(0.1, 8.0) / width;
    } else {
        k.window = k.window.with({origin + 3.0 * level, 3.0 * level / 18.0, -1.0}).with({origin + level, width, -1.0});
        k.tilt = uniform(0.0, 1.0) / width;
        k.y = uniform(0.01, 3.0) / width;
    }
    return k;
}

}  // namespace

int main(int argc, char** argv) {
    std::mt19937 random(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1);
    const int cases = argc > 2 ? std::atoi(argv[2]) : check::cases(24);
    Seen seen;
    for (int i = 0; i < cases; ++i) holds(random_case(random), seen);
    std::fprintf(stderr,
                 "%d of %d laws have nodes; %d bounds of the decay say something, %d moments by what is left out\n",
                 seen.cases, cases, seen.decays, seen.left_out);
    CHECK(seen.cases > cases / 2 && seen.decays > cases / 4 && (seen.left_out > 0 || cases < 24));
    return check::finish();
}
