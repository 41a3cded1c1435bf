// Range. Beyond R > s, s = alpha max m - (alpha-1) min n, the integrand falls at least like phi(x) e^{s (x-R)}, so that
// the rest is at most the integrand at R divided by R - s; likewise below.
//
// Rounding. A loss is the difference of two logarithms, whose errors are tracked: at small rates the loss may be
// smaller than they are. p e^{beta l} is computed from the sum of exponents. Terms are >= 0.
#include "renyi/pair/noise/normal_moment.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/pair/division.hpp"
#include "renyi/special/binomial.hpp"

namespace renyi {

namespace {

constexpr double kNats = 45.0;          // aimed accuracy: errors are below e^-kNats of the sum
constexpr int kWidths = 48;             // strips that are tried
constexpr int kMostTurns = 4;           // attempts, each with more nats
constexpr double kMostPoints = 0x1p16;  // with more points moment_far_apart is used
constexpr double kFarApart = 80.0;      // range of the means from which moment_far_apart is used

constexpr double kLeastWeight = 1e-307;

struct Logarithm {
    double value, error;
};

// log sum w e^{m x - m^2/2}. The weights add up to 1, so that it is log1p of sum w (e^{...} - 1): relatively accurate
// where the mixture is next to 1, as for samples at small rates.
Logarithm log_mixture_at(const NormalMixture& mixture, double x) noexcept {
    const double additions = static_cast<double>(mixture.size());
    double top = -kInfinity, lowest = 0.0, excess = 0.0, size = 0.0;
    for (const NormalComponent& c : mixture) {
        const double exponent = c.mean * (x - 0.5 * c.mean), grown = lane_expm1(std::min(exponent, 700.0));
        top = std::max(top, exponent);
        lowest = std::min(lowest, exponent);
        excess += c.weight * grown;
        // Exponents to 2u: |d expm1(e)| <= 2u |e| e^max(e, 0) <= 2u (1 + |e|) |expm1(e)|.
        size += c.weight * std::fabs(grown) * (16.0 + additions + 2.0 * std::fabs(exponent));
    }
    if (top < 700.0 && (lowest > -30.0 || excess > -0.5)) {
        const double value = lane_log1p(excess);
        return {value, kUnitRoundoff * (8.0 * std::fabs(value) + size / (1.0 + excess))};
    }
    double sum = 0.0;
    for (const NormalComponent& c : mixture) sum += c.weight * lane_exp(c.mean * (x - 0.5 * c.mean) - top);
    return {top + lane_log(sum), kUnitRoundoff * (32.0 + additions + 8.0 * std::max(std::fabs(top), -lowest))};
}

double phi(double t) noexcept { return t > -700.0 ? phi_of(reduce_exp(t)) : -1.0 - t; }

// log of phi(beta l) + beta phi(-l), the term divided by p.
double log_term(double beta, double loss) noexcept {
    const double t = beta * loss;
    if (t > 600.0) return t;
    if (loss < -600.0) return lane_log(beta) - loss;  // the rest is below e^-590 of it
    return std::log(phi(t) + beta * phi(-loss));
}

}  // namespace

NormalMixture binomial_mixture(const SampledStep& step, bool leaves_out) {
    const BinomialTerms terms = BinomialTerms::sampled(step.records, step.q);
    NormalMixture found;
    for (int k = 0; k <= step.records; ++k) {
        const double weight = detail::to_double(terms.at(k));
        if (weight < kLeastWeight && leaves_out) continue;
        found.push_back({std::max(weight, kLeastWeight), k / step.sigma});
    }
    return found;
}

namespace {

// The value with its error; an upper bound where the error is at least half the value.
Certified with_error(double value, double error) noexcept {
    if (error < 0.5 * value) return {value, error / value + 4.0 * kUnitRoundoff};
    return {(value + error) * (1.0 + 4.0 * kUnitRoundoff), 1.0};
}

class NormalMixtureMoment final : public RenyiCurve {
public:
    NormalMixtureMoment(NormalMixture p, NormalMixture q) : p_(std::move(p)), q_(std::move(q)) {
        // A single component becomes the origin, so that its logarithm is 0: losses next to 0 keep their digits.
        const double origin = q_.size() == 1 ? q_[0].mean : p_.size() == 1 ? p_[0].mean : 0.0;
        for (NormalMixture* mixture : {&p_, &q_})
            for (NormalComponent& c : *mixture) c.mean -= origin;
        const auto by_mean = [](const NormalComponent& a, const NormalComponent& b) { return a.mean < b.mean; };
        const auto [low_p, high_p] = std::minmax_element(p_.begin(), p_.end(), by_mean);
        const auto [low_q, high_q] = std::minmax_element(q_.begin(), q_.end(), by_mean);
        lowest_p_ = low_p->mean, highest_p_ = high_p->mean, lowest_q_ = low_q->mean, highest_q_ = high_q->mean;
    }

    LogMoment log_moment(double alpha) const noexcept override {
        const double beta = alpha - 1.0;
        if (beta == 0.0) return {{0.0, 0.0}, divergence(1.0).value, 0.0};
        if (is_long(alpha)) return moment_far_apart(alpha);
        double nats = kNats;
        LogMoment found{};
        for (int turn = 0; turn < kMostTurns; ++turn) {
            const Rule rule = rule_for(alpha, nats);
            double top = -kInfinity, sum = 0.0, error = 0.0, first = 0.0, second = 0.0, ends = 0.0, lost = kNegligible;
            for (double k = rule.first; k <= rule.last; k += 1.0) {
                const double x = rule.step * k;
                const Point point = at(x, rule.step);
                const double exponent = point.log_p + log_term(beta, point.loss);
                lost += lost_at(point, beta);
                if (exponent == -kInfinity) continue;
                if (exponent > top) {
                    const double scale = top == -kInfinity ? 0.0 : lane_exp(std::max(top - exponent, -708.0));
                    for (double* total : {&sum, &error, &first, &second, &ends}) *total *= scale;
                    top = exponent;
                }
                const double term = deep_exp(exponent - top);
                sum += term;
                error += term * ((48.0 + 8.0 * (0.5 * x * x + alpha * std::fabs(point.loss))) * kUnitRoundoff +
                                 moved_by_loss(point, beta));
                // p (l expm1(beta l) + phi(-l)) and p l^2 e^{beta l}
                const double t = beta * point.loss, weight = deep_exp(point.log_p + t - top);
                const double mass = deep_exp(point.log_p - top);
                first += (t > 0.0 ? -weight * lane_expm1(-t) : mass * lane_expm1(t)) * point.loss;
                if (point.loss > -600.0) first += mass * phi(-point.loss);
                second += weight * point.loss * point.loss;
                if (k == rule.first || k == rule.last) ends += term / rule.step;
            }
            if (!(sum > 0.0)) return {{lost, 1.0}, 0.0, 0.0};
            const double log_excess = top + std::log(sum);
            // The integral beyond each end, more than 4 away from the last peak, is less than the integrand there.
            const double log_a =
                log_excess > 0.0 ? log_excess + std::log1p(std::exp(-log_excess)) : std::log1p(std::exp(log_excess));
            const double bulk = std::log(2.0 + 2.0 * alpha);
            const double larger = std::max(log_a + rule.log_fall, bulk) + std::log(2.0);
            const double aliasing = std::exp(std::min(rule.log_aliasing + larger - log_excess, 700.0));
            const double relative = error / sum + aliasing + ends / sum + 1e-15;
            const double share = log_excess > 700.0 ? 1.0 : 1.0 / (1.0 + std::exp(-log_excess));  // (A-1)/A
            const double a = std::exp(std::min(log_a - top, 700.0));
            const double mean = first / a;
            found = {with_error(log_a, share * relative + lost), mean, std::max(second / a - mean * mean, 0.0)};
            if (aliasing + ends / sum < 1e-14) break;
            nats += std::max(std::log(aliasing + ends / sum) + 40.0, 8.0);
        }
        return found;
    }
    // sum p phi(-l). On the lines the logarithms are larger by pi/2 and log 1/cos(D a) at most; E_P |l| <= KL + 1.
    Certified divergence(double alpha) const noexcept override {
        if (alpha > 1.0) return RenyiCurve::divergence(alpha);
        if (is_long(2.0)) return divergence_far_apart();
        double nats = kNats;
        Certified found{};
        for (int turn = 0; turn < kMostTurns; ++turn) {
            const Rule rule = rule_for(2.0, nats);
            double sum = 0.0, error = 0.0, ends = 0.0, lost = kNegligible;
            for (double k = rule.first; k <= rule.last; k += 1.0) {
                const double x = rule.step * k;
                const Point point = at(x, rule.step);
                lost += lost_at(point, 1.0);
                const double term =
                    point.loss > -600.0 ? deep_exp(point.log_p) * phi(-point.loss) : deep_exp(point.log_p - point.loss);
                sum += term;
                error += term * ((48.0 + 8.0 * (0.5 * x * x + std::fabs(point.loss))) * kUnitRoundoff +
                                 moved_by_loss(point, 1.0));
                if (k == rule.first || k == rule.last) ends += term / rule.step;
            }
            if (!(sum > 0.0)) return {lost, 1.0};
            const double aliasing = std::exp(rule.log_aliasing) * (sum + 6.0 + 2.0 * rule.log_fall) / sum;
            found = with_error(sum, error + aliasing * sum + ends + 1e-15 * sum + lost);
            if (aliasing + ends / sum < 1e-14) break;
            nats += std::max(std::log(aliasing + ends / sum) + 40.0, 8.0);
        }
        return found;
    }

private:
    // A point of one rule.
    struct Point {
        double log_p, loss, error;  // log of the P-mass that the rule gives the point; the loss and its error
    };
    struct Rule {
        double step;
        double first, last;   // points, multiples of the step
        double log_aliasing;  // log of 2/(e^{2 pi a/h} - 1) e^{a^2/2}
        double log_fall;      // log of cos(D a)^-(alpha-1)
    };
    // Returns the rule of the widest step whose aliasing is below e^-nats.
    Rule rule_for(double alpha, double nats) const noexcept {
        const double half_p = 0.5 * (highest_p_ - lowest_p_), half_q = 0.5 * (highest_q_ - lowest_q_),
                     beta = alpha - 1.0;
        const double widest =
            std::min(0.98 * 0.5 * std::numbers::pi / std::max({half_p, half_q, 1e-3}), 2.0 * std::sqrt(nats));
        Rule best{};
        for (int i = 1; i <= kWidths; ++i) {
            const double a = widest * i / kWidths, fall = -beta * std::log(std::cos(half_q * a));
            const double exponent = nats + 0.5 * a * a + fall, step = 2.0 * std::numbers::pi * a / exponent;
            if (!(step > best.step)) continue;
            best.step = step;
            best.log_aliasing = std::log(2.0) + 0.5 * a * a - exponent - std::log(-std::expm1(-exponent));
            best.log_fall = fall;
        }
        const double reach = std::sqrt(2.0 * nats) + 4.0;
        const double above = std::max({alpha * highest_p_ - beta * lowest_q_, highest_p_, highest_q_});
        const double below = std::min({alpha * lowest_p_ - beta * highest_q_, lowest_p_, lowest_q_});
        best.last = std::ceil((above + reach) / best.step);
        best.first = std::floor((below - reach) / best.step);
        return best;
    }
    bool is_long(double alpha) const noexcept {
        if (std::max(highest_p_, highest_q_) - std::min(lowest_p_, lowest_q_) > kFarApart) return true;
        const Rule rule = rule_for(alpha, kNats);
        return rule.last - rule.first > kMostPoints;
    }
    // min_j (log 1/v_j + alpha (m-n_j)^2/2), and its slope in alpha.
    double nearest(const NormalComponent& of_p, double alpha, double& slope) const noexcept {
        double found = kInfinity;
        for (const NormalComponent& c : q_) {
            const double half_square = 0.5 * (of_p.mean - c.mean) * (of_p.mean - c.mean);
            const double value = alpha * half_square - std::min(lane_log(c.weight), 0.0);
            if (value >= found) continue;
            found = value;
            slope = half_square;
        }
        return found;
    }
    // K = alpha log S, S = sum w_i e^{u_i}, u_i = (alpha-1)/alpha nearest_i >= 0, each with a relative error of 16u.
    LogMoment moment_far_apart(double alpha) const noexcept {
        const double beta = alpha - 1.0;
        std::vector<double> exponents, rises;  // u and du/dalpha
        for (const NormalComponent& c : p_) {
            double slope = 0.0;
            const double near = nearest(c, alpha, slope);
            exponents.push_back(beta / alpha * near);
            rises.push_back(near / (alpha * alpha) + beta / alpha * slope);
        }
        const double top = *std::max_element(exponents.begin(), exponents.end());
        const double from = top > 700.0 ? top : 0.0;  // 0 lets small exponents keep their digits
        double sum = 0.0, excess = 0.0, first = 0.0, second = 0.0;
        for (std::size_t i = 0; i < p_.size(); ++i) {
            const double term = p_[i].weight * deep_exp(exponents[i] - from);
            sum += term;
            if (from == 0.0) excess += p_[i].weight * lane_expm1(exponents[i]);
            first += term * rises[i];
            second += term * rises[i] * rises[i];
        }
        const double log_sum = from == 0.0 ? lane_log1p(excess) : from + std::log(sum), mean = first / sum;
        return {{alpha * log_sum * raised(254), 0x1p-45},
                log_sum + alpha * mean,
                alpha * std::max(second / sum - mean * mean, 0.0)};
    }
    Certified divergence_far_apart() const noexcept {
        double sum = 0.0, slope = 0.0;
        for (const NormalComponent& c : p_) sum += c.weight * nearest(c, 1.0, slope);
        return {sum * raised(254), 0x1p-45};
    }
    Point at(double x, double step) const noexcept {
        const Logarithm p = log_mixture_at(p_, x), q = log_mixture_at(q_, x);
        const double loss = p.value - q.value;
        return {p.value - 0.5 * x * x - kHalfLog2Pi + std::log(step), loss,
                p.error + q.error + kUnitRoundoff * std::fabs(loss)};
    }
    // The effect of an error e of the loss on T(l) = phi(beta l) + beta phi(-l). moved_by_loss: the relative error, by
    // |T'| <= T (2/|l| + max(beta, 1)). lost_at: where e >= |l|/2, the absolute error, by
    // T(|l| + e) <= beta (beta + 1) (3 e)^2/2 e^{3 beta e}.
    static double moved_by_loss(const Point& point, double beta) noexcept {
        const double size = std::fabs(point.loss);
        return point.error < 0.5 * size ? 2.0 * point.error * (2.0 / size + std::max(beta, 1.0)) : 0.0;
    }
    static double lost_at(const Point& point, double beta) noexcept {
        if (point.error < 0.5 * std::fabs(point.loss)) return 0.0;
        const double size = 3.0 * point.error;
        return deep_exp(point.log_p) * beta * (beta + 1.0) * size * size * deep_exp(std::min(beta * size, 700.0));
    }

    NormalMixture p_, q_;
    double lowest_p_, highest_p_, lowest_q_, highest_q_;
};

class SampledGaussianCurve final : public RenyiCurve {
public:
    SampledGaussianCurve(double q, double sigma, Direction direction = Direction::remove) noexcept
        : q_(q), sigma_(sigma), direction_(direction) {}

    LogMoment log_moment(double alpha) const noexcept override {
        const bool removal = direction_ == Direction::remove;
        const LogADerivatives d = log_a_derivatives(q_, sigma_, removal ? alpha : 1.0 - alpha);
        return {d.value, removal ? d.first : -d.first, d.second};
    }
    Certified divergence(double alpha) const noexcept override {
        return direction_ == Direction::remove ? rdp_sampled_gaussian(q_, sigma_, alpha)
                                               : RenyiCurve::divergence(alpha);
    }
    double largest_loss() const noexcept override { return q_ == 0.0 || std::isinf(sigma_) ? 0.0 : kInfinity; }

private:
    double q_, sigma_;
    Direction direction_;
};

}  // namespace

CurvePointer normal_mixture_moment(NormalMixture p, NormalMixture q) {
    return std::make_shared<const NormalMixtureMoment>(std::move(p), std::move(q));
}

CurvePointer sampled_gaussian_curve(double q, double sigma, Direction direction) {
    return std::make_shared<const SampledGaussianCurve>(q, sigma, direction);
}

}  // namespace renyi
