"""What a report says, in its order; Markdown and HTML are two ways to write it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from renyi._adjacency import ADJACENCIES
from renyi._validation import one_of, probability_of, shortest, uses_of
from renyi.accountants import Adjacency
from renyi.ledger import Ledger
from renyi.mechanisms import Composed, Mechanism
from renyi.report import _html, _markdown
from renyi.report._numbers import (
    accountants_of,
    curve_figure,
    over_steps,
    sensitivities,
    tradeoff_figure,
)
from renyi.report._svg import Figure
from renyi.report._warnings import samples, warnings_of
from renyi.report._words import ADJACENT, NAMES, POISSON, RELEASE, UNSAMPLED, down, up

__all__ = ["Report", "dataset_report", "privacy_report"]


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, a table and figures, any of which may be missing."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Report:
    """A privacy statement.

    Attributes
    ----------
    title, headline : str
        What it is about, and the guarantee.
    sections : tuple
        What it rests on and what it means.
    """

    title: str
    headline: str
    sections: tuple[Section, ...]

    def to_markdown(self) -> str:
        """Return the text with its tables; figures are those of the HTML page."""
        return _markdown.written(self)

    def to_html(self) -> str:
        """Return one page that needs nothing else: no network, no scripts."""
        return _html.written(self)


def privacy_report(
    mechanism: Mechanism,
    count: int = 1,
    *,
    delta: float,
    adjacency: Adjacency = "add_remove",
    records: int | None = None,
    shuffled: bool = False,
    title: str = "Privacy statement",
) -> Report:
    """Return a privacy statement for uses of a mechanism.

    Parameters
    ----------
    mechanism, count : Mechanism, int
        What was released, and how often.
    delta : float
        In (0, 1).
    adjacency : {"add_remove", "replace_one", "zero_out"}
        Which data sets are neighbours.
    records : int, optional
        The size of the data set, for a warning about delta.
    shuffled : bool
        That batches were shuffled: a warning if they are accounted for as Poisson samples.
    title : str
        Of the report.

    Raises
    ------
    UnsupportedMechanismError
        If no accountant can bound the mechanism.
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> from renyi import Gaussian
    >>> privacy_report(Gaussian(5.0), 10, delta=1e-5).headline
    'ε = 2.595 at δ = 1e-05'
    """
    count, delta = uses_of(count), probability_of(delta, "delta")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be a number in (0, 1), got {delta!r}")
    one_of(adjacency, "adjacency", ADJACENCIES)
    accountants = accountants_of(mechanism, count, adjacency)
    best = next(iter(accountants.values()))
    epsilon = float(best.get_epsilon(delta))
    rows = [("method", "ε, rounded up", "certified: at least", "at most")]
    for name, accountant in accountants.items():
        low, high = accountant.get_epsilon_bounds(delta)
        rows.append((name, up(accountant.get_epsilon(delta)), repr(low), repr(high)))
    caught = 1.0 - float(best.get_beta(0.01))
    steps = over_steps(mechanism, count, delta, adjacency)
    warnings = warnings_of(mechanism, epsilon, delta, adjacency, records, shuffled)
    sampling = POISSON if samples(mechanism) else UNSAMPLED
    sections = (
        Section("Warnings", tuple(warnings)),
        Section(
            "What was released",
            (f"```\n{_described(mechanism, count)}\n```",),
        ),
        Section("What is assumed", (ADJACENT[adjacency], sampling, RELEASE)),
        Section("ε at this δ", table=tuple(rows)),
        Section("δ at every ε", figures=(curve_figure(accountants, epsilon, delta),)),
        Section(
            "What an attacker can tell",
            (
                "Whoever sees everything released and tries to tell whether one record was there: "
                f"an attacker at 1 % false positives catches at most {up(100.0 * caught)} % of "
                "the records that were.",
            ),
            figures=(tradeoff_figure(best),),
        ),
        Section("ε over the steps", figures=() if steps is None else (steps,)),
        Section(
            "How ε depends on each parameter",
            table=(
                ("parameter", "ε if less", "ε if more"),
                *(
                    (name, up(less), up(more))
                    for name, less, more in sensitivities(mechanism, count, delta, adjacency)
                ),
            ),
        ),
    )
    kept = tuple(s for s in sections if s.paragraphs or s.table or s.figures)
    return Report(title, f"ε = {up(epsilon)} at δ = {shortest(delta)}", kept)


def dataset_report(
    ledger: Ledger, dataset: str, *, delta: float | None = None, records: int | None = None
) -> Report:
    """Return a privacy statement for all that a ledger has recorded of a data set.

    Parameters
    ----------
    ledger, dataset : Ledger, str
        Which.
    delta : float, optional
        By default that of the budget.
    records : int, optional
        As for `report`.

    Raises
    ------
    LedgerError, TypeError, ValueError
        As `Ledger.status` and `report`.
    """
    status = ledger.status(dataset)
    wanted = status.budget.get("delta", 1e-6) if delta is None else delta
    uses = [
        (entry.mechanism, (entry.count or 0) * entry.repeats)
        for entry in ledger.history(dataset)
        if entry.type == "charge" and entry.mechanism is not None
    ]
    uses += _run(ledger, dataset)
    spent = Composed(*uses)
    made = privacy_report(
        spent,
        delta=wanted,
        adjacency=status.adjacency,
        records=records,
        title=f"Privacy statement: {dataset}",
    )
    limits = ", ".join(
        f"{NAMES[name]} = {shortest(value)}" for name, value in status.budget.items()
    )
    budget = Section(
        "The budget",
        (
            f"Whatever was and will be released stays within {limits}, although each release may "
            f"depend on those before: that is kept by the filter {status.accountant!r}, and "
            f"{down(100.0 * status.remaining)} % of the budget is left.",
            "What follows is the cost of the same releases had all of them been planned "
            f"beforehand, {made.headline}. It is no guarantee for what was chosen along the way.",
            f"The history has {status.entries} entries and the hash {status.head}.",
        ),
    )
    planned = tuple(
        replace(section, heading=f"Had it been planned: {section.heading}")
        if section.table or section.figures
        else section
        for section in made.sections
    )
    return Report(made.title, f"Within {limits}", (budget, *planned))


def _run(ledger: Ledger, dataset: str) -> list[tuple[Mechanism, int]]:
    """Return what reservations were used for; those that are open count wholly."""
    reserved: dict[int | None, tuple[Mechanism, int]] = {}
    for entry in ledger.history(dataset):
        if entry.type == "reserve" and entry.mechanism is not None:
            reserved[entry.reservation] = (entry.mechanism, entry.count or 0)
        elif entry.type == "settle":
            mechanism, _ = reserved[entry.reservation]
            reserved[entry.reservation] = (mechanism, entry.count or 0)
    return list(reserved.values())


def _described(mechanism: Mechanism, count: int) -> str:
    return (mechanism * count if count != 1 else mechanism).describe()
