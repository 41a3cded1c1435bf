"""The cases of the speed comparison, and the exact answers they are judged by.

``exact`` values were found with 50-digit arithmetic (bench/exact.py finds them again):
``dp_accounting`` and ``opacus`` are the smallest epsilon over their default orders (the conversion
of Balle et al. 2020, Theorem 21, which both use), ``listed`` the noise likewise, ``best`` the
infimum over all real orders of the optimal conversion of a single order (Asoodeh et al. 2020).
"""

from __future__ import annotations

from typing import NamedTuple

from peers import Training

DELTA = 1e-5

DP_ACCOUNTING_ORDERS = (
    *(1 + x / 10 for x in range(1, 100)),
    *map(float, range(11, 64)),
    *(128.0, 256.0, 512.0, 1024.0),
)
OPACUS_ORDERS = (*(1 + x / 10 for x in range(1, 100)), *map(float, range(12, 64)))


class EpsilonCase(NamedTuple):
    title: str
    run: Training
    dp_accounting: float  # exact epsilon over its orders
    opacus: float
    best: float


class CalibrationCase(NamedTuple):
    target_epsilon: float
    listed: float  # smallest noise multiplier, orders of dp_accounting or of Opacus
    best: float  # smallest noise multiplier, all orders


EPSILON = (
    EpsilonCase("everyday", Training(0.01, 1.0, 10_000),
                6.7127382975454222574, 6.7127382975454222574, 6.7122694115400540688),
    EpsilonCase("MNIST-sized", Training(0.004, 1.1, 15_000),
                2.5028709266189950014, 2.5028709266189950014, 2.5028195996550992934),
    EpsilonCase("large epsilon", Training(0.1, 1.0, 10_000),
                134.50201957383925705, 134.50201957383925705, 133.84990056610013826),
    EpsilonCase("small epsilon", Training(0.001, 4.0, 10_000),
                0.0862274410913108624, 0.12326500866974600114, 0.085645091097906783605),
    EpsilonCase("little noise", Training(0.001, 0.6, 100_000),
                6.8725400678305967625, 6.8725400678305967625, 6.8689464269083627285),
)  # fmt: skip

# log A at random everyday points: number of points, and how many of them are compared with the
# multi-precision reference.
LOG_A_POINTS, LOG_A_CHECKED = 500, 60

# One step of the everyday run, then a query, again and again: steps -> exact epsilon (all orders).
LIVE_STEP = Training(0.01, 1.0, 1)
LIVE = {100_000: 27.230952950237110158, 1_000_000: 144.77700856323647357}
LIVE_STEPS_OF_PEERS = 50

# Another noise multiplier in every step, and a query after each.
DISTINCT = tuple(Training(0.01, 0.8 + 0.001 * i, 1) for i in range(1000))
DISTINCT_STEPS_OF_OPACUS = 30
DISTINCT_LISTED = {30: 1.85396256902654033, 1000: 2.23528802525859668}
DISTINCT_BEST = 2.21555108440571613

# Noise for 10,000 steps at rate 0.01.
CALIBRATION_RATE, CALIBRATION_STEPS = 0.01, 10_000
CALIBRATION = (
    CalibrationCase(1.0, 4.125802983272057, 4.1252379878296676),
    CalibrationCase(2.0, 2.2780578941459303, 2.2780513237269328),
    CalibrationCase(8.0, 0.91682763253826319, 0.91679710471021942),
)
