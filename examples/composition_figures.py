"""The figures of Zhu and Wang 2019, "Poisson Subsampled Renyi DP", drawn again and completed.

A mechanism on a Poisson sample of rate 0.001, high privacy above, low privacy below. For each the
Rényi divergence over its order, and epsilon at delta = 1e-8 over the number of compositions: their
general and tight bounds, the lower bound, the bound of few terms, samples of fixed size (Wang,
Balle, Kasiviswanathan 2019, a record replaced), the leading term of 2016 (Gaussian noise, orders
for which its conditions hold), naive and strong composition, no sampling, and the exact privacy
curve, which no divergence reaches. Divergences are of whole orders from 2 to 10,000 and converted
by eps(alpha) + log(1/delta)/(alpha-1), as there.

    python -m pip install ".[plot]"
    python examples/composition_figures.py [composition.png]
"""

from __future__ import annotations

import math
import sys
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
from renyi.theory.composition import optimal_composition
from renyi.theory.sampled_gaussian import moments_leading_term
from renyi.theory.subsampling import PoissonBound, fixed_size_rdp, poisson_rdp

RATE, DELTA = 1e-3, 1e-8
ORDERS = np.arange(2.0, 10_001.0)
SHOWN = np.unique(np.floor(1.07 ** np.arange(0, 171) + 1.0))  # to 1e5, as in the paper
TERMS = (2, 10, 50)
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


def of_fixed_size(mechanism: Mechanism, counts: tuple[int, ...]) -> Array:
    """Return epsilon for samples of fixed size where a record is replaced."""
    return _converted(_fixed_size(mechanism, ORDERS), counts)


def by_moments_of_2016(mechanism: Mechanism, counts: tuple[int, ...]) -> Array:
    """Return epsilon by the leading term of 2016; infinite but for Gaussian noise."""
    return _converted(leading_term(mechanism, ORDERS), counts)


def leading_term(mechanism: Mechanism, orders: Array) -> Array:
    """Return the leading term of 2016, infinite where a condition fails."""
    if not isinstance(mechanism, Gaussian):
        return np.full(orders.shape, math.inf)
    found = []
    for order in orders:
        try:
            found.append(moments_leading_term(RATE, mechanism.noise_multiplier, float(order)))
        except ValueError:
            found.append(math.inf)
    return np.array(found)


def naive(mechanism: Mechanism, counts: tuple[int, ...]) -> Array:
    """Return the sum of epsilons, each exact at delta over the number of compositions."""
    step = PLDAccountant().compose(PoissonSampled(mechanism, RATE))
    return np.array([count * step.get_epsilon(DELTA / count) for count in counts])


def strong(mechanism: Mechanism, counts: tuple[int, ...]) -> Array:
    """Return the optimal composition of such guarantees, half of delta for the single steps."""
    step = PLDAccountant().compose(PoissonSampled(mechanism, RATE))
    found = []
    for count in counts:
        each = 0.5 * DELTA / count
        single = step.get_epsilon(each)
        found.append(optimal_composition(single, count, target_delta=DELTA, delta=each).epsilon)
    return np.array(found)


def exact(mechanism: Mechanism, counts: tuple[int, ...]) -> Array:
    """Return the exact epsilon after each number of compositions."""
    step = PoissonSampled(mechanism, RATE)
    return PLDAccountant().get_epsilon_after(DELTA, step, counts)


# Wide and pale below narrow and dark, so that curves that coincide all show.
STYLES: dict[str, dict[str, Any]] = {
    "tight bound": {"color": "#a6cee3", "ls": "-", "lw": 5.0},
    "no sampling": {"color": "0.6", "ls": "-.", "lw": 1.2},
    "naive composition": {"color": "C8", "ls": "-", "lw": 1.2},
    "strong composition": {"color": "C5", "ls": "--", "lw": 1.2},
    "fixed size, a record replaced": {"color": "C4", "ls": "-", "lw": 1.2},
    "leading term of 2016": {"color": "C1", "ls": "-", "lw": 1.2},
    "general bound (factor 3)": {"color": "C3", "ls": "--", "lw": 1.4},
    "lower bound": {"color": "C0", "ls": ":", "lw": 1.6},
    "exact privacy curve": {"color": "black", "ls": "-", "lw": 1.8},
    "2 terms": {"color": "C2", "ls": "", "marker": "v", "ms": 4, "markevery": (0, 9)},
    "10 terms": {"color": "C6", "ls": "", "marker": "s", "ms": 4, "markevery": (3, 9)},
    "50 terms": {"color": "C9", "ls": "", "marker": "o", "ms": 4, "markevery": (6, 9)},
}


def compositions(mechanism: Mechanism, counts: tuple[int, ...]) -> dict[str, Array]:
    """Return epsilon by every method after each number of compositions."""
    found = {
        "no sampling": unsampled(mechanism, counts),
        "naive composition": naive(mechanism, counts),
        "strong composition": strong(mechanism, counts),
        "fixed size, a record replaced": of_fixed_size(mechanism, counts),
        "leading term of 2016": by_moments_of_2016(mechanism, counts),
    }
    found |= {label: by_bound(mechanism, bound, counts) for label, bound in BOUNDS}
    return found | {"exact privacy curve": exact(mechanism, counts)}


def divergences(mechanism: Mechanism, orders: Array = SHOWN) -> dict[str, Array]:
    """Return the bounds of the Rényi divergence at whole orders."""
    found = {
        "no sampling": np.asarray(RDPAccountant().compose(mechanism).get_rdp(orders)),
        "fixed size, a record replaced": _fixed_size(mechanism, orders),
        "leading term of 2016": leading_term(mechanism, orders),
    }
    for label, bound in BOUNDS:
        found[label] = np.asarray(poisson_rdp(mechanism, RATE, orders, bound=bound))
    for terms in TERMS:
        found[f"{terms} terms"] = np.array(
            [
                poisson_rdp(mechanism, RATE, int(order), bound="tight", terms=terms)
                for order in orders
            ]
        )
    return found


def _fixed_size(mechanism: Mechanism, orders: Array) -> Array:
    """Return the bound for a replaced record whose effect is that of one added here."""
    same = mechanism
    if isinstance(mechanism, Gaussian | Laplace):
        same = type(mechanism)(2.0 * mechanism.noise_multiplier)
    return np.asarray(fixed_size_rdp(same, RATE, orders, bound="tight"))


def draw(path: str, counts: tuple[int, ...] = COUNTS) -> None:
    """Draw all panels into a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14.0, 16.0), layout="constrained")
    grid = figure.subplots(4, 3)
    for k, (title, mechanism) in enumerate(PANELS):
        above, below = grid[2 * (k // 3), k % 3], grid[2 * (k // 3) + 1, k % 3]
        _draw_panel(above, SHOWN, divergences(mechanism))
        above.set(title=title, xlabel=r"order $\alpha$", ylabel=r"Rényi divergence")
        found = compositions(mechanism, counts)
        _draw_panel(below, counts, found)
        top = 30.0 * float(found["general bound (factor 3)"][-1])
        below.set(
            xlabel="compositions", ylabel=r"$\varepsilon$ at $\delta = 10^{-8}$", ylim=(None, top)
        )
    lines: dict[str, Any] = {}
    for axes in grid[:2].flat:
        lines |= {str(line.get_label()): line for line in axes.get_lines()}
    figure.legend(list(lines.values()), list(lines), loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=110)


def _draw_panel(axes: Any, x: Any, curves: dict[str, Array]) -> None:
    for label, values in curves.items():
        if np.isfinite(values).any():
            order = list(STYLES).index(label)
            axes.loglog(
                x,
                np.where(np.isfinite(values), values, np.nan),
                **STYLES[label],
                label=label,
                zorder=2 + order,
            )


def _converted(rdp: Array, counts: tuple[int, ...]) -> Array:
    room = -math.log(DELTA) / (ORDERS - 1.0)
    return np.array([float(np.min(count * rdp + room)) for count in counts])


def main(path: str = "composition.png") -> None:
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
    main(*sys.argv[1:])
