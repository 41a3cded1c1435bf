// Compositions against exact sums over all outcomes, in long double; edges. Closed forms are compared in Python.
#include "renyi/transform/lattice/loss_composition.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "outcomes.hpp"
#include "radix_two.hpp"
#include "renyi/pair/noise/noises.hpp"
#include "renyi/pair/operations/operations.hpp"

using namespace renyi;
using namespace renyi::lattice;

namespace {

constexpr std::int64_t kPoints = 1 << 16;

RadixTwo fourier;

// P and Q on a few outcomes.
struct Table {
    std::vector<Outcome> outcomes;

    PairPointer pair() const { return pair_of(outcomes); }
};

// delta by the masses of all outcomes of all uses.
long double exact_delta(const std::vector<std::pair<Table, int>>& parts, long double epsilon) {
    std::vector<Outcome> all{{1.0L, 1.0L}};
    for (const auto& [table, count] : parts) {
        for (int use = 0; use < count; ++use) {
            std::vector<Outcome> next;
            for (const Outcome& a : all) {
                for (const Outcome& b : table.outcomes) next.push_back({a.p * b.p, a.q * b.q});
            }
            all = std::move(next);
        }
    }
    long double delta = 0.0L;
    for (const Outcome& o : all) delta += std::max(o.p - std::exp(epsilon) * o.q, 0.0L);
    return delta;
}

void contains(Bracket found, long double truth, double room, double width) {
    CHECK_THAT(found.lower, <=, static_cast<double>(truth * (1.0L + room)));
    CHECK_THAT(found.upper, >=, static_cast<double>(truth * (1.0L - room)));
    CHECK_THAT(found.upper - found.lower, <=, width * std::fabs(found.upper));
}

std::vector<CountedPair> parts_of(const std::vector<std::pair<Table, int>>& tables) {
    std::vector<CountedPair> parts;
    for (const auto& [table, count] : tables) parts.push_back({table.pair(), count});
    return parts;
}

// Losses without a common step, several parts, masses where P or Q vanishes.
void tables() {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (int turn = 0; turn < check::cases(40); ++turn) {
        std::vector<std::pair<Table, int>> tables;
        for (int part = 0; part < 1 + turn % 3; ++part) {
            Table table;
            const int size = 2 + static_cast<int>(3.0 * uniform(random));
            long double p = 0.0L, q = 0.0L;
            for (int i = 0; i < size; ++i) {
                table.outcomes.push_back({uniform(random), uniform(random)});
                if (i == 0 && turn % 4 == 1) table.outcomes[0].q = 0.0L;
                if (i == 1 && turn % 4 == 2) table.outcomes[1].p = 0.0L;
                p += table.outcomes.back().p;
                q += table.outcomes.back().q;
            }
            for (Outcome& o : table.outcomes) o.p /= p, o.q /= q;
            tables.emplace_back(table, 1 + static_cast<int>(3.0 * uniform(random)));
        }
        LossComposition composition(parts_of(tables), 1e-3, kPoints);
        for (const double epsilon : {-1.0, 0.0, 0.4, 1.5, 4.0}) {
            contains(composition.delta(epsilon, fourier), exact_delta(tables, epsilon), 1e-13, 1.0);
        }
        const Bracket found = composition.epsilon(1e-2, fourier);
        if (std::isfinite(found.lower)) CHECK(exact_delta(tables, found.lower) >= 1e-2L * (1.0L - 1e-12L));
        if (std::isfinite(found.upper)) CHECK(exact_delta(tables, found.upper) <= 1e-2L * (1.0L + 1e-12L));
    }
}

void edges() {
    LossComposition nothing({}, 1e-5, kPoints);
    CHECK_THAT(nothing.delta(0.0, fourier).upper, ==, 0.0);
    CHECK_THAT(nothing.delta(-1.0, fourier).lower, <=, -std::expm1(-1.0));
    CHECK_THAT(nothing.epsilon(0.25, fourier).upper, >=, std::log1p(-0.25));
    const PairPointer laplace = laplace_noise(2.0);
    LossComposition none({{laplace, 0}}, 1e-5, kPoints);
    CHECK_THAT(none.delta(1.0, fourier).upper, ==, 0.0);

    LossComposition ten({{laplace, 4}, {laplace, 6}}, 1e-5, kPoints);
    CHECK_THAT(ten.delta(-kInfinity, fourier).lower, ==, 1.0);
    CHECK_THAT(ten.delta(kInfinity, fourier).upper, ==, 0.0);
    CHECK_THAT(ten.delta(-1e300, fourier).lower, >=, 1.0 - 1e-15);
    CHECK_THAT(ten.delta(4.9999999, fourier).upper, >, 0.0);
    CHECK_THAT(ten.epsilon(1.0, fourier).upper, ==, -kInfinity);
    const Bracket last = ten.epsilon(1e-300, fourier);
    CHECK_THAT(last.lower, <=, 5.0);
    CHECK_THAT(last.upper, >=, 5.0 * (1.0 - 1e-15));
    CHECK_THAT(last.upper - last.lower, <=, 1e-6);

    const Table shown{{{0.5L, 0.0L}, {0.5L, 1.0L}}}, hidden{{{1.0L, 0.5L}, {0.0L, 0.5L}}},
        all{{{1.0L, 0.0L}, {0.0L, 1.0L}}};
    LossComposition twice(parts_of({{shown, 2}}), 1e-5, kPoints);
    contains(twice.delta(0.0, fourier), 0.75L, 1e-14, 1e-13);
    contains(twice.delta(kInfinity, fourier), 0.75L, 1e-14, 1e-13);
    CHECK_THAT(twice.epsilon(0.5, fourier).lower, ==, kInfinity);
    LossComposition gone(parts_of({{hidden, 3}}), 1e-5, kPoints);
    contains(gone.delta(0.0, fourier), 1.0L - 0.125L, 1e-14, 1e-9);
    LossComposition sure(parts_of({{all, 3}}), 1e-5, kPoints);
    CHECK_THAT(sure.delta(5.0, fourier).upper, ==, 1.0);
    CHECK_THAT(sure.delta(5.0, fourier).lower, >=, 1.0 - 1e-14);

    // Losses far apart, and next to none.
    const Table wide{{{1.0L - 0x1p-900L, 0x1p-1000L}, {0x1p-900L, 1.0L - 0x1p-1000L}}};
    contains(LossComposition(parts_of({{wide, 3}}), 1e-5, kPoints).delta(100.0, fourier), 1.0L, 1e-14, 1e-9);
    const Table narrow{{{0.5L + 0x1p-40L, 0.5L - 0x1p-40L}, {0.5L - 0x1p-40L, 0.5L + 0x1p-40L}}};
    contains(LossComposition(parts_of({{narrow, 7}}), 1e-5, kPoints).delta(0.0, fourier),
             exact_delta({{narrow, 7}}, 0.0L), 1e-13, 1.0);
}

}  // namespace

int main() {
    tables();
    edges();
    return check::finish();
}
