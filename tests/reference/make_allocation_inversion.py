"""Writes allocation_inversion.json again: delta of one epoch, by one inversion.

With X_i = exp(c x_i - c^2/2), x_i standard normal, c = 1/sigma, phi(z) = E[e^(-z X)] and K > 0,
    E[(K - X_1 - ... - X_t)_+] = 1/(2 pi i) int phi(z)^t e^(K z)/z^2 dz
to the right of 0, along a hyperbola bent to the left where few batches let phi^t fall slowly. phi
is the trapezoidal sum over y = log X on the line Im y = -arg z, on which e^(-z e^y) falls; it
continues phi to all z but the negative axis. No windows, no saddle expansions, no doubles. The
other direction is E[(S - K)_+] = t - K + E[(K - S)_+]. It takes minutes.
"""

import json
from pathlib import Path

from mpmath import mp, mpc, mpf

BENT = mpf("0.7")  # radians
FEW = 2000  # batches, for which the line is bent
TABLE = Path(__file__).with_name("allocation_inversion.json")


def transform(z, c, depth):
    """Return phi(z)."""
    radius, angle = abs(z), mp.arg(z)
    step = mpf("0.9") * min(mp.pi**2 / depth, 2 * mp.pi * c / mp.sqrt(2 * depth))
    reach = mp.sqrt(2 * depth * c**2 + angle**2)
    middle = -c * c / 2
    first = int((middle - reach) / step) - 1
    last = int(min(middle + reach, mp.log((depth + 5) / radius)) / step) + 1
    total = mpc(0)
    for k in range(first, last + 1):
        u = k * step
        total += mp.exp(-radius * mp.exp(u) - mpc(u - middle, -angle) ** 2 / (2 * c * c))
    return total * step / (c * mp.sqrt(2 * mp.pi))


def excess(t, c, strike, depth):
    """Return E[(strike - S)_+], to the digits that two steps agree in."""

    def log_integrand(s):
        phi = transform(mpc(s), c, depth).real
        if phi < mp.exp(-depth / 2):  # nothing is left of the sum
            return mp.inf
        return t * mp.log(phi) + strike * s - 2 * mp.log(s)

    low, high = mpf("1e-6") / mp.sqrt(t), mpf(10) ** 6
    for _ in range(45):  # golden sections of log s
        a, b = low ** mpf("0.6") * high ** mpf("0.4"), low ** mpf("0.4") * high ** mpf("0.6")
        low, high = (low, b) if log_integrand(a) < log_integrand(b) else (a, high)
    s = mp.sqrt(low * high)
    d = s / 50
    curvature = (log_integrand(s + d) - 2 * log_integrand(s) + log_integrand(s - d)) / d**2
    scale, angle = 1 / mp.sqrt(curvature), BENT if t <= FEW else mpf(0)

    def term(u):
        z = s + scale * mpc(mp.sin(angle) * (1 - mp.cosh(u)), mp.cos(angle) * mp.sinh(u))
        rise = scale * mpc(-mp.sin(angle) * mp.sinh(u), mp.cos(angle) * mp.cosh(u))
        return (mp.exp(t * mp.log(transform(z, c, depth)) + strike * z) / z**2 * rise).imag

    def total(step):
        result, k = term(mpf(0)) / 2, 1
        while True:
            part = [term((k + i) * step) for i in range(4)]
            result += sum(part)
            k += 4
            if max(map(abs, part)) < mp.exp(-depth + 8) * abs(result):
                return result * step / mp.pi

    step = mpf("0.2")
    before = total(step)
    while True:
        step /= 2
        now = total(step)
        if abs(now - before) < mpf(10) ** (-mp.dps // 2) * abs(now):
            return now  # the error is about the square of the difference
        before = now


def deltas(t, sigma, epsilon, digits):
    mp.dps = digits
    c, grown = 1 / mpf(sigma), mp.exp(mpf(epsilon))
    depth = digits * mp.log(10) + mp.log(t)
    add = grown / t * excess(t, c, t / grown, depth)
    remove = (excess(t, c, t * grown, depth) + t - t * grown) / t
    return remove, add


def main():
    rows = []
    for t, sigma, epsilon, known, _ in json.loads(TABLE.read_text()):
        digits = 35 - int(mp.log10(mpf(known)))  # more than are lost where removal is rare
        remove, add = deltas(t, sigma, epsilon, digits)
        rows.append([t, sigma, epsilon, mp.nstr(remove, 13), mp.nstr(add, 13)])
        print(*rows[-1], flush=True)
    text = "[\n" + ",\n".join("  " + json.dumps(row) for row in rows) + "\n]\n"
    TABLE.write_text(text)


if __name__ == "__main__":
    main()
