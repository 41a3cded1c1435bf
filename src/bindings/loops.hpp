// NumPy inner loops around the engine's scalar functions, and the table of ufuncs made of them.
//
// NumPy keeps the GIL for loops of at most 500 elements, which is too long if one element takes microseconds: expensive
// loops release it themselves. Loops clear the floating-point flags they raise, which NumPy would turn into warnings.
#pragma once

#include <Python.h>

#include <numpy/ndarraytypes.h>
#include <numpy/ufuncobject.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <complex>
#include <cstddef>
#include <utility>

#include "renyi/capi/renyi.h"
#include "renyi/curve/closed_curve.hpp"
#include "renyi/loss/gaussian.hpp"
#include "renyi/loss/sampled_gaussian.hpp"

namespace renyi::bindings {

// Releases the GIL for a scope if this thread holds it; NumPy has already released it before a long loop.
class GilRelease {
public:
    GilRelease() noexcept : state_(holds_gil() ? PyEval_SaveThread() : nullptr) {}
    ~GilRelease() {
        if (state_ != nullptr) PyEval_RestoreThread(state_);
    }
    GilRelease(const GilRelease&) = delete;
    GilRelease& operator=(const GilRelease&) = delete;

private:
    // PyGILState_Check() returns 1 for every thread once the process has made a subinterpreter (bpo-10915), so this
    // compares thread states: before Python 3.12 the current thread state is global and may be another thread's.
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

// Replaces GilRelease where an element costs nanoseconds: releasing the GIL would cost more than the work.
struct KeepGil {};

template <typename T>
T& at(char* base, npy_intp i, npy_intp step) noexcept {
    return *reinterpret_cast<T*>(base + i * step);
}

template <class Result, class... Arguments>
constexpr int inputs_of(Result (*)(Arguments...)) noexcept {
    return sizeof...(Arguments);
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

// The loop of out = Project(Kernel(arguments)), where all values are doubles.
template <auto Kernel, auto Project, typename Gil = GilRelease>
void loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void*) {
    constexpr std::size_t n = inputs_of(Kernel);
    {
        [[maybe_unused]] Gil gil;
        const auto call = [&]<std::size_t... k>(npy_intp i, std::index_sequence<k...>) {
            return Project(Kernel(at<double>(args[k], i, steps[k])...));
        };
        for (npy_intp i = 0; i < dimensions[0]; ++i)
            at<double>(args[n], i, steps[n]) = call(i, std::make_index_sequence<n>{});
    }
    std::feclearexcept(FE_ALL_EXCEPT);
}

// The loop of log_a at complex orders.
inline void complex_loop(char** args, const npy_intp* dimensions, const npy_intp* steps, void*) {
    {
        GilRelease gil;
        using Complex = std::complex<double>;
        for (npy_intp i = 0; i < dimensions[0]; ++i)
            at<Complex>(args[3], i, steps[3]) = log_a(
                at<double>(args[0], i, steps[0]), at<double>(args[1], i, steps[1]), at<Complex>(args[2], i, steps[2]));
    }
    std::feclearexcept(FE_ALL_EXCEPT);
}

// The loop of a kernel that evaluates many points together, which are gathered from their strides.
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

using Kernel = void(const double* q, const double* sigma, const double* alpha, std::size_t size, Certified* out);
constexpr Kernel* kLogA = log_a;
constexpr Kernel* kRdp = rdp_sampled_gaussian;
// log A of the add direction, log A(1 - alpha); 1 - alpha is exact.
inline Certified log_b(double q, double sigma, double alpha) noexcept {
    return alpha >= 1.0 && alpha <= 1e6 ? log_a(q, sigma, 1.0 - alpha) : log_a(q, sigma, std::nan(""));
}

// A function with its two bounds; each of the functions may be missing.
struct Ufunc {
    const char* name;
    int inputs;
    PyUFuncGenericFunction functions[4];  // nearest, complex, lower, upper
};

// The types of arguments and result of a loop of doubles, and those of a loop of doubles and a complex loop.
inline char types[] = {NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE,  NPY_DOUBLE,
                       NPY_DOUBLE, NPY_DOUBLE, NPY_CDOUBLE, NPY_CDOUBLE};

template <auto Kernel, auto Project = as_is, typename Gil = GilRelease>
constexpr Ufunc one(const char* name) noexcept {
    return {name, inputs_of(Kernel), {loop<Kernel, Project, Gil>}};
}
template <auto Kernel>
constexpr Ufunc certified(const char* name) noexcept {
    return {name, inputs_of(Kernel), {loop<Kernel, nearest>, nullptr, loop<Kernel, lower>, loop<Kernel, upper>}};
}
template <auto Kernel>
constexpr Ufunc bracketed(const char* name) noexcept {
    return {name, inputs_of(Kernel), {loop<Kernel, middle>, nullptr, loop<Kernel, lower_end>, loop<Kernel, upper_end>}};
}
template <auto Kernel, auto Bounds>
constexpr Ufunc with_bounds(const char* name) noexcept {
    return {
        name, inputs_of(Kernel), {loop<Kernel, nearest>, nullptr, loop<Bounds, lower_end>, loop<Bounds, upper_end>}};
}
template <auto Kernel>
constexpr Ufunc together(const char* name, PyUFuncGenericFunction of_complex = nullptr) noexcept {
    return {name, 3, {array_loop<Kernel, nearest>, of_complex, array_loop<Kernel, lower>, array_loop<Kernel, upper>}};
}
template <auto Lower, auto Upper>
constexpr Ufunc only_bounds(const char* name) noexcept {
    return {name, inputs_of(Lower), {nullptr, nullptr, loop<Lower, as_is>, loop<Upper, as_is>}};
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

// NumPy keeps pointers into this table for the life of the process.
inline Ufunc ufuncs[] = {
    together<kLogA>("log_a", complex_loop),
    certified<log_b>("log_b"),
    certified<log_a_binomial>("log_a_binomial"),
    certified<log_a_series>("log_a_series"),
    certified<log_a_quadrature>("log_a_quadrature"),
    one<log_a_nearest>("log_a_nearest"),
    one<log_a_derivatives, first>("log_a_derivative"),
    one<log_a_derivatives, second>("log_a_second_derivative"),
    together<kRdp>("rdp_sampled_gaussian"),
    one<rdp_sampled_gaussian_nearest>("rdp_sampled_gaussian_nearest"),
    one<rdp_sampled_gaussian_bound, as_is, KeepGil>("rdp_sampled_gaussian_bound"),
    {"rdp_gaussian",
     2,
     {loop<rdp_gaussian, nearest, KeepGil>, nullptr, loop<rdp_gaussian_lower, as_is, KeepGil>,
      loop<rdp_gaussian_upper, as_is, KeepGil>}},
    with_bounds<gaussian_delta, gaussian_delta_bounds>("gaussian_delta"),
    bracketed<gaussian_epsilon>("gaussian_epsilon"),
    bracketed<gaussian_mu>("gaussian_mu"),
    with_bounds<gaussian_tradeoff, gaussian_tradeoff_bounds>("gaussian_tradeoff"),
    with_bounds<step_delta<Direction::remove>, step_delta_bounds<Direction::remove>>("sampled_gaussian_delta_remove"),
    with_bounds<step_delta<Direction::add>, step_delta_bounds<Direction::add>>("sampled_gaussian_delta_add"),
    bracketed<step_epsilon<Direction::remove>>("sampled_gaussian_epsilon_remove"),
    bracketed<step_epsilon<Direction::add>>("sampled_gaussian_epsilon_add"),
    only_bounds<renyi_epsilon_lower, renyi_epsilon_upper>("dp_sgd_epsilon"),
    only_bounds<renyi_delta_lower, renyi_delta_upper>("dp_sgd_delta"),
};

}  // namespace renyi::bindings
