#include "renyi/transform/windowed_decay.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/special/circular.hpp"
#include "renyi/transform/windowed_kernels.hpp"

namespace renyi {

namespace {

void pad(std::vector<double>& a) { a.resize((a.size() + kLanes - 1) / kLanes * kLanes, 0.0); }

struct DecayLine {
    double a, sine, versine;
    double weighted, slope, y;
};
struct DecayStep {
    double sign, scale;                // scale = 1/width
    const double *argument, *log_cdf;  // u_0 and log Phi(u_0) at the nodes
};

// Sum of weight (e^E - 1), E the logarithm of what the modulus of the integrand is on the line Im x = a against that on
// the axis, for all ordinates beyond y. With p the posteriors of the sampled components in e^{L+} and e^{L-},
// m and arg the modulus and argument of 1 + p (e^{i theta} - 1):
//     E = a^2/2 + weighted log m_+ + slope (log m_+ - log m_-) - y (arg_+ + arg_-) + windows,
// and for every step of the window, at u + i v against u_0:  v^2/2 + log Phi(u) - log Phi(u_0).
// Of ratios p = 1 + V is multiplied by e^{i theta}: Re V moves by -p (1 - cos theta), Im V is p sin theta.
enum class Shape { one_sided, two_sided, ratio };

template <Shape kShape>
RENYI_INLINE double add_decay(const double* weight, const double* above, const double* below, std::size_t n,
                              const DecayLine& at, const DecayStep* steps, int count) noexcept {
    const DecayLine k = at;
    double sum[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        double exponent[kLanes], re[kLanes], im[kLanes];
        for (int i = 0; i < kLanes; ++i) {
            const double p = above[block + i];
            double up = 0.0;
            if (kShape == Shape::ratio) {
                re[i] = -p * k.versine;
                im[i] = p * k.sine;
            } else {
                up = 0.5 * lane_log1p(2.0 * p * k.versine * (p - 1.0));
                re[i] = up;
                im[i] = lane_argument(p * k.sine, 1.0 - p * k.versine);
            }
            if (kShape == Shape::two_sided) {
                const double r = below[block + i];
                re[i] -= 0.5 * lane_log1p(2.0 * r * k.versine * (r - 1.0));
                im[i] += lane_argument(r * k.sine, 1.0 - r * k.versine);
            }
            exponent[i] = 0.5 * k.a * k.a + k.weighted * up + k.slope * re[i] - k.y * im[i];
        }
        for (int s = 0; s < count; ++s) {
            const DecayStep step = steps[s];
            for (int i = 0; i < kLanes; ++i) {
                const double v = im[i] * step.scale, u = step.argument[block + i] + step.sign * (re[i] * step.scale);
                exponent[i] += 0.5 * (v * v) + (log_normal_cdf(u) - step.log_cdf[block + i]);
            }
        }
        for (int i = 0; i < kLanes; ++i)
            sum[i] += weight[block + i] * lane_expm1(exponent[i] < 700.0 ? exponent[i] : 700.0);
    }
    return total(sum);
}

RENYI_MULTIVERSION
double add_one_sided(const double* weight, const double* above, const double* below, std::size_t n, const DecayLine& at,
                     const DecayStep* steps, int count) noexcept {
    return add_decay<Shape::one_sided>(weight, above, below, n, at, steps, count);
}

RENYI_MULTIVERSION
double add_two_sided(const double* weight, const double* above, const double* below, std::size_t n, const DecayLine& at,
                     const DecayStep* steps, int count) noexcept {
    return add_decay<Shape::two_sided>(weight, above, below, n, at, steps, count);
}

RENYI_MULTIVERSION
double add_ratio(const double* weight, const double* above, const double* below, std::size_t n, const DecayLine& at,
                 const DecayStep* steps, int count) noexcept {
    return add_decay<Shape::ratio>(weight, above, below, n, at, steps, count);
}

// p = odds/(1 + odds), log odds = start + c x.
RENYI_MULTIVERSION
void find_posteriors(const double* x, std::size_t n, double start, double c, double* posterior) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
        const double e = -(start + c * x[i]);
        posterior[i] = 1.0 / (1.0 + lane_exp(e < 700.0 ? e : 700.0));
    }
}

RENYI_MULTIVERSION
void find_log_cdf(const double* u, std::size_t n, double* log_cdf) noexcept {
    for (std::size_t i = 0; i < n; ++i) log_cdf[i] = log_normal_cdf(u[i]);
}

}  // namespace

DecayByNodes::DecayByNodes(const WindowedNodes& nodes, double tilt, double highest, double left_out)
    : law_(nodes.law_), window_(nodes.window_), tilt_(tilt), highest_(highest), left_out_(left_out) {
    double sum = 0.0;
    nodes.tilt_weights(tilt, sum);
    const std::size_t n = nodes.size();
    std::vector<double> above(n), below(n, 0.0);
    if (law_.is_ratio()) {
        for (std::size_t i = 0; i < n; ++i) above[i] = 1.0 + nodes.v_[i];
    } else {
        const double start = std::log(law_.q) - std::log1p(-law_.q) - 0.5 * law_.c * law_.c;
        find_posteriors(nodes.x_.data(), n, start, law_.c, above.data());
        if (law_.two_sided()) find_posteriors(nodes.x_.data(), n, start, -law_.c, below.data());
    }
    above[0] = below[0] = 0.0;  // the merged nodes
    for (auto* part : {&open_, &edge_})
        for (auto* a : {&part->weight, &part->above, &part->below}) a->reserve(n + kLanes);
    for (std::size_t i = 0; i < n; ++i) {
        if (nodes.weight_[i] == 0.0) continue;
        const double v = nodes.v_[i], weight = nodes.weight_[i] / sum;
        const bool is_open = std::all_of(window_.begin(), window_.end(),
                                         [&](const LossStep& s) { return s.argument(v) > windowed::kOpen; });
        Nodes& to = is_open ? open_ : edge_;
        to.weight.push_back(weight);
        to.above.push_back(above[i]);
        to.below.push_back(below[i]);
        mean_posterior_ += weight * above[i];
        if (is_open) continue;
        std::size_t s = 0;
        for (const LossStep& step : window_) argument_[s++].push_back(step.argument(v));
    }
    for (auto* part : {&open_, &edge_})
        for (auto* a : {&part->weight, &part->above, &part->below}) pad(*a);
    for (std::size_t s = 0; s < LossWindow::kMost; ++s) {
        pad(argument_[s]);
        log_cdf_[s].resize(argument_[s].size());
        find_log_cdf(argument_[s].data(), argument_[s].size(), log_cdf_[s].data());
    }
}

double DecayByNodes::mean_decay(double y, double angle) const {
    const Rotation r = rotation(law_, angle);
    const DecayLine line{r.a, r.sine, r.versine, law_.weighted() ? 1.0 : 0.0, law_.sign() * tilt_, y};
    DecayStep steps[LossWindow::kMost];
    int count = 0;
    for (const LossStep& s : window_) {
        steps[count] = {s.sign, 1.0 / s.width, argument_[count].data(), log_cdf_[count].data()};
        ++count;
    }
    const auto add = law_.is_ratio() ? add_ratio : law_.two_sided() ? add_two_sided : add_one_sided;
    const auto sum = [&](const Nodes& a, int n) {
        return add(a.weight.data(), a.above.data(), a.below.data(), a.weight.size(), line, steps, n);
    };
    return sum(open_, 0) + sum(edge_, count);
}

double DecayByNodes::log_bound(double y) const {
    // The best shift is near y E[p]/sigma while that is small.
    double angle = std::min(highest_, y * law_.c * law_.c * mean_posterior_ + 1e-6);
    double best = mean_decay(y, angle);
    for (const double factor : {1.7, 0.6}) {
        bool better = false;
        for (double next = angle * factor; next <= highest_ && next > 1e-9; next *= factor) {
            const double here = mean_decay(y, next);
            if (!(here < best)) break;
            best = here;
            angle = next;
            better = true;
        }
        if (better) break;
    }
    // The nodes left out weigh e^{a^2/2} times as much on the line.
    const double a = angle / law_.c;
    best += 4.0 * left_out_ * std::exp(0.5 * a * a);
    return best < 0.0 ? std::log1p(std::max(best, -1.0 + 0x1p-50)) : 0.0;
}

}  // namespace renyi
