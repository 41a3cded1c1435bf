"""Privacy accountants: compose mechanisms, ask for (epsilon, delta).

`RDPAccountant` follows Rényi divergences, `PLDAccountant` the exact privacy curve. Both take every
mechanism that they can bound, refuse the others and say why, and answer through the same methods.
What they report is never below the exact value of the guarantee it stands for.

>>> from renyi import Gaussian
>>> for accountant in RDPAccountant(), PLDAccountant():
...     print(round(accountant.compose(Gaussian(1.0)).get_epsilon(1e-5), 3))
4.728
4.377
"""

from renyi.accountants._protocol import Accountant
from renyi.accountants.pld import PLDAccountant
from renyi.accountants.rdp import RDPAccountant
from renyi.mechanisms.algebra import UnsupportedMechanismError

__all__ = ["Accountant", "PLDAccountant", "RDPAccountant", "UnsupportedMechanismError"]
__dir__ = __all__.copy
