"""A statement as data: its contents, an entry of a registry, the block of a model card."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from typing import Any

from renyi._adjacency import one_of
from renyi._strict_json import written
from renyi.mechanisms import Mechanism

SCHEMAS = ("accountant", "certificate", "ledger", "mechanism", "registry", "statement")
NOT_STATED = "not stated"


@dataclass(frozen=True)
class Disclosure:
    """Facts that only the publisher knows, in words; missing ones are reported as not stated.

    The points are those of NIST SP 800-226 and of the reporting list of Ponomareva and others 2023.

    Args:
        curator, product, intended_use: Who releases, what is released, and what it is for.
        unit: The unit of privacy: what one record is, such as "all data of a user in a month".
        trust_model: Who sees data without noise: "central", "local", "shuffled", or in words.
        sampling: How batches are drawn in the program that ran.
        tuning: Whether choices of parameters on the same data are counted.
        outside: Data sets, such as those of a pre-training, that the account does not cover.
        unprotected: What is public or released exactly, such as numbers of records or the schema.
        security: Source of randomness, floating point, access, side channels.

    Raises:
        TypeError: If a value is not text.

    >>> Disclosure(unit="one user", trust_model="central").tuning is None
    True
    """

    curator: str | None = None
    product: str | None = None
    intended_use: str | None = None
    unit: str | None = None
    trust_model: str | None = None
    sampling: str | None = None
    tuning: str | None = None
    outside: str | None = None
    unprotected: str | None = None
    security: str | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            text = getattr(self, field.name)
            if text is not None and not isinstance(text, str):
                raise TypeError(f"{field.name} must be text, got {text!r}")

    @classmethod
    def from_json(cls, text: str | bytes) -> Disclosure:
        """Return the disclosure from a JSON object of such texts.

        Raises:
            TypeError, ValueError: If the text is no such object, or has other names.
        """
        data = json.loads(text)
        known = [field.name for field in fields(cls)]
        if not isinstance(data, dict) or set(data) - set(known):
            raise ValueError(f"disclosure must be an object with names of {', '.join(known)}")
        return cls(**data)

    def facts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the points in words for a report."""
        return tuple(
            (name.replace("_", " ").capitalize(), (text or f"{NOT_STATED.capitalize()}.",))
            for name, text in asdict(self).items()
        )


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a form of JSON that this package writes.

    Args:
        name ({"accountant", "certificate", "ledger", "mechanism", "registry", "statement"}): The
            form; "ledger" is a line of an export. Each schema states its version in its ``$id``.

    Raises:
        ValueError: If there is no schema of that name.

    >>> json_schema("statement")["$id"]
    'urn:renyi:schema:statement:1'
    """
    one_of(name, "name", SCHEMAS)
    text = files("renyi.report").joinpath("schemas", f"{name}-1.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def statement_of(
    mechanism: Mechanism,
    adjacency: str,
    method: str,
    epsilon: tuple[float, float],
    delta: float,
    missed: float,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a statement in the form of JSON; ``missed`` is the type II error at 1 % type I."""
    from renyi import __version__

    try:
        described = mechanism.to_dict()
    except TypeError:  # it holds functions, or is of the user's own class
        described = None
    return {
        "version": 1,
        "type": "privacy_statement",
        "renyi": __version__,
        "guarantee": {
            "epsilon": written(epsilon[1]),
            "epsilon_lower": written(epsilon[0]),
            "delta": delta,
            "adjacency": adjacency,
            "method": method,
            "largest_true_positive_rate_at_false_positive_rate_0.01": 1.0 - missed,
        },
        "mechanism": described,
        "description": mechanism.describe(),
        **facts,
    }


def registry_entry(statement: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry by the topics and tiers of the deployments registry."""
    told = {name: text or NOT_STATED for name, text in statement["disclosure"].items()}
    guarantee, budget = statement["guarantee"], statement.get("budget")
    kept = {} if budget is None else budget["limits"]
    loss = kept or {name: guarantee[name] for name in ("epsilon", "delta")}
    flavor = "zero-concentrated" if "rho" in loss else "approximate"
    pure = flavor == "approximate" and loss["delta"] == 0.0
    return {
        "version": 1,
        "type": "registry_entry",
        "tier_1": {
            "curator": told["curator"],
            "intended_use": told["intended_use"],
            "data_product": told["product"],
            "publication_date": statement["date"] or NOT_STATED,
        },
        "tier_2": {
            "flavor": "pure" if pure else flavor,
            "privacy_loss": loss,
            "privacy_unit": told["unit"],
            "neighbours": guarantee["adjacency"],
            "deployment_model": told["trust_model"],
        },
        "tier_3": {
            "data_domain": statement["dataset"] or NOT_STATED,
            "unprotected_quantities": told["unprotected"],
            "composition": statement["description"],
            "accounting": guarantee["method"] if budget is None else budget["filter"],
            "sampling": told["sampling"],
            "tuning": told["tuning"],
            "data_outside_the_account": told["outside"],
            "implementation_and_security": told["security"],
            "software": f"renyi {statement['renyi']}",
        },
    }


def to_yaml(data: Mapping[str, Any], indent: int = 0) -> Iterator[str]:
    """Yield lines of YAML, whose scalars and lists are those of JSON.

    Numbers like 1e-05 get the dot without which YAML 1.1 takes them for text.
    """
    for name, value in data.items():
        head = f"{' ' * indent}{name}:"
        if isinstance(value, Mapping) and value:
            yield head
            yield from to_yaml(value, indent + 2)
        else:
            text = json.dumps(value, ensure_ascii=False)
            number = isinstance(value, float) and "." not in text
            yield f"{head} {text.replace('e', '.0e') if number else text}"


def card_of(statement: Mapping[str, Any]) -> str:
    """Return the block of a model card."""
    entry = registry_entry(statement)
    tiers = (entry[f"tier_{number}"] for number in (1, 2, 3))
    block = {name: value for tier in tiers for name, value in tier.items()}
    return "\n".join(to_yaml({"differential_privacy": block})) + "\n"
