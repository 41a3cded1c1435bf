"""Checks certificates of differential privacy: `python check.py file` or `renyi check file`.

A certificate claims for a composition of mechanisms that d' <= delta(epsilon) <= d, where
delta(epsilon) = E_P[(1 - e^(epsilon - L))_+] for the pairs (P, Q) of the mechanisms, L = log dP/dQ.
This module evaluates all in ball arithmetic (python-flint), where a number carries a bound of its
error. Numbers in a certificate only say where to evaluate; nothing in it is trusted. docs/proofs.md
proves the theorems, T1 to T9. A report that states the hash of a certificate is checked with it.
The exit code is 0 if all is verified, else 1.
"""

import hashlib
import json
import math
import re
import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

try:
    from flint import acb, acb_mat, arb, arb_poly, ctx
except ImportError:  # the error is raised when a certificate is made or checked
    ctx = None  # type: ignore[assignment]

__all__ = ["Rejected", "check_text", "digest"]

SCHEMA = "renyi-certificate-1"
LARGEST_FILE = 2**24  # bytes
MOST_WORK = 5 * 10**7  # in products of balls, about a microsecond each
THEOREMS = {
    "T1": "composition adds independent losses; dominating parts dominate (Zhu, Dong, Wang 2022)",
    "T2": "a curve at points, joined by lines in e^epsilon, dominates (Doroshenko and others 2022)",
    "T3": "the trapezoidal sum of the inversion integral is never below delta (Poisson summation)",
    "T4": "the transform beyond the last node is bounded on a shifted line (Cauchy)",
    "T5": "the error of a trapezoidal sum over outputs is bounded on two shifted lines (Cauchy)",
    "T6": "a r^alpha + b r + c >= (r - e^epsilon)_+ bounds delta by the Renyi divergence",
    "T7": "aliases are below 1 on one side and Chernoff bounds on the other",
    "T8": "a law on a lattice, one spacing lower and without infinity, is dominated",
    "T9": "of random allocation r is a mean of independent ratios, whose put has a transform",
}
ASSUMED = (
    "noise is drawn from the laws named, and a record moves a query by at most its sensitivity",
    "samples are drawn independently at the rates named, and are secret",
    "the pairs of docs/proofs.md dominate the mechanisms named (theorems of their papers)",
    "python-flint encloses what it computes",
)


class Rejected(ValueError):
    """A certificate proves nothing; the message says where it fails."""


class Verdict(NamedTuple):
    """The verified claim lower <= delta(epsilon) <= delta, and a description of the proof."""

    epsilon: float
    delta: float
    lower: float
    sha256: str
    lines: tuple[str, ...]


class Law(NamedTuple):
    """The pair of one use; without a rate it is its own reverse."""

    kind: str  # gaussian: shift; laplace: largest loss; atoms: pairs of masses; zcdp: xi;
    value: Any  # allocation: shift, steps and, when it is evaluated, the transform
    rate: Any = None  # of its Poisson sample
    rho: Any = None  # its divergences are known to be at most xi + rho alpha


Parts = list[tuple[Law, int]]
SPENT = [0.0]


def need(condition: object, reason: str) -> None:
    """Reject unless a condition holds."""
    if not condition:
        raise Rejected(reason)


def spend(work: float) -> None:
    """Count work, and reject a certificate that needs more than any honest one."""
    SPENT[0] += work * (64 + ctx.prec) / 192
    need(SPENT[0] <= MOST_WORK, "it must take less work")


# Reading: every object has exactly the fields of its table, every number is within its range. A
# range with integer ends is of integers, others are of doubles; a list is of numbers, None is read
# later.

NOISE, STEPS, REST = (1e-3, 1e9), (1, 10**6), (0.0, 1.0)
FIELDS: dict[str, dict[str, Any]] = {
    "Gaussian": {"noise_multiplier": NOISE},
    "Laplace": {"noise_multiplier": NOISE},
    "RandomizedResponse": {"p": REST, "choices": (2, 10**9)},
    "PureDP": {"epsilon": (0.0, 500.0)},
    "ApproxDP": {"epsilon": (0.0, 500.0), "delta": REST},
    "DiscreteLaplace": {"scale": (1e-2, 1e9), "sensitivity": (1, 10**4)},
    "DiscreteGaussian": {"sigma": (0.01, 1e3), "sensitivity": (1, 10**4)},
    "ZCDP": {"rho": (0.0, 1e9), "xi": (0.0, 1e9)},
    "MatrixMechanism": {"strategy": None, "noise_multiplier": NOISE, "participation": None},
    "PoissonSampled": {"mechanism": None, "sample_rate": (1e-12, 1.0)},
    "RandomAllocation": {"mechanism": None, "steps": STEPS, "picks": (1, 10**6)},
    "matrix.BandedToeplitz": {"steps": STEPS, "coefficients": [-1e6, 1e6], "normalised": None},
    "matrix.BLT": {"steps": STEPS, "decays": [0.0, 1 - 2.0**-53], "weights": [-1e6, 1e6]},
    "matrix.SquareRoot": {"steps": STEPS},
    "matrix.Tree": {"steps": (1, 10**9), "honaker": None, "restart": None},
    "matrix.SinglePass": {},
    "matrix.FixedEpochs": {"period": (1, 10**9)},
    "matrix.MinSeparation": {"separation": (1, 10**9), "count": None},
}
PARTS = ("schema", "bits", "adjacency", "composition", "claim", "theorems", "proofs")
CLAIM = {"epsilon": (0.0, 1e5), "delta": REST, "delta_lower": REST}
LATTICE = {"first": (-1e6, 1e6), "points": (1, 2**21)}
INVERSION: dict[str, Any] = {
    "tilt": (1e-12, 1e9),
    "step": (1e-12, 1e9),
    "nodes": (2, 10**6),
    "shift": (0.0, 1e6),
}
OUTPUTS = {"spacing": (1e-9, 1.0), "strip": (1e-9, 1e6), "shift": (0.0, 1e6)}
CURVE = {"step": (1e-12, 1e4), "tilt": (1e-9, 1e6), "size": (1, 2**21), "parts": None}
LINE = {key: INVERSION[key] for key in ("tilt", "step", "nodes")}
LINE |= {"above": (1e-12, 1e9), "parts": None}
RENYI = {"order": (1 + 2.0**-40, 1e6), "low": (-1e6, 1e6), "high": (-1e6, 1e6)}
HEX = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}")


def read(data: Any, names: dict[str, Any], written: type = str) -> list[Any]:
    """Return the values of an object; doubles are written as hexadecimal text, or as numbers."""
    need(
        isinstance(data, dict) and data.keys() == names.keys(), f"fields must be {', '.join(names)}"
    )
    return [number(data[name], name, within, written) for name, within in names.items()]


def number(given: Any, name: str, within: Any, written: type = str) -> Any:
    """Return an exact number within its range, or a list of numbers."""
    if within is None:
        return given
    if isinstance(within, list):
        need(isinstance(given, list) and len(given) <= 10**6, f"{name} must be a list")
        return [number(one, name, tuple(within), written) for one in given]
    low, high = within
    if written is str and isinstance(low, float):
        need(
            isinstance(given, str) and HEX.fullmatch(given), f"{name} must be a hexadecimal double"
        )
        given = float.fromhex(given)
    kinds = (int,) if isinstance(low, int) else (int, float)
    need(type(given) in kinds and low <= given <= high, f"{name} must be in [{low}, {high}]")
    return given if isinstance(low, int) else arb(float(given))


def typed(data: Any, what: str, matrix: bool = False) -> list[Any]:
    """Return the type of an object and its values."""
    kind = str(data.get("type")) if isinstance(data, dict) else ""
    known = kind in FIELDS and kind.startswith("matrix.") == matrix
    need(known, f"no {what} is known here of {kind[:40]!r}")
    return read(data, {"type": None, **FIELDS[kind]}, float)


# Mechanisms, and the pairs that dominate them.

MOVES = {"add_remove": 1, "zero_out": 1, "replace_one": 2}  # how far neighbours move a query


def law_of(data: Any, adjacency: str) -> Law:
    """Return the pair of a mechanism."""
    moved = MOVES[adjacency]
    kind, *values = typed(data, "pair")
    if kind == "MatrixMechanism":
        need(adjacency != "add_remove", f"{kind} needs records that keep their place")
    if kind in ("PoissonSampled", "RandomAllocation"):
        need(moved == 1, f"{kind} has no pair here where records are replaced")
    match kind, *values:
        case "Gaussian", noise:
            return Law("gaussian", moved / noise)
        case "MatrixMechanism", strategy, noise, scheme:  # Denisov and others 2022
            return Law("gaussian", moved * sensitivity(strategy, scheme) / noise)
        case "Laplace", noise:
            return Law("laplace", moved / noise)
        case "RandomizedResponse", true, choices:
            false, rest = (1 - true) / (choices - 1), (1 - true) * (choices - 2) / (choices - 1)
            return Law("atoms", [(true, false), (false, true), (rest, rest)])
        case "PureDP" | "ApproxDP", loss, *fails:
            failing = fails[0] if fails else arb(0)
            high = (1 - failing) / (1 + (-loss).exp())
            low = 1 - failing - high
            return Law("atoms", [(failing, arb(0)), (high, low), (low, high), (arb(0), failing)])
        case "DiscreteLaplace", scale, shift:
            shift, decay = moved * shift, (-1 / scale).exp()
            end, last, unit = 1 / (1 + decay), decay**shift / (1 + decay), (1 - decay) / (1 + decay)
            inner = [(unit * decay**j, unit * decay ** (shift - j)) for j in range(1, shift)]
            return Law("atoms", [(end, last), (last, end), *inner])
        case "DiscreteGaussian", sigma, shift:
            rho = (moved * shift / sigma) ** 2 / 2
            return Law("atoms", discrete_gaussian(sigma, moved * shift), rho=rho)
        case "ZCDP", rho, xi:
            return Law("zcdp", xi, rho=rho)
        case "PoissonSampled", base, rate:
            law = law_of(base, adjacency)
            need(law.kind != "zcdp", "a sample of a zCDP mechanism has no pair")
            share = rate if law.rate is None else rate * law.rate
            return law if share == 1 else law._replace(rate=share)
    base, steps, picks = values
    law = law_of(base, adjacency)
    need(
        law.kind == "gaussian" and law.rate is None and picks == 1,
        "random allocation must be of Gaussian noise, with one pick",
    )
    return Law("allocation", (law.value, steps), arb(1)) if steps > 1 else law


def sensitivity(strategy: Any, scheme: Any) -> Any:
    """Bound the move of C g by a record of size 1; C is a Toeplitz matrix, column c, or the tree.

    By the steps i of a record C g moves by at most |sum of |column i||. If |c| does not increase,
    the first steps and the least distance are the worst (Kalinin, Lampert 2024, Theorem 2). They
    are the worst, too, if columns share no row, or the distance is fixed, since later columns are
    cut.
    """
    name, steps, *rest = typed(strategy, "sensitivity", True)
    way, *spread = typed(scheme, "sensitivity without amplification", True)
    apart, most = (*spread, steps)[:2] if spread else (steps, steps)
    most = steps if most is None else number(most, "count", (1, 10**9))
    times = min(most, -(-steps // apart))
    if name == "matrix.Tree":  # a node of each height holds few of a record's steps
        need(rest[1] is None, "a tree must not restart")
        if way == "matrix.FixedEpochs":  # over all complete nodes, for every first step
            spend(40 * steps * steps.bit_length())

            def moved(start: int) -> int:
                taken, heights = range(start, steps, apart), range(steps.bit_length())
                nodes = (
                    (h, *node) for h in heights for node in Counter(i >> h for i in taken).items()
                )
                return sum(n * n for h, b, n in nodes if (b + 1) << h <= steps)

            return arb(max(moved(start) for start in range(min(apart, steps)))).sqrt()
        shares = (min(times, -(-(2**h) // apart)) for h in range(steps.bit_length()))
        return arb(times * sum(shares)).sqrt()
    spend(4 * steps * (2 + (len(rest[0]) if name == "matrix.BLT" else 0)))
    column = [arb(1)]
    if name == "matrix.SquareRoot":
        for j in range(1, steps):
            column.append(column[-1] * (2 * j - 1) / (2 * j))
    elif name == "matrix.BLT":
        decays, terms = rest
        while len(column) < steps:
            column.append(sum(terms, arb(0)))
            terms = [x * decay for x, decay in zip(terms, decays, strict=True)]
    else:
        column, unit = rest
        need(0 < len(column) <= steps and column[0] == 1, "the first of the bands must be 1")
        need(unit is False or (unit is True and len(column) <= apart), "columns must share no row")
        if unit:  # the columns have norm 1
            return arb(times).sqrt()
    column = [abs(x) for x in column]
    if way == "matrix.MinSeparation" and times > 1 and len(column) > apart:
        for j in reversed(range(len(column) - 1)):  # the least majorant that does not increase
            column[j] = column[j].max(column[j + 1])
    column += [arb(0)] * (steps - len(column))
    rows: list[Any] = []  # entries of the sum of columns 0, apart, 2 apart, .., (times - 1) apart
    for j, x in enumerate(column):
        past = rows[j - apart] if j >= apart else 0
        rows.append(x + past - (column[j - times * apart] if j >= times * apart else 0))
    return sum((x * x for x in rows), arb(0)).sqrt()


def discrete_gaussian(sigma: Any, shift: int) -> list[tuple[Any, Any]]:
    """Return the atoms of (D + shift, D); the mass that is cut off has infinite loss (T2)."""
    reach = 2 + int(float(sigma) * math.sqrt(1.4 * ctx.prec + 60))
    spend(10 * (shift + 2 * reach))
    half, last = 1 / (2 * sigma * sigma), reach + shift + 1
    weights = [(-half * j * j).exp() for j in range(last)]
    after = (-half * last**2).exp() / (1 - (-2 * half * last).exp())  # one side, geometric
    total = 2 * (sum(weights, arb(0)) + after.union(arb(0))) - 1
    kept = range(-reach, last)
    atoms = [(weights[abs(j - shift)] / total, weights[abs(j)] / total) for j in kept]
    outside = [(1 - sum((atom[i] for atom in atoms), arb(0))).max(arb(0)) for i in (0, 1)]
    return [*atoms, (outside[0], arb(0)), (arb(0), outside[1])]


def composition(data: Any, adjacency: Any) -> Parts:
    """Return the pairs with their counts, all Gaussian noise merged into one."""
    need(adjacency in list(MOVES), "the adjacency must be known")
    need(isinstance(data, list) and 1 <= len(data) <= 1000, "a composition must be of 1 to 1000")
    laws: dict[str, tuple[Law, int]] = {}
    square = arb(0)
    for part in data:
        mechanism, count = read(part, {"mechanism": None, "count": (1, 10**12)})
        law, name = law_of(mechanism, adjacency), json.dumps(mechanism, sort_keys=True)
        if law.kind == "gaussian" and law.rate is None:
            square += count * law.value * law.value
        else:
            laws[name] = (law, count + (laws[name][1] if name in laws else 0))
    return [(Law("gaussian", square.sqrt()), 1)] * (square > 0) + list(laws.values())


# Curves: delta of one use, as a function (T2).


def curve(law: Law, direction: str) -> Callable[[Any], Any]:
    """Return the function x -> delta(x) of one use."""
    base, rate, zero = CURVES[law.kind](law.value), law.rate, arb(0)

    def of_sample(x: Any) -> Any:
        inner = 1 + (x.exp() - 1) / rate  # the ratio of the base where the sample's is e^x
        if inner > 0:
            return rate * base(inner.log())
        return 1 - x.exp() + rate * inner.max(zero).union(zero)

    if rate is None:
        return base
    return of_sample if direction == "remove" else lambda x: 1 - x.exp() * (1 - of_sample(-x))


def gaussian_curve(mean: Any) -> Callable[[Any], Any]:
    """Return the curve of (N(mean, 1), N(0, 1))."""
    root = arb(2).sqrt()

    def tail(x: Any) -> Any:
        return (x / root).erfc() / 2

    return lambda x: tail(x / mean - mean / 2) - x.exp() * tail(x / mean + mean / 2)


def atoms_curve(atoms: list[tuple[Any, Any]]) -> Callable[[Any], Any]:
    """Return the curve of finitely many losses; losses too near to x give their positive part."""
    finite = [(p, q, (p / q).log()) for p, q in atoms if not (p.is_zero() or q.is_zero())]
    need(all(loss.is_finite() for _, _, loss in finite), "the masses of a pair must be certain")
    finite.sort(key=lambda atom: atom[2].mid())
    losses = [loss.mid() for _, _, loss in finite]
    radius = max((loss.rad() for _, _, loss in finite), default=arb(0))
    above = [(sum((p for p, q in atoms if q.is_zero()), arb(0)), arb(0))]
    for p, q, _ in reversed(finite):
        above.append((above[-1][0] + p, above[-1][1] + q))
    above.reverse()  # the masses of losses from each on

    def delta(x: Any) -> Any:
        low, high = bisect_left(losses, x - radius), bisect_right(losses, x + radius)
        near = ((p - x.exp() * q).max(arb(0)).union(arb(0)) for p, q, _ in finite[low:high])
        return above[high][0] - x.exp() * above[high][1] + sum(near, arb(0))

    return delta


def allocation_curve(value: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Return the curve of random allocation: E (S/t - e^x)_+ = 1 - e^x + E (e^x - S/t)_+ (T9)."""
    mean, steps, given = value
    tilt, step, nodes, shift = read(given, INVERSION)
    lifted, points = mean * shift, [acb(tilt, step * j) for j in range(nodes)]
    need(lifted <= arb.pi() / 2, "a shift must be at most pi/2 over that of the mean")
    values = [put_transform(mean, z) ** steps / (z * z) for z in points]
    values[0] /= 2
    block = math.isqrt(nodes - 1) + 1
    table = acb_mat(block, block, values + [acb(0)] * (block * block - nodes))
    beyond = put_transform(mean, acb(tilt * lifted.cos() + step * nodes * lifted.sin())).real
    tail = ((shift * shift / 2).exp() * beyond) ** steps / (step * step * (nodes - 1))
    period, zero = 2 * arb.pi() / step, arb(0)
    ratio = (-period * tilt).exp()

    def delta(x: Any) -> Any:
        place = steps * x.exp()
        if not place <= period:
            return arb(1).union(zero)
        spend(nodes / 4 + 10 * block)
        angle = step * place
        turns = [acb(0, angle * j).exp() for j in range(block)]
        jumps = [acb(0, angle * j * block).exp() for j in range(block)]
        kept = (acb_mat(1, block, jumps) * table * acb_mat(block, 1, turns))[0, 0]
        size = (tilt * place).exp() * step / arb.pi()
        aliases = (place + period / (1 - ratio)) * ratio / (1 - ratio)
        put = size * (kept.real + tail.union(-tail)) - aliases.union(zero)
        return 1 - x.exp() + put.max(zero) / steps

    return delta


def put_transform(mean: Any, z: Any) -> Any:
    """Return E e^(-z X), X = e^(mean x - mean^2/2), x ~ N(0, 1), where z X is real (Cauchy)."""
    size, height = abs(z), z.arg() / mean
    reach, drift = arb(1.4 * ctx.prec + 20).sqrt().mid(), mean * mean / 2

    def integrand(x: Any, _: bool) -> Any:
        spend(20)
        line = x - acb(0, height)
        return (-line * line / 2 - size * (mean * x - drift).exp()).exp()

    far = ((height * height - reach * reach) / 2).exp()
    ball = far.union(-far)
    return integral(integrand, -reach, reach) / (2 * arb.pi()).sqrt() + acb(ball, ball)


def integral(f: Callable[[Any, bool], Any], start: Any, end: Any) -> Any:
    """Return an integral, enclosed by adaptive Gauss-Legendre quadrature."""
    small = arb(2) ** (10 - ctx.prec)
    found = acb.integral(f, start, end, rel_tol=small, abs_tol=small, eval_limit=2 * 10**5)
    need(found.is_finite(), "an integral must converge")
    return found


CURVES: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "gaussian": gaussian_curve,
    "laplace": lambda most: lambda x: (1 - x.min((x - most) / 2).exp()).max(arb(0)),
    "atoms": atoms_curve,
    "allocation": allocation_curve,
}


def curve_reading(
    parts: Parts, direction: str, epsilon: Any, step: Any, tilt: Any, size: int, places: Any
) -> tuple[Any, Any]:
    """Bound delta by tilted masses on a lattice, convolved cyclically: never below (T1, T2, T8)."""
    product, safe, start, total, doubled = arb_poly([1]), arb(1), arb(0), arb(1), arb(1)
    moved, sure, dominated = arb(0), arb(1), True
    for (law, count), place in zip(parts, places, strict=True):
        inverted = law.kind == "allocation"
        first, length, *more = read(place, LATTICE | ({"inversion": None} if inverted else {}))
        need(length <= 64 * size, "the lattice must be longer")
        spend(40 * length + 3 * size * (2 * count.bit_length() - 1))
        known = curve(law._replace(value=(*law.value, *more)) if inverted else law, direction)
        points = [first + m * step for m in range(length)]
        values = [known(x) for x in points]
        masses, infinite = lattice_law(values, points)
        weights = [p * (tilt * step * m).exp() for m, p in enumerate(masses)]
        mass = sum(weights, arb(0))
        gaps, down = [], step  # the most that a loss inside the lattice is moved up
        if law.kind == "atoms" and law.rate is None:
            finite = [(p, q) for p, q in law.value if not (p.is_zero() or q.is_zero())]
            gaps = [((p / q).log() - first) / step for p, q in finite]
            down *= max((gap.upper().ceil() - gap for gap in gaps if gap > -1), default=arb(0))
        below = not gaps or not all(gap > -1 for gap in gaps)
        safe *= (1 - infinite) ** count
        start, moved, total = start + count * first, moved + count * down, total * mass**count
        twice = (w * (tilt * step * m).exp() for m, w in enumerate(weights))
        doubled *= sum(twice, arb(0)) ** count
        if law.kind == "atoms" and law.rho is None and law.rate is None:
            sure *= (1 - sum((p for p, q in law.value if q.is_zero()), arb(0))) ** count
        dominated &= law.rho is None or law.rate is None
        dominated &= not below or bool(values[0] <= 1 - (first - down).exp())
        product = cyclic(product * power(arb_poly([w / mass for w in weights]), count, size), size)
    masses = product.coeffs() + [arb(0)] * (size - len(product.coeffs()))
    ratio = (-tilt * step * size).exp()

    def beyond(threshold: Any) -> tuple[int, Any]:
        """Return the first point above, and the sum that counts each residue from there on."""
        least = max(int(((threshold - start) / step).upper().floor().unique_fmpz()) + 1, 0)
        turned, kept = arb_poly(masses[least % size :] + masses[: least % size]), arb(0)
        for exponent, weight in ((tilt, arb(1)), (tilt + 1, -(threshold - start).exp())):
            decay = (-exponent * step).exp()
            kept += weight * decay**least / (1 - decay**size) * turned(decay)
        return least, total * kept

    least, kept = beyond(epsilon)
    edge = (1 - (epsilon - start - (least - 1) * step).exp()).max(arb(0))  # near epsilon
    upper = edge + 1 - safe + kept
    if len(parts) == 1 and count == 1 and law.rho is None:  # rho: cut-off mass adds to it
        return upper, known(epsilon)
    least, kept = beyond(epsilon + moved)
    aliases = (1 + doubled * (-2 * tilt * step * least).exp()) * ratio / (1 - ratio)
    return upper, 1 - sure + kept - aliases if dominated else arb(0)


def lattice_law(values: list[Any], points: list[Any]) -> tuple[list[Any], Any]:
    """Return the P-masses, and the infinite one, of a curve linear in e^x between points."""
    grown = [x.exp() for x in points]
    slopes = [(values[0] - 1) / grown[0]]  # from delta = 1 where e^x = 0
    for m in range(1, len(points)):
        slopes.append((values[m] - values[m - 1]) / (grown[m] - grown[m - 1]))
    slopes.append(arb(0))
    return [e * (b - a) for e, a, b in zip(grown, slopes[:-1], slopes[1:], strict=True)], values[-1]


def cyclic(product: Any, size: int) -> Any:
    """Return a polynomial modulo x^size - 1, its balls at one exponent, which is faster."""
    while product.length() > size:
        product = product.truncate(size) + product.right_shift(size)
    ones = arb_poly([1] * size)
    return product + ones - ones


def power(base: Any, count: int, size: int) -> Any:
    """Return a power modulo x^size - 1."""
    base = result = cyclic(base, size)
    for bit in bin(count)[3:]:
        result = cyclic(result * result, size)
        result = cyclic(result * base, size) if bit == "1" else result
    return result


# Lines: moments of a sampled Gaussian, E over x ~ N(0, 1) of r(x)^a, r = 1 - q + q e^(m x - m^2/2).


def outputs(law: Law, order: Any, more: Any) -> tuple[Any, Any, Any]:
    """Return an interval of x, and a bound of E r^order and of its sums beyond it (T5).

    r >= 1 - q, and r^a <= 1 + r^b, b = max(a, 1), r^b <= 1 - q + q e^(b log) by convexity: a normal
    tail about 0 and one about b m.
    """
    q, m, top = law.rate, law.value, order.max(arb(1))
    size = (1 - q) ** order if order < 0 else 2 - q + q * (top * (top - 1) * m * m / 2).exp()
    reach = (arb(1.4 * ctx.prec + 20) + 2 * more + 2 * size.log()).sqrt().upper()
    last = reach if order < 0 else (reach + top * m).upper()
    return -reach, last, 2 * size * (-reach * reach / 2).exp()


def moment(law: Law, order: Any, height: Any = 0, frequency: Any = 0) -> Any:
    """Bound the integral of |r^(order + i frequency) density| on the line x + i height (T4).

    The integral is e^(height^2/2) times that of n(x) |r|^order e^(-frequency arg r), in which
    0 <= arg r <= m height <= pi/2. It falls in the frequency.
    """
    q, m, height, frequency = law.rate, law.value, arb(height), arb(frequency)
    angle = m * height
    need(angle <= arb.pi() / 2, "a shift must be at most pi/2 over that of the mean")
    most = (-frequency * angle).max(arb(0)) + height * height / 2  # the most that the exponent adds
    left, right, beyond = outputs(law, order, most)
    drift, turn = -m * m / 2, acb(0, angle)

    def integrand(x: Any, analytic: bool) -> Any:
        spend(20)
        up = (1 - q + q * (m * x + drift + turn).exp()).log(analytic=analytic)
        down = (1 - q + q * (m * x + drift - turn).exp()).log(analytic=analytic)
        phase = (up - down) / acb(0, 2)
        return ((height * height - x * x) / 2 + order * (up + down) / 2 - frequency * phase).exp()

    inside = integral(integrand, left, right).real / (2 * arb.pi()).sqrt()
    return inside + (beyond * most.exp()).union(arb(0))


def transform(
    law: Law, order: Any, frequency: Any, nodes: int, spacing: Any, strip: Any
) -> list[Any]:
    """Return E[r^(order + i y)], y = 0, frequency, 2 frequency, .., by sums over outputs (T5)."""
    q, m = law.rate, law.value
    low, high, beyond = outputs(law, order, arb(0))
    error = 2 * moment(law, order, strip, -abs(frequency) * (nodes - 1))
    error = error / (2 * arb.pi() * strip / spacing).expm1() + beyond
    first, last = (int(float(end / spacing)) + way for end, way in ((low, -1), (high, 1)))
    spend((last - first) * (nodes / 4 + 2 * math.isqrt(nodes) + 40))
    places = [n * spacing for n in range(first, last + 1)]
    logs = [(1 - q + q * (m * x - m * m / 2).exp()).log() for x in places]
    scale = spacing / (2 * arb.pi()).sqrt()
    terms = [
        scale * acb(order * log - x * x / 2).exp() for log, x in zip(logs, places, strict=True)
    ]
    block = math.isqrt(nodes - 1) + 1  # node j = block * row + column: one product of two matrices
    turns = [acb(0, frequency * log).exp() for log in logs]
    columns = [powers(acb(1), turn, block) for turn in turns]
    rows = [powers(a, c[-1] * t, block) for a, c, t in zip(terms, columns, turns, strict=True)]
    left = acb_mat(block, len(logs), [row[i] for i in range(block) for row in rows])
    table = left * acb_mat(len(logs), block, [entry for column in columns for entry in column])
    ball = acb(error.union(-error), error.union(-error))
    return [value + ball for value in table.entries()[:nodes]]


def powers(start: Any, ratio: Any, count: int) -> list[Any]:
    """Return start, start ratio, start ratio^2, ..."""
    found = [start]
    while len(found) < count:
        found.append(found[-1] * ratio)
    return found


def line_reading(
    parts: Parts,
    direction: str,
    epsilon: Any,
    tilt: Any,
    step: Any,
    nodes: int,
    above: Any,
    places: Any,
) -> tuple[Any, Any]:
    """Bound delta by the trapezoidal sum of the inversion integral, its tail and its aliases."""
    need(all(law.kind == "gaussian" for law, _ in parts), "the line takes Gaussian noise only")
    need(above > tilt, "the upper tilt must be above the tilt")
    square = sum((law.value**2 for law, _ in parts if law.rate is None), arb(0))
    sampled = [(law, count) for law, count in parts if law.rate is not None]
    sign = 1 if direction == "remove" else -1

    def order_at(t: Any) -> Any:
        return 1 + t if sign == 1 else -t

    def unsampled(z: Any) -> Any:
        return ((z * z + z) * square / 2 - z * epsilon).exp()

    points = [acb(tilt, step * j) for j in range(nodes)]
    values = [unsampled(z) / (z * (z + 1)) for z in points]
    beyond = unsampled(tilt) * (-((step * nodes) ** 2) * square / 2).exp()
    chernoff = unsampled(above)
    for (law, count), place in zip(sampled, places, strict=True):
        spacing, strip, shift = read(place, OUTPUTS)
        moments = transform(law, order_at(tilt), sign * step, nodes, spacing, strip)
        values = [value * found**count for value, found in zip(values, moments, strict=True)]
        last = moment(law, order_at(tilt), shift, step * nodes)
        beyond *= last.min(moments[0].real) ** count
        chernoff *= moment(law, order_at(above)) ** count
    scale = step / arb.pi()
    tail = scale * beyond / (step * step * (nodes - 1))  # sum over j >= nodes of 1/(j step)^2
    kept = scale * (sum((value.real for value in values), arb(0)) - values[0].real / 2)
    under, over = ((-2 * arb.pi() * gap / step).exp() for gap in (tilt, above - tilt))
    aliases = under / (1 - under) + chernoff * over / (1 - over)
    return kept + tail.union(arb(0)), kept - tail - aliases


# Renyi divergences.


def log_moment(law: Law, direction: str, alpha: Any) -> Any:
    """Return log E_Q[(dP/dQ)^alpha]; for "add" that of the pair (Q, P)."""
    value, order = law.value, alpha if direction == "remove" else 1 - alpha
    if law.rho is not None and law.rate is None:
        return (alpha - 1) * ((value if law.kind == "zcdp" else 0) + law.rho * alpha)
    if law.kind == "gaussian":
        whole = law.rate is None
        return alpha * (alpha - 1) * value * value / 2 if whole else moment(law, order).log()
    need(law.kind != "allocation", "of random allocation no divergence is known here")
    rate = arb(1) if law.rate is None else law.rate
    if law.kind == "laplace":
        low, high = ((1 - rate + rate * loss.exp()) ** order for loss in (-value, value))

        def integrand(x: Any, analytic: bool) -> Any:
            spend(10)
            ratio = 1 - rate + rate * ((2 * x - 1) * value).exp()
            return (order * ratio.log(analytic=analytic) - x * value).exp() * value / 2

        inside = integral(integrand, arb(0), arb(1)).real
        return (low / 2 + high * (-value).exp() / 2 + inside).log()
    cut, total = arb(0), arb(0)
    if law.rho is not None:  # plus the cut-off masses, which fall faster than geometrically
        *value, (_, _), (_, outside) = value
        cut = (1 - rate) ** order * outside  # r >= 1 - q
        if order > 0:
            first, second, *_, inner, last = (q * (p / q) ** order for p, q in value)
            need(first < second and last < inner, "a discrete Gaussian must be cut further out")
            ends = first**2 / (second - first) + last**2 / (inner - last)
            cut = (1 - rate) * outside + rate * ends
    for p, q in value:
        bounded = p.is_zero() if q.is_zero() else order > 0 or rate < 1 or not p.is_zero()
        need(bounded, "a divergence is infinite where all is revealed with some probability")
        total += q * (1 - rate + rate * p / q) ** order if not q.is_zero() else 0
    total += cut.union(arb(0))
    return total.log()


def renyi_reading(
    parts: Parts, direction: str, epsilon: Any, order: Any, low: Any, high: Any
) -> tuple[Any, Any]:
    """Bound delta by the log moment of one order."""
    total = sum((count * log_moment(law, direction, order) for law, count in parts), arb(0))
    return touching(order, total, low, high, epsilon)[0], arb(0)


def touching(alpha: Any, total: Any, low: Any, high: Any, epsilon: Any) -> tuple[Any, Any]:
    """Bound delta by a curve that touches 0 at r = e^low, and r - e^epsilon near e^high (T6)."""
    beta, gamma, near, far = alpha - 1, epsilon.exp(), low.exp(), high.exp()
    slope, floor = alpha * near**beta, beta * near**alpha
    for _ in range(9):  # Newton's method for g(r) = g'(r) (r - gamma); any result will do
        rise = far - gamma
        missed = far**alpha - slope * far + floor - (alpha * far**beta - slope) * rise
        far += missed / (alpha * beta * far ** (alpha - 2) * rise)
        far = far.mid()
    scale = 1 / (alpha * far**beta - slope)
    need(far > near and scale > 0, "the upper point must be above the lower one")
    short = far - gamma - scale * (far**alpha - slope * far + floor)  # at its minimum, r = far
    return scale * (total.exp() - slope + floor) + short.max(arb(0)), far.log()


READINGS: dict[str, Any] = {  # the function of each, its fields, the theorems that it rests on
    "curve": (curve_reading, CURVE, ("T1", "T2", "T8")),
    "line": (line_reading, LINE, ("T1", "T3", "T4", "T5", "T7")),
    "renyi": (renyi_reading, RENYI, ("T1", "T6")),
}

# The whole.

UNREADABLE = (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object from its pairs; each name must be given once."""
    need(len(dict(pairs)) == len(pairs), "a name must be given once")
    return dict(pairs)


def check_text(text: str | bytes) -> Verdict:
    """Return the claim that a certificate proves.

    Raises:
        Rejected: If it is not a certificate, or one of its inequalities does not hold.
        ImportError: If python-flint is missing.
    """
    if ctx is None:
        raise ImportError("certificates need python-flint: python -m pip install python-flint")
    before, SPENT[0] = ctx.prec, 0.0
    try:
        need(len(text) <= LARGEST_FILE, "a certificate must be shorter")
        return verdict(json.loads(text, object_pairs_hook=unique))
    except Rejected:
        raise
    except json.JSONDecodeError as error:
        raise Rejected(f"a certificate must be JSON: {error}") from error
    except UNREADABLE as error:
        raise Rejected(f"it cannot be evaluated: {type(error).__name__}: {error}"[:300]) from error
    finally:
        ctx.prec = before


def digest(data: Any) -> str:
    """Return the SHA-256 of the canonical text of a certificate."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def evaluated(proof: Any, parts: Parts, epsilon: Any) -> tuple[str, list[str], Any, Any]:
    """Return the reading of a proof, its directions, and an upper and a lower end of delta."""
    name, sides = proof["reading"], proof["directions"]
    reading, names, _ = READINGS[name]
    _, _, *numbers = read(proof, {"reading": None, "directions": None, **names})
    need(sides in (["remove"], ["add"], ["remove", "add"]), "directions must be known")
    alike = all(law.rate is None for law, _ in parts)
    need(len(sides) == 1 or alike, "each direction must have its proof")
    return name, sides, *reading(parts, sides[0], epsilon, *numbers)


def verdict(data: Any) -> Verdict:
    """Return the verdict on a parsed certificate."""
    known = isinstance(data, dict) and "schema" in data
    need(known, "it is no certificate: it has no field schema, as what --certificate writes does")
    schema, bits, adjacency, composed, claim, theorems, proofs = read(data, dict.fromkeys(PARTS))
    need(schema == SCHEMA, f"the schema must be {SCHEMA}")
    ctx.prec = number(bits, "bits", (64, 1024))
    epsilon, delta, lower = read(claim, CLAIM)
    at, most, least = map(float, (epsilon, delta, lower))
    parts = composition(composed, adjacency)
    lines = [f"verified: delta({at!r}) <= {most!r}, adjacency {adjacency}"]
    lines += [f"of {part['count']} x {json.dumps(part['mechanism'])[:300]}" for part in composed]
    used: set[str] = set()
    covered: list[str] = []
    below = lower <= 0
    for proof in proofs:
        need(len(covered) < 2, "both directions must be proved, each once")
        name, sides, upper, low = evaluated(proof, parts, epsilon)
        need(upper <= delta, f"delta({at!r}) <= {most!r} is not proved: {upper}")
        covered += sides
        used.update(READINGS[name][2])
        used.update(["T9"] if any(law.kind == "allocation" for law, _ in parts) else [])
        below |= bool(low >= lower)  # the lower end of the worse direction counts
        lines.append(f"{' and '.join(sides)}: by {name}, delta <= {upper.str(17, radius=False)}")
    need(sorted(covered) == ["add", "remove"], "both directions must be proved, each once")
    need(theorems == sorted(used), f"the theorems must be {', '.join(sorted(used))}")
    need(below, f"delta({at!r}) >= {least!r} is not proved")
    lines += [f"delta >= {least!r}"] if least else []
    lines += [f"by {name}: {THEOREMS[name]}" for name in theorems]
    lines += [f"assumed: {line}" for line in ASSUMED]
    return Verdict(at, most, least, digest(data), tuple(lines))


STATED = re.compile(r"δ\((\S+)\) is at most (\S+) is proved by the certificate of SHA-256 (\w{64})")


def main(files: Iterable[str]) -> int:
    """Check certificates, and reports that state their hashes; return 0 if all hold, else 1."""
    claims: list[tuple[str, tuple[str, ...]]] = []
    proved: set[tuple[str, ...]] = set()
    lines: list[str] = []
    for name in files:
        try:
            with open(name, "rb") as file:
                text = file.read(LARGEST_FILE + 1)
            stated = STATED.findall(text.decode(errors="replace"))
            claims += [(name, claim) for claim in stated]
            if not stated:
                found = check_text(text)
                proved.add((repr(found.epsilon), repr(found.delta), found.sha256))
                lines += [*found.lines, f"sha256 {found.sha256}"]
        except (Rejected, OSError, ImportError) as error:
            lines.append(f"rejected: {name}: {error}")
    for name, claim in claims:
        word = "verified" if claim in proved else "rejected: no certificate given proves the claim"
        lines.append(f"{word}: {name}: delta({claim[0]}) <= {claim[1]}, sha256 {claim[2]}")
    print("\n".join(lines) or "usage: check.py certificate.json or report ...")
    return 0 if lines and not any(line.startswith("rejected") for line in lines) else 1


def __dir__() -> list[str]:
    return __all__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
