// From one order to (epsilon, delta): enclosure of references with 35 digits over the whole range, and lower bounds.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include "check.hpp"
#include "measure.hpp"
#include "random.hpp"
#include "renyi/curve/rdp_conversion.hpp"
#include "renyi/fp/certified.hpp"
#include "tables.hpp"

using namespace renyi;
using check::power;
using check::uniform;

namespace {

constexpr Conversion kAll[] = {Conversion::mironov, Conversion::balle, Conversion::asoodeh, Conversion::optimal};
constexpr double kSmallestBeta = 0x1p-23;     // 1.2e-7
constexpr double kLogSmallestDelta = -680.0;  // e^-708 is where the smallest normal doubles are

// What the enclosures may cost, relative to the sizes of the parts: log delta is found through a point whose parts are
// 1/(alpha-1) times as large.
constexpr double kEpsilonGap = 1e-11, kDeltaGap = 1e-7;

struct Point {
    double alpha, k, log_delta;
};

Point random_point() {
    return {std::min(1.0 + power(-7.0, 6.0), 1e6), power(-12.0, 5.0), -power(-0.5, 2.8388)};
}  // down to -690

bool encloses(double down, double up, double hi, double lo) { return down - hi <= lo && up - hi >= lo; }

struct Truth {
    double hi, lo;
};

// Of a row of either table, in the order of kAll.
template <class Row>
std::array<Truth, 4> truths_of(const Row& row) {
    return {{{row.mironov_hi, row.mironov_lo},
             {row.balle_hi, row.balle_lo},
             {row.asoodeh_hi, row.asoodeh_lo},
             {row.optimal_hi, row.optimal_lo}}};
}

// at: alpha, K, and log delta or epsilon, whichever is given.
void expect_enclosed(double down, double up, Truth truth, std::size_t conversion, const std::array<double, 3>& at) {
    const bool enclosed = encloses(down, up, truth.hi, truth.lo);
    CHECK(enclosed);
    if (!enclosed)
        std::fprintf(stderr, "    conversion %zu at alpha %a, K %a, given %a: [%.17g, %.17g], %.17g\n", conversion,
                     at[0], at[1], at[2], down, up, truth.hi);
}

// down <= truth <= up for every row and every conversion; the gap is what certainty costs.
void references() {
    check::Worst gap{"gap of epsilon", kEpsilonGap, 1.0}, delta_gap{"gap of log delta", kDeltaGap, 1.0};
    for (const auto& row : table::rows<table::GivenDelta>()) {
        const auto truths = truths_of(row);
        for (std::size_t i = 0; i < 4; ++i) {
            const double down = epsilon_from_rdp(kAll[i], row.alpha, row.k, row.log_delta, Rounding::down);
            const double up = epsilon_from_rdp(kAll[i], row.alpha, row.k, row.log_delta, Rounding::up);
            expect_enclosed(down, up, truths[i], i, {row.alpha, row.k, row.log_delta});
            const double size = std::fabs(truths[i].hi) + (row.k - row.log_delta) / (row.alpha - 1.0);
            gap.note_error((up - down) / size, row.alpha);
        }
    }
    for (const auto& row : table::rows<table::GivenEpsilon>()) {
        const auto truths = truths_of(row);
        for (std::size_t i = 0; i < 4; ++i) {
            const double down = log_delta_from_rdp(kAll[i], row.alpha, row.k, row.epsilon, Rounding::down);
            const double up = log_delta_from_rdp(kAll[i], row.alpha, row.k, row.epsilon, Rounding::up);
            expect_enclosed(down, up, truths[i], i, {row.alpha, row.k, row.epsilon});
            if (up < kLogSmallestDelta) continue;
            delta_gap.note_error(
                (up - down) / (1.0 + std::fabs(truths[i].hi) + row.k + (row.alpha - 1.0) * row.epsilon), row.alpha);
        }
    }
    REPORT(gap);
    REPORT(delta_gap);
}

void lower_bounds() {
    for (int i = 0; i < check::cases(20000); ++i) {
        const Point p = random_point();
        const double epsilon = epsilon_from_rdp(Conversion::optimal, p.alpha, p.k, p.log_delta, Rounding::up);
        CHECK_THAT(epsilon_floor(p.alpha, p.k, p.log_delta), <=, epsilon);
        const double at = std::max(epsilon, 0.0) * uniform(0.3, 1.5);
        CHECK_THAT(log_delta_floor(p.alpha, p.k, at), <=,
                   log_delta_from_rdp(Conversion::optimal, p.alpha, p.k, at, Rounding::up));
        // log delta at epsilon = 0, Bretagnolle-Huber
        const double rho = p.k / (p.alpha - 1.0);
        const long double truth = 0.5L * std::log(-std::expm1(-static_cast<long double>(rho)));
        CHECK(log_delta_at_zero(rho) >= truth && log_delta_at_zero(rho) <= truth + 4e-14L);
    }
    CHECK(log_delta_at_zero(0.0) == -kInfinity && log_delta_at_zero(kInfinity) >= 0.0);
}

void extremes() {
    for (const double beta : {kSmallestBeta, 1e-3, 1.0, 1e3, 999999.0}) {
        for (const double k : {1e-12, 1e-3, 1.0, 36.0, 700.0, 1e5, 1e9}) {
            for (const double log_delta : {-690.0, -40.0, -1.0, -1e-3, -0x1p-52}) {
                for (const Conversion c : kAll) {
                    const double down = epsilon_from_rdp(c, 1.0 + beta, k, log_delta, Rounding::down),
                                 up = epsilon_from_rdp(c, 1.0 + beta, k, log_delta, Rounding::up);
                    CHECK(down <= up && std::isfinite(up));
                    for (const double epsilon : {0.0, 1e-9, 1.0, 700.0, std::max(up, 0.0)}) {
                        const double low = log_delta_from_rdp(c, 1.0 + beta, k, epsilon, Rounding::down),
                                     high = log_delta_from_rdp(c, 1.0 + beta, k, epsilon, Rounding::up);
                        CHECK(low <= high && !std::isnan(high));
                    }
                }
            }
        }
    }
    // Equal distributions: nothing is lost.
    for (const Conversion c : {Conversion::balle, Conversion::asoodeh, Conversion::optimal}) {
        CHECK(epsilon_from_rdp(c, 3.0, 0.0, -10.0, Rounding::up) <= 0.0);
        CHECK(log_delta_from_rdp(c, 3.0, 0.0, 0.5, Rounding::up) == -kInfinity);
    }
}

}  // namespace

int main() {
    check::generator.seed(10);
    references();
    lower_bounds();
    extremes();
    return check::finish();
}
