// d_s(n) = E[exp(c^2/2 sum_i k_i (k_i - 1))] - 1 for n balls in s bins, by d_{s+s'} (head of random_allocation.hpp).
//
// Error, in u: d_1(n) is right to e (n-1), e = 8 + 2 c^2 n, and each of the L combinations adds n + 16: a sum of n+1
// terms >= 0 whose weights and products are right to 16. Where both k and n-k are 2 or more their errors add to e
// (n-2), otherwise there is one: by induction the whole is below (e + L (n+16)) n.
#include <algorithm>
#include <bit>
#include <cmath>

#include "renyi/mechanism/excess.hpp"
#include "renyi/mechanism/allocation.hpp"
#include "renyi/special/log_factorial.hpp"

namespace renyi {

namespace {

struct Wide {  // mantissa 2^exponent, mantissa in [1/2, 1) or 0
    double mantissa = 0.0;
    int exponent = -(1 << 28);
};

Wide wide(double x, double exponent = 0.0) noexcept {
    int shift;
    const double m = std::frexp(x, &shift);
    return m == 0.0 ? Wide{} : Wide{m, shift + static_cast<int>(exponent)};
}

double shifted(double x, int exponent) noexcept {
    return exponent < -1000 ? 0.0 : x * std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

using Table = std::vector<Wide>;

// a_k b_{n-k} + c_k d_{n-k}, times C(n, k), summed over k; exponents first, so that the sum is one of doubles.
Wide convolved(const Wide* binomials, const Table& a, const Table& b, const Table& c, const Table& d, int n) noexcept {
    int top = -(1 << 28);
    for (int k = 0; k <= n; ++k) {
        const int e = std::max(a[k].exponent + b[n - k].exponent, c[k].exponent + d[n - k].exponent);
        top = std::max(top, binomials[k].exponent + e);
    }
    double sum = 0.0;
    for (int k = 0; k <= n; ++k) {
        const int shift = binomials[k].exponent - top;
        const double first = shifted(a[k].mantissa * b[n - k].mantissa, a[k].exponent + b[n - k].exponent + shift);
        const double second = shifted(c[k].mantissa * d[n - k].mantissa, c[k].exponent + d[n - k].exponent + shift);
        sum += binomials[k].mantissa * (first + second);
    }
    return wide(sum, top);
}

// C(n, k) for all n and k, row by row.
std::vector<Wide> binomial_table(int last) {
    std::vector<DoubleDouble> factorials;
    for (int n = 0; n <= last; ++n) factorials.push_back(log_factorial(n));
    std::vector<Wide> table;
    for (int n = 0; n <= last; ++n) {
        for (int k = 0; k <= n; ++k) {
            const Scaled c = exp_dd(factorials[n] - factorials[k] - factorials[n - k]);
            table.push_back(wide(c.mantissa.hi, c.exponent));
        }
    }
    return table;
}

// p^k and p^k d(k), given log p.
struct Weighted {
    Table powers, values, sums;

    Weighted(const Table& d, DoubleDouble log_p) {
        for (std::size_t k = 0; k < d.size(); ++k) {
            const Scaled power = exp_dd(log_p * static_cast<double>(k));
            const Scaled value = power * Scaled{{d[k].mantissa, 0.0}, static_cast<double>(d[k].exponent)};
            const Scaled sum = power + value;
            powers.push_back(wide(power.mantissa.hi, power.exponent));
            values.push_back(wide(value.mantissa.hi, value.exponent));
            sums.push_back(wide(sum.mantissa.hi, sum.exponent));
        }
    }
};

// d(0 .. n) of the bins of a and of b together: p^k q^j (d_a (1 + d_b) + d_b).
Table combined(const std::vector<Wide>& binomials, const Weighted& a, const Weighted& b) {
    Table d(a.values.size());
    for (int n = 2, row = 3; n < static_cast<int>(d.size()); row += ++n)
        d[n] = convolved(&binomials[row], a.values, b.sums, a.powers, b.values, n);
    return d;
}

}  // namespace

std::vector<Certified> allocation_remove(double c, std::int64_t steps, int last) {
    const std::vector<Wide> binomials = binomial_table(last);
    Table one;
    for (int n = 0; n <= last; ++n) {
        const Scaled d = scaled_expm1({0.5 * c * c * n * (n - 1.0), 0.0});
        one.push_back(wide(d.mantissa.hi, d.exponent));
    }
    Table d = one;
    int combinations = 0;
    double bins = 1.0;
    for (int bit = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(steps))) - 2; bit >= 0; --bit) {
        const Weighted half(d, -kLog2DD);
        d = combined(binomials, half, half);
        bins *= 2.0, ++combinations;
        if ((steps >> bit & 1) == 0) continue;
        const DoubleDouble total = log_dd({bins + 1.0, 0.0});
        d = combined(binomials, {d, log_dd({bins, 0.0}) - total}, {one, -total});
        bins += 1.0, ++combinations;
    }
    std::vector<Certified> k;
    for (int n = 0; n <= last; ++n) {
        Excess excess;
        const double error = (8.0 + 2.0 * c * c * n + combinations * (n + 16.0)) * n * kUnitRoundoff;
        if (d[n].mantissa > 0.0) excess.add({{d[n].mantissa, 0.0}, static_cast<double>(d[n].exponent)}, error);
        k.push_back(excess.log_moment(0.0));
    }
    return k;
}

}  // namespace renyi
