// The noise kernels once more: baseline instruction set, no vectorisation (see CMakeLists.txt).
#pragma once

#include <cstddef>
#include <cstdint>

namespace baseline {

void noise(bool gaussian, const std::uint32_t* key, std::uint64_t first, double scale, double* numbers,
           std::size_t count);
void noise(bool gaussian, const std::uint32_t* key, std::uint64_t first, double scale, float* numbers,
           std::size_t count);

}  // namespace baseline
