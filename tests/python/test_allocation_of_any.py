"""Random allocation of any mechanism, against enumeration, quadrature and other inversions."""

import itertools
import math

import numpy as np
import pytest
from each import slow
from mpmath import mp, mpf

from renyi import (
    FixedAllocation,
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PrivacyLoss,
    RandomAllocation,
    RandomizedResponse,
    RDPAccountant,
    UnsupportedMechanismError,
)
from renyi._engine import LossComposition, Pair
from renyi.pairs import DiscretePair

G = Gaussian(1.0)
BASES = {
    "response": ((0.7, 0.2, 0.1), (0.2, 0.1, 0.7)),
    "one-sided": ((0.5, 0.3, 0.2, 0.0), (0.1, 0.3, 0.5, 0.1)),
    "revealing": ((0.25, 0.75, 0.0), (0.0, 0.5, 0.5)),
    "rare": ((1e-3, 0.999), (1e-9, 1.0 - 1e-9)),
    "nearly null": ((4e-19, 1e-11, 1.0 - 1e-11), (0.2, 0.3, 0.5)),
}


def enumerated(p, q, steps, picks=1):
    """The masses of all outputs with the record at a random subset of the steps, and without."""
    present = absent = 0.0
    outputs = np.array(list(itertools.product(range(len(p)), repeat=steps)))
    subsets = list(itertools.combinations(range(steps), picks))
    p, q = np.array(p), np.array(q)
    for chosen in subsets:
        own = [p[outputs[:, k]] if k in chosen else q[outputs[:, k]] for k in range(steps)]
        present = present + np.prod(own, axis=0) / len(subsets)
    absent = np.prod(q[outputs], axis=1)
    return present, absent


def delta(p, q, epsilon):
    return math.fsum(np.maximum(p - math.exp(epsilon) * q, 0.0))


def bounds(mechanism, epsilon, direction, count=1):
    accountant = PLDAccountant().compose(mechanism, count)
    return accountant.get_delta_bounds(epsilon, direction=direction)


@pytest.mark.parametrize(
    ("steps", "picks", "count", "width"),
    [
        *((steps, 1, 1, 1e-9) for steps in (2, 3, 5, 8)),
        (3, 1, 2, 2e-3),
        *((4, 2, 1, math.inf), (5, 3, 1, math.inf)),
        *slow((6, 5, 1, math.inf)),
    ],
)
@pytest.mark.parametrize("name", BASES)
def test_encloses_the_enumeration(name, steps, picks, count, width):
    p, q = BASES[name]
    mechanism = RandomAllocation(PrivacyLoss(DiscretePair(p, q)), steps, picks)
    laws = enumerated(p, q, steps, picks)
    if count == 2:
        laws = [np.outer(masses, masses).ravel() for masses in laws]
    slack, rest = (1e-16 if picks == 1 else 1e-15), (1e-13 if count == 1 else 1e-12)
    for epsilon in (0.0, 0.01, 0.2, 1.0, 3.0):
        for direction, (one, other) in (("remove", laws), ("add", laws[::-1])):
            truth = delta(one, other, epsilon)
            low, high = bounds(mechanism, epsilon, direction, count)
            assert low * (1.0 - 1e-12) - slack <= truth <= high * (1.0 + 1e-12) + slack
            assert high - low <= width * high + rest or width == math.inf


@pytest.mark.parametrize(
    ("p", "q", "epsilon", "direction", "truth"),
    [
        ((0.6605305824032072, 0.3394694175967929), (2.9e-170, 1.0), 100.0, "remove", None),
        ((math.exp(-402.0), 1.0), (0.999, 0.001), 404.0, "add", 0.0),
        ((0.3 * math.exp(-402.0), 1.0), (0.3, 0.7), 403.0, "add", 0.0),
    ],
)
def test_ratios_at_the_ends_of_doubles(p, q, epsilon, direction, truth):
    mechanism = RandomAllocation(PrivacyLoss(DiscretePair(p, q)), 2)
    low, high = bounds(mechanism, epsilon, direction)
    truth = p[0] if truth is None else truth  # the first outcome is seen at the record's step only
    assert low <= truth <= high


@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_two_steps_of_laplace_noise(scale, share):
    """E (r1 + r2 - 2 e^epsilon)_+ / 2, the inner mean known, the outer one by quadrature."""
    largest = 1.0 / scale
    epsilon = share * math.log(0.5 * (math.exp(largest) + math.exp(largest)))

    def stick(x):  # E (r - x)_+
        if x <= mp.exp(-largest):
            return 1 - x
        loss = mp.log(x)
        return mpf(0) if loss >= largest else 1 - mp.exp((loss - largest) / 2)

    def outer(x):  # of the loss, uniform exponential between its atoms
        return stick(2 * mp.exp(epsilon) - mp.exp(x)) * mp.exp(-(x + largest) / 2) / 4

    with mp.workdps(25):
        kinks = [
            mp.log(2 * mp.exp(epsilon) - mp.exp(end * largest))
            for end in (1, -1)
            if 2 * mp.exp(epsilon) > mp.exp(end * largest)
        ]
        inside = sorted(x for x in kinks if -largest < x < largest)
        value = mp.quad(outer, [-largest, *inside, largest])
        low_end = stick(2 * mp.exp(epsilon) - mp.exp(-largest)) / 2
        high_end = stick(2 * mp.exp(epsilon) - mp.exp(largest)) * mp.exp(-largest) / 2
        truth = float((value + low_end + high_end) / 2)
    low, high = bounds(RandomAllocation(Laplace(scale), 2), epsilon, "remove")
    assert low <= truth * (1.0 + 1e-14)
    assert truth <= high * (1.0 + 1e-14)
    assert high - low <= 1e-3 * high


@pytest.mark.parametrize(
    ("noise", "steps", "epsilon", "remove", "add"),
    [
        (1.0, 2, 1.0, 0.0592065010859, 0.0501976623695),
        (1.0, 3, 1.0, 0.0335007729777, 0.0238387090047),
        (1.0, 10, 1.0, 0.00278286899918, 4.86185808501e-4),
        (2.0, 10, 0.3, 0.00299019866251, 0.0026555770888),
        (0.5, 10, 3.0, 0.0244558261579, 2.0264523448e-4),
        (1.0, 100, 0.5, 4.4089080339e-5, 5.9252837e-7),
        (0.5, 2, 2.0, 0.232321343459, None),
        (0.5, 2, 1.5, None, 0.276076157534),
    ],
)
def test_normal_noise_agrees_with_the_inversions(noise, steps, epsilon, remove, add):
    pair = Pair.gaussian(1.0 / noise).allocated(steps)
    for side, known in ((pair, remove), (pair.reversed(), add)):
        if known is None:
            continue
        low, high = LossComposition([(side, 1)], 1e-5, 2**22).delta_bounds(epsilon)
        assert low * (1.0 - 1e-7) <= known <= high * (1.0 + 1e-7)
        assert high - low <= 1e-2 * high


@pytest.mark.parametrize(("noise", "steps", "epochs"), [(0.7, 10, 3), *slow((0.45, 100, 10))])
def test_two_constructions_of_epochs_overlap(noise, steps, epochs):
    own, law = Pair.allocation(noise, steps), Pair.gaussian(1.0 / noise).allocated(steps)
    for reverse in (False, True):
        brackets = [
            LossComposition([(p.reversed() if reverse else p, epochs)], 1e-4, 2**22).epsilon_bounds(
                1e-6
            )
            for p in (own, law)
        ]
        (low, high), (below, above) = brackets
        assert low <= above
        assert below <= high
        assert above - below <= 2e-3 * above


@pytest.mark.parametrize(("noise", "steps"), [(0.12, 10), (0.19, 3), (0.25, 1000)])
def test_one_epoch_of_little_noise_is_narrow(noise, steps):
    epoch = PLDAccountant().compose(RandomAllocation(Gaussian(noise), steps))
    for direction in ("remove", "add"):
        low, high = epoch.get_epsilon_bounds(1e-6, direction=direction)
        assert 0.0 < low <= high <= 1.001 * low


@pytest.mark.parametrize(("noise", "steps"), [(0.3, 10), *slow((0.2, 100))])
def test_epochs_of_little_noise_are_narrow(noise, steps):
    epochs = PLDAccountant().compose(RandomAllocation(Gaussian(noise), steps), 10)
    whole = PLDAccountant().compose(Gaussian(noise), 10)
    for direction in ("remove", "add"):
        low, high = epochs.get_epsilon_bounds(1e-6, direction=direction)
        assert 0.0 < low <= high <= 1.001 * low
        assert high <= whole.get_epsilon(1e-6)


@pytest.mark.parametrize(
    ("steps", "remove", "add"), [(3, 0.20040991, 0.19719389), (4, 0.1523948, 0.1467621)]
)
def test_two_picks_of_normal_noise(steps, remove, add):
    mechanism = RandomAllocation(G, steps, 2)
    for direction, truth in (("remove", remove), ("add", add)):
        low, high = bounds(mechanism, 1.0, direction)
        assert low <= truth * (1.0 + 1e-6)
        assert truth <= high * (1.0 + 1e-6)
        assert high - low <= 0.15 * high


def test_two_picks_are_bounded_by_a_split():
    for direction, known in (("remove", 0.162121), ("add", 0.152923)):
        high = bounds(RandomAllocation(G, 4, 2), 1.0, direction)[1]
        assert high == pytest.approx(known, abs=1e-6)


def test_secret_groups_of_cyclic_poisson_samples():
    mechanism = FixedAllocation(PoissonSampled(G, 0.5), 2, 2)
    for direction, known in (("remove", 0.0894607), ("add", 0.0404822)):
        low, high = bounds(mechanism, 0.5, direction)
        assert low - 5e-8 <= known <= high + 5e-8
        assert high - low <= 2e-4 * high


def test_every_step_is_all_of_them():
    known = bounds(Laplace(2.0) * 4, 1.0, None)
    for mechanism in (RandomAllocation(Laplace(2.0), 4, 4), RandomAllocation(Laplace(2.0) * 4, 1)):
        assert bounds(mechanism, 1.0, None) == pytest.approx(known, rel=1e-4)


def test_steps_of_steps():
    nested = RandomAllocation(RandomAllocation(Laplace(1.0), 10), 10)
    one, other = (bounds(m, 0.3, "remove") for m in (nested, RandomAllocation(Laplace(1.0), 100)))
    assert max(one[0], other[0]) <= min(one[1], other[1])


def test_large_losses_are_those_of_a_known_step():
    strong = RandomAllocation(Laplace(1e-3), 100)
    assert bounds(strong, 0.5, "remove")[0] > 0.999
    assert bounds(strong, 0.5, "add")[1] <= 1.0


def test_replaced_records():
    mechanism = RandomAllocation(Laplace(1.0), 100)
    replaced = PLDAccountant(adjacency="replace_one").compose(mechanism)
    low, high = replaced.get_epsilon_bounds(1e-6)
    removed = PLDAccountant().compose(mechanism).get_epsilon_bounds(1e-6)
    assert low <= removed[1]
    assert removed[0] <= high <= 2.0
    answer = PLDAccountant(adjacency="replace_one")
    answer.compose(RandomAllocation(RandomizedResponse(0.7, 3), 10))
    assert answer.get_delta_bounds(0.3)[0] == 0.0  # an answer cannot be left out


def test_renyi_curves_are_above():
    for mechanism in (
        RandomAllocation(Laplace(1.0), 100),
        RandomAllocation(PoissonSampled(G, 0.3), 5),
        RandomAllocation(G, 20, 4),
        FixedAllocation(Laplace(3.0), 10, 4),
    ):
        exact = PLDAccountant().compose(mechanism).get_epsilon(1e-6)
        assert RDPAccountant().compose(mechanism).get_epsilon(1e-6) >= exact
    truth = 0.5 * math.log(0.5 + 0.5 * (2.0 / 3.0 * math.e + math.exp(-2.0) / 3.0))
    (found,) = RDPAccountant().compose(RandomAllocation(Laplace(1.0), 2)).get_rdp([2.0])
    assert truth <= found <= 3.0 * truth


def test_products_of_samples_are_known_to_the_last_tail():
    sampled = Pair.gaussian(1.0).sampled(0.5)
    low, high = LossComposition([(Pair.product([(sampled, 2)]), 1)], 1e-4, 2**22).delta_bounds(0.5)
    below, above = LossComposition([(sampled, 2)], 1e-6, 2**22).delta_bounds(0.5)
    assert low <= above
    assert below <= high
    assert high - low <= 1e-3 * high


def test_what_is_beyond_the_domain_is_named():
    with pytest.raises(UnsupportedMechanismError, match="at most 1000000 steps"):
        PLDAccountant().compose(RandomAllocation(Laplace(1.0), 10**6 + 1))
    with pytest.raises(UnsupportedMechanismError, match="takes part in at most 10000 steps"):
        PLDAccountant().compose(RandomAllocation(Laplace(1.0), 10**6, 10**5))
