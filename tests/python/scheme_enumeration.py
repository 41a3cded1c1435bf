"""All outputs of sampled Gaussian sums on data of a few records, in cells: actual pairs.

A scheme is a list of (probability, batches), the batches one set of records for every step. What a
record adds at a step may depend on all outputs so far.
"""

import itertools
import math
import random
from functools import cache

import numpy as np

CUTS = (-0.75, 0.5, 1.5)


def poisson(records, steps, rate):
    return per_step(poisson_batches(records, rate), steps)


def truncated(records, steps, rate, limit):
    batches = []
    for chance, batch in poisson_batches(records, rate):
        kept = [frozenset(c) for c in itertools.combinations(sorted(batch), min(limit, len(batch)))]
        batches += [(chance / len(kept), c) for c in kept]
    return per_step(batches, steps)


def allocated(records, steps, chosen=1, rate=1.0):
    """An epoch: every record at `chosen` of the steps, if it takes part at all."""
    places = list(itertools.combinations(range(steps), chosen))
    options = [(rate / len(places), place) for place in places]
    return per_record(records, steps, [*options, (1.0 - rate, ())])


def fixed_allocated(records, steps, epochs):
    options = [(1.0 / steps, range(k, steps * epochs, steps)) for k in range(steps)]
    return per_record(records, steps * epochs, options)


def cyclic(records, length, cycles, rate):
    options = []
    for group in range(length):
        for taken in itertools.product((0, 1), repeat=cycles):
            chance = math.prod(rate if yes else 1.0 - rate for yes in taken) / length
            options.append((chance, [group + length * k for k, yes in enumerate(taken) if yes]))
    return per_record(records, length * cycles, options)


def shuffled(records, steps):
    orders = list(itertools.permutations(range(records)))
    each = records // steps
    return [
        (1.0 / len(orders), [frozenset(o[each * k : each * (k + 1)]) for k in range(steps)])
        for o in orders
    ]


def repeated(scheme, count):
    """Independent epochs, one after the other."""
    return [
        (math.prod(p for p, _ in parts), [batch for _, batches in parts for batch in batches])
        for parts in itertools.product(scheme, repeat=count)
    ]


def poisson_batches(records, rate):
    return [
        (rate ** sum(taken) * (1.0 - rate) ** (records - sum(taken)), frozenset(batch_of(taken)))
        for taken in itertools.product((0, 1), repeat=records)
    ]


def batch_of(taken):
    return (i for i, yes in enumerate(taken) if yes)


def per_step(batches, steps):
    return repeated([(chance, [batch]) for chance, batch in batches], steps)


def per_record(records, steps, options):
    scheme = []
    for choice in itertools.product(options, repeat=records):
        chance = math.prod(p for p, _ in choice)
        batches = [
            frozenset(r for r, (_, places) in enumerate(choice) if step in places)
            for step in range(steps)
        ]
        if chance > 0.0:
            scheme.append((chance, batches))
    return scheme


def adaptive(seed, levels=(-1.0, 0.0, 1.0)):
    """What a record adds at a step after an output history: anything, but always the same."""
    return lambda record, history: random.Random(f"{seed} {record} {history}").choice(levels)


def constant(values):
    return lambda record, history: values[record]


def law(scheme, added, noise):
    """Return the mass of every sequence of cells."""
    weights = np.array([chance for chance, _ in scheme])
    cells = {(): weights}  # of every history: what was drawn, weighed by what was seen
    for step in range(len(scheme[0][1])):
        batches = sorted({drawn[step] for _, drawn in scheme}, key=sorted)
        which = [batches.index(drawn[step]) for _, drawn in scheme]
        following = {}
        for history, before in cells.items():
            totals = [math.fsum(added(record, history) for record in batch) for batch in batches]
            seen = np.array([masses(total, noise) for total in totals])[which]
            following |= {(*history, c): before * seen[:, c] for c in range(len(CUTS) + 1)}
        cells = following
    return np.array([after.sum() for after in cells.values()])


@cache
def masses(mean, noise):
    below = [0.5 * math.erfc((mean - cut) / noise * math.sqrt(0.5)) for cut in CUTS]
    return np.diff([0.0, *below, 1.0])


def delta(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
