// The transform at the nodes of a contour that is placed, and how many nodes it takes.
#include <algorithm>
#include <cmath>

#include "renyi/curve/contour.hpp"

namespace renyi {

namespace {

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kFirstNodes = 2.0;  // times those of a Gaussian transform: true ones fall more slowly

}  // namespace

// K(t) and the tilted laws. The derivative of log A is right to a few u relatively while log A is small; from there on
// the mean of the tilted law itself is the better one.
void Contour::make_laws(const TiltedMoment& at) {
    const bool alone = steps_.size() == 1 && groups_[1].times == 1.0;
    const double order = order_of(direction_, t_), sign = direction_ == Direction::remove ? 1.0 : -1.0;
    laws_.clear();
    for (Group& g : groups_) {
        g.at = {};
        for (const SampledStep& s : steps_of(g)) {
            const TiltedMoment m = alone ? at : tilted_moment({{&s, 1}, direction_, limit_}, t_);
            double mean = sign * m.first / s.count;
            laws_.emplace_back(s.q, s.sigma, direction_, order, mean, std::log(s.count * groups_[1].times), limit_);
            if (s.q < 1.0 && m.value > s.count) mean = laws_.back().recentre(line_);
            g.at.value += m.value;
            g.at.error += m.error;
            g.at.first += sign * s.count * mean;
            g.at.second += m.second;
        }
        g.at.error += g.at.value * kUnitRoundoff * static_cast<double>(g.last - g.first);
    }
}

bool Contour::sum_nodes(double log_delta, double epsilon) {
    for (Group& g : groups_) {
        g.log_modulus.clear();
        g.phase.clear();
    }
    nodes_ = 0;
    // The nodes beyond y add at most e^{K(t) - t eps} rho / (pi y).
    const double level = total([](const Group& g) { return g.at.value; }) - t_ * epsilon - log_delta + effort_.depth;
    const double natural = std::sqrt(2.0 * effort_.depth / total([](const Group& g) { return g.at.second; })) / step_;
    const double most = static_cast<double>(effort_.most_nodes);
    std::size_t wanted = static_cast<std::size_t>(std::min(kFirstNodes * natural, most));
    while (nodes_ < effort_.most_nodes) {
        if (!add_nodes((wanted / kLanes + 1) * kLanes)) return false;
        const double y = static_cast<double>(nodes_) * step_;
        const double here =
            total([&](const Group& g) { return *std::max_element(g.log_modulus.end() - kLanes, g.log_modulus.end()); });
        if (std::isnan(here)) return false;
        const double weight = level - std::log(kPi * y);
        if (here + weight < 0.0) {
            bound_tails();
            if (total([](const Group& g) { return g.log_tail; }) + weight < 0.0) return true;
        }
        wanted = nodes_ + nodes_ / 4;
    }
    return false;
}

// The transform at the next nodes up to that many in all, law after law; false where that is too much work.
bool Contour::add_nodes(std::size_t count) {
    const std::size_t first = nodes_;
    const double last = static_cast<double>(count) * step_;
    rounding_ = rounding_of_mean_ = 0.0;
    for (const TiltedLaw& law : laws_) {
        work_ += static_cast<double>(count - first) * law.cost(last);
        rounding_ = std::max(rounding_, law.rounding(last));
        rounding_of_mean_ = std::max(rounding_of_mean_, law.rounding_of_mean());
    }
    if (!(work_ < most_work())) return false;
    for (Group& g : groups_) {
        g.phase.resize(count, 0.0);
        for (std::size_t j = first; j < count; ++j) {
            const double y = static_cast<double>(j + 1) * step_;
            g.log_modulus.push_back(-0.5 * g.gaussian * y * y);
        }
        for (std::size_t i = g.first; i < g.last; ++i)
            if (steps_[i].q != 1.0) add_law(i, first, g);
    }
    nodes_ = count;
    return true;
}

// One law at the nodes from the first on.
void Contour::add_law(std::size_t law, std::size_t first, Group& g) {
    const double last = static_cast<double>(g.phase.size()) * step_;
    laws_[law].lay(last, step_, line_);
    for (std::size_t j = first; j < g.phase.size(); j += kLanes)
        laws_[law].add_log_characteristic(line_, static_cast<double>(j + 1), steps_[law].count, &g.log_modulus[j],
                                          &g.phase[j]);
}

// Beyond the last node.
void Contour::bound_tails() {
    const double last = static_cast<double>(nodes_) * step_;
    for (Group& g : groups_) {
        g.log_tail = -0.5 * g.gaussian * last * last;
        for (std::size_t i = g.first; i < g.last; ++i) {
            if (steps_[i].q == 1.0) continue;
            laws_[i].lay(last, step_, line_);
            g.log_tail += steps_[i].count * laws_[i].log_decay(line_, last);
        }
    }
}

}  // namespace renyi
