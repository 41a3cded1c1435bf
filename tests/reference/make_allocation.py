"""Writes allocation.json again: delta of one epoch with few batches, to 18 digits.

With x_1 ... x_t standard normal, c = 1/sigma, the likelihood ratio is
    r = e^(c m - c^2/2) mean(e^(c (x_i - m))),   m the mean of the x_i,
and m, normal of variance 1/t, is independent of the x_i - m. Given these, r is log-normal, and
E(r - K)_+ and E(K - r)_+ are closed forms; over t - 1 orthogonal coordinates of the x_i - m the
trapezoidal rule, whose error falls like e^(-pi^2 sigma/h), since e^(c x) has no zero sums for
|Im x| < pi sigma/2. It takes minutes.
"""

import itertools
import json
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 30
REACH = 12
TABLE = Path(__file__).with_name("allocation.json")


def basis(t):
    """Return orthonormal vectors of sum 0 (Helmert)."""
    rows = []
    for k in range(1, t):
        norm = mp.sqrt(k * (k + 1))
        rows.append([1 / norm] * k + [-k / norm] + [mpf(0)] * (t - k - 1))
    return rows


def call(forward, k, deviation):
    d = mp.log(forward / k) / deviation + deviation / 2
    return forward * mp.ncdf(d) - k * mp.ncdf(d - deviation)


def put(forward, k, deviation):
    d = mp.log(forward / k) / deviation + deviation / 2
    return k * mp.ncdf(deviation - d) - forward * mp.ncdf(-d)


def deltas(t, sigma, epsilon):
    c, strike = 1 / mpf(sigma), mp.exp(mpf(epsilon))
    h = {2: mpf("0.1"), 3: mpf("0.2")}[t]
    points = [h * i for i in range(-int(REACH / h), int(REACH / h) + 1)]
    deviation = c / mp.sqrt(t)
    vectors = basis(t)
    # One coordinate at a time: e^(c a v) for all its nodes.
    grown = [[[mp.exp(c * a * v) for v in vector] for a in points] for vector in vectors]
    weight = [mp.exp(-a * a / 2) * h / mp.sqrt(2 * mp.pi) for a in points]
    remove = add = mpf(0)
    for at in itertools.product(range(len(points)), repeat=t - 1):
        w = mpf(1)
        for i in at:
            w *= weight[i]
        if w < mpf("1e-24"):
            continue
        mean = mpf(0)
        for j in range(t):
            product = mpf(1)
            for k, i in enumerate(at):
                product *= grown[k][i][j]
            mean += product
        forward = mean / t * mp.exp(-c * c / 2 + deviation**2 / 2)

        remove += w * call(forward, strike, deviation)
        add += w * strike * put(forward, 1 / strike, deviation)
    return remove, add


def main():
    rows = []
    for t, sigma, epsilon, *_ in json.loads(TABLE.read_text()):
        remove, add = deltas(t, sigma, epsilon)
        rows.append([t, sigma, epsilon, mp.nstr(remove, 18), mp.nstr(add, 18)])
        print(*rows[-1], flush=True)
    text = "[\n" + ",\n".join("  " + json.dumps(row) for row in rows) + "\n]\n"
    TABLE.write_text(text)


if __name__ == "__main__":
    main()
