"""Rows or users: which of the two ways to draw has less noise where users are the unit.

10,000 users, 500 steps of 1024 rows, delta 1e-6: the noise of the mean gradient over the clipping
norm, with users drawn over that with rows drawn, against the rows that a user has. Below 1 drawing
users is better at equal clipping norms. docs/training.md has the answer.

    python -m pip install ".[plot]"
    python examples/user_sampling.py [user_sampling.png]
"""

from __future__ import annotations

import sys

from renyi.sgd import compare_user_sampling

USERS, STEPS, BATCH, DELTA = 10_000, 500, 1024, 1e-6
EPSILONS = (0.5, 2.0, 8.0)
ROWS = (1, 2, 4, 8, 16, 32, 64)  # that a user has


def ratio(rows: int, drawn: int, epsilon: float) -> float:
    """Return the noise with users drawn over that with rows drawn."""
    both = compare_user_sampling(
        USERS,
        rows,
        BATCH,
        target_epsilon=epsilon,
        target_delta=DELTA,
        records_drawn=drawn,
        steps=STEPS,
    )
    return both.user_noise / both.record_noise


def draw(file: str) -> None:
    """Draw the ratios."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.subplots()
    for epsilon, colour in zip(EPSILONS, ("#0072B2", "#D55E00", "#009E73"), strict=True):
        for style, all_drawn in (("-", True), ("--", False)):
            found = [ratio(rows, rows if all_drawn else 1, epsilon) for rows in ROWS]
            label = f"ε = {epsilon:g}, {'all rows' if all_drawn else 'one row'} of a user drawn"
            axes.plot(ROWS, found, style, color=colour, marker=".", label=label)
    axes.axhline(1.0, color="k", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="rows a user")
    axes.set(ylabel="noise, users drawn / rows drawn")
    axes.set_xticks(ROWS, [str(rows) for rows in ROWS])
    axes.legend(fontsize="small")
    figure.savefig(file, dpi=130)


def main(file: str | None = None) -> None:
    """Print the ratios where all rows of a user are drawn; draw the figure if a file is named."""
    for epsilon in EPSILONS:
        print(f"ε = {epsilon:g}:", *(f"{ratio(rows, rows, epsilon):.3f}" for rows in ROWS))
    if file is not None:
        draw(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
