"""The tables of docs/sampled_gaussian.md: published bounds beside the exact divergence, A beside B.

python examples/sampled_gaussian.py
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from renyi import special
from renyi.theory.sampled_gaussian import published_bounds

SETTINGS = (
    (0.01, 4.0, 2),
    (0.01, 4.0, 8),
    (0.01, 4.0, 32),
    (0.001, 10.0, 32),
    (0.1, 8.0, 4),
    (0.01, 1.0, 4),
)
ORDERS = (1.5, 2.0, 4.0, 8.0, 16.0, 32.0)


def tables() -> Iterator[list[str]]:
    """Return the tables as lines of Markdown."""
    yield published()
    yield directions()


def published() -> list[str]:
    """Return each published bound at every setting."""
    heads = [f"q = {q:g}, σ = {sigma:g}, α = {alpha:g}" for q, sigma, alpha in SETTINGS]
    columns = [published_bounds(*setting) for setting in SETTINGS]
    lines = [
        f"| paper | sampling, adjacency | {' | '.join(heads)} |",
        "|---|---|" + "---:|" * len(heads),
    ]
    for rows in zip(*columns, strict=True):
        cells = ["" if row.rdp is None else rounded_up(row.rdp) for row in rows]
        first = rows[0]
        lines.append(
            f"| {first.paper} | {first.sampling}, {first.adjacency} | {' | '.join(cells)} |"
        )
    return lines


def rounded_up(value: float) -> str:
    """Write four digits, rounded up."""
    exponent = math.floor(math.log10(value))
    return f"{math.ceil(value / 10.0 ** (exponent - 3)) / 1000:.3f}e{exponent}"


def directions() -> list[str]:
    """Return the divergence of a record removed beside that of one added."""
    lines = ["| q | σ | | " + " | ".join(f"α = {alpha:g}" for alpha in ORDERS) + " |"]
    lines.append("|---|---|---|" + "---:|" * len(ORDERS))
    for q, sigma in ((0.01, 1.0), (0.01, 4.0), (0.5, 1.0)):
        for name, moment in (("A", special.log_a), ("B", special.log_b)):
            cells = [f"{moment(q, sigma, alpha) / (alpha - 1.0):.5g}" for alpha in ORDERS]
            lines.append(f"| {q:g} | {sigma:g} | {name} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    for table in tables():
        print("\n".join(table), end="\n\n")
