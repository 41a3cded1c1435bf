#include "renyi/sgd/exact_exponential.hpp"

namespace renyi {

bool is_below_exp(WordSource& words, std::uint64_t first, const Fraction& x) {
    if (x.p.is_zero()) return true;  // U < 1
    Natural u(first), one(1), denominator(1), term(1), plus(1), minus;
    std::uint32_t bits = 64, j = 0;
    const auto lengthen = [&] { u = u.shifted(2) + Natural(words.next64()), bits += 64; };
    // Where x >= bits, e^-x < 2^-bits: only U = 0.00...0 is still undecided, and the series would be long.
    for (; !(x.p < x.q * Natural(bits)); lengthen())
        if (!u.is_zero()) return false;
    // e^-x lies between the sums S_j = sum_{i <= j} (-x)^i / i! for even and odd j as soon as the terms decrease, j >
    // x; D = q^j j! is the common denominator, P and M the numerators of the positive and of the negative terms.
    for (;; lengthen()) {
        bool decreasing = false;
        for (const std::uint32_t last = j + 8; j < last;) {
            ++j;
            const Natural factor = x.q * Natural(j);
            denominator = denominator * factor, plus = plus * factor, minus = minus * factor;
            term = term * x.p;
            (j % 2 != 0 ? minus : plus) = (j % 2 != 0 ? minus : plus) + term;
            decreasing = x.p < factor;
        }
        if (!decreasing) continue;
        // j is even: S_j = (P - M) / D is above e^-x, and S_j - term / D is below.
        const std::uint32_t words32 = bits / 32;
        const Natural top = plus.shifted(words32), bottom = minus.shifted(words32);
        if (!(u * denominator + bottom < top)) return false;
        if (!(top < (u + one) * denominator + bottom + term.shifted(words32))) return true;
    }
}

}  // namespace renyi
