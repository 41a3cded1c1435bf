"""The noise that a guarantee takes under five ways to draw batches: the table of docs/sampling.md.

    python bench/samplings.py             # everything, writes bench/results/samplings.md
    python bench/samplings.py --quick     # a hundred batches to an epoch, to the screen only

Records that are there or not: Poisson samples, those cut at 10 standard deviations more than the
expected size, balls in bins. Records that contribute nothing instead: shuffled batches, of which
the noise is known to lie between what an attack on the order needs and what is enough for an
observer of it. Replaced records: samples of fixed size, by Rényi divergences.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path

from facts import facts, publish
from speed import duration, table

from renyi import (
    FixedSizeSampled,
    Gaussian,
    PLDAccountant,
    RandomAllocation,
    ShuffledBatches,
    TruncatedPoissonSampled,
)
from renyi.calibration import calibrate, calibrate_noise_multiplier
from renyi.mechanisms import Mechanism

OUTPUT = Path(__file__).parent / "results" / "samplings.md"
RECORDS = 10_000_000
DELTA = 1e-6
EPSILONS = (1.0, 3.0, 8.0)
BATCHES = (100, 1000, 10_000)
EPOCHS = (1, 10, 100)
TOLERANCE = 1e-4
LEAST_ATTACKED = 0.11  # noise: of less no attack is computed

Timed = tuple[float, float]  # the noise, seconds of the processor


def timed(find: Callable[[], float]) -> Timed:
    start = time.process_time()
    return find(), time.process_time() - start


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
    low, high = max(0.02 * most, LEAST_ATTACKED), most
    while high > (1.0 + TOLERANCE) * low:
        middle = math.sqrt(low * high)
        accountant = PLDAccountant(adjacency="zero_out")
        accountant.compose(ShuffledBatches(Gaussian(middle), batches), epochs)
        if accountant.get_epsilon_bounds(DELTA, rtol=1e-3)[0] > epsilon:
            low = middle
        else:
            high = middle
    return low


def row(batches: int, epochs: int, epsilon: float) -> list[str]:
    """Return the cells of a setting."""
    size, rate, steps = RECORDS // batches, 1.0 / batches, batches * epochs
    limit = size + math.ceil(10.0 * math.sqrt(size))
    target = {"target_epsilon": epsilon, "target_delta": DELTA, "tolerance": TOLERANCE}

    def poisson() -> float:
        return calibrate_noise_multiplier(sample_rate=rate, steps=steps, **target)

    found = {"Poisson": timed(poisson)}
    near = found["Poisson"][0]

    def truncated(sigma: float) -> Mechanism:
        return TruncatedPoissonSampled(Gaussian(sigma), rate, limit, RECORDS) * steps

    def dealt(sigma: float) -> Mechanism:
        return RandomAllocation(Gaussian(sigma), batches) * epochs

    def fixed(sigma: float) -> Mechanism:
        return FixedSizeSampled(Gaussian(sigma), size, RECORDS) * steps

    found["truncated"] = timed(lambda: noise(truncated, epsilon, near))
    found["balls in bins"] = timed(lambda: noise(dealt, epsilon, near))
    whole = calibrate_noise_multiplier(sample_rate=1.0, steps=epochs, **target)
    found["attack"] = timed(lambda: attacked(batches, epochs, epsilon, whole))
    found["fixed size"] = timed(
        lambda: calibrate(
            fixed,
            (near, 20.0 * near),
            **target,
            accountant="rdp",
            adjacency="replace_one",
        )
    )
    (z, _), (cut, _), (bins, seconds), (least, _), (drawn, _) = found.values()
    numbers = [z, cut, bins, least, whole, drawn]
    return [
        f"{batches:,}",
        str(epochs),
        f"{epsilon:g}",
        *(f"{x:.4g}" for x in numbers[:3]),
        f"{least:.4g} … {whole:.4g}",
        f"{drawn:.4g}",
        duration(seconds),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
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
    publish([title, facts({}), table(head, rows)], None if quick else OUTPUT)


if __name__ == "__main__":
    main()
