"""What is legal and probably not what was meant."""

from __future__ import annotations

import math
from collections.abc import Iterator

from renyi.accountants import Adjacency
from renyi.mechanisms import Composed, Mechanism, PoissonSampled

__all__ = ["warnings_of"]


def warnings_of(
    mechanism: Mechanism,
    epsilon: float,
    delta: float,
    adjacency: Adjacency,
    records: int | None,
    shuffled: bool,
) -> Iterator[str]:
    """Yield a sentence for each."""
    if records is not None and delta * records >= 1.0:
        yield (
            f"δ = {delta:g} is not below 1/{records}: such a guarantee allows to publish a random "
            "record of this data set."
        )
    elif records is not None and delta * records > 0.1:
        yield f"δ = {delta:g} is above a tenth of 1/{records}; smaller ones are usual."
    if records is None and delta > 1e-5:
        yield f"δ = {delta:g} is large unless there are few records; it should be far below 1/n."
    if shuffled and samples(mechanism):
        yield (
            "The batches were shuffled and the accounting is for Poisson samples. It does not "
            "cover shuffling, which may be much less private: account for ShuffledBatches, or draw "
            "Poisson samples."
        )
    if epsilon > 10.0:
        factor = math.exp(min(epsilon, 99.0))
        yield f"ε = {epsilon:.4g} promises little: odds may change by a factor of {factor:.1e}."
    if adjacency == "zero_out":
        yield "A record may be replaced by nothing; the number of records is taken as public."


def samples(mechanism: Mechanism) -> bool:
    """Return whether Poisson samples are drawn anywhere."""
    if isinstance(mechanism, Composed):
        return any(samples(part) for part, _ in mechanism.parts)
    return isinstance(mechanism, PoissonSampled)
