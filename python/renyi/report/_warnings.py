"""What is legal and probably not what was meant."""

from __future__ import annotations

import math
from collections.abc import Iterator

from renyi._rounding import round_up
from renyi._validation import shortest

__all__ = ["warnings_of"]


def warnings_of(epsilon: float, delta: float, records: int | None) -> Iterator[str]:
    """Yield a sentence for each."""
    said = f"δ = {shortest(delta)}"
    if records is not None and delta * records >= 1.0:
        yield (
            f"{said} is not below 1/{records}: such a guarantee allows to publish a random "
            "record of this data set."
        )
    elif records is not None and delta * records > 0.1:
        yield f"{said} is above a tenth of 1/{records}; smaller ones are usual."
    if records is None and delta > 1e-5:
        yield f"{said} is large unless there are few records; it should be far below 1/n."
    if math.isinf(epsilon):
        yield "No finite ε is known at this δ: nothing is promised."
    elif epsilon > 10.0:
        factor = round_up(math.exp(min(epsilon, 700.0)), 2)
        most = "by a factor of" if epsilon <= 700.0 else "by more than a factor of"
        yield f"ε = {round_up(epsilon)} promises little: odds may change {most} {factor}."
