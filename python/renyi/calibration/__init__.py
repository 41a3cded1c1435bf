"""Calibration: noise, steps or sampling rate for a target, by exact or by Rényi accounting.

A target is one of

* ``target_epsilon`` and ``target_delta``: (epsilon, delta)-privacy,
* ``target_alpha`` and ``target_beta``: any test for a record's presence with a false-positive rate
  of at most ``target_alpha`` misses it with a probability of at least ``target_beta``; membership
  inference then has a true-positive rate of at most ``1 - target_beta``,
* ``target_advantage``: the true-positive rate of a test exceeds its false-positive rate by at most
  that.

Every returned value meets its target, as the accountant itself confirms; the value one tolerance
further does not. `calibrate` takes any mechanism that depends on one number; the other functions
take Poisson-sampled Gaussian steps, and are faster.

>>> run = {"sample_rate": 0.01, "steps": 10_000}
>>> round(calibrate_noise_multiplier(target_epsilon=1.0, target_delta=1e-5, **run), 4)
3.8128
>>> round(calibrate_noise_multiplier(target_alpha=0.01, target_beta=0.95, **run), 4)
1.624
>>> round(calibrate_noise_multiplier(target_advantage=0.1, **run), 4)
4.0388
"""

from renyi.calibration._functions import (
    calibrate,
    calibrate_noise_multiplier,
    calibrate_sample_rate,
    calibrate_steps,
    share,
)

__all__ = [
    "calibrate",
    "calibrate_noise_multiplier",
    "calibrate_sample_rate",
    "calibrate_steps",
    "share",
]


def __dir__() -> list[str]:
    return __all__
