"""What it costs to release the best of several training runs, beside Rényi's bound.

    python bench/selection.py         # writes bench/results/selection.md

Five settings of DP-SGD, a geometric number of runs of mean 10: epsilon of one run, what some order
of scores attains, the bound and that by Rényi divergences (`RDPAccountant`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from facts import publish
from speed import table

from renyi import Gaussian, PLDAccountant, PoissonSampled, RDPAccountant, RepeatAndSelect

OUTPUT = Path(__file__).parent / "results" / "selection.md"
DELTA, MEAN, SHAPE = 1e-6, 10.0, 1.0
SETTINGS = (
    (2.0, 0.01, 1000),
    (1.0, 0.01, 1000),
    (0.8, 0.001, 2000),
    (1.5, 0.02, 5000),
    (5.0, 0.1, 500),
)
HEAD = "σ|q|steps|one run|attained|bound|Rényi|Rényi over bound"


def rows() -> Iterator[list[str]]:
    for sigma, q, steps in SETTINGS:
        run = PoissonSampled(Gaussian(sigma), q) * steps
        best = RepeatAndSelect(run, MEAN, SHAPE)
        one = PLDAccountant().compose(run).get_epsilon(DELTA)
        low, high = PLDAccountant().compose(best).get_epsilon_bounds(DELTA)
        renyi = RDPAccountant().compose(best).get_epsilon(DELTA)
        found = [f"{value:.4f}" for value in (one, low, high, renyi)]
        yield [f"{sigma:g}", f"{q:g}", f"{steps:,}", *found, f"{renyi / high:.2f}"]


def main() -> None:
    text = f"# The best of {MEAN:g} runs on average, geometric, δ = {DELTA:g}\n"
    publish([text, table(HEAD, list(rows()))], OUTPUT)


if __name__ == "__main__":
    main()
