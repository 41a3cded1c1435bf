#include "renyi/curve/inclusion_line.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "renyi/curve/closed_curve.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/fp/search.hpp"

namespace renyi {

namespace {

// Tuning: these affect width and time, not validity; except kMostExponent, beyond which e^-80 is below every rounding.
constexpr double kMostNoise = 0.6, kRevealing = 1.0;  // sigma; the second in deviations of an output
constexpr double kDepth = 34.0, kRoughDepth = 16.0;   // nats below delta at which terms are left out
constexpr double kMany = 45.0, kMostExponent = 40.0;  // nats that inclusions add to log M: all of them, and one step
constexpr double kMostNodes = 16384.0;
constexpr double kFewIncluded = 30.0;                       // nats that inclusions add to log M
constexpr double kLeastTilt = 3.0, kMostSpent = 8.0;        // as in measure_inversion.cpp
constexpr double kFarthest = 80.0;                          // the largest tilt
constexpr double kWithoutTilt = 30.0, kLeastWithout = 0.3;  // tilts; the first is divided by c^2
constexpr int kMostPlacements = 4, kMostTurns = 60, kFewTurns = 8, kMostNewton = 8;
constexpr double kReach = 0.5;                                    // reach of a line in epsilon, in units of 1/t
constexpr double kRough = 1e-4, kEnd = 1e-10, kLeastEnd = 1e-16;  // accuracy of epsilon; the last is absolute
constexpr double kOverlap = 0.1;                                  // sum of C, and shift of the mean in deviations
constexpr double kUseless = 0.1;                                  // relative error of delta
constexpr double kLittle = 18.0;                                  // nats, of delta over the sums without inclusions

double log1p_exp(double x) noexcept { return x > 700.0 ? x : std::log1p(std::exp(x)); }

}  // namespace

// The epsilon of which t is the saddle point of log M(t) - t eps - log t - log(1 + t), and the saddle-point formula.
double InclusionLine::epsilon_of(const Moment& at, double t) noexcept { return at.mean - 1.0 / t - 1.0 / (1.0 + t); }

double InclusionLine::log_estimate(const Moment& at, double t, double epsilon) noexcept {
    const double curvature = at.curvature + 1.0 / (t * t) + 1.0 / ((1.0 + t) * (1.0 + t));
    return at.value - t * epsilon - std::log(t) - std::log1p(t) - 0.5 * std::log(2.0 * std::numbers::pi * curvature);
}

// About the tilt from which on a property of the rough moment holds.
double InclusionLine::tilt_where(auto has) const noexcept {
    const auto at = [&](double t) { return has(rough_moment(t), t); };
    const Interval around = bisect_ratio(1e-18, kFarthest, 1.001, at, kMostTurns);
    return std::sqrt(around.low * around.high);
}

InclusionLine::InclusionLine(const SortedSteps& c, SampledPair pair)
    : gaussian_(c.gaussian), serves_(pair != SampledPair::add && !c.only_gaussian && !c.has_groups), pair_(pair) {
    double apart = kInfinity;  // the mean output of an included record from even odds, in deviations
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) continue;
        steps_.emplace_back(s, pair);
        serves_ = serves_ && s.sigma < kMostNoise && steps_.back().is_little();
        apart = std::min(apart, 0.5 / s.sigma + steps_.back().log_odds * s.sigma);
    }
    reveals_ = serves_ && apart > kRevealing;
}

// The moment for searches, without certificate: C is included only where it matters.
InclusionLine::Moment InclusionLine::rough_moment(double t) const noexcept {
    double base = 0.5 * gaussian_ * t * (t + 1.0), mean = 0.5 * gaussian_ * (2.0 * t + 1.0), included = 0.0,
           slope = 0.0, bend = 0.0;
    for (const InclusionOverlap& s : steps_) {
        const double overlap = overlaps_ ? s.at(t) : 0.0, log_b = std::log1p(overlap),
                     turn = overlaps_ ? s.slope_at(t) / (1.0 + overlap) : 0.0;
        const double x = s.log_included(t) - log_b, part = 1.0 / (1.0 + std::exp(-x)),
                     apart = s.log_included_slope(t) - turn;
        base += s.count * (s.log_base(t) + log_b);
        mean += s.count * (s.without + turn);
        included += s.count * log1p_exp(x);
        slope += s.count * part * apart;
        bend += s.count * part * (s.c * s.c + apart * apart * (1.0 - part));
    }
    const double factor = is_many_ ? 1.0 : -1.0 / std::expm1(-included);
    const double value = base + (is_many_ ? included : log_expm1(included));
    return {value, 0.0, value, mean + slope * factor, gaussian_ + factor * (bend - slope * slope * (factor - 1.0))};
}

// The certified moment. Errors: with many inclusions log A comes from A - 1, whose terms are right to 8 u and the size
// of their exponents; else exponents are right to 8 u of themselves.
InclusionLine::Moment InclusionLine::moment(double t) const noexcept {
    double base = 0.5 * gaussian_ * t * (t + 1.0), negative_base = base, included = 0.0, of_negative = 0.0;
    double error = 4.0 * kUnitRoundoff * base, included_error = 0.0;
    for (const InclusionOverlap& s : steps_) {
        const double overlap = s.at(t), missed = s.error(t, 0.0), x = s.log_included(t);
        const double size =
            8.0 * kUnitRoundoff *
            ((1.0 + t) * (std::fabs(s.log_odds) + std::fabs(s.log_q)) + s.c * s.c * t * (1.0 + t) + 2.0);
        if (is_many_) {
            const double with = t * s.with + 0.5 * s.c * s.c * t * (t + 1.0), without = t * s.without;
            const double excess =
                s.rest * std::expm1(without) + s.q * std::expm1(with) + std::exp(s.log_base(t)) * overlap;
            const double rounding =
                8.0 * kUnitRoundoff *
                (s.rest * std::fabs(without) +
                 s.q * (std::fabs(std::expm1(with)) +
                        std::exp(with) * (s.c * s.c * t * (t + 1.0) - t * (s.log_q + s.log_rest))));
            base += s.count * std::log1p(excess);
            error += s.count * ((rounding + std::exp(s.log_base(t)) * missed) / (1.0 + excess) +
                                2.0 * kUnitRoundoff * std::fabs(std::log1p(excess)));
            continue;
        }
        const double negative = 1.0 + overlap + missed + 2.0 * s.negative_part(t);
        base += s.count * (s.log_base(t) + std::log1p(overlap));
        negative_base += s.count * (s.log_base(t) + std::log(negative));
        error += s.count * (missed / (1.0 + overlap + std::exp(x)) +
                            4.0 * kUnitRoundoff * ((1.0 + t) * -s.log_rest + std::fabs(overlap) / (1.0 + overlap)));
        const double ratio = x - std::log1p(overlap), part = 1.0 / (1.0 + std::exp(-ratio));
        included += s.count * log1p_exp(ratio);
        of_negative += s.count * log1p_exp(x - std::log(negative));
        included_error += s.count * part * size;
    }
    const Moment rough = rough_moment(t);
    Moment m{base, error, 0.0, rough.mean, rough.curvature};
    if (!is_many_) {
        const double factor = -1.0 / std::expm1(-included);
        m.value += log_expm1(included);
        m.error += factor * included_error + 16.0 * kUnitRoundoff;
        m.absolute = negative_base + log_expm1(of_negative);
    }
    m.error += 4.0 * kUnitRoundoff * (std::fabs(base) + std::fabs(m.value));
    m.absolute = (is_many_ ? m.value : m.absolute) + 2.0 * m.error + 1e-9;
    return m;
}

// The saddle point, moved out where it is so near 0 that aliases decay slowly.
double InclusionLine::saddle(double epsilon) const noexcept {
    const double t = tilt_where([&](const Moment& at, double t) { return !(epsilon_of(at, t) < epsilon); });
    const Moment at = rough_moment(t);
    const double farther = kLeastTilt / std::sqrt(at.curvature);
    if (!(farther > t)) return t;
    const double spent = rough_moment(farther).value - farther * epsilon - (at.value - t * epsilon);
    return spent < kMostSpent ? farther : t;
}

// Estimates the epsilon of a delta by the saddle-point formula.
double InclusionLine::guess(double delta) const noexcept {
    const double t = tilt_where([&](const Moment& at, double t) {
        return !(log_estimate(at, t, epsilon_of(at, t)) > std::log(delta));
    });
    return epsilon_of(rough_moment(t), t);
}

// log of a bound of |M(z)|/M(t) for all Im z >= y.
double InclusionLine::log_tail(double y) const noexcept {
    const double t = tilt_;
    double base = 0.5 * gaussian_ * (t * (t + 1.0) - y * y), included = 0.0, rounding = 1e-9;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const InclusionOverlap& s = steps_[i];
        const double size = (1.0 + t) * (std::fabs(s.log_odds) - s.log_rest + s.c * s.c * t);
        rounding += s.count * kUnitRoundoff * (8.0 * size + 64.0);
        base += s.count * (s.log_base(t) + std::log(without_at_[i] + (is_many_ ? s.decayed(t, y) : 0.0)));
        included += s.count * log1p_exp(s.log_included(t) - 0.5 * s.c * s.c * y * y - std::log(without_at_[i]));
    }
    return base + (is_many_ ? 0.0 : log_expm1(included)) - at_.value + at_.error + rounding;
}

// Places rough lines until the size of delta is known, then, unless `roughly`, one line with the overlap.
bool InclusionLine::place(double epsilon, bool roughly) {
    is_many_ = false;
    tilt_ = saddle(epsilon);
    double included = 0.0, largest = -kInfinity;
    for (const InclusionOverlap& s : steps_) {
        included += s.count * log1p_exp(s.log_included(tilt_));
        largest = std::max(largest, s.log_included(tilt_));
    }
    is_many_ = included > kMany && largest < kMostExponent;
    const Moment at = rough_moment(tilt_);
    double goal = log_estimate(at, tilt_, epsilon);
    is_rough_ = true;
    for (int turn = 0; turn < kMostPlacements; ++turn) {
        if (!place_line(epsilon, goal)) return false;
        const double found = std::log(read(epsilon).value);
        if (found > goal - 1.0) {
            if (is_rough_ == roughly) return true;
            is_rough_ = false;
            goal = found - 0.5;
        } else {
            goal = std::isnan(found) ? goal - 20.0 : std::max(found - 0.5, goal - 20.0);
        }
    }
    return is_rough_ == roughly;
}

bool InclusionLine::place_line(double epsilon, double log_goal) {
    const double depth = is_rough_ ? kRoughDepth : kDepth;
    const double reach = std::sqrt(2.0 * depth / rough_moment(tilt_).curvature);
    const auto nearest = [&](std::initializer_list<double> tilts, double& best) {
        double least = kInfinity;
        for (const double s : tilts) {
            if (s < 0.0 || s > kFarthest) continue;
            const double level = log_chernoff({s, rough_moment(s).value}, epsilon) - log_goal + depth;
            const double distance = std::max(level, 1.0) / std::fabs(tilt_ - s);
            if (distance < least) least = distance, best = s;
        }
        return least;
    };
    const double left =
        nearest({0.0, 0.5 * tilt_, tilt_ - 0.5 * reach, tilt_ - reach, tilt_ - 1.5 * reach}, below_.tilt);
    const double right = nearest(
        {tilt_ + 0.25 * reach, tilt_ + 0.5 * reach, tilt_ + reach, tilt_ + 1.5 * reach, 2.0 * tilt_}, above_.tilt);
    step_ = 2.0 * std::numbers::pi / std::max(left, right);
    if (!(step_ > 0.0)) return false;
    double widest = 0.0, square = 0.0;
    for (const InclusionOverlap& s : steps_) {
        widest = std::max(widest, 1.0 / s.c);
        square = std::max(square, s.c * s.c);
    }
    farthest_ = std::max(above_.tilt, std::clamp(kWithoutTilt / square, kLeastWithout, 1.0));
    overlap_.clear();
    without_at_.clear();
    for (InclusionOverlap& s : steps_) {
        if (is_rough_ && !overlaps_) {
            s.ignore();
        } else if (!s.place(farthest_, std::min(10.0 * widest, kMostNodes * step_))) {
            return false;
        }
        s.set_tilt(tilt_);
        overlap_.push_back(s.at(tilt_));
        if (!(overlap_.back() > -0.5)) return false;
        without_at_.push_back(1.0 + overlap_.back() + (is_rough_ ? 0.0 : s.error(tilt_, 0.0)) +
                              (is_many_ ? 0.0 : 2.0 * s.negative_part(tilt_)));
    }
    at_ = is_rough_ ? rough_moment(tilt_) : moment(tilt_);
    centre_ = at_.mean;
    // `end`: the ordinate beyond which the tail is negligible.
    const double level = at_.value - tilt_ * epsilon - log_goal + depth;
    const auto is_enough = [&](double y) { return log_tail(y) + level < std::log(std::numbers::pi * y); };
    double low = 0.0, end = kMostNodes * step_;
    if (!is_enough(end)) return false;
    while (end - low > 0.02 * end) {
        const double middle = 0.5 * (low + end);
        (is_enough(middle) ? end : low) = middle;
    }
    sum_nodes(end);
    if (is_rough_) return true;
    const double last = static_cast<double>(nodes_.size()) * step_;
    log_tail_ = log_tail(last);
    double missed = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i)
        missed += steps_[i].count * steps_[i].error(tilt_, last) /
                  (1.0 + overlap_[i] + std::exp(steps_[i].log_included(tilt_)));
    missed_ = std::expm1(missed) * std::exp(at_.absolute - at_.value);
    below_.log_measure = moment(below_.tilt).absolute;
    above_.log_measure = moment(above_.tilt).absolute;
    bound_without(epsilon);
    return true;
}

// Sets Chernoff's bounds of the sums in which nearly no step has the record.
void InclusionLine::bound_without(double epsilon) {
    without_ = {0.0, is_many_ ? -kInfinity : kInfinity};
    several_ = {0.0, kInfinity};
    if (is_many_) return;
    const auto bound = [&](double tilt, auto overlap) {
        double sum = 0.5 * gaussian_ * tilt * (tilt + 1.0) * raised(kManyRoundings) + 1e-9;
        for (const InclusionOverlap& s : steps_)
            sum += s.count * (s.log_base(tilt) + std::log1p(overlap(s) + 2.0 * s.negative_part(tilt)) +
                              8.0 * kUnitRoundoff);
        return Bound{tilt, sum};
    };
    const auto keep = [&](const Bound& b) {
        if (log_chernoff(b, epsilon) < log_chernoff(without_, epsilon)) without_ = b;
    };
    for (const double tilt :
         {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0})
        keep(bound(tilt, [&](const InclusionOverlap& s) { return s.above(tilt); }));
    const double best = std::min(without_.tilt, farthest_);
    keep(bound(best, [&](const InclusionOverlap& s) { return s.at(best) + s.error(best, 0.0); }));
    if (gaussian_ > 0.0) return;
    for (const double tilt : {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}) {
        double sum = 0.0;
        for (const InclusionOverlap& s : steps_) sum += s.count * s.change(tilt);
        Bound b = bound(tilt, [&](const InclusionOverlap& s) { return s.above(tilt); });
        b.log_measure += std::log(0.5 * sum * sum / tilt) + 1e-9;
        if (b.log_measure - tilt * epsilon < several_.log_measure - several_.tilt * epsilon) several_ = b;
    }
}

// k nu(h) of the header's head comment; roundings move eps' by `slack`.
Bracket InclusionLine::one_overlap(double epsilon) const noexcept {
    double log_rest = 0.0, without = 0.0;
    for (const InclusionOverlap& s : steps_) {
        log_rest += s.count * s.log_rest;
        without += s.count * s.without;
    }
    Bracket sum{0.0, 0.0};
    for (const InclusionOverlap& s : steps_) {
        const double slack = 8.0 * kUnitRoundoff * (std::fabs(epsilon) - log_rest - s.log_q);
        const double at = epsilon - (without - s.without), weight = s.count * std::exp(log_rest - s.log_rest);
        const SampledStep one{s.q, 1.0 / s.c, 1.0};
        const auto single = [&](double eps) {
            return closed_delta(sorted_steps({&one, 1}), pair_, eps).value_or(Bracket{0.0, 1.0});
        };
        const Bracket all{single(at + slack).lower, single(at - slack).upper};
        const double most = s.q * gaussian_delta_bounds(s.c, at - s.with - slack).upper,
                     least = s.q * gaussian_delta_bounds(s.c, at - s.with + slack).lower;
        const double error = weight * most * 8.0 * kUnitRoundoff * (4.0 - log_rest);
        sum.lower += weight * (all.lower - most) - error;
        sum.upper += weight * (all.upper - least) + error;
    }
    return sum;
}

void InclusionLine::sum_nodes(double end) {
    nodes_.begin(tilt_, step_);
    const auto blocks = static_cast<int>(std::ceil(end / step_ / kLanes));
    for (int block = 0; block < blocks; ++block) sum_block(block * kLanes + 1.0);
}

void InclusionLine::sum_block(double first) {
    double y[kLanes], size[kLanes] = {}, included_at = 0.0;
    Complex log_base[kLanes] = {}, included[kLanes] = {};
    double error[kLanes] = {}, included_error[kLanes] = {};
    for (int j = 0; j < kLanes; ++j) {
        y[j] = (first + j) * step_;
        log_base[j] = {-0.5 * gaussian_ * y[j] * y[j], y[j] * 0.5 * gaussian_ * (2.0 * tilt_ + 1.0)};
    }
    const double t = tilt_;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const InclusionOverlap& s = steps_[i];
        double re[kLanes], im[kLanes];
        s.at_ordinates(y, re, im);
        const double square = s.c * s.c, k = s.count;
        const double log_at = std::log1p(overlap_[i]);
        const double excess_at = s.rest * std::expm1(t * s.without) +
                                 s.q * std::expm1(t * s.with + 0.5 * square * t * (t + 1.0)) +
                                 std::exp(s.log_base(t)) * overlap_[i];
        if (!is_many_) included_at += k * log1p_exp(s.log_included(t) - log_at);
        for (int j = 0; j < kLanes; ++j) {
            const Complex z{t, y[j]}, overlap{re[j], im[j]}, bend = 0.5 * square * z * (z + 1.0);
            if (is_many_) {
                const Complex without = z * s.without, with = z * s.with + bend, grown = expm1_complex(with);
                const Complex excess =
                    s.rest * expm1_complex(without) + s.q * grown +
                    std::exp(s.log_base(t)) * (std::polar(1.0, y[j] * s.without) * overlap);
                const Complex log_z = log1p_complex(excess);
                const double rounding =
                    s.rest * std::abs(without) +
                    s.q * (std::abs(grown) +
                           std::abs(grown + 1.0) * (std::abs(bend) - std::abs(z) * (s.log_q + s.log_rest)));
                log_base[j] += k * (log_z - std::log1p(excess_at));
                error[j] += k * (8.0 * rounding / std::max(std::abs(1.0 + excess), 1e-300) +
                                 4.0 * (std::abs(log_z) + std::fabs(std::log1p(excess_at))));
                continue;
            }
            const Complex log_b = log1p_complex(overlap);
            const double exponent = (1.0 + t) * std::fabs(s.log_odds) + y[j] * std::fabs(s.log_odds) + std::abs(bend);
            const Complex w = (1.0 + z) * s.log_odds + bend - log_b;
            const bool large = w.real() > kMostExponent;
            const Complex log_r = large ? w + std::exp(-w) : log1p_complex(std::exp(w));
            const double part = large ? 1.0 : std::abs(std::exp(w - log_r));
            log_base[j] += k * (Complex{0.0, y[j] * s.without} + log_b - log_at);
            error[j] += k * (4.0 * y[j] * -s.log_rest + 8.0 * (std::abs(log_b) + std::fabs(log_at)));
            included[j] += k * log_r;
            included_error[j] += k * (part * (8.0 * exponent + 16.0) + 8.0 * std::abs(log_r));
        }
    }
    for (int j = 0; j < kLanes; ++j) {
        const double turn = y[j] * centre_;
        const Complex turned = log_base[j] - Complex{0.0, turn}, all = turned + included[j] - included_at;
        Complex value = std::exp(all);
        if (!is_many_ && included_at < kFewIncluded) {
            value = std::exp(turned) * expm1_complex(included[j]) / std::expm1(included_at);
        } else if (!is_many_) {
            value -= std::exp(turned - included_at);
        }
        const double whole = is_many_ ? 0.0 : std::exp(all.real()) / -std::expm1(-included_at);
        size[j] = std::abs(value);
        nodes_.add(value.real(), value.imag(),
                   kUnitRoundoff * (size[j] * (error[j] + 32.0 + 4.0 * std::fabs(turn) + 4.0 * std::abs(log_base[j]) +
                                               4.0 * std::fabs(included_at)) +
                                    whole * included_error[j]));
    }
}

// Reads delta off the line; a rough line gives only the value and its slope.
InclusionLine::Reading InclusionLine::read(double epsilon) const noexcept {
    const double t = tilt_, log_value = at_.value - t * epsilon;
    const double log_error =
        at_.error +
        kUnitRoundoff * (32.0 + 4.0 * std::fabs(at_.value) + 4.0 * std::fabs(log_value) + 4.0 * t * std::fabs(epsilon));
    const auto [value, slope, error] = nodes_.read(centre_, epsilon, log_value, log_error, missed_, log_tail_);
    if (is_rough_) return {value, slope, value, value, 0.0};
    const double absolute = error * (1.0 + 1e-9);
    const auto alias = [&](const Bound& b) { return nodes_.alias(b.tilt, log_chernoff(b, epsilon)); };
    const double aliases = (alias(below_) + alias(above_)) * (1.0 + 1e-9);
    const double without = std::exp(log_chernoff(without_, epsilon)) * (1.0 + 1e-9);
    Bracket rest{-without, without};
    if (without > kUnitRoundoff * value && several_.log_measure < kInfinity && epsilon >= 0.0) {
        const double several = std::exp(several_.log_measure - several_.tilt * epsilon) * (1.0 + 1e-9);
        const Bracket one = one_overlap(epsilon);
        rest = common(rest, {one.lower - several, one.upper + several});
    }
    return {value + 0.5 * (rest.lower + rest.upper), slope, value - absolute - aliases + rest.lower,
            value + absolute + (is_many_ ? 0.0 : aliases) + rest.upper, absolute + aliases};
}

// Whether C, which is 0 at t = 0, moves the mean of the sum by more than a little of its deviation.
void InclusionLine::find_overlaps() {
    double moved = 0.0, variance = gaussian_;
    for (InclusionOverlap& s : steps_) {
        const double square = s.c * s.c;
        variance += s.count * s.q * square * (1.0 + 0.25 * square);
        if (s.count * s.above(0.0) > kOverlap && s.place(kLeastWithout, 10.0 / s.c))
            moved += s.count * std::fabs(s.slope_at(0.0));
    }
    overlaps_ = moved > kOverlap * std::sqrt(variance);
}

Bracket InclusionLine::delta(double epsilon) {
    find_overlaps();
    if (!place(epsilon, false)) return {0.0, 1.0};
    const Reading r = read(epsilon);
    return {std::fmax(r.lower, 0.0), std::fmin(r.upper, 1.0)};
}

// An epsilon whose delta is about the one sought: Newton's method in a bracket, on rough lines.
double InclusionLine::search(double delta, int most_turns) {
    double low = 0.0, high = kInfinity, epsilon = guess(delta);
    for (int turn = 0; turn < most_turns && !(high - low < kRough * low); ++turn) {
        if (!(epsilon > low && epsilon < high)) epsilon = high < kInfinity ? 0.5 * (low + high) : 2.0 * low + 1.0;
        const bool placed = place(epsilon, true);
        const Reading r = read(epsilon);
        const double move = placed ? std::log(r.value / delta) / -r.slope : -kInfinity;
        if (std::fabs(move) < kRough * epsilon) break;
        (placed && r.value > delta ? low : high) = epsilon;
        epsilon = std::min(epsilon + move, 2.0 * epsilon);
    }
    return epsilon;
}

// Newton's method on the line that is placed.
double InclusionLine::on_line(double delta, double epsilon) const noexcept {
    for (int turn = 0; turn < kMostNewton; ++turn) {
        const Reading r = read(epsilon);
        const double move = std::log(r.value / delta) / -r.slope;
        if (!(std::fabs(move) * tilt_ < kReach)) break;
        epsilon += move;
        if (std::fabs(move) < 4.0 * kUnitRoundoff * epsilon) break;
    }
    return epsilon;
}

// The first epsilon in `direction`, nearly, at which delta is certainly beyond the one sought. The search uses the
// placed line as far as the line reaches.
double InclusionLine::end_of(double delta, double epsilon, double direction) {
    const auto is_beyond = [&](const Reading& r) { return direction > 0.0 ? r.upper <= delta : r.lower >= delta; };
    const Reading here = read(epsilon);
    const double lack = direction > 0.0 ? here.upper - delta : delta - here.lower,
                 least = 4.0 * kUnitRoundoff * epsilon;
    const double line = kReach / tilt_;
    double move = std::clamp(1.1 * lack / (here.value * -here.slope), least, line), near = epsilon, far = epsilon;
    // Moves outward to where delta is beyond the one sought, or inward to where it is not.
    const bool is_outward = !is_beyond(here);
    const double towards = is_outward ? direction : -direction;
    for (;; move *= 2.0) {
        const double next = epsilon + towards * move;
        if (!(next > 0.0 && next < 1e15) || (move > line && !place(next, false)))
            return is_outward ? direction * kInfinity : far;
        const bool found = is_beyond(read(next)) == is_outward;
        (is_outward == found ? far : near) = next;
        if (found) break;
    }
    while (std::fabs(far - near) > std::max(kEnd * far, kLeastEnd)) {
        const double middle = 0.5 * (near + far);
        if (move > line && !place(middle, false)) break;
        (is_beyond(read(middle)) ? far : near) = middle;
    }
    return far;
}

Bracket InclusionLine::epsilon(double delta, bool in_any_case) {
    constexpr Bracket kNothing{-kInfinity, kInfinity};
    find_overlaps();
    double epsilon = search(delta, in_any_case ? kMostTurns : kFewTurns);
    bound_without(epsilon);
    if (log_chernoff(without_, epsilon) > std::log(delta) - (in_any_case ? 0.0 : kLittle)) return kNothing;
    bool is_found = false;
    for (int turn = 0; turn < kMostPlacements && !is_found; ++turn) {
        if (!(epsilon > 0.0 && place(epsilon, false))) return kNothing;
        const Reading r = read(epsilon);
        if (!(r.error < kUseless * r.value)) return kNothing;
        const double move = std::log(r.value / delta) / -r.slope;
        const bool is_near = std::fabs(move) * tilt_ < kReach;
        is_found = is_near || std::fabs(r.value - delta) < 2.0 * r.error;
        if (is_near) {
            epsilon = std::max(on_line(delta, epsilon + move), 0.0);
        } else if (!is_found) {
            epsilon = std::clamp(epsilon + move, 0.5 * epsilon, 2.0 * epsilon);
        }
    }
    if (!is_found) return kNothing;
    const double upper = end_of(delta, epsilon, 1.0);
    if (upper == kInfinity || !place(epsilon, false)) return {-kInfinity, upper};
    return {end_of(delta, epsilon, -1.0), upper};
}

}  // namespace renyi
