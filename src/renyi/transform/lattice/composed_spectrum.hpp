// Transforms of tilted lattice masses with bounds on every rounding error: products, powers, geometric sums.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace renyi::lattice {

// Computed values, bounds on the moduli of computed and exact ones, bounds on the errors.
struct Spectrum {
    std::vector<std::complex<double>> value;
    std::vector<double> reach, error;

    Spectrum() = default;
    explicit Spectrum(std::size_t n) : value(n), reach(n), error(n) {}
    std::size_t size() const noexcept { return value.size(); }

    void set_error(double e) noexcept;         // one error for all values, and their reach from it
    void add(const Spectrum& other) noexcept;  // errors of the sums included
    void multiply(const Spectrum& other) noexcept;
};

// z^count. Values that are certainly below 2^-200 are left at 0, that being their error.
Spectrum power_of(const Spectrum& z, std::int64_t count);

// z^(count-1) + z^(count-2) b + ... + b^(count-1)
Spectrum geometric_sum(const Spectrum& z, const Spectrum& b, std::int64_t count);

}  // namespace renyi::lattice
