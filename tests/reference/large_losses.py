"""delta of samples with little noise in multi-precision, with the number of large losses known.

A smooth window, the normal cdf of (L - level)/width, tells large losses L of a step from others:
those of records that were seen. Given that n of the k steps have one, the sum of the losses has a
smooth law, so that, direction remove,

    delta(epsilon) = sum over n >= 1 of P(n) E[(1 - e^(epsilon - S))_+ | n] + what comes with none,

of which the sum over n is that of powers of two transforms, trapezoidal sums over outputs, and is
inverted on a vertical line. Of replaced records the loss is that at an output less that at minus
the output. What comes with none is bounded by Chernoff. All errors fall
exponentially with both steps; these are chosen in double precision for errors of e^-DEPTH.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from flint import acb, arb, ctx

DEPTH, BITS = 40.0, 256
MOST_NODES = 4000

_Array = npt.NDArray[np.float64]


class Unreachable(Exception):
    """It takes too many nodes."""


class _Logs:
    """Transforms in double precision, to place the line."""

    def __init__(self, q: float, sigma: float, level: float, width: float, replaced: bool) -> None:
        x = np.linspace(-14 - (1 / sigma if replaced else 0), 1 / sigma * 12 + 14, 40_001)
        odds = math.log(q) - math.log1p(-q) - 0.5 / sigma**2
        ratio = math.log1p(-q) + np.logaddexp(0.0, odds + x / sigma)
        other = math.log1p(-q) + np.logaddexp(0.0, odds - x / sigma)
        self.loss = ratio - other if replaced else ratio
        self.density = ratio - x**2 / 2 - 0.5 * math.log(2 * math.pi) + math.log(x[1] - x[0])
        u = np.clip((self.loss - level) / width, -30, 30)
        self.small = np.array([math.log(0.5 * math.erfc(a / math.sqrt(2))) for a in u])

    def of_all(self, t: float) -> float:
        return float(np.logaddexp.reduce(self.density + t * self.loss))

    def of_small(self, t: float) -> float:
        return float(np.logaddexp.reduce(self.density + self.small + t * self.loss))


class LargeLosses:
    """Several epsilons near the one for which the line is placed."""

    def __init__(
        self,
        q: float,
        sigma: float,
        count: int,
        epsilon: float,
        log_delta: float,
        most_work: float = 4e6,
        replaced: bool = False,
    ):
        self.replaced = replaced
        self.most_work = most_work  # nodes times outputs, about
        self.level = min(epsilon / 4, 0.15 / sigma**2)
        self.width = self.level / math.sqrt(2 * (DEPTH + 5 - log_delta))  # nothing of no loss
        self.logs, self.count = _Logs(q, sigma, self.level, self.width, replaced), count
        tilts = np.geomspace(1e-6, 11.0, 160)
        levels = np.array([count * self.logs.of_all(t) for t in tilts])
        # The tilt with the least period at which aliases are e^-DEPTH of delta.
        excess = levels - tilts * epsilon - log_delta + DEPTH
        with np.errstate(divide="ignore", invalid="ignore"):
            above = excess[None, :] / (tilts[None, :] - tilts[:, None])
        above[tilts[None, :] <= tilts[:, None]] = np.inf
        periods = np.maximum((DEPTH - log_delta) / tilts, above.min(axis=1))
        i = int(np.argmin(periods))
        self.step, self.tilt = float(2 * math.pi / periods[i]), float(tilts[i])
        self.log_delta = log_delta
        saved, ctx.prec = ctx.prec, BITS
        try:
            self.nodes = self._nodes(arb(q), arb(sigma), epsilon)
        finally:
            ctx.prec = saved

    def _nodes(self, q: arb, sigma: arb, epsilon: float) -> list[acb]:
        """(all^k - small^k)/(z (z+1)) on the line."""
        # On the line at which the loss has the imaginary part v, below the branch points at pi, the
        # window grows to e^((v/width)^2/2) and e^(z L) by e^(v y).
        last = math.sqrt(2 * (DEPTH + 20)) / self.width
        v = np.geomspace(1e-3, 3.0, 200)
        grown = (v / self.width) ** 2 / 2 + v * last + (v * float(sigma)) ** 2 / 2
        steps = 2 * np.pi * v * float(sigma) / (DEPTH + 30 - self.log_delta + grown)
        spacing = float(np.max(steps))
        reach = math.sqrt(2 * (DEPTH + 10 - self.log_delta)) + 1
        outputs = range(
            math.floor(-(reach + (float(1 / sigma) if self.replaced else 0)) / spacing),
            math.ceil((float(1 / sigma) * (1 + self.tilt) + reach) / spacing),
        )
        decayed = last / self.step
        if len(outputs) > self.most_work / 60 or len(outputs) * decayed > 5 * self.most_work:
            raise Unreachable
        h = arb(spacing)
        losses, small, large = [], [], []
        for j in outputs:
            x = h * j
            ratio, other = (1 - q + q * (y / sigma - 1 / (2 * sigma**2)).exp() for y in (x, -x))
            density = h * (-x * x / 2).exp() / (2 * arb.pi()).sqrt()
            loss = ratio.log() - other.log() if self.replaced else ratio.log()
            grown = ratio * (loss * arb(self.tilt)).exp() * density
            losses.append(loss)
            u = (loss - self.level) / self.width / arb(2).sqrt()
            small.append(acb(grown * u.erfc() / 2))
            large.append(acb(grown * (-u).erfc() / 2))
        turns = [acb(0, arb(self.step) * loss).exp() for loss in losses]
        # Losses of about 1/(2 sigma^2) are in phase again after that.
        quiet, revival = 0, 5 * math.pi * float(sigma) ** 2
        found: list[acb] = []
        for j in range(MOST_NODES):
            if j * len(turns) > self.most_work:
                raise Unreachable
            z = acb(self.tilt, arb(self.step) * j)
            of_small, of_large = sum(small, acb(0)), sum(large, acb(0))
            power = (of_small + of_large) ** self.count - of_small**self.count
            found.append(power / (z * (z + 1)))
            size = float((abs(found[-1]) + arb(10) ** -1000).log())
            is_nothing = size - self.tilt * epsilon < self.log_delta - DEPTH - 4
            quiet = quiet + 1 if is_nothing else 0
            if quiet > 10 and quiet * self.step > revival:
                return found
            # The midpoints, for balls that are turned grow.
            small = [(a * b).mid() for a, b in zip(small, turns, strict=True)]
            large = [(a * b).mid() for a, b in zip(large, turns, strict=True)]
        raise Unreachable

    def delta(self, epsilon: float) -> tuple[arb, arb]:
        """What comes with large losses, and a bound of the rest."""
        saved, ctx.prec = ctx.prec, BITS
        try:
            e = arb(epsilon)
            turn, factor = acb(0, -e * arb(self.step)).exp(), acb(-e * arb(self.tilt)).exp()
            total = arb(0)
            for j, node in enumerate(self.nodes):
                total += (node * factor).real / (2 if j == 0 else 1)
                factor = (factor * turn).mid()
            tilts = np.geomspace(0.05, 40 / self.width, 60)
            log_rest = min(self.count * self.logs.of_small(t) - t * epsilon for t in tilts)
            return total * arb(self.step) / arb.pi(), arb(log_rest + 1e-6).exp()
        finally:
            ctx.prec = saved
