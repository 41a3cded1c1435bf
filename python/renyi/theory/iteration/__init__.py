"""Privacy amplification by iteration: one noisy pass, of which only the last iterate is released.

Projected noisy SGD visits every record once (PNSGD). What a step reveals is blurred by the steps
that follow, each of which contracts the hockey-stick divergence E_g, g = e^epsilon, that is delta:

* shuffled records, noise of one scale: `shuffled_delta`, the same for every record;
* a fixed order, any scales: `online_delta` for one record, `online_deltas` for all of them,
  `online_worst` for the worst, `online_limit` for passes without end;
* several epochs, Gaussian noise, smooth convex losses: `epochs_mu`, beside composition.

Records are replaced, not added or removed, and every delta is rounded up. `renyi.sgd.PNSGD` runs
the algorithm.

Sordello, Bu, Dong 2021, arXiv 2106.11767, after Feldman, Mironov, Talwar, Thakurta 2018 (arXiv
1808.06651) and Asoodeh, Diaz, Calmon 2020 (arXiv 2001.06546).

Examples
--------
>>> import math
>>> descent = NoisyDescent(step_size=0.1, lipschitz=10.0, diameter=1.0, noise="laplace")
>>> scale = fixed_scale(descent, 10**6, c1=1e5, c2=2.0)
>>> round(scale, 4), round(math.log10(shuffled_delta(descent, 1.0, scale, 10**6)), 4)
(2.0121, -5.143)
"""

from renyi.theory.iteration.divergence import (
    contraction_coefficient,
    kernel_contraction,
    noise_divergence,
    record_divergence,
)
from renyi.theory.iteration.last_iterate import (
    EpochGuarantee,
    epochs_mu,
    last_iterate_mu,
    shuffled_epochs_delta,
)
from renyi.theory.iteration.online import (
    WorstRecord,
    online_delta,
    online_deltas,
    online_limit,
    online_worst,
)
from renyi.theory.iteration.online_targets import online_epsilon, online_noise_factor
from renyi.theory.iteration.schedules import DecayingNoise, fixed_scale
from renyi.theory.iteration.setting import NoisyDescent, step_contraction
from renyi.theory.iteration.shuffled import (
    shuffled_delta,
    shuffled_epsilon,
    shuffled_limit,
    shuffled_limit_constant,
    shuffled_scale,
)

__all__ = [
    "DecayingNoise",
    "EpochGuarantee",
    "NoisyDescent",
    "WorstRecord",
    "contraction_coefficient",
    "epochs_mu",
    "fixed_scale",
    "kernel_contraction",
    "last_iterate_mu",
    "noise_divergence",
    "online_delta",
    "online_deltas",
    "online_epsilon",
    "online_limit",
    "online_noise_factor",
    "online_worst",
    "record_divergence",
    "shuffled_delta",
    "shuffled_epochs_delta",
    "shuffled_epsilon",
    "shuffled_limit",
    "shuffled_limit_constant",
    "shuffled_scale",
    "step_contraction",
]


def __dir__() -> list[str]:
    return __all__
