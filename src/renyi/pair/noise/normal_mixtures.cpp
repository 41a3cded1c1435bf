// Spans are narrow or wide. A span of half-width w, with all centres within d of its middle and w (4 d + 32 w) <= 1, is
// part of a panel (division.hpp) for every normal density. Any other span is wide if its losses differ by 1 at least,
// else it is divided. The masses of a wide span are differences of normal tails, whose cancellation costs less than a
// factor 5, and the mean is the difference of their logs.
//
// The loss is log1p(sum of w (N(to) - N(from))/sum of w N(from)), or the like with P in the denominator, so that small
// losses keep their digits; where the sums are far apart it is the difference of their logs. Where all moves start at
// one place the quotient is the sum of w (e^gain - 1): an error of 3u of each gain and of 6u of each term move it by
// the amount in loss_error, as long as the quotient is above -1/2.
#include "renyi/pair/noise/noises.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "renyi/pair/division.hpp"
#include "renyi/pair/noise/normal_moment.hpp"
#include "renyi/pair/operations/operations.hpp"
#include "renyi/special/normal.hpp"

namespace renyi {

namespace {

constexpr double kReach = 38.6;  // the density beyond is below 2^-1074
constexpr double kLogNegligible = -1040.0 * kLog2;
constexpr double kFarApart = 20.0, kNear = 2.0;
constexpr double kLeastWeight = 1e-307;

// Returns the width of [a, b] in panels for a density around 0: the panel's half-width w has w (4 d + 32 w) = 1.
double share_of_panel(double a, double b) noexcept {
    const double half = 0.5 * (b - a), d = 0.5 * std::fabs(a + b);
    return half * (2.0 * d + std::sqrt(4.0 * d * d + 32.0));
}

// log P(a < N < b), with an absolute error of 128u and a relative error of 2u.
double log_normal(double a, double b) noexcept {
    if (a + b < 0.0) return log_normal(-b, -a);
    const double length = b - a;
    if (share_of_panel(a, b) <= 1.0) {
        const Rule& rule = rule_for(1.0);
        double sum = 0.0;
        for (int i = 0; i < rule.count; ++i) {
            const double t = length * rule.node[i];
            sum += rule.weight[i] * lane_exp(-t * (a + 0.5 * t));
        }
        return lane_log(kInverseRoot2Pi * length * sum) - 0.5 * a * a;
    }
    const double beyond = 0.5 * erfcx(kRootHalf * b);
    if (a < 0.0) {
        const double below = 0.5 * lane_exp(-0.5 * a * a) * erfcx(-kRootHalf * a);
        return lane_log1p(-below - lane_exp(-0.5 * b * b) * beyond);
    }
    return lane_log(0.5 * erfcx(kRootHalf * a) - lane_exp(-0.5 * length * (a + b)) * beyond) - 0.5 * a * a;
}

struct NormalMove {
    double weight, from, to;
};

NormalMixture sampled_mixture(const NormalMixture& p, const NormalMixture& q, double rate) {
    NormalMixture found;
    for (const NormalComponent& c : q) found.push_back({(1.0 - rate) * c.weight, c.mean});
    for (const NormalComponent& c : p) found.push_back({rate * c.weight, c.mean});
    return found;
}

// The curve of Gaussian noise on a Poisson sample in the domain where log A is proven; empty elsewhere.
CurvePointer sampled_gaussian(double mu, double rate, Direction direction) {
    if (!(mu >= 1e-6 && mu <= 99.0 && rate >= 1e-12 && rate < 1.0)) return nullptr;
    return sampled_gaussian_curve(rate, 1.0 / mu * lowered(6), direction);
}

// Two mixtures of normals whose spans come from the pair `read`: reverses and Poisson samples of NormalMixtures.
class KnownMixtures final : public Pair {
public:
    KnownMixtures(PairPointer read, NormalMixture p, NormalMixture q, CurvePointer removal, CurvePointer addition)
        : read_(std::move(read)),
          p_(std::move(p)),
          q_(std::move(q)),
          removal_(std::move(removal)),
          addition_(std::move(addition)) {}

    Spans spans(Side side, const Fineness& fineness) const override { return read_->spans(side, fineness); }
    CurvePointer moment(Direction direction) const override {
        const bool removal = direction == Direction::remove;
        if (const CurvePointer& known = removal ? removal_ : addition_) return known;
        return removal ? normal_mixture_moment(p_, q_)
                       : normal_mixture_moment(q_, p_);
    }
    PairPointer reverse() const override {
        return std::make_shared<const KnownMixtures>(read_->reverse(), q_, p_, addition_, removal_);
    }
    PairPointer sampled(double rate) const override {
        if (rate == 0.0 || rate == 1.0) return Pair::sampled(rate);
        auto read = std::make_shared<const PoissonSampledPair>(read_, rate);
        return std::make_shared<const KnownMixtures>(std::move(read), sampled_mixture(p_, q_, rate), q_, nullptr,
                                                     nullptr);
    }

private:
    PairPointer read_;
    NormalMixture p_, q_;
    CurvePointer removal_, addition_;  // curves known in another form; may be empty
};

// Two mixtures of normal distributions of variance 1 that differ by moves: Q has the weight of a move where it starts,
// P where it ends. The loss is monotone, or falls and then rises.
class NormalMixtures : public Pair {
public:
    NormalMixtures(std::vector<NormalMove> moves, bool symmetric)
        : moves_(std::move(moves)),
          one_start_(moves_.size() > 1 &&
                     std::ranges::all_of(moves_, [this](const NormalMove& m) { return m.from == moves_[0].from; })),
          symmetric_(symmetric) {
        bool left = false, right = false;
        for (const NormalMove& m : moves_) {
            log_weights_.push_back(lane_log(m.weight));
            lowest_ = std::min({lowest_, m.from, m.to});
            highest_ = std::max({highest_, m.from, m.to});
            farthest_ = std::max(farthest_, std::fabs(m.to - m.from));
            left |= m.to < m.from;
            right |= m.from < m.to;
        }
        const double low = lowest_ - kReach, high = highest_ + kReach;
        ends_ = symmetric_ ? std::vector<double>{low, 0.0, high}
                           : std::vector<double>{low, high};  // no span crosses loss 0
        std::vector<double> centres;
        for (const NormalMove& m : moves_) centres.insert(centres.end(), {m.from, m.to});
        std::ranges::sort(centres);
        for (std::size_t i = 1; i < centres.size(); ++i) {
            if (centres[i] - centres[i - 1] <= 3.0 * kReach) continue;
            ends_.push_back(centres[i - 1] + kReach);
            ends_.push_back(centres[i] - kReach);
        }
        std::ranges::sort(ends_);
        if (!(left && right)) return;
        const double turn = bisect(low, high, 0.0, [this](double x) { return !(slope(x) < 0.0); }).low;
        ends_.insert(std::ranges::upper_bound(ends_, turn), turn);
    }

    Spans spans(Side, const Fineness& fineness) const override {
        Spans found;
        found.infinite.upper = found.null.upper = kNegligible;
        const auto loss = [this](double x) { return this->loss(x); };
        for (std::size_t i = 1; i < ends_.size(); ++i) {
            const double start = ends_[i - 1], end = ends_[i];
            const Part whole{start, end, loss(start), loss(end)};
            // Between components far apart the mass is negligible, however wide the range of losses.
            if (end - start > kReach &&
                std::max(log_mass(start, end, true), log_mass(start, end, false)) < kLogNegligible) {
                add(whole, found);
                continue;
            }
            divide(whole, loss, fineness, [&](const Part& part) { add(part, found); });
        }
        return found;
    }
    CurvePointer moment(Direction direction) const override {
        auto [p, q] = mixtures();
        if (direction == Direction::add) std::swap(p, q);
        return normal_mixture_moment(std::move(p), std::move(q));
    }
    bool symmetric() const noexcept override { return symmetric_; }
    PairPointer reverse() const override {
        if (symmetric_) return shared_from_this();
        auto [p, q] = mixtures();
        auto read = std::make_shared<const ReversedPair>(shared_from_this());
        return std::make_shared<const KnownMixtures>(std::move(read), std::move(q), std::move(p), nullptr, nullptr);
    }
    PairPointer sampled(double rate) const override {
        if (rate == 0.0 || rate == 1.0) return Pair::sampled(rate);
        auto [p, q] = mixtures();
        auto read = std::make_shared<const PoissonSampledPair>(shared_from_this(), rate);
        return std::make_shared<const KnownMixtures>(std::move(read), sampled_mixture(p, q, rate), std::move(q),
                                                     sampled_gaussian(gaussian_shift(), rate, Direction::remove),
                                                     sampled_gaussian(gaussian_shift(), rate, Direction::add));
    }

    double loss(double x) const noexcept {
        const double excess = easy_ratio(x).excess;
        return std::isnan(excess) ? sums(x).loss : lane_log1p(excess);
    }
    OutputPoint at(double x, bool positive) const noexcept {
        const auto [excess, largest] = easy_ratio(x);
        if (!std::isnan(excess)) {
            const bool near = largest < kNear;  // the exponents of P and Q are nearly equal
            const double from = x - moves_[0].from;
            double density = near || !positive ? deep_exp(-0.5 * from * from) : 0.0;
            if (near && positive) density *= 1.0 + excess;
            for (std::size_t i = 0; positive && !near && i < moves_.size(); ++i)
                density += deep_exp(log_weights_[i] - 0.5 * (x - moves_[i].to) * (x - moves_[i].to));
            return {kInverseRoot2Pi * density, lane_log1p(excess)};
        }
        const Sums s = sums(x);
        return {kInverseRoot2Pi * (positive ? s.p * deep_exp(s.top_p) : s.q * deep_exp(s.top_q)), s.loss};
    }

private:
    // Returns P and Q.
    std::pair<NormalMixture, NormalMixture> mixtures() const {
        std::pair<NormalMixture, NormalMixture> found;
        const auto add = [](NormalMixture& to, double weight, double mean) {
            const auto same = std::ranges::find(to, mean, &NormalComponent::mean);
            if (same != to.end()) {
                same->weight += weight;
            } else {
                to.push_back({weight, mean});
            }
        };
        for (const NormalMove& move : moves_) {
            add(found.first, move.weight, move.to);
            add(found.second, move.weight, move.from);
        }
        return found;
    }

    struct Sums {  // the densities of both mixtures at a place, divided by e^top, and the loss
        double top_p, top_q, p, q, loss;
    };
    struct EasyRatio {
        double excess, largest;  // largest: the largest |gain|
    };

    double centre(const NormalMove& move, bool of_p) const noexcept { return of_p ? move.to : move.from; }
    Sums sums(double x) const noexcept {
        if (moves_.size() == 1) {
            const NormalMove& m = moves_[0];
            const double to = x - m.to, from = x - m.from;
            return {-0.5 * to * to, -0.5 * from * from, 1.0, 1.0, (m.to - m.from) * (x - 0.5 * (m.to + m.from))};
        }
        Sums s{-depth(x, true), -depth(x, false), 0.0, 0.0, 0.0};
        const bool apart = std::fabs(s.top_p - s.top_q) > kFarApart;
        if (!apart) s.top_p = s.top_q = std::max(s.top_p, s.top_q);
        double difference = 0.0;
        for (std::size_t i = 0; i < moves_.size(); ++i) {
            const NormalMove& m = moves_[i];
            const double to = log_weights_[i] - 0.5 * (x - m.to) * (x - m.to);
            const double from = log_weights_[i] - 0.5 * (x - m.from) * (x - m.from);
            if (apart) {
                s.p += lane_exp(to - s.top_p);
                s.q += lane_exp(from - s.top_q);
                continue;
            }
            const double gain = (m.to - m.from) * (x - 0.5 * (m.to + m.from));
            const double larger = lane_exp(std::max(to, from) - s.top_p), fall = larger * lane_expm1(-std::fabs(gain));
            const double smaller = std::fabs(gain) < 1.0 ? larger + fall : lane_exp(std::min(to, from) - s.top_p);
            s.p += gain >= 0.0 ? larger : smaller;
            s.q += gain >= 0.0 ? smaller : larger;
            difference += gain >= 0.0 ? -fall : fall;
        }
        if (apart) {
            s.loss = (s.top_p - s.top_q) + lane_log(s.p / s.q);
        } else {
            s.loss = difference >= 0.0 ? lane_log1p(difference / s.q) : -lane_log1p(-difference / s.p);
        }
        return s;
    }
    // The ratio of both densities minus 1, where several moves start at one place and the ratio is easily computed;
    // else NaN.
    EasyRatio easy_ratio(double x) const noexcept {
        double excess = one_start_ ? 0.0 : kNaN, largest = 0.0;
        for (const NormalMove& m : moves_) {
            const double length = m.to - m.from, gain = length * (x - 0.5 * (m.to + m.from));
            if (length == 0.0) continue;
            largest = std::max(largest, std::fabs(gain));
            excess += m.weight * lane_expm1(std::min(gain, kFarApart));
        }
        return {largest < kFarApart && excess > -0.5 ? excess : kNaN, largest};
    }
    // The approximate derivative of the loss.
    double slope(double x) const noexcept {
        const double top_p = -depth(x, true), top_q = -depth(x, false);
        double p = 0.0, q = 0.0, to = 0.0, from = 0.0;
        for (std::size_t i = 0; i < moves_.size(); ++i) {
            const NormalMove& m = moves_[i];
            const double in_p = lane_exp(log_weights_[i] - 0.5 * (x - m.to) * (x - m.to) - top_p);
            const double in_q = lane_exp(log_weights_[i] - 0.5 * (x - m.from) * (x - m.from) - top_q);
            p += in_p;
            q += in_q;
            to += in_p * m.to;
            from += in_q * m.from;
        }
        return to / p - from / q;
    }
    // -log of the largest term of a density, without kInverseRoot2Pi: a bound of -log of the density from above.
    double depth(double x, bool of_p) const noexcept {
        double found = kInfinity;
        for (std::size_t i = 0; i < moves_.size(); ++i) {
            const double d = x - centre(moves_[i], of_p);
            found = std::min(found, 0.5 * d * d - log_weights_[i]);
        }
        return found;
    }
    double log_mass(double start, double end, bool of_p) const noexcept {
        double top = -kInfinity, sum = 0.0;
        for (std::size_t i = 0; i < moves_.size(); ++i) {
            const double c = centre(moves_[i], of_p), term = log_weights_[i] + log_normal(start - c, end - c);
            sum = term > top ? sum * lane_exp(top - term) + 1.0 : sum + lane_exp(term - top);
            top = std::max(top, term);
        }
        return top + lane_log(sum);
    }
    // For a move with the shares s of P and Q, the length m and the gain g, an error of u of a place and of distances
    // moves the loss by s m (|x| + centres) times some u, and a relative error of 2u of the exponents moves it by
    // s min(1, |g|) times that. On a narrow span the exponents differ by at most 1/4 from those in the middle, so that
    // shares are at most e^(1/2) times those in the middle.
    double loss_error(const Part& part, bool narrow) const noexcept {
        const double far = std::max(std::fabs(part.start), std::fabs(part.end));
        if (moves_.size() == 1) return 6.0 * kUnitRoundoff * farthest_ * far;
        const double reach = far + std::max(std::fabs(lowest_), std::fabs(highest_));
        const double x = 0.5 * (part.start + part.end), deep_p = depth(x, true), deep_q = depth(x, false);
        const double terms = std::max(16.0, 10.0 + static_cast<double>(moves_.size()));  // and the additions
        double moved = 2.0 * farthest_, gained = 2.0;
        if (narrow) {
            moved = gained = 0.0;
            for (std::size_t i = 0; i < moves_.size(); ++i) {
                const NormalMove& m = moves_[i];
                if (m.from == m.to) continue;
                // Terms divided by the largest term, which bound the shares from above.
                const double shares = lane_exp(log_weights_[i] - 0.5 * (x - m.to) * (x - m.to) + deep_p) +
                                      lane_exp(log_weights_[i] - 0.5 * (x - m.from) * (x - m.from) + deep_q);
                const double length = std::fabs(m.to - m.from);
                moved += shares * length;
                gained += shares * std::min(1.0, length * reach);
            }
        }
        return kUnitRoundoff * (16.0 * moved * reach + terms * gained * (1.0 + std::min(deep_p, deep_q)) +
                                8.0 * std::max(std::fabs(part.first), std::fabs(part.last)));
    }
    Span wide_span(const Part& part) const noexcept {
        const double log_p = log_mass(part.start, part.end, true), log_q = log_mass(part.start, part.end, false);
        const double low = std::min(part.first, part.last), high = std::max(part.first, part.last);
        const double mean = std::clamp(log_p - log_q, low, high);
        const double p = deep_exp(log_p <= log_q ? log_q + mean : log_p);
        const double q = deep_exp(log_p <= log_q ? log_q : log_p - mean);
        const double loss_error =
            2.0 * this->loss_error(part, false) + kUnitRoundoff * (256.0 + 4.0 * (std::fabs(log_p) + std::fabs(log_q)));
        return {low, mean, high, p, q, kUnitRoundoff * (256.0 + 8.0 * std::fabs(std::max(log_p, log_q))), loss_error};
    }
    void add(const Part& part, Spans& found) const {
        const double share = std::max(share_of_panel(part.start - lowest_, part.end - lowest_),
                                      share_of_panel(part.start - highest_, part.end - highest_));
        if (share <= 1.0) {
            // Exponents have an error of 3u, and an error u |x| of the place moves them by (2 depth)^(1/2) u |x|.
            const bool of_p = part.first + part.last >= 0.0;
            const double deep = std::max(depth(part.start, of_p), depth(part.end, of_p));
            const double far = std::max(std::fabs(part.start), std::fabs(part.end));
            const double terms = std::max(32.0, 22.0 + static_cast<double>(moves_.size()));
            const double mass_error = kUnitRoundoff * (terms + 8.0 * deep + 4.0 * far * std::sqrt(2.0 * deep));
            found.spans.push_back(integrated(part, rule_for(share), *this, mass_error, loss_error(part, true)));
        } else if (std::fabs(part.last - part.first) >= 1.0) {
            found.spans.push_back(wide_span(part));
        } else {
            const double middle = 0.5 * (part.start + part.end), here = loss(middle);
            add({part.start, middle, part.first, here}, found);
            add({middle, part.end, here, part.last}, found);
        }
    }

    std::vector<NormalMove> moves_;
    bool one_start_;
    std::vector<double> log_weights_, ends_;  // the loss is monotone between consecutive ends
    double lowest_ = kInfinity, highest_ = -kInfinity, farthest_ = 0.0;  // range of the centres, and the longest move
    bool symmetric_;
};

// The pair (N(mu, 1), N(0, 1)) with the origin in the middle: P has mean mu/2, Q has mean -mu/2, and the loss at v is
// mu v. Its own reverse.
class GaussianPair final : public NormalMixtures {
public:
    explicit GaussianPair(double mu) : NormalMixtures({{1.0, -0.5 * mu, 0.5 * mu}}, true), mu_(mu) {}  // 0 < mu

    CurvePointer moment(Direction) const override {
        return std::make_shared<const LinearCurve>(0.5 * mu_ * mu_ * raised(6));
    }
    double gaussian_shift() const noexcept override { return mu_; }

private:
    double mu_;
};

}  // namespace

PairPointer gaussian_noise(double mu) { return std::make_shared<const GaussianPair>(mu); }

PairPointer gaussian_mixture(const std::vector<double>& weights, const std::vector<double>& means, double sigma) {
    std::vector<NormalMove> moves;
    for (std::size_t i = 0; i < weights.size(); ++i) moves.push_back({weights[i], 0.0, means[i] / sigma});
    return std::make_shared<const NormalMixtures>(std::move(moves), false);
}

PairPointer replaced_gaussian(const std::vector<double>& weights, const std::vector<double>& means, double sigma) {
    std::vector<NormalMove> moves;
    for (std::size_t i = 0; i < weights.size(); ++i) moves.push_back({weights[i], means[i] / sigma, -means[i] / sigma});
    return std::make_shared<const NormalMixtures>(std::move(moves), true);
}

PairPointer gaussian_group(double rate, double sigma, int records, int others) {
    std::vector<NormalMove> moves;
    const NormalMixture p = binomial_mixture({rate, sigma, 1.0, records});
    if (others == records) {
        for (const NormalComponent& c : p) moves.push_back({c.weight, -c.mean, c.mean});
        return std::make_shared<const NormalMixtures>(std::move(moves), true);
    }
    const NormalMixture q = others > 0 ? binomial_mixture({rate, sigma, 1.0, others}) : NormalMixture{{1.0, 0.0}};
    for (const NormalComponent& to : p)
        for (const NormalComponent& from : q)
            moves.push_back({std::max(to.weight * from.weight, kLeastWeight), -from.mean, to.mean});
    return std::make_shared<const NormalMixtures>(std::move(moves), false);
}

}  // namespace renyi
