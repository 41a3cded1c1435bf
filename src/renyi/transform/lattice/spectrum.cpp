// A product of two computed complex numbers is within 4 u of the exact one, relative to its modulus (Higham, Accuracy
// and Stability of Numerical Algorithms, 2nd ed., Lemma 3.5). Underflow on the way is below 2^-1000 in all, and is
// added to the errors of the composition (tilted_law.cpp).
#include "renyi/transform/lattice/spectrum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/transform/lattice/lattice.hpp"

namespace renyi::lattice {

namespace {

constexpr double kProduct = 4.0 * kUnitRoundoff;
constexpr double kLeastPower = 0x1p-200;
constexpr int kWidth = 8;  // complex numbers in a register block

RENYI_INLINE double larger(double a, double b) noexcept { return a > b ? a : b; }

// A block of complex numbers, real and imaginary parts apart.
struct Block {
    double re[kWidth], im[kWidth];
};

RENYI_INLINE void load(const double* from, int n, Block& a) noexcept {
    for (int l = 0; l < n; ++l) a.re[l] = from[2 * l], a.im[l] = from[2 * l + 1];
    for (int l = n; l < kWidth; ++l) a.re[l] = a.im[l] = 0.0;
}

RENYI_INLINE void store(const Block& a, int n, double* to) noexcept {
    for (int l = 0; l < n; ++l) to[2 * l] = a.re[l], to[2 * l + 1] = a.im[l];
}

RENYI_INLINE void times(Block& a, const Block& b) noexcept {
    for (int l = 0; l < kWidth; ++l) {
        const double re = a.re[l] * b.re[l] - a.im[l] * b.im[l];
        a.im[l] = a.re[l] * b.im[l] + a.im[l] * b.re[l];
        a.re[l] = re;
    }
}

RENYI_INLINE void plus(Block& a, const Block& b) noexcept {
    for (int l = 0; l < kWidth; ++l) a.re[l] += b.re[l], a.im[l] += b.im[l];
}

RENYI_INLINE int length_at(std::size_t i, std::size_t n) noexcept {
    return n - i < kWidth ? static_cast<int>(n - i) : kWidth;
}

RENYI_MULTIVERSION void multiply_values(double* a, const double* b, std::size_t n) noexcept {
    Block x, y;
    for (std::size_t i = 0; i < n; i += kWidth) {
        const int length = length_at(i, n);
        load(a + 2 * i, length, x);
        load(b + 2 * i, length, y);
        times(x, y);
        store(x, length, a + 2 * i);
    }
}

// r^count rounded up, r >= 0, never below 2^-1000. Where it counts, |count log r| <= 708 is known to 4 u relative, and
// that of the exponential is 3 u.
RENYI_INLINE double upper_power(double r, double count) noexcept {
    const double exponent = count * lane_log(larger(r, 0x1p-1000));
    const double clamped = exponent < 700.0 ? larger(exponent, -690.0) : 700.0;
    return exp_of(reduce_exp(clamped)) * (1.0 + 0x1p-40);
}

RENYI_MULTIVERSION void bound_powers(const Spectrum& z, double count, Spectrum& out) noexcept {
    for (std::size_t i = 0; i < z.size(); ++i) {
        const double relative = z.error[i] / larger(z.reach[i], 0x1p-1000) + kProduct;
        out.reach[i] = upper_power(z.reach[i], count);
        out.error[i] = count * relative * out.reach[i];
    }
}

RENYI_MULTIVERSION void raise(const double* z, std::size_t n, std::int64_t count, double* out) noexcept {
    Block base, result;
    const int length = static_cast<int>(n);
    load(z, length, base);
    bool empty = true;
    for (;;) {
        if (count & 1) {
            if (empty)
                result = base;
            else
                times(result, base);
            empty = false;
        }
        count >>= 1;
        if (count == 0) break;
        const Block copy = base;
        times(base, copy);
    }
    store(result, length, out);
}

// Sums by doubling: G_2m = G_m (z^m + b^m) and G_m+1 = z G_m + b^m.
RENYI_MULTIVERSION void add_powers(const double* z, const double* b, std::size_t n, std::int64_t count,
                                   double* out) noexcept {
    Block first, second, value, power_z, power_b, sum;
    const int length = static_cast<int>(n);
    load(z, length, first);
    load(b, length, second);
    power_z = first;
    power_b = second;
    for (int l = 0; l < kWidth; ++l) value.re[l] = 1.0, value.im[l] = 0.0;
    for (int bit = std::bit_width(static_cast<std::uint64_t>(count)) - 2; bit >= 0; --bit) {
        sum = power_z;
        plus(sum, power_b);
        times(value, sum);
        sum = power_z;
        times(power_z, sum);
        sum = power_b;
        times(power_b, sum);
        if ((count >> bit & 1) == 0) continue;
        times(value, first);
        plus(value, power_b);
        times(power_z, first);
        times(power_b, second);
    }
    store(value, length, out);
}

RENYI_MULTIVERSION void bound_geometric(const Spectrum& z, const Spectrum& b, double count, Spectrum& out) noexcept {
    for (std::size_t i = 0; i < z.size(); ++i) {
        const double r = larger(z.reach[i], b.reach[i]);
        const double relative = z.error[i] / larger(r, 0x1p-1000) + 2.0 * kProduct;
        out.reach[i] = count * upper_power(r, count - 1.0) * (1.0 + kProduct);
        out.error[i] = count * relative * out.reach[i];
    }
}

RENYI_MULTIVERSION void set_reach(const double* value, std::size_t n, double error, double* reach) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
        const double re = value[2 * i], im = value[2 * i + 1];
        // Squares below 2^-1022 may be lost, and with them a modulus of 2^-510.
        reach[i] = __builtin_sqrt(re * re + im * im) * (1.0 + kProduct) + (error + 0x1p-509);
    }
}

RENYI_MULTIVERSION void multiply_bounds(Spectrum& a, const Spectrum& b) noexcept {
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double reach = a.reach[i] * b.reach[i];
        a.error[i] = a.error[i] * b.reach[i] + a.reach[i] * b.error[i] + kProduct * reach;
        a.reach[i] = reach * (1.0 + kProduct);
    }
}

double* parts_of(Spectrum& s, std::size_t i) noexcept { return reinterpret_cast<double*>(s.value.data() + i); }
const double* parts_of(const Spectrum& s, std::size_t i) noexcept {
    return reinterpret_cast<const double*>(s.value.data() + i);
}

}  // namespace

void Spectrum::set_error(double e) noexcept {
    set_reach(parts_of(*this, 0), size(), e, reach.data());
    error.assign(size(), e);
}

void Spectrum::add(const Spectrum& other) noexcept {
    for (std::size_t i = 0; i < size(); ++i) {
        value[i] += other.value[i];
        reach[i] = (reach[i] + other.reach[i]) * (1.0 + kProduct);
        error[i] += other.error[i] + 2.0 * kUnitRoundoff * reach[i];
    }
}

void Spectrum::multiply(const Spectrum& other) noexcept {
    multiply_values(parts_of(*this, 0), parts_of(other, 0), size());
    multiply_bounds(*this, other);
}

// The error of the argument gives at most count reach^(count-1) error, and each of the products 4 u.
Spectrum power_of(const Spectrum& z, std::int64_t count) {
    if (count == 1) return z;
    Spectrum power(z.size());
    bound_powers(z, static_cast<double>(count), power);
    for (std::size_t i = 0; i < z.size(); i += kWidth) {
        const int length = length_at(i, z.size());
        bool matters = false;
        for (int l = 0; l < length; ++l) matters |= power.reach[i + l] > kLeastPower;
        if (matters) {
            raise(parts_of(z, i), static_cast<std::size_t>(length), count, parts_of(power, i));
        } else {
            for (int l = 0; l < length; ++l) power.error[i + l] = power.reach[i + l];
        }
    }
    return power;
}

// With r the larger of both moduli the sum is at most count r^(count-1), and count^2 r^(count-2) bounds the effect of
// the errors.
Spectrum geometric_sum(const Spectrum& z, const Spectrum& b, std::int64_t count) {
    Spectrum sum(z.size());
    bound_geometric(z, b, static_cast<double>(count), sum);
    for (std::size_t i = 0; i < z.size(); i += kWidth) {
        const auto length = static_cast<std::size_t>(length_at(i, z.size()));
        add_powers(parts_of(z, i), parts_of(b, i), length, count, parts_of(sum, i));
    }
    return sum;
}

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
    length_ = std::min<std::size_t>(length_, 256);  // the most that two_products takes
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

// The phases come by rotation: each turn adds an error of a few u, far below 1e-9.
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
