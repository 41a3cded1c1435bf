# distutils: language = c++
"""Facts about this build, and a probe of the floating-point arithmetic of this process."""

cdef extern from "build_info.hpp" nogil:
    const char* RENYI_VERSION
    const char* RENYI_COMPILER
    const char* RENYI_COMPILER_FLAGS
    const char* RENYI_BUILD_TYPE
    const char* RENYI_SYSTEM
    const char* RENYI_PROCESSOR

cdef extern from *:
    """
    #ifdef NDEBUG
    static constexpr bool renyi_assertions = false;
    #else
    static constexpr bool renyi_assertions = true;
    #endif
    """
    const bint renyi_assertions

cdef extern from "renyi/fp/environment.hpp" namespace "renyi" nogil:
    struct FloatingPointEnvironment:
        bint gradual_underflow
        bint rounds_to_nearest
        bint no_contraction
        bint no_excess_precision
    FloatingPointEnvironment probe_floating_point() noexcept
    const char* active_instruction_set() noexcept
    const char* baseline_instruction_set() noexcept

version = RENYI_VERSION.decode()


def floating_point():
    """Probe the arithmetic of the calling thread."""
    cdef FloatingPointEnvironment found = probe_floating_point()
    return {
        "gradual_underflow": bool(found.gradual_underflow),
        "rounds_to_nearest": bool(found.rounds_to_nearest),
        "no_contraction": bool(found.no_contraction),
        "no_excess_precision": bool(found.no_excess_precision),
    }


def compiled():
    """Facts fixed when the extension was compiled, and the instruction set chosen at load time."""
    return {
        "compiler": RENYI_COMPILER.decode(),
        "flags": RENYI_COMPILER_FLAGS.decode(),
        "build_type": RENYI_BUILD_TYPE.decode(),
        "assertions": bool(renyi_assertions),
        "system": f"{RENYI_SYSTEM.decode()} {RENYI_PROCESSOR.decode()}",
        "baseline_isa": baseline_instruction_set().decode(),
        "active_isa": active_instruction_set().decode(),
    }
