#include "renyi/transform/lattice/partial_transform.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/transform/lattice/lattice_kernels.hpp"

namespace renyi::lattice {

namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;

}  // namespace

// 2 pi/size to u, times an integer, at most pi: an angle to 2 pi u; cosine and sine to an ulp.
std::complex<double> phase(std::int64_t turns, std::int64_t size) noexcept {
    turns &= size - 1;
    const double angle =
        kTurn / static_cast<double>(size) * static_cast<double>(turns > size / 2 ? turns - size : turns);
    return {std::cos(angle), std::sin(angle)};
}

PartialTransform::PartialTransform(const std::vector<double>& weights)
    : length_(std::size_t{1} << (std::bit_width(weights.size() - 1) + 1) / 2),
      weights_(weights),
      sum_(sum_of(weights.data(), weights.size())) {
    length_ = std::min<std::size_t>(length_, 256);  // what two_products takes
    rows_ = (weights.size() + length_ - 1) / length_;
    weights_.resize(rows_ * length_, 0.0);
    inner_cos_.resize(length_);
    inner_sin_.resize(length_);
    outer_.resize(rows_);
}

std::complex<double> PartialTransform::folded() const noexcept {
    DoubleDouble re{0.0, 0.0}, im{0.0, 0.0};
    for (std::size_t row = 0; row < rows_; ++row) {
        const TwoSums sums =
            two_products(weights_.data() + row * length_, inner_cos_.data(), inner_sin_.data(), length_);
        const double c = outer_[row].real(), s = outer_[row].imag();
        re = re + (c * sums.first - s * sums.second);
        im = im + (c * sums.second + s * sums.first);
    }
    return {re.hi, im.hi};
}

// Two phases of 8 u each, a row's sum by lanes, 22 u, and its product with a phase, 4 u; rows are added in
// double-double.
Spectrum PartialTransform::low(std::int64_t last, std::int64_t size) const {
    Spectrum found(static_cast<std::size_t>(last) + 1);
    for (std::int64_t j = 0; j <= last; ++j) {
        for (std::size_t k = 0; k < length_; ++k) {
            const std::complex<double> z = phase(-j * static_cast<std::int64_t>(k), size);
            inner_cos_[k] = z.real();
            inner_sin_[k] = z.imag();
        }
        for (std::size_t row = 0; row < rows_; ++row) {
            outer_[row] = phase(-j * static_cast<std::int64_t>(row * length_), size);
        }
        found.value[static_cast<std::size_t>(j)] = folded();
    }
    found.set_error(64.0 * kUnitRoundoff * sum_ * (1.0 + 1e-9));
    return found;
}

// By rotation: a phase is wrong by a few u for each turn, far below 1e-9.
double PartialTransform::modulus(double frequency) const {
    const auto turned = [](std::complex<double> z, std::complex<double> by) {
        return std::complex<double>(z.real() * by.real() - z.imag() * by.imag(),
                                    z.real() * by.imag() + z.imag() * by.real());
    };
    const std::complex<double> one{std::cos(frequency), -std::sin(frequency)};
    std::complex<double> z{1.0, 0.0};
    for (std::size_t k = 0; k < length_; ++k, z = turned(z, one)) {
        inner_cos_[k] = z.real();
        inner_sin_[k] = z.imag();
    }
    const std::complex<double> row = z;
    z = {1.0, 0.0};
    for (std::size_t k = 0; k < rows_; ++k, z = turned(z, row)) outer_[k] = z;
    return std::abs(folded());
}

}  // namespace renyi::lattice
