"""Losses of finitely many values: discrete pairs, randomized response, (ε, δ) pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from renyi._validation import epsilon_of, integer_of, probability_of
from renyi.pld._cells import NO_ATOMS, ROUNDING, Array, Atom, Atoms, Cells, empty_cells, summed
from renyi.pld._distribution import PrivacyLossDistribution

__all__ = ["ApproximateDP", "Discrete", "OnlyAtoms", "RandomizedResponse"]


class OnlyAtoms(PrivacyLossDistribution):
    """A loss without a continuous part."""

    __slots__ = ()

    @property
    def support(self) -> tuple[float, float]:
        losses = self.atoms().loss
        return (float(losses.min()), float(losses.max())) if losses.size else (0.0, 0.0)

    def loss_range(self, tail: float) -> tuple[float, float]:
        return math.inf, -math.inf

    def other_range(self, tail: float) -> tuple[float, float]:
        return math.inf, -math.inf

    def cells(self, edges: Array) -> Cells:
        return empty_cells(edges.size - 1)


@dataclass(frozen=True, slots=True)
class Discrete(OnlyAtoms):
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

    @property
    def symmetric(self) -> bool:
        outcomes = list(zip(self.p, self.q, strict=True))
        return sorted(outcomes) == sorted((b, a) for a, b in outcomes)

    def atoms(self) -> Atoms:
        p, q = np.array(self.p), np.array(self.q)
        shared = (p > 0.0) & (q > 0.0)
        p, q = p[shared], q[shared]
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            ratio = p / q
            near = (ratio > 0.5) & (ratio < 2.0)
            losses = np.where(near, np.log(ratio), np.log(p) - np.log(q))
        values, place = np.unique(losses, return_inverse=True)
        size = np.where(near, 1.0, np.abs(np.log(p)) + np.abs(np.log(q)))
        loss_error = np.zeros(values.size)
        np.maximum.at(loss_error, place, 2.0 * ROUNDING * (1.0 + size))
        return Atoms(
            values,
            summed(place, p, values.size),
            summed(place, q, values.size),
            loss_error,
            np.full(values.size, ROUNDING * len(self.p)),
        )


@dataclass(frozen=True, slots=True)
class RandomizedResponse(OnlyAtoms):
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
        choices = integer_of(self.choices, "choices", 2)
        if not 0.0 < p < 1.0 or p * choices == 1.0:
            raise ValueError(f"p must be a number in (0, 1) other than 1/choices, got {self.p!r}")
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "choices", choices)

    def atoms(self) -> Atoms:
        others = self.choices - 1
        wrong = (1.0 - self.p) / others
        # log(p/wrong) with its relative error bounded also where p is close to 1/choices.
        ratio = self.p / wrong
        excess = (self.p * self.choices - 1.0) / others
        loss = math.log1p(excess / wrong) if 0.5 < ratio < 2.0 else math.log(ratio)
        error = ROUNDING * (4.0 * abs(loss) + 2.0 * max(ratio, 1.0))
        found = [
            Atom(-loss, wrong, error, 2.0 * ROUNDING),
            Atom(loss, self.p, error),
        ]
        if others > 1:
            found.append(Atom(0.0, wrong * (others - 1), 0.0, 4.0 * ROUNDING))
        return Atoms.of(sorted(found, key=lambda atom: atom.loss))

    @property
    def symmetric(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class ApproximateDP(OnlyAtoms):
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

    @property
    def symmetric(self) -> bool:
        return True

    def atoms(self) -> Atoms:
        rest, top = 1.0 - self.delta, self.epsilon
        if rest == 0.0:
            return NO_ATOMS
        if top == 0.0:
            return Atoms.of((Atom(0.0, rest, 0.0, ROUNDING),))
        large, small = rest / (1.0 + math.exp(-top)), rest / (1.0 + math.exp(top))
        masses, error = np.array([small, large]), np.full(2, ROUNDING * (8.0 + top))
        return Atoms(np.array([-top, top]), masses, masses[::-1], np.zeros(2), error)


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
