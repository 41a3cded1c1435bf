"""Four figures of the pages on theory.

* `routes`: epsilon of route 1 over that of route 2, over noise and rate ("Great but Manageable
  Expectations"), and which epsilon of a step route 1 takes;
* `small_rates`: how a bound of samples approaches its leading term (Zhu and Wang 2019);
* `closed_form`: Theorem 11 of Mironov, Talwar and Zhang 2019 over the exact value;
* `last_record`: one pass of noisy descent, by E_g and by Rényi divergences (Feldman and others
  2018); the integral beside the limit of online passes.

    python -m pip install ".[plot]"
    python examples/theory_figures.py [folder]
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi import ZCDP, Gaussian, RDPAccountant, special
from renyi.mechanisms import Mechanism
from renyi.theory.iteration import DecayingNoise, NoisyDescent, noise_divergence
from renyi.theory.last_iterate import last_iterate_mu
from renyi.theory.online import online_delta, online_limit
from renyi.theory.routes import advanced_route, full_batch_route
from renyi.theory.sampled_gaussian import largest_order
from renyi.theory.subsampling import PoissonBound, poisson_rdp

Array = npt.NDArray[np.float64]
DELTA = 1e-5
BOUNDS: tuple[tuple[str, PoissonBound, float], ...] = (("-", "tight", 1.0), ("--", "general", 3.0))


def routes(noise: float, rate: float, epochs: int) -> tuple[float, float]:
    """Return epsilon of route 1 over that of route 2, and epsilon of a step of route 1."""
    first = advanced_route(rate, noise, max(round(epochs / rate), 1), delta=DELTA)
    return first.epsilon / full_batch_route(noise, epochs, delta=DELTA).epsilon, first.step_epsilon


def last_rate(epochs: int) -> float:
    """Return the rate below which route 1 wins in the limit of much noise."""
    slack = DELTA * np.linspace(1e-3, 1.0 - 1e-3, 999)
    return float(np.max(math.log(DELTA) / (2.0 * np.log(epochs / (DELTA - slack)) * np.log(slack))))


def beyond_leading_term(
    mechanism: Mechanism, order: int, rate: float, bound: PoissonBound
) -> float:
    """Return a bound over order rate^2 (e^epsilon(2) - 1)/2, less 1."""
    two = RDPAccountant().compose(mechanism).get_rdp(2.0)
    leading = 0.5 * order * rate * rate * math.expm1(float(two))
    return float(poisson_rdp(mechanism, rate, order, bound=bound)) / leading - 1.0


def first_order(mechanism: Mechanism, order: int, factor: float) -> float:
    """Return the slope of `beyond_leading_term` at rate 0, with a factor before l = 3 on."""
    two, three = RDPAccountant().compose(mechanism).get_rdp([2.0, 3.0])
    more = (factor * math.exp(2.0 * three) - 1.0) / (3.0 * math.expm1(two))
    return (order - 2.0) * (more - 1.0)


def closed_form_factor(rate: float, noise: float, order: float) -> float:
    """Return the closed form over the exact Rényi divergence."""
    bound = special.rdp_sampled_gaussian_bound(rate, noise, order)
    return float(bound / special.rdp_sampled_gaussian(rate, noise, order))


def one_record(noise: float, later: int, diameter: float, epsilon: float) -> dict[str, float]:
    """Return delta of a record with so many steps after its own: L = 1, step size 0.1, M = 1."""
    descent = NoisyDescent(0.1, 1.0, diameter)
    shifts = [descent.step_size * descent.record_shift] + [0.0] * later
    mu = last_iterate_mu(shifts, 1.0, descent.step_size * noise)
    return {
        "E_g": float(online_delta(descent, epsilon, noise, later + 1, 1)),
        "renyi": RDPAccountant().compose(ZCDP(0.5 * mu * mu)).get_delta(epsilon),
        "gaussian": float(special.gaussian_delta_upper(mu, epsilon)),
    }


def forgotten(law: Any, r: float, epsilon: float) -> float:
    """Return 1 - B, r being the distance of the iterates over the scale, to full accuracy."""
    if law == "laplace":
        return min(math.exp(0.5 * (epsilon - r)), 1.0)
    near, far = ((0.5 * r + sign * epsilon / r) / math.sqrt(2.0) for sign in (-1.0, 1.0))
    return 0.5 * (math.erfc(near) + math.exp(epsilon) * math.erfc(far))


def integral_over_limit(law: Any, index: int, first: int, epsilon: float = 1.0) -> float:
    """Return A_i exp(the integral of log B from ``first`` on) over the limit of A_i B_{i+1} ..."""
    descent = NoisyDescent(0.01, 10.0, 1.0, noise=law)
    noise = DecayingNoise(descent, c1=100.0, c2=100.0, power=1.5)

    def log_b(x: float) -> float:  # at a real x: the scale depends on x^a / C1 alone
        scale = DecayingNoise(descent, 100.0 / x**1.5, 100.0, power=1.0).scale(1)
        return math.log1p(-forgotten(law, descent.state_shift / scale, epsilon))

    nodes, weights = np.polynomial.legendre.leggauss(200)
    half = 0.5 * (70.0 - math.log(first))
    places = np.exp(math.log(first) + half * (1.0 + nodes))
    total = half * math.fsum(w * x * log_b(x) for w, x in zip(weights, places, strict=True))
    start = noise_divergence(law, epsilon, descent.record_shift, noise.scale(index))
    return start * math.exp(total) / online_limit(descent, epsilon, noise, index)


def draw_routes(figure: Any) -> None:
    """Draw the map of routes 1 and 2."""
    noises, rates = np.geomspace(0.5, 100.0, 34), np.geomspace(1e-4, 1.0, 33)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, epochs in zip(panels, (1, 100), strict=True):
        found = np.array([[routes(s, q, epochs) for s in noises] for q in rates])
        ratio, step = np.log10(found[..., 0]), found[..., 1]
        shown = axes.contourf(
            noises, rates, np.clip(ratio, -1.5, 2.5), np.linspace(-1.5, 2.5, 17), cmap="coolwarm"
        )
        axes.contour(noises, rates, ratio, [0.0], colors="black", linewidths=2.0)
        axes.contour(noises, rates, step, [math.log(2.0)], colors="black", linestyles="--")
        axes.axhline(last_rate(epochs), color="black", ls=":")
        axes.set(xscale="log", yscale="log", xlabel=r"noise multiplier $\sigma$")
        axes.set_title(f"{epochs} epoch{'s' if epochs > 1 else ''}")
    panels[0].set_ylabel("sampling rate $q$")
    bar = figure.colorbar(shown, ax=panels, ticks=[-1, 0, 1, 2])
    bar.ax.set_yticklabels(["1/10", "1", "10", "100"])
    bar.set_label(r"$\varepsilon$ of route 1 over that of route 2")


def draw_small_rates(figure: Any) -> None:
    """Draw how bounds approach the leading term."""
    rates = np.geomspace(1e-7, 0.1, 49)
    axes = figure.subplots()
    for colour, order in (("C0", 4), ("C1", 16), ("C2", 64)):
        for style, bound, factor in BOUNDS:
            found = [beyond_leading_term(Gaussian(2.0), order, q, bound) for q in rates]
            name = "exact" if bound == "tight" else "with the factor 3"
            axes.loglog(rates, found, style, color=colour, label=rf"$\alpha={order}$, {name}")
            axes.loglog(
                rates, first_order(Gaussian(2.0), order, factor) * rates, ":", color="0.6", zorder=1
            )
    axes.set(xlabel=r"sampling rate $\gamma$", ylabel="over the leading term, less 1")
    axes.set_ylim(1e-6, 30.0)
    axes.legend(fontsize="small")


def draw_closed_form(figure: Any) -> None:
    """Draw the closed form over the exact value."""
    axes = figure.subplots()
    for colour, noise in (("C0", 4.0), ("C1", 6.0), ("C2", 10.0)):
        for style, rate in (("-", 1e-4), ("--", 1e-2), (":", 0.1)):
            orders = np.geomspace(1.01, largest_order(rate, noise), 80)
            found = [closed_form_factor(rate, noise, order) for order in orders]
            label = rf"$\sigma={noise:g}$, $q={rate:g}$"
            axes.semilogx(orders, found, style, color=colour, label=label)
    axes.set(xlabel=r"order $\alpha$, to the largest permitted", ylim=(3.75, 4.0))
    axes.set_ylabel(r"$2q^2\alpha/\sigma^2$ over the exact value")
    axes.legend(fontsize="small", ncols=2)


def draw_last_record(figure: Any) -> None:
    """Draw delta of one record by both theorems, and the integral beside the limit."""
    left, right = figure.subplots(1, 2)
    later = list(range(0, 121, 5))
    for diameter, colour in ((0.3, "C0"), (0.4, "C1"), (0.6, "C2")):
        found = [one_record(1.0, m, diameter, 1.0)["E_g"] for m in later]
        left.semilogy(later, found, color=colour, label=rf"$E_\gamma$, diameter {diameter:g}")
    for name, style, label in (
        ("renyi", "k--", "Rényi divergence, any diameter"),
        ("gaussian", "k:", "test of two normal laws, any"),
    ):
        left.semilogy(
            later, [one_record(1.0, m, 1.0, 1.0)[name] for m in later], style, label=label
        )
    left.set(xlabel="steps after that of the record", ylabel=r"$\delta$ at $\varepsilon = 1$")
    left.set_ylim(1e-12, 1.0)
    left.legend(fontsize="small", loc="lower left")
    places = np.unique(np.rint(np.geomspace(1, 10_000, 25)).astype(int)).tolist()
    for colour, law in (("C0", "laplace"), ("C1", "gaussian")):
        for style, more in (("-", 1), ("--", 0)):
            found = [100.0 * integral_over_limit(law, i, i + more) - 100.0 for i in places]
            label = f"{law.capitalize()}, from {'i + 1' if more else 'i'}"
            right.semilogx(places, found, style, color=colour, label=label)
    right.set(xlabel="step i of the record", ylabel="integral beside the limit, %")
    right.legend(fontsize="small")


FIGURES = {
    "routes.png": (draw_routes, (10.0, 4.4)),
    "small_rates.png": (draw_small_rates, (6.4, 4.4)),
    "closed_form.png": (draw_closed_form, (6.4, 4.4)),
    "last_record.png": (draw_last_record, (11.0, 4.4)),
}


def main(folder: str = ".") -> None:
    """Draw all figures into a folder."""
    from matplotlib.figure import Figure

    for name, (draw, size) in FIGURES.items():
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        figure.savefig(Path(folder) / name, dpi=80)
        print(f"figure written to {Path(folder) / name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
