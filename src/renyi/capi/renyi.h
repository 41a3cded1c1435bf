/* The C interface of the engine, for C and for languages that call C (cffi, ctypes, Julia, numba, R).
 *
 * The interface is stable: all declarations keep their meaning and their binary form as long as RENYI_ABI_VERSION stays
 * 1; functions may be added. Numbers are IEEE-754 doubles. Any thread may call any function; a generator may be shared.
 *
 * q is the rate of Poisson sampling, sigma the noise multiplier, alpha the Renyi order. "Lower" and "upper" are
 * certified ends: the exact value lies between them. The bounds hold in sound floating-point environments only: ask
 * renyi_floating_point_is_sound once in each thread that computes.
 */
#ifndef RENYI_H
#define RENYI_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define RENYI_API
#else
#define RENYI_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#define RENYI_NOEXCEPT noexcept
#else
#define RENYI_NOEXCEPT
#endif

#define RENYI_ABI_VERSION 1

/* The status that functions of type int return. They write no output unless it is RENYI_OK. */
enum {
    RENYI_OK = 0,
    RENYI_INVALID_ARGUMENT = 1, /* a null pointer, or a number outside the range stated */
    RENYI_OUT_OF_MEMORY = 2
};

RENYI_API const char* renyi_version(void) RENYI_NOEXCEPT;           /* such as "0.1.0" */
RENYI_API int renyi_abi_version(void) RENYI_NOEXCEPT;               /* the library's RENYI_ABI_VERSION */
RENYI_API const char* renyi_status_text(int status) RENYI_NOEXCEPT; /* a sentence, never null */
RENYI_API int renyi_floating_point_is_sound(void)
    RENYI_NOEXCEPT; /* 1: the bounds hold in this thread, 0: they do not */

/* log A = (alpha - 1) RDP, and RDP, of the Poisson-sampled Gaussian mechanism: the nearest value and certified ends.
 * Domain: q = 0 or in [1e-100, 1], sigma in [1e-100, inf] and alpha in [1, 1e6]; NaN outside. */
RENYI_API double renyi_log_a(double q, double sigma, double alpha) RENYI_NOEXCEPT;
RENYI_API double renyi_log_a_lower(double q, double sigma, double alpha) RENYI_NOEXCEPT;
RENYI_API double renyi_log_a_upper(double q, double sigma, double alpha) RENYI_NOEXCEPT;
RENYI_API double renyi_rdp(double q, double sigma, double alpha) RENYI_NOEXCEPT;
RENYI_API double renyi_rdp_lower(double q, double sigma, double alpha) RENYI_NOEXCEPT;
RENYI_API double renyi_rdp_upper(double q, double sigma, double alpha) RENYI_NOEXCEPT;

/* The exact privacy curve of `count` such steps, one record added or removed: the ends of epsilon at a delta in [0, 1]
 * and of delta at an epsilon in [0, inf]. Domain: q = 0 or in [1e-100, 1], sigma in [1e-4, inf] and counts in [0, 1e9];
 * NaN outside, and if memory runs out. */
RENYI_API double renyi_epsilon_lower(double q, double sigma, double count, double delta) RENYI_NOEXCEPT;
RENYI_API double renyi_epsilon_upper(double q, double sigma, double count, double delta) RENYI_NOEXCEPT;
RENYI_API double renyi_delta_lower(double q, double sigma, double count, double epsilon) RENYI_NOEXCEPT;
RENYI_API double renyi_delta_upper(double q, double sigma, double count, double epsilon) RENYI_NOEXCEPT;

/* The privacy curve of steps of several kinds, for many questions, which share their work. */
typedef struct {
    double q, sigma, count;
} renyi_step;

typedef struct {
    double lower, upper;
} renyi_bracket;

RENYI_API int renyi_epsilon(const renyi_step* steps, size_t kinds, const double* deltas, size_t questions,
                            renyi_bracket* answers) RENYI_NOEXCEPT;
RENYI_API int renyi_delta(const renyi_step* steps, size_t kinds, const double* epsilons, size_t questions,
                          renyi_bracket* answers) RENYI_NOEXCEPT;

/* Sums contiguous rows, each scaled down to a norm of at most `bound` in exact arithmetic. `sum` has `columns` elements
 * and is replaced; `norms` and `factors` have `rows` elements each, or both are null. A row that is not finite has the
 * norm NaN and the factor 0. rows <= 2^24, columns in [1, 2^36], bound in [2^-96, 2^96], threads >= 1; the result does
 * not depend on threads. */
RENYI_API int renyi_clip_and_sum_f32(const float* data, size_t rows, size_t columns, double bound, float* sum,
                                     double* norms, double* factors, size_t threads) RENYI_NOEXCEPT;
RENYI_API int renyi_clip_and_sum_f64(const double* data, size_t rows, size_t columns, double bound, double* sum,
                                     double* norms, double* factors, size_t threads) RENYI_NOEXCEPT;

/* A ChaCha20 generator. If `key` is null, it is keyed by the operating system and safe to fork; else these 32 bytes are
 * the key, and the stream is the same every time. */
typedef struct renyi_generator renyi_generator;

RENYI_API int renyi_generator_new(const uint8_t* key, renyi_generator** generator) RENYI_NOEXCEPT;
RENYI_API void renyi_generator_free(renyi_generator* generator) RENYI_NOEXCEPT; /* null is fine */

/* Adds ideal noise to numbers, rounded to a lattice that does not depend on them. The scale is the standard deviation
 * of Gaussian noise, or b of Laplace noise with density e^(-|x|/b) / (2 b): 0 or in [2^-115, 2^115], in double
 * precision [2^-1010, 2^1010]; threads >= 1. */
enum { RENYI_GAUSSIAN = 0, RENYI_LAPLACE = 1 };

RENYI_API int renyi_add_noise_f32(renyi_generator* generator, int law, double scale, float* numbers, size_t count,
                                  int threads) RENYI_NOEXCEPT;
RENYI_API int renyi_add_noise_f64(renyi_generator* generator, int law, double scale, double* numbers, size_t count,
                                  int threads) RENYI_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
