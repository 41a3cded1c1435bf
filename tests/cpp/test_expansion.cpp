// The expansions of log A: the same bits one by one, in lanes, in arrays and with the baseline instruction set, and
// brackets that meet those of the two routes that know nothing of them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "baseline.hpp"
#include "check.hpp"
#include "random.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/loss/sampled_gaussian_expansion.hpp"

using namespace renyi;
using check::power;
using check::uniform;

namespace {

struct Points {
    std::vector<double> q, sigma, alpha;

    void add(double rate, double noise, double order) {
        q.push_back(rate), sigma.push_back(noise), alpha.push_back(order);
    }
    std::size_t size() const { return q.size(); }
};

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }
bool same_bits(Certified a, Certified b) {
    return same_bits(a.value, b.value) && same_bits(a.relative_error, b.relative_error);
}

// A whole order, one next to a whole one, or any.
double random_order(int i) {
    const double alpha = i % 5 == 0 ? 1.0 + power(-9.0, 0.0) : uniform(1.0, 73.0);
    if (i % 3 == 0) return std::max(std::floor(alpha), 2.0);
    return i % 7 == 0 ? std::max(std::round(alpha), 2.0) + uniform(-1.0, 1.0) * power(-15.0, -3.0) : alpha;
}

Points random_points(int count) {
    Points p;
    for (int i = 0; i < count; ++i) {
        const bool everyday = i % 2 == 0;
        p.add(everyday ? power(-4.0, -0.6) : power(-13.0, 0.0), everyday ? uniform(0.5, 5.0) : power(-2.2, 6.5),
              random_order(i));
    }
    return p;
}

Points edges() {
    Points p;
    for (const double q : {0.0, 1e-101, 1e-12, 1e-5, 0.25, std::nextafter(0.25, 1.0), 1.0, kNaN, -1.0}) {
        for (const double sigma : {0.0, 0.01, 0.3, 1.0, 4.0, 1e6, kInfinity, kNaN}) {
            for (const double alpha : {-2.5, 0.0, 1.0, std::nextafter(1.0, 2.0), 1.5, 2.0, 64.0, 71.5, 72.0,
                                       std::nextafter(72.0, 73.0), 1e6, 1e7, kInfinity, kNaN})
                p.add(q, sigma, alpha);
        }
    }
    return p;
}

void arrays(const Points& p) {
    std::vector<Certified> alone;
    for (std::size_t i = 0; i < p.size(); ++i) alone.push_back(log_a(p.q[i], p.sigma[i], p.alpha[i]));
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{16}, std::size_t{17},
                                   std::size_t{511}, std::size_t{513}, p.size()}) {
        for (const std::size_t first : {std::size_t{0}, std::size_t{3}}) {
            if (first + size > p.size()) continue;
            std::vector<Certified> together(size);
            log_a(&p.q[first], &p.sigma[first], &p.alpha[first], size, together.data());
            CHECK(std::equal(together.begin(), together.end(), alone.begin() + static_cast<std::ptrdiff_t>(first),
                             [](Certified a, Certified b) { return same_bits(a, b); }));
        }
    }
    std::vector<Certified> divergences(p.size());
    rdp_sampled_gaussian(p.q.data(), p.sigma.data(), p.alpha.data(), p.size(), divergences.data());
    for (std::size_t i = 0; i < p.size(); ++i)
        CHECK(same_bits(divergences[i], rdp_sampled_gaussian(p.q[i], p.sigma[i], p.alpha[i])));
}

void baseline_bits(const Points& p) {
    for (std::size_t i = 0; i + kLanes <= p.size(); i += kLanes) {
        Expansion routes[kLanes];
        int terms[kLanes];
        expansions_of(&p.q[i], &p.sigma[i], &p.alpha[i], routes, terms);
        for (std::size_t k = i; k < i + kLanes; ++k) {
            const Expansion route = routes[k - i];
            CHECK(route == expansion_of(p.q[k], p.sigma[k], p.alpha[k]));
            CHECK(static_cast<int>(route) == baseline::expansion_of(p.q[k], p.sigma[k], p.alpha[k]));
        }
        for (const Expansion route : {Expansion::left, Expansion::right}) {
            double q[kLanes], sigma[kLanes], alpha[kLanes];
            for (int k = 0; k < kLanes; ++k) {  // points of that route, in between others
                const std::size_t from = i + static_cast<std::size_t>(k);
                const bool fits = routes[k] == route;
                q[k] = fits ? p.q[from] : 0.01;
                sigma[k] = fits ? p.sigma[from] : 4.0;
                alpha[k] = fits ? p.alpha[from] : 3.0;
            }
            Certified lanes[kLanes];
            log_a_expanded(route, q, sigma, alpha, lanes);
            for (int k = 0; k < kLanes; ++k) {
                CHECK(same_bits(lanes[k], log_a_expanded(route, q[k], sigma[k], alpha[k])));
                double scalar[2];
                baseline::log_a_expanded(static_cast<int>(route), q[k], sigma[k], alpha[k], scalar);
                CHECK(same_bits(lanes[k], {scalar[0], scalar[1]}));
            }
        }
    }
}

bool agree(Certified a, Certified b) { return lower(a) <= upper(b) && lower(b) <= upper(a); }

void other_routes(const Points& p) {
    int left = 0, right = 0, lost = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const Expansion route = expansion_of(p.q[i], p.sigma[i], p.alpha[i]);
        if (route == Expansion::none) continue;
        const Certified c = log_a_expanded(route, p.q[i], p.sigma[i], p.alpha[i]);
        const bool whole = p.alpha[i] == std::floor(p.alpha[i]);
        if (std::isnan(c.value)) {
            ++lost;
            continue;
        }
        ++(route == Expansion::left ? left : right);
        CHECK(c.value > 0.0 && c.relative_error < 1e-12);
        CHECK(agree(c, log_a_quadrature(p.q[i], p.sigma[i], p.alpha[i])));
        if (whole) CHECK(agree(c, log_a_binomial(p.q[i], p.sigma[i], p.alpha[i])));
    }
    std::fprintf(stderr, "expanded from the left %d, from the right %d, not converged %d\n", left, right, lost);
    CHECK(left > 1000 && right > 300 && 10 * lost < left);
}

}  // namespace

int main() {
    check::generator.seed(17);
    const Points random = random_points(8000);
    arrays(random);
    arrays(edges());
    baseline_bits(random);
    other_routes(random);
    return check::finish();
}
