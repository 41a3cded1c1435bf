"""Cross-checks of the engine against multi-precision arithmetic.

Every route to log A of the sampled Gaussian mechanism, and every Renyi curve of the other
mechanisms and their samplings, is compared with ``renyi.reference``: how many digits agree, and
whether the certified bracket contains the reference.
"""

from renyi.verify._curves import CurveCheck, verify_curves
from renyi.verify._routes import RouteCheck, Verification, random_points, verify_point

__all__ = [
    "CurveCheck",
    "RouteCheck",
    "Verification",
    "random_points",
    "verify_curves",
    "verify_point",
]


def __dir__() -> list[str]:
    return __all__
