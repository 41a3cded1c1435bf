"""The assumptions under which a guarantee holds, read from the tree of mechanisms.

There is one sentence for every kind of mechanism in the tree, with the part of the composition to
which it applies.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from renyi._adjacency import Adjacency
from renyi.mechanisms._correlated import MatrixMechanism
from renyi.mechanisms._selection import RepeatAndSelect
from renyi.mechanisms.algebra import Composed, Mechanism, printed
from renyi.mechanisms.participation import CyclicPoisson
from renyi.mechanisms.sampling import FixedSizeSampled, Sampling

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
_VISIBLE = "everything released may be seen by anybody, not only the last result"
_PLANNED = (
    "a query may depend on earlier results; mechanisms, parameters and their number are fixed "
    "beforehand, else take a filter"
)
_CYCLIC = (
    "cyclic Poisson: each record belongs to one of {cycle_length} groups, which may be known, and "
    "when the group has its turn enters independently with probability {sample_rate}, and nobody "
    "learns which are drawn"
)
_PARTICIPATION = (
    "correlated noise, no sampling: a record takes part {participation} at most, which is "
    "enforced; in which steps may be known"
)
_GENERAL = {
    "sample_rate": "equal to the sampling rate",
    "batch_limit": "the limit",
    "sample_size": "a stated number of",
    "population": "all",
    "batches": "the",
    "picks": "a stated number",
    "steps": "the",
    "cycle_length": "the",
    "records": "a stated number of",
    "epochs": "",
    "participation": "in the stated steps",
}
_SELECTED = (
    "best of several runs: only the best run is released, and the number of runs is drawn from the "
    "stated distribution and stays secret; which is best is read from the outputs of the runs alone"
)


@dataclass(frozen=True, slots=True)
class _Fact:
    """A sentence of a topic, and the part of the tree for which it is true."""

    topic: str
    sentence: str
    where: str = ""

    def __str__(self) -> str:
        name, _, said = self.sentence.partition(":")
        return f"{name}, {self.where}:{said}" if self.where else self.sentence


def assumptions_of(
    mechanism: Mechanism, adjacency: Adjacency, *, general: bool = False
) -> dict[str, tuple[str, ...]]:
    """Return the assumptions of a guarantee for a mechanism, as sentences by their topic.

    Args:
        mechanism: The mechanism of the whole release.
        adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours.
        general: Whether rates and sizes are left out, as for a table of mechanisms that differ in
            them.

    Returns:
        Sentences under "sampling", "adjacency", "noise", "selection" if any, and "release".

    >>> from renyi.mechanisms import Gaussian, PoissonSampled
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
        "release": (f"{_VISIBLE}; {_PLANNED}" if many else _VISIBLE if uses else "nothing",),
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
        if isinstance(mechanism, MatrixMechanism):
            yield _Fact("sampling", _participation(mechanism, general))
        elif not sampled:
            yield _Fact("sampling", _STATED if mechanism.states_sampling else _UNSAMPLED)
        yield _Fact("noise", mechanism.assumption or _own(mechanism))


def _within(fact: _Fact, where: str) -> _Fact:
    return replace(fact, where=f"{where}, {fact.where}" if fact.where else where)


def _of_parts(mechanism: Composed, general: bool, sampled: bool) -> Iterator[_Fact]:
    """Yield the facts of the parts; a fact of several parts is said once."""
    total = sum(count for _, count in mechanism.parts)
    holds: dict[_Fact, int] = {}
    for part, count in mechanism.parts:
        for fact in dict.fromkeys(_facts(part, general, sampled)):
            holds[fact] = holds.get(fact, 0) + count
    for fact, count in holds.items():
        yield fact if count == total else _within(fact, f"in {count:,} of the {total:,} releases")


def _own(mechanism: Mechanism) -> str:
    return f"{type(mechanism).__name__}: as its class says"


def _sample(mechanism: Sampling, general: bool) -> str:
    words = mechanism.assumption or _own(mechanism)
    if isinstance(mechanism, FixedSizeSampled) and mechanism.replacement:
        words = mechanism.assumption_with_replacement
    return _filled(words, mechanism, general)


def _participation(mechanism: MatrixMechanism, general: bool) -> str:
    if isinstance(mechanism.participation, CyclicPoisson):
        return _filled(_CYCLIC, mechanism.participation, general)
    return _filled(_PARTICIPATION, mechanism, general)


def _filled(words: str, value: object, general: bool) -> str:
    """Return a sentence with the fields of a value, or with words that stand for any."""
    if general:
        numbers = _GENERAL
    else:
        names = [name for name in _GENERAL if f"{{{name}}}" in words]
        numbers = {name: printed(getattr(value, name)) for name in names}
        if numbers.get("picks") == "1":
            numbers["picks"] = "one"
    return " ".join(words.format(**numbers).split())
