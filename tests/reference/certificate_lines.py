"""A second checker of line certificates, written from docs/proofs.md in mpmath's intervals.

It shares no code with `renyi.check`, nor the arithmetic, nor the way to the moments: nodes over
outputs are summed one by one, and integrals on shifted lines are bounded by the largest value of
the integrand in each of many short intervals. That is coarse: a certificate may need a larger
claim here than there, by `factor`.
"""

from __future__ import annotations

import json
import math

from mpmath import iv, mp

CELL = 0.02  # width of an interval of outputs


def real(text: str):
    """Return an exact double."""
    return iv.mpf(float.fromhex(text))


def ratio(q, m, x, angle):
    """Return real and imaginary part of r = 1 - q + q e^(m x - m^2/2 + i angle)."""
    grown = q * iv.exp(m * x - m * m / 2)
    return 1 - q + grown * iv.cos(angle), grown * iv.sin(angle)


def integrand(q, m, order, height, frequency, x, lift):
    """Bound that of `shifted_moment` at x + i lift, where it is analytic."""
    up, down = ratio(q, m, x, m * (lift + height)), ratio(q, m, x, m * (lift - height))
    sizes = (up[0] ** 2 + up[1] ** 2) * (down[0] ** 2 + down[1] ** 2)
    turn = (iv.atan2(up[1], up[0]) - iv.atan2(down[1], down[0])) / 2
    bell = iv.exp((height**2 + lift**2 - x * x) / 2)
    return bell * iv.exp(order / 4 * iv.log(sizes)) * iv.exp(-frequency * turn)


def shifted_moment(q, m, order, height, frequency, fine=False):
    """Bound e^(height^2/2) int density |r|^order e^(-frequency arg r) on the line x + i height.

    By the largest values in short intervals, or by a trapezoidal sum whose error is bounded so.
    """
    angle = m * height
    assert angle.a >= 0
    assert angle.b <= math.pi / 2
    phase = max(-frequency.a * angle.b, 0.0)
    reach = math.sqrt(2.0 * (60.0 + float(phase)))
    last = reach + max(float(order.b) * float(m.b), 0.0)
    lift, spacing = iv.mpf(0), 0.05
    if fine:
        lift = iv.mpf(min(0.45 * (math.pi - 2 * float(angle.b)) / float(m.b), 1.0))
    total = iv.mpf(0)
    for cell in range(math.ceil((reach + last) / CELL)):
        low = -reach + cell * CELL
        x = iv.mpf([low, low + CELL * (1.0 + 1e-12)])
        total += CELL * integrand(q, m, order, height, frequency, x, lift)
    if fine:
        total *= 2 / (iv.exp(2 * iv.pi * lift / spacing) - 1)
        for n in range(math.floor(-reach / spacing) - 1, math.ceil(last / spacing) + 2):
            x = n * iv.mpf(spacing)
            total += spacing * integrand(q, m, order, height, frequency, x, iv.mpf(0))
    edge = ratio(q, m, iv.mpf(last), iv.mpf(0))[0]
    far = iv.mpf(last) - (order * m if order.a > 0 else 0)
    left, right = (1 - q) ** order, (1 - q) ** order
    if order.a >= 0:
        left = ratio(q, m, iv.mpf(-reach), iv.mpf(0))[0] ** order
        right = edge**order * iv.exp(order * m * (order * m / 2 - last))
    grown = iv.exp(height**2 / 2 + iv.mpf(phase))
    tails = grown * (left * iv.exp(-(iv.mpf(reach) ** 2) / 2) + right * iv.exp(-far * far / 2)) / 2
    return iv.mpf((total / iv.sqrt(2 * iv.pi) + tails).b)  # P(N > x) <= e^(-x^2/2) / 2


def moments(q, m, order, sign, step, nodes, place):
    """Return E[r^(order + i sign y)] at all nodes, and a bound beyond them."""
    spacing, strip, shift = (real(place[name]) for name in ("spacing", "strip", "shift"))
    assert spacing.b <= 1
    error = 2 * shifted_moment(q, m, order, strip, -step * (nodes - 1))
    error /= iv.exp(2 * iv.pi * strip / spacing) - 1
    size = float(spacing.b)
    centre = max(float(order.b) * float(m.b), 0.0)
    first, last = -math.ceil(16.0 / size), math.ceil((16.0 + centre) / size)
    for n in (first - 1, last + 1):
        x = n * spacing
        middle = order * m if n > 0 and order.a > 0 else iv.mpf(0)
        size = (1 - q) ** order
        if order.a >= 0:
            size = ratio(q, m, x, iv.mpf(0))[0] ** order
            size *= iv.exp(order * m * (order * m / 2 - x)) if n > 0 else 1
        far = abs(x - middle)
        rest = size * iv.exp(-far * far / 2) / (1 - iv.exp(-far * spacing))
        error += rest * spacing / iv.sqrt(2 * iv.pi)
    places = range(first, last + 1)
    logs = [iv.log(ratio(q, m, n * spacing, iv.mpf(0))[0]) for n in places]
    weights = [
        spacing / iv.sqrt(2 * iv.pi) * iv.exp(order * log - (n * spacing) ** 2 / 2)
        for n, log in zip(places, logs, strict=True)
    ]
    found, ball = [], iv.mpf([-error.b, error.b])
    for j in range(nodes):
        turns = [sign * j * step * log for log in logs]
        cosine = sum((w * iv.cos(a) for w, a in zip(weights, turns, strict=True)), iv.mpf(0))
        sine = sum((w * iv.sin(a) for w, a in zip(weights, turns, strict=True)), iv.mpf(0))
        found.append((cosine + ball, sine + ball))
    beyond = shifted_moment(q, m, order, shift, step * nodes, fine=True)
    return found, iv.mpf(min(beyond.b, found[0][0].b))


def power(real_part, imaginary, count):
    """Return a power of a complex interval by squaring."""
    result, base = (iv.mpf(1), iv.mpf(0)), (real_part, imaginary)
    while count:
        if count & 1:
            result = times(result, base)
        base, count = times(base, base), count >> 1
    return result


def times(a, b):
    """Return a product of complex intervals."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def accepts(text: str, factor: float = 1.0) -> bool:
    """Return whether delta <= factor d follows in every direction, by the line alone."""
    with mp.workprec(53):
        iv.prec = 160
        data = json.loads(text)
        assert data["adjacency"] in ("add_remove", "zero_out")
        epsilon, delta = real(data["claim"]["epsilon"]), real(data["claim"]["delta"])
        directions = [side for proof in data["proofs"] for side in proof["directions"]]
        assert sorted(directions) == ["add", "remove"]
        return all(
            proves(proof, data["composition"], epsilon, delta * factor) for proof in data["proofs"]
        )


def proves(proof, composition, epsilon, delta) -> bool:
    """Return whether one proof holds."""
    tilt, step, nodes = real(proof["tilt"]), real(proof["step"]), proof["nodes"]
    remove = proof["directions"] == ["remove"]
    order, sign = (1 + tilt, 1) if remove else (-tilt, -1)
    square, sampled = iv.mpf(0), {}
    for part in composition:
        mechanism, count = part["mechanism"], part["count"]
        if mechanism["type"] == "Gaussian":
            square += count / iv.mpf(mechanism["noise_multiplier"]) ** 2
        else:
            key = (mechanism["sample_rate"], mechanism["mechanism"]["noise_multiplier"])
            sampled[key] = sampled.get(key, 0) + count
    log_top = (tilt * tilt + tilt) * square / 2 - tilt * epsilon
    end = step * nodes
    tail = iv.exp(log_top - end * end * square / 2) / (step * step * (nodes - 1))
    values = []
    for j in range(nodes):
        y = j * step
        size = iv.exp(log_top - y * y * square / 2)
        turn = (2 * tilt + 1) * y * square / 2 - y * epsilon
        kernel = (tilt * (tilt + 1) - y * y, (2 * tilt + 1) * y)  # z (z + 1)
        norm = kernel[0] ** 2 + kernel[1] ** 2
        inverse = (kernel[0] / norm, -kernel[1] / norm)
        values.append(times((size * iv.cos(turn), size * iv.sin(turn)), inverse))
    for ((rate, noise), count), place in zip(sampled.items(), proof["parts"], strict=True):
        found, beyond = moments(iv.mpf(rate), 1 / iv.mpf(noise), order, sign, step, nodes, place)
        values = [times(v, power(*phi, count)) for v, phi in zip(values, found, strict=True)]
        tail *= beyond**count
    total = values[0][0] / 2 + sum((v[0] for v in values[1:]), iv.mpf(0)) + iv.mpf([0, tail.b])
    return (total * step / iv.pi).b <= delta.a
