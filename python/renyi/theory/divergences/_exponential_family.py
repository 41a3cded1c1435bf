"""Any exponential family, given by its log partition function."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from renyi._validation import numbers_of
from renyi.theory.divergences._base import Distribution, by_order
from renyi.theory.divergences._stable import Array, weighted

__all__ = ["ExponentialFamily"]


@dataclass(frozen=True)
class ExponentialFamily(Distribution):
    """Density h(x) exp(theta . T(x) - A(theta)), given by A.

    Parameters
    ----------
    natural : sequence of float
        The natural parameter theta.
    log_partition : callable
        A, of an array of shape (n,); convex, and inf outside the natural domain. Both
        distributions must have the same function.
    mean : callable, optional
        The gradient of A, an array of shape (n,): the mean of T. Needed for alpha = 1 alone.

    Raises
    ------
    TypeError, ValueError
        On other types; when a divergence of order 1 is asked for without ``mean``.

    Notes
    -----
    The divergence is (A(a theta_p + (1-a) theta_q) - a A(theta_p) - (1-a) A(theta_q)) / (a - 1),
    infinite where the first argument leaves the domain. Computed as it stands: the absolute error
    is about that of A's values times max(a, 1)/|a - 1|. The named families have better.

    Examples
    --------
    >>> import math
    >>> from renyi.theory.divergences import renyi_divergence
    >>> def log_partition(theta): return math.exp(theta[0])  # Poisson, theta = log(mean)
    >>> p, q = (ExponentialFamily([math.log(m)], log_partition) for m in (2.0, 1.0))
    >>> round(float(renyi_divergence(p, q, 2.0)), 12)
    1.0
    """

    natural: Sequence[float]
    log_partition: Callable[[Array], float]
    mean: Callable[[Array], Array] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        natural, shape = numbers_of(self.natural, "natural", -1e100, 1e100, "of finite numbers")
        if len(shape) != 1 or not shape[0]:
            raise ValueError(f"natural must be a sequence of numbers, got shape {shape}")
        object.__setattr__(self, "natural", tuple(map(float, natural)))
        for name in ("log_partition", "mean"):
            value = getattr(self, name)
            if not callable(value) and not (value is None and name == "mean"):
                raise TypeError(f"{name} must be callable, got {value!r}")

    @property
    def _pulled_back(self) -> tuple[Hashable, Distribution]:
        return (self.log_partition, len(self.natural)), self

    def _divergence(self, other: ExponentialFamily, alpha: Array) -> Array:
        p, q = np.array(self.natural), np.array(other.natural)
        at_p, at_q = float(self.log_partition(p)), float(self.log_partition(q))

        def renyi(a: Array) -> Array:
            mixed = np.array([weighted(a, x, y) for x, y in zip(p, q, strict=True)]).T
            values = np.array([float(self.log_partition(theta)) for theta in mixed])
            return (values - weighted(a, at_p, at_q)) / (a - 1.0)

        def above(a: Array) -> Array:
            found, one = np.empty(a.size), a == 1.0
            if one.any():
                if self.mean is None:
                    raise ValueError("mean must be given for the divergence of order 1, got None")
                found[one] = at_q - at_p - float(np.dot(self.mean(p), q - p))
            if not one.all():
                found[~one] = renyi(a[~one])
            return found

        return by_order(alpha, above, renyi)
