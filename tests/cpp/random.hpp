// Random numbers: `uniform` and `power` are the same on every machine.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace check {

inline std::mt19937_64 generator;  // every test gives it a seed of its own

inline double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(generator() >> 11) * 0x1p-53;
}

inline double power(double low, double high) { return std::pow(10.0, uniform(low, high)); }

template <class In>
std::vector<In> normals(std::size_t count, double scale, unsigned seed) {
    std::mt19937_64 bits(seed);
    std::normal_distribution<double> normal;
    std::vector<In> values(count);
    for (In& value : values) value = static_cast<In>(scale * normal(bits));
    return values;
}

}  // namespace check
