"""Certificates: where `renyi.check` has to evaluate what an accountant reports.

The numbers chosen here are found in doubles and need not be right: the checker's own functions
evaluate the bound that follows from them, and only a certificate that they prove is written.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

try:
    from flint import arb, ctx
except ImportError as error:
    raise ImportError(
        "certificates need python-flint: python -m pip install python-flint"
    ) from error

from renyi import check
from renyi._adjacency import DIRECTIONS, Adjacency
from renyi.mechanisms import Mechanism
from renyi.mechanisms.algebra import UnsupportedMechanismError

SLACK = 1e-9  # a claim may exceed the reported delta by this much, relatively
DEPTH = 27.0  # aliases, tails and sums over outputs may add e^-27, relatively
MARGIN = 2.0**-40  # allowance for rounding at the precision of the other direction
FAR = 5.0  # DEPTH for a direction whose delta is far below that of the other one
MOST_NODES = 30_000
MOST_SIZE = 2**19
MOST_INVERTED = 1500  # most nodes of the curve of random allocation, each an integral
BEYOND = 1.1  # times the largest loss: the last points of a coarse lattice lie beyond it
ALLOCATED = 12.0  # as DEPTH, for the cut of the losses of random allocation
LADDER = np.geomspace(1e-6, 1e6, 241)

Array = npt.NDArray[np.float64]
Proof = dict[str, Any]
Laws = list[Any]  # pairs of a `check.Law` and a count
Curves = Sequence[tuple[int, Callable[[Any], Any]]]
Places = Sequence[tuple[float, int]]
Proofs = Callable[[Laws, str, float, float], Iterator[Proof]]


class NotProved(ValueError):
    """No proof was found; the message says why."""


def certificate(
    mechanisms: Sequence[tuple[Mechanism, int]],
    adjacency: Adjacency,
    epsilon: float,
    delta: float,
    order: float | None,
) -> dict[str, Any]:
    """Return a certificate of delta(epsilon) <= delta, or of a delta larger by 1e-9 of itself.

    The proof uses the Rényi divergence of ``order``, or the whole loss if ``order`` is None.
    """
    if not (epsilon <= 1e5 and delta > 0.0):
        raise ValueError(
            "a certificate must be of a finite epsilon and a positive delta, epsilon at most 1e5, "
            f"got epsilon {epsilon} and delta {delta}"
        )
    before = ctx.prec
    try:
        ctx.prec = 192
        proofs = _proofs_of_loss if order is None else _proofs_of_renyi(order)
        return _written(mechanisms, adjacency, epsilon, delta, proofs)
    finally:
        ctx.prec = before


def _written(
    mechanisms: Sequence[tuple[Mechanism, int]],
    adjacency: Adjacency,
    epsilon: float,
    delta: float,
    proofs: Proofs,
) -> dict[str, Any]:
    composed = [{"mechanism": one.to_dict(), "count": count} for one, count in mechanisms]
    for part, (mechanism, _) in zip(composed, mechanisms, strict=True):
        check.SPENT[0] = 0.0
        try:
            check.composition([part], adjacency)
        except check.Rejected as error:
            raise UnsupportedMechanismError(
                mechanism, f"it has no certificate yet, since {error}"
            ) from None
    check.SPENT[0] = 0.0

    def laws() -> Laws:
        return check.composition(composed, adjacency)

    sides = DIRECTIONS if any(law.rate is not None for law, _ in laws()) else DIRECTIONS[:1]
    found, upper, lower = [], [], []
    for side in sides:
        proof, most, least = _proved(laws, side, epsilon, delta, proofs)
        proof["directions"] = list(DIRECTIONS) if len(sides) == 1 else [side]
        found.append(proof)
        upper.append(most * (1.0 + MARGIN) if most > delta else delta)
        lower.append(least * (1.0 - MARGIN))
    used = {name for proof in found for name in check.READINGS[proof["reading"]][2]}
    allocated = any(law.kind == "allocation" for law, _ in laws())
    return {
        "schema": check.SCHEMA,
        "bits": max(int(proof.pop("bits")) for proof in found),
        "adjacency": adjacency,
        "composition": composed,
        "claim": {
            "epsilon": epsilon.hex(),
            "delta": max(delta, *upper).hex(),
            "delta_lower": max(lower).hex(),
        },
        "theorems": sorted(used | ({"T9"} if allocated else set())),
        "proofs": found,
    }


def _proved(
    laws: Callable[[], Laws], side: str, epsilon: float, delta: float, proofs: Proofs
) -> tuple[Proof, float, float]:
    """Return the first proof that is good enough, with what it proves."""
    reason = "the checker has no method for it within its limits (see docs/proofs.md)"
    search = proofs(laws(), side, epsilon, delta)
    while True:
        check.SPENT[0] = 0.0
        try:
            proof = next(search, None)
        except check.Rejected as error:
            reason, proof = str(error), None
        if proof is None:
            break
        given = {name: value for name, value in proof.items() if name != "bits"}
        check.SPENT[0] = 0.0
        try:
            ctx.prec = proof["bits"]
            given["directions"] = [side]
            _, _, most, least = check.evaluated(given, laws(), arb(epsilon))
        except check.Rejected as error:
            reason = str(error)
            continue
        top = _above(most)
        if top <= delta * (1.0 + SLACK):
            return proof, top, _below(least)
        reason = f"the narrowest bound found is {top}"
    raise NotProved(
        f"no certificate was found that delta({epsilon}) is at most {delta} in direction "
        f"{side}: {reason}"
    )


def _above(ball: Any) -> float:
    """Return a double above a ball."""
    value = float(ball.upper())
    while not ball <= value:
        if not value < math.inf:
            return math.inf
        value = math.nextafter(value, math.inf)
    return value


def _below(ball: Any) -> float:
    """Return a double below a ball, at least 0."""
    value = float(ball.lower())
    while not ball >= value and value > 0.0:
        value = math.nextafter(value, 0.0)
    return max(value, 0.0)


# Proofs with the reading "line": the inversion integral of the loss.


class Tilted(NamedTuple):
    """A sampled Gaussian part in doubles: nodes over outputs, log ratios, log densities."""

    q: float
    m: float
    uses: int

    def log_size(self, order: float, height: float = 0.0, frequency: float = 0.0) -> float:
        """Return the log of `check.moment`, roughly."""
        reach = math.sqrt(2.0 * (60.0 + max(-frequency, 0.0) * self.m * height))
        last = max(order * self.m, 0.0) + reach
        count = min(int(20 * (last + reach)) + 200, 200_001)
        x = np.linspace(-reach, last, count)
        up = self.m * x - 0.5 * self.m**2
        big = np.maximum(up - 600.0, 0.0)
        grown = self.q * np.exp(up - big) * np.exp(1j * self.m * height)
        ratio = np.log((1.0 - self.q) * np.exp(-big) + grown)
        e = 0.5 * (height**2 - x * x) + order * (ratio.real + big) - frequency * ratio.imag
        top = float(e.max())
        return top + math.log(float(np.exp(e - top).sum()) * (x[1] - x[0]) / math.sqrt(2 * math.pi))


class Line(NamedTuple):
    """A composition of Gaussian and sampled Gaussian steps in one direction, in doubles."""

    square: float
    sampled: list[Tilted]
    remove: bool
    epsilon: float

    def order(self, tilt: float) -> float:
        """Return the order of the moments at a tilt."""
        return 1.0 + tilt if self.remove else -tilt

    def log_chernoff(self, tilt: float) -> float:
        """Return log E e^(tilt (L - epsilon))."""
        total = 0.5 * self.square * tilt * (tilt + 1.0) - tilt * self.epsilon
        return total + sum(p.uses * p.log_size(self.order(tilt)) for p in self.sampled)


def least_of(f: Callable[[float], float], points: Array, rounds: int = 3) -> float:
    """Return roughly where a unimodal function is least, a finer ladder around the best point."""
    for _ in range(rounds):
        values = [f(float(x)) for x in points]
        i = int(np.argmin(values))
        points = np.geomspace(points[max(i - 1, 0)], points[min(i + 1, len(points) - 1)], 9)
    return float(points[int(np.argmin([f(float(x)) for x in points]))])


def period_of(
    log_chernoff: Callable[[float], float], tilt: float, log_delta: float, depth: float
) -> tuple[float, float]:
    """Return the distance of aliases at which both kinds are negligible, and the upper tilt."""
    above = min(
        ((log_chernoff(a * tilt) - log_delta + depth) / ((a - 1.0) * tilt), a * tilt)
        for a in (1.05, 1.15, 1.3, 1.6, 2.0, 3.0, 5.0, 10.0)
    )
    return max((depth - log_delta) / tilt, above[0], 1.0 / tilt), above[1]


def _proofs_of_loss(parts: Laws, side: str, epsilon: float, delta: float) -> Iterator[Proof]:
    """Yield proofs by the exact curve: in closed form for one use, by the line, by lattices."""
    if len(parts) == 1 and parts[0][1] == 1:
        x = epsilon if side == "remove" else -epsilon
        given = [_inverted(parts[0][0], x, math.log(delta) - DEPTH - epsilon)]
        yield _lattice_proof(64.0, 4.0, 2, given, [(epsilon, 1)], 192)
        return
    if all(law.kind == "gaussian" for law, _ in parts):
        yield from _proofs_of_line(parts, side, epsilon, delta)
    yield from _proofs_of_curve(parts, side, epsilon, delta)


class Place(NamedTuple):
    """A place to evaluate: a tilt, an estimate of log delta, whether any tilt near it would do."""

    tilt: float
    log_value: float
    far: bool


def _placed(log_chernoff: Callable[[float], float], wanted: float) -> Place:
    """Return the saddle point, or the first tilt at which log delta is far below what is wanted."""

    def height(t: float) -> float:
        return log_chernoff(t) - math.log(t) - math.log1p(t)

    for t in LADDER[::8]:
        if height(float(t)) < wanted - FAR - 1.0:
            return Place(float(t), height(float(t)), True)
    t = least_of(height, LADDER[LADDER < 1e5][::8])
    a = 1e-2 * t
    bend = (height(t + a) - 2.0 * height(t) + height(t - a)) / a**2
    return Place(t, height(t) - 0.5 * math.log(2.0 * math.pi * max(bend, 1e-12)), False)


def _proofs_of_line(parts: Laws, side: str, epsilon: float, delta: float) -> Iterator[Proof]:
    """Yield proofs by the trapezoidal sum of the inversion integral."""
    sampled = [
        Tilted(float(law.rate), float(law.value), count)
        for law, count in parts
        if law.rate is not None
    ]
    square = sum(float(law.value) ** 2 for law, _ in parts if law.rate is None)
    line = Line(square, sampled, side == "remove", epsilon)
    place = _placed(line.log_chernoff, math.log(delta))
    tilt, aim = place.tilt, max(min(place.log_value, math.log(delta)), math.log(delta) - 3.0)
    for depth in (FAR,) if place.far else (DEPTH, DEPTH + 8.0):
        period, above = period_of(line.log_chernoff, tilt, aim, depth)
        spacing = 2.0 * math.pi / period
        nodes, shifts = _nodes(line, tilt, spacing, aim - depth)
        if nodes is None:
            return  # the transform decays too slowly
        lost = max(line.log_chernoff(tilt) - aim, 0.0) + depth
        wide = max(
            math.log(p.uses) - min(line.order(tilt), 0.0) * -math.log1p(-p.q) for p in sampled
        )
        places = [
            _outputs(p, line.order(tilt), spacing * nodes, lost + math.log(p.uses), shift)
            for p, shift in zip(sampled, shifts, strict=True)
        ]
        yield {
            "reading": "line",
            "bits": min(96 + int(1.5 * (lost + math.log(nodes) + wide)), 1024),
            "tilt": tilt.hex(),
            "step": spacing.hex(),
            "nodes": nodes,
            "above": above.hex(),
            "parts": places,
        }


def _nodes(
    line: Line, tilt: float, step: float, log_least: float
) -> tuple[int | None, list[float]]:
    """Return how many nodes it takes until the rest is negligible, and shifts that show it."""

    def rest(nodes: int) -> tuple[float, list[float]]:
        y, order = step * nodes, line.order(tilt)
        total = 0.5 * line.square * (tilt * tilt + tilt - y * y) - tilt * line.epsilon
        shifts = []
        for part in line.sampled:
            ladder = np.geomspace(1e-6, 1.0, 25) * min(0.5 * math.pi / part.m, 8.0) * (1.0 - 1e-9)

            def size(b: float, part: Tilted = part) -> float:
                return part.log_size(order, b, y)

            best = least_of(size, ladder)
            shifts.append(best)
            total += part.uses * min(size(best), part.log_size(order))
        return total - math.log(math.pi * step * max(nodes - 1, 1)), shifts

    high = 8
    while rest(high)[0] > log_least:
        high *= 2
        if high > MOST_NODES:
            return None, []
    low = high // 2
    while high - low > max(1, low // 32):
        middle = (low + high) // 2
        low, high = (low, middle) if rest(middle)[0] <= log_least else (middle, high)
    return high, rest(high)[1]


def _outputs(part: Tilted, order: float, most: float, depth: float, shift: float) -> Proof:
    """Return the nodes over outputs of a part."""
    base = part.log_size(order)
    best = (0.0, 0.0)
    for strip in np.geomspace(0.01, 1.0, 30) * min(0.5 * math.pi / part.m, 12.0) * (1.0 - 1e-9):
        grown = part.log_size(order, float(strip), -most) - base
        best = max(
            best, (2.0 * math.pi * float(strip) / (depth + max(grown, 0.0) + 1.0), float(strip))
        )
    return {"spacing": min(best[0], 1.0).hex(), "strip": best[1].hex(), "shift": shift.hex()}


# Curves on lattices.


def _proofs_of_curve(parts: Laws, side: str, epsilon: float, delta: float) -> Iterator[Proof]:
    """Yield proofs by lattice laws, finer and finer."""
    least = math.log(delta) - ALLOCATED
    parts = [
        (_inverted(law, BEYOND * _reach(law, least - math.log(n)), 2.0 * least), n)
        if law.kind == "allocation"
        else (law, n)
        for law, n in parts
    ]
    ends = [_ends(law, count, side, delta) for law, count in parts]
    exact, uses = _common_step(parts), sum(count for _, count in parts)
    # A reported delta is tight where the engine inverts a transform, else off by about 1e-5.
    kinds = {law.kind for law, _ in parts}
    tight = 1e-9 if kinds == {"gaussian"} else 1e-5 if "allocation" in kinds else 1e-6
    wanted, lengths = math.log(delta), np.array([high - low for low, high in ends])
    curves = [(count, check.curve(law, side)) for law, count in parts]
    if exact:  # losses lie just below nodes, so that they move up by little
        ends = [(low + 2.0**-50 * max(abs(low), abs(high)), high) for low, high in ends]
    for step in [exact] if exact else [_aligned(lengths, 100 * 2**k) for k in range(14)]:
        places = [(low, math.ceil((high - low) / step) + 2) for low, high in ends]
        if sum(points for _, points in places) > MOST_SIZE:
            break
        lattice = _Lattice(curves, places, step, epsilon)
        place = _placed(lattice.log_chernoff, wanted)
        # Rounding adds half its variance times t (t + 1) to the log moments.
        error = uses * place.tilt * (place.tilt + 1.0) * step * step / 12.0
        depth = FAR if place.far else DEPTH if exact else min(DEPTH, 8.0 - math.log(error))
        free = math.expm1(min(max(wanted - place.log_value - 0.05, 0.0), 3.0))
        if not exact and not place.far and error > max(tight, 0.5 * free):
            continue
        period = period_of(lattice.log_chernoff, place.tilt, wanted, depth)[0]
        size = max(int(period / step) + 2, max(points for _, points in places) // 64 + 1)
        if size > MOST_SIZE:
            break
        # The tilt magnifies the error of the masses beyond the largest loss, which are 0.
        bits = min(192 + int(3.0 * place.tilt * step), 1024)
        yield _lattice_proof(step, place.tilt, size, [law for law, _ in parts], places, bits)


def _aligned(lengths: Array, points: int) -> float:
    """Return a spacing, for about ``points`` points, at which all largest losses lie near nodes."""
    tried = float(lengths.max()) / np.arange(points, points + min(points // 4, 2000))
    shares = lengths[:, None] / tried
    return float(tried[np.argmin(np.abs(shares - np.rint(shares)).max(axis=0))])


class _Lattice:
    """A composition of lattice laws in doubles."""

    def __init__(self, curves: Curves, places: Places, step: float, epsilon: float) -> None:
        pairs = list(zip(curves, places, strict=True))
        self._laws = [(n, *_masses(known, *place, step)) for (n, known), place in pairs]
        self._lead = sum(n * first for (n, _), (first, _) in pairs) - epsilon
        self._step = step

    def log_chernoff(self, t: float) -> float:
        """Return log E e^(t (L - epsilon))."""
        total: float = t * self._lead
        for count, places, logs in self._laws:
            e = logs + t * self._step * places
            total += count * (float(e.max()) + math.log(float(np.exp(e - e.max()).sum())))
        return total


def _lattice_proof(
    step: float, tilt: float, size: int, laws: Sequence[Any], places: Places, bits: int
) -> Proof:
    given: list[Proof] = []
    for law, (first, points) in zip(laws, places, strict=True):
        given.append({"first": float(first).hex(), "points": points})
        if law.kind == "allocation":
            inversion = given[-1]["inversion"] = law.value[2]
            depth = 2.0 * math.pi * float.fromhex(inversion["tilt"])
            bits = max(bits, 80 + int(2.9 * depth / float.fromhex(inversion["step"])))
    return {
        "reading": "curve",
        "bits": bits,
        "step": float(step).hex(),
        "tilt": float(tilt).hex(),
        "size": size,
        "parts": given,
    }


def _reach(law: Any, log_least: float) -> float:
    """Return, roughly, a loss that random allocation hardly ever exceeds."""
    (mean, steps), z = law.value[:2], math.sqrt(-2.0 * log_least)
    mean = float(mean)
    largest = math.exp(min(mean * z + 0.5 * mean * mean, 700.0)) / steps
    return math.log1p(largest + z * math.sqrt(math.expm1(mean * mean) / steps))


def _inverted(law: Any, x: float, log_least: float) -> Any:
    """Return a law of random allocation with the inversion parameters of its curve up to x.

    The parameters make delta right to e^log_least. Other laws are returned unchanged.
    """
    if law.kind != "allocation":
        return law
    mean, steps = float(law.value[0]), law.value[1]
    x = math.log(max(1.0 + math.expm1(x) / float(law.rate), 1e-3))
    outputs = np.linspace(-13.0, 13.0, 3001)
    weights = np.exp(-0.5 * outputs**2) * (outputs[1] - outputs[0]) / math.sqrt(2.0 * math.pi)
    ratios = np.exp(mean * outputs - 0.5 * mean * mean)
    ladder = np.geomspace(1e-9, 1e12, 600)
    logs = np.log([max(float(weights @ np.exp(-s * ratios)), 1e-300) for s in ladder])
    angles = np.geomspace(1e-4, 1.0, 60) * 0.5 * math.pi * (1.0 - 1e-9)
    place, log_least = steps * math.exp(x), log_least - max(x, 0.0)
    found: list[tuple[int, float, float, float]] = []
    for tilt in np.geomspace(1e-2, 1e3, 101) / place:
        depth = max(math.log(place + 1.0) + 2.0 - log_least, 1.0)
        step = 2.0 * math.pi * (1.0 - 1e-9) * min(tilt / depth, 1.0 / place)
        high = step * np.geomspace(2.0, MOST_INVERTED, 200)[:, None]
        turned = np.log(tilt * np.cos(angles) + high * np.sin(angles))
        sizes = 0.5 * (angles / mean) ** 2 + np.interp(turned, np.log(ladder), logs)
        total = steps * sizes.min(axis=1) + tilt * place - np.log(high[:, 0])
        enough = np.flatnonzero(total < log_least)
        if enough.size:
            i = int(enough[0])
            shift = float(angles[sizes[i].argmin()]) / mean
            found.append((math.ceil(float(high[i, 0]) / step) + 1, float(tilt), step, shift))
    if not found:
        raise NotProved(f"its curve would need more than {MOST_INVERTED} nodes")
    nodes, tilt, step, shift = min(found)
    given = {"tilt": tilt.hex(), "step": step.hex(), "nodes": nodes, "shift": shift.hex()}
    return law._replace(value=(*law.value, given))


def _ends(law: Any, count: int, side: str, delta: float) -> tuple[float, float]:
    """Return losses between which all but a negligible mass of a part lies."""
    if law.kind == "allocation":
        reach = _reach(law, math.log(delta) - ALLOCATED - math.log(count))
        return -reach, reach
    least = math.log(delta) - DEPTH - math.log(count)

    def log_curve(x: float, direction: str) -> float:
        value = check.curve(law, direction)(arb(x)).upper()
        return float(value.log()) if value > 0 else -math.inf

    def end(direction: str, bounded: float) -> float:
        low, high = 0.0, 1.0
        while log_curve(high, direction) > least - bounded * high:
            high *= 2.0
            if high > 1e4:
                raise NotProved("its losses have no end that a lattice can reach")
        while high - low > 1e-6 * high:
            middle = 0.5 * (low + high)
            inside = log_curve(middle, direction) <= least - bounded * middle
            low, high = (low, middle) if inside else (middle, high)
        return high

    if law.kind == "gaussian":
        other = "add" if side == "remove" else "remove"
        return -end(other, -1.0), end(side, 0.0)
    finite = law.value if law.kind == "atoms" else None
    if finite is None:
        base = [-float(law.value), float(law.value)]
    else:
        known = sorted(
            (float((p / q).log()), max(float(p), float(q)))
            for p, q in finite
            if float(p) > 0.0 and float(q) > 0.0
        )
        masses = np.array([mass for _, mass in known])
        kept = np.flatnonzero(
            np.minimum(masses.cumsum(), masses[::-1].cumsum()[::-1]) > math.exp(least)
        )
        base = [known[kept[0]][0], known[kept[-1]][0]]
    if law.rate is not None:
        rate = float(law.rate)
        base = [math.log1p(rate * math.expm1(loss)) for loss in base]
    return (base[0], base[1]) if side == "remove" or law.rate is None else (-base[1], -base[0])


def _common_step(parts: Laws) -> float | None:
    """Return the spacing if all losses lie on one lattice; else None."""
    losses: list[float] = []
    for law, _ in parts:
        if law.kind != "atoms" or law.rate is not None:
            return None
        known = [float((p / q).log()) for p, q in law.value if float(p) > 0.0 and float(q) > 0.0]
        losses += [loss - min(known) for loss in known]
    gaps = np.diff(np.unique(np.round(losses, 12)))
    gaps = gaps[gaps > 1e-9]
    if not gaps.size:
        return None
    step = float(gaps.min())
    whole = np.array(losses) / step
    step *= float(whole.max()) / round(float(whole.max()))
    whole = np.array(losses) / step
    return step if np.abs(whole - np.rint(whole)).max() < 1e-9 else None


def _masses(known: Any, first: float, points: int, step: float) -> tuple[Array, Array]:
    """Return the places and the log masses of a lattice law, as far as doubles hold them."""
    coarse = max(points // 2000, 1)
    nodes = [arb(first) + m * arb(step) for m in range(0, points, coarse)]
    masses, _ = check.lattice_law([known(x) for x in nodes], nodes)
    logs = [float(p.mid().log()) if p.mid() > 0 else -math.inf for p in masses]
    return coarse * np.arange(len(logs), dtype=np.float64), np.array(logs)


# Rényi divergences.


def _proofs_of_renyi(order: float) -> Proofs:
    """Return a function that yields a proof by the Rényi divergence of an order."""

    def proofs(parts: Laws, side: str, epsilon: float, delta: float) -> Iterator[Proof]:
        bits = ctx.prec = min(256 + int(3.0 * epsilon), 1024)
        alpha, threshold = arb(order), arb(epsilon)
        total = sum((n * check.log_moment(law, side, alpha) for law, n in parts), arb(0))
        start = threshold + (alpha / (alpha - 1)).log()

        def bound(depth: float) -> float:
            value = check.touching(alpha, total, arb(-depth), start, threshold)[0]
            return float(value.log()) if value > 0 else math.inf

        depth = least_of(bound, np.geomspace(1e-12, 100.0, 57), 9)
        far = check.touching(alpha, total, arb(-depth), start, threshold)[1]
        yield {
            "reading": "renyi",
            "bits": bits,
            "order": order.hex(),
            "low": (-depth).hex(),
            "high": float(far.mid()).hex(),
        }

    return proofs
