#include "renyi/pair/ratio_cells.hpp"

#include <cmath>

#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

constexpr double kCell = 0.004;       // cells, of the distance from the median to a decile
constexpr double kFar = 0.004;        // and of the distance from the median, at least
constexpr double kLeast = 1e-3;       // of the mean distance from the median: for the distance to a decile
constexpr double kCells = 2500.0;     // that reach far on either side: with more, these are wider
constexpr double kShare = 0.01;       // cells, of the sum, at most
constexpr double kShares = 2000.0;    // of such cells: with more, these are wider
constexpr double kLeastSum = 1e-20;   // of the median and a cell: below, cells are as wide as here
constexpr std::size_t kOutline = 48;  // points of an outline

double quantile(const std::vector<RatioPoint>& points, double share) noexcept {
    double total = 0.0, sum = 0.0;
    for (const RatioPoint& point : points) total += point.mass;
    for (const RatioPoint& point : points)
        if ((sum += point.mass) >= share * total) return point.sum;
    return points.back().sum;
}

}  // namespace

RatioCells::RatioCells(const std::vector<RatioPoint>& points, double low, double high)
    : low_(low), high_(high), middle_(quantile(points, 0.5)) {
    double mass = 0.0, deviation = 0.0;
    for (const RatioPoint& point : points) {
        mass += point.mass;
        deviation += point.mass * std::fabs(point.sum - middle_);
    }
    const double least = std::max(kLeast * deviation / mass, kSameSum * middle_);
    below_ = kCell * std::max(middle_ - quantile(points, 0.1), least);
    above_ = kCell * std::max(quantile(points, 0.9) - middle_, least);
    const double reach = std::max({(middle_ - low) / below_, (high - middle_) / above_, 1.0});
    far_ = std::max(kFar, lane_log(reach) / kCells);
    least_sum_ = std::max(low, kLeastSum * (middle_ + above_));
    const double wide = std::max(middle_, above_ / kShare);
    share_ = least_sum_ < wide ? std::max(kShare, lane_log(wide / least_sum_) / kShares) : kShare;
}

double RatioCells::width(double sum) const noexcept {
    const double usual =
        sum < middle_ ? std::max(below_, 0.5 * far_ * (middle_ - sum)) : std::max(above_, far_ * (sum - middle_));
    const double most = std::max(share_, far_) * std::max(sum, least_sum_);
    return std::max(std::min(usual, most), kSameSum * sum);
}

std::vector<double> RatioCells::edges() const {
    std::vector<double> left{std::clamp(middle_, low_, high_)}, right;
    if (high_ > low_) {
        while (left.back() > low_) left.push_back(std::max(left.back() - width(left.back()), low_));
        for (double at = left.front(); at < high_;) right.push_back(at = std::min(at + width(at), high_));
    }
    std::ranges::reverse(left);
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

std::vector<RatioCell> sums_of(const std::vector<RatioPoint>& a, const std::vector<RatioPoint>& b,
                               const std::vector<double>& edges) {
    std::vector<RatioCell> cells(std::max<std::size_t>(edges.size(), 2) - 1);
    const std::size_t last = cells.size() - 1;
    std::size_t first = 0;
    const bool twice = &a == &b;  // then every two points are met once
    for (std::size_t i = 0; i < a.size(); ++i) {
        const RatioPoint& one = a[i];
        while (first < last && one.sum + b[twice ? i : 0].sum >= edges[first + 1]) ++first;
        if (twice) cells[first].add(2.0 * one.sum, one.mass * one.mass);
        const double own = twice ? 2.0 * one.mass : one.mass;
        std::size_t c = first;
        for (std::size_t j = twice ? i + 1 : 0; j < b.size();) {
            while (c < last && one.sum + b[j].sum >= edges[c + 1]) ++c;
            const double end = c < last ? edges[c + 1] : kInfinity;
            RatioCell here;
            here.low = one.sum + b[j].sum;
            for (double sum = here.low; sum < end;) {
                const double mass = own * b[j].mass;
                here.mass += mass;
                here.moment += mass * sum;
                here.high = sum;
                if (++j == b.size()) break;
                sum = one.sum + b[j].sum;
            }
            cells[c].add(here);
        }
    }
    return cells;
}

std::vector<RatioPoint> outline(const std::vector<RatioPoint>& points) {
    if (points.size() <= kOutline) return points;
    std::vector<RatioPoint> found;
    double total = 0.0;
    for (const RatioPoint& point : points) total += point.mass;
    RatioCell here;
    for (const RatioPoint& point : points) {
        here.add(point.sum, point.mass);
        if (here.mass * static_cast<double>(kOutline) < total && &point != &points.back()) continue;
        found.push_back({here.moment / here.mass, here.mass});
        here = {};
    }
    return found;
}

}  // namespace renyi
