"""Which filter keeps the budget of a data set, and what of it stays as it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from renyi import _strict_json
from renyi._strict_json import check_names
from renyi._validation import one_of
from renyi.accountants import Adjacency
from renyi.filters import GDPFilter, PrivacyFilter, ZCDPFilter

__all__ = [
    "Budget",
    "accountant_of",
    "budget_from",
    "created_from",
    "limits_of",
    "new_budget",
    "settings_of",
]

Budget = PrivacyFilter | GDPFilter | ZCDPFilter

SETTINGS = ("epsilon", "delta", "rho", "accountant", "adjacency")
SPENT = ("spent", "reserved", "last", "begun", "total", "failing")  # the last two: older ledgers
TOLERANCE = 1e-9  # another version of the engine may round otherwise

KINDS: dict[str, type[Budget]] = {
    "renyi": PrivacyFilter,
    "gdp": GDPFilter,
    "zcdp": ZCDPFilter,
}


def new_budget(
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
    accountant: str | None,
    adjacency: Adjacency,
) -> Budget:
    """Return the filter of a data set of which nothing was spent."""
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
    """Return what the first entry of a history says of a budget."""
    words = {"accountant": accountant_of(budget), "adjacency": budget.adjacency}
    return {"epsilon": None, "delta": None, "rho": None, **words, **limits_of(budget)}


def created_from(said: Any) -> Budget:
    """Return the filter of which nothing was spent, from what the first entry says of it.

    The constructor decides which amounts follow from the settings. Older ledgers have the filter
    itself in their first entry: it must be that of the constructor.

    Raises
    ------
    TypeError, ValueError
        If that is no budget, or an older one is not what its settings say.
    """
    if isinstance(said, str):
        data = _strict_json.loads(said)
        words = {kind.__name__: word for word, kind in KINDS.items()}
        accountant = words[one_of(data.get("type"), "filter", words)]
        numbers = (data.get(name) for name in ("epsilon", "delta", "rho"))
        text = _text(*numbers, accountant, data.get("adjacency"))
        fresh = _strict_json.loads(text)
        begun = [one.get("begun") for one in (data, fresh)]
        if begun[0] != begun[1] or not _alike(_fixed(data), _fixed(fresh)):
            raise ValueError("budget must be the one that its settings say, got another")
    else:
        if not isinstance(said, Mapping):
            raise TypeError(f"budget must be a mapping, got {said!r}")
        check_names("budget", said, SETTINGS)
        accountant = one_of(said["accountant"], "accountant", KINDS)
        text = _text(*(said[name] for name in SETTINGS))
    return KINDS[accountant].from_json(text)


def budget_from(text: str, fresh: Budget) -> Budget:
    """Return the filter that is stored, of a budget of which nothing was spent when it was new.

    Raises
    ------
    TypeError, ValueError
        If it is no filter, or one of another budget.
    """
    budget = type(fresh).from_json(text)
    if _fixed(_strict_json.loads(text)) != _fixed(_strict_json.loads(fresh.to_json())):
        raise ValueError("filter must be of the budget that its settings say, got another")
    return budget


@lru_cache(maxsize=64)
def _text(*settings: Any) -> str:
    """Return a new filter, which takes long to make; it is not kept itself, for it changes."""
    return new_budget(*settings).to_json()


def _fixed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a filter stays as it is."""
    fixed = {key: value for key, value in data.items() if key not in SPENT}
    if fixed.get("basic") is not None:
        fixed["basic"] = {key: value for key, value in fixed["basic"].items() if key != "spent"}
    return fixed


def _alike(one: Any, other: Any) -> bool:
    """Return whether two states are equal but for how versions of the engine round."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=TOLERANCE)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)


def accountant_of(budget: Budget) -> str:
    """Return the word for a filter."""
    return next(word for word, kind in KINDS.items() if type(budget) is kind)


def limits_of(budget: Budget) -> dict[str, float]:
    """Return the numbers of a budget."""
    if isinstance(budget, ZCDPFilter):
        return {"rho": budget.rho}
    return {"epsilon": budget.epsilon, "delta": budget.delta}
