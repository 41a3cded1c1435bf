"""The noise that a guarantee takes under five ways to draw batches: the table of docs/sampling.md.

    python bench/samplings.py             # everything, writes bench/results/samplings.md
    python bench/samplings.py --quick     # a hundred batches to an epoch, to the screen only

Records that are there or not: Poisson samples, those cut at 10 standard deviations more than the
expected size, balls in bins. Records that contribute nothing instead: shuffled batches, of which
the noise is known to lie between what an attack on the order needs and what is enough for an
observer of it. Replaced records: samples of fixed size, by Rényi divergences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from harness import duration, facts, least, options_of, publish, table

from renyi import (
    FixedSizeSampled,
    Gaussian,
    PLDAccountant,
    RandomAllocation,
    ShuffledBatches,
    TruncatedPoissonSampled,
)
from renyi._search import bisected
from renyi.calibration import calibrate, calibrate_noise_multiplier
from renyi.mechanisms import Mechanism

RECORDS = 10_000_000
DELTA = 1e-6
EPSILONS = (1.0, 3.0, 8.0)
BATCHES = (100, 1000, 10_000)
EPOCHS = (1, 10, 100)
TOLERANCE = 1e-4
LEAST_ATTACKED = 0.11  # noise: of less no attack is computed


def noise(make: Callable[[float], Mechanism], epsilon: float, near: float) -> float:
    """Return the smallest noise for which a mechanism meets the target."""
    return calibrate(
        make,
        (near / 3.0, near * 3.0),
        target_epsilon=epsilon,
        target_delta=DELTA,
        tolerance=TOLERANCE,
    )


def attacked(batches: int, epochs: int, epsilon: float, most: float) -> float:
    """Return the noise below which an attack on the order exceeds the target."""

    def resists(noise: float) -> bool:
        accountant = PLDAccountant(adjacency="zero_out")
        accountant.compose(ShuffledBatches(Gaussian(noise), batches), epochs)
        return bool(accountant.get_epsilon_bounds(DELTA, rtol=1e-3)[0] <= epsilon)

    return bisected(resists, max(0.02 * most, LEAST_ATTACKED), most, TOLERANCE)[0]


def row(batches: int, epochs: int, epsilon: float) -> list[str]:
    """Return the cells of a setting."""
    size, rate, steps = RECORDS // batches, 1.0 / batches, batches * epochs
    limit = size + math.ceil(10.0 * math.sqrt(size))
    target = {"target_epsilon": epsilon, "target_delta": DELTA, "tolerance": TOLERANCE}

    near = calibrate_noise_multiplier(sample_rate=rate, steps=steps, **target)

    def truncated(sigma: float) -> Mechanism:
        return TruncatedPoissonSampled(Gaussian(sigma), rate, limit, RECORDS) * steps

    def dealt(sigma: float) -> Mechanism:
        return RandomAllocation(Gaussian(sigma), batches) * epochs

    def fixed(sigma: float) -> Mechanism:
        return FixedSizeSampled(Gaussian(sigma), size, RECORDS) * steps

    cut = noise(truncated, epsilon, near)
    bins, seconds = least(partial(noise, dealt, epsilon, near))
    whole = calibrate_noise_multiplier(sample_rate=1.0, steps=epochs, **target)
    replaced = {"accountant": "rdp", "adjacency": "replace_one"}
    drawn = calibrate(fixed, (near, 20.0 * near), **target, **replaced)
    return [
        f"{batches:,}",
        str(epochs),
        f"{epsilon:g}",
        *(f"{x:.4g}" for x in (near, cut, bins)),
        f"{attacked(batches, epochs, epsilon, whole):.4g} … {whole:.4g}",
        f"{drawn:.4g}",
        duration(seconds),
    ]


def main() -> None:
    quick = options_of(__doc__, quick=False).quick
    rows = []
    for batches in BATCHES[: 1 if quick else None]:
        for epochs in EPOCHS:
            for epsilon in EPSILONS:
                rows.append(row(batches, epochs, epsilon))
                print(*rows[-1], flush=True)
    head = (
        "batches of an epoch|epochs|ε|Poisson|truncated Poisson|balls in bins|shuffled|fixed size, "
        "replaced records|time of balls in bins"
    )
    title = f"# Noise multipliers for δ = {DELTA:g} under five ways to draw batches\n"
    publish([title, facts(), table(head, rows)], None if quick else "samplings")


if __name__ == "__main__":
    main()
