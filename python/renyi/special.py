"""NumPy ufuncs of the engine: moments of the privacy loss, Rényi-DP, and exact privacy curves.

Arguments are positional: ``(q, sigma, alpha)`` are sampling rate, noise multiplier and order, and
``mu`` is the ratio of sensitivity to noise of a Gaussian mechanism, or of a composition of them.
Everything a ufunc can do works here: broadcasting, ``out=``, ``where=``, Dask and xarray arrays.
Values outside the domain are NaN. ``_lower`` and ``_upper`` enclose the exact value.
``dp_sgd_epsilon_upper(q, sigma, steps, delta)`` is the guarantee of a run, for arrays of runs.

Examples
--------
>>> import numpy as np
>>> from renyi import special
>>> special.rdp_sampled_gaussian(0.01, 1.0, np.array([2.0, 4.0, 8.0])).shape
(3,)
>>> f"{special.gaussian_delta(1.0, 2.0):.6f}"
'0.020924'
"""

from __future__ import annotations

from renyi._engine import (
    dp_sgd_delta_lower,
    dp_sgd_delta_upper,
    dp_sgd_epsilon_lower,
    dp_sgd_epsilon_upper,
    gaussian_delta,
    gaussian_delta_lower,
    gaussian_delta_upper,
    gaussian_epsilon,
    gaussian_epsilon_lower,
    gaussian_epsilon_upper,
    gaussian_mu,
    gaussian_mu_lower,
    gaussian_mu_upper,
    gaussian_tradeoff,
    gaussian_tradeoff_lower,
    gaussian_tradeoff_upper,
    log_a,
    log_a_binomial,
    log_a_binomial_lower,
    log_a_binomial_upper,
    log_a_derivative,
    log_a_lower,
    log_a_nearest,
    log_a_quadrature,
    log_a_quadrature_lower,
    log_a_quadrature_upper,
    log_a_second_derivative,
    log_a_series,
    log_a_series_lower,
    log_a_series_upper,
    log_a_upper,
    log_b,
    log_b_lower,
    log_b_upper,
    rdp_gaussian,
    rdp_gaussian_lower,
    rdp_gaussian_upper,
    rdp_sampled_gaussian,
    rdp_sampled_gaussian_bound,
    rdp_sampled_gaussian_lower,
    rdp_sampled_gaussian_nearest,
    rdp_sampled_gaussian_upper,
    sampled_gaussian_delta_add,
    sampled_gaussian_delta_add_lower,
    sampled_gaussian_delta_add_upper,
    sampled_gaussian_delta_remove,
    sampled_gaussian_delta_remove_lower,
    sampled_gaussian_delta_remove_upper,
    sampled_gaussian_epsilon_add,
    sampled_gaussian_epsilon_add_lower,
    sampled_gaussian_epsilon_add_upper,
    sampled_gaussian_epsilon_remove,
    sampled_gaussian_epsilon_remove_lower,
    sampled_gaussian_epsilon_remove_upper,
)

__all__ = [
    "dp_sgd_delta_lower",
    "dp_sgd_delta_upper",
    "dp_sgd_epsilon_lower",
    "dp_sgd_epsilon_upper",
    "gaussian_delta",
    "gaussian_delta_lower",
    "gaussian_delta_upper",
    "gaussian_epsilon",
    "gaussian_epsilon_lower",
    "gaussian_epsilon_upper",
    "gaussian_mu",
    "gaussian_mu_lower",
    "gaussian_mu_upper",
    "gaussian_tradeoff",
    "gaussian_tradeoff_lower",
    "gaussian_tradeoff_upper",
    "log_a",
    "log_a_binomial",
    "log_a_binomial_lower",
    "log_a_binomial_upper",
    "log_a_derivative",
    "log_a_lower",
    "log_a_nearest",
    "log_a_quadrature",
    "log_a_quadrature_lower",
    "log_a_quadrature_upper",
    "log_a_second_derivative",
    "log_a_series",
    "log_a_series_lower",
    "log_a_series_upper",
    "log_a_upper",
    "log_b",
    "log_b_lower",
    "log_b_upper",
    "rdp_gaussian",
    "rdp_gaussian_lower",
    "rdp_gaussian_upper",
    "rdp_sampled_gaussian",
    "rdp_sampled_gaussian_bound",
    "rdp_sampled_gaussian_lower",
    "rdp_sampled_gaussian_nearest",
    "rdp_sampled_gaussian_upper",
    "sampled_gaussian_delta_add",
    "sampled_gaussian_delta_add_lower",
    "sampled_gaussian_delta_add_upper",
    "sampled_gaussian_delta_remove",
    "sampled_gaussian_delta_remove_lower",
    "sampled_gaussian_delta_remove_upper",
    "sampled_gaussian_epsilon_add",
    "sampled_gaussian_epsilon_add_lower",
    "sampled_gaussian_epsilon_add_upper",
    "sampled_gaussian_epsilon_remove",
    "sampled_gaussian_epsilon_remove_lower",
    "sampled_gaussian_epsilon_remove_upper",
]
__dir__ = __all__.copy
