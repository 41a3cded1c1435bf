"""Find the exact answers in cases.py again, with the multi-precision reference (half an hour).

python bench/exact.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import cases
import mpmath
from cases import DELTA
from peers import Training

from renyi import reference
from renyi.reference._numbers import lowest

DIGITS = 20
mpmath.mp.dps = 40


def divergence(runs: Sequence[Training]) -> Callable[[float], mpmath.mpf]:
    known: dict[float, mpmath.mpf] = {}

    def at(order: float) -> mpmath.mpf:
        if order not in known:
            known[order] = mpmath.fsum(
                steps * reference.rdp_sampled_gaussian(q, sigma, order, digits=DIGITS + 2)
                for q, sigma, steps in runs
            )
        return known[order]

    return at


def listed(rdp: Callable[[float], mpmath.mpf], orders: Sequence[float]) -> tuple[mpmath.mpf, float]:
    """Least epsilon over increasing orders; the curve has one valley, so search it by thirds."""

    def epsilon(k: int) -> mpmath.mpf:
        return reference.epsilon_from_rdp(orders[k], rdp(orders[k]), DELTA, "balle", DIGITS)

    low, high = 0, len(orders) - 1
    while high - low > 3:
        third = (high - low) // 3
        if epsilon(low + third) < epsilon(high - third):
            high -= third
        else:
            low += third
    return min((epsilon(k), orders[k]) for k in range(low, high + 1))


def best(rdp: Callable[[float], mpmath.mpf], guess: float) -> tuple[mpmath.mpf, float]:
    """Infimum over all real orders: by log(order - 1), an octave around a guess."""

    def epsilon(y: float) -> mpmath.mpf:
        order = 1 + math.exp(y)
        return reference.epsilon_from_rdp(order, rdp(order), DELTA, "optimal", DIGITS)

    y = math.log(guess - 1)
    place = float(lowest(epsilon, y - 0.7, y + 0.7, 9))  # in epsilon that is an error of 1e-18
    return epsilon(place), 1 + math.exp(place)


def show(what: str, value: tuple[mpmath.mpf, float]) -> None:
    print(f"{what}: {mpmath.nstr(value[0], DIGITS)} at order {value[1]:.10g}", flush=True)


def main() -> None:
    orders = {"dp_accounting": cases.DP_ACCOUNTING_ORDERS, "opacus": cases.OPACUS_ORDERS}
    runs = {case.title: [case.run] for case in cases.EPSILON}
    runs |= {f"{n:,} identical": [cases.LIVE_STEP._replace(steps=n)] for n in cases.LIVE}
    runs |= {f"{n:,} distinct": list(cases.DISTINCT[:n]) for n in (30, 1000)}
    for title, run in runs.items():
        rdp = divergence(run)
        for peer, values in orders.items():
            show(f"{title}, orders of {peer}", listed(rdp, values))
        show(f"{title}, all orders", best(rdp, listed(rdp, cases.DP_ACCOUNTING_ORDERS)[1]))
    for case in cases.CALIBRATION:
        q, steps = cases.CALIBRATION_RATE, cases.CALIBRATION_STEPS

        def at(sigma: mpmath.mpf, all_orders: bool, q: float = q, steps: int = steps) -> mpmath.mpf:
            rdp = divergence([Training(q, sigma, steps)])
            value, order = listed(rdp, cases.DP_ACCOUNTING_ORDERS)
            return best(rdp, order)[0] if all_orders else value

        for what, known in (("orders of dp_accounting", case.listed), ("all orders", case.best)):
            sigma = mpmath.findroot(
                lambda s, w=what, c=case: at(s, w == "all orders") - c.target_epsilon,
                (mpmath.mpf(known) * (1 - mpmath.mpf(10) ** -6), mpmath.mpf(known)),
                tol=1e-17,
                verify=False,
            )
            print(f"noise for epsilon {case.target_epsilon:g}, {what}: {mpmath.nstr(sigma, 17)}")


if __name__ == "__main__":
    main()
