// IEEE-754 arithmetic for the length of a scope, whatever the process has set.
//
// Rounding to nearest and gradual underflow are what the proofs in clip_factor.hpp assume; a library built with
// -ffast-math, or a caller's rounding mode, is put aside and put back. Exception flags raised meanwhile are dropped:
// NumPy would report them as warnings of whatever runs next.
#pragma once

#include <cfenv>

namespace renyi {

class IeeeMode {
public:
    IeeeMode() noexcept {
        std::fegetenv(&saved_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~IeeeMode() { std::fesetenv(&saved_); }
    IeeeMode(const IeeeMode&) = delete;
    IeeeMode& operator=(const IeeeMode&) = delete;

private:
    std::fenv_t saved_;
};

}  // namespace renyi
