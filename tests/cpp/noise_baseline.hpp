// The noise kernels once more: baseline instruction set, no vectorisation (see CMakeLists.txt).
#pragma once

#include <cstddef>
#include <cstdint>

namespace baseline {

void noise(bool gaussian, bool add, const std::uint32_t (&key)[8], std::uint64_t first, double scale, double* out,
           std::size_t count);
void noise(bool gaussian, bool add, const std::uint32_t (&key)[8], std::uint64_t first, float scale, float* out,
           std::size_t count);

}  // namespace baseline
