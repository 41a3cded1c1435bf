r"""Audits by attacks: lower bounds of epsilon with a confidence, to compare with the reported one.

`ManyRuns` tests many runs, with and without a record, by a score of each; `SequentialRuns` does so
where they may stop early. `OneRun` tests one run with many canaries, each of which was in it or not
by the toss of a coin (`draw_canaries`). Each answers the same questions: a lower bound of epsilon
or, where the mechanism is Gaussian, of mu; the parameter next to which a mechanism is refuted; a
p-value of the reported guarantee. `plot_attack` draws what an attack achieves beside what a
guarantee allows, `plot_power` how large a violation an audit would have found. Every bound is
rounded to the safe side: a lower one above the reported epsilon refutes it, at the stated
confidence.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> audit = ManyRuns(rng.normal(1.0, 1.0, 20_000), rng.normal(0.0, 1.0, 20_000))
>>> round(audit.epsilon_lower_bound(0.01), 1), round(audit.mu_lower_bound(), 1)
(1.9, 1.0)
"""

from renyi.audit._claims import Audit as Audit
from renyi.audit._figures import plot_attack, plot_power
from renyi.audit._many_runs import ManyRuns, SequentialRuns
from renyi.audit._many_runs import binomial_interval as binomial_interval
from renyi.audit._one_run import OneRun, dirac_gradients, draw_canaries, mislabelled

__all__ = [
    "ManyRuns",
    "OneRun",
    "SequentialRuns",
    "dirac_gradients",
    "draw_canaries",
    "mislabelled",
    "plot_attack",
    "plot_power",
]
__dir__ = __all__.copy
