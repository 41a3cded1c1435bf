// The bounds stated in special/elementary.hpp, in units of u = 2^-53: over a table made in ball arithmetic, and densely
// against the long double functions of the C library where those carry 64 bits.
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "check.hpp"
#include "measure.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/special/elementary.hpp"
#include "tables.hpp"

using namespace renyi;
using check::Worst;

namespace {

constexpr double kTail = 5.0, kExp = 3.0, kExpm1 = 6.0, kPhi = 16.0;
constexpr double kLogTail = 5.0, kLog = 2.0, kLog1p = 4.0, kLog1pmx = 16.0, kLog1pmxRounded = 18.0;
constexpr double kPhiFrom = 1e-150;  // below, its square leaves the normal range

struct Exponentials {
    Worst tail{"exp tail", kTail}, exp{"exp", kExp}, expm1{"expm1", kExpm1}, phi{"phi", kPhi};
    void report() {
        for (const Worst& worst : {tail, exp, expm1, phi}) REPORT(worst);
    }
};

struct Logarithms {
    Worst tail{"log tail", kLogTail}, log{"log", kLog}, pmx{"log1pmx", kLog1pmx};
    Worst log1p{"log1p", kLog1p}, pmx_rounded{"log1pmx, 1 + x rounded", kLog1pmxRounded};
    void report() {
        for (const Worst& worst : {tail, log, pmx, log1p, pmx_rounded}) REPORT(worst);
    }
};

// t = k log 2 + r: k an integer, 2^k exact, r small and as near as a double can be.
void reduction_of_exp(double t, DoubleDouble log2) {
    const ExpReduction e = reduce_exp(t);
    CHECK(e.k == std::nearbyint(e.k) && e.scale == std::ldexp(1.0, static_cast<int>(e.k)));
    CHECK_THAT(std::fabs(e.r), <=, 0.3467);
    const DoubleDouble r = two_sum(t, 0.0) - log2 * e.k;
    CHECK_THAT(std::fabs((e.r - r.hi) - r.lo), <=, 0x1.01p-53 * std::fabs(r.hi) + 0x1p-80);
    CHECK_THAT(e.tail, >=, 0.0);
    CHECK_THAT(phi_of(e), >=, 0.0);
}

// y = 2^k (1 + f) exactly, f within its range.
void reduction_of_log(double y) {
    const LogReduction l = reduce_log(y, y - 1.0);
    CHECK(l.k == std::nearbyint(l.k));
    const double m = std::ldexp(y, -static_cast<int>(l.k));
    CHECK_THAT(m - 1.0, ==, l.f);
    CHECK(m >= 0x1.6a09e667f3bcdp-1 && m < 0x1.6a09e667f3bcdp0);
    CHECK_THAT(l.tail, <=, 0.0);
    CHECK_THAT(log1pmx_of(l, y - 1.0), <=, 0.0);
}

void over_the_table() {
    DoubleDouble log2{};
    for (const auto& row : table::rows<table::Log>()) {
        if (row.y == 2.0) log2 = {row.log_hi, row.log_lo};
    }
    CHECK(log2.hi == 0x1.62e42fefa39efp-1 && log2.lo != 0.0);

    Exponentials e;
    for (const auto& row : table::rows<table::Exp>()) {
        reduction_of_exp(row.t, log2);
        const ExpReduction reduced = reduce_exp(row.t);
        e.exp.relative(exp_of(reduced), row.exp_hi, row.exp_lo, row.t);
        e.expm1.relative(expm1_of(reduced), row.expm1_hi, row.expm1_lo, row.t);
        CHECK(lane_exp(row.t) == exp_of(reduced) || row.t == -708.0);
        CHECK(lane_expm1(row.t) == expm1_of(reduced));
        if (row.phi_hi == 0.0) continue;
        e.phi.relative(phi_of(reduced), row.phi_hi, row.phi_lo, row.t);
        if (reduced.k == 0.0) e.tail.relative(reduced.tail, row.phi_hi, row.phi_lo, row.t);
    }
    e.report();

    Logarithms l;
    for (const auto& row : table::rows<table::Log>()) {
        reduction_of_log(row.y);
        const LogReduction reduced = reduce_log(row.y, row.y - 1.0);
        l.log.relative(log_of(reduced), row.log_hi, row.log_lo, row.y);
        CHECK(lane_log(row.y) == log_of(reduced));
        if (row.pmx_hi == 0.0) continue;
        l.pmx.relative(log1pmx_of(reduced, row.y - 1.0), row.pmx_hi, row.pmx_lo, row.y);
        if (reduced.k == 0.0) l.tail.relative(reduced.tail, row.pmx_hi, row.pmx_lo, row.y);
    }
    for (const auto& row : table::rows<table::Log1p>()) {
        const LogReduction reduced = reduce_log(1.0 + row.x, row.x);
        l.log1p.relative(lane_log1p(row.x), row.log1p_hi, row.log1p_lo, row.x);
        l.pmx_rounded.relative(log1pmx_of(reduced, row.x), row.pmx_hi, row.pmx_lo, row.x);
    }
    l.report();
}

long double phi_truth(long double t) {
    if (std::fabs(t) > 0.5L) return std::expm1(t) - t;
    long double sum = 0.0L, term = 0.5L * t * t;
    for (int k = 3; k < 26; ++k) {
        sum += term;
        term *= t / k;
    }
    return sum;
}

long double pmx_truth(long double x) {  // log1p(x) - x
    if (x > 0.25L || x < -0.25L) return std::log1p(x) - x;
    const long double s = x / (2.0L + x);  // log1p = 2 atanh s, x = 2s/(1-s)
    long double sum = 0.0L, power = s * s * s;
    for (int k = 3; k < 60; k += 2) {
        sum += power / k;
        power *= s * s;
    }
    return 2.0L * sum - s * x;
}

void densely() {
    std::mt19937_64 generator(5);
    const auto uniform = [&](double low, double high) {
        return low + (high - low) * static_cast<double>(generator() >> 11) * 0x1p-53;
    };
    const auto tiny = [&](int most) {
        return std::ldexp(uniform(-1.0, 1.0), -static_cast<int>(generator() % static_cast<unsigned>(most)));
    };

    Exponentials e;
    for (int i = 0; i < 120000; ++i) {
        const double boundary = (std::floor(uniform(-20.0, 20.0)) + 0.5) * kLog2;
        for (const double t : {uniform(-708.0, 708.0), uniform(-3.0, 3.0), boundary + uniform(-1e-3, 1e-3),
                               uniform(-0.37, -0.34), uniform(0.34, 0.36), tiny(400)}) {
            const ExpReduction reduced = reduce_exp(t);
            e.exp.relative(exp_of(reduced), std::exp(static_cast<long double>(t)), t);
            if (std::fabs(t) < kPhiFrom) continue;
            e.expm1.relative(expm1_of(reduced), std::expm1(static_cast<long double>(t)), t);
            e.phi.relative(phi_of(reduced), phi_truth(t), t);
            if (std::fabs(reduced.r) > kPhiFrom) e.tail.relative(reduced.tail, phi_truth(reduced.r), t);
        }
    }
    e.report();

    Logarithms l;
    for (int i = 0; i < 120000; ++i) {
        const double scaled = std::ldexp(uniform(1.0, 2.0), static_cast<int>(generator() % 2046) - 1022);
        for (const double y : {scaled, uniform(0.5, 2.0), uniform(0.68, 0.72), uniform(1.39, 1.45), 1.0 + tiny(52)}) {
            if (y == 1.0 || y == 0.0) continue;
            const LogReduction reduced = reduce_log(y, y - 1.0);
            l.log.relative(log_of(reduced), std::log(static_cast<long double>(y)), y);
            l.tail.relative(reduced.tail, pmx_truth(reduced.f), y);
            if (y >= 0.5 && y <= 0x1p53) l.pmx.relative(log1pmx_of(reduced, y - 1.0), pmx_truth(y - 1.0), y);
        }
        for (const double x :
             {uniform(-0.999, 3.0), uniform(-0.5, -0.28), uniform(0.41, 0.44), tiny(400), std::fabs(scaled),
              std::ldexp(uniform(1.0, 2.0), -static_cast<int>(generator() % 50) - 1) - 1.0}) {
            if (std::fabs(x) < kPhiFrom) continue;
            l.log1p.relative(lane_log1p(x), std::log1p(static_cast<long double>(x)), x);
            l.pmx_rounded.relative(log1pmx_of(reduce_log(1.0 + x, x), x), pmx_truth(x), x);
        }
    }
    l.report();
}

void by_name() {
    CHECK(lane_exp(0.0) == 1.0 && lane_expm1(0.0) == 0.0 && phi_of(reduce_exp(0.0)) == 0.0);
    CHECK(lane_log(1.0) == 0.0 && lane_log1p(0.0) == 0.0 && log1pmx_of(reduce_log(1.0, 0.0), 0.0) == 0.0);
    for (const double t : {0x1p-1074, -0x1p-1074, 0x1p-1022, -0x1p-300, 0x1p-60}) {  // the identity, to the bit
        CHECK(lane_expm1(t) == t && lane_log1p(t) == t && lane_exp(t) == 1.0);
    }
    CHECK(lane_exp(std::nextafter(-708.0, 0.0)) >= 0x1p-1022);
    CHECK(lane_exp(-708.1) == 0.0 && lane_exp(-1e308) == 0.0 && lane_exp(-HUGE_VAL) == 0.0);
    CHECK(lane_expm1(-800.0) == -1.0 && lane_expm1(-HUGE_VAL) == -1.0 && lane_expm1(-40.0) == -1.0);
    CHECK(select(true, 1.5, -2.5) == 1.5 && select(false, 1.5, -2.5) == -2.5);
    CHECK(std::signbit(select(false, 1.0, -0.0)) && std::isnan(select(true, std::nan(""), 1.0)));
    // The constants: both splits sum to the same log 2, and k times the high part is exact.
    CHECK(kLog2Hi + kLog2Lo == kLog2);
    for (const double k : {1021.0, 65535.0})
        CHECK(std::fmod(k * kLog2Hi, 0x1p-37) == 0.0 && two_prod(k, kLog2Hi).lo == 0.0);
}

}  // namespace

int main() {
    over_the_table();
    if constexpr (check::kExtended) densely();
    by_name();
    return check::finish();
}
