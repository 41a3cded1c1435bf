"""Checks certificates of differential privacy: `python check.py file` or `renyi check file`.

A certificate claims of a composition of mechanisms that delta(epsilon) <= d, and perhaps that
d' <= delta(epsilon), where delta(epsilon) = E_P[(1 - e^(epsilon - L))_+] for the pairs (P, Q) of
the mechanisms and L = log dP/dQ. Everything is evaluated here in ball arithmetic (python-flint),
where a number carries a bound of its error. Numbers in a certificate only say where to evaluate,
and nothing in it is trusted. docs/proofs.md proves the theorems, T1 to T7. Exit code 0: verified;
1: not.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

try:
    from flint import acb, acb_mat, arb, arb_poly, ctx
except ImportError:  # said by name where a certificate is made or checked
    ctx = None  # type: ignore[assignment]

__all__ = ["Rejected", "Verdict", "check_text", "digest", "main"]

SCHEMA = "renyi-certificate-1"
LARGEST_FILE = 2**24  # bytes
MOST_WORK = 10**8  # in products of balls, each about a microsecond
THEOREMS = {
    "T1": "composition adds independent losses; dominating parts dominate (Zhu, Dong, Wang 2022)",
    "T2": "a curve at points, joined by lines in e^epsilon, dominates (Doroshenko and others 2022)",
    "T3": "the trapezoidal sum of the inversion integral is never below delta (Poisson summation)",
    "T4": "the transform beyond the last node is bounded on a shifted line (Cauchy)",
    "T5": "the error of a trapezoidal sum over outputs is bounded on two shifted lines (Cauchy)",
    "T6": "a r^alpha + b r + c >= (r - e^epsilon)_+ bounds delta by the Renyi divergence",
    "T7": "aliases are below Chernoff bounds at two more tilts",
}
USED = {"curve": ("T1", "T2"), "line": ("T1", "T3", "T4", "T5"), "renyi": ("T1", "T6")}
ASSUMED = (
    "noise is drawn from the laws named, and a record moves a query by at most its sensitivity",
    "samples are drawn independently at the rates named, and are secret",
    "the pairs of docs/proofs.md dominate the mechanisms named (theorems of their papers)",
    "python-flint encloses what it computes",
)


class Rejected(ValueError):
    """The certificate proves nothing; the message says where it fails."""


SPENT = [0.0]


def spend(work: float) -> None:
    """Reject what would take longer than any honest certificate."""
    SPENT[0] += work * (64 + ctx.prec) / 192
    need(SPENT[0] <= MOST_WORK, "it must take less work")


class Verdict(NamedTuple):
    """What was verified: the claim, how, and what is assumed."""

    epsilon: float
    delta: float
    lower: float | None
    lines: tuple[str, ...]


class Law(NamedTuple):
    """The pair of one use: its kind, what its numbers are, and the rate of its Poisson sample."""

    kind: str  # gaussian: shift; laplace: largest loss; atoms: pairs of masses; zcdp: rho, xi
    value: Any
    rate: Any = None  # None: no sample
    rho: Any = None  # what its divergences are known to be below, over alpha


# Reading. Every object has exactly the names expected, every number a range.


def need(condition: object, reason: str) -> None:
    """Reject unless a condition holds."""
    if not condition:
        raise Rejected(reason)


def fields(data: Any, what: str, names: str, optional: str = "") -> list[Any]:
    """Return the values of an object with exactly these names; None for optional ones that lack."""
    wanted, free = names.split(), optional.split()
    need(isinstance(data, dict), f"{what} must be an object")
    need(set(wanted) <= set(data) <= {*wanted, *free}, f"{what} must have the fields {names}")
    return [data.get(name) for name in wanted + free]


HEX = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}")


def double(text: Any, what: str, low: float, high: float) -> Any:
    """Return the exact value of a hexadecimal double in [low, high]."""
    need(isinstance(text, str) and HEX.fullmatch(text), f"{what} must be a hexadecimal double")
    try:
        value = float.fromhex(text)
    except OverflowError:
        raise Rejected(f"{what} must be finite") from None
    need(low <= value <= high, f"{what} must be in [{low}, {high}], got {value}")
    return arb(value)


def number(value: Any, what: str, low: float, high: float) -> Any:
    """Return a number of a mechanism's own JSON form, a double."""
    need(isinstance(value, int | float) and not isinstance(value, bool), f"{what} must be a number")
    need(low <= value <= high, f"{what} must be in [{low}, {high}], got {value}")
    return arb(float(value))


def whole(value: Any, what: str, low: int, high: int) -> int:
    """Return an integer."""
    need(type(value) is int and low <= value <= high, f"{what} must be in [{low}, {high}]")
    return int(value)


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Reject objects that name a field twice."""
    need(len(dict(pairs)) == len(pairs), "fields must be distinct")
    return dict(pairs)


def constant(text: str) -> float:
    """Reject NaN and infinities."""
    raise Rejected(f"numbers must be finite, got {text}")


# Mechanisms, and the pairs that dominate them.


def law_of(data: Any, adjacency: str) -> Law:
    """Return the pair of a mechanism."""
    need(isinstance(data, dict), "a mechanism must be an object")
    kind, moved, large = data.get("type"), MOVES[adjacency], 1e9
    if kind in ("Gaussian", "Laplace"):
        _, noise = fields(data, kind, "type noise_multiplier")
        return Law(kind.lower(), moved / number(noise, "noise_multiplier", 1e-3, large))
    if kind == "RandomizedResponse":
        _, p, choices = fields(data, kind, "type p choices")
        true, others = number(p, "p", 0.0, 1.0), whole(choices, "choices", 2, 10**9) - 1
        false, rest = (1 - true) / others, (1 - true) * (others - 1) / others
        return Law("atoms", [(true, false), (false, true), (rest, rest)])
    if kind in ("PureDP", "ApproxDP"):
        _, loss, *more = fields(
            data, kind, "type epsilon delta" if kind == "ApproxDP" else "type epsilon"
        )
        failing = number(more[0], "delta", 0.0, 1.0) if more else arb(0)
        high = (1 - failing) / (1 + (-number(loss, "epsilon", 0.0, 500.0)).exp())
        low = 1 - failing - high
        return Law("atoms", [(failing, arb(0)), (high, low), (low, high), (arb(0), failing)])
    if kind == "DiscreteLaplace":
        _, scale, shift = fields(data, kind, "type scale sensitivity")
        shift = moved * whole(shift, "sensitivity", 1, 10**4)
        decay = (-1 / number(scale, "scale", shift / 500, large)).exp()
        last, unit = decay**shift / (1 + decay), (1 - decay) / (1 + decay)
        atoms = [(1 / (1 + decay), last), (last, 1 / (1 + decay))]
        between = range(1, shift)
        atoms += [(unit * decay**j, unit * decay ** (shift - j)) for j in between]
        return Law("atoms", atoms)
    if kind == "DiscreteGaussian":
        _, sigma, shift = fields(data, kind, "type sigma sensitivity")
        width = number(sigma, "sigma", 0.01, 1e3)
        shift = moved * whole(shift, "sensitivity", 1, 10**4)
        return Law("atoms", discrete_gaussian(width, shift), rho=(shift / width) ** 2 / 2)
    if kind == "ZCDP":
        _, rho, xi = fields(data, kind, "type rho xi")
        return Law("zcdp", number(xi, "xi", 0.0, large), rho=number(rho, "rho", 0.0, large))
    if kind == "PoissonSampled":
        _, base, rate = fields(data, kind, "type mechanism sample_rate")
        need(moved == 1, "a Poisson sample where records are replaced has no pair here")
        law, share = law_of(base, adjacency), number(rate, "sample_rate", 1e-12, 1.0)
        need(law.kind != "zcdp", "a sample of a zCDP mechanism has no pair")
        share = share if law.rate is None else share * law.rate
        return law if share == 1 else law._replace(rate=share)
    if kind in ("TreeAggregation", "MatrixMechanism"):
        need(moved == 2 or adjacency == "zero_out", f"{kind} needs records that keep their place")
    if kind == "TreeAggregation":  # every record enters as many nodes as the number has bits
        _, noise, steps = fields(data, kind, "type noise_multiplier steps")
        depth = whole(steps, "steps", 1, 10**12).bit_length()
        return Law("gaussian", moved * arb(depth).sqrt() / number(noise, "noise", 1e-3, large))
    if kind == "MatrixMechanism":  # Denisov and others 2022: one Gaussian mechanism
        _, strategy, noise, scheme = fields(
            data, kind, "type strategy noise_multiplier participation"
        )
        noise = number(noise, "noise_multiplier", 1e-3, large)
        return Law("gaussian", moved * sensitivity(strategy, scheme) / noise)
    raise Rejected(f"no pair is known here of a mechanism of type {str(kind)[:40]!r}")


def sensitivity(strategy: Any, scheme: Any) -> Any:
    """Bound how far a record of unit size moves C g: C a Toeplitz matrix, column c, or the tree.

    In steps i of a record C g moves by at most |sum of |column i||. With |c| not increasing the
    first steps and the least distance are the worst (Kalinin, Lampert 2024, Theorem 2); so they are
    where columns share no row, and where the distance is fixed, since later columns are cut.
    """
    need(isinstance(strategy, dict) and isinstance(scheme, dict), "a matrix must have a strategy")
    name, way = strategy.get("type"), scheme.get("type")
    more = {"BandedToeplitz": " coefficients normalised", "BLT": " decays weights"}
    more |= {"SquareRoot": "", "Tree": " honaker restart"}
    short = name[7:] if isinstance(name, str) and name.startswith("matrix.") else ""
    need(short in more, f"no sensitivity is known here of a strategy {str(name)[:40]!r}")
    _, steps, *rest = fields(strategy, "a strategy", "type steps" + more[short])
    steps = whole(steps, "steps", 1, 10**6)
    spend(8 * steps)
    apart, most = steps, steps
    if way == "matrix.FixedEpochs":
        apart = whole(fields(scheme, way, "type period")[1], "period", 1, 10**9)
    elif way == "matrix.MinSeparation":
        _, apart, count = fields(scheme, way, "type separation count")
        apart = whole(apart, "separation", 1, 10**9)
        most = steps if count is None else whole(count, "count", 1, 10**9)
    else:
        need(way == "matrix.SinglePass", "records of a matrix must take part without amplification")
        fields(scheme, "a participation", "type")
    times = min(most, -(-steps // apart))
    if short == "Tree":  # a record is in one node of each height, few of its times in the same
        need(rest[1] is None, "a tree must not restart")
        shares = (min(times, -(-(2**h) // apart)) for h in range(steps.bit_length()))
        return arb(times * sum(shares)).sqrt()
    if short == "SquareRoot":
        column = [arb(1)]
        for j in range(1, steps):
            column.append(column[-1] * (2 * j - 1) / (2 * j))
    elif short == "BLT":
        need(all(isinstance(x, list) and len(x) <= 100 for x in rest), "a BLT must have two lists")
        decays = [number(x, "a decay", 0.0, 1 - 2.0**-53) for x in rest[0]]
        terms, column = [number(x, "a weight", -1e6, 1e6) for x in rest[1]], [arb(1)]
        spend(4 * steps * len(decays))
        while len(column) < steps:
            column.append(sum(terms, arb(0)))
            terms = [x * decay for x, decay in zip(terms, decays, strict=True)]
    else:
        need(
            isinstance(rest[0], list) and 1 <= len(rest[0]) <= steps, "bands must be at most steps"
        )
        column = [number(x, "a coefficient", -1e6, 1e6) for x in rest[0]]
        need(column[0] == 1, "the first coefficient must be 1")
        if rest[1] is not False:  # columns of norm 1
            need(rest[1] is True and len(column) <= apart, "normalised columns must share no row")
            return arb(times).sqrt()
    column = [abs(x) for x in column]
    if way == "matrix.MinSeparation" and times > 1 and len(column) > apart:
        for j in reversed(range(len(column) - 1)):  # the least that does not increase
            column[j] = column[j].max(column[j + 1])
    column += [arb(0)] * (steps - len(column))
    rows: list[Any] = []  # of the sum of columns 0, apart, 2 apart, .., (times - 1) apart
    for j, x in enumerate(column):
        past = rows[j - apart] if j >= apart else 0
        rows.append(x + past - (column[j - times * apart] if j >= times * apart else 0))
    return sum((x * x for x in rows), arb(0)).sqrt()


def discrete_gaussian(sigma: Any, shift: int) -> list[tuple[Any, Any]]:
    """Return the atoms of (D + shift, D); what is cut off goes to infinite losses (T2)."""
    spend(4 * (shift + 10 * float(sigma)) * ctx.prec**0.5)
    reach = 2 + int(float(sigma) * math.sqrt(1.4 * ctx.prec + 60))
    need(shift + 2 * reach < 10**5, "a discrete Gaussian must be narrower or of less sensitivity")
    half = 1 / (2 * sigma * sigma)
    weights = [(-half * j * j).exp() for j in range(reach + shift + 1)]
    after = (-half * (reach + shift + 1) ** 2).exp()
    after = after / (1 - (-2 * half * (reach + shift + 1)).exp())  # a geometric series, on one side
    total = 2 * (sum(weights, arb(0)) + after.union(arb(0))) - 1
    kept = range(-reach, reach + shift + 1)
    atoms = [(weights[abs(j - shift)] / total, weights[abs(j)] / total) for j in kept]
    outside = [(1 - sum((atom[i] for atom in atoms), arb(0))).max(arb(0)) for i in (0, 1)]
    return [*atoms, (outside[0], arb(0)), (arb(0), outside[1])]


MOVES = {"add_remove": 1, "zero_out": 1, "replace_one": 2}  # how far a record moves a query


def composition(data: Any, adjacency: Any) -> list[tuple[Law, int]]:
    """Return the pairs with their counts, all Gaussian noise as one."""
    need(isinstance(adjacency, str) and adjacency in MOVES, "the adjacency must be known")
    need(
        isinstance(data, list) and 1 <= len(data) <= 1000, "the composition must be a list of parts"
    )
    laws: dict[str, tuple[Law, int]] = {}
    square = arb(0)
    for part in data:
        mechanism, count = fields(part, "a part", "mechanism count")
        times, law = whole(count, "count", 1, 10**12), law_of(mechanism, adjacency)
        if law.kind == "gaussian" and law.rate is None:
            square += times * law.value * law.value
            continue
        name = json.dumps(mechanism, sort_keys=True)
        laws[name] = (law, times + (laws[name][1] if name in laws else 0))
    return [(Law("gaussian", square.sqrt()), 1)] * (square > 0) + list(laws.values())


# Curves: delta of one use at ascending epsilons (T2).


def normal_tail(x: Any) -> Any:
    """Return the probability that a standard normal variable exceeds x."""
    return (x / arb(2).sqrt()).erfc() / 2


def curve(law: Law, direction: str, points: Sequence[Any]) -> list[Any]:
    """Return delta at points in ascending order."""
    if law.rate is None:  # every pair here is its own reverse
        return base_curve(law, points)
    if direction == "add":  # of (Q, P): 1 - e^x + e^x delta(-x)
        mirrored = curve(law, "remove", [-x for x in reversed(points)])
        grown = [x.exp() for x in points]
        return [1 - e + e * c for e, c in zip(grown, reversed(mirrored), strict=True)]
    grown = [x.exp() for x in points]
    inner = [1 + (e - 1) / law.rate for e in grown]  # what the sample's ratio is to the base
    above = [e.log() for e in inner if e > 0]
    base = iter(base_curve(law, above))
    return [
        law.rate * next(base) if i > 0 else 1 - e + law.rate * i.max(arb(0)).union(arb(0))
        for e, i in zip(grown, inner, strict=True)
    ]


def base_curve(law: Law, points: Sequence[Any]) -> list[Any]:
    """Return delta of the pair without sampling."""
    value, zero = law.value, arb(0)
    if law.kind == "gaussian":
        return [
            normal_tail(x / value - value / 2) - x.exp() * normal_tail(x / value + value / 2)
            for x in points
        ]
    if law.kind == "laplace":
        return [(1 - x.min((x - value) / 2).exp()).max(zero) for x in points]
    need(law.kind == "atoms", "a zCDP mechanism has no curve: only Renyi divergences are known")
    free = sum((p for p, q in value if q.is_zero()), zero)
    finite = [(p, q) for p, q in value if not (p.is_zero() or q.is_zero())]
    losses = [(p / q).log() for p, q in finite]
    need(all(loss.is_finite() for loss in losses), "the masses of a pair must be certain")
    radius = max((loss.rad() for loss in losses), default=zero)
    order = sorted(range(len(finite)), key=lambda i: losses[i].mid())
    place, p_above, q_above, found = len(order), free, zero, []
    for x in reversed(points):
        while place and losses[order[place - 1]].mid() - radius > x:
            place -= 1
            p_above, q_above = (
                a + b for a, b in zip((p_above, q_above), finite[order[place]], strict=True)
            )
        total, near = p_above - x.exp() * q_above, place
        while near and not losses[order[near - 1]].mid() + radius < x:  # cannot be told from x
            near -= 1
            p, q = finite[order[near]]
            total += (p - x.exp() * q).max(zero).union(zero)
        found.append(total)
    return found[::-1]


def curve_reading(data: Any, parts: list[tuple[Law, int]], direction: str, epsilon: Any) -> Any:
    """Bound delta by tilted masses on a lattice, convolved cyclically: never below (T1, T2)."""
    _, _, step, tilt, size, given = fields(
        data, "a proof", "directions reading step tilt size parts"
    )
    step, tilt = double(step, "step", 1e-12, 1e4), double(tilt, "tilt", 1e-9, 1e6)
    size = whole(size, "size", 1, 2**21)
    need(isinstance(given, list) and len(given) == len(parts), "parts must be those composed")
    product, safe, start, total = arb_poly([1]), arb(1), arb(0), arb(1)
    ones = arb_poly([1] * size)
    for (law, count), place in zip(parts, given, strict=True):
        first, length = fields(place, "a part", "first points")
        length = whole(length, "points", 1, 2**21)
        need(length <= 64 * size, "the lattice must be longer")
        spend(40 * length + 3 * size * (2 * count.bit_length() - 1))
        first = double(first, "first", -1e6, 1e6)
        points = [first + m * step for m in range(length)]
        masses, infinite = lattice_law(curve(law, direction, points), points)
        safe *= (1 - infinite) ** count
        start += count * first
        weights = [p * (tilt * step * m).exp() for m, p in enumerate(masses)]
        mass = sum(weights, arb(0))
        total *= mass**count
        used = power(cyclic(arb_poly([w / mass for w in weights]), ones), count, ones)
        product = cyclic(product * used, ones)
    place = (epsilon - start) / step
    least = max(int(float(place.mid())) - 2, 0) if place.mid() < 10**9 else 10**9
    while least <= place.mid() + 2 and not start + least * step > epsilon:
        least += 1
    at = start + (least - 1) * step  # the last point that is not certainly above
    need(start + least * step > epsilon, "the lattice must be told from epsilon")
    edge = (1 - (epsilon - at).exp()).max(arb(0)) if least > 0 else arb(0)
    masses = product.coeffs() + [arb(0)] * (size - len(product.coeffs()))
    turned = arb_poly(masses[least % size :] + masses[: least % size])
    kept = arb(0)
    for exponent, weight in ((tilt, arb(1)), (tilt + 1, -(epsilon - start).exp())):
        ratio = (-exponent * step).exp()
        kept += weight * ratio**least / (1 - ratio**size) * turned(ratio)
    upper, (law, count) = edge + 1 - safe + total * kept, parts[0]
    if len(parts) > 1 or count > 1 or law.rho is not None:  # rho: what is cut off makes it larger
        return upper, None
    return upper, curve(law, direction, [epsilon])[0]  # of one use the curve itself, enclosed


def lattice_law(values: list[Any], points: list[Any]) -> tuple[list[Any], Any]:
    """Return the P-masses, and that of infinity, of a curve linear in e^x between points."""
    grown = [x.exp() for x in points]
    slopes = [(values[0] - 1) / grown[0]]  # from delta = 1 where e^x = 0
    for m in range(1, len(points)):
        slopes.append((values[m] - values[m - 1]) / (grown[m] - grown[m - 1]))
    slopes.append(arb(0))
    return [e * (b - a) for e, a, b in zip(grown, slopes[:-1], slopes[1:], strict=True)], values[-1]


def cyclic(product: Any, ones: Any) -> Any:
    """Return a polynomial modulo x^size - 1, its balls rounded to one exponent, which is faster."""
    size = ones.length()
    while product.length() > size:
        product = product.truncate(size) + product.right_shift(size)
    return product + ones - ones


def power(base: Any, count: int, ones: Any) -> Any:
    """Return a power modulo x^size - 1."""
    result = base
    for bit in bin(count)[3:]:
        result = cyclic(result * result, ones)
        result = cyclic(result * base, ones) if bit == "1" else result
    return result


# The moments of a sampled Gaussian: E over x ~ N(0, 1) of r(x)^a, r = 1 - q + q e^(m x - m^2/2).


def shifted_moment(law: Law, order: Any, height: Any, frequency: Any) -> Any:
    """Bound the integral of |r^(order + i frequency) density| on the line x + i height.

    That is e^(height^2/2) times the integral of density(x) |r|^order e^(-frequency arg r), in which
    0 <= arg r <= m height <= pi/2. It falls in the frequency.
    """
    q, m = law.rate, law.value
    angle = m * height
    need(
        height >= 0 and angle <= arb.pi() / 2, "a shift must be in [0, pi/2] over that of the mean"
    )
    most = (-frequency * angle).max(arb(0))  # of the exponent that the phase adds
    reach = arb(2 * (0.7 * ctx.prec + 10 + float(most.upper())) + 1).sqrt().mid()
    last = reach + (order * m).max(arb(0)).mid()
    drift, turn, root = -m * m / 2, acb(angle * 0, angle), (2 * arb.pi()).sqrt()

    def integrand(x: Any, analytic: bool) -> Any:
        spend(20)
        up = (1 - q + q * (m * x + drift + turn).exp()).log(analytic=analytic)
        down = (1 - q + q * (m * x + drift - turn).exp()).log(analytic=analytic)
        phase = (up - down) / acb(0, 2)
        return ((height * height - x * x) / 2 + order * (up + down) / 2 - frequency * phase).exp()

    small = arb(2) ** (10 - ctx.prec)
    inside = acb.integral(
        integrand, -reach, last, rel_tol=small, abs_tol=small, eval_limit=2 * 10**5
    )
    tails = size_at(law, order, -reach) * normal_tail(reach)
    tails += size_at(law, order, last) * normal_tail(last - (order * m).max(arb(0)))
    value = inside.real / root + (tails * (height * height / 2 + most).exp()).union(arb(0))
    need(value.is_finite(), "an integral over outputs must converge")
    return value


def size_at(law: Law, order: Any, x: Any) -> Any:
    """Bound r^order density beyond x, over the density, on the right over that of x - order m.

    On the left r is at most r(x); on the right log r rises by at most m; and r >= 1 - q.
    """
    q, m = law.rate, law.value
    if order < 0:
        return (1 - q) ** order
    size = (1 - q + q * (m * x - m * m / 2).exp()) ** order
    return size if x < 0 else size * (order * m * (order * m / 2 - x)).exp()


def transform(law: Law, sign: int, order: Any, step: Any, nodes: int, data: Any) -> tuple[Any, Any]:
    """Return E[r^(order + i sign y)], y = 0, step, ..., and a bound of its size beyond (T4, T5)."""
    spacing, first, last, strip, shift = fields(data, "a part", "step first last strip shift")
    spacing = double(spacing, "step", 1e-9, 8.0)
    first, last = whole(first, "first", -(10**7), -1), whole(last, "last", 1, 10**7)
    number_of = last - first + 1
    spend(number_of * nodes / 4 + 2 * number_of * math.isqrt(nodes) + 5 * nodes)
    strip, shift = double(strip, "strip", 1e-9, 1e6), double(shift, "shift", 0.0, 1e6)
    q, m = law.rate, law.value
    beyond = shifted_moment(law, order, shift, step * nodes)
    error = 2 * shifted_moment(law, order, strip, -step * (nodes - 1))
    error /= (2 * arb.pi() * strip / spacing).expm1()
    for n, centre in ((first - 1, arb(0)), (last + 1, (order * m).max(arb(0)))):
        far = abs(n * spacing - centre)
        need(n * (n * spacing - centre) > 0, "the nodes over outputs must surround what they sum")
        rest = (-far * far / 2).exp() / (1 - (-far * spacing).exp()) * spacing
        error += size_at(law, order, n * spacing) * rest / (2 * arb.pi()).sqrt()
    ratios = [
        (1 - q + q * (m * n * spacing - m * m / 2).exp()).log() for n in range(first, last + 1)
    ]
    scale = spacing / (2 * arb.pi()).sqrt()
    weights = [
        scale * (order * ratio - (n * spacing) ** 2 / 2).exp()
        for n, ratio in zip(range(first, last + 1), ratios, strict=True)
    ]
    block = math.isqrt(nodes - 1) + 1  # node j = block * row + column: one product of two matrices
    turns = [acb(0, sign * step * ratio).exp() for ratio in ratios]
    columns = [powers(acb(1), turn, block) for turn in turns]
    rows = [
        powers(acb(w), c[-1] * t, block) for w, c, t in zip(weights, columns, turns, strict=True)
    ]
    left = acb_mat(block, number_of, [row[i] for i in range(block) for row in rows])
    table = left * acb_mat(number_of, block, [entry for column in columns for entry in column])
    ball = (-error).union(error)
    return [value + acb(ball, ball) for value in table.entries()[:nodes]], beyond


def powers(start: Any, ratio: Any, count: int) -> list[Any]:
    """Return start, start ratio, start ratio^2, ..."""
    found = [start]
    while len(found) < count:
        found.append(found[-1] * ratio)
    return found


def line_reading(data: Any, parts: list[tuple[Law, int]], direction: str, epsilon: Any) -> Any:
    """Bound delta by the trapezoidal sum of the inversion integral, its tail and its aliases."""
    names = "directions reading tilt step nodes parts aliases"
    _, _, tilt, step, nodes, given, aliases = fields(data, "a proof", names)
    tilt, step = double(tilt, "tilt", 1e-12, 1e9), double(step, "step", 1e-12, 1e9)
    nodes = whole(nodes, "nodes", 2, 10**6)
    need(all(law.kind == "gaussian" for law, _ in parts), "the line takes Gaussian noise only")
    square = sum((law.value**2 for law, _ in parts if law.rate is None), arb(0))
    sampled = [(law, count) for law, count in parts if law.rate is not None]
    need(isinstance(given, list) and len(given) == len(sampled), "parts must be those sampled")
    sign, order = (1, 1 + tilt) if direction == "remove" else (-1, -tilt)
    points = [acb(tilt, step * j) for j in range(nodes)]
    values = [((z * z + z) * square / 2 - z * epsilon).exp() / (z * (z + 1)) for z in points]
    last = step * nodes
    beyond = ((tilt * tilt + tilt - last * last) * square / 2 - tilt * epsilon).exp()
    for (law, count), place in zip(sampled, given, strict=True):
        moments, bound = transform(law, sign, order, step, nodes, place)
        values = [value * moment**count for value, moment in zip(values, moments, strict=True)]
        beyond *= bound.min(moments[0].real) ** count
    tail = beyond / (step * step * (nodes - 1))  # sum over j >= nodes of 1/(j step)^2
    kept = values[0].real / 2 + sum((value.real for value in values[1:]), arb(0))
    scale = step / arb.pi()
    upper = scale * (kept + tail.union(arb(0)))
    if aliases is None:
        return upper, None
    need(isinstance(aliases, list) and len(aliases) == 2, "aliases must be two tilts")
    below, above = (double(text, "a tilt", 0.0, 1e9) for text in aliases)
    need(below < tilt < above, "the tilts of aliases must lie on both sides")
    lost = scale * tail
    for other, gap in ((below, tilt - below), (above, above - tilt)):
        size = ((other * other + other) * square / 2 - other * epsilon).exp()
        order = 1 + other if direction == "remove" else -other
        for law, count in sampled:
            size *= shifted_moment(law, order, arb(0), arb(0)) ** count
        ratio = (-2 * arb.pi() * gap / step).exp()
        lost += size * ratio / (1 - ratio)
    return upper, scale * kept - lost


# Renyi divergences.


def log_moment(law: Law, direction: str, alpha: Any) -> Any:
    """Return log E_Q[(dP/dQ)^alpha]; of "add" for the pair (Q, P)."""
    value, order = law.value, alpha if direction == "remove" else 1 - alpha
    if law.rho is not None and law.rate is None:
        return (alpha - 1) * ((value if law.kind == "zcdp" else 0) + law.rho * alpha)
    if law.kind == "gaussian":
        if law.rate is None:
            return alpha * (alpha - 1) * value * value / 2
        return shifted_moment(law, order, arb(0), arb(0)).log()
    rate = arb(1) if law.rate is None else law.rate
    if law.kind == "laplace":
        ends = [(1 - rate + rate * loss.exp()) ** order for loss in (-value, value)]

        def integrand(x: Any, analytic: bool) -> Any:
            spend(10)
            ratio = 1 - rate + rate * ((2 * x - 1) * value).exp()
            return (order * ratio.log(analytic=analytic) - x * value).exp() * value / 2

        inside = acb.integral(integrand, 0, 1, eval_limit=2 * 10**5).real
        return (ends[0] / 2 + ends[1] * (-value).exp() / 2 + inside).log()
    total = arb(0)
    for p, q in value:
        if q.is_zero():
            need(
                p.is_zero(), "a divergence is infinite where all is revealed with some probability"
            )
        elif direction == "remove" or rate < 1 or not p.is_zero():
            total += q * (1 - rate + rate * p / q) ** order
        else:
            raise Rejected("a divergence is infinite where all is revealed with some probability")
    return total.log()


def renyi_reading(data: Any, parts: list[tuple[Law, int]], direction: str, epsilon: Any) -> Any:
    """Bound delta by the log moment of one order."""
    _, _, order, low, high = fields(data, "a proof", "directions reading order low high")
    alpha, high = double(order, "order", 1 + 2.0**-40, 1e6), double(high, "high", -1e6, 1e6)
    low = None if low is None else double(low, "low", -1e6, 1e6)
    total = sum((count * log_moment(law, direction, alpha) for law, count in parts), arb(0))
    return touching(alpha, total, low, high, epsilon)[0], None


def touching(alpha: Any, total: Any, low: Any, high: Any, epsilon: Any) -> tuple[Any, Any]:
    """Bound delta by a curve that touches 0 at r = e^low, and r - e^epsilon near e^high (T6)."""
    beta, gamma, near = alpha - 1, epsilon.exp(), arb(0) if low is None else low.exp()
    slope, floor, far = alpha * near**beta, beta * near**alpha, high.exp()
    for _ in range(100):  # Newton's method for g(r) = g'(r) (r - gamma); any result will do
        rise = far - gamma
        missed = far**alpha - slope * far + floor - (alpha * far**beta - slope) * rise
        change = missed / (alpha * beta * far ** (alpha - 2) * rise)
        if not change.is_finite() or not far + change > gamma:
            break
        far = (far + change).mid()
        if abs(change) < far * arb(2) ** (12 - ctx.prec):
            break
    scale = 1 / (alpha * far**beta - slope)
    need(far > near and scale > 0, "the upper point must be above the lower one")
    short = far - gamma - scale * (far**alpha - slope * far + floor)  # at its minimum, r = far
    return scale * (total.exp() - slope + floor) + short.max(arb(0)), far.log()


UNREADABLE = (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
READINGS = {"curve": curve_reading, "line": line_reading, "renyi": renyi_reading}


# The whole.


def check_text(text: str | bytes) -> Verdict:
    """Return what a certificate proves.

    Raises
    ------
    Rejected
        If it is not a certificate, or one of its inequalities does not hold.
    ImportError
        If python-flint is missing.
    """
    if ctx is None:
        raise ImportError("certificates need python-flint: python -m pip install python-flint")
    need(len(text) <= LARGEST_FILE, "a certificate must be shorter")
    before, SPENT[0] = ctx.prec, 0.0
    try:
        data = json.loads(text, object_pairs_hook=distinct, parse_constant=constant)
        return verdict(data)
    except Rejected:
        raise
    except UNREADABLE as error:
        raise Rejected(f"it cannot be evaluated: {type(error).__name__}: {error}"[:300]) from error
    finally:
        ctx.prec = before


def digest(data: Any) -> str:
    """Return the SHA-256 of the canonical text of a certificate."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def verdict(data: Any) -> Verdict:
    """Check a certificate that was read."""
    names = "schema bits adjacency composition claim theorems proofs"
    schema, bits, adjacency, composed, claim, theorems, proofs = fields(
        data, "a certificate", names
    )
    need(schema == SCHEMA, f"the schema must be {SCHEMA}")
    ctx.prec = whole(bits, "bits", 64, 1024)
    epsilon, delta, lower = fields(claim, "the claim", "epsilon delta delta_lower")
    epsilon, delta = double(epsilon, "epsilon", 0.0, 1e5), double(delta, "delta", 0.0, 1.0)
    lower = None if lower is None else double(lower, "delta_lower", 0.0, 1.0)
    parts = composition(composed, adjacency)
    need(isinstance(proofs, list) and 1 <= len(proofs) <= 2, "there must be one proof or two")
    used: set[str] = set()
    lines, covered, below = [], [], []
    for proof in proofs:
        need(isinstance(proof, dict), "a proof must be an object")
        reading, sides = proof.get("reading"), proof.get("directions")
        need(isinstance(reading, str) and reading in READINGS, "a reading must be known")
        need(sides in (["remove"], ["add"], ["remove", "add"]), "directions must be known")
        if len(sides) == 2:
            need(all(law.rate is None for law, _ in parts), "each direction must have its proof")
        upper, least = READINGS[reading](proof, parts, sides[0], epsilon)
        need(
            upper <= delta, f"delta({text_of(epsilon)}) <= {text_of(delta)} is not proved: {upper}"
        )
        covered += sides
        used.update(USED[reading] + (("T7",) if reading == "line" and least is not None else ()))
        below.append(least)
        lines.append(f"{' and '.join(sides)}: by {reading}, delta <= {upper.str(17, radius=False)}")
    need(sorted(covered) == ["add", "remove"], "both directions must be proved, each once")
    need(theorems == sorted(used), f"the theorems must be {', '.join(sorted(used))}")
    if lower is not None:  # of the worse direction
        need(any(b is not None and b >= lower for b in below), "the lower end is not proved")
        lines.append(f"delta >= {text_of(lower)}")
    lines.insert(
        0, f"verified: delta({text_of(epsilon)}) <= {text_of(delta)}, adjacency {adjacency}"
    )
    for part in composed:
        lines.append(f"of {part['count']} x {json.dumps(part['mechanism'])[:300]}")
    lines += [f"by {name}: {THEOREMS[name]}" for name in sorted(used)]
    lines += [f"assumed: {line}" for line in ASSUMED]
    lines.append(f"sha256 {digest(data)}")
    ends = (float(epsilon), float(delta), None if lower is None else float(lower))
    return Verdict(*ends, tuple(lines))


def text_of(value: Any) -> str:
    """Return an exact double as it is usually written."""
    return repr(float(value))


def __dir__() -> list[str]:
    return __all__


def main(arguments: Iterable[str]) -> int:
    """Check files and return 0 if all are verified, else 1."""
    files, code = list(arguments), 0
    if not files:
        print("usage: check.py certificate.json ...", file=sys.stderr)
        return 1
    for name in files:
        try:
            with open(name, "rb") as file:
                lines = check_text(file.read(LARGEST_FILE + 1)).lines
        except (Rejected, OSError, ImportError) as error:
            code, lines = 1, (f"rejected: {name}: {error}",)
        print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
