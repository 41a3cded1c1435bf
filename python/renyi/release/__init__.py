"""Statistics that are charged and drawn in one call, under one budget.

The budget is a filter or a data set of a ledger. A release checks its arguments, computes the exact
statistic, charges the budget, and only then draws. The charge is the mechanism from which the noise
is drawn: the sensitivity holds in exact arithmetic, the noise is ideal and on a lattice.

`randomize` draws reports of local randomizers instead, which `renyi.Shuffled` accounts for.

>>> import numpy as np
>>> from renyi import PrivacyFilter
>>> releases = Releases(PrivacyFilter(epsilon=1.0, delta=1e-6))
>>> ages = np.array([31, 4, 77, 52, 45] * 2000)
>>> adults = releases.count(ages >= 18, epsilon=0.1)
>>> abs(adults.value - 8000) < 500, adults.mechanism
(True, DiscreteLaplace(scale=10.000000000009095, sensitivity=1))
>>> mean = releases.mean(ages, lower=0, upper=120, rho=0.001)
>>> low, high = mean.interval(0.99)
>>> bool(low <= mean.value <= high)
True
"""

from renyi.release._release import Release as Release
from renyi.release._releases import Releases
from renyi.release._reports import Estimate as Estimate
from renyi.release._reports import estimate, randomize

__all__ = ["Releases", "estimate", "randomize"]
__dir__ = __all__.copy
