"""Losses with point masses: Laplace noise, randomized response, discrete and (ε, δ) pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from renyi._validation import epsilon_of, probability_of, real_of
from renyi.pld._cells import ROUNDING, Array, Atom, Cells, empty_cells
from renyi.pld._distribution import PrivacyLossDistribution

__all__ = ["ApproximateDP", "Discrete", "Laplace", "RandomizedResponse"]


@dataclass(frozen=True, slots=True)
class Laplace(PrivacyLossDistribution):
    """Laplace noise of a given scale over a query of L1 sensitivity 1.

    Parameters
    ----------
    scale : float
        b over the sensitivity, in [2e-3, 1e12]. The loss lies in [-1/b, 1/b].

    Notes
    -----
    The loss has the atoms 1/2 at 1/b and e^(-1/b)/2 at -1/b, and between them the density
    e^((l - 1/b)/2) / 4. The pair is its own reverse.

    Examples
    --------
    >>> Laplace(2.0).loss_range(1e-6)
    (-0.5, 0.5)
    """

    scale: float

    def __post_init__(self) -> None:
        allowed = "a number in [0.002, 1e12]"
        number = real_of(self.scale, "scale", allowed)
        if not 2e-3 <= number <= 1e12:
            raise ValueError(f"scale must be {allowed}, got {self.scale!r}")
        object.__setattr__(self, "scale", number)

    @property
    def support(self) -> tuple[float, float]:
        return -1.0 / self.scale, 1.0 / self.scale

    def atoms(self) -> tuple[Atom, ...]:
        top = 1.0 / self.scale
        return (
            Atom(-top, 0.5 * math.exp(-top), ROUNDING * top, ROUNDING * (2.0 + top)),
            Atom(top, 0.5, ROUNDING * top),
        )

    def loss_range(self, tail: float) -> tuple[float, float]:
        return -1.0 / self.scale, 1.0 / self.scale

    def other_range(self, tail: float) -> tuple[float, float]:
        return self.loss_range(tail)

    def cells(self, edges: Array) -> Cells:
        top = 1.0 / self.scale
        inner = np.clip(edges, -top, top)
        width = np.diff(inner)
        start, end = inner[:-1], inner[1:]
        p = 0.5 * np.exp(0.5 * (start - top)) * np.expm1(0.5 * width)
        q = 0.5 * np.exp(-0.5 * (end + top)) * np.expm1(0.5 * width)
        curve = 2.0 * np.square(np.sinh(0.25 * width))
        up, low = np.exp(0.5 * (start - top)) * curve, np.exp(0.5 * (end - top)) * curve
        with np.errstate(over="ignore", invalid="ignore"):
            below, above = edges[:-1] < start, (edges[1:] > end) & (p > 0.0)
            up[below] -= (np.expm1(edges[:-1] - start) * np.maximum(p - up, 0.0))[below]
            low[above] += (np.expm1(edges[1:] - end) * (p + low))[above]
        error = np.full(width.size, ROUNDING * (8.0 + 2.0 * top))
        return Cells(p, q, up, low, error, error, 2.0 * ROUNDING * np.abs(inner))


@dataclass(frozen=True, slots=True)
class Discrete(PrivacyLossDistribution):
    """A pair of distributions on finitely many outcomes.

    Parameters
    ----------
    p, q : sequence of float
        Probabilities of the same outcomes, each of sum 1 within 1e-9. Zeros are allowed.

    Examples
    --------
    >>> Discrete((0.75, 0.25), (0.25, 0.75)).infinite_mass
    0.0
    """

    p: Sequence[float]
    q: Sequence[float]

    def __post_init__(self) -> None:
        p, q = _probabilities(self.p, "p"), _probabilities(self.q, "q")
        if len(p) != len(q):
            raise ValueError(f"q must be as long as p, {len(p)} numbers, got {len(q)}")
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "q", q)

    @property
    def infinite_mass(self) -> float:
        mass = math.fsum(a for a, b in zip(self.p, self.q, strict=True) if b == 0.0)
        return math.nextafter(mass, 1.0) if mass else 0.0

    @property
    def null_mass(self) -> float:
        return math.fsum(b for a, b in zip(self.p, self.q, strict=True) if a == 0.0)

    def atoms(self) -> tuple[Atom, ...]:
        found: dict[float, float] = {}
        for a, b in zip(self.p, self.q, strict=True):
            if a > 0.0 and b > 0.0:
                loss = math.log(a / b) if 0.5 < a / b < 2.0 else math.log(a) - math.log(b)
                found[loss] = found.get(loss, 0.0) + a
        return tuple(
            Atom(
                loss,
                mass,
                ROUNDING * (2.0 + abs(loss)) if loss else ROUNDING,
                ROUNDING * len(self.p),
            )
            for loss, mass in sorted(found.items())
        )

    @property
    def support(self) -> tuple[float, float]:
        return _span(self.atoms())

    def loss_range(self, tail: float) -> tuple[float, float]:
        return math.inf, -math.inf

    def other_range(self, tail: float) -> tuple[float, float]:
        return math.inf, -math.inf

    def cells(self, edges: Array) -> Cells:
        return empty_cells(edges.size - 1)


@dataclass(frozen=True, slots=True)
class RandomizedResponse(PrivacyLossDistribution):
    """One of ``choices`` answers: the true one with probability ``p``, each other equally likely.

    Parameters
    ----------
    p : float
        Probability of the true answer, in (0, 1), not 1/choices. With probability r of a uniform
        answer and the truth otherwise, p = 1 - r + r/choices.
    choices : int
        Number of answers, at least 2.

    Examples
    --------
    >>> [round(atom.loss, 4) for atom in RandomizedResponse(0.75).atoms()]
    [-1.0986, 1.0986]
    """

    p: float
    choices: int = 2

    def __post_init__(self) -> None:
        p = probability_of(self.p, "p")
        if isinstance(self.choices, bool) or not isinstance(self.choices, int | np.integer):
            raise TypeError(f"choices must be an integer >= 2, got {self.choices!r}")
        if self.choices < 2:
            raise ValueError(f"choices must be an integer >= 2, got {self.choices!r}")
        if not 0.0 < p < 1.0 or p * self.choices == 1.0:
            raise ValueError(f"p must be a number in (0, 1) other than 1/choices, got {self.p!r}")
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "choices", int(self.choices))

    def atoms(self) -> tuple[Atom, ...]:
        others = self.choices - 1
        wrong = (1.0 - self.p) / others
        # log(p/wrong) with its relative error bounded also where p is close to 1/choices.
        excess = (self.p * self.choices - 1.0) / others
        loss = math.log1p(excess / wrong)
        error = ROUNDING * (4.0 * abs(loss) + 2.0 * self.p / wrong)
        found = [
            Atom(-loss, wrong, error, 2.0 * ROUNDING),
            Atom(loss, self.p, error),
        ]
        if others > 1:
            found.append(Atom(0.0, wrong * (others - 1), 0.0, 4.0 * ROUNDING))
        return tuple(sorted(found, key=lambda atom: atom.loss))

    @property
    def support(self) -> tuple[float, float]:
        return _span(self.atoms())

    def loss_range(self, tail: float) -> tuple[float, float]:
        return math.inf, -math.inf

    def other_range(self, tail: float) -> tuple[float, float]:
        return math.inf, -math.inf

    def cells(self, edges: Array) -> Cells:
        return empty_cells(edges.size - 1)


@dataclass(frozen=True, slots=True)
class ApproximateDP(PrivacyLossDistribution):
    """The pair that dominates every (epsilon, delta)-private mechanism.

    P has delta where Q vanishes, Q the same where P vanishes; the rest is randomized response of
    loss epsilon (Kairouz, Oh, Viswanath 2015, arXiv 1311.0776).

    Parameters
    ----------
    epsilon : float
        In [0, 500].
    delta : float
        In [0, 1].

    Examples
    --------
    >>> ApproximateDP(1.0, 1e-5).infinite_mass
    1e-05
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        epsilon = epsilon_of(self.epsilon)
        if epsilon > 500.0:
            raise ValueError(f"epsilon must be a number in [0, 500], got {self.epsilon!r}")
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", probability_of(self.delta, "delta"))

    @property
    def infinite_mass(self) -> float:
        return self.delta

    @property
    def null_mass(self) -> float:
        return self.delta

    def atoms(self) -> tuple[Atom, ...]:
        rest, top = 1.0 - self.delta, self.epsilon
        if rest == 0.0:
            return ()
        if top == 0.0:
            return (Atom(0.0, rest, 0.0, ROUNDING),)
        small = 1.0 / (1.0 + math.exp(top))
        return (
            Atom(-top, rest * small, 0.0, 4.0 * ROUNDING * (1.0 + top)),
            Atom(top, rest / (1.0 + math.exp(-top)), 0.0, 4.0 * ROUNDING),
        )

    @property
    def support(self) -> tuple[float, float]:
        return _span(self.atoms())

    def loss_range(self, tail: float) -> tuple[float, float]:
        return math.inf, -math.inf

    def other_range(self, tail: float) -> tuple[float, float]:
        return math.inf, -math.inf

    def cells(self, edges: Array) -> Cells:
        return empty_cells(edges.size - 1)


def _span(atoms: tuple[Atom, ...]) -> tuple[float, float]:
    losses = [atom.loss for atom in atoms]
    return min(losses, default=0.0), max(losses, default=0.0)


def _probabilities(values: npt.ArrayLike, name: str) -> tuple[float, ...]:
    allowed = "a 1-d array of numbers >= 0 of sum 1"
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be {allowed}, got {values!r}") from None
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be {allowed}, got {values!r}")
    array = array.astype(np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} must be {allowed}, got an array of shape {array.shape}")
    if not np.all(array >= 0.0) or abs(math.fsum(array.tolist()) - 1.0) > 1e-9:
        raise ValueError(f"{name} must be {allowed}, got {values!r}")
    return tuple(array.tolist())
