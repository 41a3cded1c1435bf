// NumPy inner loops around the engine's scalar functions, and the table of ufuncs made of them.
//
// NumPy keeps the GIL for loops of at most 500 elements, too long when one element takes microseconds: the expensive
// loops release it themselves. They clear the floating-point flags they raise, which NumPy would turn into warnings.
#pragma once

#include <Python.h>

#include <numpy/ndarraytypes.h>
#include <numpy/ufuncobject.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <complex>
#include <cstddef>

#include "renyi/capi/renyi.h"
#include "renyi/curve/closed_curve.hpp"
#include "renyi/loss/gaussian.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/loss/sampled_gaussian_rounded.hpp"

namespace renyi::bindings {

// Releases the GIL for a scope if this thread holds it; NumPy has released it already before a long loop.
class GilRelease {
public:
    GilRelease() noexcept : state_(holds_gil() ? PyEval_SaveThread() : nullptr) {}
    ~GilRelease() {
        if (state_ != nullptr) PyEval_RestoreThread(state_);
    }
    GilRelease(const GilRelease&) = delete;
    GilRelease& operator=(const GilRelease&) = delete;

private:
    // PyGILState_Check() answers 1 for every thread once the process has made a subinterpreter (bpo-10915), so compare
    // by hand: before Python 3.12 the current thread state is global and may be another thread's.
    static bool holds_gil() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
        PyThreadState* current = PyThreadState_GetUnchecked();
#else
        PyThreadState* current = _PyThreadState_UncheckedGet();
#endif
        return current != nullptr && current == PyGILState_GetThisThreadState();
    }

    PyThreadState* state_;
};

// Stands in for GilRelease where an element costs nanoseconds: handing the GIL over would cost more than the work.
struct KeepGil {};

template <typename T>
T& at(char* base, npy_intp i, npy_intp step) noexcept {
    return *reinterpret_cast<T*>(base + i * step);
}

inline double nearest(Certified c) noexcept { return c.value; }
inline double as_is(double x) noexcept { return x; }
inline double lower_end(Bracket b) noexcept { return b.lower; }
inline double upper_end(Bracket b) noexcept { return b.upper; }
inline double middle(Bracket b) noexcept {  // also where both ends are the same infinity
    return std::isfinite(b.lower) && std::isfinite(b.upper) ? b.lower + 0.5 * (b.upper - b.lower) : b.upper;
}
inline double first(LogADerivatives d) noexcept { return d.first; }
inline double second(LogADerivatives d) noexcept { return d.second; }

// out = Project(Kernel(a, b)); both arguments and the result are doubles.
template <auto Kernel, auto Project, typename Gil>
void binary_loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void*) {
    {
        [[maybe_unused]] Gil gil;
        for (npy_intp i = 0; i < dimensions[0]; ++i)
            at<double>(args[2], i, steps[2]) =
                Project(Kernel(at<double>(args[0], i, steps[0]), at<double>(args[1], i, steps[1])));
    }
    std::feclearexcept(FE_ALL_EXCEPT);
}

// out = Project(Kernel(q, sigma, alpha)); alpha and the result are of type T, double or complex.
template <auto Kernel, auto Project, typename Gil = GilRelease, typename T = double>
void ternary_loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void*) {
    {
        [[maybe_unused]] Gil gil;
        for (npy_intp i = 0; i < dimensions[0]; ++i)
            at<T>(args[3], i, steps[3]) = Project(Kernel(
                at<double>(args[0], i, steps[0]), at<double>(args[1], i, steps[1]), at<T>(args[2], i, steps[2])));
    }
    std::feclearexcept(FE_ALL_EXCEPT);
}

// The same for a kernel that does many points together: they are gathered from their strides.
template <auto Kernel, auto Project>
void array_loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void*) {
    constexpr npy_intp kChunk = 512;
    {
        GilRelease gil;
        double arguments[3][kChunk];
        Certified results[kChunk];
        for (npy_intp done = 0; done < dimensions[0]; done += kChunk) {
            const npy_intp count = std::min(kChunk, dimensions[0] - done);
            for (int k = 0; k < 3; ++k) {
                for (npy_intp i = 0; i < count; ++i) arguments[k][i] = at<double>(args[k], done + i, steps[k]);
            }
            Kernel(arguments[0], arguments[1], arguments[2], static_cast<std::size_t>(count), results);
            for (npy_intp i = 0; i < count; ++i) at<double>(args[3], done + i, steps[3]) = Project(results[i]);
        }
    }
    std::feclearexcept(FE_ALL_EXCEPT);
}

// out = Kernel(q, sigma, steps, delta or epsilon): a number of the exact curve of a composition.
template <auto Kernel>
void quaternary_loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void*) {
    {
        [[maybe_unused]] GilRelease gil;
        for (npy_intp i = 0; i < dimensions[0]; ++i)
            at<double>(args[4], i, steps[4]) =
                Kernel(at<double>(args[0], i, steps[0]), at<double>(args[1], i, steps[1]),
                       at<double>(args[2], i, steps[2]), at<double>(args[3], i, steps[3]));
    }
    std::feclearexcept(FE_ALL_EXCEPT);
}

using Kernel = void(const double* q, const double* sigma, const double* alpha, std::size_t size, Certified* out);
constexpr Kernel* kLogA = log_a;
constexpr Kernel* kRdp = rdp_sampled_gaussian;
using Complex = std::complex<double>;
inline Complex complex_log_a(double q, double sigma, Complex alpha) noexcept { return log_a(q, sigma, alpha); }
// The order of the add direction, at which 1 - alpha is exact.
inline Certified log_b(double q, double sigma, double alpha) noexcept {
    return alpha >= 1.0 && alpha <= 1e6 ? log_a(q, sigma, 1.0 - alpha) : log_a(q, sigma, std::nan(""));
}
inline Complex as_complex(Complex z) noexcept { return z; }

struct Ufunc {
    const char* name;
    int inputs;
    int loops;
    PyUFuncGenericFunction functions[2];
    char types[8];  // of loop 1, then of loop 2
};

constexpr char D = NPY_DOUBLE;
constexpr char Z = NPY_CDOUBLE;

template <auto Kernel, auto Project, typename Gil = GilRelease>
constexpr Ufunc ternary(const char* name) noexcept {
    return {name, 3, 1, {ternary_loop<Kernel, Project, Gil>, nullptr}, {D, D, D, D}};
}

template <auto Kernel, auto Project>
constexpr Ufunc together(const char* name) noexcept {
    return {name, 3, 1, {array_loop<Kernel, Project>, nullptr}, {D, D, D, D}};
}

template <auto Kernel>
constexpr Ufunc rdp_of_gaussian(const char* name) noexcept {
    return {name, 2, 1, {binary_loop<Kernel, as_is, KeepGil>, nullptr}, {D, D, D}};
}

template <auto Kernel, auto Project>
constexpr Ufunc binary(const char* name) noexcept {
    return {name, 2, 1, {binary_loop<Kernel, Project, GilRelease>, nullptr}, {D, D, D}};
}

template <auto Kernel>
constexpr Ufunc quaternary(const char* name) noexcept {
    return {name, 4, 1, {quaternary_loop<Kernel>, nullptr}, {D, D, D, D, D}};
}

template <Direction direction>
Certified step_delta(double q, double sigma, double epsilon) noexcept {
    return single_step_delta({q, sigma, direction}, epsilon);
}
template <Direction direction>
Bracket step_delta_bounds(double q, double sigma, double epsilon) noexcept {
    return single_step_delta_bounds({q, sigma, direction}, epsilon);
}
template <Direction direction>
Bracket step_epsilon(double q, double sigma, double delta) noexcept {
    return single_step_epsilon({q, sigma, direction}, delta);
}

inline double rdp_gaussian_nearest(double sigma, double alpha) noexcept { return rdp_gaussian(sigma, alpha).value; }

// NumPy keeps pointers into this table for the life of the process.
inline Ufunc ufuncs[] = {
    {"log_a",
     3,
     2,
     {array_loop<kLogA, nearest>, ternary_loop<complex_log_a, as_complex, GilRelease, Complex>},
     {D, D, D, D, D, D, Z, Z}},
    together<kLogA, lower>("log_a_lower"),
    together<kLogA, upper>("log_a_upper"),
    ternary<log_b, nearest>("log_b"),
    ternary<log_b, lower>("log_b_lower"),
    ternary<log_b, upper>("log_b_upper"),
    ternary<log_a_binomial, nearest>("log_a_binomial"),
    ternary<log_a_binomial, lower>("log_a_binomial_lower"),
    ternary<log_a_binomial, upper>("log_a_binomial_upper"),
    ternary<log_a_series, nearest>("log_a_series"),
    ternary<log_a_series, lower>("log_a_series_lower"),
    ternary<log_a_series, upper>("log_a_series_upper"),
    ternary<log_a_quadrature, nearest>("log_a_quadrature"),
    ternary<log_a_quadrature, lower>("log_a_quadrature_lower"),
    ternary<log_a_quadrature, upper>("log_a_quadrature_upper"),
    ternary<log_a_nearest, as_is, GilRelease>("log_a_nearest"),
    ternary<rdp_sampled_gaussian_nearest, as_is, GilRelease>("rdp_sampled_gaussian_nearest"),
    ternary<log_a_derivatives, first>("log_a_derivative"),
    ternary<log_a_derivatives, second>("log_a_second_derivative"),
    together<kRdp, nearest>("rdp_sampled_gaussian"),
    together<kRdp, lower>("rdp_sampled_gaussian_lower"),
    together<kRdp, upper>("rdp_sampled_gaussian_upper"),
    rdp_of_gaussian<rdp_gaussian_nearest>("rdp_gaussian"),
    rdp_of_gaussian<rdp_gaussian_lower>("rdp_gaussian_lower"),
    rdp_of_gaussian<rdp_gaussian_upper>("rdp_gaussian_upper"),
    ternary<rdp_sampled_gaussian_bound, as_is, KeepGil>("rdp_sampled_gaussian_bound"),
    binary<gaussian_delta, nearest>("gaussian_delta"),
    binary<gaussian_delta_bounds, lower_end>("gaussian_delta_lower"),
    binary<gaussian_delta_bounds, upper_end>("gaussian_delta_upper"),
    binary<gaussian_epsilon, middle>("gaussian_epsilon"),
    binary<gaussian_epsilon, lower_end>("gaussian_epsilon_lower"),
    binary<gaussian_epsilon, upper_end>("gaussian_epsilon_upper"),
    binary<gaussian_mu, middle>("gaussian_mu"),
    binary<gaussian_mu, lower_end>("gaussian_mu_lower"),
    binary<gaussian_mu, upper_end>("gaussian_mu_upper"),
    binary<gaussian_tradeoff, nearest>("gaussian_tradeoff"),
    binary<gaussian_tradeoff_bounds, lower_end>("gaussian_tradeoff_lower"),
    binary<gaussian_tradeoff_bounds, upper_end>("gaussian_tradeoff_upper"),
    ternary<step_delta<Direction::remove>, nearest>("sampled_gaussian_delta_remove"),
    ternary<step_delta_bounds<Direction::remove>, lower_end>("sampled_gaussian_delta_remove_lower"),
    ternary<step_delta_bounds<Direction::remove>, upper_end>("sampled_gaussian_delta_remove_upper"),
    ternary<step_delta<Direction::add>, nearest>("sampled_gaussian_delta_add"),
    ternary<step_delta_bounds<Direction::add>, lower_end>("sampled_gaussian_delta_add_lower"),
    ternary<step_delta_bounds<Direction::add>, upper_end>("sampled_gaussian_delta_add_upper"),
    ternary<step_epsilon<Direction::remove>, middle>("sampled_gaussian_epsilon_remove"),
    ternary<step_epsilon<Direction::remove>, lower_end>("sampled_gaussian_epsilon_remove_lower"),
    ternary<step_epsilon<Direction::remove>, upper_end>("sampled_gaussian_epsilon_remove_upper"),
    ternary<step_epsilon<Direction::add>, middle>("sampled_gaussian_epsilon_add"),
    ternary<step_epsilon<Direction::add>, lower_end>("sampled_gaussian_epsilon_add_lower"),
    ternary<step_epsilon<Direction::add>, upper_end>("sampled_gaussian_epsilon_add_upper"),
    quaternary<renyi_epsilon_lower>("dp_sgd_epsilon_lower"),
    quaternary<renyi_epsilon_upper>("dp_sgd_epsilon_upper"),
    quaternary<renyi_delta_lower>("dp_sgd_delta_lower"),
    quaternary<renyi_delta_upper>("dp_sgd_delta_upper"),
};

}  // namespace renyi::bindings
