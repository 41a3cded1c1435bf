// Exact sampling of noise on the integers: natural numbers, Bernoulli variables of probability e^-x, the discrete
// Laplace and Gaussian laws.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "renyi/sgd/generator.hpp"
#include "renyi/sgd/threads.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

// Natural numbers of any length, for the rare cases that a machine word does not decide. Schoolbook arithmetic.

class Natural {
public:
    Natural() = default;
    explicit Natural(std::uint64_t n) : digits_{static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32)} {
        trim();
    }

    bool is_zero() const noexcept { return digits_.empty(); }

    Natural shifted(std::size_t words) const {  // times 2^(32 words)
        Natural result = *this;
        if (!is_zero()) result.digits_.insert(result.digits_.begin(), words, 0u);
        return result;
    }

    Natural times_power_of_two(std::size_t bits) const {
        return shifted(bits / 32) * Natural(std::uint64_t{1} << (bits % 32));
    }

    Natural divided_by_power_of_two(std::size_t bits) const {  // rounded down
        Natural result;
        for (std::size_t i = bits / 32; i < digits_.size(); ++i)
            result.digits_.push_back(static_cast<std::uint32_t>((digit(i) | digit(i + 1) << 32) >> (bits % 32)));
        result.trim();
        return result;
    }

    Natural divided_by(std::uint32_t n) const {  // rounded down
        Natural result = *this;
        std::uint64_t rest = 0;
        for (std::size_t i = digits_.size(); i-- > 0; rest %= n) {
            rest = rest << 32 | digits_[i];
            result.digits_[i] = static_cast<std::uint32_t>(rest / n);
        }
        result.trim();
        return result;
    }

    std::size_t bits() const noexcept {  // the least b with *this < 2^b
        return digits_.empty() ? 0 : 32 * digits_.size() - static_cast<std::size_t>(std::countl_zero(digits_.back()));
    }

    std::uint64_t low_word() const noexcept { return digit(0) | digit(1) << 32; }

    friend Natural operator+(const Natural& a, const Natural& b) {
        Natural sum;
        std::uint64_t carry = 0;
        for (std::size_t i = 0; i < std::max(a.digits_.size(), b.digits_.size()) || carry != 0; ++i, carry >>= 32) {
            carry += a.digit(i) + b.digit(i);
            sum.digits_.push_back(static_cast<std::uint32_t>(carry));
        }
        return sum;
    }

    friend Natural operator-(const Natural& a, const Natural& b) {  // a >= b
        Natural difference = a;
        std::uint64_t borrow = 0;
        for (std::size_t i = 0; i < a.digits_.size(); ++i) {
            const std::uint64_t d = a.digit(i) - b.digit(i) - borrow;
            difference.digits_[i] = static_cast<std::uint32_t>(d);
            borrow = d >> 63;
        }
        difference.trim();
        return difference;
    }

    friend Natural operator*(const Natural& a, const Natural& b) {
        Natural product;
        product.digits_.assign(a.digits_.size() + b.digits_.size(), 0u);
        for (std::size_t i = 0; i < a.digits_.size(); ++i) {
            std::uint64_t carry = 0;
            for (std::size_t j = 0; j <= b.digits_.size(); ++j, carry >>= 32) {
                if (j == b.digits_.size() && carry == 0) break;
                carry += product.digits_[i + j] + a.digit(i) * b.digit(j);
                product.digits_[i + j] = static_cast<std::uint32_t>(carry);
            }
        }
        product.trim();
        return product;
    }

    friend bool operator<(const Natural& a, const Natural& b) noexcept {
        if (a.digits_.size() != b.digits_.size()) return a.digits_.size() < b.digits_.size();
        return std::lexicographical_compare(a.digits_.rbegin(), a.digits_.rend(), b.digits_.rbegin(), b.digits_.rend());
    }

private:
    std::uint64_t digit(std::size_t i) const noexcept { return i < digits_.size() ? digits_[i] : 0u; }
    void trim() {
        while (!digits_.empty() && digits_.back() == 0) digits_.pop_back();
    }

    std::vector<std::uint32_t> digits_;  // least significant first, none leading
};

// Bernoulli variables of probability e^-x for rational x >= 0, exactly.
//
// The variable is 1 if a uniform U, drawn 64 bits at a time, is below e^-x. The first word of U decides in all but one
// case in 2^38: e^-x in double has a bounded error, which is added and subtracted. Otherwise two partial sums of its
// series in integer arithmetic of any length enclose e^-x, and U is lengthened until it lies outside of them; e^-x is
// irrational for rational x > 0, so that this happens with probability 1, and no rounding enters the result. (Canonne,
// Kamath, Steinke 2020, arXiv 2004.00010, Algorithm 1, draws the series term by term instead, with the same law.)

struct Fraction {
    Natural p, q;
};

// Whether U < e^-(p/q), given the first word of U.
bool is_below_exp(WordSource& words, std::uint64_t first, const Fraction& x);

// Draws a variable of probability e^-x from x with an absolute error and a function `exact` that returns x exactly. The
// error is below 1 wherever e^-x > 2^-64.
template <class Exact>
bool bernoulli_exp(WordSource& words, double x, double absolute_error, const Exact& exact) {
    const std::uint64_t word = words.next64();
    const auto u = static_cast<double>(word);  // relative error 2^-53; lane_exp has 3u
    const double e = lane_exp(-x) * 0x1p64;
    const double margin = e * (2.0 * absolute_error + 0x1p-49) + 4.0;
    if (u < e - margin) return true;
    if (u > e + margin) return false;
    return is_below_exp(words, word, exact());
}

// The discrete Laplace law on the integers, of mass proportional to e^(-|y| / scale), sampled exactly.
//
// Canonne, Kamath, Steinke 2020, arXiv 2004.00010, Algorithm 2, for any scale and any modulus t >= 1; here t is the
// power of two next to the scale, so that uniform integers below it are bits. |y| = r + t v: r is uniform below t and
// accepted with probability e^(-r / scale), v is the number of successes of probability e^(-t / scale), and the
// combination of minus and 0 is rejected. The Bernoulli variables are exact; the scale is the rational number that the
// double represents. (v beyond 2^20, of probability below e^-700000, would exceed 64 bits.)

constexpr double kSmallestScale = 0x1p-20;
constexpr double kLargestScale = 0x1p40;

// A scale as an exact rational number, and the power of two next to it, at least 1.
struct ExactScale {
    explicit ExactScale(double scale) noexcept;

    double value;
    int log_modulus;
    std::uint64_t integer;  // value = integer 2^-shift
    int shift;              // > 0
};

class DiscreteLaplace {
public:
    explicit DiscreteLaplace(double scale) noexcept : scale_(scale) {}
    std::int64_t operator()(WordSource& words) const;

private:
    bool accepts(WordSource& words, std::uint64_t distance) const;  // with probability e^(-distance / scale)

    ExactScale scale_;
};

// The discrete Gaussian on the integers, of mass proportional to e^(-y^2 / (2 sigma^2)), sampled exactly.
//
// Canonne, Kamath, Steinke 2020, arXiv 2004.00010, Algorithm 3: y from the discrete Laplace law of mass proportional to
// e^(-|y|/t), accepted with probability e^-g, g = (|y| - sigma^2/t)^2 / (2 sigma^2). Any t > 0 gives the law; here t is
// the power of two next to sigma, at least 1, so that a quotient by t is exact. Proposals and their acceptance are
// exact, and sigma is the rational number that the double represents: the law of the output is the discrete Gaussian
// itself for every sigma in [kSmallestScale, kLargestScale].

class DiscreteGaussian {
public:
    explicit DiscreteGaussian(double sigma) noexcept;
    std::int64_t operator()(WordSource& words) const;

private:
    ExactScale sigma_;
    double quotient_;  // sigma / t
    DiscreteLaplace proposal_;
};

// Adds noise of a law on the integers. Every 256 integers have their own nonce, so that the bits do not depend on the
// number of threads. Sums wrap around.
template <class Law>
void add_integer_noise(const ChaChaStream& stream, const Law& law, std::int64_t* out, std::size_t count,
                       int threads) noexcept {
    constexpr std::size_t kChunk = 256;
    parallel_for((count + kChunk - 1) / kChunk, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t c = begin; c < end; ++c) {
            WordSource words({stream.key, c});
            for (std::size_t i = c * kChunk; i < std::min(count, (c + 1) * kChunk); ++i)
                out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(out[i]) +
                                                   static_cast<std::uint64_t>(law(words)));
        }
    });
}

}  // namespace renyi
