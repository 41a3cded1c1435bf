"""What is set aside for a run that has not ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from renyi._strict_json import check_names, read_number
from renyi._validation import integer_of, probability_of, uses_of
from renyi.filters._saved import numbers_in, written_all
from renyi.filters._spent import Cost
from renyi.mechanisms import Mechanism

__all__ = ["Held", "Reservation", "held_from", "held_to"]


@dataclass(frozen=True, slots=True)
class Reservation:
    """Uses of a mechanism that were set aside and count as spent until they are settled."""

    number: int
    mechanism: Mechanism
    count: int


@dataclass(frozen=True, slots=True)
class Held:
    """A reservation with its cost."""

    mechanism: Mechanism
    count: int
    cost: Cost


def held_to(reserved: Mapping[int, Held]) -> list[dict[str, Any]]:
    """Return reservations as JSON can hold them."""
    return [
        {
            "number": number,
            "mechanism": held.mechanism.to_dict(),
            "count": held.count,
            "amounts": written_all(held.cost.amounts),
            "failing": held.cost.failing,
            "additive": held.cost.additive,
        }
        for number, held in reserved.items()
    ]


def held_from(data: Any, size: int) -> dict[int, Held]:
    """Return what `held_to` was given."""
    if not isinstance(data, list):
        raise TypeError(f"reserved must be a list, got {data!r}")
    found = {}
    for item in data:
        if not isinstance(item, Mapping):
            raise TypeError(f"reserved must hold mappings, got {item!r}")
        names = ("number", "mechanism", "count", "amounts", "failing", "additive")
        check_names("reserved", item, names)
        amounts = numbers_in(item["amounts"], "amounts", size)
        failing = probability_of(read_number(item["failing"]), "failing")
        mechanism = Mechanism.from_dict(item["mechanism"])
        cost = Cost(amounts, failing, item["additive"] is True)
        number = integer_of(item["number"], "number", 1)
        if number in found:
            raise ValueError(f"reserved must hold each number once, got {number} twice")
        found[number] = Held(mechanism, uses_of(item["count"]), cost)
    return found
