"""What an accountant refuses, and under which adjacency a mechanism holds."""

from __future__ import annotations

from renyi.matrix import CyclicPoisson
from renyi.mechanisms import (
    FixedSizeSampled,
    MatrixMechanism,
    Mechanism,
    ShuffledBatches,
    TreeAggregation,
)

__all__ = ["UnsupportedMechanismError", "check_adjacency"]

# Schemes whose law depends on the number of records hold only where neighbours have the same.
HOLDS_FOR: dict[type[Mechanism], tuple[str, ...]] = {
    FixedSizeSampled: ("replace_one",),
    ShuffledBatches: ("replace_one", "zero_out"),
    TreeAggregation: ("replace_one", "zero_out"),
    MatrixMechanism: ("replace_one", "zero_out"),
}


class UnsupportedMechanismError(TypeError):
    """An accountant cannot account for a mechanism.

    Attributes
    ----------
    mechanism : Mechanism
        Which.
    reason : str
        Why.
    """

    def __init__(self, mechanism: Mechanism, reason: str) -> None:
        super().__init__(mechanism, reason)
        self.mechanism = mechanism
        self.reason = reason

    def __str__(self) -> str:
        return (
            "mechanism must be one that this accountant can bound, "
            f"got {self.mechanism!r}: {self.reason}"
        )


def check_adjacency(mechanism: Mechanism, adjacency: str) -> None:
    """Raise `UnsupportedMechanismError` unless a mechanism holds for an adjacency."""
    allowed = HOLDS_FOR.get(type(mechanism))
    if isinstance(mechanism, MatrixMechanism) and isinstance(
        mechanism.participation, CyclicPoisson
    ):
        allowed = None  # every record is put into a group by itself
    if allowed is not None and adjacency not in allowed:
        words = " or ".join(map(repr, allowed))
        raise UnsupportedMechanismError(
            mechanism, f"it holds for adjacency {words} only, this accountant has {adjacency!r}"
        )
    for inner in mechanism._inner():
        check_adjacency(inner, adjacency)
