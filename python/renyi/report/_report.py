"""The contents of a report, in order; Markdown and HTML are two ways to write it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date as Date
from decimal import Decimal
from typing import Any

from renyi._adjacency import ADJACENCIES, Adjacency, one_of
from renyi._rounding import round_down, round_up
from renyi._validation import probability_of, shortest, uses_of
from renyi.ledger import Entry, Ledger, Status
from renyi.mechanisms import Composed, Mechanism
from renyi.mechanisms.assumptions import assumptions_of
from renyi.report import _written
from renyi.report._data import Disclosure, card_of, registry_entry, statement_of
from renyi.report._numbers import (
    Figure,
    accountants_of,
    curve_figure,
    over_steps,
    sensitivities,
    tradeoff_figure,
    warnings_of,
)

Facts = tuple[tuple[str, tuple[str, ...]], ...]
"""Names, each with its sentences."""

NAMES = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
MOST_ENTRIES = 200  # the most entries of a history in a report
EXACT = 1e-4  # relative width of a bracket whose ends print alike


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, code, facts, a table and figures, any of which may be missing."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    figures: tuple[Figure, ...] = ()
    code: str = ""
    facts: Facts = ()


@dataclass(frozen=True)
class Report:
    """A privacy statement.

    Attributes:
        title, headline: The subject, and the guarantee.
        sections: The assumptions, the numbers and their meaning.
        facts: Date, author, data set and queries, as far as they are given.
        certificate (dict): The proof of ε whose hash the report states.
        statement (dict): The report as data, in the form of JSON: `json_schema` has its schema,
            "statement".
    """

    title: str
    headline: str
    sections: tuple[Section, ...]
    facts: Facts = ()
    certificate: dict[str, Any] | None = None
    statement: dict[str, Any] = field(default_factory=dict)

    def to_markdown(self) -> str:
        """Return the text with its tables; only the HTML page has figures."""
        return _written.to_markdown(self)

    def to_html(self) -> str:
        """Return one page that needs nothing else: no network, no scripts.

        Figures are drawn if matplotlib is installed; otherwise tables show some of their points.
        """
        return _written.to_html(self)

    def to_json(self, indent: int | None = 2) -> str:
        """Return the statement as strict JSON."""
        return json.dumps(self.statement, indent=indent, ensure_ascii=False, allow_nan=False)

    def to_registry(self, indent: int | None = 2) -> str:
        """Return an entry for a registry of deployments, as JSON.

        It has the topics and tiers of Nanayakkara, Ghazi and Vadhan 2025, arXiv 2509.13509.
        """
        entry = registry_entry(self.statement)
        return json.dumps(entry, indent=indent, ensure_ascii=False, allow_nan=False)

    def to_yaml(self) -> str:
        """Return the block of a model card, as YAML."""
        return card_of(self.statement)


def privacy_report(
    mechanism: Mechanism,
    count: int = 1,
    *,
    delta: float,
    adjacency: Adjacency = "add_remove",
    records: int | None = None,
    title: str = "Privacy statement",
    date: Date | str | None = None,
    author: str | None = None,
    dataset: str | None = None,
    queries: Sequence[str] = (),
    certified: bool = False,
    disclosure: Disclosure | None = None,
) -> Report:
    """Return a privacy statement for uses of a mechanism.

    The assumptions of its number are read from the mechanism: a statement on `ShuffledBatches`
    assumes shuffled batches.

    Args:
        mechanism, count: The released mechanism, and the number of uses.
        delta: In [0, 1); 0 for a pure guarantee.
        adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours.
        records: The size of the data set, for a warning about delta.
        title: The title of the report.
        date: The date of the report; without it the report has no date.
        author, dataset: The person responsible for the statement, and its data set.
        queries: The names of the queries.
        certified: Whether a certificate is made, as by the accountant's `certificate`, and its hash
            stated.
        disclosure: Facts that only the publisher knows, such as the unit of privacy.

    Raises:
        UnsupportedMechanismError: If no accountant can bound the mechanism, or it has no
            certificate.
        TypeError, ValueError: If an argument is not as above, or no proof was found.
        ImportError: If a certificate needs python-flint and it is missing.

    >>> from renyi import Gaussian, ShuffledBatches
    >>> privacy_report(Gaussian(5.0), 10, delta=1e-5).headline
    'ε = 2.595 at δ = 1e-5'
    >>> epoch = ShuffledBatches(Gaussian(1.0), 100)
    >>> made = privacy_report(epoch, delta=1e-5, adjacency="zero_out", dataset="census")
    >>> made.headline, made.facts
    ('ε = 4.378 at δ = 1e-5, a proven upper bound', (('Data set', ('census',)),))
    """
    count, delta = uses_of(count), probability_of(delta, "delta")
    if delta == 1.0:
        raise ValueError(f"delta must be a number in [0, 1), got {delta!r}")
    one_of(adjacency, "adjacency", ADJACENCIES)
    released = Composed((mechanism, count))
    facts = _facts_of(date, author, dataset, queries)
    accountants = accountants_of(mechanism, count, adjacency)
    brackets = {name: one.get_epsilon_bounds(delta) for name, one in accountants.items()}
    name = min(brackets, key=lambda one: brackets[one][1])
    epsilon, best = brackets[name], accountants[name]
    missed = float(best.get_beta(0.01))
    headline, kind = _guarantee(name, epsilon, delta)
    certificate = best.certificate(delta=delta) if certified else None
    said = (kind,) if certificate is None else (kind, _proof(certificate))
    rows = [("method", "ε, rounded up", "certified: at least", "at most")]
    for method, (low, high) in brackets.items():
        rows.append((method, round_up(high), repr(low), repr(high)))
    steps = over_steps(mechanism, count, delta, adjacency)
    varied = sensitivities(mechanism, count, delta, adjacency)
    assumed = tuple(
        (topic.capitalize(), tuple(f"{one[0].upper()}{one[1:]}." for one in sentences))
        for topic, sentences in assumptions_of(released, adjacency).items()
    )
    warned = tuple(warnings_of(epsilon[1], delta, records))
    told = Disclosure() if disclosure is None else disclosure
    if not isinstance(told, Disclosure):
        raise TypeError(f"disclosure must be a Disclosure, got {disclosure!r}")
    sections = (
        Section("Warnings", warned),
        Section("What was released", code=(released if count != 1 else mechanism).describe()),
        Section("What is assumed", facts=assumed),
        Section("What the publisher states", facts=() if disclosure is None else told.facts()),
        Section("ε at this δ", said, table=tuple(rows)),
        Section("δ at every ε", figures=(curve_figure(accountants, epsilon[1], delta),)),
        Section(
            "What an attacker can tell",
            (
                "Whoever sees everything released and tries to tell whether one record was there: "
                "an attacker at 1 % false positives catches at most "
                f"{round_up(100.0 * (1.0 - missed))} % of the records that were.",
            ),
            figures=(tradeoff_figure(best, missed),),
        ),
        Section("ε over the releases", figures=() if steps is None else (steps,)),
        Section(
            "How ε depends on each parameter",
            table=(
                ("parameter", "ε if less", "ε if more"),
                *((varying, round_up(less), round_up(more)) for varying, less, more in varied),
            ),
        ),
    )
    kept = tuple(s for s in sections if s.paragraphs or s.table or s.figures or s.code or s.facts)
    told_facts = {
        "title": title,
        "date": None if date is None else str(date),
        "author": author,
        "dataset": dataset,
        "queries": [queries] if isinstance(queries, str) else list(queries),
        "records": records,
        "assumptions": {topic: list(sentences) for topic, sentences in assumed},
        "warnings": list(warned),
        "disclosure": asdict(told),
        "certificate": None if certificate is None else _digest(certificate),
    }
    statement = statement_of(released, adjacency, name, epsilon, delta, missed, told_facts)
    return Report(title, headline, kept, facts, certificate, statement)


def _digest(certificate: dict[str, Any]) -> str:
    from renyi import check  # loads python-flint

    return check.digest(certificate)


def _proof(certificate: dict[str, Any]) -> str:
    epsilon, delta = (float.fromhex(certificate["claim"][name]) for name in ("epsilon", "delta"))
    return (
        f"That δ({epsilon!r}) is at most {delta!r} is proved by the certificate of SHA-256 "
        f"{_digest(certificate)}, which `renyi check` verifies without the engine."
    )


def _facts_of(
    date: Date | str | None, author: str | None, dataset: str | None, queries: Sequence[str]
) -> Facts:
    given = {
        "Date": () if date is None else (str(date),),
        "Author": () if author is None else (author,),
        "Data set": () if dataset is None else (dataset,),
        "Queries": (queries,) if isinstance(queries, str) else tuple(queries),
    }
    for name, texts in given.items():
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"{name.lower()} must be text, got {text!r}")
    return tuple((name, texts) for name, texts in given.items() if texts)


def _guarantee(name: str, epsilon: tuple[float, float], delta: float) -> tuple[str, str]:
    """Return the headline, and a sentence on the kind of its number."""
    low, high = epsilon
    at = f"at δ = {shortest(delta)}"
    if math.isinf(high):
        return f"No finite ε {at}", "No finite ε is known."
    if name != "exact curve":
        said = "This is a proven upper bound by Rényi-DP; the exact value is not known."
        return f"ε = {round_up(high)} {at}, a proven upper bound", said
    if low == high and Decimal(high) == Decimal(round_up(high)):
        return f"ε = {shortest(high)} exactly, {at}", "The exact value, not rounded."
    if high - low <= EXACT * high:
        said = "The exact value of the worst data sets that the mechanism permits, rounded up."
        return f"ε = {round_up(high)} {at}", said
    said = (
        f"This is a proven upper bound. The exact value is not known; it is at least "
        f"{round_down(low)}."
    )
    return f"ε = {round_up(high)} {at}, a proven upper bound", said


def dataset_report(
    ledger: Ledger,
    dataset: str,
    *,
    delta: float | None = None,
    records: int | None = None,
    title: str | None = None,
    date: Date | str | None = None,
    author: str | None = None,
    queries: Sequence[str] = (),
    certified: bool = False,
    disclosure: Disclosure | None = None,
) -> Report:
    """Return a privacy statement for all that a ledger has recorded of a data set.

    Args:
        ledger, dataset: The ledger, and the name of the data set.
        delta: By default that of the budget.
        records, date, author, queries, certified, disclosure: As for `privacy_report`.
        title: By default "Privacy statement" with the name of the data set.

    Raises:
        LedgerError, TypeError, ValueError: As `Ledger.status` and `privacy_report`.
    """
    if not isinstance(ledger, Ledger):
        raise TypeError(f"ledger must be a Ledger, got {ledger!r}")
    status, history = ledger.status(dataset), ledger.history(dataset)
    made = privacy_report(
        _spent(history),
        delta=status.budget.get("delta", 1e-6) if delta is None else delta,
        adjacency=status.adjacency,
        records=records,
        title=f"Privacy statement: {dataset}" if title is None else title,
        date=date,
        author=author,
        dataset=dataset,
        queries=queries,
        certified=certified,
        disclosure=disclosure,
    )
    budget = {
        "limits": dict(status.budget),
        "filter": status.accountant,
        "remaining": status.remaining,
        "entries": status.entries,
        "head": status.head,
    }
    limits = ", ".join(
        f"{NAMES[name]} = {shortest(value)}" for name, value in status.budget.items()
    )
    planned = tuple(
        replace(section, heading=f"{section.heading}, if planned beforehand")
        if section.table or section.figures
        else section
        for section in made.sections
    )
    sections = (_budget(status, limits, made.headline), *planned, _entries(history))
    statement = {**made.statement, "budget": budget}
    return replace(made, headline=f"Within {limits}", sections=sections, statement=statement)


def _budget(status: Status, limits: str, headline: str) -> Section:
    return Section(
        "The budget",
        (
            f"Whatever was and will be released stays within {limits}, although each release may "
            f"depend on those before: that is kept by the filter {status.accountant!r}. "
            f"{round_down(100.0 * status.remaining)} % of the budget ({limits}) is left.",
            "What follows is the cost of the same releases had all of them been planned "
            f"beforehand, {headline}. It is no guarantee for what was chosen along the way.",
            f"The history has {status.entries} entries and the hash {status.head}.",
        ),
    )


def _entries(history: Sequence[Entry]) -> Section:
    last = history[-MOST_ENTRIES:]
    left_out = len(history) - len(last)
    said = f"The last {len(last)}; {left_out} earlier ones are in the ledger." if left_out else ""
    rows = [
        (str(entry.number), _time(entry), entry.type, _uses(entry), entry.note) for entry in last
    ]
    return Section(
        "Entries of the ledger",
        (said,) if said else (),
        table=(("", "time", "entry", "uses", "note"), *rows),
    )


def _time(entry: Entry) -> str:
    return entry.time.replace("T", " ").replace("+00:00", " UTC")


def _uses(entry: Entry) -> str:
    if entry.count is None:
        return ""
    times = str(entry.count) if entry.repeats == 1 else f"{entry.repeats} x {entry.count}"
    held = "" if entry.reservation is None else f"reservation {entry.reservation}: "
    proof = "" if entry.certificate is None else f", certificate {entry.certificate}"
    return held + (times if entry.mechanism is None else f"{times} x {entry.mechanism!r}{proof}")


def _spent(history: Sequence[Entry]) -> Composed:
    """Return the charges and the used parts of reservations; open reservations count wholly."""
    uses: list[tuple[Mechanism, int]] = []
    reserved: dict[int | None, tuple[Mechanism, int]] = {}
    for entry in history:
        count = entry.count or 0
        if entry.type == "charge" and entry.mechanism is not None:
            uses.append((entry.mechanism, count * entry.repeats))
        elif entry.type == "reserve" and entry.mechanism is not None:
            reserved[entry.reservation] = (entry.mechanism, count)
        elif entry.type == "settle":
            reserved[entry.reservation] = (reserved[entry.reservation][0], count)
    return Composed(*uses, *reserved.values())
