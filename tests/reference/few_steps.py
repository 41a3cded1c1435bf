"""The exact curve of few steps by convolution of the privacy loss in real space, in long doubles.

    delta([(1e-3, 0.8, 2), (1e-2, 1.5, 3)], "remove", 0.1)    # (sampling rate, noise, count)

Two routes:

* ``delta``: the density of the loss of all steps, by repeated doubling, then the integral of
  (1 - e^(eps-L))+;
* ``delta_step_by_step``: the curve itself, delta_k(eps) = E delta_(k-1)(eps - L), from the curve
  of one step, which is closed form; many steps a block at a time, L the loss of a block.

All integrands are positive: no transform, no lattice, no tilt, no cancellation. A convolution at s
is split where both laws are as far from their edges, y < s/2 and s - y < s/2, each half over its
own v (``loss_laws``), because what is narrow in a law is narrow at its edge.

The direction is "remove" or "add" for one record added or removed, "replace" for one replaced on
Poisson samples, where P = (1-q) N(0, s^2) + q N(1, s^2) and Q = (1-q) N(0, s^2) + q N(-1, s^2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby

import numpy as np
from flint import arb, ctx
from loss_laws import Curve, Scale, Step
from panels import Array, Interpolant, Panelling, Real, log_integral, real

FLOOR = -640  # least log of a density or a delta that matters
MARGIN = 40  # more for every convolution still to come
LONGEST, MOST = 5, 8  # up to so many steps one by one, more in at most so many blocks
STANDARD, OTHER = Panelling(), Panelling(scan=52, gauss=23, panels=4, nodes=25)
Steps = Sequence[tuple[float, float, int]]


def convolved(first: Curve, second: Curve, s: Array, panelling: Panelling) -> Array:
    """Log of int first(y) second(s - y) dy."""

    def half(one: Curve, other: Curve) -> Array:
        low = np.maximum(np.maximum(one.least, s - other.most), np.where(s > 0, -np.inf, s / 2))
        high = np.minimum(np.minimum(one.most, s - other.least), np.where(s > 0, s / 2, np.inf))
        empty = ~(low < high)
        low, high = (one.place(np.where(empty, one.least, end)) for end in (low, high))

        def log_f(v: Array, rows: Array, rough: bool = False) -> Array:
            own = one.rough_v(v) if rough else one.log_v(v)
            return own + other.log_t(s[rows, None] - one.offset(v), rough)

        return log_integral(log_f, low, high, panelling)

    if first is second:
        return half(first, second) + np.log(Real(2))
    return np.logaddexp(half(first, second), half(second, first))


def expectation(
    law: Curve, log_g: Callable[..., Array], low: Array, high: Array, panelling: Panelling
) -> Array:
    """Log of the integral over t from low to high of law(t) exp(log_g(t, row))."""
    low, high = np.maximum(low, law.least), np.minimum(high, law.most)
    empty = ~(low < high)
    low, high = (law.place(np.where(empty, law.least, end)) for end in (low, high))

    def log_f(v: Array, rows: Array, rough: bool = False) -> Array:
        return (law.rough_v(v) if rough else law.log_v(v)) + log_g(law.offset(v), rows)

    return log_integral(log_f, low, high, panelling)


def interpolated(
    first: Curve,
    second: Curve,
    log_t: Callable[[Scale, Array], Array],
    size: Callable[[Scale, Array, Array], Array],
    floor: Real,
    panelling: Panelling,
) -> Curve:
    """A function of sums by its log over t, where its size is above a floor."""
    scale = first.plus(second)
    ends = [scale.place(first.least + second.least), scale.place(first.most + second.most)]

    def log_v(v: Array) -> Array:
        return log_t(scale, scale.offset(v)) + scale.log_slope(v)

    def live(v: Array) -> Array:
        return size(scale, scale.offset(v), log_v(v)) > floor

    v = np.linspace(*ends, 49)
    first_live, *_, last_live = np.flatnonzero(live(v))
    inner = v[[first_live, last_live]]
    outer = v[[max(first_live - 1, 0), min(last_live + 1, 48)]]
    for _ in range(6):
        middle = (inner + outer) / 2
        alive = live(middle)
        inner, outer = np.where(alive, middle, inner), np.where(alive, outer, middle)
    scale.low, scale.high = inner
    return Curve(scale, Interpolant(log_v, *inner, nodes=panelling.nodes))


def added(first: Curve, second: Curve, floor: Real, panelling: Panelling) -> Curve:
    """The law of the sum of two independent losses under P, where P or Q is above the floor."""
    return interpolated(
        first,
        second,
        lambda _, t: convolved(first, second, t, panelling),
        lambda scale, t, value: value - np.minimum(0, scale.edge + t),
        floor,
        panelling,
    )


@cache
def composed(steps: tuple[tuple[Step, int], ...], floor: Real, panelling: Panelling) -> Curve:
    """The law of the loss of all steps under P."""
    if len(steps) > 1:
        parts = (composed(part, floor - MARGIN, panelling) for part in (steps[:-1], steps[-1:]))
        return added(*parts, floor, panelling)
    step, count = steps[0]
    if count == 1:
        return step.law()
    if count % 2:
        most = composed(((step, count - 1),), floor - MARGIN, panelling)
        return added(most, step.law(), floor, panelling)
    half = composed(((step, count // 2),), floor - MARGIN, panelling)
    return added(half, half, floor, panelling)


def block(step: Step, count: int, put: bool, panelling: Panelling) -> Curve:
    """The law of some steps under P, or under Q."""
    if count == 1:
        return step.law(put)
    law = composed(((step, count),), Real(FLOOR - MARGIN * MOST), panelling)
    return Curve(law, lambda v: law.log_v(v) - (law.edge + law.offset(v))) if put else law


@cache
def tail(blocks: tuple[tuple[Step, int], ...], put: bool, panelling: Panelling) -> Curve:
    """The curve of these steps, a block after the other; the first is a single step."""
    if len(blocks) == 1:
        return blocks[0][0].tail(put)
    law, before = block(*blocks[-1], put, panelling), tail(blocks[:-1], put, panelling)
    return interpolated(
        law,
        before,
        lambda _, t: next_tail(law, before, put, t, panelling),
        lambda scale, t, value: value - scale.log_slope(scale.place(t)),
        Real(FLOOR - MARGIN * (MOST - len(blocks))),
        panelling,
    )


def next_tail(law: Curve, before: Curve, put: bool, t: Array, panelling: Panelling) -> Array:
    """Log of the curve of one more step; far from the end that it falls to, a curve is 1 - e^e."""
    edge, sign = before.edge, -1 if put else 1

    def outside(y: Array, rows: Array) -> Array:
        return np.log(-np.expm1(sign * (edge + t[rows, None] - y)))

    low, high = np.full_like(t, -np.inf), np.full_like(t, np.inf)
    if put:
        high = t - before.most
    else:
        low = t - before.least
    rest = expectation(law, outside, low, high, panelling)
    return np.logaddexp(convolved(law, before, t, panelling), rest)


def listed(steps: Steps, direction: str) -> tuple[tuple[Step, int], ...]:
    """Steps of the laws; N(1, s^2) and N(-1, s^2) are as far apart as N(0, s^2/4), N(1, s^2/4)."""
    replaced = direction == "replace"
    return tuple(
        (Step(1.0, sigma / 2 if replaced else sigma) if q == 1 else Step(q, sigma, replaced), count)
        for q, sigma, count in steps
    )


def distance(steps: Steps, direction: str, epsilon: float) -> np.longdouble:
    """From the edge of all losses to epsilon (add: to minus epsilon), with no digit lost."""
    with ctx.workprec(400):
        edge = arb(0)
        for step, count in listed(steps, direction):
            if step.q < 1 and not step.replaced:
                edge += count * (-arb(step.q)).log1p()
        return real(arb(-epsilon if direction == "add" else epsilon) - edge)


def log_delta(law: Curve, put: bool, at: Array, panelling: Panelling) -> Array:
    """Log of E_P (1 - e^(at-t))+, or of E_Q (1 - e^(t-at))+ for a put."""

    def gain(t: Array, rows: Array) -> Array:
        short = t - at[rows, None] if put else at[rows, None] - t
        with np.errstate(divide="ignore"):
            kernel = np.log(-np.expm1(np.minimum(short, 0)))
        return kernel - (law.edge + t) if put else kernel

    low, high = np.full_like(at, law.least), np.full_like(at, law.most)
    return expectation(law, gain, low if put else at, at if put else high, panelling)


def delta(
    steps: Steps, direction: str, epsilon: float, panelling: Panelling = STANDARD
) -> np.longdouble:
    """Delta at epsilon >= 0."""
    law = composed(listed(steps, direction), Real(FLOOR), panelling)
    at = np.array([distance(steps, direction, epsilon)])
    return np.exp(log_delta(law, direction == "add", at, panelling)[0])


def delta_step_by_step(
    steps: Steps, direction: str, epsilon: float, panelling: Panelling = STANDARD
) -> np.longdouble:
    """Delta at epsilon >= 0 by the other route, at least two steps; many steps in blocks."""
    put, each = direction == "add", [s for s, n in listed(steps, direction) for _ in range(n)]
    length = math.ceil(len(each) / LONGEST)
    blocks = [(each[0], 1)]
    for step, group in groupby(each[1:]):
        count = len(list(group))
        parts = [length] * (count // length) + [count % length]
        blocks += [(step, part) for part in parts if part]
    before = tail(tuple(blocks[:-1]), put, panelling)
    law = block(*blocks[-1], put, panelling)
    at = np.array([distance(steps, direction, epsilon)])
    return np.exp(next_tail(law, before, put, at, panelling)[0])
