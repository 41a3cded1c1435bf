// What is composed: Poisson-sampled Gaussian steps, pairs of distributions and Rényi curves, each with the number of
// its uses. Equal parts are one part, and the order of steps depends on nothing but the steps, so that answers do not
// either, to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "renyi/loss/direction.hpp"
#include "renyi/pair/pair.hpp"

namespace renyi {

struct CountedCurve {
    CurvePointer curve;
    double count;  // > 0
};

struct Composition {
    std::vector<SampledStep> steps{};  // by rate, noise and records
    std::vector<CountedPair> pairs{};  // pairs and curves in the order in which they came
    std::vector<CountedCurve> curves{};
};

// Parts added up one by one. Pairs and curves are equal if they are the same object. Sums of counts are exact below
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

}  // namespace renyi
