#include "renyi/fp/environment.hpp"

#include <cfloat>

#include "renyi/fp/multiversion.hpp"

namespace renyi {

namespace {

#define RENYI_TEXT_OF(...) #__VA_ARGS__
#define RENYI_TEXT(...) RENYI_TEXT_OF(__VA_ARGS__)
constexpr bool kMultiversion = sizeof(RENYI_TEXT(RENYI_MULTIVERSION)) > 1;  // the macro expands to something

}  // namespace

FloatingPointEnvironment probe_floating_point() noexcept {
    // volatile: every operation below happens at run time, on loaded operands.
    volatile double smallest_normal = 0x1p-1022;
    volatile double subnormal = 0x1p-1074;
    volatile double two = 2.0;
    volatile double huge = 0x1p60;
    volatile double half = smallest_normal / two;
    volatile double grown = subnormal * huge;

    volatile double one = 1.0;
    volatile double tiny = 0x1p-60;
    volatile double above = one + tiny;
    volatile double below = one - tiny;

    // (1 + 2^-27)(1 - 2^-27) = 1 - 2^-54 is rounded to 1 (tie to even) unless the addition sees the exact product.
    volatile double a = 1.0 + 0x1p-27;
    volatile double b = 1.0 - 0x1p-27;
    volatile double c = -1.0;
    volatile double twice_rounded = a * b + c;

    return {half == 0x1p-1023 && grown == 0x1p-1014, above == 1.0 && below == 1.0, twice_rounded == 0.0,
            FLT_EVAL_METHOD == 0};
}

const char* active_instruction_set() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
    if constexpr (kMultiversion) {
        __builtin_cpu_init();
#if defined(__clang__)  // the features by which clang chooses clones
        if (__builtin_cpu_supports("avx512f")) return "x86-64-v4";
        if (__builtin_cpu_supports("avx2")) return "x86-64-v3";
#else
        if (__builtin_cpu_supports("x86-64-v4")) return "x86-64-v4";
        if (__builtin_cpu_supports("x86-64-v3")) return "x86-64-v3";
#endif
    }
#endif
    return "baseline";
}

const char* baseline_instruction_set() noexcept {
#if defined(__AVX512F__)
    return "x86-64 with AVX-512";
#elif defined(__AVX2__)
    return "x86-64 with AVX2";
#elif defined(__AVX__)
    return "x86-64 with AVX";
#elif defined(__x86_64__)
    return "x86-64";
#elif defined(__aarch64__)
    return "aarch64";
#else
    return "generic";
#endif
}

}  // namespace renyi
