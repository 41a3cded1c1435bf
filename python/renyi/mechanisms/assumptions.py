"""What must be true of the releases for a number to hold, read from the tree of mechanisms.

Whoever states a guarantee takes the sentences from here: there is one for every kind of mechanism
in the tree, with the part of the composition that it is about, and none for any other kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from renyi._adjacency import Adjacency
from renyi._validation import shortest
from renyi.matrix import CyclicPoisson
from renyi.mechanisms._algebra import Composed, Mechanism
from renyi.mechanisms._allocations import FixedAllocation, RandomAllocation
from renyi.mechanisms._answers import Exponential, RandomizedResponse
from renyi.mechanisms._batches import FixedSizeSampled, ShuffledBatches
from renyi.mechanisms._gaussian import Gaussian, GaussianMixture
from renyi.mechanisms._guarantees import ZCDP, ApproxDP, PureDP
from renyi.mechanisms._matrix import MatrixMechanism, TreeAggregation
from renyi.mechanisms._noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gumbel,
    Laplace,
    MultivariateDiscreteGaussian,
    Skellam,
    Staircase,
)
from renyi.mechanisms._poisson import PoissonSampled, TruncatedPoissonSampled
from renyi.mechanisms._privacy_loss import PrivacyLoss
from renyi.mechanisms._rdp_curve import RDPCurve
from renyi.mechanisms._selection import RepeatAndSelect
from renyi.mechanisms.nesting import Sampling

__all__ = ["ADJACENT", "assumptions_of"]

ADJACENT: dict[Adjacency, str] = {
    "add_remove": "add or remove one record (not: replace one)",
    "replace_one": "replace one record by another (not: add or remove one); the number of records "
    "is public",
    "zero_out": "replace one record by one that contributes nothing; the number of records is "
    "public",
}
_PERSONS = "where a person has several records, the guarantee is for each record by itself"
_UNSAMPLED = "none: every record may take part"
_STATED = "as stated: none beyond what the guarantee or distribution contains"
_SEEN = "everything released may be seen by anybody, not only the last result"
_PLANNED = (
    "a query may depend on earlier results; mechanisms, parameters and their number are fixed "
    "beforehand, else take a filter"
)
_SECRET = "and nobody learns which are drawn"
_SAMPLES = {
    "poisson": "Poisson: each record enters each sample independently with probability {rate}, "
    f"{_SECRET}; shuffled or fixed-size batches are not covered",
    "truncated": "truncated Poisson: each of {population} records enters each sample independently "
    f"with probability {{rate}}, {_SECRET}; of a sample larger than {{limit}} a uniform subset of "
    "that size is kept",
    "fixed_size": "fixed size: each sample is a uniform subset of {size} of {population} records, "
    f"without replacement, {_SECRET}",
    "replacement": "with replacement: each sample is {size} uniform, independent draws from "
    f"{{population}} records, {_SECRET}",
    "shuffled": "shuffled: in each epoch the records are in random order, cut into {batches} "
    "batches, each record in one; the order may be known",
    "allocation": "random allocation (balls in bins): in each epoch each record is in {picks} of "
    "{steps} batches, drawn uniformly, independently of the other records and anew for every "
    "epoch, and nobody learns in which",
    "fixed_allocation": "fixed allocation (balls in bins, drawn once): each record is in one of "
    "{steps} groups, drawn uniformly and independently of the other records, the same group in all "
    "{epochs} epochs, and nobody learns in which",
    "cyclic": "cyclic Poisson: each record belongs to one of {steps} groups, which may be known, "
    "and when the group has its turn enters independently with probability {rate}, "
    f"{_SECRET}",
    "participation": "correlated noise, no sampling: a record takes part {participation} at most, "
    "which is enforced; in which steps may be known",
    "tree": "tree aggregation, no sampling: a record takes part in one step at most, which is "
    "enforced; in which may be known",
}
_GENERAL = {
    "rate": "equal to the sampling rate",
    "limit": "the limit",
    "size": "a stated number of",
    "population": "all",
    "batches": "the",
    "picks": "a stated number",
    "steps": "the",
    "epochs": "",
    "participation": "in the stated steps",
}
_L2 = "the L2 norm that one record contributes at most, which is enforced"
_L1 = "the L1 norm that one record contributes at most, which is enforced"
_LARGEST = "that one record moves the integer at most, which is enforced"
_NOISES: dict[type[Mechanism], str] = {
    Gaussian: f"Gaussian: normal, standard deviation = noise multiplier x {_L2}",
    GaussianMixture: "Gaussian of random sensitivity: normal; one record moves the result in the "
    "L2 norm by the stated amounts with the stated probabilities, and nobody learns by which",
    Laplace: f"Laplace: scale = noise multiplier x {_L1}",
    Gumbel: "Gumbel: on one number, scale = noise multiplier x what one record moves it at most, "
    "which is enforced",
    Staircase: "staircase: on one number, relative to what one record moves it at most, which is "
    "enforced",
    DiscreteGaussian: f"discrete Gaussian: on an integer, the sensitivity is the stated {_LARGEST}",
    MultivariateDiscreteGaussian: "multivariate discrete Gaussian: on integers, sigma = noise "
    f"multiplier x {_L2}",
    DiscreteLaplace: f"discrete Laplace: on an integer, the sensitivity is the stated {_LARGEST}",
    Skellam: f"Skellam: on an integer, the sensitivity is the stated {_LARGEST}",
    RandomizedResponse: "randomized response: the answer of one record, true with the stated "
    "probability, each other answer alike",
    Exponential: "exponential mechanism: its privacy loss lies in an interval of the stated "
    "length for these neighbours",
    PureDP: "stated pure guarantee: proved elsewhere for these neighbours",
    ApproxDP: "stated approximate guarantee: proved elsewhere for these neighbours",
    ZCDP: "stated zero-concentrated guarantee: proved elsewhere for these neighbours",
    RDPCurve: "stated Renyi curve: proved elsewhere for these neighbours",
    PrivacyLoss: "stated privacy loss: its pairs dominate the outputs of these neighbours",
    MatrixMechanism: "matrix mechanism: normal, correlated by the stated strategy, standard "
    f"deviation of z = noise multiplier x {_L2}",
    TreeAggregation: "binary tree: normal at every node, standard deviation = noise multiplier x "
    f"{_L2}",
}
_CONTAINED = (GaussianMixture, PureDP, ApproxDP, ZCDP, RDPCurve, PrivacyLoss)
_SELECTED = (
    "best of several runs: only the best run is released, and the number of runs is drawn from the "
    "stated distribution and stays secret"
)


@dataclass(frozen=True, slots=True)
class _Fact:
    """A sentence of a topic, and of which part of the tree it is true."""

    topic: str
    sentence: str
    where: str = ""

    def __str__(self) -> str:
        name, _, said = self.sentence.partition(":")
        return f"{name}, {self.where}:{said}" if self.where else self.sentence


def assumptions_of(
    mechanism: Mechanism, adjacency: Adjacency, *, general: bool = False
) -> dict[str, tuple[str, ...]]:
    """Return what must be true for a guarantee of a mechanism, sentences by their topic.

    Parameters
    ----------
    mechanism : Mechanism
        All that was released.
    adjacency : {"add_remove", "replace_one", "zero_out"}
        Which data sets are neighbours.
    general : bool
        Whether rates and sizes are left out, as for a table of mechanisms that differ in them.

    Returns
    -------
    dict of tuple of str
        Of "sampling", "adjacency", "noise", perhaps "selection", and "release".

    Examples
    --------
    >>> steps = PoissonSampled(Gaussian(1.1), 0.01) * 100 + Gaussian(30.0) * 50
    >>> for sentence in assumptions_of(steps, "add_remove")["sampling"]:
    ...     print(sentence.partition(":")[0])
    Poisson, in 100 of the 150 releases
    none, in 50 of the 150 releases
    """
    facts = list(_facts(mechanism, general, sampled=False))

    def of(topic: str) -> tuple[str, ...]:
        return tuple(str(fact) for fact in facts if fact.topic == topic)

    uses = sum(count for _, count in mechanism.parts) if isinstance(mechanism, Composed) else 1
    many = general or uses > 1
    found = {
        "sampling": of("sampling"),
        "adjacency": (f"{ADJACENT[adjacency]}; {_PERSONS}",),
        "noise": of("noise"),
        "selection": of("selection"),
        "release": (f"{_SEEN}; {_PLANNED}" if many else _SEEN if uses else "nothing",),
    }
    return {topic: sentences for topic, sentences in found.items() if sentences}


def _facts(mechanism: Mechanism, general: bool, sampled: bool) -> Iterator[_Fact]:
    if isinstance(mechanism, Composed):
        yield from _of_parts(mechanism, general, sampled)
    elif isinstance(mechanism, Sampling):
        yield _Fact("sampling", _sample(mechanism, general))
        for fact in _facts(mechanism.mechanism, general, True):
            nested = fact.where or fact.topic == "sampling"
            yield _within(fact, "within each sample") if nested else fact
    elif isinstance(mechanism, RepeatAndSelect):
        yield _Fact("selection", _SELECTED)
        for fact in _facts(mechanism.mechanism, general, sampled):
            nested = fact.where or fact.topic == "selection"
            yield _within(fact, "within each run") if nested else fact
    else:
        if isinstance(mechanism, MatrixMechanism | TreeAggregation):
            yield _Fact("sampling", _participation(mechanism, general))
        elif not sampled:
            yield _Fact("sampling", _STATED if type(mechanism) in _CONTAINED else _UNSAMPLED)
        own = f"{type(mechanism).__name__}: as its class says"
        yield _Fact("noise", _NOISES.get(type(mechanism), own))


def _within(fact: _Fact, where: str) -> _Fact:
    return replace(fact, where=f"{where}, {fact.where}" if fact.where else where)


def _of_parts(mechanism: Composed, general: bool, sampled: bool) -> Iterator[_Fact]:
    """Yield what is true of the parts; what is true of several parts is said once."""
    total = sum(count for _, count in mechanism.parts)
    holds: dict[_Fact, int] = {}
    for part, count in mechanism.parts:
        for fact in dict.fromkeys(_facts(part, general, sampled)):
            holds[fact] = holds.get(fact, 0) + count
    for fact, count in holds.items():
        yield fact if count == total else _within(fact, f"in {count:,} of the {total:,} releases")


def _sample(mechanism: Sampling, general: bool) -> str:
    if isinstance(mechanism, PoissonSampled):
        return _filled("poisson", general, rate=shortest(mechanism.sample_rate))
    if isinstance(mechanism, TruncatedPoissonSampled):
        return _filled(
            "truncated",
            general,
            rate=shortest(mechanism.sample_rate),
            limit=str(mechanism.batch_limit),
            population=str(mechanism.population),
        )
    if isinstance(mechanism, FixedSizeSampled):
        size, population = str(mechanism.sample_size), str(mechanism.population)
        name = "replacement" if mechanism.replacement else "fixed_size"
        return _filled(name, general, size=size, population=population)
    if isinstance(mechanism, ShuffledBatches):
        return _filled("shuffled", general, batches=str(mechanism.batches))
    if isinstance(mechanism, RandomAllocation):
        picks = "one" if mechanism.picks == 1 else str(mechanism.picks)
        return _filled("allocation", general, picks=picks, steps=str(mechanism.steps))
    if isinstance(mechanism, FixedAllocation):
        steps, epochs = str(mechanism.steps), str(mechanism.epochs)
        return _filled("fixed_allocation", general, steps=steps, epochs=epochs)
    return f"{type(mechanism).__name__}: as its class says"


def _participation(mechanism: MatrixMechanism | TreeAggregation, general: bool) -> str:
    if isinstance(mechanism, TreeAggregation):
        return _SAMPLES["tree"]
    scheme = mechanism.participation
    if isinstance(scheme, CyclicPoisson):
        rate, groups = shortest(scheme.sample_rate), str(scheme.cycle_length)
        return _filled("cyclic", general, rate=rate, steps=groups)
    return _filled("participation", general, participation=str(scheme))


def _filled(name: str, general: bool, **numbers: str) -> str:
    """Return a sentence with its numbers, or with words that stand for any."""
    words = _SAMPLES[name].format(**(_GENERAL if general else numbers))
    return " ".join(words.split())
