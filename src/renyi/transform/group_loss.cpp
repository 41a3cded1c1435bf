// Errors of L, in u. Let e_k = k c x - k^2 c^2/2, with an error of 3u of itself, and the weights have an error of 4u.
// The terms w_k (e^{e_k} - 1) of e^L - 1 then have an error of 12u and e^{e_k} w_k 3 |e_k| u, and 2 |log w_k| u more if
// they are formed from log w_k + e_k. Each addition adds u of all terms' sizes. Terms and weights below e^-60 of the
// largest are left out.
#include "renyi/transform/group_loss.hpp"

#include <algorithm>
#include <numbers>

#include "renyi/fp/lanes.hpp"
#include "renyi/special/binomial.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

constexpr double kNothing = 60.0;   // nats below the largest term: negligible
constexpr double kLargest = 600.0;  // largest exponent that is not scaled
constexpr double kUnseen = 50.0;    // nats below the largest posterior: negligible

struct Terms {
    const double *weight, *log_weight;
    double c, half;

    double exponent(int k, double x) const noexcept { return k * (c * x - k * half); }
    double log_term(int k, double x) const noexcept { return log_weight[k] + exponent(k, x); }
};

RENYI_MULTIVERSION
void fill_group(const Terms& terms, const int* last, const double* x, std::size_t n, double* loss,
                double* error) noexcept {
    const Terms g = terms;
    for (std::size_t block = 0; block < n; block += kLanes) {
        const int most = last[block / kLanes];
        const double additions = 12.0 + most;
        double shift[kLanes], whole[kLanes], excess[kLanes] = {}, size[kLanes] = {}, moved[kLanes] = {};
        for (int i = 0; i < kLanes; ++i) shift[i] = kLargest;
        for (int k = 1; k <= most; ++k) {
            for (int i = 0; i < kLanes; ++i) {
                const double t = g.log_weight[k] + k * (g.c * x[block + i] - k * g.half);
                shift[i] = t > shift[i] ? t : shift[i];
            }
        }
        for (int i = 0; i < kLanes; ++i) {
            shift[i] = select(shift[i] > kLargest, shift[i], 0.0);
            whole[i] = select(shift[i] > 0.0, 0.0, g.weight[0]);
        }
        for (int k = 1; k <= most; ++k) {
            const double w = g.weight[k], log_w = g.log_weight[k];
            for (int i = 0; i < kLanes; ++i) {
                const double e = k * (g.c * x[block + i] - k * g.half);
                const bool is_near = shift[i] == 0.0 && e < kLargest;
                const double t = select(is_near, e, log_w + e - shift[i]);
                const ExpReduction r = reduce_exp(t > -708.0 ? (t < 708.0 ? t : 708.0) : -708.0);
                const double grown = exp_of(r) * select(is_near, w, 1.0);
                const double lost = select(shift[i] > 0.0, 0.0, w);
                const double term = select(is_near, w * expm1_of(r), grown - lost);
                whole[i] += grown;
                excess[i] += term;
                size[i] += __builtin_fabs(term);
                moved[i] += grown * (3.0 * __builtin_fabs(e) - select(is_near, 0.0, 2.0 * log_w));
            }
        }
        for (int i = 0; i < kLanes; ++i) {
            const bool is_scaled = shift[i] > 0.0, is_near = !is_scaled && whole[i] > 0.75 && whole[i] < 1.35;
            const double value = log_of(reduce_log(whole[i], select(is_scaled, whole[i] - 1.0, excess[i])));
            loss[block + i] = shift[i] + value;
            error[block + i] = additions * select(is_near, size[i] / whole[i], 1.0) + moved[i] / whole[i] +
                               4.0 * __builtin_fabs(loss[block + i]);
        }
    }
}

// Sums pi_k (e^{i k theta} - 1), then takes the logarithm and finds the branch.
RENYI_MULTIVERSION
void turn_block(const double* posterior, int count, const double* versine, const double* sine, const double* number,
                double theta, double* log_modulus, double* argument) noexcept {
    double re[kLanes] = {}, im[kLanes] = {};
    for (int k = 0; k < count; ++k) {
        for (int i = 0; i < kLanes; ++i) {
            re[i] -= posterior[k * kLanes + i] * versine[k];
            im[i] += posterior[k * kLanes + i] * sine[k];
        }
    }
    for (int i = 0; i < kLanes; ++i) {
        constexpr double kTurn = 2.0 * std::numbers::pi;
        log_modulus[i] = 0.5 * lane_log1p(2.0 * re[i] + (re[i] * re[i] + im[i] * im[i]));
        const double x = 1.0 + re[i], acute = lane_argument(im[i], __builtin_fabs(x));
        const double principal =
            select(x < 0.0, select(im[i] < 0.0, -0.5 * kTurn, 0.5 * kTurn) - acute, acute);
        const double turns = (theta * number[i] - principal) / kTurn + kRoundShift;
        argument[i] = principal + kTurn * (turns - kRoundShift);
    }
}

}  // namespace

GroupLoss::GroupLoss(double q, double c, int records) : records_(records), usual_(records), c_(c) {
    const BinomialTerms terms = BinomialTerms::sampled(records, q);
    double largest = -kInfinity;
    for (int k = 0; k <= records; ++k) {
        log_weight_.push_back(terms.log_at(k).hi);
        weight_.push_back(detail::to_double(terms.at(k)));
        if (k > 0) largest = std::max(largest, log_weight_.back());
    }
    while (usual_ > 1 && log_weight_[static_cast<std::size_t>(usual_)] < largest - kNothing) --usual_;
}

// The terms are log-concave in k: they rise to the largest and fall beyond.
int GroupLoss::last_term(double x) const noexcept {
    const Terms terms{weight_.data(), log_weight_.data(), c_, 0.5 * c_ * c_};
    double top = log_weight_[0];
    for (int k = 1; k <= records_; ++k) {
        const double t = terms.log_term(k, x);
        if (k > usual_ && t < top - kNothing) return k - 1;
        top = std::max(top, t);
    }
    return records_;
}

void GroupLoss::evaluate(std::span<const double> x, double* loss, double* error) const {
    std::vector<int> last;
    for (std::size_t block = 0; block < x.size(); block += kLanes)
        last.push_back(last_term(*std::max_element(&x[block], &x[block] + kLanes)));
    fill_group({weight_.data(), log_weight_.data(), c_, 0.5 * c_ * c_}, last.data(), x.data(), x.size(), loss, error);
}

GroupLoss::Rise GroupLoss::rise(double x) const noexcept {
    const Terms terms{weight_.data(), log_weight_.data(), c_, 0.5 * c_ * c_};
    const int last = last_term(x);
    double top = 0.0;
    for (int k = 1; k <= last; ++k) top = std::max(top, terms.log_term(k, x) - log_weight_[0]);
    double sum = 0.0, number = 0.0;
    for (int k = 1; k <= last; ++k) {
        const double term = std::exp(terms.log_term(k, x) - log_weight_[0] - top);
        sum += term;
        number += k * term;
    }
    const double none = std::exp(-top);
    return {top > 0.0 ? top + std::log(none + sum) : std::log1p(sum), number / (none + sum)};
}

double GroupLoss::reach(double depth) const noexcept {
    double farthest = std::sqrt(2.0 * depth);
    for (std::size_t k = 1; k < log_weight_.size(); ++k)
        if (const double rest = depth + log_weight_[k]; rest > 0.0)
            farthest = std::max(farthest, static_cast<double>(k) * c_ + std::sqrt(2.0 * rest));
    return farthest;
}

double GroupLoss::log_tail(double x) const noexcept {
    double top = -kInfinity;
    const auto log_part = [&](std::size_t k) {
        const double d = std::max(x - static_cast<double>(k) * c_, 0.0);
        return log_weight_[k] - 0.5 * d * d - (d > 0.0 ? kLog2 : 0.0);
    };
    for (std::size_t k = 0; k < log_weight_.size(); ++k) top = std::max(top, log_part(k));
    double sum = 0.0;
    for (std::size_t k = 0; k < log_weight_.size(); ++k) sum += std::exp(log_part(k) - top);
    return top + std::log(sum) + 1e-9;
}

GroupTurns::GroupTurns(const GroupLoss& law, std::span<const double> x) : number_(x.size(), 0.0) {
    const Terms terms{law.weight_.data(), law.log_weight_.data(), law.c_, 0.5 * law.c_ * law.c_};
    for (std::size_t block = 0; block < x.size(); block += kLanes) {
        const auto [least, most] = std::minmax_element(&x[block], &x[block] + kLanes);
        const auto top_at = [&](double at) {
            double top = -kInfinity;
            for (int k = 0; k <= law.records_; ++k) top = std::max(top, terms.log_term(k, at));
            return top;
        };
        const double lower = top_at(*least) - kUnseen, upper = top_at(*most) - kUnseen;
        int first = 0, last = law.records_;
        while (first < last && terms.log_term(first, *least) < lower) ++first;
        first = std::max(first, 1);
        while (last >= first && terms.log_term(last, *most) < upper) --last;
        blocks_.push_back({posterior_.size(), first, last - first + 1});
        most_ = std::max(most_, last);
        for (int i = 0; i < kLanes; ++i) {
            const double at = x[block + static_cast<std::size_t>(i)], top = top_at(at);
            double sum = first == 1 ? lane_exp(terms.log_term(0, at) - top) : 0.0, number = 0.0;
            posterior_.resize(blocks_.back().start + static_cast<std::size_t>((last - first + 1) * kLanes));
            double* row = posterior_.data() + blocks_.back().start + i;
            for (int k = first; k <= last; ++k) {
                const double term = lane_exp(terms.log_term(k, at) - top);
                row[(k - first) * kLanes] = term;
                sum += term;
                number += k * term;
            }
            for (int k = first; k <= last; ++k) row[(k - first) * kLanes] /= sum;
            number_[block + static_cast<std::size_t>(i)] = number / sum;
        }
    }
}

void GroupTurns::turn(double theta, double* log_modulus, double* argument) const {
    std::vector<double> versine, sine;
    for (int k = 0; k <= most_; ++k) {
        const double half = std::sin(0.5 * k * theta);
        versine.push_back(2.0 * half * half);
        sine.push_back(std::sin(k * theta));
    }
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const Block& block = blocks_[b];
        turn_block(posterior_.data() + block.start, block.count, versine.data() + block.first,
                   sine.data() + block.first, number_.data() + b * kLanes, theta, log_modulus + b * kLanes,
                   argument + b * kLanes);
    }
}

}  // namespace renyi
