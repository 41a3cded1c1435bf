"""Functions and accountants of other libraries, computed by this one.

This module has the functions that scripts call, and `StepCallback` for training loops.
`renyi.compat.dp_accounting` (for TensorFlow Privacy and JAX-Privacy too), `renyi.compat.opacus` and
`renyi.compat.pfl` are accountants for these libraries; `renyi.compat.lightning`,
`renyi.compat.transformers` and `renyi.compat.flower` wrap the callback. Each needs its library.
Everything is rounded to the safe side. docs/migration.md lists the calls of both side by side.

>>> orders = [2, 4, 8, 16, 32]
>>> rdp = compute_rdp(q=0.01, noise_multiplier=1.1, steps=1000, orders=orders)
>>> epsilon, order = get_privacy_spent(orders=orders, rdp=rdp, delta=1e-5)
>>> round(epsilon, 4), order
(1.7958, 8.0)
"""

from renyi.compat._scripts import compute_rdp, get_privacy_spent
from renyi.compat._steps import StepCallback

__all__ = ["StepCallback", "compute_rdp", "get_privacy_spent"]
__dir__ = __all__.copy
