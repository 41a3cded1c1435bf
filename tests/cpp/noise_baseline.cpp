// The noise kernels a second time: for the baseline instruction set only, without vectorisation (see CMakeLists.txt),
// in a namespace of their own.
#include "baseline.hpp"

#include "renyi/fp/multiversion.hpp"

#undef RENYI_MULTIVERSION
#define RENYI_MULTIVERSION
#undef RENYI_HAS_CLONES
#define renyi renyi_baseline
#include "renyi/sgd/chacha20.cpp"
#include "renyi/sgd/rounded_noise.cpp"
#undef renyi

namespace baseline {

namespace {

template <class Real>
void add(bool gaussian, const std::uint32_t* key, std::uint64_t first, double scale, Real* numbers, std::size_t count) {
    using namespace renyi_baseline;
    ChaChaStream stream{};
    std::copy_n(key, stream.key.size(), stream.key.begin());
    add_noise(gaussian ? NoiseLaw::gaussian : NoiseLaw::laplace, stream, first, NoiseLattice(scale), numbers, count, 1);
}

}  // namespace

void noise(bool gaussian, const std::uint32_t* key, std::uint64_t first, double scale, double* numbers,
           std::size_t count) {
    add(gaussian, key, first, scale, numbers, count);
}

void noise(bool gaussian, const std::uint32_t* key, std::uint64_t first, double scale, float* numbers,
           std::size_t count) {
    add(gaussian, key, first, scale, numbers, count);
}

}  // namespace baseline
