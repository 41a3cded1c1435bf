"""Correctly rounded log A and Rényi divergence: undecided share, time, and agreement with balls.

python bench/correct_rounding.py --points 1000000 --against 2000 --hard 20 --seed 1

Points: rates 1e-9 .. 0.95, noise 0.2 .. 100, orders 1 + 1e-6 .. 1000, log-uniform. What
double-double leaves undecided is decided by `renyi.theory.correct_rounding` and compared with the
balls of tests/reference/ball_log_a.py, which share no code with either; so are the points --against
and those made --hard, the hardest of a million orders in a row. The exit code is 1 if one differs.
Times are of the process.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np
from harness import least, options_of

from renyi import special
from renyi.theory import correct_rounding

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "reference"))
from ball_log_a import log_a_ball
from flint import arb, ctx

CHUNK = 10_000
SPAN = 2**20


def log_uniform(rng, low, high, size):
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


def random_points(rng, size):
    """Return rates, noises and orders."""
    q, sigma = log_uniform(rng, 1e-9, 0.95, size), log_uniform(rng, 0.2, 100.0, size)
    return q, sigma, 1.0 + log_uniform(rng, 1e-6, 999.0, size)


def hard_point(rng):
    """Return a point where log A is next to the middle of two doubles.

    In so short a range of orders log A is a parabola, to 1e-13 of an ulp.
    """
    q, sigma, alpha = (float(one[0]) for one in random_points(rng, 1))
    half, step = SPAN // 2, float(np.spacing(alpha))
    with ctx.workprec(256):
        found = [log_a_ball(q, sigma, alpha + j * half * step, 50) for j in range(3)]
        a, b, c = (value / arb(float(np.spacing(float(found[0].mid())))) for value in found)
        terms = (
            a - a.mid().floor(),
            (4 * b - 3 * a - c) / (2 * half),
            (a - 2 * b + c) / (2 * half**2),
        )
        start, slope, bend = (np.longdouble(x.str(30, radius=False)) for x in terms)
    n = np.arange(SPAN, dtype=np.longdouble)
    best = int(np.abs((start + (slope + bend * n) * n) % 1 - 0.5).argmin())
    return q, sigma, alpha + best * step


def nearest(ball):
    """Return the double nearest to a ball, and how far it is from the middle of two, in ulps."""
    low, high = float(ball.lower()), float(ball.upper())
    assert low == high
    away = abs(ball - arb(low)) / arb(float(np.spacing(low)))
    return low, abs(0.5 - float(away.mid()))


def differs(q, sigma, alpha):
    """Return whether one of the two is not the nearest double, and how hard it was."""
    with ctx.workprec(256):
        moment = log_a_ball(q, sigma, alpha, 50)
        pairs = (
            (moment, correct_rounding.log_a_rounded),
            (moment / (arb(alpha) - 1), correct_rounding.rdp_rounded),
        )
        found = [(*nearest(ball), rounded(q, sigma, alpha)) for ball, rounded in pairs]
    return any(truth != value for truth, _, value in found), min(gap for _, gap, _ in found)


def main():
    options = options_of(__doc__, points=1_000_000, against=2000, hard=20, seed=1)
    rng = np.random.default_rng(options.seed)
    undecided, kept, seconds = [], [], {}
    changed = done = 0
    while done < options.points:
        size = min(CHUNK, options.points - done)
        q, sigma, alpha = random_points(rng, size)
        results = {}
        for f in (special.log_a, special.log_a_nearest, special.rdp_sampled_gaussian_nearest):
            results[f.__name__], took = least(partial(f, q, sigma, alpha))
            seconds[f.__name__] = seconds.get(f.__name__, 0.0) + took
        fast, log_a, rdp = results.values()
        missing = np.isnan(log_a) | np.isnan(rdp)
        undecided += list(zip(q[missing], sigma[missing], alpha[missing], strict=True))
        changed += int(((fast != log_a) & ~missing).sum())
        chosen = slice(options.against * size // options.points + 1)
        kept += list(zip(q[chosen], sigma[chosen], alpha[chosen], strict=True))
        done += size
        print(done, "points,", len(undecided), "undecided", flush=True)
    for name, taken in seconds.items():
        print(f"{name}: {taken / done * 1e6:.3g} us a point")
    print(f"special.log_a is another double at {changed / done:.1%} of them")
    wrong, hardest = [], []
    hard = [hard_point(rng) for _ in range(options.hard)]
    for place, point in enumerate([*undecided, *hard, *kept[: options.against]], 1):
        bad, gap = differs(*map(float, point))
        wrong += [point] if bad else []
        hardest = sorted([*hardest, (gap, *point)])[:3]
        if place % 100 == 0:
            print(place, "against balls,", len(wrong), "differ, hardest", hardest[0], flush=True)
    print(place, "against balls,", len(wrong), "differ:", wrong, "hardest, ulps from a tie:")
    print("\n".join(map(str, hardest)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
