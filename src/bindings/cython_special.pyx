# distutils: language = c++
"""C-level scalar functions of the engine, for ``cimport`` only; Python code wants ``renyi.special``."""

from libcpp.complex cimport complex as cpp_complex

cdef extern from "renyi/loss/sampled_gaussian.hpp" namespace "renyi" nogil:
    struct Certified:
        double value
    double lower(Certified) noexcept
    double upper(Certified) noexcept
    Certified engine_log_a "renyi::log_a"(double q, double sigma, double alpha) noexcept
    cpp_complex[double] engine_log_a_complex "renyi::log_a"(
        double q, double sigma, cpp_complex[double] alpha) noexcept
    Certified engine_rdp "renyi::rdp_sampled_gaussian"(double q, double sigma, double alpha) noexcept

cdef extern from "renyi/loss/gaussian.hpp" namespace "renyi" nogil:
    double engine_bound "renyi::rdp_sampled_gaussian_bound"(double q, double sigma, double alpha) noexcept

cdef extern from "renyi/loss/gaussian.hpp" namespace "renyi" nogil:
    Certified engine_rdp_gaussian "renyi::rdp_gaussian"(double sigma, double alpha) noexcept

cdef extern from "renyi/capi/renyi.h" nogil:
    double renyi_epsilon_lower(double q, double sigma, double count, double delta) noexcept
    double renyi_epsilon_upper(double q, double sigma, double count, double delta) noexcept
    double renyi_delta_lower(double q, double sigma, double count, double epsilon) noexcept
    double renyi_delta_upper(double q, double sigma, double count, double epsilon) noexcept


cdef double log_a(double q, double sigma, double alpha) noexcept nogil:
    return engine_log_a(q, sigma, alpha).value


cdef double log_a_lower(double q, double sigma, double alpha) noexcept nogil:
    return lower(engine_log_a(q, sigma, alpha))


cdef double log_a_upper(double q, double sigma, double alpha) noexcept nogil:
    return upper(engine_log_a(q, sigma, alpha))


cdef double complex log_a_complex(double q, double sigma, double complex alpha) noexcept nogil:
    cdef cpp_complex[double] result = engine_log_a_complex(
        q, sigma, cpp_complex[double](alpha.real, alpha.imag))
    return result.real() + 1j * result.imag()


cdef double rdp_sampled_gaussian(double q, double sigma, double alpha) noexcept nogil:
    return engine_rdp(q, sigma, alpha).value


cdef double rdp_sampled_gaussian_lower(double q, double sigma, double alpha) noexcept nogil:
    return lower(engine_rdp(q, sigma, alpha))


cdef double rdp_sampled_gaussian_upper(double q, double sigma, double alpha) noexcept nogil:
    return upper(engine_rdp(q, sigma, alpha))


cdef double rdp_sampled_gaussian_bound(double q, double sigma, double alpha) noexcept nogil:
    return engine_bound(q, sigma, alpha)


cdef double rdp_gaussian(double sigma, double alpha) noexcept nogil:
    return engine_rdp_gaussian(sigma, alpha).value


cdef double epsilon_lower(double q, double sigma, double count, double delta) noexcept nogil:
    return renyi_epsilon_lower(q, sigma, count, delta)


cdef double epsilon_upper(double q, double sigma, double count, double delta) noexcept nogil:
    return renyi_epsilon_upper(q, sigma, count, delta)


cdef double delta_lower(double q, double sigma, double count, double epsilon) noexcept nogil:
    return renyi_delta_lower(q, sigma, count, epsilon)


cdef double delta_upper(double q, double sigma, double count, double epsilon) noexcept nogil:
    return renyi_delta_upper(q, sigma, count, epsilon)
