"""The composition figures of Zhu and Wang's "Poisson Subsampled Renyi DP" (ICML 2019), drawn again.

Epsilon at delta = 1e-8 over the number of compositions of a mechanism on a Poisson sample of rate
0.001: their general bound, their tight bound, the lower bound, no sampling, and the exact privacy
curve, which no divergence reaches. High privacy above, low privacy below. Divergences are of whole
orders from 2 to 10,000 and converted by eps(alpha) + log(1/delta)/(alpha-1), as there.

    python -m pip install ".[plot]"
    python examples/composition_figures.py [composition.png]
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi import (
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    RandomizedResponse,
    RDPAccountant,
)
from renyi.mechanisms import Mechanism
from renyi.subsampling import PoissonBound, poisson_rdp

RATE, DELTA = 1e-3, 1e-8
ORDERS = np.arange(2.0, 10_001.0)
COUNTS = (*(2**i for i in range(16)), 60_000)
PANELS: tuple[tuple[str, Mechanism], ...] = (
    (r"Gaussian, $\sigma = 5$", Gaussian(5.0)),
    (r"Laplace, $b = 2$", Laplace(2.0)),
    ("randomized response, $p = 0.6$", RandomizedResponse(0.6)),
    (r"Gaussian, $\sigma = 1$", Gaussian(1.0)),
    (r"Laplace, $b = 0.5$", Laplace(0.5)),
    ("randomized response, $p = 0.9$", RandomizedResponse(0.9)),
)
BOUNDS: tuple[tuple[str, PoissonBound], ...] = (
    ("general bound (factor 3)", "general"),
    ("tight bound", "tight"),
    ("lower bound", "lower"),
)

Array = npt.NDArray[np.float64]

# Epsilon of the tight and of the general bound after 1, 1024, 32768 and 60000 compositions,
# computed independently of this package.
KNOWN_COUNTS = (1, 1024, 32768, 60000)
KNOWN: tuple[tuple[tuple[float, float], ...], ...] = (
    ((0.053556, 0.053591), (0.060996, 0.095531), (0.22339, 0.35823), (0.30234, 0.45500)),
    ((0.0023748, 0.0024847), (0.092833, 0.13353), (0.52253, 0.59383), (0.70832, 0.78394)),
    ((0.0022506, 0.0023604), (0.080167, 0.12293), (0.45227, 0.53137), (0.61298, 0.69768)),
    ((1.4173, 1.4178), (1.5476, 1.5500), (1.9349, 2.0124), (2.2673, 2.3620)),
    ((0.0079430, 0.0080528), (0.41631, 0.48039), (2.2746, 2.3644), (3.0974, 3.1917)),
    ((0.0095809, 0.0096908), (0.56196, 0.64235), (3.0895, 3.2027), (4.2208, 4.3384)),
)


def by_bound(mechanism: Mechanism, bound: PoissonBound, counts: tuple[int, ...]) -> Array:
    """Return epsilon after each number of compositions, from a bound of the divergences."""
    return _converted(np.asarray(poisson_rdp(mechanism, RATE, ORDERS, bound=bound)), counts)


def unsampled(mechanism: Mechanism, counts: tuple[int, ...]) -> Array:
    """Return epsilon after each number of compositions on all of the data."""
    return _converted(RDPAccountant().compose(mechanism).get_rdp(ORDERS), counts)


def exact(mechanism: Mechanism, counts: tuple[int, ...]) -> Array:
    """Return the exact epsilon after each number of compositions."""
    step = PoissonSampled(mechanism, RATE)
    return PLDAccountant().get_epsilon_after(DELTA, step, counts)


def draw(path: str, counts: tuple[int, ...] = COUNTS) -> None:
    """Draw all panels into a file."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, grid = plt.subplots(2, 3, figsize=(14.0, 8.0), layout="constrained", sharex=True)
    for axes, (title, mechanism) in zip(grid.flat, PANELS, strict=True):
        _draw_panel(axes, title, mechanism, counts)
    for axes in grid[:, 0]:
        axes.set_ylabel(r"$\varepsilon$ at $\delta = 10^{-8}$")
    for axes in grid[1]:
        axes.set_xlabel("compositions")
    grid[0, 0].legend(fontsize="small")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _draw_panel(axes: Any, title: str, mechanism: Mechanism, counts: tuple[int, ...]) -> None:
    for (label, bound), style in zip(BOUNDS, ("C3--", "C0-", "C7:"), strict=True):
        axes.loglog(counts, by_bound(mechanism, bound, counts), style, label=label)
    axes.loglog(counts, unsampled(mechanism, counts), "C1-.", label="without sampling")
    axes.loglog(counts, exact(mechanism, counts), "C2-", lw=2.5, label="exact privacy curve")
    axes.set(title=title, ylim=(None, 2.0 * float(by_bound(mechanism, "general", counts)[-1])))


def _converted(rdp: Array, counts: tuple[int, ...]) -> Array:
    room = -math.log(DELTA) / (ORDERS - 1.0)
    return np.array([float(np.min(count * rdp + room)) for count in counts])


def main(path: str) -> None:
    """Print the table beside independent values and draw the figure."""
    bounds = f"{'tight (known)':>22}{'general (known)':>22}{'exact':>10}"
    print(f"{'mechanism':32}{'compositions':>13}{bounds}")
    for (_, mechanism), known in zip(PANELS, KNOWN, strict=True):
        columns = [
            by_bound(mechanism, "tight", KNOWN_COUNTS),
            by_bound(mechanism, "general", KNOWN_COUNTS),
            exact(mechanism, KNOWN_COUNTS),
        ]
        for i, (tight, general) in enumerate(known):
            print(
                f"{mechanism!r:32}{KNOWN_COUNTS[i]:>13}{columns[0][i]:>11.5g} ({tight:8.5g})"
                f"{columns[1][i]:>11.5g} ({general:8.5g}){columns[2][i]:>10.4g}"
            )
    draw(path)
    print(f"figure written to {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "figure", nargs="?", default="composition.png", help="file to write (%(default)s)"
    )
    main(parser.parse_args().figure)
