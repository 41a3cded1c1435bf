"""What an attack proves about the epsilon that DP-SGD reports.

python bench/audit.py             # about ten minutes, writes bench/results/audit.md
python bench/audit.py --quick     # few runs, to the screen only
python bench/audit.py --one-run   # one run with many canaries, to the screen only
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1]))  # for examples

import numpy as np
from examples.audit import audit
from facts import facts
from speed import table

from renyi import special
from renyi.audit import one_run_epsilon_lower_bound, one_run_mu_lower_bound
from renyi.sgd import TrainingPlan

OUTPUT = Path(__file__).parent / "results" / "audit.md"
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


def one_run() -> list[list[str]]:
    """Return the bounds by the scores of canaries that one Gaussian release moves by mu."""
    rng, delta, rows = np.random.default_rng(3), 1e-5, []
    for mu in (1.0, 2.0):
        for canaries in (1000, 10_000):
            inside = rng.random(canaries) < 0.5
            scores = rng.normal(size=canaries) + mu * inside
            bounds = (
                special.gaussian_epsilon_upper(mu, delta),
                one_run_epsilon_lower_bound(scores, inside, delta),
                special.gaussian_epsilon_lower(one_run_mu_lower_bound(scores, inside), delta),
            )
            rows.append([f"{canaries:,}, {mu:g}", *(f"{bound:.2f}" for bound in bounds)])
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few runs, to the screen only")
    parser.add_argument("--one-run", action="store_true", help="one run with many canaries")
    options = parser.parse_args()
    if options.one_run:
        print(table("canaries, μ|true ε|by one ε and δ|by the curve", one_run()))
        return 0
    quick = options.quick
    rows = [row(case, case.runs // 50 if quick else case.runs) for case in CASES]
    method = (
        "half of the runs with the worst record, half without; log-likelihood ratio of all noisy "
        f"sums against the reported ε; Clopper and Pearson's intervals, confidence {CONFIDENCE:g} "
        "of each lower bound"
    )
    head = "run|noise multiplier|sampling rate|steps|δ|runs|reported ε|measured ε >|ratio"
    text = f"# Audit of DP-SGD\n\n{facts({'Method': method})}\n{table(head, rows)}"
    print(text)
    if not quick:
        OUTPUT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
