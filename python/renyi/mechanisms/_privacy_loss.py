"""Mechanisms given by the distributions of their privacy loss."""

from __future__ import annotations

from dataclasses import dataclass

from renyi.mechanisms._algebra import Mechanism
from renyi.pairs import DominatingPair, ReversedPair

__all__ = ["PrivacyLoss"]


@dataclass(frozen=True, slots=True)
class PrivacyLoss(Mechanism):
    """A mechanism given by the distributions of its privacy loss.

    Parameters
    ----------
    remove : renyi.pairs.DominatingPair
        A pair (P, Q) that dominates the outputs with and without the record.
    add : renyi.pairs.DominatingPair, optional
        A pair that dominates the outputs without and with it; by default (Q, P).

    Raises
    ------
    TypeError
        If they are not privacy loss distributions.

    References
    ----------
    Zhu, Dong, Wang 2022, arXiv 2106.08567, Definition 7 (dominating pairs).

    Examples
    --------
    >>> from renyi.pairs import LaplacePair
    >>> PrivacyLoss(LaplacePair(1.0))
    PrivacyLoss(remove=LaplacePair(scale=1.0), add=ReversedPair(base=LaplacePair(scale=1.0)))
    """

    remove: DominatingPair
    add: DominatingPair | None = None

    def __post_init__(self) -> None:
        if self.add is None and isinstance(self.remove, DominatingPair):
            object.__setattr__(self, "add", ReversedPair(self.remove))
        for name in ("remove", "add"):
            value = getattr(self, name)
            if not isinstance(value, DominatingPair):
                raise TypeError(f"{name} must be a DominatingPair, got {value!r}")

    def loss(self, remove: bool) -> DominatingPair:
        """Return the distribution of one direction."""
        if remove or self.add is None:
            return self.remove
        return self.add

    def _headline(self) -> str:
        mirrored = self.add == ReversedPair(self.remove)
        return f"Privacy loss {self.remove!r}" + ("" if mirrored else f", {self.add!r}")
