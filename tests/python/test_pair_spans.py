"""Spans of pairs against integrals in multi-precision arithmetic.

H(E) = E_P[(1 - E e^-L)_+] is the integral of (p - E q)_+. Spans divided at log E give it exactly,
by merging; any spans bound it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from pair_reference import bounds

from renyi._engine import Pair

Function = Callable[..., mp.mpf]


@dataclass(frozen=True)
class Law:
    """A density, and the mass that lies farther from its centre than a place does."""

    density: Function
    beyond: Function
    centre: float

    def mass(self, a: mp.mpf, b: mp.mpf) -> mp.mpf:
        if b <= self.centre:
            return self.beyond(b) - self.beyond(a)
        if a >= self.centre:
            return self.beyond(a) - self.beyond(b)
        return 1 - self.beyond(a) - self.beyond(b)


Mixture = list[tuple[mp.mpf, Law]]


@dataclass(frozen=True)
class Case:
    """A pair of mixtures of these parameters, and places between which the loss is monotone."""

    pair: Callable[..., Pair]
    laws: Callable[..., tuple[Mixture, Mixture]]
    parameters: tuple[Any, ...]
    places: Iterable[float]
    losses: tuple[float, ...]

    def __str__(self) -> str:
        return f"{self.laws.__name__}{self.parameters}"


def around_one_and_zero(density: Function, beyond: Function) -> tuple[Mixture, Mixture]:
    p = Law(lambda x: density(x - 1), lambda x: beyond(x - 1), 1.0)
    return [(mp.mpf(1), p)], [(mp.mpf(1), Law(density, beyond, 0.0))]


def generalised_gaussian(shape: float, scale: float) -> tuple[Mixture, Mixture]:
    s, b = mp.mpf(shape), mp.mpf(scale)
    total = 2 * b * mp.gamma(1 + 1 / s)

    def depth(x: mp.mpf) -> mp.mpf:
        return (abs(x) / b) ** s

    return around_one_and_zero(
        lambda x: mp.exp(-depth(x)) / total,
        lambda x: mp.gammainc(1 / s, depth(x), regularized=True) / 2,
    )


def student(degrees: float, scale: float) -> tuple[Mixture, Mixture]:
    n, b = mp.mpf(degrees), mp.mpf(scale)
    half = mp.mpf(1) / 2
    total = b * mp.sqrt(n) * mp.beta(n / 2, half)
    return around_one_and_zero(
        lambda x: (1 + (x / b) ** 2 / n) ** (-(n + 1) / 2) / total,
        lambda x: mp.betainc(n / 2, half, 0, n / (n + (x / b) ** 2), regularized=True) / 2,
    )


def normals(parts: list[tuple[mp.mpf, float]], sigma: float) -> Mixture:
    s = mp.mpf(sigma)

    def law(centre: float) -> Law:
        return Law(
            lambda x: mp.npdf(x, mp.mpf(centre), s),
            lambda x: mp.ncdf(-abs(x - mp.mpf(centre)) / s),
            centre,
        )

    return [(weight, law(centre)) for weight, centre in parts]


def mixed(weights: list[float], means: list[float], sigma: float) -> tuple[Mixture, Mixture]:
    parts = [(mp.mpf(w), m) for w, m in zip(weights, means, strict=True)]
    return normals(parts, sigma), normals([(mp.mpf(1), 0.0)], sigma)


def replaced(weights: list[float], moves: list[float], sigma: float) -> tuple[Mixture, Mixture]:
    q, p = (
        [(mp.mpf(w), sign * m) for w, m in zip(weights, moves, strict=True)] for sign in (1, -1)
    )
    return normals(p, sigma), normals(q, sigma)


def even(scale: float, reach: float) -> set[float]:
    return {0.0, 0.5, 1.0, *(end + y * scale for end in (0, 1) for y in (-reach, reach))}


def turning(degrees: float, scale: float) -> set[float]:
    turn = math.hypot(scale * math.sqrt(degrees), 0.5)
    right = [0.5 + turn, *(turn * 10.0**k for k in range(1, 30, 4))]
    return {*(1.0 - x for x in right), 0.0, 0.5, 1.0, *right}


def line(low: float, high: float, sigma: float) -> np.ndarray:
    return np.linspace(low - 38 * sigma, high + 38 * sigma, 25)


POWER = Pair.generalised_gaussian, generalised_gaussian
STUDENT = Pair.student, student
MIXTURE = Pair.gaussian_mixture, mixed
REPLACED = Pair.replaced_gaussian, replaced
THREE, TWO = ([0.75, 0.1875, 0.0625], [0.0, 1.0, 2.0], 2.0), ([0.5, 0.5], [-1.0, 1.0], 1.0)
RARE, SMALL = 2.0**-20, 0.0625
CASES = [
    Case(*POWER, (1.01, 1.0), even(1.0, 700.0), (-0.9, 0.0, 0.3, 1.05)),
    Case(*POWER, (1.01, 100.0), even(100.0, 700.0), (-0.005, 0.0, 0.01)),
    Case(*POWER, (1.5, 0.5), even(0.5, 80.0), (-3.0, 0.1, 2.8, 12.0)),
    Case(*POWER, (1.999, 2.0), even(2.0, 27.0), (-1.0, 1e-3, 1.0, 10.0)),
    Case(*POWER, (2.0, math.sqrt(2.0)), even(math.sqrt(2.0), 27.0), (-1.0, 0.5, 10.0, 30.0)),
    Case(*POWER, (10.0, 2.0), even(2.0, 1.9), (-0.5, 0.1, 5.0, 100.0)),
    Case(*POWER, (3.0, 1e3), even(1e3, 8.0), (-1e-3, 0.0, 1e-3)),
    Case(*STUDENT, (1.5, 1.0), turning(1.5, 1.0), (-0.9, 0.0, 1e-6, 0.9)),
    Case(*STUDENT, (3.0, 0.01), turning(3.0, 0.01), (-10.0, 0.1, 16.0)),
    Case(*STUDENT, (30.0, 50.0), turning(30.0, 50.0), (-0.01, 0.0, 0.05)),
    Case(*STUDENT, (1e4, 1.0), turning(1e4, 1.0), (-2.0, 0.5, 20.0)),
    Case(*STUDENT, (4.0, 1e4), turning(4.0, 1e4), (-1e-4, 0.0, 1e-4)),
    Case(*MIXTURE, THREE, line(0.0, 2.0, 2.0), (-0.05, 0.0, 0.2, 3.0, 15.0)),
    Case(*MIXTURE, TWO, line(-1.0, 1.0, 1.0), (-0.4, 0.0, 2.0, 30.0)),
    Case(*MIXTURE, ([0.75, 0.25], [-0.25, 2.0], 0.5), line(-0.25, 2.0, 0.5), (-0.1, 0.1, 20.0)),
    Case(*REPLACED, ([0.01, 0.99], [1.0, 0.0], 1.0), line(-1, 1, 1.0), (-1.0, 0.0, 0.01, 5.0)),
    Case(*REPLACED, ([1.0, 0.0], [1.0, 0.0], 2.0), line(-1, 1, 2.0), (-1.0, 0.5, 10.0)),
    Case(
        *(*REPLACED, ([RARE, 1.0 - RARE], [1.0, 0.0], 0.5)),
        *(line(-1, 1, 0.5), (-1e-6, 0.0, 1e-6, 30.0)),
    ),
    Case(*REPLACED, ([0.25, 0.75], [1.0, 0.0], SMALL), line(-1, 1, SMALL), (-100.0, 0.5, 400.0)),
]
TINY = mp.mpf("1e-25")  # of the arithmetic here


def profile(case: Case, loss: float) -> mp.mpf:
    """Return H(e^loss): the masses between the places where the densities' ratio passes it."""
    p, q = case.laws(*case.parameters)
    factor = mp.exp(loss)

    def excess(x: mp.mpf) -> mp.mpf:
        at_p, at_q = (mp.fsum(w * law.density(x) for w, law in side) for side in (p, q))
        return at_p - factor * at_q

    places = [mp.mpf(x) for x in sorted(set(case.places))]
    ends = [places[0]]
    for a, b in itertools.pairwise(places):
        rising = excess(b) > 0
        if rising != (excess(a) > 0):
            low, high = a, b
            for _ in range(120):
                middle = (low + high) / 2
                low, high = (low, middle) if (excess(middle) > 0) == rising else (middle, high)
            ends.append(low)
        ends.append(b)
    total = mp.mpf(0)
    for a, b in itertools.pairwise(ends):
        if excess((a + b) / 2) > 0:
            total += mp.fsum(w * law.mass(a, b) for w, law in p)
            total -= factor * mp.fsum(w * law.mass(a, b) for w, law in q)
    return total


def around(loss: float) -> list[float]:
    """Cuts at a loss, and so near to it that the place of the cut is found well."""
    size = max(abs(loss), 1e-6)
    return sorted({loss, *(loss + sign * size * 4.0**-k for k in range(10) for sign in (-1, 1))})


def gain(loss: float, mean: np.ndarray) -> np.ndarray:
    """Return (1 - e^(loss - mean))_+."""
    return -np.expm1(np.minimum(loss - mean, 0.0))


def rows_of(pair: Pair, cuts: list[float]) -> tuple[np.ndarray, ...]:
    rows, infinite, null = pair.spans(cuts)
    assert max(infinite[1], null[1]) <= 1e-300
    return tuple(rows.T)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_profile(case: Case) -> None:
    pair = case.pair(*case.parameters)
    with mp.workdps(30):
        for loss in case.losses:
            low, mean, high, p, _, mass_error, loss_error = rows_of(pair, around(loss))
            exact = profile(case, loss)
            lower, upper = bounds(pair, loss)
            assert lower <= exact * (1 + TINY)
            assert exact * (1 - TINY) <= upper
            width = 1e-5 if case.laws is replaced else 1e-9
            assert upper - lower <= width * upper + 1e-200
            truth = float(exact)
            merged = gain(loss, mean) * p
            error = (merged * mass_error).sum() + (p * loss_error)[mean > loss].sum()
            assert merged.sum() == pytest.approx(truth, rel=1e-10, abs=2.0 * error)
            # Lower: everything at the mean. Upper: the ends, with both masses kept.
            wide = high > low
            share = np.where(
                wide, np.expm1(low - mean) / np.where(wide, np.expm1(low - high), 1.0), 1.0
            )
            most = p * (share * gain(loss, high) + (1.0 - share) * gain(loss, low))
            slack = 4.0 * error + 1e-300
            assert merged.sum() - slack <= truth * (1.0 + 1e-12)
            assert truth <= most.sum() * (1.0 + 1e-15) + slack + 1e-12 * truth


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("cuts", [1, 301])
def test_spans_are_consistent(case: Case, cuts: int) -> None:
    low, mean, high, p, q, mass_error, loss_error = rows_of(
        case.pair(*case.parameters), list(np.linspace(case.losses[0], case.losses[-1], cuts))
    )
    assert np.all((low <= mean) & (mean <= high) & (p >= 0.0) & (q >= 0.0))
    assert np.all((mass_error < 1e-10) & (loss_error < 1e-9))
    for masses in (p, q):
        assert abs(math.fsum(masses) - 1.0) <= 2.0 * (masses * (mass_error + loss_error)).sum()
    seen = (p > 1e-300) & (q > 1e-300)
    off = np.abs(np.log(p[seen] / q[seen]) - mean[seen])
    assert np.all(off <= 4e-16 * (4.0 + np.abs(mean[seen])))


@pytest.mark.parametrize("mu", [1e-3, 1.0, 40.0, 1e4])
@pytest.mark.parametrize("at", [-3.0, 0.0, 1.0, 5.0, 30.0])
def test_gaussian_in_closed_form(mu: float, at: float) -> None:
    """Tails down to 1e-200, and losses up to 1e8."""
    loss = mu * (0.5 * mu + at)  # `at` standard deviations above P's mean
    _, mean, _, p, _, mass_error, _ = rows_of(Pair.gaussian(mu), around(loss))
    beyond = mean > loss
    with mp.workdps(40):
        truth = mp.ncdf(-(mp.mpf(loss) / mu - mp.mpf(mu) / 2))
        error = (mass_error * p)[beyond].sum() / float(truth)
        assert p[beyond].sum() == pytest.approx(float(truth), rel=1e-5 * mu**-1 + 1e-9 + error)
        other = truth - mp.exp(loss) * mp.ncdf(-(mp.mpf(loss) / mu + mp.mpf(mu) / 2))
        merged = (gain(loss, mean) * p).sum()
        assert merged == pytest.approx(float(other), rel=1e-9)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0, 1e9])
@pytest.mark.parametrize("share", [-50.0, -1.0, 0.0, 0.5, 0.999])
@pytest.mark.parametrize("reverse", [False, True])
def test_gumbel_in_closed_form(scale: float, share: float, reverse: bool) -> None:
    """The depth below the largest loss is exponential, of rate r under Q, 1 + r under P."""
    with mp.workdps(60):
        top = mp.mpf(1) / mp.mpf(scale)
        loss, r = float(share * top), 1 / mp.expm1(top)
        depth = top - mp.mpf(loss)
        below_p, below_q = mp.exp(-(1 + r) * depth), mp.exp(-r * depth)
        pair = Pair.gumbel(scale)
        if reverse:
            truth = below_q - mp.exp(-mp.mpf(loss)) * below_p
            pair, loss = pair.reversed(), -loss
        else:
            truth = (1 - below_p) - mp.exp(mp.mpf(loss)) * (1 - below_q)
    lower, upper = bounds(pair, loss)
    assert lower <= truth <= upper <= truth + 1e-9 * truth + 1e-15 / scale
    either_way = Pair.spliced(Pair.gumbel(scale).reversed(), 1.0, Pair.gumbel(scale).reversed())
    assert truth <= bounds(either_way, loss)[1]
    low, mean, high, p, _, mass_error, loss_error = rows_of(pair, around(loss))
    assert np.all((low <= mean) & (mean <= high))
    merged = gain(loss, mean) * p
    error = (merged * mass_error + p * loss_error * (mean > loss)).sum()
    assert merged.sum() == pytest.approx(float(truth), rel=1e-10, abs=2.0 * error)


@pytest.mark.parametrize(("variance", "shift"), [(0.01, 1), (1.0, 1), (10.0, 3), (400.0, 25)])
def test_skellam(variance: float, shift: int) -> None:
    """Masses between cuts against Bessel functions."""
    size = int(40 * math.sqrt(variance) + 60)
    with mp.workdps(40):
        mu = mp.mpf(variance)
        log = [mp.log(mp.besseli(k, mu)) - mu for k in range(size + shift + 1)]
        logs = [(log[abs(x - shift)], log[abs(x)]) for x in range(-size, size + shift + 1)]
        atoms = sorted((p - q, mp.exp(p), mp.exp(q)) for p, q in logs)
        distinct = sorted({float(loss) for loss, _, _ in atoms})
        cuts = [0.5 * (a + b) for a, b in itertools.pairwise(distinct) if b - a > 1e-6 * abs(a)]
        low, mean, high, p, q, mass_error, loss_error = rows_of(Pair.skellam(variance, shift), cuts)
        for i in range(0, mean.size, 23):
            if min(p[i], q[i]) < 1e-200:
                continue
            slack = float(loss_error[i])
            held = [a for a in atoms if low[i] - slack <= a[0] <= high[i] + slack]
            at_p, at_q = (mp.fsum(a[side] for a in held) for side in (1, 2))
            assert abs(at_p / mp.mpf(float(p[i])) - 1) <= mass_error[i]
            assert abs(at_q / mp.mpf(float(q[i])) - 1) <= mass_error[i]
            assert abs(mp.log(at_p / at_q) - mp.mpf(float(mean[i]))) <= slack
    assert mean.size > min(len(cuts), 50)
    assert np.all(mass_error < 1e-14)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("gamma", [1e-3, 0.25, 0.5, 0.75, 0.999])
def test_staircase(epsilon: float, gamma: float) -> None:
    """Masses of the three losses from the density itself, step by step."""
    _, mean, _, p, q, mass_error, _ = rows_of(
        Pair.staircase(epsilon, gamma), [-0.5 * epsilon, 0.5 * epsilon]
    )
    with mp.workdps(40):
        e, g = mp.mpf(epsilon), mp.mpf(gamma)
        b = mp.exp(-e)
        first = (1 - b) / (2 * (g + b * (1 - g)))

        def density(x: mp.mpf) -> mp.mpf:
            k = mp.floor(abs(x))
            return first * b ** (k if abs(x) - k < g else k + 1)

        # By x <= 0, x >= 1 and what lies between.
        masses = {-1: [b / 2, mp.mpf(1) / 2], 0: [mp.mpf(0)] * 2, 1: [mp.mpf(1) / 2, b / 2]}
        for a, c in itertools.pairwise(sorted({mp.mpf(0), g, 1 - g, mp.mpf(1)})):
            at_p, at_q = density((a + c) / 2 - 1), density((a + c) / 2)
            kind = int(mp.nint(mp.log(at_p / at_q) / e))
            masses[kind][0] += at_p * (c - a)
            masses[kind][1] += at_q * (c - a)
        for one, p_mass, q_mass, error in zip(mean, p, q, mass_error, strict=True):
            truth = masses[round(one / epsilon)]
            assert abs(mp.mpf(float(p_mass)) - truth[0]) <= truth[0] * error
            assert abs(mp.mpf(float(q_mass)) - truth[1]) <= truth[1] * error


def log_laplace(x: np.ndarray) -> np.ndarray:
    return -np.abs(x) - math.log(2.0)


def test_tabulated_laplace() -> None:
    pair = Pair.tabulated(
        lambda x: log_laplace(x - 1.0), log_laplace, -40.0, 41.0, [0.0, 1.0], 1e-12
    )
    rows, infinite, null = pair.spans(around(0.5))
    mean, p = rows[:, 1], rows[:, 3]
    merged = (gain(0.5, mean) * p).sum()
    assert merged == pytest.approx(-math.expm1(-0.25), rel=1e-11)
    assert infinite == null == (0.0, 0.0)


def test_tabulated_turning_loss() -> None:
    """Student's t noise as a table and as itself; what is cut off counts as infinite or null."""

    def log_density(x: np.ndarray) -> np.ndarray:
        return -2.0 * np.log1p(x * x / 3.0) + math.log(2.0 / (math.pi * math.sqrt(3.0)))

    table = Pair.tabulated(lambda x: log_density(x - 1.0), log_density, -400.0, 401.0, [], 1e-12)
    lattice = (1e-3, 0.0, -1300, 1300)
    upper, lower, infinite, _, _ = table.discretised(*lattice)
    exact_upper, exact_lower, _, _, _ = Pair.student(3.0, 1.0).discretised(*lattice)
    assert 0.0 < infinite < 2e-7
    assert np.abs(upper - exact_upper).sum() < 1e-6
    assert np.abs(lower - exact_lower).sum() < 1e-6


@pytest.mark.parametrize(
    ("log_p", "message"),
    [
        (lambda x: np.where(x > 0.3, np.inf, 0.0), "must be finite"),
        (lambda x: -np.abs(x - 0.3) - 1.0, "must be smooth"),
        (lambda x: np.full_like(x, 0.1), "integral at most 1"),
        (lambda x: np.zeros(3), "as many values"),
    ],
)
def test_tabulated_refuses(log_p: Callable[[np.ndarray], np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pair.tabulated(log_p, np.zeros_like, 0.0, 1.0, [], 1e-12)
