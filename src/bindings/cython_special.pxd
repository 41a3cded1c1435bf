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

# The exact privacy curve of equal steps, one record added or removed: certified ends, NaN outside the domain.
cdef double epsilon_lower(double q, double sigma, double count, double delta) noexcept nogil
cdef double epsilon_upper(double q, double sigma, double count, double delta) noexcept nogil
cdef double delta_lower(double q, double sigma, double count, double epsilon) noexcept nogil
cdef double delta_upper(double q, double sigma, double count, double epsilon) noexcept nogil
