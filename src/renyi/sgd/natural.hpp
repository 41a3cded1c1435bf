// Natural numbers of any length, for the rare cases in which a machine word cannot decide. Schoolbook arithmetic.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace renyi {

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

}  // namespace renyi
