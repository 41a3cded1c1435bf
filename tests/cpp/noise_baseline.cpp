// The noise kernels a second time: for the baseline instruction set only, without vectorisation (see CMakeLists.txt),
// in a namespace of their own.
#include "noise_baseline.hpp"

#include "renyi/fp/multiversion.hpp"

#undef RENYI_MULTIVERSION
#define RENYI_MULTIVERSION
#undef RENYI_HAS_CLONES
#define renyi renyi_baseline
#include "renyi/sgd/chacha20.cpp"
#include "renyi/sgd/continuous_noise.cpp"
#undef renyi

namespace baseline {

namespace {

template <class Real>
void make(bool gaussian, bool add, const std::uint32_t (&key)[8], std::uint64_t first, Real scale, Real* out,
          std::size_t count) {
    using namespace renyi_baseline;
    ChaChaStream stream{};
    std::copy_n(key, 8, stream.key.begin());
    make_noise(gaussian ? NoiseLaw::gaussian : NoiseLaw::laplace, add ? NoiseTarget::add : NoiseTarget::fill, stream,
               first, scale, out, count, 1);
}

}  // namespace

void noise(bool gaussian, bool add, const std::uint32_t (&key)[8], std::uint64_t first, double scale, double* out,
           std::size_t count) {
    make(gaussian, add, key, first, scale, out, count);
}

void noise(bool gaussian, bool add, const std::uint32_t (&key)[8], std::uint64_t first, float scale, float* out,
           std::size_t count) {
    make(gaussian, add, key, first, scale, out, count);
}

}  // namespace baseline
