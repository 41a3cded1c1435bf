"""The convergence figures of privacy amplification by iteration, drawn again.

Delta of one noisy pass of projected SGD against the number of records, with noise that decays just
so fast that delta converges (Sordello, Bu, Dong 2021, arXiv 2106.11767, and their slides). Top:
shuffled records, one scale v(n) or sigma(n) for the whole pass. Middle left: how fast the limit is
approached. Beside it: records in a fixed order, scales v_j or sigma_j, delta of the record of
step 100, up to a billion of them. Below: the scales of the noise themselves, and what it is worth
that only the last iterate of many epochs is seen (Bok, Su, Altschuler 2024, arXiv 2403.00278). The
parameters were recovered from the published curves; beside the numbers printed stand those that
were read from there.

    python -m pip install ".[plot]"
    python examples/pnsgd_convergence.py [pnsgd_convergence.png]
"""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi.theory.iteration import DecayingNoise, NoisyDescent, shuffled_limit, shuffled_pass
from renyi.theory.last_iterate import epochs_mu
from renyi.theory.online import online_delta, online_limit

EPSILON, LIPSCHITZ = 1.0, 10.0
INDEX = 100

Array = npt.NDArray[np.float64]


class Shuffled(NamedTuple):
    """A curve over the number of records, and what is known of it."""

    label: str
    descent: NoisyDescent
    c2: float
    last: float  # log10 of the largest n
    known: dict[float, float]  # log10 n: log10 delta
    known_limit: float
    c1: float = 1e5


SHUFFLED = (
    Shuffled(
        r"Laplace, $\eta=0.1$",
        NoisyDescent(0.1, LIPSCHITZ, 1.0, noise="laplace"),
        2.0,
        9.0,
        {2.0: -2.146, 6.2: -5.168},
        -5.2171,
    ),
    Shuffled(
        r"Gaussian, $\eta=0.1$",
        NoisyDescent(0.1, LIPSCHITZ, 1.0),
        100.0,
        10.0,
        {7.0: -5.4406},
        -5.5182,
    ),
    Shuffled(
        r"Gaussian, $\eta=0.02$", NoisyDescent(0.02, LIPSCHITZ, 1.0), 100.0, 12.0, {}, -5.5182
    ),
)
ONLINE = (
    (NoisyDescent(0.01, LIPSCHITZ, 1.0, noise="laplace"), {4.0: -6.382}, -7.8105),
    (NoisyDescent(0.01, LIPSCHITZ, 1.0), {3.0: -14.189}, -22.544),
)
RATES = ({2.0: -2.147, 9.0: -8.916}, {9.0: 4.552, 14.0: 11.07})


def shuffled(curve: Shuffled, log10_n: float) -> float:
    """Return delta of a pass over so many records."""
    n = round(10.0**log10_n)
    scale = DecayingNoise(curve.descent, curve.c1, curve.c2, power=1.0).scale(n)
    return shuffled_pass(curve.descent, n, epsilon=EPSILON, scale=scale)


def limit(curve: Shuffled) -> float:
    """Return delta for n to infinity."""
    return shuffled_limit(curve.descent.noise, EPSILON, curve.c1)


def noise_of(descent: NoisyDescent) -> DecayingNoise:
    """Return the scales of the online figures."""
    return DecayingNoise(descent, c1=100.0, c2=100.0, power=1.5)


def online(descent: NoisyDescent, log10_n: Array) -> Array:
    """Return delta of the record of step 100 after so many steps."""
    steps = np.rint(10.0**log10_n).astype(np.int64)
    return np.asarray(online_delta(descent, EPSILON, noise_of(descent), steps, INDEX))


def table() -> list[tuple[str, float, float]]:
    """Return rows (what, ours, known)."""
    rows = []
    for curve in SHUFFLED:
        name = f"shuffled {curve.descent.noise}, eta = {curve.descent.step_size:g}"
        for at, known in curve.known.items():
            rows.append((f"{name}: log10 delta, n = 1e{at:g}", _log(shuffled(curve, at)), known))
        rows.append((f"{name}: log10 of the limit", _log(limit(curve)), curve.known_limit))
    laplace, gaussian, _ = SHUFFLED
    for at, known in RATES[0].items():
        gap = abs(shuffled(laplace, at) - limit(laplace))
        rows.append((f"shuffled laplace: log10 |delta - limit|, n = 1e{at:g}", _log(gap), known))
    for at, known in RATES[1].items():
        inverse = 1e-6 / (shuffled(gaussian, at) - limit(gaussian))
        rows.append((f"shuffled gaussian: 1e-6/(delta - limit), n = 1e{at:g}", inverse, known))
    for descent, points, known_limit in ONLINE:
        name = f"online {descent.noise}, i = {INDEX}"
        for at, known in points.items():
            ours = _log(float(online(descent, np.array([at]))[0]))
            rows.append((f"{name}: log10 delta, n = 1e{at:g}", ours, known))
        ours = _log(online_limit(descent, EPSILON, noise_of(descent), INDEX))
        rows.append((f"{name}: log10 of the limit", ours, known_limit))
    return rows


def scales(log10_n: Array) -> list[tuple[str, Array]]:
    """Return the noise curves: v(n) and sigma(n) of whole passes, v_j and sigma_j of steps."""
    n = np.rint(10.0**log10_n).astype(np.int64).tolist()
    found = [
        (
            f"shuffled, {curve.label}",
            np.array(
                [
                    DecayingNoise(curve.descent, curve.c1, curve.c2, power=1.0).scale(each)
                    for each in n
                ]
            ),
        )
        for curve in SHUFFLED
    ]
    for descent, _, _ in ONLINE:
        noise = noise_of(descent)
        label = rf"online, {descent.noise.capitalize()}, $\eta=0.01$"
        found.append((label, np.array([noise.scale(each) for each in n])))
    return found


def epochs(counts: tuple[int, ...], contraction: float, batches: int) -> tuple[Array, Array]:
    """Return mu of the last iterate and of all, after so many epochs; of a step it is 0.2."""
    runs = [epochs_mu(0.2, contraction, 1.0, epochs=n, batches=batches) for n in counts]
    return np.array([run.mu for run in runs]), np.array([run.composed for run in runs])


def draw(path: str, longest: float = 9.0) -> None:
    """Draw all panels into a file; online passes of up to 10^longest steps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14.0, 12.0), layout="constrained")
    axes = figure.subplots(3, 3)
    for panel, curve in zip(axes[0], SHUFFLED, strict=True):
        _draw_shuffled(panel, curve)
    _draw_rates(axes[1][0])
    for panel, (descent, points, _) in zip(axes[1][1:], ONLINE, strict=True):
        _draw_online(panel, descent, points, longest)
    _draw_scales(axes[2][0], axes[2][1])
    _draw_epochs(axes[2][2])
    figure.savefig(path, dpi=110)


def _draw_shuffled(axes: Any, curve: Shuffled) -> None:
    at = np.arange(2.0, curve.last + 0.01, 0.1)
    axes.semilogx(10.0**at, [_log(shuffled(curve, x)) for x in at], label=r"$\delta$")
    axes.axhline(_log(limit(curve)), ls="--", color="grey", label=r"limit $\delta^*$")
    axes.plot([10.0**x for x in curve.known], [*curve.known.values()], "o", label="known")
    axes.set(xlabel="$n$", ylabel=r"$\log_{10}\delta$", title=f"shuffled, {curve.label}")
    axes.legend()


def _draw_rates(axes: Any) -> None:
    for colour, curve in zip(("C0", "C1", "C2"), SHUFFLED, strict=True):
        at = np.arange(2.0, 15.01, 0.1) if curve.c2 == 100.0 else np.arange(2.0, 9.01, 0.1)
        gaps = [abs(shuffled(curve, x) / limit(curve) - 1.0) for x in at]
        axes.loglog(10.0**at, gaps, color=colour, label=curve.label)
    axes.set(
        xlabel="$n$",
        ylabel=r"$|\delta/\delta^* - 1|$",
        title=r"shuffled: $1/n$ (Laplace) and $1/\log n$ (Gaussian)",
    )
    axes.legend()


def _draw_online(axes: Any, descent: NoisyDescent, points: dict[float, float], top: float) -> None:
    at = np.arange(3.0, top + 0.01, 0.25)
    axes.semilogx(10.0**at, np.log10(online(descent, at)), label=rf"$\delta_{{{INDEX}}}$")
    end = _log(online_limit(descent, EPSILON, noise_of(descent), INDEX))
    axes.axhline(end, ls="--", color="grey", label=r"limit $\delta^*$")
    axes.plot([10.0**x for x in points], [*points.values()], "o", label="known")
    axes.set(
        xlabel="$n$",
        ylabel=r"$\log_{10}\delta$",
        title=f"online, {descent.noise.capitalize()}, $\\eta=0.01$",
    )
    axes.legend()


def _draw_scales(whole: Any, steps: Any) -> None:
    at = np.arange(2.0, 9.01, 0.1)
    for label, values in scales(at):
        axes = whole if label.startswith("shuffled") else steps
        axes.loglog(10.0**at, values, label=label.partition(", ")[2])
    whole.set(xlabel="$n$", ylabel=r"$v(n)$, $\sigma(n)$", title="noise of shuffled passes")
    steps.set(xlabel="step $j$", ylabel=r"$v_j$, $\sigma_j$", title="noise of online passes")
    whole.legend()
    steps.legend()


def _draw_epochs(axes: Any) -> None:
    counts = tuple(dict.fromkeys(np.rint(np.geomspace(1, 3000, 40)).astype(int).tolist()))
    for colour, contraction in zip(("C0", "C1", "C2"), (0.98, 0.99, 0.995), strict=True):
        last, composed = epochs(counts, contraction, 20)
        axes.loglog(counts, last, color=colour, label=f"last iterate, $c={contraction:g}$")
    axes.loglog(counts, composed, "k--", label="all iterates")
    axes.set(xlabel="epochs of 20 batches", ylabel=r"$\mu$ (Gaussian DP)", title="hidden iterates")
    axes.legend()


def _log(x: float) -> float:
    return math.log10(x)


def main(path: str = "pnsgd_convergence.png") -> None:
    """Print the numbers beside the known ones and draw the figure."""
    print(f"{'':60}   computed       known")
    for what, ours, known in table():
        print(f"{what:60} {ours:10.4f}  {known:10.4f}")
    draw(path)
    print(f"figure written to {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
