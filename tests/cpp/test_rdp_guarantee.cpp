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
    for (int i = 0; i < 240; ++i) one(random_steps(), power(-12.0, -2.0), kAll[i % 4]);
    for (const Ask& ask : kCliffs) {
        for (const Conversion c : kAll) one(ask.steps, ask.delta, c);
    }
    REPORT(epsilon_worse);
    REPORT(delta_worse);
    CHECK(gains > 200);  // lists do cost something
}

void consistency() {
    for (int i = 0; i < 160; ++i) {
        Steps steps = random_steps();
        const double delta = power(-12.0, -2.0);
        const Conversion c = kAll[i % 4];
        const RdpGuarantee g = rdp_epsilon(steps, delta, c, {});
        if (!std::isfinite(g.value)) continue;

        // The value is that of the order named, from both sides.
        if (g.value > 0.0) {
            const Certified k = log_moment(steps, g.order);
            CHECK(close(g.value, epsilon_from_rdp(c, g.order, upper(k), std::log(delta), Rounding::up), 1e-14));
            CHECK_THAT(g.value - g.floor, <=, 1e-9 * g.value);
        }
        // The way back.
        if (g.value > 0.0) {
            const RdpGuarantee back = rdp_delta(steps, g.value, c, {});
            CHECK_THAT(back.floor, <=, delta * (1.0 + 1e-9));
            CHECK_THAT(back.value, <=, delta * (1.0 + 1e-6));
        }
        // The order of the steps is irrelevant, and so is a step split in two.
        Steps other(steps.rbegin(), steps.rend());
        CHECK(close(rdp_epsilon(other, delta, c, {}).value, g.value, 1e-14 + 1e-13 * (c == Conversion::optimal)));
        if (other.front().count > 1.0) {
            other.push_back({other.front().q, other.front().sigma, other.front().count - 1.0});
            other.front().count = 1.0;
            CHECK(close(rdp_epsilon(other, delta, c, {}).value, g.value, 1e-12));
        }
        // More steps, less noise, smaller delta: never less epsilon.
        Steps more = steps;
        more.front().count += 1.0;
        CHECK_THAT(rdp_epsilon(more, delta, c, {}).value, >=, g.floor);
        Steps quieter = steps;
        quieter.front().sigma *= 0.99;
        CHECK_THAT(rdp_epsilon(quieter, delta, c, {}).value, >=, g.floor);
        CHECK_THAT(rdp_epsilon(steps, 0.5 * delta, c, {}).value, >=, g.floor);
    }
}

void heterogeneous_steps_add() {
    const Steps steps{{0.01, 1.1, 500.0}, {0.002, 0.7, 3000.0}, {1.0, 30.0, 10.0}, {0.3, 8.0, 40.0}};
    for (const double alpha : {1.5, 2.0, 17.0, 300.25}) {
        long double sum = 0.0L;
        for (const SampledStep& s : steps) sum += static_cast<long double>(s.count) * log_a(s.q, s.sigma, alpha).value;
        const Certified k = log_moment(steps, alpha);
        CHECK(std::fabs(k.value - sum) <= k.relative_error * sum);
        const LogMoment d = log_moment_derivatives(steps, alpha);
        CHECK(close(d.value.value, k.value, 1e-13));
        const double h = 1e-3;
        const double slope = (log_moment(steps, alpha + h).value - log_moment(steps, alpha - h).value) / (2.0 * h);
        CHECK_THAT(std::fabs(d.first - slope), <=, 1e-4 * slope);
        CHECK(close(rdp(steps, alpha).value, k.value / (alpha - 1.0), 1e-13));
    }
    // One count of n is n counts of one.
    const Steps many(7, SampledStep{0.01, 1.1, 1.0}), one{{0.01, 1.1, 7.0}};
    CHECK(close(log_moment(many, 8.5).value, log_moment(one, 8.5).value, 1e-15));
}

// The plain Gaussian mechanism by mironov: min over alpha of alpha n/(2 sigma^2) + log(1/delta)/(alpha-1) in closed
// form.
void gaussian_by_mironov() {
    for (int i = 0; i < 200; ++i) {
        const double sigma = power(-0.5, 2.0), count = std::round(power(0.0, 3.0)), delta = power(-12.0, -1.0);
        const double rho = count / (2.0 * sigma * sigma), epsilon = rho + 2.0 * std::sqrt(rho * -std::log(delta));
        const Steps steps{{1.0, sigma, count}};
        const RdpGuarantee g = rdp_epsilon(steps, delta, Conversion::mironov, {});
        CHECK(close(g.value, epsilon, 1e-13));
        CHECK(close(g.order - 1.0, std::sqrt(-std::log(delta) / rho), 1e-5));
        const double back = std::exp(-(epsilon - rho) * (epsilon - rho) / (4.0 * rho));
        CHECK(close(rdp_delta(steps, epsilon, Conversion::mironov, {}).value, back, 1e-11));
    }
}

void edges() {
    const Steps nothing{{0.0, 1.0, 100.0}}, infinite{{0.5, HUGE_VAL, 10.0}}, few{{0.01, 1.0, 10.0}},
        huge{{1.0, 1e-3, 1e6}};
    for (const Steps& steps : {nothing, infinite}) {
        for (const Conversion c : {Conversion::balle, Conversion::asoodeh, Conversion::optimal}) {
            CHECK(rdp_epsilon(steps, 1e-5, c, {}).value == 0.0);
            CHECK(rdp_delta(steps, 1.0, c, {}).value <= 1e-300);
        }
    }
    for (const Conversion c : kAll) {
        CHECK(rdp_epsilon(few, 1e-300, c, {}).value > 1.0);
        CHECK(rdp_epsilon(few, 0.999999, c, {}).value < 1.0);
        CHECK(std::isfinite(rdp_epsilon(huge, 1e-5, c, {}).value));
        CHECK(rdp_delta(few, 0.0, c, {}).value <= 1.0 && rdp_delta(few, 0.0, c, {}).value > 0.0);
        CHECK(rdp_delta(few, 1e4, c, {}).value < 1e-100);
        CHECK(rdp_delta(huge, 1.0, c, {}).value == 1.0);
        const Orders one{8.5};
        CHECK(rdp_epsilon(few, 1e-5, c, one).order == 8.5 || rdp_epsilon(few, 1e-5, c, one).value == 0.0);
    }
    // Bretagnolle-Huber: at delta^2 >= 1 - e^-KL nothing is left.
    const double kl = rdp(few, 1.0).value, delta = std::sqrt(-std::expm1(-kl));
    CHECK(rdp_epsilon(few, delta * (1.0 + 1e-12), Conversion::balle, {}).value == 0.0);
    CHECK(rdp_delta(few, 0.0, Conversion::balle, {}).value <= delta * (1.0 + 1e-12));
    // A published composition: 1000 steps at rate 0.01 and noise 1 lie above the exact curve, 2.1245 at delta = 1e-6.
    const double epsilon = rdp_epsilon(Steps{{0.01, 1.0, 1000.0}}, 1e-6, Conversion::optimal, {}).value;
    CHECK(epsilon > 2.1246 && epsilon < 2.8);
}

}  // namespace

int main() {
    check::generator.seed(11);
    lists_and_continuum();
    consistency();
    heterogeneous_steps_add();
    gaussian_by_mironov();
    edges();
    return check::finish();
}
