// What fp/certified.hpp assumes of this platform's mathematical library, over dense points: against the double-double
// functions of the engine, and sines by their series.
#include <cmath>
#include <random>

#include "check.hpp"
#include "measure.hpp"
#include "renyi/fp/certified.hpp"
#include "renyi/special/elementary_dd.hpp"
#include "renyi/special/normal.hpp"

using namespace renyi;
using check::Worst;

namespace {

constexpr double kSystem = kSystemError / kUnitRoundoff, kTail = kSystemTailError / kUnitRoundoff;
constexpr int kPoints = 200'000;
constexpr DoubleDouble kHalfPi{0x1.921fb54442d18p0, 0x1.1a62633145c07p-54};

std::mt19937_64 generator{7};

double between(double low, double high) { return std::uniform_real_distribution{low, high}(generator); }

// Of either sign, of all sizes from e^low to e^high.
double of_any_size(double low, double high) {
    return std::copysign(lane_exp(between(low, high)), between(-1.0, 1.0));
}

DoubleDouble exact(double x) { return {x, 0.0}; }

// x - x^3/6 + ..., or 1 - x^2/2 + ..., |x| <= pi/4.
DoubleDouble series(DoubleDouble x, bool sine) {
    const DoubleDouble square = x * x;
    DoubleDouble sum{0.0, 0.0}, term = sine ? x : exact(1.0);
    for (int k = sine ? 1 : 0; k < 30; k += 2) {
        sum = sum + term;
        const double divisor = -(k + 1.0) * (k + 2.0), inverse = 1.0 / divisor;
        const DoubleDouble rest = two_prod(inverse, divisor);
        term = term * square * DoubleDouble{inverse, -((rest.hi - 1.0) + rest.lo) * inverse};
    }
    return sum;
}

// |x| <= 100
DoubleDouble sine_of(double x, bool sine) {
    const double turns = std::nearbyint(x / kHalfPi.hi);
    const DoubleDouble reduced = exact(x) - kHalfPi * turns;
    const int quadrant = (static_cast<int>(turns) % 4 + 4) % 4 + (sine ? 0 : 1);
    const DoubleDouble value = series(reduced, quadrant % 2 == 0);
    return quadrant % 4 >= 2 ? -value : value;
}

void exponentials() {
    Worst exp{"std::exp", kSystem}, exp2{"std::exp2", kSystem}, expm1{"std::expm1", kSystem}, pow{"std::pow", kSystem};
    for (int i = 0; i < kPoints; ++i) {
        const double x = i % 2 == 0 ? between(-700.0, 690.0) : of_any_size(-40.0, 6.0);
        const DoubleDouble grown = unscaled(exp_dd(exact(x))), power = unscaled(exp_dd(kLog2DD * x));
        exp.relative(std::exp(x), grown.hi, grown.lo, x);
        exp2.relative(std::exp2(x), power.hi, power.lo, x);
        const DoubleDouble less = expm1_dd(x);
        expm1.relative(std::expm1(x), less.hi, less.lo, x);
        const double base = lane_exp(between(-20.0, 20.0)), exponent = between(-30.0, 30.0);
        const DoubleDouble raised = unscaled(exp_dd(log_dd(exact(base)) * exponent));
        pow.relative(std::pow(base, exponent), raised.hi, raised.lo, base);
    }
    for (const Worst& worst : {exp, exp2, expm1, pow}) REPORT(worst);
}

void logarithms() {
    Worst log{"std::log", kSystem}, log2{"std::log2", kSystem}, log1p{"std::log1p", kSystem};
    for (int i = 0; i < kPoints; ++i) {
        const double y = i % 2 == 0 ? lane_exp(between(-700.0, 700.0)) : 1.0 + of_any_size(-20.0, -1.0);
        const double z = y - 1.0;  // exact where y is next to 1
        const DoubleDouble logarithm = i % 2 == 0 ? log_dd(exact(y)) : log1p_dd(exact(z), exact(y));
        log.relative(std::log(y), logarithm.hi, logarithm.lo, y);
        const double twos = std::log2(y);
        const DoubleDouble back = kLog2DD * twos;
        log2.relative(back.hi, logarithm.hi, logarithm.lo - back.lo, y);
        const double x = i % 2 == 0 ? lane_exp(between(-40.0, 40.0)) : -lane_exp(between(-40.0, -0.01));
        const DoubleDouble more = log1p_dd(exact(x), two_sum(1.0, x));
        log1p.relative(std::log1p(x), more.hi, more.lo, x);
    }
    for (const Worst& worst : {log, log2, log1p}) REPORT(worst);
}

void others() {
    Worst sin{"std::sin", kSystem}, cos{"std::cos", kSystem}, hypot{"std::hypot", kSystem}, erfc{"std::erfc", kTail};
    for (int i = 0; i < kPoints; ++i) {
        const double x = i % 2 == 0 ? between(-100.0, 100.0) : of_any_size(-40.0, 1.0);
        const DoubleDouble sine = sine_of(x, true), cosine = sine_of(x, false);
        sin.relative(std::sin(x), sine.hi, sine.lo, x);
        cos.relative(std::cos(x), cosine.hi, cosine.lo, x);
        const double a = of_any_size(-20.0, 20.0), b = of_any_size(-20.0, 20.0), h = std::hypot(a, b);
        const DoubleDouble squares = two_prod(a, a) + two_prod(b, b), off = two_prod(h, h) - squares;
        hypot.note_error(std::fabs(off.hi) / (2.0 * squares.hi) / kUnitRoundoff, a);
        const double z = between(-5.0, 26.0);
        const DoubleDouble root{0x1.6a09e667f3bcdp0, -0x1.bdd3413b26456p-54};
        const DoubleDouble tail = unscaled(normal_tail(root * z)) * exact(2.0);
        erfc.relative(std::erfc(z), tail.hi, tail.lo, z);
    }
    for (const Worst& worst : {sin, cos, hypot, erfc}) REPORT(worst);
}

}  // namespace

int main() {
    exponentials();
    logarithms();
    others();
    return check::finish();
}
