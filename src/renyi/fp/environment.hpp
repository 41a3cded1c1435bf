// Does this thread compute with IEEE-754 doubles as the error analysis assumes?
//
// A shared library built with -ffast-math sets flush-to-zero for the whole process when it is loaded, and a program may
// change the rounding mode. The probe computes instead of reading control registers, so that it tests the arithmetic of
// the kernels.
#pragma once

namespace renyi {

struct FloatingPointEnvironment {
    bool gradual_underflow;    // subnormal results and operands are not flushed to zero
    bool rounds_to_nearest;    // the default rounding mode
    bool no_contraction;       // a*b + c is rounded twice, not fused
    bool no_excess_precision;  // doubles are not evaluated in a wider format

    constexpr bool sound() const noexcept {
        return gradual_underflow && rounds_to_nearest && no_contraction && no_excess_precision;
    }
};

FloatingPointEnvironment probe_floating_point() noexcept;

// The instruction set that multiversioned loops run with on this machine: "x86-64-v4", "x86-64-v3" or "baseline".
const char* active_instruction_set() noexcept;

// The instruction set that all other code was compiled for.
const char* baseline_instruction_set() noexcept;

}  // namespace renyi
