"""Accountants for dp_accounting, and its events as mechanisms and back.

``renyi.compat.dp_accounting`` is for users of dp_accounting, TensorFlow Privacy and JAX-Privacy:
events go in unchanged, and the guarantees come out certified.

>>> import dp_accounting
>>> def event(sigma):
...     step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(sigma))
...     return dp_accounting.SelfComposedDpEvent(step, 1000)
>>> sigma = dp_accounting.calibrate_dp_mechanism(PLDAccountant, event, 1.0, 1e-5)
>>> round(sigma, 4)
1.4146
"""

from renyi.compat.dp_accounting import privacy_loss_distribution
from renyi.compat.dp_accounting._accountants import (
    PLDAccountant,
    RenyiAccountant,
    compute_delta,
    compute_epsilon,
    get_epsilon_gaussian,
    get_sigma_gaussian,
    get_smallest_discrete_laplace_noise,
    get_smallest_gaussian_noise,
    get_smallest_laplace_noise,
    get_smallest_subsampled_gaussian_noise,
)
from renyi.compat.dp_accounting._events import from_dp_event, to_dp_event

__all__ = [
    "PLDAccountant",
    "RenyiAccountant",
    "compute_delta",
    "compute_epsilon",
    "from_dp_event",
    "get_epsilon_gaussian",
    "get_sigma_gaussian",
    "get_smallest_discrete_laplace_noise",
    "get_smallest_gaussian_noise",
    "get_smallest_laplace_noise",
    "get_smallest_subsampled_gaussian_noise",
    "privacy_loss_distribution",
    "to_dp_event",
]
