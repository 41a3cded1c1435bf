// Let w = c x - c^2/2 and v = w + lambda be the logarithm of the odds, c = 1/sigma and lambda = log(q/(1-q)). The loss
// of a step is
//     log q + w + log(1 + e^-v) = log(1-q) + log(1 + e^v),
// so at least T = log q + w where the sample had the record and T = log(1-q) where it had not. The sum of w over n
// steps with the record is Gaussian with mean n c^2/2 and variance n c^2. With T in place of the losses,
//     E_n (1 - e^{eps - S})_+ >= delta_G(c sqrt n; eps_n),   eps_n = eps - n log q - (k-n) log(1-q),
// where n of the k steps had the record and delta_G is the curve of the Gaussian mechanism. With w_n = Bin(n; k, q) and
// any N,
//     delta(eps) = P_N + sum_{n<N} w_n delta_n - sum_{n>=N} w_n D_n,   P_N = sum_{n>=N} w_n,  D_n = 1 - delta_n.
// Next to P_N, a plateau of delta, both sums are small and right to all their digits, as is delta - P_N in
// double-doubles.
//
// The bound from the other side: let G be the outcomes in which v >= g in every step with the record, and R the sum of
// log(1 + e^v) over the other steps. On G the sum of the losses S is at most T + rho + R, rho = n log(1 + e^-g). Beyond
// G one step with the record has a loss of at most log(1-q) + log(1 + e^g), so that S > eps needs large losses of the
// others:
//     delta_n <= E delta_G(eps_n - rho - R) + F_n,   D_n >= D_G(eps_n - rho) E e^-R - F_n,
//     F_n = P(not G, S > eps) <= n Q(c/2 + (lambda - g)/c) P(the others > eps - log(1-q) - log(1 + e^g)).
// The last factor is at most e^{-t y} a^{n-1} (1 + K)^{k-n} by Markov's inequality, 0 < t <= 1, and for n = 1 and y > 0
// also ((1 + K)^{k-1} - 1)/(e^{t y} - 1), with y = eps - log(1 + e^g) - (k-n+1) log(1-q). Here
// a = q^t e^{c^2 t (t+1)/2} + (1-q)^t bounds E e^{t L} with the record, and 1 + K bounds E (1 + e^v)^t without the
// record, as (1 + x)^t - 1 is at most t x and x^t:
//     K(t) = t e^lambda Q(lambda/c + c/2) + e^{t lambda - t (1-t) c^2/2} Q(c/2 - t c - lambda/c).
// E e^-R >= 1 - (k-n) E min(1, e^v), and as (1 - e^-(x+R))_+ - (1 - e^-x)_+ <= e^{t x} (e^{t R} - 1)/t,
//     E delta_G(eps' - R) <= delta_G(eps') + E_n e^{t (T - eps)} ((1 + K)^{k-n} - 1)/t.
//
// Where E|S - T| <= k 4 (1-q) E e^{v/2} is negligible beside delta or 1 - delta, it is the better bound.
//
// Replaced records: the loss of a step is the loss above less its value at the output -x, so about T = lambda + w with
// the record and T = 0 without, eps_n = eps - n lambda. By log(1 + e^u) <= 2 e^{u/2} three of the four logarithms of
// S - T have a mean of at most 2 (1-q) E e^{v/2} each. The fourth one, usually negligible, has e^{-c^2/2} q/(1-q) times
// as much, which is more where nearly all records are drawn. As (1 - e^{eps-s})_+ rises by no more than s does, delta
// is within E|S - T| of the delta from T.
#include "renyi/curve/included_records.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "renyi/curve/closed_curve.hpp"
#include "renyi/fp/search.hpp"
#include "renyi/special/binomial.hpp"
#include "renyi/special/normal.hpp"

namespace renyi {

namespace {

// Tuning: these affect width and time, not validity, as every tilt and g gives a bound; except kCertain and kUp.
constexpr double kMostOverlap = -15.0;              // log of the mean of S - T
constexpr double kSeparate = 36.0;                  // nats by which a negligible overlap is below what is sought
constexpr double kCertain = 40.0;                   // deviations; Q(40) < e^-800
constexpr double kMostTerms = 1e6;                  // terms of all sums that one question computes
constexpr double kFew = 16.0;                       // inclusions, in the mean, up to which a removed record may overlap
constexpr double kExact = 2000.0;                   // ... up to which plateaus are computed in double-doubles
constexpr double kMany = 1e3;                       // ... from which an inclusion line takes less time
constexpr double kClear = 36.0, kClearBelow = 1.0;  // g in nats, and its least distance below epsilon
constexpr double kPrecision = 1e-13;                // relative accuracy of an end of epsilon
constexpr int kMostTurns = 60;
constexpr double kTilts[] = {0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0};
constexpr double kUp = 1.0 + 1e-9;  // raises bounds that come from logarithms

// log (k E|S - T|): with log(1 + e^u) <= 2 e^{u/2} both parts are at most
// 2 (1-q) E e^{v/2} = 2 (1-q) e^{lambda/2 - c^2/8}; replaced records have a third part like these, and the fourth.
double log_overlap(const SampledStep& s, SampledPair pair) noexcept {
    const double c = 1.0 / s.sigma;
    const double parts =
        pair == SampledPair::replace_one ? 6.0 + 2.0 * std::exp(-0.5 * c * c) * s.q / (1.0 - s.q) : 4.0;
    return std::log(parts * s.count) + 0.5 * (std::log(s.q) + std::log1p(-s.q)) - 0.125 * c * c;
}

// Q(x), right to 1e-12 of itself.
double tail_above(double x) noexcept { return upper_tail(x).value * raised(kManyRoundings) + kSmallestNormal; }

// (1-q)^k, right to (k + 64) 2^-99 of itself: squarings double the error of what they square.
Scaled none_included(const SampledStep& s) noexcept {
    Scaled power = kScaledOne, square{two_sum(1.0, -s.q), 0.0};
    for (double n = s.count; n >= 1.0; n = std::floor(0.5 * n)) {
        if (std::fmod(n, 2.0) == 1.0) power = power * square;
        square = square * square;
    }
    return power;
}

struct Plateau {
    double number;  // N
    Bracket above;  // delta - P_N
};

// The plateau next to delta. A step of the recurrence adds an error of 2^-98; the terms left out are less than the last
// term.
Plateau exact_plateau(const SampledStep& s, double delta) {
    const BinomialTerms terms = BinomialTerms::sampled(s.count, s.q);
    const Scaled sought = normalised({{delta, 0.0}, 0.0});
    std::vector<Scaled> weights{none_included(s)};
    for (double n = 0.0; n < s.count; n += 1.0) {
        const Scaled last = weights.back(), next = terms.next(last, n);
        if (ratio(next, sought) < 0x1p-120 && ratio(next, last) < 0.5) break;
        weights.push_back(next);
    }
    Scaled sum = kScaledZero, above = sought;  // of P_n, and delta - P_n
    double number = static_cast<double>(weights.size());
    while (number > 1.0 && above.mantissa.hi > 0.0) {
        const Scaled more = sum + weights[static_cast<std::size_t>(number) - 1],
                     rest = sought + Scaled{-more.mantissa, more.exponent};
        if (rest.mantissa.hi <= 0.0 && !(ratio(absolute(rest), above) < 1.0)) break;
        number -= 1.0;
        sum = more;
        above = rest;
    }
    const double value = detail::to_double(above);
    const double relative = (s.count + 64.0) * 0x1p-98 + static_cast<double>(weights.size()) * 0x1p-96;
    const double error = delta * 0x1p-119 + detail::to_double(sum) * relative + std::fabs(value) * 0x1p-51;
    return {number, {value - error - kSmallestNormal, value + error + kSmallestNormal}};
}

// The plateau that is used for delta. With many inclusions it need not be the next one, and is less exact.
Plateau plateau(const SampledStep& s, double delta) {
    if (s.count * s.q <= kExact) return exact_plateau(s, delta);
    const double spread = std::sqrt(s.count * s.q * (1.0 - s.q)), normal = gaussian_epsilon_guess(1.0, delta);
    const double number = std::clamp(std::round(s.count * s.q + normal * spread), 1.0, s.count);
    const BinomialTails tails = binomial_tails(s.count, s.q, number);
    const double rest = 1.0 - delta;  // a double above 1/2
    const Bracket found = delta > 0.5 ? Bracket{lower(tails.below) - rest, upper(tails.below) - rest}
                                      : Bracket{delta - upper(tails.from), delta - lower(tails.from)};
    return {number, {std::nextafter(found.lower, -kInfinity), std::nextafter(found.upper, kInfinity)}};
}

// log (e^{m x} - 1), rounded up.
double log_grown(double m, double x) noexcept {
    return m * x > 700.0 ? m * x : std::log(std::expm1(m * x) + kSmallestNormal);
}

class InclusionMean {
public:
    InclusionMean(const SampledStep& step, SampledPair pair, double goal)
        : s_(step),
          replaces_(pair == SampledPair::replace_one),
          is_separate_(replaces_ || log_overlap(step, pair) < std::log(goal) - kSeparate) {
        if (is_separate_) moved_ = std::exp(log_overlap(step, pair)) * kUp;
        if (is_separate_) return;
        const double with = std::exp(log_odds_) * tail_above(log_odds_ / c_ + 0.5 * c_);
        turned_ = (with + tail_above(0.5 * c_ - log_odds_ / c_)) * kUp;
        for (const double t : kTilts) {
            const double beyond =
                std::exp(t * log_odds_ - 0.5 * t * (1.0 - t) * c_ * c_) * tail_above((0.5 - t) * c_ - log_odds_ / c_);
            const double log_k = std::log1p((t * with + beyond) * kUp), rest = t * log_rest_;
            const double included = t * log_q_ + 0.5 * c_ * c_ * t * (t + 1.0);
            tilts_.push_back({t, log_k, included, included + std::log1p(std::exp(rest - included))});
        }
    }

    Bracket delta(double epsilon);
    Bracket epsilon(double delta, const Plateau& on);

private:
    struct Sums {
        double below, above;  // sums of w_n delta_n over n < N, of w_n D_n over n >= N
    };
    struct Tilt {
        double t, log_k, included, log_a;  // logarithms of 1 + K, of q^t e^{c^2 t (t+1)/2} and of a
    };
    enum class End { lower, upper };  // the end of delta

    double loss_of(double n) const noexcept { return n * (0.5 * c_ * c_ + with_) + (s_.count - n) * without_; }
    double number_at(double a, double epsilon) const noexcept;
    double log_elsewhere(double n, double g, double epsilon) const noexcept;
    double log_turned(double n, double epsilon) const noexcept;
    Sums sums(double epsilon, double number, End end) noexcept;

    const SampledStep s_;
    const bool replaces_, is_separate_;
    const double log_q_ = std::log(s_.q), log_rest_ = std::log1p(-s_.q), log_odds_ = log_q_ - log_rest_,
                 c_ = 1.0 / s_.sigma;
    const double with_ = replaces_ ? log_odds_ : log_q_, without_ = replaces_ ? 0.0 : log_rest_;  // T - w and T
    double turned_ = 0.0;  // E min(1, e^v)
    double moved_ = 0.0;   // a bound of E|S - T| that is added to delta
    std::vector<Tilt> tilts_;
    double terms_left_ = kMostTerms;
};

// The number n at which a_n = eps_n/(c sqrt n) - c sqrt n/2 is a, roughly. Where inclusions lower the loss, a_n is
// positive for all n.
double InclusionMean::number_at(double a, double epsilon) const noexcept {
    const double slope = log_odds_ / c_ + 0.5 * c_, all = (epsilon - s_.count * without_) / c_;
    if (!(slope > 0.0)) return a > 0.0 ? 0.0 : kInfinity;
    const double root = std::sqrt(a * a + 4.0 * slope * all);
    const double n = a > 0.0 ? 2.0 * all / (a + root) : (root - a) / (2.0 * slope);
    return n * n;
}

// log F_n, rounded up.
double InclusionMean::log_elsewhere(double n, double g, double epsilon) const noexcept {
    double least = 0.0;
    const double rest = s_.count - n;
    const double y = epsilon - g - std::log1p(std::exp(-g)) - (rest + 1.0) * log_rest_;
    for (const Tilt& at : tilts_) {
        const bool is_one = n == 1.0 && y > 0.0;
        least = std::min(least, is_one ? log_grown(rest, at.log_k) - std::log(std::expm1(at.t * y))
                                       : (n - 1.0) * at.log_a + rest * at.log_k - at.t * y);
    }
    return std::log(n * tail_above(0.5 * c_ + (log_odds_ - g) / c_)) + least + 1e-9;
}

// log of the bound of E delta_G(eps_n - R) - delta_G(eps_n), rounded up.
double InclusionMean::log_turned(double n, double epsilon) const noexcept {
    const double rest = s_.count - n;
    double least = kInfinity;
    for (const Tilt& at : tilts_)
        least = std::min(
            least, n * at.included + at.t * (rest * log_rest_ - epsilon) + log_grown(rest, at.log_k) - std::log(at.t));
    return least + 1e-9;
}

// The two sums, rounded so that they give `end` of delta. Terms beyond |a_n| = 40 are negligible, except those up to N.
InclusionMean::Sums InclusionMean::sums(double epsilon, double number, End end) noexcept {
    const bool is_upper = end == End::upper, is_turned = is_upper && !tilts_.empty();
    const auto near = [&](double a) { return number_at(a, epsilon); };
    const double begin = std::floor(near(kCertain) * lowered(kManyRoundings)) - 1.0;
    const double first = is_turned ? 0.0 : std::clamp(begin, 1.0, std::min(number, s_.count));
    const double beyond = std::ceil(near(-kCertain) * raised(kManyRoundings)) + 1.0;
    const double last = std::min(std::max(beyond, number), s_.count);  // N = k + 1 is P_N = 0
    if ((terms_left_ -= last + 1.0 - first) < 0.0) return is_upper ? Sums{1.0, 0.0} : Sums{0.0, 1.0};
    const double g = std::min(kClear, epsilon - kClearBelow), apart = std::log1p(std::exp(-g));
    const BinomialTerms weights = BinomialTerms::sampled(s_.count, s_.q);
    Scaled weight = first == 0.0 ? none_included(s_) : weights.at(first);
    Sums sum{0.0, 0.0};
    for (double n = first; n <= last; n += 1.0) {
        const double w = detail::to_double(weight), error = detail::binomial_error(s_.count, n - first);
        const double rest = s_.count - n, without = rest * without_, mu = c_ * std::sqrt(n);
        const double size = std::fabs(epsilon) - n * (log_q_ + log_rest_) + std::fabs(without);
        const double rounding = 8.0 * kUnitRoundoff * size;
        const double rho = is_turned ? n * apart : 0.0, at = epsilon - n * with_ - without;
        const CurvePoint curve = is_upper ? gaussian_curve_point(mu * (1.0 + 4.0 * kUnitRoundoff), at - rounding - rho)
                                          : gaussian_curve_point(mu * (1.0 - 4.0 * kUnitRoundoff), at + rounding);
        const Bracket found = bounds_of(n < number ? curve.delta : curve.complement);
        const double elsewhere = is_turned && n > 0.0 ? std::exp(log_elsewhere(n, g, epsilon)) : 0.0;
        if (n < number) {
            const double more = is_turned ? std::exp(log_turned(n, epsilon - rho)) + elsewhere : 0.0;
            sum.below +=
                is_upper ? w * (1.0 + error) * (found.upper + more) + kSmallestNormal : w * (1.0 - error) * found.lower;
        } else {
            const double kept = 1.0 - (is_turned ? rest * turned_ : 0.0);
            sum.above += is_upper ? w * (1.0 - error) * std::max(found.lower * kept - elsewhere, 0.0)
                                  : w * (1.0 + error) * found.upper + kSmallestNormal;
        }
        if (n < s_.count) weight = weights.next(weight, n);
    }
    const double slack = (last - first + 16.0) * kUnitRoundoff;
    if (is_upper)
        return {sum.below * (1.0 + slack) + moved_ + kSmallestNormal,
                std::max(sum.above * (1.0 - slack) - kSmallestNormal, 0.0)};
    return {sum.below * (1.0 - slack), sum.above * (1.0 + slack) + moved_ + kSmallestNormal};
}

Bracket InclusionMean::delta(double epsilon) {
    const double number = std::clamp(std::ceil(number_at(0.0, epsilon)), 1.0, s_.count + 1.0);
    const Certified all = binomial_tails(s_.count, s_.q, number).from;
    const Sums least = sums(epsilon, number, End::lower), most = sums(epsilon, number, End::upper);
    return {(lower(all) + least.below) * (1.0 - 4.0 * kUnitRoundoff) - least.above * (1.0 + 4.0 * kUnitRoundoff),
            (upper(all) + most.below) * (1.0 + 4.0 * kUnitRoundoff) - most.above * (1.0 - 4.0 * kUnitRoundoff) +
                kSmallestNormal};
}

// Where a decreasing excess passes 0, from both sides, in a bracket or beyond it, by false position.
Bracket crossing(Bracket around, auto excess) noexcept {
    FalsePosition ends{around.lower, around.upper, excess(around.lower), excess(around.upper)};
    while (!(ends.at_low > 0.0)) {
        if (!(ends.low > 0.0)) return {-kInfinity, ends.low};
        const double further = std::max(ends.low - 8.0 * ends.width(), 0.0);
        ends = {further, ends.low, excess(further), ends.at_low};
    }
    while (ends.at_high > 0.0) {
        if (ends.high > 1e300) return {ends.high, kInfinity};
        const double further = ends.high + 8.0 * ends.width();
        ends = {ends.high, further, ends.at_high, excess(further)};
    }
    for (int turn = 0; turn < kMostTurns && ends.width() > kPrecision * ends.high; ++turn) {
        const double part = turn % 4 == 3 ? 0.5 : std::clamp(ends.part(), 0.01, 0.99);
        const double middle = ends.low + part * ends.width(), here = excess(middle);
        here > 0.0 ? ends.move_low(middle, here) : ends.move_high(middle, here);
    }
    return {ends.low, ends.high};
}

// Solves sum_{n<N} w_n delta_n = (delta - P_N) + sum_{n>=N} w_n D_n by the logarithm of the ratio of both sides; a
// negative delta - P_N goes to the other side.
Bracket InclusionMean::epsilon(double delta, const Plateau& on) {
    if (!(moved_ < delta)) return {-kInfinity, kInfinity};
    // Without the record P and Q are one: delta(0) <= P_1.
    if (on.number == 1.0 && on.above.lower >= 0.0) return {-kInfinity, 0.0};
    const auto excess = [&](End end, double above) {
        return [this, end, above, number = on.number](double epsilon) {
            const Sums at = sums(epsilon, number, end);
            const double ratio = (at.below + std::max(-above, 0.0) + kSmallestNormal) /
                                 (at.above + std::max(above, 0.0) + kSmallestNormal);
            // NaN proves nothing: the end moves outward.
            return std::isnan(ratio) ? (end == End::upper ? kInfinity : -kInfinity) : std::log(ratio);
        };
    };
    const double least = std::max(loss_of(on.number - 1.0), 0.0), most = std::max(loss_of(on.number), least + 1.0);
    const Bracket lower = crossing({least, most}, excess(End::lower, on.above.upper));
    if (!(lower.upper < kInfinity)) return {lower.lower, kInfinity};
    const double start = std::max(lower.lower, 0.0);
    const Bracket upper = crossing({start, std::max(lower.upper, start) * (1.0 + 100.0 * kPrecision) + 1e-9},
                                   excess(End::upper, on.above.lower));
    return {lower.lower, upper.upper};
}

}  // namespace

Inclusions revealed_inclusions(const SortedSteps& c, SampledPair pair, double goal) noexcept {
    if (pair == SampledPair::add || c.steps.size() != 1 || c.has_groups) return Inclusions::unknown;
    const SampledStep& s = c.steps[0];
    const double overlap = log_overlap(s, pair), records = s.count * s.q;
    const bool takes_many = records > kFew && pair == SampledPair::remove;
    if (!(s.q < 1.0 && overlap < (takes_many ? std::log(goal) - kSeparate : kMostOverlap))) return Inclusions::unknown;
    return records < kMany ? Inclusions::few : Inclusions::many;
}

Bracket included_records_delta(const SampledStep& s, SampledPair pair, double epsilon) {
    if (!(epsilon >= 0.0)) return {0.0, 1.0};
    const Bracket found = InclusionMean(s, pair, kLeastGoal).delta(epsilon);
    return {std::fmax(found.lower, 0.0), std::fmin(found.upper, 1.0)};
}

Bracket included_records_epsilon(const SampledStep& s, SampledPair pair, double delta) {
    double goal = std::min(delta, 1.0 - delta);
    const Plateau on = plateau(s, delta);
    if (s.count * s.q <= kExact)  // next to a plateau the distance to it decides
        goal = std::min(goal, std::max({on.above.lower, -on.above.upper, kLeastGoal}));
    return InclusionMean(s, pair, goal).epsilon(delta, on);
}

}  // namespace renyi
