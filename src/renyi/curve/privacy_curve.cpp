#include "renyi/curve/privacy_curve.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "renyi/curve/bent_contour.hpp"
#include "renyi/curve/gaussian_curve.hpp"
#include "renyi/curve/single_step.hpp"

namespace renyi {

namespace {

constexpr std::size_t kMostNodes = 1 << 19;
constexpr double kWidening = 10.0;        // of estimated errors
constexpr double kLeastWidening = 1e-10;  // relative
constexpr double kUseful = 1e-9;          // relative width that needs no second route
constexpr double kWidest = 1e-6;          // relative width beyond which it is no answer
constexpr double kLesserDepths[] = {24.0, 16.0};
constexpr double kNarrow = 1e-11;  // relative width at which a contour placed for another question still serves

struct SortedSteps {
    std::vector<SampledStep> steps;  // sorted and merged, those that release nothing left out
    double gaussian;                 // mu^2 of the Gaussian steps among them
    double largest_loss;             // of Direction::add, rounded up; inf if there are Gaussian steps
    bool only_gaussian;
};

SortedSteps sorted_steps(std::span<const SampledStep> steps) {
    SortedSteps c{{}, 0.0, 0.0, true};
    for (const SampledStep& s : steps)
        if (s.q > 0.0 && s.sigma < kInfinity && s.count > 0.0) c.steps.push_back(s);
    std::sort(c.steps.begin(), c.steps.end(), [](const SampledStep& a, const SampledStep& b) {
        return std::tie(a.q, a.sigma, a.count) < std::tie(b.q, b.sigma, b.count);
    });
    const auto kept = [&] {  // equal steps merge
        std::size_t n = 0;
        for (const SampledStep& s : c.steps) {
            if (n > 0 && c.steps[n - 1].q == s.q && c.steps[n - 1].sigma == s.sigma) {
                c.steps[n - 1].count += s.count;
            } else {
                c.steps[n++] = s;
            }
        }
        return n;
    }();
    c.steps.resize(kept);
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) {
            c.gaussian += s.count / (s.sigma * s.sigma);
        } else {
            c.only_gaussian = false;
            c.largest_loss -= s.count * std::log1p(-s.q);
        }
    }
    c.largest_loss = c.gaussian > 0.0 ? kInfinity : c.largest_loss * (1.0 + 8.0 * kUnitRoundoff);
    return c;
}

// mu carries the rounding of the sum of squares: (n + 4) u/2 relative, both curves rise with it.
Bracket gaussian_bracket(const SortedSteps& c, auto curve) noexcept {
    const double mu = std::sqrt(c.gaussian);
    const double error = c.steps.size() == 1 && c.steps[0].count == 1.0
                             ? 2.0 * kUnitRoundoff
                             : (4.0 + static_cast<double>(c.steps.size())) * kUnitRoundoff;
    return {curve(mu * (1.0 - error)).lower, curve(mu * (1.0 + error)).upper};
}

bool is_single(const SortedSteps& c) noexcept { return c.steps.size() == 1 && c.steps[0].count == 1.0; }

// What is asked at a number x: delta at an epsilon, or epsilon at a delta. `closed` holds the routes in closed form and
// returns whether one of them answered.
struct DeltaAt {
    static bool closed(const SortedSteps& c, Direction direction, double epsilon, Bracket& answer) noexcept {
        if (c.steps.empty()) {
            const double value = epsilon < 0.0 ? -std::expm1(epsilon) : 0.0;
            answer = {value * (1.0 - 4.0 * kUnitRoundoff), value * (1.0 + 4.0 * kUnitRoundoff)};
        } else if (c.only_gaussian) {
            answer = gaussian_bracket(c, [&](double mu) { return gaussian_delta_bounds(mu, epsilon); });
        } else if (is_single(c)) {
            answer = single_step_delta_bounds({c.steps[0].q, c.steps[0].sigma, direction}, epsilon);
        } else if (direction == Direction::add && epsilon >= c.largest_loss) {
            answer = {0.0, 0.0};
        } else {
            return false;
        }
        return true;
    }
    static bool place(Contour& contour, double epsilon) { return contour.place_for_epsilon(epsilon); }
    static Bracket read(const Contour& contour, double epsilon) noexcept { return contour.delta(epsilon); }
    static Bracket estimate(const SortedSteps& c, Direction direction, double epsilon) noexcept {
        const Estimate e = bent_delta(c.steps, direction, epsilon);
        const double slack = kWidening * e.error + kLeastWidening;
        return {e.value * (1.0 - slack), std::min(e.value * (1.0 + slack), 1.0)};
    }
};

struct EpsilonAt {
    static bool closed(const SortedSteps& c, Direction direction, double delta, Bracket& answer) noexcept {
        if (c.steps.empty()) {
            answer = {0.0, 0.0};
        } else if (c.only_gaussian) {
            answer = gaussian_bracket(c, [&](double mu) { return gaussian_epsilon(mu, delta); });
        } else if (is_single(c)) {
            answer = single_step_epsilon({c.steps[0].q, c.steps[0].sigma, direction}, delta);
        } else {
            return false;
        }
        return true;
    }
    static bool place(Contour& contour, double delta) { return contour.place_for_delta(delta); }
    static Bracket read(const Contour& contour, double delta) noexcept { return contour.epsilon(delta); }
    static Bracket estimate(const SortedSteps& c, Direction direction, double delta) noexcept {
        const Estimate e = bent_epsilon(c.steps, direction, delta);
        const double slack = kWidening * e.error + kLeastWidening * std::fabs(e.value);
        return {e.value - slack, e.value + slack};
    }
};

Effort effort_for(double rtol) noexcept {
    return {std::clamp(2.0 - std::log(rtol), kPlainEffort.depth * 0.25, kPlainEffort.depth), kMostNodes};
}

bool narrow(Bracket b, double width) noexcept { return b.upper - b.lower <= width * std::fabs(b.upper); }

CurveAnswer narrower(const CurveAnswer& a, const CurveAnswer& b) noexcept {
    return b.bracket.upper - b.bracket.lower < a.bracket.upper - a.bracket.lower || std::isnan(a.bracket.lower) ? b : a;
}

// Where the plain contour fails: the estimate, or contours that aim at less and so may leave out more of the losses.
template <class Question>
CurveAnswer second_best(const SortedSteps& c, Direction direction, double x) {
    CurveAnswer best{Question::estimate(c, direction, x), false};
    for (const double depth : kLesserDepths) {
        if (narrow(best.bracket, kUseful)) break;
        Contour contour(c.steps, {}, direction, {depth, kPlainEffort.most_nodes});
        if (Question::place(contour, x)) best = narrower(best, {Question::read(contour, x), true});
    }
    return narrow(best.bracket, kWidest) ? best : CurveAnswer{kNoBracket, false};
}

// The contour is moved where it does not serve.
template <class Question>
CurveAnswer answer_of(const SortedSteps& c, Contour& contour, Direction direction, double x) {
    Bracket answer;
    if (Question::closed(c, direction, x, answer)) return {answer, true};
    answer = Question::read(contour, x);
    if (narrow(answer, kNarrow)) return {answer, true};
    if (Question::place(contour, x)) answer = Question::read(contour, x);
    return narrow(answer, kUseful) ? CurveAnswer{answer, true} : second_best<Question>(c, direction, x);
}

template <class Question>
void answer_all(std::span<const SampledStep> steps, Direction direction, std::span<const double> at,
                CurveAnswer* answers) {
    const SortedSteps c = sorted_steps(steps);
    Contour contour(c.steps, {}, direction, kPlainEffort);
    for (const double x : at) *answers++ = answer_of<Question>(c, contour, direction, x);
}

template <class Question>
Bracket certified(std::span<const SampledStep> steps, Direction direction, double x, double rtol) {
    const SortedSteps c = sorted_steps(steps);
    Bracket answer;
    if (Question::closed(c, direction, x, answer)) return answer;
    for (const Effort effort : {kPlainEffort, effort_for(rtol)}) {
        Contour contour(c.steps, {}, direction, effort);
        if (Question::place(contour, x)) return Question::read(contour, x);
    }
    return kNoBracket;
}

}  // namespace

void curve_delta(std::span<const SampledStep> steps, Direction direction, std::span<const double> epsilons,
                 CurveAnswer* answers) {
    answer_all<DeltaAt>(steps, direction, epsilons, answers);
}

void curve_epsilon(std::span<const SampledStep> steps, Direction direction, std::span<const double> deltas,
                   CurveAnswer* answers) {
    answer_all<EpsilonAt>(steps, direction, deltas, answers);
}

void curve_epsilon_after(std::span<const SampledStep> steps, std::span<const SampledStep> repeated, Direction direction,
                         std::span<const double> times, double delta, CurveAnswer* answers) {
    const SortedSteps fixed = sorted_steps(steps), growing = sorted_steps(repeated);
    Contour contour(fixed.steps, growing.steps, direction, kPlainEffort);
    for (const double t : times) {
        std::vector<SampledStep> all(steps.begin(), steps.end());
        for (SampledStep s : repeated) {
            s.count *= t;
            all.push_back(s);
        }
        contour.repeat(t);
        *answers++ = answer_of<EpsilonAt>(sorted_steps(all), contour, direction, delta);
    }
}

double rough_delta(std::span<const SampledStep> steps, Direction direction, double epsilon) {
    const SortedSteps c = sorted_steps(steps);
    Bracket answer;
    if (DeltaAt::closed(c, direction, epsilon, answer)) return answer.upper;
    return chernoff_delta(saddle_at_epsilon({c.steps, direction, kInfinity}, epsilon), epsilon);
}

Bracket certified_delta(std::span<const SampledStep> steps, Direction direction, double epsilon, double rtol) {
    return certified<DeltaAt>(steps, direction, epsilon, rtol);
}

Bracket certified_epsilon(std::span<const SampledStep> steps, Direction direction, double delta, double rtol) {
    return certified<EpsilonAt>(steps, direction, delta, rtol);
}

}  // namespace renyi
