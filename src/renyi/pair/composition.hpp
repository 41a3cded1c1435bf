// The parts of a composition: Poisson-sampled Gaussian steps, pairs of distributions and Rényi curves, each with the
// number of its uses. Equal parts are merged, and steps are sorted: results do not depend on the order in which steps
// were added, to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/pair/pair.hpp"

namespace renyi {

struct CountedCurve {
    CurvePointer curve;
    double count;  // > 0
};

struct Composition {
    std::vector<SampledStep> steps{};  // sorted by rate, noise and records
    std::vector<CountedPair> pairs{};  // pairs and curves keep the order in which they were added
    std::vector<CountedCurve> curves{};
};

// Collects parts one by one. Pairs and curves are equal if they are the same object. Sums of counts are exact below
// 2^53.
class Composer {
public:
    void add(const SampledStep& step) { steps_[{step.q, step.sigma, step.records}] += step.count; }
    void add(PairPointer pair, std::int64_t count) { add_to(pairs_, std::move(pair), count); }
    void add(CurvePointer curve, double count) { add_to(curves_, std::move(curve), count); }

    std::size_t size() const noexcept { return steps_.size() + pairs_.parts.size() + curves_.parts.size(); }
    Composition composition() const;

private:
    template <class Part>
    struct Merged {
        std::vector<Part> parts;
        std::unordered_map<const void*, std::size_t> places;
    };
    template <class Part, class Pointer, class Count>
    static void add_to(Merged<Part>& merged, Pointer pointer, Count count) {
        const auto [place, is_new] = merged.places.try_emplace(pointer.get(), merged.parts.size());
        if (is_new) {
            merged.parts.push_back({std::move(pointer), count});
        } else {
            merged.parts[place->second].count += count;
        }
    }

    std::map<std::tuple<double, double, int>, double> steps_;
    Merged<CountedPair> pairs_;
    Merged<CountedCurve> curves_;
};

// The Poisson-sampled Gaussian steps of a composition of nothing else, and what their curves need to know.
struct SortedSteps {
    std::vector<SampledStep> steps{};  // sorted and merged, without steps that release nothing
    double gaussian_mu = 0.0;          // of the Gaussian steps among them, all together
    double gaussian = 0.0;             // its square, at least the smallest normal number if there are any
    double largest_loss = 0.0;         // of Direction::add, rounded up; inf if there are Gaussian steps
    bool only_gaussian = true;
    bool has_groups = false;  // steps with several records

    bool is_single() const noexcept { return steps.size() == 1 && steps[0].count == 1.0 && !has_groups; }
};

SortedSteps sorted_steps(std::span<const SampledStep> steps);

}  // namespace renyi
