// A test harness in one screen: CHECK notes a failure and goes on, finish() is what main returns.
#pragma once

#include <cstdio>

namespace check {

inline int checks = 0;
inline int failures = 0;

inline void note(bool ok, const char* text, const char* file, int line) {
    ++checks;
    if (ok) return;
    ++failures;
    std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
}

inline void note_relation(bool ok, double a, double b, const char* text, const char* file, int line) {
    note(ok, text, file, line);
    if (!ok) std::fprintf(stderr, "    left  %.17g (%a)\n    right %.17g (%a)\n", a, a, b, b);
}

// Sanitizers look for other defects: under them an eighth of all cases of a kind is tried.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kStride = 8;
#else
constexpr int kStride = 1;
#endif
constexpr int cases(int count) { return (count + kStride - 1) / kStride; }

// Whether the next case of a table is one of them.
inline bool is_tried() {
    static int seen = 0;
    return seen++ % kStride == 0;
}

inline int finish() {
    std::fprintf(stderr, "%d checks, %d failures\n", checks, failures);
    return failures != 0 || checks == 0 ? 1 : 0;
}

}  // namespace check

#define CHECK(condition) check::note(static_cast<bool>(condition), #condition, __FILE__, __LINE__)

// Two doubles and a relation: CHECK_THAT(a, <=, b) prints both when it fails.
#define CHECK_THAT(a, relation, b)                                                                                     \
    do {                                                                                                               \
        const double check_a = (a);                                                                                    \
        const double check_b = (b);                                                                                    \
        check::note_relation(check_a relation check_b, check_a, check_b, #a " " #relation " " #b, __FILE__, __LINE__); \
    } while (false)
