#include "renyi/matrix/stream.hpp"

#include <algorithm>
#include <utility>

#include "renyi/fp/multiversion.hpp"
#include "renyi/sgd/rounded_noise.hpp"
#include "renyi/sgd/threads.hpp"

namespace renyi {

namespace {

constexpr std::size_t kBlock = 1024;  // entries of a block, a multiple of the chunks in which noise is added
constexpr std::size_t kLeastPerThread = 1 << 14;
constexpr double kOne = 1.0;

// sum[i] -= factors[k] rows[k n + i], row by row.
template <class Real>
RENYI_INLINE void subtract_rows(double* __restrict sum, const Real* __restrict rows, const double* __restrict factors,
                                std::size_t count, std::size_t n) noexcept {
    std::size_t k = 0;
    for (; k + 4 <= count; k += 4) {  // four rows at once, for which the sum is read and written once
        const Real *a = rows + k * n, *b = a + n, *c = b + n, *d = c + n;
        const double p = factors[k], q = factors[k + 1], r = factors[k + 2], s = factors[k + 3];
        for (std::size_t i = 0; i < n; ++i) {
            double left = sum[i] - p * static_cast<double>(a[i]);
            left -= q * static_cast<double>(b[i]);
            left -= r * static_cast<double>(c[i]);
            sum[i] = left - s * static_cast<double>(d[i]);
        }
    }
    for (; k < count; ++k)
        for (std::size_t i = 0; i < n; ++i) sum[i] -= factors[k] * static_cast<double>(rows[k * n + i]);
}
RENYI_MULTIVERSION void subtract(double* sum, const float* rows, const double* factors, std::size_t count,
                                 std::size_t n) noexcept {
    subtract_rows(sum, rows, factors, count, n);
}
RENYI_MULTIVERSION void subtract(double* sum, const double* rows, const double* factors, std::size_t count,
                                 std::size_t n) noexcept {
    subtract_rows(sum, rows, factors, count, n);
}

// s <- decay s + r
RENYI_MULTIVERSION void decay_and_add(double* __restrict s, const double* __restrict r, double decay,
                                      std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) s[i] = decay * s[i] + r[i];
}

// The entries of one block and their draws.
template <class Real>
class Block {
public:
    Block(const NoiseStep& step, std::size_t index, Real* numbers) noexcept
        : step_(step), begin(index * kBlock), size(std::min(kBlock, step.size - begin)), numbers_(numbers + begin) {
        for (std::size_t i = 0; i < size; ++i) sum[i] = given[i] = static_cast<double>(numbers_[i]);
    }

    // Draws noise number `number` for the sum, rounded to the lattice of the noise.
    void draw(std::size_t number) noexcept {
        for (std::size_t i = 0; i < size; ++i) drawn[i] = static_cast<Real>(sum[i]);
        if (step_.scale == 0.0) return;
        const std::uint64_t first = step_.first + number * noise_groups(step_.size) + noise_groups(begin);
        add_noise(NoiseLaw::gaussian, step_.stream, first, NoiseLattice(step_.scale), drawn, size, 1);
    }

    void release(const Real* values) noexcept { std::copy_n(values, size, numbers_); }

    // Clears this block and earlier blocks in the same memory.
    void forget(std::size_t entries) noexcept {
        wipe(sum, entries * sizeof *sum);
        wipe(given, entries * sizeof *given);
        wipe(drawn, entries * sizeof *drawn);
    }

private:
    const NoiseStep& step_;

public:
    const std::size_t begin, size;
    alignas(64) double sum[kBlock];
    alignas(64) double given[kBlock];
    alignas(64) Real drawn[kBlock];

private:
    Real* const numbers_;
};

template <class Real, class Body>
void for_blocks(const NoiseStep& step, Real* numbers, const Body& body) {
    const auto useful = static_cast<int>(std::min<std::size_t>(step.size / kLeastPerThread + 1, 1 << 16));
    const std::size_t blocks = (step.size + kBlock - 1) / kBlock;
    parallel_for(blocks, std::min(step.threads, useful), [&](std::size_t from, std::size_t to) {
        const IeeeMode mode;
        for (std::size_t index = from; index < to; ++index) {
            Block<Real> block(step, index, numbers);
            body(block);
            if (index + 1 == to) block.forget(index == from ? block.size : kBlock);
        }
        wipe_stack<kDrawStack>();
    });
}

}  // namespace

template <class Real>
void add_banded_noise(const NoiseStep& step, const double* taps, std::size_t slots, std::size_t newest, bool inverse,
                      Real* buffers, Real* numbers) {
    for_blocks(step, numbers, [&](Block<Real>& block) {
        Real* const rows = buffers + slots * block.begin;
        subtract(block.sum, rows, taps, slots, block.size);
        block.draw(0);
        if (newest < slots) {
            Real* const r = rows + newest * block.size;
            const double* const before = inverse ? block.sum : block.given;
            for (std::size_t i = 0; i < block.size; ++i)
                r[i] = static_cast<Real>(static_cast<double>(block.drawn[i]) - before[i]);
        }
        block.release(block.drawn);
    });
}

template <class Real>
void add_buffered_noise(const NoiseStep& step, const double* weights, const double* decays, std::size_t slots,
                        double* buffers, Real* numbers) {
    for_blocks(step, numbers, [&](Block<Real>& block) {
        double* const rows = buffers + slots * block.begin;
        subtract(block.sum, rows, weights, slots, block.size);
        block.draw(0);
        for (std::size_t i = 0; i < block.size; ++i)
            block.sum[i] = static_cast<double>(block.drawn[i]) - block.given[i];
        for (std::size_t k = 0; k < slots; ++k) decay_and_add(rows + k * block.size, block.sum, decays[k], block.size);
        block.release(block.drawn);
    });
}

template <class Real>
void add_tree_noise(const NoiseStep& step, const double* own, const bool* sibling, std::size_t levels,
                    std::size_t newest, Real* buffers, Real* numbers) {
    for_blocks(step, numbers, [&](Block<Real>& block) {
        alignas(64) Real estimate[kBlock] = {};
        for (std::size_t h = 0; h < levels; ++h) {
            if (own[h] != 0.0) {
                block.draw(h);
                const auto w = static_cast<Real>(own[h]);
                for (std::size_t i = 0; i < block.size; ++i)
                    estimate[i] = w == 1 ? block.drawn[i] : w * block.drawn[i] + (1 - w) * estimate[i];
            }
            if (sibling[h]) subtract(block.sum, buffers + h * step.size + block.begin, &kOne, 1, block.size);
        }
        if (newest != kNone) {  // the r of all children: the subtracted ones and that of this step
            Real* const r = buffers + newest * step.size + block.begin;
            for (std::size_t i = 0; i < block.size; ++i)
                r[i] = static_cast<Real>(static_cast<double>(estimate[i]) - block.sum[i]);
        }
        block.release(estimate);
    });
}

#define RENYI_STREAM_OF(Real)                                                                                      \
    template void add_banded_noise(const NoiseStep&, const double*, std::size_t, std::size_t, bool, Real*, Real*); \
    template void add_buffered_noise(const NoiseStep&, const double*, const double*, std::size_t, double*, Real*); \
    template void add_tree_noise(const NoiseStep&, const double*, const bool*, std::size_t, std::size_t, Real*, Real*)
RENYI_STREAM_OF(float);
RENYI_STREAM_OF(double);
#undef RENYI_STREAM_OF

double best_selection(const double* x, std::size_t n, std::size_t separation, std::size_t most, double* work) noexcept {
    double *fewer = work, *present = work + (n + 1);
    std::fill_n(fewer, n + 1, 0.0);
    for (std::size_t j = 0; j < most; ++j) {
        present[n] = 0.0;
        for (std::size_t i = n; i-- > 0;) {
            const double taken = x[i] + (separation < n - i ? fewer[i + separation] : 0.0);
            present[i] = std::max(taken, present[i + 1]);
        }
        std::swap(fewer, present);
    }
    return fewer[0];
}

}  // namespace renyi
