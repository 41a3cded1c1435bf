"""From the events of dp_accounting to mechanisms, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import dp_accounting
from dp_accounting import NeighboringRelation, dp_event

from renyi import mechanisms as own
from renyi import pairs
from renyi._rounding import above
from renyi._validation import float_above
from renyi.matrix import SinglePass, Tree
from renyi.mechanisms import Mechanism

NOTHING = own.Composed()
EVERYTHING = own.Gaussian(0.0)


class RefusedError(Exception):
    """An event that cannot be accounted for, and why, in dp_accounting's words."""

    def __init__(self, event: Any, message: str) -> None:
        super().__init__(event, message)
        self.event, self.message = event, message


class Part(NamedTuple):
    """A release of an event: where in it, what, and how often."""

    event: Any
    mechanism: own.Mechanism
    uses: int

    @property
    def is_private(self) -> bool:
        """Whether it is not dp_accounting's sign for a release of everything."""
        return not isinstance(self.event, dp_event.NonPrivateDpEvent)


def from_dp_event(
    event: Any, neighboring_relation: Any = NeighboringRelation.ADD_OR_REMOVE_ONE
) -> own.Mechanism:
    """Return the mechanism that an event of dp_accounting describes.

    Args:
        event (dp_accounting.DpEvent): Of any kind but `UnsupportedDpEvent` and classes of others.
            Events that dp_accounting added after 0.6 are known where it has them.
        neighboring_relation (dp_accounting.NeighboringRelation): Makes a difference to randomized
            response only: `REPLACE_SPECIAL` compares an answer with a uniform one, the others two
            answers.

    Returns:
        Parameters are rounded to less privacy where they have no exact counterpart.

    Raises:
        dp_accounting.UnsupportedEventError: If an event in it is of none of these classes.
        TypeError, ValueError: If ``event`` is not an event, or holds what no mechanism can have.

    `NonPrivateDpEvent` becomes Gaussian noise of multiplier 0, and a `DiscreteGaussianDpEvent` in
    several dimensions its concentrated privacy.

    >>> import dp_accounting
    >>> step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.1))
    >>> from_dp_event(dp_accounting.SelfComposedDpEvent(step, 100))
    Composed((PoissonSampled(mechanism=Gaussian(noise_multiplier=1.1), sample_rate=0.01), 100))
    """
    if not isinstance(event, dp_event.DpEvent):
        raise TypeError(f"event must be a DpEvent, got {event!r}")
    try:
        return _composed(event, neighboring_relation)
    except RefusedError as error:
        raise dp_accounting.UnsupportedEventError(
            f"Unsupported event: {event}. Error: [{error.message}] caused by subevent "
            f"{error.event}."
        ) from None


def parts_of(event: Any, relation: Any, count: int = 1) -> Iterator[Part]:
    """Yield the releases that an event consists of, or raise `RefusedError`."""
    if isinstance(event, dp_event.SelfComposedDpEvent):
        yield from parts_of(event.event, relation, event.count * count)
    elif isinstance(event, dp_event.ComposedDpEvent):
        for inner in event.events:
            yield from parts_of(inner, relation, count)
    elif not isinstance(event, dp_event.NoOpDpEvent):
        yield Part(event, _mechanism(event, relation), count)


def _composed(event: Any, relation: Any) -> own.Mechanism:
    parts = [(part.mechanism, part.uses) for part in parts_of(event, relation)]
    return parts[0][0] if len(parts) == 1 and parts[0][1] == 1 else own.Composed(*parts)


def _mechanism(event: Any, relation: Any) -> own.Mechanism:
    for kind in type(event).__mro__:
        if kind in READERS:
            return READERS[kind](event, relation)
    raise RefusedError(event, "Unsupported event.")


def _gaussian(event: Any, relation: Any) -> own.Mechanism:
    return own.Gaussian(_noise(event.noise_multiplier))


def _laplace(event: Any, relation: Any) -> own.Mechanism:
    noise = _noise(event.noise_multiplier)
    return own.Laplace(noise) if noise else EVERYTHING


def _discrete_laplace(event: Any, relation: Any) -> own.Mechanism:
    rate = _at_least_0(event.noise_parameter, "Noise parameter")
    if rate == 0.0 or rate == math.inf:  # at 0 dp_accounting protects nothing
        return EVERYTHING
    return own.DiscreteLaplace(-float_above(-1 / Fraction(rate)), event.sensitivity)


def _discrete_gaussian(event: Any, relation: Any) -> own.Mechanism:
    sigma, move = float(event.sigma), float(event.sensitivity)
    if event.dimension == 1 and move.is_integer() and move >= 1.0:
        return own.DiscreteGaussian(sigma, int(move))
    if relation == NeighboringRelation.REPLACE_ONE:
        move *= 2.0
    # Canonne, Kamath and Steinke 2020, Theorem 14: rho = move^2 / (2 sigma^2), rounded up.
    return own.ZCDP(above(0.5 * (move / sigma) ** 2) if sigma else math.inf)


def _randomized_response(event: Any, relation: Any) -> own.Mechanism:
    noise, buckets = _probability(event.noise_parameter, "Noise parameter"), event.num_buckets
    if buckets == 1:
        return NOTHING
    if relation == NeighboringRelation.REPLACE_SPECIAL:
        return _response_or_uniform(noise, buckets)
    exact = 1 - Fraction(noise) * Fraction(buckets - 1, buckets)
    return own.RandomizedResponse(float_above(exact), buckets)


def _response_or_uniform(noise: float, buckets: int) -> own.Mechanism:
    """Return the pair of an answer and a uniform one: the true bucket, and any other.

    The noise is lowered by more than what doubles round of the probabilities.
    """
    other = Fraction(noise) * (1 - Fraction(1, 2**50)) * Fraction(buckets - 1, buckets)
    answer = (float_above(1 - other), float(other))
    return own.PrivacyLoss(pairs.DiscretePair(answer, (1.0 / buckets, 1.0 - 1.0 / buckets)))


def _mixture(event: Any, relation: Any) -> own.Mechanism:
    if not any(event.sensitivities):
        return NOTHING
    noise = _at_least_0(event.standard_deviation, "Standard deviation")
    if noise == 0.0:
        return EVERYTHING
    return own.GaussianMixture(noise, event.sensitivities, event.sampling_probs)


def _poisson(event: Any, relation: Any) -> own.Mechanism:
    rate = _probability(event.sampling_probability, "Sampling rate")
    return own.PoissonSampled(_composed(event.event, relation), rate)


def _fixed_size(replacement: bool) -> Callable[[Any, Any], own.Mechanism]:
    def read(event: Any, relation: Any) -> own.Mechanism:
        inner = _composed(event.event, relation)
        size, population = event.sample_size, event.source_dataset_size
        return own.FixedSizeSampled(inner, size, population, replacement) if size else NOTHING

    return read


def _allocation(event: Any, relation: Any) -> own.Mechanism:
    inner, picks = _composed(event.event, relation), event.num_selected
    return own.RandomAllocation(inner, event.num_steps, picks) if picks else NOTHING


def _truncated(event: Any, relation: Any) -> own.Mechanism:
    rate = _probability(event.sampling_probability, "Sampling rate")
    limit, population = event.truncated_batch_size, event.dataset_size
    if rate == 0.0 or limit == 0 or population == 0:
        return NOTHING
    noise = _noise(event.noise_multiplier)
    return own.TruncatedPoissonSampled(own.Gaussian(noise), rate, limit, population)


def _tree(event: Any, relation: Any) -> own.Mechanism:
    counts = event.step_counts
    steps = [counts] if isinstance(counts, int) else list(counts)
    if not any(steps):
        raise ValueError(f"Steps must be a non-empty list, or non-zero. Found {counts}.")
    for number in steps:
        _at_least_0(number, "Steps")
    return own.MatrixMechanism(Tree(max(steps)), _noise(event.noise_multiplier))


READERS: dict[Any, Callable[[Any, Any], own.Mechanism]] = {
    getattr(dp_event, name): reader
    for name, reader in {
        "NoOpDpEvent": lambda event, relation: NOTHING,
        "NonPrivateDpEvent": lambda event, relation: EVERYTHING,
        "ComposedDpEvent": _composed,
        "SelfComposedDpEvent": _composed,
        "GaussianDpEvent": _gaussian,
        "LaplaceDpEvent": _laplace,
        "DiscreteLaplaceDpEvent": _discrete_laplace,
        "DiscreteGaussianDpEvent": _discrete_gaussian,
        "RandomizedResponseDpEvent": _randomized_response,
        "MixtureOfGaussiansDpEvent": _mixture,
        "PoissonSampledDpEvent": _poisson,
        "SampledWithoutReplacementDpEvent": _fixed_size(False),
        "SampledWithReplacementDpEvent": _fixed_size(True),
        "RandomAllocationDpEvent": _allocation,
        "TruncatedSubsampledGaussianDpEvent": _truncated,
        "SingleEpochTreeAggregationDpEvent": _tree,
        "RepeatAndSelectDpEvent": lambda event, relation: own.RepeatAndSelect(
            _composed(event.event, relation), event.mean, event.shape
        ),
        "ZCDpEvent": lambda event, relation: own.ZCDP(event.rho, event.xi),
        "EpsilonDeltaDpEvent": lambda event, relation: own.ApproxDP(event.epsilon, event.delta),
        "ExponentialMechanismDpEvent": lambda event, relation: own.Exponential(event.epsilon),
        "PermuteAndFlipDpEvent": lambda event, relation: own.PermuteAndFlip(event.epsilon),
    }.items()
    if hasattr(dp_event, name)
}


def _noise(value: Any) -> float:
    return _at_least_0(value, "Noise multiplier")


def _at_least_0(value: Any, name: str) -> float:
    if not value >= 0:
        raise ValueError(f"{name} must be non-negative. Found {value}.")
    return float(value)


def _probability(value: Any, name: str) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be in [0, 1]. Found {value}.")
    return float(value)


def to_dp_event(mechanism: Mechanism) -> Any:
    """Return the event of dp_accounting that describes a mechanism.

    Args:
        mechanism: One that dp_accounting has an event for, and all in it.

    Returns:
        dp_accounting.DpEvent: Parameters are rounded to less privacy where they have no exact
            counterpart.

    Raises:
        TypeError: If this version of dp_accounting has no event for it.

    >>> from renyi import Gaussian, PoissonSampled
    >>> to_dp_event(PoissonSampled(Gaussian(1.1), 0.01) * 100).count
    100
    """
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"mechanism must be a renyi mechanism, got {mechanism!r}")
    if isinstance(mechanism, own.Composed):
        return _composed_event(mechanism)
    name, values = WRITERS.get(type(mechanism), _none)(mechanism)
    if hasattr(dp_event, name):
        return getattr(dp_event, name)(**values)
    raise TypeError(
        "mechanism must be one that dp_accounting has an event for, in the version installed, "
        f"got {mechanism!r}"
    )


def _composed_event(mechanism: own.Composed) -> Any:
    events = [
        to_dp_event(part)
        if count == 1
        else dp_event.SelfComposedDpEvent(event=to_dp_event(part), count=count)
        for part, count in mechanism.parts
    ]
    if not events:
        return dp_event.NoOpDpEvent()
    return events[0] if len(events) == 1 else dp_event.ComposedDpEvent(events=events)


Written = tuple[str, dict[str, Any]]  # name and fields of an event


def _none(mechanism: Any) -> Written:
    return "", {}


def _as_is(name: str, **fields: str) -> Callable[[Any], Written]:
    """Return a writer of fields that have a counterpart each."""
    return lambda mechanism: (name, {key: getattr(mechanism, own) for key, own in fields.items()})


def _on(name: str, **fields: str) -> Callable[[Any], Written]:
    """Return a writer of what is done to another mechanism."""
    outer = _as_is(name, **fields)

    def write(mechanism: Any) -> Written:
        known, values = outer(mechanism)
        return known, {**values, "event": to_dp_event(mechanism.mechanism)}

    return write


def _discrete_laplace_event(mechanism: own.DiscreteLaplace) -> Written:
    rate = float_above(1 / Fraction(mechanism.scale))
    fields = {"noise_parameter": rate, "sensitivity": mechanism.sensitivity}
    return "DiscreteLaplaceDpEvent", fields


def _response(mechanism: own.RandomizedResponse) -> Written:
    p, buckets = Fraction(mechanism.p), mechanism.choices
    noise = (1 - p) * Fraction(buckets, buckets - 1) if buckets > 1 else Fraction(1)
    if noise > 1:
        return _none(mechanism)  # the truth is the least probable answer
    fields = {"noise_parameter": -float_above(-noise), "num_buckets": buckets}
    return "RandomizedResponseDpEvent", fields


def _selection(mechanism: own.RepeatAndSelect) -> Written:
    if mechanism.shape < 0.0 or mechanism.mean < 1.0:
        return _none(mechanism)  # unknown to dp_accounting
    return _on("RepeatAndSelectDpEvent", mean="mean", shape="shape")(mechanism)


def _fixed_size_event(mechanism: own.FixedSizeSampled) -> Written:
    how = "With" if mechanism.replacement else "Without"
    sizes = {"sample_size": "sample_size", "source_dataset_size": "population"}
    return _on(f"Sampled{how}ReplacementDpEvent", **sizes)(mechanism)


def _truncated_event(mechanism: own.TruncatedPoissonSampled) -> Written:
    return "TruncatedSubsampledGaussianDpEvent", {
        "dataset_size": mechanism.population,
        "sampling_probability": mechanism.sample_rate,
        "truncated_batch_size": mechanism.batch_limit,
        "noise_multiplier": mechanism.mechanism.noise_multiplier,
    }


def _tree_event(mechanism: own.MatrixMechanism) -> Written:
    strategy, once = mechanism.strategy, isinstance(mechanism.participation, SinglePass)
    if not (once and isinstance(strategy, Tree) and strategy.restart is None):
        return _none(mechanism)
    fields = {"noise_multiplier": mechanism.noise_multiplier, "step_counts": strategy.steps}
    return "SingleEpochTreeAggregationDpEvent", fields


WRITERS: dict[type[Mechanism], Callable[[Any], Written]] = {
    own.Gaussian: _as_is("GaussianDpEvent", noise_multiplier="noise_multiplier"),
    own.Laplace: _as_is("LaplaceDpEvent", noise_multiplier="noise_multiplier"),
    own.ZCDP: _as_is("ZCDpEvent", rho="rho", xi="xi"),
    own.ApproxDP: _as_is("EpsilonDeltaDpEvent", epsilon="epsilon", delta="delta"),
    own.PureDP: lambda mechanism: (
        "EpsilonDeltaDpEvent",
        {"epsilon": mechanism.epsilon, "delta": 0.0},
    ),
    own.Exponential: _as_is("ExponentialMechanismDpEvent", epsilon="epsilon"),
    own.PermuteAndFlip: _as_is("PermuteAndFlipDpEvent", epsilon="epsilon"),
    own.DiscreteGaussian: lambda mechanism: (
        "DiscreteGaussianDpEvent",
        {"sigma": mechanism.sigma, "sensitivity": mechanism.sensitivity, "dimension": 1},
    ),
    own.DiscreteLaplace: _discrete_laplace_event,
    own.GaussianMixture: _as_is(
        "MixtureOfGaussiansDpEvent",
        standard_deviation="noise_multiplier",
        sensitivities="sensitivities",
        sampling_probs="probabilities",
    ),
    own.RandomizedResponse: _response,
    own.PoissonSampled: _on("PoissonSampledDpEvent", sampling_probability="sample_rate"),
    own.FixedSizeSampled: _fixed_size_event,
    own.RandomAllocation: _on("RandomAllocationDpEvent", num_steps="steps", num_selected="picks"),
    own.TruncatedPoissonSampled: _truncated_event,
    own.MatrixMechanism: _tree_event,
    own.RepeatAndSelect: _selection,
}
