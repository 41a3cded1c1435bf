"""The exact privacy curve of Poisson-sampled Gaussian steps by one contour integral (python-flint).

With A(a) = E_{u ~ N(0,1)}[(1 - q + q exp(u/sigma - 1/(2 sigma^2)))^a], which is entire in a,

    I(eps) = 1/(2 pi i) int  prod_i A_i(1+z)^{k_i}  e^{-z eps} / (z (z+1))  dz,

    delta_remove(eps) = I(eps)          on a contour that crosses the real axis at z > 0,
    delta_add(eps) = e^eps I(-eps)      on one that crosses it at z < -1

(the residues at 0 and -1 are the 1 and the -e^eps of delta_add(eps) = 1 - e^eps + e^eps
delta_remove(-eps), so nothing cancels). The contour is a hyperbola that opens to the right: beyond
45 degrees from the real axis exp(a^2 / (2 sigma^2)) decays, and to the right (1-q)^(k z) e^{-z eps}
does, since eps > sum k log(1-q) wherever delta is not 1 - e^eps or 0.

A is integrated along a line in the complex plane that passes at one height below the branch points
u0 + i pi sigma of the loss and climbs to the saddle point Im a / sigma on the right of them, so
that nothing oscillates when Im a is large. Both integrals are trapezoidal sums on analytic paths:
they converge geometrically, and steps are halved until two sums agree to more than half of the
working digits. Rounding is tracked by the balls. The second variant has other paths, other steps
and more digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from flint import acb, arb, ctx

LN10 = math.log(10)


class Path(NamedTuple):
    """Height low + rise/(1 + e^-x), or for a ramp low + rise width log(1 + e^x), over the real part
    s, with x = (s - centre)/width.
    """

    low: float
    rise: float
    centre: float
    width: float
    ramp: bool

    def height(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Height and slope."""
        x = (s - self.centre) / self.width
        with np.errstate(over="ignore"):
            g = 1 / (1 + np.exp(-x))
        if self.ramp:
            return self.low + self.rise * self.width * np.logaddexp(0, x), self.rise * g
        return self.low + self.rise * g, self.rise * g * (1 - g) / self.width


@dataclass
class Moment:
    """A(a) of one step, 0 < q < 1, at the precision current when it was made."""

    q: float
    sigma: float
    digits: int
    variant: int
    u0: float = field(init=False)
    step: float = field(init=False)
    near: tuple[float, int] = (1e-300, 0)  # size of the last order, number of the height chosen

    def __post_init__(self) -> None:
        q, sigma = arb(self.q), arb(self.sigma)
        exact = 1 / (2 * sigma) + sigma * ((1 - q) / q).log()
        self.u0, self.log_rest = float(exact), (1 - q).log()
        self.shift, self.inverse = -exact / sigma, 1 / sigma
        # a dyadic number: nodes must be exact
        self.step = 2.0 ** math.floor(math.log2(min(0.5, self.sigma)))
        self.step *= 1.0 if self.variant == 0 else 0.8125

    def exponent(self, alpha: complex, u: np.ndarray) -> np.ndarray:
        """Real part of a L(u) - u^2/2 in doubles, without the constant a log(1-q)."""
        t = (u - self.u0) / self.sigma
        with np.errstate(all="ignore"):
            soft = np.where(t.real > 0, t + np.log1p(np.exp(-t)), np.log1p(np.exp(t)))
            value = (alpha * soft - u * u / 2).real
        return np.where(np.isnan(value), np.inf, value)

    def left(self, alpha: complex, depth: float) -> float:
        """Real part left of which the integrand is negligible on any of the paths.

        The saddle is -sigma W(-a odds/sigma^2), W of Lambert.
        """
        saddle = math.log1p(abs(alpha) / self.sigma**2 * math.exp(min(-self.u0 / self.sigma, 0.0)))
        if self.u0 < 0:
            saddle -= self.u0 / self.sigma
        return -1.2 * self.sigma * saddle - math.sqrt(2 * depth) - 2

    def path(self, alpha: complex, depth: float) -> tuple[Path, float, float]:
        """A path and the ends of its live part.

        Of a few dozen paths the cheapest: few digits lost where its highest point of the integrand
        is higher than need be, few turns of the phase.
        """
        left, sigma = self.left(alpha, depth), self.sigma
        reach = math.sqrt(2 * depth) + 2
        far = max(alpha.real, 0.0) / sigma
        right = max(far, left) + reach
        if alpha.imag == 0:
            return Path(0.0, 0.0, 0.0, 1.0, False), left, right
        pieces = [
            np.linspace(left, min(right, reach), 80),
            self.u0 + sigma * np.linspace(-14, 14, 71),
            np.linspace(far - reach, right, 40),
        ]
        if right > self.u0 + 14 * sigma:
            start = self.u0 + 14 * sigma  # no gap that could hide a peak, of width about 1
            pieces.append(np.linspace(start, right, min(400, 20 + int((right - start) / 5))))
        s = np.unique(np.concatenate(pieces))
        s = s[(s >= left) & (s <= right)]
        best, found = math.inf, None
        fractions = np.linspace(0, 0.84, 8) if self.variant == 0 else np.linspace(0, 0.8, 7)
        near, last = self.near
        if 0.8 < abs(alpha) / near < 1.25:  # as a moment ago, or a little lower or higher
            fractions = fractions[max(last - 1, 0) : last + 2]
        for fraction in fractions:
            for path in self.paths(alpha, float(fraction) * math.pi * sigma):
                size, turn = self.shape(alpha, s, path)
                top = size.max()
                rate = turn[size > top - depth].max() + 1 / (sigma * math.pi * (1 - fraction))
                cost = 0.05 * top + math.log(rate + 1)
                if cost < best:
                    live = s[size > top - depth - 8]
                    best, found = cost, (path, live[0], live[-1])
        assert found is not None
        path, first, last = found
        highest = 0.84 if self.variant == 0 else 0.8
        part = path.low / (math.pi * sigma) / highest
        self.near = abs(alpha), round(part * (7 if self.variant == 0 else 6))
        at = np.searchsorted(s, [first, last])
        return path, float(s[max(at[0] - 1, 0)]), float(s[min(at[1] + 1, len(s) - 1)])

    def paths(self, alpha: complex, low: float) -> Iterator[Path]:
        """Level, climbing to the height of the right saddle, and climbing for ever."""
        rise = alpha.imag / self.sigma - low
        yield Path(low, 0.0, 0.0, 1.0, False)
        for width in (0.5 * self.sigma, 1.5 * self.sigma, 2.0):
            if rise > 0:
                late = max(0.0, math.log(rise / (0.05 * math.pi * self.sigma)))
                yield Path(low, rise, self.u0 + width * late, width, False)
        yield Path(low, 0.7, self.u0 + 2 * self.sigma, self.sigma, True)

    def shape(self, alpha: complex, s: np.ndarray, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """Re G along the path, and how fast its phase turns there."""
        b, slope = path.height(s)
        u = s + 1j * b
        with np.errstate(all="ignore"):
            share = 1 / (1 + np.exp((self.u0 - u) / self.sigma))
            turn = abs(((alpha / self.sigma * share - u) * (1 + 1j * slope)).imag)
        return self.exponent(alpha, u), turn

    def __call__(self, alpha: acb) -> acb:
        """A(a), to about 10^-digits of its own size."""
        rough = complex(float(alpha.real), float(alpha.imag))
        depth = self.digits * LN10 + 25
        path, low, high = self.path(rough, depth)
        h = 2 * self.step
        start = 0.0 if self.variant == 0 else 0.375 * h
        coarse = self._sum(alpha, rough, path, low, high, h, start, depth)
        for halving in range(14):
            extra = self._sum(alpha, rough, path, low, high, h, start + h / 2, depth)
            fine = (coarse + extra) / 2
            h /= 2
            gap = abs(fine - coarse)
            if gap < abs(fine) * arb(10) ** (-0.75 * self.digits):
                too_fine = gap < abs(fine) * arb(10) ** (-1.1 * self.digits)
                self.step = h * (2 if halving == 0 and too_fine else 1)
                break
            coarse = fine
        else:
            raise ArithmeticError(f"A does not converge at {alpha}")
        if fine.rel_accuracy_bits() < self.digits * 3.3:
            raise ArithmeticError(f"A lost digits: {fine.rel_accuracy_bits()} bits at {alpha}")
        return fine * (alpha * self.log_rest).exp() / (2 * arb.pi()).sqrt()

    def _sum(
        self,
        alpha: acb,
        rough: complex,
        path: Path,
        low: float,
        high: float,
        h: float,
        start: float,
        depth: float,
    ) -> acb:
        """Trapezoidal sum over the nodes start + n h, times h."""
        s = start + h * np.arange(math.floor(low / h), math.ceil(high / h) + 1)
        size = self.exponent(rough, s + 1j * path.height(s)[0])
        keep = size > size.max() - depth
        total = acb(0)
        shift, inverse, u0 = self.shift, self.inverse, self.u0
        base, rise, centre, width = map(arb, (path.low, path.rise, path.centre, path.width))
        slope = arb(0)
        for x in s[keep].tolist():
            u = acb(x, base)
            if path.rise:  # in balls: height and slope must belong together
                fall = ((centre - x) / width).exp()
                g = 1 / (1 + fall)
                if path.ramp:
                    u, slope = (
                        acb(x, base + rise * (x - centre + width * (1 + fall).log())),
                        rise * g,
                    )
                else:
                    u, slope = acb(x, base + rise * g), rise * g * (1 - g) / width
            t = u * inverse + shift
            soft = t + ((-t).exp() + 1).log() if x > u0 else (t.exp() + 1).log()
            total += (alpha * soft - u * u / 2).exp() * acb(1, slope)
        return total * h


def tilted(q: float, sigma: float, alpha: float) -> tuple[float, float, float]:
    """log A, its first and its second derivative at a real order, in doubles: to choose paths."""
    if q == 1:
        s = sigma * sigma
        return alpha * (alpha - 1) / (2 * s), (2 * alpha - 1) / (2 * s), 1 / s
    moment = Moment(q, sigma, 16, 0)
    ends, h = moment.path(complex(alpha), 40.0)[1:], 0.15 * min(1.0, sigma)
    coarse = np.linspace(*ends, 4001)
    size = moment.exponent(alpha, coarse)
    live = coarse[size > size.max() - 60]
    gap = coarse[1] - coarse[0]
    h = max(h, (live[-1] - live[0] + 2 * gap) / 1e6)
    u = np.arange(live[0] - gap, live[-1] + gap, h)
    t = (u - moment.u0) / sigma
    loss = math.log1p(-q) + np.logaddexp(0, t)
    height = alpha * loss - u * u / 2
    weight = np.exp(height - height.max())
    total = weight.sum()
    mean = float(weight @ loss / total)
    variance = float(weight @ (loss - mean) ** 2 / total)
    return float(np.log(total * h / math.sqrt(2 * math.pi)) + height.max()), mean, variance


Steps = Sequence[tuple[float, float, int]]


class Saddle:
    """F(z) = sum k log A(1+z) - z eps - log|z| - log|1+z| on the real axis, in doubles."""

    def __init__(self, steps: Steps, direction: str) -> None:
        self.steps, self.remove = steps, direction == "remove"

    def point(self, distance: float) -> float:
        """The point of the real axis at this distance right of 0 (remove) or left of -1 (add)."""
        return distance if self.remove else -1 - distance

    def cumulants(self, z: float) -> tuple[float, float, float]:
        """K, K', K''."""
        parts = [(k, tilted(q, s, 1 + z)) for q, s, k in self.steps]
        return tuple(sum(k * part[i] for k, part in parts) for i in range(3))  # type: ignore[return-value]

    def epsilon(self, distance: float) -> float:
        """The epsilon (of the transform: minus epsilon for add) with its saddle there."""
        z = self.point(distance)
        return self.cumulants(z)[1] - 1 / z - 1 / (1 + z)

    def distance(self, epsilon: float) -> float:
        """Distance of the saddle of a given epsilon, to a small part of its width."""
        low, high = 1e-12, 1.0
        sign = 1 if self.remove else -1
        while sign * (self.epsilon(high) - epsilon) < 0 and high < 1e12:
            low, high = high, high * 8
        while high / low > 1.01 or high - low > 0.1 * self.width(low):
            middle = math.sqrt(low * high)
            if not low < middle < high:
                break
            if sign * (self.epsilon(middle) - epsilon) < 0:
                low = middle
            else:
                high = middle
        return math.sqrt(low * high)

    def height(self, distance: float, epsilon: float) -> float:
        """F at the distance."""
        z = self.point(distance)
        value = self.cumulants(z)[0] - z * epsilon
        return value - math.log(abs(z)) - math.log(abs(1 + z))

    def crossing(self, epsilon: float) -> float:
        """Where the contour crosses the axis: the saddle, unless that is a narrow gap.

        Rare large losses make F rise like a wall; just before the wall the valley is as deep and
        much wider.
        """
        best = self.distance(epsilon)
        bottom, narrow = self.height(best, epsilon), 3 * self.width(best)
        parts = (0.7, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98, 0.99, 0.995, 0.998, 0.999)
        for part in parts:
            distance = part * best
            if self.height(distance, epsilon) < bottom + 6 and self.width(distance) > narrow:
                return distance
        return best

    def width(self, distance: float) -> float:
        """1/sqrt(F'')."""
        z = self.point(distance)
        return 1 / math.sqrt(self.cumulants(z)[2] + 1 / z**2 + 1 / (1 + z) ** 2)

    def log_delta(self, distance: float) -> float:
        """Saddle-point estimate of log delta at the epsilon that has its saddle there."""
        z = self.point(distance)
        epsilon = self.epsilon(distance)
        value = self.cumulants(z)[0] - z * epsilon - math.log(abs(z)) - math.log(abs(1 + z))
        value -= 0.5 * math.log(2 * math.pi) - math.log(self.width(distance))
        return value if self.remove else value - epsilon  # e^eps I(-eps)


def edge(steps: Steps) -> arb:
    """The smallest possible loss, sum k log(1-q)."""
    total = arb(0)
    for q, _, k in steps:
        total += k * (1 - arb(q)).log() if q < 1 else arb("-inf")
    return total


def integral(
    steps: Steps,
    epsilon: float,
    direction: str,
    digits: int,
    variant: int,
    step: float | None = None,
) -> tuple[arb, float]:
    """delta in one direction, to about 10^-digits of its own size, and the step that it took.

    With a step given the sum is taken once, otherwise the step is halved until two sums agree.
    """
    shifted = epsilon if direction == "remove" else -epsilon
    with ctx.workprec(200):
        if not shifted > edge(steps):
            return (1 - arb(epsilon).exp() if direction == "remove" else arb(0)), 1.0
    saddle = Saddle(steps, direction)
    distance = saddle.crossing(shifted)
    width = saddle.width(distance)
    if variant:
        distance -= 0.4 * min(width, distance)
        width *= 0.8
    point = saddle.point(distance)
    sizes = [abs(k * tilted(q, s, 1 + point)[0]) for q, s, k in steps]
    guard = math.log10(sum(sizes) + abs(point * epsilon) + 10)
    lost = 0  # digits by which delta is smaller than the integrand on the axis
    while True:
        inner = digits + 6 + lost
        inners = [inner + math.ceil(math.log10(k)) for *_, k in steps]
        with ctx.workprec(int((max(inners) + guard) * 3.33) + 40):
            integrand = Integrand(steps, shifted, inners, variant, point, distance, width)
            value, largest, h = integrand.sum(inner, step)
            gone = float((largest / abs(value.mid())).log()) / LN10 if value.mid() != 0 else inner
            if not gone <= lost + 5 or value.rel_accuracy_bits() < digits * 3.33:
                lost = max(math.ceil(gone), lost + 10)
                if lost > 400:
                    raise ArithmeticError("delta is lost against the integrand")
                continue
            return (value if direction == "remove" else value * arb(epsilon).exp()), h


class Integrand:
    """prod A(1+z)^k e^{-z eps} / (z (z+1)) on the contour, at the precision current when made."""

    def __init__(
        self,
        steps: Steps,
        shifted: float,
        digits: Sequence[int],
        variant: int,
        point: float,
        distance: float,
        width: float,
    ) -> None:
        self.plain = sum((k / arb(s) ** 2 for q, s, k in steps if q == 1), arb(0)) / 2
        self.moments = [
            (Moment(q, s, d, variant), k)
            for (q, s, k), d in zip(steps, digits, strict=True)
            if q < 1
        ]
        self.epsilon, self.point, self.width = arb(shifted), arb(point), arb(width)
        self.bend = arb("0.4" if variant == 0 else "0.27")
        self.radius = arb(max(width, distance))
        self.step = 0.25

    def __call__(self, s: float) -> acb:
        """f(z(s)) z'(s), y = width sinh s, z = t + i y + bend (sqrt(radius^2 + y^2) - radius)."""
        up, down = arb(s).exp(), arb(-s).exp()
        y, rate = self.width * (up - down) / 2, self.width * (up + down) / 2
        root = (self.radius * self.radius + y * y).sqrt()
        z = acb(self.point + self.bend * y * y / (root + self.radius), y)
        value = (self.plain * z * (z + 1) - z * self.epsilon).exp() / (z * (z + 1))
        for moment, k in self.moments:
            value *= moment(z + 1) ** k
        return value * acb(self.bend * y / root, 1) * rate

    def sum(self, digits: int, step: float | None) -> tuple[arb, arb, float]:
        """The integral over 2 pi i, the largest term, and the step.

        The path is symmetrical, so the imaginary part of its upper half is enough.
        """
        h, end, quiet = step or self.step, 0.0, 0
        first = self(0.0)
        total, largest = first.imag / 2, abs(first)
        floor, near = arb(10) ** -digits, 1.0  # where only far terms are small
        while quiet < 5 or end < near:
            end += h
            value = self(end)
            largest = max(largest, abs(value))
            quiet = quiet + 1 if abs(value) < floor * largest else 0
            total += value.imag
            if end > 80:
                raise ArithmeticError("the transform does not decay")
        total *= h
        if step:
            return total / arb.pi(), largest, h
        for _ in range(9):
            count = round(end / h)
            between = sum((self((n + 0.5) * h).imag for n in range(count)), arb(0)) * h
            fine = (total + between) / 2
            h /= 2
            gap = abs(fine - total)
            if gap < abs(fine) * arb(10) ** (-0.56 * digits) or gap < largest * floor:
                return fine / arb.pi(), largest, h
            total = fine
        raise ArithmeticError("the contour integral does not converge")


def single(q: float, sigma: float, epsilon: float, direction: str, digits: int) -> arb:
    """delta of one step in closed form.

    The loss is increasing in x, so the best event is a half-line. With x where it equals epsilon
    (minus epsilon for add), and Phi of N(0, sigma^2):
    remove: (1-q) Phi(-x) + q Phi(1-x) - e^eps Phi(-x),
    add: Phi(x) - e^eps ((1-q) Phi(x) + q Phi(x-1)).
    """
    bits = int(4 * digits) + 100
    while True:
        with ctx.workprec(bits):
            rate, noise, power = arb(q), arb(sigma), arb(epsilon).exp()
            odds = ((power if direction == "remove" else 1 / power) - 1 + rate) / rate
            if odds <= 0:
                return 1 - power if direction == "remove" else arb(0)
            x = arb(1) / 2 + noise**2 * odds.log()
            root = noise * arb(2).sqrt()
            if direction == "remove":
                near, far = (x / root).erfc() / 2, ((x - 1) / root).erfc() / 2
                value = (1 - rate - power) * near + rate * far
            else:
                near, far = (-x / root).erfc() / 2, ((1 - x) / root).erfc() / 2
                value = near - power * ((1 - rate) * near + rate * far)
            if value.is_finite() and value.rel_accuracy_bits() > 3.4 * digits:
                return value
        bits *= 2


def delta(steps: Steps, epsilon: float, direction: str, digits: int = 24) -> arb:
    """delta, confirmed by two contours with two discretisations to 10^-digits of itself."""
    work = digits
    for _ in range(4):
        first, step = integral(steps, epsilon, direction, work, 0)
        second, _ = integral(steps, epsilon, direction, work + 2, 1, 0.8125 * step)
        with ctx.workprec(10 * work):
            if abs(first - second) <= abs(second) * arb(10) ** -digits:
                return second
        work += work // 2
    raise ArithmeticError(f"{digits} digits not reached: {first} {second}")
