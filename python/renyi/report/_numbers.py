"""The numbers of a report, certified where they are bounds, and warnings about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._adjacency import Adjacency
from renyi._rounding import round_down, round_up
from renyi._validation import shortest
from renyi.accountants import Accountant, PLDAccountant, RDPAccountant, UnsupportedMechanismError
from renyi.mechanisms import Composed, Gaussian, Mechanism, PoissonSampled
from renyi.mechanisms.sampling import Sampling
from renyi.plot import Kind, Line

Array = npt.NDArray[np.float64]
POINTS = 61
DRAWN = 1e-3  # how far a drawn point may be above the exact value, relatively: less than a line


@dataclass(frozen=True)
class Figure:
    """Lines with the names of the axes, a sentence on what the figure shows, and a marked point.

    ``rounded`` writes a value of ``y`` in the table that stands for the figure.
    """

    title: str
    x_name: str
    y_name: str
    lines: Sequence[Line]
    log_y: bool = False
    rounded: Callable[[float], str] = round_up
    mark: tuple[float, float, str] | None = None


def accountants_of(
    mechanism: Mechanism, count: int, adjacency: Adjacency
) -> dict[str, Accountant[Any]]:
    """Return the accountants that can bound the composition, by the name of their method."""
    found: dict[str, Accountant[Any]] = {}
    reasons: list[str] = []
    blank: tuple[tuple[str, Accountant[Any]], ...] = (
        ("exact curve", PLDAccountant(adjacency=adjacency)),
        ("Rényi-DP", RDPAccountant(adjacency=adjacency)),
    )
    for name, accountant in blank:
        try:
            found[name] = accountant.compose(mechanism, count)
        except UnsupportedMechanismError as error:
            reasons.append(error.reason)
    if not found:
        raise UnsupportedMechanismError(mechanism, "; ".join(dict.fromkeys(reasons)))
    return found


def curve_figure(accountants: dict[str, Accountant[Any]], epsilon: float, delta: float) -> Figure:
    """Return delta against epsilon."""
    end = max(2.0 * epsilon, 1.0) if math.isfinite(epsilon) else 10.0
    grid = _readable(np.linspace(0.0, end, POINTS))
    lines = [
        Line(grid, np.asarray(accountant.get_delta(grid, rtol=DRAWN)), name, _kind(accountant))
        for name, accountant in accountants.items()
    ]
    mark = (
        (epsilon, delta, f"ε = {round_up(epsilon)}, δ = {shortest(delta)}")
        if epsilon <= end and delta > 0.0
        else None
    )
    title = "The guarantee at every ε: δ against ε"
    return Figure(title, "ε", "δ", lines, True, mark=mark)


def tradeoff_figure(accountant: Accountant[Any], missed: float) -> Figure:
    """Return the trade-off function, with the point ``missed`` of one false alarm in a hundred."""
    alphas = _readable(np.sin(np.linspace(0.0, 0.5 * np.pi, POINTS)) ** 2)
    betas = np.asarray(accountant.get_beta(alphas))
    lines = [
        Line(alphas, betas, "this guarantee", _kind(accountant)),
        Line(np.array([0.0, 1.0]), np.array([1.0, 0.0]), "blind guessing", "gaussian"),
    ]
    title = "Errors of any test for one record: missed records against false alarms"
    mark = (0.01, missed, f"1 % false alarms: at least {round_down(100.0 * missed)} % missed")
    names = ("false positive rate", "false negative rate")
    return Figure(title, *names, lines, mark=mark, rounded=round_down)


def over_steps(
    mechanism: Mechanism, count: int, delta: float, adjacency: Adjacency
) -> Figure | None:
    """Return epsilon against the number of releases."""
    if count < 2 or isinstance(mechanism, Composed):
        return None
    counts = np.unique((count * np.linspace(0.0, 1.0, POINTS) ** 2).astype(np.int64))
    lines = []
    for name in accountants_of(mechanism, 1, adjacency):
        blank: Accountant[Any] = (
            PLDAccountant(adjacency=adjacency)
            if name == "exact curve"
            else RDPAccountant(adjacency=adjacency)
        )
        found = blank.get_epsilon_after(delta, mechanism, counts, rtol=DRAWN)
        lines.append(Line(counts.astype(np.float64), found, name, _kind(blank)))
    return Figure(f"ε over the releases, at δ = {shortest(delta)}", "releases", "ε", lines)


def sensitivities(
    mechanism: Mechanism, count: int, delta: float, adjacency: Adjacency
) -> list[tuple[str, float, float]]:
    """Return epsilon with each parameter a tenth smaller and larger, delta ten times."""

    def epsilon(changed: Mechanism, times: int, at: float) -> float:
        accountants = accountants_of(changed, times, adjacency)
        return min(float(one.get_epsilon(at)) for one in accountants.values())

    rows = [
        (f"{name}, a tenth less or more", epsilon(less, count, delta), epsilon(more, count, delta))
        for name, less, more in _varied(mechanism)
    ]
    if count >= 10:
        few, many = round(0.9 * count), round(1.1 * count)
        steps = (epsilon(mechanism, few, delta), epsilon(mechanism, many, delta))
        rows.append(("releases, a tenth less or more", *steps))
    if delta == 0.0:
        return rows
    deltas = (epsilon(mechanism, count, 0.1 * delta), epsilon(mechanism, count, min(10 * delta, 1)))
    return [*rows, ("δ, a tenth or tenfold", *deltas)]


def _kind(accountant: Accountant[Any]) -> Kind:
    return "renyi" if isinstance(accountant, RDPAccountant) else "exact"


def _varied(mechanism: Mechanism) -> list[tuple[str, Mechanism, Mechanism]]:
    found: list[tuple[str, Mechanism, Mechanism]] = []
    base = mechanism.mechanism if isinstance(mechanism, Sampling) else mechanism
    if isinstance(base, Gaussian):
        noises = [Gaussian(base.noise_multiplier * factor) for factor in (0.9, 1.1)]
        if isinstance(mechanism, Sampling):
            changed: Any = mechanism
            noisy: list[Mechanism] = [replace(changed, mechanism=noise) for noise in noises]
        else:
            noisy = list(noises)
        found.append(("noise multiplier", noisy[0], noisy[1]))
    if isinstance(mechanism, PoissonSampled):
        rates = [min(1.0, mechanism.sample_rate * factor) for factor in (0.9, 1.1)]
        less, more = (replace(mechanism, sample_rate=rate) for rate in rates)
        found.append(("sampling rate", less, more))
    return found


def _readable(grid: Array) -> Array:
    """Return arguments of three digits, so that a table shows where its values hold."""
    return np.unique([float(f"{value:.3g}") for value in grid])


def warnings_of(epsilon: float, delta: float, records: int | None) -> Iterator[str]:
    """Yield a sentence for each setting that is legal but probably not intended."""
    said = f"δ = {shortest(delta)}"
    if records is not None and delta * records >= 1.0:
        yield (
            f"{said} is not below 1/{records}: such a guarantee allows to publish a random "
            "record of this data set."
        )
    elif records is not None and delta * records > 0.1:
        yield f"{said} is above a tenth of 1/{records}; smaller ones are usual."
    if records is None and delta > 1e-5:
        yield f"{said} is large unless there are few records; it should be far below 1/n."
    if math.isinf(epsilon):
        yield "No finite ε is known at this δ: nothing is promised."
    elif epsilon > 10.0:
        factor = round_up(math.exp(min(epsilon, 700.0)), 2)
        most = "by a factor of" if epsilon <= 700.0 else "by more than a factor of"
        yield f"ε = {round_up(epsilon)} promises little: odds may change {most} {factor}."
