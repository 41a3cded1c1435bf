"""Rényi bounds of mechanisms and samples beside autodp and dp_accounting; mpmath decides.

    python bench/mechanisms_accuracy.py             # writes bench/results/mechanisms_accuracy.md
    python bench/mechanisms_accuracy.py --output -

Every formula is evaluated by renyi.reference to 20 digits, at the same random points for all.
Peers take part if they are installed.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np
from accuracy import markdown
from mechanisms_peers import Formula, Point, answer, autodp, dp_accounting
from peers import quiet
from speed import machine
from tqdm import tqdm

from renyi import Gaussian, Laplace, PureDP, RandomizedResponse, RDPAccountant, reference
from renyi.mechanisms import Mechanism, RepeatAndSelect
from renyi.theory.subsampling import fixed_size_rdp, poisson_rdp

OUTPUT = Path(__file__).parent / "results" / "mechanisms_accuracy.md"
DIGITS = 20
GAUSSIAN = partial(reference.rdp_sampled_gaussian, 1)
ORDERS = (1.5, 2.0, 2.5, 3.0, 7.25, 12.0, 33.0, 60.0)


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
        lambda noise: RandomizedResponse(answer(noise)),
        lambda noise, order, digits: reference.rdp(
            reference.randomized_response_pair(answer(noise), 2), order, digits
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


def cases(others: Sequence[dict[str, dict[str, Formula]]]) -> Iterator[Case]:
    """Every formula that somebody else offers too."""

    def peers(title: str) -> dict[str, Formula]:
        return {name: f for found in others for name, f in found.get(title, {}).items()}

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
    p = Fraction(answer(noise))  # of randomized response
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


def report(options: argparse.Namespace) -> Iterator[str]:
    with quiet():
        found = {"autodp": autodp(), "dp_accounting": dp_accounting()}
    present = [pair for pair in found.values() if pair is not None]
    missing = [name for name, pair in found.items() if pair is None]
    yield "# Rényi bounds beside other libraries\n"
    facts = machine([peer for peer, _ in present], missing, 1).splitlines()
    keep = ("* Command", "* Date", "* Python", "* Peers", "* Not")
    yield "\n".join(line for line in facts if line.startswith(keep)) + "\n"
    yield (
        f"{options.points} random points: rate from 1e-5 to 0.5 (a whole number of a million "
        "records), noise multiplier or scale from 0.3 to 100 (largest loss its inverse), orders "
        f"{', '.join(f'{order:g}' for order in ORDERS)}. Errors are relative to the formula named, "
        "evaluated with 20 digits by renyi.reference; `exact` is the divergence of the true pair, "
        "beside it the bounds that others have for it (autodp: linear between whole orders). Below "
        "by more than 1e-9 means that privacy loss is under-reported, but not for autodp's general "
        "bound, which is another formula, with e^(l eps(l+1)).\n"
    )
    head = "formula|library|points|largest error|smallest error|median size|below by > 1e-9"
    head += "|above by > 1e-6|failed"
    sample = [rounded(point) for point in points(options.points)]
    found_rows: list[list[str]] = []
    for case in cases([formulas for _, formulas in present]):
        found_rows += rows(case, sample)
    yield markdown(head, found_rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=60, help="random points")
    parser.add_argument("--output", default=str(OUTPUT), help="markdown file; - for the terminal")
    options = parser.parse_args()
    text = "\n".join(report(options))
    print(text)
    if options.output != "-":
        Path(options.output).parent.mkdir(exist_ok=True)
        Path(options.output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
