"""What a run costs a person with several records: time and width, beside the chain and a peer.

    python bench/groups.py            # everything, writes bench/results/groups.md
    python bench/groups.py --quick    # two and eight records, to the screen only

A thousand steps of Gaussian noise on Poisson samples, each record by its own coin. Beside the pair
of the group: the chain of neighbours, which is all that the curve of one record implies, and the
mixtures of dp_accounting on a lattice of losses 1e-3 apart. Times are the least of several, of the
process.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from harness import duration, facts, least, options_of, publish, table
from scipy.stats import binom

from renyi import Gaussian, PLDAccountant, PoissonSampled
from renyi.accountants._curves import upper_end
from renyi.accountants._groups import GroupCurve

DELTA = 1e-6
STEPS = 1000
RECORDS = (2, 4, 8, 16)
NOISES = (1.0, 2.0, 5.0)
RATES = (0.01, 0.001)
REPEATS = 5
INTERVAL = 1e-3  # of losses; the default, 1e-4, takes 20 s for two records
HEAD = "σ|q|m|ε|relative width|time|chain|time|dp_accounting|time"


def accountant(noise: float, rate: float) -> PLDAccountant:
    return PLDAccountant().compose(PoissonSampled(Gaussian(noise), rate), STEPS)


def by_group(noise: float, rate: float, records: int) -> float:
    return accountant(noise, rate).get_epsilon(DELTA, group_size=records)


def by_chain(noise: float, rate: float, records: int) -> float:
    one = accountant(noise, rate)._curve_of(None, 1e-5)
    return upper_end(GroupCurve(one, one, records), "epsilon", DELTA)


def by_peer(noise: float, rate: float, records: int) -> float:
    from dp_accounting.pld import privacy_loss_distribution

    weights = binom.pmf(np.arange(records + 1), records, rate)
    loss = privacy_loss_distribution.from_mixture_gaussian_mechanism(
        standard_deviation=noise,
        sensitivities=list(range(records + 1)),
        sampling_probs=list(weights / weights.sum()),
        value_discretization_interval=INTERVAL,
    )
    return float(loss.self_compose(STEPS).get_epsilon_for_delta(DELTA))


def rows(records: tuple[int, ...]) -> Iterator[list[str]]:
    for noise in NOISES:
        for rate in RATES:
            for m in records:
                low, high = accountant(noise, rate).get_epsilon_bounds(DELTA, group_size=m)
                own = least(partial(by_group, noise, rate, m), REPEATS)
                chain = least(partial(by_chain, noise, rate, m))
                peer = least(partial(by_peer, noise, rate, m))
                yield [
                    f"{noise:g}",
                    f"{rate:g}",
                    str(m),
                    f"{own[0]:.6f}",
                    f"{(high - low) / high:.0e}",
                    duration(own[1]),
                    f"{chain[0]:.4f}",
                    duration(chain[1]),
                    f"{peer[0]:.6f}",
                    duration(peer[1]),
                ]


def report(records: tuple[int, ...]) -> Iterator[str]:
    yield f"# Several records of one person: {STEPS:,} steps, δ = {DELTA:g}\n"
    yield facts({"Times": f"of the process, the least of {REPEATS}; of the others one"})
    yield table(HEAD, rows(records))


def main() -> None:
    quick = options_of(__doc__, quick=False).quick
    publish(report((2, 8) if quick else RECORDS), None if quick else "groups")


if __name__ == "__main__":
    main()
