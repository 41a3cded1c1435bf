// The probe must see flushed subnormals and changed rounding modes, and nothing wrong in a sound process.
#include <cfenv>
#include <cstring>
#include <initializer_list>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "check.hpp"
#include "renyi/fp/environment.hpp"

int main() {
    CHECK(renyi::probe_floating_point().sound());

    for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        std::fesetround(mode);
        const auto found = renyi::probe_floating_point();
        std::fesetround(FE_TONEAREST);
        CHECK(!found.rounds_to_nearest);
        CHECK(!found.sound());
    }

#if defined(__SSE2__)
    constexpr unsigned kFlushToZero = 0x8000;
    constexpr unsigned kDenormalsAreZero = 0x0040;
    const unsigned control = _mm_getcsr();
    for (const unsigned flag : {kFlushToZero, kDenormalsAreZero}) {
        _mm_setcsr(control | flag);
        const auto found = renyi::probe_floating_point();
        _mm_setcsr(control);
        CHECK(!found.gradual_underflow);
        CHECK(!found.sound());
    }
#endif

    CHECK(renyi::probe_floating_point().sound());
    CHECK(std::strlen(renyi::active_instruction_set()) > 0);
    CHECK(std::strlen(renyi::baseline_instruction_set()) > 0);
    return check::finish();
}
