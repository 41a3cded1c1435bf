"""Each method: what it assumes, and epsilon or delta of a run by it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from renyi._validation import FINITE_POSITIVE, Range, delta_of, epsilon_of, number_in, uses_of
from renyi.accountants import PLDAccountant, RDPAccountant
from renyi.accountants.rdp import Conversion
from renyi.mechanisms import Gaussian, Mechanism, PoissonSampled
from renyi.theory.classic import (
    advanced_route_delta,
    advanced_route_epsilon,
    full_batch_route_delta,
    full_batch_route_epsilon,
    moment_bound_delta,
    moment_bound_epsilon,
)

__all__ = ["METHODS", "Method", "Row", "Run", "compare", "names_of", "rate_of"]

_RATE = Range(0.0, 1.0, "(]")
_ANY, _EITHER, _ADD = "any", "add_remove (poisson) or replace_one (fixed_size)", "add_remove"
_NONE, _BOTH, _POISSON = "none", "poisson or fixed_size", "poisson"


@dataclass(frozen=True, slots=True)
class Row:
    """What one method says of one run.

    ``adjacency`` and ``sampling`` are what it holds for, and the noise multiplier is the standard
    deviation of the noise over the sensitivity of that adjacency.
    """

    method: str
    label: str
    epsilon: float
    delta: float
    sampling: str
    adjacency: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run of DP-SGD."""

    noise: float
    rate: float
    steps: int

    @property
    def epochs(self) -> int:
        """Steps times rate, rounded up unless it is an integer but for the rate's own rounding."""
        return max(math.ceil(self.steps * self.rate * (1.0 - 2.0**-50)), 1)

    @property
    def mechanism(self) -> Mechanism:
        return PoissonSampled(Gaussian(self.noise), self.rate) * self.steps


@dataclass(frozen=True, slots=True)
class Method:
    """A method: its words, and epsilon of (run, delta) and delta of (run, epsilon)."""

    label: str
    sampling: str
    adjacency: str
    epsilon: Callable[[Run, float], float]
    delta: Callable[[Run, float], float]


def _renyi(run: Run, conversion: Conversion) -> RDPAccountant:
    return RDPAccountant(conversion=conversion).compose(run.mechanism)


def _exact(run: Run) -> PLDAccountant:
    return PLDAccountant().compose(run.mechanism)


METHODS: dict[str, Method] = {
    "full_batch": Method(
        "every epoch one step with all data",
        _NONE,
        _ANY,
        lambda run, delta: full_batch_route_epsilon(run.noise, run.epochs, delta).epsilon,
        lambda run, epsilon: full_batch_route_delta(run.noise, run.epochs, epsilon).delta,
    ),
    "advanced": Method(
        "subsampling, advanced composition",
        _BOTH,
        _EITHER,
        lambda run, delta: advanced_route_epsilon(run.rate, run.noise, run.steps, delta).epsilon,
        lambda run, epsilon: advanced_route_delta(run.rate, run.noise, run.steps, epsilon).delta,
    ),
    "optimal": Method(
        "subsampling, optimal composition",
        _BOTH,
        _EITHER,
        lambda run, delta: (
            advanced_route_epsilon(
                run.rate, run.noise, run.steps, delta, step="exact", composition="optimal"
            ).epsilon
        ),
        lambda run, epsilon: (
            advanced_route_delta(
                run.rate, run.noise, run.steps, epsilon, step="exact", composition="optimal"
            ).delta
        ),
    ),
    "moment_bound": Method(
        "moments, bounded by C(c1, c2)",
        _POISSON,
        _ADD,
        lambda run, delta: moment_bound_epsilon(run.rate, run.noise, run.steps, delta).epsilon,
        lambda run, epsilon: moment_bound_delta(run.rate, run.noise, run.steps, epsilon).delta,
    ),
    "moments": Method(
        "moments, best real order",
        _POISSON,
        _ADD,
        lambda run, delta: _renyi(run, "mironov").get_epsilon(delta),
        lambda run, epsilon: _renyi(run, "mironov").get_delta(epsilon),
    ),
    "rdp": Method(
        "Rényi-DP, optimal conversion",
        _POISSON,
        _ADD,
        lambda run, delta: _renyi(run, "optimal").get_epsilon(delta),
        lambda run, epsilon: _renyi(run, "optimal").get_delta(epsilon),
    ),
    "exact": Method(
        "exact curve",
        _POISSON,
        _ADD,
        lambda run, delta: _exact(run).get_epsilon(delta),
        lambda run, epsilon: _exact(run).get_delta(epsilon),
    ),
}
"""The methods by name, in the order in which they are shown."""


def compare(
    sample_rate: float,
    noise_multiplier: float,
    steps: int,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    methods: Iterable[str] | None = None,
) -> tuple[Row, ...]:
    """Account for one run of DP-SGD by several methods.

    Parameters
    ----------
    sample_rate : float
        The probability with which a record enters a step, in (0, 1].
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity of one record, in (0, inf).
    steps : int
        From 1 to 10^9.
    epsilon : float, optional
        In [0, inf]; every method gives its delta.
    delta : float, optional
        In [0, 1]; every method gives its epsilon. One of both has to be given.
    methods : iterable of str, optional
        Names from `METHODS`; by default all:

        "full_batch"
            as many steps with all of the data as there are epochs, rounded up, by the Legendre
            transform: another algorithm, without sampling
        "advanced"
            tail bound of a step, subsampling theorem, advanced composition, the best epsilon of a
            step
        "optimal"
            the same with the exact curve of a step and the optimal composition
        "moment_bound"
            moments bounded by the constant C(c1, c2), the best c2
        "moments"
            exact moments, the best real order: the moments accountant
        "rdp"
            the same moments by the optimal conversion
        "exact"
            the exact privacy curve

    Returns
    -------
    tuple of Row
        In the order of ``methods``. What is computed is rounded up; 1 or infinity where a method
        gives nothing. The adjacencies differ, each row says its own.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted, or not exactly one of ``epsilon`` and ``delta`` is given.

    References
    ----------
    "Great but Manageable Expectations" asks for this comparison: of "advanced", "full_batch" and
    "moment_bound", delta_1 to delta_3 there.

    Examples
    --------
    >>> for row in compare(0.01, 4.0, 1000, epsilon=1.0, methods=("full_batch", "exact")):
    ...     print(f"{row.label}, {row.sampling}: {row.delta:.2g}")
    every epoch one step with all data, none: 0.69
    exact curve, poisson: 1e-34
    """
    run = Run(
        number_in(noise_multiplier, "noise_multiplier", FINITE_POSITIVE),
        rate_of(sample_rate),
        uses_of(steps, "steps", 1),
    )
    if (epsilon is None) == (delta is None):
        raise ValueError(
            "epsilon must be given if delta is not, and only then, "
            f"got epsilon={epsilon!r}, delta={delta!r}"
        )
    return tuple(_row(name, run, epsilon, delta) for name in names_of(methods))


def _row(name: str, run: Run, epsilon: float | None, delta: float | None) -> Row:
    method = METHODS[name]
    if epsilon is not None:
        given = epsilon_of(epsilon)
        found = (given, method.delta(run, given))
    else:
        given = delta_of(delta)
        found = (method.epsilon(run, given), given)
    return Row(name, method.label, *found, method.sampling, method.adjacency)


def rate_of(sample_rate: float) -> float:
    """Return a sampling rate in (0, 1]."""
    return number_in(sample_rate, "sample_rate", _RATE)


def names_of(methods: Iterable[str] | None) -> tuple[str, ...]:
    """Return the methods asked for, by default all."""
    if methods is None:
        return tuple(METHODS)
    allowed = f"methods must be a sequence of names among {', '.join(map(repr, METHODS))}"
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        raise TypeError(f"{allowed}, got {methods!r}")
    names = tuple(methods)
    for name in names:
        if name not in tuple(METHODS):
            raise ValueError(f"{allowed}, got {name!r}")
    return names
