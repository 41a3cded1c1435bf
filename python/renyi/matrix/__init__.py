"""Correlated noise: matrix mechanisms from strategies, participation schemes and workloads.

A strategy is a lower triangular matrix C. The mechanism releases C g + z. A row of g is the sum of
a step, of contributions clipped to norm 1; z is independent noise. So every step has the noise C^-1
z, which later cancels a part of the earlier noise. For an accountant a run is
``renyi.MatrixMechanism(strategy, noise_multiplier, participation)``: the noise multiplier is the
standard deviation of z in units of the clipping norm, and the whole run is one Gaussian mechanism
whose multiplier is that over ``strategy.sensitivity(participation)`` (Denisov, McMahan, Rush,
Smith, Thakurta 2022, arXiv 2202.08312: also where a sum depends on what was released before).

>>> strategy = BandedToeplitz.optimal(1000, 100)
>>> once_an_epoch = MinSeparation(100, 10)
>>> round(strategy.sensitivity(once_an_epoch) / strategy.column_norm, 6)
3.162278
>>> round(strategy.loss("mean"), 6), round(Tree(1000).loss("mean"), 4)
(3.6596, 5.3573)
"""

from renyi.matrix._blt import BLT
from renyi.matrix._choice import choose_bands, choose_strategy, plot_bands, priced
from renyi.matrix._dense import Dense
from renyi.matrix._inverse import BandedInverse
from renyi.matrix._strategy import Strategy, Workload
from renyi.matrix._stream import NoiseStream, noise_functions
from renyi.matrix._toeplitz import BandedToeplitz, SquareRoot
from renyi.matrix._tree import Tree
from renyi.mechanisms.participation import (
    BallsInBins,
    CyclicPoisson,
    FixedEpochs,
    MinSeparation,
    SinglePass,
)

__all__ = [
    "BLT",
    "BallsInBins",
    "BandedInverse",
    "BandedToeplitz",
    "CyclicPoisson",
    "Dense",
    "FixedEpochs",
    "MinSeparation",
    "NoiseStream",
    "SinglePass",
    "SquareRoot",
    "Strategy",
    "Tree",
    "Workload",
    "choose_bands",
    "choose_strategy",
    "noise_functions",
    "plot_bands",
    "priced",
]
__dir__ = __all__.copy
