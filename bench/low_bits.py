"""What the last bits of noisy sums tell of a record: an attack on many runs, audited.

python bench/low_bits.py             # some minutes, writes bench/results/low_bits.md
python bench/low_bits.py --quick     # few runs, to the screen only

Two worlds: a batch whose sum is exactly zero, and the same with one record of 1/sqrt(d) an entry.
A floating-point sum with floating-point noise tells them apart in every run: a small entry keeps
bits that no multiple of the record's last place has. Scores look at such bits only, but for the
likelihood ratio, which sees what the guarantee speaks of.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from harness import facts, options_of, publish, table

from renyi import special
from renyi.audit import ManyRuns
from renyi.noise import noise_lattice
from renyi.sgd import noisy_clipped_sum

SIGMA, DELTA, CONFIDENCE, BITS = 4.0, 1e-5, 0.95, 6

Release = Callable[[np.ndarray], np.ndarray]
Scores = dict[str, list[float]]


def rounded(rows: np.ndarray) -> np.ndarray:
    """The package's sum and noise."""
    return noisy_clipped_sum(rows, 1.0, SIGMA)


def floating(rows: np.ndarray) -> np.ndarray:
    """A sum of doubles and noise of doubles."""
    return rows.sum(axis=0) + SIGMA * np.random.default_rng().standard_normal(rows.shape[1])


def attacks(released: np.ndarray, training: np.ndarray) -> dict[str, float]:
    """Every attack's score: the higher, the more it looks as if the record were there."""
    d = released.size
    place = math.ulp(1.0 / math.sqrt(d))
    ratios = np.log(training[1] / training[0])
    return {
        "multiples of the record's last place": float(np.mean(np.mod(released, place) == 0.0)),
        f"likelihood ratio of the last {BITS} bits": float(ratios[last_bits(released)].sum()),
        "entries that are zero": float(np.mean(released == 0.0)),
        "likelihood ratio of all": float(released.sum() / math.sqrt(d)),
    }


def last_bits(released: np.ndarray) -> np.ndarray:
    """The last bits of every entry, in units of the lattice."""
    units = np.rint(released / noise_lattice(SIGMA)).astype(np.int64)
    return units & (2**BITS - 1)


def worlds(dimension: int) -> list[np.ndarray]:
    """Rows without and with the record."""
    row = np.full(dimension, 0.999 / math.sqrt(dimension))  # not scaled by clipping
    return [np.stack([row, -row]), np.stack([row, -row, row])]


def scores(release: Release, dimension: int, runs: int) -> list[Scores]:
    """Return the scores of so many runs of each world; laws of bits come from half as many more."""
    batches = worlds(dimension)
    training = np.ones((2, 2**BITS))
    for world, rows in enumerate(batches):
        for _ in range(runs // 2):
            training[world] += np.bincount(last_bits(release(rows)), minlength=2**BITS)
    found: list[Scores] = []
    for rows in batches:
        each = [attacks(release(rows), training) for _ in range(runs)]
        found.append({name: [one[name] for one in each] for name in each[0]})
    return found


def bounds(absent: Scores, present: Scores) -> dict[str, tuple[float, float]]:
    """Return what every attack proves of epsilon, and of mu."""
    audits = {name: ManyRuns(present[name], absent[name]) for name in present}
    return {
        name: (
            audit.epsilon_lower_bound(DELTA, confidence=CONFIDENCE),
            audit.mu_lower_bound(confidence=CONFIDENCE),
        )
        for name, audit in audits.items()
    }


def rows_of(name: str, release: Release, dimension: int, runs: int) -> list[list[str]]:
    reported = special.gaussian_epsilon_upper(1.0 / SIGMA, DELTA)
    return [
        [
            name,
            attack,
            f"{dimension:,}",
            f"{2 * runs:,}",
            f"{reported:.4f}",
            f"{epsilon:.4f}",
            f"{1.0 / SIGMA:g}",
            f"{mu:.4f}",
        ]
        for attack, (epsilon, mu) in bounds(*scores(release, dimension, runs)).items()
    ]


def main() -> None:
    quick = options_of(__doc__, quick=False).quick
    share = 20 if quick else 1
    rows = rows_of("floating point", floating, 10_000, 1000 // share)
    for dimension in (10_000, 100_000):
        rows += rows_of("renyi", rounded, dimension, 5000 // share)
    method = (
        f"batch sum exactly zero against one record of 0.999/sqrt(d) an entry, clipping norm 1, "
        f"noise multiplier {SIGMA:g}, delta {DELTA:g}; half of the runs decide on a threshold, "
        f"half measure; confidence {CONFIDENCE:g} of each bound"
    )
    head = "sum and noise|attack|d|runs|reported ε|measured ε >|reported μ|measured μ >"
    parts = ["# What the last bits tell\n", facts({"Method": method}), table(head, rows)]
    publish(parts, None if quick else "low_bits")


if __name__ == "__main__":
    main()
