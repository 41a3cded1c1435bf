# The engine's scalar functions for other Cython modules: from renyi.cython_special cimport log_a.
# NaN outside the domain; no Python state is touched. The signatures are kept stable by a test.

cdef double log_a(double q, double sigma, double alpha) noexcept nogil
cdef double log_a_lower(double q, double sigma, double alpha) noexcept nogil
cdef double log_a_upper(double q, double sigma, double alpha) noexcept nogil
cdef double complex log_a_complex(double q, double sigma, double complex alpha) noexcept nogil
cdef double rdp_sampled_gaussian(double q, double sigma, double alpha) noexcept nogil
cdef double rdp_sampled_gaussian_lower(double q, double sigma, double alpha) noexcept nogil
cdef double rdp_sampled_gaussian_upper(double q, double sigma, double alpha) noexcept nogil
cdef double rdp_sampled_gaussian_bound(double q, double sigma, double alpha) noexcept nogil
cdef double rdp_gaussian(double sigma, double alpha) noexcept nogil
