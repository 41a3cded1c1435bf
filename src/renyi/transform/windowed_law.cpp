#include "renyi/transform/windowed_law.hpp"

#include <algorithm>
#include <cmath>

namespace renyi {

namespace {

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kLogRoot2Pi = 0x1.d67f1c864beb5p-1;
constexpr double kMostNodes = 16000.0;
constexpr double kLooseScale = 4.0;    // nats
constexpr double kLargestShift = 6.0;  // of x, in standard deviations
constexpr double kOverflow = 600.0;
constexpr double kRoughReach = 7.0, kMostRough = 4000.0;
constexpr double kTurned = 64.0;  // u: 16 turns of at most 4u
constexpr double kOpen = 9.0;     // 1 - Phi(9) < 2^-62: the window is 1
constexpr double kBasic = 24.0;   // rounding errors of exp, the log-density and products, in u

double log_add(double a, double b) noexcept {
    const double top = std::max(a, b);
    return top + std::log1p(std::exp(-std::fabs(a - b)));
}

void pad(std::vector<double>& a) { a.resize((a.size() + kLanes - 1) / kLanes * kLanes, 0.0); }

// Bounds, in u, what a computed loss is off: L+ and L- to (6 + 2 |w|) u each, and |L-| <= |least| where L+ decides.
double loss_error(const SampledLoss& law, double x, double v) noexcept {
    const double half = 0.5 * law.c * law.c;
    if (!law.two_sided()) return (6.0 + 2.0 * std::fabs(law.c * x - half)) * std::fabs(v);
    return (7.0 + 2.0 * (std::fabs(law.c * x) + half)) * (std::fabs(v) - 2.0 * std::log1p(-law.q));
}

// How much the logarithm of Phi(u) changes with u: phi/Phi.
double hazard(double u) noexcept { return u < 0.0 ? 1.0 - u : std::exp(-0.5 * u * u); }

}  // namespace

bool WindowedLaw::discretise(double tilt, double y, double target, double farthest, bool decay) {
    const double scale = line_.log_bound(0.0, tilt, 0.0);
    if (!discretise_from(scale, tilt, y, target, farthest, decay)) return false;
    // The bound of the moment may be far above it where the tilt is large.
    const double excess = scale - rough_moment(tilt).value;
    if (excess < kLooseScale) {
        flat_error_ *= std::exp(std::max(excess, 0.0));
        return true;
    }
    return discretise_from(scale - excess, tilt, y, target, farthest, decay);
}

bool WindowedLaw::discretise_from(double scale, double tilt, double y, double target, double farthest, bool decay) {
    const double c = law_.c, sigma = 1.0 / c;
    if (!(scale > -1e290 && scale < 1e290)) return false;
    // The angle that allows the longest step: growth is about y V sin(angle) and that of a shifted normal density.
    const double highest = std::min(kLargestAngle, kLargestShift / sigma);
    const auto step_at = [&](double angle) {
        const double grown = line_.log_bound(angle, tilt, -y);
        return 2.0 * kPi * (angle * sigma) / (target + std::max(grown - scale, 0.0) + 1.0);
    };
    const LossStep* falling = window_.falling();
    const double top = falling != nullptr ? std::fabs(falling->level) + 2.0 * falling->width : 1.0;
    angle_ = std::min({highest, 0.3, 0.5 * target / (y * top + 1.0) + 0.02});
    step_ = step_at(angle_);
    for (const double factor : {1.5, 0.67}) {
        bool better = false;
        for (double next = angle_ * factor; next <= highest; next *= factor) {
            const double h = step_at(next);
            if (!(h > 1.03 * step_)) break;
            better = true;
            step_ = h;
            angle_ = next;
        }
        if (better) break;
    }
    if (decay) {  // half of the strip for the shift, half for the rule: see log_decay_by_nodes
        double best = 0.0;
        for (double edge = highest; edge > 0.2 * highest; edge *= 0.7) {
            const double grown = std::max(line_.log_bound(edge, tilt, 0.0) - scale, 0.0);
            const double h = kPi * edge * sigma / (target + grown + 1.0);
            if (!(h > best)) break;
            best = h;
            decay_angle_ = 0.5 * edge;
        }
        step_ = std::min(step_, best);
    }
    const double reach = std::sqrt(2.0 * (target + 6.0)),
                 positive = std::max(law_.sign() * std::max(farthest, tilt), 0.0);
    double first = -reach, last = c + reach + positive * c;
    if (falling != nullptr)
        last = std::min(last, output_at(law_, falling->level + positive * falling->width * falling->width +
                                                  reach * falling->width));
    // Where a rising step is closed there is nothing either.
    for (const LossStep& step : window_)
        if (step.sign > 0.0)
            first = std::max(first, std::min(output_at(law_, step.level - reach * step.width), last - 1.0));
    const auto outside = [&](double from, double to) {
        return line_.log_bound(0.0, tilt, 0.0, {from, to, step_}) - scale;
    };
    // At the other tilts, where the moments only bound something, half of the target will do.
    const double others[] = {0.0, std::max(farthest, tilt)};
    const double moments[] = {log_moment_bound(others[0]), log_moment_bound(others[1])};
    const auto matters = [&](double from, double to) {
        if (outside(from, to) > -target) return true;
        for (int i = 0; i < 2; ++i)
            if (others[i] != tilt &&
                line_.log_bound(0.0, others[i], 0.0, {from, to, step_}) - moments[i] > -0.5 * target)
                return true;
        return false;
    };
    for (int turn = 0; turn < 8 && matters(-kInfinity, first); ++turn) first -= 1.0 + 0.2 * reach;
    for (int turn = 0; turn < 8 && matters(last, kInfinity); ++turn) last += 1.0 + 0.1 * reach;
    if (!(step_ > 0.0 && last > first && (last - first) / step_ < kMostNodes)) return false;
    fill(first, last);
    first_ = x_.front() - step_;
    last_ = x_.back() + step_;
    flat_error_ = std::exp(outside(-kInfinity, first_)) + std::exp(outside(last_, kInfinity));
    tolerance_ = std::exp(-target - 2.0) / (1.0 + std::fabs(tilt) + y);
    merge_flat(tolerance_);
    flat_error_ += std::exp(-target);
    return true;
}

void WindowedLaw::fill(double first, double last) {
    const double start = std::floor(first / step_);
    const auto wanted = static_cast<std::size_t>(std::ceil(last / step_) - start) + 1;
    const std::size_t n = (wanted + kLanes - 1) / kLanes * kLanes;
    for (auto* a : {&x_, &v_, &loss_, &log_weight_, &rounding_}) a->resize(n);
    for (std::size_t i = 0; i < n; ++i) x_[i] = (start + static_cast<double>(i)) * step_;
    evaluate(law_, x_, v_.data(), log_weight_.data());
    const double log_step = std::log(step_) - kLogRoot2Pi;
    for (std::size_t i = 0; i < n; ++i) {
        const double off = loss_error(law_, x_[i], v_[i]);
        double rounding = kBasic + x_[i] * x_[i] + off;
        double window = 0.0;
        for (const LossStep& step : window_) {
            const double u = step.argument(v_[i]);
            if (u > kOpen) continue;
            window += log_normal_cdf(u);
            rounding += 20.0 + hazard(u) * (off / step.width + 3.0 * std::fabs(u));
        }
        loss_[i] = law_.sign() * v_[i];
        log_weight_[i] += window + log_step;
        rounding_[i] = rounding;
    }
}

// Nodes whose loss is that of no output at all.
void WindowedLaw::merge_flat(double tolerance) {
    const double flat = law_.two_sided() ? 0.0 : law_.least();
    std::size_t kept = 1;
    double top = -1e300, sum = 0.0, rounding = 0.0;
    std::vector<double> x{0.0}, v{flat}, loss{law_.sign() * flat}, log_weight{0.0}, errors{0.0};
    for (std::size_t i = 0; i < x_.size(); ++i) {
        if (std::fabs(v_[i] - flat) < tolerance) {
            const double e = log_weight_[i];
            if (e > top) {
                sum = sum * std::exp(top - e) + 1.0;
                top = e;
            } else {
                sum += std::exp(e - top);
            }
            rounding = std::max(rounding, rounding_[i]);
            continue;
        }
        x.push_back(x_[i]);
        v.push_back(v_[i]);
        loss.push_back(loss_[i]);
        log_weight.push_back(log_weight_[i]);
        errors.push_back(rounding_[i]);
        ++kept;
    }
    log_weight[0] = sum > 0.0 ? top + std::log(sum) : -1e4;
    errors[0] = rounding + 8.0;
    const std::size_t n = (kept + kLanes - 1) / kLanes * kLanes;
    x.resize(n, 0.0);
    v.resize(n, flat);
    loss.resize(n, loss[0]);
    log_weight.resize(n, -1e4);  // no weight
    errors.resize(n, 0.0);
    x_.swap(x);
    v_.swap(v);
    loss_.swap(loss);
    log_weight_.swap(log_weight);
    rounding_.swap(errors);
}

WindowedMoment WindowedLaw::moment(double tilt, const LeftOut* left_out) const {
    const std::size_t n = loss_.size();
    const double top = windowed::largest_exponent(log_weight_.data(), loss_.data(), n, tilt);
    std::vector<double>& weight = scratch_;
    weight.resize(n);
    const double sum = windowed::tilt_weights(log_weight_.data(), loss_.data(), n, tilt, top, weight.data());
    WindowedMoment m{};
    m.mean = windowed::first_moment(weight.data(), loss_.data(), n) / sum;
    m.variance = windowed::second_moment(weight.data(), loss_.data(), n, m.mean) / sum;
    double error = 0.0, mean_error = 0.0;
    const double additions = static_cast<double>(n / kLanes) + 8.0;
    for (std::size_t i = 0; i < n; ++i) {
        const double off = loss_error(law_, x_[i], v_[i]);
        const double relative = rounding_[i] + additions + std::fabs(tilt) * off;
        error += weight[i] * relative;
        mean_error += weight[i] * (relative * std::fabs(loss_[i] - m.mean) + off);
    }
    m.value = top + std::log(sum);
    m.error = kUnitRoundoff * (error / sum + 4.0 * std::fabs(top) + 4.0);
    m.mean_error = kUnitRoundoff * (mean_error / sum + additions * std::fabs(m.mean));
    if (left_out != nullptr && !law_.two_sided() && top < kOverflow) {
        const windowed::Excess e = windowed::sum_excess(log_weight_.data(), loss_.data(), n, tilt);
        const double lost = left_out->mass + std::fabs(tilt * left_out->fall);
        const double excess = e.value - left_out->mass - tilt * left_out->fall;
        const double relative = kUnitRoundoff * (error / sum + 60.0);
        if (e.value < kOverflow && excess > -0.9) {
            const double off = (relative * e.value + (left_out->error + 4.0 * kUnitRoundoff) * lost) / (1.0 + excess) +
                               4.0 * kUnitRoundoff * std::fabs(excess);
            if (off < m.error) {
                m.value = std::log1p(excess);
                m.error = off;
                m.mean = (e.slope - left_out->fall) / (1.0 + excess);
                m.mean_error =
                    (relative * e.slope + (left_out->error + 4.0 * kUnitRoundoff) * std::fabs(left_out->fall)) /
                        (1.0 + excess) +
                    std::fabs(m.mean) * (off + 4.0 * kUnitRoundoff);
            }
        }
    }
    return m;
}

WindowedMoment WindowedLaw::tilt(double tilt, const LeftOut* left_out, double y, bool turning) {
    const std::size_t n = loss_.size();
    const WindowedMoment m = moment(tilt, left_out);
    const double top = windowed::largest_exponent(log_weight_.data(), loss_.data(), n, tilt);
    weight_.resize(n);
    d_.resize(n);
    const double sum = windowed::tilt_weights(log_weight_.data(), loss_.data(), n, tilt, top, weight_.data());
    tilt_ = tilt;
    mean_ = m.mean;
    quadratic_ = linear_ = constant_ = 0.0;
    const double additions = static_cast<double>(n / kLanes) + 16.0;
    for (std::size_t i = 0; i < n; ++i) {
        weight_[i] /= sum;
        d_[i] = loss_[i] - mean_;
        const double off = 1.2 * loss_error(law_, x_[i], v_[i]) + std::fabs(mean_);
        const double relative = rounding_[i] + additions + std::fabs(tilt) * off, size = std::fabs(d_[i]);
        quadratic_ += weight_[i] * (relative * size + off) * size;
        linear_ += weight_[i] * (2.0 * relative * size + off);
        constant_ += weight_[i] * relative;
    }
    if (y > 0.0) separate(y, turning);
    return m;
}

// The Taylor series' nodes and the others, both padded.
void WindowedLaw::separate(double y, bool turning) {
    std::vector<double> still_weight, still;
    moving_weight_.clear();
    moving_.clear();
    turning_ = turning;
    first_absolute_ = moving_share_ = 0.0;
    for (std::size_t i = 0; i < d_.size(); ++i) {
        if (weight_[i] == 0.0) continue;
        const bool is_still = y * std::fabs(d_[i]) <= 1.0;
        (is_still ? still_weight : moving_weight_).push_back(weight_[i]);
        (is_still ? still : moving_).push_back(d_[i]);
        if (!is_still) {
            first_absolute_ += weight_[i] * std::fabs(d_[i]);
            moving_share_ += weight_[i];
        }
    }
    for (auto* a : {&still_weight, &still, &moving_weight_, &moving_}) pad(*a);
    still_mass_ = 0.0;
    still_mean_ = 0.0;
    for (std::size_t i = 0; i < still.size(); ++i) {
        still_mass_ += still_weight[i];
        still_mean_ += still_weight[i] * still[i];
    }
    windowed::sum_moments(still_weight.data(), still.data(), still.size(), moments_);
}

// sum over the still nodes of e^{i t} - 1 - i t.
void WindowedLaw::add_still(double y, double& re, double& im) const noexcept {
    double even = 0.0, odd = 0.0;
    for (int m = windowed::kMoments - 2; m >= 0; m -= 2) {
        even = moments_[m] - y * y * even;
        odd = moments_[m + 1] - y * y * odd;
    }
    re -= y * y * even;
    im -= y * y * y * odd;
}

void WindowedLaw::excess(double first, double step, double* re, double* im) const noexcept {
    const auto sum = turning_ ? windowed::turn_excess : windowed::add_excess;
    sum(moving_weight_.data(), moving_.data(), moving_.size(), first, step, re, im);
    for (int j = 0; j < kLanes; ++j) add_still((first + j) * step, re[j], im[j]);
}

void WindowedLaw::whole(double first, double step, double* re, double* im) const noexcept {
    windowed::turn_whole(moving_weight_.data(), moving_.data(), moving_.size(), first, step, re, im);
    for (int j = 0; j < kLanes; ++j) {
        const double y = (first + j) * step;
        re[j] += still_mass_;
        im[j] += y * still_mean_;
        add_still(y, re[j], im[j]);
    }
}

double WindowedLaw::excess_error(double y) const noexcept {
    const double turned =
        turning_ ? kTurned * std::min(2.0 * moving_share_ + y * first_absolute_ * 0.25, 3.0 * y * first_absolute_)
                 : 0.0;
    const double direct = std::min(y * y * quadratic_, 4.0 * constant_ + y * linear_);
    return kUnitRoundoff * (direct + turned);
}

double WindowedLaw::whole_error(double y) const noexcept {
    return kUnitRoundoff * (2.0 * constant_ + 8.0 + 2.0 * kTurned + y * linear_);
}

double WindowedLaw::log_decay_by_cells(double y, double log_moment) const noexcept {
    const double highest = std::min(kLargestAngle, 1.5 * kLargestShift * law_.c);
    const auto at = [&](double angle) { return line_.log_bound(angle, tilt_, y) - log_moment; };
    // Where the growth of the rising window, (Im V/width)^2/2, costs half of what e^{-y Im V} gains.
    const LossStep& step =
        *std::find_if(window_.begin(), window_.end(), [](const LossStep& s) { return s.sign > 0.0; });
    const double best = std::asin(std::clamp(y * step.width * step.width / std::fabs(step.level), 0.02, 0.9));
    double result = 0.0;
    for (double angle = std::min(best, highest); angle > 0.1 * best; angle *= 0.8) {
        const double here = at(angle);
        if (result < 0.0 && here > result) break;
        result = std::min(result, here);
    }
    return result;
}

void WindowedLaw::prepare_decay() {
    const double half = 0.5 * law_.c * law_.c, log_odds = std::log(law_.q) - std::log1p(-law_.q);
    const auto posterior = [&](double x) {
        const double odds = std::exp(std::min(log_odds + law_.c * x - half, 700.0));
        return odds / (1.0 + odds);
    };
    open_ = edge_ = {};
    edge_argument_.assign(static_cast<std::size_t>(window_.end() - window_.begin()), {});
    edge_log_cdf_ = edge_argument_;
    mean_posterior_ = 0.0;
    for (std::size_t i = 0; i < x_.size(); ++i) {
        if (weight_[i] == 0.0) continue;
        const bool is_open =
            std::all_of(window_.begin(), window_.end(), [&](const LossStep& s) { return s.argument(v_[i]) > kOpen; });
        const double above = i == 0 ? 0.0 : posterior(x_[i]);  // the merged nodes are the first
        DecayNodes& nodes = is_open ? open_ : edge_;
        nodes.weight.push_back(weight_[i]);
        nodes.above.push_back(above);
        nodes.below.push_back(law_.two_sided() && i > 0 ? posterior(-x_[i]) : 0.0);
        mean_posterior_ += weight_[i] * above;
        if (is_open) continue;
        for (std::size_t s = 0; s < edge_argument_.size(); ++s) {
            edge_argument_[s].push_back(window_.begin()[s].argument(v_[i]));
            edge_log_cdf_[s].push_back(log_normal_cdf(edge_argument_[s].back()));
        }
    }
    for (DecayNodes* nodes : {&open_, &edge_})
        for (std::vector<double>* a : {&nodes->weight, &nodes->above, &nodes->below}) pad(*a);
    for (auto* arrays : {&edge_argument_, &edge_log_cdf_})
        for (std::vector<double>& a : *arrays) pad(a);
}

double WindowedLaw::log_decay_by_nodes(double y) const noexcept {
    windowed::DecayStep steps[LossWindow::kMost];
    int count = 0;
    for (const LossStep& s : window_) {
        steps[count] = {s.sign, s.width, edge_argument_[count].data(), edge_log_cdf_[count].data()};
        ++count;
    }
    const auto mean_decay = [&](double angle) {
        const Rotation r = rotation(law_, angle);
        const windowed::DecayLine line{r.a, r.sine, r.versine, law_.weighted() ? 1.0 : 0.0, law_.sign() * tilt_, y};
        const auto sum = [&](const DecayNodes& nodes, int n) {
            return windowed::sum_decay(nodes.weight.data(), nodes.above.data(), nodes.below.data(), nodes.weight.size(),
                                       line, steps, n);
        };
        return sum(open_, 0) + sum(edge_, count);
    };
    // The best shift is near y E[p]/sigma while that is small.
    const double highest = decay_angle_;
    double angle = std::min(highest, y * law_.c * law_.c * mean_posterior_ + 1e-6);
    double best = mean_decay(angle);
    for (const double factor : {1.7, 0.6}) {
        bool better = false;
        for (double next = angle * factor; next <= highest && next > 1e-9; next *= factor) {
            const double here = mean_decay(next);
            if (!(here < best)) break;
            best = here;
            angle = next;
            better = true;
        }
        if (better) break;
    }
    // The modulus on the line is analytic too: on Im x = b it is at most the root of the product of those on the lines
    // a + b and b - a at ordinate 0. discretise() has made the step for a = b.
    // The nodes left out weigh e^{a^2/2} times as much on the line.
    const double a = angle / law_.c;
    best += 4.0 * flat_error_ * std::exp(0.5 * a * a);
    return best < 0.0 ? std::log1p(std::max(best, -1.0 + 0x1p-50)) : 0.0;
}

double WindowedLaw::log_node_error(double tilt, double log_moment, double y) const noexcept {
    const double rule = line_.log_bound(angle_, tilt, -y) + 0.7 - 2.0 * kPi * (angle_ / law_.c) / step_;
    const double left = line_.log_bound(0.0, tilt, 0.0, {-kInfinity, first_, step_});
    const double right = line_.log_bound(0.0, tilt, 0.0, {last_, kInfinity, step_});
    const double merged = std::log(2.0 * (1.0 + std::fabs(tilt) + y) * tolerance_);
    return log_add(log_add(rule, log_add(left, right)) - log_moment, merged);
}

WindowedLaw::Masses WindowedLaw::masses() const noexcept {
    Masses m{};
    double error = 0.0;
    for (std::size_t i = 0; i < loss_.size(); ++i) {
        const double w = std::exp(log_weight_[i]);
        m.mass += w;
        m.fall -= w * std::expm1(-loss_[i]);
        m.reverse += w * std::exp(-loss_[i]);
        error = std::max(error, w > 0.0 ? rounding_[i] : 0.0);
    }
    m.error = kUnitRoundoff * (2.0 * error + static_cast<double>(loss_.size()));
    return m;
}

void WindowedLaw::discretise_roughly(double farthest) {
    angle_ = std::min(0.5, 4.0 * law_.c);
    step_ = std::min(0.12 / law_.c, 0.3);
    decay_angle_ = 0.5 * std::min(kLargestAngle, kLargestShift * law_.c);
    const double positive = std::max(law_.sign() * farthest, 0.0);
    double last = law_.c + kRoughReach + positive * law_.c;
    if (const LossStep* f = window_.falling())
        last = std::min(last, output_at(law_, f->level + positive * f->width * f->width + kRoughReach * f->width));
    last = std::max(last, -kRoughReach + 1.0);
    step_ = std::max(step_, (last + kRoughReach) / kMostRough);
    fill(-kRoughReach, last);
    merge_flat(1e-9 / (1.0 + farthest));
}

WindowedMoment WindowedLaw::rough_moment(double tilt) const {
    const std::size_t n = loss_.size();
    const double top = windowed::largest_exponent(log_weight_.data(), loss_.data(), n, tilt);
    scratch_.resize(n);
    const double sum = windowed::tilt_weights(log_weight_.data(), loss_.data(), n, tilt, top, scratch_.data());
    const double mean = windowed::first_moment(scratch_.data(), loss_.data(), n) / sum;
    return {top + std::log(sum), 0.0, mean, 0.0, 0.0};
}

double WindowedLaw::fourth_cumulant() const noexcept {
    double second = 0.0, fourth = 0.0;
    for (std::size_t i = 0; i < d_.size(); ++i) {
        const double square = d_[i] * d_[i];
        second += weight_[i] * square;
        fourth += weight_[i] * square * square;
    }
    return fourth - 3.0 * second * second;
}

}  // namespace renyi
