"""Rényi bounds of mechanisms and samples beside autodp and dp_accounting; mpmath decides.

    python bench/mechanisms_accuracy.py             # writes bench/results/mechanisms_accuracy.md
    python bench/mechanisms_accuracy.py --quick     # 6 points, to the screen only

Every formula is evaluated by renyi.reference to 20 digits, at the same random points for all.
Peers take part if they are installed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple

import mpmath
import numpy as np
from harness import facts, options_of, publish, table
from peers import autodp_rdp, found_of, load, named, quiet, truthful
from tqdm import tqdm

from renyi import Gaussian, Laplace, PureDP, RandomizedResponse, RDPAccountant, reference
from renyi.mechanisms import Mechanism, RepeatAndSelect
from renyi.theory.subsampling import fixed_size_rdp, poisson_rdp

DIGITS = 20
GAUSSIAN = partial(reference.rdp_sampled_gaussian, 1)
ORDERS = (1.5, 2.0, 2.5, 3.0, 7.25, 12.0, 33.0, 60.0)


class Point(NamedTuple):
    rate: float
    noise: float
    order: float


Formula = Callable[[Point], Any]


class Library(NamedTuple):
    """Its formulas by the title of the case and the name that is shown."""

    name: str
    version: str
    formulas: dict[str, Formula]


def autodp() -> Library | None:
    if (found := autodp_rdp()) is None:
        return None
    version, accounting, divergences = found

    def sampled(kind: str, method: str, point: Point, **options: bool) -> float:
        accountant = accounting.anaRDPacct()
        base = partial(divergences[kind], point.noise)
        getattr(accountant, method)(base, point.rate, **options)
        return float(accountant.get_rdp([point.order])[0])

    formulas: dict[str, Formula] = {}
    for kind, divergence in divergences.items():
        formulas[kind] = lambda point, f=divergence: f(point.noise, point.order)
        for title, method in (("tight", ""), ("general", "1")):
            name = f"compose_poisson_subsampled_mechanisms{method}"
            formulas[f"{kind}, Poisson, {title}"] = partial(sampled, kind, name)
        for improved, number in ((False, 9), (True, 27)):
            formulas[f"{kind}, fixed size, Theorem {number}"] = partial(
                sampled, kind, "compose_subsampled_mechanism", improved_bound_flag=improved
            )
    return Library("autodp", version, formulas)


def dp_accounting() -> Library | None:
    """Through its accountant."""
    loaded = load("dp-accounting", "dp_accounting", "dp_accounting.rdp")
    if loaded is None:
        return None
    version, (events, rdp) = loaded
    neighbours = rdp.rdp_privacy_accountant.NeighborRel

    def divergence(event: Any, order: float, relation: Any = None) -> float:
        orders = [order]
        options = {} if relation is None else {"neighboring_relation": relation}
        accountant = rdp.RdpAccountant(orders, **options)
        return float(accountant.compose(event)._rdp[0])

    def fixed(point: Point) -> float:
        event = events.SampledWithoutReplacementDpEvent(
            10**6, round(point.rate * 10**6), events.GaussianDpEvent(point.noise)
        )
        return divergence(event, point.order, neighbours.REPLACE_ONE)

    def poisson(point: Point) -> float:
        event = events.PoissonSampledDpEvent(point.rate, events.GaussianDpEvent(point.noise))
        return divergence(event, point.order)

    def selected(point: Point) -> float:
        orders = [point.order, *(1 + 10.0 ** np.linspace(-2, 4, 200))]
        event = events.dp_event.RepeatAndSelectDpEvent(events.GaussianDpEvent(point.noise), 10, 1)
        return float(rdp.RdpAccountant(orders).compose(event)._rdp[0])

    formulas: dict[str, Formula] = {
        "Gaussian": lambda point: divergence(events.GaussianDpEvent(point.noise), point.order),
        "Laplace": lambda point: divergence(events.LaplaceDpEvent(point.noise), point.order),
        "Gaussian, Poisson, exact": poisson,
        "Gaussian, fixed size, Theorem 27": fixed,
        "Gaussian, best of 10 runs": selected,
    }
    return Library("dp_accounting", version, formulas)


class Case(NamedTuple):
    """One formula: ours, the reference, and whoever else has it."""

    title: str
    truth: Formula
    ours: Formula
    peers: dict[str, Formula]


def points(count: int) -> list[Point]:
    """Rates from 1e-5 to 0.5, noise from 0.3 to 100, a few orders; half of them are whole."""
    rng = np.random.default_rng(0)
    rates = 10.0 ** rng.uniform(-5, math.log10(0.5), count)
    noises = 10.0 ** rng.uniform(math.log10(0.3), 2, count)
    orders = rng.choice(ORDERS, count)
    return [Point(*map(float, triple)) for triple in zip(rates, noises, orders, strict=True)]


def laplace(noise: float, order: Any, digits: int) -> Any:
    return reference.rdp(reference.laplace_pair(noise), order, digits)


BASES: dict[str, tuple[Callable[[float], Mechanism], Callable[..., Any]]] = {
    "Gaussian": (Gaussian, GAUSSIAN),
    "Laplace": (Laplace, laplace),
    "randomized response": (
        lambda noise: RandomizedResponse(truthful(noise)),
        lambda noise, order, digits: reference.rdp(
            reference.randomized_response_pair(truthful(noise), 2), order, digits
        ),
    ),
    "pure DP": (
        lambda noise: PureDP(1 / noise),
        lambda noise, order, digits: reference.rdp(
            reference.pure_dp_pair(1 / noise), order, digits
        ),
    ),
}


def own_rdp(mechanism: Mechanism, order: float) -> float:
    return float(RDPAccountant().compose(mechanism).get_rdp([order])[0])


def rounded(point: Point) -> Point:
    """A rate that is a whole number of a million records."""
    return point._replace(rate=max(round(point.rate * 10**6), 1) / 10**6)


def cases(libraries: Sequence[Library]) -> Iterator[Case]:
    """Every formula that somebody else offers too."""

    def peers(title: str) -> dict[str, Formula]:
        return {one.name: one.formulas[title] for one in libraries if title in one.formulas}

    def case(title: str, truth: Formula, ours: Formula) -> Case:
        return Case(title, truth, ours, peers(title))

    for kind, (make, base) in BASES.items():
        yield case(
            kind,
            lambda p, base=base: base(p.noise, p.order, DIGITS),
            lambda p, make=make: own_rdp(make(p.noise), p.order),
        )
    exact = {
        "Gaussian": lambda p: reference.rdp_sampled_gaussian(p.rate, p.noise, p.order, DIGITS),
        "Laplace": lambda p: reference.rdp(
            reference.laplace_pair(p.noise), p.order, DIGITS, q=p.rate
        ),
    }
    for kind, truth in exact.items():
        make = BASES[kind][0]
        best = partial(bounded, poisson_rdp, make, "best")
        tight = peers(f"{kind}, Poisson, tight")
        yield Case(f"{kind}, Poisson, exact", truth, best, tight | peers(f"{kind}, Poisson, exact"))
    for kind in ("Laplace", "randomized response"):
        make, base = BASES[kind]
        for bound in ("tight", "general"):
            yield case(
                f"{kind}, Poisson, {bound}",
                partial(poisson_truth, base, bound),
                partial(bounded, poisson_rdp, make, bound),
            )
    for kind in ("Gaussian", "Laplace"):
        make, base = BASES[kind]
        for bound, name in (("general", "Theorem 9"), ("tight", "Theorem 27")):
            yield case(
                f"{kind}, fixed size, {name}",
                partial(fixed_truth, base, kind, bound),
                # replacing a record moves the query twice as far as its presence
                partial(bounded, fixed_size_rdp, lambda noise, make=make: make(2 * noise), bound),
            )
    yield case(
        "Gaussian, best of 10 runs",
        lambda p: reference.rdp_repeat_and_select(
            partial(GAUSSIAN, p.noise), 10, 1, p.order, digits=12
        ),
        lambda p: own_rdp(RepeatAndSelect(Gaussian(p.noise), 10.0, 1.0), p.order),
    )


def bounded(function: Any, make: Callable[[float], Mechanism], bound: str, point: Point) -> float:
    return float(function(make(point.noise), point.rate, point.order, bound=bound))


def largest_loss(base: Callable[..., Any], noise: float) -> Any:
    if base is GAUSSIAN:
        return math.inf
    if base is laplace:
        return 1 / Fraction(noise)
    p = Fraction(truthful(noise))  # of randomized response
    with mpmath.workdps(2 * DIGITS):
        return mpmath.log(mpmath.mpf(p.numerator) / (p.denominator - p.numerator))


def poisson_truth(base: Callable[..., Any], bound: str, point: Point) -> Any:
    one = cache(partial(base, point.noise))
    most = largest_loss(base, point.noise)
    return reference.rdp_poisson(one, point.rate, point.order, bound, most, DIGITS)


def fixed_truth(base: Callable[..., Any], kind: str, bound: str, point: Point) -> Any:
    one, most = cache(partial(base, point.noise)), largest_loss(base, point.noise)
    return reference.rdp_fixed_size(one, point.rate, point.order, most, bound == "tight", DIGITS)


def rows(case: Case, sample: Sequence[Point]) -> Iterator[list[str]]:
    """A row a library; a failure is counted apart from the errors."""
    truths = [float(case.truth(point)) for point in tqdm(sample, case.title, disable=None)]
    for name, formula in {"renyi": case.ours, **case.peers}.items():
        errors, failed = [], 0
        with quiet(), np.errstate(all="ignore"):
            for point, truth in zip(sample, truths, strict=True):
                try:
                    value = float(formula(point))
                except Exception:  # whatever it is: no answer
                    value = math.nan
                if math.isfinite(value):
                    errors.append(value / truth - 1)
                else:
                    failed += 1
        size = np.abs(errors) if errors else np.array([math.nan])
        yield [
            case.title,
            name,
            f"{len(sample)}",
            f"{max(errors):+.1e}" if errors else "-",
            f"{min(errors):+.1e}" if errors else "-",
            f"{np.median(size):.1e}",
            str(sum(error < -1e-9 for error in errors)),
            str(sum(error > 1e-6 for error in errors)),
            str(failed),
        ]


def report(count: int) -> Iterator[str]:
    libraries, missing = found_of(autodp, dp_accounting)
    yield "# Rényi bounds beside other libraries\n"
    yield facts(named(libraries, missing))
    yield (
        f"{count} random points: rate from 1e-5 to 0.5 (a whole number of a million "
        "records), noise multiplier or scale from 0.3 to 100 (largest loss its inverse), orders "
        f"{', '.join(f'{order:g}' for order in ORDERS)}. Errors are relative to the formula named, "
        "evaluated with 20 digits by renyi.reference; `exact` is the divergence of the true pair, "
        "beside it the bounds that others have for it (autodp: linear between whole orders). Below "
        "by more than 1e-9 means that privacy loss is under-reported, but not for autodp's general "
        "bound, which is another formula, with e^(l eps(l+1)).\n"
    )
    head = "formula|library|points|largest error|smallest error|median size|below by > 1e-9"
    head += "|above by > 1e-6|failed"
    sample = [rounded(point) for point in points(count)]
    yield table(head, [each for case in cases(libraries) for each in rows(case, sample)])


def main() -> None:
    quick = options_of(__doc__, quick=False).quick
    publish(report(6 if quick else 60), None if quick else "mechanisms_accuracy")


if __name__ == "__main__":
    main()
