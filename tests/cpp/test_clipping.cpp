// Clipping: the same bits for any number of threads and for any strides, and the limits of each precision. Norms of
// rows and of neighbouring sums are checked in exact rationals by tests/python/test_sgd_clipping.py and its neighbours.
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "check.hpp"
#include "random.hpp"
#include "renyi/sgd/clipping.hpp"

using namespace renyi;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Result {
    std::vector<float> single;
    std::vector<double> twice, norms, factors;
    bool operator==(const Result& other) const {
        return single == other.single && twice == other.twice && factors == other.factors;
    }
};

template <class In>
Element element_of() {
    return sizeof(In) == 2 ? Element::half : sizeof(In) == 4 ? Element::single : Element::twice;
}

// One array (rows, size) whose elements are `step` and rows `row_step` elements apart.
template <class In>
Result clip(const In* data, std::size_t rows, std::size_t size, double bound, bool wide, std::size_t threads,
            std::ptrdiff_t row_step, std::ptrdiff_t step = 1, ClipRule rule = ClipRule::flat, double stability = 0.0) {
    const auto item = static_cast<std::ptrdiff_t>(sizeof(In));
    ClipTask task;
    task.rows = rows;
    task.arrays.emplace_back(data, element_of<In>(), row_step * item, std::vector<std::size_t>{size},
                             std::vector<std::ptrdiff_t>{step * item}, true);
    task.groups = {0};
    task.bounds = {bound};
    task.rule = rule;
    task.stability = stability;
    task.wide_sum = wide;
    task.threads = threads;
    Result result;
    result.norms.resize(rows);
    result.factors.resize(rows);
    task.norms = result.norms.data();
    task.factors = result.factors.data();
    if (wide) {
        result.twice.resize(size);
        task.sums = {result.twice.data()};
    } else {
        result.single.resize(size);
        task.sums = {result.single.data()};
    }
    clip_and_sum(task);
    return result;
}

// Threads, and rows gathered from a transposed array, leave the bits as they are.
template <class In>
void same_bits(std::size_t rows, std::size_t size) {
    const std::vector<In> data = check::normals<In>(rows * size, 1.0, 1);
    std::vector<In> transposed(rows * size);
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t j = 0; j < size; ++j) transposed[j * rows + r] = data[r * size + j];
    for (const bool wide : {false, true}) {
        const Result one = clip(data.data(), rows, size, 2.0, wide, 1, static_cast<std::ptrdiff_t>(size));
        for (const std::size_t threads : {2u, 3u, 7u})
            CHECK(one == clip(data.data(), rows, size, 2.0, wide, threads, static_cast<std::ptrdiff_t>(size)));
        for (const std::size_t threads : {1u, 2u})
            CHECK(one == clip(transposed.data(), rows, size, 2.0, wide, threads, 1, static_cast<std::ptrdiff_t>(rows)));
    }
}

long double norm_of(const std::vector<float>& single, const std::vector<double>& twice) {
    long double square = 0.0L;
    for (const float x : single) square += static_cast<long double>(x) * x;
    for (const double x : twice) square += static_cast<long double>(x) * x;
    return std::sqrt(square);
}

// Rows near the ends of double precision: squares overflow or vanish, factors leave the range of numbers.
void limits() {
    const double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
    const std::vector<double> huge{most, -most, most / 3}, tiny{least, 2 * least, least};
    for (const bool wide : {false, true}) {
        const Result clipped = clip(huge.data(), 1, 3, 1e-9, wide, 1, 3);
        const auto norm = static_cast<double>(norm_of(clipped.single, clipped.twice));
        CHECK_THAT(norm, <=, 1e-9);
        CHECK_THAT(norm, >=, 1e-9 * (1 - 1e-6));
        const Result unit = clip(tiny.data(), 1, 3, 1.0, wide, 1, 3, 1, ClipRule::normalise);
        const auto length = static_cast<double>(norm_of(unit.single, unit.twice));
        CHECK_THAT(length, <=, 1.0);
        CHECK_THAT(length, >=, 1 - 1e-6);
    }
    const Result kept = clip(tiny.data(), 1, 3, 1.0, true, 1, 3);
    CHECK(kept.twice == std::vector<double>(3, 0.0) && kept.factors[0] == 1.0);  // half a spacing is more
    CHECK_THAT(kept.norms[0], ==, 2 * least);  // sqrt(6) in units of the smallest number
    const Result damped = clip(tiny.data(), 1, 3, 1.0, true, 1, 3, 1, ClipRule::normalise, 0.5);
    CHECK_THAT(std::fabs(damped.factors[0] - 2.0), <=, 1e-7);
}

void not_finite() {
    for (const double bad : {kInf, -kInf, std::nan("")}) {
        std::vector<double> data{3.0, 4.0, bad, 1.0, 0.0, 0.5};
        const Result found = clip(data.data(), 3, 2, 1.0, true, 1, 2);
        CHECK(std::isnan(found.norms[1]) && found.factors[1] == 0.0);
        CHECK_THAT(found.norms[0], ==, 5.0);
        CHECK(std::isfinite(found.twice[0]) && std::isfinite(found.twice[1]));
        CHECK_THAT(found.twice[1], <=, 1.3);
        const std::vector<double> alone{bad, 0.0, 0.0, bad, bad, -bad};  // the only one, in any place
        for (const double norm : clip(alone.data(), 3, 2, 1.0, true, 1, 2).norms) CHECK(std::isnan(norm));
    }
}

// Half precision: every number has the value that its bits say.
void halves() {
    std::vector<Half> row(1);
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        row[0].bits = static_cast<std::uint16_t>(bits);
        const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
        const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
        const Result found = clip(row.data(), 1, 1, 0x1p20, false, 1, 1);
        if (exponent == 31) {
            CHECK(std::isnan(found.norms[0]));
        } else {
            CHECK_THAT(found.single[0], ==, bits & 0x8000 ? -magnitude : magnitude);
        }
    }
}

// Flush-to-zero and a rounding mode of the caller's change nothing, and are there again afterwards.
void environment() {
    const std::vector<float> data = check::normals<float>(3 * 5000, 1e-38, 3);
    const Result plain = clip(data.data(), 3, 5000, 1.0, false, 1, 5000);
    std::fesetround(FE_UPWARD);
#if defined(__SSE2__)
    const unsigned control = _mm_getcsr();
    _mm_setcsr(control | 0x8040);
#endif
    const Result other = clip(data.data(), 3, 5000, 1.0, false, 2, 5000);
#if defined(__SSE2__)
    CHECK((_mm_getcsr() & 0x8040) == 0x8040);
    _mm_setcsr(control);
#endif
    CHECK(std::fegetround() == FE_UPWARD);
    std::fesetround(FE_TONEAREST);
    CHECK(plain == other);
    std::feclearexcept(FE_ALL_EXCEPT);
    const std::vector<double> bad{kInf, 1.0};
    clip(bad.data(), 1, 2, 1.0, false, 1, 2);
    CHECK(std::fetestexcept(FE_ALL_EXCEPT) == 0);
}

void nothing() {
    const float none = 0.0f;
    const Result rows = clip(&none, 0, 1, 1.0, false, 4, 1), size = clip(&none, 3, 0, 1.0, false, 4, 0);
    CHECK(rows.single == std::vector<float>{0.0f});
    CHECK(size.norms == std::vector<double>(3, 0.0));
}

void weights() {
    const std::vector<float> data{1.0f, 2.0f, std::nanf(""), 1.0f, 3.0f, -4.0f};
    const std::vector<double> weight{0.5, 0.0, 2.0};
    std::vector<double> sum(2);
    ClipTask task;
    task.rows = 3;
    task.arrays.emplace_back(data.data(), Element::single, 8, std::vector<std::size_t>{2},
                             std::vector<std::ptrdiff_t>{4}, true);
    task.sums = {sum.data()};
    task.wide_sum = true;
    task.weights = weight.data();
    clip_and_sum(task);
    CHECK_THAT(sum[0], ==, 6.5);
    CHECK_THAT(sum[1], ==, -7.0);
    task.adds_to_sums = true;
    clip_and_sum(task);
    CHECK_THAT(sum[1], ==, -14.0);
    task.rows = 0;
    clip_and_sum(task);
    CHECK_THAT(sum[1], ==, -14.0);
    task.adds_to_sums = false;
    clip_and_sum(task);
    CHECK_THAT(sum[1], ==, 0.0);
}

}  // namespace

int main() {
    same_bits<float>(70, 33);
    same_bits<float>(1100, 300);
    same_bits<double>(97, 2049);
    same_bits<double>(9, 70001);
    same_bits<float>(11, 140001);
    limits();
    not_finite();
    halves();
    environment();
    nothing();
    weights();
    return check::finish();
}
