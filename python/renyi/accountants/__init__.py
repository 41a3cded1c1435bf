"""Privacy accountants: compose mechanisms, ask for (epsilon, delta).

`RDPAccountant` follows Rényi divergences, `PLDAccountant` the exact privacy curve; both take the
same mechanisms and answer through the same methods. What they report is never below the exact value
of the guarantee it stands for.

Examples
--------
>>> from renyi import Gaussian
>>> for accountant in RDPAccountant(), PLDAccountant():
...     print(round(accountant.compose(Gaussian(1.0)).get_epsilon(1e-5), 3))
4.728
4.377
"""

from renyi.accountants.pld import Adjacency, DirectionName, PLDAccountant
from renyi.accountants.rdp import Conversion, RDPAccountant

__all__ = ["Adjacency", "Conversion", "DirectionName", "PLDAccountant", "RDPAccountant"]
