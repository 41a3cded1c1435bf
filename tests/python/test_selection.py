"""The best of a random number of runs, by the privacy profile of a run; permute-and-flip.

The truth for finite mechanisms is the worst of all orders of their outcomes, for Gaussian noise it
lies above an attack: outcomes of low loss are ranked first, of high loss next, and the event is
that a run of high loss wins.
"""

import itertools
import json
import math

import numpy as np
import pytest
from each import slow
from scipy import optimize, stats

from renyi import PLDAccountant, RDPAccountant
from renyi.cli import main
from renyi.mechanisms import (
    ApproxDP,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    PoissonSampled,
    PrivacyLoss,
    PureDP,
    RandomizedResponse,
    RepeatAndSelect,
)
from renyi.pairs import DiscretePair

DELTA = 1e-6


def mean_of(shape, gamma):
    """Of the truncated negative binomial distribution."""
    if shape == 0:
        return (1 / gamma - 1) / math.log(1 / gamma)
    return shape * (1 - gamma) / (gamma * (1 - gamma**shape))


def generating_function(shape, parameter):
    """Of a number of runs: gamma, the mean of Poisson's, the probability of one of -shape runs."""
    if shape == math.inf:
        return lambda z: np.exp(parameter * (z - 1))
    if shape <= -1:
        return lambda z: (1 - parameter + parameter * z) ** -shape
    if shape == 0:
        return lambda z: np.log1p((parameter - 1) * z) / math.log(parameter)
    scale = 1 / (parameter**-shape - 1)
    return lambda z: scale * ((1 - (1 - parameter) * z) ** -shape - 1)


LAWS = {
    (1.0, 0.1): mean_of(1, 0.1),
    (0.0, 0.05): mean_of(0, 0.05),
    (-0.5, 0.02): mean_of(-0.5, 0.02),
    (3.0, 0.3): mean_of(3, 0.3),
    (math.inf, 8.0): 8.0,
    (math.inf, 0.4): 0.4,
    (-10.0, 0.4): 4.0,
    (-1.0, 0.7): 0.7,
}


LIKE_OTHERS = [(3.0, 0.3), (math.inf, 0.4)]


@pytest.mark.parametrize(
    "law", [slow((law,))[0] if law in LIKE_OTHERS else law for law in LAWS], ids=str
)
def test_finite_mechanisms_in_every_order(law):
    phi, rng, ratios, parts = generating_function(*law), np.random.default_rng(7), [], []
    for _ in range(2):
        p, q = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5))
        p, q = 0.6 * p + 0.4 * q, q
        orders = np.array(list(itertools.permutations(range(5))))
        below_p, below_q = (
            np.pad(np.cumsum(m[orders], axis=1), ((0, 0), (1, 0))).clip(0, 1) for m in (p, q)
        )
        best_p, best_q = np.diff(phi(below_p)), np.diff(phi(below_q))
        run = RepeatAndSelect(PrivacyLoss(DiscretePair(p, q)), LAWS[law], law[0])
        accountant = PLDAccountant().compose(run)
        for epsilon in (0.0, 0.3, 1.0, 2.0):
            for direction, one, other in (("remove", best_p, best_q), ("add", best_q, best_p)):
                worst = np.maximum(one - math.exp(epsilon) * other, 0.0).sum(axis=1).max()
                low, bound = accountant.get_delta_bounds(epsilon, direction=direction)
                assert bound >= worst * (1 - 1e-12)
                assert low <= bound  # where coins divide outcomes, it may be above all orders
                if worst > 1e-3:
                    ratios.append(worst / bound)
                    parts.append(low / worst)
    assert max(ratios) > 0.6  # atoms cannot be split between events: a gap remains
    assert max(parts) > 0.9


@pytest.mark.parametrize(("trials", "p"), [(10, 0.4), (3, 1.0), (20, 0.01)])
def test_renyi_divergence_of_a_binomial_number_of_runs(trials, p):
    phi, rng = generating_function(-trials, p), np.random.default_rng(3)
    first, second = 0.5 + 0.5 * rng.dirichlet(np.ones(4)), np.full(4, 0.25)
    first /= first.sum()
    run = RepeatAndSelect(PrivacyLoss(DiscretePair(first, second)), trials * p, -trials)
    for alpha in (1.01, 2.0, 8.0, 64.0):
        found = RDPAccountant().compose(run).get_rdp([alpha])[0]
        for order in itertools.permutations(range(4)):
            best = [
                np.diff(phi(np.append(0.0, np.cumsum(m[list(order)])).clip(0, 1)))
                for m in (first, second)
            ]
            for one, other in (best, best[::-1]):
                moment = (1 - p) ** trials + np.sum(one**alpha * other ** (1 - alpha))
                assert found >= math.log(moment) / (alpha - 1) * (1 - 1e-9)
    assert found < 4 * RDPAccountant().compose(run.mechanism).get_rdp([64.0])[0] or p == 1.0


# Multiplier, shape, gamma; the attack, the bound and the bound by a single ratio.
GAUSSIAN = [
    (5.0, 1, 0.01, 1.604063, 1.6112, 1.708340),
    (2.0, 0, 0.01, 3.306737, 3.318, 3.416009),
    *slow((5.0, 1, 0.1, 1.224980, 1.2301, 1.291763), (1.0, 1, 0.1, 6.8805, 6.9019, 7.080311)),
]


def gaussian_attack(mu, phi, epsilon):
    high, low = np.linspace(-2, 8, 201)[:, None], np.linspace(-8, 4, 201)[None, :]
    low = np.minimum(low, high)

    def wins(shift):
        first, second = stats.norm.cdf(low - shift), stats.norm.sf(high - shift)
        return phi(1 - first) - phi(np.maximum(1 - first - second, 0.0))

    return float(np.max(wins(mu) - math.exp(epsilon) * wins(0.0)))


@pytest.mark.parametrize(("sigma", "shape", "gamma", "attack", "bound", "ratio"), GAUSSIAN)
def test_gaussian_runs(sigma, shape, gamma, attack, bound, ratio):
    run = RepeatAndSelect(Gaussian(sigma), mean_of(shape, gamma), shape)
    found = PLDAccountant().compose(run).get_epsilon(DELTA)
    assert attack <= found <= bound * 1.0001 < ratio
    assert found < RDPAccountant().compose(run).get_epsilon(DELTA)
    phi = generating_function(shape, gamma)
    reached = optimize.brentq(lambda e: gaussian_attack(1 / sigma, phi, e) - DELTA, 0.1, 9.0)
    assert attack * 0.999 < reached < found < 1.006 * reached
    low, high = PLDAccountant().compose(run).get_epsilon_bounds(DELTA)
    assert 0.99 * reached < low < 1.0002 * reached  # of a grid
    assert high == found


@pytest.mark.parametrize(("gamma", "bound"), [(0.1, 1.054), (0.01, 1.372)])
def test_sampled_runs(gamma, bound):
    training = PoissonSampled(Gaussian(2.0), 0.01) * 1000
    run = RepeatAndSelect(training, mean_of(1, gamma), 1)
    found = PLDAccountant().compose(run)
    assert PLDAccountant().compose(training).get_epsilon(DELTA) < found.get_epsilon(DELTA) <= bound
    sides = [found.get_epsilon(DELTA, direction=side) for side in ("remove", "add")]
    assert max(sides) == found.get_epsilon(DELTA)
    assert sides[0] != sides[1]
    low, high = found.get_epsilon_bounds(DELTA)
    assert 0.98 * high < low < high


@pytest.mark.parametrize(("shape", "limit"), [(1.0, 3.0), (0.0, 2.0), (-0.5, 1.5)])
@pytest.mark.parametrize("base", [PureDP(0.5), RandomizedResponse(0.7), Laplace(2.0)])
@pytest.mark.parametrize("gamma", [1e-6, 0.3])
def test_pure_limits(shape, limit, base, gamma):
    """The loss grows to 2 + shape times that of a run, for ever more runs."""
    alone = PLDAccountant().compose(base).get_epsilon(0.0)
    e, k = math.exp(alone), 1 / gamma - 1
    least = alone + (shape + 1) * math.log((1 + e + k * e) / (1 + e + k))
    run = PLDAccountant().compose(RepeatAndSelect(base, mean_of(shape, gamma), shape))
    assert run.get_epsilon(0.0) <= least * (1 + 1e-4)
    assert run.get_epsilon_bounds(0.0)[0] >= 0.94 * least
    assert run.get_epsilon(0.0) >= least * (1 - 1e-9) or isinstance(base, Laplace)
    assert (0.99 if gamma < 1e-3 else 0.5) * limit * alone < least < limit * alone


@pytest.mark.parametrize("shape", [1.0, math.inf, -50.0, *slow(0.0, -2.0)])
@pytest.mark.parametrize(
    "base", [Gaussian(3.0), PoissonSampled(Gaussian(0.8), 0.002) * 50, ApproxDP(0.3, 1e-7)]
)
def test_never_above_renyi_and_composes(base, shape):
    run = RepeatAndSelect(base, 2.0, shape)
    both = PLDAccountant().compose(run).compose(Gaussian(4.0))
    one = PLDAccountant().compose(run).get_epsilon(DELTA)
    assert PLDAccountant().compose(Gaussian(4.0)).get_epsilon(DELTA) < both.get_epsilon(DELTA)
    assert one < both.get_epsilon(DELTA)
    if not isinstance(base, ApproxDP):
        renyi = RDPAccountant().compose(run)
        assert one <= renyi.get_epsilon(DELTA)
        assert both.get_epsilon(DELTA) <= renyi.compose(Gaussian(4.0)).get_epsilon(DELTA)


def test_extremes():
    for base in (Gaussian(0.01), Gaussian(1e9), Gaussian(math.inf), PureDP(1e5)):
        for mean, shape in ((1e9, 1.0), (1e6, -1e9), (1e6, math.inf), (1e12, -0.999)):
            run = PLDAccountant().compose(RepeatAndSelect(base, mean, shape))
            renyi = RDPAccountant().compose(RepeatAndSelect(base, mean, shape))
            assert 0.0 <= run.get_delta(0.7) <= 1.0
            assert run.get_epsilon(1e-3) <= renyi.get_epsilon(1e-3)


@pytest.mark.parametrize("shape", [0.0, 1.0])
def test_one_run_costs_what_it_costs(shape):
    low, high = (
        PLDAccountant()
        .compose(RepeatAndSelect(Gaussian(2.0), 1.0, shape))
        .get_epsilon_bounds(DELTA)
    )
    alone = PLDAccountant().compose(Gaussian(2.0)).get_epsilon(DELTA)
    assert low <= alone <= high <= 1.01 * alone


@pytest.mark.parametrize("noise", [0.0, 1e-101])
def test_runs_that_reveal_what_they_draw(noise):
    run = RepeatAndSelect(PoissonSampled(Gaussian(noise), 0.01), 2.0, 1.0)
    assert PLDAccountant().compose(run).get_epsilon(DELTA) == math.inf


def test_the_command_line_names_the_cost_of_tuning(capsys):
    run = ["epsilon", "--noise-multiplier", "2", "--sample-rate", "0.01"]
    run += ["--steps", "1000", "--delta", "1e-6"]
    assert main([*run, "--tuning-runs", "20"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "One run alone has epsilon = 0.7210;" in said
    assert "The best of a geometric number of runs, 20 on average, each the composition" in said
    assert "selection best of several runs" in said
    assert main([*run, "--tuning-runs", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["results"][0]
    training = PoissonSampled(Gaussian(2.0), 0.01) * 1000
    tuned = PLDAccountant().compose(RepeatAndSelect(training, 20.0, 1.0))
    assert found["epsilon"] == tuned.get_epsilon(1e-6)
    alone = PLDAccountant().compose(training).get_epsilon(1e-6)
    assert found["epsilon_of_one_run"] == alone < found["epsilon"]
    assert main([*run, "--tuning-runs", "1"]) == 2


# --- permute-and-flip


def chances(utilities, epsilon):
    """Permute-and-flip by inclusion and exclusion over who comes before; sensitivity 1."""
    taken = np.exp(0.5 * epsilon * (utilities - utilities.max()))
    found = []
    for r in range(len(taken)):
        others, total = np.delete(taken, r), 0.0
        for size in range(len(taken)):
            products = map(np.prod, itertools.combinations(others, size))
            total += (-1) ** size / (size + 1) * sum(products)
        found.append(taken[r] * total)
    assert sum(found) == pytest.approx(1.0, abs=1e-12)
    return np.array(found)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_permute_and_flip_is_dominated(epsilon):
    """The corners around 50 random utilities of up to six answers."""
    drawn, at = np.random.default_rng(1), epsilon * np.array([0.0, 0.2, 0.5, 0.9])
    allowed = PLDAccountant().compose(PermuteAndFlip(epsilon)).get_delta(at)
    for _ in range(50):
        answers = int(drawn.integers(2, 7))
        one = drawn.exponential(drawn.choice([0.3, 2.0]), answers).round(drawn.integers(0, 3))
        p = chances(one, epsilon)
        for corner in itertools.product([-1.0, 1.0], repeat=answers):
            q = chances(one + np.array(corner), epsilon)
            for a, b in ((p, q), (q, p)):
                lost = np.maximum(a - np.exp(at)[:, None] * b, 0.0).sum(axis=1)
                assert (lost <= allowed + 1e-12).all()


def test_two_answers_reach_the_pair_of_permute_and_flip():
    epsilon = 1.0
    lower, upper = PLDAccountant().compose(PermuteAndFlip(epsilon)).get_delta_bounds(0.3)
    reached = 0.0
    for gap in np.linspace(-3.0, 3.0, 601):
        p, q = (chances(np.array([0.0, gap + move]), epsilon) for move in (-1.0, 1.0))
        reached = max(reached, *(np.maximum(p - math.exp(0.3) * q, 0.0)))
    assert lower == pytest.approx(reached, rel=1e-9)
    assert lower <= upper <= lower * (1.0 + 1e-9)
    assert lower == pytest.approx(1.0 - math.exp(0.5 * (0.3 - epsilon)), rel=1e-12)


def test_noisy_max_by_laplace_noise_costs_no_more():
    """Of two answers, by the distribution of a difference of two Laplace variables."""
    allowed = PLDAccountant().compose(PermuteAndFlip(1.0)).get_delta(0.3)

    def wins(gap):  # scale 2; the larger utility
        return 1.0 - 0.5 * math.exp(-0.5 * gap) * (1.0 + 0.25 * gap)

    for gap in np.linspace(2.0, 9.0, 50):
        lost = [1.0 - wins(gap - 2.0), 1.0 - wins(gap)]
        assert lost[0] - math.exp(0.3) * lost[1] <= allowed
