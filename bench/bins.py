"""Correlated noise in random bins: brackets beside draws, and noise beside other ways to sample.

    python bench/bins.py draws            # 30 settings, ten million draws each; minutes
    python bench/bins.py noise            # 20 settings of noise at one guarantee
    python bench/bins.py draws --quick    # a hundredth of the draws, to the screen only

Draws: the ratio R of likelihoods with the record and without is drawn from the law with the record
(or without, to add it), and delta is E (1 - e^epsilon / R)_+, or E (1 - e^epsilon R)_+; a uniform
number below that is a coin of just this probability, and the interval that of Clopper and Pearson
for a binomial number. All of them hold together with probability 1 - 1e-6.

Noise: that of z, in units of what fixed order takes. The Monte Carlo column is the estimate that
libraries without a bound go by (2410.06266): the noise at which the mean over draws is delta, with
the sum over bins as it is. It has an error of some percent, and either sign.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from harness import facts, publish, table
from scipy.optimize import brentq
from scipy.stats import beta

from renyi import MatrixMechanism, PLDAccountant
from renyi.matrix import (
    BLT,
    BallsInBins,
    BandedInverse,
    BandedToeplitz,
    CyclicPoisson,
    FixedEpochs,
    SquareRoot,
    Strategy,
    Tree,
    priced,
)

FAILURE = 1e-6
BLOCK = 250_000  # normal numbers at a time

Array = np.ndarray[Any, np.dtype[np.float32]]  # errors of 1e-6, beside those of chance of 1e-2


def strategies(steps: int, batches: int) -> list[tuple[str, Strategy]]:
    """Return the strategies that settings are made of."""
    most = min(batches, steps)
    return [
        ("bands", BandedToeplitz.optimal(steps, most)),
        ("3 inverse bands", BandedInverse.root(steps, 3)),
        ("buffers", BLT.optimal(steps, 2, participation=FixedEpochs(batches))),
        ("root", SquareRoot(steps)),
        ("tree", Tree(steps)),
    ]


SIZES = (
    (8, 2, 1.0, 2.9),
    (12, 3, 1.0, 2.3),
    (16, 4, 2.0, 1.15),
    (64, 4, 0.7, 4.5),
    (40, 5, 3.0, 0.8),
    (64, 8, 1.5, 1.6),
)
"""Steps, batches, the noise over the sensitivity of bins that are known, and epsilon."""


class Ratio:
    """Draws of log R, the likelihood ratio, for a strategy and bins."""

    def __init__(self, strategy: Strategy, batches: int) -> None:
        c = strategy.matrix()
        moves = np.array([c[:, j::batches].sum(axis=1) for j in range(batches)])
        gram = moves @ moves.T
        values, vectors = np.linalg.eigh(gram)
        self.gram = gram.astype(np.float32)
        self.root = (vectors * np.sqrt(np.maximum(values, 0.0))).astype(np.float32)

    def gains(self, random: Any, size: int, noise: float, epsilon: float) -> tuple[Array, Array]:
        """Return draws whose means are delta, with the record removed and added."""
        count, scale = len(self.gram), np.float32(1.0 / noise)
        z = random.standard_normal((count, size), dtype=np.float32)
        x = scale * (self.root @ z) - (0.5 * scale**2) * np.diag(self.gram)[:, None]
        added = np.exp(x).mean(axis=0)
        begin = 0  # draws by the bin of the record, in order
        for j, more in enumerate(random.multinomial(size, np.full(count, 1.0 / count)).tolist()):
            x[:, begin : begin + more] += scale**2 * self.gram[:, j : j + 1]
            begin += more
        removed = np.exp(x).mean(axis=0)
        limit = np.float32(math.exp(epsilon))
        return np.maximum(1.0 - limit / removed, 0.0), np.maximum(1.0 - limit * added, 0.0)


def blocks(draws: int, batches: int) -> list[int]:
    """Return sizes of blocks of draws."""
    size = max(BLOCK // batches, 1)
    return [*[size] * (draws // size), draws % size]


def draws_table(draws: int) -> str:
    """Return the table of brackets beside intervals, or fail where they do not meet."""
    random, rows = np.random.default_rng(2024), []
    settings = [
        (*size, name, strategy) for size in SIZES for name, strategy in strategies(*size[:2])
    ]
    tail = 0.5 * FAILURE / (2 * len(settings))
    for steps, batches, relative, epsilon, name, strategy in settings:
        noise = relative * strategy.sensitivity(FixedEpochs(batches))
        run = PLDAccountant().compose(MatrixMechanism(strategy, noise, BallsInBins(batches)))
        ratio = Ratio(strategy, batches)
        counts = np.zeros(2, int)
        for size in blocks(draws, batches):
            coins = random.random(size, dtype=np.float32)
            counts += [(coins < one).sum() for one in ratio.gains(random, size, noise, epsilon)]
        for side, hits in zip(("remove", "add"), counts.tolist(), strict=True):
            least = float(beta.ppf(tail, hits, draws - hits + 1)) if hits else 0.0
            most = float(beta.isf(tail, hits + 1, draws - hits)) if hits < draws else 1.0
            low, high = run.get_delta_bounds(epsilon, direction=side)
            assert max(low, least) <= min(high, most), (name, steps, side)
            rows.append(
                [
                    f"{name}, {steps} steps, {batches} batches",
                    f"{noise:.4g}",
                    f"{epsilon:g}",
                    side,
                    f"{least:.4g} … {most:.4g}",
                    f"{low:.4g} … {high:.4g}",
                    f"{high / low - 1.0:.1%}",
                ]
            )
            print(*rows[-1], sep=" | ", flush=True)
    far = run.get_epsilon_bounds(1e-10)
    words = f"\nThe last setting at δ = 1e-10: ε in {far[0]:.5g} … {far[1]:.5g}.\n"
    return table("setting|noise of z|ε|direction|draws of δ|bracket of δ|its width", rows) + words


COMPARED = [
    (steps, batches, epsilon)
    for steps, batches in ((128, 16), (256, 64), (512, 128), (1024, 32), (128, 128))
    for epsilon in (0.5, 1.0, 4.0, 8.0)
]
"""Steps, batches, epsilon: at delta 1e-5."""
DELTA = 1e-5


def estimated_noise(ratio: Ratio, epsilon: float, draws: int, known: float) -> tuple[float, float]:
    """Return the noise at which draws have a mean of delta, and its standard error."""
    sizes = blocks(draws, len(ratio.gram))

    def moments(noise: float) -> tuple[float, float]:
        random = np.random.default_rng(7)  # the same draws for every noise
        total = square = 0.0
        for size in sizes:
            gains, _ = ratio.gains(random, size, noise, epsilon)
            total, square = total + float(gains.sum()), square + float((gains**2).sum())
        mean = total / draws
        return mean, math.sqrt(max(square / draws - mean**2, 0.0) / draws)

    found = float(
        brentq(lambda s: moments(s)[0] - DELTA, 0.4 * known, 1.05 * known, rtol=1e-3)  # type: ignore[arg-type]
    )
    error = moments(found)[1]
    slope = (moments(1.02 * found)[0] - moments(0.98 * found)[0]) / (0.04 * found)
    return found, error / abs(slope)


def noise_table(draws: int) -> str:
    """Return the table of root mean square errors of prefix sums at one guarantee."""
    rows = []
    for steps, batches, epsilon in COMPARED:
        counts = [1 << k for k in range(batches.bit_length()) if batches >> k]
        sampled = min(
            (
                priced(
                    "",
                    BandedToeplitz.optimal(steps, count),
                    CyclicPoisson(count / batches, count),
                    epsilon,
                    DELTA,
                )
                for count in counts
            ),
            key=lambda row: row.error,
        )
        bands = BandedToeplitz.optimal(steps, batches)
        fixed = priced("", bands, FixedEpochs(batches), epsilon, DELTA)
        bins = priced("", bands, BallsInBins(batches), epsilon, DELTA)
        found, error = estimated_noise(
            Ratio(bands, batches), epsilon, draws, fixed.noise_multiplier
        )
        per = fixed.error / fixed.noise_multiplier
        rows.append(
            [
                f"{steps}, {batches}, {epsilon:g}",
                f"{sampled.error:.4g} ({sampled.strategy.bands})",
                f"{fixed.error:.4g}",
                f"{bins.error:.4g}",
                f"{found * per:.4g} ± {error * per:.2g}",
                f"{bins.noise_multiplier / found - 1:+.1%}",
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
    head = "steps, batches, ε|cyclic (bands)|fixed order|bins, proven|Monte Carlo|proven beside it"
    return table(head, rows)


def main() -> None:
    """Make one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=("draws", "noise"))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    draws = 10_000_000 if options.part == "draws" else 250_000
    if options.quick:
        draws //= 100
    made = draws_table(draws) if options.part == "draws" else noise_table(draws)
    title = f"# Random bins: {options.part}\n\n{draws:,} draws a row.\n"
    publish([title, facts(), made], None if options.quick else f"bins_{options.part}")


if __name__ == "__main__":
    main()
