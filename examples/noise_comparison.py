"""Is there a better noise than the Gaussian? Exact privacy curves of noises of equal variance.

One number of sensitivity 1 is released with noise of one standard deviation: Gaussian, Laplace,
Gumbel, logistic, generalised Gaussian, Student's t, staircase, and Skellam noise on whole numbers;
once, 16 and 256 times, and 1000 times from Poisson samples of one in a hundred. Every epsilon is
the upper end of a certified bracket, and the worse of adding and removing a record. The brackets
are narrow but for Gumbel noise used more than once. docs/noise.md has the answer.

    python -m pip install ".[plot]"
    python examples/noise_comparison.py [noise.png]
"""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import renyi
from renyi._search import bisected
from renyi.mechanisms import Mechanism, PrivacyLoss

DELTAS = (1e-5, 1e-10)
CURVE = np.logspace(-1.0, -10.0, 10)


class Release(NamedTuple):
    """How often noise of which standard deviation is used, on samples of which rate."""

    title: str
    deviation: float
    uses: int
    rate: float = 1.0


RELEASES = (
    Release("1 use", 4.0, 1),
    Release("16 uses", 4.0, 16),
    Release("256 uses", 4.0, 256),
    Release("1000 sampled uses", 2.0, 1000, 0.01),
)


class Noise(NamedTuple):
    """A noise of standard deviation 1: its name, scale, and Fisher information."""

    name: str
    scale: float
    information: float
    style: str
    shape: float = math.nan

    def mechanism(self, deviation: float) -> Mechanism:
        """Return the release of one number of sensitivity 1."""
        scale = self.scale * deviation
        match self.name.split()[0]:
            case "Gaussian":
                return renyi.Gaussian(scale)
            case "Laplace":
                return renyi.Laplace(scale)
            case "Gumbel":
                return renyi.Gumbel(scale)
            case "logistic":
                return PrivacyLoss(renyi.pairs.LogisticPair(scale))
            case "Skellam":
                return renyi.Skellam(deviation**2)
            case "staircase":
                return staircase(deviation)
            case "Student":
                return PrivacyLoss(renyi.pairs.StudentTPair(self.shape, scale))
        return PrivacyLoss(renyi.pairs.GeneralisedGaussianPair(self.shape, scale))


def student(degrees: float, style: str) -> Noise:
    """Return Student's t noise."""
    scale = math.sqrt((degrees - 2.0) / degrees)
    information = (degrees + 1.0) / (degrees + 3.0) / scale**2
    return Noise(f"Student t, {degrees:g} degrees", scale, information, style, degrees)


def staircase_variance(epsilon: float, gamma: float) -> float:
    """Return the variance of staircase noise, from the law of |x|.

    |x| is uniform in a step above or below gamma of a period; their number before it is geometric.
    """
    b = math.exp(-epsilon)
    mean, square = b / (1.0 - b), b * (1.0 + b) / (1.0 - b) ** 2
    above, below = gamma, (1.0 - gamma) * b
    first = square + mean * gamma + gamma**2 / 3.0
    second = square + mean * (1.0 + gamma) + (1.0 + gamma + gamma**2) / 3.0
    return (above * first + below * second) / (above + below)


def staircase(deviation: float) -> renyi.Staircase:
    """Return the staircase noise of this deviation that has the least epsilon."""

    def best(epsilon: float) -> float:
        # Where the derivative by gamma vanishes (Geng, Viswanath 2014, arXiv 1212.1186).
        b = math.exp(-epsilon)
        root = (0.5 * b * (1.0 - 2.0 * b + 2.0 * b**3 - b**4)) ** (1.0 / 3.0)
        return float((root - b * (1.0 - b)) / (1.0 - b) ** 2)

    def narrow(epsilon: float) -> bool:
        return staircase_variance(epsilon, best(epsilon)) <= deviation**2

    high = bisected(narrow, 1e-3, 50.0, 1e-14)[1]
    return renyi.Staircase(high, best(high))


def generalised(shape: float, style: str) -> Noise:
    """Return noise of density proportional to e^(-|x/scale|^shape)."""
    gamma = math.gamma
    scale = math.sqrt(gamma(1.0 / shape) / gamma(3.0 / shape))
    information = (shape / scale) ** 2 * gamma(2.0 - 1.0 / shape) / gamma(1.0 / shape)
    return Noise(f"shape {shape:g}", scale, information, style, shape)


NOISES = (
    Noise("Gaussian", 1.0, 1.0, "k-"),
    Noise("Laplace", math.sqrt(0.5), 2.0, "C0-"),
    Noise("Gumbel", math.sqrt(6.0) / math.pi, math.pi**2 / 6.0, "C1-"),
    Noise("logistic", math.sqrt(3.0) / math.pi, math.pi**2 / 9.0, "C2-"),
    student(3.0, "C3:"),
    student(5.0, "C3--"),
    student(10.0, "C3-"),
    generalised(1.5, "C4-"),
    generalised(3.0, "C5-"),
    Noise("staircase", math.nan, math.inf, "C6-"),  # its density jumps
    Noise("Skellam", math.nan, 1.0, "C7-"),  # where the variance is large
)


def epsilons(
    noise: Noise, release: Release, deltas: npt.ArrayLike, rtol: float = 1e-3
) -> npt.NDArray[np.float64]:
    """Return the epsilon of a release at each delta, to a relative error of delta of about rtol."""
    mechanism = noise.mechanism(release.deviation)
    if release.rate < 1.0:
        mechanism = renyi.PoissonSampled(mechanism, release.rate)
    accountant = renyi.PLDAccountant().compose(mechanism, release.uses)
    return np.array(
        [accountant.get_epsilon_bounds(float(d), rtol=rtol)[1] for d in np.asarray(deltas)]
    )


def draw(path: str, points: npt.NDArray[np.float64] = CURVE) -> None:
    """Draw the curves into a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 8.0), layout="constrained")
    grid = figure.subplots(2, 2, sharey=True)
    for axes, release in zip(grid.flat, RELEASES, strict=True):
        _draw_panel(axes, release, points)
    for axes in grid[:, 0]:
        axes.set_ylabel(r"$\delta$")
    for axes in grid[1]:
        axes.set_xlabel(r"$\varepsilon$")
    grid[1, 0].legend(fontsize="x-small", loc="lower left")
    figure.savefig(path, dpi=90)


def _draw_panel(axes: Any, release: Release, points: npt.NDArray[np.float64]) -> None:
    for noise in NOISES:
        width = 2.2 if noise.name == "Gaussian" else 1.2
        axes.semilogy(
            epsilons(noise, release, points, 1e-2), points, noise.style, lw=width, label=noise.name
        )
    deviation = f"standard deviation {release.deviation:g}"
    largest = 1.6 * float(epsilons(NOISES[0], release, points[-1:])[-1])
    axes.set(title=f"{release.title}, {deviation}", xlim=(0.0, largest))


def table() -> list[str]:
    """Return the rows of the table, in Markdown."""
    heads = [f"{release.title}, δ = {_power(d)}" for release in RELEASES for d in DELTAS]
    rows = [f"| noise | Fisher information | {' | '.join(heads)} |"]
    rows.append("|---|" + "---:|" * (1 + len(heads)))
    for noise in NOISES:
        cells = [
            _rounded_up(value) for release in RELEASES for value in epsilons(noise, release, DELTAS)
        ]
        rows.append(f"| {noise.name} | {noise.information:.4g} | {' | '.join(cells)} |")
    return rows


def _rounded_up(value: float) -> str:
    """Write four digits, rounded up."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.ceil(value / unit) * unit:.4g}"


def _power(delta: float) -> str:
    return f"1e{round(math.log10(delta))}"


def main(path: str = "noise.png") -> None:
    """Print the table and draw the figure."""
    for row in table():
        print(row, flush=True)
    draw(path)
    print(f"figure written to {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
