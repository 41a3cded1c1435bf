// From one order to (epsilon, delta): published values, enclosure of references with 35 digits over the whole range,
// the definition of the optimal value itself, and the order of the four conversions.
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

void known_values() {
    struct Known {
        double alpha, rho, delta, mironov, balle, second, optimal;
    };
    constexpr Known kKnown[] = {
        {2, .1, 1e-5, 11.6129, 10.2266, 8.5678, 7.8748}, {2, .001, 1e-5, 11.5139, 10.1276, 3.9323, 3.2586},
        {5, .5, 1e-3, 2.2269, 1.6014, 1.7884, 1.5659},   {10, 1, 1e-5, 2.2792, 1.9180, 2.0234, 1.9180},
        {20, .05, 1e-3, .41357, .20460, .23082, .18201}, {4, 2, .3, 2.4013, 1.6515, 1.9394, 1.6433},
    };
    for (const Known& k : kKnown) {
        const double values[] = {k.mironov, k.balle, std::min(k.balle, k.second), k.optimal};
        const double tolerance = k.mironov < 1.0 ? 5.1e-6 : 5.1e-5;  // four or five decimals are printed
        for (std::size_t i = 0; i < 4; ++i) {
            for (const Rounding r : {Rounding::down, Rounding::up}) {
                const double epsilon =
                    epsilon_from_rdp(kAll[i], k.alpha, (k.alpha - 1.0) * k.rho, std::log(k.delta), r);
                CHECK_THAT(std::fabs(epsilon - values[i]), <=, tolerance);
                const double log_delta = log_delta_from_rdp(kAll[i], k.alpha, (k.alpha - 1.0) * k.rho, values[i], r);
                CHECK_THAT(std::fabs(log_delta - std::log(k.delta)), <=, tolerance * k.alpha * 3.0);
            }
        }
    }
}

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

// The definition: the least p^alpha q^(1-alpha) + (1-p)^alpha (1-q)^(1-alpha) over p in (delta, 1], q = (p-delta)
// e^-eps, equals e^K at the optimal epsilon. A golden-section search over the log-odds of p in extended precision.
long double least_moment(long double alpha, long double epsilon, long double delta) {
    const auto moment = [&](long double log_odds) {
        const long double s = 1.0L / (1.0L + std::exp(-log_odds)), p = delta + (1.0L - delta) * s,
                          q = (p - delta) * std::exp(-epsilon);
        return std::exp(alpha * std::log(p) + (1.0L - alpha) * std::log(q)) +
               std::exp(alpha * std::log((1.0L - delta) / (1.0L + std::exp(log_odds))) +
                        (1.0L - alpha) * std::log1p(-q));
    };
    long double low = -60.0L, high = 40.0L;
    constexpr long double kGolden = 0.61803398874989484820L;
    for (int i = 0; i < 120; ++i) {
        const long double a = high - kGolden * (high - low), b = low + kGolden * (high - low);
        (moment(a) < moment(b) ? high : low) = moment(a) < moment(b) ? b : a;
    }
    return std::min(moment(low), moment(40.0L));
}

void the_definition() {
    for (int i = 0; i < 150; ++i) {
        const double alpha = 1.0 + power(-1.0, 1.5), k = power(-2.0, 1.5), log_delta = -uniform(0.5, 16.0);
        const double epsilon = epsilon_from_rdp(Conversion::optimal, alpha, k, log_delta, Rounding::up);
        if (!(epsilon > 1e-3)) continue;
        const long double moment =
            std::log(least_moment(alpha, epsilon, std::exp(static_cast<long double>(log_delta))));
        CHECK_THAT(std::fabs(static_cast<double>(moment / k) - 1.0), <=, 1e-9);
        const double log_delta_again = log_delta_from_rdp(Conversion::optimal, alpha, k, epsilon, Rounding::up);
        CHECK_THAT(std::fabs(log_delta_again - log_delta), <=, 1e-9 * (1.0 - log_delta));
    }
}

void order_and_directions() {
    for (int i = 0; i < 20000; ++i) {
        const Point p = random_point();
        double previous_down = kInfinity, previous_up = kInfinity;
        const double size = (p.k - p.log_delta) / (p.alpha - 1.0);
        for (const Conversion c : kAll) {  // each at most the one before
            const double down = epsilon_from_rdp(c, p.alpha, p.k, p.log_delta, Rounding::down),
                         up = epsilon_from_rdp(c, p.alpha, p.k, p.log_delta, Rounding::up);
            CHECK_THAT(down, <=, up);
            CHECK_THAT(down, <=, previous_up);
            CHECK_THAT(up, <=, previous_up + 1e-12 * size);
            if (up > 0.0) CHECK_THAT(up - down, <=, kEpsilonGap * (size + up));
            previous_up = up, previous_down = down;
        }
        CHECK(std::isfinite(previous_up) && !std::isnan(previous_down));
        // More divergence, more epsilon; a smaller delta, more epsilon.
        const double step = 1.0 + power(-12.0, 0.0);
        for (const Conversion c : kAll) {
            const double here = epsilon_from_rdp(c, p.alpha, p.k, p.log_delta, Rounding::down);
            CHECK_THAT(epsilon_from_rdp(c, p.alpha, p.k * step, p.log_delta, Rounding::up), >=, here);
            CHECK_THAT(epsilon_from_rdp(c, p.alpha, p.k, p.log_delta * step, Rounding::up), >=, here);
        }
        const double epsilon = i % 8 ? std::max(previous_up, 0.0) * uniform(0.3, 1.5) : 0.0;
        double delta_up = kInfinity;
        for (const Conversion c : kAll) {
            const double down = log_delta_from_rdp(c, p.alpha, p.k, epsilon, Rounding::down),
                         up = log_delta_from_rdp(c, p.alpha, p.k, epsilon, Rounding::up);
            CHECK_THAT(down, <=, up);
            CHECK_THAT(down, <=, delta_up);
            if (up > kLogSmallestDelta && epsilon > 0.0)
                CHECK_THAT(up - down, <=, kDeltaGap * (1.0 + std::fabs(up) + p.k + (p.alpha - 1.0) * epsilon));
            CHECK_THAT(log_delta_from_rdp(c, p.alpha, p.k * step, epsilon, Rounding::up), >=, down);
            CHECK_THAT(log_delta_from_rdp(c, p.alpha, p.k, epsilon * step, Rounding::down), <=, up);
            delta_up = up;
        }
    }
}

void round_trips() {
    for (int i = 0; i < 20000; ++i) {
        const Point p = random_point();
        for (const Conversion c : kAll) {
            const double up = epsilon_from_rdp(c, p.alpha, p.k, p.log_delta, Rounding::up),
                         down = epsilon_from_rdp(c, p.alpha, p.k, p.log_delta, Rounding::down);
            if (!(down > 0.0)) continue;
            // At an epsilon not below the truth, delta rounded down is not above the one that we began with; and
            // conversely.
            CHECK_THAT(log_delta_from_rdp(c, p.alpha, p.k, up, Rounding::down), <=, p.log_delta * (1.0 - 1e-15));
            CHECK_THAT(log_delta_from_rdp(c, p.alpha, p.k, down, Rounding::up), >=, p.log_delta * (1.0 + 1e-15));
            // The way back is near as well: delta moves by beta for every unit of epsilon, at least.
            const double back = log_delta_from_rdp(c, p.alpha, p.k, up, Rounding::up);
            if (c != Conversion::optimal && c != Conversion::asoodeh) {
                CHECK_THAT(std::fabs(back - p.log_delta), <=, 1e-12 * (1.0 + p.k - p.log_delta + (p.alpha - 1.0) * up));
            }
        }
    }
}

void lower_bounds() {
    for (int i = 0; i < 20000; ++i) {
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
    known_values();
    references();
    if constexpr (check::kExtended) the_definition();
    order_and_directions();
    round_trips();
    lower_bounds();
    extremes();
    return check::finish();
}
