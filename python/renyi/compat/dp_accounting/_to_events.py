"""From mechanisms to the events of dp_accounting."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dp_accounting import dp_event

from renyi import mechanisms as own
from renyi._validation import float_above
from renyi.matrix import SinglePass, Tree
from renyi.mechanisms import Mechanism

__all__ = ["to_dp_event"]


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
        return _composed(mechanism)
    name, values = WRITERS.get(type(mechanism), _none)(mechanism)
    if hasattr(dp_event, name):
        return getattr(dp_event, name)(**values)
    raise TypeError(
        "mechanism must be one that dp_accounting has an event for, in the version installed, "
        f"got {mechanism!r}"
    )


def _composed(mechanism: own.Composed) -> Any:
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


def _discrete_laplace(mechanism: own.DiscreteLaplace) -> Written:
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


def _fixed_size(mechanism: own.FixedSizeSampled) -> Written:
    how = "With" if mechanism.replacement else "Without"
    sizes = {"sample_size": "sample_size", "source_dataset_size": "population"}
    return _on(f"Sampled{how}ReplacementDpEvent", **sizes)(mechanism)


def _truncated(mechanism: own.TruncatedPoissonSampled) -> Written:
    return "TruncatedSubsampledGaussianDpEvent", {
        "dataset_size": mechanism.population,
        "sampling_probability": mechanism.sample_rate,
        "truncated_batch_size": mechanism.batch_limit,
        "noise_multiplier": mechanism.mechanism.noise_multiplier,
    }


def _tree(mechanism: own.MatrixMechanism) -> Written:
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
    own.DiscreteLaplace: _discrete_laplace,
    own.GaussianMixture: _as_is(
        "MixtureOfGaussiansDpEvent",
        standard_deviation="noise_multiplier",
        sensitivities="sensitivities",
        sampling_probs="probabilities",
    ),
    own.RandomizedResponse: _response,
    own.PoissonSampled: _on("PoissonSampledDpEvent", sampling_probability="sample_rate"),
    own.FixedSizeSampled: _fixed_size,
    own.RandomAllocation: _on("RandomAllocationDpEvent", num_steps="steps", num_selected="picks"),
    own.TruncatedPoissonSampled: _truncated,
    own.MatrixMechanism: _tree,
    own.RepeatAndSelect: _selection,
}
