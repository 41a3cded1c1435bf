"""Mechanisms given by the distributions of their privacy loss."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass

from renyi.mechanisms._algebra import Mechanism
from renyi.pld import PrivacyLossDistribution, Reversed

__all__ = ["PrivacyLoss"]


@dataclass(frozen=True, slots=True, repr=False)
class PrivacyLoss(Mechanism):
    """A mechanism given by the distributions of its privacy loss.

    Parameters
    ----------
    remove : renyi.pld.PrivacyLossDistribution
        A pair (P, Q) that dominates the outputs with and without the record.
    add : renyi.pld.PrivacyLossDistribution, optional
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
    >>> from renyi import pld
    >>> PrivacyLoss(pld.Laplace(1.0))
    PrivacyLoss(remove=pld.Laplace(scale=1.0), add=pld.Reversed(base=pld.Laplace(scale=1.0)))
    """

    remove: PrivacyLossDistribution
    add: PrivacyLossDistribution | None = None

    def __post_init__(self) -> None:
        if self.add is None and isinstance(self.remove, PrivacyLossDistribution):
            object.__setattr__(self, "add", Reversed(self.remove))
        for name in ("remove", "add"):
            value = getattr(self, name)
            if not isinstance(value, PrivacyLossDistribution):
                raise TypeError(f"{name} must be a PrivacyLossDistribution, got {value!r}")

    def loss(self, remove: bool) -> PrivacyLossDistribution:
        """Return the distribution of one direction."""
        if remove or self.add is None:
            return self.remove
        return self.add

    def _headline(self) -> str:
        mirrored = self.add == Reversed(self.remove)
        return f"Privacy loss {_words(self.remove)}" + ("" if mirrored else f", {_words(self.add)}")

    def __repr__(self) -> str:
        return f"PrivacyLoss(remove={_words(self.remove)}, add={_words(self.add)})"


def _words(value: object) -> str:
    """Write a value as Python, classes of `renyi.pld` with the module: names recur there."""
    kind = type(value)
    if not (isinstance(value, PrivacyLossDistribution) and kind.__module__.startswith("renyi.pld")):
        return repr(value)
    if not is_dataclass(value):
        return f"pld.{value!r}"
    given = (f"{f.name}={_words(getattr(value, f.name))}" for f in fields(value) if f.repr)
    return f"pld.{kind.__qualname__}({', '.join(given)})"
