"""NumPy ufuncs of the engine: the log moment function of the privacy loss and Rényi-DP.

Arguments are positional, ``(q, sigma, alpha)``: sampling rate, noise multiplier, order. Everything
a ufunc can do works here: broadcasting, ``out=``, ``where=``, Dask and xarray arrays. Values
outside the domain are NaN. ``_lower`` and ``_upper`` enclose the exact value.

Examples
--------
>>> import numpy as np
>>> from renyi import special
>>> special.rdp_sampled_gaussian(0.01, 1.0, np.array([2.0, 4.0, 8.0])).shape
(3,)
"""

from __future__ import annotations

from renyi._special import (
    log_a,
    log_a_binomial,
    log_a_binomial_lower,
    log_a_binomial_upper,
    log_a_derivative,
    log_a_lower,
    log_a_quadrature,
    log_a_quadrature_lower,
    log_a_quadrature_upper,
    log_a_second_derivative,
    log_a_series,
    log_a_series_lower,
    log_a_series_upper,
    log_a_upper,
    rdp_gaussian,
    rdp_gaussian_lower,
    rdp_gaussian_upper,
    rdp_sampled_gaussian,
    rdp_sampled_gaussian_bound,
    rdp_sampled_gaussian_lower,
    rdp_sampled_gaussian_upper,
)

__all__ = [
    "log_a",
    "log_a_binomial",
    "log_a_binomial_lower",
    "log_a_binomial_upper",
    "log_a_derivative",
    "log_a_lower",
    "log_a_quadrature",
    "log_a_quadrature_lower",
    "log_a_quadrature_upper",
    "log_a_second_derivative",
    "log_a_series",
    "log_a_series_lower",
    "log_a_series_upper",
    "log_a_upper",
    "rdp_gaussian",
    "rdp_gaussian_lower",
    "rdp_gaussian_upper",
    "rdp_sampled_gaussian",
    "rdp_sampled_gaussian_bound",
    "rdp_sampled_gaussian_lower",
    "rdp_sampled_gaussian_upper",
]
