"""What functions of renyi.theory do not take: values of an argument, beside good ones."""

import math

import pytest
from each import each
from pair_reference import laplace

from renyi import Gaussian
from renyi._rounding import count_above
from renyi.theory.comparison import compare, steps_grid
from renyi.theory.composition import (
    advanced_composition,
    basic_composition,
    best_split,
    optimal_composition,
)
from renyi.theory.indistinguishability import (
    common_part,
    indistinguishability,
    loss_tail,
    normal_tail_bound,
    tail_from_guarantee,
)
from renyi.theory.moments import dp_from_moments, dp_from_rdp, log_moment_constant
from renyi.theory.noise import gaussian_calibration, laplace_calibration
from renyi.theory.routes import advanced_route, full_batch_route, moment_bound
from renyi.theory.subsampling import fixed_size_rdp, poisson_rdp, subsampled, subsampled_rdp

OUTSIDE, COUNTS = [0.0, -1.0, math.inf, math.nan], [0, -1, 10**301, 10**400, 1.5, "1", None, True]
TAIL, TARGET, RUN = {"epsilon": 1.0, "delta": 0.1}, {"epsilon": 1.0}, {"epsilon": 1.0, "sigma": 1.0}
ROUTE = {"sample_rate": 0.01, "noise_multiplier": 4.0}
BY_EPSILON, BY_DELTA = ROUTE | {"epsilon": 0.5}, ROUTE | {"delta": 0.5}
TEN = {"sample_rate": 0.1, "noise_multiplier": 1.0, "steps": 10, "epsilon": 1.0}
ONE, AT, PAIR = {"epsilon": 0.1}, {"target_epsilon": 1.0}, {"epsilon": 1.0, "delta": 0.1}
COMPARED = {"sample_rate": 0.1, "noise_multiplier": 1.0, "steps": 10, "delta": 1e-5}
SAMPLED = poisson_rdp, fixed_size_rdp
SAMPLE = {"mechanism": Gaussian(1.0), "sample_rate": 0.1, "orders": 2.0}
TERMS = SAMPLE | {"bound": "tight", "terms": 2}
HALF, BY_HALF = ({"epsilon": 0.5}, {"delta": 0.5}), {"epsilon": None, "delta": 0.5}
SAME = [1.0], [1.0]
LAPLACE, GAUSSIAN = laplace_calibration, gaussian_calibration


@each(
    "call, given, name, bads, permitted",
    [
        (basic_composition, {"epsilon": 1.0}, "count", [1.5], "integers"),
        (basic_composition, {"epsilon": 1.0}, "delta", [1.5], ""),
        (basic_composition, {}, "epsilon", [-1.0], ""),
        (advanced_composition, ONE, "slack", [0.0, 1.0, math.nan], r"a number in \(0, 1\)"),
        (advanced_composition, ONE | {"slack": 0.1}, "form", ["best"], "one of"),
        (advanced_composition, ONE, "target_epsilon", [-1.0], ""),
        (best_split, {"delta": 0.1, "count": 3}, "epsilon_at", [lambda delta: math.nan], ""),
        (optimal_composition, AT | {"epsilon": 1.0}, "count", [-1, 10**9 + 1], "an integer"),
        (optimal_composition, AT | {"count": 2}, "epsilon", [math.inf, -1.0, math.nan], ""),
        *((dp_from_rdp, {"rdp": 1.0, **given}, "order", [1.0], "") for given in HALF),
        *((dp_from_rdp, {"order": 2.0, **given}, "rdp", [-1.0], "") for given in HALF),
        (dp_from_moments, {"kappa": lambda t: t}, "delta", [0.0], ""),
        (dp_from_moments, TARGET, "kappa", [lambda t: math.nan], ""),
        (log_moment_constant, {"c1": 1.0}, "c2", [0.9e-6], ""),
        (log_moment_constant, {"c2": 1.0}, "c1", [*OUTSIDE, [1.0]], ""),
        (common_part, TARGET, "pair", [laplace(1.0)], ""),
        (common_part, {"pair": SAME}, "epsilon", [-1.0], ""),
        (loss_tail, TARGET, "pair", [[(0.5, 1)]], r"\(p, q\) or a DominatingPair, got"),
        (indistinguishability, TARGET, "pair", [[0.5, 0.5]], ""),
        (indistinguishability, {"pair": SAME}, "epsilon", [math.nan], ""),
        (indistinguishability, {"pair": SAME}, "delta", [1.5], ""),
        (subsampled, PAIR, "sample_rate", [-0.1, 1.5, math.nan], r"a number in \[0, 1\]"),
        (subsampled, PAIR | {"inverse": True}, "sample_rate", [0.0, 1.5], r"a number in \(0, 1\]"),
        (subsampled, {"epsilon": 1.0, "sample_rate": 0.5}, "delta", [2.0], ""),
        (subsampled_rdp, {"rdp": 1.0, "sample_rate": 0.5}, "order", [1.0, 0.5, math.inf], ""),
        (advanced_route, TEN, "step", ["best"], ""),
        (advanced_route, TEN, "composition", ["best"], ""),
        (moment_bound, TEN, "form", ["best"], ""),
        *(
            (route, {**TEN, **given}, name, [0], "")
            for route, given in (
                (advanced_route, {}),
                (moment_bound, {"epsilon": None, "delta": 0.5}),
            )
            for name in ("sample_rate", "noise_multiplier", "steps")
        ),
        (compare, COMPARED, "methods", [["best"], "exact", 3], "a sequence of names among 'full"),
        (compare, COMPARED, "steps", [0, 10**400], r"an integer in \[1, 10\^9\]"),
        *((compare, COMPARED, name, [0.0], "") for name in ("sample_rate", "noise_multiplier")),
        (compare, COMPARED, "delta", [1.5], ""),
        (steps_grid, {}, "last", [10**400], r"an integer in \[1, 10\^9\]"),
        *((rdp, SAMPLE, "bound", ["sharp"], "one of 'best'.*got 'sharp'") for rdp in SAMPLED),
        *((rdp, SAMPLE, "sample_rate", [1.5], ".*got 1.5") for rdp in SAMPLED),
        *((rdp, SAMPLE, "orders", [[2.0, 0.5]], ".*got 0.5") for rdp in SAMPLED),
        (poisson_rdp, TERMS, "orders", [10**7], r"integers in \[2, 10\^6\]"),
        (poisson_rdp, TERMS | {"orders": 9}, "terms", [0], ""),
        (normal_tail_bound, {}, "t", OUTSIDE, ""),
        (normal_tail_bound, {"t": 1.0}, "form", ["exact"], ""),
        (tail_from_guarantee, TAIL, "factor", [1.0, 0.5, math.inf], ""),
        (LAPLACE, {"delta": 0.0}, "epsilon", OUTSIDE, "a number in"),
        (LAPLACE, TARGET, "scale", OUTSIDE, ""),
        (LAPLACE, TARGET, "delta", [1.0], ""),
        (LAPLACE, {**TARGET, "delta": 0.0}, "sensitivity", ["1"], ""),
        (GAUSSIAN, {"delta": 0.1}, "epsilon", OUTSIDE, ""),
        (GAUSSIAN, RUN, "sensitivity", OUTSIDE, ""),
        (GAUSSIAN, TARGET, "delta", [0.0, 1.0, 2.0], r"a number in \(0, 1\)"),
        (GAUSSIAN, TAIL, "calibration", ["best", ["chernoff"], None], "one of 'exact'"),
        (GAUSSIAN, RUN, "calibration", ["mills"], "one of 'exact', 'chernoff'"),
        (GAUSSIAN, TAIL, "count", [0, 10**400], ""),
        (GAUSSIAN, TARGET, "sigma", ["1"], ""),
        *(
            (advanced_route, {**given, **more}, name, [bad], permitted)
            for given in (BY_EPSILON, BY_DELTA)
            for more, name, bad, permitted in (
                ({"steps": 10}, "composition", "best", "one of"),
                ({"composition": "optimal"}, "steps", 10**10, "an integer in"),
                ({}, "steps", 10**400, "an integer from 1"),
            )
        ),
        (full_batch_route, {"noise_multiplier": 4.0, **TARGET}, "epochs", [10**400], "an integer"),
        (lambda steps: count_above(steps, "steps"), {}, "steps", COUNTS, "an integer"),
    ],
)
def test_refused(call, given, name, bads, permitted):
    for bad in bads:
        with pytest.raises((TypeError, ValueError), match=f"^{name} must be {permitted}"):
            call(**{**given, name: bad})


def test_what_is_given():
    for noise in gaussian_calibration, laplace_calibration:
        with pytest.raises(ValueError, match=r"exactly two of .* must be given, got .*=None"):
            noise(epsilon=1.0)
    for given in {}, {"epsilon": 1.0, "delta": 0.5}:
        with pytest.raises(ValueError, match="exactly one of epsilon and delta must be given"):
            dp_from_rdp(2.0, 1.0, **given)
    with pytest.raises(TypeError, match="count must be"):
        loss_tail([(laplace(1.0), 1.5)], 0.0)
    with pytest.raises(ValueError, match="q must be as long as p"):
        indistinguishability(([0.5, 0.5], [1.0]), epsilon=0.0)
    with pytest.raises(ValueError, match="p must be"):
        indistinguishability(([0.5, 0.6], [0.5, 0.5]), epsilon=0.0)
