"""``renyi account``: the price of anything that was released, from a JSON description of it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from renyi.cli import output
from renyi.cli.guarantee import emit_data
from renyi.cli.output import Column
from renyi.cli.settings import require
from renyi.cli.values import UsageError

if TYPE_CHECKING:
    from renyi.mechanisms import Mechanism


def account(options: argparse.Namespace) -> int:
    """Epsilon of the mechanisms in a file, by every accountant that can bound them."""
    require(options, "delta")
    mechanism = read_mechanism(options.file)
    records = [
        _price(mechanism, name, options.adjacency, float(delta))
        for delta in output.progress(options.delta)
        for name in ("pld", "rdp")
    ]
    if emit_data(options, records, {"adjacency": options.adjacency}):
        return 0
    print(mechanism.describe() + "\n")
    columns = [
        Column("accountant", "accountant", _words, left=True),
        Column("delta", "delta", output.plain),
        Column(
            "epsilon",
            "epsilon",
            lambda value: "-" if value is None else output.round_up(value, options.digits),
        ),
    ]
    output.print_table(columns, records)
    reasons = {_words(record["accountant"]): record["refused"] for record in records}
    refused = {name: reason for name, reason in reasons.items() if reason}
    if refused:
        print("\nNot accounted")
        output.print_facts(refused)
    return 0 if len(refused) < 2 else 1


def read_text(name: str, what: str) -> str:
    """Return the text of a file, or of the standard input."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{what} must be a readable text file or -, got {name!r}: {error}"
        ) from None


def read_mechanism(name: str, what: str = "FILE") -> Mechanism:
    """Return the mechanism that a file describes."""
    from renyi.mechanisms import Mechanism

    text = read_text(name, what)
    try:
        return Mechanism.from_json(text)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what} must hold what Mechanism.to_json writes: {error}") from None


def _price(mechanism: Mechanism, name: str, adjacency: Any, delta: float) -> dict[str, Any]:
    from renyi.accountants import PLDAccountant, RDPAccountant, UnsupportedMechanismError

    record: dict[str, Any] = {"accountant": name, "delta": delta, "epsilon": None, "refused": None}
    blank = (
        PLDAccountant(adjacency=adjacency) if name == "pld" else RDPAccountant(adjacency=adjacency)
    )
    try:
        blank.compose(mechanism)
    except UnsupportedMechanismError as error:
        return {**record, "refused": error.reason}
    except ValueError as error:
        raise UsageError(f"FILE must hold what can be accounted for: {error}") from None
    return {**record, "epsilon": blank.get_epsilon(delta)}


def _words(accountant: str) -> str:
    return "exact curve" if accountant == "pld" else "Renyi-DP"
