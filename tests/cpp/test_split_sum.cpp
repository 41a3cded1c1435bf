// The split sum against values known from elsewhere (nested quadrature, plain lines, lattices), against the plain
// line where that answers too, and against itself where it is read away from where it was placed.
#include "renyi/transform/split_sum.hpp"

#include <cmath>
#include <vector>

#include "check.hpp"
#include "renyi/curve/contour.hpp"

using namespace renyi;

namespace {

using Steps = std::vector<SampledStep>;

struct Known {
    Steps steps;
    double epsilon, delta;
};

// All of direction remove, to 15 digits.
const Known kKnown[] = {
    {{{.000261028946053477, 5.122157028097081, 2}}, .00033443252703029057, 4.22599707352271e-9},
    {{{.0011726739825827406, 3.6332482766178984, 2}}, .021605486105687875, 4.62311638443575e-31},
    {{{.0044887152429683545, 6.114481026257149, 12}}, .011120674344864204, 2.52003871771983e-8},
    {{{.0003065990528861243, 3.925810494847076, 15}}, .004446161017283897, 9.12432654352743e-28},
    {{{.0015852365444544423, 3.5138435059815416, 2}}, .018769441049015737, 5.72630294997361e-23},
};

double width(Bracket b) { return b.upper / b.lower - 1.0; }

void note(Bracket b, double value, double slack) {
    CHECK_THAT(b.lower, <=, value * (1.0 + slack));
    CHECK_THAT(b.upper, >=, value * (1.0 - slack));
}

void known_values() {
    for (const Known& k : kKnown) {
        SplitSum sum(k.steps, SampledPair::remove);
        CHECK(sum.place(k.epsilon, std::log(k.delta)));
        const Bracket here = sum.delta(k.epsilon);
        std::fprintf(stderr, "%.15g in [%.17g, %.17g], %.1e wide\n", k.delta, here.lower, here.upper, width(here));
        note(here, k.delta, 4e-15);
        CHECK_THAT(width(here), <=, 2e-8);
        // A guess of delta that is off serves as well.
        for (const double off : {-3.0, 3.0}) {
            SplitSum other(k.steps, SampledPair::remove);
            if (other.place(k.epsilon, std::log(k.delta) + off)) note(other.delta(k.epsilon), k.delta, 4e-15);
        }
        const Bracket epsilon = sum.epsilon(k.delta, k.epsilon);
        note(epsilon, k.epsilon, 4e-15);
        CHECK_THAT(width(epsilon), <=, 2e-8);
        // From a start that is off.
        note(sum.epsilon(k.delta, 1.02 * k.epsilon), k.epsilon, 4e-15);
    }
}

// Read at eps but placed elsewhere: wider, not wrong.
void reads_away(const Steps& steps, SampledPair pair, double epsilon, double log_delta) {
    SplitSum here(steps, pair);
    if (!here.place(epsilon, log_delta)) return;
    const Bracket truth = here.delta(epsilon);
    CHECK_THAT(truth.lower, <=, truth.upper);
    for (const double factor : {0.3, 0.7, 0.9, 0.99, 1.01, 1.1, 1.5, 3.0}) {
        SplitSum other(steps, pair);
        if (!other.place(factor * epsilon, log_delta)) continue;
        const Bracket away = other.delta(epsilon);
        CHECK_THAT(away.lower, <=, truth.upper);
        CHECK_THAT(away.upper, >=, truth.lower);
        CHECK(away.lower >= 0.0 && away.upper <= 1.0);
        // Its epsilon, if it finds any, is where delta is.
        const Bracket inverse = other.epsilon(0.5 * (truth.lower + truth.upper), factor * epsilon);
        if (!(inverse.lower <= inverse.upper)) continue;
        const double slack = width(truth) < 1e-6 ? 1e-6 : kInfinity;
        note(inverse, epsilon, slack);
    }
}

void unplaced() {
    const Steps steps{{0.01, 1.0, 3}};
    for (const SampledPair pair : {SampledPair::remove, SampledPair::add, SampledPair::replace_one}) {
        const Bracket b = SplitSum(steps, pair).delta(1.0);
        CHECK(b.lower == 0.0 && b.upper == 1.0);
        SplitSum failed(Steps{{0.5, 1e-3, 5}}, pair);  // losses of 1e6
        if (failed.place(0.1, -5.0)) continue;
        const Bracket f = failed.delta(0.1);
        CHECK(f.lower == 0.0 && f.upper == 1.0);
        CHECK(std::isnan(failed.epsilon(1e-3, 0.1).lower));
    }
}

// At negative epsilon: delta(-eps) = 1 - e^-eps + e^-eps delta_add(eps), with delta_add from tests/reference.
void below_zero() {
    const double epsilon = 15.641894949100998, truth = 1.0 - std::exp(-epsilon) * (1.0 - 0.4500415658206335);
    SplitSum sum(Steps{{0.48641408457004165, 0.3005879182362305, 29}}, SampledPair::remove);
    sum.place(-epsilon, std::log(truth));
    note(sum.delta(-epsilon), truth, 4e-15);
}

// Both are certified, and they have nothing in common.
int agrees_with_line(const Steps& steps, Direction direction, double epsilon, int& narrow) {
    Contour line(steps, {}, direction, kPlainEffort);
    if (!line.place_for_epsilon(epsilon)) return 0;
    const Bracket plain = line.delta(epsilon);
    if (!(width(plain) < 1e-6)) return 0;
    SplitSum sum(steps, direction == Direction::remove ? SampledPair::remove : SampledPair::add);
    if (!sum.place(epsilon, std::log(plain.upper))) return 0;
    const Bracket split = sum.delta(epsilon);
    const int failures = check::failures;
    CHECK_THAT(split.lower, <=, plain.upper);
    CHECK_THAT(split.upper, >=, plain.lower);
    if (width(split) < 1e-8) ++narrow;
    if (check::failures > failures)
        for (const SampledStep& s : steps)
            std::fprintf(stderr, "    q %.17g sigma %.17g count %g eps %g direction %d\n", s.q, s.sigma, s.count,
                         epsilon, static_cast<int>(direction));
    return 1;
}

}  // namespace

int main() {
    known_values();
    unplaced();
    below_zero();
    for (const Known& k : kKnown) reads_away(k.steps, SampledPair::remove, k.epsilon, std::log(k.delta));
    reads_away({{1e-3, 1.0, 5}}, SampledPair::remove, 0.5, -20.0);
    reads_away({{1e-3, 1.0, 5}}, SampledPair::add, 0.001, -15.0);
    reads_away({{1e-3, 1.0, 5}}, SampledPair::replace_one, 0.5, -20.0);
    reads_away({{1e-4, 0.8, 5000}}, SampledPair::remove, 0.1, -20.0);
    int both = 0, narrow = 0;
    for (const Direction direction : {Direction::remove, Direction::add})
        for (const double sigma : {0.7, 1.0, 2.0})
            for (const double q : {0.01, 0.1})
                for (const double count : {30.0, 1000.0})
                    for (const double gaussian : {0.0, 2.0, 10.0})
                        for (const double epsilon : {0.2, 1.0, 4.0}) {
                            Steps steps{{q, sigma, count}};
                            if (gaussian > 0.0) steps.push_back({1.0, gaussian, 1});
                            if (count == 30.0) steps.push_back({0.5 * q, 1.2 * sigma, 7});
                            both += agrees_with_line(steps, direction, epsilon, narrow);
                        }
    std::fprintf(stderr, "%d answered by both, %d of them narrow\n", both, narrow);
    CHECK_THAT(both, >=, 60);
    return check::finish();
}
