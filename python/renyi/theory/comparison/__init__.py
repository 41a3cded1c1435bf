"""The ways to account for DP-SGD side by side: classical composition, moments, the exact curve.

>>> from renyi.theory.comparison import compare
>>> for row in compare(0.01, 4.0, 1000, delta=1e-5, methods=("advanced", "moments", "exact")):
...     print(f"{row.method:9}{row.epsilon:.3f}")
advanced 5.531
moments  0.396
exact    0.272
"""

from __future__ import annotations

from renyi.theory.comparison._figure import plot_comparison, plot_noise, steps_grid
from renyi.theory.comparison._methods import METHODS, Row, compare
from renyi.theory.comparison._noise import NoiseRow, compare_noise
from renyi.theory.comparison._samplings import SamplingRow, compare_samplings, plot_samplings

__all__ = [
    "METHODS",
    "NoiseRow",
    "Row",
    "SamplingRow",
    "compare",
    "compare_noise",
    "compare_samplings",
    "plot_comparison",
    "plot_noise",
    "plot_samplings",
    "steps_grid",
]


def __dir__() -> list[str]:
    return __all__
