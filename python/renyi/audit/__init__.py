r"""What attacks prove: lower bounds of epsilon, with their confidence, beside the reported one.

Many runs, with and without a record, are told apart by a score of each: `epsilon_lower_bound`, and
`mu_lower_bound` where the mechanism is Gaussian. One run is told by many canaries, each of which
was in it or not by the toss of a coin: `draw_canaries` and `one_run_epsilon_lower_bound`.
`plot_attack` draws what an attack achieves beside what a guarantee allows. Every bound is rounded
towards 0: one above the reported epsilon refutes it, at the stated confidence.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> present, absent = rng.normal(1.0, 1.0, 20_000), rng.normal(0.0, 1.0, 20_000)
>>> round(epsilon_lower_bound(present, absent, 0.01), 1), round(mu_lower_bound(present, absent), 1)
(1.9, 1.0)
"""

from __future__ import annotations

from renyi.audit._one_run import (
    dirac_gradients,
    draw_canaries,
    mislabelled,
    one_run_curve_p_value,
    one_run_epsilon_lower_bound,
    one_run_mu_lower_bound,
    one_run_p_value,
    one_run_parameter_bound,
)
from renyi.audit._rates import (
    binomial_interval,
    epsilon_lower_bound,
    mu_lower_bound,
    plot_attack,
)

__all__ = [
    "binomial_interval",
    "dirac_gradients",
    "draw_canaries",
    "epsilon_lower_bound",
    "mislabelled",
    "mu_lower_bound",
    "one_run_curve_p_value",
    "one_run_epsilon_lower_bound",
    "one_run_mu_lower_bound",
    "one_run_p_value",
    "one_run_parameter_bound",
    "plot_attack",
]


def __dir__() -> list[str]:
    return __all__
