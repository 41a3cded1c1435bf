"""Noise over many draws: moments, Kolmogorov-Smirnov, tails to 6 sigma, independence of threads.

    python bench/noise_statistics.py                  # some minutes, writes the table in results
    python bench/noise_statistics.py --draws 1e7      # a look, to the screen only
    python bench/noise_statistics.py --seed 7         # reproducible; by default the system's key

1e9 draws of the Gaussian in single precision, a tenth of the other continuous laws, a hundredth of
the discrete Gaussian. Every line is a number of standard deviations from the ideal law, or a
probability for one as large; the exit code is 1 if any is beyond 5 sigma (or 1e-6).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from harness import facts, options_of, publish
from tqdm import tqdm

from renyi import noise
from renyi.noise import SecureGenerator

FULL = 1e9
BLOCK = 1 << 22
CELLS = 1 << 12
SPACING = noise.noise_lattice(1.0)
Array = npt.NDArray[np.float64]
Draw = Callable[[int, SecureGenerator], npt.NDArray[np.floating]]


def gaussian_tail(x: float) -> float:
    return 0.5 * math.erfc(x / math.sqrt(2.0))


def laplace_tail(x: float) -> float:
    return 0.5 * math.exp(-x)


def edges_of(tail: Callable[[float], float]) -> Array:
    """Return where the distribution function is about k / CELLS, between lattice points."""
    low, high = np.zeros(CELLS // 2), np.full(CELLS // 2, 60.0)
    wanted = 0.5 - np.arange(CELLS // 2) / CELLS
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = np.array([tail(x) for x in middle]) > wanted
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    edges = np.concatenate([-high[:0:-1], high])
    return np.unique((np.floor(edges / SPACING) + 0.5) * SPACING)


class Law:
    """Counts over all blocks, and their distance from what is expected."""

    def __init__(
        self,
        name: str,
        draw: Draw,
        tail: Callable[[float], float],
        moments: list[float],
        reach: list[float],
    ) -> None:
        self.name, self.draw, self.tail, self.reach = name, draw, tail, reach
        self.moments = moments  # of order 0, 2, 4, ...
        self.n = 0
        self.powers = np.zeros(7)
        self.beyond = np.zeros((2, len(reach)))
        self.largest = 0.0
        self.products: dict[str, list[float]] = {}
        self.edges = edges_of(tail)
        above = np.array([tail(x) if x > 0 else 1.0 - tail(-x) for x in self.edges])
        self.mass = -np.diff(above, prepend=1.0, append=0.0)
        self.cells = np.zeros(len(self.mass))

    def add(self, generator: SecureGenerator, size: int) -> None:
        x = self.draw(size, generator).astype(np.float64)
        self.n += size
        power = np.ones_like(x)
        for k in range(1, 7):
            power *= x
            self.powers[k] += power.sum()
        self.cells += np.bincount(
            np.searchsorted(self.edges, x, side="right"), minlength=len(self.cells)
        )
        for k, r in enumerate(self.reach):
            self.beyond[:, k] += np.count_nonzero(x > r), np.count_nonzero(x < -r)
        self.largest = max(self.largest, float(abs(x).max()))
        # Neighbours, partners of a pair, the parts of two threads, and another stream.
        half = size // 2
        other = self.draw(half, generator.spawn(1)[0]).astype(np.float64)
        pairs = {f"{lag} apart": (x[:-lag], x[lag:]) for lag in (1, 16, 128, 256, 512)}
        pairs |= {"two threads": (x[:half], x[half : 2 * half]), "two streams": (x[:half], other)}
        for name, (a, b) in pairs.items():
            for kind, product in (("x y", a * b), ("|x| |y|", self._centred(a) * self._centred(b))):
                sums = self.products.setdefault(f"{name}, {kind}", [0.0, 0.0])
                sums[0] += product.sum()
                sums[1] += np.square(product).sum()

    def _centred(self, x: Array) -> Array:
        mean = math.sqrt(2 / math.pi) if self.tail is gaussian_tail else 1.0
        return abs(x) - mean

    def sigmas(self) -> Iterator[tuple[str, float]]:
        """Yield what is measured and its distance in standard deviations."""
        n = self.n
        for k in range(1, 7):
            mean = self.moments[k // 2] if k % 2 == 0 else 0.0
            variance = self.moments[k] - mean**2
            yield f"moment {k}", (self.powers[k] / n - mean) / math.sqrt(variance / n)
        expected, freedom = n * self.mass, len(self.mass) - 1
        chi_square = float((np.square(self.cells - expected) / expected).sum())
        yield f"chi-square, {freedom + 1} cells", (chi_square - freedom) / math.sqrt(2 * freedom)
        for k, r in enumerate(self.reach):
            for side, sign in ((0, "> "), (1, "< -")):
                mean = n * self.tail(r + 0.5 * SPACING)  # r is a lattice point
                if mean > 1e-3:
                    excess = self.beyond[side, k] - mean
                    # For small counts twice the difference of square roots is nearer to normal.
                    z = 2 * (math.sqrt(self.beyond[side, k] + 0.375) - math.sqrt(mean + 0.375))
                    yield (
                        f"{sign}{r:g}: {self.beyond[side, k]:.0f} for {mean:.1f}",
                        (excess / math.sqrt(mean) if mean > 100 else z),
                    )
        for name, (total, squares) in self.products.items():
            yield f"independence, {name}", total / math.sqrt(squares)

    def kolmogorov(self) -> float:
        """Return the probability of a distance as large (on the grid of cells: an upper bound)."""
        distance = np.max(abs(np.cumsum(self.cells) / self.n - np.cumsum(self.mass)))
        t = math.sqrt(self.n) * distance
        return min(
            1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * t) ** 2) for k in range(1, 50))
        )


def laws() -> list[Law]:
    normal = [1, 1, 3, 15, 105, 945, 10395.0]
    laplace = [float(math.factorial(2 * k)) for k in range(7)]
    sigmas, scales = [1.0, 2.0, 3.0, 4.0, 4.5, 5.0, 5.5, 6.0], [1.0, 5.0, 10.0, 15.0, 18.0, 20.0]
    made = []
    for dtype in ("float32", "float64"):
        for name, function, tail, moments, reach in (
            ("Gaussian", noise.add_gaussian_noise, gaussian_tail, normal, sigmas),
            ("Laplace", noise.add_laplace_noise, laplace_tail, laplace, scales),
        ):

            def draw(
                size: int, generator: SecureGenerator, function=function, dtype=dtype
            ) -> npt.NDArray[np.floating]:
                return function(np.zeros(size, dtype), 1.0, generator=generator, threads=2)

            made.append(Law(f"{name}, {dtype}", draw, tail, moments, reach))
    return made


def undecided(name: str, generator: SecureGenerator) -> str:
    """Return the share of numbers that the first words, and double precision left undecided."""
    law, dtype = name.split(", ")
    numbers = np.zeros(BLOCK, dtype)
    by_words, by_double = generator.core.add_noise(law == "Gaussian", numbers, 1.0, 2)
    return (
        f"{100 * by_words / BLOCK:.3f} %, more than double precision {100 * by_double / BLOCK:g} %"
    )


def discrete(count: int, sigma: float, generator: SecureGenerator) -> float:
    """Return how far the chi-square of the discrete Gaussian is from its mean, in sigmas."""
    reach = int(8 * sigma) + 8
    weights = [math.exp(-0.5 * (k / sigma) ** 2) for k in range(-reach, reach + 1)]
    expected = np.array(weights) * (count / math.fsum(weights))
    draws = np.zeros(count, np.int64)
    noise.add_discrete_gaussian_noise(draws, sigma, generator=generator, threads=2)
    seen = np.bincount((draws + reach).astype(np.int64), minlength=2 * reach + 1)
    keep = expected > 10.0
    rest, rest_seen = count - expected[keep].sum(), count - seen[keep].sum()
    chi_square = float((np.square(seen - expected) / expected)[keep].sum())
    freedom = int(keep.sum()) - 1
    if rest > 1.0:
        chi_square, freedom = chi_square + (rest_seen - rest) ** 2 / rest, freedom + 1
    cube_root = (chi_square / freedom) ** (1 / 3) - 1 + 2 / (9 * freedom)  # Wilson and Hilferty
    return cube_root / math.sqrt(2 / (9 * freedom))


def report(draws: float, chosen: str, generator: SecureGenerator) -> Iterator[tuple[str, bool]]:
    """Yield lines, and whether each is within bounds."""
    for law in (law for law in laws() if law.name.startswith(chosen)):
        share = 1.0 if law.name == "Gaussian, float32" else 0.1
        for _ in tqdm(range(math.ceil(share * draws / BLOCK)), desc=law.name, leave=False):
            law.add(generator, BLOCK)
        yield f"\n## {law.name}, {law.n:,} draws, largest {law.largest:.3f}\n", True
        yield "measured|standard deviations from the law\n---|---:", True
        for name, z in law.sigmas():
            yield f"{name.replace('|', ' ')}|{z:+.2f}", abs(z) <= 5.0
        yield "more than the first words|" + undecided(law.name, generator), True
        p = law.kolmogorov()
        yield f"Kolmogorov-Smirnov|probability {p:.3f}", p >= 1e-6
    if not "Discrete Gaussian".startswith(chosen):
        return
    count = max(1, round(draws / 100))
    yield f"\n## Discrete Gaussian, {count:,} draws each\n", True
    yield "chi-square of|standard deviations from the law\n---|---:", True
    for sigma in (0.5, 1.0, 3.25, 40.0):
        z = discrete(count, sigma, generator)
        yield f"scale {sigma}|{z:+.2f}", abs(z) <= 5.0


def main() -> int:
    options = options_of(__doc__, draws=FULL, law="", seed=-1)
    seed = None if options.seed < 0 else options.seed
    generator, failed = SecureGenerator(insecure_reproducible=seed), False

    def parts() -> Iterator[str]:
        nonlocal failed
        yield from ("# Noise over many draws\n", facts())
        for line, good in report(options.draws, options.law, generator):
            failed |= not good
            yield line + ("" if good else " **beyond the bound**")

    whole = options.draws >= FULL and not options.law
    publish(parts(), "noise_statistics" if whole else None)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
