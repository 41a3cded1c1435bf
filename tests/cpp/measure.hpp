// The largest error of a function in units of u = 2^-53, against the bound that its header states.
#pragma once

#include <cmath>
#include <cstdio>
#include <limits>

#include "check.hpp"

namespace check {

// 64 bits of mantissa or more: 2048 times finer than what is measured.
constexpr bool kExtended = std::numeric_limits<long double>::digits >= 64;

struct Worst {
    const char* name;
    double bound;
    double unit = 0x1p-53;
    double worst = 0.0, at = 0.0;
    int count = 0;

    void note_error(double error, double argument) {
        ++count;
        if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
        if (error <= worst) return;
        worst = error;
        at = argument;
    }

    // Relative error of value against hi + lo: value - hi is exact wherever the error is small.
    void relative(double value, double hi, double lo, double argument) {
        note_error(std::fabs(((value - hi) - lo) / hi) / unit, argument);
    }

    void relative(double value, long double truth, double argument) {
        note_error(static_cast<double>(std::fabs((value - truth) / truth)) / unit, argument);
    }

    void report(const char* file, int line) const {
        std::fprintf(stderr, "%-28s %9.4f of %-6g at %a (%d)\n", name, worst, bound, at, count);
        note(count > 0, name, file, line);
        note_relation(worst <= bound, worst, bound, name, file, line);
    }
};

}  // namespace check

#define REPORT(worst) (worst).report(__FILE__, __LINE__)
