"""What audits prove, how often they are wrong, and what they prove of DP-SGD.

python bench/audit.py             # some minutes, writes bench/results/audit.md
python bench/audit.py --dp-sgd    # about ten minutes, writes bench/results/audit_dp_sgd.md
python bench/audit.py --quick     # few of either, to the screen only

Beside jax_privacy where that is installed (python -m pip install --no-deps jax_privacy).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # for examples

import numpy as np
from examples.audit import audit
from harness import facts, options_of, publish, table
from scipy.stats import binom

from renyi import Gaussian, Laplace, PLDAccountant, PoissonSampled, special
from renyi.audit import Audit, ManyRuns, OneRun, SequentialRuns
from renyi.audit._claims import Curve
from renyi.sgd import TrainingPlan

CONFIDENCE = 0.95


class Case(NamedTuple):
    name: str
    noise_multiplier: float
    records: int  # batches of one: the sampling rate is one over it
    steps: int
    delta: float
    runs: int
    count_noise: float | None = None


CASES = (
    Case("one Gaussian step", 1.0, 1, 1, 0.1, 100_000),
    Case("one Gaussian step", 1.0, 1, 1, 0.01, 400_000),
    Case("full batches", 3.0, 1, 10, 0.1, 50_000),
    Case("Poisson batches", 0.8, 4, 10, 0.1, 50_000),
    Case("Poisson batches", 1.0, 10, 20, 0.01, 50_000),
    Case("full batches, moving norm", 3.0, 1, 10, 0.1, 50_000, 15.0),
)


def row(case: Case, runs: int) -> list[str]:
    plan = TrainingPlan(case.records, 1, noise_multiplier=case.noise_multiplier, steps=case.steps)
    found = audit(plan, case.delta, runs, count_noise=case.count_noise, confidence=CONFIDENCE)
    return [
        case.name,
        f"{case.noise_multiplier:g}",
        f"{plan.sample_rate:g}",
        f"{case.steps}",
        f"{case.delta:g}",
        f"{2 * runs:,}",
        f"{found.reported:.4f}",
        f"{found.lower_bound:.4f}",
        f"{found.lower_bound / found.reported:.1%}",
    ]


class Null(NamedTuple):
    """An audit of runs that are as private as their claim, by the best scores."""

    kind: str
    mechanism: str
    audit: Callable[[np.random.Generator], Audit]
    claim: PLDAccountant | tuple[float, float]


def present_or_not(count: int) -> np.ndarray:
    """Return that half of the runs have the record."""
    return np.arange(count) < count // 2


def gaussian(rng: np.random.Generator, there: np.ndarray) -> np.ndarray:
    return rng.normal(size=there.size) + there


def laplace(rng: np.random.Generator, there: np.ndarray) -> np.ndarray:
    return rng.laplace(size=there.size) + there


def response(rng: np.random.Generator, there: np.ndarray) -> np.ndarray:
    """Return the answers of randomized response with epsilon 1."""
    return np.where(rng.random(there.size) < 1.0 / (1.0 + math.e), ~there, there) * 1.0


def dp_sgd(rng: np.random.Generator, there: np.ndarray) -> np.ndarray:
    """Return log-likelihood ratios of four steps with noise 0.7 that sample half of the records."""
    drawn = (rng.random((4, there.size)) < 0.5) & there
    outputs = rng.normal(0.0, 0.7, drawn.shape) + drawn
    exponents = (2.0 * outputs - 1.0) / (2.0 * 0.7**2)
    return np.asarray(np.logaddexp(0.0, exponents).sum(axis=0))


Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def many(draw: Draw, kind: Callable[..., Audit]) -> Callable[[np.random.Generator], Audit]:
    def made(rng: np.random.Generator) -> Audit:
        there = present_or_not(128)
        scores = draw(rng, there)
        return kind(scores[there], scores[~there])

    return made


def one(draw: Draw, **options: Any) -> Callable[[np.random.Generator], Audit]:
    def made(rng: np.random.Generator) -> Audit:
        included = rng.random(300) < 0.5
        return OneRun(draw(rng, included), included, **options)

    return made


STEP = PoissonSampled(Gaussian(0.7), 0.5)
RUN, NOISE, DOUBLE = (PLDAccountant().compose(m) for m in (STEP * 4, Gaussian(1.0), Laplace(1.0)))
ANSWER = 1.0, 0.0
NULLS = (
    Null("many runs", "Gaussian", many(gaussian, ManyRuns), NOISE),
    Null("many runs", "Laplace", many(laplace, ManyRuns), DOUBLE),
    Null(
        "many runs, threshold", "response", many(response, partial(ManyRuns, threshold=1)), ANSWER
    ),
    Null("many runs", "DP-SGD", many(dp_sgd, ManyRuns), RUN),
    Null("stopped at the worst time", "Gaussian", many(gaussian, SequentialRuns), NOISE),
    Null("stopped at the worst time", "DP-SGD", many(dp_sgd, SequentialRuns), RUN),
    Null("one run", "Gaussian", one(gaussian), NOISE),
    Null("one run, high scores", "Gaussian", one(gaussian, sides="in", guesses=60), NOISE),
    Null("one run", "response", one(response), ANSWER),
    Null("one run", "DP-SGD", one(dp_sgd), RUN),
)
FAILING = 0.2  # probability, as large as such audits show best


def wrong(null: Null, audits: int) -> int:
    """Return how many audits refute what is true."""
    rng, claim = np.random.default_rng(1), Curve.of(null.claim)
    return sum(null.audit(rng).refutes(claim, confidence=1.0 - FAILING) for _ in range(audits))


def most(audits: int) -> int:
    """Return how many are wrong in all but a thousandth of the cases at most, at that rate."""
    return int(binom.ppf(0.999, audits, FAILING))


def coverage(audits: int) -> list[list[str]]:
    return [
        [f"{null.kind}, {null.mechanism}", f"{k}", f"{k / audits:.2%}", f"{most(audits)}"]
        for null in NULLS
        for k in [wrong(null, audits)]
    ]


def peer() -> Any:
    """Return the module of audits of jax_privacy, without JAX; None where it is not installed."""
    found = find_spec("jax_privacy")
    if found is None or not found.submodule_search_locations:
        return None
    file = Path(found.submodule_search_locations[0]) / "auditing.py"
    spec = spec_from_file_location("jax_privacy_auditing", file)
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def beside(scores: np.ndarray, inside: np.ndarray, delta: float, many_runs: bool) -> list[str]:
    """Return the bounds of the other library: without structure, and of Gaussian noise."""
    if (other := peer()) is None:
        return ["", ""]
    auditor, failing = other.CanaryScoreAuditor(scores[inside], scores[~inside]), 1.0 - CONFIDENCE
    if many_runs:
        first = auditor.epsilon_clopper_pearson(failing, delta, one_sided=False)
        return [f"{first:.3f}", f"{auditor.epsilon_from_gdp(failing, delta):.3f}"]
    first = auditor.epsilon_one_run(failing, delta)
    return [f"{first:.3f}", f"{auditor.epsilon_one_run_fdp(failing, delta):.3f}"]


def same_scores() -> list[list[str]]:
    """Return the bounds by scores of canaries, or of runs, that a Gaussian release moves by mu."""
    rng, rows = np.random.default_rng(3), []
    for count, mu, delta, runs in (
        (1000, 1.0, 1e-5, False),
        (10_000, 1.0, 1e-5, False),
        (1000, 2.0, 1e-5, False),
        (10_000, 2.0, 1e-5, False),
        (2000, 1.0, 1e-2, True),
        (20_000, 1.0, 1e-2, True),
    ):
        inside = present_or_not(count) if runs else rng.random(count) < 0.5
        scores = rng.normal(size=count) + mu * inside
        audit = ManyRuns(scores[inside], scores[~inside]) if runs else OneRun(scores, inside)
        rows.append(
            [
                f"{count:,} {'runs' if runs else 'canaries'}, μ = {mu:g}, δ = {delta:g}",
                f"{special.gaussian_epsilon_upper(mu, delta):.3f}",
                f"{audit.epsilon_lower_bound(delta):.3f}",
                f"{special.gaussian_epsilon_lower(audit.mu_lower_bound(), delta):.3f}",
                *beside(scores, inside, delta, runs),
            ]
        )
    return rows


def of_training(quick: bool) -> list[str]:
    rows = [row(case, case.runs // 50 if quick else case.runs) for case in CASES]
    method = (
        "half of the runs with the worst record, half without; log-likelihood ratio of all noisy "
        f"sums against the reported ε; Clopper and Pearson's intervals, confidence {CONFIDENCE:g} "
        "of each lower bound"
    )
    head = "run|noise multiplier|sampling rate|steps|δ|runs|reported ε|measured ε >|ratio"
    return ["# Audit of DP-SGD\n", facts({"Method": method}), table(head, rows)]


def of_audits(quick: bool) -> list[str]:
    audits = 100 if quick else 2000
    method = (
        f"confidence {CONFIDENCE:g} of each lower bound. Below: {audits:,} audits a row, each at a "
        f"confidence of {1.0 - FAILING:g}, of runs that are as private as their claim; at most so "
        "many may refute it by a binomial test at 99.9 %"
    )
    head = "scores|true ε|any mechanism: ε >|Gaussian: ε >|jax_privacy, any|jax_privacy, Gaussian"
    proved = table("audit|refuted what is true|share|at most", coverage(audits))
    return ["# Audits\n", facts({"Method": method}), table(head, same_scores()), proved]


def main() -> None:
    options = options_of(__doc__, quick=False, dp_sgd=False)
    parts = of_training(options.quick) if options.dp_sgd else of_audits(options.quick)
    name = "audit_dp_sgd" if options.dp_sgd else "audit"
    publish(parts, None if options.quick else name)


if __name__ == "__main__":
    main()
