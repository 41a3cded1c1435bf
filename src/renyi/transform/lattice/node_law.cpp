#include "renyi/transform/lattice/node_law.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/transform/lattice/lattice_kernels.hpp"

namespace renyi::lattice {

namespace {

constexpr std::size_t kBlocks = 2048;

struct Piece {
    double log_mass, mean, variance;
};

Piece piece_of(const NodeLaw& law, std::size_t begin, std::size_t end, double t) {
    if (begin == end) return {-kInfinity, 0.0, 0.0};
    const double *logs = law.logs.data() + begin, *losses = law.losses.data() + begin;
    const TiltedPeak peak = tilted_peak(logs, losses, end - begin, t);
    const TiltedSums sums = tilted_sums(logs, losses, end - begin, t, peak);
    const double apart = sums.first / sums.mass;
    return {peak.exponent + std::log(sums.mass), peak.loss + apart,
            std::max(sums.second / sums.mass - apart * apart, 0.0)};
}

LogMoment moment_of_all(const NodeLaws& laws, double t) {
    LogMoment k{0.0, 0.0, 0.0};
    for (const NodeLaw& law : laws) {
        const Piece piece = piece_of(law, 0, law.size(), t);
        k.value += law.count * piece.log_mass;
        k.mean += law.count * piece.mean;
        k.variance += law.count * piece.variance;
    }
    return k;
}

// Ends of about n blocks of a law; one of them is at the bulk's.
std::vector<std::size_t> block_ends(const NodeLaw& law, std::size_t n) {
    const std::size_t length = std::max<std::size_t>(law.size() / n, 1);
    std::vector<std::size_t> ends;
    for (std::size_t start = 0; start < law.size(); start += length) {
        const std::size_t end = std::min(start + length, law.size());
        if (start < law.bulk && law.bulk < end) ends.push_back(law.bulk);
        ends.push_back(end);
    }
    return ends;
}

}  // namespace

NodeLaw NodeLaw::first(std::size_t n) const noexcept {
    return {logs.first(n), losses.first(n), above.first(n), count, std::min(bulk, n)};
}

void NodeLawArrays::reserve(std::size_t n) {
    logs_.reserve(n);
    losses_.reserve(n);
}

NodeLaw NodeLawArrays::law(double count) {
    if (above_.size() != logs_.size()) {
        above_.resize(logs_.size());
        double sum = 0.0;
        for (std::size_t i = logs_.size(); i-- > 0;) above_[i] = sum += std::exp(logs_[i]);
    }
    return {logs_, losses_, above_, count, 0};
}

NodeLawArrays NodeLawArrays::of(const Lattice& lattice, std::span<const double> masses) {
    NodeLawArrays found;
    found.reserve(masses.size());
    for (std::size_t i = 0; i < masses.size(); ++i) {
        if (masses[i] > 0.0) found.add(masses[i], lattice.loss(i));
    }
    found.above_ = found.logs_;
    for (std::size_t i = found.above_.size(); i-- > 1;) found.above_[i - 1] += found.above_[i];
    log_masses(found.logs_.data(), found.logs_.size(), found.logs_.data());
    return found;
}

NodeLawArrays NodeLawArrays::in_blocks(const NodeLaw& law) {
    NodeLawArrays found;
    std::size_t begin = 0;
    for (const std::size_t end : block_ends(law, kBlocks / 2)) {
        const Piece piece = piece_of(law, begin, end, 0.0);
        found.add(piece.log_mass, piece.mean);
        begin = end;
    }
    return found;
}

NodeLawArrays NodeLawArrays::tilted(const NodeLaw& law, double t, std::size_t& bulk) {
    NodeLawArrays found;
    bulk = 0;
    const double whole = piece_of(law, 0, law.size(), t).log_mass;
    const auto keep = [&](double log_mass, double loss, bool is_bulk) {
        if (log_mass - whole < -690.0) return;
        found.add(log_mass - whole, loss);
        bulk += is_bulk;
    };
    if (law.size() <= 2 * kBlocks) {
        for (std::size_t i = 0; i < law.size(); ++i) keep(law.logs[i] + t * law.losses[i], law.losses[i], i < law.bulk);
        return found;
    }
    std::size_t begin = 0;
    for (const std::size_t end : block_ends(law, kBlocks)) {
        const Piece piece = piece_of(law, begin, end, t);
        keep(piece.log_mass, piece.mean, end <= law.bulk);
        begin = end;
    }
    return found;
}

void OwnedLaws::add(NodeLawArrays of_one, double count, std::size_t bulk) {
    arrays.push_back(std::move(of_one));
    laws.push_back(arrays.back().law(count));
    laws.back().bulk = bulk;
}

void set_bulk(NodeLaws& laws, double limit) {
    for (NodeLaw& law : laws) {
        law.bulk = static_cast<std::size_t>(std::ranges::upper_bound(law.losses, limit) - law.losses.begin());
    }
}

bool bulk_splits_all(const NodeLaws& laws) {
    return std::ranges::all_of(laws, [](const NodeLaw& law) { return law.bulk > 0 && law.bulk < law.size(); });
}

NodeLaws bulk_alone(const NodeLaws& laws) {
    NodeLaws found;
    for (const NodeLaw& law : laws) {
        found.push_back(law.first(law.bulk));
        found.back().bulk = 0;
    }
    return found;
}

NodeLaws truncated(const NodeLaws& laws, double log_tail) {
    NodeLaws found;
    const double tail = std::exp(log_tail);
    for (const NodeLaw& law : laws) {
        const auto below =
            std::ranges::partition_point(law.above, [&](double mass) { return law.count * mass > tail; });
        const auto end = static_cast<std::size_t>(below - law.above.begin());
        found.push_back(law.first(std::max(end, std::min(law.bulk + 1, law.size()))));
    }
    return found;
}

OwnedLaws tilted_blocks(const NodeLaws& laws, double t) {
    OwnedLaws found;
    for (const NodeLaw& law : laws) {
        std::size_t bulk;
        NodeLawArrays blocks = NodeLawArrays::tilted(law, t, bulk);
        found.add(std::move(blocks), law.count, bulk);
    }
    return found;
}

LogMoment log_moment(const NodeLaws& laws, double t) {
    if (std::ranges::any_of(laws, [](const NodeLaw& law) { return law.bulk == 0; })) return moment_of_all(laws, t);
    LogMoment k{0.0, 0.0, 0.0};
    double excess = 0.0, shift = 0.0, widening = 0.0;
    for (const NodeLaw& law : laws) {
        const Piece bulk = piece_of(law, 0, law.bulk, t), rest = piece_of(law, law.bulk, law.size(), t);
        const double log_ratio = rest.log_mass - bulk.log_mass;
        if (log_ratio > 690.0) return moment_of_all(laws, t);
        const double ratio = std::exp(log_ratio), share = ratio / (1.0 + ratio), apart = rest.mean - bulk.mean;
        k.value += law.count * bulk.log_mass;
        k.mean += law.count * bulk.mean;
        k.variance += law.count * bulk.variance;
        excess += law.count * std::log1p(ratio);
        shift += law.count * share * apart;
        widening += law.count * share * (rest.variance - bulk.variance + (1.0 - share) * apart * apart);
    }
    if (excess <= 0.0) return {-kInfinity, k.mean, k.variance};
    // Moments of a difference: those of the whole less those of the bulk, over what is left.
    const double portion = -std::expm1(-excess), moved = shift / portion;
    const double second = (widening + shift * (2.0 * k.mean + shift)) / portion;
    return {k.value + excess + std::log(portion), k.mean + moved,
            std::max(k.variance + second - moved * (2.0 * k.mean + moved), 0.0)};
}

}  // namespace renyi::lattice
