// Random allocation: both directions against sums in ball arithmetic, limits by name.
#include <cmath>
#include <initializer_list>

#include "check.hpp"
#include "measure.hpp"
#include "renyi/pair/renyi_curve.hpp"
#include "renyi/transform/random_allocation.hpp"
#include "tables.hpp"

using namespace renyi;
using check::Worst;

namespace {

bool encloses(Certified c, double hi, double lo) { return lower(c) - hi <= lo && upper(c) - hi >= lo; }

void remove() {
    Worst worst{"remove, error / certified", 1.0};
    for (const auto& row : table::rows<table::Remove>()) {
        const int n = static_cast<int>(row.n);
        const Certified value = allocation_remove(row.c, static_cast<std::int64_t>(row.steps), n)[n];
        CHECK(encloses(value, row.hi, row.lo));
        CHECK_THAT(value.relative_error, <, 2e-11);
        worst.note_error(std::fabs((value.value - row.hi) - row.lo) / row.hi / value.relative_error, row.n);
    }
    REPORT(worst);
}

void add() {
    const std::vector<Certified> nothing(16, {0.0, 0.0});
    Worst above{"add, bound above truth", 1e-9, 1.0};
    for (const auto& row : table::rows<table::Add>()) {
        const std::size_t n = static_cast<std::size_t>(row.b) + 1;
        const double bound = allocation_add(row.c, 2, nothing)[n];
        const double geometric = 0.5 * row.c * row.c * row.b * (1.0 + 0.5 * row.b);
        CHECK_THAT(bound, >=, row.hi + row.lo);
        CHECK_THAT(bound, <=, geometric * (1.0 + 1e-14));
        if (bound < geometric * (1.0 - 1e-9)) above.note_error(bound / row.hi - 1.0, row.b);
    }
    REPORT(above);
}

// Adding a record costs less than removing it wherever both are known: then the curve is the remove direction.
void larger_direction() {
    for (double sigma : {0.3, 1.0, 4.0, 40.0}) {
        for (std::int64_t steps : {2, 5, 100, 1000000}) {
            const RandomAllocationCurve curve(sigma, steps);
            const auto k = allocation_remove(1.0 / sigma, steps, 64);
            for (int n : {2, 3, 8, 30, 64}) {
                const Certified c = curve.log_moment(n).value;
                CHECK_THAT(std::fabs(c.value - k[n].value), <=, 1e-10 * c.value);
                CHECK_THAT(upper(c), >=, upper(k[n]));
                CHECK_THAT(c.value, <=, LinearCurve(0.5 / (sigma * sigma)).log_moment(n).value.value * (1.0 + 1e-9));
            }
        }
    }
}

void edges() {
    const LinearCurve plain(0.125);
    const RandomAllocationCurve one(2.0, 1), silent(kInfinity, 10), loud(0.01, 10);
    for (double alpha : {1.0, 1.5, 2.0, 1e6}) {
        CHECK(one.log_moment(alpha).value.value == plain.log_moment(alpha).value.value);
        CHECK(silent.log_moment(alpha).value.value == 0.0);
    }
    CHECK(one.largest_order() == kInfinity && loud.log_moment(3.0).value.value == 0.5 / (0.01 * 0.01) * 6.0);
    const RandomAllocationCurve curve(1.0, 100);
    CHECK(curve.largest_order() == 256.0);
    CHECK(std::isfinite(curve.log_moment(256.0).value.value) && curve.log_moment(256.5).value.value == kInfinity);
    CHECK(curve.log_moment(1.0).value.value == 0.0 && curve.divergence(1.0).value == curve.divergence(2.0).value);
    double slope = 0.0;
    for (double n = 1.0; n < 256.0; ++n) {
        const double next = curve.log_moment(n + 0.5).first;
        CHECK_THAT(next, >=, slope * (1.0 - 1e-9));
        slope = next;
    }
    // Two steps, order 2: E[r^2] = (e^{c^2} + 1)/2.
    CHECK_THAT(std::fabs(RandomAllocationCurve(1.0, 2).log_moment(2.0).value.value - std::log1p(0.5 * std::expm1(1.0))),
               <=, 1e-13);
}

}  // namespace

int main() {
    remove();
    add();
    larger_direction();
    edges();
    return check::finish();
}
