// The best order: over a list it is what trying every order gives, over the continuum no list does better.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <span>
#include <vector>

#include "check.hpp"
#include "measure.hpp"
#include "random.hpp"
#include "renyi/curve/rdp_guarantee.hpp"
#include "renyi/loss/sampled_gaussian.hpp"

using namespace renyi;
using check::power;
using check::uniform;
using check::Worst;

namespace {

constexpr Conversion kAll[] = {Conversion::mironov, Conversion::balle, Conversion::asoodeh, Conversion::optimal};
constexpr double kLargestOrder = 1e6;

struct Steps : std::vector<SampledStep> {
    using vector::vector;
    operator Composition() const { return {*this, {}}; }
};
using Orders = std::vector<double>;

// From everyday training to small and large noise; now and then several kinds of step.
Steps random_steps() {
    Steps steps(check::generator() % 3 == 0 ? 1 + check::generator() % 4 : 1);
    const bool everyday = check::generator() % 2;
    for (SampledStep& s : steps) {
        s.q = check::generator() % 8 == 0 ? 1.0 : power(everyday ? -4.0 : -9.0, everyday ? -1.0 : 0.0);
        s.sigma = power(everyday ? -0.2 : -1.0, everyday ? 0.7 : 2.5);
        s.count = std::round(power(0.0, 4.0));
    }
    return steps;
}

Orders integers() {
    Orders orders;
    for (int a = 2; a <= 64; ++a) orders.push_back(a);
    for (const double a : {128.0, 256.0, 512.0, 1024.0}) orders.push_back(a);
    return orders;
}

Orders fractions() {
    Orders orders;
    for (int i = 1; i < 100; ++i) orders.push_back(1.0 + i / 10.0);
    for (int a = 11; a < 64; ++a) orders.push_back(a);
    return orders;
}

Orders geometric() {
    Orders orders;
    for (double t = 1.3e-7; t < 0.999e6; t *= 1.9) orders.push_back(1.0 + t);
    return orders;
}

Orders random_orders() {
    Orders orders(1 + check::generator() % 12);
    for (double& a : orders) a = std::min(1.0 + power(-4.0, 5.0), kLargestOrder);
    std::sort(orders.begin(), orders.end());
    return orders;
}

// Every order tried.

double epsilon_by_trial(const Steps& steps, double delta, Conversion c, std::span<const double> orders) {
    const double log_delta = std::log(delta);
    double best = HUGE_VAL;
    for (const double a : orders)
        best = std::min(best, epsilon_from_rdp(c, a, upper(log_moment(steps, a)), log_delta, Rounding::up));
    if (c != Conversion::mironov && log_delta_at_zero(upper(rdp(steps, orders.front()))) <= log_delta) best = 0.0;
    return std::max(best, 0.0);
}

double delta_by_trial(const Steps& steps, double epsilon, Conversion c, std::span<const double> orders) {
    double best = 0.0;  // log delta = 0
    for (const double a : orders)
        best = std::min(best, log_delta_from_rdp(c, a, upper(log_moment(steps, a)), epsilon, Rounding::up));
    if (c != Conversion::mironov) best = std::min(best, log_delta_at_zero(upper(rdp(steps, orders.front()))));
    return std::exp(best);
}

bool close(double a, double b, double tolerance) {
    return a == b || std::fabs(a - b) <= tolerance * std::max(std::fabs(a), std::fabs(b));
}

struct Ask {
    Steps steps;
    double delta;
};

// Compositions whose optimum lies where K turns from a parabola to an exponential: the derivative has a kink.
const Ask kCliffs[] = {
    {{{0x1.14476c56e9a69p-10, 0x1.d9299ae86acc5p+1, 2905.0}}, 0x1.1763c439f4761p-14},
    {{{0x1.60c1efcc83b81p-30, 0x1.32aa7ee9d827cp+7, 116.0}}, 0x1.2291a99814d04p-40},
    {{{0x1.bd90c0e198f4ap-13, 0x1.b2e6a3d875b55p+1, 4154.0}}, 1e-5},
    {{{0x1.5a8bc18734587p-24, 0x1.9e729bb534265p+2, 6263.0},
      {0x1.92ac9dae3e5afp-18, 0x1.17cd8f5e15f84p-2, 544.0},
      {0x1.536ce31234724p-8, 0x1.44ba1394c9933p+7, 2.0}},
     1e-6},
    {{{0.001, 4.0, 10000.0}}, 1e-7},
    {{{1e-5, 2.0, 10.0}}, 1e-9},
};

void lists_and_continuum() {
    const std::vector<Orders> fixed{integers(), fractions(), geometric()};
    Worst epsilon_worse{"continuum above a list, epsilon", 1e-11, 1.0},
        delta_worse{"continuum above a list, delta", 1e-8, 1.0};
    int gains = 0;
    const auto one = [&](const Steps& steps, double delta, Conversion c) {
        const RdpGuarantee free = rdp_epsilon(steps, delta, c, {});
        CHECK(free.value >= free.floor && free.floor >= 0.0 && free.order >= 1.0 && free.order <= kLargestOrder);
        const double epsilon = std::isfinite(free.value) ? std::min(free.value, 50.0) * uniform(0.5, 1.5) : 1.0;
        const RdpGuarantee free_delta = rdp_delta(steps, epsilon, c, {});
        CHECK(free_delta.value >= free_delta.floor && free_delta.floor >= 0.0 && free_delta.value <= 1.0);
        for (std::size_t j = 0; j < fixed.size() + 2; ++j) {
            const Orders orders = j < fixed.size() ? fixed[j] : random_orders();
            const RdpGuarantee g = rdp_epsilon(steps, delta, c, orders);
            CHECK(std::find(orders.begin(), orders.end(), g.order) != orders.end() || g.value == 0.0);
            CHECK(close(g.value, epsilon_by_trial(steps, delta, c, orders), 1e-13));
            epsilon_worse.note_error(g.value > 0.0 ? (free.value - g.value) / g.value : free.value, steps[0].q);
            gains += free.value < g.value * (1.0 - 1e-6);

            const RdpGuarantee d = rdp_delta(steps, epsilon, c, orders);
            const double trial = delta_by_trial(steps, epsilon, c, orders);
            // the rounding of log delta grows with its parts
            CHECK(close(d.value, trial, 1e-12 * (2.0 + std::fabs(std::log(trial)))) || d.value < 1e-300);
            if (d.value > 1e-290) delta_worse.note_error((free_delta.value - d.value) / d.value, steps[0].q);
        }
    };
    for (int i = 0; i < check::cases(240); ++i) one(random_steps(), power(-12.0, -2.0), kAll[i % 4]);
    for (const Ask& ask : kCliffs) {
        for (const Conversion c : kAll) one(ask.steps, ask.delta, c);
    }
    REPORT(epsilon_worse);
    REPORT(delta_worse);
    CHECK(gains > check::cases(200));  // lists do cost something
}

}  // namespace

int main() {
    check::generator.seed(11);
    lists_and_continuum();
    return check::finish();
}
