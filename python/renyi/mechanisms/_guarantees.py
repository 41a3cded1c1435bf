"""Mechanisms of which only a guarantee is known, as stated for the accountant's adjacency."""

from __future__ import annotations

from dataclasses import dataclass

from renyi._validation import NON_NEGATIVE, PROBABILITY, shortest
from renyi.mechanisms._algebra import Mechanism
from renyi.mechanisms._arguments import set_numbers

__all__ = ["ZCDP", "ApproxDP", "PureDP"]


@dataclass(frozen=True, slots=True)
class PureDP(Mechanism):
    """Any mechanism whose privacy loss is at most ``epsilon``.

    Parameters
    ----------
    epsilon : float
        In [0, inf].

    Raises
    ------
    TypeError, ValueError
        If it is not a number in [0, inf].

    Examples
    --------
    >>> PureDP(1.0) * 10
    Composed((PureDP(epsilon=1.0), 10))
    """

    epsilon: float

    def __post_init__(self) -> None:
        set_numbers(self, epsilon=NON_NEGATIVE)

    def _headline(self) -> str:
        return f"Pure privacy, epsilon {shortest(self.epsilon)}"


@dataclass(frozen=True, slots=True)
class ApproxDP(Mechanism):
    """Any (epsilon, delta)-private mechanism.

    Parameters
    ----------
    epsilon : float
        In [0, inf].
    delta : float
        In [0, 1].

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> ApproxDP(1.0, 1e-6)
    ApproxDP(epsilon=1.0, delta=1e-06)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        set_numbers(self, epsilon=NON_NEGATIVE, delta=PROBABILITY)

    def _headline(self) -> str:
        return (
            f"Approximate privacy, epsilon {shortest(self.epsilon)}, delta {shortest(self.delta)}"
        )


@dataclass(frozen=True, slots=True)
class ZCDP(Mechanism):
    """Any (xi, rho)-zero-concentrated private mechanism: D_alpha <= xi + rho alpha, all alpha > 1.

    Parameters
    ----------
    rho : float
        In [0, inf].
    xi : float
        In [0, inf].

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    Bun, Steinke 2016, arXiv 1605.02065, Definition 1.1.

    Examples
    --------
    >>> ZCDP(0.5)
    ZCDP(rho=0.5, xi=0.0)
    """

    rho: float
    xi: float = 0.0

    def __post_init__(self) -> None:
        set_numbers(self, rho=NON_NEGATIVE, xi=NON_NEGATIVE)

    def _headline(self) -> str:
        extra = f", xi {shortest(self.xi)}" if self.xi else ""
        return f"Zero-concentrated privacy, rho {shortest(self.rho)}{extra}"
