"""Entries of a history and their hashes; the budget of a data set and the filter that keeps it."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from renyi import _strict_json
from renyi._adjacency import Adjacency, one_of
from renyi._strict_json import check_names
from renyi.filters import GDPFilter, PrivacyFilter, Reservation, ZCDPFilter
from renyi.mechanisms import Mechanism

Budget = PrivacyFilter | GDPFilter | ZCDPFilter

SETTINGS = ("epsilon", "delta", "rho", "accountant", "adjacency")
STATE = ("budgets", "orders", "basic", "spent", "reserved", "last", "begun")  # of any filter

KINDS: dict[str, type[Budget]] = {"renyi": PrivacyFilter, "gdp": GDPFilter, "zcdp": ZCDPFilter}


def new_budget(
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
    accountant: str | None,
    adjacency: Adjacency,
) -> Budget:
    """Return the unspent filter of a data set."""
    if (rho is None) == (epsilon is None) or (delta is None) != (epsilon is None):
        raise ValueError(
            "budget must be epsilon and delta, or rho, got "
            f"epsilon {epsilon!r}, delta {delta!r}, rho {rho!r}"
        )
    if rho is not None:
        one_of(accountant or "zcdp", "accountant", ("zcdp",))
        return ZCDPFilter(rho, adjacency)
    assert epsilon is not None
    assert delta is not None
    if accountant == "pld":
        raise ValueError(
            "accountant must be 'renyi' or 'gdp', got 'pld': exact curves of what is chosen along "
            "the way do not add up (Tran and others 2026, arXiv 2602.06756)"
        )
    kind = one_of(accountant or "renyi", "accountant", ("renyi", "gdp"))
    if kind == "gdp":
        return GDPFilter(epsilon, delta, adjacency)
    return PrivacyFilter(epsilon, delta, adjacency=adjacency)


def settings_of(budget: Budget) -> dict[str, Any]:
    """Return the budget as the first entry of a history states it."""
    words = {"accountant": accountant_of(budget), "adjacency": budget.adjacency}
    return {"epsilon": None, "delta": None, "rho": None, **words, **limits_of(budget)}


def created_from(said: Any) -> Budget:
    """Return the unspent filter that the first entry of a history describes.

    The constructor computes the amounts from the settings.
    """
    if not isinstance(said, Mapping):
        raise TypeError(f"budget must be a mapping, got {said!r}")
    check_names("budget", said, SETTINGS)
    accountant = one_of(said["accountant"], "accountant", KINDS)
    return KINDS[accountant].from_json(_text(*(said[name] for name in SETTINGS)))


def budget_from(text: str, fresh: Budget) -> Budget:
    """Return the stored filter; ``fresh`` is the unspent filter of the same budget.

    Raises:
        TypeError, ValueError: If the text is no filter, or a filter of another budget.
    """
    budget = type(fresh).from_json(text)
    if _fixed(_strict_json.loads(text)) != _fixed(_strict_json.loads(fresh.to_json())):
        raise ValueError("filter must be of the budget that its settings say, got another")
    return budget


@lru_cache(maxsize=64)
def _text(*settings: Any) -> str:
    """Return a new filter as text, cached: a filter takes long to make, and changes."""
    return new_budget(*settings).to_json()


def _fixed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a filter, from which its state follows up to the engine's rounding."""
    return {key: value for key, value in data.items() if key not in STATE}


def accountant_of(budget: Budget) -> str:
    """Return the name of a filter's kind."""
    return next(word for word, kind in KINDS.items() if type(budget) is kind)


def limits_of(budget: Budget) -> dict[str, float]:
    """Return the numbers of a budget."""
    if isinstance(budget, ZCDPFilter):
        return {"rho": budget.rho}
    return {"epsilon": budget.epsilon, "delta": budget.delta}


NOTHING = "0" * 64
"""The hash before the first entry of a data set."""

AGAIN = "again"
MOST_REPEATS = 10**7
"""The most repeats of one line: its hash is that of as many lines, a second for a million."""


class Row(NamedTuple):
    """An entry as it is stored."""

    number: int
    body: str
    repeats: int
    hash: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a history: an action, perhaps repeated within an hour.

    Attributes:
        dataset, number: The data set, and the place in its history, from 1.
        type ({"create", "charge", "reserve", "settle"}): The action.
        mechanism, count: The uses that were charged or set aside, each time; for "settle" the uses
            that took place.
        reservation: The number of the reservation, for "reserve" and "settle".
        certificate: SHA-256 of a proof of the cost of the uses.
        run, step: The run whose steps were charged, and the number of its steps before the first of
            them.
        repeats: The number of equal charges in a row; for a run, of charges of successive steps.
        note, time: The note of the caller, and the time of the first charge, in UTC.
        hash: SHA-256 over this entry and all entries before.
    """

    dataset: str
    number: int
    type: str
    mechanism: Mechanism | None
    count: int | None
    reservation: int | None
    certificate: str | None
    run: str | None
    step: int | None
    repeats: int
    note: str
    time: str
    hash: str


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a data set.

    Attributes:
        dataset: Its name.
        accountant ({"renyi", "gdp", "zcdp"}): The filter that keeps its budget.
        budget: Epsilon and delta, or rho.
        adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours.
        remaining: The share of the budget that is left, in [0, 1]. Exact curves may permit a little
            more.
        charges, entries: The number of charges, and the number of lines in the history.
        reservations: The open reservations; they count as spent.
        head: The hash of the whole history. Stored elsewhere, it shows later that nothing was cut
            off.
    """

    dataset: str
    accountant: str
    budget: dict[str, float]
    adjacency: Adjacency
    remaining: float
    charges: int
    entries: int
    reservations: tuple[Reservation, ...]
    head: str


def body_of(type_: str, **fields: Any) -> str:
    """Return the canonical text of an entry that is made now."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return canonical({"type": type_, "time": now, **fields})


def canonical(fields: Mapping[str, Any]) -> str:
    """Return the fields as JSON: one text for equal fields."""
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)


def link(before: str, body: str) -> str:
    """Return the hash of an entry after the hash ``before``."""
    return hashlib.sha256(f"{before}\n{body}".encode()).hexdigest()


def repeated(before: str, times: int = 1) -> str:
    """Return the hash after an entry was repeated."""
    for _ in range(times):
        before = link(before, AGAIN)
    return before


def seal_of(head: Row, state: str) -> str:
    """Return the hash that binds the state of a filter to the last entry of its history."""
    return sealed(*map(str, head), state)


def sealed(*parts: str) -> str:
    """Return the hash of lines."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def follows(old: str, repeats: int, new: str) -> bool:
    """Return whether an entry repeats the entry before it, at most an hour after the first.

    For a run, the repeat must begin at the step where the entry before ends.
    """
    if repeats >= MOST_REPEATS:
        return False
    first, second = json.loads(old), json.loads(new)
    times = [datetime.fromisoformat(fields.pop("time")) for fields in (first, second)]
    if "run" in first:
        first["step"] = steps_after(first, repeats)
    return first == second and abs((times[1] - times[0]).total_seconds()) < 3600.0


def steps_after(fields: Mapping[str, Any], repeats: int) -> int:
    """Return the step of a run that follows an entry and its repeats.

    A charge of no uses counts as a step: of two branches of one state, one is then refused.
    """
    return int(fields["step"]) + max(int(fields["count"]), 1) * repeats


def entry_of(dataset: str, number: int, body: str, repeats: int, hash_: str) -> Entry:
    """Return an entry from its stored form."""
    fields = json.loads(body)
    mechanism = fields.get("mechanism")
    words = ("count", "reservation", "certificate", "run", "step")
    return Entry(
        dataset,
        number,
        fields["type"],
        None if mechanism is None else Mechanism.from_dict(mechanism),
        **{name: fields.get(name) for name in words},
        repeats=repeats,
        note=fields.get("note", ""),
        time=fields["time"],
        hash=hash_,
    )


def name_of(value: Any, name: str) -> str:
    """Return a name, which must be in its one normal form.

    Raises:
        TypeError, ValueError: If it is no name, or could be confused with another one.
    """
    text = text_of(value, name)
    usual = " ".join(unicodedata.normalize("NFKC", text).split())
    usual = "".join(filter(str.isprintable, usual))
    if not text or text != usual:
        but = f"; {usual!r} would be one" if usual else ""
        raise ValueError(
            f"{name} must be a name of printable characters in the form NFKC, with single spaces "
            f"between words, got {value!r}{but}"
        )
    return text


def hash_of(value: Any, name: str) -> str:
    """Return a SHA-256 in hexadecimal digits."""
    text = text_of(value, name)
    if len(text) != 64 or set(text) - set("0123456789abcdef"):
        raise ValueError(f"{name} must be a SHA-256 in 64 hexadecimal digits, got {value!r}")
    return text


def text_of(value: Any, name: str) -> str:
    """Return a string that can be written."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} must be a string of Unicode, got {value!r}") from None
    return value
