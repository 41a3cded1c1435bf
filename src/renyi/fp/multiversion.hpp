// Function multiversioning for the hot loops: one binary, compiled for three instruction sets, chosen at load time.
//
// Contraction is off and every reduction has a fixed order, so the clones return identical bits.
// RENYI_INLINE forces helpers into each clone: a call left over would run the baseline code in all of them.
#pragma once

#include <cstddef>  // defines __GLIBC__

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RENYI_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RENYI_SANITIZED
#endif

#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(RENYI_SANITIZED)
#if !defined(__clang__)
#define RENYI_HAS_CLONES  // for a kernel that needs a body of its own for each instruction set
#define RENYI_MULTIVERSION __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#elif __clang_major__ >= 14  // given an architecture, clang tests for that CPU model, which newer models do not match
#define RENYI_MULTIVERSION __attribute__((target_clones("default", "avx2", "avx512f")))
#endif
#endif
#if !defined(RENYI_MULTIVERSION)
#define RENYI_MULTIVERSION
#endif

#if defined(__GNUC__)
#define RENYI_INLINED __attribute__((always_inline))  // for lambdas
#else
#define RENYI_INLINED
#endif
#define RENYI_INLINE inline RENYI_INLINED
