// Bounds on sampled mechanisms: term by term sums in ball arithmetic, published values, the exact curves that the tight
// form must meet, and edges by name.
#include <cmath>
#include <initializer_list>
#include <memory>

#include "check.hpp"
#include "measure.hpp"
#include "pairs.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/pair/noise/exponential_loss.hpp"
#include "renyi/pair/renyi_curve.hpp"
#include "renyi/special/binomial.hpp"
#include "renyi/transform/renyi_curves.hpp"
#include "renyi/transform/sampling_bounds.hpp"
#include "tables.hpp"

using namespace renyi;
using check::Worst;

namespace {

constexpr auto kGeneral = PoissonBoundKind::general;
constexpr auto kTight = PoissonBoundKind::tight;
constexpr auto kLower = PoissonBoundKind::lower;

bool encloses(Certified c, double hi, double lo) { return lower(c) - hi <= lo && upper(c) - hi >= lo; }
bool agree(Certified a, Certified b) { return lower(a) <= upper(b) && lower(b) <= upper(a); }
bool same(Certified a, Certified b) { return a.value == b.value && a.relative_error == b.relative_error; }

CurvePointer gaussian(double sigma) { return std::make_shared<LinearCurve>(0.5 / (sigma * sigma)); }

CurvePointer base(double family, double parameter) {
    if (family == 0.0) return std::make_shared<LinearCurve>(parameter);
    return pairs::moment(pairs::pure_dp(parameter));
}

Certified k(const RenyiCurve& curve, double alpha) { return curve.log_moment(alpha).value; }

void binomial_terms() {
    Worst worst{"log n!", 1.0};
    DoubleDouble log_factorials{0.0, 0.0};
    for (double n = 1.0; n <= 3000.0; ++n) {
        log_factorials = log_factorials + log_dd({n, 0.0});
        const DoubleDouble error = log_factorial(n) - log_factorials;
        worst.note_error(std::fabs(error.hi) / (0x1p-59 + n * 0x1p-77), n);
    }
    REPORT(worst);
    Worst total{"sum of the terms", 0x1p-55 * 0x1p53};
    for (double n : {2.0, 40.0, 1000.0, 1e6}) {
        for (double q : {1e-9, 0.3, 1.0 - 1e-12}) {
            const BinomialTerms terms = BinomialTerms::sampled(n, q);
            const double mode = std::floor((n + 1.0) * q), first = std::max(0.0, mode - 6000.0);
            Scaled w = terms.at(first), sum = w;
            for (double l = first; l < std::min(n, mode + 6000.0); ++l) sum = sum + (w = terms.next(w, l));
            total.relative(ratio(sum, kScaledOne), 1.0, 0.0, n);
        }
    }
    REPORT(total);
}

void poisson_tables() {
    Worst error{"Poisson, certified error", 1e-12, 1.0};
    for (const auto& row : table::rows<table::Poisson>()) {
        const CurvePointer b = base(row.family, row.parameter);
        const PoissonBound general(b, row.q, kGeneral), tight(b, row.q, kTight), low(b, row.q, kLower);
        CHECK(encloses(k(tight, row.n), row.tight_hi, row.tight_lo));
        CHECK(same(k(tight, row.n), k(low, row.n)));
        error.note_error(k(tight, row.n).relative_error, row.n);
        const double cut = (row.n - 1.0) * general.largest_loss();
        if (row.general_hi < cut) {
            CHECK(encloses(k(general, row.n), row.general_hi, row.general_lo));
        } else {
            CHECK_THAT(upper(k(general, row.n)), >=, row.tight_hi);
            CHECK_THAT(k(general, row.n).value, <=, cut * (1.0 + 1e-14));
        }
    }
    REPORT(error);
}

// The tight form of a pair with an involution is its sampled curve.
void poisson_against_exact_curves() {
    for (double q : {1e-9, 1e-3, 0.2, 1.0 - 1e-12}) {
        for (double alpha : {2.0, 3.0, 17.0, 200.0, 1e5, 1e6}) {
            for (double sigma : {0.02, 0.4, 1.0, 6.0, 1e4})
                CHECK(agree(k(PoissonBound(gaussian(sigma), q, kTight), alpha), log_a(q, sigma, alpha)));
            for (double scale : {0.01, 0.5, 3.0, 1e4}) {
                const PairPointer pair = pairs::laplace(scale);
                const PoissonBound bound(pairs::moment(pair), q, kTight);
                CHECK(agree(k(bound, alpha), k(*pairs::sampled_moment(pair, q), alpha)));
            }
            const PairPointer answers = renyi::randomized_response(0.8, 2);
            const PoissonBound bound(pairs::moment(answers), q, kTight);
            CHECK(agree(k(bound, alpha), k(*pairs::sampled_moment(answers, q), alpha)));
        }
    }
}

void poisson_between_whole_orders() {
    for (double q : {1e-6, 0.05, 0.9}) {
        for (double sigma : {0.5, 2.0, 30.0}) {
            const PoissonBound tight(gaussian(sigma), q, kTight), low(gaussian(sigma), q, kLower);
            for (double alpha : {1.0 + 1e-9, 1.5, 2.25, 2.999, 17.5, 300.75}) {
                const Certified exact = log_a(q, sigma, alpha);
                CHECK_THAT(upper(k(tight, alpha)), >=, lower(exact));
                CHECK_THAT(lower(k(low, alpha)), <=, upper(exact));
                const double n = std::floor(alpha), t = alpha - n;
                const double chord = (1.0 - t) * k(tight, n).value + t * k(tight, n + 1.0).value;
                CHECK_THAT(std::fabs(k(tight, alpha).value - chord), <=, 1e-14 * chord);
                const double slope = k(tight, n + 1.0).value - k(tight, n).value;
                CHECK_THAT(std::fabs(tight.log_moment(alpha).first - slope), <=, 1e-12 * chord);
            }
        }
    }
    const PoissonBound low(gaussian(1.0), 0.1, kLower);
    double previous = 0.0;
    for (double alpha = 1.0; alpha < 9.0; alpha += 1.0 / 64.0) {
        CHECK_THAT(k(low, alpha).value, >=, previous);
        previous = k(low, alpha).value;
    }
}

void poisson_edges() {
    const CurvePointer b = gaussian(2.0), pure = base(1.0, 0.5);
    for (PoissonBoundKind kind : {kGeneral, kTight, kLower}) {
        const PoissonBound none(b, 0.0, kind), all(b, 1.0, kind), some(b, 0.1, kind);
        CHECK(same(k(none, 1e6), {0.0, 0.0}) && none.largest_loss() == 0.0 && none.largest_order() == kInfinity);
        for (double alpha : {1.0, 1.5, 2.0, 31.25, 1e6}) CHECK(same(k(all, alpha), k(*b, alpha)));
        CHECK(same(all.divergence(1.0), b->divergence(1.0)));
        CHECK(same(k(some, 1.0), {0.0, 0.0}));
        CHECK(some.largest_loss() == kInfinity);
        CHECK(std::isfinite(k(some, 1e6).value) && std::isfinite(some.log_moment(1e6).first));
    }
    // D at 1 is that at 2.
    const PoissonBound tight(b, 0.1, kTight);
    CHECK(agree(tight.divergence(1.0), tight.divergence(2.0)));
    CHECK(agree(tight.divergence(1.0), tight.divergence(1.0 + 1e-9)));
    // The cut, and what it leaves alone.
    const PoissonBound general(pure, 0.01, kGeneral), exact(pure, 0.01, kTight);
    CHECK_THAT(std::fabs(general.largest_loss() - std::log1p(0.01 * std::expm1(0.5))), <=, 1e-16);
    CHECK_THAT(general.divergence(1e5).value, <=, general.largest_loss() * (1.0 + 1e-15));
    CHECK_THAT(exact.divergence(1e5).value, <=, general.divergence(1e5).value);
    CHECK_THAT(k(general, 3.0).value, >, k(exact, 3.0).value);
    CHECK_THAT(k(general, 3.0).value, <, 3.0 * k(exact, 3.0).value);
    // Tiny and huge.
    for (double q : {5e-324, 1e-300, 1e-100}) {
        const Certified tiny = k(PoissonBound(b, q, kTight), 5.0);
        CHECK_THAT(upper(tiny), >, 0.0);
        CHECK_THAT(lower(tiny), <=, 10.0 * q * q * std::expm1(0.25));
    }
    const PoissonBound loud(gaussian(1e-9), 1e-9, kTight);
    CHECK(agree(k(loud, 40.0), {780.0 * 1e18 + 40.0 * std::log(1e-9), 1e-15}));
    CHECK(k(PoissonBound(std::make_shared<LinearCurve>(1e300), 0.5, kGeneral), 1e6).value == kInfinity);
    CHECK(k(PoissonBound(std::make_shared<LinearCurve>(0.0), 0.5, kTight), 1e6).value == 0.0);
    // Finite orders only.
    const auto table = std::make_shared<Polygon>(std::vector<PolygonPoint>{{2.0, 0.1}, {7.5, 1.0}});
    const PoissonBound short_of(table, 0.5, kTight);
    CHECK(short_of.largest_order() == 7.0);
    CHECK(std::isfinite(k(short_of, 7.0).value) && k(short_of, 7.25).value == kInfinity);
    CHECK(std::isfinite(k(PoissonBound(table, 0.5, kLower), 6.5).value));
}

void fixed_size() {
    constexpr double kKnown[][5] = {{0.01, 1, 5, 0.0014664462907, 0.0014664462907},
                                    {0.001, 5, 20, 1.768351662e-6, 1.636206700e-6},
                                    {0.1, 2, 12, .1123795354, .0805458207},
                                    {0.3, 4, 33, .386799343, .221224271}};
    for (const auto& row : kKnown) {
        const FixedSizeBound plain(gaussian(row[1]), row[0], false), tight(gaussian(row[1]), row[0], true);
        CHECK_THAT(std::fabs(plain.divergence(row[2]).value - row[3]), <=, 2e-9 * row[3]);
        CHECK_THAT(std::fabs(tight.divergence(row[2]).value - row[4]), <=, 3e-9 * row[4]);
    }
    Worst plain_error{"fixed size, certified error", 1e-13, 1.0};
    for (const auto& row : table::rows<table::FixedSize>()) {
        const CurvePointer b = base(row.family, row.parameter);
        const FixedSizeBound plain(b, row.gamma, false), tight(b, row.gamma, true);
        const double cut = (row.n - 1.0) * plain.largest_loss();
        plain_error.note_error(k(plain, row.n).relative_error, row.n);
        if (row.plain_hi < cut) CHECK(encloses(k(plain, row.n), row.plain_hi, row.plain_lo));
        CHECK_THAT(upper(k(tight, row.n)), >=, std::min(row.tight_hi, cut));
        CHECK_THAT(k(tight, row.n).value, <=, k(plain, row.n).value * (1.0 + 1e-13));
        if (row.family == 0.0 && row.tight_hi < cut) CHECK(encloses(k(tight, row.n), row.tight_hi, row.tight_lo));
    }
    REPORT(plain_error);
}

void fixed_size_edges() {
    const CurvePointer b = gaussian(3.0), pure = base(1.0, 0.5);
    for (bool tight : {false, true}) {
        const FixedSizeBound none(b, 0.0, tight), all(b, 1.0, tight), some(pure, 0.01, tight);
        CHECK(same(k(none, 1e6), {0.0, 0.0}) && none.largest_loss() == 0.0);
        for (double alpha : {1.0, 1.5, 2.0, 31.25, 1e6}) CHECK(same(k(all, alpha), k(*b, alpha)));
        CHECK(same(all.divergence(1.0), b->divergence(1.0)));
        CHECK_THAT(some.divergence(1e5).value, <=, std::log1p(0.01 * std::expm1(0.5)) * (1.0 + 1e-14));
        CHECK_THAT(upper(k(FixedSizeBound(b, 5e-324, tight), 5.0)), >, 0.0);
        CHECK(std::isfinite(k(FixedSizeBound(gaussian(1e-8), 0.1, tight), 1e6).value));
        CHECK(same(k(FixedSizeBound(base(1.0, 0.0), 0.1, tight), 50.0), {0.0, 0.0}));
        const FixedSizeBound chord(b, 0.1, tight);
        const double at_2 = k(chord, 2.0).value, at_3 = k(chord, 3.0).value;
        CHECK_THAT(std::fabs(k(chord, 2.25).value - (0.75 * at_2 + 0.25 * at_3)), <=, 1e-14 * at_3);
    }
}

void mixture() {
    for (double r : {1e-300, 1e-9, 0.1, 0.999}) {
        for (double sigma : {0.001, 0.3, 4.0, 1e6}) {
            const CurvePointer b = gaussian(sigma);
            const MixtureBound bound(b, r);
            for (double alpha : {1.0 + 1e-9, 1.5, 10.0, 1e5}) {
                const LogMoment m = bound.log_moment(alpha), plain = b->log_moment(alpha);
                const long double x = plain.value.value, y = r;
                const long double truth = x < 11000.0L ? std::log1p(y * std::expm1(x)) : x + std::log(y);
                if (check::kExtended) {
                    CHECK(lower(m.value) <= truth * (1.0L + 0x1p-60L) && upper(m.value) >= truth * (1.0L - 0x1p-60L));
                }
                CHECK_THAT(m.value.value, <=, plain.value.value * (1.0 + 1e-14));
                const double step = 1e-5 * (alpha - 1.0);
                const double rise = k(bound, alpha + step).value - k(bound, alpha - step).value;
                if (alpha == 1.5 && m.value.value > 1e-290)
                    CHECK_THAT(std::fabs(rise / (2.0 * step) / m.first - 1.0), <=, 1e-4);
            }
        }
    }
    const CurvePointer b = base(1.0, 2.0);
    CHECK(same(k(MixtureBound(b, 0.0), 7.0), {0.0, 0.0}) && same(k(MixtureBound(b, 1.0), 7.5), k(*b, 7.5)));
    CHECK_THAT(std::fabs(MixtureBound(b, 0.1).largest_loss() - std::log1p(0.1 * std::expm1(2.0))), <=, 1e-14);
    CHECK_THAT(std::fabs(MixtureBound(gaussian(4.0), 0.01).divergence(10.0).value - 0.01616), <=, 5e-6);
    CHECK(MixtureBound(gaussian(4.0), 0.01).largest_loss() == kInfinity);
}

}  // namespace

int main() {
    binomial_terms();
    poisson_tables();
    poisson_against_exact_curves();
    poisson_between_whole_orders();
    poisson_edges();
    fixed_size();
    fixed_size_edges();
    mixture();
    return check::finish();
}
