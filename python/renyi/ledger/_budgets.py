"""Which filter keeps the budget of a data set."""

from __future__ import annotations

import json

from renyi._validation import one_of
from renyi.accountants import Adjacency
from renyi.filters import GDPFilter, PrivacyFilter, ZCDPFilter

__all__ = ["Budget", "accountant_of", "budget_from", "limits_of", "new_budget"]

Budget = PrivacyFilter | GDPFilter | ZCDPFilter

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


def budget_from(text: str) -> Budget:
    """Return the filter that is stored."""
    name = json.loads(text)["type"]
    kinds = {kind.__name__: kind for kind in KINDS.values()}
    return kinds[one_of(name, "filter", kinds)].from_json(text)


def accountant_of(budget: Budget) -> str:
    """Return the word for a filter."""
    return next(word for word, kind in KINDS.items() if type(budget) is kind)


def limits_of(budget: Budget) -> dict[str, float]:
    """Return the numbers of a budget."""
    if isinstance(budget, ZCDPFilter):
        return {"rho": budget.rho}
    return {"epsilon": budget.epsilon, "delta": budget.delta}
