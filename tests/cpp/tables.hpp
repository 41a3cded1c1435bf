// Reference values in tests/reference/cpp/*.npy: one struct a table, columns in the order of the file. A value is an
// unevaluated sum hi + lo. The maker is tests/reference/make_cpp_tables.py.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace table {

struct Exp {
    static constexpr auto file = "exp";
    double t, exp_hi, exp_lo, expm1_hi, expm1_lo, phi_hi, phi_lo;
};
struct Log {
    static constexpr auto file = "log";
    double y, log_hi, log_lo, pmx_hi, pmx_lo;
};
struct Log1p {
    static constexpr auto file = "log1p";
    double x, log1p_hi, log1p_lo, pmx_hi, pmx_lo;
};
struct ExpDD {  // exp(hi + lo) = 2^exponent (exp_hi + exp_lo)
    static constexpr auto file = "exp_dd";
    double hi, lo, exponent, exp_hi, exp_lo;
};
struct LogDD {
    static constexpr auto file = "log_dd";
    double hi, lo, log_hi, log_lo;
};
struct Log1pOf {  // log1p of 2^exponent (hi + lo)
    static constexpr auto file = "log1p_of";
    double hi, lo, exponent, log1p_hi, log1p_lo;
};
struct Arithmetic {
    static constexpr auto file = "arithmetic";
    double a_hi, a_lo, b_hi, b_lo, sum_hi, sum_lo, product_hi, product_lo, ratio_hi, ratio_lo;
};
struct Factorial5000 {  // 5000! = 2^exponent (hi + lo)
    static constexpr auto file = "factorial5000";
    double exponent, hi, lo;
};
struct Erfcx {
    static constexpr auto file = "erfcx";
    double x, hi, lo;
};
struct Node {
    static constexpr auto file = "node";
    double q, sigma, h, j, s_remove, s_add, l_hi, l_lo, g_remove_hi, g_remove_lo, g_add_hi, g_add_lo, m_hi, m_lo, n_hi,
        n_lo, phi_remove_hi, phi_remove_lo, phi_add_hi, phi_add_lo;
};
struct GivenDelta {
    static constexpr auto file = "given_delta";
    double alpha, k, log_delta, mironov_hi, mironov_lo, balle_hi, balle_lo, asoodeh_hi, asoodeh_lo, optimal_hi,
        optimal_lo;
};
struct GivenEpsilon {  // log delta, not cut at 0
    static constexpr auto file = "given_epsilon";
    double alpha, k, epsilon, mironov_hi, mironov_lo, balle_hi, balle_lo, asoodeh_hi, asoodeh_lo, optimal_hi,
        optimal_lo;
};

// The rows of Row's file: ten bytes of which the last two are the size of the header, the header, little-endian doubles.
template <class Row>
std::vector<Row> rows() {
    const std::string path = std::string(RENYI_TABLES) + "/" + Row::file + ".npy";
    std::ifstream stream(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(stream), {});
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
    const std::size_t start = bytes.size() < 10 ? 0 : 10 + byte(8) + 256 * byte(9);
    std::size_t columns = 0;
    for (std::size_t at = bytes.find("<f8"); at < start; at = bytes.find("<f8", at + 1)) ++columns;
    if (start >= bytes.size() || columns * sizeof(double) != sizeof(Row) || (bytes.size() - start) % sizeof(Row) != 0) {
        std::fprintf(stderr, "%s is no table of %zu columns\n", path.c_str(), sizeof(Row) / sizeof(double));
        std::abort();
    }
    std::vector<Row> found((bytes.size() - start) / sizeof(Row));
    std::memcpy(found.data(), bytes.data() + start, bytes.size() - start);
    return found;
}

}  // namespace table
