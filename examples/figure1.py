"""Figure 1 of Mironov, Talwar and Zhang 2019 (arXiv 1908.10530), drawn again.

Left: up to which order alpha the closed-form bound 2 q^2 alpha / sigma^2 of their Theorem 11 holds,
for sigma = 4 and 10: the root of its first condition, of its second, the smaller of the two, and
the exact crossing, where the Renyi-DP itself reaches 2 q^2 alpha / sigma^2. Right: the exact
Renyi-DP and the bound against alpha. The parameters of the paper's right panel are not known to
us. sigma = 4, the least noise of the theorem and a curve of the left panel, and q = 0.01 are chosen
so that orders where the theorem holds (to 14.3), where only its formula does (to 147) and where the
divergence has left it all fill a part of the panel.

    python -m pip install ".[plot]"
    python examples/figure1.py [figure1.png]
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi import special
from renyi._search import bisected
from renyi.theory import sampled_gaussian

SIGMAS = (4.0, 10.0)
RIGHT_SIGMA, RIGHT_RATE = 4.0, 0.01
TABLE_RATES = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.2)

Array = npt.NDArray[np.float64]

# Computed independently of this package: the orders where conditions 1 and 2 end, found by scanning
# a grid and so up to 0.4 % low, and the largest whole order with exact Renyi-DP below the bound.
KNOWN: dict[float, tuple[tuple[float, float, int], ...]] = {
    4.0: (
        (41.29, 631.1, 294),
        (26.67, 154.6, 221),
        (14.33, 33.37, 147),
        (9.77, 15.39, 112),
        (5.99, 6.51, 73),
        (4.42, 4.03, 56),
    ),
    10.0: (
        (193.5, 1453.0, 1842),
        (110.7, 323.8, 1381),
        (50.50, 67.52, 920),
        (31.87, 31.24, 698),
        (18.24, 13.22, 454),
        (12.88, 8.04, 347),
    ),
}


def root_of_condition_1(q: float, sigma: float) -> float:
    """Solve alpha = sigma^2 L / 2 - 2 log sigma, where L = log(1 + 1 / (q (alpha - 1)))."""

    def excess(alpha: float) -> float:
        return alpha - (sigma**2 * _l(q, alpha) / 2.0 - 2.0 * math.log(sigma))

    return bisected(lambda alpha: excess(alpha) >= 0.0, 1.0 + 1e-9, 1e7, 1e-15)[0]


def root_of_condition_2(q: float, sigma: float) -> float:
    """Solve alpha (L + log(q alpha) + 1/(2 sigma^2)) = sigma^2 L^2 / 2 - log 5 - 2 log sigma."""

    def excess(alpha: float) -> float:
        left = alpha * (_l(q, alpha) + math.log(q * alpha) + 0.5 / sigma**2)
        return left - (sigma**2 * _l(q, alpha) ** 2 / 2.0 - math.log(5.0) - 2.0 * math.log(sigma))

    return bisected(lambda alpha: excess(alpha) >= 0.0, 1.0 + 1e-9, 1e7, 1e-15)[0]


def crossing(q: float, sigma: float) -> float:
    """Return the order at which the exact Renyi-DP reaches 2 q^2 alpha / sigma^2."""

    def excess(alpha: float) -> float:
        return float(special.rdp_sampled_gaussian(q, sigma, alpha)) - 2.0 * q**2 * alpha / sigma**2

    return bisected(lambda alpha: excess(alpha) >= 0.0, 2.0, 1e6, 1e-15)[0]


def table() -> list[tuple[float, float, float, float, float, float]]:
    """Rows (sigma, q, root 1, root 2, largest order of the bound, exact crossing)."""
    return [
        (
            sigma,
            q,
            root_of_condition_1(q, sigma),
            root_of_condition_2(q, sigma),
            float(sampled_gaussian.largest_order(q, sigma)),
            crossing(q, sigma),
        )
        for sigma in SIGMAS
        for q in TABLE_RATES
    ]


def right_panel(count: int = 400) -> tuple[Array, Array, Array]:
    """Orders, exact Renyi-DP and bound (NaN outside its conditions)."""
    top = 1.2 * crossing(RIGHT_RATE, RIGHT_SIGMA)
    orders = np.geomspace(1.01, top, count)
    exact = np.asarray(special.rdp_sampled_gaussian(RIGHT_RATE, RIGHT_SIGMA, orders))
    bound = np.asarray(special.rdp_sampled_gaussian_bound(RIGHT_RATE, RIGHT_SIGMA, orders))
    return orders, exact, bound


def draw(path: str) -> None:
    """Draw both panels into a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_left(left)
    orders, exact, bound = right_panel()
    right.loglog(orders, exact, label="exact")
    right.loglog(orders, bound, "--", label=r"Theorem 11: $2q^2\alpha/\sigma^2$, where it applies")
    right.loglog(
        orders,
        2.0 * RIGHT_RATE**2 * orders / RIGHT_SIGMA**2,
        ":",
        color="grey",
        label="its continuation",
    )
    right.set(
        xlabel=r"order $\alpha$",
        ylabel=r"Rényi-DP $\varepsilon(\alpha)$",
        title=rf"$\sigma={RIGHT_SIGMA:g}$, $q={RIGHT_RATE:g}$ (our choice: see the page)",
        ylim=(float(exact.min()), 10.0),
    )
    right.legend()
    figure.savefig(path, dpi=150)


def _draw_left(axes: Any) -> None:
    rates = np.geomspace(1e-4, 0.2, 60)
    for sigma, colour in zip(SIGMAS, ("C0", "C1"), strict=True):
        first = np.array([root_of_condition_1(q, sigma) for q in rates])
        second = np.array([root_of_condition_2(q, sigma) for q in rates])
        exact = np.array([crossing(q, sigma) for q in rates])
        axes.loglog(rates, first, ":", color=colour, label=rf"$\sigma={sigma:g}$: condition 1")
        axes.loglog(rates, second, "-.", color=colour, label=rf"$\sigma={sigma:g}$: condition 2")
        axes.loglog(
            rates,
            np.minimum(first, second),
            color=colour,
            lw=6,
            alpha=0.3,
            label=rf"$\sigma={sigma:g}$: both",
        )
        axes.loglog(rates, exact, "--", color=colour, label=rf"$\sigma={sigma:g}$: exact crossing")
    axes.set(
        xlabel="sampling rate $q$", ylabel=r"largest order $\alpha$", title="where the bound holds"
    )
    axes.set_ylim(bottom=0.5)
    axes.legend(fontsize="small", loc="lower left", ncols=2)


def _l(q: float, alpha: float) -> float:
    return math.log1p(1.0 / (q * (alpha - 1.0)))


def main(path: str = "figure1.png") -> None:
    """Print the table beside independent values and draw the figure."""
    print(
        "sigma       q   condition 1 (known)   condition 2 (known)"
        "   largest order   exact crossing (known)"
    )
    known = [row for sigma in SIGMAS for row in KNOWN[sigma]]
    for row, expected in zip(table(), known, strict=True):
        sigma, q, first, second, largest, exact = row
        print(
            f"{sigma:5g}  {q:6g}"
            f"   {first:8.2f}  ({expected[0]:8.2f})   {second:8.2f}  ({expected[1]:8.2f})"
            f"   {largest:13.4f}   {exact:11.3f}  ({expected[2]:6d})"
        )
    draw(path)
    print(f"figure written to {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
