"""When does correlated noise win over sampling, and by how much.

The error of prefix sums of 2048 steps, root mean square over the clipping norm, at one guarantee:
with cyclic Poisson samples and any number of bands, one of which is DP-SGD; with batches in fixed
order and independent noise, bands, buffers or a tree; and with the same bands and buffers and every
record in a random bin. A panel for each number of batches to
an epoch, which is how far the steps of a record are apart in fixed order. docs/correlated.md has
the answer.

    python -m pip install ".[plot]"
    python examples/correlated_noise.py [correlated.png]
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np

from renyi.matrix import BLT, BallsInBins, BandedToeplitz, CyclicPoisson, FixedEpochs, Tree, priced

STEPS, DELTA = 2048, 1e-6
BATCHES = (16, 128, 1024)  # to an epoch
EPSILONS = (0.5, 2.0, 8.0)
CURVE = np.geomspace(0.25, 16.0, 13)
WAYS = (
    "sampled, independent",
    "sampled, best bands",
    "fixed order, independent",
    "fixed order, bands",
    "fixed order, 4 buffers",
    "fixed order, tree",
    "balls in bins, bands",
    "balls in bins, 4 buffers",
)


@cache
def bands(count: int) -> BandedToeplitz:
    """Return the best of so many."""
    return BandedToeplitz.optimal(STEPS, count)


@cache
def buffers(batches: int) -> BLT:
    """Return the best for so many batches to an epoch."""
    return BLT.optimal(STEPS, 4, participation=FixedEpochs(batches))


def ways(batches: int, epsilon: float) -> dict[str, Any]:
    """Return every way to add noise, at one guarantee."""

    def of(strategy: Any, scheme: Any) -> Any:
        return priced("", strategy, scheme, epsilon, DELTA)

    counts = [1 << k for k in range(batches.bit_length())]
    sampled = [of(bands(count), CyclicPoisson(count / batches, count)) for count in counts]
    whole = FixedEpochs(batches)
    fixed = (BandedToeplitz(STEPS, [1.0]), bands(batches), buffers(batches), Tree(STEPS))
    rows = [
        sampled[0],
        min(sampled, key=lambda row: row.error),
        *(of(strategy, whole) for strategy in fixed),
        *(of(strategy, BallsInBins(batches)) for strategy in fixed[1:3]),
    ]
    return dict(zip(WAYS, rows, strict=True))


def table() -> list[str]:
    """Return the lines of the table, in Markdown."""
    lines = ["| batches, ε | " + " | ".join(WAYS) + " |", "|---|" + "---:|" * len(WAYS)]
    for batches in BATCHES:
        for epsilon in EPSILONS:
            found = ways(batches, epsilon)
            cells = [f"{row.error:.4g}" for row in found.values()]
            cells[1] += f" ({found[WAYS[1]].strategy.bands})"
            lines.append(f"| {batches}, {epsilon:g} | " + " | ".join(cells) + " |")
    return lines


def draw(file: str) -> None:
    """Draw a panel for each number of batches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.4), layout="constrained")
    panels = figure.subplots(1, len(BATCHES), sharey=True)
    styles = ("k-", "#0072B2", "k:", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
    for axes, batches in zip(panels, BATCHES, strict=True):
        found = [ways(batches, epsilon) for epsilon in CURVE.tolist()]
        for name, style in zip(WAYS, styles, strict=True):
            line = {"linestyle": style[1], "color": "k"} if style[0] == "k" else {"color": style}
            axes.plot(CURVE, [row[name].error for row in found], label=name, **line)
        axes.set(xscale="log", yscale="log", xlabel="ε at δ = 1e-6")
        axes.set_title(
            f"batch: 1/{batches} of the records\n{STEPS // batches} epochs, steps {batches} apart"
        )
    panels[0].set_ylabel("noise of prefix sums / clipping norm")
    panels[-1].legend(fontsize="small")
    figure.savefig(file, dpi=130)


def main(file: str | None = None) -> None:
    """Print the table, and draw the figure if a file is named."""
    print("\n".join(table()))
    if file is not None:
        draw(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
