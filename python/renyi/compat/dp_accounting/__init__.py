"""Accountants for dp_accounting, and its events as mechanisms and back.

``renyi.compat.dp_accounting`` is for users of dp_accounting, TensorFlow Privacy and JAX-Privacy:
events go in unchanged, and the guarantees come out certified.

Examples
--------
>>> import dp_accounting
>>> def event(sigma):
...     step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(sigma))
...     return dp_accounting.SelfComposedDpEvent(step, 1000)
>>> sigma = dp_accounting.calibrate_dp_mechanism(PLDAccountant, event, 1.0, 1e-5)
>>> round(sigma, 4)
1.4146
"""

from renyi.compat.dp_accounting._accountants import PLDAccountant, RenyiAccountant
from renyi.compat.dp_accounting._from_events import from_dp_event
from renyi.compat.dp_accounting._to_events import to_dp_event

__all__ = ["PLDAccountant", "RenyiAccountant", "from_dp_event", "to_dp_event"]
