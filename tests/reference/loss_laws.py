"""The law of the privacy loss of one step, and its exact curve, over a variable that suits them.

The loss L of a step (rate q, noise s; q = 1: not sampled) is an increasing function of the output.
Everything is a density over v by its logarithm, where t = L - edge is

    log(1 + c e^v)             edge = log(1-q): losses bounded below (sampled, add or remove)
    2 asinh(c sinh(v) / 2)     edge = 0: losses on both sides (not sampled, or replace-one)

so that a step is a Gaussian in v, or nearly, however small q, and sums are smooth at one scale.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from flint import arb, ctx
from panels import Array, Interpolant, Real, exact, real

REACH = Real(56)  # outputs that matter, in units of the noise
PI = 4 * np.arctan(Real(1))


class Scale:
    """The variable v of a law, from low to high."""

    def __init__(self, edge: Real, c: Real, both: bool) -> None:
        self.edge, self.c, self.both = edge, c, both
        self.low = self.high = Real(0)

    def offset(self, v: Array) -> Array:
        """t of v."""
        if self.both:
            return 2 * np.arcsinh(self.c / 2 * np.sinh(v))
        return np.log1p(self.c * np.exp(v))

    def place(self, t: Array) -> Array:
        """v of t."""
        if self.both:
            return np.arcsinh(np.sinh(t / 2) / (self.c / 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(t > 0, np.log(np.expm1(t) / self.c), -np.inf)

    def log_slope(self, v: Array) -> Array:
        """Log dt/dv."""
        if self.both:
            grown = np.hypot(Real(1), self.c / 2 * np.sinh(v))
            return np.log(self.c * np.cosh(v) / grown)
        return -np.log1p(np.exp(-v) / self.c)

    def plus(self, other: Scale) -> Scale:
        """The scale of a sum."""
        edge = self.edge + other.edge
        if self.both == other.both:
            c = np.hypot(self.c, other.c) if self.both else self.c + other.c
            return Scale(edge, c, self.both)
        return Scale(edge, self.c if self.both else other.c, True)


class Curve(Scale):
    """A positive function of t: the logarithm of its density over v."""

    def __init__(self, scale: Scale, log_v: Callable[[Array], Array]) -> None:
        super().__init__(scale.edge, scale.c, scale.both)
        self.low, self.high = scale.low, scale.high
        self.log_v = log_v
        self.least, self.most = self.offset(self.low), self.offset(self.high)
        grid = np.linspace(self.low, self.high, 2000)
        self.grid, self.sketch = grid.astype(float), log_v(grid).astype(float)

    def rough_v(self, v: Array) -> Array:
        """To a part of 1, and quick: for scans."""
        return np.interp(v.astype(float), self.grid, self.sketch)

    def log_t(self, t: Array, rough: bool) -> Array:
        """Log of the density over t, -inf outside."""
        v = self.place(t)
        inside = (v >= self.low) & (v <= self.high)
        v = np.where(inside, v, self.low)
        value = (self.rough_v(v) if rough else self.log_v(v)) - self.log_slope(v)
        return np.where(inside, value, -np.inf)


class Step(NamedTuple):
    """One step: sampling rate, noise multiplier, and whether a record is replaced.

    Outputs x are in units of the noise; the sampled part of P is at 1/sigma, that of Q at 0, or at
    -1/sigma if a record is replaced.
    """

    q: float
    sigma: float
    replaced: bool = False

    def log_odds(self) -> Real:
        """Log of q/(1-q) e^(-1/(2 sigma^2))."""
        return np.log(Real(self.q)) - np.log1p(-Real(self.q)) - 1 / (2 * Real(self.sigma) ** 2)

    def scale(self) -> Scale:
        """v, over the outputs that matter."""
        if self.q == 1:
            scale = Scale(Real(0), 1 / Real(self.sigma), True)
        elif self.replaced:
            scale = Scale(Real(0), 2 * np.exp(self.log_odds()), True)
        else:
            scale = Scale(np.log1p(-Real(self.q)), np.exp(self.log_odds()), False)
        ends = []
        for side in (-1, 1):
            inner, outer = Real(-2000 * side), Real(2000 * side)
            while abs(outer - inner) > 0.01:
                middle = (inner + outer) / 2
                beyond = side * self.output(scale, middle) > REACH + 1 / Real(self.sigma)
                inner, outer = (inner, middle) if beyond else (middle, outer)
            ends.append(inner)
        scale.low, scale.high = ends
        return scale

    def output(self, scale: Scale, v: Array) -> Array:
        """x of v."""
        sigma = Real(self.sigma)
        if self.q == 1:
            return sigma * scale.offset(v) + 1 / (2 * sigma)
        if self.replaced:
            return sigma * (scale.offset(v) / 2 + v)
        return sigma * v

    def law(self, put: bool = False) -> Curve:
        """The loss under P, or under Q."""
        scale, sigma = self.scale(), Real(self.sigma)
        constant = np.log(sigma) - np.log(2 * PI) / 2

        def log_v(v: Array) -> Array:
            x = self.output(scale, v)
            value = constant - x * x / 2
            if self.q == 1:
                value += x / sigma - 1 / (2 * sigma**2) + scale.log_slope(v)
            elif self.replaced:
                value += np.log1p(-Real(self.q))
                value += np.logaddexp(Real(0), self.log_odds() + x / sigma)
                value += np.log1p(np.exp(scale.log_slope(v)) / 2)
            else:
                value += scale.edge + scale.offset(v)
            return value - (scale.edge + scale.offset(v)) if put else value

        return Curve(scale, log_v)

    def tail(self, put: bool = False) -> Curve:
        """P(L > e) - exp(e) Q(L > e), or for a put Q(L < e) - exp(-e) P(L < e), over e."""
        scale = self.scale()

        def value(x: Real) -> Real:
            u, q, shift = exact(x), arb(self.q), 1 / arb(self.sigma)
            side, root = (-1 if put else 1), arb(2).sqrt()

            def mass(mean: arb) -> arb:
                beyond = (side * (u - mean) / root).erfc() / 2
                return (1 - q) * (side * u / root).erfc() / 2 + q * beyond

            def ratio(sign: int) -> arb:
                return 1 - q + q * (sign * u * shift - shift * shift / 2).exp()

            p, other = mass(shift), mass(-shift if self.replaced else arb(0))
            loss = ratio(1) / (ratio(-1) if self.replaced else 1)
            return real((other - p / loss if put else p - loss * other).log())

        def log_v(v: Array) -> Array:
            with ctx.workprec(500):
                found = [value(x) for x in self.output(scale, v)]
            return np.array(found) + scale.log_slope(v)

        return Curve(scale, Interpolant(log_v, scale.low, scale.high))
