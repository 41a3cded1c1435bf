"""What is known about a pass of projected noisy SGD: step, gradients, domain, law of the noise.

With batches a step uses the mean gradient of ``batch_size`` records, no record in two of them, and
n counts steps. Another record moves that mean by 2L/batch_size at most, a mean of losses is as
smooth and convex as each, so that ``contraction`` stays, and with the records cut into batches in a
uniformly random order the batch of each is uniform: every theorem here holds with the batch in the
place of the record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from renyi._validation import probability_of, real_of
from renyi.theory.iteration._arguments import SMALLEST, positive_of, steps_of

__all__ = ["Noise", "NoisyDescent", "step_contraction"]

Noise = Literal["gaussian", "laplace"]


@dataclass(frozen=True)
class NoisyDescent:
    """The descent ``w <- Proj_K(w - step_size * (gradient(w, batch) - Z))``, a batch a step.

    Parameters
    ----------
    step_size : float
        eta, in [1e-75, 1e75]; no more than ``2 / (smoothness + strong_convexity)``, see
        `step_contraction`.
    lipschitz : float
        L, in [1e-75, 1e75]: gradients of two records at one point differ by at most 2L in L2 norm.
        So it is for losses with gradients of at most L; a regulariser that is the same for all
        records does not count.
    diameter : float
        Of the convex set K, in [1e-75, 1e75].
    contraction : float
        M, in [0, 1]: a step without noise multiplies distances by at most M; 1 for convex losses,
        `step_contraction` for strongly convex ones.
    noise : {"gaussian", "laplace"}
        Law of Z: normal in every coordinate, or Laplace, which is for one dimension only. Its scale
        (standard deviation; b of the density ``exp(-|x|/b)/(2b)``) is that of Z, so the step adds
        noise of ``step_size`` times it.
    batch_size : int
        Records of a batch, whose gradients are averaged; the same for every batch, none of them
        used in two. At least 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> descent = NoisyDescent(step_size=0.1, lipschitz=10.0, diameter=2.0, contraction=0.5)
    >>> descent.record_shift, descent.state_shift > 10.0
    (20.0, True)
    >>> NoisyDescent(0.1, 10.0, 2.0, batch_size=4).record_shift
    5.0
    """

    step_size: float
    lipschitz: float
    diameter: float
    contraction: float = 1.0
    noise: Noise = "gaussian"
    batch_size: int = 1

    def __post_init__(self) -> None:
        for name in ("step_size", "lipschitz", "diameter"):
            object.__setattr__(self, name, positive_of(getattr(self, name), name))
        object.__setattr__(self, "contraction", probability_of(self.contraction, "contraction"))
        if self.noise not in ("gaussian", "laplace"):
            raise ValueError(f"noise must be 'gaussian' or 'laplace', got {self.noise!r}")
        object.__setattr__(self, "batch_size", steps_of(self.batch_size, "batch_size"))
        if self.record_shift < SMALLEST:
            raise ValueError(
                "batch_size must leave 2 lipschitz/batch_size at least 1e-75, got "
                f"{self.batch_size!r}"
            )

    @property
    def record_shift(self) -> float:
        """2L/batch_size, rounded up: how far another record moves a step, in units of Z."""
        moved = 2.0 * self.lipschitz / self.batch_size
        exact = Fraction(moved) * self.batch_size >= 2 * Fraction(self.lipschitz)
        return moved if exact else math.nextafter(moved, math.inf)

    @property
    def state_shift(self) -> float:
        """``contraction * diameter / step_size``, rounded up: the same for another iterate."""
        if self.contraction == 0.0:
            return 0.0
        moved = max(self.contraction, SMALLEST) * self.diameter
        return math.nextafter(moved * (1.0 + 2.0**-52) / self.step_size, math.inf)


def step_contraction(step_size: float, smoothness: float, strong_convexity: float) -> float:
    """Return M, the Lipschitz constant of a gradient step.

    ``sqrt(1 - 2 eta beta rho / (beta + rho))`` for a loss that is beta-smooth and rho-strongly
    convex, as long as ``eta <= 2 / (beta + rho)``.

    Parameters
    ----------
    step_size : float
        eta, in [1e-75, 1e75] and at most ``2 / (smoothness + strong_convexity)``.
    smoothness : float
        beta, in [1e-75, 1e75]: the Lipschitz constant of the gradient.
    strong_convexity : float
        rho, in [0, smoothness].

    Returns
    -------
    float
        In [0, 1], rounded up by less than two units in the last place.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    References
    ----------
    Nesterov 2004, Theorem 2.1.12; Sordello, Bu, Dong 2021, arXiv 2106.11767.

    Examples
    --------
    >>> step_contraction(0.1, 1.0, 0.0)
    1.0
    >>> round(step_contraction(1.0, 0.5, 0.5), 6)
    0.707107
    """
    eta = positive_of(step_size, "step_size")
    beta = positive_of(smoothness, "smoothness")
    allowed = f"a number in [0, {beta!r}], the smoothness"
    rho = real_of(strong_convexity, "strong_convexity", allowed)
    if not 0.0 <= rho <= beta:
        raise ValueError(f"strong_convexity must be {allowed}, got {strong_convexity!r}")
    exact_eta, exact_beta, exact_rho = Fraction(eta), Fraction(beta), Fraction(rho)
    if exact_eta * (exact_beta + exact_rho) > 2:
        raise ValueError(
            "step_size must be at most 2 / (smoothness + strong_convexity) = "
            f"{2.0 / (beta + rho)!r}, got {step_size!r}"
        )
    square = 1 - 2 * exact_eta * exact_beta * exact_rho / (exact_beta + exact_rho)
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return min(root, 1.0)
