"""Noise, sampling rate, steps, or any number that a mechanism depends on, for a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from renyi._adjacency import LARGEST_COUNT, Adjacency, Conversion, DirectionName
from renyi._validation import (
    FINITE_POSITIVE,
    integer_of,
    number_in,
    numbers_in,
    probability_of,
    real_of,
    uses_of,
)
from renyi.accountants import Accountant
from renyi.calibration._search import (
    GuidedScale,
    NoiseMultiplier,
    Number,
    SampleRate,
    Steps,
    search,
)
from renyi.calibration._targets import Target, noise_of, target_of, tolerance_of
from renyi.calibration.runs import AccountantName, Accounting, accounting_of
from renyi.mechanisms import Composed, Gaussian, Mechanism, PoissonSampled
from renyi.mechanisms.algebra import AllocatedEpoch

PROBES = (0.25, 0.5, 0.75)  # of a range in which all values must meet the target, or all miss it
LARGEST_EXCESS = 20.0


def calibrate_noise_multiplier(
    *,
    target_epsilon: float | None = None,
    target_delta: float | None = None,
    target_alpha: float | None = None,
    target_beta: float | None = None,
    target_advantage: float | None = None,
    sample_rate: float,
    steps: int | None = None,
    epochs: float | None = None,
    tolerance: float = 1e-6,
    accountant: AccountantName = "pld",
    adjacency: Adjacency = "add_remove",
    orders: Iterable[float] | None = None,
    conversion: Conversion | None = None,
) -> float:
    """Return the smallest noise multiplier for which ``steps`` sampled steps meet the target.

    Args:
        target_epsilon, target_delta: In (0, inf) and (0, 1): (epsilon, delta)-privacy.
        target_alpha, target_beta: In (0, 1) and (0, 1 - target_alpha): a test with a type I error
            of at most ``target_alpha`` has a type II error of at least ``target_beta``.
        target_advantage: In (0, 1): the most by which the true positive rate of a test exceeds its
            false positive rate.
        sample_rate: In [0, 1].
        steps: In [0, 10^9].
        epochs: The number of epochs in place of ``steps``, in (0, inf): steps = ceil(epochs /
            sample_rate), the rate read as the shortest decimal of its double.
        tolerance: Relative, in [1e-12, 0.1]: ``(1 - tolerance)`` times the result misses the
            target.
        accountant ({"pld", "rdp"}): `PLDAccountant` (exact) or `RDPAccountant`.
        adjacency ({"add_remove", "replace_one"}): As for `PLDAccountant`.
        orders, conversion: As for `RDPAccountant`, and only with it.

    Returns:
        At least 0.01, the smallest noise that is tried; 0.0 if nothing is released (no steps or a
        rate of 0).

    Raises:
        TypeError: If not exactly one kind of target and one of steps and epochs are given, or an
            argument is of the wrong type.
        ValueError: For arguments outside these ranges, and if no noise multiplier up to 1e8 reaches
            the target.

    The search takes five to ten queries of the accountant: secants over the epsilon by Rényi-DP, or
    over the noise of the Gaussian mechanism with the same Rényi divergence of order 2, then one
    query on either side of the result. On a terminal, searches of several seconds show progress.

    >>> target = {"target_epsilon": 1.0, "target_delta": 1e-5}
    >>> round(calibrate_noise_multiplier(**target, sample_rate=0.01, steps=1000), 4)
    1.4146
    >>> rdp = calibrate_noise_multiplier(**target, sample_rate=0.01, steps=1000, accountant="rdp")
    >>> round(rdp, 4)
    1.513
    """
    target = target_of(target_epsilon, target_delta, target_alpha, target_beta, target_advantage)
    accounting = accounting_of(target, accountant, adjacency, orders, conversion)
    rate = probability_of(sample_rate, "sample_rate")
    count = _steps_of(rate, steps, epochs)
    unknown = NoiseMultiplier(rate, count, tolerance_of(tolerance))
    if rate == 0.0 or count == 0:
        return 0.0
    return accounting.search(unknown, target, lambda noise: (noise, rate, count))


def _steps_of(rate: float, steps: Any, epochs: Any) -> int:
    """Return the number of steps, never fewer than ``epochs`` take."""
    if (steps is None) == (epochs is None):
        raise TypeError(f"one of steps and epochs must be given, got {steps!r} and {epochs!r}")
    if epochs is None:
        return uses_of(steps, "steps")
    number = number_in(epochs, "epochs", FINITE_POSITIVE)
    if rate == 0.0:
        return 0
    return uses_of(math.ceil(Fraction(repr(number)) / Fraction(repr(rate))), "steps")


def calibrate_sample_rate(
    *,
    target_epsilon: float | None = None,
    target_delta: float | None = None,
    target_alpha: float | None = None,
    target_beta: float | None = None,
    target_advantage: float | None = None,
    noise_multiplier: float,
    steps: int,
    tolerance: float = 1e-6,
    accountant: AccountantName = "pld",
    adjacency: Adjacency = "add_remove",
    orders: Iterable[float] | None = None,
    conversion: Conversion | None = None,
) -> float:
    """Return the largest sampling rate for which ``steps`` sampled steps meet the target.

    Args:
        target_epsilon, target_delta, target_alpha, target_beta, target_advantage: One kind of
            target, as for `calibrate_noise_multiplier`.
        noise_multiplier: In (0, inf].
        steps: In [0, 10^9].
        tolerance: Relative, in [1e-12, 0.1]: ``(1 + tolerance)`` times the result misses the
            target, unless the result is 1.
        accountant, adjacency, orders, conversion: As for `calibrate_noise_multiplier`.

    Returns:
        In (0, 1].

    Raises:
        TypeError: If not exactly one kind of target is given, or an argument is of the wrong type.
        ValueError: For arguments outside these ranges, and where even a rate of 1e-12 misses the
            target.

    >>> target = {"target_epsilon": 1.0, "target_delta": 1e-5}
    >>> q = calibrate_sample_rate(**target, noise_multiplier=1.0, steps=1000)
    >>> round(q, 5)
    0.00572
    """
    target = target_of(target_epsilon, target_delta, target_alpha, target_beta, target_advantage)
    accounting = accounting_of(target, accountant, adjacency, orders, conversion)
    noise, count = noise_of(noise_multiplier), uses_of(steps, "steps")
    unknown = SampleRate(noise, count, tolerance_of(tolerance))
    if math.isinf(noise) or count == 0:
        return 1.0
    return accounting.search(unknown, target, lambda rate: (noise, rate, count))


def calibrate_steps(
    *,
    target_epsilon: float | None = None,
    target_delta: float | None = None,
    target_alpha: float | None = None,
    target_beta: float | None = None,
    target_advantage: float | None = None,
    noise_multiplier: float,
    sample_rate: float,
    accountant: AccountantName = "pld",
    adjacency: Adjacency = "add_remove",
    orders: Iterable[float] | None = None,
    conversion: Conversion | None = None,
) -> int:
    """Return the largest number of sampled steps that meets the target.

    Args:
        target_epsilon, target_delta, target_alpha, target_beta, target_advantage: One kind of
            target, as for `calibrate_noise_multiplier`.
        noise_multiplier: In (0, inf].
        sample_rate: In [0, 1].
        accountant, adjacency, orders, conversion: As for `calibrate_noise_multiplier`.

    Returns:
        At least 0; one step more misses the target. Counts above 10^9 are not tried: if 10^9 steps
        still meet the target, 10^9 is returned.

    Raises:
        TypeError: If not exactly one kind of target is given, or an argument is of the wrong type.
        ValueError: For arguments outside these ranges.

    >>> target = {"target_epsilon": 2.0, "target_delta": 1e-5}
    >>> calibrate_steps(**target, noise_multiplier=1.1, sample_rate=0.004)
    11652
    """
    target = target_of(target_epsilon, target_delta, target_alpha, target_beta, target_advantage)
    accounting = accounting_of(target, accountant, adjacency, orders, conversion)
    noise, rate = noise_of(noise_multiplier), probability_of(sample_rate, "sample_rate")
    if rate == 0.0 or math.isinf(noise):
        return LARGEST_COUNT
    unknown = Steps(noise, rate, LARGEST_COUNT)
    return int(accounting.search(unknown, target, lambda steps: (noise, rate, steps)))


def calibrate(
    mechanism: Callable[[Any], Mechanism],
    between: tuple[float, float],
    *,
    target_epsilon: float | None = None,
    target_delta: float | None = None,
    target_alpha: float | None = None,
    target_beta: float | None = None,
    target_advantage: float | None = None,
    integer: bool = False,
    tolerance: float = 1e-6,
    accountant: AccountantName = "pld",
    adjacency: Adjacency = "add_remove",
    orders: Iterable[float] | None = None,
    conversion: Conversion | None = None,
) -> float:
    """Return the value at which a mechanism that depends on one number just meets the target.

    Args:
        mechanism (callable): Returns the mechanism for a value, one release or a whole composition.
            From one end of the range to the other it must reveal more and more, or less and less.
        between: The range of values, both finite.
        target_epsilon, target_delta, target_alpha, target_beta, target_advantage: One kind of
            target, as for `calibrate_noise_multiplier`. A ``target_delta`` of 0 is met by
            mechanisms whose losses have a bound.
        integer: Whether values are integers, such as numbers of uses.
        tolerance: In [1e-12, 0.1]: relative if both ends are positive, else in units of the range.
            It has no effect on integers, which are exact.
        accountant, adjacency, orders, conversion: As for `calibrate_noise_multiplier`.

    Returns:
        A value in the range, an int with ``integer``. It meets the target; the value one tolerance
        closer to the end that reveals more misses it, unless the result is that end.

    Raises:
        TypeError: If not exactly one kind of target is given, or an argument is of the wrong type.
        UnsupportedMechanismError: If the accountant does not take the mechanism.
        ValueError: For arguments outside these ranges, if neither end of the range meets the
            target, and if values between meet and miss it in turn. Only a few values are checked
            for this.

    >>> from renyi import Laplace, RandomizedResponse
    >>> target = {"target_epsilon": 1.0, "target_delta": 1e-6}
    >>> round(calibrate(lambda b: Laplace(b) * 10, (0.1, 1000.0), **target), 3)
    9.99
    >>> calibrate(lambda k: Laplace(50.0) * k, (1, 10_000), integer=True, **target)
    144
    >>> round(calibrate(lambda p: RandomizedResponse(p, 2), (0.5, 1.0), target_advantage=0.2), 4)
    0.6
    """
    if not callable(mechanism):
        raise TypeError(
            f"mechanism must be a function of one number that returns one, got {mechanism!r}"
        )
    low, high = _range_of(between, integer)
    target = target_of(
        target_epsilon, target_delta, target_alpha, target_beta, target_advantage, pure=True
    )
    accounting = accounting_of(target, accountant, adjacency, orders, conversion)
    width = tolerance_of(tolerance)
    runs = _Runs(mechanism, target, accounting)
    excesses = [runs.excess_of_both(end) for end in (low, high)]
    ends = (low, high) if excesses[0] <= excesses[1] else (high, low)
    unknown = Number(*ends, min(excesses), max(excesses), integer, width)
    if not runs.meets(unknown.strictest):
        _check_between(unknown, runs, *ends, False)
        if target_delta == 0.0 and runs.account(unknown.strictest).get_epsilon(0.0) == math.inf:
            raise ValueError(
                "target_delta must be above 0 for a mechanism whose losses have no bound, got "
                f"{target_delta!r}"
            )
        raise ValueError(
            f"{target.name} must be reachable with {unknown.words}, got {target.limit!r}"
        )
    if runs.meets(unknown.loosest):
        result = unknown.loosest
    else:
        guide = GuidedScale(unknown, runs.excess_of_samples)
        start = guide.start(0.0) if runs.have_epochs(unknown.loosest) else None
        scale = None if start is None else guide
        result = search(unknown, target, runs.excess, runs.meets, scale, start or 0.0)
        _check_between(unknown, runs, result, unknown.loosest, False)
    _check_between(unknown, runs, unknown.strictest, result, True)
    return result


def share(
    mechanisms: Sequence[Callable[[float], Mechanism]],
    weights: Sequence[float] | None = None,
    *,
    target_epsilon: float,
    target_delta: float,
    between: tuple[float, float] = (1e-2, 1e5),
    tolerance: float = 1e-6,
    accountant: AccountantName = "pld",
    adjacency: Adjacency = "add_remove",
) -> tuple[Mechanism, ...]:
    """Return mechanisms whose composition just meets (epsilon, delta), with noise by weights.

    Args:
        mechanisms: Functions that return the mechanism for a noise. Twice the noise must reveal
            half as much, as for `Gaussian`, `Laplace` or ``lambda s: PoissonSampled(Gaussian(s),
            0.01) * 1000``.
        weights: Shares of the budget, each in (0, inf), by default equal ones. The noise of a
            mechanism is a common number over the root of its share: the variance goes with
            1/weight, as Rényi divergences of small noise do.
        target_epsilon, target_delta: The target of the composition. Epsilon and delta are not
            divided, which would waste most of both.
        between: Range of the common number, which is the noise of a mechanism with all of the
            budget.
        tolerance, accountant, adjacency: As for `calibrate`.

    Raises:
        UnsupportedMechanismError, TypeError, ValueError: As `calibrate`, or if there are no
            mechanisms or not as many weights.

    >>> from renyi import Composed, Gaussian, Laplace, PLDAccountant
    >>> ages, incomes = share([Gaussian, Laplace], [3, 1], target_epsilon=1.0, target_delta=1e-6)
    >>> round(ages.noise_multiplier, 3), round(incomes.noise_multiplier, 3)
    (4.622, 8.006)
    """
    makers = list(mechanisms)
    given = [1.0] * len(makers) if weights is None else list(weights)
    if not makers or len(given) != len(makers):
        raise ValueError(
            f"weights must be one for each of at least one mechanism, got {len(given)} for "
            f"{len(makers)}"
        )
    numbers = numbers_in(given, "weights", FINITE_POSITIVE)
    total = math.fsum(numbers)
    roots = [math.sqrt(weight / total) for weight in numbers]

    def made(common: float) -> tuple[Mechanism, ...]:
        return tuple(make(common / root) for make, root in zip(makers, roots, strict=True))

    found = calibrate(
        lambda common: Composed(*made(common)),
        between,
        target_epsilon=target_epsilon,
        target_delta=target_delta,
        tolerance=tolerance,
        accountant=accountant,
        adjacency=adjacency,
    )
    return made(found)


class _Runs:
    """Runs of a mechanism that depends on a number, with cached answers of the accountant.

    One query suffices if its answer is both the distance of a run from the target and the verdict.
    """

    def __init__(
        self, mechanism: Callable[[Any], Mechanism], target: Target, accounting: Accounting
    ) -> None:
        self._mechanism, self._target, self._accounting = mechanism, target, accounting
        self._reached: dict[tuple[float, DirectionName | None], float] = {}

    @property
    def target_name(self) -> str:
        """The argument that states the target."""
        return self._target.name

    def account(self, value: float) -> Accountant[Any]:
        """Return the accountant of a run."""
        return self._accounting.blank().compose(self._mechanism(value))

    def excess(self, value: float) -> float:
        """Return the excess of a run over the target in the direction that tends to be worse."""
        return self._target.excess(self._asked(value, self._accounting.direction))

    def excess_of_both(self, value: float) -> float:
        """Return the excess of a run over the target in both directions, within limits."""
        self._try_wide(value)
        excess = self._target.excess(self._asked(value, None))
        return min(max(excess, -LARGEST_EXCESS), LARGEST_EXCESS)

    def meets(self, value: float) -> bool:
        """Return whether a run meets the target."""
        if self._target.decides:
            return self._target.allows(self._asked(value, None))
        return self._target.is_met(self._shortest(value)[0])

    def meets_about(self, value: float) -> bool:
        """Return whether a run meets the target; fast if it is far from the target."""
        self._try_wide(value)
        return self.meets(value)

    def _try_wide(self, value: float) -> None:
        """Keep the answer of a wide bracket for a run if it gives the verdict."""
        if (value, None) not in self._reached:
            account, about = self._shortest(value)
            about = self._target.reached_about(account) if about is None else about
            if about is not None:
                self._reached[value, None] = about

    def _asked(self, value: float, direction: DirectionName | None) -> float:
        key = value, direction
        if key not in self._reached:
            account = self.account(value) if direction else self._shortest(value)[0]
            self._reached[key] = self._target.reached(account, direction)
        return self._reached[key]

    def _shortest(self, value: float) -> tuple[Accountant[Any], float | None]:
        """Return the accountant of a run, or a faster one that has the same verdict.

        Epochs of random allocation take a lattice, up to a second. One epoch has its own curve, and
        all epochs reveal at most as much as if the step of a record were known. The second result
        is the answer of a wide bracket for the epoch.
        """
        mechanism = self._mechanism(value)
        whole = self._accounting.blank().compose(mechanism)
        epochs = self._epochs(mechanism)
        if epochs:
            known = self._replaced(mechanism, lambda e: PoissonSampled(Gaussian(e.noise), e.rate))
            if self._target.is_met(known):
                return known, None
        for epoch in epochs if isinstance(mechanism, Composed) else ():
            alone = self._accounting.blank().compose(epoch)
            about = self._target.reached_about(alone)
            if not (self._target.is_met(alone) if about is None else self._target.allows(about)):
                return alone, about
        return whole, None

    def have_epochs(self, value: float) -> bool:
        """Return whether epochs of random allocation take part in a run."""
        return bool(self._epochs(self._mechanism(value)))

    def excess_of_samples(self, value: float) -> float:
        """Return the excess of a run over the target with Poisson samples in place of epochs."""

        def samples(epoch: AllocatedEpoch) -> Mechanism:
            rate = epoch.rate / epoch.steps
            return PoissonSampled(Gaussian(epoch.noise), rate) * int(epoch.steps)

        account = self._replaced(self._mechanism(value), samples)
        return self._target.excess(self._target.reached(account, self._accounting.direction))

    def _epochs(self, mechanism: Mechanism) -> list[Mechanism]:
        """Return the epochs of random allocation whose curve is known."""
        if self._accounting.adjacency == "replace_one":
            return []
        return [part for part, _ in _parts_of(mechanism) if part.allocated_epoch is not None]

    def _replaced(
        self, mechanism: Mechanism, other: Callable[[AllocatedEpoch], Mechanism]
    ) -> Accountant[Any]:
        """Return the accountant of a mechanism with others in place of its epochs."""
        account = self._accounting.blank()
        for part, count in _parts_of(mechanism):
            epoch = part.allocated_epoch
            account.compose(part if epoch is None else other(epoch), count)
        return account


def _parts_of(mechanism: Mechanism) -> Sequence[tuple[Mechanism, int]]:
    return mechanism.parts if isinstance(mechanism, Composed) else ((mechanism, 1),)


def _check_between(unknown: Number, runs: _Runs, first: float, last: float, expected: bool) -> None:
    """Raise unless some values in a range all meet the target, or all miss it."""
    for share in PROBES:
        value = unknown.beside(first, last, share)
        if value not in (first, last) and runs.meets_about(value) != expected:
            raise ValueError(
                "mechanism must reveal more and more from one end of between to the other, got "
                f"one that {'misses' if expected else 'meets'} {runs.target_name} at {value!r}, "
                f"between {first!r} and {last!r}, which do not"
            )


def _range_of(between: Any, integer: bool) -> tuple[float, float]:
    allowed = f"two finite {'integers' if integer else 'numbers'}, the first below the second"
    try:
        low, high = between
    except (TypeError, ValueError):
        raise TypeError(f"between must be {allowed}, got {between!r}") from None
    if integer:
        least = -(2**53)
        low, high = integer_of(low, "between", least), integer_of(high, "between", least)
    else:
        low, high = (real_of(end, "between", allowed) for end in (low, high))
    if not -math.inf < low < high < math.inf:
        raise ValueError(f"between must be {allowed}, got {between!r}")
    return low, high
