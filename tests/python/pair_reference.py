"""What pairs are compared with: exact laws of outputs, and their hockey sticks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import mpmath as mp

from renyi._engine import LossComposition, Pair
from renyi.mechanisms import Gaussian, Laplace
from renyi.pairs import Composition, DominatingPair, MechanismPair, PoissonSampledPair, ReversedPair

Law = dict[object, mp.mpf]
Part = tuple[DominatingPair | Pair, int]


def delta_bounds(parts: Iterable[Part], epsilon: float, **named: float) -> tuple[float, float]:
    return Composition(parts, **named).delta_bounds(epsilon)


def epsilon_bounds(parts: Iterable[Part], delta: float, **named: float) -> tuple[float, float]:
    return Composition(parts, **named).epsilon_bounds(delta)


def bounds(pair: Pair, epsilon: float, uses: int = 1) -> tuple[float, float]:
    return LossComposition([(pair, uses)], 1e-7, 2**20).delta_bounds(epsilon)


def assert_encloses(bounds: tuple[float, float], exact: mp.mpf, rtol: float | None) -> None:
    lower, upper = bounds
    assert mp.mpf(lower) <= exact <= mp.mpf(upper)
    assert rtol is None or upper - lower <= rtol * upper + 1e-300


def gaussian(mu: float) -> MechanismPair:
    return MechanismPair(Gaussian(1.0 / mu))


def laplace(scale: float) -> MechanismPair:
    return MechanismPair(Laplace(scale))


def sampled_gaussian(
    rate: float, sigma: float, direction: str = "remove"
) -> PoissonSampledPair | ReversedPair:
    return sampled_pair(MechanismPair(Gaussian(sigma)), rate, direction)


def sampled_pair(
    pair: DominatingPair, rate: float, direction: str = "remove"
) -> PoissonSampledPair | ReversedPair:
    sampled = PoissonSampledPair(pair, rate)
    return sampled if direction == "remove" else ReversedPair(sampled)


def hockey_stick(p: Law, q: Law, epsilon: float) -> mp.mpf:
    e = mp.exp(epsilon)
    return mp.fsum(max(mass - e * q.get(x, 0), 0) for x, mass in p.items())


def mixture(parts: Iterable[tuple[mp.mpf, Law]]) -> Law:
    found: Law = {}
    for weight, law in parts:
        for x, mass in law.items():
            found[x] = found.get(x, mp.mpf(0)) + weight * mass
    return found


def squared(law: Law) -> Law:
    """Two independent outputs."""
    return {(x, y): a * b for (x, a), (y, b) in itertools.product(law.items(), repeat=2)}


def noisy_sum(scale: float, reach: int) -> Callable[[Sequence[int]], Law]:
    """Sums of integers with discrete Laplace noise, cut at ``reach`` on each side."""
    ratio = mp.exp(-1 / mp.mpf(scale))

    @cache
    def law_around(centre: int) -> Law:
        inner = (1 - ratio) / (1 + ratio)
        law: Law = {x: inner * ratio ** abs(x - centre) for x in range(-reach + 1, reach)}
        law[-reach] = ratio ** (centre + reach) / (1 + ratio)
        law[reach] = ratio ** (reach - centre) / (1 + ratio)
        return law

    return lambda batch: law_around(sum(batch))


def truncated_poisson(
    records: Sequence[int], q: float, limit: int, release: Callable[[Sequence[int]], Law]
) -> Law:
    """Outputs of a mechanism on Poisson samples, cut to a uniform subset of at most ``limit``."""
    rate, parts = mp.mpf(q), []
    indices = range(len(records))
    for size in range(len(records) + 1):
        for sample in itertools.combinations(indices, size):
            weight = rate**size * (1 - rate) ** (len(records) - size)
            kept = list(itertools.combinations(sample, min(limit, size)))
            parts += [(weight / len(kept), release([records[i] for i in s])) for s in kept]
    return mixture(parts)


def drawn(records: Sequence[int], draws: int, release: Callable[[Sequence[int]], Law]) -> Law:
    """Outputs of a mechanism on samples with replacement."""
    words = list(itertools.product(records, repeat=draws))
    return mixture((mp.mpf(1) / len(words), release(word)) for word in words)


def fixed_size(records: Sequence[int], size: int, release: Callable[[Sequence[int]], Law]) -> Law:
    """Outputs of a mechanism on subsets of one size."""
    subsets = list(itertools.combinations(records, size))
    return mixture((mp.mpf(1) / len(subsets), release(s)) for s in subsets)


def gaussian_delta(mu: mp.mpf, epsilon: float) -> mp.mpf:
    """The privacy curve of one Gaussian release that moves by mu deviations."""
    e = mp.mpf(epsilon)
    return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


def one_step(q: mp.mpf, sigma: mp.mpf, epsilon: mp.mpf, direction: str) -> mp.mpf:
    """delta of one sampled Gaussian step: the best event is a half-line (the loss is monotone)."""
    power = mp.exp(epsilon)
    odds = ((power if direction == "remove" else 1 / power) - 1 + q) / q
    if odds <= 0:
        return 1 - power if direction == "remove" else mp.mpf(0)
    x = mp.mpf(1) / 2 + sigma**2 * mp.log(odds)
    if direction == "remove":
        near, far = mp.ncdf(-x / sigma), mp.ncdf((1 - x) / sigma)
        return (1 - q - power) * near + q * far
    near, far = mp.ncdf(x / sigma), mp.ncdf((x - 1) / sigma)
    return near - power * ((1 - q) * near + q * far)


def two_steps(q: mp.mpf, sigma: mp.mpf, epsilon: mp.mpf, direction: str) -> mp.mpf:
    """E[delta_1(epsilon - L)] over the loss L of the other step."""

    def loss(u: mp.mpf) -> mp.mpf:
        value = mp.log1p(q * mp.expm1(u / sigma - 1 / (2 * sigma**2)))
        return value if direction == "remove" else -value

    def integrand(u: mp.mpf) -> mp.mpf:
        rest = one_step(q, sigma, epsilon - loss(u), direction)
        density = mp.npdf(u)
        if direction == "remove":
            density = (1 - q) * density + q * mp.npdf(u - 1 / sigma)
        return density * rest

    edge = mp.log1p(-q)
    limit = epsilon - edge if direction == "remove" else -(epsilon + edge)
    cuts = [mp.mpf(c) for c in (-16, -6, -3, 0, 3, 6, 16)]
    if (odds := mp.expm1(limit) / q + 1) > 0:  # where the other loss is at its end
        cuts.append(sigma * mp.log(odds) + 1 / (2 * sigma))
    cuts = sorted(c for c in cuts if -16 <= c <= 16)
    return mp.quad(integrand, cuts)
