"""NumPy ufuncs of the engine: moments of the privacy loss, Rényi-DP, and exact privacy curves.

Arguments are positional: ``(q, sigma, alpha)`` are sampling rate, noise multiplier and order, and
``mu`` is the ratio of sensitivity to noise of a Gaussian mechanism, or of a composition of them.
All features of ufuncs work here: broadcasting, ``out=``, ``where=``, Dask and xarray arrays.
Values outside the domain are NaN. ``_lower`` and ``_upper`` enclose the exact value.
``dp_sgd_epsilon_upper(q, sigma, steps, delta)`` is the guarantee of a run, for arrays of runs.

>>> from renyi import special
>>> special.rdp_sampled_gaussian(0.01, 1.0, np.array([2.0, 4.0, 8.0])).shape
(3,)
>>> f"{special.gaussian_delta(1.0, 2.0):.6f}"
'0.020924'
"""

import numpy as np

from renyi import _engine

# Their types are in the stub of this module.
_UFUNCS = {name: value for name, value in vars(_engine).items() if isinstance(value, np.ufunc)}
globals().update(_UFUNCS)
__all__ = sorted(_UFUNCS)
__dir__ = __all__.copy
