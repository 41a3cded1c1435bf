"""Functions and accountants of other libraries, computed by this one.

This module has the functions that scripts call. `renyi.compat.dp_accounting` (for TensorFlow
Privacy and JAX-Privacy too) and `renyi.compat.opacus` are accountants for these libraries, which
have to be installed.

Everything is rounded to the safe side. docs/migration.md has their calls and ours side by side.

Examples
--------
>>> orders = [2, 4, 8, 16, 32]
>>> rdp = compute_rdp(q=0.01, noise_multiplier=1.1, steps=1000, orders=orders)
>>> epsilon, order = get_privacy_spent(orders=orders, rdp=rdp, delta=1e-5)
>>> round(epsilon, 4), order
(1.7958, 8.0)
"""

from renyi.compat._scripts import compute_rdp, get_privacy_spent

__all__ = ["compute_rdp", "get_privacy_spent"]
